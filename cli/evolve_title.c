/*
 * evolve_title.c - the champion of an evolution against those who lead the board
 *
 * Evolution begins with what heed plans, so its champion has not met whoever holds the titles. It
 * meets them here, each on its problem: FASTER by 3 % on two problems, or on the only one, SLOWER
 * on none, and that again on fresh samples. Then it takes the titles of the problems on which it is
 * FASTER.
 */
#include <stdlib.h>
#include <string.h>

#include "../src/device.h"
#include "evolve.h"
#include "holder.h"

#define TITLE_ATTEMPT 16 /* on the board; before it are the challenges within the evolution */

typedef struct title_bout {
    evolve_run *run;
    const evolve_challenger *challenger;
    size_t count;
    size_t shapes[LAB_SEARCH_SHAPES];
    const char *holders[LAB_SEARCH_SHAPES]; /* by bout, not by shape */
    cli_leader leaders[LAB_SEARCH_SHAPES];
    cli_holder *held[LAB_SEARCH_SHAPES]; /* those with a source of their own; NULL: it is planned */
    char *sources[LAB_SEARCH_SHAPES];    /* ... whom the challenger has meet it; NULL: see held */
    bench_engine holder;
    lab_record_verdict fault; /* of a leader, when it was met; LAB_RECORD_OK: none */
    size_t faulty;            /* its bout */
    char why[300];
} title_bout;

/* Makes whoever leads ready, by bout. */
static heed_status start_holder(title_bout *it, size_t index, lab_side *side)
{
    sweep_run *sweep = &it->run->sweep;
    size_t number = it->shapes[index];
    const sweep_shape *shape = &sweep->shapes[number];
    const char *name = it->leaders[index].name;
    it->holder = (bench_engine){ .tensors = NULL };
    if (it->sources[index])
        return it->challenger->start_source(it->challenger->data, number, name, it->sources[index],
                                            side);
    if (it->held[index])
        return cli_holder_start(it->held[index], &shape->tensors, sweep->replay, side);
    *side = (lab_side){ bench_engine_block, bench_engine_renew, &it->holder };
    return sweep_start_engine(sweep, shape, name, &it->holder);
}

/* Notes what the leader of a bout was found to do, before it is stopped. */
static void take_fault(title_bout *it, size_t index)
{
    const cli_holder *held = it->held[index];
    const cli_worker *worker = NULL;
    if (it->sources[index])
        worker = it->challenger->source_worker(it->challenger->data);
    else if (held && held->guest)
        worker = &held->worker;
    if (!worker || it->fault != LAB_RECORD_OK)
        return;
    it->fault = cli_worker_fault(worker);
    it->faulty = index;
    snprintf(it->why, sizeof it->why, "%.290s", worker->seat.outcome.text);
}

static void stop_holder(title_bout *it, size_t index)
{
    take_fault(it, index);
    if (it->sources[index])
        it->challenger->stop_source(it->challenger->data);
    if (it->held[index])
        cli_holder_stop(it->held[index]);
    bench_engine_stop(&it->holder);
}

static void part(void *data, size_t index)
{
    title_bout *it = data;
    stop_holder(it, index);
    it->challenger->stop(it->challenger->data);
}

static heed_status meet(void *data, size_t index, lab_side *a, lab_side *b)
{
    title_bout *it = data;
    sweep_run *sweep = &it->run->sweep;
    size_t number = it->shapes[index];
    heed_status status = sweep_open_shape(sweep, &sweep->shapes[number]);
    if (status == HEED_OK)
        status = it->challenger->start(it->challenger->data, number, a);
    if (status == HEED_OK)
        status = start_holder(it, index, b);
    if (status != HEED_OK)
        part(it, index);
    return status;
}

static lab_record_trial trial_of(void *data, size_t shape, int attempt)
{
    const title_bout *it = data;
    return it->challenger->trial(it->challenger->data, shape, attempt);
}

/* It passed them before it came here. */
static heed_status no_gates(void *data, bool *yes, bool *asked)
{
    (void)data;
    (void)yes;
    (void)asked;
    return HEED_OK;
}

static heed_status take_title(void *data, size_t index, const lab_comparison *fresh, int64_t trial,
                              const char *reason)
{
    title_bout *it = data;
    const sweep_shape *shape = &it->run->sweep.shapes[it->shapes[index]];
    if (fresh->verdict != LAB_FASTER || trial == 0)
        return HEED_OK;
    if (shape->verdict && strcmp(shape->verdict, lab_compared_name(LAB_SLOWER)) == 0) {
        cli_message("%s: %s takes no title: it is slower than heed's plan, %s", shape->spec,
                    it->challenger->name, shape->usual);
        return HEED_OK;
    }
    it->run->titles++;
    return lab_record_promote(it->run->record, trial, it->leaders[index].trial, reason,
                              &it->run->trouble);
}

/* Finds the source of who leads, for the next bout; *@why says why it cannot be met, "" if it can.
 */
static heed_status open_source(title_bout *it, const cli_holder_place *place, char *why,
                               size_t size)
{
    evolve_run *run = it->run;
    const cli_leader *leader = &it->leaders[it->count];
    const heed_problem *problem = &run->sweep.shapes[it->shapes[it->count]].source.problem;
    *why = '\0';
    if (it->challenger->start_source) {
        heed_status status = lab_record_source(run->record, leader->trial, &it->sources[it->count],
                                               &run->trouble);
        if (status == HEED_OK && !it->sources[it->count])
            snprintf(why, size,
                     "it is a kernel of another heed, and has no source of its own: "
                     "'heed gate' meets it");
        return status;
    }
    cli_holder *held = it->held[it->count] = malloc(sizeof *held);
    if (!held)
        return HEED_ERR_NO_MEMORY;
    heed_status status = cli_holder_open(held, place, run->record, leader->trial, leader->name,
                                         problem, &run->trouble);
    snprintf(why, size, "%s", held->why);
    return status;
}

static void close_source(title_bout *it, size_t index)
{
    if (it->held[index])
        cli_holder_close(it->held[index]);
    free(it->held[index]);
    free(it->sources[index]);
    it->held[index] = NULL;
    it->sources[index] = NULL;
}

/* A leader that does not do any more what it got its title for has lost it: else whoever refuses to
 * be met would lead for ever. */
static heed_status refute(title_bout *it)
{
    evolve_run *run = it->run;
    const cli_leader *leader = &it->leaders[it->faulty];
    lab_record_verdict fault = it->fault;
    it->fault = LAB_RECORD_OK;
    cli_warning("%s: %s, which led the board, is ranked no more: %s",
                run->sweep.shapes[it->shapes[it->faulty]].spec, leader->name, it->why);
    return lab_record_refute(run->record, run->run, leader->trial, fault, it->why, &run->trouble);
}

/* A source that leads: can it be met here? It is begun once to see. *@again: it leads no more. */
static bool find_source(title_bout *it, size_t number, heed_status *status, bool *again)
{
    evolve_run *run = it->run;
    sweep_run *sweep = &run->sweep;
    const char *device = cli_device(run->args);
    char why[GATE_WHY_SIZE];
    lab_side side;
    const cli_holder_place place = { .args = run->args,
                                     .context = sweep->context,
                                     .device = heed_device_is_host(sweep->context) ? ""
                                               : strncmp(device, "cuda:", 5) == 0  ? device
                                                                                   : "cuda:0",
                                     .threads = sweep->threads,
                                     .seed = run->seed };
    it->shapes[it->count] = number;
    *status = sweep_open_shape(sweep, &sweep->shapes[number]);
    if (*status == HEED_OK)
        *status = open_source(it, &place, why, sizeof why);
    if (*status != HEED_OK) {
        close_source(it, it->count);
        return false;
    }
    if (!*why && start_holder(it, it->count, &side) != HEED_OK)
        snprintf(why, sizeof why, "%.300s", heed_message());
    stop_holder(it, it->count);
    if (!*why)
        return true;
    close_source(it, it->count);
    if (it->fault != LAB_RECORD_OK) {
        *again = true;
        *status = refute(it);
    } else if (!cli_interrupted())
        cli_message("%s: %s, which leads the board, keeps its title: it cannot be run here: %s",
                    sweep->shapes[number].spec, it->leaders[it->count].name, why);
    return false;
}

/* Is who leads the challenger itself? Sources of two runs may have the same name. */
static heed_status is_itself(title_bout *it, const cli_leader *leader, bool *yes)
{
    const evolve_challenger *one = it->challenger;
    char *source = NULL;
    heed_status status = HEED_OK;
    *yes = strcmp(leader->name, one->name) == 0;
    if (!*yes || !one->source)
        return HEED_OK;
    status = lab_record_source(it->run->record, leader->trial, &source, &it->run->trouble);
    *yes = source && strcmp(source, one->source) == 0;
    free(source);
    return status;
}

/* Finds the leader on a problem: of the board, else heed's plan. Other kernels that are ranked
 * there by this run alone have no title yet, but one to win. The name is "" if there is nothing. */
static heed_status find_leader(title_bout *it, size_t number, cli_leader *leader)
{
    evolve_run *run = it->run;
    const sweep_shape *shape = &run->sweep.shapes[number];
    cli_leader ranked[CLI_LEADERS];
    size_t count = 0;
    heed_status status = cli_leaders_find(run->record, run->sweep.context, shape->spec,
                                          run->sweep.cold, ranked, &count, &run->trouble);
    *leader = (cli_leader){ .trial = 0 };
    for (size_t i = 0; i < count && leader->trial == 0 && status == HEED_OK; i++) {
        bool itself = false;
        status = is_itself(it, &ranked[i], &itself);
        if (itself && ranked[i].promoted)
            return status;
        bool planned = strcmp(ranked[i].name, shape->usual) == 0;
        if (!itself && (ranked[i].promoted || ranked[i].run != run->run || planned))
            *leader = ranked[i];
    }
    if (leader->trial == 0 && strcmp(shape->usual, it->challenger->name) != 0)
        snprintf(leader->name, sizeof leader->name, "%s", shape->usual);
    return status;
}

/* Finds the leader that the challenger meets on a problem. False: there is none that runs here. */
static bool find_holder(title_bout *it, size_t number, heed_status *status)
{
    evolve_run *run = it->run;
    const sweep_shape *shape = &run->sweep.shapes[number];
    cli_leader *leader = &it->leaders[it->count];
    bool found = false, again = true;
    while (again && !found) {
        again = false;
        *status = find_leader(it, number, leader);
        if (*status != HEED_OK || !*leader->name)
            return false;
        if (sweep_kernel_runs(run->sweep.context, &shape->source.problem, leader->name) == HEED_OK)
            return true;
        found = leader->trial > 0 && find_source(it, number, status, &again);
        again = again && *status == HEED_OK;
    }
    return found;
}

/* Meets all leaders. *@again: one of them has lost its title by itself. */
static heed_status meet_leaders(title_bout *it, bool *again)
{
    evolve_run *run = it->run;
    const evolve_challenger *challenger = it->challenger;
    heed_status status = HEED_OK;
    bool yes = false;
    it->count = 0;
    for (size_t i = 0; i < run->sweep.problems.count && status == HEED_OK; i++)
        if (find_holder(it, i, &status)) {
            it->holders[it->count] = it->leaders[it->count].name;
            it->shapes[it->count++] = i;
        }
    const evolve_contest contest = { .run = run,
                                     .challenger = challenger->name,
                                     .champion = "the leader of the board",
                                     .number = challenger->number + TITLE_ATTEMPT,
                                     .count = it->count,
                                     .data = it,
                                     .meet = meet,
                                     .part = part,
                                     .shapes = it->shapes,
                                     .holders = it->holders,
                                     .attempt = TITLE_ATTEMPT,
                                     .trial = trial_of,
                                     .gates = no_gates,
                                     .proved = true,
                                     .won = take_title };
    /* With several problems two wins are needed, also where it meets somebody on one of them alone.
     */
    const size_t least = run->sweep.problems.count > 1 ? 2 : 1;
    if (status == HEED_OK && it->count >= least)
        status = evolve_contest_run(&contest, &yes);
    for (size_t i = 0; i < it->count; i++)
        close_source(it, i);
    *again = it->fault != LAB_RECORD_OK;
    if (!*again)
        return status;
    run->trouble.text[0] = '\0';
    return refute(it);
}

heed_status evolve_take_titles(evolve_run *run, const evolve_challenger *challenger)
{
    heed_status status = HEED_OK;
    bool again = true;
    title_bout *it = calloc(1, sizeof *it);
    if (!it)
        return HEED_ERR_NO_MEMORY;
    it->run = run;
    it->challenger = challenger;
    while (again && status == HEED_OK)
        status = meet_leaders(it, &again);
    free(it);
    return status;
}
