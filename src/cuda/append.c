/*
 * append.c - append new keys and values to the KV cache, and rotate queries, on a CUDA device: a
 * launch before the kernel
 *
 * Head dims, lengths and strides are arguments, so compiled code is shared by all problems of a
 * type.
 */
#include "append.h"

#include <limits.h>
#include <stdlib.h>

#include "../append.h"
#include "../problem/problem.h"
#include "backend.h"
#include "beside.h"

/* plan->append->code */
typedef struct append_code {
    heed_cuda_beside code;
    heed_cuda_append_args args; /* without addresses */
} append_code;

/* The number of a type in device code. */
static int type_of(heed_data data)
{
    return (int)data - (int)HEED_DATA_F32;
}

int heed_cuda_append_defines(const heed_problem *problem, heed_define defines[HEED_APPEND_DEFINES])
{
    int count = 0;
    defines[count++] = (heed_define){ "HEED_TYPE", (int)problem->type };
    defines[count++] = (heed_define){ "HEED_MASKED", 0 };
    if (problem->rotary > 0)
        defines[count++] = (heed_define){ "HEED_TURNS", type_of(problem->rotary_cos.type) };
    if (problem->interleaved)
        defines[count++] = (heed_define){ "HEED_INTERLEAVED", 1 };
    if (problem->append_packed || (problem->rotary > 0 && problem->tokens_q > 0))
        defines[count++] = (heed_define){ "HEED_VARLEN", problem->append_packed ? 2 : 1 };
    return count;
}

static unsigned size_of(int64_t size)
{
    return (unsigned)size;
}

heed_status heed_cuda_append_fill(heed_cuda_append_args *args, const heed_problem *problem)
{
    const heed_problem *p = problem, rest = heed_append_rest(problem);
    const int64_t rows = p->tokens_q > 0 ? p->tokens_q : p->batch * p->seq_q;
    int64_t keys, queries, all;
    if (__builtin_mul_overflow(p->append_packed ? rows : p->batch * p->append, p->heads_kv,
                               &keys) ||
        __builtin_mul_overflow(rows, p->heads_q, &queries) ||
        __builtin_add_overflow(2 * keys, queries, &all) || keys > INT_MAX || all > INT_MAX ||
        p->seq_k > INT_MAX)
        return heed_fail(HEED_ERR_UNSUPPORTED,
                         "append is %lld: more new keys, values and queries than 31 bits count",
                         (long long)p->append);
    *args = (heed_cuda_append_args){
        .length_stride = p->lengths.strides.batch,
        .table_stride = p->table.strides.batch,
        .page = heed_cuda_divide_by(size_of(p->page)),
        .q_stride = heed_cuda_strides_of(&p->q),
        .queries_stride = heed_cuda_strides_of(&rest.q),
        .k_stride = heed_cuda_strides_of(&p->k),
        .v_stride = heed_cuda_strides_of(&p->v),
        .k_new_stride = heed_cuda_strides_of(&p->k_new),
        .v_new_stride = heed_cuda_strides_of(&p->v_new),
        .append = heed_cuda_divide_by(size_of(p->append)),
        .seq_q = heed_cuda_divide_by(size_of(p->seq_q)),
        .heads_kv = heed_cuda_divide_by(size_of(p->heads_kv)),
        .heads_q = heed_cuda_divide_by(size_of(p->heads_q)),
        .keys = size_of(keys),
        .values = size_of(p->shared ? keys : 2 * keys),
        .dim_qk = size_of(p->dim_qk),
        .dim_v = size_of(p->dim_v),
        .turned = size_of(heed_problem_turned(p)),
        .rotary = size_of(p->rotary),
        .cu_q_words = p->cu_seqlens_q.type == HEED_DATA_I64 ? 2 : 1,
        .sequences = size_of(p->batch),
        .all = p->prefix > 0,
    };
    args->vectors = args->values + (p->rotary > 0 ? size_of(queries) : 0);
    return HEED_OK;
}

void heed_cuda_append_place(heed_cuda_append_args *args, const heed_problem *problem,
                            const heed_buffers *buffers, void *queries)
{
    args->q = buffers->q;
    args->k_new = buffers->k_new;
    args->v_new = buffers->v_new;
    args->k = (void *)(uintptr_t)buffers->k;
    args->v = (void *)(uintptr_t)buffers->v;
    args->queries = queries;
    args->cosines = buffers->rotary_cos;
    args->sines = buffers->rotary_sin;
    args->lengths = buffers->lengths;
    args->table = problem->page > 0 ? buffers->table : NULL;
    args->cu_q = problem->tokens_q > 0 ? buffers->cu_seqlens_q : NULL;
}

unsigned heed_cuda_append_grid(const heed_cuda_append_args *args)
{
    return (unsigned)heed_div_up(args->vectors, HEED_APPEND_VECTORS);
}

/* True if dims and the strides in use are multiples of @unit elements. */
static bool are_multiples(const heed_problem *p, int64_t unit)
{
    const heed_problem rest = heed_append_rest(p);
    const heed_strides *const all[] = { &p->k,
                                        &p->k_new,
                                        p->shared ? &p->k : &p->v,
                                        p->shared ? &p->k : &p->v_new,
                                        p->rotary > 0 ? &p->q : &p->k,
                                        p->rotary > 0 ? &rest.q : &p->k };
    bool fit = p->dim_qk % unit == 0 && (p->shared || p->dim_v % unit == 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fit = fit && heed_cuda_beside_fits(all[i], unit);
    return fit;
}

bool heed_cuda_append_wide(const heed_problem *problem)
{
    const heed_problem *p = problem;
    const int64_t unit = HEED_BESIDE_BYTES / (int64_t)heed_type_size(p->type);
    const int64_t turns = p->interleaved ? p->rotary : p->rotary / 2;
    return are_multiples(p, unit) && turns % unit == 0 &&
           (p->rotary == 0 || heed_problem_turned(p) % unit == 0);
}

bool heed_cuda_append_aligned(const heed_cuda_append_args *args)
{
    const uintptr_t bits = (uintptr_t)args->k | (uintptr_t)args->v | (uintptr_t)args->k_new |
                           (uintptr_t)(args->values > args->keys ? args->v_new : NULL) |
                           (uintptr_t)(args->rotary > 0 ? args->q : NULL) |
                           (uintptr_t)args->queries;
    return bits % HEED_BESIDE_BYTES == 0;
}

/* ---- Plans ---- */

heed_status heed_append_prepare_cuda(heed_plan *plan)
{
    const heed_problem *p = &plan->append->problem;
    heed_define defines[HEED_APPEND_DEFINES];
    const heed_build build = { .source = "append.cu",
                               .defines = defines,
                               .define_count = heed_cuda_append_defines(p, defines) };
    append_code *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan");
    plan->append->code = made;
    heed_status status = heed_cuda_append_fill(&made->args, p);
    if (status != HEED_OK)
        return status;
    return heed_cuda_beside_load(&made->code, plan->context, build, "heed_append_any",
                                 heed_cuda_append_wide(p) ? "heed_append_wide" : NULL);
}

void heed_append_release_cuda(heed_plan *plan)
{
    append_code *made = plan->append->code;
    if (made)
        heed_cuda_beside_unload(&made->code, plan->context);
    free(made);
    plan->append->code = NULL;
}

/* ---- Executions ---- */

/* Checks all pointers before anything is written. */
static heed_status check_pointers(const heed_plan *plan, const heed_buffers *buffers, void *queries)
{
    if (heed_cuda_trusts(plan, buffers))
        return HEED_OK;
    const bool turns = plan->append->problem.rotary > 0;
    const struct {
        const char *field;
        const void *pointer;
    } all[] = { { "k_new", buffers->k_new },
                { "v_new", plan->problem.shared ? NULL : buffers->v_new },
                { "rotary_cos", turns ? buffers->rotary_cos : NULL },
                { "rotary_sin", turns ? buffers->rotary_sin : NULL },
                { "workspace", queries } };
    heed_cuda *cuda = plan->context->cuda;
    heed_status status = heed_cuda_check_buffers(plan, buffers);
    for (size_t i = 0; i < sizeof all / sizeof *all && status == HEED_OK; i++)
        if (all[i].pointer)
            status = heed_cuda_check_pointer(cuda, all[i].field, all[i].pointer);
    return status;
}

static heed_status start(const heed_plan *plan, const heed_buffers *buffers, void *queries)
{
    const append_code *made = plan->append->code;
    heed_cuda_append_args args = made->args;
    heed_cuda_append_place(&args, &plan->append->problem, buffers, queries);
    return heed_cuda_beside_start(&made->code, plan->context, heed_cuda_append_grid(&args),
                                  HEED_APPEND_VECTORS * 32, &args, heed_cuda_append_aligned(&args),
                                  buffers->stream);
}

heed_status heed_append_on_cuda(const heed_plan *plan, const heed_buffers *buffers, void *queries)
{
    heed_cuda *cuda = plan->context->cuda;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    status = check_pointers(plan, buffers, queries);
    if (status == HEED_OK)
        status = start(plan, buffers, queries);
    heed_cuda_leave(cuda);
    return status;
}
