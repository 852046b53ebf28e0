/*
 * profile_counters.c - the hardware counters of every problem, or of a recording
 */
#include <stdlib.h>

#include "profile.h"
#include "src/device.h"

#define RECORDING_MAX (INT64_C(64) << 20) /* bytes */

static void judge(profile_row *row)
{
    row->known = true;
    row->verdict = lab_profile_judge(&row->profile, row->gates);
}

/* -------------------------------------------------------------------------- */
/* A recording                                                                */
/* -------------------------------------------------------------------------- */

static cli_exit read_recording(profile_job *job, const char *path)
{
    lab_error error;
    profile_row *row = &job->rows[0];
    char *text;
    size_t size;
    heed_status status = cli_read_text(path, RECORDING_MAX, &text, &size, &error);
    if (status != HEED_OK) {
        cli_error("--read: %s", error.text);
        return cli_exit_of(status);
    }
    const lab_profile_trouble *known = lab_profile_trouble_in(text);
    status = lab_profile_read(&row->profile, text, NULL, &error);
    free(text);
    job->count = 1;
    if (status == HEED_OK) {
        judge(row);
    } else if (known) {
        snprintf(row->trouble.reason, sizeof row->trouble.reason, "%s", known->reason);
        row->trouble.fix = known->fix;
    } else {
        cli_error("--read: '%s': %s", path, error.text);
        job->count = 0;
        return cli_exit_of(status);
    }
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* Problems                                                                   */
/* -------------------------------------------------------------------------- */

/* The device, as seen by a plan for it: it is not used while ncu runs on it. */
typedef struct target {
    bool host;
    int arch;
    char name[64];
} target;

/* Writes the planned kernels, and the facts of the device. */
static cli_exit plan_all(profile_job *job, const cli_args *args, const lab_problems *problems,
                         target *device)
{
    heed_context *context;
    cli_exit code = cli_context_open(&context, args);
    if (code != CLI_OK)
        return code;
    device->host = heed_device_is_host(context);
    device->arch = heed_device_arch(context);
    snprintf(device->name, sizeof device->name, "%s", heed_context_device(context));
    for (size_t i = 0; i < problems->count && code == CLI_OK; i++) {
        profile_row *row = &job->rows[i];
        heed_plan *plan;
        heed_problem_print(&problems->items[i], row->spec, sizeof row->spec);
        heed_status status = profile_plan(args, context, &problems->items[i], &plan);
        if (status != HEED_OK)
            code = cli_fail(status, row->spec);
        snprintf(row->kernel, sizeof row->kernel, "%s", heed_plan_name(plan));
        heed_plan_destroy(plan);
        job->count += code == CLI_OK;
    }
    heed_context_destroy(context);
    return code;
}

/* Adds the options of this verb to the advice of the laboratory. */
static void name_options(lab_ncu_trouble *trouble)
{
    static const char *const fixes[LAB_NCU_KINDS] = {
        [LAB_NCU_ABSENT] = "install Nsight Compute, a part of the CUDA toolkit, or name its file "
                           "with --ncu FILE",
        [LAB_NCU_LATE] = "check whether another ncu uses the device; --timeout gives more time",
    };
    if (fixes[trouble->kind])
        trouble->fix = fixes[trouble->kind];
}

static cli_exit count(profile_job *job, profile_row *row, const target *device)
{
    const lab_ncu_question question = {
        .ncu = job->ncu,
        .device = cli_device(job->args),
        .kernel = row->kernel,
        .source = cli_args_text(job->args, "source"),
        .spec = row->spec,
        .arch = device->arch,
        .keep_caches = job->keep_caches,
        .seconds = cli_args_real(job->args, "timeout"),
        .sink = &cli_sink,
    };
    if (lab_ncu_count(&question, &row->profile, &row->trouble))
        judge(row);
    else
        name_options(&row->trouble);
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

static cli_exit count_all(profile_job *job, const char *wish, const target *device)
{
    lab_ncu_trouble trouble = { .fix = NULL };
    cli_exit code = CLI_OK;
    bool able = lab_ncu_find(wish, job->ncu, sizeof job->ncu, &trouble);
    if (!able)
        name_options(&trouble);
    if (device->host) {
        able = false;
        trouble = (lab_ncu_trouble){ .reason = "a CPU has no such counters",
                                     .fix = "use --device cuda; --scaling and --timeline work "
                                            "on a CPU" };
    }
    lab_progress progress = lab_progress_start(&cli_sink, "profile", job->count);
    for (size_t i = 0; i < job->count && code == CLI_OK; i++) {
        lab_progress_step(&progress, i, job->rows[i].spec);
        if (able)
            code = count(job, &job->rows[i], device);
        else
            job->rows[i].trouble = trouble;
    }
    lab_progress_end(&progress);
    return code;
}

static cli_exit profile_problems(profile_job *job, const cli_args *args)
{
    lab_problems problems;
    target device = { .host = true };
    cli_exit code = cli_problems_read(&problems, args);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    job->rows = code == CLI_OK ? calloc(problems.count, sizeof *job->rows) : NULL;
    if (code == CLI_OK && !job->rows)
        code = CLI_ENVIRONMENT;
    if (code == CLI_OK)
        code = plan_all(job, args, &problems, &device);
    snprintf(job->device, sizeof job->device, "%s", device.name);
    if (code == CLI_OK)
        code = count_all(job, cli_args_text(args, "ncu"), &device);
    cli_problems_free(&problems);
    return code;
}

cli_exit profile_counters(const cli_args *args)
{
    profile_job job = { .args = args, .keep_caches = cli_args_choice(args, "caches") == 1 };
    const char *recording = cli_args_text(args, "read");
    cli_exit code = CLI_OK;
    if (recording && cli_args_operand_count(args) > 0) {
        cli_error("--read reads a recording, and takes no problem");
        return CLI_USAGE;
    }
    job.recorded = recording != NULL;
    if (recording) {
        job.rows = calloc(1, sizeof *job.rows);
        code = job.rows ? read_recording(&job, recording) : CLI_ENVIRONMENT;
    } else {
        code = profile_problems(&job, args);
    }
    if (code == CLI_OK)
        code = profile_report(&job);
    if (code == CLI_OK)
        code = profile_report_exit(&job);
    free(job.rows);
    return code;
}
