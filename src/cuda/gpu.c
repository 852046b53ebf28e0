/*
 * gpu.c - limits of the architectures that heed has kernels for
 *
 * Registers, threads, blocks and shared memory are those of the table "Technical specifications per
 * compute capability" in the CUDA C++ Programming Guide; the rest is from the data sheets of the
 * devices that are named. The matrix rates, where those of a data sheet are with sparsity, half of
 * them:
 *
 *     A100 SXM   312 TFLOP/s   NVIDIA A100 Tensor Core GPU data sheet, "FP16 Tensor Core"
 *     RTX 3090    71 TFLOP/s   NVIDIA Ampere GA102 GPU Architecture, appendix A, "Peak FP16 Tensor
 *                              TFLOPS with FP32 Accumulate"
 *     L4         121 TFLOP/s   NVIDIA L4 Tensor Core GPU data sheet, 242 with sparsity
 *     H200       989 TFLOP/s   NVIDIA H200 Tensor Core GPU data sheet, 1979 with sparsity
 */
#include "gpu.h"

#include <stddef.h>

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

static const heed_gpu known[] = {
    { .name = "NVIDIA A100-SXM4-80GB",
      .arch = 80,
      .multiprocessors = 108,
      .registers = 65536,
      .threads = 2048,
      .blocks = 32,
      .smem = 164 * KIB,
      .smem_block = 163 * KIB,
      .smem_reserved = KIB,
      .l2 = 40 * MIB,
      .l2_window = 30 * MIB,
      .memory = 80 * GIB,
      .clock = 1.41e9,
      .bandwidth = 2.04e12,
      .matrix = 312e12 },
    { .name = "NVIDIA GeForce RTX 3090",
      .arch = 86,
      .multiprocessors = 82,
      .registers = 65536,
      .threads = 1536,
      .blocks = 16,
      .smem = 100 * KIB,
      .smem_block = 99 * KIB,
      .smem_reserved = KIB,
      .l2 = 6 * MIB,
      .l2_window = 4 * MIB,
      .memory = 24 * GIB,
      .clock = 1.695e9,
      .bandwidth = 936e9,
      .matrix = 71e12 },
    { .name = "NVIDIA L4",
      .arch = 89,
      .multiprocessors = 58,
      .registers = 65536,
      .threads = 1536,
      .blocks = 24,
      .smem = 100 * KIB,
      .smem_block = 99 * KIB,
      .smem_reserved = KIB,
      .l2 = 48 * MIB,
      .l2_window = 33 * MIB,
      .memory = 24 * GIB,
      .clock = 2.04e9,
      .bandwidth = 300e9,
      .matrix = 121e12 },
    { .name = "NVIDIA H200",
      .arch = 90,
      .multiprocessors = 132,
      .registers = 65536,
      .threads = 2048,
      .blocks = 32,
      .smem = 228 * KIB,
      .smem_block = 227 * KIB,
      .smem_reserved = KIB,
      .l2 = 60 * MIB,
      .l2_window = 37 * MIB,
      .memory = 141 * GIB,
      .clock = 1.98e9,
      .bandwidth = 4.8e12,
      .matrix = 989e12 },
};

/* Registers are handed out to warps in units of this many, and a thread has at most so many. A
 * multiprocessor has four parts with a quarter of the registers each, which warps cannot share. */
#define REGISTER_UNIT 256
#define PARTS 4
#define SMEM_UNIT 128
#define REGISTERS_MAX 255
#define WARP 32

bool heed_gpu_arch(heed_gpu *gpu, int arch)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].arch == arch) {
            *gpu = known[i];
            return true;
        }
    return false;
}

double heed_gpu_roofline(const heed_gpu *gpu, const heed_problem *problem)
{
    double compute = heed_problem_flops(problem) / gpu->matrix;
    double memory = heed_problem_bytes(problem) / gpu->bandwidth;
    return compute > memory ? compute : memory;
}

#define MEMORY_LATENCY 1.1e-6 /* seconds of a load, on a busy device */
#define MEMORY_SHARE 0.87     /* of the data sheet's bandwidth that loads reach */
#define HINDRANCE 0.03        /* that the shorter of computing and loading still adds */

double heed_gpu_memory_seconds(const heed_gpu *gpu, const heed_problem *problem, double in_flight)
{
    double rate = in_flight / MEMORY_LATENCY, most = MEMORY_SHARE * gpu->bandwidth;
    return heed_problem_bytes(problem) / (rate < most ? rate : most);
}

double heed_gpu_beside(double computing, double loading)
{
    double longer = computing > loading ? computing : loading;
    return longer + HINDRANCE * (computing + loading - longer);
}

int heed_gpu_resident(const heed_gpu *gpu, int threads, int registers, int64_t smem,
                      const char **limit)
{
    int warps = (threads + WARP - 1) / WARP;
    int per_warp = (registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    int64_t per_block = (smem + gpu->smem_reserved + SMEM_UNIT - 1) / SMEM_UNIT * SMEM_UNIT;
    const struct {
        const char *name;
        int64_t count;
    } limits[] = {
        { "registers", registers > REGISTERS_MAX ? 0
                       : per_warp                ? gpu->registers / PARTS / per_warp * PARTS / warps
                                                 : gpu->blocks },
        { "shared memory", smem > gpu->smem_block ? 0 : gpu->smem / per_block },
        { "threads", gpu->threads / (warps * WARP) },
        { "blocks", gpu->blocks },
    };
    size_t least = 0;
    for (size_t i = 1; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].count < limits[least].count)
            least = i;
    if (limit)
        *limit = limits[least].name;
    return (int)limits[least].count;
}
