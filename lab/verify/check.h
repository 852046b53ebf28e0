/*
 * check.h - one kernel on one problem with one set of values: the subject of the gates
 */
#ifndef LAB_CHECK_H
#define LAB_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/inputs.h"
#include "lab/verify/isolate.h"
#include "lab/verify/reference/expect.h"
#include "lab/verify/stage/stage.h"

/* A kernel's declarations for a problem. */
typedef struct lab_needs {
    char name[HEED_NAME_SIZE]; /* kernel and config */
    size_t workspace_size;     /* bytes */
    bool deterministic;        /* equal inputs give equal bits */
    double seconds;            /* estimate for one run; negative: unknown */
} lab_needs;

/* The thing to be verified: anything that computes attention. */
typedef struct lab_subject {
    void *data;

    /* Gets ready for @problem, normalized, and fills @needs. HEED_ERR_UNSUPPORTED, with a
     * heed_message(), if the subject cannot do it. */
    heed_status (*prepare)(void *data, const heed_problem *problem, lab_needs *needs);

    /* Computes the problem that was prepared last. */
    heed_status (*run)(void *data, const heed_buffers *buffers);

    /* NULL, unless the subject computes in separate memory: then called instead of run(). Copies
     * the tensors of @stage there, computes, and copies them back. Returns HEED_OK, or why the
     * laboratory could not; *outcome is what run() would return. */
    heed_status (*run_away)(void *data, lab_stage *stage, heed_status *outcome);

    /* Returns true if the subject is lost, and so is all else that uses its device in this process.
     * May be NULL. */
    bool (*lost)(void *data);
} lab_subject;

#define LAB_TEXT_SIZE 160

/* The outputs and traces of one execution. */
typedef struct lab_run {
    heed_status status; /* returned by the subject; unless HEED_OK, nothing else is set */
    lab_needs needs;
    bool aligned;                /* Q, K, V and O lay at multiples of LAB_ODD_BYTES */
    void *o;                     /* [row][dim_v] in the element type */
    float *lse;                  /* [row]; NULL: not asked for */
    char changed[LAB_TEXT_SIZE]; /* the input element that changed, or "" */
    char missing[LAB_TEXT_SIZE]; /* the element of K or V that is wrong after appending, or "" */
    char spoiled[LAB_TEXT_SIZE]; /* the byte outside the outputs that changed, or "" */
} lab_run;

/* Variations of the values whose expected results are kept, as they are the same for every
 * kernel. */
typedef enum lab_memo {
    LAB_MEMO_NONE,
    LAB_MEMO_LINEAR, /* two terms and their sum */
    LAB_MEMO_LINEAR_2,
    LAB_MEMO_LINEAR_SUM,
    LAB_MEMO_UNSHIFTED,
    LAB_MEMO_SHIFTED,
    LAB_MEMO_SPELLED, /* other problems */
    LAB_MEMO_SINKLESS,
    LAB_MEMO_NEUTRAL
} lab_memo;
#define LAB_MEMOS 9

typedef struct lab_check {
    const lab_subject *subject;
    const lab_inputs *inputs;
    const lab_values *values; /* and the problem */
    const lab_expect *expect; /* of these values */
    lab_sampling sampling;    /* rows to expect in variations of the problem */
    uint64_t seed;            /* for all random choices other than the values */
    bool strict;              /* a batch element alone must give the same bits as in the batch */
    bool lock;                /* writes to inputs trap */
    lab_expect **memos;       /* [LAB_MEMOS]; NULL until needed */
    lab_trace *trace;         /* receives the current step, or NULL */
    lab_run runs[2];          /* against either wall, on equal values, with poison of either sign */
} lab_check;

/* lab_run_create() runs check->subject on @values; @layout is completed by the seed of the check
 * and the workspace of the subject. Returns HEED_OK whatever the subject did, or HEED_ERR_NO_MEMORY
 * or HEED_ERR_SYSTEM, with @run zeroed, if the laboratory could not run it. */
heed_status lab_run_create(lab_run *run, const lab_check *check, const lab_values *values,
                           lab_layout layout);

/* lab_check_stage() runs check->subject, which is prepared, on @stage once more. The outputs are
 * then in the stage; nothing else is checked. Returns as lab_run_create() does; *outcome is the
 * status that the subject returned. */
heed_status lab_check_stage(const lab_check *check, lab_stage *stage, heed_status *outcome);

/* lab_run_destroy() frees the outputs; a zeroed run is ignored. */
void lab_run_destroy(lab_run *run);

/* lab_run_equal() returns true if two runs of @problem have the same bits in O, and in the LSE if
 * both have one. If not, *@row is the first row that differs. */
bool lab_run_equal(const heed_problem *problem, const lab_run *a, const lab_run *b, int64_t *row);

#endif /* LAB_CHECK_H */
