/*
 * verify.h - what the parts of `heed verify` share
 */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

#include "cli.h"
#include "verify/campaign.h"

/* What became of one contender, over all problems and inputs. */
typedef struct verify_tally {
    size_t passed;
    size_t failed;
    size_t skipped;
    double worst_error; /* largest row error over the one allowed; negative: none */
    double worst_lse;
} verify_tally;

/* One gate over everything. */
typedef struct verify_gate_tally {
    size_t passed;
    size_t failed;
    size_t skipped;
} verify_gate_tally;

/* What is verified. */
typedef struct verify_contenders {
    lab_contender *items;
    size_t count;
    char (*names)[HEED_NAME_SIZE]; /* of their kernels */
    size_t room;
    char device[32]; /* that they run on, as in heed_options */
    char name[64];   /* of that device */
    bool on_host;    /* it is the CPU */
} verify_contenders;

typedef struct verify_job {
    const cli_args *args;
    bool json;
    lab_verify_options options;
    verify_contenders contenders;
    int jobs;              /* cases at a time */
    verify_tally *tallies; /* by contender */
    verify_gate_tally gates[LAB_GATES];
    verify_tally total;
    int64_t rows;          /* of all problems ... */
    int64_t rows_compared; /* ... and how many were compared with the reference */
    size_t problems;       /* begun */
    size_t half_problems;  /* those of them that permit half-precision accumulation */
    char last_skip[LAB_TEXT_SIZE];
    size_t done;        /* problems that are through */
    size_t batch_cases; /* cases that are being verified together */
    cli_progress progress;
    size_t printed;   /* failures on stderr */
    json_t *failures; /* for --json, else NULL */
} verify_job;

/* verify_contenders.c: what --device, --kernel, --configs, --cpu and --threads ask for. Free with
 * verify_contenders_free(), also after a failure, which has been printed. What a device has to say
 * of itself is asked in a child process, as a process that has talked to CUDA cannot have children
 * that do. */
cli_exit verify_contenders_list(verify_contenders *list, const cli_args *args);
void verify_contenders_free(verify_contenders *list);

/* verify_contender_place() says where it runs: its CPU features, or its device. */
const char *verify_contender_place(const lab_contender *contender);

/* verify_run.c: verifies the problems of the command line - operands and --shapes, files, or both.
 */
cli_exit verify_run(verify_job *job);

/* verify_report.c: adds the results of a campaign. Failures are printed on stderr at once, each
 * with the command that repeats it. */
void verify_report_add(verify_job *job, const lab_campaign *campaign,
                       const lab_campaign_result *results);

/* verify_report_print() prints the table and the closing line, or the JSON. */
cli_exit verify_report_print(const verify_job *job);

/* verify_report_list() prints the gates and the kinds of values. */
cli_exit verify_report_list(const cli_args *args);

#endif /* CLI_VERIFY_H */
