/*
 * sweep.c - finds the fastest config of a kernel on a problem, with the laboratory as a library
 *
 * Searches a space of configs on the CPU, and prints every timed point and the best one. It stores
 * nothing, whereas `heed sweep` stores trials on a board and verifies the best. The program is
 * built in heed's tree, where the laboratory is a static library (lab/).
 *
 *     ./sweep spaces/cpu_tile.txt "b1 h2 s128 d64 f32" 12
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "heed.h"
#include "lab/sweep/sweep.h"

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "sweep: %s: %s\n", what, why);
    return 1;
}

static void tried(void *data, const lab_try *one, const lab_try *best)
{
    const lab_sweep *sweep = data;
    const lab_point point = lab_space_at(&sweep->space, one->index);
    char name[HEED_NAME_SIZE];
    (void)best;
    lab_space_name(&sweep->space, &point, sweep->kernel, name, NULL);
    if (one->state == LAB_STATE_TIMED)
        printf("%s: %.3g us\n", name, 1e6 * exp(one->score));
    else
        printf("%s: %s: %s\n", name, lab_state_name(one->state), one->why);
}

static int print_best(const lab_sweep *sweep)
{
    const lab_try *best = lab_search_get(sweep->search).best;
    char name[HEED_NAME_SIZE];
    if (!best)
        return fail(sweep->space.name, "nothing ran");
    const lab_point point = lab_space_at(&sweep->space, best->index);
    lab_space_name(&sweep->space, &point, sweep->kernel, name, NULL);
    printf("best: %s, %.3g us; heed plans %s\n", name, 1e6 * exp(best->score),
           sweep->shapes[0].usual);
    return 0;
}

static int search(lab_sweep *sweep, int64_t trials)
{
    const lab_evaluator evaluator = lab_sweep_evaluator(sweep);
    const lab_search_options options = { .trials = trials, .tried = tried, .data = sweep };
    lab_error error;
    lab_sweep_find_usual(sweep);
    if (lab_search_run(&sweep->search, &sweep->space, &evaluator, &options, &error) != HEED_OK)
        return fail(sweep->space.name, error.text);
    return print_best(sweep);
}

/* The first kernel of the space that runs here. */
static heed_status choose_kernel(lab_sweep *sweep)
{
    heed_status status = HEED_ERR_UNSUPPORTED;
    for (int i = 0; i < sweep->space.kernel_count && status != HEED_OK; i++) {
        snprintf(sweep->kernel, sizeof sweep->kernel, "%s", sweep->space.kernels[i]);
        status = lab_sweep_kernel_runs(sweep->context, sweep->problems.items, sweep->kernel);
    }
    return status;
}

int main(int argc, char **argv)
{
    const heed_options options = { .size = sizeof options, .threads = 1, .device = "cpu" };
    heed_problem problem;
    lab_sweep sweep = { .problems = { &problem, 1 }, .threads = 1 };
    lab_error error;
    int result = 1;
    const int64_t trials = argc == 4 ? atoll(argv[3]) : 0;
    if (trials < 1) {
        fprintf(stderr, "usage: sweep SPACE SPEC TRIALS, 1 or more\n");
        return 2;
    }
    if (heed_problem_parse(&problem, argv[2]) != HEED_OK)
        return fail(argv[2], heed_message());
    sweep.shapes = calloc(1, sizeof *sweep.shapes);
    if (!sweep.shapes)
        return fail("shapes", "no memory");
    heed_problem_normalize(&sweep.shapes[0].source.problem, &problem);
    if (lab_space_load(&sweep.space, argv[1], &error) != HEED_OK)
        fail("space", error.text);
    else if (heed_context_create(&sweep.context, &options) != HEED_OK)
        fail("context", heed_message());
    else if (choose_kernel(&sweep) != HEED_OK)
        fail(sweep.kernel, heed_message());
    else
        result = search(&sweep, trials);
    lab_search_free(sweep.search);
    lab_sweep_shapes_free(&sweep);
    heed_context_destroy(sweep.context);
    lab_space_free(&sweep.space);
    return result;
}
