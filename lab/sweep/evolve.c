/*
 * evolve.c - evolution in the space of a sweep, for `heed evolve` and `heed tune`
 *
 * A new champion is measured on one problem after another, while there is time. Findings about its
 * code apply only to it; others are the best guess for its offspring.
 */
#include "lab/sweep/evolve.h"

#include <string.h>

void lab_sweep_evolution_name(lab_sweep_evolution *it, const lab_individual *one,
                              lab_session_name *name)
{
    const lab_sweep *sweep = it->sweep;
    for (int i = 0; i < 2 && one->parents[i]; i++) {
        lab_session_name parent;
        lab_sweep_name_point(sweep, one->parent_points[i], &parent);
        const lab_record_candidate candidate = { .kernel = parent.kernel, .config = parent.config };
        lab_record_candidate_hash(&candidate, it->parents[i]);
    }
    lab_sweep_name_point(sweep, one->point, name);
    for (int i = 0; i < 2 && one->parents[i]; i++)
        name->parents[i] = it->parents[i];
    name->parent_count = (size_t)(one->parents[0] != 0) + (one->parents[1] != 0);
}

/* Its trials on the board name its parents. */
static void bred(void *data, const lab_individual *child)
{
    lab_sweep_evolution *it = data;
    lab_session_name name;
    lab_sweep_evolution_name(it, child, &name);
    it->sweep->parent_count = name.parent_count;
    memcpy(it->sweep->parents, name.parents, sizeof name.parents);
}

static unsigned findings(void *data, const lab_individual *child)
{
    const lab_sweep_evolution *it = data;
    if (it->course.mode == LAB_INSIGHT_NONE)
        return 0;
    return lab_sweep_findings(it->sweep, child->point) | it->course.shared;
}

/* ---- The champion ---- */

static heed_status measure_on(lab_sweep_evolution *it, const lab_individual *champion,
                              const lab_session_name *name, size_t shape, unsigned *words)
{
    lab_sweep *sweep = it->sweep;
    lab_insight found;
    lab_record_trial trial = lab_sweep_trial(sweep, name, shape, LAB_INSIGHT_ATTEMPT);
    lab_insight_question question = {
        .sink = sweep->sink,
        .device = it->device,
        .context = sweep->context,
        .problem = &sweep->shapes[shape].source.problem,
        .kernel = name->whole,
        .seconds = lab_search_tried(sweep->search, champion->point)->seconds[shape],
        .cold = sweep->cold,
        .threads = sweep->threads,
        .seed = sweep->session->seed
    };
    it->show(it->data, "measuring what binds the best");
    heed_status status = lab_insight_follow(&it->course, &question, sweep->session->record, &trial,
                                            &found, &sweep->trouble);
    if (status != HEED_OK)
        return status;
    if (lab_insight_known(&found) || !lab_insight_known(&it->insights[shape]))
        it->insights[shape] = found;
    *words |= lab_insight_findings(&found);
    return HEED_OK;
}

/* Measures the champion and informs the guide. Facts about an earlier one stay until replaced. */
static heed_status measure(lab_sweep_evolution *it, const lab_individual *champion)
{
    lab_session_name name;
    unsigned words = 0;
    heed_status status = HEED_OK;
    lab_sweep_evolution_name(it, champion, &name);
    for (size_t i = 0; i < it->sweep->problems.count && status == HEED_OK; i++)
        status = measure_on(it, champion, &name, i, &words);
    if (status == HEED_OK)
        lab_insight_tell(&it->course, it->evolution, champion->id, words);
    return status;
}

static heed_status born(void *data, const lab_individual *child, const lab_individual *champion)
{
    lab_sweep_evolution *it = data;
    (void)child;
    it->sweep->parent_count = 0;
    it->show(it->data, NULL);
    return it->course.mode == LAB_INSIGHT_MEASURED && champion && champion->id != it->course.of
               ? measure(it, champion)
               : HEED_OK;
}

/* ---- The run ---- */

static heed_status succeeds(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes)
{
    lab_sweep_evolution *it = data;
    return it->succeeds(it->data, challenger, champion, yes);
}

heed_status lab_sweep_evolution_create(lab_sweep_evolution *it, const int64_t *starts, size_t count)
{
    const lab_evolution_calls calls = { .data = it,
                                        .bred = bred,
                                        .findings = findings,
                                        .succeeds = it->succeeds ? succeeds : NULL,
                                        .born = born };
    for (size_t i = 0; i < LAB_SEARCH_SHAPES; i++)
        it->insights[i] = lab_insight_unknown();
    it->evolution = lab_evolution_create(&it->sweep->space, it->sweep->session->seed, &calls,
                                         starts, count);
    return it->evolution
               ? HEED_OK
               : lab_fail(&it->sweep->trouble, HEED_ERR_NO_MEMORY, "no memory for an evolution");
}

void lab_sweep_evolution_free(lab_sweep_evolution *it)
{
    it->sweep->parent_count = 0;
    lab_evolution_destroy(it->evolution);
}
