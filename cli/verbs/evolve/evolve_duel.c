/*
 * evolve_duel.c - configs of a kernel that meet in turns
 */
#include "evolve.h"

/* A config at work. */
typedef struct config_side {
    evolve_run *run;
    lab_session_name name;
    int64_t index; /* of its point */
    lab_bench_engine engine;
} config_side;

static heed_status start(void *data, size_t shape, lab_side *side)
{
    config_side *it = data;
    const lab_sweep *sweep = &it->run->sweep;
    it->engine = (lab_bench_engine){ .tensors = NULL };
    *side = (lab_side){ lab_bench_engine_block, lab_bench_engine_renew, &it->engine };
    return lab_sweep_start_engine(sweep, &sweep->shapes[shape], it->name.whole, &it->engine);
}

static void stop(void *data)
{
    config_side *it = data;
    lab_bench_engine_stop(&it->engine);
}

static lab_record_trial trial_of(void *data, size_t shape, int attempt)
{
    const config_side *it = data;
    return lab_sweep_trial(&it->run->sweep, &it->name, shape, attempt);
}

static heed_status open_side(config_side *it, evolve_run *run, const lab_individual *one)
{
    *it = (config_side){ .run = run,
                         .index = lab_space_index(&run->sweep.space, &one->genome.point) };
    return lab_sweep_evolution_name(&run->bred, one, &it->name);
}

static evolve_challenger challenger_of(config_side *it, const lab_individual *one)
{
    return (evolve_challenger){
        .name = it->name.whole, .number = one->id, .side = { start, stop, it }, .trial = trial_of
    };
}

static heed_status pass_gates(void *data, bool *yes, bool *asked)
{
    const config_side *it = data;
    evolve_run *run = it->run;
    if (run->rerun.options.unproved)
        return HEED_OK;
    run->sweep.refuted = false;
    lab_progress_end(&run->progress);
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
    config_side a, b;
    *yes = false;
    /* The challenger's parents, which go to the board, are valid until another kernel is named. */
    heed_status status = open_side(&b, run, champion);
    if (status == HEED_OK)
        status = open_side(&a, run, challenger);
    if (status != HEED_OK)
        return status;
    const evolve_challenger one = challenger_of(&a, challenger);
    evolve_contest contest = { .run = run, .challenger = &one, .gates = pass_gates, .data = &a };
    status = evolve_contest_champion(&contest, b.name.whole, (evolve_side){ start, stop, &b }, yes);
    run->succeeded |= *yes;
    return status;
}

heed_status evolve_lead_config(evolve_run *run, const lab_individual *champion)
{
    config_side it;
    heed_status status = open_side(&it, run, champion);
    const evolve_challenger challenger = challenger_of(&it, champion);
    return status == HEED_OK ? evolve_lead(run, &challenger) : status;
}
