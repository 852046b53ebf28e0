/*
 * tune_evolve.c - evolution that goes on from what a sweep found
 *
 * A sweep learns where a space is good; evolution then crosses and mutates the best of it, told by
 * the guide what holds them back. It runs on quick times, and its best are timed again as those of
 * the sweep were.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/measure.h"
#include "tune.h"

#define STARTS 8
#define FINALISTS 3

static void show(void *data, const char *what)
{
    (void)what;
    tune_job_show(data);
}

static int by_score(const void *a, const void *b)
{
    const lab_try *one = *(const lab_try *const *)a, *other = *(const lab_try *const *)b;
    return one->score < other->score ? -1 : one->score > other->score;
}

/* The best points of the sweep. */
static heed_status begin(lab_sweep_evolution *it)
{
    const lab_search_result result = lab_search_get(it->sweep->search);
    lab_genome starts[STARTS];
    size_t count = 0, timed = 0;
    const lab_try **tries = calloc(result.count + 1, sizeof *tries);
    if (!tries)
        return lab_fail(it->trouble, HEED_ERR_NO_MEMORY, "no memory for an evolution");
    for (size_t i = 0; i < result.count; i++)
        if (isfinite(result.tries[i].score))
            tries[timed++] = &result.tries[i];
    qsort(tries, timed, sizeof *tries, by_score);
    for (; count < STARTS && count < timed; count++)
        starts[count] = (lab_genome){ .point = lab_space_at(&it->sweep->space,
                                                            tries[count]->index) };
    free(tries);
    return lab_sweep_evolution_create(it, starts, count);
}

/* The best of the islands once more, longer: with many, some only looked fast. */
static heed_status play_finals(lab_sweep_evolution *it, tune_job *job, int64_t until_ns)
{
    heed_status status = HEED_OK;
    for (int i = 0; i < LAB_SWEEP_ISLANDS * FINALISTS && status == HEED_OK; i++) {
        const lab_individual *one = lab_evolution_member(it->evolution, i % LAB_SWEEP_ISLANDS,
                                                         i / LAB_SWEEP_ISLANDS);
        lab_evaluation result = { .state = LAB_STATE_FAILED };
        if (!one || one->seconds[0] > 1.1 * job->best)
            continue;
        if (cli_interrupted() || heed_clock_ns() >= until_ns)
            break;
        status = job->inner.evaluate(job->inner.data, &one->genome.point, 0, job->inner.efforts - 1,
                                     &result);
        if (status == HEED_OK && result.state == LAB_STATE_TIMED)
            tune_job_take(job, &one->genome.point, result.seconds);
    }
    return status;
}

static heed_status evolve(lab_sweep_evolution *it, tune_job *job, int64_t until_ns, int64_t trials)
{
    int64_t now = heed_clock_ns();
    lab_sweep_evolution_insights(it, (double)(until_ns - now) * 1e-9);
    heed_status status = begin(it);
    if (status == HEED_OK)
        status = lab_sweep_evolve(it, until_ns - (until_ns - now) / 5, trials);
    if (it->evolution)
        job->space->bred = lab_evolution_evaluations(it->evolution);
    job->space->launched += it->launched;
    if (status == HEED_OK)
        status = play_finals(it, job, until_ns);
    job->shape->course = it->course;
    job->shape->insight = it->insights[0];
    return status;
}

cli_exit tune_evolve(tune_job *job, int64_t until_ns, int64_t trials)
{
    heed_status status = HEED_ERR_NO_MEMORY;
    lab_sweep_evolution *it = calloc(1, sizeof *it);
    if (it) {
        it->sweep = &job->sweep;
        it->show = show;
        it->data = job;
        it->trouble = &job->error;
        status = evolve(it, job, until_ns, trials);
        lab_sweep_evolution_free(it);
    }
    free(it);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    if (status == HEED_OK)
        return CLI_OK;
    cli_error("%s: %s", job->shape->spec,
              *job->error.text      ? job->error.text
              : *job->sweep.trouble ? job->sweep.trouble
                                    : heed_status_name(status));
    return cli_exit_of(status);
}
