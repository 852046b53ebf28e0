/*
 * evolve.c - evolution in the space of a sweep, as `heed evolve` and `heed tune` do it
 *
 * Answers come from the board, else from the device. A champion is measured when it has become one,
 * on one problem after the other while there is time. A finding holds for it alone where its code
 * decides it, and else is the best guess there is for what is bred next.
 */
#include "lab/sweep/evolve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/measure.h"

/* ---- Looking ahead ---- */

/* Points that a copy of the evolution comes to, if none of them is a success. */
typedef struct scout {
    lab_point *points;
    size_t count;
} scout;

static heed_status note(void *data, lab_individual *individual)
{
    scout *it = data;
    it->points[it->count++] = individual->genome.point;
    individual->state = LAB_STATE_FAILED;
    return HEED_OK;
}

/* Has the next kernels compiled on all cores while the device is busy. A wrong guess costs idle
 * cores some time. */
static void look_ahead(const lab_sweep_evolution *it)
{
    const lab_sweep *sweep = it->sweep;
    int count = 4 * sweep->threads; /* many of them are refused and cost nothing */
    if (!sweep->pool)
        return;
    scout found = { .points = calloc((size_t)count + 1, sizeof *found.points) };
    lab_evolution *copy = lab_evolution_clone(it->evolution);
    const lab_evolution_calls calls = { .data = &found,
                                        .shapes = (int)sweep->problems.count,
                                        .evaluate = note };
    if (found.points && copy) {
        lab_evolution_run(copy, &calls, count);
        lab_sweep_pool_want(sweep->pool, found.points, found.count);
    }
    lab_evolution_destroy(copy);
    free(found.points);
}

/* ---- One kernel ---- */

heed_status lab_sweep_evolution_name(lab_sweep_evolution *it, const lab_individual *one,
                                     lab_session_name *name)
{
    return lab_lineage_name(&it->lineage, &it->sweep->space, it->sweep->kernel, one, name,
                            it->trouble);
}

static heed_status ask(lab_sweep_evolution *it, const lab_point *point, int shape,
                       lab_evaluation *result)
{
    heed_status status = it->evaluator.evaluate(it->evaluator.data, point, shape, 0, result);
    if (status != HEED_OK && !lab_interrupted(it->sweep->sink))
        snprintf(it->trouble->text, sizeof it->trouble->text, "%s", it->sweep->trouble);
    return status;
}

static heed_status evaluate(void *data, lab_individual *individual)
{
    lab_sweep_evolution *it = data;
    lab_sweep *sweep = it->sweep;
    const lab_point *point = &individual->genome.point;
    lab_session_name name;
    lab_evaluation result = { .state = LAB_STATE_TIMED };
    bool new = false;
    /* A point that the kernel itself refuses is no trial, and soon refused again. */
    individual->state = LAB_STATE_PRUNED;
    if (it->evaluator.refuse(it->evaluator.data, point, individual->why))
        return HEED_OK;
    heed_status status = lab_sweep_evolution_name(it, individual, &name);
    if (status != HEED_OK)
        return status;
    sweep->parent_count = name.parent_count;
    memcpy(sweep->parents, name.parents, sizeof name.parents);
    for (size_t i = 0;
         i < sweep->problems.count && status == HEED_OK && result.state == LAB_STATE_TIMED; i++) {
        status = ask(it, point, (int)i, &result);
        individual->seconds[i] = result.seconds;
        new |= !sweep->answered;
    }
    sweep->parent_count = 0;
    individual->state = result.state;
    memcpy(individual->why, result.why, sizeof individual->why);
    if (it->course.mode != LAB_INSIGHT_NONE)
        individual->findings = lab_sweep_findings(sweep, point) | it->course.shared;
    it->launched += result.state != LAB_STATE_PRUNED && (new || it->counts_known);
    it->timed += result.state == LAB_STATE_TIMED;
    return status;
}

/* ---- The champion ---- */

static heed_status measure_on(lab_sweep_evolution *it, const lab_individual *champion,
                              const lab_session_name *name, size_t shape, unsigned *findings)
{
    const lab_sweep *sweep = it->sweep;
    lab_insight found;
    lab_record_trial trial = lab_sweep_trial(sweep, name, shape, LAB_INSIGHT_ATTEMPT);
    lab_insight_question question = { .sink = sweep->sink,
                                      .device = sweep->options.machine.device,
                                      .context = sweep->context,
                                      .problem = &sweep->shapes[shape].source.problem,
                                      .kernel = name->whole,
                                      .seconds = champion->seconds[shape],
                                      .cold = sweep->options.cold,
                                      .threads = sweep->threads,
                                      .seed = sweep->session->seed };
    it->show(it->data, "measuring what binds the best");
    heed_status status = lab_insight_follow(&it->course, &question, sweep->session->record, &trial,
                                            &found, it->trouble);
    if (status != HEED_OK)
        return status;
    if (lab_insight_known(&found) || !lab_insight_known(&it->insights[shape]))
        it->insights[shape] = found;
    *findings |= lab_insight_findings(&found);
    return HEED_OK;
}

/* Measures the champion, if it is a new one, and tells the guide. Facts about an earlier one stay
 * until there are newer ones. */
static heed_status measure(lab_sweep_evolution *it)
{
    const lab_individual *champion = lab_evolution_champion(it->evolution);
    lab_session_name name;
    unsigned findings = 0;
    if (it->course.mode != LAB_INSIGHT_MEASURED || !champion || champion->id == it->course.of)
        return HEED_OK;
    heed_status status = lab_sweep_evolution_name(it, champion, &name);
    for (size_t i = 0; i < it->sweep->problems.count && status == HEED_OK; i++)
        status = measure_on(it, champion, &name, i, &findings);
    if (status == HEED_OK)
        lab_insight_tell(&it->course, it->evolution, champion->id, findings);
    return status;
}

/* ---- All of them ---- */

heed_status lab_sweep_evolution_create(lab_sweep_evolution *it, const lab_genome *starts,
                                       size_t count)
{
    const lab_evolution_options options = { .seed = it->sweep->session->seed,
                                            .islands = LAB_SWEEP_ISLANDS };
    it->evaluator = lab_sweep_evaluator(it->sweep);
    return lab_evolution_create(&it->evolution, &it->sweep->space, NULL, &options, starts, count,
                                it->trouble);
}

void lab_sweep_evolution_free(lab_sweep_evolution *it)
{
    lab_evolution_destroy(it->evolution);
    free(it->lineage.hashes);
}

void lab_sweep_evolution_insights(lab_sweep_evolution *it, double seconds)
{
    it->course = (lab_insight_course){ .mode = it->sweep->options.insights,
                                       .budget = lab_insight_budget(seconds) };
    for (size_t i = 0; i < LAB_SEARCH_SHAPES; i++)
        it->insights[i] = lab_insight_unknown();
}

static heed_status succeeds(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes)
{
    lab_sweep_evolution *it = data;
    return it->succeeds(it->data, challenger, champion, yes);
}

static void born(void *data, const lab_individual *child, const lab_individual *champion)
{
    lab_sweep_evolution *it = data;
    (void)child;
    (void)champion;
    it->show(it->data, NULL);
}

/* One kernel after the other, so that the time is looked at in between. */
heed_status lab_sweep_evolve(lab_sweep_evolution *it, int64_t until_ns, int64_t trials)
{
    const lab_evolution_calls calls = { .data = it,
                                        .shapes = (int)it->sweep->problems.count,
                                        .evaluate = evaluate,
                                        .succeeds = it->succeeds ? succeeds : NULL,
                                        .born = born,
                                        .interrupted = it->sweep->sink
                                                           ? it->sweep->sink->interrupted
                                                           : NULL };
    heed_status status = HEED_OK;
    int64_t before = -1;
    while (status == HEED_OK && !lab_interrupted(it->sweep->sink) &&
           (until_ns == 0 || heed_clock_ns() < until_ns) &&
           (trials <= 0 || it->launched < trials)) {
        int64_t now = lab_evolution_evaluations(it->evolution);
        if (now == before) /* nothing is left to try */
            break;
        before = now;
        look_ahead(it);
        status = lab_evolution_run(it->evolution, &calls, 1);
        if (status == HEED_OK)
            status = measure(it);
    }
    return status;
}
