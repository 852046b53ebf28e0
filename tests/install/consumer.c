/* consumer.c - an external program, built against an installed heed */
#include <heed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    float q[4] = { 1, 0, 0, 0 }, k[4] = { 0, 1, 0, 0 }, v[4] = { 1, 2, 3, 4 }, o[4] = { 0 };
    heed_context *context = NULL;
    heed_plan *plan = NULL;
    heed_problem problem;
    heed_options options = { .size = sizeof options };
    options.threads = 1;

    if (heed_context_create(&context, &options) != HEED_OK ||
        heed_problem_parse(&problem, "b1 h1 s1 d4 f32") != HEED_OK ||
        heed_plan_create_named(&plan, context, &problem, "fwd_any_scalar_row") != HEED_OK) {
        fprintf(stderr, "%s\n", heed_message());
        return 1;
    }
    heed_buffers buffers = { .size = sizeof buffers, .q = q, .k = k, .v = v, .o = o };
    buffers.workspace_size = heed_plan_workspace_size(plan);
    if (posix_memalign(&buffers.workspace, HEED_ALIGNMENT, buffers.workspace_size))
        return 1;
    heed_status status = heed_execute(plan, &buffers);
    free(buffers.workspace);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    /* With a single key the output is V. */
    if (status != HEED_OK || memcmp(o, v, sizeof v) != 0) {
        fprintf(stderr, "%s: %g %g %g %g\n", heed_message(), o[0], o[1], o[2], o[3]);
        return 1;
    }
    puts(heed_version());
    return strcmp(heed_version(), HEED_VERSION_STRING) != 0;
}
