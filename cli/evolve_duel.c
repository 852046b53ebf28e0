/*
 * evolve_duel.c - configs of a kernel that meet in turns
 */
#include "evolve.h"

/* A family of duels between two kernels. */
typedef struct meeting {
    evolve_run *run;
    const evolve_name *challenger;
    const evolve_name *champion;
    int64_t index; /* of the challenger's point */
    bench_engine a, b;
} meeting;

static void part(void *data, size_t index)
{
    meeting *it = data;
    (void)index;
    bench_engine_stop(&it->a);
    bench_engine_stop(&it->b);
}

static heed_status meet(void *data, size_t index, lab_side *a, lab_side *b)
{
    meeting *it = data;
    sweep_shape *shape = &it->run->sweep.shapes[index];
    it->a = it->b = (bench_engine){ .tensors = NULL };
    heed_status status = sweep_open_shape(&it->run->sweep, shape);
    if (status == HEED_OK)
        status = sweep_start_engine(&it->run->sweep, shape, it->challenger->whole, &it->a);
    if (status == HEED_OK)
        status = sweep_start_engine(&it->run->sweep, shape, it->champion->whole, &it->b);
    if (status == HEED_OK)
        status = bench_engine_level(&it->a, &it->b);
    if (status != HEED_OK)
        part(it, index);
    *a = (lab_side){ bench_engine_block, bench_engine_renew, &it->a };
    *b = (lab_side){ bench_engine_block, bench_engine_renew, &it->b };
    return status;
}

static lab_record_trial trial_of(void *data, size_t shape, int attempt)
{
    const meeting *it = data;
    return evolve_trial(it->run, it->challenger, shape, attempt);
}

static heed_status pass_gates(void *data, bool *yes, bool *asked)
{
    const meeting *it = data;
    evolve_run *run = it->run;
    if (cli_args_flag(run->args, "no-verify"))
        return HEED_OK;
    run->sweep.refuted = false;
    cli_progress_end(&run->progress);
    if (sweep_verify(&run->sweep, it->index) != CLI_OK)
        return HEED_ERR_SYSTEM;
    *yes = !run->sweep.refuted;
    *asked = run->sweep.refuted || run->sweep.verified;
    return HEED_OK;
}

heed_status evolve_succeeds(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes)
{
    evolve_run *run = data;
    evolve_name names[2] = { { .kernel = "" } };
    meeting it = { .run = run,
                   .challenger = &names[0],
                   .champion = &names[1],
                   .index = lab_space_index(&run->sweep.space, &challenger->genome.point) };
    const evolve_contest contest = { .run = run,
                                     .challenger = names[0].whole,
                                     .champion = names[1].whole,
                                     .number = challenger->id,
                                     .count = run->sweep.problems.count,
                                     .data = &it,
                                     .meet = meet,
                                     .part = part,
                                     .trial = trial_of,
                                     .gates = pass_gates };
    *yes = false;
    heed_status status = evolve_name_of(run, challenger, &names[0]);
    if (status == HEED_OK)
        status = evolve_name_of(run, champion, &names[1]);
    if (status == HEED_OK)
        status = evolve_contest_run(&contest, yes);
    run->succeeded |= *yes;
    return status;
}

/* ---- Against those who lead the board ---- */

static heed_status start_champion(void *data, size_t shape, lab_side *side)
{
    meeting *it = data;
    it->a = (bench_engine){ .tensors = NULL };
    *side = (lab_side){ bench_engine_block, bench_engine_renew, &it->a };
    return sweep_start_engine(&it->run->sweep, &it->run->sweep.shapes[shape], it->challenger->whole,
                              &it->a);
}

static void stop_champion(void *data)
{
    meeting *it = data;
    bench_engine_stop(&it->a);
}

heed_status evolve_knobs_titles(evolve_run *run, const lab_individual *champion)
{
    evolve_name name;
    meeting it = { .run = run, .challenger = &name };
    const evolve_challenger challenger = { .name = name.whole,
                                           .number = champion->id,
                                           .start = start_champion,
                                           .stop = stop_champion,
                                           .trial = trial_of,
                                           .data = &it };
    heed_status status = evolve_name_of(run, champion, &name);
    return status == HEED_OK ? evolve_take_titles(run, &challenger) : status;
}
