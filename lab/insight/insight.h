/*
 * insight.h - facts about a kernel for the guide of a search, measured in bounded time
 *
 * counters of the hardware (ncu.h), effects of ablations (lab/ablate) -> clues, and their words
 * (lab/search/clues.h) -> the guide, proposers, the board, reports
 *
 * A fact that cannot be found out, for want of time, rights or a tool, is unknown with a reason,
 * and no failure: a search goes on without it.
 */
#ifndef LAB_INSIGHT_H
#define LAB_INSIGHT_H

#include "lab/base/sink.h"
#include "lab/inspect/ablate.h"
#include "lab/record/record.h"
#include "lab/search/clues.h"
#include "lab/search/evolution.h"
#include "src/cuda/jit.h"

/* How much is to be found out. */
typedef enum lab_insight_mode {
    LAB_INSIGHT_NONE,
    LAB_INSIGHT_STATIC, /* facts of its machine code */
    LAB_INSIGHT_MEASURED
} lab_insight_mode;

/* lab_insight_budget() returns the seconds that may go into it where a search has @seconds, 0 for
 * any number. */
double lab_insight_budget(double seconds);

#define LAB_INSIGHT_EFFECTS 16
#define LAB_INSIGHT_WHY_SIZE 240

/* Measurements of one kernel on one problem. */
typedef struct lab_insight {
    char kernel[HEED_NAME_SIZE]; /* and config; "": nothing was tried */
    char spec[HEED_SPEC_SIZE];
    double counters[LAB_CLUE_COUNTERS]; /* by the numbers of lab_clue_counter(); NAN: not known */
    char counters_why[LAB_INSIGHT_WHY_SIZE]; /* they are not known; "": they are */
    lab_effect effects[LAB_INSIGHT_EFFECTS]; /* clear ones and others */
    size_t effect_count;
    char effects_why[LAB_INSIGHT_WHY_SIZE]; /* some, or all, are not known */
    double seconds;                         /* that it took */
} lab_insight;

/* lab_insight_unknown() returns that of nothing. */
lab_insight lab_insight_unknown(void);

/* A request to measure. */
typedef struct lab_insight_question {
    const char *device; /* as it was asked for, such as "cuda:0" */
    heed_context *context;
    const heed_problem *problem; /* normalized */
    const char *kernel;          /* and config; or the name of a source */
    const heed_cubin *code;      /* of a source, compiled; NULL: it is heed's own kernel */
    const char *launch;          /* how that is launched, in words; NULL: a source in C */
    bool foreign;                /* a user's source: there are no ablations of it */
    double seconds;              /* of a call */
    bool cold;
    int threads; /* of the host, for references */
    uint64_t seed;
    double budget;        /* seconds */
    const lab_sink *sink; /* of progress and Ctrl-C; NULL: none */
} lab_insight_question;

/* lab_insight_take() measures. A failure is one of the device, or an interruption. */
heed_status lab_insight_take(const lab_insight_question *question, lab_insight *it);

/* lab_insight_clues_of() makes clues of it, which point into @it and @clues. lab_insight_findings()
 * is what they say. lab_insight_known() says whether there are any. */
typedef struct lab_insight_clues {
    lab_clues clues;
    lab_clue counters[LAB_CLUE_COUNTERS], effects[LAB_INSIGHT_EFFECTS];
} lab_insight_clues;
void lab_insight_clues_of(const lab_insight *it, lab_insight_clues *clues);
unsigned lab_insight_findings(const lab_insight *it);
bool lab_insight_known(const lab_insight *it);

/* board.c: lab_insight_find() reads it from the board, where @trial would be; *@found says
 * whether it is there. lab_insight_add() puts it there. */
heed_status lab_insight_find(lab_record *record, const lab_record_trial *trial, lab_insight *it,
                             bool *found, lab_error *error);
heed_status lab_insight_add(lab_record *record, lab_record_trial *trial, const lab_insight *it,
                            lab_error *error);

/* The number on the board of the trial that it is of a kernel in a run. */
#define LAB_INSIGHT_ATTEMPT 64

/* Where a search is with it. */
typedef struct lab_insight_course {
    lab_insight_mode mode;
    double budget, spent; /* seconds */
    int64_t of;           /* number of the champion that was measured last */
    unsigned shared;      /* the findings about it that are a good guess for others */
} lab_insight_course;

/* lab_insight_follow() answers the question for the champion, by the board or by measuring, and
 * puts it on the board as @trial, whose attempt is set. */
heed_status lab_insight_follow(lab_insight_course *course, lab_insight_question *question,
                               lab_record *record, lab_record_trial *trial, lab_insight *it,
                               lab_error *error);

/* lab_insight_tell() tells @evolution what was found of its champion @id. */
void lab_insight_tell(lab_insight_course *course, lab_evolution *evolution, int64_t id,
                      unsigned findings);

#endif /* LAB_INSIGHT_H */
