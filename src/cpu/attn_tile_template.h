/*
 * attn_tile_template.h - attention for many queries: tiles of K and V in cache, queries in the
 * lanes of vectors
 *
 * Every matrix that the kernel computes is stored transposed: a strip of WIDTH queries occupies the
 * lanes of MV vectors, and keys or dims go down the rows. So the maximum and the sum of the softmax
 * run down the columns without operations across lanes, every operand that is not a strip is
 * broadcast directly from memory, and only Q and O are transposed, once each.
 *
 *     S[key][query]  =  K[key][c] Q[c][query]        product of K's rows with the strip of Q
 *     P[key][query]  =  2^(scale S - m[query])       online softmax, as in attn_scalar.c
 *     O[c][query]    =  O[c][query] alpha[query] + V[key][c] P[key][query]
 *
 * Both products are one micro-kernel: NR broadcast operands times MV vectors, accumulated in NR *
 * MV registers. A task holds several strips, which share each packed tile of K and V.
 *
 * Parameters, defined by the file that includes this template after simd_*.h, simd_rows.h and
 * unit_*.h:
 *
 *     TILE_CODE  the heed_tile_code to define
 *     MODIFIER   the heed_modifier of the same instructions
 *     MV         vectors in a strip
 *     NR         keys or dims of the micro-kernel; uses NR * MV + MV + 1 registers
 *     RATES      rates for the cost model
 *     TILE_AMX   defined: AMX's tile registers multiply, and MV and NR are 2 and 16
 *
 * Its parts are tile_load.h, tile_product.h or tile_product_amx.h, and tile_softmax.h.
 *
 * Knobs m (rows per task), n (keys per tile) and s (tasks that share the keys) are in attn_tile.c.
 *
 * HEED_ABLATE is for degraded builds (ablated.h): no-exp, no-products (each sum stops after its
 * first step), no-loads, mispredicted (an unpredictable branch for each vector of weights),
 * extra-barrier, strided (K is packed column by column), no-staging (K is read in place, in
 * float32), no-overlap (no prefetch), over-unrolled and masked.
 *
 * docs/kernels/attn_tile.md has the log: versions with their timings, and other attempts.
 */
#include <math.h>

#include "tile.h"

#define WIDTH (MV * LANES)

extern const heed_tile_code TILE_CODE;
_Static_assert(MV == HEED_PATCH_VECTORS, "the evaluator of programs has another strip");

typedef struct tile_state {
    const heed_job *job;
    const heed_task *task;
    heed_tile_layout y;
    float *base;
    float factor;    /* remaining factor from logits to base 2, 0 or more, */
    float natural;   /* and that to natural logits for the program */
    int64_t qk_part; /* units in each partial sum of a logit, */
    int64_t pv_part; /* and of a tile's sum of O */
    bool finite;     /* no value of the tile in v is infinite or NaN; only set where it matters */
    int64_t first;   /* key of the tile */
    int64_t strips;  /* of the task */
    bool hides;      /* the program hides keys */
} tile_state;

/* The keys that each row of a strip sees. */
static inline heed_interval *seen_of(const tile_state *t, int64_t strip)
{
    return (heed_interval *)(void *)(t->base + t->y.seen) + strip * WIDTH;
}

/* The program's values for the rows of a strip. */
static inline float *kept_of(const tile_state *t, int64_t strip)
{
    return t->base + t->y.kept + strip * t->job->need.kept;
}

/* The address of NR keys from key @j of the tile on, if they are read in place; NULL: they are
 * packed. */
static inline const float *keys_in_place(const tile_state *t, int64_t j)
{
#if HEED_ABLATE == ABLATE_NO_STAGING
    const heed_problem *p = t->job->problem;
    if (UNIT == 1 && p->type == HEED_F32 && p->seq_k % NR == 0 && !t->job->table)
        return heed_job_k(t->job, t->task, t->first + j);
#endif
    (void)t;
    (void)j;
    return NULL;
}

/* The end of the part of a sum over a tile's keys that number @at is in. Parts begin at multiples
 * of @size, a power of two, so that the bits of a row do not depend on its strip's first key. */
static inline int64_t part_end(int64_t at, int64_t size)
{
    return (at | (size - 1)) + 1;
}

#ifdef TILE_AMX
#include "tile_product_amx.h"
#else
#include "tile_product.h"
#endif
#include "tile_load.h"
#include "tile_softmax.h"

static void clear_state(const tile_state *t)
{
    float *m = t->base + t->y.m;
    memset(t->base + t->y.o, 0, (size_t)(t->y.strips * t->y.dims * WIDTH) * sizeof(float));
    memset(t->base + t->y.l, 0, (size_t)(t->y.strips * WIDTH) * sizeof(float));
    for (int64_t i = 0; i < t->y.strips * WIDTH; i += LANES)
        v_store(m + i, v_set(-INFINITY));
}

/* The logits of the strip with HEED_PATCH_KEYS keys from key @j of the tile on as a patch. */
static inline heed_patch patch_of(const tile_state *t, int64_t strip, int64_t j, int64_t keys)
{
    return (heed_patch){ .logits = t->base + t->y.s + j * WIDTH,
                         .kept = kept_of(t, strip),
                         .scratch = t->base + t->y.program,
                         .key = t->first + j,
                         .keys = heed_min(keys - j, HEED_PATCH_KEYS) };
}

/* Finds the rows of the strip that see key @j of the tile. */
static void find_rows(const tile_state *t, int64_t strip, int64_t j, const strip_keys *seen,
                      bool sees[WIDTH])
{
    const heed_modify *modify = t->job->modify;
    for (int64_t i = 0; i < WIDTH; i++)
        sees[i] = (float)j < seen->end[i] && (!seen->late || (float)j >= seen->begin[i]);
    if (!t->hides)
        return;
    const heed_patch patch = patch_of(t, strip, j, j + 1);
    modify->by->see(modify, &patch);
    for (int64_t i = 0; i < WIDTH; i++)
        sees[i] = sees[i] && heed_modify_sees(modify, &patch, 0, i);
}

/* The same for the keys from @begin to @end, where values of a key that only some rows see must not
 * even be multiplied by zero for the others. */
static void accumulate_masked(const tile_state *t, int64_t strip, int64_t begin, int64_t end,
                              const strip_keys *seen)
{
    float *o = t->base + t->y.o + strip * t->y.dims * WIDTH;
    bool sees[WIDTH];
    for (int64_t j = begin; j < end; j++) {
        find_rows(t, strip, j, seen, sees);
        for (int64_t c = 0; c < t->job->problem->dim_v; c++) {
            float value = value_at(t, j, c);
            for (int64_t i = 0; i < WIDTH; i++)
                if (sees[i])
                    o[c * WIDTH + i] += value * unit_element(t->base[t->y.s + j / UNIT * WIDTH + i],
                                                             j % UNIT);
        }
    }
}

/* Computes the logits of the tile's @keys, whose first number is a multiple of NR. Steps of NR keys
 * that every row sees skip the check of each row. */
static void make_logits(const tile_state *t, int64_t strip, const strip_keys *seen,
                        heed_interval keys, vf top[MV])
{
    const float *q = t->base + t->y.q + strip * t->y.steps * WIDTH;
    heed_interval all = seen->all;
    if (JOB_ABLATES(t->job, ABLATE_MASKED))
        all.end = all.begin;
    int64_t j = keys.begin, begin = heed_round_up(all.begin, NR);
    for (; j < heed_min(begin, keys.end); j += NR)
        logits_step(t, q, j, false, top);
    for (; j + NR <= all.end; j += NR)
        logits_step(t, q, j, true, top);
    int64_t end = j;
    for (; j < keys.end; j += NR)
        logits_step(t, q, j, false, top);
    mask_logits(t, seen, keys.begin, heed_min(begin, keys.end), top);
    mask_logits(t, seen, heed_max(begin, end), keys.end, top);
}

/* Keys of a tile between two prefetches of a program's loads: with more, it would request more
 * cache lines at once than a core can have in flight. */
#define AHEAD 16

/* While the logits of AHEAD keys from @j on are computed, of @keys in the tile, prefetches a part
 * of the program's loads for the next strip, or the next tile. */
static void prefetch_next(const tile_state *t, int64_t strip, int64_t j, int64_t keys)
{
    const heed_modify *modify = t->job->modify;
    const int64_t next = (strip + 1) % t->strips;
    const int64_t first = next > 0 ? t->first : t->first + t->y.keys;
    const heed_interval of = { first, heed_min(first + t->y.keys, t->task->key_end) };
    if (modify->reads)
        modify->by->prefetch(modify, kept_of(t, next), of, j / AHEAD, heed_div_up(keys, AHEAD));
}

/* Masks each row of logits from @begin to @end and raises @top to their maximum. */
static void raise_top(const tile_state *t, const strip_keys *seen, int64_t begin, int64_t end,
                      vf top[MV])
{
    const float *s = t->base + t->y.s;
    const int64_t early = heed_min(heed_max(seen->all.begin, begin), end);
    const int64_t late = heed_max(heed_min(seen->all.end, end), early);
    mask_logits(t, seen, begin, early, top);
    vf odd[MV]; /* the maximum of odd keys: one chain of maxima would take longer than the loads */
    for (int v = 0; v < MV; v++)
        odd[v] = top[v];
    for (int64_t j = early; j + 2 <= late; j += 2)
        for (int v = 0; v < MV; v++) {
            top[v] = v_max(v_load(s + j * WIDTH + v * LANES), top[v]);
            odd[v] = v_max(v_load(s + (j + 1) * WIDTH + v * LANES), odd[v]);
        }
    for (int v = 0; v < MV; v++) {
        if ((late - early) % 2 != 0)
            top[v] = v_max(v_load(s + (late - 1) * WIDTH + v * LANES), top[v]);
        top[v] = v_max(odd[v], top[v]);
    }
    mask_logits(t, seen, late, end, top);
}

/* Computes the logits of one patch: all go through the program before the maximum is taken. */
static void make_patch(const tile_state *t, int64_t strip, const strip_keys *seen, int64_t j,
                       int64_t keys, const heed_patch *patch, vf top[MV])
{
    const float *q = t->base + t->y.q + strip * t->y.steps * WIDTH;
    const int64_t end = j + patch->keys;
    for (int64_t i = j; i < end && patch->shows != HEED_SHOWS_NONE; i += NR) {
        if (i % AHEAD == 0)
            prefetch_next(t, strip, i, keys);
        logits_step(t, q, i, false, top);
    }
    t->job->modify->by->run(t->job->modify, patch);
    raise_top(t, seen, j, end, top);
}

/* The same with a program, patch by patch. Returns the keys from the first to the last patch with
 * visible keys. */
static heed_interval make_modified_logits(const tile_state *t, int64_t strip,
                                          const strip_keys *seen, int64_t keys, vf top[MV])
{
    const heed_modify *modify = t->job->modify;
    heed_interval shown = { keys, 0 };
    int64_t j = seen->any.begin / HEED_PATCH_KEYS * HEED_PATCH_KEYS;
    for (; j < keys; j += HEED_PATCH_KEYS) {
        heed_patch patch = patch_of(t, strip, j, keys);
        if (modify->hides)
            patch.shows = modify->by->see(modify, &patch);
        if (patch.shows != HEED_SHOWS_NONE)
            shown = (heed_interval){ heed_min(shown.begin, j), j + patch.keys };
        for (int64_t i = j; i < j + patch.keys && patch.shows == HEED_SHOWS_NONE; i += AHEAD)
            prefetch_next(t, strip, i, keys);
        if (shown.begin < keys)
            make_patch(t, strip, seen, j, keys, &patch, top);
    }
    return shown;
}

/* Processes one strip with the tile of @keys keys that begins at @first. */
static void run_strip(const tile_state *t, int64_t strip, int64_t first, int64_t keys)
{
    float alpha[WIDTH];
    strip_keys seen;
    vf top[MV];
    bool whole = find_keys(t, &seen, strip, first, keys);
    heed_job_extra_barrier(t->job);
    if (seen.any.begin == seen.any.end)
        return;
    heed_interval shown = { seen.any.begin / TILE_STEP * TILE_STEP, seen.any.end };
    for (int v = 0; v < MV; v++)
        top[v] = v_set(-INFINITY);
    if (t->job->modify)
        shown = make_modified_logits(t, strip, &seen, seen.any.end, top);
    else
        make_logits(t, strip, &seen, shown, top);
    if (shown.begin >= shown.end)
        return;
    weigh(t, strip, shown.begin, shown.end, top, alpha);
    if (t->finite || (whole && !t->hides)) {
        accumulate(t, strip, shown.begin, shown.end - shown.begin, alpha);
    } else {
        bool none = t->hides || !EXACT_RANGE;
        int64_t late = none ? shown.begin : seen.all.end / UNIT * UNIT;
        int64_t early = none ? late : heed_min(heed_round_up(seen.all.begin, UNIT), late);
        accumulate(t, strip, early, late - early, alpha);
        accumulate_masked(t, strip, shown.begin, early, &seen);
        accumulate_masked(t, strip, late, shown.end, &seen);
    }
}

/* The inverse of rows_to_strip(), times @factor. */
static void strip_to_rows(float *rows, const float *strip, int64_t row, int64_t steps,
                          const vf factor[MV])
{
    for (int v = 0; v < MV; v++)
        for (int64_t c = 0; c < steps; c += LANES) {
            vf block[LANES];
            for (int i = 0; i < LANES; i++)
                block[i] = c + i < steps
                               ? v_mul(v_load(strip + (c + i) * WIDTH + v * LANES), factor[v])
                               : v_zero();
            v_transpose(block);
            for (int i = 0; i < LANES; i++)
                v_store(rows + (v * LANES + i) * row + c, block[i]);
        }
}

static void store_strip(const tile_state *t, int64_t strip)
{
    const heed_problem *p = t->job->problem;
    float *rows = t->base + t->y.rows;
    float *l = t->base + t->y.l + strip * WIDTH;
    const float *m = t->base + t->y.m + strip * WIDTH;
    float inverse[WIDTH];
    vf factor[MV];
    int64_t row = t->task->row_begin + strip * WIDTH;
    for (int i = 0; i < WIDTH; i++)
        inverse[i] = l[i] == 0 ? 0 : 1 / l[i];
    for (int64_t i = 0; t->job->sinks && i < WIDTH && row + i < t->task->row_end; i++)
        if (l[i] != 0)
            inverse[i] = 1 / heed_job_total(t->job, t->task, row + i, m[i], l[i]);
    for (int v = 0; v < MV; v++)
        factor[v] = v_load(inverse + v * LANES);
    strip_to_rows(rows, t->base + t->y.o + strip * t->y.dims * WIDTH, t->y.row, t->y.dims, factor);
    bool lse = t->job->buffers->lse || t->job->cut.splits > 1;
    for (int64_t i = 0; i < WIDTH && row + i < t->task->row_end; i++) {
        heed_target target = heed_job_target(t->job, t->task, row + i);
        if (l[i] == 0) /* O may contain 0 times a NaN of V */
            memset(rows + i * t->y.row, 0, (size_t)p->dim_v * sizeof *rows);
        store_row(target.o, rows + i * t->y.row, p->dim_v, target.partial ? HEED_F32 : p->type);
        if (lse)
            heed_job_set_sums(t->job, t->task, row + i, m[i], l[i]);
    }
}

static void run(const heed_job *job, const heed_task *task, void *scratch)
{
    const heed_problem *p = job->problem;
    tile_state t = { .job = job, .task = task, .base = scratch };
    t.y = heed_tile_layout_of(&TILE_CODE, p, &job->cut, &job->need);
    t.natural = t.factor = unit_factor(job->factor);
    if (heed_job_changes(job))
        t.factor = HEED_LOG2_E;
    else
        t.natural = 1;
    t.hides = job->modify && job->modify->hides;
    int64_t strips = t.strips = heed_div_up(task->row_end - task->row_begin, WIDTH);
    heed_interval all = { heed_job_keys(job, task, task->row_end - 1).begin,
                          heed_job_keys(job, task, task->row_begin).end };
    for (int64_t strip = 0; strip < strips; strip++)
        load_queries(&t, strip);
    clear_state(&t);
    begin_products(&t);
    for (int64_t first = task->key_begin; first < task->key_end; first += t.y.keys) {
        int64_t keys = heed_min(t.y.keys, task->key_end - first);
        if (!heed_job_may_see(job, task, first, keys))
            continue;
        t.first = first;
        if (!JOB_ABLATES(job, ABLATE_NO_LOADS) || first == task->key_begin) {
            load_keys(&t, first, keys);
            load_values(&t, first, keys);
        }
        t.finite = (all.begin <= first && first + keys <= all.end && !t.hides) ||
                   all_finite(&t, keys);
        for (int64_t strip = 0; strip < strips; strip++) {
            prefetch_tile(&t, first + keys, strip, strips);
            run_strip(&t, strip, first, keys);
        }
    }
    end_products();
    for (int64_t strip = 0; strip < strips; strip++)
        store_strip(&t, strip);
}

const heed_tile_code TILE_CODE = {
    .cpu = { .cut = heed_tile_cut,
             .scratch = heed_tile_scratch,
             .modifier = &MODIFIER,
             .grid = { .lanes = LANES, .inner = MV, .outer = HEED_PATCH_KEYS, .rows = true },
             .rates = RATES,
             .run = run },
    .width = WIDTH,
    .unit = UNIT,
    .keys = TILE_STEP,
};
