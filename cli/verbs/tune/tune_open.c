/*
 * tune_open.c - what `heed tune` needs before it begins: problems, its run, who leads
 */
#include <stdlib.h>
#include <string.h>

#include "tune.h"

/* ---- Problems ---- */

static bool is_known(const tune_run *tune, const char *spec)
{
    for (size_t i = 0; i < tune->count; i++)
        if (strcmp(tune->shapes[i].spec, spec) == 0)
            return true;
    return false;
}

/* Captured values of several layers may be one problem: it is tuned on the first of them. */
cli_exit tune_open_problems(tune_run *tune)
{
    const cli_args *args = tune->args;
    bool named = cli_args_operand_count(args) > 0 || cli_args_text(args, "shapes") ||
                 cli_args_text(args, "tensors");
    cli_exit code = named ? bench_sources_read(&tune->sources, args)
                          : bench_sources_canonical(&tune->sources);
    if (code != CLI_OK)
        return code;
    tune->shapes = calloc(tune->sources.count + 1, sizeof *tune->shapes);
    if (!tune->shapes) {
        cli_error("not enough memory for %zu problems", tune->sources.count);
        return CLI_ENVIRONMENT;
    }
    for (size_t i = 0; i < tune->sources.count; i++) {
        char spec[HEED_SPEC_SIZE];
        heed_problem_print(&tune->sources.items[i].problem, spec, sizeof spec);
        if (is_known(tune, spec))
            continue;
        tune_shape *shape = &tune->shapes[tune->count++];
        shape->source = &tune->sources.items[i];
        snprintf(shape->spec, sizeof shape->spec, "%s", spec);
    }
    return CLI_OK;
}

void tune_free(tune_run *tune)
{
    for (size_t i = 0; i < tune->count; i++) {
        for (int round = 0; round < LAB_ROUNDS; round++) {
            lab_bench_pair_free(&tune->shapes[i].challenge.pairs[round]);
            lab_bench_pair_free(&tune->shapes[i].lead.pairs[round]);
        }
        lab_bench_row_free(&tune->shapes[i].before);
        lab_bench_row_free(&tune->shapes[i].after);
    }
    free(tune->shapes);
    cli_board_place_free(&tune->place);
    bench_sources_free(&tune->sources);
}

/* ---- The run ---- */

cli_exit tune_open_run(tune_run *tune)
{
    char what[32], budget[64];
    snprintf(what, sizeof what, "insights %d", tune->options.insights);
    snprintf(budget, sizeof budget, "%g s", tune->options.seconds);
    const lab_session_work work = { .what = what,
                                    .subject = "",
                                    .budget = budget,
                                    .specs = tune->shapes[0].spec,
                                    .stride = sizeof *tune->shapes,
                                    .count = tune->count };
    return cli_session_begin(&tune->session, &work, true);
}

/* ---- The leader ---- */

/* Makes sure that the champion can be planned, or takes what heed plans. */
static cli_exit plan_champion(tune_run *tune, tune_shape *shape)
{
    heed_plan *plan = NULL;
    heed_status status = HEED_ERR_INVALID;
    if (*shape->champion)
        status = heed_plan_create_named(&plan, tune->bench.context, &shape->source->problem,
                                        shape->champion);
    if (status != HEED_OK) {
        shape->foreign = *shape->champion != '\0';
        if (shape->foreign)
            cli_message(
                "%s: %s leads the board and cannot be planned: the result will be timed against it",
                shape->spec, shape->champion);
        shape->promoted = 0;
        status = heed_plan_create(&plan, tune->bench.context, &shape->source->problem,
                                  HEED_ESTIMATE);
    }
    if (status != HEED_OK)
        return cli_fail(status, shape->spec);
    snprintf(shape->champion, sizeof shape->champion, "%s", heed_plan_name(plan));
    heed_plan_destroy(plan);
    return CLI_OK;
}

cli_exit tune_find_champions(tune_run *tune)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        lab_error error;
        tune_shape *shape = &tune->shapes[i];
        heed_status status = lab_leaders_find(tune->session.record, tune->bench.context,
                                              shape->spec, tune->bench.cold, &shape->leader, 1,
                                              &error);
        if (status != HEED_OK)
            return cli_fail_error(status, &error);
        cli_board_tell_left_out(tune->session.record, shape->spec, 0);
        snprintf(shape->champion, sizeof shape->champion, "%s", shape->leader.name);
        shape->promoted = shape->leader.trial;
        code = plan_champion(tune, &tune->shapes[i]);
        if (code == CLI_OK)
            code = tune_find_spaces(tune, &tune->shapes[i]);
    }
    return code;
}
