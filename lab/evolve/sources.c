/*
 * sources.c - evolution of sources proposed by an external program
 */
#include "lab/evolve/sources.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/array.h"
#include "lab/report/format.h"
#include "lab/trial/log.h"
#include "src/measure.h"

#define REFUSED_MAX 5 /* consecutive useless answers before the run ends */

/* ---- The sources, in memory ---- */

/* Copies its arguments. NULL: no memory. */
static lab_sources_kernel *add_kernel(lab_sources *all, const char *name, const char *source,
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

static bool is_new(const lab_sources *all, const char *source)
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

/* ---- From the board ---- */

static lab_sources_kernel *find_kernel(lab_sources *all, const lab_record_tried *it)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->kernels[i].source, it->source) == 0)
            return &all->kernels[i];
    lab_sources_kernel *kernel = add_kernel(all, it->kernel, it->source, it->thought);
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

/* Reads the kernels of a resumed run. */
static heed_status restore_all(lab_sources *all)
{
    const lab_session *session = &all->run->session;
    return lab_record_visit_tried(session->record, session->run, restore, all,
                                  &all->run->sweep.trouble);
}

/* ---- Beginning ---- */

heed_status lab_sources_begin(lab_sources *all, bool afresh)
{
    lab_evolve *run = all->run;
    char hash[LAB_RECORD_HASH_SIZE], what[1024];
    const char *slash = strrchr(all->program, '/');
    all->proposer_name = slash ? slash + 1 : all->program;
    all->tokens_in = all->tokens_out = -1;
    all->course = (lab_insight_course){ .mode = run->insights,
                                        .budget = lab_insight_budget(run->seconds) };
    lab_record_hash(all->origin, strlen(all->origin), hash);
    snprintf(what, sizeof what, "source %s %s %s", hash, all->program, lab_way_name(all->way));
    heed_status status = lab_evolve_begin_session(run, what, afresh);
    return status == HEED_OK && run->session.resumed ? restore_all(all) : status;
}

/* ---- One kernel ---- */

static void show(lab_sources *all)
{
    char text[LAB_FORMAT_SIZE], what[128] = "";
    if (all->has_champion) {
        const lab_sources_kernel *best = &all->kernels[all->champion];
        snprintf(what, sizeof what, "best %s %s", lab_format_seconds(exp(best->score), text),
                 best->name);
    }
    lab_progress_step(&all->run->progress, all->count > 0 ? all->count - 1 : 0, what);
}

/* Measures what is not known about kernel number @index, which may then challenge the champion.
 * Results on the board are reused. */
static heed_status settle(lab_sources *all, size_t index)
{
    bool yes = !all->has_champion;
    heed_status status = lab_sources_judge(all, &all->kernels[index]);
    double score = all->kernels[index].score;
    if (status != HEED_OK || !isfinite(score))
        return status;
    all->right++;
    if (all->has_champion && score < all->kernels[all->champion].score)
        status = lab_sources_contest(all, index, &yes);
    if (status == HEED_OK && yes) {
        all->champion = index;
        all->has_champion = true;
    }
    return status;
}

/* Names on the board are for people: they are unique within a run, and differ from those of heed's
 * kernels. */
static void make_name(const lab_sources *all, const char *wanted, char name[80])
{
    const char *prefix = strncmp(wanted, "fwd", 3) == 0 ? "proposed-" : "";
    snprintf(name, 80, "%s%s", prefix, wanted);
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->kernels[i].name, name) == 0)
            snprintf(name, 80, "%s%s.%zu", prefix, wanted, all->count);
}

/* Adds up tokens, some of which may not be reported. */
static void add_tokens(int64_t *sum, int64_t tokens)
{
    if (tokens >= 0)
        *sum = tokens + (*sum > 0 ? *sum : 0);
}

/* Gets the next kernel. *@more is false if there are no more. */
static heed_status next(lab_sources *all, int *useless, bool *more)
{
    lab_proposal proposal;
    lab_error error;
    char name[80];
    heed_status status = lab_sources_ask(all, &proposal, &error);
    if (status == HEED_OK) {
        add_tokens(&all->tokens_in, proposal.tokens_in);
        add_tokens(&all->tokens_out, proposal.tokens_out);
    }
    if (status == HEED_OK && !is_new(all, proposal.source)) {
        status = HEED_ERR_INVALID;
        snprintf(error.text, sizeof error.text, "the proposer repeats earlier proposals");
    }
    if (status == HEED_ERR_INVALID) {
        all->refused++;
        *more = ++*useless < REFUSED_MAX;
        if (!*more)
            snprintf(all->end, sizeof all->end, "%.290s", error.text);
        lab_proposal_free(&proposal);
        return HEED_OK;
    }
    if (status != HEED_OK) { /* no more proposals, or no proposer */
        *more = false;
        snprintf(all->end, sizeof all->end, "%.290s", error.text);
        return status == HEED_ERR_NO_MEMORY ? status : HEED_OK;
    }
    make_name(all, proposal.name, name);
    lab_sources_kernel *kernel = add_kernel(all, name, proposal.source, proposal.thought);
    lab_proposal_free(&proposal);
    if (!kernel)
        return HEED_ERR_NO_MEMORY;
    snprintf(kernel->parent, sizeof kernel->parent, "%s", all->kernels[all->champion].hash);
    *useless = 0;
    return settle(all, all->count - 1);
}

/* ---- All of them ---- */

static heed_status breed(lab_sources *all)
{
    lab_evolve *run = all->run;
    const lab_sink *sink = run->sweep.sink;
    heed_status status = HEED_OK;
    int useless = 0;
    bool more = true;
    run->progress = lab_progress_start(sink, "evolve", (size_t)run->trials);
    if (all->count == 0 && !add_kernel(all, "origin", all->origin, ""))
        status = HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < all->count && status == HEED_OK; i++) {
        status = settle(all, i);
        if (i == 0 && !all->has_champion)
            break;
    }
    if (status == HEED_OK)
        status = lab_sources_measure(all);
    while (status == HEED_OK && more && all->has_champion && !lab_interrupted(sink) &&
           (int64_t)all->count - 1 < run->trials &&
           (run->bred_ns == 0 || heed_clock_ns() < run->bred_ns)) {
        status = next(all, &useless, &more);
        if (status == HEED_OK)
            status = lab_sources_measure(all);
        show(all);
    }
    lab_progress_end(&run->progress);
    return status;
}

/* True if the champion may lead the board: not if it is the unchanged plain source that comes with
 * heed. */
static bool is_contender(const lab_sources *all)
{
    return all->kernels[all->champion].verdict == LAB_RECORD_OK &&
           (all->champion > 0 || all->named);
}

/* Finds the fastest kernel without a known fault. */
static void find_champion(lab_sources *all)
{
    all->has_champion = false;
    for (size_t i = 0; i < all->count; i++) {
        const lab_sources_kernel *it = &all->kernels[i];
        if (!isfinite(it->score) ||
            (all->has_champion && it->score >= all->kernels[all->champion].score))
            continue;
        all->champion = i;
        all->has_champion = true;
    }
}

/* Compares the champion with heed's plan and the leaders of the board; one that fails there is
 * replaced by the next. */
static heed_status meet_others(lab_sources *all)
{
    const lab_sink *sink = all->run->sweep.sink;
    heed_status status = HEED_OK;
    while (status == HEED_OK && all->has_champion && !lab_interrupted(sink) &&
           lab_evolve_has_time(all->run, "a comparison with heed's plan and the leaders")) {
        status = lab_sources_meet_plan(all);
        if (status == HEED_OK && is_contender(all) && !lab_interrupted(sink))
            status = lab_sources_lead(all);
        if (all->kernels[all->champion].verdict == LAB_RECORD_OK)
            break;
        find_champion(all);
    }
    return status;
}

heed_status lab_sources_run(lab_sources *all)
{
    const lab_sink *sink = all->run->sweep.sink;
    all->proposer = lab_peer_start(all->program, NULL, sink ? sink->interrupted : NULL);
    heed_status status = all->proposer ? lab_evolve_rank_plans(all->run) : HEED_ERR_NO_MEMORY;
    if (status == HEED_OK)
        status = breed(all);
    if (status == HEED_OK)
        status = meet_others(all);
    lab_evolve_tell_time(all->run);
    return lab_interrupted(sink) ? HEED_ERR_SYSTEM : status;
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
