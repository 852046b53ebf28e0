/*
 * insight.h - facts about a kernel for the guide of a search, measured in bounded time
 *
 * counters of the hardware (ncu.h), effects of ablations (lab/ablate) -> clues, and their words
 * (lab/search/clues.h) -> the guide, proposers, the board, reports
 *
 * A fact that cannot be measured for lack of time, permissions or a tool is unknown, with a reason.
 * That is not a failure: a search goes on without it.
 */
#ifndef LAB_INSIGHT_H
#define LAB_INSIGHT_H

#include "lab/base/sink.h"
#include "lab/inspect/ablate.h"
#include "lab/record/record.h"
#include "lab/search/clues.h"
#include "lab/search/evolution.h"
#include "src/cuda/jit.h"

/* Amount of facts to gather. */
typedef enum lab_insight_mode {
    LAB_INSIGHT_NONE,
    LAB_INSIGHT_STATIC, /* facts about its machine code */
    LAB_INSIGHT_MEASURED
} lab_insight_mode;

/* lab_insight_budget() returns the time limit for measurements in a search of @seconds, 0 for
 * unlimited. */
double lab_insight_budget(double seconds);

#define LAB_INSIGHT_EFFECTS 16
#define LAB_INSIGHT_WHY_SIZE 240

/* Measurements of one kernel on one problem. */
typedef struct lab_insight {
    char kernel[HEED_NAME_SIZE]; /* with config; "": nothing was tried */
    char spec[HEED_SPEC_SIZE];
    double counters[LAB_CLUE_COUNTERS]; /* by the numbers of lab_clue_counter(); NAN: not known */
    char counters_why[LAB_INSIGHT_WHY_SIZE]; /* reason if they are not known; else "" */
    lab_effect effects[LAB_INSIGHT_EFFECTS]; /* clear and unclear ones */
    size_t effect_count;
    char effects_why[LAB_INSIGHT_WHY_SIZE]; /* reason if some or all are not known */
    double seconds;                         /* time taken */
} lab_insight;

/* lab_insight_unknown() returns an empty one. */
lab_insight lab_insight_unknown(void);

/* A request to measure. */
typedef struct lab_insight_question {
    const char *device; /* as the user named it, such as "cuda:0" */
    heed_context *context;
    const heed_problem *problem; /* normalized */
    const char *kernel;          /* with config; or the name of a source */
    const heed_cubin *code;      /* of a source, compiled; NULL: one of heed's kernels */
    const char *launch;          /* its launch parameters as text; NULL: a C source */
    bool foreign;                /* a user's source, without ablations */
    double seconds;              /* of a call */
    bool cold;
    int threads; /* host threads, for references */
    uint64_t seed;
    double budget;        /* seconds */
    const lab_sink *sink; /* of progress and Ctrl-C; NULL: none */
} lab_insight_question;

/* lab_insight_take() measures. It fails only if the device does, or when interrupted. */
heed_status lab_insight_take(const lab_insight_question *question, lab_insight *it);

/* lab_insight_clues_of() makes clues from @it, which point into @it and @clues.
 * lab_insight_findings() returns the findings from them. lab_insight_known() returns true if there
 * are any. */
typedef struct lab_insight_clues {
    lab_clues clues;
    lab_clue counters[LAB_CLUE_COUNTERS], effects[LAB_INSIGHT_EFFECTS];
} lab_insight_clues;
void lab_insight_clues_of(const lab_insight *it, lab_insight_clues *clues);
unsigned lab_insight_findings(const lab_insight *it);
bool lab_insight_known(const lab_insight *it);

/* lab_insight_find() reads it from the board, at the place of @trial, and sets *@found if
 * it exists. lab_insight_add() writes it there. */
heed_status lab_insight_find(lab_record *record, const lab_record_trial *trial, lab_insight *it,
                             bool *found, lab_error *error);
heed_status lab_insight_add(lab_record *record, lab_record_trial *trial, const lab_insight *it,
                            lab_error *error);

/* Attempt number on the board for the insight trial of a kernel in a run. */
#define LAB_INSIGHT_ATTEMPT 64

/* Progress of insights in a search. */
typedef struct lab_insight_course {
    lab_insight_mode mode;
    double budget, spent; /* seconds */
    int64_t of;           /* number of the last measured champion */
    unsigned shared;      /* its findings that probably apply to others */
} lab_insight_course;

/* lab_insight_follow() answers the question for the champion, from the board or by measurement, and
 * records it on the board as @trial, whose attempt it sets. */
heed_status lab_insight_follow(lab_insight_course *course, lab_insight_question *question,
                               lab_record *record, lab_record_trial *trial, lab_insight *it,
                               lab_error *error);

/* lab_insight_tell() passes the findings about champion @id to @evolution. */
void lab_insight_tell(lab_insight_course *course, lab_evolution *evolution, int64_t id,
                      unsigned findings);

#endif /* LAB_INSIGHT_H */
