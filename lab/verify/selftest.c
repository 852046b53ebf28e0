/*
 * selftest.c - the gates, tried on kernels of which it is known whether they are right
 */
#include "lab/verify/selftest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tensor/random.h"
#include "lab/verify/isolate.h"
#include "lab/verify/verify.h"
#include "src/measure.h"

/* Seconds that an endless kernel gets. */
#define ENDLESS_S 1

/* The fewest rows that a reference can be made of. */
#define WORK_FEW 1

lab_selftest_options lab_selftest_standard(void)
{
    return (lab_selftest_options){ .seed = 1, .gates = UINT32_MAX, .jobs = 1, .deadline_s = 60 };
}

/* ---------------------------------------------------------------------------------------------- */
/* One kernel on one problem                                                                      */
/* ---------------------------------------------------------------------------------------------- */

/* A kernel on a problem: to be killed, or to be accepted. */
typedef struct trial {
    size_t entry; /* of the result */
    const lab_deed *deed;
    const char *spec;
    const lab_inputs *inputs;
    bool few, unlocked;
} trial;

/* The trials of one call of lab_isolate(), and what a child keeps from one to the next: values and
 * what is expected of them. */
typedef struct trials {
    const lab_selftest_options *options;
    trial *items;
    size_t count;
    size_t before, total; /* for progress: trials of earlier calls, and of all */
    lab_case values;
    const trial *filled; /* whose values they are, or NULL */
} trials;

static lab_verify_options options_of(const trials *all, const trial *it)
{
    lab_verify_options options = lab_verify_standard();
    options.gates = all->options->gates;
    options.unlocked = it->unlocked;
    if (it->few)
        options.work = options.property_work = WORK_FEW;
    /* Not the seed itself, which is anybody's guess. */
    options.seed = lab_random_stream(all->options->seed, lab_suite_digest());
    return options;
}

static bool same_values(const trial *a, const trial *b)
{
    return strcmp(a->spec, b->spec) == 0 && a->inputs == b->inputs && a->few == b->few;
}

static heed_status fill(trials *all, const trial *it, const lab_verify_options *options)
{
    heed_problem problem;
    if (all->filled && same_values(all->filled, it))
        return HEED_OK;
    lab_case_destroy(&all->values);
    all->filled = NULL;
    heed_status status = heed_problem_parse(&problem, it->spec);
    if (status == HEED_OK)
        status = lab_case_create(&all->values, &problem, it->inputs, NULL, options);
    if (status == HEED_OK)
        all->filled = it;
    return status;
}

/* A problem that has no such values is skipped, which is as good as accepted; a mutant that is
 * skipped survives. */
static void try_one(void *data, size_t index, lab_trace *trace, void *result)
{
    trials *all = data;
    const trial *it = &all->items[index];
    lab_verify_options options = options_of(all, it);
    lab_report *report = result;
    lab_trace_step(trace, NULL);
    report->outcome = LAB_SKIP;
    heed_status status = fill(all, it, &options);
    lab_actor *actor = lab_actor_create(it->deed);
    if (status == HEED_OK && actor) {
        lab_subject subject = lab_actor_subject(actor);
        lab_case_verify(&all->values, &subject, &options, trace, report);
    }
    lab_actor_destroy(actor);
}

/* ---------------------------------------------------------------------------------------------- */
/* What came of it                                                                                */
/* ---------------------------------------------------------------------------------------------- */

/* The gates that failed the kernel, of those that there are. What was said before a crash counts
 * too. */
static uint32_t failed_gates(const trials *all, const lab_report *report, const lab_ending *ending)
{
    uint32_t failed = ending->how == LAB_CRASHED || ending->how == LAB_TIMED_OUT;
    for (size_t i = 0; i < LAB_GATES; i++)
        failed |= (uint32_t)(report->verdicts[i].outcome == LAB_FAIL) << i;
    return failed & all->options->gates;
}

/* What gate @index said. */
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
    const lab_mutant *mutant = entry->mutant;
    size_t meant = lab_gate_index(mutant->gate);
    entry->failed = failed_gates(all, report, ending);
    const char *reason = reason_of(report, ending, meant);
    entry->meant = (entry->failed >> meant & 1) &&
                   (!mutant->text || strstr(reason, mutant->text) != NULL);
    if (entry->failed && !(entry->failed >> meant & 1))
        reason = reason_of(report, ending, first_gate(entry->failed));
    snprintf(entry->reason, sizeof entry->reason, "%s", reason);
}

/* The first failure of a control is the one that is told. */
static void conclude_control(lab_selftest_entry *entry, const trials *all, const trial *it,
                             const lab_report *report, const lab_ending *ending)
{
    uint32_t failed = failed_gates(all, report, ending);
    if (failed && !entry->failed) {
        size_t gate = first_gate(failed);
        snprintf(entry->spec, sizeof entry->spec, "%s", it->spec);
        snprintf(entry->inputs, sizeof entry->inputs, "%s", it->inputs->name);
        snprintf(entry->reason, sizeof entry->reason, "%s", reason_of(report, ending, gate));
    }
    entry->failed |= failed;
}

static void report_progress(void *data, size_t done)
{
    const trials *all = data;
    all->options->progress(all->options->data, all->before + done, all->total);
}

static heed_status run_trials(trials *all, unsigned deadline_s, lab_selftest_entry *entries)
{
    lab_report *reports = calloc(all->count + 1, sizeof *reports);
    lab_ending *endings = calloc(all->count + 1, sizeof *endings);
    const lab_isolation isolation = { .run = try_one,
                                      .data = all,
                                      .count = all->count,
                                      .result_size = sizeof *reports,
                                      .group = lab_control_at(0) ? 8 : 1,
                                      .jobs = all->options->jobs,
                                      .deadline_s = deadline_s,
                                      .stop = all->options->stop,
                                      .progress = all->options->progress ? report_progress : NULL };
    heed_status status = HEED_ERR_NO_MEMORY;
    if (reports && endings)
        status = lab_isolate(&isolation, reports, endings);
    for (size_t i = 0; i < all->count && status == HEED_OK; i++) {
        const trial *it = &all->items[i];
        lab_selftest_entry *entry = &entries[it->entry];
        if (endings[i].how == LAB_NOT_RUN)
            entry->done = false;
        else if (entry->mutant)
            conclude_mutant(entry, all, &reports[i], &endings[i]);
        else
            conclude_control(entry, all, it, &reports[i], &endings[i]);
    }
    free(reports);
    free(endings);
    return status;
}

/* ---------------------------------------------------------------------------------------------- */
/* All of them                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

static size_t count_of(bool (*there)(size_t))
{
    size_t count = 0;
    while (there(count))
        count++;
    return count;
}

static bool is_mutant(size_t index)
{
    return lab_mutant_at(index) != NULL;
}

static bool is_control(size_t index)
{
    return lab_control_at(index) != NULL;
}

static bool is_scene(size_t index)
{
    return lab_scene_at(index) != NULL;
}

static bool is_inputs(size_t index)
{
    return lab_inputs_at(index) != NULL;
}

static bool is_wanted(const lab_selftest_options *options, const char *name)
{
    return !options->only || strcmp(options->only, name) == 0;
}

static void add_mutants(trials *all, lab_selftest_entry *entries, size_t mutants, bool endless)
{
    const char *gate = all->options->gate;
    for (size_t i = 0; i < mutants; i++) {
        const lab_mutant *mutant = lab_mutant_at(i);
        if (mutant->endless != endless || !is_wanted(all->options, mutant->name) ||
            (gate && strcmp(gate, mutant->gate) != 0))
            continue;
        entries[i].done = true;
        all->items[all->count++] = (trial){ .entry = i,
                                            .deed = &mutant->deed,
                                            .spec = mutant->spec,
                                            .inputs = lab_inputs_find(mutant->inputs),
                                            .few = mutant->few,
                                            .unlocked = mutant->unlocked };
    }
}

/* Those with the same values one after the other. */
static void add_controls(trials *all, lab_selftest_entry *entries, size_t mutants)
{
    for (size_t s = 0; lab_scene_at(s); s++)
        for (size_t n = 0; lab_inputs_at(n); n++)
            for (size_t i = 0; lab_control_at(i); i++) {
                const lab_control *control = lab_control_at(i);
                if (!is_wanted(all->options, control->name))
                    continue;
                entries[mutants + i].done = true;
                all->items[all->count++] = (trial){ .entry = mutants + i,
                                                    .deed = &control->deed,
                                                    .spec = lab_scene_at(s),
                                                    .inputs = lab_inputs_at(n) };
            }
}

static void count_mutant(lab_selftest_result *result, const lab_selftest_entry *entry)
{
    bool alone = (entry->failed & (entry->failed - 1)) == 0;
    result->killed += entry->failed != 0;
    for (size_t i = 0; i < LAB_GATES; i++) {
        bool kills = entry->failed >> i & 1;
        result->gates[i].kills += kills;
        result->gates[i].alone += kills && alone;
    }
}

static void count(lab_selftest_result *result, const lab_selftest_options *options)
{
    uint32_t every = ((uint32_t)1 << LAB_GATES) - 1;
    for (size_t i = 0; i < result->entry_count; i++) {
        const lab_selftest_entry *entry = &result->entries[i];
        result->skipped += !entry->done;
        result->mutants += entry->done && entry->mutant;
        result->controls += entry->done && entry->control;
        if (entry->done && entry->mutant)
            count_mutant(result, entry);
        else if (entry->done)
            result->accepted += entry->failed == 0;
    }
    result->trusted = result->skipped == 0 && (options->gates & every) == every &&
                      result->killed == result->mutants && result->accepted == result->controls;
}

/* Endless ones come last, as each takes all the time it gets. */
static heed_status run_all(trials *all, lab_selftest_result *result, size_t mutants)
{
    lab_selftest_entry *entries = result->entries;
    add_mutants(all, entries, mutants, false);
    if (!all->options->gate)
        add_controls(all, entries, mutants);
    size_t first = all->count;
    add_mutants(all, entries, mutants, true);
    all->total = all->count;
    if (all->count == 0)
        return HEED_ERR_INVALID;
    all->count = first;
    heed_status status = run_trials(all, all->options->deadline_s, entries);
    all->items += first;
    all->before = first;
    all->count = all->total - first;
    all->filled = NULL;
    if (status == HEED_OK && all->count > 0)
        status = run_trials(all, ENDLESS_S, entries);
    return status;
}

heed_status lab_selftest_run(const lab_selftest_options *options, lab_selftest_result *result)
{
    size_t mutants = count_of(is_mutant), controls = count_of(is_control);
    size_t room = mutants + controls * count_of(is_scene) * count_of(is_inputs);
    int64_t start = heed_clock_ns();
    trial *items = calloc(room, sizeof *items);
    trials all = { .options = options, .items = items };
    *result = (lab_selftest_result){ .digest = lab_suite_digest(),
                                     .entry_count = mutants + controls };
    result->entries = calloc(result->entry_count, sizeof *result->entries);
    heed_status status = HEED_ERR_NO_MEMORY;
    if (items && result->entries) {
        for (size_t i = 0; i < result->entry_count; i++) {
            result->entries[i].mutant = i < mutants ? lab_mutant_at(i) : NULL;
            result->entries[i].control = i < mutants ? NULL : lab_control_at(i - mutants);
        }
        status = run_all(&all, result, mutants);
    }
    free(items);
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
