/*
 * insight.h - what is measured of a kernel for the guide of a search, in bounded time
 *
 * counters of its hardware (profile.h), effects of making it worse (ablate.h) -> clues, and what
 * they say (lab/search/clues.h) -> the guide, proposers, the board, reports
 *
 * A fact that cannot be found out, for want of time, rights or a tool, is unknown with a reason,
 * and no failure: a search goes on without it.
 */
#ifndef CLI_INSIGHT_H
#define CLI_INSIGHT_H

#include "cli.h"
#include "inspect/ablate.h"
#include "record/record.h"
#include "search/clues.h"
#include "search/evolve.h"
#include "src/cuda/jit.h"

/* How much is to be found out. */
typedef enum insight_mode {
    INSIGHT_NONE,
    INSIGHT_STATIC, /* what machine code says */
    INSIGHT_MEASURED
} insight_mode;

/* The row of option tables, whose choices are in the order of insight_mode. */
extern const char *const insight_modes[];
#define CLI_OPTION_INSIGHTS                                                                       \
    {                                                                                             \
        .name = "insights", .kind = CLI_CHOICE, .argument = "HOW", .choices = insight_modes,      \
        .standard = "measured",                                                                   \
        .help = "What to tell the guide about a kernel's limits: none; static, what its machine " \
                "code says; measured, also what hardware counts and what 'heed ablate' finds "    \
                "of each champion, in 15 % of the time at most"                                   \
    }

/* insight_budget() returns the seconds that may go into it where a search has @seconds, 0 for any
 * number. */
double insight_budget(double seconds);

#define INSIGHT_EFFECTS 16
#define INSIGHT_WHY_SIZE 240

/* Measurements of one kernel on one problem. */
typedef struct insight {
    char kernel[HEED_NAME_SIZE]; /* and config; "": nothing was tried */
    char spec[HEED_SPEC_SIZE];
    double counters[LAB_CLUE_COUNTERS];  /* by the numbers of lab_clue_counter(); NAN: not known */
    char counters_why[INSIGHT_WHY_SIZE]; /* they are not known; "": they are */
    lab_effect effects[INSIGHT_EFFECTS]; /* clear ones and others */
    size_t effect_count;
    char effects_why[INSIGHT_WHY_SIZE]; /* some, or all, are not known */
    double seconds;                     /* that it took */
} insight;

/* insight_unknown() returns that of nothing. */
insight insight_unknown(void);

/* A request to measure. */
typedef struct insight_question {
    const char *device; /* as it was asked for, such as "cuda:0" */
    heed_context *context;
    const heed_problem *problem; /* normalized */
    const char *kernel;          /* and config; or the name of a source */
    const heed_cubin *code;      /* what a source became; NULL: it is heed's own kernel */
    const char *launch;          /* how that is launched, in words; NULL: a source in C */
    bool foreign;                /* a user's source: no builds of it are worse on purpose */
    double seconds;              /* of a call */
    bool cold;
    int threads; /* of the host, for references */
    uint64_t seed;
    double budget; /* seconds */
} insight_question;

/* insight_take() measures. A failure is one of the device, or Ctrl-C; nothing is printed. */
heed_status insight_take(const insight_question *question, insight *it);

/* insight_clues_of() makes clues of it, which point into @it and @clues. insight_findings() is what
 * they say. insight_known() says whether there are any. */
typedef struct insight_clues {
    lab_clues clues;
    lab_clue counters[LAB_CLUE_COUNTERS], effects[INSIGHT_EFFECTS];
} insight_clues;
void insight_clues_of(const insight *it, insight_clues *clues);
unsigned insight_findings(const insight *it);
bool insight_known(const insight *it);

/* insight_board.c: insight_find() reads it from the board, where @trial would be; *@found says
 * whether it is there. insight_add() puts it there. */
heed_status insight_find(lab_record *record, const lab_record_trial *trial, insight *it,
                         bool *found, lab_error *error);
heed_status insight_add(lab_record *record, lab_record_trial *trial, const insight *it,
                        lab_error *error);

/* The number on the board of the trial that it is of a kernel in a run. */
#define INSIGHT_ATTEMPT 64

/* Where a search is with it. */
typedef struct insight_course {
    insight_mode mode;
    double budget, spent; /* seconds */
    int64_t of;           /* number of the champion that was measured last */
    unsigned shared;      /* what was found of it, as far as that is a good guess for others */
} insight_course;

/* insight_follow() answers the question for the champion, by the board or by measuring, and puts it
 * on the board as @trial, of which the attempt is set. */
heed_status insight_follow(insight_course *course, insight_question *question, lab_record *record,
                           lab_record_trial *trial, insight *it, lab_error *error);

/* insight_tell() tells @evolution what was found of its champion @id. */
void insight_tell(insight_course *course, lab_evolution *evolution, int64_t id, unsigned findings);

/* insight_report.c: a table of what is known; the same as JSON. */
cli_exit insight_print(const insight *it);
json_t *insight_json(const insight *it);
json_t *insight_words_json(unsigned findings);

#endif /* CLI_INSIGHT_H */
