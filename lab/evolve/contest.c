/*
 * contest.c - contests of a challenger with the champion of an evolution, and of that champion with
 * the leaders of the board
 *
 * Evolution begins with heed's plans, so its champion has not been compared with the leaders. Here
 * it is, on the problem of each. It must be FASTER by 3 % on two problems, or on the only one,
 * SLOWER on none, and again so on fresh samples. Then it leads on the problems on which it is
 * FASTER.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/evolve/evolve.h"
#include "lab/session/challenge.h"
#include "lab/session/leader.h"

static heed_status play(void *data, size_t index, const lab_duel_options *options, lab_duel *duel)
{
    const lab_evolve_contest *it = data;
    const lab_challenged *leader = &it->leaders[index];
    /* Against a kernel of this process both are timed by the clock. */
    if (it->challenger->worker)
        it->challenger->worker->process.by_clock = leader->contender.side.fn ==
                                                   lab_bench_engine_block;
    return lab_sweep_play(&it->run->sweep, leader->shape, &it->challenger->contender,
                          &leader->contender, options, duel);
}

static lab_record_trial trial_of(void *data, size_t index, int round)
{
    const lab_evolve_contest *it = data;
    return it->challenger->trial(it->challenger->contender.data, it->leaders[index].shape,
                                 it->attempt + round);
}

static const char *leader_of(void *data, size_t index)
{
    const lab_evolve_contest *it = data;
    return it->leaders[index].contender.name;
}

/* Holds a contest, or takes its result from the board. */
static heed_status hold(lab_evolve_contest *it, bool *yes)
{
    lab_evolve *run = it->run;
    lab_error *trouble = &run->sweep.trouble;
    lab_challenge_result result;
    const lab_challenge challenge = { .session = &run->session,
                                      .count = it->count,
                                      .wins = run->sweep.problems.count < 2 ? 1 : 0,
                                      .seconds = run->duel,
                                      .seed = run->session.seed * 1000003 +
                                              (uint64_t)(it->challenger->number + it->attempt - 1) *
                                                  2,
                                      .proved = it->proved,
                                      .data = it,
                                      .judge = it->data,
                                      .trial = trial_of,
                                      .leader = leader_of,
                                      .play = play,
                                      .gates = it->gates,
                                      .won = it->won };
    heed_status status = lab_challenge_run(&challenge, &result, trouble);
    *yes = result.won;
    run->challenges++;
    run->refuted += result.refuted;
    if (*result.reason)
        snprintf(run->last, sizeof run->last, "%s", result.reason);
    if (status != HEED_OK && !*trouble->text && !lab_interrupted(run->sweep.sink))
        lab_fail(trouble, status, "%s: %.200s", it->challenger->contender.name, heed_message());
    return status;
}

heed_status lab_evolve_contest_champion(lab_evolve_contest *it, const lab_bench_contender *champion,
                                        bool *yes)
{
    it->attempt = 1;
    it->count = it->run->sweep.problems.count;
    for (size_t i = 0; i < it->count; i++)
        it->leaders[i] = (lab_challenged){ .shape = i, .contender = *champion };
    return hold(it, yes);
}

/* -------------------------------------------------------------------------- */
/* The leaders of the board                                                   */
/* -------------------------------------------------------------------------- */

#define LEAD_ATTEMPT 16 /* on the board; lower numbers are contests within the evolution */

struct lead_run;

/* A leader, on one problem. */
typedef struct board_leader {
    struct lead_run *all;
    size_t shape;
    lab_leader found;
    lab_rerun *rerun;        /* of its source; NULL: it is planned */
    lab_bench_player player; /* if so */
} board_leader;

typedef struct lead_run {
    lab_evolve *run;
    const lab_challenger *challenger;
    size_t count;
    board_leader leaders[LAB_SEARCH_SHAPES];
    lab_record_verdict fault; /* of a leader, found in a contest; LAB_RECORD_OK: none */
    const board_leader *faulty;
    char why[300];
    int64_t told; /* the last trial reported as no longer ranked */
} lead_run;

static const lab_sweep_shape *shape_of(const board_leader *leader)
{
    return &leader->all->run->sweep.shapes[leader->shape];
}

/* ---- A leader that takes turns ---- */

static lab_bench_contender contender_of(board_leader *leader)
{
    if (leader->rerun)
        return leader->rerun->own;
    leader->player.context = leader->all->run->sweep.context;
    leader->player.replay = leader->all->run->sweep.replay;
    memcpy(leader->player.name, leader->found.name, sizeof leader->player.name);
    return lab_bench_player_contender(&leader->player);
}

/* Notes the fault that it showed in the contest. */
static void note_fault(board_leader *leader)
{
    lead_run *it = leader->all;
    const lab_bench_worker *worker = leader->rerun && leader->rerun->contender
                                         ? &leader->rerun->worker
                                         : NULL;
    if (!worker || it->fault != LAB_RECORD_OK)
        return;
    it->fault = lab_bench_worker_fault(worker);
    it->faulty = leader;
    snprintf(it->why, sizeof it->why, "%.290s", worker->process.outcome.text);
}

static void close_leader(board_leader *leader)
{
    if (leader->rerun)
        lab_rerun_close(leader->rerun);
    free(leader->rerun);
    leader->rerun = NULL;
}

/* ---- The consequences ---- */

static heed_status take_lead(void *data, size_t index, const lab_comparison *fresh, int64_t trial,
                             const char *reason)
{
    lead_run *it = data;
    const board_leader *leader = &it->leaders[index];
    const lab_sweep_shape *shape = shape_of(leader);
    if (fresh->verdict != LAB_FASTER || trial == 0)
        return HEED_OK;
    if (shape->verdict && strcmp(shape->verdict, lab_compared_name(LAB_SLOWER)) == 0) {
        lab_say(it->run->sweep.sink, LAB_MESSAGE,
                "%s: %s does not become leader: it is slower than heed's plan, %s", shape->spec,
                it->challenger->contender.name, shape->usual);
        return HEED_OK;
    }
    it->run->leads++;
    return lab_record_promote(it->run->session.record, trial, leader->found.trial, reason,
                              &it->run->sweep.trouble);
}

/* A leader that fails now loses its place: otherwise one that refuses to compete would lead
 * forever. */
static heed_status refute(lead_run *it)
{
    lab_evolve *run = it->run;
    lab_record_verdict fault = it->fault;
    it->fault = LAB_RECORD_OK;
    lab_say(run->sweep.sink, LAB_WARNING, "%s: %s, which led the board, is no longer ranked: %s",
            shape_of(it->faulty)->spec, it->faulty->found.name, it->why);
    return lab_record_refute(run->session.record, run->session.run, it->faulty->found.trial, fault,
                             it->why, &run->sweep.trouble);
}

/* ---- Finding the leaders ---- */

/* Sets *@yes if the leader is the challenger itself. Sources of two runs may have the same name. */
static heed_status is_itself(const lead_run *it, const lab_leader *leader, bool *yes)
{
    const lab_challenger *one = it->challenger;
    char *source = NULL;
    heed_status status = HEED_OK;
    *yes = strcmp(leader->name, one->contender.name) == 0;
    if (!*yes || !one->source)
        return HEED_OK;
    status = lab_record_source(it->run->session.record, leader->trial, &source,
                               &it->run->sweep.trouble);
    *yes = source && strcmp(source, one->source) == 0;
    free(source);
    return status;
}

/* Finds the leader on a problem: on the board, else heed's plan. Other kernels that only this run
 * has ranked do not lead yet. The name is "" if there is no leader. */
static heed_status find(board_leader *leader)
{
    lab_evolve *run = leader->all->run;
    const lab_sweep_shape *shape = shape_of(leader);
    lab_leader ranked[LAB_LEADERS], *found = &leader->found;
    heed_status status = lab_leaders_find(run->session.record, run->sweep.context, shape->spec,
                                          run->sweep.cold, ranked, LAB_LEADERS,
                                          &run->sweep.trouble);
    if (status == HEED_OK)
        leader->all->told = lab_leaders_tell_left_out(run->session.record, run->sweep.sink,
                                                      shape->spec, leader->all->told);
    *found = (lab_leader){ .trial = 0 };
    for (size_t i = 0; i < LAB_LEADERS && ranked[i].trial && !found->trial && status == HEED_OK;
         i++) {
        bool itself = false;
        status = is_itself(leader->all, &ranked[i], &itself);
        if (itself && ranked[i].promoted)
            return status;
        bool planned = strcmp(ranked[i].name, shape->usual) == 0;
        if (!itself && (ranked[i].promoted || ranked[i].run != run->session.run || planned))
            *found = ranked[i];
    }
    if (!found->trial && strcmp(shape->usual, leader->all->challenger->contender.name) != 0)
        snprintf(found->name, sizeof found->name, "%s", shape->usual);
    return status;
}

/* Opens its source, and starts it once to see whether it runs here; if not, @why has the reason. */
static heed_status try_source(board_leader *leader, char why[LAB_REBUILD_WHY_SIZE])
{
    lab_evolve *run = leader->all->run;
    lab_sweep *sweep = &run->sweep;
    double seconds;
    heed_status status = lab_sweep_open_shape(sweep, &sweep->shapes[leader->shape]);
    if (status != HEED_OK)
        return status;
    leader->rerun = malloc(sizeof *leader->rerun);
    if (!leader->rerun)
        return HEED_ERR_NO_MEMORY;
    status = lab_rerun_open(leader->rerun, &run->rebuild, &run->bench,
                            leader->all->challenger->worker, run->session.record,
                            leader->found.trial, leader->found.name,
                            &shape_of(leader)->source.problem, &run->sweep.trouble);
    if (status != HEED_OK)
        return status;
    snprintf(why, LAB_REBUILD_WHY_SIZE, "%s", leader->rerun->why);
    if (*why)
        return HEED_OK;
    const lab_bench_contender contender = leader->rerun->own;
    if (contender.start(contender.data, &sweep->shapes[leader->shape].tensors, &seconds) != HEED_OK)
        snprintf(why, LAB_REBUILD_WHY_SIZE, "%.300s", heed_message());
    contender.stop(contender.data);
    note_fault(leader);
    return HEED_OK;
}

/* Returns true if a leading source can compete here. *@again: it no longer leads. */
static bool find_source(board_leader *leader, heed_status *status, bool *again)
{
    lead_run *it = leader->all;
    char why[LAB_REBUILD_WHY_SIZE];
    *status = try_source(leader, why);
    if (*status == HEED_OK && !*why)
        return true;
    close_leader(leader);
    if (*status == HEED_OK && it->fault != LAB_RECORD_OK) {
        *again = true;
        *status = refute(it);
    } else if (*status == HEED_OK && !lab_interrupted(it->run->sweep.sink)) {
        lab_say(it->run->sweep.sink, LAB_MESSAGE,
                "%s: %s, which leads the board, stays leader: it cannot be run here: %s",
                shape_of(leader)->spec, leader->found.name, why);
    }
    return false;
}

/* Finds the challenger's opponent on a problem. Returns false if none runs here. */
static bool find_leader(board_leader *leader, heed_status *status)
{
    bool found = false, again = true;
    while (again && !found) {
        again = false;
        *status = find(leader);
        if (*status != HEED_OK || !*leader->found.name)
            return false;
        if (lab_sweep_kernel_runs(leader->all->run->sweep.context,
                                  &shape_of(leader)->source.problem, leader->found.name) == HEED_OK)
            return true;
        found = leader->found.trial > 0 && find_source(leader, status, &again);
        again = again && *status == HEED_OK;
    }
    return found;
}

/* ---- The contest ---- */

/* Holds the contests with all leaders. *@again: one of them lost its place by a fault. */
static heed_status meet_leaders(lead_run *it, bool *again)
{
    lab_evolve *run = it->run;
    heed_status status = HEED_OK;
    bool yes = false;
    lab_evolve_contest contest = { .run = run,
                                   .challenger = it->challenger,
                                   .attempt = LEAD_ATTEMPT,
                                   .proved = true,
                                   .won = take_lead,
                                   .data = it };
    it->count = 0;
    for (size_t i = 0; i < run->sweep.problems.count && status == HEED_OK; i++) {
        board_leader *leader = &it->leaders[it->count];
        *leader = (board_leader){ .all = it, .shape = i };
        if (find_leader(leader, &status))
            contest.leaders[it->count++] = (lab_challenged){ i, contender_of(leader) };
    }
    contest.count = it->count;
    /* With several problems two wins are needed, even if only one of them has a leader. */
    const size_t least = run->sweep.problems.count > 1 ? 2 : 1;
    if (status == HEED_OK && it->count >= least)
        status = hold(&contest, &yes);
    for (size_t i = 0; i < it->count; i++) {
        note_fault(&it->leaders[i]);
        close_leader(&it->leaders[i]);
    }
    *again = it->fault != LAB_RECORD_OK;
    if (!*again)
        return status;
    run->sweep.trouble.text[0] = '\0';
    return refute(it);
}

heed_status lab_evolve_lead(lab_evolve *run, const lab_challenger *challenger)
{
    heed_status status = HEED_OK;
    bool again = true;
    lead_run *it = calloc(1, sizeof *it);
    if (!it)
        return HEED_ERR_NO_MEMORY;
    it->run = run;
    it->challenger = challenger;
    while (again && status == HEED_OK)
        status = meet_leaders(it, &again);
    free(it);
    return status;
}
