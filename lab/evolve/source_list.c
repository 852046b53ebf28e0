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

static lab_sources_kernel *find_kernel(lab_sources *all, const lab_record_tried *it)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->kernels[i].source, it->source) == 0)
            return &all->kernels[i];
    lab_sources_kernel *kernel = lab_sources_add(all, it->kernel, it->source, it->thought);
    if (kernel)
        snprintf(kernel->parent, sizeof kernel->parent, "%.64s", it->parent);
    return kernel;
}

static heed_status restore(void *data, const lab_record_tried *it)
{
    lab_sources *all = data;
    lab_sweep *sweep = &all->run->sweep;
    lab_sources_kernel *kernel = find_kernel(all, it);
    if (!kernel)
        return HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < sweep->problems.count; i++)
        if (strcmp(sweep->shapes[i].spec, it->problem) == 0) {
            kernel->known[i] = true;
            kernel->seconds[i] = it->seconds;
        }
    if (it->verdict != LAB_RECORD_OK) {
        kernel->verdict = it->verdict;
        lab_sources_set_log(kernel, it->reason);
    }
    sweep->reused++;
    return HEED_OK;
}

heed_status lab_sources_restore(lab_sources *all)
{
    const lab_session *session = &all->run->session;
    return lab_record_visit_tried(session->record, session->run, restore, all,
                                  &all->run->sweep.trouble);
}
