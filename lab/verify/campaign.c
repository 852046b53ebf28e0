/*
 * campaign.c - verifies every contender on every problem with every kind of inputs
 */
#include "lab/verify/campaign.h"

#include <stdlib.h>
#include <string.h>

#include "src/device.h"

/* A context, shared by contenders of the same kind, and the place of its tensors. */
typedef struct workplace {
    heed_context *context; /* NULL: not made yet */
    lab_mirror mirror;
    bool mirrored; /* the device has separate memory */
} workplace;

/* State that a process keeps from one verification to the next. */
typedef struct campaign_state {
    const lab_campaign *campaign;
    lab_case values;      /* of the case that ... */
    size_t index;         /* ... has this index; case_count: none yet */
    heed_status status;   /* of making them */
    workplace *places;    /* by contender */
    const size_t *picked; /* the verifications to do; NULL: all */
} campaign_state;

/* Concludes a report whose first verdict tells why the kernel did not run. */
static void conclude(lab_report *report)
{
    report->outcome = report->verdicts[0].outcome;
    for (size_t i = 1; i < LAB_GATES; i++)
        lab_verdict_skip(&report->verdicts[i], "the kernel did not run");
}

static void conclude_failed(lab_report *report, const char *what, const char *why)
{
    lab_verdict_fail(&report->verdicts[0], -1, "%s: %s", what, why);
    conclude(report);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_place(const lab_contender *a, const lab_contender *b)
{
    return same_text(a->device, b->device) && same_text(a->cpu, b->cpu) && a->threads == b->threads;
}

/* Finds the workplace of contender @index, which it shares with earlier ones of the same kind. */
static heed_status place_of(campaign_state *state, size_t index, workplace **place)
{
    const lab_contender *contenders = state->campaign->contenders;
    const lab_contender *wanted = &contenders[index];
    size_t first = 0;
    while (!same_place(&contenders[first], wanted))
        first++;
    *place = &state->places[first];
    if ((*place)->context)
        return HEED_OK;
    const heed_options options = { .size = sizeof options,
                                   .device = wanted->device ? wanted->device : "cpu",
                                   .threads = wanted->threads,
                                   .cpu = wanted->cpu };
    heed_status status = heed_context_create(&(*place)->context, &options);
    if (status == HEED_OK) {
        (*place)->mirrored = !heed_device_is_host((*place)->context);
        (*place)->mirror = lab_mirror_create((*place)->context, state->campaign->exact);
    }
    return status;
}

/* Makes the values of the case @index, unless they exist already. */
static heed_status prepare_case(campaign_state *state, size_t index)
{
    const lab_campaign *campaign = state->campaign;
    if (state->index == index)
        return state->status;
    const lab_verify_case *wanted = &campaign->cases[index];
    const lab_values *values = wanted->inputs == &lab_inputs_captured ? campaign->values : NULL;
    lab_case_destroy(&state->values);
    state->index = index;
    lab_verify_options options = campaign->options;
    options.work = wanted->work ? wanted->work : options.work;
    state->status = lab_case_create(&state->values, &wanted->problem, wanted->inputs, values,
                                    &options);
    return state->status;
}

/* Makes a subject of heed's kernel that contender @index plans. */
static bool plan_subject(campaign_state *state, size_t index, lab_planned *planned,
                         lab_subject *subject, lab_report *report)
{
    workplace *place;
    heed_status status = place_of(state, index, &place);
    if (status == HEED_ERR_NO_MEMORY || status == HEED_ERR_SYSTEM) {
        lab_verdict_skip_status(&report->verdicts[0], status);
        conclude(report);
        return false;
    }
    if (status != HEED_OK) {
        conclude_failed(report, "no context", heed_message());
        return false;
    }
    *planned = (lab_planned){ .context = place->context,
                              .kernel = state->campaign->contenders[index].kernel,
                              .worthwhile = state->campaign->contenders[index].worthwhile,
                              .mirror = place->mirrored ? &place->mirror : NULL };
    *subject = lab_planned_subject(planned);
    return true;
}

static void verify_one(void *data, size_t index, lab_trace *trace, void *result)
{
    campaign_state *state = data;
    const lab_campaign *campaign = state->campaign;
    index = state->picked ? state->picked[index] : index;
    const lab_verify_case *wanted = &campaign->cases[index / campaign->contender_count];
    const lab_contender *contender = &campaign->contenders[index % campaign->contender_count];
    lab_report *report = &((lab_campaign_result *)result)->report;
    lab_planned planned = { .plan = NULL };
    lab_subject subject;

    lab_trace_step(trace, "making a context");
    if (contender->subject)
        subject = *contender->subject;
    else if (!plan_subject(state, index % campaign->contender_count, &planned, &subject, report))
        return;
    lab_trace_step(trace, "making values");
    heed_status status = prepare_case(state, index / campaign->contender_count);
    if (status != HEED_OK) {
        const char *absent = lab_case_absent(&wanted->problem, wanted->inputs);
        if (absent)
            lab_verdict_skip(&report->verdicts[0], "no such values: %s", absent);
        else
            lab_verdict_skip_status(&report->verdicts[0], status);
        conclude(report);
        return;
    }
    lab_trace_step(trace, NULL);
    lab_verify_options options = campaign->options;
    options.gates &= wanted->gates;
    lab_case_verify(&state->values, &subject, &options, trace, report);
    lab_planned_release(&planned);
    if (trace)
        trace->last = report->lost;
}

static void release(campaign_state *state)
{
    lab_case_destroy(&state->values);
    for (size_t i = 0; i < state->campaign->contender_count; i++) {
        workplace *place = &state->places[i];
        if (!place->context)
            continue;
        lab_mirror_destroy(&place->mirror);
        heed_context_destroy(place->context);
    }
}

static void run_together(campaign_state *state, lab_campaign_result *results, size_t count)
{
    const lab_campaign *campaign = state->campaign;
    memset(results, 0, count * sizeof *results);
    for (size_t i = 0; i < count && !(campaign->stop && campaign->stop()); i++) {
        verify_one(state, i, NULL, &results[i]);
        results[i].ended = LAB_COMPLETED;
    }
    release(state);
}

static void record_endings(lab_campaign_result *results, const lab_ending *endings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        results[i].ended = endings[i].how;
        if (endings[i].how == LAB_CRASHED)
            conclude_failed(&results[i].report, "crashed", endings[i].text);
        if (endings[i].how == LAB_TIMED_OUT)
            conclude_failed(&results[i].report, "too slow", endings[i].text);
    }
}

/* Runs @isolation, whose pieces are verifications. */
static heed_status isolate(const lab_isolation *isolation, lab_campaign_result *results)
{
    lab_ending *endings = calloc(isolation->count, sizeof *endings);
    if (!endings)
        return HEED_ERR_NO_MEMORY;
    heed_status status = lab_isolate(isolation, results, endings);
    if (status == HEED_OK)
        record_endings(results, endings, isolation->count);
    free(endings);
    return status;
}

/* Repeats the verifications that memory or the system cut short, one at a time: other children may
 * have had what they lacked. Leaves their results as they are if that fails. */
static void run_again(campaign_state *state, lab_isolation isolation, lab_campaign_result *results)
{
    lab_campaign_result *again = calloc(isolation.count, sizeof *again);
    size_t *cut = calloc(isolation.count, sizeof *cut), count = 0;
    for (size_t i = 0; i < isolation.count && cut; i++)
        if (results[i].ended == LAB_COMPLETED && lab_report_kept_by(&results[i].report) != HEED_OK)
            cut[count++] = i;
    state->picked = cut;
    isolation.count = count;
    isolation.group = 0;
    isolation.jobs = 0;
    isolation.progress = NULL;
    if (again && count > 0 && isolate(&isolation, again) == HEED_OK)
        for (size_t i = 0; i < count; i++)
            if (again[i].ended != LAB_NOT_RUN)
                results[cut[i]] = again[i];
    free(again);
    free(cut);
}

/* Runs the verifications in child processes, several in each. The state that a child keeps ends
 * with it. */
static heed_status run_apart(campaign_state *state, lab_campaign_result *results, size_t count)
{
    const lab_isolation isolation = {
        .run = verify_one,
        .data = state,
        .count = count,
        .result_size = sizeof *results,
        .group = state->campaign->contender_count,
        .jobs = state->campaign->jobs,
        .deadline_s = state->campaign->deadline_s,
        .stop = state->campaign->stop,
        .progress = state->campaign->progress,
        .progress_data = state->campaign->data,
    };
    heed_status status = isolate(&isolation, results);
    if (status == HEED_OK && isolation.jobs > 1)
        run_again(state, isolation, results);
    return status;
}

heed_status lab_campaign_run(const lab_campaign *campaign, lab_campaign_result *results)
{
    size_t count = campaign->case_count * campaign->contender_count;
    campaign_state state = { .campaign = campaign, .index = campaign->case_count };
    state.places = calloc(campaign->contender_count, sizeof *state.places);
    heed_status status = HEED_OK;
    if (!state.places)
        status = HEED_ERR_NO_MEMORY;
    else if (campaign->together)
        run_together(&state, results, count);
    else
        status = run_apart(&state, results, count);
    free(state.places);
    return status;
}
