/*
 * attention.c - a complete libheed program: attention as a lookup of values by key
 *
 * It handles every status. Key j is the j-th unit vector and its value is j in every column; query
 * i is a large multiple of key i, so that all its weight is on that key. So row i of O must be i.
 *
 *     cc attention.c -o attention $(pkg-config --cflags --libs heed)
 *     ./attention "b1 h8/2 s48 d64 f32 causal"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heed.h"

static int fail(const char *what)
{
    fprintf(stderr, "attention: %s: %s\n", what, heed_message());
    return 1;
}

/* Allocates @count floats, all zero, with the alignment that is fastest for heed. */
static float *floats_create(int64_t count)
{
    size_t bytes = (size_t)count * sizeof(float);
    size_t rounded = (bytes + HEED_ALIGNMENT - 1) / HEED_ALIGNMENT * HEED_ALIGNMENT;
    float *data = aligned_alloc(HEED_ALIGNMENT, rounded);
    return data ? memset(data, 0, rounded) : NULL;
}

/* Writes the queries, keys and values of the lookup. The tensors are dense: [seq, heads, dim] for a
 * batch of one. */
static void fill(const heed_problem *p, float *q, float *k, float *v)
{
    for (int64_t i = 0; i < p->seq_q; i++)
        for (int64_t h = 0; h < p->heads_q; h++)
            q[(i * p->heads_q + h) * p->dim_qk + i % p->seq_k] = 1000;
    for (int64_t j = 0; j < p->seq_k; j++)
        for (int64_t h = 0; h < p->heads_kv; h++) {
            k[(j * p->heads_kv + h) * p->dim_qk + j] = 1;
            for (int64_t c = 0; c < p->dim_v; c++)
                v[(j * p->heads_kv + h) * p->dim_v + c] = (float)j;
        }
}

/* Plans @p, executes the plan once, and prints the results of some queries of the first head. */
static int attend(heed_context *context, const heed_problem *p, heed_buffers *buffers)
{
    heed_plan *plan;
    if (heed_plan_create(&plan, context, p, HEED_ESTIMATE) != HEED_OK)
        return fail("plan");
    buffers->workspace_size = heed_plan_workspace_size(plan);
    buffers->workspace = floats_create((int64_t)(buffers->workspace_size / sizeof(float) + 1));
    heed_status status = heed_execute(plan, buffers);
    if (status == HEED_OK) {
        const float *o = buffers->o;
        printf("%s on %s\n", heed_plan_name(plan), heed_context_device(context));
        for (int64_t i = 0; i < p->seq_q; i += (p->seq_q + 3) / 4)
            printf("query %lld finds %g\n", (long long)i, o[i * p->heads_q * p->dim_v]);
    }
    free(buffers->workspace);
    heed_plan_destroy(plan);
    return status == HEED_OK ? 0 : fail("execute");
}

/* Allocates and fills the tensors of @p, and computes attention. */
static int look_up(heed_context *context, const heed_problem *p)
{
    float *q = floats_create(p->seq_q * p->heads_q * p->dim_qk);
    float *k = floats_create(p->seq_k * p->heads_kv * p->dim_qk);
    float *v = floats_create(p->seq_k * p->heads_kv * p->dim_v);
    float *o = floats_create(p->seq_q * p->heads_q * p->dim_v);
    int result = 1;

    if (q && k && v && o) {
        fill(p, q, k, v);
        heed_buffers buffers = { .size = sizeof buffers, .q = q, .k = k, .v = v, .o = o };
        result = attend(context, p, &buffers);
    } else {
        fprintf(stderr, "attention: not enough memory\n");
    }
    free(q);
    free(k);
    free(v);
    free(o);
    return result;
}

int main(int argc, char **argv)
{
    heed_problem p;
    heed_context *context;

    if (heed_problem_parse(&p, argc > 1 ? argv[1] : "b1 h2 s64 d64 f32") != HEED_OK)
        return fail("problem");
    if (p.type != HEED_F32 || p.batch != 1 || p.seq_k > p.dim_qk) {
        fprintf(stderr,
                "attention: the lookup needs b1, f32, and no more keys than the head dim\n");
        return 1;
    }
    if (heed_context_create(&context, NULL) != HEED_OK)
        return fail("context");
    int result = look_up(context, &p);
    heed_context_destroy(context);
    return result;
}
