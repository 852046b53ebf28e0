/*
 * insight.c - counters and ablation effects of one kernel, as time permits, and on the board
 */
#include "insight.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ablate/ablate.h"
#include "base/file.h"
#include "base/plural.h"
#include "ncu.h"
#include "src/device.h"
#include "src/measure.h"
#include "src/message.h"

#define SHARE 0.15   /* of the time of a search */
#define SECONDS 15.0 /* of a search without a time limit */

/* With less time than this ncu is not started: a run takes about this long. */
#define COUNTERS_MIN 6.0
#define COUNTERS_MAX 60.0

/* Seconds for a duel of the kernel with an ablation. */
#define EFFECT_MIN 0.3
#define EFFECT_MAX 0.5
#define EFFECTS_USUAL 8 /* typical number per kernel, to divide the time */

/* A pair of blocks takes about this many calls, and at least this long. */
#define CALLS_OF_PAIR 3
#define PAIR_MIN 15e-3

#define MARGIN 0.01

double lab_insight_budget(double seconds)
{
    return seconds > 0 ? SHARE * seconds : SECONDS;
}

lab_insight lab_insight_unknown(void)
{
    lab_insight it = { .effect_count = 0 };
    for (size_t i = 0; i < LAB_CLUE_COUNTERS; i++)
        it.counters[i] = (double)NAN;
    return it;
}

/* ---- Counters ---- */

/* Returns true if ncu can be used. */
static bool can_count(const lab_insight_question *question, lab_insight *it)
{
    bool host = heed_device_is_host(question->context);
    if (host)
        snprintf(it->counters_why, sizeof it->counters_why, "a CPU has no such counters");
    else if (question->foreign && (!question->code || question->code->ptx || !question->launch))
        snprintf(it->counters_why, sizeof it->counters_why, "its machine code is not known");
    else if (question->budget < COUNTERS_MIN)
        snprintf(it->counters_why, sizeof it->counters_why,
                 "no time: ncu takes about %g s, and %.2g s are left for insights", COUNTERS_MIN,
                 fmax(question->budget, 0));
    return !*it->counters_why;
}

/* Runs ncu on heed's kernel, or on the code in the file @path. */
static heed_status ask(const lab_insight_question *question, const char *path, lab_insight *it)
{
    char ncu[512];
    lab_ncu_trouble trouble = { .fix = NULL };
    lab_profile profile;
    const lab_ncu_question asked = {
        .ncu = ncu,
        .device = question->device,
        .kernel = path ? NULL : question->kernel,
        .code = path,
        .launch = path ? question->launch : NULL,
        .spec = it->spec,
        .arch = heed_device_arch(question->context),
        .keep_caches = !question->cold,
        .seconds = fmin(question->budget, COUNTERS_MAX),
        .sink = question->sink,
    };
    bool known = lab_ncu_find(NULL, ncu, sizeof ncu, &trouble) &&
                 lab_ncu_count(&asked, &profile, &trouble);
    if (lab_interrupted(question->sink))
        return HEED_ERR_SYSTEM;
    if (known)
        lab_counters_of_profile(&profile, it->counters);
    else
        snprintf(it->counters_why, sizeof it->counters_why, "%.*s", LAB_INSIGHT_WHY_SIZE - 1,
                 trouble.reason);
    return HEED_OK;
}

/* Writes the code to a temporary file for ncu. */
static heed_status ask_about_code(const lab_insight_question *question, lab_insight *it)
{
    char path[512];
    if (lab_file_temporary(path, sizeof path, "heed-code", question->code->data,
                           question->code->size, NULL) != HEED_OK) {
        snprintf(it->counters_why, sizeof it->counters_why, "%.200s cannot be written", path);
        return HEED_OK;
    }
    heed_status status = ask(question, path, it);
    unlink(path);
    return status;
}

static heed_status count(const lab_insight_question *question, lab_insight *it)
{
    if (!can_count(question, it))
        return HEED_OK;
    return question->foreign ? ask_about_code(question, it) : ask(question, NULL, it);
}

/* ---- Effects ---- */

static void take_effects(const lab_ablate_subject *subject, lab_insight *it)
{
    const lab_ablate_case *bad = NULL;
    size_t late = 0;
    for (size_t i = 0; i < subject->count; i++) {
        const lab_ablate_case *one = &subject->cases[i];
        if (one->outcome == LAB_BENCH_OK && one->duel.pairs > 0) {
            if (it->effect_count < LAB_INSIGHT_EFFECTS)
                it->effects[it->effect_count++] = one->effect;
        } else if (one->outcome == LAB_BENCH_SKIPPED) {
            late++;
        } else {
            bad = one;
        }
    }
    if (subject->count == 0)
        snprintf(it->effects_why, sizeof it->effects_why,
                 "the kernel has no ablations that help the guide");
    else if (late > 0)
        snprintf(it->effects_why, sizeof it->effects_why, "no time for %zu of %zu ablation%s", late,
                 subject->count, lab_plural(subject->count));
    else if (bad)
        snprintf(it->effects_why, sizeof it->effects_why, "%s: %.180s", bad->it->name, bad->reason);
}

/* Returns true if there is anything to measure and @left seconds suffice. */
static bool can_ablate(const lab_insight_question *question, double left, lab_insight *it)
{
    if (question->foreign) {
        snprintf(it->effects_why, sizeof it->effects_why, "a user's source has no degraded builds");
        return false;
    }
    double pair = fmax(CALLS_OF_PAIR * question->seconds, PAIR_MIN);
    double least = fmax(LAB_ABLATE_PAIRS_MIN * pair, EFFECT_MIN);
    if (least <= left)
        return true;
    snprintf(it->effects_why, sizeof it->effects_why,
             "no time: an ablation takes about %.2g s, and %.2g s are left for insights", least,
             fmax(left, 0));
    return false;
}

static heed_status ablate(const lab_insight_question *question, double left, lab_insight *it)
{
    char only[256];
    lab_ablate_subject subject = { .problem = *question->problem };
    bool host = heed_device_is_host(question->context);
    lab_ablate_run run = {
        .bench = { .context = question->context,
                   .effort = HEED_ESTIMATE,
                   .kernel = question->kernel,
                   .seconds = fmin(fmax(left / EFFECTS_USUAL, EFFECT_MIN), EFFECT_MAX),
                   .margin = MARGIN,
                   .cold = question->cold,
                   .replay = !host,
                   .host_threads = question->threads,
                   .seed = question->seed },
        .only = lab_clue_ablations(only, sizeof only),
        .deadline_ns = heed_clock_ns() + (int64_t)(left * 1e9),
        .pool = host ? NULL : lab_ablate_pool_start(question->context, question->threads),
        .progress = lab_progress_start(question->sink, "measuring what binds the best", 0),
    };
    snprintf(subject.spec, sizeof subject.spec, "%s", it->spec);
    heed_status status = lab_ablate_try(&run, &subject);
    take_effects(&subject, it);
    if (status != HEED_OK && status != HEED_ERR_LOST && !lab_interrupted(question->sink)) {
        snprintf(it->effects_why, sizeof it->effects_why, "%.*s", LAB_INSIGHT_WHY_SIZE - 1,
                 heed_message());
        status = HEED_OK;
    }
    lab_ablate_subject_free(&subject);
    lab_ablate_pool_stop(run.pool);
    return status;
}

/* ---- Both ---- */

heed_status lab_insight_take(const lab_insight_question *question, lab_insight *it)
{
    int64_t begin = heed_clock_ns();
    *it = lab_insight_unknown();
    snprintf(it->kernel, sizeof it->kernel, "%s", question->kernel);
    heed_problem_print(question->problem, it->spec, sizeof it->spec);
    heed_status status = count(question, it);
    double left = question->budget - (double)(heed_clock_ns() - begin) * 1e-9;
    if (status == HEED_OK && can_ablate(question, left, it))
        status = ablate(question, left, it);
    it->seconds = (double)(heed_clock_ns() - begin) * 1e-9;
    return lab_interrupted(question->sink) && status == HEED_OK ? HEED_ERR_SYSTEM : status;
}

heed_status lab_insight_follow(lab_insight_course *course, lab_insight_question *question,
                               lab_record *record, lab_record_trial *trial, lab_insight *it,
                               lab_error *error)
{
    bool found = false;
    trial->attempt = LAB_INSIGHT_ATTEMPT;
    question->budget = course->budget - course->spent;
    heed_status status = lab_insight_find(record, trial, it, &found, error);
    if (status != HEED_OK)
        return status;
    if (!found) {
        status = lab_insight_take(question, it);
        if (status != HEED_OK && !lab_interrupted(question->sink))
            return lab_fail(error, status, "%s: %s", question->kernel, heed_message());
        if (status == HEED_OK)
            status = lab_insight_add(record, trial, it, error);
    }
    course->spent += it->seconds;
    return status;
}

void lab_insight_tell(lab_insight_course *course, lab_evolution *evolution, int64_t id,
                      unsigned findings)
{
    lab_evolution_tell(evolution, id, findings);
    if (findings || course->of == 0)
        course->shared = lab_findings_shared(findings);
    course->of = id;
}

/* ---- The findings ---- */

void lab_insight_clues_of(const lab_insight *it, lab_insight_clues *clues)
{
    clues->clues = lab_clues_unknown();
    clues->clues.counters = clues->counters;
    clues->clues.effects = clues->effects;
    for (size_t i = 0; i < LAB_CLUE_COUNTERS; i++)
        if (!isnan(it->counters[i]))
            clues->counters[clues->clues.counter_count++] = (lab_clue){ lab_clue_counter(i),
                                                                        it->counters[i] };
    for (size_t i = 0; i < it->effect_count; i++)
        clues->clues.effect_count += lab_clue_of_effect(&it->effects[i],
                                                        &clues->effects[clues->clues.effect_count]);
}

unsigned lab_insight_findings(const lab_insight *it)
{
    lab_insight_clues clues;
    lab_insight_clues_of(it, &clues);
    return lab_clues_findings(&clues.clues);
}

bool lab_insight_known(const lab_insight *it)
{
    lab_insight_clues clues;
    lab_insight_clues_of(it, &clues);
    return clues.clues.counter_count > 0 || it->effect_count > 0;
}

/* ---- On the board ---- */

/* Measured facts about a champion, stored as facts of a trial:
 *
 *     counter NAME               the figure
 *     ablation NAME              time with it over time without; also with " low", " high"
 *     counters unknown, ablations unknown   why
 *     insight seconds            time that it took
 *     binds                      its limits as text, for people
 */
#define FACTS (LAB_CLUE_COUNTERS + 3 * LAB_INSIGHT_EFFECTS + 4)
#define FACT_NAME_SIZE 48

/* Facts with room for their names. */
typedef struct fact_list {
    lab_record_fact facts[FACTS];
    char names[FACTS][FACT_NAME_SIZE];
    size_t count;
} fact_list;

static void add_number(fact_list *list, const char *kind, const char *name, const char *end,
                       double number)
{
    if (!isfinite(number))
        return;
    snprintf(list->names[list->count], FACT_NAME_SIZE, "%s %s%s", kind, name, end);
    list->facts[list->count] = (lab_record_fact){ .name = list->names[list->count],
                                                  .number = number };
    list->count++;
}

static void add_text(fact_list *list, const char *name, const char *text)
{
    if (*text)
        list->facts[list->count++] = (lab_record_fact){ .name = name, .text = text };
}

heed_status lab_insight_add(lab_record *record, lab_record_trial *trial, const lab_insight *it,
                            lab_error *error)
{
    fact_list list = { .count = 0 };
    char binds[200], reason[240];
    for (size_t i = 0; i < LAB_CLUE_COUNTERS; i++)
        add_number(&list, "counter", lab_clue_counter(i), "", it->counters[i]);
    for (size_t i = 0; i < it->effect_count; i++) {
        const lab_effect *effect = &it->effects[i];
        add_number(&list, "ablation", effect->name, "", effect->ratio);
        add_number(&list, "ablation", effect->name, " low", effect->low);
        add_number(&list, "ablation", effect->name, " high", effect->high);
    }
    add_text(&list, "counters unknown", it->counters_why);
    add_text(&list, "ablations unknown", it->effects_why);
    add_text(&list, "binds", lab_clue_explain(lab_insight_findings(it), binds, sizeof binds));
    add_number(&list, "insight", "seconds", "", it->seconds);
    snprintf(reason, sizeof reason, "measured for the guide: %s", *binds ? binds : "nothing clear");
    trial->verdict = LAB_RECORD_OK;
    trial->reason = reason;
    trial->facts = list.facts;
    trial->fact_count = list.count;
    return lab_record_append(record, trial, NULL, error);
}

/* The text after the prefix @begin of @name; NULL: no such prefix. */
static const char *after(const char *name, const char *begin)
{
    size_t length = strlen(begin);
    return strncmp(name, begin, length) == 0 ? name + length : NULL;
}

/* Its effect of that name, added if missing. */
static lab_effect *effect_of(lab_insight *it, const char *name, size_t length)
{
    size_t i = 0;
    while (i < it->effect_count &&
           (strncmp(it->effects[i].name, name, length) != 0 || it->effects[i].name[length]))
        i++;
    if (i == LAB_INSIGHT_EFFECTS || length >= sizeof it->effects[i].name)
        return NULL;
    if (i == it->effect_count) {
        it->effects[it->effect_count++] = (lab_effect){ .margin = MARGIN, .high = INFINITY };
        memcpy(it->effects[i].name, name, length);
    }
    return &it->effects[i];
}

static void take_number(lab_insight *it, const char *name, double number)
{
    const char *counter = after(name, "counter "), *effect = after(name, "ablation ");
    for (size_t i = 0; counter && i < LAB_CLUE_COUNTERS; i++)
        if (strcmp(counter, lab_clue_counter(i)) == 0)
            it->counters[i] = number;
    if (effect) {
        size_t length = strcspn(effect, " ");
        lab_effect *one = effect_of(it, effect, length);
        double *to = !one                                    ? NULL
                     : strcmp(effect + length, " low") == 0  ? &one->low
                     : strcmp(effect + length, " high") == 0 ? &one->high
                                                             : &one->ratio;
        if (to)
            *to = number;
    }
    if (strcmp(name, "insight seconds") == 0)
        it->seconds = number;
}

static void take_text(lab_insight *it, const char *name, const char *text)
{
    if (strcmp(name, "counters unknown") == 0)
        snprintf(it->counters_why, sizeof it->counters_why, "%s", text);
    if (strcmp(name, "ablations unknown") == 0)
        snprintf(it->effects_why, sizeof it->effects_why, "%s", text);
}

static heed_status read_field(void *data, const lab_record_field *field)
{
    if (strcmp(field->section, "facts") != 0 || strcmp(field->name, "value") != 0 || !field->key)
        return HEED_OK;
    if (field->kind == LAB_RECORD_TEXT)
        take_text(data, field->key, field->text);
    else if (field->kind == LAB_RECORD_REAL || field->kind == LAB_RECORD_INTEGER)
        take_number(data, field->key,
                    field->kind == LAB_RECORD_REAL ? field->real : (double)field->integer);
    return HEED_OK;
}

heed_status lab_insight_find(lab_record *record, const lab_record_trial *trial, lab_insight *it,
                             bool *found, lab_error *error)
{
    lab_record_found there;
    heed_status status = lab_record_find(record, trial, &there, error);
    *found = status == HEED_OK && there.trial > 0;
    if (!*found)
        return status;
    const char *config = trial->candidate.config;
    *it = lab_insight_unknown();
    snprintf(it->kernel, sizeof it->kernel, "%s%s%s", trial->candidate.kernel,
             config && *config ? "__" : "", config ? config : "");
    heed_problem_print(trial->problem, it->spec, sizeof it->spec);
    return lab_record_show(record, there.trial, read_field, it, error);
}
