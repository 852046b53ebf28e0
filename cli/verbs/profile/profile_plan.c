/*
 * profile_plan.c - the plan that is profiled: a built-in kernel's, or of a source in its place
 */
#include <stdlib.h>

#include "base/file.h"
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
    build.fresh = true; /* it may include files that change */
    status = heed_jit_build_text(&build, text, &cubin);
    if (status != HEED_OK)
        return status;
    status = heed_plan_create_foreign(plan, context, problem, facts.name, &facts.launch, &cubin);
    heed_cubin_free(&cubin);
    return status;
}

/* Reads @path into a new text. */
static heed_status read_source(const char *path, char **text)
{
    lab_error error;
    FILE *file;
    *text = NULL;
    heed_status status = lab_file_open_whole(&file, path, &error);
    if (status != HEED_OK)
        return heed_fail(status, "%s", error.text);
    int64_t left = lab_file_left(file);
    if (left < 0 || left > SOURCE_MAX)
        status = lab_fail(&error, HEED_ERR_INVALID,
                          "%s: a source must be a regular file of at most %lld bytes", path,
                          (long long)SOURCE_MAX);
    else if (!(*text = calloc((size_t)left + 1, 1)))
        status = lab_fail(&error, HEED_ERR_NO_MEMORY, "%s: no memory to read it", path);
    else
        status = lab_file_read(file, path, "a source", *text, (size_t)left, &error);
    fclose(file);
    return status == HEED_OK ? HEED_OK : heed_fail(status, "%s", error.text);
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
    heed_status status = read_source(path, &text);
    if (status == HEED_OK)
        status = plan_built_in(subject->kernel, context, problem, &model);
    if (status == HEED_OK)
        status = plan_text(plan, context, problem, heed_plan_name(model), text);
    heed_plan_destroy(model);
    free(text);
    return status;
}
