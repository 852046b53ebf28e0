/*
 * campaign.h - verifies every contender on every problem with every kind of inputs
 */
#ifndef LAB_CAMPAIGN_H
#define LAB_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "heed.h"
#include "lab/verify/isolate.h"
#include "lab/verify/verify.h"

/* A kernel on a device, or under a mask of CPU features. */
typedef struct lab_contender {
    const char *cpu;            /* as in heed_options */
    const char *kernel;         /* NULL: the planner's choice */
    bool worthwhile;            /* see lab_planned */
    int threads;                /* as in heed_options */
    const char *device;         /* as in heed_options, but NULL is the CPU */
    const lab_subject *subject; /* instead of a kernel of heed's; needs no context */
} lab_contender;

typedef struct lab_campaign {
    const lab_verify_case *cases;
    size_t case_count;
    const lab_contender *contenders;
    size_t contender_count;
    const lab_values *values; /* of lab_inputs_captured; NULL without them */
    lab_verify_options options;
    bool exact;                                /* see lab_mirror */
    int jobs;                                  /* cases at a time; 0: one */
    unsigned deadline_s;                       /* for each contender in each case; 0: none */
    bool together;                             /* all in this process: for a debugger */
    bool (*stop)(void);                        /* see lab_isolation */
    void (*progress)(void *data, size_t done); /* called now and then with the number of finished
                                                * verifications. May be NULL */
    void *data;                                /* for progress() */
} lab_campaign;

/* One contender in one case. */
typedef struct lab_campaign_result {
    lab_report report; /* a crash is a failure of its first gate */
    lab_ended ended;
} lab_campaign_result;

/* lab_campaign_run() verifies every contender in every case, and goes on with the next after a
 * crash or a lost device. Contexts are made in child processes, and serve as many cases as
 * possible. With several jobs, those that ran out of memory beside others are repeated alone.
 * @results has room for case_count * contender_count, [case][contender]. Returns as lab_isolate()
 * does; also HEED_ERR_NO_MEMORY. */
heed_status lab_campaign_run(const lab_campaign *campaign, lab_campaign_result *results);

#endif /* LAB_CAMPAIGN_H */
