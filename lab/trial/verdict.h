/*
 * verdict.h - the verdicts on candidates
 */
#ifndef LAB_VERDICT_H
#define LAB_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

/* The values are stable: they are recorded. */
typedef enum lab_trial_verdict {
    LAB_TRIAL_OK = 0,
    LAB_TRIAL_REFUSED = 1, /* rejected before compilation: too long, a forbidden option or define */
    LAB_TRIAL_COMPILE_ERROR = 2,  /* the compiler rejected it */
    LAB_TRIAL_UNSUPPORTED = 3,    /* it reported that it cannot do the problem */
    LAB_TRIAL_HUNG = 4,           /* not done by the deadline */
    LAB_TRIAL_CRASHED = 5,        /* a signal: division by zero, abort, illegal instruction */
    LAB_TRIAL_ILLEGAL_ACCESS = 6, /* touched memory that is not its own */
    LAB_TRIAL_OUT_OF_MEMORY = 7,
    LAB_TRIAL_GARBAGE = 8,        /* printed something, or wrote output without a request */
    LAB_TRIAL_FLOODED = 9,        /* printed without end */
    LAB_TRIAL_FORKED = 10,        /* tried to start a process or a thread */
    LAB_TRIAL_FILE = 11,          /* tried to open or change a file */
    LAB_TRIAL_NETWORK = 12,       /* tried to reach the network */
    LAB_TRIAL_FORBIDDEN = 13,     /* tried something else that computing does not need */
    LAB_TRIAL_EXITED = 14,        /* ended its process before it was done */
    LAB_TRIAL_WROTE_OUTSIDE = 15, /* wrote beside its outputs */
    LAB_TRIAL_INTERRUPTED = 16,   /* interrupted by the caller */
    LAB_TRIAL_UNPROTECTED = 17,   /* not run: this system has no sandbox for it */
    LAB_TRIAL_LOST = 18,          /* the device failed while it ran */
    LAB_TRIAL_SYSTEM = 19         /* the laboratory itself failed */
} lab_trial_verdict;

#define LAB_TRIAL_VERDICTS 20

/* lab_trial_verdict_name() returns one word, as in records and on the leaderboard, such as
 * "access"; "unknown" for a value outside the enum. lab_trial_verdict_sentence() returns a short
 * explanation for people. */
const char *lab_trial_verdict_name(lab_trial_verdict verdict);
const char *lab_trial_verdict_sentence(lab_trial_verdict verdict);

/* The outcome of one step of a trial. */
typedef struct lab_trial_outcome {
    lab_trial_verdict verdict;
    char text[256]; /* unless LAB_TRIAL_OK: the reason, in one line without control characters */
    double seconds; /* time taken, by the laboratory's clock */
    double own_seconds; /* if the candidate computed: its CPU or device time, which does not depend
                           on other load */
} lab_trial_outcome;

/* lab_trial_outcome_set() fills in @outcome, with the verdict's sentence if @format is NULL, and
 * returns true if @verdict is LAB_TRIAL_OK. */
bool lab_trial_outcome_set(lab_trial_outcome *outcome, lab_trial_verdict verdict,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif /* LAB_VERDICT_H */
