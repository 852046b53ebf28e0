/*
 * attn_mma.c - host half of attn_mma.cu: configs, their resources and limits
 */
#include "attn_mma.h"

#include <string.h>

#include "../backend.h"
#include "../score/score.h"

#define SLICE_MAX 256        /* columns of a warp, */
#define SINGLE_SLICE_MAX 128 /* and in float32 */
#define SINGLE_DIM_MIN 16    /* of Q and K in float32: sums of fewer products are too inaccurate */
#define NARROW_MAX 256
#define THREADS_MAX 1024
#define BARRIERS 15 /* named barriers of a block, one per group */

/* A config that planning considers, and the range of the larger padded head dim that it is for; and
 * that for float32, if any. */
typedef struct shipped {
    int dim_min, dim_max;
    int single_min, single_max;
    int value[KNOBS];
} shipped;

/* Wide blocks are for many rows, groups for few; those with 16 rows are for decoding. For head dims
 * up to 256 there are some that need 48 KiB of shared memory or less. Above that, warps that share
 * rows have slices of V, unless V is narrow. */
static const shipped table[] = {
    { 32, 64, 0, 0, { 128, 64, 4, 1, 2, 2, 1, 2, 1, 1, 1, 1 } },
    { 32, 64, 0, 0, { 64, 64, 4, 1, 2, 2, 1, 3, 1, 1, 1, 1 } },
    { 32, 64, 0, 0, { 64, 64, 4, 2, 2, 2, 1, 1, 1, 1, 1, 1 } },
    { 32, 64, 0, 0, { 64, 64, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1 } },
    { 32, 64, 0, 0, { 32, 64, 2, 2, 3, 2, 1, 2, 1, 1, 1, 1 } },
    { 32, 64, 0, 0, { 32, 64, 2, 4, 2, 2, 1, 1, 1, 1, 1, 1 } },
    { 32, 64, 0, 0, { 32, 32, 2, 4, 3, 2, 1, 1, 1, 1, 1, 1 } },
    { 32, 64, 0, 0, { 32, 32, 2, 4, 2, 2, 1, 2, 1, 1, 1, 1 } },
    { 32, 64, 0, 0, { 16, 64, 1, 4, 2, 2, 1, 1, 1, 1, 1, 1 } },
    { 32, 64, 0, 0, { 16, 32, 1, 4, 2, 2, 1, 2, 1, 1, 1, 1 } },
    { 32, 128, 0, 0, { 128, 64, 4, 1, 2, 1, 1, 2, 1, 1, 1, 1 } },
    { 96, 128, 0, 0, { 128, 48, 4, 1, 2, 1, 1, 2, 1, 1, 1, 1 } },
    { 96, 128, 0, 0, { 128, 32, 4, 1, 2, 1, 1, 2, 1, 1, 1, 1 } },
    { 96, 128, 32, 64, { 64, 64, 4, 1, 2, 1, 1, 2, 1, 1, 1, 1 } },
    { 96, 128, 32, 64, { 64, 64, 4, 2, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 96, 128, 32, 64, { 32, 32, 2, 4, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 96, 128, 32, 64, { 16, 32, 1, 4, 3, 1, 1, 1, 1, 1, 1, 1 } },
    { 96, 128, 32, 64, { 16, 32, 1, 4, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 96, 128, 32, 128, { 64, 32, 4, 1, 2, 1, 1, 2, 1, 1, 1, 1 } },
    { 96, 128, 0, 0, { 16, 16, 1, 2, 3, 1, 1, 1, 1, 1, 1, 1 } },
    { 96, 128, 0, 0, { 16, 16, 1, 4, 3, 1, 1, 1, 1, 1, 1, 1 } },
    { 96, 128, 0, 0, { 16, 16, 1, 4, 2, 1, 1, 3, 1, 1, 1, 1 } },
    { 96, 1024, 32, 64, { 16, 16, 1, 4, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, 0, 0, { 128, 64, 8, 1, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, 32, 128, { 128, 32, 8, 1, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, 0, 0, { 64, 64, 4, 1, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 160, 1024, 0, 0, { 64, 32, 4, 1, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, 32, 64, { 32, 32, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 160, 256, 0, 0, { 16, 16, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 160, 1024, 0, 0, { 16, 16, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1 } },
    { 32, 64, 0, 0, { 64, 64, 4, 1, 2, 2, 1, 3, 1, 1, 2, 1 } },
    { 32, 64, 0, 0, { 16, 64, 1, 4, 2, 2, 1, 1, 1, 1, 2, 1 } },
    { 96, 128, 0, 0, { 64, 64, 4, 1, 2, 1, 1, 2, 1, 1, 2, 1 } },
    { 96, 128, 0, 0, { 64, 32, 4, 1, 2, 1, 1, 2, 1, 1, 2, 1 } },
    { 160, 256, 0, 0, { 64, 16, 4, 1, 2, 1, 1, 1, 1, 1, 2, 1 } },
    { 288, 1024, 0, 0, { 64, 64, 8, 1, 2, 1, 1, 1, 1, 1, 1, 4 } },
    { 288, 1024, 0, 0, { 64, 32, 8, 1, 4, 1, 1, 1, 1, 1, 1, 4 } },
    { 288, 1024, 0, 0, { 64, 32, 8, 1, 2, 1, 1, 1, 1, 1, 1, 4 } },
    { 160, 1024, 32, 128, { 64, 32, 8, 1, 2, 1, 1, 1, 1, 1, 1, 2 } },
    { 288, 1024, 0, 0, { 32, 32, 4, 1, 2, 1, 1, 1, 1, 1, 1, 4 } },
    { 288, 1024, 0, 0, { 32, 32, 8, 1, 2, 1, 1, 1, 1, 1, 1, 8 } },
    { 288, 1024, 0, 0, { 32, 16, 8, 1, 2, 1, 1, 1, 1, 1, 1, 8 } },
    { 288, 1024, 96, 128, { 32, 16, 4, 1, 2, 1, 1, 1, 1, 1, 1, 4 } },
    { 288, 1024, 96, 256, { 16, 32, 4, 1, 2, 1, 1, 1, 1, 1, 1, 4 } },
    { 288, 1024, 96, 1024, { 16, 16, 4, 1, 2, 1, 1, 1, 1, 1, 1, 4 } },
    { 288, 1024, 288, 1024, { 16, 16, 8, 1, 2, 1, 1, 1, 1, 1, 1, 8 } },
    { 0, 0, 96, 128, { 64, 16, 4, 1, 2, 1, 1, 2, 1, 1, 1, 1 } },
    { 160, 256, 160, 256, { 64, 16, 8, 1, 2, 1, 1, 1, 1, 1, 1, 2 } },
    { 0, 0, 96, 256, { 32, 16, 4, 1, 2, 1, 1, 1, 1, 1, 1, 2 } },
    { 0, 0, 96, 128, { 16, 32, 2, 1, 2, 1, 1, 1, 1, 1, 1, 2 } },
};
#define TABLE ((int)(sizeof table / sizeof *table))

static const int split_values[] = { 1, 2, 4, 8, 16, 32, 64 };
#define SPLIT_VALUES ((int)(sizeof split_values / sizeof *split_values))

/* Every config of the table with every number of splits. */
static void config_at(int index, heed_config *config)
{
    for (int i = 0; i < KNOBS; i++)
        config->value[i] = table[index / SPLIT_VALUES].value[i];
    config->value[SPLITS] = split_values[index % SPLIT_VALUES];
}

/* The fallback config for unaligned addresses, small enough for every device and head dims up to
 * 256; above that, the simple kernel is used. */
static const heed_config fallback = { { 64, 16, 4, 1, 2, 1, 1, 1, 1, 1, 1, 1 } };

static bool is_single(const heed_problem *problem)
{
    return problem->type == HEED_F32;
}

/* Maximum number of columns that a warp accumulates. */
static int slice_max(const heed_problem *problem)
{
    return is_single(problem) ? SINGLE_SLICE_MAX : SLICE_MAX;
}

static bool is_narrow(const heed_problem *problem)
{
    int most = is_single(problem) ? SINGLE_SLICE_MAX : NARROW_MAX;
    return problem->dim_qk <= most && problem->dim_v <= most;
}

/* Each warp looks at all batch elements, and counts their tiles. */
#define SPREAD_BATCH_MAX 1024

bool heed_mma_spreads(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    return v[SPLITS] > 1 && heed_problem_varies_k(problem) && !problem->invariant &&
           problem->batch <= SPREAD_BATCH_MAX &&
           problem->seq_k <= INT_MAX / SPREAD_BATCH_MAX * v[TILE_KEYS] &&
           problem->seq_q * heed_problem_group(problem) <= v[BLOCK_ROWS] &&
           heed_cuda_list_keys(problem, gpu, v[BLOCK_ROWS], v[TILE_KEYS]) == 0;
}

int64_t heed_mma_spread_blocks(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    if (!heed_mma_spreads(problem, gpu, v))
        return 0;
    int64_t wanted = problem->batch * v[SPLITS] * problem->heads_kv;
    int64_t at_once = (int64_t)heed_mma_resident(problem, gpu, v) * gpu->multiprocessors;
    int64_t rounds = (wanted + at_once / 2) / at_once,
            blocks = rounds * at_once / problem->heads_kv;
    return blocks > 0 ? blocks : problem->batch * v[SPLITS];
}

static heed_cuda_cut cut(const heed_problem *problem, const heed_gpu *gpu,
                         const heed_config *config)
{
    const bool narrow = is_narrow(problem);
    const bool takes_over = narrow && memcmp(config, &fallback, sizeof fallback) == 0;
    return (heed_cuda_cut){
        .launch = { .rows = config->value[BLOCK_ROWS],
                    .list_keys = heed_cuda_list_keys(problem, gpu, config->value[BLOCK_ROWS],
                                                     config->value[TILE_KEYS]),
                    .splits = config->value[SPLITS],
                    .spread = heed_mma_spread_blocks(problem, gpu, config->value),
                    .aligned = !takes_over,
                    .window = config->value[L2_WINDOW] == 2 },
        .fallback = narrow ? fallback : (heed_config){ { 0 } },
        .fallback_kernel = narrow ? NULL : heed_kernel_of(&heed_cuda_naive_code)
    };
}

const heed_cuda_code heed_cuda_mma_code = { .cut = cut };

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int pad(int64_t dim, int unit)
{
    return (int)heed_div_up(dim, unit) * unit;
}

/* The larger head dim, as in the table. */
static int widest(const heed_problem *problem)
{
    return larger(pad(problem->dim_qk, 32), pad(problem->dim_v, 32));
}

heed_mma_dims heed_mma_dims_of(const heed_problem *problem, const int *v)
{
    const bool shares = heed_mma_shares(problem, v), wide = v[VALUE_WARPS] > 1 || shares;
    const bool single = is_single(problem);
    const int page = 64 / (single ? 2 : 1), half_page = page / 2; /* of tiles, in elements */
    heed_mma_dims dims = {
        .qk = pad(problem->dim_qk, wide ? page : half_page),
        .v = pad(problem->dim_v, wide     ? page * v[VALUE_WARPS]
                                 : single ? page
                                          : half_page),
        .bytes = (int)heed_type_size(problem->type),
    };
    if (shares)
        dims.qk = larger(dims.qk, dims.v);
    dims.slice = dims.v / v[VALUE_WARPS];
    dims.staged = dims.qk + (shares ? 0 : dims.v);
    return dims;
}

int64_t heed_mma_smem(const heed_problem *problem, const int *v)
{
    const heed_mma_dims dims = heed_mma_dims_of(problem, v);
    const bool wide = v[VALUE_WARPS] > 1, single = is_single(problem);
    const bool cleans = !wide && !single && !heed_mma_shares(problem, v);
    int64_t q = (int64_t)v[BLOCK_ROWS] * larger(dims.qk, dims.v) * dims.bytes;
    int64_t bad = heed_cuda_masked(problem) && cleans ? dims.v * 4 : 0;
    int64_t shared = wide ? (int64_t)v[VALUE_WARPS] * v[BLOCK_ROWS] * 4 : 0;
    int64_t weights = heed_mma_parts(v) > 1 ? (int64_t)v[BLOCK_ROWS] * v[TILE_KEYS] * dims.bytes
                                            : 0;
    int64_t stages = (int64_t)v[KEY_GROUPS] * v[STAGES] * v[TILE_KEYS] * dims.staged * dims.bytes;
    int64_t merge = (int64_t)(v[KEY_GROUPS] - 1) * v[BLOCK_ROWS] * (dims.v + 8) * 4;
    int64_t fold = single
                       ? (int64_t)v[KEY_GROUPS] * v[BLOCK_ROWS] * (dims.v + 8 * v[VALUE_WARPS]) * 4
                       : 0;
    return q + bad + shared + weights + fold + (stages > merge ? stages : merge);
}

/* Registers for float32, besides the sums of values: in the products with V the weights, each as
 * two parts, and the sums of two times 8 columns, each as two; or in those with Q the scores, and
 * the sums of their two parts. */
static int single_registers(int rows16, int keys, int tile_keys)
{
    int values = rows16 * (tile_keys + 16) + 12, scores = rows16 * (3 * keys / 2 + 12) + 12;
    return larger(values, scores);
}

int heed_mma_registers(const heed_problem *problem, const int *v)
{
    const heed_mma_dims dims = heed_mma_dims_of(problem, v);
    int rows16 = heed_mma_rows(v) / 16, parts = heed_mma_parts(v);
    int keys = v[TILE_KEYS] / parts;
    int sums = rows16 * dims.slice / 2;
    int scores = rows16 * keys / 2 * v[STEP_ORDER];
    int q = v[Q_PLACE] == 2 ? rows16 * dims.qk * dims.bytes / 8 : 8 * rows16;
    const heed_cuda_needs needs = heed_cuda_needs_of(problem);
    int per_key = needs.ahead ? 2 : needs.loads && needs.computes; /* in halves */
    int steps = rows16 * (needs.registers + needs.loading + per_key * keys / 2) +
                (needs.loads || needs.computes ? 12 : 0);
    int products = is_single(problem) ? single_registers(rows16, keys, v[TILE_KEYS])
                                      : scores + rows16 * keys / 8;
    return sums + q + products + 48 + steps;
}

/* A config of the table is only for its types and head dims there; any other config may be
 * tried. */
static bool for_other_dims(const heed_problem *problem, const int *v)
{
    int dim = widest(problem);
    bool listed = false;
    for (int i = 0; i < TABLE; i++) {
        const int *entry = table[i].value;
        if (memcmp(v, entry, SPLITS * sizeof *v) != 0 || v[HALF_SUMS] != entry[HALF_SUMS] ||
            v[VALUE_WARPS] != entry[VALUE_WARPS])
            continue;
        int least = is_single(problem) ? table[i].single_min : table[i].dim_min;
        int most = is_single(problem) ? table[i].single_max : table[i].dim_max;
        if (dim >= least && dim <= most)
            return false;
        listed = true;
    }
    return listed;
}

/* Returns why the kernel has no code for this config and problem on any device; NULL: it has. */
static const char *misfit(const heed_problem *problem, const int *v)
{
    int row_warps = v[GROUP_WARPS] / v[VALUE_WARPS];
    if (row_warps * v[VALUE_WARPS] != v[GROUP_WARPS])
        return "the warps of a group are not a multiple of those that share rows";
    int rows = v[BLOCK_ROWS] / row_warps;
    if (rows * row_warps != v[BLOCK_ROWS] || (rows != 16 && rows != 32))
        return "a warp takes 16 or 32 rows";
    if (heed_mma_dims_of(problem, v).slice > slice_max(problem))
        return is_single(problem) ? "a warp has sums for 128 columns of V at most, in float32"
                                  : "a warp has sums for 256 columns of V at most";
    if (is_single(problem) && problem->dim_qk < SINGLE_DIM_MIN)
        return "float32 needs a dim_qk of 16 or more";
    if (is_single(problem) && v[STEP_ORDER] != 1)
        return "float32 needs order 1";
    if (problem->dim_qk > NARROW_MAX && v[Q_PLACE] == 2)
        return "Q in registers needs a dim_qk up to 256";
    if (v[VALUE_WARPS] > 1 && (v[KEY_GROUPS] > 1 || v[STEP_ORDER] != 1 || v[HALF_SUMS] == 2))
        return "warps that share rows need one group, order 1 and float32 sums";
    if (heed_mma_threads(v) > THREADS_MAX || v[KEY_GROUPS] > BARRIERS)
        return "too many warps for a block";
    if (v[HALF_SUMS] == 2 && problem->accumulate != HEED_ACC_F16)
        return "sums in half precision need acc=f16";
    if (v[HALF_SUMS] == 2 && v[STEP_ORDER] != 1)
        return "sums in half precision need order 1";
    return NULL;
}

/* Configs for which the compiler spills a few registers because of its instruction order; see
 * tests/src/cuda/test_configs.c. */
static bool spills(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    int dim = widest(problem);
    if (is_single(problem))
        return v[TILE_KEYS] == 32 && v[VALUE_WARPS] == 1 && dim > 96 &&
               (gpu->arch < 90 || heed_cuda_needs_of(problem).any);
    if (v[VALUE_WARPS] == 8 && v[BLOCK_ROWS] == 32)
        return v[TILE_KEYS] == 16 && dim > 768 && heed_cuda_masked(problem) && gpu->arch >= 90;
    return v[BLOCK_ROWS] == 128 && v[TILE_KEYS] == 48 && dim > 96 && !heed_cuda_masked(problem) &&
           gpu->arch >= 90;
}

/* Registers available to a thread if @blocks blocks share a multiprocessor. */
static int registers_there(const heed_gpu *gpu, const int *v, int blocks)
{
    int share = gpu->registers / (heed_mma_threads(v) * blocks) / 8 * 8;
    return share < 255 ? share : 255;
}

/* True if there are enough blocks without splitting keys. */
static bool busy(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    int64_t rows = problem->seq_q * heed_problem_group(problem);
    int64_t blocks = heed_div_up(rows, v[BLOCK_ROWS]) * problem->batch * problem->heads_kv;
    return blocks >= gpu->multiprocessors;
}

/* True if splits could shorten a launch in which a pool of pages shows that most sequences are
 * shorter than the longest, whose block would take longer than all others on a multiprocessor. */
static bool lags(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    if (v[SPLITS] > 1 || problem->pages == 0 || problem->seq_k <= v[TILE_KEYS])
        return false;
    const heed_problem typical = heed_problem_typical(problem);
    double share = (double)problem->batch * (double)problem->heads_kv * (double)typical.seq_k /
                   gpu->multiprocessors;
    heed_config split;
    memcpy(split.value, v, sizeof split.value);
    split.value[SPLITS] = 2;
    return typical.seq_k < problem->seq_k && (double)problem->seq_k > share &&
           heed_mma_spreads(problem, gpu, split.value);
}

static bool legal(const heed_kernel *kernel, const heed_problem *problem,
                  const heed_machine *machine, const heed_config *config, const char **why)
{
    const heed_gpu *gpu = machine->gpu;
    const int *v = config->value;
    (void)kernel;
    *why = misfit(problem, v);
    if (!*why && heed_mma_smem(problem, v) > gpu->smem_block)
        *why = "needs more shared memory than a block can have";
    if (!*why && heed_mma_cap(v) > registers_there(gpu, v, 1))
        *why = "its cap on registers is more than its block can have";
    return !*why && heed_cuda_fits(problem, v[BLOCK_ROWS], v[SPLITS], why);
}

/* Without a cap, the compiler spills registers that the blocks leave no room for; a config that
 * sets a cap does so to study the spills. */
static bool worthwhile(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config, const char **why)
{
    const heed_gpu *gpu = machine->gpu;
    const int *v = config->value;
    (void)kernel;
    *why = NULL;
    if (v[SPLITS] > heed_div_up(problem->seq_k, v[TILE_KEYS]))
        *why = "not worthwhile: more splits than key tiles";
    else if (for_other_dims(problem, v))
        *why = "not worthwhile: is for other head dims or types";
    else if (!heed_mma_cap(v) &&
             heed_mma_registers(problem, v) > registers_there(gpu, v, v[BLOCKS_PER_SM]))
        *why = "not worthwhile: needs more registers than its blocks leave";
    else if (spills(problem, gpu, v))
        *why = "not worthwhile: spills registers there";
    else if (v[SPLITS] > 1 && busy(problem, gpu, v) && !heed_mma_spreads(problem, gpu, v))
        *why = "not worthwhile: enough blocks without splitting keys";
    else if (lags(problem, gpu, v))
        *why = "not worthwhile: the longest sequence would take longer than all others";
    return !*why;
}

/* ---- Code ---- */

static heed_status facts(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config,
                         heed_cuda_facts *result)
{
    const int *v = config->value;
    const heed_define defines[] = {
        { "HEED_BF16", problem->type == HEED_BF16 },
        { "HEED_UNALIGNED", !result->launch.aligned },
        { "HEED_ACC16", v[HALF_SUMS] == 2 },
        { "HEED_BLOCK_ROWS", v[BLOCK_ROWS] },
        { "HEED_TILE_KEYS", v[TILE_KEYS] },
        { "HEED_GROUP_WARPS", v[GROUP_WARPS] },
        { "HEED_KEY_GROUPS", v[KEY_GROUPS] },
        { "HEED_STAGES", v[STAGES] },
        { "HEED_Q_PLACE", v[Q_PLACE] },
        { "HEED_STEP_ORDER", v[STEP_ORDER] },
        { "HEED_BLOCKS_PER_SM", heed_mma_cap(v) ? 1 : v[BLOCKS_PER_SM] },
        { "HEED_VALUE_WARPS", v[VALUE_WARPS] },
        { "HEED_SHARED_V", heed_mma_shares(problem, v) },
        { "HEED_PRODUCTS", heed_mma_products(problem) },
        { "HEED_CAPPED", 1 },
    };
    size_t count = sizeof defines / sizeof *defines;
    (void)kernel;
    (void)machine;
    result->source = "attn_mma.cu";
    result->launch.threads = heed_mma_threads(v);
    result->launch.smem = heed_mma_smem(problem, v);
    result->launch.registers = heed_mma_cap(v);
    return heed_cuda_facts_define(result, problem, defines, heed_mma_cap(v) ? count : count - 1);
}

const heed_algorithm heed_algorithm_cuda_mma = {
    .knobs = { { 'm', "BLOCK_ROWS", { 16, 32, 64, 96, 128, 192, 256 } },
               { 'n', "TILE_KEYS", { 16, 32, 48, 64, 80, 96, 128 } },
               { 'w', "GROUP_WARPS", { 1, 2, 3, 4, 6, 8, 12, 16 } },
               { 'k', "KEY_GROUPS", { 1, 2, 3, 4, 6, 8 } },
               { 's', "STAGES", { 2, 3, 4, 5, 6 } },
               { 'q', "Q_PLACE", { 1, 2 } },
               { 'o', "STEP_ORDER", { 1, 2 } },
               { 'b', "BLOCKS_PER_SM", { 1, 2, 3, 4, 64, 72, 80, 88, 96, 112, 128 } },
               { 'p', "SPLITS", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 32, 64, 128 } },
               { 'l', "L2_WINDOW", { 1, 2 } },
               { 'a', "HALF_SUMS", { 1, 2 } },
               { 'v', "VALUE_WARPS", { 1, 2, 4, 8 } } },
    .quiet = 1u << VALUE_WARPS,
    .config_at = config_at,
    .config_count = TABLE * SPLIT_VALUES,
    .modifies = true,
    .legal = legal,
    .worthwhile = worthwhile,
    .cost = heed_mma_cost,
    .plans = &heed_cuda_plans,
    .facts = facts,
};
