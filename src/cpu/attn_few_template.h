/*
 * attn_few_template.h - attention for few queries (decode): head dims in the lanes of vectors
 *
 * A handful of rows cannot fill the lanes of a strip, and the time goes into reading K and V once.
 * So K and V are processed row by row as they are in memory: logits are dot products along the head
 * dim, summed across lanes for LANES keys at a time by one transposition, and O accumulates whole
 * rows of V. The rows of a task, which include the query heads of one group, share each tile of K
 * and V. Keys that a row does not see are not read for it. The online softmax is that of
 * attn_scalar.c.
 *
 * Parameters, defined by the file that includes this template after simd_*.h and simd_rows.h:
 *
 *     FEW_CODE   the heed_few_code to define
 *     MODIFIER   the heed_modifier of the same instructions
 *     ROWS       rows that share loads of K and V: 4 with 32 registers, 2 with 16
 *     RATES      rates for the cost model
 *
 * Knobs m (rows per task) and s (tasks that share the keys) are in attn_few.c.
 *
 * HEED_ABLATE is for degraded builds (ablated.h): no-exp, no-products (sums stop after their first
 * step), no-loads, mispredicted (an unpredictable branch for each vector of
 * weights), extra-barrier, strided (K and V are converted column by column), no-staging (they are
 * read in place, in float32), no-overlap (no prefetch) and over-unrolled.
 *
 * docs/kernels/attn_few.md has the log: versions with their timings, and other attempts.
 */
#include <math.h>

#include "few.h"
#include "simd_weight.h"

#define CHUNK 4 /* vectors of O kept in registers */

#if HEED_ABLATE == ABLATE_UNROLLED
#define INNER_LOOP _Pragma("GCC unroll 16")
#else
#define INNER_LOOP
#endif

extern const heed_few_code FEW_CODE;

typedef struct few_state {
    const heed_job *job;
    const heed_task *task;
    heed_few_layout y;
    float *base;
    float factor; /* converts products to base-2 logits; 1 if the program has them */
    bool hides;   /* the program hides keys */
    int64_t key;  /* first key of the tile */
} few_state;

/* False if K and V are read in place. */
static inline bool is_staged(const few_state *t)
{
    return HEED_ABLATE != ABLATE_NO_STAGING || t->job->table;
}

/* Row @j of the tile of K, and the distance in floats to the next one; */
static inline const float *key_rows(const few_state *t, int64_t j, int64_t *stride)
{
    const bool staged = is_staged(t);
    *stride = staged ? t->y.dim_qk : t->job->problem->k.seq;
    return staged ? t->base + t->y.k + j * t->y.dim_qk : heed_job_k(t->job, t->task, t->key + j);
}

/* the first row of V. */
static inline const float *value_rows(const few_state *t, int64_t *stride)
{
    const bool staged = is_staged(t);
    *stride = staged ? t->y.dim_v : t->job->problem->v.seq;
    return staged ? t->base + t->y.v : heed_job_v(t->job, t->task, t->key);
}

static void load_filled(float *to, const void *from, int64_t count, int64_t filled, heed_type type)
{
    load_row(to, from, count, type);
    if (filled > count)
        memset(to + count, 0, (size_t)(filled - count) * sizeof *to);
}

#if HEED_ABLATE == ABLATE_STRIDED

/* Loads @keys rows of K, or of V, from key @first on, one vector of each row at a time, with zeros
 * after the last row. */
static void load_columns(const few_state *t, bool of_k, int64_t first, int64_t keys)
{
    const heed_problem *p = t->job->problem;
    const int64_t dim = of_k ? p->dim_qk : p->dim_v, filled = of_k ? t->y.dim_qk : t->y.dim_v;
    float *to = t->base + (of_k ? t->y.k : t->y.v);
    for (int64_t c = 0; c < filled; c += LANES)
        for (int64_t j = 0; j < keys; j++) {
            const char *row = of_k ? heed_job_k(t->job, t->task, first + j)
                                   : heed_job_v(t->job, t->task, first + j);
            int64_t count = dim > c ? heed_min(dim - c, LANES) : 0;
            load_filled(to + j * filled + c, row + c * t->job->element, count, LANES, p->type);
        }
}

#endif

/* Addresses of vectors of K and V, from key to key of a page, or of all keys without pages. */
typedef struct vectors {
    const char *k, *v;
} vectors;

static inline vectors vectors_of(const few_state *t, int64_t j)
{
    return (vectors){ heed_job_k(t->job, t->task, j), heed_job_v(t->job, t->task, j) };
}

/* Loads a tile, and prefetches the next one. */
static void load_tile(const few_state *t, int64_t first, int64_t keys)
{
    const heed_problem *p = t->job->problem;
#if HEED_ABLATE == ABLATE_STRIDED
    load_columns(t, true, first, keys);
    load_columns(t, false, first, keys);
    return;
#endif
    const int64_t k_step = p->k.seq * t->job->element, v_step = p->v.seq * t->job->element;
    for (int64_t j = 0, end; j < keys;) {
        const int64_t ahead = first + j + FEW_KEYS, rest = t->task->key_end - ahead;
        const bool fetches = rest > 0 && !JOB_ABLATES(t->job, ABLATE_NO_OVERLAP);
        vectors from = vectors_of(t, first + j), next = vectors_of(t, fetches ? ahead : first);
        end = j + heed_job_adjacent(t->job, first + j, keys - j);
        if (fetches)
            end = heed_min(end, j + heed_job_adjacent(t->job, ahead, rest));
        for (; j < end; j++) {
            if (fetches)
                heed_job_prefetch_vectors(t->job, next.k, next.v);
            load_filled(t->base + t->y.k + j * t->y.dim_qk, from.k, p->dim_qk, t->y.dim_qk,
                        p->type);
            load_filled(t->base + t->y.v + j * t->y.dim_v, from.v, p->dim_v, t->y.dim_v, p->type);
            from = (vectors){ from.k + k_step, from.v + v_step };
            next = (vectors){ next.k + k_step, next.v + v_step };
        }
    }
    /* The rest of a group of multiply_keys(), which denormal numbers would make slow. */
    const int64_t end = (keys + LANES - 1) / LANES * LANES;
    memset(t->base + t->y.k + keys * t->y.dim_qk, 0,
           (size_t)((end - keys) * t->y.dim_qk) * sizeof *t->base);
}

/* Products of @rows rows of Q with the keys @seen of the tile; others are undefined. LANES products
 * at a time are summed across their lanes by one transposition. @rows is 1 or ROWS, a constant. */
static inline __attribute__((always_inline)) void multiply_keys(const few_state *t, int64_t row,
                                                                int rows, heed_interval seen,
                                                                float s[ROWS][FEW_KEYS])
{
    const float *q = t->base + t->y.q + row * t->y.dim_qk;
    const int group = LANES / rows; /* keys at a time */
    for (int64_t j = seen.begin / group * group; j < seen.end; j += group) {
        int64_t stride;
        const float *k = key_rows(t, j, &stride);
        float sums[LANES];
        vf acc[LANES];
        for (int i = 0; i < LANES; i++)
            acc[i] = v_zero();
        const int64_t dims = JOB_ABLATES(t->job, ABLATE_NO_PRODUCTS) ? LANES : t->y.dim_qk;
        INNER_LOOP
        for (int64_t c = 0; c < dims; c += LANES)
            for (int i = 0; i < group; i++) {
                vf key = v_load(k + i * stride + c);
                for (int r = 0; r < rows; r++)
                    acc[r * group + i] = v_fma(v_load(q + r * t->y.dim_qk + c), key,
                                               acc[r * group + i]);
            }
        v_transpose(acc);
        for (int width = LANES / 2; width > 0; width /= 2)
            for (int i = 0; i < width; i++)
                acc[i] = v_add(acc[i], acc[i + width]);
        v_store(sums, acc[0]);
        for (int r = 0; r < rows; r++)
            memcpy(s[r] + j, sums + r * group, (size_t)group * sizeof *sums);
    }
}

/* Describes the logits of the task's @rows rows in the tile of @keys keys as patches. Returns true
 * if the program shows any of them. If it hides the first of many rows, intervals may tell sooner
 * that it hides the others. */
static __attribute__((noinline)) bool find_patches(const few_state *t, int64_t rows, int64_t keys,
                                                   heed_patch patches[FEW_ROWS])
{
    const heed_modify *modify = t->job->modify;
    bool any = !t->hides;
    for (int64_t r = 0; r < rows; r++) {
        patches[r] = (heed_patch){ .kept = t->base + t->y.kept + r * modify->need.kept,
                                   .scratch = t->base + t->y.program + r * modify->need.patch,
                                   .key = t->key,
                                   .keys = FEW_KEYS };
        if (t->hides)
            patches[r].shows = modify->by->see(modify, &patches[r]);
        any = any || patches[r].shows != HEED_SHOWS_NONE;
        if (!any && r == 0 && rows > ROWS && !heed_job_may_see(t->job, t->task, t->key, keys))
            return false;
    }
    return any;
}

/* Turns the products @s of a row with the keys @seen into logits, and runs the program on them. */
static __attribute__((noinline)) void modify_logits(const few_state *t, heed_interval seen,
                                                    heed_patch *patch, float s[FEW_KEYS])
{
    patch->logits = s;
    for (int64_t j = 0; j < FEW_KEYS; j += LANES)
        v_store(s + j, v_mul(v_load(s + j), v_set(t->job->factor)));
    for (int64_t j = 0; j < seen.begin; j++)
        s[j] = 0;
    for (int64_t j = seen.end; j < FEW_KEYS; j++)
        s[j] = 0;
    t->job->modify->by->run(t->job->modify, patch);
}

/* Turns the logits @s of a row into weights, 2^(s factor + minus), and returns their sums.
 * @ablation is a constant. */
static inline __attribute__((always_inline)) vf weigh_keys(float s[FEW_KEYS], vf factor, vf minus,
                                                           int ablation)
{
    vf sum = v_zero();
    for (int j = 0; j < FEW_KEYS; j += LANES) {
        vf weight = power_of_two(v_fma(v_load(s + j), factor, minus), ablation);
        v_store(s + j, weight);
        sum = v_add(sum, weight);
    }
    return sum;
}

/* The same with the job's ablation. */
static inline vf weigh_all(const few_state *t, float s[FEW_KEYS], vf factor, vf minus)
{
    if (JOB_ABLATES(t->job, ABLATE_NO_EXP))
        return weigh_keys(s, factor, minus, ABLATE_NO_EXP);
    if (JOB_ABLATES(t->job, ABLATE_MISPREDICTED))
        return weigh_keys(s, factor, minus, ABLATE_MISPREDICTED);
    return weigh_keys(s, factor, minus, ABLATE_NONE);
}

/* Multiplies the logits by the factor, each rounded; the factor left is 1. */
static float scale_logits(float s[FEW_KEYS], float factor)
{
    for (int j = 0; j < FEW_KEYS; j += LANES)
        v_store(s + j, v_mul(v_load(s + j), v_set(factor)));
    return 1;
}

/* Turns the products of one row with the keys @seen into weights, zero for others, updates m and l,
 * and returns the rescale factor of O. */
static float weigh(const few_state *t, int64_t row, heed_interval seen, float s[FEW_KEYS])
{
    float *m = t->base + t->y.m + row;
    float *l = t->base + t->y.l + row;
    float factor = heed_job_changes(t->job) ? HEED_LOG2_E : scale_logits(s, t->factor);
    vf top = v_set(-INFINITY);
    for (int64_t j = 0; j < seen.begin; j++)
        s[j] = -INFINITY;
    for (int64_t j = seen.end; j < FEW_KEYS; j++)
        s[j] = -INFINITY;
    for (int j = 0; j < FEW_KEYS; j += LANES)
        top = v_max(v_load(s + j), top);
    float now = v_top(top) * factor;
    now = now > *m ? now : *m;
    if (now == -INFINITY)
        now = -3.402823466e38f; /* finite even if no key was seen yet */
    if (fabsf(now) > HEED_FAR)
        factor = scale_logits(s, factor);
    const vf sum = weigh_all(t, s, v_set(factor), v_set(-now));
    float alpha = exp2f(*m - now);
    *m = now;
    *l = *l * alpha + v_sum(sum);
    return alpha;
}

/* True if the sums of @rows rows are finite. x * 0 is NaN for others. */
static inline bool are_finite(vf sums[ROWS][CHUNK], int rows)
{
    vf zero = v_zero();
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < CHUNK; i++)
            zero = v_fma(sums[r][i], v_zero(), zero);
    return v_is_all((vf)(zero == v_zero()));
}

/* O = O alpha + sum over the keys @seen of their weight times their row of V, for @rows rows: 1 or
 * ROWS, a constant. Returns the first column that is left to do: where the program hides keys, it
 * stops before columns with an infinite or NaN sum, for which a hidden value may be the reason. */
static inline __attribute__((always_inline)) int64_t accumulate(const few_state *t, int64_t row,
                                                                int rows, heed_interval seen,
                                                                float weights[ROWS][FEW_KEYS],
                                                                const float alpha[ROWS])
{
    float *o = t->base + t->y.o + row * t->y.dim_v;
    if (JOB_ABLATES(t->job, ABLATE_NO_PRODUCTS))
        seen.end = heed_min(seen.end, seen.begin + 1);
    for (int64_t c = 0; c < t->y.dim_v; c += CHUNK * LANES) {
        int64_t stride;
        const float *v = value_rows(t, &stride) + c;
        v += seen.begin * stride;
        vf acc[ROWS][CHUNK];
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < CHUNK; i++)
                acc[r][i] = v_zero();
        INNER_LOOP
        for (int64_t j = seen.begin; j < seen.end; j++, v += stride)
            for (int r = 0; r < rows; r++) {
                vf weight = v_set(weights[r][j]);
                for (int i = 0; i < CHUNK; i++)
                    acc[r][i] = v_fma(weight, v_load(v + i * LANES), acc[r][i]);
            }
        if (t->hides && !are_finite(acc, rows))
            return c;
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < CHUNK; i++) {
                float *to = o + r * t->y.dim_v + c + i * LANES;
                v_store(to, v_fma(v_load(to), v_set(alpha[r]), acc[r][i]));
            }
    }
    return t->y.dim_v;
}

/* The same for columns of one row from @begin on, key by key, where the values of keys that the
 * program hides must not even be multiplied by zero. */
static __attribute__((noinline)) void accumulate_visible(const few_state *t, int64_t row,
                                                         int64_t begin, heed_interval seen,
                                                         const heed_patch *patch, float alpha)
{
    const float *weights = patch->logits;
    float *o = t->base + t->y.o + row * t->y.dim_v;
    int64_t stride;
    const float *v = value_rows(t, &stride);
    for (int64_t c = begin; c < t->y.dim_v; c++)
        o[c] *= alpha;
    for (int64_t j = seen.begin; j < seen.end; j++)
        for (int64_t c = begin; c < t->y.dim_v; c++)
            if (heed_modify_sees(t->job->modify, patch, j, 0))
                o[c] += weights[j] * v[j * stride + c];
}

/* True if the program hides all keys of @rows patches. */
static inline bool hides_all(const heed_patch *patches, int rows)
{
    bool all = true;
    for (int r = 0; r < rows; r++)
        all = all && patches[r].shows == HEED_SHOWS_NONE;
    return all;
}

/* Processes rows @row to @row + @rows - 1 with the keys @seen of the tile; @patches are theirs. */
static inline __attribute__((always_inline)) void run_rows(const few_state *t, int64_t row,
                                                           int rows, heed_interval seen,
                                                           heed_patch *patches)
{
    float s[ROWS][FEW_KEYS];
    float alpha[ROWS];
    heed_job_extra_barrier(t->job);
    if (t->job->modify && hides_all(patches, rows))
        return;
    if (seen.begin > 0 || seen.end < FEW_KEYS) /* denormal numbers there would make weigh() slow */
        memset(s, 0, (size_t)rows * sizeof *s);
    multiply_keys(t, row, rows, seen, s);
    for (int r = 0; r < rows && t->job->modify; r++)
        modify_logits(t, seen, &patches[r], s[r]);
    for (int r = 0; r < rows; r++)
        alpha[r] = weigh(t, row + r, seen, s[r]);
    const int64_t done = accumulate(t, row, rows, seen, s, alpha);
    for (int r = 0; r < rows && done < t->y.dim_v; r++)
        accumulate_visible(t, row + r, done, seen, &patches[r], alpha[r]);
}

/* Processes all rows of the task with the tile of @keys keys that begins at @first: ROWS at a time
 * if they see the same keys of it, as the heads of a group do. */
static void run_tile(const few_state *t, int64_t rows, int64_t first, int64_t keys,
                     heed_patch *patches)
{
    for (int64_t r = 0; r < rows;) {
        int64_t row = t->task->row_begin + r, last = heed_min(r + ROWS, rows) - 1;
        heed_interval seen = heed_job_tile_keys(t->job, t->task, row, first, keys);
        heed_interval of_last = heed_job_tile_keys(t->job, t->task, t->task->row_begin + last,
                                                   first, keys);
        bool alike = last == r + ROWS - 1 && of_last.begin == seen.begin && of_last.end == seen.end;
        if (seen.begin < seen.end && alike)
            run_rows(t, r, ROWS, seen, patches + r);
        else if (seen.begin < seen.end)
            run_rows(t, r, 1, seen, patches + r);
        r += alike ? ROWS : 1;
    }
}

/* Adds the sums of the finished section to those of earlier ones. */
static void end_section(const few_state *t, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++) {
        heed_sums all = { t->base + t->y.all_o + r * t->y.dim_v, t->base + t->y.all_m + r,
                          t->base + t->y.all_l + r };
        heed_sums section = { t->base + t->y.o + r * t->y.dim_v, t->base + t->y.m + r,
                              t->base + t->y.l + r };
        heed_sums_add(all, section, t->y.dim_v);
    }
}

static void store_rows(const few_state *t, int64_t rows)
{
    const heed_problem *p = t->job->problem;
    bool lse = t->job->buffers->lse || t->job->cut.splits > 1;
    for (int64_t r = 0; r < rows; r++) {
        int64_t row = t->task->row_begin + r;
        float *o = t->base + t->y.all_o + r * t->y.dim_v;
        float l = t->base[t->y.all_l + r];
        heed_target target = heed_job_target(t->job, t->task, row);
        bool empty = l == 0;
        vf inverse = v_set(1 / heed_job_total(t->job, t->task, row, t->base[t->y.all_m + r], l));
        for (int64_t c = 0; c < t->y.dim_v;
             c += LANES) /* an empty O may contain 0 times a NaN of V */
            v_store(o + c, empty ? v_zero() : v_mul(v_load(o + c), inverse));
        store_row(target.o, o, p->dim_v, target.partial ? HEED_F32 : p->type);
        if (lse)
            heed_job_set_sums(t->job, t->task, row, t->base[t->y.all_m + r], l);
    }
}

static void take_tile(const few_state *t, int64_t first, int64_t keys)
{
    const int64_t rows = t->task->row_end - t->task->row_begin;
    heed_patch patches[FEW_ROWS];
    if (t->job->modify && !find_patches(t, rows, keys, patches))
        return;
    if (is_staged(t) && (!JOB_ABLATES(t->job, ABLATE_NO_LOADS) || first == t->task->key_begin))
        load_tile(t, first, keys);
    run_tile(t, rows, first, keys, patches);
}

/* Initializes the rows of the task. */
static void begin_rows(const few_state *t, int64_t rows, bool sections)
{
    const heed_problem *p = t->job->problem;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t row = t->task->row_begin + r;
        load_filled(t->base + t->y.q + r * t->y.dim_qk, heed_job_q(t->job, t->task, row), p->dim_qk,
                    t->y.dim_qk, p->type);
        t->base[t->y.m + r] = t->base[t->y.all_m + r] = -INFINITY;
        t->base[t->y.l + r] = t->base[t->y.all_l + r] = 0;
        heed_job_begin_rows(t->job, t->task, row, 1, t->base + t->y.kept + r * t->job->need.kept);
    }
    memset(t->base + t->y.o, 0, (size_t)(rows * t->y.dim_v) * sizeof(float));
    if (sections)
        memset(t->base + t->y.all_o, 0, (size_t)(rows * t->y.dim_v) * sizeof(float));
}

/* The state for head @head of the task, whose scratch is as @layout describes; @own becomes its
 * task. All heads share the tile buffers of the first one. */
static few_state state_of(const heed_job *job, heed_task *own, int64_t head, bool sections,
                          const heed_few_layout *layout, float *scratch)
{
    few_state t = { .job = job, .task = own, .y = *layout, .base = scratch + head * layout->end };
    t.y.k -= head * t.y.end;
    t.y.v -= head * t.y.end;
    t.hides = job->modify && job->modify->hides;
    t.factor = job->modify ? 1 : job->factor;
    own->head_kv += head;
    if (!sections) { /* there is only one section */
        t.y.all_o = t.y.o;
        t.y.all_m = t.y.m;
        t.y.all_l = t.y.l;
    }
    return t;
}

static void run(const heed_job *job, const heed_task *task, void *scratch)
{
    few_state heads[FEW_HEADS];
    heed_task tasks[FEW_HEADS];
    const int64_t rows = task->row_end - task->row_begin, count = job->cut.heads;
    const bool sections = task->key_end - task->key_begin > HEED_SECTION;
    const heed_few_layout layout = heed_few_layout_of(&FEW_CODE, job->problem, &job->cut,
                                                      &job->need);
    for (int64_t head = 0; head < count; head++) {
        tasks[head] = *task;
        heads[head] = state_of(job, &tasks[head], head, sections, &layout, scratch);
        begin_rows(&heads[head], rows, sections);
    }
    for (int64_t first = task->key_begin; first < task->key_end; first += FEW_KEYS) {
        const int64_t keys = heed_min(FEW_KEYS, task->key_end - first);
        const bool ends = (first + keys - task->key_begin) % HEED_SECTION == 0 ||
                          first + keys == task->key_end;
        for (few_state *t = heads; t < heads + count; t++) {
            t->key = first;
            take_tile(t, first, keys);
            if (sections && ends)
                end_section(t, rows);
        }
    }
    for (int64_t head = 0; head < count; head++)
        store_rows(&heads[head], rows);
}

const heed_few_code FEW_CODE = {
    .cpu = { .cut = heed_few_cut,
             .scratch = heed_few_scratch,
             .modifier = &MODIFIER,
             .grid = { .lanes = LANES, .inner = 1, .outer = FEW_KEYS / LANES },
             .together = FEW_HEADS,
             .rates = RATES,
             .run = run },
    .step = CHUNK * LANES,
};
