/*
 * recall.c - reads a trial back from the board to recheck its figures
 */
#include <stdlib.h>
#include <string.h>

#include "store.h"

#define PARTS_MAX 80 /* samples, comparisons, gates: more than any trial has */

/* A trial and everything that it points to. */
typedef struct recalled {
    lab_record_trial trial;
    heed_problem problem;
    lab_record_samples samples[PARTS_MAX];
    lab_record_comparison comparisons[PARTS_MAX];
    lab_record_gate gates[PARTS_MAX];
    char *texts[4 * PARTS_MAX];
    size_t text_count;
} recalled;

/* Keeps a copy of a column's text; "" for NULL. */
static const char *keep_text(recalled *it, statement *s, int column)
{
    const char *text = statement_get_text(s, column);
    char *copy = NULL;
    if (it->text_count < sizeof it->texts / sizeof *it->texts)
        copy = it->texts[it->text_count++] = strdup(text ? text : "");
    if (!copy && s->status == HEED_OK)
        s->status = lab_fail(s->error, HEED_ERR_NO_MEMORY, "%s: no memory for a trial",
                             s->record->path);
    return copy ? copy : "";
}

static lab_record_timing timing_of(const char *name)
{
    for (int i = LAB_RECORD_COLD; name && i <= LAB_RECORD_EAGER; i++)
        if (strcmp(name, timing_name((lab_record_timing)i)) == 0)
            return (lab_record_timing)i;
    return LAB_RECORD_UNTIMED;
}

static heed_status recall_trial(lab_record *record, int64_t id, recalled *it, lab_error *error)
{
    statement s = statement_make(
        record,
        "SELECT spec, name, backend, features, threads, verdict, timing, confirmed, seconds, p90, "
        "of_roofline, kernel, source FROM trial JOIN problem ON problem.id = problem "
        "JOIN environment ON environment.id = environment JOIN device ON device.id = device "
        "JOIN candidate ON candidate.id = candidate WHERE trial.id = ?",
        error);
    lab_record_trial *trial = &it->trial;
    statement_integer(&s, id);
    while (statement_row(&s)) {
        if (heed_problem_parse(&it->problem, keep_text(it, &s, 0)) == HEED_OK)
            trial->problem = &it->problem;
        trial->device.name = keep_text(it, &s, 1);
        trial->device.backend = keep_text(it, &s, 2);
        trial->environment.features = keep_text(it, &s, 3);
        trial->environment.threads = (int)statement_get_integer(&s, 4);
        trial->verdict = lab_record_verdict_find(statement_get_text(&s, 5));
        trial->timing = timing_of(statement_get_text(&s, 6));
        trial->confirmed = statement_get_integer(&s, 7) != 0;
        trial->seconds = statement_get_real(&s, 8);
        trial->p90 = statement_get_real(&s, 9);
        trial->of_roofline = statement_get_real(&s, 10);
        trial->candidate.kernel = keep_text(it, &s, 11);
        trial->candidate.source = statement_get_integer(&s, 12) > 0 ? "" : NULL;
    }
    return statement_end(&s);
}

static heed_status recall_samples(lab_record *record, int64_t id, recalled *it, lab_error *error)
{
    statement s = statement_make(
        record, "SELECT against, side, kind, seconds FROM sample WHERE trial = ?", error);
    statement_integer(&s, id);
    while (statement_row(&s) && it->trial.sample_count < PARTS_MAX) {
        lab_record_samples *one = &it->samples[it->trial.sample_count++];
        const char *side = statement_get_text(&s, 1);
        *one = (lab_record_samples){ .against = keep_text(it, &s, 0),
                                     .other = side && strcmp(side, "other") == 0,
                                     .kind = timing_of(statement_get_text(&s, 2)) };
        one->seconds = statement_get_reals(&s, 3, &one->count);
    }
    return statement_end(&s);
}

static heed_status recall_comparisons(lab_record *record, int64_t id, recalled *it,
                                      lab_error *error)
{
    statement s = statement_make(record,
                                 "SELECT against, verdict, seconds, ratio, low, high, pairs "
                                 "FROM comparison WHERE trial = ?",
                                 error);
    statement_integer(&s, id);
    while (statement_row(&s) && it->trial.comparison_count < PARTS_MAX)
        it->comparisons[it->trial.comparison_count++] = (lab_record_comparison){
            .against = keep_text(it, &s, 0),
            .verdict = keep_text(it, &s, 1),
            .seconds = statement_get_real(&s, 2),
            .ratio = statement_get_real(&s, 3),
            .low = statement_get_real(&s, 4),
            .high = statement_get_real(&s, 5),
            .pairs = statement_get_integer(&s, 6),
        };
    return statement_end(&s);
}

static heed_status recall_gates(lab_record *record, int64_t id, recalled *it, lab_error *error)
{
    statement s = statement_make(record, "SELECT name, passed FROM gate WHERE trial = ?", error);
    statement_integer(&s, id);
    while (statement_row(&s) && it->trial.gate_count < PARTS_MAX)
        it->gates[it->trial.gate_count++] = (lab_record_gate){
            .name = keep_text(it, &s, 0), .passed = statement_get_integer(&s, 1) != 0
        };
    return statement_end(&s);
}

static void forget(recalled *it)
{
    for (size_t i = 0; i < it->trial.sample_count; i++)
        free((double *)it->samples[i].seconds);
    for (size_t i = 0; i < it->text_count; i++)
        free(it->texts[i]);
    free(it);
}

heed_status evidence_recall(lab_record *record, int64_t id, bool *sound, lab_error *why,
                            lab_error *error)
{
    static heed_status (*const parts[])(lab_record *, int64_t, recalled *,
                                        lab_error *) = { recall_trial, recall_samples,
                                                         recall_comparisons, recall_gates };
    recalled *it = calloc(1, sizeof *it);
    heed_status status = HEED_OK;
    *sound = false;
    if (!it)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory for a trial", record->path);
    it->trial.samples = it->samples;
    it->trial.comparisons = it->comparisons;
    it->trial.gates = it->gates;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == HEED_OK; i++)
        status = parts[i](record, id, it, error);
    if (status == HEED_OK && it->trial.problem)
        *sound = it->trial.verdict != LAB_RECORD_OK || /* not ranked */
                 (evidence_check(&it->trial, why) == HEED_OK &&
                  lab_record_plausible(record, &it->trial, why));
    forget(it);
    return status;
}
