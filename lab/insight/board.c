/*
 * board.c - measured facts about a champion, stored as facts of a trial on the board
 *
 *     counter NAME               the figure
 *     ablation NAME              time with it over time without; also with " low", " high"
 *     counters unknown, ablations unknown   why
 *     insight seconds            time that it took
 *     binds                      its limits as text, for people
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "insight.h"

#define FACTS (LAB_CLUE_COUNTERS + 3 * LAB_INSIGHT_EFFECTS + 4)
#define FACT_NAME_SIZE 48
#define MARGIN 0.01

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

/* ---- And back ---- */

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
