/*
 * propose.h - proposers: external programs that write kernels (docs/proposers.md)
 *
 * A proposer is a child process that gets one JSON line per request: the task, the best source so
 * far and, depending on the way, the history and known facts. It replies with a source. Its output
 * is not trusted: the source is a candidate like any other.
 */
#ifndef LAB_PROPOSE_H
#define LAB_PROPOSE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/base/error.h"
#include "lab/search/clues.h"
#include "lab/trial/peer/peer.h"

/* Amount of information for a proposer. */
typedef enum lab_way {
    LAB_WAY_FREE,    /* the task and the current source */
    LAB_WAY_INSIGHT, /* also insights, and the thoughts of a few earlier kernels */
    LAB_WAY_FULL,    /* also the history with verdicts, logs and times, and a second parent */
    LAB_WAYS
} lab_way;

/* lab_way_name() returns "free", "insight" or "full"; lab_way_names lists them, ending with NULL.
 */
const char *lab_way_name(lab_way way);
extern const char *const lab_way_names[];

/* A kernel that was tried. Unknown texts are NULL. */
typedef struct lab_tried {
    const char *name;
    const char *source;
    const char *thought;
    const char *verdict; /* one word, such as "ok" or "compile" */
    const char *log;     /* of the compiler or a gate; stripped and truncated when sent */
    double seconds;      /* of one execution, geometric mean over the problems; 0: it did not run */
} lab_tried;

/* The contents of a request. */
typedef struct lab_brief {
    lab_way way;
    const char *task;            /* as text: the goal and the rules */
    const char *language;        /* "c" or "cuda" */
    const char *header;          /* the header that sources include; NULL: none */
    const char *const *problems; /* their specs */
    size_t problem_count;
    const char *device;
    const char *origin;       /* the original source, with marked regions */
    lab_tried current;        /* the best so far */
    const lab_tried *history; /* all that was tried, oldest first */
    size_t history_count;
    const char *const *insights; /* sentences */
    size_t insight_count;
    const char *const *findings; /* words of lab_finding_name(): the limits of the best source */
    size_t finding_count;
    const lab_clue *counters; /* of the best source, by the names of lab_clue_counter() */
    size_t counter_count;
    const lab_clue *effects; /* of its ablations, by their names; see lab_clues */
    size_t effect_count;
    uint64_t seed;  /* for random choices of the proposer */
    int64_t number; /* of the proposal, from 1 */
} lab_brief;

/* Maximum bytes of all logs in a request, and of a source in either direction. */
#define LAB_PROPOSE_LOGS 8192
#define LAB_PROPOSE_SOURCE ((size_t)24 << 10)

/* Numbers of thoughts in LAB_WAY_INSIGHT, and of kernels in LAB_WAY_FULL. */
#define LAB_PROPOSE_THOUGHTS 3
#define LAB_PROPOSE_HISTORY 10

/* An answer; texts are freed by lab_proposal_free(). */
typedef struct lab_proposal {
    char *name; /* letters, digits, '_', '-' and '.', and no more than 63 */
    char *source;
    char *thought;                 /* one line; "" if none */
    int64_t tokens_in, tokens_out; /* of its language model; negative: not reported */
} lab_proposal;
void lab_proposal_free(lab_proposal *proposal);

/* lab_proposer_find() writes the path of the program @command to @path: unchanged if it contains a
 * slash; else NAME or heed-propose-NAME in heed's folder; else the name, for a search in PATH. */
void lab_proposer_find(const char *command, char *path, size_t size);

/* lab_proposer_check() starts @program, a proposer that comes with heed, and asks whether it can
 * answer requests with its present settings. @interrupted is that of lab_peer_start(). Returns
 * HEED_OK; HEED_ERR_UNSUPPORTED if it cannot; HEED_ERR_SYSTEM if it does not answer;
 * HEED_ERR_NO_MEMORY. @error has the reason, in one line. */
heed_status lab_proposer_check(const char *program, bool (*interrupted)(void), lab_error *error);

/* lab_proposer_ask() requests one proposal and waits up to @seconds. Returns HEED_OK;
 * HEED_ERR_UNSUPPORTED if the proposer has nothing more to propose; HEED_ERR_INVALID for an invalid
 * answer or a brief that is too long, after which another request may follow; HEED_ERR_SYSTEM if
 * the proposer has ended or hangs; HEED_ERR_NO_MEMORY. @error has the reason, in one line. */
heed_status lab_proposer_ask(lab_peer *proposer, const lab_brief *brief, double seconds,
                             lab_proposal *proposal, lab_error *error);

/* lab_brief_request() returns the request, which the caller releases; NULL if there is no memory,
 * or it is too long for a line even without history. */
json_t *lab_brief_request(const lab_brief *brief);

#endif /* LAB_PROPOSE_H */
