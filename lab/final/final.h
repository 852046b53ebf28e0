/*
 * final.h - the results of searches: all trials of a board, its searches, and the distance of their
 * kernels from the limits of their devices
 *
 *     lab_final_board board = { .count = 0 };
 *     lab_final_board_read(&board, record, true, &error);
 *     lab_final_search *searches = lab_final_searches(&board, &count);
 *     for (each search)
 *         ... search->first, search->champion, search->steps ...
 *     lab_final_searches_free(searches, count);
 *     lab_final_board_free(&board);
 *
 * All figures come from the board; missing ones are 0 or NULL.
 */
#ifndef LAB_FINAL_H
#define LAB_FINAL_H

#include "lab/base/error.h"
#include "lab/inspect/roofline.h"
#include "lab/record/record.h"
#include "lab/search/point_facts.h"

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

/* Another fact: a number, or @text if that is not NULL. */
typedef struct lab_final_fact {
    char *name, *text;
    double number;
} lab_final_fact;

/* A trial, which owns its texts. Unknown ones are NULL. */
typedef struct lab_final_trial {
    lab_record_row row;
    bool leads;                        /* leads its place, as in `heed board` */
    double at;                         /* when it ended, in seconds since 1970 */
    int64_t registers, spills, shared; /* negative: not known */
    bool front; /* on the Pareto front of time, registers and shared memory */

    /* Known only if the board was read @whole. */
    int64_t attempt, seed;
    char *hash, *thought, *proposer, *parent, *verb, *command, *budget, *launch, *events;
    int64_t warps, warps_max; /* resident per multiprocessor, and their maximum; 0: not known */
    size_t gates, refused;    /* number of gates, and of failed ones */
    lab_final_side *sides;
    size_t side_count;
    lab_final_fact *facts;
    size_t fact_count;
} lab_final_trial;

typedef struct lab_final_board {
    char path[LAB_RECORD_PATH_SIZE];
    bool there;
    lab_final_trial *trials; /* sorted by device and problem, oldest first */
    size_t count;
    size_t fronts; /* places with a Pareto front */
} lab_final_board;

/* lab_final_board_read() reads all trials of @record; if @whole, with all facts about each. Free
 * also after a failure. */
heed_status lab_final_board_read(lab_final_board *board, lab_record *record, bool whole,
                                 lab_error *error);
void lab_final_board_free(lab_final_board *board);

/* A place is one problem on one device with one thread count, cold or hot, for which trials
 * compete. lab_final_place_end() returns the index after the last of the @count @trials from @begin
 * on that have the same place. */
size_t lab_final_place_end(const lab_final_trial *trials, size_t begin, size_t count);

/* lab_final_standing() returns a trial's time, INFINITY unless it @counts, registers and shared
 * memory, for a Pareto front. */
lab_standing lab_final_standing(const lab_final_trial *trial, bool counts);

/* lab_final_ranked() returns true if the figure of a trial may be ranked: right, confirmed, and not
 * known to be untrustworthy. */
bool lab_final_ranked(const lab_final_trial *trial);

/* lab_final_name() writes kernel and config. */
#define LAB_FINAL_NAME 512
const char *lab_final_name(const lab_final_trial *trial, char text[LAB_FINAL_NAME]);

/* lab_final_fact_of() returns the fact of that name, or NULL. */
const lab_final_fact *lab_final_fact_of(const lab_final_trial *trial, const char *name);

/* -------------------------------------------------------------------------- */
/* limits.c: the least time that a device needs                               */
/* -------------------------------------------------------------------------- */

/* Where a trial is timed, as recorded on the board. */
typedef struct lab_final_place {
    const char *device, *features; /* features may be NULL */
    int threads;
    bool cold;
} lab_final_place;

typedef struct lab_final_limit {
    double seconds;        /* lower bound for a call on the problem */
    const char *binds;     /* the unit that limits it */
    const char *from;      /* origin of its ceiling: "measured", "data sheet" */
    double flops, bytes;   /* least work of any exact kernel */
    double matrix, memory; /* ceilings: operations, and bytes, per second; 0: not known */
} lab_final_limit;

/* lab_final_limit_of() finds the limit for the problem @spec; false: not known. */
bool lab_final_limit_of(lab_final_limit *limit, const lab_final_place *place, const char *spec);

/* lab_final_occupancy() returns the resident warps per multiprocessor of @device for a kernel with
 * that launch, registers and shared memory, and writes their maximum to *@most; 0: not known. */
int64_t lab_final_occupancy(const char *device, const char *launch, int64_t registers,
                            int64_t shared, int64_t *most);

/* -------------------------------------------------------------------------- */
/* search.c: searches on the board                                            */
/* -------------------------------------------------------------------------- */

/* A search, on one problem. */
typedef struct lab_final_search {
    const lab_final_trial *first;    /* the kernel that it began with */
    const lab_final_trial *champion; /* that it ended with; may be the first */
    const lab_final_trial **steps;   /* challenges won, the last duel of each, in order */
    size_t step_count;
    const lab_final_trial *trials; /* all trials of the problem, including other runs */
    size_t trial_count;
    size_t kernels, right; /* of this run: tried, and right ones */
} lab_final_search;

/* lab_final_fact_in() returns the fact of that name about the kernel of @trial, from any trial of
 * the search; NULL: none. */
const lab_final_fact *lab_final_fact_in(const lab_final_search *search,
                                        const lab_final_trial *trial, const char *name);

/* lab_final_searches() finds the newest search of each problem on each device. NULL if there is no
 * memory. The caller frees it with lab_final_searches_free(). */
lab_final_search *lab_final_searches(const lab_final_board *board, size_t *count);
void lab_final_searches_free(lab_final_search *searches, size_t count);

#endif /* LAB_FINAL_H */
