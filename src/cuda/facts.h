/*
 * facts.h - how the code of a CUDA kernel is made and launched
 *
 * The facts of a kernel in a config for a problem, before anything is compiled: enough to
 * compile it for any architecture and to tell whether a device can hold it, without a device.
 */
#ifndef HEED_CUDA_FACTS_H
#define HEED_CUDA_FACTS_H

#include "jit.h"
#include "launch.h"

struct heed_cuda_facts {
    char name[HEED_NAME_SIZE]; /* of kernel and config; heed_cuda_facts_find() fills it in */
    double seconds;            /* predicted, on the best known device; so does it with the rest */
    double roofline;           /* seconds that it cannot go below there, see gpu.h */
    char device[64];           /* its name */
    const char *unworthy;      /* why planning would not choose the config there; NULL: it could */
    const char *source;        /* name of an embedded source */
    heed_define defines[HEED_DEFINES_MAX];
    int define_count;
    heed_problem problem; /* the source includes its program.cuh, if @steps */
    bool steps;
    heed_launch_facts launch;
};

/* heed_cuda_facts_find() fills @facts for the kernel @name, with or without a config, on the best
 * known device of architecture @arch; without a config for the one that the cost model likes best
 * there. Returns HEED_OK; HEED_ERR_INVALID for a bad @problem or if there is no such kernel or
 * config; HEED_ERR_UNSUPPORTED, with the reason, if it is no CUDA kernel or cannot do the problem
 * there, or the architecture's limits are not known. */
heed_status heed_cuda_facts_find(const char *name, const heed_problem *problem, int arch,
                                 heed_cuda_facts *facts);

/* heed_cuda_facts_for() is the same for the device @gpu, which need not be there (gpu.h). */
heed_status heed_cuda_facts_for(const char *name, const heed_problem *problem, const heed_gpu *gpu,
                                heed_cuda_facts *facts);

/* heed_plan_create_foreign() makes a plan for @problem out of a kernel that is not built in:
 * @cubin, compiled for the device of @context, which is launched as @launch says, with the
 * arguments that built-in kernels get, and answers for @name, HEED_NAME_SIZE - 1 letters of it at
 * most. Returns as heed_plan_create() does. None of these is needed after that. */
heed_status heed_plan_create_foreign(heed_plan **plan, heed_context *context,
                                     const heed_problem *problem, const char *name,
                                     const heed_launch_facts *launch, const heed_cubin *cubin);

/* heed_cuda_facts_define() sets the macros that say what @problem is to every kernel (head dims,
 * mask, what changes logits), and @count others, HEED_DEFINES_MAX in all at most. Returns HEED_OK;
 * HEED_ERR_UNSUPPORTED if its steps are too long a text; HEED_ERR_NO_MEMORY. */
heed_status heed_cuda_facts_define(heed_cuda_facts *facts, const heed_problem *problem,
                                   const heed_define *defines, size_t count);

/* heed_cuda_facts_build() returns the compilation that @facts describes for @arch; it points into
 * @facts. */
heed_build heed_cuda_facts_build(const heed_cuda_facts *facts, int arch);

#endif /* HEED_CUDA_FACTS_H */
