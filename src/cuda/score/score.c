/*
 * score.c - resources and arguments of kernels with changed logits
 */
#include "score_parts.h"

#include <math.h>

#include "../../problem/operand.h"

#define BYTES_AT_ONCE 16

/* True if rows of the elements that step @i loads begin at multiples of @unit elements. */
static bool has_rows_of(const heed_score *p, int i, int64_t unit)
{
    const heed_load *from = &p->program.sources[heed_score_step(p, i)->value.whole];
    bool fits = p->problem.seq_k % unit == 0;
    for (int k = 0; k < from->rank - 1; k++)
        fits = fits && (from->type == HEED_DATA_BITS || from->stride[k] % unit == 0);
    return fits;
}

/* True if elements of source @source are bytes along keys. */
static bool is_bytes(const heed_score *p, int source)
{
    for (int i = 0; i < p->program.count; i++)
        if (heed_score_along_keys(p, i) && heed_score_step(p, i)->value.whole == source)
            return heed_score_type_of(p, i) == HEED_DATA_BYTES;
    return false;
}

/* 1 if the elements of two neighbouring keys may be read at once; 2 if also sixteen of bytes; else
 * 0. */
static int pairs_of(const heed_score *p)
{
    int pairs = 1;
    for (int i = 0; i < p->program.count; i++) {
        if (!heed_score_along_keys(p, i))
            continue;
        if (!has_rows_of(p, i, 2))
            return 0;
        if (heed_score_type_of(p, i) == HEED_DATA_BYTES)
            pairs = 2;
    }
    for (int i = 0; i < p->program.count && pairs == 2; i++)
        if (heed_score_along_keys(p, i) && heed_score_type_of(p, i) == HEED_DATA_BYTES &&
            !has_rows_of(p, i, BYTES_AT_ONCE))
            pairs = 1;
    return pairs;
}

/* Instructions of a load, for each score. */
#define LOAD_INSTRUCTIONS 5

/* The number of them that step @i saves: the elements of a mask of many keys are read at once, and
 * its bytes are packed to bits. */
static int saved_by_packing(const heed_score *p, int i, const heed_cuda_needs *needs)
{
    if (heed_score_step(p, i)->op != HEED_OP_LOAD || !heed_score_along_keys(p, i))
        return 0;
    heed_data type = heed_score_type_of(p, i);
    if (type == HEED_DATA_BITS && needs->pairs > 0)
        return LOAD_INSTRUCTIONS - 1;
    return type == HEED_DATA_BYTES && needs->pairs == 2 ? LOAD_INSTRUCTIONS - 2 : 0;
}

/* Adds the approximate cost of a step. */
static void add_cost(const heed_score *p, int i, heed_cuda_needs *needs)
{
    static const struct {
        int instructions, exponentials;
    } costs[HEED_OPS] = {
        [HEED_OP_EXP] = { 6, 1 },
        [HEED_OP_LOG] = { 18, 0 },
        [HEED_OP_TANH] = { 4, 2 },
        [HEED_OP_SQRT] = { 8, 1 },
        [HEED_OP_TO_FLOAT] = { 0, 1 },
        [HEED_OP_TO_INT] = { 4, 1 },
        [HEED_OP_DIV] = { 9, 1 },
        [HEED_OP_MOD] = { 24, 1 },
        [HEED_OP_LOAD] = { LOAD_INSTRUCTIONS, 0 },
    };
    const heed_step *step = heed_score_step(p, i);
    heed_score_rising number;
    if (!(p->marks[i] & FOR_KEY) || step->op == HEED_OP_SCORE || step->op == HEED_OP_KEY)
        return;
    bool simple = heed_score_find_rising(p, i, &number) ||
                  (step->op == HEED_OP_DIV && heed_score_constant(p, step->b));
    needs->instructions += simple ? 1 : 1 + costs[step->op].instructions;
    needs->packed += saved_by_packing(p, i, needs);
    needs->exponentials += simple ? 0 : costs[step->op].exponentials;
}

/* Registers for two rows that step @i holds between scores. */
static int registers_of(const heed_score *p, int i)
{
    return 2 * ((p->marks[i] & IN_FIELD ? 1 : 0) + (p->marks[i] & AS_FLOAT ? 2 : 0) +
                (p->marks[i] & IN_UNIT ? 1 : 0) + (p->marks[i] & AS_PLACE ? 2 : 0));
}

/* Registers for the tile bases of both rows, and the maxima minus these. */
#define BASES 4

/* Further registers that the compiler used in some hundred configs: for elements in flight, and for
 * steps of several scores at a time. */
enum {
    LOADING = 20, /* not for bits */
    COMPUTING = 8,
    STARTING = 24 /* for a row's first key */
};

static void add_registers(const heed_score *p, heed_cuda_needs *needs)
{
    bool numbers = false, wide = true;
    for (int i = 0; i < p->program.count; i++) {
        needs->registers += registers_of(p, i);
        needs->loads = needs->loads || p->marks[i] & AS_PLACE;
        if (!(p->marks[i] & AS_PLACE) || heed_score_type_of(p, i) == HEED_DATA_BITS)
            continue;
        numbers = true;
        wide = wide && needs->pairs == 2 && heed_score_type_of(p, i) == HEED_DATA_BYTES;
        needs->ahead = needs->ahead || heed_score_read_ahead(p, i);
    }
    needs->computes = needs->instructions > COMPUTING;
    needs->registers += (needs->modifies ? BASES : 0) + (needs->computes ? COMPUTING : 0) +
                        (needs->starts ? STARTING : 0);
    needs->loading = numbers ? LOADING : 0;
    needs->packs = numbers && wide;
}

/* Sets whether tiles can be listed, and per head or per batch element. @p is without the starts. */
static void add_lists(const heed_score *p, const heed_operand *starts, heed_cuda_needs *needs)
{
    bool needed[HEED_STEPS_MAX];
    int visible = p->program.visible;
    needs->lists = visible >= 0 && heed_score_bounded(p, visible);
    if (!needs->lists)
        return;
    heed_program_needed(&p->program, visible, needed);
    needs->per_batch = starts->along & HEED_ALONG_BATCH || needs->lengths || needs->packed_q ||
                       needs->packed_k;
    for (int i = 0; i <= visible; i++) {
        heed_op op = heed_score_step(p, i)->op;
        needs->per_head = needs->per_head || (needed[i] && op == HEED_OP_HEAD);
        needs->per_batch = needs->per_batch || (needed[i] && op == HEED_OP_BATCH);
    }
}

heed_cuda_needs heed_cuda_needs_of(const heed_problem *problem)
{
    heed_score p;
    heed_cuda_needs needs = { .starts = problem->starts.type != HEED_DATA_NONE,
                              .lengths = problem->lengths.type != HEED_DATA_NONE,
                              .packed_q = problem->tokens_q > 0,
                              .packed_k = problem->tokens_k > 0,
                              .pages = problem->page > 0,
                              .sinks = problem->sinks.type != HEED_DATA_NONE };
    if (!heed_problem_has_operands(problem))
        return needs;
    heed_score_start(&p, problem);
    needs.modifies = p.program.score >= 0;
    needs.caps = p.caps_products;
    needs.hides = p.program.visible >= 0;
    needs.any = needs.modifies || needs.hides || needs.starts || needs.lengths || needs.packed_q ||
                needs.packed_k || needs.pages || needs.sinks;
    needs.pairs = needs.modifies || needs.hides ? pairs_of(&p) : 0;
    add_lists(&p, &problem->starts, &needs);
    heed_score_need_all(&p);
    needs.stages = needs.pairs > 0 && heed_score_staged(&p) >= 0;
    needs.instructions = p.term_count + (p.root >= 0 && !p.products) +
                         (p.caps_products ? 3
                          : p.capped      ? 2
                                          : 0);
    needs.exponentials = p.capped && !p.caps_products ? 2 : 0;
    for (int i = 0; i < p.program.count; i++)
        add_cost(&p, i, &needs);
    add_registers(&p, &needs);
    return needs;
}

int heed_cuda_products(const heed_problem *problem)
{
    static const int ways[HEED_PRODUCTS_COUNT] = {
        [HEED_PRODUCTS_FULL] = 3, [HEED_PRODUCTS_TF32] = 1, [HEED_PRODUCTS_BF16X3] = 2
    };
    return ways[problem->products];
}

bool heed_cuda_masked(const heed_problem *problem)
{
    return heed_problem_masked(problem) || heed_problem_hides_by_program(problem);
}

static void fill_source(heed_cuda_source *source, const heed_load *from)
{
    for (int k = 0; k < from->rank; k++) {
        source->last[k] = from->size[k] - 1;
        if (k < from->rank - 1)
            source->stride[k] = from->stride[k];
    }
}

_Static_assert(HEED_CUDA_SOURCES == HEED_SOURCES_MAX, "args.cuh has room for all sources");

/* The polynomials minimize the largest error of tanh(y), in units of 2^-24 (u): y + y^3 (a + b y^2
 * + c y^4) for |y| up to 0.42, 0.72 u, and a y + b y^3 + c y^5 up to 0.28, 1.78 u. With all
 * roundings the errors are at most 2.35 and 2.32 u, and 2.48 u with exponentials. Factors for which
 * a power could underflow have neither. The second is a polynomial in y^2 + shift, so that squares
 * up to that of 0.28 have one exponent, and larger ones have others. */
static void fill_cap(heed_cuda_cap *cap, const heed_score *p, double scale)
{
    static const double of_small[4] = { 1, -0.33330762, 0.13255794, -0.04681702 };
    static const double of_tiny[3] = { 0.99999734, -0.33305902, 0.1262284 };
    double stretch = scale * p->stretch, top = p->softcap * LOG2_E;
    double factor = fabs(stretch) / (2 * LOG2_E), power = top * stretch / (2 * LOG2_E);
    *cap = (heed_cuda_cap){ .stretch = (float)stretch,
                            .top = (float)top,
                            .inverse = (float)(-0.5 / top) };
    if (!(factor >= 0x1p-16 && factor <= 0x1p16))
        return;
    cap->small = (float)(0.42 / factor);
    double tiny = pow(0.28 / factor, 2), limit = exp2(ceil(log2(tiny)) + 1), shift = limit - tiny;
    double y2 = shift * factor * factor;
    cap->limit = (float)limit;
    cap->shift = (float)shift;
    const double shifted[3] = { of_tiny[0] - y2 * (of_tiny[1] - y2 * of_tiny[2]),
                                of_tiny[1] - 2 * y2 * of_tiny[2], of_tiny[2] };
    for (int i = 0; i < 4; i++) {
        cap->of_small[i] = (float)(of_small[i] * power);
        if (i < 3)
            cap->of_tiny[i] = (float)(shifted[i] * power);
        power *= factor * factor;
    }
}

float heed_cuda_fill_changes(heed_cuda_changes *changes, const heed_problem *problem)
{
    heed_score p;
    double scale = fabs((double)problem->scale);
    *changes = (heed_cuda_changes){ .natural = 0 };
    if (!heed_problem_has_operands(problem))
        return (float)(scale * LOG2_E);
    heed_score_start(&p, problem);
    double unit = p.root < 0 || p.products ? scale : (double)p.unit;
    changes->natural = (float)scale;
    changes->inverse = (float)(1 / unit);
    changes->unit = (float)unit;
    if (p.caps_products)
        fill_cap(&changes->cap, &p, scale);
    if (problem->sinks.along & HEED_ALONG_BATCH)
        changes->sink_stride = problem->sinks.strides.batch;
    if (problem->starts.along & HEED_ALONG_BATCH)
        changes->start_stride = problem->starts.strides.batch;
    changes->length_stride = problem->lengths.strides.batch;
    changes->table_stride = problem->table.strides.batch;
    changes->cu_q_words = problem->cu_seqlens_q.type == HEED_DATA_I64 ? 2 : 1;
    changes->cu_k_words = problem->cu_seqlens_k.type == HEED_DATA_I64 ? 2 : 1;
    for (int i = 0; i < p.program.source_count; i++)
        fill_source(&changes->sources[i], &p.program.sources[i]);
    return (float)(unit * LOG2_E);
}

static const char *name_of(const heed_problem *problem, size_t buffer)
{
    for (int i = 0; i < HEED_OPERANDS; i++)
        if (heed_operand_rows[i].buffer == buffer)
            return heed_operand_rows[i].name;
    size_t array = (buffer - offsetof(heed_buffers, arrays)) / sizeof(void *);
    return problem->arrays[array].name;
}

int heed_cuda_operands(const heed_problem *problem, int *sources,
                       heed_cuda_operand operands[HEED_CUDA_OPERANDS_MAX])
{
    heed_score p;
    int count = 0;
    *sources = 0;
    if (!heed_problem_has_operands(problem))
        return 0;
    heed_score_start(&p, problem);
    bool wide = pairs_of(&p) == 2;
    for (; count < p.program.source_count; count++) {
        const heed_load *from = &p.program.sources[count];
        operands[count] = (heed_cuda_operand){ name_of(problem, from->buffer), from->buffer,
                                               from->type == HEED_DATA_BITS ? 4
                                               : wide && is_bytes(&p, count)
                                                   ? BYTES_AT_ONCE
                                                   : 2 * (int)heed_data_size(from->type) };
    }
    *sources = count;
    const int others[] = { HEED_OPERAND_SINKS, HEED_OPERAND_STARTS, HEED_OPERAND_LENGTHS,
                           HEED_OPERAND_TABLE, HEED_OPERAND_CU_Q,   HEED_OPERAND_CU_K };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (heed_problem_operand(problem, others[i])->type != HEED_DATA_NONE)
            operands[count++] = (heed_cuda_operand){ heed_operand_rows[others[i]].name,
                                                     heed_operand_rows[others[i]].buffer, 4 };
    return count;
}
