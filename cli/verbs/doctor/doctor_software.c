/*
 * doctor_software.c - checks of `heed doctor`: libheed and wisdom
 */
#include <string.h>

#include "base/plural.h"
#include "doctor.h"
#include "src/device.h"

enum {
    DIM = 64
};

/* The probe's memory on the device: one block for Q, K and V, O, and a workspace. */
typedef struct probe_memory {
    void *tensor, *o, *workspace;
} probe_memory;

static heed_status execute(heed_context *context, const heed_plan *plan, probe_memory *memory,
                           const float *values, float *o)
{
    const size_t bytes = DIM * sizeof *values;
    size_t size = heed_plan_workspace_size(plan);
    heed_status status = heed_device_allocate(context, bytes, &memory->tensor);
    if (status == HEED_OK)
        status = heed_device_allocate(context, bytes, &memory->o);
    if (status == HEED_OK)
        status = heed_device_allocate(context, size, &memory->workspace);
    if (status == HEED_OK)
        status = heed_device_upload(context, memory->tensor, values, bytes);
    if (status == HEED_OK)
        status = heed_execute(plan, &(heed_buffers){ .size = sizeof(heed_buffers),
                                                     .q = memory->tensor,
                                                     .k = memory->tensor,
                                                     .v = memory->tensor,
                                                     .o = memory->o,
                                                     .workspace = memory->workspace,
                                                     .workspace_size = size });
    if (status == HEED_OK)
        status = heed_device_wait(context);
    if (status == HEED_OK)
        status = heed_device_download(context, o, memory->o, bytes);
    return status;
}

/* One query that sees one key: O must equal V bit for bit. */
static heed_status compute(heed_context *context, bool *right)
{
    float values[DIM], o[DIM] = { 0 };
    probe_memory memory = { NULL, NULL, NULL };
    heed_problem problem;
    heed_plan *plan;

    for (int i = 0; i < DIM; i++)
        values[i] = (float)i / 8 - 4;
    heed_status status = heed_problem_parse(&problem, "b1 h1 s1 d64 f32");
    if (status == HEED_OK)
        status = heed_plan_create(&plan, context, &problem, HEED_ESTIMATE);
    if (status != HEED_OK)
        return status;
    status = execute(context, plan, &memory, values, o);
    *right = memcmp(o, values, sizeof o) == 0;
    heed_device_free(context, memory.workspace);
    heed_device_free(context, memory.o);
    heed_device_free(context, memory.tensor);
    heed_plan_destroy(plan);
    return status;
}

void doctor_probe(doctor_report *report, const char *name, const char *fix, heed_context *context)
{
    bool right = false;
    if (!context || compute(context, &right) != HEED_OK)
        doctor_say(report, DOCTOR_FAIL, name, fix, "a known answer could not be computed: %s",
                   heed_message());
    else if (!right)
        doctor_say(report, DOCTOR_FAIL, name,
                   "Report this as a bug, with the output of 'heed verify'",
                   "a known answer came out wrong");
    else
        doctor_say(report, DOCTOR_OK, name, NULL, "a known answer came out right");
}

void doctor_check_library(doctor_report *report)
{
    heed_context *context;
    const heed_options options = { .size = sizeof options, .device = "cpu" };
    doctor_say(report, DOCTOR_OK, "heed", NULL, "%s, commit %s, %s", heed_version(),
               report->around.commit, report->around.compiler);
    heed_status status = heed_context_create(&context, &options);
    if (status != HEED_OK) {
        doctor_say(report, DOCTOR_FAIL, "kernels", "See the line that names the reason below",
                   "no context: %s", heed_message());
        return;
    }
    doctor_probe(report, "kernels", "Report this as a bug", context);
    heed_context_destroy(context);
}

void doctor_check_wisdom(doctor_report *report)
{
    const char *path = cli_args_text(report->args, "wisdom");
    heed_context *context;
    size_t taken = 0, skipped = 0;
    if (!path)
        return;
    lab_error error;
    heed_options options = cli_machine(report->args);
    heed_status status = cli_context_create(&context, &options);
    if (status != HEED_OK) {
        doctor_say(report, DOCTOR_FAIL, "wisdom", "Correct or unset HEED_DEVICE and HEED_CPU",
                   "no context: %s", heed_message());
        return;
    }
    status = cli_wisdom_load(context, path, &taken, &skipped, &error);
    if (status != HEED_OK)
        doctor_say(report, DOCTOR_FAIL, "wisdom",
                   "Remove the file and measure again: heed plan --effort measure --wisdom FILE",
                   "%s", error.text);
    else if (skipped)
        doctor_say(report, DOCTOR_WARN, "wisdom",
                   "Measure again into a new file: heed plan --effort measure --wisdom FILE",
                   "%s: %zu of %zu line%s fit; the last one that does not: %s", path, taken,
                   taken + skipped, lab_plural((long long)taken + (long long)skipped),
                   heed_message());
    else
        doctor_say(report, DOCTOR_OK, "wisdom", NULL, "%s: %zu line%s, all for this machine", path,
                   taken, lab_plural(taken));
    heed_context_destroy(context);
}
