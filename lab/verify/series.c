/*
 * series.c - many verifications of one problem: every contender with every kind of inputs
 */
#include "lab/verify/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/verify/subject.h"

/* What a process keeps from one verification to the next. */
typedef struct series_state {
    const lab_series *series;
    lab_case values;         /* of the inputs with the index ... */
    size_t inputs;           /* ... this; input_count: none yet */
    heed_status status;      /* of making them */
    heed_context **contexts; /* by contender; NULL: not made yet */
} series_state;

static void conclude(lab_report *report, lab_outcome outcome, const char *what, const char *why)
{
    report->outcome = outcome;
    if (outcome == LAB_FAIL)
        lab_verdict_fail(&report->verdicts[0], -1, "%s: %s", what, why);
    else
        lab_verdict_skip(&report->verdicts[0], "%s: %s", what, why);
    for (size_t i = 1; i < LAB_GATES; i++)
        lab_verdict_skip(&report->verdicts[i], "the kernel did not run");
}

/* The context of contender @index, which it shares with earlier ones of the same kind. */
static heed_status context_of(series_state *state, size_t index, heed_context **context)
{
    const lab_contender *contenders = state->series->contenders;
    const lab_contender *wanted = &contenders[index];
    size_t first = 0;
    while (strcmp(contenders[first].cpu, wanted->cpu) != 0 ||
           contenders[first].threads != wanted->threads)
        first++;
    heed_status status = HEED_OK;
    const heed_options options = { .threads = wanted->threads, .cpu = wanted->cpu };
    if (!state->contexts[first])
        status = heed_context_create(&state->contexts[first], &options);
    *context = state->contexts[first];
    return status;
}

/* Makes the values of the inputs of the @index-th kind, unless they are there. */
static heed_status prepare_case(series_state *state, size_t index)
{
    const lab_series *series = state->series;
    if (state->inputs == index)
        return state->status;
    const lab_inputs *inputs = series->inputs[index];
    const lab_values *values = inputs == &lab_inputs_captured ? series->values : NULL;
    lab_case_destroy(&state->values);
    state->inputs = index;
    state->status = lab_case_create(&state->values, &series->problem, inputs, values,
                                    &series->options);
    return state->status;
}

static void verify_one(void *data, size_t index, lab_trace *trace, void *result)
{
    series_state *state = data;
    const lab_series *series = state->series;
    size_t inputs = index / series->contender_count, contender = index % series->contender_count;
    lab_report *report = &((lab_series_result *)result)->report;
    lab_planned planned = { .kernel = series->contenders[contender].kernel };

    heed_status status = context_of(state, contender, &planned.context);
    if (status != HEED_OK) {
        conclude(report, LAB_FAIL, "no context", heed_message());
        return;
    }
    lab_trace_step(trace, "making values");
    status = prepare_case(state, inputs);
    if (status != HEED_OK) {
        const char *absent = lab_case_absent(&series->problem, series->inputs[inputs]);
        conclude(report, LAB_SKIP, "no such values", absent ? absent : heed_status_name(status));
        return;
    }
    lab_trace_step(trace, NULL);
    lab_subject subject = lab_planned_subject(&planned);
    lab_case_verify(&state->values, &subject, &series->options, trace, report);
    lab_planned_release(&planned);
}

static void release(series_state *state)
{
    lab_case_destroy(&state->values);
    for (size_t i = 0; i < state->series->contender_count; i++)
        heed_context_destroy(state->contexts[i]);
}

static void run_together(series_state *state, lab_series_result *results, size_t count)
{
    const lab_series *series = state->series;
    memset(results, 0, count * sizeof *results);
    for (size_t i = 0; i < count && !(series->stop && series->stop()); i++) {
        verify_one(state, i, NULL, &results[i]);
        results[i].ended = LAB_COMPLETED;
    }
    release(state);
}

/* Each in a process of its own, as far as need be. What a child keeps goes with it. */
static heed_status run_apart(series_state *state, lab_series_result *results, size_t count)
{
    const lab_isolation isolation = {
        .run = verify_one,
        .data = state,
        .count = count,
        .result_size = sizeof *results,
        .deadline_s = state->series->deadline_s,
        .stop = state->series->stop,
    };
    lab_ending *endings = calloc(count, sizeof *endings);
    if (!endings)
        return HEED_ERR_NO_MEMORY;
    heed_status status = lab_isolate(&isolation, results, endings);
    for (size_t i = 0; i < count && status == HEED_OK; i++) {
        results[i].ended = endings[i].how;
        if (endings[i].how == LAB_CRASHED)
            conclude(&results[i].report, LAB_FAIL, "crashed", endings[i].text);
        if (endings[i].how == LAB_TIMED_OUT)
            conclude(&results[i].report, LAB_FAIL, "too slow", endings[i].text);
    }
    free(endings);
    return status;
}

heed_status lab_series_run(const lab_series *series, lab_series_result *results)
{
    size_t count = series->input_count * series->contender_count;
    series_state state = { .series = series, .inputs = series->input_count };
    state.contexts = calloc(series->contender_count, sizeof *state.contexts);
    heed_status status = HEED_OK;
    if (!state.contexts)
        status = HEED_ERR_NO_MEMORY;
    else if (series->together)
        run_together(&state, results, count);
    else
        status = run_apart(&state, results, count);
    free(state.contexts);
    return status;
}
