/*
 * judge.c - judges the best points of a sweep: by all gates, against heed's plan, and on the board
 *
 * The times of the search are the fastest samples from different moments, good enough for
 * selection. Whether the selected point is really faster is decided here, on fresh samples.
 */
#include <stdio.h>
#include <string.h>

#include "lab/base/array.h"
#include "lab/sweep/sweep.h"
#include "src/cuda/facts.h"
#include "src/device.h"

#define DUEL_SECONDS 1.0

/* Attempt numbers on the board: for the duel with heed's plan, and for a point that fails a gate.
 * For other trials the attempt is the effort. */
#define COMPARED 16
#define REFUSED 17

lab_record_trial lab_sweep_trial(const lab_sweep *run, const lab_session_name *name, size_t shape,
                                 int attempt)
{
    return lab_session_trial(run->session, name, &run->problems.items[shape], attempt);
}

void lab_sweep_name_point(const lab_sweep *run, int64_t point, lab_session_name *name)
{
    const lab_point knobs = lab_space_at(&run->space, point);
    char whole[HEED_NAME_SIZE] = "";
    lab_space_name(&run->space, &knobs, run->kernel, whole, NULL);
    lab_session_name_set(name, whole);
    lab_point_print(&run->space, &knobs, name->thought);
}

heed_status lab_sweep_add(lab_sweep *run, lab_record_trial *trial, int64_t *id)
{
    return lab_session_add(run->session, trial, id, &run->trouble);
}

/* ---- Gates ---- */

lab_proven lab_sweep_proven(const lab_sweep_gates *gates, int64_t point)
{
    for (size_t i = gates->count; i > 0; i--) /* the newest verdict counts */
        if (gates->items[i - 1].point == point)
            return gates->items[i - 1].proven;
    return LAB_UNPROVEN;
}

/* Runs the gates, and reports a failure. */
static lab_proven ask(lab_sweep_gates *gates, const char *name)
{
    const lab_sweep *run = gates->sweep;
    const char *specs[LAB_SEARCH_SHAPES];
    char why[LAB_PROVER_WHY] = "";
    for (size_t i = 0; i < run->problems.count; i++)
        specs[i] = run->shapes[i].spec;
    lab_proven proven = gates->prover.prove(gates->prover.data, name, specs, run->problems.count,
                                            gates->until_ns, why);
    if (proven != LAB_PROVEN && !lab_interrupted(run->sink))
        lab_say(run->sink, proven == LAB_REFUTED ? LAB_COMPLAINT : LAB_WARNING, "%s %s", name, why);
    return proven;
}

heed_status lab_sweep_prove(lab_sweep_gates *gates, int64_t point, lab_proven *proven)
{
    lab_sweep *run = gates->sweep;
    lab_session_name name;
    *proven = lab_sweep_proven(gates, point);
    if (*proven == LAB_PROVEN || *proven == LAB_REFUTED)
        return HEED_OK;
    lab_sweep_name_point(run, point, &name);
    *proven = ask(gates, name.whole);
    if (lab_interrupted(run->sink))
        return HEED_ERR_SYSTEM;
    if (!lab_grow(&gates->items, gates->count, sizeof *gates->items))
        return lab_fail(&run->trouble, HEED_ERR_NO_MEMORY,
                        "no memory for the verdicts of the gates");
    gates->items[gates->count++] = (struct lab_sweep_proof){ point, *proven };
    return HEED_OK;
}

/* Returns true if heed's plan for a shape passes the gates. */
static bool plan_passes(const lab_sweep_gates *gates, size_t number)
{
    const lab_sweep *run = gates->sweep;
    const lab_sweep_shape *shape = &run->shapes[number];
    const char *spec = shape->spec;
    char why[LAB_PROVER_WHY] = "";
    bool passes = gates->prover.prove(gates->prover.data, shape->usual, &spec, 1, gates->until_ns,
                                      why) == LAB_PROVEN;
    if (!passes && !lab_interrupted(run->sink))
        lab_say(run->sink, LAB_WARNING, "%s: heed's plan, %s, is not ranked: it %s", spec,
                shape->usual, why);
    return passes;
}

heed_status lab_sweep_add_refused(lab_sweep *run, int64_t point)
{
    static const char why[] = "it does not pass the gates on the problems of the sweep";
    const lab_record_gate gate = { .name = "verify", .passed = false };
    lab_session_name name;
    heed_status status = HEED_OK;
    lab_sweep_name_point(run, point, &name);
    for (size_t i = 0; run->ranks && i < run->problems.count && status == HEED_OK; i++) {
        lab_record_trial trial = lab_sweep_trial(run, &name, i, REFUSED);
        trial.verdict = LAB_RECORD_WRONG;
        trial.reason = why;
        trial.gates = &gate;
        trial.gate_count = 1;
        status = lab_sweep_add(run, &trial, NULL);
    }
    return status;
}

/* ---- heed's plans ---- */

/* Checks that the kernel exists and supports this problem, for an architecture or a context. */
heed_status lab_sweep_try_kernel(heed_context *context, int arch, const heed_problem *problem,
                                 const char *name)
{
    heed_cuda_facts facts;
    heed_plan *plan = NULL;
    heed_status status = arch ? heed_cuda_facts_find(name, problem, arch, &facts)
                              : heed_plan_create_named(&plan, context, problem, name);
    heed_plan_destroy(plan);
    return status;
}

heed_status lab_sweep_kernel_runs(heed_context *context, const heed_problem *problem,
                                  const char *name)
{
    return lab_sweep_try_kernel(context, heed_device_arch(context), problem, name);
}

/* heed's plan without a search. */
void lab_sweep_find_usual(lab_sweep *run)
{
    for (size_t i = 0; i < run->problems.count; i++) {
        heed_plan *plan = NULL;
        if (heed_plan_create(&plan, run->context, &run->problems.items[i], HEED_ESTIMATE) ==
            HEED_OK)
            snprintf(run->shapes[i].usual, sizeof run->shapes[i].usual, "%s", heed_plan_name(plan));
        heed_plan_destroy(plan);
    }
}

heed_status lab_sweep_play(const lab_sweep *run, size_t number, const lab_bench_contender *a,
                           const lab_bench_contender *b, const lab_duel_options *options,
                           lab_duel *duel)
{
    lab_sweep_shape *shape = &run->shapes[number];
    double seconds;
    *duel = (lab_duel){ .pairs = 0 };
    heed_status status = lab_sweep_open_shape(run, shape);
    if (status == HEED_OK)
        status = a->start(a->data, &shape->tensors, &seconds);
    if (status == HEED_OK)
        status = b->start(b->data, &shape->tensors, &seconds);
    if (status == HEED_OK && a->side.fn == lab_bench_engine_block &&
        b->side.fn == lab_bench_engine_block)
        status = lab_bench_engine_level(a->side.data, b->side.data);
    if (status == HEED_OK)
        status = lab_duel_run(duel, &a->side, &b->side, options);
    b->stop(b->data);
    a->stop(a->data);
    return status;
}

static void take_verdict(lab_sweep_shape *shape, const lab_duel *duel)
{
    const lab_comparison *it = &duel->comparison;
    shape->ratio = it->ratio.estimate;
    shape->low = it->ratio.low;
    shape->high = it->ratio.high;
    shape->verdict = lab_compared_name(it->verdict);
    shape->found_seconds = lab_stats_summary_of(duel->a, duel->pairs).p50;
    shape->usual_seconds = lab_stats_summary_of(duel->b, duel->pairs).p50;
}

heed_status lab_sweep_meet_usual(lab_sweep *run, size_t number, const lab_bench_contender *found,
                                 const lab_duel_options *options, lab_duel *duel)
{
    lab_bench_player usual = { .context = run->context, .replay = run->replay };
    snprintf(usual.name, sizeof usual.name, "%s", run->shapes[number].usual);
    const lab_bench_contender b = lab_bench_player_contender(&usual);
    heed_status status = lab_sweep_play(run, number, found, &b, options, duel);
    if (status == HEED_OK)
        take_verdict(&run->shapes[number], duel);
    return status;
}

/* ---- Unbiased times ---- */

heed_status lab_sweep_confirm(lab_sweep *run, const lab_session_name *name, size_t number,
                              int attempt, const lab_sweep_gates *gates)
{
    lab_evaluation result;
    lab_entry_parts parts;
    bool found = false;
    lab_record_trial trial = lab_sweep_trial(run, name, number, attempt);
    heed_status status = lab_session_find(run->session, &trial, &result, &found, &run->trouble);
    if (status != HEED_OK || found)
        return status;
    status = lab_sweep_time_anew(run, number, name->whole, &result);
    if (status != HEED_OK || result.state != LAB_STATE_TIMED ||
        (gates && !plan_passes(gates, number)))
        return status;
    trial.started = run->started;
    lab_entry_take_confirmed(&trial, &parts, &result, run->cold);
    return lab_sweep_add(run, &trial, NULL);
}

/* Ranks heed's plan, which has passed all gates, by its side of @duel, B. */
static heed_status add_plan(lab_sweep *run, size_t number, const lab_duel *duel)
{
    const lab_evaluation result = { .samples = duel->b, .sample_count = duel->pairs };
    lab_session_name name;
    lab_entry_parts parts;
    lab_session_name_set(&name, run->shapes[number].usual);
    snprintf(name.thought, sizeof name.thought, "heed's plan");
    lab_record_trial trial = lab_sweep_trial(run, &name, number, COMPARED);
    lab_entry_take_confirmed(&trial, &parts, &result, run->cold);
    return lab_sweep_add(run, &trial, NULL);
}

static heed_status add_duel(lab_sweep *run, const lab_session_name *name, size_t number,
                            const lab_duel *duel, bool proven)
{
    const lab_record_gate gate = { .name = "verify", .passed = true };
    lab_entry_parts parts;
    lab_record_trial trial = lab_sweep_trial(run, name, number, COMPARED);
    trial.verdict = LAB_RECORD_OK;
    trial.confirmed = proven; /* it was not selected by these samples */
    trial.gates = &gate;
    trial.gate_count = proven;
    heed_status status = lab_entry_take_turns(&trial, &parts, duel, &duel->comparison,
                                              run->shapes[number].usual, run->cold);
    return status == HEED_OK ? lab_sweep_add(run, &trial, NULL) : status;
}

static heed_status play(const lab_sweep_gates *gates, size_t number, const lab_session_name *name,
                        uint64_t seed, bool proven)
{
    lab_sweep *run = gates->sweep;
    lab_bench_player player = { .context = run->context, .replay = run->replay };
    const lab_bench_contender found = lab_bench_player_contender(&player);
    const lab_duel_options options = { .seconds = DUEL_SECONDS, .seed = seed };
    lab_duel duel;
    memcpy(player.name, name->whole, sizeof player.name);
    heed_status status = lab_sweep_meet_usual(run, number, &found, &options, &duel);
    if (status == HEED_OK && run->ranks && proven && plan_passes(gates, number))
        status = add_plan(run, number, &duel);
    if (status == HEED_OK && run->ranks)
        status = add_duel(run, name, number, &duel, proven);
    lab_duel_free(&duel);
    return status;
}

/* Compares the point @one, which may be heed's plan itself. */
static heed_status compare_shape(const lab_sweep_gates *gates, size_t number, const lab_try *one,
                                 const lab_session_name *name, uint64_t seed, bool proven)
{
    lab_sweep *run = gates->sweep;
    lab_sweep_shape *shape = &run->shapes[number];
    if (!*shape->usual)
        return HEED_OK;
    shape->same = strcmp(name->whole, shape->usual) == 0;
    if (!shape->same)
        return play(gates, number, name, seed, proven);
    if (one && number < (size_t)one->shapes)
        shape->usual_seconds = one->seconds[number];
    return run->ranks && proven ? lab_sweep_confirm(run, name, number, COMPARED, NULL) : HEED_OK;
}

heed_status lab_sweep_compare(const lab_sweep_gates *gates, int64_t point, uint64_t seed)
{
    lab_sweep *run = gates->sweep;
    bool proven = lab_sweep_proven(gates, point) == LAB_PROVEN;
    lab_session_name name;
    heed_status status = HEED_OK;
    lab_progress progress = lab_progress_start(run->sink, "comparing", run->problems.count);
    lab_sweep_name_point(run, point, &name);
    for (size_t i = 0; i < run->problems.count && status == HEED_OK; i++) {
        lab_progress_step(&progress, i, run->shapes[i].spec);
        status = compare_shape(gates, i, lab_search_tried(run->search, point), &name, seed + i,
                               proven);
    }
    lab_progress_end(&progress);
    if (status != HEED_OK && !*run->trouble.text)
        lab_fail(&run->trouble, status, "%.100s: %.300s", name.whole, heed_message());
    return lab_interrupted(run->sink) ? HEED_ERR_SYSTEM : status;
}
