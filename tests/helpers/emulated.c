/*
 * emulated.c - a kernel on the emulator as a subject of verification
 */
#include "emulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "cuda/backend.h"
#include "cuda/gpu.h"
#include "cuda/maps.h"
#include "cuda/score/score.h"
#include "emulator/map.h"
#include "problem/problem.h"

void emulated_needs(lab_needs *needs)
{
    snprintf(needs->name, sizeof needs->name, "emulated");
    needs->workspace_size = 0;
    needs->deterministic = true;
    needs->seconds = -1;
}

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    emulated *it = data;
    if (!it->changes && heed_cuda_needs_of(problem).any)
        return heed_fail(HEED_ERR_UNSUPPORTED, "compiled without steps");
    it->problem = *problem;
    emulated_needs(needs);
    return HEED_OK;
}

static bool is_aligned(const void *data, const heed_strides *strides, heed_type type)
{
    const int64_t unit = 16 / (int64_t)heed_type_size(type); /* in elements */
    return (uintptr_t)data % 16 == 0 && strides->batch % unit == 0 && strides->seq % unit == 0 &&
           strides->head % unit == 0;
}

static const void *address_of(const heed_cuda_operand *operand, const heed_buffers *buffers)
{
    const void *address;
    memcpy(&address, (const char *)buffers + operand->buffer, sizeof address);
    return address;
}

static void place_operands(heed_cuda_changes *changes, const heed_problem *problem,
                           const heed_buffers *buffers)
{
    heed_cuda_operand operands[HEED_CUDA_OPERANDS_MAX];
    int sources;
    heed_cuda_operands(problem, &sources, operands);
    for (int i = 0; i < sources; i++)
        changes->sources[i].data = address_of(&operands[i], buffers);
    changes->sinks = buffers->sinks;
    changes->starts = buffers->starts;
    changes->lengths = buffers->lengths;
    changes->table = buffers->table;
    changes->cu_q = buffers->cu_seqlens_q;
    changes->cu_k = buffers->cu_seqlens_k;
}

/* Returns whether operands can be read as many elements at a time as in the kernel for aligned
 * ones. */
static bool has_pairs(const emulated_config *config, const heed_problem *problem,
                      const heed_buffers *buffers)
{
    heed_cuda_operand operands[HEED_CUDA_OPERANDS_MAX];
    heed_cuda_needs needs = heed_cuda_needs_of(problem);
    int sources;
    bool pairs = !(needs.modifies || needs.hides) ||
                 (needs.pairs > 0 && needs.pairs >= config->aligned->pairs);
    heed_cuda_operands(problem, &sources, operands);
    for (int i = 0; i < sources; i++)
        pairs = pairs &&
                (uintptr_t)address_of(&operands[i], buffers) % (size_t)operands[i].unit == 0;
    if (config->aligned->bias_tiles)
        pairs = pairs && needs.stages && heed_cuda_bias_mapped(problem).fits &&
                (uintptr_t)buffers->bias % 16 == 0;
    return pairs;
}

#define MULTIPROCESSORS 2

/* The host's facts for an imaginary device on which two heads are worked on at a time under a mask,
 * which makes several sections, the last one not full. */
static heed_cuda_args args_of(const emulated *it, const heed_buffers *buffers,
                              const emulated_kernel *kernel)
{
    const heed_gpu gpu = { .multiprocessors = 1,
                           .clock = 1,
                           .bandwidth = 4100.0 / kernel->rows,
                           .costs = heed_cost_rows };
    const heed_launch_facts launch = { .rows = kernel->rows,
                                       .splits = it->splits,
                                       .spread = it->spread && it->splits > 1
                                                     ? it->problem.batch * it->splits - 1
                                                     : 0,
                                       .list_keys = kernel->list ? kernel->list_keys : 0 };
    const heed_problem problem = kernel->mapped && !kernel->rows_apart
                                     ? heed_cuda_mapped_problem(&it->problem)
                                     : it->problem;
    heed_cuda_args args;
    heed_cuda_fill_args(&args, &problem, &gpu, &launch);
    args.share = (unsigned)(problem.heads_kv / it->problem.heads_kv);
    args.q = buffers->q;
    args.k = buffers->k;
    args.v = it->problem.shared ? buffers->k : buffers->v;
    args.o = buffers->o;
    args.lse = buffers->lse;
    place_operands(&args.changes, &it->problem, buffers);
    args.changes.ahead = it->ahead;
    return args;
}

/* The map of a tensor with @heads and @seq, with boxes of @box_heads times @box_rows. */
static void map_tensor(heed_cuda_map *map, const heed_tensor *t, const void *base, int columns,
                       int box_heads, int box_rows)
{
    const int64_t dims[4] = { t->dim, t->heads, t->seq, t->batch };
    const int64_t strides[3] = { t->heads > 1 ? t->strides.head * 2 : 16,
                                 t->seq > 1 ? t->strides.seq * 2 : 16,
                                 t->batch > 1 ? t->strides.batch * 2 : 16 };
    const int box[4] = { columns, box_heads, box_rows, 1 };
    emulator_map(map, base, dims, strides, box);
}

/* The same for the bias, which is one of the sources of @args. */
static void map_bias(heed_cuda_map *map, const emulated *it, const emulated_kernel *kernel,
                     const heed_cuda_args *args)
{
    const heed_problem *p = &it->problem;
    const heed_cuda_bias_map has = heed_cuda_bias_mapped(p);
    heed_cuda_operand operands[HEED_CUDA_OPERANDS_MAX];
    int sources, group = (int)args->group.value;
    heed_cuda_operands(p, &sources, operands);
    const heed_tensor t = { .batch = has.batch ? p->batch : 1,
                            .seq = p->seq_q,
                            .heads = has.heads ? p->heads_q : 1,
                            .dim = p->seq_k,
                            .strides = p->bias.strides };
    for (int i = 0; i < sources; i++)
        if (operands[i].buffer == offsetof(heed_buffers, bias))
            map_tensor(map, &t, args->changes.sources[i].data, kernel->columns, group, 64 / group);
}

static heed_cuda_mapped_args mapped_args_of(const emulated *it, const emulated_kernel *kernel,
                                            const heed_cuda_args *args)
{
    const heed_problem *p = &it->problem;
    heed_cuda_mapped_args mapped = { .args = *args };
    const void *const bases[] = { args->q, args->k, args->v, args->o };
    heed_cuda_map *const maps[] = { &mapped.q, &mapped.k, &mapped.v, &mapped.o };
    int group = kernel->rows_apart ? 1 : (int)args->group.value;
    for (int i = 0; i < HEED_TENSORS; i++) {
        heed_tensor t = heed_problem_tensor(p, i);
        bool keys = t.role->seq == HEED_PART_SEQ_K;
        map_tensor(maps[i], &t, bases[i], kernel->columns, keys ? 1 : group,
                   keys ? (p->page > 0 && p->page < kernel->mapped ? (int)p->page : kernel->mapped)
                        : 64 / group);
    }
    if (kernel->bias_tiles)
        map_bias(&mapped.bias, it, kernel, args);
    mapped.ahead = args->blocks == 1; /* sometimes */
    mapped.share = heed_cuda_divide_by(
        (unsigned)(heed_cuda_mapped_problem(p).heads_kv / p->heads_kv));
    return mapped;
}

static bool launch_kernel(emulated *it, const emulator_launch *launch)
{
    emulator_report report;
    bool fine = emulator_run(launch, &report);
    it->conflicts += report.conflicts;
    it->passes += report.passes;
    if (report.worst[0])
        memcpy(it->worst, report.worst, sizeof it->worst);
    if (fine && report.uninitialised == 0)
        return true;
    it->stopped = true;
    snprintf(it->worst, sizeof it->worst, "%s",
             fine ? report.uninitialised_at : emulator_complaint(&report));
    return false;
}

static bool launch_main(emulated *it, const emulated_kernel *kernel, const heed_cuda_args *args)
{
    heed_cuda_mapped_args mapped;
    uint32_t cluster = kernel->cluster ? kernel->cluster : 1;
    uint32_t items = it->spread && it->splits > 1 ? args->heads_kv.value
                                                  : heed_cuda_item_count(args);
    uint32_t blocks = items * args->splits.value * cluster;
    emulator_launch launch = { .kernel = kernel->run,
                               .args = args,
                               .grid = { blocks, 1, 1 },
                               .threads = kernel->threads,
                               .shared_bytes = kernel->shared_bytes,
                               .seed = args->rows + args->seq_k,
                               .cluster = cluster };
    if (kernel->persistent && blocks > MULTIPROCESSORS)
        launch.grid[0] = MULTIPROCESSORS;
    if (kernel->mapped) {
        mapped = mapped_args_of(it, kernel, args);
        launch.args = &mapped;
    }
    return launch_kernel(it, &launch);
}

/* Lists the tiles that the kernel processes. */
static bool launch_list(emulated *it, const emulated_kernel *kernel, const heed_cuda_args *args)
{
    const emulator_launch launch = { .kernel = kernel->list,
                                     .args = args,
                                     .grid = { heed_cuda_list_count(args), 1, 1 },
                                     .threads = HEED_CUDA_LIST_THREADS,
                                     .shared_bytes = HEED_CUDA_LIST_SMEM };
    bool fine = launch_kernel(it, &launch);
    for (unsigned i = 0; fine && i < launch.grid[0]; i++) {
        const unsigned *list = args->changes.lists + (2 + (size_t)args->changes.list_tiles) * i;
        it->listed += list[0];
        it->all_tiles += args->changes.list_tiles;
        for (unsigned j = 0; j < list[1]; j++)
            it->inner += list[2 + j] & 1;
    }
    return fine;
}

/* Merges the kernel's partial results. */
static bool launch_combine(emulated *it, const emulated_kernel *kernel, const heed_cuda_args *args)
{
    const heed_cuda_combine how = heed_cuda_combine_of(kernel->dim_v, (int)args->splits.value);
    const uint32_t rows = how.rows;
    const emulator_launch launch = { .kernel = kernel->combine,
                                     .args = args,
                                     .grid = { (args->heads * args->rows + rows - 1) / rows, 1, 1 },
                                     .threads = how.threads };
    return launch_kernel(it, &launch);
}

/* The number of counters that the kernel uses, and their required final value. */
typedef struct counters {
    unsigned *values;
    size_t count;
    unsigned start;
} counters;

static void set_counters(counters *c, unsigned start)
{
    c->start = start;
    for (size_t i = 0; i < c->count; i++)
        c->values[i] = start;
}

static bool counters_kept(const counters *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->values[i] != c->start)
            return false;
    return true;
}

/* Bytes from the first to the last element of O. */
static size_t o_size(const heed_problem *p)
{
    const heed_tensor o = heed_problem_tensor(p, HEED_ROLE_O);
    return (size_t)heed_tensor_extent(&o) * heed_type_size(p->type);
}

static size_t lse_rows(const heed_problem *p)
{
    const heed_tensor o = heed_problem_tensor(p, HEED_ROLE_O);
    return (size_t)(o.batch * o.heads * o.seq);
}

/* O and LSE before the launch, and after the first merge method. */
typedef struct images {
    size_t o_size, lse_size;
    char *before, *first;
} images;

static void keep(const heed_cuda_args *args, const images *all, char *image)
{
    memcpy(image, args->o, all->o_size);
    if (args->lse)
        memcpy(image + all->o_size, args->lse, all->lse_size);
}

static void put_back(const heed_cuda_args *args, const images *all)
{
    memcpy(args->o, all->before, all->o_size);
    if (args->lse)
        memcpy(args->lse, all->before + all->o_size, all->lse_size);
}

static bool is_same(const heed_cuda_args *args, const images *all)
{
    return memcmp(args->o, all->first, all->o_size) == 0 &&
           (!args->lse || memcmp(args->lse, all->first + all->o_size, all->lse_size) == 0);
}

/* One launch that merges by itself, with counters that start at @start, after one that did not: the
 * bits must be the same. */
static bool launch_merging(emulated *it, const emulated_kernel *kernel, heed_cuda_args args,
                           const images *all, counters *c, unsigned start)
{
    set_counters(c, start);
    put_back(&args, all);
    args.arrived = c->values;
    if (!launch_main(it, kernel, &args))
        return false;
    if (is_same(&args, all) && counters_kept(c))
        return true;
    snprintf(it->worst, sizeof it->worst, "counters from %u: %s", start,
             counters_kept(c) ? "other bits than heed_combine's" : "not left as they were");
    return false;
}

/* Split keys in one launch; every fourth time heed_combine runs before, followed by a launch in
 * which the first block to finish treats itself as the last, which does no harm, since the parts of
 * the others are left from before. */
static bool launch_split(emulated *it, const emulated_kernel *kernel, const heed_cuda_args *args)
{
    const heed_problem *p = &it->problem;
    images all = { .o_size = o_size(p), .lse_size = lse_rows(p) * sizeof(float) };
    counters c = { .count = heed_cuda_item_count(args) };
    c.values = test_calloc(c.count, sizeof *c.values);
    heed_cuda_args merging = *args;
    merging.arrived = c.values;
    if (kernel->parts_only || heed_cuda_combine_of(kernel->dim_v, 2).apart) {
        test_free(c.values);
        return launch_main(it, kernel, args) && launch_combine(it, kernel, args);
    }
    if (it->runs++ % 4 != 0) {
        bool alone = launch_main(it, kernel, &merging) && counters_kept(&c);
        test_free(c.values);
        return alone;
    }
    all.before = test_calloc(2, all.o_size + all.lse_size);
    all.first = all.before + all.o_size + all.lse_size;
    keep(args, &all, all.before);
    bool fine = launch_main(it, kernel, args) && launch_combine(it, kernel, args);
    keep(args, &all, all.first);
    fine = fine && launch_merging(it, kernel, *args, &all, &c, 0) &&
           (it->spread || launch_merging(it, kernel, *args, &all, &c, it->splits - 1));
    test_free(all.before);
    test_free(c.values);
    return fine;
}

/* Memory for @size bytes of lists, which is inaccessible after their end, with all bits set. */
typedef struct list_room {
    char *memory;
    size_t size;
    unsigned *lists;
} list_room;

static list_room make_list_room(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), filled = (size + page - 1) / page * page;
    list_room room = { .size = filled + page };
    room.memory = mmap(NULL, room.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(room.memory != MAP_FAILED);
    assert_int_equal(mprotect(room.memory + filled, page, PROT_NONE), 0);
    memset(room.memory, 0xff, filled);
    room.lists = (unsigned *)(void *)(room.memory + filled - size);
    return room;
}

static heed_status run_kernel(emulated *it, const emulated_kernel *kernel,
                              const heed_buffers *buffers)
{
    const heed_problem *p = &it->problem;
    heed_cuda_args args = args_of(it, buffers, kernel);
    size_t rows = (size_t)args.heads * (it->splits + it->spread) *
                  args.rows; /* one more if spread */
    args.partial = test_calloc(rows * (size_t)p->dim_v, sizeof *args.partial);
    args.partial_lse = test_calloc(rows, sizeof *args.partial_lse);
    memset(args.partial, 0xff, rows * (size_t)p->dim_v * sizeof *args.partial);
    memset(args.partial_lse, 0x45, rows * sizeof *args.partial_lse); /* 3156: NaN would only have
                                                                        rows recomputed */
    const list_room room = make_list_room(kernel->list ? heed_cuda_list_bytes(&args) : 0);
    args.changes.lists = room.lists;
    bool fine = !kernel->list || launch_list(it, kernel, &args);
    if (fine)
        fine = it->splits > 1 ? launch_split(it, kernel, &args) : launch_main(it, kernel, &args);
    munmap(room.memory, room.size);
    test_free(args.partial);
    test_free(args.partial_lse);
    return fine ? HEED_OK : HEED_ERR_SYSTEM;
}

static heed_status run(void *data, const heed_buffers *buffers)
{
    emulated *it = data;
    const heed_problem *p = &it->problem;
    bool aligned = is_aligned(buffers->q, &p->q, p->type) &&
                   is_aligned(buffers->k, &p->k, p->type) &&
                   (p->shared || is_aligned(buffers->v, &p->v, p->type)) &&
                   is_aligned(buffers->o, &p->o, p->type) && has_pairs(it->config, p, buffers);
    const emulated_config *config = it->config;
    const emulated_kernel *kernel = !aligned                           ? config->unaligned
                                    : p->scale < 0 && config->negative ? config->negative
                                                                       : config->aligned;
    unsigned splits = it->splits;
    if (!kernel->combine) /* a fallback kernel need not support splits */
        it->splits = 1;
    heed_status status = run_kernel(it, kernel, buffers);
    it->splits = splits;
    return status;
}

unsigned emulated_splits(const emulated_kernel *kernel, unsigned splits, int64_t keys)
{
    int64_t least = kernel->keys > 0 ? heed_div_up(keys, kernel->keys) : 1;
    if (kernel->parts_only)
        least = 2;
    if (!kernel->combine)
        return 1;
    return splits > least ? splits : (unsigned)least;
}

lab_subject emulated_subject(emulated *it)
{
    return (lab_subject){ .data = it, .prepare = prepare, .run = run };
}
