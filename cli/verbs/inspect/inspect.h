/*
 * inspect.h - declarations shared by the parts of `heed inspect`
 */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include "cli/base/cli.h"
#include "insight/code.h"

/* The kernels being inspected. */
typedef struct inspect_job {
    const cli_args *args;
    lab_code_list list;
    int threads;          /* of --threads; 0: not given */
    lab_sass_shape shape; /* of --threads; zeros: not given */
} inspect_job;

/* inspect_add() adds a row for each kernel of @subject. A failure has been printed. */
cli_exit inspect_add(inspect_job *job, const lab_code_subject *subject);

/* inspect_files.c: for operands that are cubins, or sources to compile. */
bool inspect_is_file(const char *operand);
cli_exit inspect_files(inspect_job *job);

/* inspect_kernels.c: for operands that are specs: the library's kernels are compiled for them. */
cli_exit inspect_kernels(inspect_job *job);

/* inspect_archs() lists the architectures of --arch, at most @max. *@count becomes their number. */
cli_exit inspect_archs(const cli_args *args, int *archs, size_t max, size_t *count);
#define INSPECT_ARCHS_MAX 16

/* inspect_report.c: prints the rows. CLI_FINDING if one of them has a fault, or with --strict a
 * warning. */
cli_exit inspect_report(const inspect_job *job);

#endif /* CLI_INSPECT_H */
