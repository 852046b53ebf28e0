/*
 * verify_source.c - `heed verify --source`: a user's kernel among the contenders
 */
#include <stdlib.h>
#include <string.h>

#include "tensor/random.h"
#include "verify.h"

/* Without a problem, as with captured values, C is compiled for this one: the code is the same for
 * all. */
static const char any_spec[] = "b1 h1 s1 d64 f32";

static cli_exit check(verify_job *job)
{
    const verify_contenders *list = &job->contenders;
    const cli_source_place place = { .on_host = list->on_host,
                                     .device = list->device,
                                     .name = list->name };
    heed_problem any;
    bool named = job->asked.count > 0;
    bool c = job->own.worker.language == LAB_LANGUAGE_C;
    heed_problem_parse(&any, any_spec);
    return cli_source_check(&job->own, &place, named ? job->asked.items : &any,
                            named ? job->asked.count
                            : c   ? 1
                                  : 0);
}

/* Draws an unpredictable seed unless one is given. The seed is printed, so that the run can be
 * repeated. */
static cli_exit draw_seed(verify_job *job)
{
    if (job->wanted.seeded || lab_random_hidden(&job->options.seed))
        return CLI_OK;
    cli_error("the system has no random numbers");
    return CLI_ENVIRONMENT;
}

cli_exit verify_source_add(verify_job *job)
{
    verify_contenders *list = &job->contenders;
    cli_exit code = draw_seed(job);
    if (code == CLI_OK)
        code = check(job);
    if (code != CLI_OK)
        return code;
    job->candidate = lab_bench_worker_candidate(&job->own.worker);
    job->subject = lab_bench_candidate_subject(&job->candidate);
    list->items[list->count++] = (lab_contender){ .cpu = list->on_host ? "sandbox" : NULL,
                                                  .kernel = job->own.name,
                                                  .threads = 1,
                                                  .device = list->device,
                                                  .subject = &job->subject };
    return CLI_OK;
}

void verify_source_refusal(verify_job *job, const heed_problem *problem, const lab_report *report)
{
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(problem, spec, sizeof spec);
    if (strcmp(spec, job->refused_spec) == 0)
        return;
    memcpy(job->refused_spec, spec, sizeof spec);
    job->refused++;
    lab_progress_end(&job->progress);
    if (!job->wanted.json)
        cli_message("%s cannot do %s: %s", job->own.name, spec, report->verdicts[0].reason);
}
