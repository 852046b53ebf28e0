/*
 * inspect_kernels.c - the library's own kernels, compiled for problems
 */
#include <string.h>

#include "inspect.h"
#include "src/cuda/facts.h"
#include "src/cuda/gpu.h"
#include "src/device.h"
#include "src/message.h"

/* The compilation in progress. */
typedef struct compilation {
    inspect_job *job;
    const heed_problem *problem;
    char spec[HEED_SPEC_SIZE];
    int arch;
    heed_context *context; /* of --device; NULL: compiles for an architecture */
    bool named;            /* by --kernel: then a problem that is not supported is refused */
    bool only;             /* there is no other problem or architecture */
    size_t rows;
} compilation;

static cli_exit compile(compilation *work, const heed_cuda_facts *facts)
{
    heed_cubin code;
    const heed_build build = heed_cuda_facts_build(facts, work->arch);
    heed_status status = heed_jit_build(&build, &code);
    cli_exit result;
    if (status != HEED_OK)
        result = cli_fail(status, facts->name);
    else if (code.ptx) {
        cli_error("this NVRTC makes no machine code for sm_%d", work->arch);
        result = CLI_ENVIRONMENT;
    } else {
        const lab_code_subject subject = { .name = facts->name,
                                           .spec = work->spec,
                                           .device = facts->device,
                                           .predicted = facts->seconds,
                                           .roofline = facts->roofline,
                                           .data = code.data,
                                           .size = code.size,
                                           .log = code.log,
                                           .entry = facts->launch.entry,
                                           .threads = facts->launch.threads,
                                           .dynamic = facts->launch.smem,
                                           .opts_in = true,
                                           .wants_tensor = work->problem->type != HEED_F32 };
        result = inspect_add(work->job, &subject);
        work->rows++;
    }
    heed_cubin_free(&code);
    return result;
}

/* A problem that is not supported is an error if it is the only one; else it is left out. */
static cli_exit refuse(const compilation *work, heed_status status)
{
    if (status != HEED_ERR_UNSUPPORTED || work->only)
        return cli_fail(status, work->spec);
    cli_warning("%s: left out on sm_%d: %s", work->spec, work->arch, heed_message());
    return CLI_OK;
}

/* Inspects a kernel, with or without a config. A kernel that was not requested by name is skipped
 * if it does not support the problem. */
static cli_exit inspect_kernel(compilation *work, const char *name)
{
    heed_cuda_facts facts;
    heed_status status = heed_cuda_facts_find(name, work->problem, work->arch, &facts);
    if (!work->named && (status == HEED_ERR_UNSUPPORTED || (status == HEED_OK && facts.unworthy)))
        return CLI_OK;
    return status == HEED_OK ? compile(work, &facts) : refuse(work, status);
}

/* Inspects all configs of the @index-th kernel that planning would consider. */
static cli_exit inspect_configs(compilation *work, size_t index)
{
    char name[HEED_NAME_SIZE];
    cli_exit code = CLI_OK;
    bool named = work->named;
    work->named = false;
    for (size_t i = 0; code == CLI_OK && heed_kernel_config(index, i, name, sizeof name) == HEED_OK;
         i++)
        code = cli_interrupted() ? CLI_INTERRUPTED : inspect_kernel(work, name);
    work->named = named;
    return code;
}

/* Inspects the kernel and config of a plan on the device. */
static cli_exit inspect_plan(compilation *work)
{
    heed_plan *plan;
    char name[HEED_NAME_SIZE];
    heed_status status = heed_plan_create(&plan, work->context, work->problem, HEED_ESTIMATE);
    if (status != HEED_OK)
        return refuse(work, status);
    snprintf(name, sizeof name, "%s", heed_plan_name(plan));
    heed_plan_destroy(plan);
    work->named = true;
    return inspect_kernel(work, name);
}

static cli_exit inspect_problem(compilation *work)
{
    const cli_args *args = work->job->args;
    const char *wanted = cli_args_text(args, "kernel");
    bool all = strcmp(cli_args_text(args, "configs"), "shipped") == 0;
    cli_exit code = CLI_OK;
    work->named = wanted != NULL;
    work->rows = 0;
    if (work->context && !wanted && !all)
        return inspect_plan(work);
    if (wanted && (!all || strstr(wanted, "__")))
        return inspect_kernel(work, wanted);
    for (size_t i = 0; code == CLI_OK && heed_kernel_name(i); i++)
        if (!wanted || strcmp(wanted, heed_kernel_name(i)) == 0)
            code = all ? inspect_configs(work, i) : inspect_kernel(work, heed_kernel_name(i));
    if (code != CLI_OK || work->rows > 0)
        return code;
    heed_gpu gpu;
    if (!heed_gpu_arch(&gpu, work->arch))
        heed_note("heed knows no device of sm_%d to choose configs for; sm_80, sm_86, sm_89, sm_90 "
                  "and sm_100 have one, and sources are compiled for others too",
                  work->arch);
    else
        heed_note("no CUDA kernel supports it on sm_%d", work->arch);
    return refuse(work, HEED_ERR_UNSUPPORTED);
}

static cli_exit inspect_problems(inspect_job *job, const lab_problems *problems,
                                 heed_context *context, const int *archs, size_t count)
{
    cli_exit code = CLI_OK;
    lab_progress progress = lab_progress_start(&cli_sink, "inspect", problems->count * count);
    for (size_t i = 0; i < problems->count * count && code == CLI_OK; i++) {
        compilation work = { .job = job,
                             .problem = &problems->items[i / count],
                             .context = context,
                             .arch = archs[i % count],
                             .only = problems->count * count == 1 };
        heed_problem_print(work.problem, work.spec, sizeof work.spec);
        lab_progress_step(&progress, i, work.spec);
        code = cli_interrupted() ? CLI_INTERRUPTED : inspect_problem(&work);
    }
    lab_progress_end(&progress);
    if (code != CLI_OK || job->list.count > 0)
        return code;
    cli_error("none of the problems is supported; the last: %s", heed_message());
    return CLI_UNSUPPORTED;
}

static cli_exit inspect_device(inspect_job *job, const lab_problems *problems)
{
    heed_context *context;
    if (cli_args_list_count(job->args, "arch") > 0) {
        cli_error("--device and --arch exclude each other: a device has one architecture");
        return CLI_USAGE;
    }
    heed_options options = { .size = sizeof options, .device = cli_device(job->args) };
    heed_status status = cli_context_create(&context, &options);
    if (status != HEED_OK)
        return cli_fail(status, NULL);
    cli_exit code = CLI_OK;
    int arch = heed_device_arch(context);
    if (arch == 0) {
        cli_error("--device %s: only kernels of GPUs are compiled so that they can be inspected",
                  cli_device(job->args));
        code = CLI_UNSUPPORTED;
    } else
        code = inspect_problems(job, problems, context, &arch, 1);
    heed_context_destroy(context);
    return code;
}

cli_exit inspect_kernels(inspect_job *job)
{
    lab_problems problems;
    int archs[INSPECT_ARCHS_MAX];
    size_t count = 0;
    cli_exit code = cli_problems_read(&problems, job->args);
    if (code == CLI_OK)
        code = cli_kernel_check(job->args);
    if (code == CLI_OK && cli_args_given(job->args, "device"))
        code = inspect_device(job, &problems);
    else if (code == CLI_OK) {
        code = inspect_archs(job->args, archs, INSPECT_ARCHS_MAX, &count);
        if (code == CLI_OK)
            code = inspect_problems(job, &problems, NULL, archs, count);
    }
    cli_problems_free(&problems);
    return code;
}
