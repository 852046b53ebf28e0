/*
 * gpu.c - limits of the architectures that heed has kernels for, and the devices of machines.def
 */
#include "gpu.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../problem/problem.h"

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

/* Properties that all devices of an architecture share. Registers, threads, blocks and shared
 * memory are from the table "Technical specifications per compute capability" in the CUDA C++
 * Programming Guide; fma and exp are from its table "Throughput of native arithmetic instructions",
 * in operations per multiprocessor and clock; matrix is the peak of operations on 16-bit matrices
 * with any accumulator type, from the white papers of the architectures. These three are 0 where
 * nothing here is predicted for the architecture. */
typedef struct architecture {
    int arch;
    int threads, blocks;
    int smem; /* KiB */
    int fma, exp;
    int matrix;
} architecture;

static const architecture architectures[] = {
    { 80, 2048, 32, 164, 64, 16, 2048 },  { 86, 1536, 16, 100, 128, 16, 1024 },
    { 87, 1536, 16, 164, 0, 0, 0 },       { 89, 1536, 24, 100, 128, 16, 1024 },
    { 90, 2048, 32, 228, 128, 16, 4096 }, { 100, 2048, 32, 228, 128, 16, 8192 },
    { 103, 2048, 32, 228, 0, 0, 0 },      { 120, 1536, 24, 100, 128, 16, 1024 },
    { 121, 1536, 24, 100, 0, 0, 0 },
};

/* clang-format off */
static const struct {
    const char *brief, *name;
    int arch, multiprocessors, l2, window, memory;
    double clock, bandwidth, matrix; /* MHz, GB/s, TFLOP/s */
} machines[] = {
#define HEED_MACHINE(brief, name, arch, multiprocessors, l2, window, memory, clock, bandwidth, matrix) \
    { brief, name, arch, multiprocessors, l2, window, memory, clock, bandwidth, matrix },
#include "machines.def"
#undef HEED_MACHINE
};
/* clang-format on */
#define MACHINES (sizeof machines / sizeof *machines)

/* Registers are allocated to warps in units of this many, and limited per thread. A multiprocessor
 * has four partitions with a quarter of the registers each, which a warp cannot span. */
#define REGISTER_UNIT 256
#define PARTS 4
#define SMEM_UNIT 128
#define REGISTERS_MAX 255
#define WARP 32

static const architecture *find_architecture(int arch)
{
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        if (architectures[i].arch == arch)
            return &architectures[i];
    return NULL;
}

bool heed_gpu_limits(heed_gpu *gpu, int arch)
{
    const architecture *common = find_architecture(arch);
    if (!common)
        return false;
    *gpu = (heed_gpu){ .arch = arch,
                       .registers = 65536,
                       .threads = common->threads,
                       .blocks = common->blocks,
                       .smem = common->smem * KIB,
                       .smem_block = (common->smem - 1) * KIB,
                       .smem_reserved = KIB,
                       .costs = heed_costs_find(heed_cost_rows, "", arch) };
    return true;
}

bool heed_gpu_at(heed_gpu *gpu, size_t index, const char **brief)
{
    if (index >= MACHINES || !heed_gpu_limits(gpu, machines[index].arch))
        return false;
    gpu->multiprocessors = machines[index].multiprocessors;
    gpu->l2 = machines[index].l2 * MIB;
    gpu->l2_window = machines[index].window * MIB;
    gpu->memory = machines[index].memory * GIB;
    gpu->clock = 1e6 * machines[index].clock;
    gpu->bandwidth = 1e9 * machines[index].bandwidth;
    gpu->matrix = 1e12 * machines[index].matrix;
    snprintf(gpu->name, sizeof gpu->name, "%s", machines[index].name);
    gpu->costs = heed_costs_find(heed_cost_rows, gpu->name, gpu->arch);
    if (brief)
        *brief = machines[index].brief;
    return true;
}

/* True if @name equals @known, ignoring case, blanks and dashes. */
static bool same_name(const char *name, const char *known)
{
    for (;; name++, known++) {
        name += strspn(name, " -_");
        known += strspn(known, " -_");
        if (tolower((unsigned char)*name) != tolower((unsigned char)*known))
            return false;
        if (!*name)
            return true;
    }
}

bool heed_gpu_find(heed_gpu *gpu, const char *name)
{
    for (size_t i = 0; i < MACHINES; i++)
        if (same_name(name, machines[i].brief) || same_name(name, machines[i].name))
            return heed_gpu_at(gpu, i, NULL);
    return false;
}

bool heed_gpu_arch(heed_gpu *gpu, int arch)
{
    for (size_t i = 0; i < MACHINES; i++)
        if (machines[i].arch == arch)
            return heed_gpu_at(gpu, i, NULL);
    return false;
}

heed_gpu_rates heed_gpu_get_rates(int arch)
{
    const architecture *common = find_architecture(arch);
    return common ? (heed_gpu_rates){ common->fma, common->exp, common->matrix }
                  : (heed_gpu_rates){ 0, 0, 0 };
}

double heed_gpu_roofline(const heed_gpu *gpu, const heed_problem *problem)
{
    double compute = heed_problem_flops_own(problem) / gpu->matrix;
    double memory = heed_problem_bytes_own(problem) / gpu->bandwidth;
    return compute > memory ? compute : memory;
}

double heed_gpu_memory_seconds(const heed_gpu *gpu, const heed_problem *problem, double in_flight)
{
    const heed_memory_costs *costs = gpu->costs->memory;
    double rate = in_flight / costs->latency, most = costs->share * gpu->bandwidth;
    return heed_problem_bytes_own(problem) / (rate < most ? rate : most);
}

double heed_gpu_beside(const heed_gpu *gpu, double computing, double loading)
{
    double longer = computing > loading ? computing : loading;
    return longer + gpu->costs->memory->hindrance * (computing + loading - longer);
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
