/*
 * doctor.h - declarations shared by the checks of `heed doctor`
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/base/cli.h"
#include "measure/environment.h"
#include "src/survey.h"

typedef enum doctor_level {
    DOCTOR_OK,
    DOCTOR_WARN,
    DOCTOR_FAIL
} doctor_level;

typedef struct doctor_finding {
    doctor_level level;
    const char *name; /* of the check */
    char text[400];   /* the finding */
    const char *fix;  /* the remedy; NULL: none */
} doctor_finding;

/* The findings of all checks, in their order. */
typedef struct doctor_report {
    const cli_args *args;
    doctor_finding *findings;
    size_t count;
    lab_environment around;
    heed_survey survey; /* set by doctor_check_cuda() */
    bool failed;        /* memory ran out: findings are missing */
} doctor_report;

/* doctor_say() adds a finding. @name and @fix are not copied: they must be literals, or belong to
 * the report. */
void doctor_say(doctor_report *report, doctor_level level, const char *name, const char *fix,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* doctor_probe() computes a known result on the device of @context, which is NULL if that could not
 * be made, and adds a finding; @fix is the remedy if there is no result. */
void doctor_probe(doctor_report *report, const char *name, const char *fix, heed_context *context);

/* doctor_read_line() reads the first line of @path without its newline; false if there is none. */
bool doctor_read_line(const char *path, char *line, int size);

/* The checks. Each adds one finding or more. */
void doctor_check_library(doctor_report *report);
void doctor_check_cpu(doctor_report *report);
void doctor_check_features(doctor_report *report);
void doctor_check_caches(doctor_report *report);
void doctor_check_threads(doctor_report *report);
void doctor_check_memory(doctor_report *report);
void doctor_check_clock(doctor_report *report);
void doctor_check_load(doctor_report *report);
void doctor_check_cuda(doctor_report *report);
void doctor_check_tools(doctor_report *report);
void doctor_check_torch(doctor_report *report);
void doctor_check_wisdom(doctor_report *report);
void doctor_check_board(doctor_report *report);
void doctor_check_trials(doctor_report *report);
void doctor_check_rivals(doctor_report *report);

#endif /* CLI_DOCTOR_H */
