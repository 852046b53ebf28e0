/*
 * report_read.c - reads a record of `heed bench --record`, and checks every field
 *
 * A record may come from anywhere. Fields that a page or a board needs must be there and of the
 * right type; fields that older records lack may be missing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs/board/board.h"
#include "cli/verbs/doctor/manifest.h"
#include "report.h"

#define ROWS_MAX 10000

_Static_assert(HEED_NAME_SIZE == 96, "the message about kernels states 95 bytes");

/* -------------------------------------------------------------------------- */
/* Rows                                                                       */
/* -------------------------------------------------------------------------- */

static const char *const outcomes[] = { "ok",    "refused",    "skipped", "failed",
                                        "wrong", "impossible", NULL };
static const char outcome_words[] = "ok, refused, skipped, failed, wrong or impossible";
static const char *const verdicts[] = { "FASTER", "SLOWER", "EQUIVALENT", "AMBIGUOUS", NULL };

static void read_comparison(field_reader *r, const json_t *compared, report_match *match)
{
    bool must = match->ok;
    match->ratio = field_positive(r, compared, "ratio", must);
    match->low = field_number(r, compared, "low", 0);
    match->high = field_positive(r, compared, "high", false);
    match->margin = field_number(r, compared, "margin", 0);
    match->pairs = field_count(r, compared, "pairs", 0);
    match->verdict = field_word(r, compared, "verdict", must, verdicts,
                                "FASTER, SLOWER, EQUIVALENT or AMBIGUOUS");
    if (match->high > 0 && !(match->low <= match->ratio && match->ratio <= match->high))
        field_fail(r, "ratio", json_object_get(compared, "ratio"), "between low and high");
}

static void read_match(field_reader *r, const json_t *json, report_match *match, size_t row,
                       size_t index)
{
    field_enter(r, "rows[%zu].rivals[%zu].", row, index);
    match->name = field_text(r, json, "name", true);
    match->outcome = field_word(r, json, "outcome", true, outcomes, outcome_words);
    match->ok = match->outcome && strcmp(match->outcome, "ok") == 0;
    match->reason = field_text(r, json, "reason", false);
    match->method = field_text(r, json, "method", false);
    match->error = field_number(r, json, "error", -1);
    match->seconds = field_positive(r, json, "seconds", match->ok);
    match->heed_blocks = field_positives(r, json, "heed_blocks");
    match->rival_blocks = field_positives(r, json, "rival_blocks");
    match->calls = field_count(r, json, "replay_calls", 0);
    const json_t *compared = field_nested(r, json, "comparison", false, match->ok);
    const json_t *eager = field_nested(r, json, "eager", false, false);
    field_enter(r, "rows[%zu].rivals[%zu].comparison.", row, index);
    read_comparison(r, compared, match);
    field_enter(r, "rows[%zu].rivals[%zu].eager.", row, index);
    match->eager_p50 = field_positive(r, eager, "p50", false);
    match->eager_p90 = field_positive(r, eager, "p90", false);
}

static void read_matches(field_reader *r, const json_t *rivals, report_row *row, size_t index)
{
    size_t count = json_array_size(rivals);
    if (count > REPORT_RIVALS_MAX) {
        cli_error("%s: rows[%zu].rivals has %zu elements; at most %d are read", r->path, index,
                  count, REPORT_RIVALS_MAX);
        r->failed = true;
        return;
    }
    row->matches = calloc(count + 1, sizeof *row->matches);
    if (!row->matches) {
        cli_error("%s: not enough memory", r->path);
        r->failed = true;
        return;
    }
    for (size_t i = 0; i < count && !r->failed; i++, row->match_count++)
        read_match(r, json_array_get(rivals, i), &row->matches[i], index, i);
}

static void read_replay(field_reader *r, const json_t *replay, report_row *row, size_t index)
{
    field_enter(r, "rows[%zu].replay.", index);
    const json_t *eager = field_nested(r, replay, "eager", false, false);
    const json_t *state = field_nested(r, replay, "state", false, false);
    row->calls = field_count(r, replay, "calls", 0);
    row->launch = field_positive(r, replay, "launch", false);
    field_positive(r, replay, "hot", false);
    field_positive(r, replay, "cold", false);
    field_enter(r, "rows[%zu].replay.eager.", index);
    row->eager_p50 = field_positive(r, eager, "p50", false);
    row->eager_p90 = field_positive(r, eager, "p90", false);
    field_enter(r, "rows[%zu].replay.state.", index);
    row->state = (report_state){
        .clock_hz = field_positive(r, state, "sm_clock_hz", false),
        .power_w = field_positive(r, state, "power_w", false),
        .temperature_c = field_positive(r, state, "temperature_c", false),
        .throttle = field_text(r, state, "throttle", false),
        .others = field_count(r, state, "other_processes", -1),
    };
    field_positive(r, state, "memory_clock_hz", false);
}

/* Reads the figures of a problem. The board keeps some that pages do not show. */
static void read_figures(field_reader *r, const json_t *json, report_row *row, size_t index)
{
    const json_t *seconds = field_nested(r, json, "seconds", false, row->ok);
    const json_t *replay = field_nested(r, json, "replay", false, false);
    double ceiling = field_positive(r, json, "of_ceiling", false);
    row->rate = field_positive(r, json, "flops_per_second", false);
    row->share = field_positive(r, json, "of_roofline", false);
    row->share_of = "roofline";
    row->samples = field_positives(r, json, "samples");
    field_number(r, json, "flops", 0);
    field_count(r, json, "copies", 0);
    row->floor = field_positive(r, json, "floor_seconds", false);
    row->bound_by = field_text(r, json, "bound_by", false);
    if (!(row->share > 0) || (ceiling > 0 && !row->bound_by)) {
        row->share = ceiling;
        row->share_of = "ceiling";
    }
    field_enter(r, "rows[%zu].seconds.", index);
    row->p50 = field_positive(r, seconds, "p50", row->ok);
    row->p90 = field_positive(r, seconds, "p90", false);
    field_positive(r, seconds, "min", false);
    field_positive(r, seconds, "mean", false);
    read_replay(r, replay, row, index);
}

static void read_row(field_reader *r, const json_t *json, report_row *row, size_t index)
{
    field_enter(r, "rows[%zu].", index);
    row->problem = field_text(r, json, "problem", true);
    if (row->problem && heed_problem_parse(&row->shape, row->problem) != HEED_OK) {
        cli_error("%s: rows[%zu].problem: %s", r->path, index, heed_message());
        r->failed = true;
    }
    row->label = field_text(r, json, "label", false);
    row->kernel = field_text(r, json, "kernel", false);
    if (row->kernel && strlen(row->kernel) >= HEED_NAME_SIZE)
        field_fail(r, "kernel", json_object_get(json, "kernel"), "a text of at most 95 bytes");
    row->outcome = field_word(r, json, "outcome", true, outcomes, outcome_words);
    row->ok = row->outcome && strcmp(row->outcome, "ok") == 0;
    row->reason = field_text(r, json, "reason", false);
    row->error = field_number(r, json, "error", -1);
    row->rows_checked = field_count(r, json, "rows_checked", 0);
    const json_t *rivals = field_nested(r, json, "rivals", true, false);
    read_figures(r, json, row, index);
    read_matches(r, rivals, row, index);
}

cli_exit report_read_row(report_record *record)
{
    size_t index = record->row_count++;
    report_row *row = &record->rows[index];
    row->record = record;
    row->json = json_array_get(json_object_get(record->json, "rows"), index);
    read_row(&record->reader, row->json, row, index);
    return record->reader.failed ? CLI_CORRUPT : CLI_OK;
}

static cli_exit make_rows(field_reader *r, report_record *record)
{
    size_t count = json_array_size(json_object_get(record->json, "rows"));
    if (count > ROWS_MAX) {
        cli_error("%s: rows has %zu elements; at most %d are read", r->path, count, ROWS_MAX);
        return CLI_CORRUPT;
    }
    record->row_limit = count;
    record->rows = calloc(count + 1, sizeof *record->rows);
    if (record->rows)
        return CLI_OK;
    cli_error("%s: not enough memory", r->path);
    return CLI_ENVIRONMENT;
}

/* -------------------------------------------------------------------------- */
/* The file                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit read_head(field_reader *r, report_record *record)
{
    static const char *const backends[] = { "cpu", "cuda", NULL };
    const json_t *json = record->json;
    record->device.name = field_text(r, json, "device", true);
    field_text(r, json, "version", false);
    const json_t *around = field_nested(r, json, "environment", false, true);
    const json_t *facts = field_nested(r, json, "device_facts", false, false);
    const json_t *rivals = field_nested(r, json, "rivals", true, false);
    record->cpu_level = field_text(r, json, "cpu", false);
    record->around.build = field_text(r, json, "build", false);
    record->around.manifest = field_text(r, json, "manifest", false);
    record->effort = field_text(r, json, "effort", false);
    record->kernel = field_text(r, json, "kernel", false);
    record->cold = field_flag(r, json, "cold", true);
    record->replay = field_flag(r, json, "replay", false);
    record->behind = field_flag(r, json, "behind", false);
    record->threads = field_count(r, json, "threads", 0);
    record->seed = field_count(r, json, "seed", 0);
    record->seconds = field_positive(r, json, "seconds", false);
    field_nested(r, json, "rows", true, true);
    field_enter(r, "device_facts.");
    record->around.features = field_text(r, facts, "features", false);
    record->device.backend = field_word(r, facts, "backend", false, backends, "cpu or cuda");
    record->device.memory_bytes = field_positive(r, facts, "memory_bytes", false);
    record->device.cache_bytes = field_positive(r, facts, "cache_bytes", false);
    record->device.multiprocessors = field_positive(r, facts, "multiprocessors", false);
    record->device.clock_hz = field_positive(r, facts, "clock_hz", false);
    record->device.bandwidth = field_positive(r, facts, "bandwidth", false);
    field_enter(r, "environment.");
    record->around.cpu = field_text(r, around, "cpu", false);
    record->around.system = field_text(r, around, "kernel", false);
    record->around.compiler = field_text(r, around, "compiler", false);
    record->around.heed = field_text(r, around, "heed", false);
    record->around.commit = field_text(r, around, "commit", false);
    record->around.governor = field_text(r, around, "governor", false);
    record->time = field_text(r, around, "time", true);
    record->load = field_number(r, around, "load", -1);
    const char *end = record->around.commit ? strstr(record->around.commit, "-dirty") : NULL;
    record->dirty = end && !end[strlen("-dirty")];
    for (size_t i = 0; i < json_array_size(rivals); i++) {
        field_enter(r, "rivals[%zu].", i);
        field_text(r, json_array_get(rivals, i), "name", true);
        field_text(r, json_array_get(rivals, i), "version", false);
    }
    return r->failed ? CLI_CORRUPT : CLI_OK;
}

cli_exit report_open(report_record **record, const char *path)
{
    report_record *made = calloc(1, sizeof *made);
    *record = NULL;
    if (made)
        made->path = strdup(path);
    cli_exit code = CLI_ENVIRONMENT;
    if (!made || !made->path)
        cli_error("%s: not enough memory", path);
    else
        code = cli_read_record(path, &made->json, made->file_hash);
    if (code == CLI_OK) {
        made->reader.path = made->path;
        code = read_head(&made->reader, made);
    }
    if (code == CLI_OK)
        code = make_rows(&made->reader, made);
    if (code == CLI_OK)
        code = cli_manifest_of_record(&made->manifest, made->json, path);
    if (code == CLI_OK)
        *record = made;
    else
        report_record_free(made);
    return code;
}

cli_exit report_read(report_record **record, const char *path)
{
    cli_exit code = report_open(record, path);
    while (code == CLI_OK && (*record)->row_count < (*record)->row_limit)
        code = report_read_row(*record);
    if (code == CLI_OK)
        return CLI_OK;
    report_record_free(*record);
    *record = NULL;
    return code;
}

void report_record_free(report_record *record)
{
    if (!record)
        return;
    for (size_t i = 0; i < record->row_count; i++)
        free(record->rows[i].matches);
    free(record->rows);
    json_decref(record->json);
    json_decref(record->manifest);
    free(record->path);
    free(record);
}
