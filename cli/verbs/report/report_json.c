/*
 * report_json.c - heed.report/1: the content of the page, for programs
 */
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* ---- Records ---- */

static json_t *json_match(const void *item)
{
    const report_match *m = item;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
        cli_json_text(m->name), "outcome", cli_json_text(m->outcome), "reason",
        cli_json_word(m->reason), "method", cli_json_word(m->method), "seconds",
        cli_json_positive(m->seconds), "eager_p50", cli_json_positive(m->eager_p50), "eager_p90",
        cli_json_positive(m->eager_p90), "ratio", cli_json_positive(m->ratio), "low",
        m->high > 0 ? cli_json_real(m->low) : json_null(), "high", cli_json_positive(m->high),
        "verdict", cli_json_word(m->verdict), "pairs", m->ok ? json_integer(m->pairs) : json_null(),
        "doubt", m->ok ? cli_json_word(report_doubt(m->error)) : json_null());
}

static json_t *json_row(const report_row *row)
{
    json_t *matches = cli_json_list(row->matches, row->match_count, sizeof *row->matches,
                                    json_match);
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o}",
        "problem", cli_json_text(row->problem), "label", cli_json_word(row->label), "kernel",
        cli_json_word(row->kernel), "record", cli_json_text(row->record->path), "outcome",
        cli_json_text(row->outcome), "reason", cli_json_word(row->reason), "p50",
        cli_json_positive(row->p50), "p90", cli_json_positive(row->p90), "flops_per_second",
        cli_json_positive(row->rate), "share", cli_json_positive(row->share), "share_of",
        row->share > 0 ? json_string(row->share_of) : json_null(), "bound_by",
        cli_json_word(row->bound_by), "eager_p50", cli_json_positive(row->eager_p50), "eager_p90",
        cli_json_positive(row->eager_p90), "launch", cli_json_positive(row->launch), "throttle",
        cli_json_word(row->state.throttle), "doubt",
        row->ok ? cli_json_word(report_doubt(row->error)) : json_null(), "rivals", matches);
}

static json_t *json_record(const report_record *r)
{
    return json_pack(
        "{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "path", cli_json_text(r->path), "time",
        cli_json_text(r->time), "commit", cli_json_word(r->around.commit), "dirty", r->dirty,
        "heed", cli_json_word(r->around.heed), "build", cli_json_word(r->around.build), "manifest",
        cli_json_word(r->around.manifest), "parts",
        r->manifest ? json_deep_copy(json_object_get(r->manifest, "parts")) : json_null());
}

static json_t *json_set(const void *item)
{
    const report_set *set = item;
    const report_record *r = report_newest(set);
    json_t *records = json_array(), *rows = json_array(), *means = json_object();
    for (size_t i = 0; i < set->record_count; i++)
        records = cli_json_append(records, json_record(set->records[i]));
    for (size_t i = 0; i < set->row_count; i++)
        rows = cli_json_append(rows, json_row(set->rows[i]));
    for (size_t i = 0; i < set->rival_count; i++)
        json_object_set_new(means, set->rivals[i],
                            cli_json_real(report_geomean(set, set->rivals[i])));
    return json_pack("{s:o, s:o, s:o, s:b, s:b, s:b, s:I, s:o, s:o, s:o}", "device",
                     cli_json_text(r->device.name), "features", cli_json_word(r->around.features),
                     "host", cli_json_word(r->around.cpu), "cold", r->cold, "replay", r->replay,
                     "behind", r->behind, "threads", (json_int_t)r->threads, "records", records,
                     "geometric_means", means, "rows", rows);
}

/* ---- History ---- */

static json_t *json_pair(const void *item)
{
    const report_pair *pair = item;
    json_t *rows = json_array();
    for (size_t i = 0; i < pair->after->row_count; i++) {
        const report_row *after = pair->after->rows[i];
        const report_row *before = report_row_find(pair->before, after);
        if (before)
            rows = cli_json_append(rows, json_pack("{s:o, s:o, s:o, s:o, s:o}", "problem",
                                                   cli_json_text(after->problem), "label",
                                                   cli_json_word(after->label), "before",
                                                   cli_json_real(before->p50), "after",
                                                   cli_json_real(after->p50), "before_over_after",
                                                   cli_json_real(before->p50 / after->p50)));
    }
    return json_pack("{s:o, s:o, s:n, s:o}", "before",
                     cli_json_text(report_newest(pair->before)->path), "after",
                     cli_json_text(report_newest(pair->after)->path), "verdict", "rows", rows);
}

static json_t *json_history(const report_records *records)
{
    report_pair *pairs = calloc(records->set_count + 1, sizeof *pairs);
    size_t count = pairs ? report_history_pairs(records, pairs) : 0;
    json_t *array = pairs ? cli_json_list(pairs, count, sizeof *pairs, json_pair) : NULL;
    free(pairs);
    return array;
}

/* ---- The board ---- */

static json_t *json_trial(const lab_final_trial *t)
{
    static const char *const names[] = { "trial",       "problem", "device", "threads",
                                         "kernel",      "config",  "timing", "seconds",
                                         "of_roofline", "against", "ratio",  "compared",
                                         "commit",      "dirty",   "ended",  "trusted" };
    json_t *object = json_object();
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (int i = 0; i < LAB_RECORD_COLUMNS && lab_record_columns[i].name; i++)
            if (strcmp(lab_record_columns[i].name, names[n]) == 0)
                json_object_set_new(object, names[n],
                                    cli_json_column(&lab_record_columns[i], &t->row));
    json_object_set_new(object, "leads", json_boolean(t->leads));
    json_object_set_new(object, "front", json_boolean(t->front));
    return object;
}

static json_t *json_counts(const lab_final_board *board, bool trusted)
{
    json_t *counts = json_object();
    for (size_t i = 0; i < board->count; i++) {
        const lab_record_row *row = &board->trials[i].row;
        const char *word = trusted ? row->trusted : row->verdict;
        json_int_t before = json_integer_value(json_object_get(counts, word));
        json_object_set_new(counts, word, json_integer(before + 1));
    }
    return counts;
}

static json_t *json_board(const lab_final_board *board)
{
    json_t *trials = json_array();
    for (size_t i = 0; i < board->count; i++)
        if (lab_final_ranked(&board->trials[i]) || board->trials[i].leads)
            trials = cli_json_append(trials, json_trial(&board->trials[i]));
    return json_pack("{s:o, s:b, s:I, s:o, s:o, s:o}", "path", cli_json_text(board->path), "exists",
                     board->there, "trials", (json_int_t)board->count, "verdicts",
                     json_counts(board, false), "trusted", json_counts(board, true), "ranked",
                     trials);
}

json_t *report_json(const report_run *run)
{
    return json_pack("{s:o, s:o, s:o}", "sets",
                     cli_json_list(run->records.sets, run->records.set_count,
                                   sizeof *run->records.sets, json_set),
                     "history", json_history(&run->records), "board",
                     run->with_board ? json_board(&run->board) : json_null());
}
