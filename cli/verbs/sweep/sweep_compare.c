/*
 * sweep_compare.c - the best point in turns with what heed plans by itself
 *
 * The times of the search are the fastest samples of different moments, good for choosing. Whether
 * the choice is faster than what there was is asked here anew, on fresh samples.
 */
#include <string.h>

#include "sweep.h"

#define DUEL_SECONDS 1.0

static heed_status play(lab_sweep *run, size_t number, const lab_point *point, const char *name,
                        uint64_t seed)
{
    lab_bench_engine engine = { .tensors = NULL };
    const lab_side found = { lab_bench_engine_block, lab_bench_engine_renew, &engine };
    const lab_duel_options options = { .seconds = DUEL_SECONDS, .seed = seed };
    lab_duel duel = { .pairs = 0 };
    heed_status status = lab_sweep_start_engine(run, &run->shapes[number], name, &engine);
    if (status == HEED_OK)
        status = lab_sweep_meet_usual(run, number, &found, &options, &duel);
    if (status == HEED_OK && run->ranks && run->verified && sweep_plan_passes(run, number))
        status = lab_sweep_board_add_plan(run, number, &duel);
    if (status == HEED_OK)
        status = lab_sweep_board_add_duel(run, point, number, &duel);
    lab_duel_free(&duel);
    lab_bench_engine_stop(&engine);
    return status;
}

/* It is what heed plans: the board gets a time of it by which nobody chose it. */
static heed_status time_alone(lab_sweep *run, size_t number, const lab_point *point,
                              const char *name)
{
    lab_evaluation result;
    run->shapes[number].same = true;
    if (!run->ranks || !run->verified)
        return HEED_OK;
    heed_status status = lab_sweep_time_anew(run, number, name, &result);
    return status == HEED_OK && result.state == LAB_STATE_TIMED
               ? lab_sweep_board_add_alone(run, point, number, &result)
               : status;
}

cli_exit sweep_compare(lab_sweep *run, int64_t index)
{
    const lab_point point = lab_space_at(&run->space, index);
    char name[HEED_NAME_SIZE];
    heed_status status = lab_space_name(&run->space, &point, run->kernel, name, NULL);
    lab_progress progress = lab_progress_start(&cli_sink, "comparing", run->problems.count);
    for (size_t i = 0; i < run->problems.count && status == HEED_OK; i++) {
        lab_sweep_shape *shape = &run->shapes[i];
        lab_progress_step(&progress, i, shape->spec);
        status = lab_sweep_open_shape(run, shape);
        if (status == HEED_OK && strcmp(name, shape->usual) == 0)
            status = time_alone(run, i, &point, name);
        else if (status == HEED_OK && *shape->usual)
            status = play(run, i, &point, name, run->options.seed + i);
    }
    lab_progress_end(&progress);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    return status == HEED_OK ? CLI_OK : cli_fail(status, name);
}
