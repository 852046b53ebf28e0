/*
 * tile_softmax.h - the online softmax of attn_tile_template.h: mask logits and turn them into
 * weights
 *
 * A part of attn_tile_template.h.
 */
#ifndef HEED_TILE_SOFTMAX_H
#define HEED_TILE_SOFTMAX_H

#include "simd_weight.h"

/* Which keys of a tile the rows of a strip see. */
typedef struct strip_keys {
    heed_interval any, all; /* keys that at least one row sees, and that every row sees */
    float end[WIDTH];       /* end of each row's keys; not set if all see the whole tile, in steps
                               of NR */
    float begin[WIDTH];     /* and their begin, */
    bool late;              /* if that is not the first key of the tile for all */
} strip_keys;

/* Returns whether all rows see the whole tile. */
static bool find_keys(const tile_state *t, strip_keys *it, int64_t strip, int64_t first,
                      int64_t keys)
{
    const heed_interval *seen = seen_of(t, strip), *last = &seen[WIDTH - 1];
    it->any = heed_interval_within((heed_interval){ seen->begin, last->end }, first, keys);
    it->all = heed_interval_within((heed_interval){ last->begin, seen->end }, first, keys);
    bool whole = it->all.end - it->all.begin == keys;
    it->late = last->begin > first;
    if (it->any.begin == it->any.end ||
        (whole && keys % NR == 0 && t->finite && !JOB_ABLATES(t->job, ABLATE_MASKED)))
        return whole;
    for (int64_t i = 0; i < WIDTH; i++)
        it->end[i] = (float)heed_min(seen[i].end - first, keys);
    for (int64_t i = 0; i < WIDTH && it->late; i++)
        it->begin[i] = (float)heed_min(seen[i].begin - first, keys);
    return whole;
}

/* Masks the logits of the keys from @begin to @end, which not every row sees, and raises @top. */
static void mask_logits(const tile_state *t, const strip_keys *seen, int64_t begin, int64_t end,
                        vf top[MV])
{
    for (int64_t j = begin; j < end; j++)
        for (int v = 0; v < MV; v++) {
            float *s = t->base + t->y.s + j * WIDTH + v * LANES;
            vf x = v_keep_below(v_load(s), v_set((float)j), v_load(seen->end + v * LANES));
            if (seen->late)
                x = v_keep_below(x, v_load(seen->begin + v * LANES), v_set((float)j + 1));
            v_store(s, x);
            top[v] = v_max(x, top[v]);
        }
}

/* Multiplies @keys rows of logits by @factor, each rounded as the shift was. A lane's factor
 * depends on that row of queries alone, so that no other row changes its bits. */
static void scale_logits(float *s, int64_t keys, vf factor)
{
    for (int64_t j = 0; j < keys; j++)
        v_store(s + j * WIDTH, v_mul(v_load(s + j * WIDTH), factor));
}

/* Turns the rows of logits from @begin to @end into weights, and returns their sum. */
static inline vf weigh_run(float *s, int64_t begin, int64_t end, vf factor, vf minus)
{
    vf sum = v_zero();
    for (int64_t j = begin; j < end; j += UNIT) {
        vf weights[UNIT];
        for (int64_t u = 0; u < UNIT; u++) {
            const float *from = s + (j + u) * WIDTH;
            weights[u] = j + u < end ? v_exp2(v_fma(v_load(from), factor, minus)) : v_zero();
            sum = v_add(sum, weights[u]);
        }
        unit_store_weights(s + j / UNIT * WIDTH, weights);
    }
    return sum;
}

/* The same with @ablation, a constant, of the exponentials. */
static inline __attribute__((always_inline)) vf weigh_worse(float *s, int64_t begin, int64_t end,
                                                            vf factor, vf minus, int ablation)
{
    vf sum = v_zero();
    for (int64_t j = begin; j < end; j += UNIT) {
        vf weights[UNIT];
        for (int64_t u = 0; u < UNIT; u++) {
            vf x = v_fma(v_load(s + (j + u) * WIDTH), factor, minus);
            weights[u] = j + u < end ? power_of_two(x, ablation) : v_zero();
            sum = v_add(sum, weights[u]);
        }
        unit_store_weights(s + j / UNIT * WIDTH, weights);
    }
    return sum;
}

/* The same with the job's ablation. */
static inline vf weigh_part(const heed_job *job, float *s, int64_t begin, int64_t end, vf factor,
                            vf minus)
{
    if (JOB_ABLATES(job, ABLATE_NO_EXP))
        return weigh_worse(s, begin, end, factor, minus, ABLATE_NO_EXP);
    if (JOB_ABLATES(job, ABLATE_MISPREDICTED))
        return weigh_worse(s, begin, end, factor, minus, ABLATE_MISPREDICTED);
    return weigh_run(s, begin, end, factor, minus);
}

/* Turns the rows of logits from @begin to @end into weights, updates m and l, and returns the
 * rescale factors of O in @alpha. */
static void weigh(const tile_state *t, int64_t strip, int64_t begin, int64_t end, const vf top[MV],
                  float alpha[WIDTH])
{
    float *s = t->base + t->y.s;
    for (int v = 0; v < MV; v++) {
        vf factor = v_set(t->factor);
        float *m = t->base + t->y.m + strip * WIDTH + v * LANES;
        float *l = t->base + t->y.l + strip * WIDTH + v * LANES;
        vf old = v_load(m);
        vf now = v_max(v_mul(top[v], factor), old);
        vf shift = v_max(now, v_set(-3.402823466e38f)); /* finite even if no key was seen yet */
        vf shrink = v_exp2(v_sub(old, shift));
        vf minus = v_sub(v_zero(), shift);
        const vf far = v_beyond(shift, HEED_FAR);
        if ((UNIT > 1 || t->factor != 1) && v_is_any(far)) {
            const vf one = v_set(1);
            scale_logits(s + begin * WIDTH + v * LANES, end - begin, v_choose(far, factor, one));
            factor = v_choose(far, one, factor);
        }
        vf sum = v_zero();
        for (int64_t j = begin, stop; j < end; j = stop) {
            stop = heed_min(part_end(j, PART_LONG / 2), end);
            sum = v_add(sum, weigh_part(t->job, s + v * LANES, j, stop, factor, minus));
        }
        v_store(m, now);
        v_store(l, v_fma(v_load(l), shrink, sum));
        v_store(alpha + v * LANES, shrink);
    }
}

#endif /* HEED_TILE_SOFTMAX_H */
