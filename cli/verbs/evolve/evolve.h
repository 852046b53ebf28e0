/*
 * evolve.h - what the files of `heed evolve` share
 *
 * space, problems -> evolution, which asks the board and the device -> champion, table or JSON
 *
 * Every answer that evolution gets is on the board before it goes on. Its steps follow from its
 * seed and the answers; so an interrupted run is resumed by doing it again, with the answers of the
 * board in the place of those of the device.
 */
#ifndef CLI_EVOLVE_H
#define CLI_EVOLVE_H

#include "build/rerun.h"
#include "cli/verbs/board/board.h"
#include "cli/verbs/sweep/sweep.h"
#include "sweep/evolve.h"

typedef struct evolve_run {
    const cli_args *args;
    lab_sweep sweep;          /* space, problems, device, compilers */
    lab_sweep_evolution bred; /* of its configs; of sources, what is counted and measured of them */
    lab_session session;
    cli_board_place place;
    lab_rerun_place rerun; /* of leaders of the board */
    uint64_t seed;
    double duel;         /* seconds of each comparison of a challenger */
    int64_t deadline_ns; /* 0: none */
    lab_progress progress;
    int64_t challenges; /* of champions */
    int64_t refuted;    /* challengers that won, and that a gate then refused */
    int64_t leads;      /* problems of the board that the champion leads now */
    bool succeeded;     /* the champion is one that won a challenge */
    char last[128];     /* what became of the newest challenge */
    lab_error trouble;  /* why a run ended early */
} evolve_run;

/* evolve_open.c: the steps before; each prints its failure. evolve_read_space() reads --space, and
 * checks --kernel, before anything that takes time. */
cli_exit evolve_read_space(evolve_run *run);
cli_exit evolve_open_device(evolve_run *run);
cli_exit evolve_open_space(evolve_run *run);
cli_exit evolve_open_run(evolve_run *run, const char *what);

/* evolve_end_run() notes on the board how the run ended, with @code and @note, which may be NULL;
 * returns @code, or what went wrong. */
cli_exit evolve_end_run(const evolve_run *run, cli_exit code, const char *note);

/* evolve_record.c: evolve_add() puts a trial on the board. Of the attempts at a kernel 0 is its
 * first times and 1 its contest. */
heed_status evolve_add(evolve_run *run, lab_record_trial *trial, int64_t *id);

/* evolve_rank_plans() times what heed plans for each problem, and ranks it if it passes all gates,
 * before anything that could lead in its place is tried. --seconds begin after it. */
heed_status evolve_rank_plans(evolve_run *run);

/* evolve_confirm() times a config that was the first and is the last on fresh samples, for the
 * board. It has passed all gates. */
heed_status evolve_confirm(evolve_run *run, const lab_individual *champion);

/* Something that takes turns. start() makes it ready for a problem; stop() ends that, also after
 * start() failed or was not called. */
typedef struct evolve_side {
    heed_status (*start)(void *data, size_t shape, lab_side *side);
    void (*stop)(void *data);
    void *data;
} evolve_side;

typedef struct evolve_challenger {
    const char *name;
    const char *source; /* its text; NULL: it is a config, whose name is all of it */
    int64_t number;     /* for seeds */
    evolve_side side;
    lab_bench_worker *worker; /* that it runs in; NULL: it runs in this process */

    /* Its trials on the board, without their outcomes; the data are those of the side. */
    lab_record_trial (*trial)(void *data, size_t shape, int attempt);
} evolve_challenger;

/* The kernel that it meets on one problem. */
typedef struct evolve_leader {
    size_t shape;
    const char *name;
    evolve_side side;
} evolve_leader;

/* evolve_contest.c: a lab_challenge, by the same words. */
typedef struct evolve_contest {
    evolve_run *run;
    const evolve_challenger *challenger;
    evolve_leader leaders[LAB_SEARCH_SHAPES];
    size_t count;
    int attempt; /* of the first round on the board; the next number is that of the second */

    bool proved;
    heed_status (*gates)(void *data, bool *yes, bool *asked); /* NULL: none */
    heed_status (*won)(void *data, size_t index, const lab_comparison *fresh, int64_t trial,
                       const char *reason); /* NULL: nobody is told */
    void *data;                             /* of these two */
} evolve_contest;

/* evolve_contest_run() decides, or finds on the board what was decided. evolve_contest_champion()
 * does so for a challenger that meets @champion on all problems, within the evolution. */
heed_status evolve_contest_run(evolve_contest *it, bool *yes);
heed_status evolve_contest_champion(evolve_contest *it, const char *champion, evolve_side side,
                                    bool *yes);

/* evolve_duel.c: contests of configs: evolve_succeeds() is one within the evolution,
 * evolve_lead_config() that with the leaders of the board. */
heed_status evolve_succeeds(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes);
heed_status evolve_lead_config(evolve_run *run, const lab_individual *champion);

/* evolve_lead.c: evolve_lead() lets the champion, which has passed all gates, meet the leaders of
 * the board. It leads on run->leads problems then. */
heed_status evolve_lead(evolve_run *run, const evolve_challenger *challenger);

/* evolve_report.c: the answer. */
cli_exit evolve_report(evolve_run *run);

#endif /* CLI_EVOLVE_H */
