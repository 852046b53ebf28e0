/*
 * propose.h - proposers: outside programs that write kernels (docs/proposers.md)
 *
 * A proposer is a child process that is asked one JSON line at a time: it is told the task, the
 * best source so far and, as the way permits, what was tried and what is known; it answers with a
 * source. Nothing it says is trusted: its source is a candidate like any other.
 */
#ifndef LAB_PROPOSE_H
#define LAB_PROPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/base/error.h"
#include "lab/search/clues.h"

/* How much a proposer is told. */
typedef enum lab_way {
    LAB_WAY_FREE,    /* the task and the current source */
    LAB_WAY_INSIGHT, /* and insights, and the thoughts behind a few earlier kernels */
    LAB_WAY_FULL,    /* and the history with verdicts, logs and times, and a second parent */
    LAB_WAYS
} lab_way;

/* lab_way_name() returns "free", "insight" or "full"; lab_way_names lists them, ending with NULL.
 */
const char *lab_way_name(lab_way way);
extern const char *const lab_way_names[];

/* A kernel that was tried. Texts may be NULL where nothing is known. */
typedef struct lab_tried {
    const char *name;
    const char *source;
    const char *thought;
    const char *verdict; /* one word, such as "ok" or "compile" */
    const char *log;     /* of the compiler or a gate; stripped and cut before it goes out */
    double seconds;      /* of one execution, geometric mean over the problems; 0: it did not run */
} lab_tried;

/* The contents of a request. */
typedef struct lab_brief {
    lab_way way;
    const char *task;            /* in words: the goal and the rules */
    const char *language;        /* "c" or "cuda" */
    const char *header;          /* the header that sources include; NULL: none */
    const char *const *problems; /* their specs */
    size_t problem_count;
    const char *device;
    const char *origin;       /* the source that all began with, marked regions and all */
    lab_tried current;        /* the best so far */
    const lab_tried *history; /* all that was tried, the oldest first */
    size_t history_count;
    const char *const *insights; /* sentences */
    size_t insight_count;
    const char *const *findings; /* words of lab_finding_name(): the limits of the best source */
    size_t finding_count;
    const lab_clue *counters; /* of the best source, by the names of lab_clues_of_profile() */
    size_t counter_count;
    const lab_clue *effects; /* of ablations of it, by their names; see lab_clues */
    size_t effect_count;
    uint64_t seed;  /* for what the proposer draws by lot */
    int64_t number; /* of the proposal, from 1 */
} lab_brief;

/* Bytes of logs in one request, all together, and of a source either way. */
#define LAB_PROPOSE_LOGS 8192
#define LAB_PROPOSE_SOURCE ((size_t)24 << 10)

/* Thoughts that LAB_WAY_INSIGHT tells, and kernels that LAB_WAY_FULL does. */
#define LAB_PROPOSE_THOUGHTS 3
#define LAB_PROPOSE_HISTORY 10

/* An answer; texts are freed by lab_proposal_free(). */
typedef struct lab_proposal {
    char *name; /* letters, digits, '_', '-' and '.', and no more than 63 */
    char *source;
    char *thought;                 /* "" if there is none; one line */
    int64_t tokens_in, tokens_out; /* of the model that was asked; negative: not told */
} lab_proposal;
void lab_proposal_free(lab_proposal *proposal);

typedef struct lab_proposer lab_proposer;

/* lab_proposer_find() writes the path of the program @command to @path: as it is if it has a slash,
 * else NAME or heed-propose-NAME beside heed; else the name, which is then looked for in PATH. */
void lab_proposer_find(const char *command, char *path, size_t size);

/* lab_proposer_start() starts the program at @path, without arguments and with heed's environment.
 * @interrupted, which may be NULL, is asked every 0.1 s while waiting. Returns NULL if there is no
 * memory; a program that could not be started fails when it is asked. */
lab_proposer *lab_proposer_start(const char *path, bool (*interrupted)(void));

/* lab_proposer_ask() asks for one proposal and waits up to @seconds. Returns HEED_OK;
 * HEED_ERR_UNSUPPORTED if the proposer has nothing more to propose; HEED_ERR_INVALID for an invalid
 * answer or a brief that is too long, after which it may be asked again; HEED_ERR_SYSTEM if the
 * proposer is gone, or hung; HEED_ERR_NO_MEMORY. @error says what, in one line. */
heed_status lab_proposer_ask(lab_proposer *proposer, const lab_brief *brief, double seconds,
                             lab_proposal *proposal, lab_error *error);

/* lab_proposer_end() asks it to quit, and kills it if it does not. NULL is ignored. */
void lab_proposer_end(lab_proposer *proposer);

/* lab_brief_text() returns the line that is sent, for the caller to free; NULL if there is no
 * memory, or it is too long with all history left out. */
char *lab_brief_text(const lab_brief *brief);

#endif /* LAB_PROPOSE_H */
