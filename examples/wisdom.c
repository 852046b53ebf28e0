/*
 * wisdom.c - plans from saved wisdom, and measures only where it has none
 *
 * Plans a problem from the wisdom in a file. If that has no line for the problem on this machine,
 * it measures and writes the file, so that the next run, or another program, starts with the
 * fastest kernel at once. 'heed tune --wisdom FILE SPEC' makes better wisdom, since it searches and
 * verifies.
 *
 *     cc wisdom.c -o wisdom $(pkg-config --cflags --libs heed)
 *     ./wisdom heed.wisdom "b1 h8 s512 d64 f32"
 */
#include <stdio.h>
#include <unistd.h>

#include "heed.h"

static int fail(const char *what)
{
    fprintf(stderr, "wisdom: %s: %s\n", what, heed_message());
    return 1;
}

/* Lines of another machine or build are skipped, which is not an error. */
static heed_status load(heed_context *context, const char *path)
{
    size_t taken = 0, skipped = 0;
    if (access(path, F_OK) != 0)
        return HEED_OK;
    heed_status status = heed_wisdom_load(context, path, &taken, &skipped);
    if (status == HEED_OK && skipped > 0)
        fprintf(stderr, "wisdom: %zu not for here; the last line: %s\n", skipped, heed_message());
    return status;
}

/* Plans from wisdom, or else by measuring, and then saves the result. */
static int plan_wisely(heed_context *context, const heed_problem *problem, const char *path)
{
    heed_plan *plan;
    heed_status status = heed_plan_create(&plan, context, problem, HEED_WISDOM_ONLY);
    int known = status == HEED_OK;
    if (status == HEED_ERR_NO_WISDOM)
        status = heed_plan_create(&plan, context, problem, HEED_MEASURE);
    if (status != HEED_OK)
        return fail("plan");
    printf("%s %s\n", known ? "remembered" : "measured", heed_plan_name(plan));
    heed_plan_destroy(plan);
    if (!known && heed_wisdom_save(context, path) != HEED_OK)
        return fail(path);
    return 0;
}

int main(int argc, char **argv)
{
    heed_problem problem;
    heed_context *context;
    if (argc < 2) {
        fprintf(stderr, "usage: wisdom FILE [SPEC]\n");
        return 2;
    }
    if (heed_problem_parse(&problem, argc > 2 ? argv[2] : "b1 h8 s512 d64 f32") != HEED_OK)
        return fail("problem");
    if (heed_context_create(&context, NULL) != HEED_OK)
        return fail("context");
    int result = load(context, argv[1]) == HEED_OK ? plan_wisely(context, &problem, argv[1])
                                                   : fail("load");
    heed_context_destroy(context);
    return result;
}
