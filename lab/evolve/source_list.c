/*
 * source_list.c - the sources of a run, in memory and on the board
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/array.h"
#include "lab/evolve/sources.h"
#include "lab/trial/log.h"

lab_sources_kernel *lab_sources_add(lab_sources *all, const char *name, const char *source,
                                    const char *thought)
{
    if (!lab_grow(&all->kernels, all->count, sizeof *all->kernels))
        return NULL;
    lab_sources_kernel *it = &all->kernels[all->count];
    *it = (lab_sources_kernel){ .name = strdup(name),
                                .source = strdup(source),
                                .thought = strdup(thought ? thought : ""),
                                .verdict = LAB_RECORD_OK,
                                .point_facts = lab_point_facts_unknown(),
                                .score = INFINITY };
    all->count++;
    if (!it->name || !it->source || !it->thought)
        return NULL;
    const lab_record_candidate candidate = { .kernel = it->name,
                                             .language = lab_language_name(all->language),
                                             .source = it->source };
    lab_record_candidate_hash(&candidate, it->hash);
    return it;
}

bool lab_sources_is_new(const lab_sources *all, const char *source)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->kernels[i].source, source) == 0)
            return false;
    return true;
}

void lab_sources_set_log(lab_sources_kernel *kernel, const char *log)
{
    free(kernel->log);
    kernel->log = log && *log ? strdup(log) : NULL;
    if (kernel->log)
        lab_log_strip(kernel->log); /* which also cuts it */
}

void lab_sources_score(const lab_sources *all, lab_sources_kernel *kernel)
{
    size_t count = all->run->sweep.problems.count;
    double sum = 0;
    kernel->score = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (!kernel->known[i] || !(kernel->seconds[i] > 0))
            return;
        sum += log(kernel->seconds[i]);
    }
    if (kernel->verdict == LAB_RECORD_OK)
        kernel->score = sum / (double)count;
}

void lab_sources_free(lab_sources *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->kernels[i].name);
        free(all->kernels[i].source);
        free(all->kernels[i].thought);
        free(all->kernels[i].log);
    }
    free(all->kernels);
    free(all->origin);
    lab_peer_end(all->proposer);
}

/* ---- From the board ---- */

typedef struct numbers {
    int64_t *items;
    size_t count;
} numbers;

static heed_status collect(void *data, const lab_record_row *row)
{
    numbers *all = data;
    if (!lab_grow(&all->items, all->count, sizeof *all->items))
        return HEED_ERR_NO_MEMORY;
    all->items[all->count++] = row->trial;
    return HEED_OK;
}

static int by_number(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return one < other ? -1 : one > other;
}

/* The fields of one trial that are used. */
typedef struct past {
    char kernel[HEED_NAME_SIZE], thought[2100], spec[HEED_SPEC_SIZE], reason[512], parent[80];
    lab_record_verdict verdict;
    int64_t attempt;
    double seconds, least; /* the median and the minimum of its samples */
    bool own;              /* the row of samples is of this source */
} past;

static void take_text(char *to, size_t size, const lab_record_field *field)
{
    snprintf(to, size, "%s", field->text ? field->text : "");
}

/* Takes a row of samples if it has no opponent: then it is of the source alone. */
static void take_samples(past *it, const lab_record_field *field)
{
    if (strcmp(field->name, "against") == 0)
        it->own = field->text && !*field->text;
    if (strcmp(field->name, "seconds") != 0 || !it->own || field->kind != LAB_RECORD_SAMPLES)
        return;
    for (size_t i = 0; i < field->count; i++)
        if (i == 0 || field->samples[i] < it->least)
            it->least = field->samples[i];
}

static heed_status take_field(void *data, const lab_record_field *field)
{
    past *it = data;
    const struct {
        const char *section, *name;
        char *to;
        size_t size;
    } texts[] = {
        { "candidate", "kernel", it->kernel, sizeof it->kernel },
        { "candidate", "thought", it->thought, sizeof it->thought },
        { "problem", "spec", it->spec, sizeof it->spec },
        { "trial", "reason", it->reason, sizeof it->reason },
        { "parents", "hash", it->parent, sizeof it->parent },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(field->section, texts[i].section) == 0 &&
            strcmp(field->name, texts[i].name) == 0)
            take_text(texts[i].to, texts[i].size, field);
    if (strcmp(field->section, "samples") == 0)
        take_samples(it, field);
    if (strcmp(field->section, "trial") != 0)
        return HEED_OK;
    if (strcmp(field->name, "attempt") == 0)
        it->attempt = field->integer;
    if (strcmp(field->name, "seconds") == 0)
        it->seconds = field->kind == LAB_RECORD_REAL ? field->real : 0;
    if (strcmp(field->name, "verdict") == 0 && field->text)
        it->verdict = lab_record_verdict_find(field->text);
    return HEED_OK;
}

static lab_sources_kernel *find_kernel(lab_sources *all, const past *it, const char *source)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->kernels[i].source, source) == 0)
            return &all->kernels[i];
    lab_sources_kernel *kernel = lab_sources_add(all, it->kernel, source, it->thought);
    if (kernel)
        snprintf(kernel->parent, sizeof kernel->parent, "%.64s", it->parent);
    return kernel;
}

static heed_status restore_trial(lab_sources *all, int64_t trial)
{
    lab_evolve *run = all->run;
    past it = { .attempt = 0 };
    char *source = NULL;
    heed_status status = lab_record_show(run->session.record, trial, take_field, &it,
                                         &run->sweep.trouble);
    if (status == HEED_OK && it.attempt == 0)
        status = lab_record_source(run->session.record, trial, &source, &run->sweep.trouble);
    if (status != HEED_OK || !source)
        return status;
    lab_sources_kernel *kernel = find_kernel(all, &it, source);
    free(source);
    if (!kernel)
        return HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < run->sweep.problems.count; i++)
        if (strcmp(run->sweep.shapes[i].spec, it.spec) == 0) {
            kernel->known[i] = true;
            kernel->seconds[i] = it.least > 0 ? it.least : it.seconds;
        }
    if (it.verdict != LAB_RECORD_OK) {
        kernel->verdict = it.verdict;
        lab_sources_set_log(kernel, it.reason);
    }
    run->sweep.reused++;
    return HEED_OK;
}

heed_status lab_sources_restore(lab_sources *all)
{
    lab_evolve *run = all->run;
    numbers trials = { NULL, 0 };
    const lab_record_filter filter = { .part = LAB_BOARD_ALL, .run = run->session.run };
    heed_status status = lab_record_visit(run->session.record, &filter, collect, &trials,
                                          &run->sweep.trouble);
    if (trials.count > 0)
        qsort(trials.items, trials.count, sizeof *trials.items, by_number);
    for (size_t i = 0; i < trials.count && status == HEED_OK; i++)
        status = restore_trial(all, trials.items[i]);
    free(trials.items);
    return status;
}
