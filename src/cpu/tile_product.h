/*
 * tile_product.h - both products of attn_tile_template.h by one micro-kernel: NR broadcast operands
 * times the MV vectors of a strip
 *
 * A part of attn_tile_template.h. tile_product_amx.h has the same functions.
 */
#ifndef HEED_TILE_PRODUCT_H
#define HEED_TILE_PRODUCT_H

#define TILE_STEP NR  /* a strip's range of keys begins at a multiple of this */
#define EXACT_RANGE 1 /* accumulate() reads the values of its keys alone */

/* Products in one sequential sum: its error grows with their number, so long sums are split into
 * parts. Each part costs an addition of NR * MV vectors, up to 2 % of a tile, so parts are short
 * where that is little work: logits of a few rows, O of few columns. */
#define PART_LONG 128
#define PART_SHORT 32
#define COLUMNS_FEW 16

#if HEED_ABLATE == ABLATE_UNROLLED
#define MULTIPLY_LOOP _Pragma("GCC unroll 32")
#else
#define MULTIPLY_LOOP _Pragma("GCC unroll 4")
#endif

static inline void clear(vf acc[NR][MV])
{
    for (int r = 0; r < NR; r++)
        for (int v = 0; v < MV; v++)
            acc[r][v] = v_zero();
}

/* acc[r][v] += a[r * a_row + step * a_step] * b[step][v], over @steps. */
static inline __attribute__((always_inline)) void multiply(vf acc[NR][MV], const float *a,
                                                           int64_t a_row, int64_t a_step,
                                                           const float *b, int64_t steps)
{
    MULTIPLY_LOOP
    for (int64_t step = 0; step < steps; step++) {
        vf lanes[MV];
        for (int v = 0; v < MV; v++)
            lanes[v] = v_load(b + v * LANES);
        for (int r = 0; r < NR; r++) {
            vf one = v_set(a[r * a_row]);
            for (int v = 0; v < MV; v++)
                acc[r][v] = unit_dot(lanes[v], one, acc[r][v]);
        }
        a += a_step;
        b += WIDTH;
    }
}

/* Adds @sums. */
static inline void add_part(vf acc[NR][MV], const float *sums)
{
    for (int r = 0; r < NR; r++)
        for (int v = 0; v < MV; v++)
            acc[r][v] = v_add(acc[r][v], v_load(sums + r * WIDTH + v * LANES));
}

/* Leaves the result in @sums. */
static inline void store_part(vf acc[NR][MV], float *sums)
{
    for (int r = 0; r < NR; r++)
        for (int v = 0; v < MV; v++)
            v_store(sums + r * WIDTH + v * LANES, acc[r][v]);
}

/* Steps to compute of a sum of @steps. */
static inline int64_t steps_of(const tile_state *t, int64_t steps)
{
    return JOB_ABLATES(t->job, ABLATE_NO_PRODUCTS) ? heed_min(steps, 1) : steps;
}

static inline void scale_part(vf acc[NR][MV], vf factor)
{
    for (int r = 0; r < NR; r++)
        for (int v = 0; v < MV; v++)
            acc[r][v] = v_mul(acc[r][v], factor);
}

static inline void begin_products(tile_state *t)
{
    t->qk_part = t->strips == 1 ? PART_SHORT : PART_LONG;
    t->pv_part = t->y.dims > COLUMNS_FEW ? PART_LONG : PART_SHORT;
}

static inline void end_products(void) {}

/* ---- S = K Q ---- */

/* S = K Q, times natural, for NR keys from @j on. If @plain, all of them are visible to all rows,
 * and @top is raised to the maximum. */
static inline void logits_step(const tile_state *t, const float *q, int64_t j, bool plain,
                               vf top[MV])
{
    const float *k = t->base + t->y.k + j * TILE_PANEL;
    float *s = t->base + t->y.s + j * WIDTH;
    vf acc[NR][MV];
    clear(acc);
    for (int64_t c = 0, end = 0; c < t->y.steps; c = end) {
        end = heed_min(c + t->qk_part, t->y.steps);
        if (c > 0)
            clear(acc);
        for (int64_t i = c; i < end; i += TILE_PANEL) {
            int64_t steps = steps_of(t, heed_min(end - i, TILE_PANEL));
            if (keys_in_place(t, j))
                multiply(acc, keys_in_place(t, j) + i, t->job->problem->k.seq, 1, q + i * WIDTH,
                         steps);
            else
                multiply(acc, k + i / TILE_PANEL * t->y.keys * TILE_PANEL + i % TILE_PANEL,
                         TILE_PANEL, 1, q + i * WIDTH, steps);
        }
        if (c > 0)
            add_part(acc, s);
        if (end == t->y.steps && t->natural != 1)
            scale_part(acc, v_set(t->natural));
        store_part(acc, s);
    }
    if (plain)
        for (int r = 0; r < NR; r++)
            for (int v = 0; v < MV; v++)
                top[v] = v_max(acc[r][v], top[v]);
}

/* ---- O = V P ---- */

/* Packs the values of @keys keys from @first on: [keys / UNIT][dims]. */
static void load_values(const tile_state *t, int64_t first, int64_t keys)
{
    const heed_problem *p = t->job->problem;
    float *v = t->base + t->y.v;
    for (int64_t j = 0; j < keys; j += UNIT) {
        const void *rows[UNIT];
        for (int64_t u = 0; u < UNIT; u++)
            rows[u] = j + u < keys ? heed_job_v(t->job, t->task, first + j + u) : NULL;
        float *to = v + j / UNIT * t->y.dims;
        unit_load_values(to, rows, p->dim_v, p->type);
        memset(to + p->dim_v, 0, (size_t)(t->y.dims - p->dim_v) * sizeof *to);
    }
}

/* Units of the packed values of @keys keys. */
static inline int64_t value_units(const tile_state *t, int64_t keys)
{
    return heed_div_up(keys, UNIT) * t->y.dims;
}

/* Column @c of the value of key @j of the tile. */
static inline float value_at(const tile_state *t, int64_t j, int64_t c)
{
    return unit_element(t->base[t->y.v + j / UNIT * t->y.dims + c], j % UNIT);
}

/* O = O alpha + V P over @keys keys from @begin on, both multiples of UNIT, except at the end. */
static void accumulate(const tile_state *t, int64_t strip, int64_t begin, int64_t keys,
                       const float *alpha)
{
    float *o = t->base + t->y.o + strip * t->y.dims * WIDTH;
    const int64_t first = begin / UNIT, units = heed_div_up(keys, UNIT);
    const float *v = t->base + t->y.v + first * t->y.dims;
    const float *s = t->base + t->y.s + first * WIDTH;
    for (int64_t c = 0; c < t->y.dims; c += NR) {
        vf acc[NR][MV];
        float sums[NR * WIDTH];
        clear(acc);
        for (int64_t j = 0, end = 0; j < units; j = end) {
            end = heed_min(part_end(first + j, t->pv_part) - first, units);
            if (j > 0)
                clear(acc);
            multiply(acc, v + j * t->y.dims + c, 1, t->y.dims, s + j * WIDTH, steps_of(t, end - j));
            if (j > 0)
                add_part(acc, sums);
            if (end < units)
                store_part(acc, sums);
        }
        for (int r = 0; r < NR; r++)
            for (int i = 0; i < MV; i++) {
                float *to = o + (c + r) * WIDTH + i * LANES;
                v_store(to, v_fma(v_load(to), v_load(alpha + i * LANES), acc[r][i]));
            }
    }
}

#endif /* HEED_TILE_PRODUCT_H */
