/*
 * ceiling_cuda.c - runs the kernels that measure a GPU's peak rates
 */
#include "ceiling_cuda.h"

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "lab/measure/kernels/ceiling.cuh"
#include "src/cuda/custom.h"
#include "stats.h"

/* The assembler embeds the files unchanged as constants, ceiling.cuh before each. HEED_CEILINGS is
 * their folder, from CMake. */
/* clang-format off */
#define TEXT(symbol, file) \
    __asm__(".pushsection .rodata\n" \
            ".globl " #symbol "\n.hidden " #symbol "\n" #symbol ":\n" \
            ".incbin \"" HEED_CEILINGS "/ceiling.cuh\"\n" \
            ".incbin \"" HEED_CEILINGS "/" file "\"\n" \
            ".byte 0\n" \
            ".popsection\n"); \
    extern const char (symbol)[] __attribute__((visibility("hidden")))
/* clang-format on */
TEXT(lab_text_ceiling_rates, "ceiling_rates.cu");
TEXT(lab_text_ceiling_wgmma, "ceiling_wgmma.cu");
TEXT(lab_text_ceiling_memory, "ceiling_memory.cu");

enum {
    THREADS = 256, /* per block, in all kernels */
    WARPS = THREADS / 32,
    HOPPER = 90,
    SLICES = 12,       /* the best counts */
    MANY_SLICES = 48,  /* for matrices, until power limits the clocks */
    LAST_SLICES = 5,   /* their median is the sustained rate */
    LAUNCHES = 200,    /* launches of the empty kernel in a graph */
    MEMORY_ROUNDS = 4, /* passes over memory, read or copied */
    READ_ROUNDS = 20,  /* passes over the part that fits the L2 */
    DEVICE_SHARE = 16  /* maximum of the device's memory to read and copy, as 1/DEVICE_SHARE */
};
#define SLICE_SECONDS 5e-3
#define TRIAL_ROUNDS 64 /* to find the number per slice */
#define MEMORY_BYTES ((size_t)1 << 30)
#define NEVER 0x7fc12345u

/* A kernel. Operations are per block and round. */
typedef struct loop {
    const char *file, *text, *entry, *name;
    double operations;
    int arch;       /* the only one that has it; 0: all do */
    int blocks;     /* per multiprocessor; 0: as its threads allow */
    int64_t smem;   /* bytes */
    heed_type type; /* of the operands */
    bool matrix;
} loop;

#define RATES "ceiling_rates.cu", lab_text_ceiling_rates
#define WGMMA "ceiling_wgmma.cu", lab_text_ceiling_wgmma
#define MMA_OPERATIONS (2.0 * 16 * 8 * 16 * 32 * WARPS)
#define WGMMA_OPERATIONS (2.0 * 64 * 256 * 16 * 16 * 2)
#define CHAIN_OPERATIONS (16.0 * 4 * THREADS)

static const loop fma_loop = { RATES, "heed_ceiling_fma", "FFMA", CHAIN_OPERATIONS,
                               .type = HEED_F32 };
static const loop exp_loop = { RATES, "heed_ceiling_exp", "MUFU.EX2", CHAIN_OPERATIONS,
                               .type = HEED_F32 };

/* The fastest one for each type is used. */
static const loop matrix_loops[] = {
    { RATES, "heed_ceiling_mma", "mma.m16n8k16", MMA_OPERATIONS, 0, 2, 0, HEED_F16, true },
    { RATES, "heed_ceiling_mma", "mma.m16n8k16", MMA_OPERATIONS, 0, 2, 0, HEED_BF16, true },
    { WGMMA, "heed_ceiling_wgmma", "wgmma.m64n256k16", WGMMA_OPERATIONS, HOPPER, 1, 49152, HEED_F16,
      true },
    { WGMMA, "heed_ceiling_wgmma", "wgmma.m64n256k16", WGMMA_OPERATIONS, HOPPER, 1, 49152,
      HEED_BF16, true },
};

const char *lab_ceiling_cuda_text(int index, const char **name)
{
    static const struct {
        const char *name, *text;
    } files[] = { { RATES }, { WGMMA }, { "ceiling_memory.cu", lab_text_ceiling_memory } };
    if (index < 0 || index >= (int)(sizeof files / sizeof *files))
        return NULL;
    *name = files[index].name;
    return files[index].text;
}

/* A loaded kernel and its launch. */
typedef struct running {
    heed_context *context;
    heed_custom *custom;
    heed_ceiling_args args;
    unsigned blocks;
} running;

static heed_status start(void *data, int index, void *stream)
{
    const running *run = data;
    (void)index;
    return heed_custom_start(run->custom, run->blocks, THREADS, &run->args, stream);
}

static heed_status load(running *run, heed_context *context, const char *file, const char *text,
                        const char *entry, int64_t smem, heed_type type)
{
    const heed_define bf16 = { "HEED_BF16", type == HEED_BF16 };
    const heed_build build = { .source = file, .defines = &bf16, .define_count = 1 };
    *run = (running){ .context = context,
                      .args = { .factors = { 0.999f, 0.001f }, .never = NEVER } };
    return heed_custom_create(&run->custom, context, &build, text, entry, smem);
}

/* Measures the seconds of @calls calls in a graph, @count times after a warm-up. */
static heed_status take_samples(running *run, int calls, double *seconds, int count)
{
    heed_replay replay;
    heed_status status = heed_replay_create(&replay, run->context, start, run, calls);
    if (status != HEED_OK)
        return status;
    for (int i = 0; i < count && status == HEED_OK; i++)
        status = heed_replay_repeat(&replay, 1, 1, &seconds[i]);
    heed_replay_destroy(&replay);
    return status;
}

static double least(const double *values, int count)
{
    double value = values[0];
    for (int i = 1; i < count; i++)
        value = values[i] < value ? values[i] : value;
    return value;
}

/* The seconds of one round: of the best slice, and the median of the last ones. */
static heed_status time_rounds(running *run, int slices, double *best, double *last)
{
    double seconds[MANY_SLICES];
    run->args.rounds = TRIAL_ROUNDS;
    heed_status status = take_samples(run, 1, seconds, 2);
    if (status != HEED_OK)
        return status;
    double rounds = TRIAL_ROUNDS * SLICE_SECONDS / (seconds[1] > 1e-6 ? seconds[1] : 1e-6);
    run->args.rounds = rounds > TRIAL_ROUNDS ? (unsigned long long)rounds : TRIAL_ROUNDS;
    status = take_samples(run, 1, seconds, slices);
    if (status != HEED_OK)
        return status;
    *best = least(seconds, slices) / (double)run->args.rounds;
    lab_stats_sort(seconds + slices - LAST_SLICES, LAST_SLICES);
    *last = lab_stats_median(seconds + slices - LAST_SLICES, LAST_SLICES) /
            (double)run->args.rounds;
    return HEED_OK;
}

/* Operations per second of @it: peak and sustained. */
static heed_status time_loop(const loop *it, heed_context *context, double *rate, double *lasting)
{
    running run;
    double best = 1, last = 1;
    heed_device_limits limits = heed_device_get_limits(context);
    heed_status status = load(&run, context, it->file, it->text, it->entry, it->smem, it->type);
    if (status != HEED_OK)
        return status;
    run.blocks = (unsigned)limits.multiprocessors * (it->blocks ? (unsigned)it->blocks : 4);
    status = time_rounds(&run, it->matrix ? MANY_SLICES : SLICES, &best, &last);
    if (status == HEED_OK) {
        *rate = it->operations * run.blocks / best;
        *lasting = it->operations * run.blocks / last;
    }
    heed_custom_destroy(run.custom);
    return status;
}

static heed_status time_matrices(lab_ceiling_cuda *ceiling, heed_context *context,
                                 bool (*interrupted)(void))
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < sizeof matrix_loops / sizeof *matrix_loops && status == HEED_OK; i++) {
        const loop *it = &matrix_loops[i];
        double rate = 0, lasting = 0;
        if (it->arch && it->arch != heed_device_arch(context))
            continue;
        if (interrupted && interrupted())
            return HEED_ERR_SYSTEM;
        status = time_loop(it, context, &rate, &lasting);
        if (status == HEED_OK && rate > ceiling->matrix[it->type]) {
            ceiling->matrix[it->type] = rate;
            ceiling->sustained[it->type] = lasting;
            ceiling->loop[it->type] = it->name;
        }
    }
    return status;
}

static heed_status time_arithmetic(lab_ceiling_cuda *ceiling, heed_context *context)
{
    double lasting = 0, fma = 0, exp = 0;
    heed_status status = time_loop(&exp_loop, context, &exp, &lasting);
    if (status == HEED_OK)
        status = time_loop(&fma_loop, context, &fma, &lasting);
    ceiling->exp = exp;
    ceiling->fma = fma;
    ceiling->matrix[HEED_F32] = 2 * fma;
    ceiling->sustained[HEED_F32] = 2 * lasting;
    ceiling->loop[HEED_F32] = fma_loop.name;
    return status;
}

/* Bytes per second of a kernel of ceiling_memory.cu that touches @bytes of memory @rounds times,
 * @touches of them for each. */
static heed_status time_memory(heed_context *context, const char *entry, void *from, void *to,
                               size_t bytes, int rounds, int touches, double *rate)
{
    running run;
    double seconds[SLICES];
    const char *text = lab_text_ceiling_memory;
    heed_status status = load(&run, context, "ceiling_memory.cu", text, entry, 0, HEED_F32);
    if (status != HEED_OK)
        return status;
    run.blocks = (unsigned)heed_device_get_limits(context).multiprocessors * 4;
    run.args.from = from;
    run.args.to = to;
    run.args.units = bytes / 16;
    run.args.rounds = (unsigned long long)rounds;
    status = take_samples(&run, 1, seconds, SLICES);
    if (status == HEED_OK)
        *rate = (double)touches * rounds * (double)bytes / least(seconds, SLICES);
    heed_custom_destroy(run.custom);
    return status;
}

/* A size that exceeds all caches, but is a small part of the device's memory. */
static size_t choose_bytes(const heed_context *context)
{
    size_t share = heed_device_memory(context) / DEVICE_SHARE;
    size_t bytes = share > 0 && share < MEMORY_BYTES ? share : MEMORY_BYTES;
    return bytes / 4096 * 4096;
}

/* A quarter of the L2, that is half of one of its two partitions, in a multiple of what all threads
 * load at once, so all have equal work. */
static size_t choose_cached(const heed_context *context)
{
    size_t at_once = (size_t)heed_device_get_limits(context).multiprocessors * 4 * THREADS * 16 * 4;
    size_t share = heed_device_cache(context) / 4;
    return share < at_once ? share / 4096 * 4096 : share / at_once * at_once;
}

static heed_status time_memories(lab_ceiling_cuda *ceiling, heed_context *context)
{
    void *from = NULL, *to = NULL;
    size_t bytes = choose_bytes(context);
    size_t cached = choose_cached(context);
    heed_status status = heed_device_allocate(context, bytes, &from);
    if (status == HEED_OK)
        status = heed_device_allocate(context, bytes, &to);
    if (status == HEED_OK)
        status = time_memory(context, "heed_ceiling_copy", from, to, bytes, MEMORY_ROUNDS, 2,
                             &ceiling->copy);
    if (status == HEED_OK)
        status = time_memory(context, "heed_ceiling_read", to, from, bytes, MEMORY_ROUNDS, 1,
                             &ceiling->read);
    if (status == HEED_OK && cached > 0 && cached < bytes)
        status = time_memory(context, "heed_ceiling_read", from, to, cached, READ_ROUNDS, 1,
                             &ceiling->cache);
    heed_device_free(context, to);
    heed_device_free(context, from);
    return status;
}

/* One block per multiprocessor: the fewest of a kernel that uses the whole device. */
static heed_status time_launch(lab_ceiling_cuda *ceiling, heed_context *context)
{
    running run;
    double seconds[SLICES];
    heed_status status = load(&run, context, "ceiling_memory.cu", lab_text_ceiling_memory,
                              "heed_ceiling_launch", 0, HEED_F32);
    if (status != HEED_OK)
        return status;
    run.blocks = (unsigned)heed_device_get_limits(context).multiprocessors;
    status = take_samples(&run, LAUNCHES, seconds, SLICES);
    if (status == HEED_OK)
        ceiling->launch = least(seconds, SLICES);
    heed_custom_destroy(run.custom);
    return status;
}

heed_status lab_ceiling_cuda_measure(lab_ceiling_cuda *ceiling, heed_context *context,
                                     bool (*interrupted)(void))
{
    static heed_status (*const parts[])(
        lab_ceiling_cuda *, heed_context *) = { time_launch, time_memories, time_arithmetic };
    *ceiling = (lab_ceiling_cuda){ .launch = 0 };
    heed_status status = HEED_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == HEED_OK; i++)
        status = interrupted && interrupted() ? HEED_ERR_SYSTEM : parts[i](ceiling, context);
    return status == HEED_OK ? time_matrices(ceiling, context, interrupted) : status;
}
