/*
 * sweep.h - declarations shared by the files of `heed sweep`, evolve and tune
 *
 * space, problems -> search through lab/sweep (compiled facts, then times) -> table or JSON
 */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "cli/base/cli.h"
#include "cli/verbs/board/board.h"
#include "insight/insight.h"
#include "search/figures.h"
#include "sweep/sweep.h"

/* Rows of their option tables. */
#define SWEEP_OPTION_SECONDS \
    OPT_REAL("seconds", 0, "S", 0, 1e7, NULL, "Time limit in seconds [default: none]")
#define SWEEP_OPTION_COLD \
    OPT_FLAG("cold", 0, "Rotate through copies of the tensors that exceed every cache")

/* `heed sweep`. */
typedef struct sweep_run {
    const cli_args *args;
    heed_options machine; /* the host's threads and CPU, the device */
    uint64_t seed;
    lab_sweep sweep;
    lab_sweep_gates gates;
    lab_session session;
    cli_board_place place;
    lab_progress progress;
    bool verified; /* the best point passed the gates */
    int wrong;     /* best points that a gate refused */
} sweep_run;

/* sweep_open.c: the steps before a search; each prints its failure. The problems are the operands
 * from index @first on. sweep_read_arch() is for --static, instead of sweep_open_device(); the
 * kernel is that of --kernel, or the first of the space that runs there. */
extern const char
    *const sweep_spaces[]; /* that come with heed, one for every kernel; ends with NULL */
cli_exit sweep_load_space(lab_sweep *run, const cli_args *args);
cli_exit sweep_load_problems(lab_sweep *run, const cli_args *args, int first);
cli_exit sweep_open_device(lab_sweep *run, const cli_args *args);
cli_exit sweep_read_arch(lab_sweep *run, const cli_args *args);
cli_exit sweep_choose_kernel(lab_sweep *run, const cli_args *args);

/* sweep_open_record() opens the file of --record; sweep_open_board() begins or resumes a run on the
 * board, unless --no-board was given. */
cli_exit sweep_open_record(lab_sweep *run);
cli_exit sweep_open_board(sweep_run *run, const cli_args *args);

/* sweep_exit() prints why a function of the laboratory failed, unless it was interrupted. */
cli_exit sweep_exit(const lab_sweep *sweep, heed_status status);

/* sweep_replay.c: runs strategies on the trials of --replay, without a device. */
cli_exit sweep_replay(const sweep_run *run, const cli_args *args, const char *path);

/* sweep_report.c: output. sweep_print_shapes() and sweep_json_shapes() compare the best point with
 * heed's plan for each problem; @found is the name of the best, or the key of its seconds, and @is
 * the name of the verdict. Without a comparison, the best has the @seconds of the search.
 * sweep_gates_word() returns the gates' verdict on a point: "all", "refused", or "unknown". */
cli_exit sweep_report(const sweep_run *run);
cli_exit sweep_print_shapes(const lab_sweep *run, const double *seconds, const char *found,
                            const char *is);
json_t *sweep_json_shapes(const lab_sweep *run, const char *found);
const char *sweep_gates_word(const lab_sweep_gates *gates, int64_t point);

/* sweep_report_static() prints the facts about every point that need no run. */
cli_exit sweep_report_static(sweep_run *run);

/* The row of option tables, whose choices are in the order of lab_insight_mode. */
extern const char *const insight_modes[];
#define CLI_OPTION_INSIGHTS                                                                        \
    OPT_CHOICE("insights", 0, "HOW", insight_modes, "measured",                                    \
               "Facts about a kernel's limits for the guide: none; static: from its machine "      \
               "code; measured: also hardware counters and 'heed ablate' of each champion, in 15 " \
               "% of the time at most")

/* search_report.c: the known facts as a table, or as JSON. */
cli_exit insight_print(const lab_insight *it);
json_t *insight_json(const lab_insight *it);
json_t *insight_words_json(unsigned findings);

/* figures_print() prints @figures to stdout; @origin names the origin of speed-ups, such as
 * "the first source". figures_json() returns them as an object, with null for unknown
 * values. */
void figures_print(const lab_figures *figures, const char *origin);
json_t *figures_json(const lab_figures *figures);

#endif /* CLI_SWEEP_H */
