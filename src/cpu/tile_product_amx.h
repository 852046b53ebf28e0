/*
 * tile_product_amx.h - both products of attn_tile_template.h with AMX's tile registers, in bfloat16
 *
 * A register has 16 rows of 64 bytes. One instruction multiplies 16 rows of 16 pairs of bfloat16
 * (A) by 16 pairs for each of 16 columns (B), and adds the products to 16 x 16 float32 sums (C).
 * The rows of C are keys or dims, its columns are queries of the strip, as in tile_product.h: K is
 * packed alike, and Q and P have the layout of B. Only V is packed transposed, [dims][keys]. A part
 * of attn_tile_template.h, with MV 2, NR 16 and unit_bf16.h.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.
 */
#ifndef HEED_TILE_PRODUCT_AMX_H
#define HEED_TILE_PRODUCT_AMX_H

#define PAIRS 16              /* of a row of A, and rows of B */
#define TILE_STEP (2 * PAIRS) /* a strip's range of keys begins at a multiple of this */
#define EXACT_RANGE 0         /* accumulate() multiplies values past its keys by zero */
#define PART_LONG 128         /* pairs in a sequential sum; tiles have no more pairs of keys */

/* Registers, as numerals alone; two hold the columns of a strip. The last three are for the pairs
 * of a row after the last multiple of PAIRS. */
#define SUMS 0
#define SUMS_2 1
#define ROWS 2
#define STRIP 3
#define STRIP_2 4
#define TAIL_ROWS 5
#define TAIL_STRIP 6
#define TAIL_STRIP_2 7

_Static_assert(MV == 2 && NR == 16, "the shape of the registers");
_Static_assert(UNIT == 2 && LANES == 16, "the shape of the registers");

/* The operand of the instruction that configures the registers. */
typedef struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_shapes;

/* Configures the registers for the thread, until end_products(). */
static inline void begin_products(tile_state *t)
{
    const int64_t tail = t->y.steps % PAIRS ? t->y.steps % PAIRS : PAIRS;
    tile_shapes shapes = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        shapes.rows[i] = PAIRS;
        shapes.row_bytes[i] = PAIRS * sizeof(float);
    }
    shapes.row_bytes[TAIL_ROWS] = (uint16_t)(tail * (int64_t)sizeof(float));
    shapes.rows[TAIL_STRIP] = shapes.rows[TAIL_STRIP_2] = (uint8_t)tail;
    _tile_loadconfig(&shapes);
}

static inline void end_products(void)
{
    _tile_release();
}

/* Pairs to multiply of a sum of @steps. */
static inline int64_t steps_of(const tile_state *t, int64_t steps)
{
    return JOB_ABLATES(t->job, ABLATE_NO_PRODUCTS) ? heed_min(steps, PAIRS) : steps;
}

static inline void store_sums(float *to)
{
    _tile_stored(SUMS, to, WIDTH * sizeof(float));
    _tile_stored(SUMS_2, to + LANES, WIDTH * sizeof(float));
}

/* ---- S = K Q ---- */

/* Adds the products of the units from @begin to @end of NR rows of K at @k with the strip @q to the
 * sums in the registers. */
static inline void add_products(const tile_state *t, const float *k, const float *q, int64_t begin,
                                int64_t end)
{
    int64_t c = begin;
    for (; c + PAIRS <= end; c += PAIRS) {
        const float *rows = k + c / TILE_PANEL * t->y.keys * TILE_PANEL + c % TILE_PANEL;
        _tile_loadd(ROWS, rows, TILE_PANEL * sizeof(float));
        _tile_loadd(STRIP, q + c * WIDTH, WIDTH * sizeof(float));
        _tile_loadd(STRIP_2, q + c * WIDTH + LANES, WIDTH * sizeof(float));
        _tile_dpbf16ps(SUMS, ROWS, STRIP);
        _tile_dpbf16ps(SUMS_2, ROWS, STRIP_2);
    }
    if (c < end) {
        const float *rows = k + c / TILE_PANEL * t->y.keys * TILE_PANEL + c % TILE_PANEL;
        _tile_loadd(TAIL_ROWS, rows, TILE_PANEL * sizeof(float));
        _tile_loadd(TAIL_STRIP, q + c * WIDTH, WIDTH * sizeof(float));
        _tile_loadd(TAIL_STRIP_2, q + c * WIDTH + LANES, WIDTH * sizeof(float));
        _tile_dpbf16ps(SUMS, TAIL_ROWS, TAIL_STRIP);
        _tile_dpbf16ps(SUMS_2, TAIL_ROWS, TAIL_STRIP_2);
    }
}

/* S = K Q for NR keys from @j on. If @plain, all of them are visible to all rows, and @top is
 * raised to the maximum. */
static inline void logits_step(const tile_state *t, const float *q, int64_t j, bool plain,
                               vf top[MV])
{
    const float *k = t->base + t->y.k + j * TILE_PANEL;
    float *s = t->base + t->y.s + j * WIDTH;
    const int64_t steps = steps_of(t, t->y.steps);
    for (int64_t part = 0; part < steps; part += PART_LONG) {
        float sums[NR * WIDTH];
        _tile_zero(SUMS);
        _tile_zero(SUMS_2);
        add_products(t, k, q, part, heed_min(part + PART_LONG, steps));
        store_sums(part == 0 ? s : sums);
        for (int i = 0; i < NR * WIDTH && part > 0; i += LANES)
            v_store(s + i, v_add(v_load(s + i), v_load(sums + i)));
    }
    for (int i = 0; i < NR * WIDTH && t->natural != 1; i += LANES)
        v_store(s + i, v_mul(v_load(s + i), v_set(t->natural)));
    for (int r = 0; r < NR && plain; r++)
        for (int v = 0; v < MV; v++)
            top[v] = v_max(v_load(s + r * WIDTH + v * LANES), top[v]);
}

/* ---- O = V P ---- */

/* Pairs of keys in a row of packed values. */
static inline int64_t row_pairs(const tile_state *t)
{
    return t->y.keys / UNIT;
}

/* Writes the values of PAIRS pairs of keys, from pair @pair of the tile on, to the row buffer, one
 * pair per row. Values past @keys are zero. */
static void load_pairs(const tile_state *t, int64_t first, int64_t pair, int64_t keys)
{
    const heed_problem *p = t->job->problem;
    for (int64_t i = 0; i < PAIRS; i++) {
        float *to = t->base + t->y.rows + i * t->y.row;
        const void *rows[UNIT] = { NULL, NULL };
        for (int64_t u = 0, j = UNIT * (pair + i); u < UNIT && j + u < keys; u++)
            rows[u] = heed_job_v(t->job, t->task, first + j + u);
        const int64_t count = rows[0] ? p->dim_v : 0;
        if (rows[0])
            unit_load_values(to, rows, count, p->type);
        memset(to + count, 0, (size_t)(t->y.dims - count) * sizeof *to);
    }
}

/* Packs the values of @keys keys from @first on as [dims][keys], padded with zeros. */
static void load_values(const tile_state *t, int64_t first, int64_t keys)
{
    const float *rows = t->base + t->y.rows;
    float *v = t->base + t->y.v;
    for (int64_t pair = 0; pair < row_pairs(t); pair += PAIRS) {
        load_pairs(t, first, pair, keys);
        for (int64_t c = 0; c < t->y.dims; c += LANES) {
            vf block[LANES];
            for (int i = 0; i < LANES; i++)
                block[i] = v_load(rows + i * t->y.row + c);
            v_transpose(block);
            for (int i = 0; i < LANES; i++)
                v_store(v + (c + i) * row_pairs(t) + pair, block[i]);
        }
    }
}

static inline int64_t value_units(const tile_state *t, int64_t keys)
{
    (void)keys;
    return row_pairs(t) * t->y.dims;
}

/* Column @c of the value of key @j of the tile. */
static inline float value_at(const tile_state *t, int64_t j, int64_t c)
{
    return unit_element(t->base[t->y.v + c * row_pairs(t) + j / UNIT], j % UNIT);
}

/* O = O alpha + V P over @keys keys from @begin on, a multiple of TILE_STEP. The weights after
 * them, up to the next multiple, are set to zero. */
static void accumulate(const tile_state *t, int64_t strip, int64_t begin, int64_t keys,
                       const float *alpha)
{
    float *o = t->base + t->y.o + strip * t->y.dims * WIDTH;
    const float *v = t->base + t->y.v + begin / UNIT;
    float *s = t->base + t->y.s + begin / UNIT * WIDTH;
    const int64_t used = heed_div_up(keys, UNIT), pairs = heed_round_up(used, PAIRS);
    memset(s + used * WIDTH, 0, (size_t)((pairs - used) * WIDTH) * sizeof *s);
    for (int64_t c = 0; c < t->y.dims; c += NR) {
        float sums[NR * WIDTH];
        _tile_zero(SUMS);
        _tile_zero(SUMS_2);
        const int64_t steps = steps_of(t, pairs);
        for (int64_t pair = 0; pair < steps; pair += PAIRS) {
            _tile_loadd(ROWS, v + c * row_pairs(t) + pair, row_pairs(t) * sizeof(float));
            _tile_loadd(STRIP, s + pair * WIDTH, WIDTH * sizeof(float));
            _tile_loadd(STRIP_2, s + pair * WIDTH + LANES, WIDTH * sizeof(float));
            _tile_dpbf16ps(SUMS, ROWS, STRIP);
            _tile_dpbf16ps(SUMS_2, ROWS, STRIP_2);
        }
        store_sums(sums);
        for (int r = 0; r < NR; r++)
            for (int i = 0; i < MV; i++) {
                float *to = o + (c + r) * WIDTH + i * LANES;
                v_store(to, v_fma(v_load(to), v_load(alpha + i * LANES),
                                  v_load(sums + r * WIDTH + i * LANES)));
            }
    }
}

#endif /* HEED_TILE_PRODUCT_AMX_H */
