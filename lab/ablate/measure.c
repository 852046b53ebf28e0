/*
 * measure.c - duels of a kernel with its ablations and delayed builds
 *
 * All effects of a problem are judged as one family, so the confidence holds for all verdicts
 * together. Each duel uses its full time, however clear the verdict: the size of the effect
 * matters, not only its sign.
 */
#include <stdlib.h>

#include "lab/ablate/ablate.h"
#include "lab/bench/engine.h"
#include "lab/measure/family.h"
#include "src/measure.h"
#include "src/message.h"

/* If less than this share of a delay shows in the kernel's time, none is planted. */
#define REACH_MIN 0.05

static const double planted_shares[LAB_ABLATE_PLANTED] = { 0.01, 0.02, 0.05 };

/* Two sides, the tensors, and the expected results. */
typedef struct scene {
    lab_ablate_run *run;
    lab_ablate_subject *subject;
    lab_bench_tensors tensors;
    lab_expect *expect;
    lab_bench_engine intact;
} scene;

static void step(lab_ablate_run *run, const char *what)
{
    lab_progress_step(&run->progress, run->steps++, what);
}

/* ---- Sides ---- */

/* Makes an engine of @plan ready. The error of one call's output goes to *@error. */
static heed_status start(const scene *it, heed_plan *plan, lab_bench_engine *engine, double *error)
{
    bool replay = it->run->bench.replay;
    double seconds = 0;
    heed_status status = lab_bench_engine_start(engine, &it->tensors, plan, NULL);
    if (status == HEED_OK)
        status = lab_bench_tensors_poison(&it->tensors);
    for (int i = 0; i < 2 && status == HEED_OK; i++) /* the first call pays one-time costs */
        status = lab_bench_engine_estimate(engine, replay, &seconds);
    if (status == HEED_OK)
        status = lab_bench_engine_error(engine, it->expect, error);
    return status == HEED_OK ? lab_bench_engine_ready(engine, replay, seconds) : status;
}

static heed_status play(const scene *it, lab_bench_engine *a, lab_bench_engine *b, double margin,
                        uint64_t seed, lab_duel *duel)
{
    const lab_side sides[] = { lab_bench_engine_side(a), lab_bench_engine_side(b) };
    const lab_duel_options options = { .rules = { .margin = margin, .looks = 1 },
                                       .pairs_min = LAB_ABLATE_PAIRS_MIN,
                                       .seconds = it->run->bench.seconds,
                                       .seed = seed };
    heed_status status = lab_bench_engine_level(a, b);
    return status == HEED_OK ? lab_duel_run(duel, &sides[0], &sides[1], &options) : status;
}

/* ---- Ablations ---- */

static void set_outcome(lab_ablate_case *what, lab_bench_outcome outcome, const char *reason)
{
    what->outcome = outcome;
    snprintf(what->reason, sizeof what->reason, "%s", reason);
}

static heed_status measure_case(scene *it, lab_ablate_case *what)
{
    lab_bench_engine engine = { .tensors = NULL };
    heed_plan *plan = NULL;
    char reason[LAB_PEER_REASON_SIZE];
    heed_status status = lab_ablate_plan(it->run, it->subject, what, &plan);
    if (status == HEED_OK)
        status = start(it, plan, &engine, &what->error);
    if (status == HEED_OK && !what->it->wrong && !(what->error <= 1)) {
        snprintf(reason, sizeof reason, "%s computes a wrong result: %.3g times the allowed error",
                 what->it->name, what->error);
        set_outcome(what, LAB_BENCH_WRONG, reason);
    } else if (status == HEED_OK) {
        status = play(it, &it->intact, &engine, it->run->bench.margin,
                      it->run->bench.seed + (uint64_t)what->it->number, &what->duel);
    }
    lab_bench_engine_stop(&engine);
    return status;
}

/* Fails only for errors that end the run. */
static heed_status measure_cases(scene *it)
{
    int64_t longest = 0;
    for (size_t i = 0; i < it->subject->count; i++) {
        lab_ablate_case *what = &it->subject->cases[i];
        int64_t begin = heed_clock_ns();
        if (it->run->deadline_ns > 0 && begin + longest > it->run->deadline_ns) {
            set_outcome(what, LAB_BENCH_SKIPPED, "there is no time for it");
            continue;
        }
        step(it->run, what->it->name);
        heed_status status = measure_case(it, what);
        if (heed_clock_ns() - begin > longest)
            longest = heed_clock_ns() - begin;
        if (status == HEED_ERR_LOST || heed_context_stopped(it->run->bench.context))
            return status == HEED_OK ? HEED_ERR_SYSTEM : status;
        if (status != HEED_OK)
            set_outcome(what, status == HEED_ERR_UNSUPPORTED ? LAB_BENCH_REFUSED : LAB_BENCH_FAILED,
                        heed_message());
    }
    return HEED_OK;
}

static void take_effect(const lab_ablate_run *run, lab_ablate_case *what)
{
    const lab_comparison *found = &what->duel.comparison;
    what->effect = (lab_effect){ .ratio = found->ratio.estimate,
                                 .low = found->ratio.low,
                                 .high = found->ratio.high,
                                 .margin = run->bench.margin };
    snprintf(what->effect.name, sizeof what->effect.name, "%s", what->it->name);
}

/* The effects of all measured ablations, as a family. */
static heed_status judge(const lab_ablate_run *run, lab_ablate_subject *subject)
{
    lab_family_member *members = calloc(subject->count + 1, sizeof *members);
    const lab_rules rules = { .margin = run->bench.margin };
    size_t count = 0;
    for (size_t i = 0; members && i < subject->count; i++) {
        lab_duel *duel = &subject->cases[i].duel;
        if (duel->pairs > 0)
            members[count++] = (lab_family_member){ lab_duel_series(duel), &duel->comparison };
    }
    for (size_t i = 0; i < count; i++) /* after an interrupt, the pairs taken so far are judged */
        members[i].series.planned = 0;
    heed_status status = members ? lab_family_judge(members, count, &rules) : HEED_ERR_NO_MEMORY;
    for (size_t i = 0; status == HEED_OK && i < subject->count; i++) {
        lab_ablate_case *what = &subject->cases[i];
        if (what->duel.pairs == 0)
            continue;
        take_effect(run, what);
        subject->seconds = lab_stats_summary_of(what->duel.a, what->duel.pairs).p50;
    }
    free(members);
    return status;
}

/* ---- Planted delays ---- */

/* Makes a build with a delay of @share ready, or with none: the opponent of the others. */
static heed_status start_delayed(scene *it, double share, lab_bench_engine *engine)
{
    heed_plan *plan = NULL;
    double error;
    *engine = (lab_bench_engine){ .tensors = NULL };
    heed_status status = lab_ablate_plan_delayed(it->run, it->subject, share, &plan);
    return status == HEED_OK ? start(it, plan, engine, &error) : status;
}

static heed_status play_delay(scene *it, lab_bench_engine *without, double share, uint64_t seed,
                              lab_duel *duel)
{
    lab_bench_engine engine;
    heed_status status = start_delayed(it, share, &engine);
    if (status == HEED_OK)
        status = play(it, without, &engine, LAB_COMPARE_MARGIN / 100, seed, duel);
    lab_bench_engine_stop(&engine);
    return status;
}

/* Measures how much of a delay of its blocks shows in the kernel's time; launch overhead and
 * overlap between blocks hide the remainder. The lengths of the delays that are planted at the end
 * follow from it, so they can be compiled while ablations are measured. */
static heed_status find_reach(scene *it)
{
    lab_ablate_subject *subject = it->subject;
    lab_bench_engine without;
    lab_duel duel = { .a = NULL };
    step(it->run, "how delays show");
    heed_status status = start_delayed(it, 0, &without);
    if (status == HEED_OK)
        status = play_delay(it, &without, LAB_ABLATE_DELAY_TRIED, it->run->bench.seed, &duel);
    if (status == HEED_OK)
        subject->reach = (duel.comparison.ratio.estimate - 1) / LAB_ABLATE_DELAY_TRIED;
    for (size_t i = 0; i < LAB_ABLATE_PLANTED && subject->reach >= REACH_MIN; i++)
        lab_ablate_want_delay(it->run, subject, planted_shares[i] / subject->reach);
    lab_duel_free(&duel);
    lab_bench_engine_stop(&without);
    return status;
}

static heed_status plant(scene *it)
{
    lab_ablate_subject *subject = it->subject;
    lab_bench_engine without;
    heed_status status = start_delayed(it, 0, &without);
    for (size_t i = 0; i < LAB_ABLATE_PLANTED && status == HEED_OK; i++) {
        lab_ablate_planted *planted = &subject->planted[i];
        step(it->run, "planted delays");
        if (!(subject->reach >= REACH_MIN))
            continue;
        planted->share = planted_shares[i];
        status = play_delay(it, &without, planted->share / subject->reach,
                            it->run->bench.seed + 1000 + i, &planted->duel);
        subject->planted_count += status == HEED_OK;
    }
    lab_bench_engine_stop(&without);
    return status;
}

/* ---- One problem ---- */

heed_status lab_ablate_prepare(lab_ablate_run *run, lab_ablate_subject *subject)
{
    heed_plan *plan;
    heed_status status = lab_bench_plan(&run->bench, &subject->problem, &plan);
    if (status != HEED_OK)
        return status;
    subject->problem = *heed_plan_problem(plan);
    snprintf(subject->kernel, sizeof subject->kernel, "%s", heed_plan_name(plan));
    heed_plan_destroy(plan);
    status = lab_ablate_find_cases(run, subject);
    if (status == HEED_OK)
        lab_ablate_want_cases(run, subject);
    run->progress.total += 1 + subject->count + (run->planted ? 1 + LAB_ABLATE_PLANTED : 0);
    return status;
}

static heed_status set_scene(scene *it)
{
    lab_ablate_run *run = it->run;
    const lab_bench_source source = { .problem = it->subject->problem };
    const lab_sampling rows = { .seed = run->bench.seed,
                                .work = LAB_BENCH_EXPECT_WORK,
                                .threads = run->bench.host_threads };
    heed_plan *plan = NULL;
    double error = 0;
    heed_status status = lab_bench_tensors_create(&it->tensors, run->bench.context, &source,
                                                  run->bench.seed,
                                                  lab_bench_rotation_bytes(&run->bench));
    if (status != HEED_OK)
        return status;
    heed_buffers data = lab_bench_tensors_inputs(&it->tensors);
    status = lab_expect_create(&it->expect, &it->tensors.problem, &data, &rows);
    if (status == HEED_OK)
        status = lab_ablate_plan(run, it->subject, NULL, &plan);
    if (status == HEED_OK)
        status = start(it, plan, &it->intact, &error);
    if (status == HEED_OK && !(error <= 1)) {
        heed_fail(HEED_ERR_SYSTEM, "%s computes a wrong result: %.3g times the allowed error",
                  it->subject->kernel, error);
        status = HEED_ERR_SYSTEM;
    }
    return status;
}

static void clear_scene(scene *it)
{
    lab_bench_engine_stop(&it->intact);
    lab_expect_destroy(it->expect);
    if (it->tensors.context)
        lab_bench_tensors_free(&it->tensors);
}

heed_status lab_ablate_try(lab_ablate_run *run, lab_ablate_subject *subject)
{
    scene it = { .run = run, .subject = subject };
    heed_status status = subject->cases ? HEED_OK : lab_ablate_prepare(run, subject);
    step(run, "the kernel as it is");
    if (status == HEED_OK)
        status = set_scene(&it);
    if (status == HEED_OK && run->planted)
        status = find_reach(&it);
    if (status == HEED_OK)
        status = measure_cases(&it);
    if (status == HEED_OK && run->planted)
        status = plant(&it);
    if (status == HEED_OK || heed_context_stopped(run->bench.context)) {
        heed_status judged = judge(run, subject);
        status = status == HEED_OK ? judged : status;
    }
    clear_scene(&it);
    return status;
}

void lab_ablate_subject_free(lab_ablate_subject *subject)
{
    for (size_t i = 0; i < subject->count; i++)
        lab_duel_free(&subject->cases[i].duel);
    for (size_t i = 0; i < LAB_ABLATE_PLANTED; i++)
        lab_duel_free(&subject->planted[i].duel);
    free(subject->cases);
    free(subject->absent);
}
