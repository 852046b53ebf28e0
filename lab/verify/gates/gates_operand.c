/*
 * gates_operand.c - gates that write a problem in an equivalent form: operands, softcap,
 * expressions
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lab/base/mask.h"
#include "lab/tensor/convert.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/reference/logit.h"
#include "lab/verify/reference/reference.h"

/* ---------------------------------------------------------------------------------------------- */
/* Other problems on the same values                                                              */
/* ---------------------------------------------------------------------------------------------- */

/* Makes values for @problem, and copies those of @from for inputs of the same kind. */
static heed_status take_values(lab_values *values, const heed_problem *problem,
                               const lab_values *from)
{
    heed_problem normal;
    heed_status status = heed_problem_normalize(&normal, problem);
    if (status == HEED_OK)
        status = lab_values_create(values, &normal);
    for (int role = LAB_Q; role < LAB_INPUTS && status == HEED_OK; role++)
        if (role != LAB_TABLE && values->block[role].region.map &&
            values->block[role].view.kind == from->block[role].view.kind &&
            lab_view_vectors(&values->block[role].view) ==
                lab_view_vectors(&from->block[role].view))
            lab_values_take(values, from, (lab_role)role);
    return status;
}

/* Both sides may be off by their budgets, which are nearly equal. */
#define SIDES 3

/* Adds the rows of @expect, whose budgets hold for either side. */
static void add_differences(lab_worst *worst, const lab_check *check, const lab_run *run,
                            const lab_expect *expect)
{
    for (int64_t i = 0; i < expect->count; i++)
        if (expect->lse[i] != -INFINITY || check->sampling.own)
            lab_worst_add_pair(worst, &check->values->problem, run, &check->runs[0], expect, i,
                               SIDES);
}

/* ---------------------------------------------------------------------------------------------- */
/* Spelled                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

/* An expression that is being written. */
typedef struct sentence {
    char text[HEED_EXPRESSION_SIZE];
    size_t length;
    bool full;
} sentence;

static void say(sentence *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(sentence *to, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof to->text - to->length;
    va_start(arguments, format);
    int length = vsnprintf(to->text + to->length, room, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= room)
        to->full = true;
    else
        to->length += (size_t)length;
}

/* Appends @text with s replaced by @value. */
static void say_with(sentence *to, const char *text, const char *value)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    while (*text) {
        size_t length = strspn(text, letters);
        if (length == 1 && *text == 's')
            say(to, "(%s)", value);
        else
            say(to, "%.*s", length ? (int)length : 1, text);
        text += length ? length : 1;
    }
}

/* The dimensions of an operand as an array. If all four are used, heads are merged into the batch
 * dimension.
 */
typedef struct shape {
    int rank;
    int64_t size[4];
    const char *index[4];
} shape;

static shape shape_of(const heed_problem *problem, unsigned along)
{
    const struct {
        unsigned bit;
        int64_t size;
        const char *index;
    } all[] = { { HEED_ALONG_BATCH, problem->batch, "batch" },
                { HEED_ALONG_HEAD, problem->heads_q, "head" },
                { HEED_ALONG_QUERY, problem->seq_q, "q" },
                { HEED_ALONG_KEY, problem->seq_k, "k" } };
    shape it = { .rank = 0 };
    bool joined = (along & 15) == 15;
    for (int i = joined; i < 4; i++) {
        if (!(along & all[i].bit))
            continue;
        it.size[it.rank] = all[i].size;
        it.index[it.rank++] = all[i].index;
    }
    if (joined) {
        it.size[0] *= problem->batch;
        it.index[0] = "batch*heads+head";
    }
    return it;
}

/* Makes an array of the operand @role. Returns its number, or -1 if no array is left. */
static int add_array(heed_problem *to, const heed_problem *problem, const heed_operand *operand,
                     heed_data type, sentence *element)
{
    shape dims = shape_of(problem, operand->along);
    int number = 0;
    while (number < HEED_ARRAYS_MAX && to->arrays[number].name[0])
        number++;
    if (number == HEED_ARRAYS_MAX)
        return -1;
    heed_array *array = &to->arrays[number];
    *array = (heed_array){ .type = type, .rank = dims.rank };
    snprintf(array->name, sizeof array->name, "spelled_%d", number);
    *element = (sentence){ .length = 0 };
    say(element, "%s[", array->name);
    for (int i = 0; i < dims.rank; i++) {
        array->size[i] = dims.size[i];
        say(element, "%s%s", i ? "," : "", dims.index[i]);
    }
    say(element, "]");
    return number;
}

/* The array that replaces each operand. */
typedef struct spelling {
    heed_problem problem;
    int array[LAB_ARRAYS]; /* by role; -1: none */
    bool full;
} spelling;

/* Writes the element of an operand, as an array of @type. */
static sentence spell_operand(spelling *it, const heed_problem *problem, lab_role role,
                              const heed_operand *operand, heed_data type)
{
    sentence element = { .length = 0 };
    it->array[role] = add_array(&it->problem, problem, operand, type, &element);
    it->full |= it->array[role] < 0 || element.full;
    return element;
}

static void spell_score(spelling *it, const heed_problem *problem)
{
    sentence t = { .length = 0 }, score = { .length = 0 };
    if (problem->softcap != 0)
        say(&t, "%.9g*tanh(s/%.9g)", (double)problem->softcap, (double)problem->softcap);
    else
        say(&t, "s");
    if (problem->bias.type)
        say(&t, "+%s", spell_operand(it, problem, LAB_BIAS, &problem->bias, HEED_DATA_F32).text);
    if (problem->slopes.type)
        say(&t, "-%s*abs(p-k)",
            spell_operand(it, problem, LAB_SLOPES, &problem->slopes, HEED_DATA_F32).text);
    if (problem->score[0])
        say_with(&score, problem->score, t.text);
    else
        score = t;
    it->full |= t.full || score.full;
    memset(it->problem.score, 0, sizeof it->problem.score);
    if (strcmp(score.text, "s") != 0)
        memcpy(it->problem.score, score.text, score.length);
}

static void spell_visible(spelling *it, const heed_problem *problem)
{
    sentence v = { .length = 0 };
    const heed_window *window = &problem->window;
    if (problem->starts.type)
        say(&v, "&&k>=%s",
            spell_operand(it, problem, LAB_STARTS, &problem->starts, HEED_DATA_I32).text);
    if (problem->lengths.type && !lab_follows_lengths(problem))
        say(&v, "&&k<%s",
            spell_operand(it, problem, LAB_LENGTHS, &problem->lengths, HEED_DATA_I32).text);
    if (problem->shown.type)
        say(&v, "&&%s",
            spell_operand(it, problem, LAB_SHOWN, &problem->shown, HEED_DATA_BYTES).text);
    if (window->sides & HEED_WINDOW_LEFT)
        say(&v, "&&k>=p-%lld", (long long)window->left);
    if (window->sides & HEED_WINDOW_RIGHT)
        say(&v, "&&k<=p+%lld", (long long)window->right);
    if (problem->chunk > 0)
        say(&v, "&&k//%lld==p//%lld", (long long)problem->chunk, (long long)problem->chunk);
    if (problem->visible[0])
        say(&v, "&&(%s)", problem->visible);
    it->full |= v.full;
    memset(it->problem.visible, 0, sizeof it->problem.visible);
    if (v.length > 2)
        memcpy(it->problem.visible, v.text + 2, v.length - 2);
}

/* The problem with expressions in place of words. */
static spelling spell(const heed_problem *problem)
{
    spelling it = { .problem = *problem };
    for (int role = 0; role < LAB_ARRAYS; role++)
        it.array[role] = -1;
    it.problem.softcap = 0;
    if (problem->prefix) /* excludes expressions */
        it.problem.prefix = it.problem.pages = 0;
    it.problem.bias = it.problem.slopes = it.problem.starts = it.problem.shown = (heed_operand){
        0
    };
    if (!lab_follows_lengths(problem)) /* else p follows them */
        it.problem.lengths = (heed_operand){ 0 };
    it.problem.window = (heed_window){ 0 };
    it.problem.chunk = 0;
    spell_score(&it, problem);
    spell_visible(&it, problem);
    return it;
}

/* Copies the operand @role to the array that replaces it. */
static void copy_operand(lab_values *to, const lab_values *from, lab_role role, int array)
{
    const lab_block *source = &from->block[role], *target = &to->block[LAB_ARRAYS + array];
    const lab_view *view = &source->view;
    int64_t keys = view->kind == HEED_DATA_BITS ? from->problem.seq_k : view->dim, next = 0;
    for (int64_t n = 0; n < lab_view_vectors(view); n++)
        for (int64_t j = 0; j < keys; j++) {
            int64_t at = lab_view_vector(view, n) * (view->kind == HEED_DATA_BITS ? 32 : 1) + j;
            lab_data_set(target->view.kind, target->region.data, next++,
                         lab_data_get(view->kind, source->region.data, at));
        }
}

static bool has_words(const heed_problem *p)
{
    return p->softcap != 0 || p->bias.type || p->slopes.type || p->starts.type || p->shown.type ||
           p->lengths.type || p->window.sides || p->chunk;
}

void lab_gate_spelled(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    lab_variant other = { .memo = LAB_MEMO_SPELLED };
    if (!has_words(problem)) {
        lab_verdict_skip(verdict, "no word can be written as an expression");
        return;
    }
    spelling it = spell(problem);
    if (it.full || heed_problem_check(&it.problem) != HEED_OK) {
        lab_verdict_skip(verdict, "the expressions need too many arrays or characters");
        return;
    }
    lab_trace_step(check->trace, "with expressions for words");
    heed_status status = take_values(&other.values, &it.problem, check->values);
    for (int role = LAB_BIAS; role < LAB_ARRAYS && status == HEED_OK; role++)
        if (it.array[role] >= 0)
            copy_operand(&other.values, check->values, (lab_role)role, it.array[role]);
    if (lab_variants_run(check, &other, 1, status, verdict)) {
        lab_worst worst = { 0 };
        add_differences(&worst, check, &other.run, other.expect);
        lab_judge_worst(verdict, problem, &worst, "difference");
        lab_note_left_out(verdict, other.expect);
    }
    lab_variants_destroy(&other, 1);
}

/* ---------------------------------------------------------------------------------------------- */
/* Shown                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* Writes the mask of @from to @to, as booleans or as a bias of 0 and -infinity. */
static void copy_mask(const lab_block *to, const lab_block *from, int64_t keys, bool bias)
{
    for (int64_t n = 0; n < lab_view_vectors(&from->view); n++)
        for (int64_t j = 0; j < keys; j++) {
            int64_t at = lab_view_vector(&from->view, n), into = lab_view_vector(&to->view, n);
            double shown = lab_data_get(from->view.kind, from->region.data,
                                        at * (from->view.kind == HEED_DATA_BITS ? 32 : 1) + j);
            lab_data_set(to->view.kind, to->region.data,
                         into * (to->view.kind == HEED_DATA_BITS ? 32 : 1) + j,
                         !bias        ? shown
                         : shown != 0 ? 0
                                      : -INFINITY);
        }
}

/* Adds the differences from a run with the mask as operand @role of type @type. */
static bool add_other_mask(lab_worst *worst, const lab_check *check, lab_role role, heed_data type,
                           lab_verdict *verdict)
{
    heed_problem other = check->values->problem;
    lab_variant variant = { .memo = LAB_MEMO_NONE };
    heed_operand said = { .type = type, .along = other.shown.along };
    other.shown = (heed_operand){ 0 };
    *(role == LAB_BIAS ? &other.bias : &other.shown) = said;
    heed_status status = take_values(&variant.values, &other, check->values);
    if (status == HEED_OK)
        copy_mask(&variant.values.block[role], &check->values->block[LAB_SHOWN], other.seq_k,
                  role == LAB_BIAS);
    bool complete = lab_variants_run(check, &variant, 1, status, verdict);
    if (complete)
        add_differences(worst, check, &variant.run, check->expect);
    lab_variants_destroy(&variant, 1);
    return complete;
}

void lab_gate_shown(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    bool bits = problem->shown.type == HEED_DATA_BITS;
    lab_worst worst = { 0 };
    if (!problem->shown.type) {
        lab_verdict_skip(verdict, "there is no mask");
        return;
    }
    lab_trace_step(check->trace, "with the mask in another type");
    if (!add_other_mask(&worst, check, LAB_SHOWN, bits ? HEED_DATA_BYTES : HEED_DATA_BITS, verdict))
        return;
    /* An expression may do anything with a logit of -infinity, for example leave it out. */
    bool biased = !problem->bias.type && !problem->score[0];
    if (biased)
        lab_trace_step(check->trace, "with a bias for the mask");
    if (biased && !add_other_mask(&worst, check, LAB_BIAS, HEED_DATA_F32, verdict))
        return;
    lab_judge_worst(verdict, problem, &worst, "difference");
}

/* ---------------------------------------------------------------------------------------------- */
/* Sinks                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* Compares the row with its sink to the row of @without, to which the sink is added. */
static void add_sink(lab_worst *worst, const lab_check *check, const lab_variant *without,
                     int64_t i)
{
    const heed_problem *problem = &check->values->problem;
    const lab_expect *expect = without->expect;
    int64_t row = expect->rows[i];
    heed_buffers data = lab_values_buffers(check->values);
    double sink = lab_sink(problem, &data, lab_row_at(problem, row)), norm = 0;
    double bare = (double)without->run.lse[row], lse = lab_add_logarithms(bare, sink);
    double a[HEED_DIM_MAX], b[HEED_DIM_MAX], unit = lab_type_unit(problem->type);
    lab_run_row(&check->runs[0], problem, row, a);
    lab_run_row(&without->run, problem, row, b);
    for (int64_t c = 0; c < problem->dim_v; c++) {
        b[c] = bare == -INFINITY ? 0 : b[c] * exp(bare - lse);
        norm += b[c] * b[c];
    }
    double allowed = expect->o_budget[i] + sqrt(norm) * (expect->lse_budget[i] + unit) +
                     lab_type_quantum(problem->type) * sqrt((double)problem->dim_v);
    lab_worst_add(worst, row, lab_row_distance(a, b, problem->dim_v), SIDES * allowed);
    lab_worst_add(worst, row, fabs(lse - (double)check->runs[0].lse[row]),
                  SIDES * (expect->lse_budget[i] + 2 * lab_type_unit(HEED_F32) * (1 + fabs(lse))));
}

void lab_gate_sinks(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    heed_problem other = *problem;
    lab_variant without = { .memo = LAB_MEMO_SINKLESS };
    if (!lab_has_sinks(problem)) {
        lab_verdict_skip(verdict, "there are no sinks");
        return;
    }
    lab_trace_step(check->trace, "without sinks");
    other.sinks = (heed_operand){ 0 };
    heed_status status = take_values(&without.values, &other, check->values);
    if (lab_variants_run(check, &without, 1, status, verdict)) {
        lab_worst worst = { 0 };
        for (int64_t i = 0; i < without.expect->count; i++)
            if (!lab_expect_undefined(without.expect, i))
                add_sink(&worst, check, &without, i);
        lab_judge_worst(verdict, problem, &worst, "difference");
    }
    lab_variants_destroy(&without, 1);
}

/* ---------------------------------------------------------------------------------------------- */
/* Neutral                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

void lab_gate_neutral(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    heed_problem other = *problem;
    lab_variant pair[2] = { { .memo = LAB_MEMO_NONE }, { .memo = LAB_MEMO_NEUTRAL } };
    if (!problem->bias.type && !problem->slopes.type) {
        lab_verdict_skip(verdict, "there is no bias, and there are no slopes");
        return;
    }
    lab_trace_step(check->trace, "with a bias and slopes of 0");
    other.bias = other.slopes = (heed_operand){ 0 };
    heed_status status = lab_values_copy(&pair[0].values, check->values);
    if (status == HEED_OK)
        status = take_values(&pair[1].values, &other, check->values);
    if (status == HEED_OK) {
        lab_block_set(&pair[0].values.block[LAB_BIAS], 0);
        lab_block_set(&pair[0].values.block[LAB_SLOPES], 0);
    }
    if (lab_variants_run(check, pair, 2, status, verdict)) {
        const lab_expect *expect = pair[1].expect;
        lab_worst worst = { 0 };
        for (int64_t i = 0; i < expect->count; i++)
            lab_worst_add_pair(&worst, problem, &pair[0].run, &pair[1].run, expect, i, SIDES);
        lab_judge_worst(verdict, problem, &worst, "difference");
    }
    lab_variants_destroy(pair, 2);
}

/* ---------------------------------------------------------------------------------------------- */
/* Prefixed                                                                                       */
/* ---------------------------------------------------------------------------------------------- */

/* Gives each batch element a copy of the prefix, and new keys that belong at the lengths. */
void lab_gate_prefixed(const lab_check *check, lab_verdict *verdict)
{
    const heed_problem *problem = &check->values->problem;
    heed_problem other = *problem;
    lab_variant apart = { .memo = LAB_MEMO_NONE };
    if (problem->prefix == 0) {
        lab_verdict_skip(verdict, "there is no prefix");
        return;
    }
    lab_trace_step(check->trace, "with a prefix for each batch element");
    other.prefix = other.pages = 0;
    heed_status status = take_values(&apart.values, &other, check->values);
    if (lab_variants_run(check, &apart, 1, status, verdict)) {
        lab_worst worst = { 0 };
        add_differences(&worst, check, &apart.run, check->expect);
        lab_judge_worst(verdict, problem, &worst, "difference");
    }
    lab_variants_destroy(&apart, 1);
}
