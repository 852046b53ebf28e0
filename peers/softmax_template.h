/*
 * softmax_template.h - the body of softmax_base.c, softmax_avx2.c and softmax_avx512.c, which
 * differ in compiler flags
 *
 * Parameter: SOFTMAX_ROW, the name of the function.
 *
 * LANES columns have separate sums and maxima, so that the compiler can vectorise without
 * permission to reorder additions.
 */
#include <string.h>

#include "softmax.h"

enum {
    LANES = 32
};

/* Returns 2^x for x <= 0: adding 1.5 * 2^23 puts the integer part into the lowest bits, from where
 * it goes to the exponent; the polynomial is the best one of degree 5 on [-0.5, 0.5] by relative
 * error, which is 9.2e-8 before rounding. */
static inline float exp2_lane(float x)
{
    float clamped = x < -126.0f ? -126.0f : x;
    float shifted = clamped + 12582912.0f;
    float f = clamped - (shifted - 12582912.0f);
    float p = 1.32647272e-3f;
    uint32_t whole;
    uint32_t bits;

    p = p * f + 9.67151264e-3f;
    p = p * f + 5.55073374e-2f;
    p = p * f + 2.40222421e-1f;
    p = p * f + 6.93146978e-1f;
    p = p * f + 1.0f;
    memcpy(&whole, &shifted, sizeof whole);
    memcpy(&bits, &p, sizeof bits);
    bits += whole << 23;
    memcpy(&p, &bits, sizeof p);
    return p;
}

static float row_max(const float *row, int64_t count)
{
    float lanes[LANES];
    int64_t i = 0;

    for (int l = 0; l < LANES; l++)
        lanes[l] = row[0];
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            lanes[l] = row[i + l] > lanes[l] ? row[i + l] : lanes[l];
    for (; i < count; i++)
        lanes[0] = row[i] > lanes[0] ? row[i] : lanes[0];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lanes[l] = lanes[l + half] > lanes[l] ? lanes[l + half] : lanes[l];
    return lanes[0];
}

float SOFTMAX_ROW(float *row, int64_t count)
{
    float max = row_max(row, count);
    float lanes[LANES] = { 0 };
    int64_t i = 0;

    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++) {
            row[i + l] = exp2_lane(row[i + l] - max);
            lanes[l] += row[i + l];
        }
    for (; i < count; i++) {
        row[i] = exp2_lane(row[i] - max);
        lanes[0] += row[i];
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    return lanes[0];
}
