/*
 * search.h - strategies that look for the fastest point of a space
 *
 *     space, evaluator, options -> strategy -> every try, and the best of them
 *
 * A strategy asks an evaluator, which is the caller's: a device, or a table of what was recorded
 * (replay.h). It cannot tell which. All it does follows from its seed and the answers, so a search
 * that was interrupted is resumed by starting it again with an evaluator that has the old answers.
 *
 * The search minimises the mean over shapes of the logarithm of the seconds, that is their
 * geometric mean, in which no shape counts more for being long.
 */
#ifndef LAB_SEARCH_H
#define LAB_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/base/error.h"
#include "lab/search/space.h"
#include "lab/tensor/random.h"

/* The outcome of an evaluation. */
typedef enum lab_state {
    LAB_STATE_TIMED = 0, /* it ran, and has seconds */
    LAB_STATE_PRUNED,    /* refused by what is known without running it: no trial */
    LAB_STATE_FAILED,    /* it could not be made or run */
    LAB_STATE_WRONG,     /* it computed something else */
    LAB_STATE_CRASHED,
    LAB_STATE_LATE,       /* it ran out of time */
    LAB_STATE_IMPOSSIBLE, /* it seemed faster than the device can be */
    LAB_STATES
} lab_state;

/* lab_state_name() returns "time", "pruned", "failed", "wrong", "crashed", "late" or
 * "impossible". */
const char *lab_state_name(lab_state found);

/* lab_state_of() is the reverse; LAB_STATES for no name of these. */
lab_state lab_state_of(const char *name);

#define LAB_WHY_SIZE 160

typedef struct lab_evaluation {
    lab_state state;
    double seconds;         /* of one execution; LAB_STATE_TIMED alone */
    char why[LAB_WHY_SIZE]; /* unless LAB_STATE_TIMED */

    /* The samples that seconds are the least of, as they were taken: seconds per call, each the
     * mean of @calls (0: not known). They are the evaluator's, until it is asked again. NULL: not
     * known any more.
     */
    const double *samples;
    size_t sample_count;
    int64_t calls;
} lab_evaluation;

#define LAB_SEARCH_SHAPES 64
#define LAB_SEARCH_EFFORTS 8

/* The evaluator times points. */
typedef struct lab_evaluator {
    void *data;
    int shapes;  /* problems, 1 to LAB_SEARCH_SHAPES, the most telling ones first */
    int efforts; /* 1 to LAB_SEARCH_EFFORTS; each next one takes longer and is more exact */

    /* Times @point on a shape. A status other than HEED_OK ends the search, as Ctrl-C would. */
    heed_status (*evaluate)(void *data, const lab_point *point, int shape, int effort,
                            lab_evaluation *result);

    /* Refuses a point by what is known at once, before the search begins: true, with @why, if so.
     * May be NULL. */
    bool (*refuse)(void *data, const lab_point *point, char why[LAB_WHY_SIZE]);

    /* Tells which points probably come next, the nearest first, so that they can be got ready
     * meanwhile. May be NULL. */
    void (*announce)(void *data, const lab_point *points, size_t count);
} lab_evaluator;

/* One point that was tried. */
typedef struct lab_try {
    int64_t index; /* of the point */
    lab_state state;
    int shapes;                     /* how many shapes were timed, from the first on */
    int efforts[LAB_SEARCH_SHAPES]; /* at which effort each */
    double seconds[LAB_SEARCH_SHAPES];
    double score; /* mean of the logarithms of seconds; INFINITY unless all were LAB_STATE_TIMED */
    char why[LAB_WHY_SIZE];
    size_t trial; /* how many points had been launched with this one; 0: it was pruned */
} lab_try;

/* lab_try_order() is for qsort() of pointers to tries: the lower score first, then the point that
 * is first in its space. */
int lab_try_order(const void *a, const void *b);

typedef struct lab_evolution lab_evolution; /* evolution.h */

/* Zero in a field means its default. */
typedef struct lab_search_options {
    const char *strategy; /* see lab_strategy_at(); "model" by default */
    uint64_t seed;
    int64_t trials;          /* points to launch at most; default all */
    int64_t budget_ns;       /* time to take at most; default any. The finals may take a quarter of
                                it more */
    int finalists;           /* of the best that are timed again at the highest effort; default 4,
                                negative none */
    const lab_point *starts; /* points to try first, such as the planner's choice */
    size_t start_count;
    lab_evolution *evolution;  /* of the strategy of that name; NULL: one of its own */
    bool (*interrupted)(void); /* asked between evaluations; may be NULL */

    /* Told after every point, with the try and the best so far (NULL: none yet). May be NULL. */
    void (*tried)(void *data, const lab_try *one, const lab_try *best);
    void *data;
} lab_search_options;

/* How it ended. */
typedef enum lab_search_end {
    LAB_SEARCH_COMPLETE,    /* the strategy had nothing left to try */
    LAB_SEARCH_TRIALS,      /* the budget of trials is used up */
    LAB_SEARCH_TIME,        /* that of time is */
    LAB_SEARCH_INTERRUPTED, /* the caller stopped it */
    LAB_SEARCH_FAILED       /* an evaluation could not go on, as with a device that is lost */
} lab_search_end;

typedef struct lab_search lab_search;

/* lab_search_run() searches @space, which must outlive the result. Returns HEED_OK with *@search,
 * which the caller frees with lab_search_free(), however the search ended; HEED_ERR_INVALID for a
 * bad option, with @error; HEED_ERR_NO_MEMORY; or the status with which an evaluation ended it.
 * Then *@search has what was found until then, or is NULL if it never began. */
heed_status lab_search_run(lab_search **search, const lab_space *space,
                           const lab_evaluator *evaluator, const lab_search_options *options,
                           lab_error *error);

/* lab_search_continue() goes on with another strategy and other budgets. Points that were tried are
 * known. Trials count from the beginning, time from now on, and starts are those of before. Returns
 * as lab_search_run() does. */
heed_status lab_search_continue(lab_search *search, const lab_search_options *options,
                                lab_error *error);
void lab_search_free(lab_search *search);

/* The result. Pointers are valid until lab_search_free(). */
typedef struct lab_search_result {
    lab_search_end end;
    const lab_try *tries; /* in the order in which they were begun */
    size_t count;
    const lab_try *best; /* NULL: nothing ran */
    int64_t points;      /* of the space */
    int64_t refused;     /* of them, by requirements or the evaluator, before the search */
    int64_t pruned;      /* of those tried */
    int64_t launched;    /* points of which something ran or should have */
    int64_t evaluations; /* on single shapes */
} lab_search_result;
lab_search_result lab_search_get(const lab_search *search);

/* lab_search_disqualify() makes a point that was tried a wrong one after all, for a reason that its
 * evaluation could not know; another one becomes the best. */
void lab_search_disqualify(lab_search *search, int64_t index, const char *why);

/* A strategy: its name, what it does in a few words. lab_strategy_at() returns NULL past the last.
 */
typedef struct lab_strategy {
    const char *name;
    const char *summary;
    heed_status (*run)(lab_search *search);
} lab_strategy;
const lab_strategy *lab_strategy_at(size_t index);

/* ---- For strategies ------------------------------------------------------------------------ */

/* A stream of random numbers whose whole state is two integers, so that it can be kept. */
typedef struct lab_rng {
    uint64_t seed;
    uint64_t drawn;
} lab_rng;

/* lab_rng_below() returns an integer in 0 .. @limit - 1; @limit is 1 or more. */
static inline int64_t lab_rng_below(lab_rng *rng, int64_t limit)
{
    return lab_random_below(rng->seed, rng->drawn++, limit);
}

/* lab_rng_real() returns a number in [0, 1). */
static inline double lab_rng_real(lab_rng *rng)
{
    return (double)(lab_random_bits(rng->seed, rng->drawn++) >> 11) * 0x1p-53;
}

/* The open points: those that are not refused, by their numbers in the space, rising. */
size_t lab_search_open(const lab_search *search, const int64_t **indices);
const lab_space *lab_search_space(const lab_search *search);
const lab_evaluator *lab_search_evaluator(const lab_search *search);
lab_rng *lab_search_rng(lab_search *search);
lab_evolution *lab_search_evolution(const lab_search *search); /* of the options */

/* lab_search_is_open() says whether the point is one of the open ones. */
bool lab_search_is_open(const lab_search *search, int64_t index);

/* lab_search_tried() returns the try of a point, or NULL if it has not been tried. It stays valid
 * until the next try. */
const lab_try *lab_search_tried(const lab_search *search, int64_t index);

/* lab_search_try() tries an open point on the first @shapes shapes, at @effort at least; known
 * times are not asked for again. Returns HEED_OK with the try in *@result, which is valid until the
 * next call, or NULL there once the search is to end; or why it cannot go on. */
heed_status lab_search_try(lab_search *search, int64_t index, int shapes, int effort,
                           const lab_try **result);

/* lab_search_is_over() says whether no other point may be launched, as the search is to end. */
bool lab_search_is_over(lab_search *search);

/* lab_search_trials_left() returns how many more points may be launched. */
int64_t lab_search_trials_left(const lab_search *search);

/* lab_search_announce() is evaluator->announce() for numbered points. */
void lab_search_announce(lab_search *search, const int64_t *indices, size_t count);

#endif /* LAB_SEARCH_H */
