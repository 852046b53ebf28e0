/*
 * attn_wgmma.c - attn_wgmma.cu as the planner sees it: its knobs, what a config needs, what it may
 * cost
 */
#include <string.h>

#include "backend.h"
#include "maps.h"

#define ARCH 90 /* no later device runs what is compiled for sm_90a */
#define DIM_MAX 256
#define DIM_UNIT 8
#define GROUP_ROWS 64 /* of a warpgroup, */
#define GROUP_THREADS 128
#define CONSUMERS_MAX 4
#define PANEL 64      /* columns of a tile that lie together, */
#define PANEL_ROW 128 /* bytes */
#define BARRIERS_BYTES 512
#define BAD_EXTRA 16  /* beside the first bad key of each column of V */
#define LEFT_EXTRA 40 /* bytes that a team leaves of a row beside its sums */

/* The knobs, in the order in which a config has them. attn_wgmma.cu says what they are. */
enum {
    R, /* row groups: warpgroups with rows of their own */
    K, /* key groups: warpgroups that take turns at the tiles of the same rows */
    N, /* keys of a tile */
    S, /* stages */
    O, /* 1: the maxima of each tile first; 2: the scores of the next tile along with the values of
          this one; 3: as 1, but new maxima only where old ones will not do */
    T, /* turns: 1 none, 2 of row groups at starting products, 3 at exponentials */
    C, /* 2: row groups pass by the tiles that their rows do not see */
    G, /* 2: as many blocks as multiprocessors, which take items in turn; 3: two blocks fit on one;
          4: and two share an item */
    KNOBS
};

/* A config that planning looks at, and the larger of the two head dims that it is for. */
typedef struct shipped {
    int dim_min, dim_max;
    int value[KNOBS];
} shipped;

/* Row groups are for many rows, key groups for few of them; blocks that take items in turn are for
 * equal ones, so more for those without a mask. */
/* clang-format off */
static const shipped table[] = {
    { 1, 64, { 4, 1, 64, 6, 3, 2, 1, 2 } },
    { 1, 64, { 4, 1, 64, 6, 3, 2, 2, 2 } },
    { 1, 64, { 4, 1, 64, 8, 3, 1, 2, 2 } },
    { 1, 64, { 4, 1, 64, 8, 1, 1, 2, 2 } },
    { 1, 64, { 3, 1, 128, 4, 3, 2, 1, 2 } },
    { 1, 64, { 2, 1, 128, 6, 1, 2, 1, 2 } },
    { 1, 64, { 2, 1, 64, 3, 1, 1, 2, 2 } },
    { 1, 64, { 2, 1, 64, 3, 1, 1, 1, 3 } },
    { 1, 64, { 2, 2, 64, 8, 3, 1, 1, 1 } },
    { 1, 64, { 1, 4, 64, 8, 1, 1, 1, 1 } },
    { 1, 64, { 1, 2, 64, 4, 1, 1, 1, 1 } },
    { 1, 64, { 1, 2, 64, 4, 1, 1, 1, 3 } },
    { 1, 64, { 1, 2, 64, 4, 1, 1, 1, 4 } },
    { 1, 64, { 1, 1, 64, 8, 1, 1, 1, 2 } },
    { 65, 96, { 3, 1, 96, 2, 3, 2, 1, 2 } },
    { 97, 128, { 3, 1, 96, 2, 1, 2, 2, 2 } },
    { 65, 128, { 2, 1, 128, 2, 2, 2, 1, 2 } },
    { 65, 128, { 2, 1, 128, 2, 2, 2, 2, 2 } },
    { 65, 128, { 2, 1, 128, 2, 1, 2, 1, 2 } },
    { 65, 128, { 2, 1, 64, 5, 1, 2, 2, 2 } },
    { 65, 128, { 1, 3, 64, 6, 2, 1, 1, 1 } },
    { 65, 128, { 1, 2, 64, 6, 1, 1, 1, 1 } },
    { 65, 128, { 1, 1, 64, 6, 1, 1, 1, 2 } },
    { 129, 192, { 2, 1, 96, 2, 2, 2, 1, 2 } },
    { 129, 192, { 2, 1, 96, 2, 2, 2, 1, 1 } },
    { 129, 192, { 2, 1, 64, 3, 2, 2, 2, 2 } },
    { 129, 192, { 1, 2, 64, 4, 1, 1, 1, 1 } },
    { 193, 256, { 2, 1, 64, 2, 3, 2, 1, 1 } },
    { 193, 256, { 1, 2, 64, 2, 1, 1, 1, 1 } },
};
/* clang-format on */
#define TABLE ((int)(sizeof table / sizeof *table))

static void config_at(int index, heed_config *config)
{
    for (int i = 0; i < KNOBS; i++)
        config->value[i] = table[index].value[i];
}

/* Blocks that a multiprocessor has room for. */
static int resident(const int *v)
{
    return v[G] >= 3 ? 2 : 1;
}

/* Those that share an item. */
static int pair(const int *v)
{
    return v[G] == 4 ? 2 : 1;
}

/* Where addresses are not aligned the small config of attn_mma.cu takes over. */
static heed_cuda_cut cut(const heed_problem *problem, const heed_config *config)
{
    const char *none;
    const heed_kernel *mma = heed_kernel_find("fwd_16bit_sm80_mma", &none);
    heed_config any;
    heed_config_at(&heed_algorithm_cuda_mma, 0, &any);
    return (heed_cuda_cut){ .rows = (int64_t)GROUP_ROWS * config->value[R],
                            .splits = 1,
                            .aligned = true,
                            .mapped = config->value[N],
                            .in_turn = config->value[G] == 2,
                            .paired = pair(config->value) > 1,
                            .resident = resident(config->value),
                            .fallback = heed_cuda_mma_code.cut(problem, &any).fallback,
                            .fallback_kernel = mma };
}

const heed_cuda_code heed_cuda_wgmma_code = { .cut = cut };

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- What a config takes: as wgmma_sizes.cuh says ---- */

static int consumers_of(const int *v)
{
    return v[R] * v[K];
}

static int threads_of(const int *v)
{
    return GROUP_THREADS * (consumers_of(v) + 1);
}

static int64_t panels(int64_t dim)
{
    return heed_div_up(dim, PANEL);
}

/* Columns of V that are computed. */
static int value_columns(const heed_problem *problem)
{
    static const int columns[] = { 64, 96, 128, 192, 256 };
    int i = 0;
    while (columns[i] < problem->dim_v && columns[i] < DIM_MAX)
        i++;
    return columns[i];
}

static int64_t smem_of(const heed_problem *problem, const int *v)
{
    int64_t qk = panels(problem->dim_qk), dv = panels(problem->dim_v);
    int64_t stages = (int64_t)v[S] * v[N] * (qk + dv) * PANEL_ROW;
    int64_t teams = (int64_t)v[K] * pair(v), rows = GROUP_ROWS * v[R] / pair(v);
    int64_t left = teams > 1 ? teams * rows * (4 * value_columns(problem) + LEFT_EXTRA) : 0;
    int64_t q = (int64_t)(v[G] == 2 ? 2 : 1) * v[R] * GROUP_ROWS * larger(qk, dv) * PANEL_ROW;
    int64_t bad = problem->mask != HEED_MASK_NONE ? dv * PANEL * 4 + BAD_EXTRA : 0;
    if (pair(v) > 1)
        return heed_div_up(stages, 1024) * 1024 + q + bad + BARRIERS_BYTES + left + bad;
    return heed_div_up(larger(stages, left), 1024) * 1024 + q + bad + BARRIERS_BYTES;
}

/* Registers that a thread that computes can have. */
static int registers_there(const heed_problem *problem, const int *v)
{
    static const int shared_by[] = { 255, 255, 240, 160, 112 };
    if (resident(v) > 1)
        return 104;
    int registers = shared_by[consumers_of(v)];
    return consumers_of(v) == 2 && problem->mask != HEED_MASK_NONE ? registers - 8 : registers;
}

/* And those that it needs, about: sums, scores, weights and what is beside these, and the rest. */
static int registers_of(const heed_problem *problem, const int *v)
{
    static const int quarters[] = { 0, 2, 3, 3 }; /* of a register per key, by the order */
    int rest = v[O] == 2 ? 40 : 28;               /* order 2 makes scores again beside products */
    return value_columns(problem) / 2 + quarters[v[O]] * v[N] / 4 + rest;
}

/* ---- What is legal ---- */

/* A config of the table is for the head dims that it stands there with; any other one may be tried.
 */
static bool for_other_dims(const heed_problem *problem, const int *v)
{
    int64_t dim = larger(problem->dim_qk, problem->dim_v);
    bool listed = false;
    for (int i = 0; i < TABLE; i++) {
        if (memcmp(v, table[i].value, sizeof table[i].value) != 0)
            continue;
        if (dim >= table[i].dim_min && dim <= table[i].dim_max)
            return false;
        listed = true;
    }
    return listed;
}

static const char *unfit_problem(const heed_problem *problem)
{
    const char *why;
    if (problem->dim_qk % DIM_UNIT || problem->dim_v % DIM_UNIT)
        return "a head dim is no multiple of 8";
    if (problem->dim_qk > DIM_MAX || problem->dim_v > DIM_MAX)
        return "a head dim is above 256";
    return heed_cuda_can_map(problem, &why) ? NULL : why;
}

/* The compiler spills some registers of these, whatever they are allotted; see
 * tests/test_configs.c. */
static bool spills(const heed_problem *problem, const int *v)
{
    bool masked = problem->mask != HEED_MASK_NONE, widest = value_columns(problem) == DIM_MAX;
    if (v[O] == 2 && (widest || (problem->dim_qk > 128 && v[N] > 96)))
        return true;
    return v[N] > 64 && widest && masked;
}

static const char *unfit_config(const heed_problem *problem, const int *v)
{
    if (consumers_of(v) > CONSUMERS_MAX)
        return "more than 4 warpgroups that compute";
    if (v[S] % v[K] != 0 || v[S] < (v[O] == 2 ? 2 : 1) * v[K])
        return "stages must be a multiple of the key groups, with order 2 twice that or more";
    if (v[T] != 1 && v[R] == 1)
        return "turns are for several row groups";
    if (v[C] == 2 && (v[K] > 1 || problem->mask == HEED_MASK_NONE))
        return "row groups of their own tiles are without key groups, under a mask";
    if (v[G] == 2 && v[K] > 1)
        return "key groups are for blocks of one item";
    if (v[G] >= 3 && consumers_of(v) != 2)
        return "two blocks fit where each has two warpgroups that compute";
    if (v[G] == 4 && v[R] > 1)
        return "two blocks share an item of one row group";
    if (for_other_dims(problem, v))
        return "is for other head dims";
    if (registers_of(problem, v) > registers_there(problem, v))
        return "needs more registers than its warpgroups leave it";
    if (spills(problem, v))
        return "spills registers";
    return NULL;
}

static bool legal(const heed_kernel *kernel, const heed_problem *problem,
                  const heed_machine *machine, const heed_config *config, const char **why)
{
    const int *v = config->value;
    (void)kernel;
    *why = machine->gpu->arch != ARCH ? "is for compute capability 9.0 alone" : NULL;
    if (!*why)
        *why = unfit_problem(problem);
    if (!*why)
        *why = unfit_config(problem, v);
    if (!*why && smem_of(problem, v) > machine->gpu->smem_block)
        *why = "needs more shared memory than a block can have";
    if (!*why &&
        resident(v) * (smem_of(problem, v) + machine->gpu->smem_reserved) > machine->gpu->smem)
        *why = "needs more shared memory than two blocks can have";
    heed_problem seen = heed_cuda_mapped_problem(problem);
    return !*why && heed_cuda_fits(&seen, GROUP_ROWS * (int64_t)v[R], pair(v), why);
}

/* ---- Cost ----
 *
 * A multiprocessor has one block, whose warpgroups share tensor cores and special function units.
 * Constants are fitted to 6900 times of 400 problems on an H200: they are off by 10 % (root of the
 * mean square), and what has the least cost of the table takes 0.8 % longer than its fastest. */

#define CLOCK_SHARE 0.9     /* of the highest clock, under load */
#define EXPS_PER_CLOCK 16.0 /* of the special function units of a multiprocessor */
#define L2_BYTES 39.5       /* per clock and multiprocessor */
#define MEMORY_LONGER 1.1   /* than attn_mma's small blocks, where memory binds */
#define ALL_BYTES 720e3     /* in flight from memory: of all blocks together, */
#define BLOCK_BYTES 36e3    /* and of each besides */
#define MEETING 1.7         /* where blocks that load keys of their own meet on a multiprocessor */
#define LAUNCH_SECONDS 0.35e-6
#define BLOCK_SECONDS 2.65e-6 /* to begin and end a block, */
#define ITEM_SECONDS 0.49e-6  /* and to go on to its next item */
#define TURN_SECONDS 0.62e-6  /* of an item until row groups that take turns are a turn apart */
#define MERGE_SECONDS 0.13e-6 /* per key group but the first */
#define PAIR_SECONDS 0.76e-6  /* for two blocks to share an item */
#define AHEAD_SECONDS 1.45e-6 /* saved where a block begins while the launch ahead still works */

/* By the order: seconds that a warpgroup waits in a tile; how much longer than alone its products
 * and softmax take; tiles that a mask adds to one that it cuts through; seconds of an item before
 * and behind its tiles; and what the shorter of products and softmax still adds to the longer,
 * where row groups take no turns and where they do. */
static const struct {
    double wait, stretch, mask, item, hindrance[2];
} orders[] = { { 0, 0, 0, 0, { 0, 0 } },
               { 0.20e-6, 1.45, 0.86, 0, { 0.78, 0.71 } },
               { 0.09e-6, 1.65, 0.77, 0.32e-6, { 0.89, 0.64 } },
               { 0, 1.94, 0.98, 0, { 0.74, 0.62 } } };

/* Seconds of a warpgroup's tile: its products, and its softmax, each if it had the multiprocessor
 * to itself. */
typedef struct tile_cost {
    double products, softmax;
} tile_cost;

static tile_cost cost_of_tile(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    double columns = (double)heed_div_up(problem->dim_qk, 16) * 16 + value_columns(problem);
    double scores = (double)GROUP_ROWS * v[N];
    return (tile_cost){ .products = 2 * scores * columns * gpu->multiprocessors / gpu->matrix,
                        .softmax = scores / (EXPS_PER_CLOCK * CLOCK_SHARE * gpu->clock) };
}

/* Seconds of a tile of keys with all row groups of a block, and of @beside blocks on the same
 * multiprocessor. */
static double block_tile_seconds(const heed_problem *problem, const heed_gpu *gpu, const int *v,
                                 int beside)
{
    tile_cost tile = cost_of_tile(problem, gpu, v);
    bool products_longer = tile.products > tile.softmax;
    double longer = products_longer ? tile.products : tile.softmax;
    double shorter = products_longer ? tile.softmax : tile.products;
    double busy = beside * v[R] * (longer + orders[v[O]].hindrance[v[T] > 1] * shorter);
    double alone = orders[v[O]].wait + orders[v[O]].stretch * (longer + shorter);
    double bytes = 2.0 * v[N] * (double)(problem->dim_qk + problem->dim_v);
    double loads = bytes / (L2_BYTES * CLOCK_SHARE * gpu->clock);
    double seconds = busy > alone / v[K] ? busy : alone / v[K];
    return seconds > loads ? seconds : loads;
}

/* Tiles of an item: of one in the middle, and of the longest. */
typedef struct item_tiles {
    double middle, longest;
    bool equal; /* all items have as many */
} item_tiles;

static item_tiles tiles_of_item(const heed_problem *problem, const heed_problem *seen, const int *v)
{
    double tiles = (double)heed_div_up(problem->seq_k, v[N]);
    double pairs = heed_problem_flops(problem) /
                   (2.0 * (double)problem->batch * (double)problem->heads_q *
                    (double)(problem->dim_qk + problem->dim_v));
    double share = pairs / ((double)problem->seq_q * (double)problem->seq_k);
    int64_t rows = (int64_t)GROUP_ROWS * (v[C] == 2 ? 1 : v[R]); /* that are masked as one */
    int64_t queries = heed_div_up(rows, seen->heads_q / seen->heads_kv);
    double cut_through = share < 1 ? (double)heed_div_up(queries, v[N]) : 0;
    double teams = v[K] * pair(v), idle = 0.5 * (teams - 1); /* they do not share out evenly */
    double middle = tiles * share + cut_through * (0.5 + orders[v[O]].mask) + idle;
    return (item_tiles){ .middle = middle / pair(v),
                         .longest = (tiles + cut_through * orders[v[O]].mask + idle) / pair(v),
                         .equal = share >= 1 };
}

static double compute_seconds(const heed_problem *problem, const heed_gpu *gpu, const int *v,
                              double items)
{
    heed_problem seen = heed_cuda_mapped_problem(problem);
    item_tiles tiles = tiles_of_item(problem, &seen, v);
    items *= pair(v);
    int beside = items > gpu->multiprocessors ? resident(v) : 1;
    double tile = block_tile_seconds(problem, gpu, v, beside);
    double at_once = (double)beside * gpu->multiprocessors;
    double next = items > at_once ? ITEM_SECONDS : 0;
    double each = (v[G] == 2 ? next : BLOCK_SECONDS) + orders[v[O]].item +
                  (v[T] > 1 ? TURN_SECONDS : 0) + MERGE_SECONDS * (v[K] - 1) +
                  PAIR_SECONDS * (pair(v) - 1);
    double rounds = (double)(int64_t)(items / at_once);
    double rest = items - rounds * at_once;
    double seconds = rounds * (tiles.middle * tile + each);
    if (rest > 0) /* of unequal items the short ones come last, to those that have had long ones */
        seconds += (rounds > 0 && !tiles.equal ? tiles.middle * rest / at_once : tiles.longest) *
                       tile +
                   each;
    return seconds + (v[G] == 2 ? BLOCK_SECONDS : 0);
}

/* Bytes that @running blocks keep in flight: all stages but the one that is worked on, as far as
 * the memory serves so many blocks. b8 h32/8 s4/4096 d128 takes 63 us by any config. */
static double in_flight(const heed_problem *problem, const int *v, double running)
{
    double stage = 2.0 * v[N] * (double)(problem->dim_qk + problem->dim_v);
    double stages = running * (v[S] - 1) * stage, most = ALL_BYTES + running * BLOCK_BYTES;
    return stages < most ? stages : most;
}

/* Do two blocks of a launch come to the same multiprocessor though there are enough? Those that
 * begin early go where one ahead of them has ended first; blocks with the same keys end together,
 * others do not if they wait for stages: b4 h32 s1/2048 d64 takes 31 us so, 18 with one block for
 * each. */
static bool meet(const heed_problem *problem, const heed_gpu *gpu, const int *v, double items,
                 double heads)
{
    double blocks = items * pair(v);
    return resident(v) > 1 && items <= heads && problem->seq_k > (int64_t)v[S] * v[N] &&
           2 * blocks > gpu->multiprocessors && blocks <= gpu->multiprocessors;
}

static double cost(const heed_kernel *kernel, const heed_problem *problem,
                   const heed_machine *machine, const heed_config *config)
{
    const heed_gpu *gpu = machine->gpu;
    const int *v = config->value;
    (void)kernel;
    heed_problem seen = heed_cuda_mapped_problem(problem);
    int64_t rows = seen.seq_q * (seen.heads_q / seen.heads_kv);
    double heads = (double)seen.batch * (double)seen.heads_kv;
    double items = (double)heed_div_up(rows, (int64_t)GROUP_ROWS * v[R]) * heads;
    double running = items < gpu->multiprocessors ? items : gpu->multiprocessors;
    double compute = compute_seconds(problem, gpu, v, items) *
                     (meet(problem, gpu, v, items, heads) ? MEETING : 1);
    double memory = MEMORY_LONGER *
                    heed_gpu_memory_seconds(gpu, problem, in_flight(problem, v, running));
    bool ahead = 2 * pair(v) * items <= (double)resident(v) * gpu->multiprocessors;
    return LAUNCH_SECONDS - (ahead ? AHEAD_SECONDS : 0) + heed_gpu_beside(compute, memory);
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
        { "HEED_NEGATE", problem->scale < 0 },
        { "HEED_DIM_QK", problem->dim_qk },
        { "HEED_DIM_V", problem->dim_v },
        { "HEED_R", v[R] },
        { "HEED_K", v[K] },
        { "HEED_N", v[N] },
        { "HEED_S", v[S] },
        { "HEED_O", v[O] },
        { "HEED_T", v[T] },
        { "HEED_C", v[C] },
        { "HEED_G", v[G] },
    };
    (void)kernel;
    (void)machine;
    result->source = "attn_wgmma.cu";
    result->entry = "heed_attend";
    result->threads = threads_of(v);
    result->smem = smem_of(problem, v);
    heed_cuda_facts_define(result, defines, sizeof defines / sizeof *defines);
    return HEED_OK;
}

const heed_algorithm heed_algorithm_cuda_wgmma = {
    .knobs = { { 'r', { 1, 2, 3, 4 } },
               { 'k', { 1, 2, 3, 4 } },
               { 'n', { 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256 } },
               { 's', { 2, 3, 4, 5, 6, 7, 8 } },
               { 'o', { 1, 2, 3 } },
               { 't', { 1, 2, 3 } },
               { 'c', { 1, 2 } },
               { 'g', { 1, 2, 3, 4 } } },
    .config_at = config_at,
    .config_count = TABLE,
    .legal = legal,
    .cost = cost,
    .workspace = heed_cuda_workspace,
    .prepare = heed_cuda_prepare,
    .release = heed_cuda_release_plan,
    .execute = heed_cuda_execute,
    .facts = facts,
};
