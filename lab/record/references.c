/*
 * references.c - the rows that trials share: devices, problems, candidates
 *
 * Equal things share one row, found by its hash or another unique text. Each function is for one
 * table.
 */
#include <stdio.h>
#include <string.h>

#include "lab/base/ends.h"
#include "store.h"

/* Finds the number of the row with @key, a hash or another unique text. */
static heed_status find_id(lab_record *record, const char *sql, const char *key, int64_t *id,
                           lab_error *error)
{
    statement s = statement_make(record, sql, error);
    statement_text(&s, key);
    return statement_one(&s, id);
}

/* Ends @insert, which adds a row to the table @kind unless there is an equal one, and writes the
 * number of the row with @key in @column. */
static heed_status add_row(statement *insert, const char *kind, const char *column, const char *key,
                           int64_t *id)
{
    char sql[64];
    heed_status status = statement_do(insert);
    snprintf(sql, sizeof sql, "SELECT id FROM %s WHERE %s = ?", kind, column);
    if (status == HEED_OK)
        status = find_id(insert->record, sql, key, id, insert->error);
    return status == HEED_OK ? link_add(insert->record, kind, *id, insert->error) : status;
}

/* -------------------------------------------------------------------------- */
/* Where                                                                      */
/* -------------------------------------------------------------------------- */

static heed_status add_device(lab_record *record, const lab_record_device *device, int64_t *id,
                              lab_error *error)
{
    const double numbers[] = { device->memory_bytes, device->cache_bytes, device->multiprocessors,
                               device->clock_hz, device->bandwidth };
    char hash[LAB_RECORD_HASH_SIZE];
    hasher h;
    hasher_start(&h);
    hasher_text(&h, device->name);
    hasher_text(&h, device->backend);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hasher_real(&h, numbers[i]);
    hasher_end(&h, hash);

    statement s = statement_insert(record, "device",
                                   CELLS(cell_text("hash", hash), cell_text("name", device->name),
                                         cell_text("backend", device->backend),
                                         cell_positive("memory_bytes", device->memory_bytes),
                                         cell_positive("cache_bytes", device->cache_bytes),
                                         cell_positive("multiprocessors", device->multiprocessors),
                                         cell_positive("clock_hz", device->clock_hz),
                                         cell_positive("bandwidth", device->bandwidth)),
                                   "ON CONFLICT (hash) DO NOTHING", error);
    return add_row(&s, "device", "hash", hash, id);
}

static heed_status add_environment(lab_record *record, const lab_record_environment *e,
                                   int64_t device, int64_t *id, lab_error *error)
{
    static const char mark[] = "-dirty";
    const bool dirty = e->commit && lab_ends_with(e->commit, mark);
    char commit[64] = "", hash[LAB_RECORD_HASH_SIZE];
    if (e->commit)
        strncat(commit, e->commit, dirty ? strlen(e->commit) - strlen(mark) : sizeof commit - 1);
    const char *const texts[] = { e->features, e->build,  e->heed,     e->commit ? commit : NULL,
                                  e->driver,   e->nvrtc,  e->compiler, e->libraries,
                                  e->cpu,      e->system, e->governor };
    hasher h;
    hasher_start(&h);
    hasher_integer(&h, device);
    hasher_integer(&h, e->threads);
    hasher_integer(&h, dirty);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hasher_text(&h, texts[i]);
    if (e->manifest) /* new in version 3: hashes of older environments must not change */
        hasher_text(&h, e->manifest);
    hasher_end(&h, hash);

    statement s = statement_insert(
        record, "environment",
        CELLS(cell_text("hash", hash), cell_integer("device", device),
              cell_integer("threads", e->threads), cell_integer("dirty", dirty),
              cell_text("features", e->features), cell_text("build", e->build),
              cell_text("heed", e->heed), cell_text("git_commit", e->commit ? commit : NULL),
              cell_text("driver", e->driver), cell_text("nvrtc", e->nvrtc),
              cell_text("compiler", e->compiler), cell_text("libraries", e->libraries),
              cell_text("cpu", e->cpu), cell_text("system", e->system),
              cell_text("governor", e->governor)),
        "ON CONFLICT (hash) DO NOTHING", error);
    heed_status status = add_row(&s, "environment", "hash", hash, id);
    if (status == HEED_OK)
        status = manifest_add(record, *id, e, error);
    return status;
}

static heed_status add_problem(lab_record *record, const heed_problem *problem, int64_t *id,
                               lab_error *error)
{
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(problem, spec, sizeof spec);
    statement s = statement_insert(record, "problem",
                                   CELLS(cell_text("spec", spec),
                                         cell_real("flops", heed_problem_flops(problem)),
                                         cell_real("bytes", heed_problem_bytes(problem))),
                                   "ON CONFLICT (spec) DO NOTHING", error);
    return add_row(&s, "problem", "spec", spec, id);
}

/* -------------------------------------------------------------------------- */
/* Candidates                                                                 */
/* -------------------------------------------------------------------------- */

void lab_record_candidate_hash(const lab_record_candidate *candidate,
                               char hash[LAB_RECORD_HASH_SIZE])
{
    hasher h;
    hasher_start(&h);
    hasher_text(&h, candidate->kernel);
    hasher_text(&h, candidate->config ? candidate->config : "");
    hasher_text(&h, candidate->source ? candidate->language : NULL);
    hasher_text(&h, candidate->source);
    hasher_end(&h, hash);
}

heed_status references_add_source(lab_record *record, const char *language, const char *text,
                                  int64_t *id, lab_error *error)
{
    char hash[LAB_RECORD_HASH_SIZE];
    lab_record_hash(text, strlen(text), hash);
    statement s = statement_insert(
        record, "source",
        CELLS(cell_text("sha256", hash), cell_text("language", language), cell_text("text", text)),
        "ON CONFLICT (sha256) DO NOTHING", error);
    return add_row(&s, "source", "sha256", hash, id);
}

static heed_status add_artifact(lab_record *record, const lab_record_artifact *artifact,
                                int64_t *id, lab_error *error)
{
    if (!artifact->sha256)
        return HEED_OK;
    statement s = statement_insert(record, "artifact",
                                   CELLS(cell_text("sha256", artifact->sha256),
                                         cell_text("form", artifact->form),
                                         cell_integer("bytes", artifact->bytes),
                                         cell_at_least("registers", 0, artifact->registers),
                                         cell_at_least("spill_bytes", 0, artifact->spill_bytes),
                                         cell_at_least("shared_bytes", 0, artifact->shared_bytes)),
                                   "ON CONFLICT (sha256) DO NOTHING", error);
    return add_row(&s, "artifact", "sha256", artifact->sha256, id);
}

heed_status references_find_candidate(lab_record *record, const char *hash, int64_t *id,
                                      lab_error *error)
{
    return find_id(record, "SELECT id FROM candidate WHERE hash = ?", hash, id, error);
}

static heed_status add_parents(lab_record *record, const lab_record_candidate *candidate,
                               int64_t id, lab_error *error)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; status == HEED_OK && i < candidate->parent_count; i++) {
        int64_t parent = 0;
        status = references_find_candidate(record, candidate->parents[i], &parent, error);
        if (status == HEED_OK && parent == 0)
            status = lab_fail(error, HEED_ERR_INVALID, "parents[%zu] is %s, which is not on %s", i,
                              candidate->parents[i], record->path);
        if (status != HEED_OK)
            break;
        statement s = statement_make(
            record, "INSERT INTO ancestry VALUES (?, ?) ON CONFLICT DO NOTHING", error);
        statement_integer(&s, id);
        statement_integer(&s, parent);
        status = statement_do(&s);
    }
    return status;
}

static heed_status insert_candidate(lab_record *record, const lab_record_candidate *candidate,
                                    const char *hash, int64_t *id, lab_error *error)
{
    int64_t source = 0;
    heed_status status = HEED_OK;
    if (candidate->source)
        status = references_add_source(record, candidate->language, candidate->source, &source,
                                       error);
    if (status != HEED_OK)
        return status;
    status = link_insert(record, "candidate",
                         CELLS(cell_text("hash", hash), cell_text("kernel", candidate->kernel),
                               cell_text("config", candidate->config ? candidate->config : ""),
                               cell_at_least("source", 1, source),
                               cell_text("proposer", candidate->proposer),
                               cell_integer("seed", (int64_t)candidate->seed),
                               cell_text("thought", candidate->thought)),
                         "RETURNING id", id, error);
    return status == HEED_OK ? add_parents(record, candidate, *id, error) : status;
}

static heed_status add_candidate(lab_record *record, const lab_record_candidate *candidate,
                                 int64_t *id, lab_error *error)
{
    char hash[LAB_RECORD_HASH_SIZE];
    lab_record_candidate_hash(candidate, hash);
    heed_status status = references_find_candidate(record, hash, id, error);
    return status == HEED_OK && *id == 0 ? insert_candidate(record, candidate, hash, id, error)
                                         : status;
}

/* -------------------------------------------------------------------------- */
/* All of a trial                                                             */
/* -------------------------------------------------------------------------- */

heed_status references_add(lab_record *record, const lab_record_trial *trial, references *to,
                           lab_error *error)
{
    heed_status status = add_candidate(record, &trial->candidate, &to->candidate, error);
    if (status == HEED_OK)
        status = add_problem(record, trial->problem, &to->problem, error);
    if (status == HEED_OK)
        status = add_device(record, &trial->device, &to->device, error);
    if (status == HEED_OK)
        status = add_environment(record, &trial->environment, to->device, &to->environment, error);
    if (status == HEED_OK)
        status = library_add(record, &trial->environment, error);
    if (status == HEED_OK)
        status = add_artifact(record, &trial->artifact, &to->artifact, error);
    return status;
}
