/*
 * tile_product.h - the micro-kernel of attn_tile_template.h: NR broadcast operands times the MV
 * vectors of a strip
 *
 * A part of attn_tile_template.h.
 */
#ifndef HEED_TILE_PRODUCT_H
#define HEED_TILE_PRODUCT_H

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
    if (ABLATED(ABLATE_NO_PRODUCTS))
        steps = heed_min(steps, 1);
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

#endif /* HEED_TILE_PRODUCT_H */
