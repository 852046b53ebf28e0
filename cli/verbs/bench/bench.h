/*
 * bench.h - declarations shared by the files of `heed bench`
 *
 * sources (problems and tensors) -> a row for each (heed's samples, and a match against every
 * opponent) -> table or JSON
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "base/error.h"
#include "bench/bench.h"
#include "cli/base/cli.h"

/* -------------------------------------------------------------------------- */
/* bench_sources.c: problems and tensors to time                              */
/* -------------------------------------------------------------------------- */

typedef struct bench_sources {
    lab_bench_source *items;
    size_t count;
} bench_sources;

/* bench_sources_read() reads the problems of the command line, and every Q, K, V of --tensors, if
 * the verb has that option. A failure has been printed. Free with bench_sources_free(), also after
 * a failure. */
cli_exit bench_sources_read(bench_sources *sources, const cli_args *args);
void bench_sources_free(bench_sources *sources);

/* bench_sources_unique() drops repeated problems, with a message: for verbs that count problems. */
void bench_sources_unique(bench_sources *sources);

/* bench_sources_canonical() adds the canonical shapes, shapes/seed.txt, if no problem is given. */
cli_exit bench_sources_canonical(bench_sources *sources);

/* -------------------------------------------------------------------------- */
/* bench_calibrate.c: the differences that this machine can resolve           */
/* -------------------------------------------------------------------------- */

/* bench_calibrate() compares the kernel of each problem with itself, and prints the differences
 * that can be detected. */
cli_exit bench_calibrate(lab_bench *bench, const bench_sources *sources, const cli_args *args);

/* bench_duel_itself() compares a problem's kernel with itself, --duels times, and
 * prints how often the verdicts are right. */
cli_exit bench_duel_itself(const lab_bench *bench, const bench_sources *sources,
                           const cli_args *args);

/* bench_exit_of() returns the exit code of heed's outcome, bench_exit_of_work() that of timing,
 * which only Ctrl-C ends early. */
cli_exit bench_exit_of(lab_bench_outcome outcome);
cli_exit bench_exit_of_work(heed_status status);

/* bench_measure() makes the rows of @bench, one for each source, with @title for progress. A
 * failure has been printed. bench_close() frees them, and closes the rivals. */
cli_exit bench_measure(lab_bench *bench, const bench_sources *sources, const char *title);
void bench_close(lab_bench *bench);

/* bench_open_peers() is lab_bench_rivals_open(), and prints errors as those of --peers;
 * bench_check_peers() is lab_bench_rivals_check() likewise. */
cli_exit bench_open_peers(lab_bench *bench);
cli_exit bench_check_peers(lab_bench *bench);

/* -------------------------------------------------------------------------- */
/* bench_table.c, bench_json.c: the answer                                    */
/* -------------------------------------------------------------------------- */

/* bench_print_machine() prints the lines above the table: the machine, and how the figures are
 * measured. */
void bench_print_machine(const lab_bench *bench);

/* bench_label() writes the problem of @source, after the label of its captured values. */
#define BENCH_LABEL_SIZE (HEED_SPEC_SIZE + 80)
const char *bench_label(const lab_bench_source *source, char text[BENCH_LABEL_SIZE]);
cli_exit bench_print_table(const lab_bench *bench);

/* @manifest: the tools and libraries of the run (manifest.h) if it is recorded; else NULL. */
cli_exit bench_print_json(const lab_bench *bench, const json_t *manifest);

/* bench_json_device() returns the device, its driver and compiler, and its current state. */
json_t *bench_json_device(const lab_bench *bench);

/* bench_record() writes everything to one file of compact JSON in the folder of the device and the
 * date below --record, with the manifest's parts. Prints its path on stderr. Without a row it
 * writes nothing. */
cli_exit bench_record(const lab_bench *bench, const cli_args *args, const json_t *manifest);

#endif /* CLI_BENCH_H */
