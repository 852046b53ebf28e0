/*
 * selftest.c - tests the gates on kernels known to be right or wrong
 */
#include "lab/verify/selftest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tensor/random.h"
#include "lab/verify/isolate.h"
#include "lab/verify/proof.h"
#include "src/measure.h"

/* Time limit of an endless kernel in seconds. */
#define ENDLESS_S 1

/* The least work of a reference: a few rows. */
#define WORK_FEW 1

/* A stream of random numbers. */
#define STREAM_SELFTEST 40

/* Consecutive trials that share a child process, and with it the values of a problem. */
#define GROUP 8

lab_selftest_options lab_selftest_standard(void)
{
    return (lab_selftest_options){ .seed = 1, .gates = UINT32_MAX, .jobs = 1, .deadline_s = 60 };
}

const char *lab_judge_name(size_t index)
{
    static const char *const others[] = { "sandbox", "timed" };
    if (index < LAB_GATES)
        return lab_gate_at(index)->name;
    return index < LAB_JUDGES ? others[index - LAB_GATES] : NULL;
}

size_t lab_judge_index(const char *name)
{
    size_t index = 0;
    while (index < LAB_JUDGES && strcmp(lab_judge_name(index), name) != 0)
        index++;
    return index;
}

/* ---------------------------------------------------------------------------------------------- */
/* The list of trials                                                                             */
/* ---------------------------------------------------------------------------------------------- */

/* A kernel on a problem, which must be killed or accepted. */
typedef struct trial {
    size_t entry; /* of the result */
    const lab_mutant *kernel;
    const char *spec;
    const lab_inputs *inputs;
} trial;

/* The entries of a result and the trials that fill them. */
typedef struct maker {
    const lab_selftest_options *options;
    lab_selftest_entry *entries; /* NULL: only count them */
    size_t entry_count;
    trial *trials; /* the same */
    size_t trial_count;
} maker;

static bool is_wanted(const lab_selftest_options *options, const lab_mutant *kernel)
{
    if (options->gate && (!kernel->gate || strcmp(options->gate, kernel->gate) != 0))
        return false;
    return !options->only || strcmp(options->only, kernel->name) == 0;
}

/* Adds an entry. Returns true if it is to be tried. */
static bool add_entry(maker *it, const lab_mutant *kernel)
{
    const bool wanted = is_wanted(it->options, kernel);
    const char *inputs = kernel->source ? "all" : "";
    if (it->entries)
        it->entries[it->entry_count] = (lab_selftest_entry){
            .kernel = kernel,
            .done = wanted,
            .spec = kernel->spec ? kernel->spec : "",
            .inputs = kernel->inputs ? kernel->inputs : inputs
        };
    it->entry_count++;
    return wanted;
}

static void add_trial(maker *it, size_t entry, const lab_mutant *kernel, const char *spec,
                      const lab_inputs *inputs)
{
    if (it->trials)
        it->trials[it->trial_count] = (trial){ entry, kernel, spec, inputs };
    it->trial_count++;
}

/* Adds kernels that are tried on one problem. */
static void add_mutants(maker *it, lab_suite_list list, bool endless)
{
    const lab_mutant *m;
    for (size_t i = 0; (m = lab_mutant_at(list, i)); i++)
        if (m->endless == endless && add_entry(it, m))
            add_trial(it, it->entry_count - 1, m, m->spec,
                      m->inputs ? lab_inputs_find(m->inputs) : lab_inputs_at(0));
}

/* Adds kernels that are tried on all problems. Trials with the same values are adjacent. */
static void add_controls(maker *it, lab_suite_list list)
{
    const size_t first = it->entry_count;
    const bool device = it->options->device;
    const lab_mutant *m;
    for (size_t i = 0; (m = lab_mutant_at(list, i)); i++)
        add_entry(it, m);
    for (size_t s = 0; lab_scene_at(device, s); s++)
        for (size_t n = 0; lab_inputs_at(n); n++)
            for (size_t i = 0; (m = lab_mutant_at(list, i)); i++)
                if (is_wanted(it->options, m))
                    add_trial(it, first + i, m, lab_scene_at(device, s), lab_inputs_at(n));
}

/* Adds all kernels of the suite, and trials for those that the options select. Trials that end by
 * themselves come first; returns their number. */
static size_t make_trials(maker *it)
{
    if (it->options->device) {
        add_mutants(it, LAB_DEVICE_MUTANTS, false);
        add_controls(it, LAB_DEVICE_CONTROLS);
        return it->trial_count;
    }
    if (it->options->sources)
        add_mutants(it, LAB_SOURCES, false);
    add_mutants(it, LAB_MUTANTS, false);
    add_controls(it, LAB_CONTROLS);
    size_t ending = it->trial_count;
    add_mutants(it, LAB_MUTANTS, true);
    return ending;
}

/* ---------------------------------------------------------------------------------------------- */
/* One kernel on one problem                                                                      */
/* ---------------------------------------------------------------------------------------------- */

/* The trials of one call of lab_isolate(), and the state that a child keeps between them: values
 * and their expected results. */
typedef struct trials {
    const lab_selftest_options *options;
    trial *items;
    size_t count;
    size_t before, total; /* for progress: trials of earlier calls, and of all */
    lab_case values;
    const trial *filled; /* the owner of the values, or NULL */
} trials;

/* Lists the cases that a kernel must pass before it is ranked: those of a proof (proof.h) with the
 * trial's kind of values, or neighbours. Values have a derived seed, as a kernel may know those of
 * the seed itself. */
static size_t list_cases(const trials *all, const trial *it, lab_verify_case cases[LAB_PROOF_CASES])
{
    lab_proof proof = { .seed = lab_random_stream(all->options->seed, STREAM_SELFTEST) };
    lab_verify_case every[LAB_PROOF_CASES];
    size_t count = 0, listed = 0;
    if (heed_problem_parse(&proof.problem, it->spec) == HEED_OK)
        listed = lab_proof_list(&proof, every);
    for (size_t i = 0; i < listed; i++) {
        lab_verify_case *last = count ? &cases[count - 1] : NULL;
        if (every[i].neighbour != it->kernel->nearby || every[i].inputs != it->inputs)
            continue;
        if (!it->kernel->nearby && last) /* both cases with normal values */
            last->gates |= every[i].gates;
        else
            cases[count++] = every[i];
    }
    return count;
}

/* The result of one trial. */
typedef struct selftest_result {
    lab_report report;
    lab_selftest_outcome source; /* of a source only */
} selftest_result;

static lab_verify_options options_of(const trials *all, const trial *it, const lab_verify_case *one)
{
    const lab_proof proof = { .seed = lab_random_stream(all->options->seed, STREAM_SELFTEST),
                              .threads = 1 };
    lab_verify_options options = lab_proof_options(&proof, one);
    options.gates &= all->options->gates;
    options.unlocked = it->kernel->unlocked;
    if (it->kernel->few)
        options.work = options.property_work = WORK_FEW;
    return options;
}

static bool same_values(const trial *a, const trial *b)
{
    return strcmp(a->spec, b->spec) == 0 && a->inputs == b->inputs &&
           a->kernel->few == b->kernel->few && !a->kernel->nearby && !b->kernel->nearby;
}

static heed_status fill(trials *all, const trial *it, const lab_verify_case *one,
                        const lab_verify_options *options)
{
    if (all->filled && same_values(all->filled, it))
        return HEED_OK;
    lab_case_destroy(&all->values);
    all->filled = NULL;
    heed_status status = lab_case_create(&all->values, &one->problem, it->inputs, NULL, options);
    if (status == HEED_OK)
        all->filled = it;
    return status;
}

static void try_behaviour(trials *all, const lab_behaviour *behaviour,
                          const lab_verify_options *options, lab_trace *trace, lab_report *report)
{
    lab_actor *actor = lab_actor_create(behaviour);
    if (!actor)
        return;
    lab_subject subject = lab_actor_subject(actor);
    lab_case_verify(&all->values, &subject, options, trace, report);
    lab_actor_destroy(actor);
}

static void try_mistake(trials *all, int mistake, const lab_verify_options *options,
                        lab_trace *trace, lab_report *report)
{
    const lab_selftest_device *device = all->options->device;
    lab_subject subject;
    if (device->open(device->data, mistake, &subject) != HEED_OK) {
        lab_verdict_skip(&report->verdicts[0], "%s", heed_message());
        return;
    }
    lab_case_verify(&all->values, &subject, options, trace, report);
    device->close(device->data, &subject);
}

static void try_case(trials *all, const trial *it, const lab_verify_case *one, lab_trace *trace,
                     lab_report *report)
{
    lab_verify_options options = options_of(all, it, one);
    if (fill(all, it, one, &options) != HEED_OK)
        return;
    if (all->options->device)
        try_mistake(all, it->kernel->mistake, &options, trace, report);
    else
        try_behaviour(all, &it->kernel->behaviour, &options, trace, report);
}

/* A problem that cannot have the values is skipped. For a control that counts as accepted; a
 * skipped mutant survives. */
static void try_one(void *data, size_t index, lab_trace *trace, void *result)
{
    trials *all = data;
    const trial *it = &all->items[index];
    lab_verify_case cases[LAB_PROOF_CASES];
    lab_report *report = &((selftest_result *)result)->report;
    lab_trace_step(trace, NULL);
    report->outcome = LAB_SKIP;
    if (it->kernel->source) {
        const lab_selftest_sources *sources = all->options->sources;
        sources->run(sources->data, it->kernel, &((selftest_result *)result)->source);
        return;
    }
    size_t count = list_cases(all, it, cases);
    for (size_t i = 0; i < count && report->outcome != LAB_FAIL; i++)
        try_case(all, it, &cases[i], trace, report);
}

/* ---------------------------------------------------------------------------------------------- */
/* Results                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

/* The gates that failed the kernel. Verdicts before a crash count too. */
static uint32_t failed_gates(const trials *all, const lab_report *report, const lab_ending *ending)
{
    uint32_t failed = ending->how == LAB_CRASHED || ending->how == LAB_TIMED_OUT;
    for (size_t i = 0; i < LAB_GATES; i++)
        failed |= (uint32_t)(report->verdicts[i].outcome == LAB_FAIL) << i;
    return failed & all->options->gates;
}

/* The reason given by gate @index. */
static const char *reason_of(const lab_report *report, const lab_ending *ending, size_t index)
{
    bool crashed = ending->how == LAB_CRASHED || ending->how == LAB_TIMED_OUT;
    return index == 0 && crashed ? ending->text : report->verdicts[index].reason;
}

static size_t first_gate(uint32_t gates)
{
    size_t index = 0;
    while (!(gates >> index & 1))
        index++;
    return index;
}

static void conclude_mutant(lab_selftest_entry *entry, const trials *all, const lab_report *report,
                            const lab_ending *ending)
{
    size_t meant = lab_gate_index(entry->kernel->gate);
    entry->failed = failed_gates(all, report, ending);
    const char *reason = reason_of(report, ending, meant);
    entry->meant = (entry->failed >> meant & 1) &&
                   (!entry->kernel->text || strstr(reason, entry->kernel->text) != NULL);
    if (entry->failed && !(entry->failed >> meant & 1))
        reason = reason_of(report, ending, first_gate(entry->failed));
    else if (report->outcome == LAB_SKIP && !entry->failed)
        reason = reason_of(report, ending, 0);
    snprintf(entry->reason, sizeof entry->reason, "%s", reason);
}

/* The first failure of a control is reported. */
static void conclude_control(lab_selftest_entry *entry, const trials *all, const trial *it,
                             const lab_report *report, const lab_ending *ending)
{
    uint32_t failed = failed_gates(all, report, ending);
    if (failed && !entry->failed) {
        entry->spec = it->spec;
        entry->inputs = it->inputs->name;
        snprintf(entry->reason, sizeof entry->reason, "%s",
                 reason_of(report, ending, first_gate(failed)));
    }
    entry->failed |= failed;
}

static void conclude_source(lab_selftest_entry *entry, const trials *all,
                            const lab_selftest_outcome *outcome, const lab_ending *ending)
{
    bool crashed = ending->how == LAB_CRASHED || ending->how == LAB_TIMED_OUT;
    entry->failed = (outcome->failed | (uint32_t)crashed) & all->options->gates;
    entry->meant = entry->kernel->gate &&
                   (entry->failed >> lab_judge_index(entry->kernel->gate) & 1);
    snprintf(entry->reason, sizeof entry->reason, "%s", crashed ? ending->text : outcome->reason);
}

static void report_progress(void *data, size_t done)
{
    const trials *all = data;
    all->options->progress(all->options->data, all->before + done, all->total);
}

static heed_status run_trials(trials *all, unsigned deadline_s, lab_selftest_entry *entries)
{
    selftest_result *results = calloc(all->count + 1, sizeof *results);
    lab_ending *endings = calloc(all->count + 1, sizeof *endings);
    const lab_isolation isolation = { .run = try_one,
                                      .data = all,
                                      .count = all->count,
                                      .result_size = sizeof *results,
                                      .group = GROUP,
                                      .jobs = all->options->jobs,
                                      .deadline_s = deadline_s,
                                      .stop = all->options->stop,
                                      .progress = all->options->progress ? report_progress : NULL,
                                      .progress_data = all };
    heed_status status = HEED_ERR_NO_MEMORY;
    if (results && endings)
        status = lab_isolate(&isolation, results, endings);
    for (size_t i = 0; i < all->count && status == HEED_OK; i++) {
        const trial *it = &all->items[i];
        lab_selftest_entry *entry = &entries[it->entry];
        if (endings[i].how == LAB_NOT_RUN)
            entry->done = false;
        else if (it->kernel->source)
            conclude_source(entry, all, &results[i].source, &endings[i]);
        else if (entry->kernel->gate)
            conclude_mutant(entry, all, &results[i].report, &endings[i]);
        else
            conclude_control(entry, all, it, &results[i].report, &endings[i]);
    }
    free(results);
    free(endings);
    return status;
}

/* ---------------------------------------------------------------------------------------------- */
/* All of them                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

static void count_mutant(lab_selftest_result *result, const lab_selftest_entry *entry)
{
    bool alone = (entry->failed & (entry->failed - 1)) == 0;
    result->killed += entry->failed != 0;
    for (size_t i = 0; i < LAB_JUDGES; i++) {
        bool kills = entry->failed >> i & 1;
        result->gates[i].kills += kills;
        result->gates[i].alone += kills && alone;
    }
}

static void count(lab_selftest_result *result, const lab_selftest_options *options)
{
    uint32_t every = ((uint32_t)1 << LAB_JUDGES) - 1;
    for (size_t i = 0; i < result->entry_count; i++) {
        const lab_selftest_entry *entry = &result->entries[i];
        result->skipped += !entry->done;
        if (!entry->done)
            continue;
        result->mutants += entry->kernel->gate != NULL;
        result->controls += entry->kernel->gate == NULL;
        if (entry->kernel->gate)
            count_mutant(result, entry);
        else
            result->accepted += entry->failed == 0;
    }
    result->trusted = result->skipped == 0 && (options->gates & every) == every &&
                      result->killed == result->mutants && result->accepted == result->controls;
}

/* Endless kernels come last, as each uses up its time limit. */
static heed_status run_all(const lab_selftest_options *options, lab_selftest_result *result,
                           const maker *made, size_t ending)
{
    trials all = {
        .options = options, .items = made->trials, .count = ending, .total = made->trial_count
    };
    heed_status status = HEED_OK;
    if (made->trial_count == 0)
        return HEED_ERR_INVALID;
    if (ending > 0)
        status = run_trials(&all, options->deadline_s, result->entries);
    all.items += ending;
    all.before = ending;
    all.count = made->trial_count - ending;
    if (status == HEED_OK && all.count > 0)
        status = run_trials(&all, ENDLESS_S, result->entries);
    return status;
}

heed_status lab_selftest_run(const lab_selftest_options *options, lab_selftest_result *result)
{
    int64_t start = heed_clock_ns();
    maker counted = { .options = options };
    make_trials(&counted);
    maker made = { .options = options };
    made.entries = calloc(counted.entry_count, sizeof *made.entries);
    made.trials = calloc(counted.trial_count + 1, sizeof *made.trials);
    *result = (lab_selftest_result){ .digest = lab_suite_digest(),
                                     .entries = made.entries,
                                     .entry_count = counted.entry_count };
    heed_status status = HEED_ERR_NO_MEMORY;
    if (made.entries && made.trials) {
        size_t ending = make_trials(&made);
        status = run_all(options, result, &made, ending);
    }
    free(made.trials);
    if (status != HEED_OK) {
        lab_selftest_free(result);
        return status;
    }
    count(result, options);
    result->seconds = (double)(heed_clock_ns() - start) * 1e-9;
    return HEED_OK;
}

void lab_selftest_free(lab_selftest_result *result)
{
    free(result->entries);
    memset(result, 0, sizeof *result);
}
