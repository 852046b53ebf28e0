/*
 * backend.c - plans and executions on a CUDA device
 *
 * A plan holds loaded code and the arguments of its launches, so an execution only fills in the
 * addresses. For code that reads 16 bytes at a time there is a fallback config that does not, for
 * executions whose addresses are not multiples of 16.
 */
#include "backend.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrivals.h"
#include "later.h"
#include "maps.h"
#include "outline.h"
#include "problem/problem.h"
#include "score/score.h"

#define ALIGNED 16
#define COMBINE_THREADS 128 /* as in combine.cuh and combine_long.cuh */
#define COMBINE_LONG 256
#define COMBINE_BATCH 8
#define SEQ_STRIDE_MAX (INT64_C(1) << 23) /* bytes: 256 keys, the largest tile, span 2^31 */

/* One kernel, ready to be launched. */
typedef struct program {
    heed_cuda_function *function;
    heed_cuda_function *list;   /* launched before it; NULL: none */
    heed_cuda_mapped_args args; /* without addresses */
    bool mapped;                /* the function takes all of them, not only args.args */
    bool bias_tiles;            /* the bias is mapped */
    unsigned grid;
    unsigned threads;
    unsigned smem;
    bool window;
    bool merges;
} program;

/* plan->code */
typedef struct cuda_plan {
    program main;                 /* for aligned tensors, if any */
    program fallback;             /* for other tensors */
    program combine;              /* after main, if it splits keys and does not merge them itself */
    heed_cuda_arrivals *arrivals; /* for the merge in main, if it splits keys */
    bool strides_aligned;
    bool pairs; /* main reads operand elements two at a time */
    int operand_count, source_count;
    heed_cuda_operand operands[HEED_CUDA_OPERANDS_MAX];
    int64_t parts; /* rows of all splits; times dim_v: the offset of their LSEs in the workspace */
} cuda_plan;

static heed_cuda_cut cut_of(const heed_kernel *kernel, const heed_problem *problem,
                            const heed_gpu *gpu, const heed_config *config)
{
    const heed_cuda_code *code = kernel->code;
    return code->cut(problem, gpu, config);
}

bool heed_cuda_fallback(const heed_problem *problem, const heed_machine *machine,
                        const heed_kernel **kernel, const heed_config *config,
                        heed_config *fallback)
{
    const heed_cuda_cut cut = cut_of(*kernel, problem, machine->gpu, config);
    *kernel = cut.fallback_kernel ? cut.fallback_kernel : *kernel;
    *fallback = cut.fallback;
    return cut.launch.aligned;
}

/* Rows of the partial results of a launch: with spread keys a part for each block and batch element
 * (spread.cuh), of the most rows; else one for each split, of all rows. */
static int64_t part_rows(const heed_problem *problem, const heed_launch_facts *launch)
{
    if (launch->spread > 0)
        return problem->heads_q * problem->seq_q * (launch->spread + problem->batch);
    int64_t queries = problem->tokens_q > 0 ? problem->tokens_q : problem->batch * problem->seq_q;
    return problem->heads_q * queries * launch->splits;
}

/* Bytes of the partial results: O and LSE of each row. */
static size_t parts_size(const heed_problem *problem, const heed_launch_facts *launch)
{
    if (!heed_launch_merges(launch))
        return 0;
    return (size_t)(part_rows(problem, launch) * (problem->dim_v + 1)) * sizeof(float);
}

/* Bytes of the tile lists of a launch. */
static size_t lists_size(const heed_problem *problem, const heed_gpu *gpu,
                         const heed_launch_facts *launch)
{
    heed_cuda_args args;
    if (launch->list_keys == 0)
        return 0;
    heed_problem seen = launch->mapped ? heed_cuda_mapped_problem(problem) : *problem;
    heed_cuda_fill_args(&args, &seen, gpu, launch);
    return heed_cuda_list_bytes(&args);
}

/* Partial results come first, then lists. */
static size_t workspace_of(const heed_kernel *kernel, const heed_problem *problem,
                           const heed_machine *machine, const heed_config *config)
{
    const heed_cuda_cut main = cut_of(kernel, problem, machine->gpu, config);
    size_t size = parts_size(problem, &main.launch) +
                  lists_size(problem, machine->gpu, &main.launch);
    if (!main.launch.aligned)
        return size;
    kernel = main.fallback_kernel ? main.fallback_kernel : kernel;
    const heed_cuda_cut fallback = cut_of(kernel, problem, machine->gpu, &main.fallback);
    size_t other = lists_size(problem, machine->gpu, &fallback.launch);
    return size > other ? size : other;
}

/* True if all rows of elements of @size bytes begin at multiples of 16 when the tensor does, and
 * the keys of a tile are within 2^31 bytes, so their offsets fit in 32 bits. */
static bool aligned_strides(const heed_strides *strides, int64_t size)
{
    int64_t unit = ALIGNED / size; /* elements */
    return strides->batch % unit == 0 && strides->seq % unit == 0 && strides->head % unit == 0 &&
           strides->seq <= SEQ_STRIDE_MAX / size;
}

/* True if a program with this launch can run for suitable addresses. */
static bool main_can(const heed_problem *p, const heed_launch_facts *launch)
{
    const int64_t size = (int64_t)heed_type_size(p->type);
    return launch->aligned &&
           (launch->mapped || (aligned_strides(&p->q, size) && aligned_strides(&p->k, size) &&
                               aligned_strides(&p->v, size) && aligned_strides(&p->o, size)));
}

/* ---- Plans ---- */

/* One compilation, which may run in parallel to another. */
typedef struct compilation {
    const heed_plan *plan;
    const heed_kernel *kernel;
    const heed_config *config;
    heed_cuda_facts facts;
    heed_cubin cubin;
    heed_status status;
    char message[512];
} compilation;

static void *compile(void *data)
{
    compilation *it = data;
    const heed_plan *plan = it->plan;
    const heed_machine *machine = &plan->context->machine;
    it->status = heed_cuda_facts_of(it->kernel, &plan->problem, machine, it->config, &it->facts);
    if (it->status == HEED_OK) {
        heed_build build = heed_cuda_facts_build(&it->facts, machine->gpu->arch);
        build.ready = plan->ready;
        it->status = heed_jit_build(&build, &it->cubin);
    }
    if (it->status != HEED_OK)
        strncat(it->message, heed_message(), sizeof it->message - 1);
    return NULL;
}

/* Compiles @count configs in parallel; looking up compiled ones does not need a second thread. */
static heed_status compile_all(compilation *all, int count)
{
    pthread_t thread;
    bool beside = count > 1 && !all->plan->ready &&
                  pthread_create(&thread, NULL, compile, &all[1]) == 0;
    compile(&all[0]);
    if (beside)
        pthread_join(thread, NULL);
    else if (count > 1)
        compile(&all[1]);
    for (int i = 0; i < count; i++)
        if (all[i].status != HEED_OK)
            return heed_fail(all[i].status, "%s", all[i].message);
    return HEED_OK;
}

/* Makes the maps of @made. */
static heed_status load_maps(program *made, const heed_plan *plan, const heed_cuda_outline *outline,
                             const heed_launch_facts *launch)
{
    heed_cuda *cuda = plan->context->cuda;
    int columns = launch->map_columns ? launch->map_columns : HEED_MAP_COLUMNS;
    made->mapped = true;
    made->args.share = outline->share;
    made->args.ahead = outline->ahead;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    status = heed_cuda_make_maps(cuda, &plan->problem, launch->mapped, columns, &made->args);
    if (status == HEED_OK && launch->bias_tiles)
        status = heed_cuda_make_bias_map(cuda, &plan->problem, columns, &made->args.bias);
    made->bias_tiles = launch->bias_tiles;
    heed_cuda_leave(cuda);
    return status;
}

/* Loads compiled code into @made. */
static heed_status load(program *made, const compilation *from)
{
    const heed_plan *plan = from->plan;
    const heed_launch_facts *launch = &from->facts.launch;
    heed_cuda_outline outline;
    heed_cuda_outline_of(&outline, &plan->problem, plan->context->machine.gpu, launch);
    made->args.args = outline.args;
    made->grid = outline.grid;
    heed_status status = launch->mapped ? load_maps(made, plan, &outline, launch) : HEED_OK;
    if (status != HEED_OK)
        return status;
    made->threads = (unsigned)launch->threads;
    made->smem = (unsigned)launch->smem;
    made->window = launch->window;
    made->merges = heed_launch_merges(launch);
    status = heed_cuda_load(plan->context->cuda, &from->cubin, launch->entry, launch->smem,
                            &made->function);
    if (status == HEED_OK && launch->list_keys > 0)
        status = heed_cuda_load(plan->context->cuda, &from->cubin, "heed_list", HEED_CUDA_LIST_SMEM,
                                &made->list);
    return status;
}

heed_cuda_combine heed_cuda_combine_of(int64_t dim_v, int splits)
{
    if (dim_v <= COMBINE_LONG)
        return (heed_cuda_combine){ .rows = COMBINE_THREADS / 32, .threads = COMBINE_THREADS };
    unsigned groups = splits > 2 * COMBINE_BATCH ? 4 : splits > COMBINE_BATCH ? 2 : 1;
    return (heed_cuda_combine){ .apart = true, .rows = 1, .threads = COMBINE_THREADS * groups };
}

/* Loads the code that merges split keys, if the main program does not do so itself. */
static heed_status load_combine(cuda_plan *made, const compilation *from)
{
    program *combine = &made->combine;
    const heed_cuda_args *args = &made->main.args.args;
    const heed_cuda_combine how = heed_cuda_combine_of(from->plan->problem.dim_v,
                                                       (int)from->facts.launch.splits);
    heed_status status = how.apart || from->facts.launch.apart
                             ? HEED_OK
                             : heed_cuda_arrivals_create(&made->arrivals, from->plan->context->cuda,
                                                         heed_cuda_item_count(args));
    if (status != HEED_OK)
        return status;
    combine->args.args = *args;
    combine->grid = (unsigned)heed_div_up((int64_t)args->heads * args->rows, how.rows);
    combine->threads = how.threads;
    combine->merges = true;
    return heed_cuda_load(from->plan->context->cuda, &from->cubin, "heed_combine", 0,
                          &combine->function);
}

/* Loads the program for aligned tensors, and everything that its launch needs. */
static heed_status load_main(cuda_plan *made, const compilation *from)
{
    const heed_launch_facts *launch = &from->facts.launch;
    heed_status status = load(&made->main, from);
    if (status == HEED_OK && heed_launch_merges(launch))
        status = load_combine(made, from);
    if (status == HEED_OK && launch->window)
        status = heed_cuda_allow_window(from->plan->context->cuda);
    return status;
}

static heed_status make_programs(cuda_plan *made, const heed_plan *plan)
{
    heed_cuda_cut cut = cut_of(plan->kernel, &plan->problem, plan->context->machine.gpu,
                               &plan->config);
    bool aligned = cut.launch.aligned;
    made->parts = part_rows(&plan->problem, &cut.launch);
    made->strides_aligned = main_can(&plan->problem, &cut.launch);
    made->operand_count = heed_cuda_operands(&plan->problem, &made->source_count, made->operands);
    made->pairs = heed_cuda_needs_of(&plan->problem).pairs;
    for (int i = 0; i < made->source_count && cut.launch.bias_tiles; i++)
        if (made->operands[i].buffer == offsetof(heed_buffers, bias))
            made->operands[i].unit = ALIGNED;
    compilation all[2] = { { .plan = plan,
                             .kernel = cut.fallback_kernel ? cut.fallback_kernel : plan->kernel,
                             .config = aligned ? &cut.fallback : &plan->config },
                           { .plan = plan, .kernel = plan->kernel, .config = &plan->config } };
    int count = made->strides_aligned ? 2 : 1;
    heed_status status = compile_all(all, count);
    if (status == HEED_OK)
        status = load(&made->fallback, &all[0]);
    if (status == HEED_OK && count > 1)
        status = load_main(made, &all[1]);
    heed_cubin_free(&all[0].cubin);
    heed_cubin_free(&all[1].cubin);
    return status;
}

static heed_status prepare(heed_plan *plan)
{
    cuda_plan *made = aligned_alloc(_Alignof(cuda_plan), sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan");
    memset(made, 0, sizeof *made);
    plan->code = made;
    return make_programs(made, plan);
}

/* Adds the code of @from to @plan, whose program is a built-in kernel: that becomes the fallback or
 * is replaced. */
static heed_status add_foreign(heed_plan *plan, const compilation *from)
{
    cuda_plan *made = plan->code;
    const heed_launch_facts *launch = &from->facts.launch;
    made->strides_aligned = main_can(&plan->problem, launch);
    made->parts = part_rows(&plan->problem, launch);
    if (launch->aligned)
        return made->strides_aligned ? load_main(made, from) : HEED_OK;
    heed_cuda_unload(plan->context->cuda, made->fallback.function); /* which has no lists */
    made->fallback = (program){ .function = NULL };
    return load(&made->fallback, from);
}

heed_status heed_plan_create_foreign(heed_plan **plan, heed_context *context,
                                     const heed_problem *problem, const char *name,
                                     const heed_launch_facts *launch, const heed_cubin *cubin)
{
    const char *why;
    const char *fallback = heed_kernel_of(&heed_cuda_naive_code)->name;
    heed_status status = heed_plan_create_named(plan, context, problem, fallback);
    if (status != HEED_OK)
        return status;
    const heed_problem *p = &(*plan)->problem;
    if ((*plan)->operands)
        status = heed_fail(HEED_ERR_UNSUPPORTED,
                           "%s: only built-in kernels change logits, hide keys by an operand or an "
                           "expression, and add sinks",
                           name);
    else if (!heed_cuda_fits(p, launch->rows, launch->splits, &why))
        status = heed_fail(HEED_ERR_UNSUPPORTED, "%s: %s", name, why);
    else if ((heed_launch_merges(launch) || launch->mapped) && !launch->aligned)
        status = heed_fail(HEED_ERR_INVALID, "%s: splits and maps need aligned tensors", name);
    const compilation from = { .plan = *plan, .facts = { .launch = *launch }, .cubin = *cubin };
    if (status == HEED_OK)
        status = add_foreign(*plan, &from);
    if (status != HEED_OK) {
        heed_plan_destroy(*plan);
        *plan = NULL;
        return status;
    }
    snprintf((*plan)->name, sizeof(*plan)->name, "%s", name);
    (*plan)->workspace_size = parts_size(p, launch);
    return HEED_OK;
}

static void release(heed_plan *plan)
{
    cuda_plan *made = plan->code;
    if (!made)
        return;
    program *programs[] = { &made->main, &made->fallback, &made->combine };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (programs[i]->function)
            heed_cuda_unload(plan->context->cuda, programs[i]->function);
        if (programs[i]->list)
            heed_cuda_unload(plan->context->cuda, programs[i]->list);
    }
    heed_cuda_arrivals_destroy(made->arrivals);
    free(made);
    plan->code = NULL;
}

heed_device_launch heed_cuda_launch_of(const heed_plan *plan)
{
    const cuda_plan *made = heed_later_serving(plan)->code;
    const program *it = made->strides_aligned ? &made->main : &made->fallback;
    return (heed_device_launch){ .blocks = it->grid,
                                 .threads = (int)it->threads,
                                 .smem = it->smem,
                                 .resident = heed_cuda_resident(plan->context->cuda, it->function,
                                                                it->threads, it->smem) };
}

/* ---- Executions ---- */

static const void *address_of(const heed_cuda_operand *operand, const heed_buffers *buffers)
{
    const void *address;
    memcpy(&address, (const char *)buffers + operand->buffer, sizeof address);
    return address;
}

bool heed_cuda_trusts(const heed_plan *plan, const heed_buffers *buffers)
{
    return buffers->trusted && !plan->context->check;
}

heed_status heed_cuda_check_buffers(const heed_plan *plan, const heed_buffers *buffers)
{
    if (heed_cuda_trusts(plan, buffers))
        return HEED_OK;
    heed_cuda *cuda = plan->context->cuda;
    const struct {
        const char *field;
        const void *pointer;
    } all[] = {
        { "q", buffers->q },     { "k", buffers->k },
        { "v", buffers->v },     { "o", buffers->o },
        { "lse", buffers->lse }, { "workspace", plan->workspace_size ? buffers->workspace : NULL }
    };
    const cuda_plan *made = heed_later_serving(plan)->code; /* all programs have the same
                                                               operands */
    heed_status status = HEED_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == HEED_OK; i++)
        if (all[i].pointer)
            status = heed_cuda_check_pointer(cuda, all[i].field, all[i].pointer);
    for (int i = 0; i < made->operand_count && status == HEED_OK; i++)
        status = heed_cuda_check_pointer(cuda, made->operands[i].name,
                                         address_of(&made->operands[i], buffers));
    return status;
}

static void place_operands(heed_cuda_changes *changes, const heed_plan *plan,
                           const heed_buffers *buffers)
{
    const cuda_plan *made = plan->code;
    for (int i = 0; i < made->source_count; i++)
        changes->sources[i].data = address_of(&made->operands[i], buffers);
    if (plan->operands) {
        changes->sinks = buffers->sinks;
        changes->starts = buffers->starts;
        changes->lengths = buffers->lengths;
        changes->ahead = plan->ahead;
        changes->table = buffers->table;
        changes->cu_q = buffers->cu_seqlens_q;
        changes->cu_k = buffers->cu_seqlens_k;
    }
}

/* Bytes from the first to the last element of K or V. */
static size_t span(const heed_problem *problem, heed_role role)
{
    const heed_tensor tensor = heed_problem_tensor(problem, role);
    return (size_t)heed_tensor_extent(&tensor) * heed_type_size(problem->type);
}

/* The memory to keep in the L2: K and V if they are close together, else K. */
static void set_window(heed_cuda_launch *launch, const heed_plan *plan, const heed_buffers *buffers)
{
    const heed_problem *p = &plan->problem;
    size_t k_size = span(p, HEED_ROLE_K), v_size = span(p, HEED_ROLE_V);
    const char *k = buffers->k, *v = buffers->v;
    const char *begin = k < v ? k : v;
    const char *end = k + k_size > v + v_size ? k + k_size : v + v_size;
    bool both = (size_t)(end - begin) <= 2 * (k_size + v_size);
    launch->window = both ? begin : k;
    launch->window_size = both ? (size_t)(end - begin) : k_size;
}

/* Starts the kernel that lists the tiles for @what, whose arguments are @args. */
static heed_status start_list(const heed_plan *plan, const program *what,
                              const heed_cuda_args *args, void *stream)
{
    const heed_cuda_launch launch = { .function = what->list,
                                      .grid = { heed_cuda_list_count(args), 1, 1 },
                                      .threads = HEED_CUDA_LIST_THREADS,
                                      .smem = HEED_CUDA_LIST_SMEM,
                                      .args = args,
                                      .overlap = heed_gpu_overlaps(plan->context->machine.gpu) };
    return heed_cuda_start(plan->context->cuda, &launch, stream);
}

static heed_status start(const heed_plan *plan, const program *what, const heed_buffers *buffers,
                         unsigned *arrived)
{
    const cuda_plan *made = plan->code;
    heed_cuda_mapped_args own;
    heed_cuda_args *args = &own.args;
    if (what->mapped)
        own = what->args;
    else
        *args = what->args.args;
    args->q = buffers->q;
    args->k = buffers->k;
    args->v = buffers->v;
    args->o = buffers->o;
    args->lse = buffers->lse;
    place_operands(&args->changes, plan, buffers);
    if (what->merges) {
        args->partial = buffers->workspace;
        args->partial_lse = args->partial + made->parts * plan->problem.dim_v;
        args->arrived = arrived;
    }
    if (what->list) {
        size_t parts = what->merges ? (size_t)(made->parts * (plan->problem.dim_v + 1)) : 0;
        args->changes.lists = (void *)((float *)buffers->workspace + parts);
        heed_status status = start_list(plan, what, args, buffers->stream);
        if (status != HEED_OK)
            return status;
    }
    /* All kernels wait for the preceding launch themselves. */
    heed_cuda_launch launch = { .function = what->function,
                                .grid = { what->grid, 1, 1 },
                                .threads = what->threads,
                                .smem = what->smem,
                                .args = what->mapped ? (const void *)&own : args,
                                .overlap = heed_gpu_overlaps(plan->context->machine.gpu) };
    if (what->window)
        set_window(&launch, plan, buffers);
    if (what->mapped) {
        heed_status status = heed_cuda_place_maps(plan->context->cuda, &own,
                                                  what->bias_tiles ? buffers->bias : NULL);
        if (status != HEED_OK)
            return status;
    }
    return heed_cuda_start(plan->context->cuda, &launch, buffers->stream);
}

/* True if the tensors of this execution have the alignment that the main program needs. */
static bool aligned(const cuda_plan *made, const heed_buffers *buffers)
{
    uintptr_t bits = (uintptr_t)buffers->q | (uintptr_t)buffers->k | (uintptr_t)buffers->v |
                     (uintptr_t)buffers->o;
    bool pairs = true;
    for (int i = 0; i < made->source_count && made->pairs; i++)
        pairs = pairs && (uintptr_t)address_of(&made->operands[i], buffers) %
                                 (unsigned)made->operands[i].unit ==
                             0;
    return made->strides_aligned && bits % ALIGNED == 0 && pairs;
}

/* The main program merges split keys itself; without counters, a second launch does. */
static heed_status start_main(const heed_plan *plan, const heed_buffers *buffers)
{
    const cuda_plan *made = plan->code;
    unsigned *arrived = NULL;
    if (made->arrivals)
        arrived = heed_cuda_arrivals_of(made->arrivals, buffers->workspace);
    heed_status status = start(plan, &made->main, buffers, arrived);
    if (status == HEED_OK && made->combine.function && !arrived)
        status = start(plan, &made->combine, buffers, NULL);
    return status;
}

static heed_status execute(const heed_plan *plan, const heed_buffers *buffers)
{
    const cuda_plan *made = plan->code;
    heed_cuda *cuda = plan->context->cuda;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    if (!plan->append && !plan->prefix) /* else they have been checked already */
        status = heed_cuda_check_buffers(plan, buffers);
    if (status == HEED_OK && aligned(made, buffers))
        status = start_main(plan, buffers);
    else if (status == HEED_OK)
        status = start(plan, &made->fallback, buffers, NULL);
    heed_cuda_leave(cuda);
    return status;
}

const heed_plan_functions heed_cuda_plans = {
    .workspace = workspace_of,
    .prepare = prepare,
    .release = release,
    .execute = execute,
};
