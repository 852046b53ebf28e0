/*
 * report_read.c - a record of `heed bench --record`, every field of which is checked
 *
 * A record may come from anywhere. Fields that a page needs must be there and of the right type;
 * fields that older records lack may be missing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "manifest.h"
#include "report.h"
#include "report_field.h"

#define ROWS_MAX 10000
#define RIVALS_MAX 256

/* -------------------------------------------------------------------------- */
/* Rows                                                                       */
/* -------------------------------------------------------------------------- */

static const char *const outcomes[] = { "ok",    "refused",    "skipped", "failed",
                                        "wrong", "impossible", NULL };
static const char outcome_words[] = "ok, refused, skipped, failed, wrong or impossible";
static const char *const verdicts[] = { "FASTER", "SLOWER", "EQUIVALENT", "AMBIGUOUS", NULL };

static void read_match(report_reader *r, const json_t *json, report_match *match, size_t row,
                       size_t index)
{
    report_field_enter(r, "rows[%zu].rivals[%zu].", row, index);
    match->name = report_field_text(r, json, "name", true);
    match->outcome = report_field_word(r, json, "outcome", true, outcomes, outcome_words);
    match->reason = report_field_text(r, json, "reason", false);
    match->method = report_field_text(r, json, "method", false);
    match->error = report_field_number(r, json, "error", -1);
    if (!match->outcome || strcmp(match->outcome, "ok") != 0)
        return;
    match->seconds = report_field_positive(r, json, "seconds", true);
    const json_t *compared = report_field_nested(r, json, "comparison", false, true);
    const json_t *eager = report_field_nested(r, json, "eager", false, false);
    report_field_enter(r, "rows[%zu].rivals[%zu].comparison.", row, index);
    match->ratio = report_field_positive(r, compared, "ratio", true);
    match->low = report_field_number(r, compared, "low", 0);
    match->high = report_field_positive(r, compared, "high", false);
    match->margin = report_field_number(r, compared, "margin", 0);
    match->pairs = report_field_count(r, compared, "pairs", 0);
    match->verdict = report_field_word(r, compared, "verdict", true, verdicts,
                                       "FASTER, SLOWER, EQUIVALENT or AMBIGUOUS");
    if (match->high > 0 && !(match->low <= match->ratio && match->ratio <= match->high))
        report_field_fail(r, "ratio", json_object_get(compared, "ratio"), "between low and high");
    report_field_enter(r, "rows[%zu].rivals[%zu].eager.", row, index);
    match->eager_p50 = report_field_positive(r, eager, "p50", false);
    match->eager_p90 = report_field_positive(r, eager, "p90", false);
}

static void read_matches(report_reader *r, const json_t *rivals, report_row *row, size_t index)
{
    size_t count = json_array_size(rivals);
    if (count > RIVALS_MAX) {
        cli_error("%s: rows[%zu].rivals has %zu elements; at most %d are read", r->path, index,
                  count, RIVALS_MAX);
        r->failed = true;
        return;
    }
    row->matches = calloc(count + 1, sizeof *row->matches);
    if (!row->matches) {
        cli_error("%s: not enough memory", r->path);
        r->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++, row->match_count++)
        read_match(r, json_array_get(rivals, i), &row->matches[i], index, i);
}

static void read_replay(report_reader *r, const json_t *replay, report_row *row, size_t index)
{
    const json_t *eager = report_field_nested(r, replay, "eager", false, false);
    const json_t *state = report_field_nested(r, replay, "state", false, false);
    report_field_enter(r, "rows[%zu].replay.", index);
    row->launch = report_field_positive(r, replay, "launch", false);
    report_field_enter(r, "rows[%zu].replay.eager.", index);
    row->eager_p50 = report_field_positive(r, eager, "p50", false);
    row->eager_p90 = report_field_positive(r, eager, "p90", false);
    report_field_enter(r, "rows[%zu].replay.state.", index);
    row->state = (report_state){
        .clock_hz = report_field_positive(r, state, "sm_clock_hz", false),
        .power_w = report_field_positive(r, state, "power_w", false),
        .temperature_c = report_field_positive(r, state, "temperature_c", false),
        .throttle = report_field_text(r, state, "throttle", false),
        .others = report_field_count(r, state, "other_processes", -1),
    };
}

/* The fields of a problem that has a figure. */
static void read_figures(report_reader *r, const json_t *json, report_row *row, size_t index)
{
    const json_t *seconds = report_field_nested(r, json, "seconds", false, true);
    const json_t *replay = report_field_nested(r, json, "replay", false, false);
    double ceiling = report_field_positive(r, json, "of_ceiling", false);
    row->rate = report_field_positive(r, json, "flops_per_second", false);
    row->share = report_field_positive(r, json, "of_roofline", false);
    row->share_of = "roofline";
    row->floor = report_field_positive(r, json, "floor_seconds", false);
    row->bound_by = report_field_text(r, json, "bound_by", false);
    if (!(row->share > 0) || (ceiling > 0 && !row->bound_by)) {
        row->share = ceiling;
        row->share_of = "ceiling";
    }
    report_field_enter(r, "rows[%zu].seconds.", index);
    row->p50 = report_field_positive(r, seconds, "p50", true);
    row->p90 = report_field_positive(r, seconds, "p90", false);
    read_replay(r, replay, row, index);
}

static void read_row(report_reader *r, const json_t *json, report_row *row, size_t index)
{
    heed_problem problem;
    report_field_enter(r, "rows[%zu].", index);
    row->problem = report_field_text(r, json, "problem", true);
    row->label = report_field_text(r, json, "label", false);
    row->kernel = report_field_text(r, json, "kernel", false);
    row->outcome = report_field_word(r, json, "outcome", true, outcomes, outcome_words);
    row->reason = report_field_text(r, json, "reason", false);
    row->error = report_field_number(r, json, "error", -1);
    row->rows_checked = report_field_count(r, json, "rows_checked", 0);
    row->state.others = -1;
    const json_t *rivals = report_field_nested(r, json, "rivals", true, false);
    if (r->failed)
        return;
    if (heed_problem_parse(&problem, row->problem) != HEED_OK) {
        cli_error("%s: rows[%zu].problem: %s", r->path, index, heed_message());
        r->failed = true;
        return;
    }
    row->ok = strcmp(row->outcome, "ok") == 0;
    if (row->ok)
        read_figures(r, json, row, index);
    read_matches(r, rivals, row, index);
}

static cli_exit read_rows(report_reader *r, report_record *record)
{
    report_field_enter(r, "%s", "");
    const json_t *rows = report_field_nested(r, record->json, "rows", true, true);
    size_t count = json_array_size(rows);
    if (!r->failed && count > ROWS_MAX) {
        cli_error("%s: rows has %zu elements; at most %d are read", r->path, count, ROWS_MAX);
        r->failed = true;
    }
    if (r->failed)
        return CLI_CORRUPT;
    record->rows = calloc(count + 1, sizeof *record->rows);
    if (!record->rows) {
        cli_error("%s: not enough memory", r->path);
        return CLI_ENVIRONMENT;
    }
    for (size_t i = 0; i < count && !r->failed; i++) {
        record->rows[i].record = record;
        record->row_count++;
        read_row(r, json_array_get(rows, i), &record->rows[i], i);
    }
    return r->failed ? CLI_CORRUPT : CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* The file                                                                   */
/* -------------------------------------------------------------------------- */

static void read_head(report_reader *r, report_record *record)
{
    const json_t *json = record->json;
    const json_t *around = report_field_nested(r, json, "environment", false, true);
    const json_t *facts = report_field_nested(r, json, "device_facts", false, false);
    record->device = report_field_text(r, json, "device", true);
    record->cpu_level = report_field_text(r, json, "cpu", false);
    record->build = report_field_text(r, json, "build", false);
    record->hash = report_field_text(r, json, "manifest", false);
    record->effort = report_field_text(r, json, "effort", false);
    record->kernel = report_field_text(r, json, "kernel", false);
    record->cold = report_field_flag(r, json, "cold", true);
    record->replay = report_field_flag(r, json, "replay", false);
    record->threads = report_field_count(r, json, "threads", 0);
    record->seed = report_field_count(r, json, "seed", 0);
    record->seconds = report_field_positive(r, json, "seconds", false);
    report_field_enter(r, "device_facts.");
    record->features = report_field_text(r, facts, "features", false);
    record->backend = report_field_text(r, facts, "backend", false);
    report_field_enter(r, "environment.");
    record->cpu = report_field_text(r, around, "cpu", false);
    record->system = report_field_text(r, around, "kernel", false);
    record->compiler = report_field_text(r, around, "compiler", false);
    record->heed = report_field_text(r, around, "heed", false);
    record->commit = report_field_text(r, around, "commit", false);
    record->governor = report_field_text(r, around, "governor", false);
    record->time = report_field_text(r, around, "time", true);
    record->load = report_field_number(r, around, "load", -1);
    const char *end = record->commit ? strstr(record->commit, "-dirty") : NULL;
    record->dirty = end && !end[strlen("-dirty")];
}

cli_exit report_read(report_record **record, const char *path)
{
    report_reader r = { .path = path };
    *record = NULL;
    report_record *made = calloc(1, sizeof *made);
    if (made)
        made->path = strdup(path);
    cli_exit code = CLI_ENVIRONMENT;
    if (!made || !made->path)
        cli_error("%s: not enough memory", path);
    else
        code = cli_read_record(path, &made->json, NULL);
    if (code == CLI_OK)
        read_head(&r, made);
    if (code == CLI_OK)
        code = r.failed ? CLI_CORRUPT : read_rows(&r, made);
    if (code == CLI_OK)
        code = cli_manifest_of_record(&made->manifest, made->json, path);
    if (code == CLI_OK)
        *record = made;
    else
        report_record_free(made);
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
