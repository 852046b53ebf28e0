/*
 * doctor_software.c - the checks of `heed doctor` that look at libheed and wisdom
 */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "measure/environment.h"

/* One query that sees one key: O must be V, bit by bit. */
static heed_status probe(heed_context *context, bool *right)
{
    enum {
        DIM = 64
    };
    _Alignas(HEED_ALIGNMENT) float tensor[DIM], o[DIM] = { 0 };
    heed_problem problem;
    heed_plan *plan;

    *right = false;
    for (int i = 0; i < DIM; i++)
        tensor[i] = (float)i / 8 - 4;
    heed_status status = heed_problem_parse(&problem, "b1 h1 s1 d64 f32");
    if (status == HEED_OK)
        status = heed_plan_create(&plan, context, &problem, HEED_ESTIMATE);
    if (status != HEED_OK)
        return status;
    size_t size = heed_plan_workspace_size(plan);
    void *workspace = aligned_alloc(HEED_ALIGNMENT,
                                    size / HEED_ALIGNMENT * HEED_ALIGNMENT + HEED_ALIGNMENT);
    if (workspace) {
        heed_buffers buffers = { .q = tensor,
                                 .k = tensor,
                                 .v = tensor,
                                 .o = o,
                                 .workspace = workspace,
                                 .workspace_size = size };
        status = heed_execute(plan, &buffers);
        *right = memcmp(o, tensor, sizeof o) == 0;
    }
    free(workspace);
    heed_plan_destroy(plan);
    return status;
}

void doctor_check_library(doctor_report *report)
{
    lab_environment environment;
    heed_context *context;
    bool right;

    lab_environment_read(&environment);
    doctor_say(report, DOCTOR_OK, "heed", NULL, "%s, commit %s, %s", heed_version(),
               environment.commit, environment.compiler);
    heed_status status = heed_context_create(&context, NULL);
    if (status != HEED_OK) {
        doctor_say(report, DOCTOR_FAIL, "kernels", "See the line that names the reason below",
                   "no context: %s", heed_message());
        return;
    }
    status = probe(context, &right);
    if (status != HEED_OK)
        doctor_say(report, DOCTOR_FAIL, "kernels", "Report this as a bug",
                   "a known answer could not be computed: %s", heed_message());
    else if (!right)
        doctor_say(report, DOCTOR_FAIL, "kernels",
                   "Report this as a bug, with the output of 'heed verify'",
                   "a known answer came out wrong");
    else
        doctor_say(report, DOCTOR_OK, "kernels", NULL, "a known answer came out right");
    heed_context_destroy(context);
}

void doctor_check_wisdom(doctor_report *report)
{
    const char *path = cli_args_text(report->args, "wisdom");
    heed_context *context;
    size_t taken = 0, skipped = 0;
    if (!path)
        return;
    heed_status status = heed_context_create(&context, NULL);
    if (status == HEED_OK)
        status = heed_wisdom_load(context, path, &taken, &skipped);
    if (status != HEED_OK)
        doctor_say(report, DOCTOR_FAIL, "wisdom",
                   "Remove the file and measure again: heed plan --effort measure --wisdom FILE",
                   "%s", heed_message());
    else if (skipped)
        doctor_say(report, DOCTOR_WARN, "wisdom",
                   "Measure again into a new file: heed plan --effort measure --wisdom FILE",
                   "%s: %zu lines fit, %zu do not; the last one: %s", path, taken, skipped,
                   heed_message());
    else
        doctor_say(report, DOCTOR_OK, "wisdom", NULL, "%s: all %zu lines fit this machine", path,
                   taken);
    heed_context_destroy(context);
}
