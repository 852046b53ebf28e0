/*
 * inspect.h - what the parts of `heed inspect` share
 */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include "cli.h"
#include "inspect/cubin.h"

#define INSPECT_NAME_SIZE 256

/* One kernel that was compiled for one architecture. */
typedef struct inspect_row {
    char name[INSPECT_NAME_SIZE]; /* kernel and config, or file */
    char spec[HEED_SPEC_SIZE];    /* of the problem; empty for a file */
    char device[64];              /* that the prediction is for; empty for a file */
    double predicted;             /* seconds; negative for a file */
    double roofline;              /* seconds that none can go below there */
    int arch;
    char compiler[LAB_CUBIN_COMPILER_SIZE]; /* empty: unknown */
    lab_cubin_kernel code;
    int threads;         /* per block; 0: unknown */
    int64_t dynamic;     /* shared memory that a launch asks for, bytes */
    int resident;        /* blocks per multiprocessor; -1: unknown */
    int warps;           /* per multiprocessor then */
    int warps_max;       /* that it could hold */
    const char *limit;   /* what keeps it from holding more blocks */
    const char *finding; /* what is wrong with it, or NULL */
} inspect_row;

/* All of them. */
typedef struct inspect_job {
    const cli_args *args;
    inspect_row *rows;
    size_t count;
    bool failed; /* memory ran out */
} inspect_job;

/* What is inspected: machine code and how it is launched. */
typedef struct inspect_subject {
    const char *name;
    const char *spec;   /* NULL for a file */
    const char *device; /* with a spec, and so the next two */
    double predicted;
    double roofline;
    const void *data;
    size_t size;
    const char *log;   /* of the assembler, or NULL */
    const char *entry; /* the kernel that the facts below are for; NULL: all in the file */
    int threads;       /* per block; 0: what the code says */
    int64_t dynamic;
} inspect_subject;

/* inspect_add() adds a row for each kernel of @subject. Prints what is wrong with it. */
cli_exit inspect_add(inspect_job *job, const inspect_subject *subject);

/* inspect_files.c: the operands are cubins, and sources to be compiled. */
bool inspect_is_file(const char *operand);
cli_exit inspect_files(inspect_job *job);

/* inspect_kernels.c: the operands are specs, and the library's kernels are compiled for them. */
cli_exit inspect_kernels(inspect_job *job);

/* inspect_archs() lists the architectures of --arch, at most @max. *@count becomes their number. */
cli_exit inspect_archs(const cli_args *args, int *archs, size_t max, size_t *count);
#define INSPECT_ARCHS_MAX 16

/* inspect_report.c: prints the rows. CLI_FINDING if one of them has something wrong. */
cli_exit inspect_report(const inspect_job *job);

#endif /* CLI_INSPECT_H */
