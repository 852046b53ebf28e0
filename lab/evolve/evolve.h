/*
 * evolve.h - evolution of kernels: of configs in a space, or of sources (sources.h)
 *
 * space, problems -> evolution, by trials on the board and the device -> champion, gates, and a
 * contest with the leaders of the board
 *
 *     lab_evolve run = { .session = { .record = record, ... }, .prover = prover, ... };
 *     run.sweep = (lab_sweep){ .problems = problems, .context = context, .session = &run.session };
 *     lab_evolve_begin(&run);
 *     lab_evolve_configs_begin(&run, false);
 *     lab_evolve_configs(&run);
 *     lab_session_end(&run.session, ...);
 *     lab_evolve_free(&run);
 *
 * Every result is recorded on the board before evolution goes on. Its steps are determined by its
 * seed and the results, so an interrupted run is resumed by a repetition, which takes known results
 * from the board instead of the device.
 */
#ifndef LAB_EVOLVE_H
#define LAB_EVOLVE_H

#include "lab/build/rerun.h"
#include "lab/sweep/evolve.h"

typedef struct lab_evolve {
    /* Set by the caller. Functions that fail report the reason in sweep.trouble. */
    lab_sweep sweep;             /* space, problems, device, compilers, session */
    lab_session session;         /* with its board, and where it measures */
    lab_prover prover;           /* of configs and heed's plans */
    lab_rebuild_options rebuild; /* of leaders of the board */
    lab_bench bench;             /* where they run, as for a lab_rebuild */
    const char *device;          /* as the user named it */
    lab_insight_mode insights;
    double duel;    /* seconds of each comparison of a challenger */
    double seconds; /* of the whole run; 0: unlimited */
    int64_t trials; /* maximum number of launches */
    bool no_verify, no_compare;

    /* The result. */
    lab_sweep_gates gates;
    lab_sweep_evolution bred; /* of configs */
    int64_t start_ns;         /* when this process began it */
    int64_t deadline_ns;      /* nothing begins later, and verification stops; 0: none */
    int64_t bred_ns;          /* no kernel is tried later, to leave time for the gates; 0: none */
    char left_out[160];       /* work left out for lack of time, in words */
    lab_progress progress;
    int64_t challenges; /* of champions */
    int64_t refuted;    /* challengers that won and then failed a gate */
    int64_t leads;      /* problems of the board that the champion leads now */
    bool ranked;        /* the champion had passed all gates when it won its challenge */
    lab_proven proven;  /* the verdict of the gates on the champion */
    char last[128];     /* the outcome of the newest challenge */
} lab_evolve;

/* lab_evolve_begin() finds heed's plans for the problems, and starts the clock.
 * lab_evolve_has_time() returns true if @work may begin; else it is noted as left out, for
 * lab_evolve_tell_time(), which reports it at the end. */
bool lab_evolve_has_time(lab_evolve *run, const char *work);
void lab_evolve_tell_time(const lab_evolve *run);
void lab_evolve_begin(lab_evolve *run);

/* lab_evolve_configs_begin() begins a run of configs on the board, or resumes one unless @afresh;
 * set the space and the kernel first. lab_evolve_configs() does the whole run. Both return
 * HEED_ERR_SYSTEM once interrupted. lab_evolve_is_open() returns true if the gates had no verdict
 * on the champion: do not end the run as finished then, so the next one repeats the gates. */
heed_status lab_evolve_configs_begin(lab_evolve *run, bool afresh);
heed_status lab_evolve_configs(lab_evolve *run);
bool lab_evolve_is_open(const lab_evolve *run);
void lab_evolve_free(lab_evolve *run);

/* ---- Shared by evolutions of configs and of sources ---- */

/* lab_evolve_begin_session() begins the run of @what on the board, or resumes one. */
heed_status lab_evolve_begin_session(lab_evolve *run, const char *what, bool afresh);

/* lab_evolve_rank_plans() times heed's plan for each problem, and ranks it if it passes all gates,
 * before any other kernel is tried; in a sixth of the time. */
heed_status lab_evolve_rank_plans(lab_evolve *run);

/* A kernel that challenges others. */
typedef struct lab_challenger {
    lab_bench_contender contender;
    const char *source;       /* its text; NULL: it is a config, determined by its name */
    int64_t number;           /* for seeds */
    lab_bench_worker *worker; /* the process that runs it; NULL: this one */

    /* Its trials on the board, without their outcomes; the data are those of the contender. */
    lab_record_trial (*trial)(void *data, size_t shape, int attempt);
} lab_challenger;

/* Its opponent on one problem. */
typedef struct lab_challenged {
    size_t shape;
    lab_bench_contender contender;
} lab_challenged;

/* contest.c: a lab_challenge with the same fields. */
typedef struct lab_evolve_contest {
    lab_evolve *run;
    const lab_challenger *challenger;
    lab_challenged leaders[LAB_SEARCH_SHAPES];
    size_t count;
    int attempt; /* number of the first round on the board; the second has the next number */
    bool proved;
    heed_status (*gates)(void *data, bool *yes, bool *asked); /* NULL: none */
    heed_status (*won)(void *data, size_t index, const lab_comparison *fresh, int64_t trial,
                       const char *reason); /* NULL: not reported */
    void *data;                             /* of these two */
} lab_evolve_contest;

/* lab_evolve_contest_champion() holds the contest of a challenger against @champion on all
 * problems, within the evolution, or takes its result from the board. */
heed_status lab_evolve_contest_champion(lab_evolve_contest *it, const lab_bench_contender *champion,
                                        bool *yes);

/* lab_evolve_lead() holds a contest of the champion, which has passed all gates, with the
 * leaders of the board. It then leads on run->leads problems. */
heed_status lab_evolve_lead(lab_evolve *run, const lab_challenger *challenger);

#endif /* LAB_EVOLVE_H */
