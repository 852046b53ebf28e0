/*
 * facts.h - how the code of a CUDA kernel is compiled and launched
 *
 * The facts of a kernel in a config for a problem, before anything is compiled: enough, without a
 * device, to compile it for any architecture and to check whether a device can run it.
 */
#ifndef HEED_CUDA_FACTS_H
#define HEED_CUDA_FACTS_H

#include "jit.h"
#include "launch.h"

struct heed_cuda_facts {
    char name[HEED_NAME_SIZE]; /* of kernel and config; set by heed_cuda_facts_find() */
    double seconds;            /* predicted, on the best known device; set by it, like the next
                                  three */
    double roofline;           /* lower bound in seconds there, see gpu.h */
    char device[64];           /* its name */
    const char *unworthy;      /* why planning would not choose the config there; NULL: it might */
    const char *source;        /* name of an embedded source */
    heed_define defines[HEED_DEFINES_MAX];
    int define_count;
    heed_problem problem; /* if @steps, the source includes its program.cuh */
    bool steps;
    heed_launch_facts launch;
};

/* heed_cuda_facts_find() fills @facts for the kernel @name, with or without a config, on the best
 * known device of architecture @arch; without a config for the one that the cost model ranks best
 * there. Returns HEED_OK; HEED_ERR_INVALID for a bad @problem or if there is no such kernel or
 * config; HEED_ERR_UNSUPPORTED, with the reason, if it is not a CUDA kernel or cannot run the
 * problem there, or the architecture's limits are unknown. */
heed_status heed_cuda_facts_find(const char *name, const heed_problem *problem, int arch,
                                 heed_cuda_facts *facts);

/* heed_cuda_facts_for() is the same for the device @gpu, which need not be present (gpu.h). */
heed_status heed_cuda_facts_for(const char *name, const heed_problem *problem, const heed_gpu *gpu,
                                heed_cuda_facts *facts);

/* heed_plan_create_foreign() makes a plan for @problem with a kernel that is not built in: @cubin,
 * compiled for the device of @context and launched according to @launch, with the arguments of
 * built-in kernels. The plan's name is @name, at most HEED_NAME_SIZE - 1 characters. Returns the
 * same as heed_plan_create(). The arguments need not outlive the call. */
heed_status heed_plan_create_foreign(heed_plan **plan, heed_context *context,
                                     const heed_problem *problem, const char *name,
                                     const heed_launch_facts *launch, const heed_cubin *cubin);

/* heed_cuda_facts_define() sets the macros that describe @problem to every kernel (head dims, mask,
 * changes of logits), and @count others, at most HEED_DEFINES_MAX in total. Returns HEED_OK;
 * HEED_ERR_UNSUPPORTED if the text of its steps is too long; HEED_ERR_NO_MEMORY. */
heed_status heed_cuda_facts_define(heed_cuda_facts *facts, const heed_problem *problem,
                                   const heed_define *defines, size_t count);

/* heed_cuda_facts_build() returns the compilation that @facts describes for @arch; it points into
 * @facts. */
heed_build heed_cuda_facts_build(const heed_cuda_facts *facts, int arch);

#endif /* HEED_CUDA_FACTS_H */
