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

#include "../src/measure.h"
#include "evolve.h"
#include "tune.h"

#define STARTS 8
#define FINALISTS 3

typedef struct brood {
    tune_quest *quest;
    lab_evolution *evolution;
    int64_t launched;
    lab_lineage lineage;
} brood;

/* ---- Evolution ---- */

static heed_status evaluate(void *data, lab_individual *individual)
{
    brood *it = data;
    tune_quest *quest = it->quest;
    lab_evaluation result = { .fate = LAB_FATE_PRUNED };
    const lab_point *point = &individual->genome.point;
    lab_session_name name;
    individual->fate = LAB_FATE_PRUNED;
    if (quest->inner.refuse(quest->inner.data, point, individual->why))
        return HEED_OK;
    heed_status status = lab_lineage_name(&it->lineage, &quest->sweep.space, quest->sweep.kernel,
                                          individual, &name, &quest->error);
    if (status != HEED_OK)
        return status;
    quest->sweep.parent_count = name.parent_count;
    memcpy(quest->sweep.parents, name.parents, sizeof name.parents);
    status = quest->inner.evaluate(quest->inner.data, point, 0, 0, &result);
    quest->sweep.parent_count = 0;
    if (status != HEED_OK)
        return status;
    individual->fate = result.fate;
    individual->seconds[0] = result.seconds;
    memcpy(individual->why, result.why, sizeof individual->why);
    if (quest->shape->course.mode != INSIGHT_NONE)
        individual->findings = sweep_findings(&quest->sweep, point) | quest->shape->course.shared;
    it->launched += result.fate != LAB_FATE_PRUNED && !quest->sweep.answered;
    return HEED_OK;
}

/* The limits of a champion are measured when it has become one. Those of an earlier one stay until
 * there are new ones. */
static heed_status measure(brood *it)
{
    tune_quest *quest = it->quest;
    insight_course *course = &quest->shape->course;
    const lab_individual *champion = lab_evolution_champion(it->evolution);
    char whole[HEED_NAME_SIZE];
    lab_session_name name;
    insight found;
    if (course->mode != INSIGHT_MEASURED || !champion || champion->id == course->of ||
        lab_space_name(&quest->sweep.space, &champion->genome.point, quest->sweep.kernel, whole,
                       NULL) != HEED_OK)
        return HEED_OK;
    insight_question question = { .args = quest->tune->args,
                                  .context = quest->sweep.context,
                                  .problem = &quest->shape->source->problem,
                                  .kernel = whole,
                                  .seconds = champion->seconds[0],
                                  .cold = quest->sweep.cold,
                                  .threads = quest->sweep.threads,
                                  .seed = quest->tune->seed };
    lab_record_trial trial = tune_trial(quest->tune, quest->shape, whole, INSIGHT_ATTEMPT, &name);
    heed_status status = insight_follow(course, &question, quest->tune->session.record, &trial,
                                        &found, &quest->error);
    if (status != HEED_OK)
        return status;
    if (insight_known(&found) || !insight_known(&quest->shape->insight))
        quest->shape->insight = found;
    insight_tell(course, it->evolution, champion->id, insight_findings(&found));
    return HEED_OK;
}

static void born(void *data, const lab_individual *child, const lab_individual *champion)
{
    brood *it = data;
    (void)child;
    (void)champion;
    tune_quest_show(it->quest);
}

static int by_score(const void *a, const void *b)
{
    const lab_try *one = *(const lab_try *const *)a, *other = *(const lab_try *const *)b;
    return one->score < other->score ? -1 : one->score > other->score;
}

/* The best points of the sweep. */
static heed_status begin(brood *it)
{
    const lab_search_result result = lab_search_get(it->quest->sweep.search);
    const lab_evolution_options options = { .seed = it->quest->tune->seed,
                                            .islands = EVOLVE_ISLANDS };
    lab_genome starts[STARTS];
    size_t count = 0, timed = 0;
    const lab_try **tries = calloc(result.count + 1, sizeof *tries);
    if (!tries)
        return lab_fail(&it->quest->error, HEED_ERR_NO_MEMORY, "no memory for an evolution");
    for (size_t i = 0; i < result.count; i++)
        if (isfinite(result.tries[i].score))
            tries[timed++] = &result.tries[i];
    qsort(tries, timed, sizeof *tries, by_score);
    for (; count < STARTS && count < timed; count++)
        starts[count] = (lab_genome){ .point = lab_space_at(&it->quest->sweep.space,
                                                            tries[count]->index) };
    free(tries);
    return lab_evolution_create(&it->evolution, &it->quest->sweep.space, NULL, &options, starts,
                                count, &it->quest->error);
}

static heed_status breed(brood *it, int64_t until_ns, int64_t trials)
{
    const lab_nature nature = {
        .data = it, .shapes = 1, .evaluate = evaluate, .born = born, .interrupted = cli_interrupted
    };
    heed_status status = HEED_OK;
    int64_t before = -1;
    while (status == HEED_OK && !cli_interrupted() && heed_clock_ns() < until_ns &&
           (trials <= 0 || it->launched < trials)) {
        int64_t now = lab_evolution_evaluations(it->evolution);
        if (now == before) /* nothing is left to try */
            break;
        before = now;
        evolve_look_ahead(&it->quest->sweep, it->evolution);
        status = lab_evolution_run(it->evolution, &nature, 1);
        if (status == HEED_OK)
            status = measure(it);
    }
    it->quest->hunt->bred = lab_evolution_evaluations(it->evolution);
    it->quest->hunt->launched += it->launched;
    return status;
}

/* The best of the islands once more, longer: with many, some only looked fast. */
static heed_status play_finals(brood *it, int64_t until_ns)
{
    tune_quest *quest = it->quest;
    heed_status status = HEED_OK;
    for (int i = 0; i < EVOLVE_ISLANDS * FINALISTS && status == HEED_OK; i++) {
        const lab_individual *one = lab_evolution_member(it->evolution, i % EVOLVE_ISLANDS,
                                                         i / EVOLVE_ISLANDS);
        lab_evaluation result = { .fate = LAB_FATE_FAILED };
        if (!one || one->seconds[0] > 1.1 * quest->best)
            continue;
        if (cli_interrupted() || heed_clock_ns() >= until_ns)
            break;
        status = quest->inner.evaluate(quest->inner.data, &one->genome.point, 0,
                                       quest->inner.efforts - 1, &result);
        if (status == HEED_OK && result.fate == LAB_FATE_TIMED)
            tune_quest_take(quest, &one->genome.point, result.seconds);
    }
    return status;
}

cli_exit tune_evolve(tune_quest *quest, int64_t until_ns, int64_t trials)
{
    brood it = { .quest = quest };
    int64_t now = heed_clock_ns();
    quest->shape->course = (insight_course){
        .mode = (insight_mode)cli_args_choice(quest->tune->args, "insights"),
        .budget = insight_budget((double)(until_ns - now) * 1e-9)
    };
    quest->shape->insight = insight_unknown();
    heed_status status = begin(&it);
    if (status == HEED_OK)
        status = breed(&it, until_ns - (until_ns - now) / 5, trials);
    if (status == HEED_OK)
        status = play_finals(&it, until_ns);
    lab_evolution_destroy(it.evolution);
    free(it.lineage.hashes);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    if (status == HEED_OK)
        return CLI_OK;
    cli_error("%s: %s%s%s", quest->shape->spec,
              *quest->error.text ? quest->error.text : heed_status_name(status),
              *quest->sweep.trouble ? ": " : "", quest->sweep.trouble);
    return cli_exit_of(status);
}
