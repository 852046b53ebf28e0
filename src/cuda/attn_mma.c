/*
 * attn_mma.c - attn_mma.cu as the planner sees it: its knobs, what a config needs, what it may cost
 */
#include <math.h>
#include <string.h>

#include "backend.h"

#define WARP 32
#define DIM_MAX 256
#define THREADS_MAX 1024
#define BARRIERS 15 /* named ones of a block, one for each group */
#define CAP_MIN 64  /* of registers */

/* The knobs, in the order in which a config has them. attn_mma.cu says what they are. */
enum {
    M, /* rows of a block */
    N, /* keys of a tile */
    W, /* warps of a group */
    K, /* groups */
    S, /* stages */
    Q, /* 2: Q in registers */
    O, /* 2: the scores of the next tile along with the softmax of this one */
    B, /* blocks per multiprocessor that registers are allotted for; from CAP_MIN on, registers that
          a thread may have: a cap, beyond which the compiler spills */
    P, /* splits: blocks that share the keys of the same rows */
    L, /* 2: K and V should stay in the L2 */
    A, /* 2: sums in half precision, where the problem permits it */
    KNOBS
};

/* A config that planning looks at, and the larger of the two padded head dims that it is for. */
typedef struct shipped {
    int dim_min, dim_max;
    int value[KNOBS];
} shipped;

/* Wide blocks are for many rows, groups for few of them; those with 16 rows are for decoding. For
 * all head dims there are some that need 48 KiB of shared memory or less. */
static const shipped table[] = {
    { 32, 64, { 128, 64, 4, 1, 2, 2, 1, 2, 1, 1, 1 } },
    { 32, 64, { 64, 64, 4, 1, 2, 2, 1, 3, 1, 1, 1 } },
    { 32, 64, { 64, 64, 4, 2, 2, 2, 1, 1, 1, 1, 1 } },
    { 32, 64, { 64, 64, 4, 3, 2, 2, 1, 1, 1, 1, 1 } },
    { 32, 64, { 32, 64, 2, 2, 3, 2, 1, 2, 1, 1, 1 } },
    { 32, 64, { 32, 64, 2, 4, 2, 2, 1, 1, 1, 1, 1 } },
    { 32, 64, { 32, 32, 2, 4, 3, 2, 1, 1, 1, 1, 1 } },
    { 32, 64, { 32, 32, 2, 4, 2, 2, 1, 2, 1, 1, 1 } },
    { 32, 64, { 16, 64, 1, 4, 2, 2, 1, 1, 1, 1, 1 } },
    { 32, 64, { 16, 32, 1, 4, 2, 2, 1, 2, 1, 1, 1 } },
    { 32, 128, { 128, 64, 4, 1, 2, 1, 1, 2, 1, 1, 1 } },
    { 96, 128, { 128, 48, 4, 1, 2, 1, 1, 2, 1, 1, 1 } },
    { 96, 128, { 128, 32, 4, 1, 2, 1, 1, 2, 1, 1, 1 } },
    { 96, 128, { 64, 64, 4, 1, 2, 1, 1, 2, 1, 1, 1 } },
    { 96, 128, { 64, 64, 4, 2, 2, 1, 1, 1, 1, 1, 1 } },
    { 96, 128, { 32, 32, 2, 4, 2, 1, 1, 1, 1, 1, 1 } },
    { 96, 128, { 16, 32, 1, 4, 3, 1, 1, 1, 1, 1, 1 } },
    { 96, 128, { 16, 32, 1, 4, 2, 1, 1, 1, 1, 1, 1 } },
    { 96, 128, { 64, 32, 4, 1, 2, 1, 1, 2, 1, 1, 1 } },
    { 96, 128, { 16, 32, 1, 2, 3, 2, 1, 1, 1, 1, 1 } },
    { 96, 256, { 16, 16, 1, 4, 2, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, { 128, 64, 8, 1, 2, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, { 128, 32, 8, 1, 2, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, { 64, 64, 4, 1, 2, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, { 64, 32, 4, 1, 2, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, { 32, 32, 2, 2, 2, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, { 16, 16, 1, 2, 2, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, { 16, 16, 1, 1, 2, 1, 1, 1, 1, 1, 1 } },
    { 32, 64, { 64, 64, 4, 1, 2, 2, 1, 3, 1, 1, 2 } },
    { 32, 64, { 16, 64, 1, 4, 2, 2, 1, 1, 1, 1, 2 } },
    { 96, 128, { 64, 64, 4, 1, 2, 1, 1, 2, 1, 1, 2 } },
    { 96, 128, { 64, 32, 4, 1, 2, 1, 1, 2, 1, 1, 2 } },
    { 160, 256, { 64, 16, 4, 1, 2, 1, 1, 1, 1, 1, 2 } },
};
#define TABLE ((int)(sizeof table / sizeof *table))

static const int split_values[] = { 1, 2, 4, 8, 16, 32, 64 };
#define SPLITS ((int)(sizeof split_values / sizeof *split_values))

/* Every config of the table with every number of splits. */
static void config_at(int index, heed_config *config)
{
    for (int i = 0; i < KNOBS; i++)
        config->value[i] = table[index / SPLITS].value[i];
    config->value[P] = split_values[index % SPLITS];
}

/* What takes over where addresses are not aligned: small enough for every device and head dim. */
static const heed_config fallback = { { 64, 16, 4, 1, 2, 1, 1, 1, 1, 1, 1 } };

static int pad(int64_t dim)
{
    return (int)heed_div_up(dim, 32) * 32;
}

static heed_cuda_cut cut(const heed_problem *problem, const heed_config *config)
{
    (void)problem;
    return (heed_cuda_cut){ .rows = config->value[M],
                            .splits = config->value[P],
                            .aligned = memcmp(config, &fallback, sizeof fallback) != 0,
                            .window = config->value[L] == 2,
                            .fallback = fallback };
}

const heed_cuda_code heed_cuda_mma_code = { .cut = cut };

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Shared memory of a block, laid out as attn_mma.cu says. */
static int64_t smem_of(const heed_problem *problem, const int *v)
{
    int qk = pad(problem->dim_qk), dv = pad(problem->dim_v);
    int64_t q = (int64_t)v[M] * larger(qk, dv) * 2;
    int64_t bad = problem->mask != HEED_MASK_NONE ? dv * 4 : 0;
    int64_t stages = (int64_t)v[K] * v[S] * v[N] * (qk + dv) * 2;
    int64_t merge = (int64_t)(v[K] - 1) * v[M] * (dv + 8) * 4;
    return q + bad + (stages > merge ? stages : merge);
}

/* Registers of a thread, about: sums, scores, Q, weights, and what addresses and loops take. */
static int registers_of(const heed_problem *problem, const int *v)
{
    int rows16 = v[M] / v[W] / 16;
    int sums = rows16 * pad(problem->dim_v) / 2;
    int scores = rows16 * v[N] / 2 * v[O];
    int q = v[Q] == 2 ? rows16 * pad(problem->dim_qk) / 4 : 8 * rows16;
    return sums + scores + q + rows16 * v[N] / 8 + 48;
}

static int threads_of(const int *v)
{
    return WARP * v[W] * v[K];
}

/* The cap on registers that is given to the compiler; 0: none. */
static int cap_of(const int *v)
{
    return v[B] >= CAP_MIN ? v[B] : 0;
}

/* Registers that a cap leaves no room for, about. */
static int spilled_of(const heed_problem *problem, const int *v)
{
    int missing = registers_of(problem, v) - 8 - cap_of(v);
    return cap_of(v) && missing > 0 ? missing : 0;
}

/* A config of the table is for the head dims that it stands there with; any other one may be tried.
 */
static bool for_other_dims(const heed_problem *problem, const int *v)
{
    int dim = larger(pad(problem->dim_qk), pad(problem->dim_v));
    bool listed = false;
    for (int i = 0; i < TABLE; i++) {
        const int *entry = table[i].value;
        if (memcmp(v, entry, P * sizeof *v) != 0 || v[A] != entry[A])
            continue;
        if (dim >= table[i].dim_min && dim <= table[i].dim_max)
            return false;
        listed = true;
    }
    return listed;
}

/* Does the config make sense for the problem on any device? */
static const char *misfit(const heed_problem *problem, const int *v)
{
    int rows = v[M] / v[W];
    if (problem->dim_qk > DIM_MAX || problem->dim_v > DIM_MAX)
        return "a head dim is above 256";
    if (rows * v[W] != v[M] || (rows != 16 && rows != 32))
        return "a warp takes 16 or 32 rows";
    if (threads_of(v) > THREADS_MAX || v[K] > BARRIERS)
        return "too many warps for a block";
    if (v[P] > heed_div_up(problem->seq_k, v[N]))
        return "more splits than key tiles";
    if (v[A] == 2 && problem->accumulate != HEED_ACC_F16)
        return "sums in half precision need acc=f16";
    if (v[A] == 2 && v[O] != 1)
        return "sums in half precision are for order 1";
    if (for_other_dims(problem, v))
        return "is for other head dims";
    return NULL;
}

/* The compiler spills two registers of these, for want of a better order; see tests/test_configs.c.
 */
static bool spills(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    int dim = larger(pad(problem->dim_qk), pad(problem->dim_v));
    return v[M] == 128 && v[N] == 48 && dim > 96 && problem->mask == HEED_MASK_NONE &&
           gpu->arch >= 90;
}

static const char *too_large(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    int threads = threads_of(v);
    int share = gpu->registers / (threads * (cap_of(v) ? 1 : v[B])) / 8 * 8;
    int most = share < 255 ? share : 255;
    if (smem_of(problem, v) > gpu->smem_block)
        return "needs more shared memory than a block can have";
    if (cap_of(v) > most)
        return "its cap on registers is more than its block can have";
    if (!cap_of(v) && registers_of(problem, v) > most) /* who sets a cap wants to see the spills */
        return "needs more registers than its blocks leave it";
    if (spills(problem, gpu, v))
        return "spills registers there";
    return NULL;
}

/* Are there blocks enough without splitting keys? */
static bool busy(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    int64_t rows = problem->seq_q * (problem->heads_q / problem->heads_kv);
    int64_t blocks = heed_div_up(rows, v[M]) * problem->batch * problem->heads_kv;
    return blocks >= gpu->multiprocessors;
}

static bool legal(const heed_kernel *kernel, const heed_problem *problem,
                  const heed_machine *machine, const heed_config *config, const char **why)
{
    const int *v = config->value;
    (void)kernel;
    *why = misfit(problem, v);
    if (!*why)
        *why = too_large(problem, machine->gpu, v);
    if (!*why && v[P] > 1 && busy(problem, machine->gpu, v))
        *why = "enough blocks without splitting keys";
    return !*why && heed_cuda_fits(problem, v[M], v[P], why);
}

/* ---- Cost ---- */

/* Clocks that a scheduler is busy with an instruction, measured on one H200: an mma, and others.
 * They hardly overlap. */
#define MMA_CLOCKS 7.0
#define MMA_OPERATIONS 4096.0
#define OTHER_CLOCKS 1.1
#define EXP_CLOCKS 8.0 /* of the special function unit */

/* The latency of a step, which other warps may hide, and of each key of its tile; and what it takes
 * that a register is more than the cap, and so stored and loaded in every step: instructions, and
 * latency. Fitted to the recorded sweep of 90 points on an H200 (tests/test_roofline.c). */
#define CHAIN_CLOCKS 29.0
#define KEY_CLOCKS 6.0
#define SPILL_INSTRUCTIONS 3.0
#define SPILL_CLOCKS 4.0

#define BLOCK_CLOCKS 3000.0 /* to begin and end a block */
#define MERGE_CLOCKS 500.0  /* per group */
#define LAUNCH_SECONDS 2.2e-6
#define OVERLAP_SECONDS 1e-6 /* less where a launch may begin before the one ahead has ended */
/* Of splits and masks; fitted to 1300 times of 147 problems on an H200. */
#define COMBINE_SECONDS 1.45e-6 /* to leave a part and be counted, */
#define ROUND_SECONDS 1.7e-6    /* and again where blocks come after others; */
#define BATCH_SECONDS 0.6e-6    /* to wait for parts that are under way together; */
#define PARTS_RATE 0.24         /* of the memory's bandwidth: of parts, to the L2 and back */
#define MASK_STEPS 0.4          /* that a mask adds to a step, */
#define MASKED 1.14             /* and how much longer blocks with one then take */
#define HIDDEN 0.01             /* that the shorter of computing and loading still adds, */
#define FIRST_TILE 0.22         /* and once more for each tile of the keys */
#define SCHEDULERS 4

/* Clocks of one step of one warp: @own when alone, @busy of its scheduler. */
typedef struct step_cost {
    double own;
    double busy;
} step_cost;

/* Tensor cores that are slower than that keep their schedulers waiting. */
static double mma_clocks(const heed_gpu *gpu)
{
    double clocks = MMA_OPERATIONS * SCHEDULERS * gpu->multiprocessors * gpu->clock / gpu->matrix;
    return clocks > MMA_CLOCKS ? clocks : MMA_CLOCKS;
}

static step_cost cost_of_step(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    int rows16 = v[M] / v[W] / 16;
    double qk16 = pad(problem->dim_qk) / 16.0, v8 = pad(problem->dim_v) / 8.0;
    double mma = rows16 * (v[N] / 8.0 * qk16 + v[N] / 16.0 * v8);
    double scores = rows16 * v[N] / 2.0;
    double loads = v[N] / 16.0 * (qk16 + v8 / 2) + (v[Q] == 1 ? qk16 * rows16 : 0);
    double spilled = spilled_of(problem, v);
    double others = 4.5 * scores + 4 * loads + 60 + SPILL_INSTRUCTIONS * spilled;
    if (v[A] == 2) /* conversions and additions; no device that is known has a faster mma for it */
        others += scores + 8 * rows16 * v8;
    double busy = mma_clocks(gpu) * mma + OTHER_CLOCKS * others;
    if (busy < EXP_CLOCKS * scores)
        busy = EXP_CLOCKS * scores;
    double latency = CHAIN_CLOCKS * qk16 + KEY_CLOCKS * v[N];
    return (step_cost){ .own = busy + latency / v[O] + SPILL_CLOCKS * spilled, .busy = busy };
}

/* Blocks of a multiprocessor, by shared memory and by the registers that the config allots. */
static int resident_of(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    int64_t by_smem = gpu->smem / (smem_of(problem, v) + gpu->smem_reserved);
    int by_threads = gpu->threads / threads_of(v);
    int resident = by_smem < by_threads ? (int)by_smem : by_threads;
    int registers = registers_of(problem, v) + 16;
    if (cap_of(v) && registers > cap_of(v))
        registers = cap_of(v);
    int by_registers = gpu->registers / (threads_of(v) * (registers > 255 ? 255 : registers));
    resident = resident < by_registers ? resident : by_registers;
    return resident < 1 ? 1 : resident;
}

/* Clocks of @blocks blocks of @steps steps each on one multiprocessor, @resident at a time. */
static double clocks_of_blocks(const int *v, step_cost step, double steps, double blocks,
                               int resident)
{
    double warps = resident * v[W] * v[K] / (double)SCHEDULERS;
    double each = step.own > warps * step.busy ? step.own : warps * step.busy;
    double block = steps * each + BLOCK_CLOCKS + MERGE_CLOCKS * (v[K] - 1);
    return blocks / resident * block;
}

/* Bytes that @running blocks keep in flight: all stages but the one that is worked on. */
static double in_flight(const heed_problem *problem, const int *v, double running)
{
    double stage = 2.0 * v[N] * (pad(problem->dim_qk) + pad(problem->dim_v));
    return running * v[K] * (v[S] - 1) * stage;
}

/* Time to load what @blocks blocks read, @slots at a time: those of the last round, which may be
 * few, keep less in flight. */
static double loading_seconds(const heed_gpu *gpu, const heed_problem *problem, const int *v,
                              double blocks, double slots)
{
    double rest = fmod(blocks, slots), seconds = 0;
    if (blocks > rest)
        seconds += (blocks - rest) / blocks *
                   heed_gpu_memory_seconds(gpu, problem, in_flight(problem, v, slots));
    if (rest > 0)
        seconds += rest / blocks *
                   heed_gpu_memory_seconds(gpu, problem, in_flight(problem, v, rest));
    return seconds;
}

/* Both at the same time; but how the last blocks end is not beside any loading, which is why fewer
 * groups are better where memory binds: b16 h32/8 s1/8192 d128 takes 121 us of an H200 with two,
 * 123 with four, which compute in half the time. */
static double beside_loading(const heed_gpu *gpu, const int *v, double tiles, double computing,
                             double loading)
{
    double end = (BLOCK_CLOCKS + MERGE_CLOCKS * (v[K] - 1)) / (0.9 * gpu->clock);
    double longer = computing > loading + end ? computing : loading + end;
    return longer + (HIDDEN + FIRST_TILE / tiles) * (computing + loading + end - longer);
}

/* Time of the last block of @rows rows to merge what was split, and of all blocks, which come in
 * @rounds, to leave it. A warp takes one or four rows at a time, and as many of their parts as
 * combine.cuh has room for. All parts, in single precision, are written and read by then. */
static double merge_seconds(const heed_problem *problem, const heed_gpu *gpu, const int *v,
                            int64_t rows, double rounds)
{
    int warps = v[W] * v[K];
    int at_once = v[M] >= 8 * warps ? 4 : 1;
    int across = at_once * pad(problem->dim_v) / WARP;
    int batch = across <= 4 ? 16 : across <= 8 ? 8 : across <= 16 ? 4 : 2;
    int64_t turns = heed_div_up(rows < v[M] ? rows : v[M], (int64_t)warps * at_once);
    double parts = 4.0 * v[P] * (double)problem->dim_v * (double)problem->batch *
                   (double)problem->heads_q * (double)problem->seq_q;
    if (v[P] == 1)
        return 0;
    double waiting = BATCH_SECONDS * (double)(turns * heed_div_up(v[P], batch));
    double moving = 2 * parts / (PARTS_RATE * gpu->bandwidth);
    return COMBINE_SECONDS + ROUND_SECONDS * (rounds - 1) + (waiting > moving ? waiting : moving);
}

/* Blocks of the last round on the busiest multiprocessor. Where each has room for three, and they
 * would be two each, some get three and others one on an H200: 256 blocks of b2 h8 s512 d64 take
 * 11.0 us with room for three, and 8.3 to 8.5 with room for two or four. */
static int last_of(const heed_gpu *gpu, double rest, int resident)
{
    int last = (int)heed_div_up((int64_t)rest, gpu->multiprocessors);
    return gpu->arch == 90 && resident == 3 && last == 2 ? 3 : last;
}

static double cost(const heed_kernel *kernel, const heed_problem *problem,
                   const heed_machine *machine, const heed_config *config)
{
    const heed_gpu *gpu = machine->gpu;
    const int *v = config->value;
    (void)kernel;
    double heads = (double)problem->batch * (double)problem->heads_kv;
    int64_t all_rows = problem->seq_q * (problem->heads_q / problem->heads_kv);
    double rows = (double)all_rows;
    double blocks = (double)heed_div_up(all_rows, v[M]) * heads * v[P];
    double tiles = (double)heed_div_up(heed_div_up(problem->seq_k, v[N]), v[P]);
    double seen = heed_problem_flops(problem) / (2.0 * heads * rows * (double)problem->seq_k *
                                                 (double)(problem->dim_qk + problem->dim_v));

    /* Tiles that a mask cuts through are computed as a whole, and take longer. */
    double cut_through = seen < 1 ? (double)heed_div_up(v[M], v[N]) : 0;
    double masked = MASK_STEPS * (double)heed_div_up((int64_t)cut_through, v[K]);
    double longest = tiles / v[K] + masked;
    double steps = (tiles * seen + cut_through / 2) / v[K] + masked;
    if (v[K] > 1)
        steps += 0.5; /* groups do not share tiles out evenly */

    /* Full rounds, then a last one with what is left, which fewer blocks of a multiprocessor share.
     */
    step_cost step = cost_of_step(problem, gpu, v);
    int resident = resident_of(problem, gpu, v);
    double slots = (double)gpu->multiprocessors * resident;
    double rounds = (double)(int64_t)(blocks / slots);
    double rest = blocks - rounds * slots;
    int last = last_of(gpu, rest, resident);
    double clocks = clocks_of_blocks(v, step, steps, rounds * resident, resident);
    if (last > 0)
        clocks += clocks_of_blocks(v, step, rounds > 0 && seen < 1 ? steps / 2 : longest, last,
                                   last);
    clocks *= seen < 1 ? MASKED : 1;
    double seconds = beside_loading(gpu, v, (double)problem->seq_k / v[N],
                                    clocks / (0.9 * gpu->clock),
                                    loading_seconds(gpu, problem, v, blocks, slots));
    double launch = LAUNCH_SECONDS - (gpu->arch >= 90 ? OVERLAP_SECONDS : 0);
    return seconds + launch + merge_seconds(problem, gpu, v, all_rows, ceil(blocks / slots));
}

/* ---- Code ---- */

static heed_status facts(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config,
                         heed_cuda_facts *result)
{
    const int *v = config->value;
    const heed_define defines[] = {
        { "HEED_BF16", problem->type == HEED_BF16 },
        { "HEED_CAUSAL", problem->mask != HEED_MASK_NONE },
        { "HEED_DIM_QK", problem->dim_qk },
        { "HEED_DIM_V", problem->dim_v },
        { "HEED_UNALIGNED", !cut(problem, config).aligned },
        { "HEED_ACC16", v[A] == 2 },
        { "HEED_M", v[M] },
        { "HEED_N", v[N] },
        { "HEED_W", v[W] },
        { "HEED_K", v[K] },
        { "HEED_S", v[S] },
        { "HEED_Q", v[Q] },
        { "HEED_O", v[O] },
        { "HEED_B", cap_of(v) ? 1 : v[B] },
        { "HEED_CAPPED", 1 },
    };
    size_t count = sizeof defines / sizeof *defines;
    (void)kernel;
    (void)machine;
    result->source = "attn_mma.cu";
    result->entry = "heed_attend";
    result->threads = threads_of(v);
    result->smem = smem_of(problem, v);
    result->registers = cap_of(v);
    heed_cuda_facts_define(result, defines, cap_of(v) ? count : count - 1);
    return HEED_OK;
}

const heed_algorithm heed_algorithm_cuda_mma = {
    .knobs = { { 'm', { 16, 32, 64, 96, 128, 192, 256 } },
               { 'n', { 16, 32, 48, 64, 80, 96, 128 } },
               { 'w', { 1, 2, 3, 4, 6, 8, 12, 16 } },
               { 'k', { 1, 2, 3, 4, 6, 8 } },
               { 's', { 2, 3, 4, 5, 6 } },
               { 'q', { 1, 2 } },
               { 'o', { 1, 2 } },
               { 'b', { 1, 2, 3, 4, 64, 72, 80, 88, 96, 112, 128 } },
               { 'p', { 1, 2, 4, 8, 16, 32, 64, 128 } },
               { 'l', { 1, 2 } },
               { 'a', { 1, 2 } } },
    .config_at = config_at,
    .config_count = TABLE * SPLITS,
    .legal = legal,
    .cost = cost,
    .workspace = heed_cuda_workspace,
    .prepare = heed_cuda_prepare,
    .release = heed_cuda_release_plan,
    .execute = heed_cuda_execute,
    .facts = facts,
};
