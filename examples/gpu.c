/*
 * gpu.c - attention on an NVIDIA GPU, from a program that is built without CUDA
 *
 * The lookup of attention.c in bfloat16: key j is the j-th unit vector, its value is j, and query i
 * is a large multiple of key i, so that row i of O must be i.
 *
 *     cc gpu.c -o gpu $(pkg-config --cflags --libs heed)
 *     ./gpu
 *
 * heed accepts device memory from any allocator: a program that already uses CUDA passes pointers
 * from cudaMalloc(), and its cudaStream_t as heed_buffers.stream. This one allocates memory from
 * the driver (driver.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "heed.h"

#define SPEC "b1 h2 s64 d64 bf16"

/* ---- The lookup ---- */

static int fail(const char *what)
{
    fprintf(stderr, "gpu: %s: %s\n", what, heed_message());
    return 1;
}

/* A bfloat16 is the upper half of a float, and represents the numbers used here exactly. */
static uint16_t bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static float from_bf16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Q, K, V and O, one after another; each is [seq, heads, dim]. */
static uint16_t host[4][64][2][64];

static void fill(void)
{
    for (int i = 0; i < 64; i++)
        for (int h = 0; h < 2; h++) {
            host[0][i][h][i] = bf16(1000);
            host[1][i][h][i] = bf16(1);
            for (int c = 0; c < 64; c++)
                host[2][i][h][c] = bf16((float)i);
        }
}

/* Executes @plan on tensors at @tensors, and then @workspace, in device memory. */
static int attend(const driver *cuda, const heed_plan *plan, uintptr_t tensors, uintptr_t workspace)
{
    const size_t size = sizeof host[0];
    heed_buffers buffers = { .size = sizeof buffers,
                             .q = (const void *)tensors,
                             .k = (const void *)(tensors + size),
                             .v = (const void *)(tensors + 2 * size),
                             .o = (void *)(tensors + 3 * size),
                             .workspace = (void *)workspace,
                             .workspace_size = heed_plan_workspace_size(plan) };
    if (cuda->upload(tensors, host, sizeof host) != 0)
        return fprintf(stderr, "gpu: the tensors cannot be copied to the device\n"), 1;
    if (heed_execute(plan, &buffers) != HEED_OK)
        return fail("execute");
    /* heed_execute() has only enqueued the work. This copy waits for it, since both are on the
     * default stream, and would return an error that occurred there. */
    if (cuda->download(host, tensors, sizeof host) != 0)
        return fprintf(stderr, "gpu: the device failed\n"), 1;
    for (int i = 0; i < 64; i += 16)
        printf("query %d finds %g\n", i, (double)from_bf16(host[3][i][0][0]));
    return 0;
}

static int look_up(const heed_plan *plan)
{
    driver cuda;
    uintptr_t tensors = 0, workspace = 0;
    if (!driver_start(&cuda))
        return fprintf(stderr, "gpu: the driver does not start\n"), 1;
    int failed = cuda.allocate(&tensors, sizeof host);
    if (!failed && heed_plan_workspace_size(plan) > 0)
        failed = cuda.allocate(&workspace, heed_plan_workspace_size(plan));
    if (failed)
        fprintf(stderr, "gpu: there is not enough device memory\n");
    else
        failed = attend(&cuda, plan, tensors, workspace);
    if (workspace)
        cuda.free(workspace);
    if (tensors)
        cuda.free(tensors);
    cuda.release(0);
    return failed != 0;
}

int main(void)
{
    const heed_options options = { .size = sizeof options, .device = "cuda:0" };
    heed_context *context = NULL;
    heed_problem problem;
    heed_plan *plan = NULL;
    int result;

    fill();
    if (heed_problem_parse(&problem, SPEC) != HEED_OK)
        return fail("problem");
    if (heed_context_create(&context, &options) != HEED_OK)
        return fail("context"); /* no GPU, driver or compiler: the message says which */
    if (heed_plan_create(&plan, context, &problem, HEED_ESTIMATE) == HEED_OK) {
        printf("%s on %s\n", heed_plan_name(plan), heed_context_device(context));
        result = look_up(plan);
    } else {
        result = fail("plan");
    }
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    return result;
}
