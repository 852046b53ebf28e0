/*
 * findings.h - rules that turn the facts of compiled code into findings
 *
 * The names of findings are a fixed vocabulary: scripts may depend on them, and the guide of a
 * search takes them (lab_clues, search/guide.h). An unknown fact gives no finding, so a kernel
 * without findings is only as well as its facts are complete.
 */
#ifndef LAB_FINDINGS_H
#define LAB_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inspect/sass.h"

typedef enum lab_severity {
    LAB_SEVERITY_NOTE,    /* worth knowing: fast kernels may have it */
    LAB_SEVERITY_WARNING, /* mostly a mistake */
    LAB_SEVERITY_FAULT    /* always one, or the kernel cannot be launched */
} lab_severity;

/* lab_severity_name() returns "note", "warning" or "fault". */
const char *lab_severity_name(lab_severity severity);

/* Facts about one kernel on one architecture. */
typedef struct lab_code_facts {
    int arch;             /* compute capability, 10 * major + minor */
    int registers;        /* per thread */
    int threads;          /* per block; 0: unknown */
    int threads_max;      /* that it was compiled for; 0: not said */
    int64_t blocks;       /* of the grid; 0: unknown */
    int64_t smem;         /* shared memory per block, static and dynamic, bytes */
    int64_t stack;        /* local memory per thread, bytes */
    int64_t spill_stores; /* of that for want of registers, bytes; -1: unknown */
    int64_t spill_loads;
    int64_t smem_limit;   /* that a block may have there, bytes; 0: unknown */
    int resident;         /* blocks that a multiprocessor holds; -1: unknown */
    int warps;            /* and their warps */
    int warps_max;        /* that it could hold */
    const char *limit;    /* the resource that limits the blocks; NULL: unknown */
    int multiprocessors;  /* of the device; 0: unknown */
    bool opts_in;         /* its launch asks for more than 48 KB where it needs them */
    bool declares_shared; /* its source declares shared memory */
    bool wants_tensor;    /* its problem is one for tensor cores */
    const lab_sass *sass; /* its machine code; NULL: unknown */
} lab_code_facts;

typedef struct lab_code_finding {
    const char *name; /* "spills", "bank-conflicts", ... */
    lab_severity severity;
    double figure;      /* how much, in ... */
    const char *unit;   /* ... "bytes", "ways", ... */
    double limit;       /* that it passes; 0: there is none to name */
    const char *advice; /* the remedy */
    char fact[200];     /* in words, with the figure */
} lab_code_finding;

/* As many as there are rules. */
#define LAB_CODE_FINDINGS_MAX 24

/* lab_code_judge() writes the findings, the gravest first, and returns how many there are. Their
 * texts other than fact are never freed. */
size_t lab_code_judge(const lab_code_facts *facts,
                      lab_code_finding findings[LAB_CODE_FINDINGS_MAX]);

/* lab_code_rule() returns the name of the @index-th rule, its severity and advice; NULL past the
 * last one. */
const char *lab_code_rule(size_t index, lab_severity *severity, const char **advice);

#endif /* LAB_FINDINGS_H */
