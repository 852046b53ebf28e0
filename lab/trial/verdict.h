/*
 * verdict.h - what became of a candidate
 */
#ifndef LAB_VERDICT_H
#define LAB_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

/* The values are stable: they are recorded. */
typedef enum lab_verdict {
    LAB_VERDICT_OK = 0,
    LAB_VERDICT_REFUSED = 1,        /* by its words: too long, an option or a define not allowed */
    LAB_VERDICT_COMPILE_ERROR = 2,  /* the compiler did not take it */
    LAB_VERDICT_UNSUPPORTED = 3,    /* it says itself that it cannot do the problem */
    LAB_VERDICT_HUNG = 4,           /* not done by the deadline */
    LAB_VERDICT_CRASHED = 5,        /* a signal: division by zero, abort, illegal instruction */
    LAB_VERDICT_ILLEGAL_ACCESS = 6, /* touched memory that is not its own */
    LAB_VERDICT_OUT_OF_MEMORY = 7,
    LAB_VERDICT_GARBAGE = 8,        /* printed, or said what nobody asked */
    LAB_VERDICT_FLOODED = 9,        /* printed without end */
    LAB_VERDICT_FORKED = 10,        /* tried to start a process or a thread */
    LAB_VERDICT_FILE = 11,          /* tried to open or change a file */
    LAB_VERDICT_NETWORK = 12,       /* tried to reach the network */
    LAB_VERDICT_FORBIDDEN = 13,     /* tried another thing that nobody needs to compute */
    LAB_VERDICT_EXITED = 14,        /* ended its process before it was done */
    LAB_VERDICT_WROTE_OUTSIDE = 15, /* wrote beside its outputs */
    LAB_VERDICT_INTERRUPTED = 16,   /* the caller lost patience */
    LAB_VERDICT_UNPROTECTED = 17,   /* this system cannot hold it: not run */
    LAB_VERDICT_LOST = 18,          /* the device failed while it ran */
    LAB_VERDICT_SYSTEM = 19         /* the laboratory itself could not */
} lab_verdict;

#define LAB_VERDICTS 20

/* lab_verdict_name() returns one word, as it is recorded, such as "illegal-access"; "unknown" for a
 * value outside the enum. lab_verdict_sentence() says in a few words for people what it means. */
const char *lab_verdict_name(lab_verdict verdict);
const char *lab_verdict_sentence(lab_verdict verdict);

/* What came of one step of a trial. */
typedef struct lab_outcome {
    lab_verdict verdict;
    char text[256]; /* unless all is well: what happened, in one line without control characters */
    double seconds; /* that it took, by the clock of the laboratory */
} lab_outcome;

/* lab_outcome_set() fills in @outcome, with the verdict's sentence where @format is NULL, and
 * returns whether @verdict is LAB_VERDICT_OK. */
bool lab_outcome_set(lab_outcome *outcome, lab_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* LAB_VERDICT_H */
