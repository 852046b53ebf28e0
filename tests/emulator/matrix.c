/*
 * matrix.c - collective instructions of a warp: matrices, shuffles, votes, warp barriers
 *
 * Figures of the fragments are in src/cuda/kernels/ptx_warp.cuh.
 */
#include "emulator/half.h"
#include "emulator/machine.h"

#include <math.h>
#include <string.h>

#define M 16
#define N 8
#define K 16

/* -------------------------------------------------------------------------- */
/* ldmatrix                                                                   */
/* -------------------------------------------------------------------------- */

static void load_matrices(machine *m, thread *lanes)
{
    const emulator_request *head = lanes[0].request;
    uint32_t smem[LANES] = { 0 };
    uint16_t rows[LANES][8];
    for (int i = 0; i < head->n * 8; i++) {
        smem[i] = lanes[i].request->x;
        if (!shared_read(m, &lanes[i], smem[i], rows[i], 16, true))
            return;
    }
    banks_count(m, machine_site(m, lanes), smem, 16);
    for (int lane = 0; lane < LANES; lane++) {
        uint32_t *r = lanes[lane].request->d;
        int g = lane / 4, t = lane % 4;
        for (int i = 0; i < head->n; i++) {
            uint16_t(*matrix)[8] = rows + 8 * i;
            r[i] = head->what == EMULATOR_LDMATRIX
                       ? matrix[g][2 * t] | (uint32_t)matrix[g][2 * t + 1] << 16
                       : matrix[2 * t][g] | (uint32_t)matrix[2 * t + 1][g] << 16;
        }
    }
}

static void store_matrices(machine *m, thread *lanes)
{
    uint32_t smem[LANES];
    for (int i = 0; i < LANES; i++) {
        uint32_t row[4];
        smem[i] = lanes[i].request->x;
        for (int t = 0; t < 4; t++)
            row[t] = ((const uint32_t *)lanes[i % 8 * 4 + t].request->a)[i / 8];
        if (!shared_write(m, &lanes[i], smem[i], row, sizeof row))
            return;
    }
    banks_count(m, machine_site(m, lanes), smem, 16);
}

/* -------------------------------------------------------------------------- */
/* mma                                                                        */
/* -------------------------------------------------------------------------- */

typedef float half_fn(uint16_t bits);

static float from_f16(uint16_t bits)
{
    return half_from_f16(bits);
}

static float from_bf16(uint16_t bits)
{
    return half_from_bf16(bits);
}

typedef struct operands {
    double a[M][K];
    double b[K][N];
    double d[M][N];
} operands;

static void gather(operands *o, const thread *lanes, half_fn *value)
{
    for (int lane = 0; lane < LANES; lane++) {
        const uint32_t *a = lanes[lane].request->a, *b = lanes[lane].request->b;
        int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 4; i++)
            for (int h = 0; h < 2; h++)
                o->a[g + i % 2 * 8][2 * t + i / 2 * 8 + h] = value((uint16_t)(a[i] >> 16 * h));
        for (int i = 0; i < 2; i++)
            for (int h = 0; h < 2; h++)
                o->b[2 * t + i * 8 + h][g] = value((uint16_t)(b[i] >> 16 * h));
    }
}

static void multiply(operands *o)
{
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < N; j++)
                o->d[i][j] += o->a[i][k] * o->b[k][j];
}

static void multiply_f32(thread *lanes, half_fn *value)
{
    operands o;
    gather(&o, lanes, value);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++) {
            const float *d = lanes[lane].request->d;
            o.d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2] = d[i];
        }
    multiply(&o);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++) {
            float *d = lanes[lane].request->d;
            d[i] = (float)o.d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
        }
}

#define TF32_K 8
#define TF32_BITS 0xffffe000u                 /* of a float32; the others are ignored */
#define EXPONENT UINT64_C(0x7ff0000000000000) /* of a double */
#define SUM_UNIT 0x1p-24 /* last bit of a sum, relative to the power of two in its largest term */

/* @x, rounded to float32 toward zero. */
static float cut_off(double x)
{
    float nearest = (float)x;
    return fabs((double)nearest) > fabs(x) ? nextafterf(nearest, 0.0f) : nearest;
}

/* The sum of a dot product and its addend, as computed by tensor cores of compute capability 8.0:
 * all terms are truncated at the same bit, and so is the sum. */
static float cut_off_sum(const double terms[TF32_K + 1])
{
    double most = 0, plain = 0, sum = 0, unit;
    uint64_t bits;
    for (int k = 0; k <= TF32_K; k++) {
        most = fabs(terms[k]) > most ? fabs(terms[k]) : most;
        plain += terms[k];
    }
    if (most == 0 || !isfinite(plain))
        return (float)plain;
    memcpy(&bits, &most, sizeof bits);
    bits &= EXPONENT;
    memcpy(&unit, &bits, sizeof unit);
    unit *= SUM_UNIT;
    for (int k = 0; k <= TF32_K; k++)
        sum += (double)(int64_t)(terms[k] * (1 / unit));
    return cut_off(sum * unit);
}

static void multiply_tf32(thread *lanes)
{
    double a[M][TF32_K], b[TF32_K][N];
    for (int lane = 0; lane < LANES; lane++) {
        const uint32_t *left = lanes[lane].request->a, *right = lanes[lane].request->b;
        int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 4; i++)
            a[g + i % 2 * 8][t + i / 2 * 4] = half_value(left[i] & TF32_BITS);
        for (int i = 0; i < 2; i++)
            b[t + i * 4][g] = half_value(right[i] & TF32_BITS);
    }
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++) {
            float *d = lanes[lane].request->d;
            double terms[TF32_K + 1] = { [TF32_K] = d[i] };
            for (int k = 0; k < TF32_K; k++)
                terms[k] = a[lane / 4 + i / 2 * 8][k] * b[k][lane % 4 * 2 + i % 2];
            d[i] = cut_off_sum(terms);
        }
}

static void multiply_f16(thread *lanes)
{
    operands o;
    gather(&o, lanes, from_f16);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++) {
            const uint32_t *d = lanes[lane].request->d;
            o.d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2] = half_from_f16(
                (uint16_t)(d[i / 2] >> i % 2 * 16));
        }
    multiply(&o);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 2; i++) {
            uint32_t *d = lanes[lane].request->d;
            const double *from = &o.d[lane / 4 + i * 8][lane % 4 * 2];
            d[i] = half_to_f16((float)from[0]) | (uint32_t)half_to_f16((float)from[1]) << 16;
        }
}

/* -------------------------------------------------------------------------- */
/* Between lanes                                                              */
/* -------------------------------------------------------------------------- */

static void shuffle(thread *lanes)
{
    for (int lane = 0; lane < LANES; lane++) {
        const emulator_request *request = lanes[lane].request;
        int from = request->what == EMULATOR_SHFL_XOR ? lane ^ request->n : request->n;
        *(uint32_t *)request->d = lanes[from % LANES].request->x;
    }
}

static void vote(thread *lanes)
{
    uint32_t any = 0;
    for (int lane = 0; lane < LANES; lane++)
        any |= lanes[lane].request->x;
    for (int lane = 0; lane < LANES; lane++)
        *(uint32_t *)lanes[lane].request->d = any;
}

static void ballot(thread *lanes)
{
    uint32_t bits = 0;
    for (int lane = 0; lane < LANES; lane++)
        bits |= (uint32_t)(lanes[lane].request->x != 0) << lane;
    for (int lane = 0; lane < LANES; lane++)
        *(uint32_t *)lanes[lane].request->d = bits;
}

static void meet(machine *m, const thread *lanes)
{
    uint32_t all[LANES];
    for (uint32_t i = 0; i < LANES; i++)
        all[i] = machine_index(m, lanes) + i;
    memset(m->scratch, 0, m->actors * sizeof *m->scratch);
    order_meet(m, all, LANES, m->scratch);
}

void matrix_execute(machine *m, thread *lanes)
{
    switch (lanes[0].request->what) {
    case EMULATOR_LDMATRIX:
    case EMULATOR_LDMATRIX_TRANS:
        load_matrices(m, lanes);
        break;
    case EMULATOR_MMA_F16:
        multiply_f32(lanes, from_f16);
        break;
    case EMULATOR_MMA_BF16:
        multiply_f32(lanes, from_bf16);
        break;
    case EMULATOR_MMA_TF32:
        multiply_tf32(lanes);
        break;
    case EMULATOR_MMA_F16_ACC16:
        multiply_f16(lanes);
        break;
    case EMULATOR_SHFL_XOR:
    case EMULATOR_SHFL_IDX:
        shuffle(lanes);
        break;
    case EMULATOR_VOTE_ANY:
        vote(lanes);
        break;
    case EMULATOR_VOTE_BALLOT:
        ballot(lanes);
        break;
    case EMULATOR_WARP_BARRIER:
        meet(m, lanes);
        break;
    case EMULATOR_STMATRIX:
        store_matrices(m, lanes);
        break;
    case EMULATOR_WGMMA:
        wgmma_start(m, lanes);
        break;
    case EMULATOR_WGMMA_COMMIT:
        wgmma_commit(m, lanes);
        break;
    case EMULATOR_WGMMA_WAIT:
        wgmma_finish(m, lanes);
        break;
    case EMULATOR_REGISTERS:
        registers_set(m, lanes);
        break;
    case EMULATOR_WGMMA_FENCE:
    case EMULATOR_BARRIER: /* may wait for other warps, or release them */
    case EMULATOR_ARRIVE:
        break;
    }
}
