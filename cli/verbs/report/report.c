/*
 * report.c - `heed report`: a page of all results
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/plural.h"
#include "report_final.h"

/* -------------------------------------------------------------------------- */
/* heed.report/1: the content of the page, for programs                       */
/* -------------------------------------------------------------------------- */

/* ---- Records ---- */

static json_t *json_match(const void *item)
{
    const report_match *m = item;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
        lab_json_text(m->name), "outcome", lab_json_text(m->outcome), "reason",
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
        "problem", lab_json_text(row->problem), "label", cli_json_word(row->label), "kernel",
        cli_json_word(row->kernel), "record", lab_json_text(row->record->path), "outcome",
        lab_json_text(row->outcome), "reason", cli_json_word(row->reason), "p50",
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
        "{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "path", lab_json_text(r->path), "time",
        lab_json_text(r->time), "commit", cli_json_word(r->around.commit), "dirty", r->dirty,
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
                     lab_json_text(r->device.name), "features", cli_json_word(r->around.features),
                     "host", cli_json_word(r->around.cpu), "cold", r->cold, "replay", r->replay,
                     "behind", r->behind, "threads", (json_int_t)r->threads, "records", records,
                     "geometric_means", means, "rows", rows);
}

/* ---- History ---- */

static json_t *json_pair(const void *item)
{
    const report_pair *pair = item;
    lab_listing rows = lab_listing_begin(LAB_LIST_JSON);
    report_history_rows(&rows, pair);
    return json_pack(
        "{s:o, s:o, s:n, s:o}", "before", lab_json_text(report_newest(pair->before)->path), "after",
        lab_json_text(report_newest(pair->after)->path), "verdict", "rows", lab_listing_take(rows));
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
    return json_pack("{s:o, s:b, s:I, s:o, s:o, s:o}", "path", lab_json_text(board->path), "exists",
                     board->there, "trials", (json_int_t)board->count, "verdicts",
                     json_counts(board, false), "trusted", json_counts(board, true), "ranked",
                     trials);
}

/* Returns everything, for the caller to release; NULL if out of memory. */
static json_t *json_report(const report_run *run)
{
    return json_pack("{s:o, s:o, s:o}", "sets",
                     cli_json_list(run->records.sets, run->records.set_count,
                                   sizeof *run->records.sets, json_set),
                     "history", json_history(&run->records), "board",
                     run->with_board ? json_board(&run->board) : json_null());
}

/* -------------------------------------------------------------------------- */
/* Out                                                                        */
/* -------------------------------------------------------------------------- */

static bool write_report(const report_run *run, FILE *stream)
{
    if (cli_args_json(run->args))
        return cli_json_write(json_report(run), "report", JSON_INDENT(2), stream);
    if (cli_args_flag(run->args, "brief"))
        return report_write_brief(run, stream);
    return report_write(run, stream,
                        cli_args_flag(run->args, "markdown") ? LAB_PAGE_MARKDOWN : LAB_PAGE_HTML);
}

static cli_exit no_memory(void)
{
    cli_error("not enough memory for the report");
    return CLI_ENVIRONMENT;
}

/* Writes the file atomically: on failure it stays unchanged. */
static cli_exit write_file(const report_run *run, const char *path)
{
    lab_error error;
    lab_output output;
    heed_status status = lab_output_begin(&output, path, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    if (!write_report(run, output.file)) {
        lab_output_abandon(&output);
        return no_memory();
    }
    status = lab_output_commit(&output, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_message("written to %s", path);
    return CLI_OK;
}

static cli_exit write_out(const report_run *run)
{
    const char *path = cli_args_text(run->args, "output");
    if (path && strcmp(path, "-") != 0)
        return write_file(run, path);
    return write_report(run, stdout) ? CLI_OK : no_memory();
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit check(const cli_args *args)
{
    static const char final[] = ": it writes the files of a folder";
    static const cli_rule rules[] = {
        { "json", "brief", true, NULL, NULL },
        { "json", "markdown", true, NULL, NULL },
        { "final", "json", true, final, NULL },
        { "final", "markdown", true, final, NULL },
        { "final", "brief", true, final, NULL },
        { "final", "output", true, final, NULL },
        { .option = NULL },
    };
    bool brief = cli_args_flag(args, "brief");
    cli_exit code = cli_rules_check(args, rules);
    if (code != CLI_OK)
        return code;
    if (brief && (cli_args_given(args, "board") || cli_args_operand_count(args) == 0)) {
        cli_error("--brief is for records: it takes at least one, and no --board");
        return CLI_USAGE;
    }
    return CLI_OK;
}

static cli_exit check_damage(const lab_final_board *board)
{
    size_t damaged = report_count_trusted(board, "damaged");
    size_t impossible = report_count_trusted(board, "impossible");
    if (damaged > 0)
        cli_error("%s: damaged: the content of %zu trial%s is not what was added", board->path,
                  damaged, lab_plural(damaged));
    if (impossible > 0)
        cli_error("%s: the figures of %zu trial%s contradict each other, or are beyond what the "
                  "device can do",
                  board->path, impossible, lab_plural(impossible));
    return damaged + impossible > 0 ? CLI_CORRUPT : CLI_OK;
}

/* The final artifacts need a board with trials. */
static cli_exit check_board(const report_run *run)
{
    if (run->board.count > 0)
        return CLI_OK;
    cli_error(
        "%s: %s, and --final is about a board: 'heed evolve', 'heed tune' and 'heed board add' "
        "put trials on one",
        run->board.path, run->board.there ? "there is no trial on it" : "there is no board");
    return CLI_ENVIRONMENT;
}

static cli_exit write_final(report_run *run, lab_record *record)
{
    report_final final;
    cli_exit code = check_board(run);
    if (code != CLI_OK)
        return code;
    code = report_final_begin(&final, run, record);
    run->final = &final;
    if (code == CLI_OK)
        code = report_final_write(&final, cli_args_text(run->args, "final"));
    run->final = NULL;
    report_final_end(&final);
    return code;
}

/* Reads the board, and writes the final artifacts if requested. */
static cli_exit with_board(report_run *run)
{
    lab_error error;
    lab_record *record;
    bool whole = cli_args_given(run->args, "final");
    heed_status status = lab_record_path(cli_args_text(run->args, "board"), run->board.path,
                                         &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, run->args);
    if (code == CLI_OK && record) {
        status = lab_final_board_read(&run->board, record, whole, &error);
        code = status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
    }
    if (code == CLI_OK && whole)
        code = write_final(run, record);
    lab_record_close(record);
    return code;
}

static cli_exit run_verb(const cli_args *args)
{
    report_run run = { .args = args };
    bool final = cli_args_given(args, "final");
    run.with_board = final || cli_args_given(args, "board") || cli_args_operand_count(args) == 0;
    cli_exit code = check(args);
    if (code == CLI_OK)
        code = report_find(&run.records, args);
    if (code == CLI_OK && run.with_board)
        code = with_board(&run);
    if (code == CLI_OK && !final)
        code = write_out(&run);
    if (code == CLI_OK)
        code = check_damage(&run.board);
    lab_final_board_free(&run.board);
    report_records_free(&run.records);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_BOARD,
    OPT_PATH("output", 'o', "FILE",
             "Write to FILE, replacing it atomically [default, and -: "
             "standard output]"),
    OPT_FLAG("markdown", 'm', "Write Markdown, without the drawings, instead of a web page"),
    OPT_FLAG("brief", 0, "Write only a short Markdown table for each record, for a README"),
    OPT_PATH(
        "final", 0, "FOLDER",
        "Write the final artifacts of the board, and of the records that are named, to FOLDER: "
        "final_summary.md, findings.md, leaderboard.md, champion.diff, roofline.svg, pareto.svg, "
        "report.html"),
    { .name = "title",
      .kind = CLI_TEXT,
      .argument = "TEXT",
      .standard = "Attention kernels: results",
      .help = "The heading of the page" },
    { .name = NULL },
};

const cli_verb cli_verb_report = {
    .name = "report",
    .summary = "make a page of all results",
    .operands = { "[RECORD | FOLDER]...", 0, CLI_ANY },
    .description =
        "Writes one self-contained web page, without scripts or network, about records of "
        "'heed bench --record' or, with --board or without a record, about the board.\n"
        "\n"
        "From a FOLDER it takes the newest date of each device; if several records of one "
        "day have the same problem, the last one counts. The page shows machine, software and "
        "commit; heed against each rival; the share of the device's limit and the unit "
        "that binds; and reasons for doubt. Two records of one device are compared as history, "
        "without verdicts. From the board it shows the leaders, their history, and the "
        "verdicts of all trials.\n"
        "\n"
        "With --final it writes a folder about searches: results beside PyTorch's SDPA, "
        "findings, the diff from the first kernel to the champion, and the commands.",
    .examples = "  heed report -o report.html benchmarks\n"
                "  heed report --final final --board run/board.db benchmarks\n"
                "  heed report --brief benchmarks >>README.md",
    .status = "The exit status is 7 if a record or the board is damaged or of another schema.",
    .options = options,
    .run = run_verb,
};
