/*
 * ceiling_template.h - the loops of ceiling_loops.h for one kind of vector
 *
 * The file that includes it defines the type vector, the number of its LANES, and how many are
 * computed at the same time, REGISTERS; SPREAD(x), a vector of equal elements, and STEP(sum, scale,
 * shift), a multiply-add. With CHAINS, which is REGISTERS for exponentials, it also defines
 * fraction(t), t less the integer below it, and scale_by(p, t), p times 2 to that integer.
 */
static float run(int64_t rounds, const float factors[2])
{
    vector sums[REGISTERS];
    const vector scale = SPREAD(factors[0]), shift = SPREAD(factors[1]);

    for (int i = 0; i < REGISTERS; i++)
        sums[i] = SPREAD((float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 24
        for (int i = 0; i < REGISTERS; i++)
            sums[i] = STEP(sums[i], scale, shift);
    }
    for (int i = 1; i < REGISTERS; i++)
        sums[0] += sums[i];
    return sums[0][0];
}

#ifdef CHAINS
static inline vector minus_exp2(vector t)
{
    const vector f = fraction(t);
    vector p = STEP(SPREAD(-LAB_EXP_5), f, SPREAD(-LAB_EXP_4));
    p = STEP(p, f, SPREAD(-LAB_EXP_3));
    p = STEP(p, f, SPREAD(-LAB_EXP_2));
    p = STEP(p, f, SPREAD(-LAB_EXP_1));
    p = STEP(p, f, SPREAD(-1.0f));
    return scale_by(p, t);
}

static float run_exp(int64_t rounds, const float factors[2])
{
    vector x[CHAINS];

    for (int i = 0; i < CHAINS; i++)
        x[i] = SPREAD(-factors[0] * (float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            x[i] = minus_exp2(x[i]);
    }
    for (int i = 1; i < CHAINS; i++)
        x[0] += x[i];
    return x[0][0];
}
#endif
