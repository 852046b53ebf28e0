/*
 * configs.c - evolution of configs: breeding, gates, comparison with heed's plans, and contests
 * with the leaders of the board
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "lab/evolve/evolve.h"
#include "lab/report/format.h"
#include "src/measure.h"

/* Attempt number on the board. */
#define CONFIRMED_ATTEMPT 15
#define PLAN_ATTEMPT 40

/* Shares of the time: the maximum for the gates of heed's plans, and the point where breeding ends.
 * A champion is ranked only if it passes the gates. */
#define PLAN_SHARE (1.0 / 6)
#define BRED_SHARE (2.0 / 3)

/* ---- heed's plans ---- */

void lab_evolve_begin(lab_evolve *run)
{
    const int64_t budget = (int64_t)(run->seconds * 1e9);
    run->start_ns = heed_clock_ns();
    run->deadline_ns = budget > 0 ? run->start_ns + budget : 0;
    run->bred_ns = budget > 0 ? run->start_ns + (int64_t)(BRED_SHARE * (double)budget) : 0;
    run->gates = (lab_sweep_gates){ .sweep = &run->sweep,
                                    .prover = run->prover,
                                    .until_ns = run->deadline_ns };
    lab_sweep_find_usual(&run->sweep);
}

bool lab_evolve_has_time(lab_evolve *run, const char *work)
{
    const size_t length = strlen(run->left_out);
    if (run->deadline_ns == 0 || heed_clock_ns() < run->deadline_ns)
        return true;
    snprintf(run->left_out + length, sizeof run->left_out - length, "%s%s", length ? ", " : "",
             work);
    return false;
}

void lab_evolve_tell_time(const lab_evolve *run)
{
    char advice[LAB_ADVICE_SIZE];
    if (*run->left_out)
        lab_say(run->sweep.sink, LAB_WARNING, "after %g s there was no time left for: %s%s",
                run->seconds, run->left_out, lab_advise(run->sweep.sink, LAB_ADVICE_TIME, advice));
}

static heed_status rank_plan(lab_evolve *run, size_t number)
{
    lab_session_name name;
    lab_session_name_set(&name, run->sweep.shapes[number].usual);
    snprintf(name.thought, sizeof name.thought, "heed's plan");
    return *name.whole ? lab_sweep_confirm(&run->sweep, &name, number, PLAN_ATTEMPT, &run->gates)
                       : HEED_OK;
}

heed_status lab_evolve_rank_plans(lab_evolve *run)
{
    const lab_sink *sink = run->sweep.sink;
    size_t count = run->sweep.problems.count;
    heed_status status = HEED_OK;
    lab_progress progress = lab_progress_start(sink, "heed's plans", count);
    if (run->deadline_ns)
        run->gates.until_ns = run->start_ns + (int64_t)(PLAN_SHARE * run->seconds * 1e9);
    for (size_t i = 0; i < count && status == HEED_OK && !lab_interrupted(sink); i++) {
        lab_progress_step(&progress, i, run->sweep.shapes[i].spec);
        status = rank_plan(run, i);
    }
    lab_progress_end(&progress);
    run->gates.until_ns = run->deadline_ns;
    return lab_interrupted(sink) ? HEED_ERR_SYSTEM : status;
}

/* ---- A config as a challenger ---- */

typedef struct config {
    lab_bench_player player; /* first: the contender's data */
    lab_evolve *run;
    lab_session_name name;
    int64_t point;
} config;

static lab_record_trial trial_of(void *data, size_t shape, int attempt)
{
    const config *it = data;
    return lab_sweep_trial(&it->run->sweep, &it->name, shape, attempt);
}

static void open_config(config *it, lab_evolve *run, const lab_individual *one)
{
    *it = (config){ .player = { .context = run->sweep.context, .replay = run->sweep.replay },
                    .run = run,
                    .point = one->point };
    lab_sweep_evolution_name(&run->bred, one, &it->name);
    memcpy(it->player.name, it->name.whole, sizeof it->player.name);
}

static lab_challenger challenger_of(config *it, const lab_individual *one)
{
    return (lab_challenger){ .contender = lab_bench_player_contender(&it->player),
                             .number = one->id,
                             .trial = trial_of };
}

static heed_status pass_gates(void *data, bool *yes, bool *asked)
{
    const config *it = data;
    lab_evolve *run = it->run;
    lab_proven proven;
    if (run->no_verify)
        return HEED_OK;
    lab_progress_end(&run->progress);
    heed_status status = lab_sweep_prove(&run->gates, it->point, &proven);
    *yes = proven != LAB_REFUTED;
    *asked = proven == LAB_REFUTED || proven == LAB_PROVEN;
    return status;
}

static heed_status succeeds(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes)
{
    lab_evolve *run = data;
    config a, b;
    /* The challenger's parents, for the board, are valid until another kernel is named. */
    open_config(&b, run, champion);
    open_config(&a, run, challenger);
    const lab_challenger one = challenger_of(&a, challenger);
    const lab_bench_contender other = lab_bench_player_contender(&b.player);
    lab_evolve_contest contest = {
        .run = run, .challenger = &one, .gates = pass_gates, .data = &a
    };
    heed_status status = lab_evolve_contest_champion(&contest, &other, yes);
    if (*yes)
        run->ranked = lab_sweep_proven(&run->gates, a.point) == LAB_PROVEN;
    return status;
}

/* ---- Breeding ---- */

heed_status lab_evolve_begin_session(lab_evolve *run, const char *what, bool afresh)
{
    char all[1200], budget[64];
    snprintf(all, sizeof all, "%s %g %d %d", what, run->duel, run->no_verify, run->insights);
    snprintf(budget, sizeof budget, "%lld trial%s", (long long)run->trials,
             lab_plural(run->trials));
    const lab_session_work work = { .what = all,
                                    .subject = "",
                                    .budget = budget,
                                    .specs = run->sweep.shapes[0].spec,
                                    .stride = sizeof *run->sweep.shapes,
                                    .count = run->sweep.problems.count,
                                    .afresh = afresh };
    return lab_session_begin(&run->session, &work, &run->sweep.trouble);
}

/* Progress, and the best so far. */
static void show(void *data, const char *what)
{
    lab_evolve *run = data;
    const lab_individual *champion = lab_evolution_champion(run->bred.evolution);
    char text[LAB_FORMAT_SIZE], words[LAB_POINT_TEXT], best[LAB_POINT_TEXT + 64] = "";
    if (champion) {
        const lab_point point = lab_space_at(&run->sweep.space, champion->point);
        lab_point_print(&run->sweep.space, &point, words);
        snprintf(best, sizeof best, "best %s %s", lab_format_seconds(exp(champion->score), text),
                 words);
    }
    lab_progress_step(&run->progress, (size_t)lab_search_get(run->sweep.search).launched,
                      what ? what : best);
}

heed_status lab_evolve_configs_begin(lab_evolve *run, bool afresh)
{
    lab_sweep *sweep = &run->sweep;
    int64_t starts[LAB_SEARCH_SHAPES];
    char what[HEED_NAME_SIZE + 80];
    size_t count = 0;
    lab_point *points = lab_sweep_find_starts(sweep, &count);
    if (!points)
        return lab_fail(&sweep->trouble, HEED_ERR_NO_MEMORY, "not enough memory for %zu problems",
                        sweep->problems.count);
    for (size_t i = 0; i < count; i++)
        starts[i] = lab_space_index(&sweep->space, &points[i]);
    free(points);
    run->bred = (lab_sweep_evolution){ .sweep = sweep,
                                       .device = run->device,
                                       .course = { .mode = run->insights,
                                                   .budget = lab_insight_budget(run->seconds) },
                                       .succeeds = succeeds,
                                       .show = show,
                                       .data = run };
    snprintf(what, sizeof what, "%s %s", sweep->space.name, sweep->kernel);
    heed_status status = lab_sweep_evolution_create(&run->bred, starts, count);
    return status == HEED_OK ? lab_evolve_begin_session(run, what, afresh) : status;
}

static heed_status breed(lab_evolve *run)
{
    lab_sweep *sweep = &run->sweep;
    lab_error error;
    const lab_evaluator evaluator = lab_sweep_evaluator(sweep);
    int64_t budget = run->bred_ns - heed_clock_ns();
    const lab_search_options options = { .strategy = "evolution",
                                         .evolution = run->bred.evolution,
                                         .seed = run->session.seed,
                                         .trials = run->trials,
                                         .budget_ns = run->bred_ns == 0 ? 0
                                                      : budget > 0      ? budget
                                                                        : 1,
                                         .finalists = -1,
                                         .interrupted = sweep->sink ? sweep->sink->interrupted
                                                                    : NULL };
    run->progress = lab_progress_start(sweep->sink, "evolve", (size_t)run->trials);
    heed_status status = lab_search_run(&sweep->search, &sweep->space, &evaluator, &options,
                                        &error);
    lab_progress_end(&run->progress);
    if (status != HEED_OK && !*sweep->trouble.text)
        sweep->trouble = error;
    return lab_interrupted(sweep->sink) ? HEED_ERR_SYSTEM : status;
}

/* ---- The champion ---- */

/* Puts the champion, and the best of each island, through all gates, without which none may be
 * reported as good. */
static heed_status verify_best(lab_evolve *run, int64_t champion)
{
    lab_proven other;
    heed_status status = lab_sweep_prove(&run->gates, champion, &run->proven);
    if (run->proven != LAB_PROVEN && run->proven != LAB_REFUTED)
        lab_evolve_has_time(run, "the gates of the champion");
    for (int i = 0; i < LAB_ISLANDS && status == HEED_OK; i++) {
        const lab_individual *one = lab_evolution_member(run->bred.evolution, i, 0);
        if (!one || one->point == champion)
            continue;
        if (!lab_evolve_has_time(run, "the gates of others"))
            break;
        status = lab_sweep_prove(&run->gates, one->point, &other);
    }
    return status;
}

/* Times the champion on fresh samples if it was also the first config. Times of one that won before
 * the gates answered are not ranked. */
static heed_status confirm(lab_evolve *run, const lab_individual *champion)
{
    lab_session_name name;
    heed_status status = HEED_OK;
    lab_sweep_evolution_name(&run->bred, champion, &name);
    for (size_t i = 0; i < run->sweep.problems.count && status == HEED_OK; i++)
        status = lab_sweep_confirm(&run->sweep, &name, i, CONFIRMED_ATTEMPT, NULL);
    return status;
}

static heed_status lead(lab_evolve *run, const lab_individual *champion)
{
    config it;
    open_config(&it, run, champion);
    const lab_challenger challenger = challenger_of(&it, champion);
    return lab_evolve_lead(run, &challenger);
}

/* Tells how to prove a champion for which the gates have no verdict. */
static void tell_open(const lab_evolve *run, const lab_individual *champion)
{
    const lab_sink *sink = run->sweep.sink;
    lab_session_name name;
    char advice[LAB_ADVICE_SIZE];
    lab_sweep_name_point(&run->sweep, champion->point, &name);
    lab_say(sink, LAB_WARNING,
            "%s, the champion, is not ranked: it has not passed all gates yet. Resume the run to "
            "repeat them%s",
            name.whole, lab_advise_prove(sink, name.whole, run->sweep.shapes[0].spec, advice));
}

bool lab_evolve_is_open(const lab_evolve *run)
{
    return !run->no_verify && lab_evolution_champion(run->bred.evolution) &&
           run->proven != LAB_PROVEN && run->proven != LAB_REFUTED;
}

/* Judges the champion: by the gates, against heed's plans, and against the leaders of the board. */
static heed_status judge(lab_evolve *run)
{
    const lab_individual *champion = lab_evolution_champion(run->bred.evolution);
    heed_status status = HEED_OK;
    if (!champion)
        return HEED_OK;
    if (!run->no_verify)
        status = verify_best(run, champion->point);
    if (status != HEED_OK || run->proven == LAB_REFUTED)
        return status;
    if (lab_evolve_is_open(run))
        tell_open(run, champion);
    if (!run->no_compare && lab_evolve_has_time(run, "a comparison with heed's plan"))
        status = lab_sweep_compare(&run->gates, champion->point, run->session.seed);
    if (status != HEED_OK || run->proven != LAB_PROVEN ||
        !lab_evolve_has_time(run, "the leaders of the board"))
        return status;
    status = run->ranked ? HEED_OK : confirm(run, champion);
    if (status == HEED_OK)
        status = lead(run, champion);
    return lab_interrupted(run->sweep.sink) ? HEED_ERR_SYSTEM : status;
}

heed_status lab_evolve_configs(lab_evolve *run)
{
    bool ranked = !run->no_verify && !run->no_compare;
    heed_status status = ranked ? lab_evolve_rank_plans(run) : HEED_OK;
    if (status == HEED_OK)
        status = breed(run);
    if (status == HEED_OK)
        status = judge(run);
    lab_evolve_tell_time(run);
    return status;
}

void lab_evolve_free(lab_evolve *run)
{
    if (run->bred.sweep)
        lab_sweep_evolution_free(&run->bred);
    lab_search_free(run->sweep.search);
    free(run->gates.items);
    lab_sweep_pool_stop(run->sweep.pool);
    lab_sweep_shapes_free(&run->sweep);
}
