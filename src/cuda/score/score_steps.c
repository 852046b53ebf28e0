/*
 * score_steps.c - analyse the steps of a problem: which belong to the row, to the key and to the
 * unit of the logit
 *
 * score_print.c explains why.
 */
#include "score_parts.h"

#include <math.h>

#define EXACT_MAX (1 << 24)   /* integers up to here are exact as floats */
#define KEYS_BEYOND (1 << 14) /* a tile may begin this many keys after the last one */
#define OFFSET_MAX 256        /* keys of a tile */
#define SCALE_MAX 0x1p40      /* above, or below the inverse, scores are in natural units */

/* ---- Kinds of steps ---- */

static void mark_all(heed_score *p)
{
    for (int i = 0; i < p->program.count; i++) {
        const heed_step *step = heed_score_step(p, i);
        const int from[] = { step->a, step->b, step->c, step->d };
        unsigned marks = step->op == HEED_OP_SCORE ? OF_KEY | OF_SCORE
                         : step->op == HEED_OP_KEY ? OF_KEY
                                                   : 0;
        for (int k = 0; k < 4; k++)
            if (from[k] >= 0)
                marks |= p->marks[from[k]];
        p->marks[i] = marks;
    }
}

/* A range of integers; unknown unless all of it is between -EXACT_MAX and EXACT_MAX. */
typedef struct range {
    bool known;
    int64_t low, high;
} range;

static range range_of(int64_t low, int64_t high)
{
    return (range){ low >= -EXACT_MAX && high <= EXACT_MAX, low, high };
}

static range range_of_product(range a, range b)
{
    const int64_t all[] = { a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high };
    range product = { true, all[0], all[0] };
    for (int i = 1; i < 4; i++) {
        product.low = all[i] < product.low ? all[i] : product.low;
        product.high = all[i] > product.high ? all[i] : product.high;
    }
    return range_of(product.low, product.high);
}

static range range_of_step(const heed_score *p, int i)
{
    const heed_step *step = heed_score_step(p, i);
    const heed_problem *problem = &p->problem;
    switch (step->op) {
    case HEED_OP_INT:
        return range_of(step->value.whole, step->value.whole);
    case HEED_OP_QUERY:
        return range_of(0, problem->seq_q);
    case HEED_OP_POSITION:
        return range_of(p->view.first, p->view.first + problem->seq_q);
    case HEED_OP_KEY:
        return range_of(0, problem->seq_k + KEYS_BEYOND);
    case HEED_OP_HEAD:
        return range_of(0, problem->heads_q);
    case HEED_OP_BATCH:
        return range_of(0, problem->batch);
    case HEED_OP_ADD:
    case HEED_OP_SUB:
    case HEED_OP_MUL:
    case HEED_OP_NEG:
        break;
    default:
        return (range){ .known = false };
    }
    range a = range_of_step(p, step->a);
    range b = step->b < 0 ? range_of(0, 0) : range_of_step(p, step->b);
    if (!a.known || !b.known)
        return (range){ .known = false };
    if (step->op == HEED_OP_MUL)
        return range_of_product(a, b);
    if (step->op == HEED_OP_ADD)
        return range_of(a.low + b.low, a.high + b.high);
    return step->op == HEED_OP_SUB ? range_of(a.low - b.high, a.high - b.low)
                                   : range_of(-a.high, -a.low);
}

/* True if an integer is linear in the key, with slope *@rise, and otherwise only depends on the
 * row. */
static bool is_even(const heed_score *p, int i, int64_t *rise)
{
    const heed_step *step = heed_score_step(p, i);
    int64_t a = 0, b = 0;
    *rise = 0;
    if (!(p->marks[i] & OF_KEY))
        return true;
    if (step->op == HEED_OP_KEY) {
        *rise = 1;
        return true;
    }
    if (step->op != HEED_OP_ADD && step->op != HEED_OP_SUB && step->op != HEED_OP_NEG &&
        step->op != HEED_OP_MUL)
        return false;
    if (!is_even(p, step->a, &a) || (step->b >= 0 && !is_even(p, step->b, &b)))
        return false;
    if (step->op == HEED_OP_MUL) {
        const heed_step *left = heed_score_step(p, step->a), *right = heed_score_step(p, step->b);
        if (left->op != HEED_OP_INT && right->op != HEED_OP_INT)
            return false;
        *rise = left->op == HEED_OP_INT ? left->value.whole * b : right->value.whole * a;
    } else {
        *rise = step->op == HEED_OP_ADD ? a + b : step->op == HEED_OP_SUB ? a - b : -a;
    }
    return *rise >= -EXACT_MAX / OFFSET_MAX && *rise <= EXACT_MAX / OFFSET_MAX;
}

/* True if @i is the query position that a causal mask uses. */
static bool is_position(const heed_score *p, int i)
{
    return heed_score_step(p, i)->op == HEED_OP_POSITION ||
           (heed_score_step(p, i)->op == HEED_OP_QUERY && p->view.first == 0);
}

/* The sign of a number for all visible keys; 0: either. */
static int sign_of(const heed_score *p, int i)
{
    const heed_step *step = heed_score_step(p, i);
    if (p->view.right != 0 || step->op != HEED_OP_SUB)
        return 0;
    if (is_position(p, step->a) && heed_score_step(p, step->b)->op == HEED_OP_KEY)
        return 1;
    return is_position(p, step->b) && heed_score_step(p, step->a)->op == HEED_OP_KEY ? -1 : 0;
}

bool heed_score_find_rising(const heed_score *p, int i, heed_score_rising *found)
{
    const heed_step *step = heed_score_step(p, i);
    if (step->op != HEED_OP_TO_FLOAT || !(p->marks[i] & OF_KEY) ||
        heed_score_step(p, step->a)->kind != HEED_KIND_INT)
        return false;
    found->whole = step->a;
    found->sign = 1;
    if (heed_score_step(p, step->a)->op == HEED_OP_ABS) {
        found->whole = heed_score_step(p, step->a)->a;
        found->sign = sign_of(p, found->whole);
    }
    return is_even(p, found->whole, &found->rise) && range_of_step(p, found->whole).known;
}

/* True if a step loads elements along the keys. */
bool heed_score_along_keys(const heed_score *p, int i)
{
    const heed_step *step = heed_score_step(p, i);
    if (step->op != HEED_OP_LOAD)
        return false;
    const heed_load *from = &p->program.sources[step->value.whole];
    const int indices[] = { step->a, step->b, step->c, step->d };
    for (int k = 0; k < from->rank - 1; k++)
        if (p->marks[indices[k]] & OF_KEY)
            return false;
    return heed_score_step(p, indices[from->rank - 1])->op == HEED_OP_KEY &&
           from->size[from->rank - 1] >= p->problem.seq_k;
}

/* ---- The unit of the logit ---- */

/* Returns the core of step @i, without added and subtracted terms, which it stores. */
static int find_terms(heed_score *p, int i)
{
    const heed_step *step = heed_score_step(p, i);
    if (step->op != HEED_OP_ADD && step->op != HEED_OP_SUB)
        return i;
    bool left = p->marks[step->a] & OF_SCORE, right = p->marks[step->b] & OF_SCORE;
    if (left == right || (right && step->op == HEED_OP_SUB))
        return i;
    p->terms[p->term_count++] = (heed_score_term){ left ? step->b : step->a,
                                                   step->op == HEED_OP_SUB };
    return find_terms(p, left ? step->a : step->b);
}

/* Splits off a constant factor from 1 / SCALE_MAX to SCALE_MAX of step @i, if it has one. */
static int take_factor(const heed_score *p, int i, double *factor)
{
    const heed_step *step = heed_score_step(p, i);
    *factor = 1;
    for (int side = 0; side < 2; side++) {
        bool divides = step->op == HEED_OP_DIV && side == 1;
        if (step->op != HEED_OP_MUL && !divides)
            continue;
        const heed_step *by = heed_score_step(p, side == 0 ? step->a : step->b);
        if (by->op != HEED_OP_FLOAT || !(by->value.real >= (float)(1 / SCALE_MAX)) ||
            !(by->value.real <= (float)SCALE_MAX))
            continue;
        *factor = divides ? 1 / (double)by->value.real : (double)by->value.real;
        return side == 0 ? step->b : step->a;
    }
    return i;
}

bool heed_score_moderate(const heed_problem *problem)
{
    double scale = fabs((double)problem->scale);
    return scale <= SCALE_MAX && scale >= 1 / SCALE_MAX;
}

static void find_unit(heed_score *p)
{
    double factor;
    p->unit = 1;
    p->core = p->root < 0 ? -1 : find_terms(p, p->root);
    if (p->core < 0)
        return;
    p->products = heed_score_step(p, p->core)->op == HEED_OP_SCORE &&
                  heed_score_moderate(&p->problem);
    int inner = take_factor(p, p->core, &factor);
    if (p->products || heed_score_step(p, p->core)->op != HEED_OP_MUL || factor == 1)
        return;
    p->unit = (float)factor;
    p->core = inner;
    if (heed_score_step(p, inner)->op != HEED_OP_TANH)
        return;
    p->capped = true;
    p->softcap = (double)p->unit;
    p->core = take_factor(p, heed_score_step(p, inner)->a, &factor);
    p->stretch = 2 * LOG2_E * factor;
    p->caps_products = heed_score_step(p, p->core)->op == HEED_OP_SCORE &&
                       heed_score_moderate(&p->problem);
    p->unit = p->caps_products ? (float)(1 / LOG2_E) : 2 * p->unit;
}

void heed_score_start(heed_score *p, const heed_problem *problem)
{
    *p = (heed_score){ .problem = *problem };
    p->problem.starts = (heed_operand){ .type = HEED_DATA_NONE };
    p->view = heed_problem_view(problem);
    heed_program_make(&p->program, &p->problem);
    p->root = p->program.score;
    mark_all(p);
    find_unit(p);
}

/* ---- Steps of rows and of keys ---- */

static void need_in_row(heed_score *p, int i)
{
    const heed_step *step = heed_score_step(p, i);
    const int from[] = { step->a, step->b, step->c, step->d };
    if (p->marks[i] & IN_ROW)
        return;
    p->marks[i] |= IN_ROW;
    for (int k = 0; k < 4; k++)
        if (from[k] >= 0)
            need_in_row(p, from[k]);
}

bool heed_score_constant(const heed_score *p, int i)
{
    return heed_score_step(p, i)->op <= HEED_OP_BOOL;
}

/* Marks a step of a key, and all steps that it depends on. */
static void need_of_key(heed_score *p, int i)
{
    const heed_step *step = heed_score_step(p, i);
    const int from[] = { step->a, step->b, step->c, step->d };
    heed_score_rising number;
    if (heed_score_constant(p, i))
        return;
    p->marks[i] |= p->marks[i] & OF_KEY ? FOR_KEY : 0;
    if (!(p->marks[i] & OF_KEY)) {
        p->marks[i] |= IN_FIELD;
        need_in_row(p, i);
    } else if (heed_score_find_rising(p, i, &number)) {
        p->marks[i] |= AS_FLOAT;
        need_in_row(p, number.whole);
    } else if (heed_score_along_keys(p, i)) {
        p->marks[i] |= AS_PLACE;
        for (int k = 0; k < p->program.sources[step->value.whole].rank - 1; k++)
            need_in_row(p, from[k]);
    } else {
        for (int k = 0; k < 4; k++)
            if (from[k] >= 0)
                need_of_key(p, from[k]);
    }
}

/* Splits off a factor of the row from that of the key, if there is one. */
static bool take_row(const heed_score *p, heed_score_factors *f)
{
    const heed_step *step = heed_score_step(p, f->key);
    bool divides = step->op == HEED_OP_DIV;
    if (f->rows == FACTORS_MAX || (step->op != HEED_OP_MUL && !divides))
        return false;
    bool left = p->marks[step->a] & OF_KEY, right = p->marks[step->b] & OF_KEY;
    if (left == right || (divides && (right || heed_score_step(p, step->b)->op != HEED_OP_FLOAT)))
        return false;
    f->row[f->rows] = left ? step->b : step->a;
    f->divides[f->rows++] = divides;
    f->key = left ? step->a : step->b;
    return true;
}

heed_score_factors heed_score_factors_of(const heed_score *p, int i)
{
    heed_score_factors f = { .key = i };
    if (!(p->marks[i] & OF_KEY))
        return (heed_score_factors){ .key = -1, .rows = 1, .row = { i } };
    while (take_row(p, &f))
        ;
    f.rises = heed_score_find_rising(p, f.key, &f.number);
    return f;
}

void heed_score_need_all(heed_score *p)
{
    for (int i = 0; i < p->term_count; i++) {
        heed_score_factors f = heed_score_factors_of(p, p->terms[i].step);
        if (f.rows > 0)
            p->marks[p->terms[i].step] |= IN_UNIT;
        for (int k = 0; k < f.rows; k++)
            need_in_row(p, f.row[k]);
        if (f.key >= 0)
            need_of_key(p, f.key);
    }
    if (p->core >= 0)
        need_of_key(p, p->core);
    if (p->program.visible >= 0)
        need_of_key(p, p->program.visible);
}

/* True if step @i depends on the query. */
static bool of_query(const heed_score *p, int i)
{
    bool needed[HEED_STEPS_MAX];
    heed_program_needed(&p->program, i, needed);
    for (int k = 0; k <= i; k++)
        if (needed[k] && (heed_score_step(p, k)->op == HEED_OP_QUERY ||
                          heed_score_step(p, k)->op == HEED_OP_POSITION))
            return true;
    return false;
}

/* True for a load of few elements; those of a mask are too many to scan. */
static bool load_bounded(const heed_score *p, const heed_step *step)
{
    const int indices[] = { step->a, step->b, step->c, step->d };
    bool key = false, query = false;
    for (int k = 0; k < 4 && indices[k] >= 0; k++) {
        if (!heed_score_bounded(p, indices[k]))
            return false;
        bool along = p->marks[indices[k]] & OF_KEY;
        if ((key && of_query(p, indices[k])) || (query && along))
            return false;
        key = key || along;
        query = query || of_query(p, indices[k]);
    }
    return true;
}

bool heed_score_bounded(const heed_score *p, int i)
{
    const heed_step *step = heed_score_step(p, i);
    bool a = step->a < 0 || heed_score_bounded(p, step->a);
    if (step->op == HEED_OP_LOAD)
        return load_bounded(p, step);
    if (step->op == HEED_OP_SCORE)
        return false;
    if (step->op == HEED_OP_AND || step->op == HEED_OP_OR)
        return a || heed_score_bounded(p, step->b);
    return a && (step->b < 0 || heed_score_bounded(p, step->b)) &&
           (step->c < 0 || heed_score_bounded(p, step->c));
}
