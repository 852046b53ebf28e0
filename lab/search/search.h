/*
 * search.h - search for the fastest point of a space
 *
 *     space, evaluator, options -> strategy -> every try, and the best of them
 *
 * A strategy calls the caller's evaluator, which uses a device or recorded times (replay.h),
 * without any difference to the strategy. Its choices are determined by its seed and the results,
 * so an interrupted search is resumed by running it again with an evaluator that returns the old
 * results.
 *
 * The search minimises the mean over shapes of the logarithm of the seconds, so long shapes do not
 * count more than short ones.
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
    LAB_STATE_PRUNED,    /* refused by facts known without running it: not a trial */
    LAB_STATE_FAILED,    /* it could not be made or run */
    LAB_STATE_WRONG,     /* its result was wrong */
    LAB_STATE_CRASHED,
    LAB_STATE_LATE,       /* it ran out of time */
    LAB_STATE_IMPOSSIBLE, /* it seemed faster than the device's limits */
    LAB_STATES
} lab_state;

/* lab_state_name() returns "time", "pruned", "failed", "wrong", "crashed", "late" or
 * "impossible". */
const char *lab_state_name(lab_state found);

/* lab_state_of() is the reverse; LAB_STATES for an unknown name. */
lab_state lab_state_of(const char *name);

#define LAB_WHY_SIZE 160

typedef struct lab_evaluation {
    lab_state state;
    double seconds;         /* of one execution; only for LAB_STATE_TIMED */
    char why[LAB_WHY_SIZE]; /* unless LAB_STATE_TIMED */

    /* The samples whose minimum is seconds, in the order in which they were taken: seconds per
     * call, each the mean of @calls (0: not known). The evaluator owns them; they are valid until
     * its next call. NULL: no longer known.
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
    int shapes;  /* problems, 1 to LAB_SEARCH_SHAPES, the most informative first */
    int efforts; /* 1 to LAB_SEARCH_EFFORTS; each higher one takes longer and is more precise */

    /* Times @point on a shape. A status other than HEED_OK ends the search, as Ctrl-C would. */
    heed_status (*evaluate)(void *data, const lab_point *point, int shape, int effort,
                            lab_evaluation *result);

    /* Returns true, with @why, if a point is refused by facts known immediately; called before the
     * search begins. May be NULL. */
    bool (*refuse)(void *data, const lab_point *point, char why[LAB_WHY_SIZE]);

    /* Announces the points that probably come next, nearest first, so they can be prepared
     * meanwhile. May be NULL. */
    void (*announce)(void *data, const lab_point *points, size_t count);
} lab_evaluator;

/* One point that was tried. */
typedef struct lab_try {
    int64_t index; /* number of the point */
    lab_state state;
    int shapes;                     /* number of shapes timed, from the first */
    int efforts[LAB_SEARCH_SHAPES]; /* effort of each */
    double seconds[LAB_SEARCH_SHAPES];
    double score; /* mean of the logarithms of seconds; INFINITY unless all were LAB_STATE_TIMED */
    char why[LAB_WHY_SIZE];
    size_t trial; /* number of points launched so far, including this one; 0: it was pruned */
} lab_try;

/* lab_try_order() is for qsort() of pointers to tries: the lower score first, then the point that
 * is first in its space. */
int lab_try_order(const void *a, const void *b);

typedef struct lab_evolution lab_evolution; /* evolution.h */

/* Zero in a field means its default. */
typedef struct lab_search_options {
    const char *strategy; /* see lab_strategy_at(); "model" by default */
    uint64_t seed;
    int64_t trials;    /* maximum of points to launch; default all */
    int64_t budget_ns; /* time limit; default none. The finals may take another quarter of it */
    int finalists;     /* number of the best that are timed again at the highest effort; default 4,
                          negative: none */
    const lab_point *starts; /* points to try first, such as the planner's choice */
    size_t start_count;
    lab_evolution *evolution;  /* for the strategy of that name; NULL: creates one */
    bool (*interrupted)(void); /* called between evaluations; may be NULL */

    /* Called after every point, with the try and the best so far (NULL: none yet). May be NULL. */
    void (*tried)(void *data, const lab_try *one, const lab_try *best);
    void *data;
} lab_search_options;

/* How it ended. */
typedef enum lab_search_end {
    LAB_SEARCH_COMPLETE,    /* the strategy had nothing left to try */
    LAB_SEARCH_TRIALS,      /* the trial budget is used up */
    LAB_SEARCH_TIME,        /* the time budget is used up */
    LAB_SEARCH_INTERRUPTED, /* the caller stopped it */
    LAB_SEARCH_FAILED       /* an evaluation failed, for example with a lost device */
} lab_search_end;

typedef struct lab_search lab_search;

/* lab_search_run() searches @space, which must outlive the result. Returns HEED_OK with *@search,
 * which the caller frees with lab_search_free(), however the search ended; HEED_ERR_INVALID for a
 * bad option, with @error; HEED_ERR_NO_MEMORY; or the status of a failed evaluation. Then *@search
 * has the results so far, or is NULL if the search did not begin. */
heed_status lab_search_run(lab_search **search, const lab_space *space,
                           const lab_evaluator *evaluator, const lab_search_options *options,
                           lab_error *error);

/* lab_search_continue() continues with another strategy and other budgets. Tried points remain
 * known. Trials count from the beginning, time from now, and starts are unchanged. Returns as
 * lab_search_run() does. */
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
    int64_t refused;     /* of these, refused by requirements or the evaluator before the search */
    int64_t pruned;      /* of the tried ones */
    int64_t launched;    /* points that ran or were to run */
    int64_t evaluations; /* on single shapes */
} lab_search_result;
lab_search_result lab_search_get(const lab_search *search);

/* lab_search_tried() returns the try of a point, or NULL if it has not been tried. It stays valid
 * until the next try. */
const lab_try *lab_search_tried(const lab_search *search, int64_t index);

/* lab_search_disqualify() marks a tried point as wrong, for a reason that its evaluation could not
 * detect; another one becomes the best. */
void lab_search_disqualify(lab_search *search, int64_t index, const char *why);

/* A strategy. lab_strategy_at() returns NULL past the last. */
typedef struct lab_strategy {
    const char *name;
    heed_status (*run)(lab_search *search);
} lab_strategy;
const lab_strategy *lab_strategy_at(size_t index);

/* A stream of random numbers whose whole state is two integers, so it can be saved. */
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

#endif /* LAB_SEARCH_H */
