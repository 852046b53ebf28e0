/*
 * verify.h - declarations shared by the parts of `heed verify`
 */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

#include "cli/base/cli.h"
#include "cli/base/source.h"
#include "verify/campaign.h"

/* The results of one contender, over all problems and inputs, or of one gate, over everything. */
typedef struct verify_tally {
    size_t passed;
    size_t failed;
    size_t skipped;
    double worst_error; /* of a contender: largest row error divided by the allowed one; negative:
                           none */
    double worst_lse;
} verify_tally;

/* The subject of verification. */
typedef struct verify_contenders {
    lab_contender *items;
    size_t count;
    char (*names)[HEED_NAME_SIZE]; /* of their kernels */
    size_t room;
    char device[32]; /* the device that they run on, as in heed_options */
    char name[64];   /* of that device */
    bool on_host;    /* the device is the CPU */
} verify_contenders;

#define VERIFY_INPUTS_MAX 32

typedef struct verify_job {
    const cli_args *args;
    const lab_inputs *inputs[VERIFY_INPUTS_MAX]; /* of --inputs */
    size_t input_count;                          /* 0: by the size of the problem */
    lab_verify_options options;
    verify_contenders contenders;
    lab_problems asked;            /* from the command line */
    cli_source own;                /* of --source; without it its text is NULL */
    lab_bench_candidate candidate; /* if it has a source */
    lab_subject subject;
    size_t refused; /* problems that it does not support; the last one: */
    char refused_spec[HEED_SPEC_SIZE];
    int jobs;              /* cases at a time */
    verify_tally *tallies; /* by contender */
    verify_tally gates[LAB_GATES];
    verify_tally total;
    int64_t rows;          /* in all problems ... */
    int64_t rows_compared; /* ... and those compared with the reference */
    size_t problems;       /* begun */
    size_t unproved;       /* skipped cases, without neighbours of a --proof */
    size_t unjudged; /* cases of which memory or the system kept gates from judging; the first: */
    char first_unjudged[HEED_SPEC_SIZE + LAB_TEXT_SIZE];
    size_t half_problems;    /* those that permit half-precision accumulation */
    size_t rounded_problems; /* and those that permit products of rounded operands */
    char last_skip[LAB_TEXT_SIZE];
    size_t done; /* finished problems */
    lab_progress progress;
    lab_progress batch; /* of the cases that are verified together */
    char on[64];        /* its tensors, if even filling them takes long */
    size_t printed;     /* failures printed on stderr */
    json_t *failures;   /* for --json, else NULL */
} verify_job;

/* verify_contenders.c: lists the kernels selected by --device, --kernel, --configs, --cpu and
 * --threads. Free with verify_contenders_free(), also after a failure, which has been printed. The
 * facts of a device are read in a child process, as a process that has used CUDA cannot fork
 * children that use it. */
cli_exit verify_contenders_list(verify_contenders *list, const cli_args *args);
void verify_contenders_free(verify_contenders *list);

/* verify_contender_name() returns the kernel's name, or a text for heed's choice. */
const char *verify_contender_name(const lab_contender *contender);

/* verify_contender_place() returns its CPU features, or its device. */
const char *verify_contender_place(const lab_contender *contender);

/* verify_source_add() compiles and starts the source of --source, which has been
 * read, and adds it to the contenders; an error has been printed. verify_source_refusal() reports
 * that it does not support @problem, once for each. */
cli_exit verify_source_add(verify_job *job);
void verify_source_refusal(verify_job *job, const heed_problem *problem, const lab_report *report);

/* verify_report.c: adds the results of a campaign. Failures are printed on stderr at once, each
 * with the command that repeats it. */
void verify_report_add(verify_job *job, const lab_campaign *campaign,
                       const lab_campaign_result *results);

/* verify_report_print() prints the table and the closing line, or the JSON. */
cli_exit verify_report_print(const verify_job *job);

/* verify_report_list() prints the gates and the kinds of values. */
cli_exit verify_report_list(const cli_args *args);

#endif /* CLI_VERIFY_H */
