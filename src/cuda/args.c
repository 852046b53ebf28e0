/*
 * args.c - fill in the arguments of a CUDA kernel from a problem
 */
#include <limits.h>

#include "../problem/problem.h"
#include "backend.h"
#include "score/score.h"

heed_cuda_divisor heed_cuda_divide_by(unsigned value)
{
    heed_cuda_divisor by = { .value = value };
    if (value <= 1)
        return by;
    while ((uint64_t)2 << by.shift < value)
        by.shift++;
    by.multiplier = (unsigned)((((uint64_t)1 << (32 + by.shift)) + value - 1) / value);
    return by;
}

bool heed_cuda_fits(const heed_problem *problem, int64_t rows, int64_t splits, const char **why)
{
    int64_t heads, all_rows, grid;
    *why = "more rows, heads or blocks than 32 bits count";
    if (__builtin_mul_overflow(problem->batch, problem->heads_kv, &heads) ||
        __builtin_mul_overflow(problem->seq_q, heed_problem_group(problem), &all_rows) ||
        heads > INT_MAX || all_rows > INT_MAX - rows || problem->seq_k > INT_MAX)
        return false;
    if (__builtin_mul_overflow(heads, heed_div_up(all_rows, rows) + (problem->tokens_q > 0),
                               &grid) ||
        __builtin_mul_overflow(grid, splits, &grid) || grid > INT_MAX)
        return false;
    if (problem->tokens_q > INT_MAX / heed_problem_group(problem) || problem->tokens_k > INT_MAX)
        return false;
    return splits == 1 || heads <= INT_MAX / all_rows;
}

const char *heed_cuda_idle_splits(const heed_problem *problem, const heed_gpu *gpu, double items,
                                  int splits, int64_t keys)
{
    if (splits > heed_div_up(problem->seq_k, keys))
        return "not worthwhile: more splits than key tiles";
    if (splits > 1 && !heed_problem_varies_k(problem) && items >= gpu->multiprocessors)
        return "not worthwhile: enough blocks without splitting keys";
    return NULL;
}

heed_cuda_strides heed_cuda_strides_of(const heed_strides *strides)
{
    return (heed_cuda_strides){ strides->batch, strides->seq, strides->head };
}

/* Fills in the arguments for lists of tiles of @keys keys. */
static void fill_lists(heed_cuda_args *args, const heed_problem *problem, int64_t keys)
{
    const heed_cuda_needs needs = heed_cuda_needs_of(problem);
    args->changes.list_tiles = (unsigned)heed_div_up(problem->seq_k, keys);
    args->changes.list_heads = heed_cuda_divide_by(needs.per_head    ? 1
                                                   : needs.per_batch ? args->heads_kv.value
                                                                     : args->heads);
}

/* Fills in the arguments for packed sequences. With one block of @rows rows for each sequence no
 * search is needed. */
static void fill_packed(heed_cuda_args *args, const heed_problem *problem, int64_t rows)
{
    int64_t all = problem->tokens_q * heed_problem_group(problem);
    args->changes.tokens_q = (unsigned)problem->tokens_q;
    args->changes.places = args->blocks > 1 ? (unsigned)(all / rows + problem->batch) : 0;
}

/* The last block to end may be a long one that began late; finished blocks leave it more memory
 * bandwidth. */
double heed_cuda_unequal(const heed_problem *problem, const heed_gpu *gpu, double rounds)
{
    if (!heed_problem_varies_k(problem))
        return 1;
    return 1 + gpu->costs->order->unequal / (rounds > 1 ? rounds : 1);
}

unsigned heed_cuda_item_count(const heed_cuda_args *args)
{
    unsigned places = args->changes.places;
    return places > 0 ? places * args->heads_kv.value : args->blocks * args->heads;
}

void heed_cuda_fill_args(heed_cuda_args *args, const heed_problem *problem, const heed_gpu *gpu,
                         const heed_launch_facts *launch)
{
    heed_view view = heed_problem_view(problem);
    int64_t heads = problem->batch * problem->heads_kv;
    int64_t rows = problem->seq_q * heed_problem_group(problem);
    int64_t blocks = heed_div_up(rows, launch->rows);
    int64_t section = heed_cuda_section(problem, gpu, launch);
    int64_t rest = heads % section ? heads % section : section;
    *args = (heed_cuda_args){
        .q_stride = heed_cuda_strides_of(&problem->q),
        .k_stride = heed_cuda_strides_of(&problem->k),
        .v_stride = heed_cuda_strides_of(&problem->v),
        .o_stride = heed_cuda_strides_of(&problem->o),
        .visible = view.first + view.right + 1,
        .hidden = view.first - view.left,
        .first = view.first,
        .chunk = heed_cuda_divide_by((unsigned)view.chunk),
        .rows = (unsigned)rows,
        .seq_q = (unsigned)problem->seq_q,
        .seq_k = (unsigned)problem->seq_k,
        .heads = (unsigned)heads,
        .heads_kv = heed_cuda_divide_by((unsigned)problem->heads_kv),
        .group = heed_cuda_divide_by((unsigned)heed_problem_group(problem)),
        .splits = heed_cuda_divide_by(
            (unsigned)(launch->spread > 0 ? launch->spread : launch->splits)),
        .section = heed_cuda_divide_by((unsigned)section),
        .rest = heed_cuda_divide_by((unsigned)rest),
        .work = heed_cuda_divide_by((unsigned)(section * blocks)),
        .blocks = (unsigned)blocks,
        .negate = problem->scale < 0,
        .share = 1,
    };
    args->scale = heed_cuda_fill_changes(&args->changes, problem);
    if (problem->tokens_q > 0)
        fill_packed(args, problem, launch->rows);
    args->changes.page = heed_cuda_divide_by((unsigned)problem->page);
    args->changes.pages = (unsigned)problem->pages;
    if (launch->list_keys > 0)
        fill_lists(args, problem, launch->list_keys);
}

/* Maximum size of all lists in bytes: with more, tiles that might be hidden are computed. */
#define LISTS_MAX 0x1p28

/* True if the launch that makes lists would take longer than they can save. */
static bool is_brief(const heed_problem *problem, const heed_gpu *gpu)
{
    int products = heed_cuda_products(problem);
    double flops = heed_problem_flops_own(problem) * (problem->type == HEED_F32 ? 2 * products : 1);
    double computing = flops / gpu->matrix,
           loading = heed_problem_bytes_own(problem) / gpu->bandwidth;
    return (computing > loading ? computing : loading) < gpu->costs->order->listed;
}

int64_t heed_cuda_list_keys(const heed_problem *problem, const heed_gpu *gpu, int64_t rows,
                            int64_t keys)
{
    heed_problem room;
    const heed_cuda_needs needs = heed_cuda_needs_of(heed_problem_planned(problem, &room));
    if (!needs.lists)
        return 0;
    double batch = (double)problem->batch, heads = (double)problem->heads_q;
    double lists = needs.per_head ? batch * heads : needs.per_batch ? batch : 1;
    lists *= (double)heed_div_up(problem->seq_q * heed_problem_group(problem), rows);
    double bytes = lists * (double)(heed_div_up(problem->seq_k, keys) + 2) * sizeof(unsigned);
    if (problem->invariant && (needs.per_batch || needs.per_head))
        return 0; /* else it would depend on the batch, and lists change the order of the tiles */
    if (!problem->invariant && is_brief(problem, gpu))
        return 0;
    return bytes <= LISTS_MAX ? keys : 0;
}

unsigned heed_cuda_list_count(const heed_cuda_args *args)
{
    const heed_cuda_changes *changes = &args->changes;
    return changes->list_tiles > 0 ? args->heads / changes->list_heads.value * args->blocks : 0;
}

size_t heed_cuda_list_bytes(const heed_cuda_args *args)
{
    const heed_cuda_changes *changes = &args->changes;
    return sizeof *changes->lists * heed_cuda_list_count(args) * (2 + (size_t)changes->list_tiles);
}
