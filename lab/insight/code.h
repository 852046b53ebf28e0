/*
 * code.h - inspection of compiled kernels: machine code -> its cubin parsed (inspect/cubin.h) ->
 * disassembled -> instructions counted (inspect/sass.h) -> findings (inspect/findings.h)
 */
#ifndef LAB_INSIGHT_CODE_H
#define LAB_INSIGHT_CODE_H

#include "lab/base/sink.h"
#include "lab/inspect/cubin.h"
#include "lab/inspect/disassembler.h"
#include "lab/inspect/findings.h"
#include "lab/search/guide.h"

#define LAB_CODE_NAME_SIZE 256

/* One kernel that was compiled for one architecture. */
typedef struct lab_code_row {
    char name[LAB_CODE_NAME_SIZE]; /* kernel and config, or file */
    char spec[HEED_SPEC_SIZE];     /* of the problem; empty for a file */
    char device[64];               /* device of the prediction; empty for a file */
    double predicted;              /* seconds; negative for a file */
    double roofline;               /* lower bound in seconds on that device */
    int arch;
    char compiler[LAB_CUBIN_COMPILER_SIZE]; /* empty: unknown */
    lab_cubin_kernel code;
    bool has_sass; /* else its instructions are unknown */
    lab_sass sass;
    int threads;       /* per block; 0: unknown */
    int64_t dynamic;   /* dynamic shared memory per launch, bytes */
    int resident;      /* blocks per multiprocessor; -1: unknown */
    int warps;         /* resident per multiprocessor */
    int warps_max;     /* their maximum */
    const char *limit; /* the resource that limits the blocks */
    lab_code_finding findings[LAB_CODE_FINDINGS_MAX];
    size_t finding_count;
} lab_code_row;

/* State of the search for a disassembler. */
typedef enum lab_code_tool {
    LAB_CODE_TOOL_UNSOUGHT,
    LAB_CODE_TOOL_FOUND,
    LAB_CODE_TOOL_MISSING
} lab_code_tool;

/* All rows. A zeroed list is empty. */
typedef struct lab_code_list {
    const lab_sink *sink; /* for interruption; NULL: none */
    bool no_code;         /* do not disassemble */
    lab_code_row *rows;
    size_t count;
    lab_code_tool tool_state;
    lab_disassembler tool;
    lab_error trouble; /* first reason for unknown code; empty: none unknown */
    bool failed;       /* memory ran out */
} lab_code_list;

/* The subject of inspection: machine code and how it is launched. */
typedef struct lab_code_subject {
    const char *name;
    const char *spec;   /* NULL for a file */
    const char *device; /* set if spec is, as are the next two */
    double predicted;
    double roofline;
    const void *data;
    size_t size;
    const char *log;      /* of the assembler, or NULL */
    const char *entry;    /* the kernel described below; NULL: all in the file */
    int threads;          /* per block; 0: from the code */
    lab_sass_shape shape; /* of a block; zeros: from the code */
    int64_t dynamic;
    int64_t blocks;       /* of the grid; 0: unknown */
    bool opts_in;         /* its launch raises the limit on shared memory */
    bool wants_tensor;    /* its problem is one for tensor cores */
    bool declares_shared; /* its source declares shared memory */
} lab_code_subject;

/* lab_code_list_add() adds a row for each kernel of @subject. Code that cannot be disassembled
 * still gets a row. HEED_ERR_CORRUPT or HEED_ERR_UNSUPPORTED, with the reason in @error, if it
 * cannot be read or has no kernel. lab_code_list_free() frees the rows. */
heed_status lab_code_list_add(lab_code_list *list, const lab_code_subject *subject,
                              lab_error *error);
void lab_code_list_free(lab_code_list *list);

/* lab_code_clues() writes findings about the kernel @subject->entry, or the first one, as clues
 * (name and figure) for the guide of a search, and returns their number. Names are static. Notes
 * are clues too. Unreadable code has no clues and sets no message; without a disassembler only some
 * are found. Takes half a second. */
size_t lab_code_clues(const lab_code_subject *subject, const lab_sink *sink,
                      lab_clue clues[LAB_CODE_FINDINGS_MAX]);

#endif /* LAB_INSIGHT_CODE_H */
