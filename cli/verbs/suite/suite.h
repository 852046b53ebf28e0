/*
 * suite.h - declarations shared by the files of `heed suite`
 */
#ifndef CLI_SUITE_H
#define CLI_SUITE_H

#include "cli/base/cli.h"
#include "lab/suite/suite.h"

/* suite_name_check() checks that the second operand names a suite; so far only KernelBench. */
cli_exit suite_name_check(const cli_args *args);

/* suite_python() finds the interpreter and the readers, or prints what is missing. */
cli_exit suite_python(lab_python *python);

/* suite_threads() returns how many tasks are read, or threads used, at a time. */
int suite_threads(void);

/* suite_import.c, suite_judge.c: the subcommands. */
cli_exit suite_import(const cli_args *args);
cli_exit suite_judge(const cli_args *args);

#endif /* CLI_SUITE_H */
