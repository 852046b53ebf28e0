/*
 * profile_plan.c - the profiled plan: of a built-in kernel, or of a source that replaces it
 */
#include <stdlib.h>

#include "profile.h"
#include "src/cuda/facts.h"
#include "src/device.h"
#include "src/message.h"

#define SOURCE_MAX (INT64_C(1) << 20)

static heed_status plan_built_in(const char *kernel, heed_context *context,
                                 const heed_problem *problem, heed_plan **plan)
{
    return kernel ? heed_plan_create_named(plan, context, problem, kernel)
                  : heed_plan_create(plan, context, problem, HEED_ESTIMATE);
}

/* Compiles @text as the source of the kernel and config @name, and launches it like that. */
static heed_status plan_text(heed_plan **plan, heed_context *context, const heed_problem *problem,
                             const char *name, const char *text)
{
    int arch = heed_device_arch(context);
    heed_cuda_facts facts;
    heed_cubin cubin;
    heed_status status = heed_cuda_facts_find(name, problem, arch, &facts);
    if (status != HEED_OK)
        return status;
    heed_build build = heed_cuda_facts_build(&facts, arch);
    build.fresh = true; /* it may include files that have changed */
    status = heed_jit_build_text(&build, text, &cubin);
    if (status != HEED_OK)
        return status;
    status = heed_plan_create_foreign(plan, context, problem, facts.name, &facts.launch, &cubin);
    heed_cubin_free(&cubin);
    return status;
}

profile_subject profile_subject_read(const cli_args *args)
{
    return (profile_subject){ .kernel = cli_args_text(args, "kernel"),
                              .source = cli_args_text(args, "source") };
}

heed_status profile_plan(const profile_subject *subject, heed_context *context,
                         const heed_problem *problem, heed_plan **plan)
{
    const char *path = subject->source;
    char *text = NULL;
    if (!path)
        return plan_built_in(subject->kernel, context, problem, plan);
    *plan = NULL;
    if (heed_device_is_host(context))
        return heed_fail(HEED_ERR_INVALID, "--source: '%s' is for a GPU, and the device is a CPU",
                         path);
    heed_plan *model = NULL;
    lab_error error;
    size_t size;
    heed_status status = cli_read_text(path, SOURCE_MAX, &text, &size, &error);
    status = status == HEED_OK ? HEED_OK : heed_fail(status, "--source: %s", error.text);
    if (status == HEED_OK)
        status = plan_built_in(subject->kernel, context, problem, &model);
    if (status == HEED_OK)
        status = plan_text(plan, context, problem, heed_plan_name(model), text);
    heed_plan_destroy(model);
    free(text);
    return status;
}
