/*
 * facts.c - how the code of a CUDA kernel is compiled and launched
 */
#include "facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../append.h"
#include "../plan.h"
#include "../problem/problem.h"
#include "backend.h"
#include "gpu.h"
#include "score/score.h"

/* The config that @text names, or the best one for the problem if it is NULL. */
static heed_status choose_config(const heed_kernel *kernel, const char *text,
                                 const heed_problem *problem, const heed_machine *machine,
                                 heed_config *config, double *seconds)
{
    const char *why = "it has no configs";
    if (!text) {
        *config = heed_plan_best_config(kernel, problem, machine, seconds, &why);
        if (isinf(*seconds))
            return heed_fail(HEED_ERR_UNSUPPORTED, "%s: %s", kernel->name, why);
    } else if (!heed_config_parse(kernel->algorithm, text, config)) {
        return heed_fail(HEED_ERR_INVALID, "%s has no config \"%.40s\"", kernel->name, text);
    } else if (!heed_plan_legal(kernel, problem, machine, config, &why)) {
        return heed_fail(HEED_ERR_UNSUPPORTED, "config \"%s\" of %s: %s", text, kernel->name, why);
    }
    *seconds = heed_plan_cost(kernel, problem, machine, config);
    return HEED_OK;
}

heed_status heed_cuda_facts_of(const heed_kernel *kernel, const heed_problem *problem,
                               const heed_machine *machine, const heed_config *config,
                               heed_cuda_facts *facts)
{
    static const char *const entries[] = { [HEED_FORWARD] = "heed_attend" };
    const heed_cuda_code *code = kernel->code;
    facts->launch = code->cut(problem, machine->gpu, config).launch;
    facts->launch.entry = entries[kernel->pass];
    return kernel->algorithm->facts(kernel, problem, machine, config, facts);
}

heed_status heed_cuda_facts_for(const char *name, const heed_problem *problem, const heed_gpu *gpu,
                                heed_cuda_facts *facts)
{
    heed_problem normal;
    heed_config config;
    double seconds;
    const char *text = NULL;
    const heed_machine machine = { .backend = HEED_BACKEND_CUDA, .gpu = gpu, .threads = 1 };
    const heed_kernel *kernel = heed_kernel_find(name, &text);
    if (!kernel)
        return heed_fail(HEED_ERR_INVALID, "there is no kernel \"%s\"", name);
    heed_status status = heed_problem_read_normal(&normal, problem);
    if (status != HEED_OK)
        return status;
    normal = heed_append_rest(&normal); /* the kernel computes the remaining problem, */
    normal = heed_prefix_rest(&normal);
    const char *rejected = heed_plan_reject(kernel, &normal, &machine);
    if (rejected || !kernel->algorithm->facts)
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s %s", kernel->name,
                         rejected ? rejected : "is not compiled at run time");
    status = choose_config(kernel, text, &normal, &machine, &config, &seconds);
    if (status != HEED_OK)
        return status;
    *facts = (heed_cuda_facts){ .seconds = seconds, .roofline = heed_gpu_roofline(gpu, &normal) };
    const char *why;
    if (!heed_plan_worthwhile(kernel, &normal, &machine, &config, &why))
        facts->unworthy = why;
    memcpy(facts->device, gpu->name, sizeof facts->device);
    heed_config_print(kernel, &config, facts->name, sizeof facts->name);
    return heed_cuda_facts_of(kernel, &normal, &machine, &config, facts);
}

heed_status heed_cuda_facts_find(const char *name, const heed_problem *problem, int arch,
                                 heed_cuda_facts *facts)
{
    heed_gpu gpu;
    const char *text = NULL;
    if (!heed_kernel_find(name, &text))
        return heed_fail(HEED_ERR_INVALID, "there is no kernel \"%s\"", name);
    if (!heed_gpu_arch(&gpu, arch))
        return heed_fail(HEED_ERR_UNSUPPORTED, "the limits of sm_%d are unknown", arch);
    return heed_cuda_facts_for(name, problem, &gpu, facts);
}

/* A hash that identifies program.cuh, so that sources compiled with the same macros are the same
 * code. */
static long long number_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (long long)(hash >> 1);
}

static heed_status add_steps(heed_cuda_facts *facts, const heed_problem *problem, long long *number)
{
    char *text = malloc(HEED_CUDA_PROGRAM_SIZE);
    if (!text)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for the steps of a problem");
    size_t length = heed_cuda_print_program(problem, text, HEED_CUDA_PROGRAM_SIZE);
    *number = number_of(text);
    free(text);
    if (length >= HEED_CUDA_PROGRAM_SIZE)
        return heed_fail(HEED_ERR_UNSUPPORTED,
                         "the steps from product to logit take %zu bytes; the limit is %d", length,
                         HEED_CUDA_PROGRAM_SIZE - 1);
    facts->steps = true;
    facts->problem = *problem;
    return HEED_OK;
}

heed_status heed_cuda_facts_define(heed_cuda_facts *facts, const heed_problem *problem,
                                   const heed_define *defines, size_t count)
{
    const heed_cuda_needs needs = heed_cuda_needs_of(problem);
    long long number = 0;
    heed_status status = HEED_OK;
    if (needs.modifies || needs.hides)
        status = add_steps(facts, problem, &number);
    const struct {
        heed_define define;
        bool always; /* else only if it is not 0, the default without the macro */
    } common[] = {
        { { "HEED_MASKED", heed_cuda_masked(problem) }, true },
        { { "HEED_HIDES_FIRST", heed_problem_hides_first(problem) || needs.starts }, false },
        { { "HEED_CHUNKED", problem->chunk != 0 }, false },
        { { "HEED_CHANGES", needs.any }, false },
        { { "HEED_MODIFIES", needs.modifies }, false },
        { { "HEED_HIDES", needs.hides }, false },
        { { "HEED_LISTS", facts->launch.list_keys > 0 }, false },
        { { "HEED_SPREAD", facts->launch.spread > 0 }, false },
        { { "HEED_STARTS", needs.starts }, false },
        { { "HEED_LENGTHS", needs.lengths }, false },
        { { "HEED_PACKED_Q", needs.packed_q }, false },
        { { "HEED_PACKED_K", needs.packed_k }, false },
        { { "HEED_FOLLOWS", heed_problem_follows_lengths(problem) }, false },
        { { "HEED_PAGED", needs.pages }, false },
        { { "HEED_SINKS", needs.sinks }, false },
        { { "HEED_PAIRS", facts->launch.aligned ? needs.pairs : 0 }, false },
        { { "HEED_PROGRAM", number }, false },
        { { "HEED_DIM_QK", problem->dim_qk }, true },
        { { "HEED_DIM_V", problem->dim_v }, true },
    };
    facts->define_count = 0;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (common[i].always || common[i].define.value)
            facts->defines[facts->define_count++] = common[i].define;
    memcpy(facts->defines + facts->define_count, defines, count * sizeof *defines);
    facts->define_count += (int)count;
    return status;
}

heed_build heed_cuda_facts_build(const heed_cuda_facts *facts, int arch)
{
    return (heed_build){ .source = facts->source,
                         .defines = facts->defines,
                         .define_count = facts->define_count,
                         .steps_of = facts->steps ? &facts->problem : NULL,
                         .arch = arch,
                         .registers = facts->launch.registers };
}
