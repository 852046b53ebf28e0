/*
 * trial_run.c - runs a candidate on the caller's sets: opens rooms, writes values, takes outputs
 *
 * The order protects against a candidate that keeps the thread and replies in place of the runner:
 * while its process can run before the clock starts, no values of this run are visible to it.
 */
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "lab/tensor/view.h"
#include "lab/trial/trial_parts.h"

static bool same_rooms(const lab_wire_set *a, const lab_wire_set *b)
{
    bool same = true;

    for (int i = 0; i < LAB_BLOCKS; i++)
        same = same && a->room[i].start == b->room[i].start && a->room[i].size == b->room[i].size;
    return same;
}

/* True if the process has opened exactly the rooms of the orders. */
static bool are_open(const lab_trial *trial, int count)
{
    const lab_wire_orders *orders = lab_trial_orders(trial);
    bool open = trial->opened_count == count;

    for (int i = 0; i < count && open; i++)
        open = same_rooms(&orders->set[i], &trial->opened[i]);
    return open;
}

bool lab_trial_reach(lab_trial *trial, int count, lab_trial_outcome *outcome)
{
    lab_wire_orders *orders = lab_trial_orders(trial);
    char line[LAB_WIRE_LINE];

    orders->count = count;
    if (are_open(trial, count))
        return true;
    trial->opened_count = 0;
    if (!lab_trial_demand(trial, "place", "placed", line, outcome))
        return false;
    memcpy(trial->opened, orders->set, (size_t)count * sizeof *orders->set);
    trial->opened_count = count;
    return true;
}

bool lab_trial_lay_out(lab_trial *trial, const lab_set *sets, bool alike, int count,
                       lab_trial_outcome *outcome)
{
    lab_wire_orders *orders = lab_trial_orders(trial);

    trial->inputs.used = LAB_WIRE_ORDERS;
    trial->outputs.used = 0;
    for (int i = 0; i < count; i++) {
        const lab_set *from = &sets[alike ? 0 : i];
        lab_wire_set *set = &orders->set[i];
        for (int index = 0; index < LAB_BLOCKS; index++)
            if (!lab_arena_place(lab_trial_arena(trial, index), &from->span[index],
                                 &set->room[index]))
                return lab_trial_outcome_set(outcome, LAB_TRIAL_UNSUPPORTED,
                                             "the tensors need more than the %zu bytes of a trial",
                                             trial->limits.tensor_bytes);
        set->workspace_size = from->span[LAB_WORKSPACE].size;
    }
    return true;
}

bool lab_trial_look_at_walls(lab_trial *trial, lab_trial_outcome *outcome)
{
    pid_t pid = trial->host.process.pid;

    if (trial->language == LAB_LANGUAGE_CUDA ||
        (lab_pages_walled(pid, trial->inputs.fd, false, LAB_WIRE_ORDERS, trial->opened,
                          trial->opened_count) &&
         lab_pages_walled(pid, trial->outputs.fd, true, 0, trial->opened, trial->opened_count)))
        return true;
    lab_host_end(&trial->host);
    return lab_trial_outcome_set(outcome, LAB_TRIAL_FORBIDDEN,
                                 "opened memory around its tensors, or moved them");
}

/* Takes the time reported by the process, if it can be trusted. */
static void take_time(const lab_trial *trial, const char *line, lab_trial_outcome *outcome)
{
    double ns;

    outcome->own_seconds = trial->host.cpu_seconds;
    if (trial->language == LAB_LANGUAGE_CUDA && sscanf(line, "done %lf", &ns) == 1)
        outcome->seconds = outcome->own_seconds = ns * 1e-9;
}

bool lab_trial_compute(lab_trial *trial, double seconds, lab_trial_outcome *outcome)
{
    char line[LAB_WIRE_LINE];
    double limit = seconds > 0 ? seconds : trial->limits.run_seconds;

    if (!lab_trial_await(trial, "run", limit, "done ", line, outcome))
        return false;
    take_time(trial, line, outcome);
    return true;
}

/* ---------------------------------------------------------------------------------------------- */
/* The caller's sets                                                                              */
/* ---------------------------------------------------------------------------------------------- */

static void hand_over(lab_trial *trial, const lab_set *sets, int count)
{
    const lab_wire_orders *orders = lab_trial_orders(trial);

    for (int i = 0; i < count; i++)
        for (int index = 0; index < LAB_BLOCKS; index++) {
            const lab_span *span = &sets[i].span[index];
            if (span->size > 0)
                memcpy(lab_trial_arena(trial, index)->map + orders->set[i].room[index].start,
                       span->room, span->room_size);
        }
}

/* True if the candidate changed bytes @from to @to - 1 of a room. *@at is the first. */
static bool changed(const unsigned char *before, const unsigned char *after, size_t from, size_t to,
                    size_t *at)
{
    if (from >= to || memcmp(before + from, after + from, to - from) == 0)
        return false;
    for (*at = from; before[*at] == after[*at];)
        ++*at;
    return true;
}

/* Copies one output back, and checks the memory around it. */
static void take_back(const lab_arena *arena, const lab_span *span, const lab_wire_room *room,
                      int index, lab_trial_outcome *outcome)
{
    const unsigned char *made = arena->map + room->start;
    size_t at, end = span->start + span->size;

    if (span->size == 0)
        return;
    if (changed(span->room, made, 0, span->start, &at))
        lab_trial_outcome_set(
            outcome, LAB_TRIAL_WROTE_OUTSIDE, "wrote before the start of %s, within %zu byte%s",
            lab_block_name(index), span->start - at, lab_plural(span->start - at));
    else if (changed(span->room, made, end, span->room_size, &at))
        lab_trial_outcome_set(outcome, LAB_TRIAL_WROTE_OUTSIDE,
                              "wrote past the end of %s, within %zu byte%s", lab_block_name(index),
                              at - end + 1, lab_plural(at - end + 1));
    memcpy(span->room, made, span->room_size);
}

bool lab_trial_run(lab_trial *trial, const lab_set *sets, int count, double seconds,
                   lab_trial_outcome *outcome)
{
    const lab_wire_orders *orders = lab_trial_orders(trial);

    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    if (count < 1 || count > LAB_WIRE_SETS)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "%d sets; there must be 1 to %d",
                                     count, LAB_WIRE_SETS);
    if (!lab_trial_start(trial, outcome) ||
        !lab_trial_lay_out(trial, sets, false, count, outcome) ||
        !lab_trial_reach(trial, count, outcome))
        return false;
    hand_over(trial, sets, count);
    if (!lab_trial_compute(trial, seconds, outcome) || !lab_trial_look_at_walls(trial, outcome))
        return false;
    for (int i = 0; i < count; i++)
        for (int index = LAB_O; index < LAB_BLOCKS; index++)
            take_back(&trial->outputs, &sets[i].span[index], &orders->set[i].room[index], index,
                      outcome);
    return outcome->verdict == LAB_TRIAL_OK;
}

static lab_span bare(const void *data, size_t size)
{
    return (lab_span){ .room = (void *)data, .room_size = size, .size = data ? size : 0 };
}

lab_set lab_set_of(const heed_problem *p, const heed_buffers *b)
{
    size_t rows = (size_t)((p->tokens_q > 0 ? p->tokens_q : p->batch * p->seq_q) * p->heads_q);
    lab_set set = { .span = { [LAB_LSE] = bare(b->lse, rows * sizeof(float)),
                              [LAB_WORKSPACE] = bare(b->workspace, b->workspace_size) } };

    for (int role = 0; role < LAB_ROLES; role++) {
        lab_view view = lab_view_of(p, (lab_role)role);
        set.span[role] = bare(lab_buffers_get(b, (lab_role)role), lab_view_bytes(&view));
    }
    return set;
}
