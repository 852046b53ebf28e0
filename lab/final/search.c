/*
 * search.c - the searches on a board: their first and last kernels, and the challenges between
 */
#include <stdlib.h>
#include <string.h>

#include "final.h"
#include "lab/base/array.h"

/* The result of a challenge, as on the board. */
#define WON "succeeds"

static bool is_search(const lab_final_trial *trial)
{
    static const char *const verbs[] = { "evolve", "sweep", "tune" };
    for (size_t i = 0; trial->verb && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(trial->verb, verbs[i]) == 0)
            return true;
    return false;
}

static bool same_kernel(const lab_final_trial *a, const lab_final_trial *b)
{
    return a->hash && b->hash && strcmp(a->hash, b->hash) == 0;
}

static bool has_won(const lab_final_trial *trial)
{
    const lab_final_fact *fact = lab_final_fact_of(trial, WON);
    return fact && !fact->text && fact->number > 0 && trial->row.sound;
}

static bool is_right(const lab_final_trial *trial)
{
    return strcmp(trial->row.verdict, "ok") == 0 && trial->row.sound;
}

/* Same problem and device. Includes trials without a time, which belong to no place. */
static bool same_problem(const lab_final_trial *a, const lab_final_trial *b)
{
    return strcmp(a->row.device, b->row.device) == 0 && a->row.threads == b->row.threads &&
           strcmp(a->row.problem, b->row.problem) == 0;
}

/* The newest run of a search among the trials of a problem; 0: none. */
static int64_t newest_run(const lab_final_trial *trials, size_t count)
{
    int64_t run = 0;
    for (size_t i = 0; i < count; i++)
        if (is_search(&trials[i]) && trials[i].row.run > run)
            run = trials[i].row.run;
    return run;
}

/* A kernel of this run has a challenge result there; one that was only an opponent has none. */
static bool is_own(const lab_final_search *it, const lab_final_trial *trial)
{
    for (size_t i = 0; i < it->trial_count; i++)
        if (it->trials[i].row.run == trial->row.run && it->trials[i].attempt == 0 &&
            same_kernel(&it->trials[i], trial))
            return true;
    return false;
}

static bool add_step(lab_final_search *it, const lab_final_trial *trial)
{
    if (it->step_count > 0 && same_kernel(it->steps[it->step_count - 1], trial)) {
        it->steps[it->step_count - 1] = trial; /* the duel that confirms it */
        return true;
    }
    if (!lab_grow(&it->steps, it->step_count, sizeof *it->steps))
        return false;
    it->steps[it->step_count++] = trial;
    return true;
}

/* Without challenges, the champion of a search is its fastest confirmed kernel. */
static bool is_faster(const lab_final_search *it, const lab_final_trial *trial,
                      const lab_final_trial *best)
{
    return lab_final_ranked(trial) && strcmp(trial->verb, "evolve") != 0 &&
           (!best || trial->row.seconds < best->row.seconds) && is_own(it, trial);
}

/* Timed trials are in order. The first one with attempt 0 is of the first kernel: plans are timed
 * before it, with other attempt numbers. */
static bool fill(lab_final_search *it, int64_t run)
{
    const lab_final_trial *promoted = NULL, *fastest = NULL;
    bool good = true;
    for (size_t i = 0; i < it->trial_count && good; i++) {
        const lab_final_trial *trial = &it->trials[i];
        if (trial->row.run != run)
            continue;
        if (!it->first && trial->attempt == 0 && is_right(trial) && trial->row.seconds > 0)
            it->first = trial;
        if (trial->row.promoted && is_right(trial))
            promoted = trial;
        if (trial->verb && is_faster(it, trial, fastest))
            fastest = trial;
        it->kernels += trial->attempt == 0;
        it->right += trial->attempt == 0 && is_right(trial);
        if (has_won(trial))
            good = add_step(it, trial);
    }
    it->champion = it->step_count > 0 ? it->steps[it->step_count - 1]
                   : promoted         ? promoted
                   : fastest          ? fastest
                                      : it->first;
    return good;
}

lab_final_search *lab_final_searches(const lab_final_board *board, size_t *count)
{
    lab_final_search *searches = calloc(board->count + 1, sizeof *searches);
    bool good = searches != NULL;
    *count = 0;
    for (size_t i = 0, end; good && i < board->count; i = end) {
        const lab_final_trial *trials = &board->trials[i];
        for (end = i + 1; end < board->count; end++)
            if (!same_problem(trials, &board->trials[end]))
                break;
        int64_t run = newest_run(trials, end - i);
        lab_final_search *it = &searches[*count];
        *it = (lab_final_search){ .trials = trials, .trial_count = end - i };
        good = !run || fill(it, run);
        if (it->first || !good)
            ++*count;
    }
    if (good)
        return searches;
    lab_final_searches_free(searches, *count);
    return NULL;
}

void lab_final_searches_free(lab_final_search *searches, size_t count)
{
    for (size_t i = 0; searches && i < count; i++)
        free((void *)searches[i].steps);
    free(searches);
}

const lab_final_fact *lab_final_fact_in(const lab_final_search *search,
                                        const lab_final_trial *trial, const char *name)
{
    const lab_final_fact *fact = NULL;
    for (size_t i = 0; !fact && i < search->trial_count; i++)
        if (same_kernel(&search->trials[i], trial))
            fact = lab_final_fact_of(&search->trials[i], name);
    return fact;
}
