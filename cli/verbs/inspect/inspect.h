/*
 * inspect.h - what the parts of `heed inspect` share
 *
 * machine code -> its file read (lab/inspect/cubin.h) -> disassembled (inspect_code.c) -> its
 * instructions counted (lab/inspect/sass.h) -> findings (lab/inspect/findings.h) -> a row
 */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include "cli/base/rows.h"
#include "inspect/cubin.h"
#include "inspect/disassembler.h"
#include "inspect/findings.h"
#include "search/guide.h"

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
    bool has_sass; /* else its instructions are unknown */
    lab_sass sass;
    int threads;       /* per block; 0: unknown */
    int64_t dynamic;   /* shared memory that a launch asks for, bytes */
    int resident;      /* blocks per multiprocessor; -1: unknown */
    int warps;         /* per multiprocessor then */
    int warps_max;     /* that it could hold */
    const char *limit; /* what keeps it from holding more blocks */
    lab_code_finding findings[LAB_CODE_FINDINGS_MAX];
    size_t finding_count;
} inspect_row;

/* Whether there is a disassembler. */
typedef enum inspect_tool_state {
    INSPECT_TOOL_UNSOUGHT,
    INSPECT_TOOL_FOUND,
    INSPECT_TOOL_MISSING
} inspect_tool_state;

/* All of them. */
typedef struct inspect_job {
    const cli_args *args; /* NULL in a job of inspect_clues() */
    bool no_code;         /* nothing is disassembled */
    inspect_row *rows;
    size_t count;
    inspect_tool_state tool_state;
    lab_disassembler tool;
    lab_error trouble;    /* why some code is unknown; the first reason; empty: none is */
    bool failed;          /* memory ran out */
    int threads;          /* of --threads; 0: not given */
    lab_sass_shape shape; /* of --threads; zeros: not said */
} inspect_job;

/* The subject of inspection: machine code and how it is launched. */
typedef struct inspect_subject {
    const char *name;
    const char *spec;   /* NULL for a file */
    const char *device; /* with a spec, and so the next two */
    double predicted;
    double roofline;
    const void *data;
    size_t size;
    const char *log;      /* of the assembler, or NULL */
    const char *entry;    /* the kernel that the facts below are for; NULL: all in the file */
    int threads;          /* per block; 0: what the code says */
    lab_sass_shape shape; /* of a block; zeros: what the code says */
    int64_t dynamic;
    int64_t blocks;       /* of the grid; 0: unknown */
    bool opts_in;         /* whoever launches it asks for the shared memory that it needs */
    bool wants_tensor;    /* its problem is one for tensor cores */
    bool declares_shared; /* its source declares shared memory */
} inspect_subject;

/* inspect_add() adds a row for each kernel of @subject. Prints what is wrong with it; inspect_try()
 * says it in @error. */
cli_exit inspect_add(inspect_job *job, const inspect_subject *subject);
heed_status inspect_try(inspect_job *job, const inspect_subject *subject, lab_error *error);

/* inspect_job_free() frees what @job holds. */
void inspect_job_free(inspect_job *job);

/* inspect_kernels.c: inspect_clues() writes what is found in the kernel @subject->entry, or the
 * first one, by name and figure, as the guide of a search takes it (lab/search/guide.h), and
 * returns how many there are. Names are never freed. Notes are clues too. Code that cannot be read
 * has none, and no message; without a disassembler there are those that need none. Takes half a
 * second. */
size_t inspect_clues(const inspect_subject *subject, lab_clue clues[LAB_CODE_FINDINGS_MAX]);

/* inspect_code.c: inspect_disassemble() returns what @tool makes of the @size bytes at @data, a
 * cubin, to be freed; NULL if it fails or was interrupted, with the reason in @error. */
char *inspect_disassemble(const lab_disassembler *tool, const void *data, size_t size,
                          lab_error *error);

/* inspect_files.c: the operands are cubins, and sources to be compiled. */
bool inspect_is_file(const char *operand);
cli_exit inspect_files(inspect_job *job);

/* inspect_kernels.c: the operands are specs, and the library's kernels are compiled for them. */
cli_exit inspect_kernels(inspect_job *job);

/* inspect_archs() lists the architectures of --arch, at most @max. *@count becomes their number. */
cli_exit inspect_archs(const cli_args *args, int *archs, size_t max, size_t *count);
#define INSPECT_ARCHS_MAX 16

/* inspect_report.c: prints the rows. CLI_FINDING if one of them has a fault, or with --strict a
 * warning. */
cli_exit inspect_report(const inspect_job *job);

/* inspect_rows.c: the kernels as rows; JSON has all that is known of them. inspect_entry() returns
 * the name of the entry, without the middle of a long one: those of templates fill pages. */
#define INSPECT_CELL_SIZE 64
cli_rows inspect_rows(const inspect_job *job, bool json);
const char *inspect_entry(const inspect_row *row, char text[INSPECT_CELL_SIZE]);

#endif /* CLI_INSPECT_H */
