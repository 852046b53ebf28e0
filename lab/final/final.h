/*
 * final.h - the results of searches: every trial of a board with all that is known of it, the
 * searches among them, and how far their kernels are from the limits of their devices
 *
 *     lab_final_board board = { .count = 0 };
 *     lab_final_board_read(&board, record, true, &error);
 *     lab_final_search *searches = lab_final_searches(&board, &count);
 *     for (each search)
 *         ... search->first, search->champion, search->steps ...
 *     lab_final_searches_free(searches, count);
 *     lab_final_board_free(&board);
 *
 * All figures are those of the board; one that it does not have is 0, or NULL.
 */
#ifndef LAB_FINAL_H
#define LAB_FINAL_H

#include "lab/base/error.h"
#include "lab/inspect/roofline.h"
#include "lab/record/record.h"

/* -------------------------------------------------------------------------- */
/* board.c: every trial of a board                                            */
/* -------------------------------------------------------------------------- */

/* The other side of a comparison. Numbers that are not known are 0. */
typedef struct lab_final_side {
    char name[96];
    double p50, p90;
    double ratio, low, high; /* its time over that of the trial */
    char verdict[16];
} lab_final_side;

/* Something else that was noticed: a number, or @text if that is not NULL. */
typedef struct lab_final_fact {
    char *name, *text;
    double number;
} lab_final_fact;

/* A trial, with texts of its own. Those that are not known are NULL. */
typedef struct lab_final_trial {
    lab_record_row row;
    bool leads;                        /* in its place, as `heed board` shows it */
    double at;                         /* when it ended, in seconds since 1970 */
    int64_t registers, spills, shared; /* negative: not known */
    bool front; /* none is as good in time, registers and shared memory, and better in one */

    /* Of a board that was read as a whole. */
    int64_t attempt, seed;
    char *hash, *thought, *proposer, *parent, *verb, *command, *budget, *launch, *events;
    int64_t warps, warps_max; /* that a multiprocessor holds of it, and could hold; 0: not known */
    size_t gates, refused;    /* how many judged it, and did not let it pass */
    lab_final_side *sides;
    size_t side_count;
    lab_final_fact *facts;
    size_t fact_count;
} lab_final_trial;

typedef struct lab_final_board {
    char path[LAB_RECORD_PATH_SIZE];
    bool there;
    lab_final_trial *trials; /* device by device, problem by problem, oldest first */
    size_t count;
    size_t fronts; /* places whose trials' code is known */
} lab_final_board;

/* lab_final_board_read() reads all trials of @record: @whole, with all that the board knows of
 * each. Free also after a failure. */
heed_status lab_final_board_read(lab_final_board *board, lab_record *record, bool whole,
                                 lab_error *error);
void lab_final_board_free(lab_final_board *board);

/* lab_final_same_place() says whether two trials are of one problem, on one device with as many
 * threads, cold or hot. */
bool lab_final_same_place(const lab_final_trial *a, const lab_final_trial *b);

/* lab_final_ranked() says whether the figure of a trial may be shown as one: right, confirmed, and
 * not known to be untrustworthy. */
bool lab_final_ranked(const lab_final_trial *trial);

/* lab_final_name() writes kernel and config. */
#define LAB_FINAL_NAME 512
const char *lab_final_name(const lab_final_trial *trial, char text[LAB_FINAL_NAME]);

/* lab_final_fact_of() returns the fact of that name, or NULL. */
const lab_final_fact *lab_final_fact_of(const lab_final_trial *trial, const char *name);

/* -------------------------------------------------------------------------- */
/* limits.c: the least time that a device needs                               */
/* -------------------------------------------------------------------------- */

/* lab_final_ceilings() finds the ceilings of a device of that name, with features and threads as
 * the board has them: those that were measured and kept on this machine, else those of its data
 * sheet. Returns what they are from, in a word; NULL: they are not known. */
const char *lab_final_ceilings(lab_ceilings *ceilings, const char *device, const char *features,
                               int threads);

/* Where something is timed, as the board has it. */
typedef struct lab_final_place {
    const char *device, *features; /* features may be NULL */
    int threads;
    bool cold;
} lab_final_place;

typedef struct lab_final_limit {
    double seconds;        /* the least that a call on the problem needs */
    const char *binds;     /* the unit that needs so long */
    const char *from;      /* where its ceiling is from: "measured", "data sheet" */
    double flops, bytes;   /* that no exact kernel can leave out */
    double matrix, memory; /* ceilings: operations, and bytes, per second; 0: not known */
} lab_final_limit;

/* lab_final_limit_of() finds it for the problem @spec; false: it is not known. */
bool lab_final_limit_of(lab_final_limit *limit, const lab_final_place *place, const char *spec);

/* lab_final_occupancy() returns how many warps a multiprocessor of @device holds of a kernel with
 * that launch, registers and shared memory, and at *@most how many it could hold; 0: not known. */
int64_t lab_final_occupancy(const char *device, const char *launch, int64_t registers,
                            int64_t shared, int64_t *most);

/* -------------------------------------------------------------------------- */
/* search.c: searches that the board has                                      */
/* -------------------------------------------------------------------------- */

/* A search, on one problem. */
typedef struct lab_final_search {
    const lab_final_trial *first;    /* the kernel that it began with */
    const lab_final_trial *champion; /* that it ended with; may be the first */
    const lab_final_trial **steps; /* challenges that were won, the last turns of each, in order */
    size_t step_count;
    const lab_final_trial *trials; /* all of that problem, also of other runs */
    size_t trial_count;
    size_t kernels, right; /* of this run: tried, and right */
} lab_final_search;

/* lab_final_fact_in() returns a fact of that name of the kernel of @trial, in whichever trial of
 * the search it is; NULL: there is none. */
const lab_final_fact *lab_final_fact_in(const lab_final_search *search,
                                        const lab_final_trial *trial, const char *name);

/* lab_final_searches() finds them: of each problem on each device the newest. NULL without memory.
 * The caller frees it with lab_final_searches_free(). */
lab_final_search *lab_final_searches(const lab_final_board *board, size_t *count);
void lab_final_searches_free(lab_final_search *searches, size_t count);

#endif /* LAB_FINAL_H */
