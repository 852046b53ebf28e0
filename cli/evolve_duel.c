/*
 * evolve_duel.c - does a challenger replace the champion?
 *
 * Its first times were luck in part, being the best of many. So it meets the champion in turns on
 * every problem, and if it wins once more on fresh samples, and then it has to pass all gates.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_engine.h"
#include "evolve.h"

/* A family of duels between two kernels. */
typedef struct meeting {
    evolve_run *run;
    const evolve_name *challenger;
    const evolve_name *champion;
    bench_engine a, b;
} meeting;

static heed_status start(meeting *it, const sweep_shape *shape, const char *name,
                         bench_engine *engine)
{
    const sweep_run *sweep = &it->run->sweep;
    double seconds = 0;
    heed_plan *plan;
    heed_status status = heed_plan_create_named(&plan, sweep->context, &shape->source.problem,
                                                name);
    if (status == HEED_OK)
        status = bench_engine_start(engine, &shape->tensors, plan);
    if (status == HEED_OK)
        status = bench_engine_estimate(engine, sweep->replay, &seconds);
    return status == HEED_OK ? bench_engine_ready(engine, sweep->replay, seconds) : status;
}

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
        status = start(it, shape, it->challenger->whole, &it->a);
    if (status == HEED_OK)
        status = start(it, shape, it->champion->whole, &it->b);
    if (status != HEED_OK)
        part(it, index);
    *a = (lab_side){ bench_engine_block, bench_engine_renew, &it->a };
    *b = (lab_side){ bench_engine_block, bench_engine_renew, &it->b };
    return status;
}

/* One round of duels on all problems, whose comparisons go to @out. */
static heed_status play(meeting *it, lab_duel *duels, lab_comparison *out, uint64_t seed)
{
    size_t count = it->run->sweep.problems.count;
    const lab_family family = { .count = count, .meet = meet, .part = part, .data = it };
    const lab_duel_options options = { .rules = { .gain = LAB_CHAMPION_GAIN },
                                       .seconds = it->run->duel,
                                       .seed = seed };
    heed_status status = lab_family_run(duels, &family, &options);
    for (size_t i = 0; i < count && status == HEED_OK; i++)
        out[i] = duels[i].comparison;
    return status;
}

/* ---- On the board ---- */

/* Only the second round may rank a kernel: nobody chose it by these samples. */
static heed_status add_round(meeting *it, const lab_individual *challenger, const lab_duel *duels,
                             int attempt, const lab_record_fact *decision)
{
    evolve_run *run = it->run;
    heed_status status = HEED_OK;
    for (size_t i = 0; i < run->sweep.problems.count && status == HEED_OK; i++) {
        double seconds[2] = { 0 };
        lab_summary summary = { 0 }, other = { 0 };
        const lab_duel *duel = &duels[i];
        lab_record_trial trial = evolve_trial(run, challenger, it->challenger, i, attempt);
        const lab_record_samples samples[2] = {
            { .against = it->champion->whole,
              .kind = run->sweep.cold ? LAB_RECORD_COLD : LAB_RECORD_HOT,
              .seconds = duel->a,
              .count = duel->pairs },
            { .against = it->champion->whole,
              .other = true,
              .kind = run->sweep.cold ? LAB_RECORD_COLD : LAB_RECORD_HOT,
              .seconds = duel->b,
              .count = duel->pairs },
        };
        double *sorted = malloc((duel->pairs + 1) * sizeof *sorted);
        if (!sorted)
            return HEED_ERR_NO_MEMORY;
        memcpy(sorted, duel->a, duel->pairs * sizeof *sorted);
        lab_stats_summarize(sorted, duel->pairs, &summary);
        memcpy(sorted, duel->b, duel->pairs * sizeof *sorted);
        lab_stats_summarize(sorted, duel->pairs, &other);
        free(sorted);
        seconds[0] = summary.p50;
        seconds[1] = other.p50;
        const lab_record_comparison compared = cli_board_comparison(
            &duel->comparison, it->champion->whole, seconds[1]);
        trial.verdict = LAB_RECORD_OK;
        trial.confirmed = attempt > 1;
        trial.seconds = seconds[0];
        trial.p90 = summary.p90;
        trial.samples = samples;
        trial.sample_count = 2;
        trial.comparisons = &compared;
        trial.comparison_count = 1;
        trial.facts = decision;
        trial.fact_count = decision != NULL;
        status = evolve_add(run, &trial, NULL);
    }
    return status;
}

/* What was decided before, if this is a run that goes on. The problem that is added last tells. */
static heed_status find_decision(meeting *it, const lab_individual *challenger, bool *known,
                                 bool *yes)
{
    evolve_run *run = it->run;
    lab_record_found found;
    double number = 0;
    const lab_record_trial trial = evolve_trial(run, challenger, it->challenger,
                                                run->sweep.problems.count - 1, 1);
    heed_status status = lab_record_find(run->record, &trial, &found, &run->trouble);
    *known = status == HEED_OK && found.trial &&
             evolve_find_number(run, found.trial, "succeeds", &number);
    *yes = number > 0;
    return status;
}

/* ---- The rule ---- */

static heed_status pass_gates(evolve_run *run, const lab_individual *challenger, bool *yes)
{
    if (!*yes || cli_args_flag(run->args, "no-verify"))
        return HEED_OK;
    run->sweep.refuted = false;
    cli_progress_end(&run->progress);
    if (sweep_verify(&run->sweep, lab_space_index(&run->sweep.space, &challenger->genome.point)) !=
        CLI_OK)
        return HEED_ERR_SYSTEM;
    if (run->sweep.refuted) {
        run->refuted++;
        *yes = false;
    }
    return HEED_OK;
}

/* Both rounds, the gates, and their traces on the board: the decision last. */
static heed_status decide(meeting *it, const lab_individual *challenger, lab_duel *first,
                          lab_duel *again, bool *yes)
{
    evolve_run *run = it->run;
    size_t count = run->sweep.problems.count, wins = count < 2 ? count : 0;
    lab_comparison one[LAB_SEARCH_SHAPES], other[LAB_SEARCH_SHAPES];
    uint64_t seed = run->seed * 1000003 + (uint64_t)challenger->id * 2;
    heed_status status = play(it, first, one, seed);
    if (status != HEED_OK)
        return status;
    lab_decision decision = lab_champion_decide(one, NULL, count, 0, wins);
    if (decision.succession == LAB_MEASURE_AGAIN) {
        status = play(it, again, other, seed + 1);
        if (status != HEED_OK)
            return status;
        decision = lab_champion_decide(one, other, count, 0, wins);
        *yes = decision.succession == LAB_NEW_CHAMPION;
        status = pass_gates(run, challenger, yes);
        if (status == HEED_OK)
            status = add_round(it, challenger, again, 2, NULL);
    }
    snprintf(run->last, sizeof run->last, "%s", decision.reason);
    const lab_record_fact fact = { .name = "succeeds", .number = *yes };
    return status == HEED_OK ? add_round(it, challenger, first, 1, &fact) : status;
}

heed_status evolve_succeeds(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes)
{
    evolve_run *run = data;
    evolve_name names[2];
    meeting it = { .run = run, .challenger = &names[0], .champion = &names[1] };
    bool known = false;
    *yes = false;
    heed_status status = evolve_name_of(run, challenger, &names[0]);
    if (status == HEED_OK)
        status = evolve_name_of(run, champion, &names[1]);
    if (status == HEED_OK)
        status = find_decision(&it, challenger, &known, yes);
    if (status != HEED_OK)
        return status;
    run->challenges++;
    if (known)
        return HEED_OK;
    lab_duel *duels = calloc(2 * run->sweep.problems.count, sizeof *duels);
    if (!duels)
        return HEED_ERR_NO_MEMORY;
    status = decide(&it, challenger, duels, duels + run->sweep.problems.count, yes);
    for (size_t i = 0; i < 2 * run->sweep.problems.count; i++)
        lab_duel_free(&duels[i]);
    free(duels);
    if (status != HEED_OK && !*run->trouble.text && !cli_interrupted())
        snprintf(run->trouble.text, sizeof run->trouble.text, "%s: %.200s", names[0].whole,
                 heed_message());
    return status;
}
