/*
 * sweep.h - what the files of `heed sweep` share, and evolve and tune with them
 *
 * space, problems -> search, which asks lab/sweep (compiled facts, then times) -> table or JSON
 */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "cli/base/cli.h"
#include "cli/verbs/board/board.h"
#include "cli/verbs/evolve/insight.h"
#include "sweep/sweep.h"

/* Rows of their option tables. */
#define SWEEP_OPTION_SECONDS \
    OPT_REAL("seconds", 0, "S", 0, 1e7, NULL, "Time limit in seconds [default: none]")
#define SWEEP_OPTION_COLD \
    OPT_FLAG("cold", 0, "Rotate through copies of the tensors that exceed every cache")

/* sweep_options_read() reads the options that several of sweep, evolve and tune have from the table
 * of @args: zero where a verb has not. */
lab_sweep_options sweep_options_read(const cli_args *args);

/* sweep_open.c: the steps before a search; each prints its failure. The problems are the operands
 * from number @first on. sweep_read_arch() is for --static, in the place of sweep_open_device();
 * the kernel is the one of --kernel, or the first of the space that runs there.
 * sweep_board_open() begins a run on the board, or goes on with one, unless --no-board was given.
 */
extern const char
    *const sweep_spaces[]; /* that come with heed, for every kernel one; ends with NULL */
cli_exit sweep_load_space(lab_sweep *run, const cli_args *args);
cli_exit sweep_load_problems(lab_sweep *run, const cli_args *args, int first);
cli_exit sweep_open_device(lab_sweep *run, const cli_args *args);
cli_exit sweep_read_arch(lab_sweep *run, const cli_args *args);
cli_exit sweep_choose_kernel(lab_sweep *run, const cli_args *args);
cli_exit sweep_open_record(lab_sweep *run);
cli_exit sweep_board_open(lab_sweep *run, const cli_args *args, lab_session *session,
                          cli_board_place *place);
cli_exit sweep_start_pool(lab_sweep *run);

/* sweep_compare() times the best point beside what heed usually plans, shape by
 * shape; where the best may be ranked on the board of a sweep, the plan is too. */
cli_exit sweep_compare(lab_sweep *run, int64_t index);

/* sweep_verify.c: sweep_verify() lets a point through all gates, in a process of its own, unless
 * that was done before; run->verified and run->refuted are about that point then.
 * sweep_plan_passes() says whether what heed plans for shape @number does; why not is printed.
 * sweep_proof_word() says what came of it: "all", "refused", or "unknown". */
cli_exit sweep_verify(lab_sweep *run, int64_t index);
bool sweep_plan_passes(const lab_sweep *run, size_t number);
const char *sweep_proof_word(const lab_sweep *run, int64_t index);

/* sweep_replay.c: strategies against the trials of --replay, without a device. */
cli_exit sweep_replay(const lab_sweep *run, const cli_args *args, const char *path);

/* sweep_report.c: the answer. sweep_print_shapes() and sweep_json_shapes() tell what was found for
 * each problem beside what heed plans; @found is what the best is called, or its seconds, and @is
 * what the comparison is. Where there was none, the best has the @seconds of the search. */
cli_exit sweep_report(const lab_sweep *run);
cli_exit sweep_print_shapes(const lab_sweep *run, const double *seconds, const char *found,
                            const char *is);
json_t *sweep_json_shapes(const lab_sweep *run, const char *found);

/* sweep_report_static() prints what is known of every point without running any. */
cli_exit sweep_report_static(lab_sweep *run);

#endif /* CLI_SWEEP_H */
