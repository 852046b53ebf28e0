/*
 * attn_wgmma.c - host half of attn_wgmma.cu: configs, their resources and limits
 */
#include "attn_wgmma.h"

#include <string.h>

#include "../backend.h"
#include "../maps.h"
#include "../score/score.h"

#define ARCH 90 /* sm_90a code only runs on this architecture */
#define DIM_MAX 256
#define DIM_UNIT 8
#define GROUP_THREADS 128
#define CONSUMERS_MAX 4
#define PANEL 64      /* columns of a panel of a tile, */
#define PANEL_ROW 128 /* bytes */
#define BARRIERS_BYTES 512
#define BAD_BYTES 16   /* for the first bad key */
#define BYTES_KEYS 64  /* of a row of a mask, sixteen a lane, which four lanes pack to bits */
#define FEW_ROWS 16    /* up to so many, blocks of attn_mma.cu are as fast */
#define LEFT_EXTRA 40  /* bytes that a team stores per row besides its sums */
#define CAP 4          /* instructions of a softcap */
#define CAPPED_FEW 512 /* keys with a softcap alone */
#define SIMPLE 16      /* registers for steps, up to which few others are needed for each key */

/* The work per score between the products and the exponential. */
typedef enum logits {
    PLAIN = 1,        /* two instructions at most */
    CAPPED = 2,       /* a softcap alone, */
    OTHER_STEPS = 32, /* or more of them */
    STEPS = CAPPED | OTHER_STEPS,
    SPECIAL = 4,       /* the special function units */
    MASK_ALONE = 8,    /* bits of a mask tensor, or bytes that are packed to bits, */
    MASKED_STEPS = 16, /* also with changes of logits */
    UNMASKED = PLAIN | STEPS | SPECIAL,
    ANY = UNMASKED | MASK_ALONE | MASKED_STEPS,
    UNCAPPED = ANY & ~CAPPED
} logits;

/* A config that planning considers, and the larger head dim and the logits that it is for. */
typedef struct shipped {
    int dim_min, dim_max;
    int value[SPLITS];
    logits logits;
} shipped;

/* Row groups are for many rows, key groups for few, and one warpgroup for 64; order 1 is for few
 * tiles, orders 2 and 3 for many; own tiles are for row groups under a mask. */
/* clang-format off */
static const shipped whole[] = {
    { 1, 64, { 4, 1, 64, 6, 3, 2, 1, 2 }, ANY },
    { 1, 64, { 4, 1, 64, 6, 3, 2, 2, 2 }, ANY },
    { 1, 64, { 4, 1, 64, 8, 3, 1, 2, 2 }, ANY },
    { 1, 64, { 4, 1, 64, 8, 1, 1, 2, 2 }, ANY },
    { 1, 64, { 2, 1, 128, 6, 1, 2, 1, 2 }, ANY },
    { 1, 64, { 3, 1, 96, 6, 3, 2, 2, 2 }, STEPS },
    { 1, 64, { 2, 1, 128, 6, 3, 3, 2, 2 }, STEPS | SPECIAL | MASK_ALONE },
    { 1, 64, { 2, 1, 128, 6, 3, 3, 1, 2 }, STEPS | SPECIAL | MASK_ALONE },
    { 1, 64, { 2, 1, 64, 3, 1, 1, 2, 2 }, ANY },
    { 1, 64, { 2, 1, 64, 3, 1, 1, 1, 3 }, UNMASKED },
    { 1, 64, { 2, 2, 64, 8, 3, 1, 1, 1 }, ANY },
    { 1, 64, { 1, 4, 64, 8, 1, 1, 1, 1 }, ANY },
    { 1, 64, { 1, 2, 64, 8, 1, 1, 1, 1 }, ANY },
    { 1, 64, { 1, 2, 64, 4, 1, 1, 1, 3 }, UNMASKED },
    { 1, 64, { 1, 2, 64, 4, 1, 1, 1, 4 }, UNMASKED },
    { 1, 64, { 1, 1, 64, 8, 1, 1, 1, 2 }, ANY },
    { 65, 96, { 3, 1, 96, 2, 3, 2, 1, 2 }, UNMASKED },
    { 97, 128, { 3, 1, 96, 2, 1, 2, 2, 2 }, UNMASKED },
    { 65, 128, { 2, 1, 128, 2, 2, 2, 1, 2 }, UNCAPPED },
    { 65, 128, { 2, 1, 128, 2, 2, 2, 2, 2 }, UNCAPPED },
    { 65, 128, { 2, 1, 128, 2, 2, 3, 1, 2 }, CAPPED },
    { 65, 128, { 2, 1, 128, 2, 1, 2, 1, 2 }, PLAIN | OTHER_STEPS | SPECIAL | MASKED_STEPS },
    { 65, 128, { 2, 1, 128, 2, 3, 3, 2, 2 }, STEPS | SPECIAL | MASK_ALONE },
    { 65, 128, { 2, 1, 128, 2, 3, 3, 1, 2 }, STEPS | SPECIAL | MASK_ALONE },
    { 65, 128, { 3, 1, 64, 4, 3, 2, 2, 2 }, STEPS | SPECIAL },
    { 65, 128, { 3, 1, 64, 4, 3, 2, 1, 2 }, STEPS | SPECIAL },
    { 97, 128, { 2, 1, 64, 4, 2, 3, 1, 2 }, CAPPED },
    { 97, 128, { 2, 1, 64, 4, 2, 2, 1, 2 }, PLAIN },
    { 65, 128, { 2, 1, 64, 5, 1, 2, 2, 2 }, ANY },
    { 65, 128, { 1, 3, 64, 6, 2, 1, 1, 1 }, ANY },
    { 65, 128, { 1, 2, 64, 6, 1, 1, 1, 1 }, ANY },
    { 65, 128, { 1, 1, 64, 6, 1, 1, 1, 2 }, ANY },
    { 129, 192, { 2, 1, 96, 2, 2, 2, 1, 2 }, PLAIN },
    { 129, 192, { 2, 1, 96, 2, 2, 2, 1, 1 }, PLAIN | CAPPED },
    { 129, 192, { 2, 1, 64, 3, 2, 2, 2, 2 }, ANY },
    { 129, 192, { 2, 1, 64, 3, 3, 2, 1, 1 }, STEPS | SPECIAL | MASK_ALONE | MASKED_STEPS },
    { 129, 192, { 1, 2, 64, 4, 1, 1, 1, 1 }, ANY },
    { 193, 256, { 2, 1, 64, 2, 2, 2, 1, 1 }, ANY },
    { 193, 256, { 2, 1, 64, 2, 3, 2, 1, 1 }, ANY },
    { 193, 256, { 1, 2, 64, 2, 1, 1, 1, 1 }, ANY },
};

/* Those with splits: for few rows, whose blocks share the keys. */
static const shipped split[] = {
    { 1, 64, { 2, 1, 128, 6, 1, 2, 1, 1 }, ANY },
    { 1, 64, { 1, 4, 64, 8, 1, 1, 1, 1 }, ANY },
    { 1, 64, { 1, 2, 64, 8, 1, 1, 1, 1 }, ANY },
    { 65, 128, { 2, 1, 128, 2, 2, 2, 1, 1 }, ANY },
    { 65, 128, { 1, 2, 64, 6, 1, 1, 1, 1 }, ANY },
    { 129, 192, { 2, 1, 96, 2, 2, 2, 1, 1 }, ANY },
    { 129, 192, { 1, 2, 64, 4, 1, 1, 1, 1 }, ANY },
    { 193, 256, { 2, 1, 64, 2, 3, 2, 1, 1 }, ANY },
    { 193, 256, { 1, 2, 64, 2, 1, 1, 1, 1 }, ANY },
};

/* Those with tiles of a bias. */
static const shipped tiled[] = {
    { 1, 64, { 2, 1, 128, 3, 3, 3, 1, 2 }, ANY },
    { 65, 128, { 2, 1, 64, 3, 1, 2, 1, 2 }, ANY },
};
/* clang-format on */
#define WHOLE ((int)(sizeof whole / sizeof *whole))
#define SPLIT ((int)(sizeof split / sizeof *split))
#define TILED ((int)(sizeof tiled / sizeof *tiled))

/* The values of the knob SPLITS, without 1. */
#define SPLIT_VALUES 10
static const int splits[SPLIT_VALUES] = { 2, 3, 4, 5, 6, 8, 11, 16, 32, 64 };

static void config_at(int index, heed_config *config)
{
    const int part = index - WHOLE, of_tiled = part - SPLIT * SPLIT_VALUES;
    const shipped *row = part < 0        ? &whole[index]
                         : of_tiled >= 0 ? &tiled[of_tiled]
                                         : &split[part / SPLIT_VALUES];
    for (int i = 0; i < SPLITS; i++)
        config->value[i] = row->value[i];
    config->value[SPLITS] = part < 0 || of_tiled >= 0 ? 1 : splits[part % SPLIT_VALUES];
    config->value[BIAS_TILES] = of_tiled >= 0 ? 2 : 1;
}

/* The fallback for unaligned addresses is the small config of attn_mma.cu, or that one's
 * fallback. */
static heed_cuda_cut cut(const heed_problem *problem, const heed_gpu *gpu,
                         const heed_config *config)
{
    const int64_t rows = (int64_t)HEED_WGMMA_ROWS * config->value[ROW_GROUPS];
    heed_config any;
    heed_config_at(&heed_algorithm_cuda_mma, 0, &any);
    const heed_cuda_cut other = heed_cuda_mma_code.cut(problem, gpu, &any);
    return (heed_cuda_cut){
        .launch = { .rows = rows,
                    .splits = config->value[SPLITS],
                    .apart = true,
                    .aligned = true,
                    .mapped = config->value[TILE_KEYS],
                    .bias_tiles = config->value[BIAS_TILES] == 2,
                    .list_keys = heed_cuda_list_keys(problem, gpu, rows, config->value[TILE_KEYS]),
                    .persistent = config->value[SCHEDULE] == 2,
                    .cluster = heed_wgmma_pair(config->value) > 1,
                    .resident = heed_wgmma_resident(config->value) },
        .fallback = other.fallback,
        .fallback_kernel = other.fallback_kernel ? other.fallback_kernel
                                                 : heed_kernel_of(&heed_cuda_mma_code)
    };
}

const heed_cuda_code heed_cuda_wgmma_code = { .cut = cut };

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- The resources of a config, as in wgmma/sizes.cuh ---- */

static int consumers_of(const int *v)
{
    return v[ROW_GROUPS] * v[KEY_GROUPS];
}

static int threads_of(const int *v)
{
    return GROUP_THREADS * (consumers_of(v) + 1);
}

static int64_t panels(int64_t dim)
{
    return heed_div_up(dim, PANEL);
}

int heed_wgmma_value_columns(const heed_problem *problem)
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
    int64_t bias = v[BIAS_TILES] == 2 ? (int64_t)HEED_WGMMA_ROWS * v[ROW_GROUPS] * v[TILE_KEYS] * 2
                                      : 0;
    int64_t stages = v[STAGES] * (v[TILE_KEYS] * (qk + dv) * PANEL_ROW + bias);
    int64_t sharers = (int64_t)v[KEY_GROUPS] * heed_wgmma_pair(v),
            rows = HEED_WGMMA_ROWS * v[ROW_GROUPS] / heed_wgmma_pair(v);
    int64_t left = sharers > 1
                       ? sharers * rows * (4 * heed_wgmma_value_columns(problem) + LEFT_EXTRA)
                       : 0;
    int64_t q = (int64_t)(v[SCHEDULE] == 2 ? 2 : 1) * v[ROW_GROUPS] * HEED_WGMMA_ROWS *
                larger(qk, dv) * PANEL_ROW;
    int64_t bad = heed_cuda_masked(problem) ? BAD_BYTES : 0;
    if (heed_wgmma_pair(v) > 1)
        return heed_div_up(stages, 1024) * 1024 + q + bad + BARRIERS_BYTES + left + bad;
    return heed_div_up(larger(stages, left), 1024) * 1024 + q + bad + BARRIERS_BYTES;
}

/* Registers available to a computing thread. */
static int registers_there(const heed_problem *problem, const int *v)
{
    static const int shared_by[] = { 255, 255, 240, 160, 112 };
    if (heed_wgmma_resident(v) > 1)
        return 104;
    int registers = shared_by[consumers_of(v)];
    bool fewer = heed_cuda_masked(problem) || problem->page > 0;
    return consumers_of(v) == 2 && fewer ? registers - 8 : registers;
}

/* Registers that steps need where other work overlaps with the scores. A mask alone, in 128 keys of
 * d128, spills 20 to 64 bytes nonetheless, but that costs less than another order: one H200 takes
 * 209 us for b1 h16 s4096 d128 shown=bytes:hq instead of 250. */
static int registers_of_overlap(const heed_cuda_needs *needs, int loading)
{
    if (!needs->loads && !needs->computes)
        return 0;
    return needs->hides && !needs->modifies && !needs->computes && loading == 0 ? 24 : 40;
}

/* Registers that steps need beside the scores. With the widest values orders 2 and 3 spill for many
 * steps, but are still the fastest: one H200 takes 200 us for b4 h8 s2048 d256 causal softcap=20
 * alibi shown=bits:hq by order 3, with 152 bytes spilled, 170 by order 2, and 556 by attn_mma. */
static int registers_of_steps(const heed_problem *problem, const int *v)
{
    if (v[STEP_ORDER] != 1 && heed_wgmma_value_columns(problem) == DIM_MAX)
        return 0;
    const heed_cuda_needs needs = heed_cuda_needs_of(problem);
    bool packs = needs.packs && v[TILE_KEYS] % BYTES_KEYS == 0;
    int loading = packs ? 0 : needs.loading;
    bool simple = loading == 0 && needs.registers <= SIMPLE; /* a mask and a softcap, say */
    return needs.registers + loading +
           (v[STEP_ORDER] == 2 ? registers_of_overlap(&needs, loading) : 0) +
           (needs.loads && needs.computes ? v[TILE_KEYS] / (simple ? 5 : 2) : 0) +
           (needs.ahead && !packs && needs.pairs && v[BIAS_TILES] == 1 ? v[TILE_KEYS] / 4 : 0);
}

/* Estimated registers that it needs: sums, scores, weights and values kept next to these, and
 * others. */
static int registers_of(const heed_problem *problem, const int *v)
{
    static const int quarters[] = { 0, 2, 3, 3 }; /* of a register per key, by the order */
    int rest = v[STEP_ORDER] == 2 ? 40 : 28;      /* order 2 computes scores while other products
                                                     run */
    return heed_wgmma_value_columns(problem) / 2 + quarters[v[STEP_ORDER]] * v[TILE_KEYS] / 4 +
           rest + registers_of_steps(problem, v);
}

/* ---- Legal configs ---- */

/* The next row of a config's table with its values, after @row or from the beginning if that is
 * NULL; NULL if there is none. */
static const shipped *next_row(const int *v, const shipped *row)
{
    const shipped *table = v[BIAS_TILES] == 2 ? tiled : v[SPLITS] > 1 ? split : whole;
    const shipped *end = table + (table == tiled ? TILED : table == split ? SPLIT : WHOLE);
    for (row = row ? row + 1 : table; row < end; row++)
        if (memcmp(v, row->value, sizeof row->value) == 0)
            return row;
    return NULL;
}

/* A config of the tables is only for its head dims there; any other config may be tried. */
static bool for_other_dims(const heed_problem *problem, const int *v)
{
    int64_t dim = larger(problem->dim_qk, problem->dim_v);
    const shipped *row = next_row(v, NULL);
    bool listed = row != NULL;
    for (; row; row = next_row(v, row))
        if (dim >= row->dim_min && dim <= row->dim_max)
            return false;
    return listed;
}

/* The kind of the problem's logits. */
static logits logits_of(const heed_problem *problem)
{
    const heed_cuda_needs needs = heed_cuda_needs_of(problem);
    bool packed = needs.loads && (needs.packs || needs.loading == 0);
    return packed                   ? needs.modifies ? MASKED_STEPS : MASK_ALONE
           : needs.exponentials > 0 ? SPECIAL
           : needs.caps && !needs.hides && needs.instructions <= CAP ? CAPPED
           : needs.instructions > 2                                  ? OTHER_STEPS
                                                                     : PLAIN;
}

/* As for_other_dims(), for logits. */
static bool for_other_logits(const heed_problem *problem, const int *v)
{
    const shipped *row = next_row(v, NULL);
    return row && !(row->logits & logits_of(problem));
}

static const char *unfit_problem(const heed_problem *problem)
{
    const char *why;
    if (problem->dim_qk % DIM_UNIT || problem->dim_v % DIM_UNIT)
        return "a head dim is not a multiple of 8";
    if (problem->dim_qk > DIM_MAX || problem->dim_v > DIM_MAX)
        return "a head dim is above 256";
    if (problem->page % DIM_UNIT)
        return "page is not a multiple of 8";
    return heed_cuda_can_map(problem, &why) ? NULL : why;
}

/* Configs for which the compiler spills some registers, however many are allocated; see
 * tests/src/cuda/test_configs.c. */
static bool spills(const heed_problem *problem, const int *v)
{
    bool masked = heed_cuda_masked(problem), widest = heed_wgmma_value_columns(problem) == DIM_MAX;
    const heed_cuda_needs needs = heed_cuda_needs_of(problem);
    bool held = needs.loading > 0 && !needs.packs; /* elements of the next tile */
    if (v[STEP_ORDER] == 2 && widest && (held || v[TILE_KEYS] > 64))
        return true;
    if (v[STEP_ORDER] == 2 && problem->dim_qk > 128 && v[TILE_KEYS] > 96)
        return true;
    if (consumers_of(v) == 4 && v[SCHEDULE] == 2 && needs.caps && logits_of(problem) != CAPPED)
        return true;
    if (heed_wgmma_resident(v) > 1 && needs.packs)
        return true;
    return v[TILE_KEYS] > 64 && widest && masked;
}

/* Returns why the kernel has no code for this config and problem; NULL: it has. */
static const char *unfit_config(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    if (consumers_of(v) > CONSUMERS_MAX)
        return "more than 4 warpgroups that compute";
    if (v[STAGES] % v[KEY_GROUPS] != 0 || v[STAGES] < (v[STEP_ORDER] == 2 ? 2 : 1) * v[KEY_GROUPS])
        return "stages must be a multiple of the key groups, with order 2 twice that or more";
    if (problem->page > 0 && v[TILE_KEYS] % problem->page != 0 && problem->page % v[TILE_KEYS] != 0)
        return "tiles are neither whole pages nor part of one";
    if (v[TURNS] != 1 && v[ROW_GROUPS] == 1)
        return "turns are for several row groups";
    if (v[OWN_TILES] == 2 && (v[KEY_GROUPS] > 1 || !heed_cuda_masked(problem)))
        return "row groups of their own tiles are without key groups, under a mask";
    if (v[SCHEDULE] == 2 && v[KEY_GROUPS] > 1)
        return "key groups are for blocks of one item";
    if (v[SCHEDULE] >= 3 && consumers_of(v) != 2)
        return "two blocks fit where each has two warpgroups that compute";
    if (v[SCHEDULE] == 4 && v[ROW_GROUPS] > 1)
        return "two blocks share an item of one row group";
    if (v[SPLITS] > 1 && (v[OWN_TILES] != 1 || v[SCHEDULE] != 1))
        return "splits are for blocks of one item, whose row groups have the same tiles";
    if (v[SPLITS] > 1 && heed_cuda_list_keys(problem, gpu, (int64_t)HEED_WGMMA_ROWS * v[ROW_GROUPS],
                                             v[TILE_KEYS]) > 0)
        return "splits are for tiles that are not listed";
    if (v[BIAS_TILES] == 2 && v[TILE_KEYS] % PANEL != 0)
        return "tiles of a bias have a multiple of 64 keys";
    if (v[BIAS_TILES] == 2 &&
        !(heed_cuda_needs_of(problem).stages && heed_cuda_bias_mapped(problem).fits))
        return "tiles need a bias of 16 bits with queries, keys and, if query heads share keys, "
               "heads, whose strides are multiples of 8, and no bytes that are read before it";
    return NULL;
}

/* Returns why splits are not worthwhile; NULL: they are. attn_mma has blocks of 16 rows, and
 * spreads the keys of unequal sequences (spread.cuh). */
static const char *idle_splits(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    int64_t rows = problem->seq_q * heed_problem_group(problem);
    if (rows <= FEW_ROWS)
        return "not worthwhile: blocks of 16 rows are enough";
    if (rows <= HEED_WGMMA_ROWS && heed_problem_varies_k(problem) && !problem->invariant)
        return "not worthwhile: does not spread the keys of unequal sequences";
    return heed_cuda_idle_splits(problem, gpu, heed_wgmma_items(problem, v), v[SPLITS],
                                 (int64_t)v[TILE_KEYS] * v[KEY_GROUPS]);
}

/* Narrow tiles by order 2 take 3 to 10 % less time for rows of up to 1024 keys, and up to 5 % more
 * for 2048 or more. Of packed sequences only the mean length is known, and most of the work is in
 * those that are longer. */
static bool loses_in_long_rows(const heed_problem *problem, const int *v)
{
    bool narrow = v[STEP_ORDER] == 2 && v[ROW_GROUPS] == 2 && v[TILE_KEYS] == 64 &&
                  larger(problem->dim_qk, problem->dim_v) <= 128;
    return narrow && problem->tokens_q > 0 && !heed_problem_hides_first(problem);
}

/* With a softcap alone, order 2 takes long for a first tile of 128 keys, and three row groups are
 * faster than order 2 only for few keys, or under a window. */
static bool loses_with_cap(const heed_problem *problem, const int *v)
{
    bool few = problem->seq_k <= CAPPED_FEW, three = v[ROW_GROUPS] == 3 && v[TILE_KEYS] == 64;
    bool loses = three ? !few && !heed_problem_hides_first(problem)
                       : few && v[STEP_ORDER] == 2 && v[TILE_KEYS] == 128;
    return loses && larger(problem->dim_qk, problem->dim_v) > 64 && logits_of(problem) == CAPPED;
}

static bool worthwhile(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config, const char **why)
{
    const int *v = config->value;
    (void)kernel;
    *why = NULL;
    if (for_other_dims(problem, v))
        *why = "not worthwhile: is for other head dims";
    else if (for_other_logits(problem, v))
        *why = "not worthwhile: is for logits that take more or fewer instructions";
    else if (registers_of(problem, v) > registers_there(problem, v))
        *why = "not worthwhile: needs more registers than its warpgroups leave";
    else if (spills(problem, v))
        *why = "not worthwhile: spills registers";
    else if (v[OWN_TILES] == 2 && heed_problem_hides_first(problem))
        *why = "not worthwhile: row groups would wait for each other's first tiles";
    else if (loses_in_long_rows(problem, v))
        *why = "not worthwhile: packed sequences may be much longer than their mean";
    else if (loses_with_cap(problem, v))
        *why = "not worthwhile: is for more or fewer keys with a softcap";
    else if (v[SPLITS] > 1)
        *why = idle_splits(problem, machine->gpu, v);
    return !*why;
}

static bool legal(const heed_kernel *kernel, const heed_problem *problem,
                  const heed_machine *machine, const heed_config *config, const char **why)
{
    const int *v = config->value;
    (void)kernel;
    *why = machine->gpu->arch != ARCH ? "is only for compute capability 9.0" : NULL;
    if (!*why)
        *why = unfit_problem(problem);
    if (!*why)
        *why = unfit_config(problem, machine->gpu, v);
    if (!*why && smem_of(problem, v) > machine->gpu->smem_block)
        *why = "needs more shared memory than a block can have";
    if (!*why && heed_wgmma_resident(v) * (smem_of(problem, v) + machine->gpu->smem_reserved) >
                     machine->gpu->smem)
        *why = "needs more shared memory than two blocks can have";
    heed_problem seen = heed_cuda_mapped_problem(problem);
    return !*why && heed_cuda_fits(&seen, HEED_WGMMA_ROWS * (int64_t)v[ROW_GROUPS],
                                   (int64_t)heed_wgmma_pair(v) * v[SPLITS], why);
}

/* ---- Code ---- */

static heed_status facts(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config,
                         heed_cuda_facts *result)
{
    const int *v = config->value;
    const heed_cuda_bias_map bias = heed_cuda_bias_mapped(problem);
    heed_define defines[12] = {
        { "HEED_BF16", problem->type == HEED_BF16 }, { "HEED_NEGATE", problem->scale < 0 },
        { "HEED_ROW_GROUPS", v[ROW_GROUPS] },        { "HEED_KEY_GROUPS", v[KEY_GROUPS] },
        { "HEED_TILE_KEYS", v[TILE_KEYS] },          { "HEED_STAGES", v[STAGES] },
        { "HEED_STEP_ORDER", v[STEP_ORDER] },        { "HEED_TURNS", v[TURNS] },
        { "HEED_OWN_TILES", v[OWN_TILES] },          { "HEED_SCHEDULE", v[SCHEDULE] },
    };
    size_t count = 10;
    if (v[SPLITS] > 1)
        defines[count++] = (heed_define){ "HEED_SPLIT", 1 };
    if (v[BIAS_TILES] == 2)
        defines[count++] = (heed_define){ "HEED_BIAS_TILES",
                                          1 | bias.heads << 1 | bias.batch << 2 };
    (void)kernel;
    (void)machine;
    result->source = "attn_wgmma.cu";
    result->launch.threads = threads_of(v);
    result->launch.smem = smem_of(problem, v);
    return heed_cuda_facts_define(result, problem, defines, count);
}

const heed_algorithm heed_algorithm_cuda_wgmma = {
    .knobs = { { 'r', "ROW_GROUPS", { 1, 2, 3, 4 } },
               { 'k', "KEY_GROUPS", { 1, 2, 3, 4 } },
               { 'n', "TILE_KEYS", { 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256 } },
               { 's', "STAGES", { 2, 3, 4, 5, 6, 7, 8 } },
               { 'o', "STEP_ORDER", { 1, 2, 3 } },
               { 't', "TURNS", { 1, 2, 3 } },
               { 'c', "OWN_TILES", { 1, 2 } },
               { 'g', "SCHEDULE", { 1, 2, 3, 4 } },
               { 'p', "SPLITS", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 16, 24, 32, 64 } },
               { 'b', "BIAS_TILES", { 1, 2 } } },
    .quiet = 1u << SPLITS | 1u << BIAS_TILES,
    .config_at = config_at,
    .config_count = WHOLE + SPLIT * SPLIT_VALUES + TILED,
    .modifies = true,
    .legal = legal,
    .worthwhile = worthwhile,
    .cost = heed_wgmma_cost,
    .plans = &heed_cuda_plans,
    .facts = facts,
};
