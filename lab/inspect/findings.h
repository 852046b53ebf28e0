/*
 * findings.h - rules that turn the facts of compiled code into findings
 *
 * The names of findings are stable: scripts may depend on them, and the guide of a search uses them
 * (lab_clues, search/guide.h). An unknown fact gives no finding, so a kernel without findings is
 * good only if its facts are complete.
 */
#ifndef LAB_FINDINGS_H
#define LAB_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inspect/sass.h"

typedef enum lab_severity {
    LAB_SEVERITY_NOTE,    /* worth noting: fast kernels may have it */
    LAB_SEVERITY_WARNING, /* usually a mistake */
    LAB_SEVERITY_FAULT    /* always a mistake, or the kernel cannot be launched */
} lab_severity;

/* lab_severity_name() returns "note", "warning" or "fault". */
const char *lab_severity_name(lab_severity severity);

/* Facts about one kernel on one architecture. */
typedef struct lab_code_facts {
    int arch;             /* compute capability, 10 * major + minor */
    int registers;        /* per thread */
    int threads;          /* per block; 0: unknown */
    int threads_max;      /* from __launch_bounds__; 0: not declared */
    int64_t blocks;       /* of the grid; 0: unknown */
    int64_t smem;         /* shared memory per block, static and dynamic, bytes */
    int64_t stack;        /* local memory per thread, bytes */
    int64_t spill_stores; /* part of stack due to spilled registers; -1: unknown */
    int64_t spill_loads;
    int64_t smem_limit;   /* maximum per block on the architecture, bytes; 0: unknown */
    int resident;         /* blocks per multiprocessor; -1: unknown */
    int warps;            /* and their warps */
    int warps_max;        /* maximum of warps */
    const char *limit;    /* the resource that limits the blocks; NULL: unknown */
    int multiprocessors;  /* of the device; 0: unknown */
    bool opts_in;         /* its launch raises the limit above 48 KB if needed */
    bool declares_shared; /* its source declares shared memory */
    bool wants_tensor;    /* its problem is one for tensor cores */
    const lab_sass *sass; /* its machine code; NULL: unknown */
} lab_code_facts;

typedef struct lab_code_finding {
    const char *name; /* "spills", "bank-conflicts", ... */
    lab_severity severity;
    double figure;      /* the value, in ... */
    const char *unit;   /* ... "bytes", "ways", ... */
    double limit;       /* the limit exceeded; 0: none */
    const char *advice; /* the remedy */
    char fact[200];     /* as text, with the figure */
} lab_code_finding;

/* The number of rules. */
#define LAB_CODE_FINDINGS_MAX 24

/* lab_code_judge() writes the findings, most severe first, and returns their number. Texts other
 * than fact are static. */
size_t lab_code_judge(const lab_code_facts *facts,
                      lab_code_finding findings[LAB_CODE_FINDINGS_MAX]);

/* lab_code_rule() returns the name of the @index-th rule, its severity and advice; NULL past the
 * last one. */
const char *lab_code_rule(size_t index, lab_severity *severity, const char **advice);

#endif /* LAB_FINDINGS_H */
