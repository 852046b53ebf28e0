/*
 * board_list.c - `heed board`: the leaderboard as a table, JSON or CSV
 */
#include <stdlib.h>
#include <string.h>

#include "base/control.h"
#include "base/plural.h"
#include "board.h"

/* -------------------------------------------------------------------------- */
/* Rows                                                                       */
/* -------------------------------------------------------------------------- */

/* The state of printing. Rows are grouped by device, with a table for each. While they are read the
 * board is locked against additions, and a pager may keep stdout open forever: the text is kept in
 * memory until the last row has been read. */
typedef struct board_print {
    const cli_args *args;
    FILE *out;
    bool history, all, failed;
    char device[256]; /* of the table below */
    lab_listing rows;
    size_t count, damaged, impossible;
    int64_t left_out; /* a trial that is not ranked because of a fault; 0: none */
} board_print;

static void end_table(board_print *print)
{
    if (print->rows.form != LAB_LIST_JSON)
        print->failed |= !lab_listing_print(&print->rows, print->out);
}

static void begin_device(board_print *print, const lab_record_row *row)
{
    char device[sizeof print->device];
    snprintf(device, sizeof device, "%s (%s%s%s), %d thread%s", row->device, row->backend,
             row->features ? ", " : "", row->features ? row->features : "", row->threads,
             lab_plural(row->threads));
    lab_control_replace(device, '?'); /* names on older boards may have some */
    if (print->rows.json || (print->count && strcmp(device, print->device) == 0))
        return;
    end_table(print);
    fprintf(print->out, "%s%s%s%s\n\n", print->count ? "\n" : "", cli_style(stdout, LAB_BOLD),
            device, cli_style(stdout, LAB_PLAIN));
    memcpy(print->device, device, sizeof device);
    print->rows = cli_rows_begin(false);
}

static void add_comparison(lab_listing *rows, const lab_record_row *row)
{
    bool known = row->against && row->ratio > 0;
    const char *verdict = known && row->compared ? row->compared : "";
    lab_cell_text(rows, NULL, "against", row->against);
    lab_cell_real(rows, NULL, "ratio", known ? row->ratio : -1, "%.3f", row->ratio);
    if (known && row->high > row->low) /* with too few pairs there is no interval */
        lab_cell_left(rows, "interval", "[%.3f, %.3f] %s", row->low, row->high, verdict);
    else
        lab_cell_left(rows, "interval", "%s", verdict);
}

static void add_columns(lab_listing *rows, const lab_record_row *row, bool all)
{
    char name[2 * HEED_NAME_SIZE], commit[16];
    snprintf(name, sizeof name, "%s%s%s", row->kernel, *row->config ? "__" : "", row->config);
    snprintf(commit, sizeof commit, "%.12s", row->commit ? row->commit : "-");
    lab_control_replace(name, '?');
    lab_control_replace(commit, '?');
    lab_cell_count(rows, NULL, "trial", row->trial);
    lab_cell_text(rows, NULL, "problem", row->problem);
    lab_cell_left(rows, "kernel", "%s%s", name, row->promoted ? " *" : "");
    lab_cell_text(rows, NULL, "buffers", row->timing);
    lab_cell_seconds(rows, NULL, "time", row->seconds);
    lab_cell_real(rows, NULL, "TFLOP/s", row->rate > 0 ? row->rate : -1, "%.2f", row->rate / 1e12);
    lab_cell_real(rows, NULL, "of roof", row->of_roofline > 0 ? row->of_roofline : -1, "%.1f %%",
                  100 * row->of_roofline);
    add_comparison(rows, row);
    lab_cell_left(rows, "commit", "%s%s", commit, row->dirty ? "+" : "");
    lab_cell_left(rows, "date", "%.10s", row->ended);
    lab_cell_text(rows, NULL, "trusted", row->trusted);
    lab_cell_left(rows, all ? "verdict" : NULL, "%s%s", row->verdict,
                  row->confirmed ? "" : ", not confirmed");
}

/* JSON and CSV have all columns of the board. */
static void add_members(lab_listing *rows, const lab_record_row *row)
{
    for (int i = 0; i < LAB_RECORD_COLUMNS; i++)
        lab_cell_json(rows, lab_record_columns[i].name,
                      cli_json_column(&lab_record_columns[i], row));
}

static heed_status visit(void *data, const lab_record_row *row)
{
    board_print *print = data;
    if (print->history && !print->all && !row->confirmed)
        return HEED_OK;
    print->damaged += strcmp(row->trusted, "damaged") == 0;
    print->impossible += strcmp(row->trusted, "impossible") == 0;
    begin_device(print, row);
    add_members(&print->rows, row);
    add_columns(&print->rows, row, print->all);
    lab_row_end(&print->rows);
    print->count++;
    return HEED_OK;
}

static lab_record_filter read_filter(const cli_args *args, char spec[HEED_SPEC_SIZE])
{
    heed_problem problem;
    bool history = cli_args_flag(args, "history") || cli_args_flag(args, "all");
    lab_record_filter filter = {
        .part = history                          ? LAB_BOARD_ALL
                : cli_args_flag(args, "ranking") ? LAB_BOARD_RANKED
                                                 : LAB_BOARD_BEST,
        .problem = cli_args_text(args, "problem"),
        .device = cli_args_text(args, "device"),
        .against = cli_args_text(args, "against"),
    };
    /* A complete spec, however written, selects that problem only. */
    if (filter.problem && heed_problem_parse(&problem, filter.problem) == HEED_OK) {
        heed_problem_print(&problem, spec, HEED_SPEC_SIZE);
        filter.problem = spec;
        filter.exact = true;
    }
    return filter;
}

/* The reasons why a trial is not ranked; the first that applies counts. */
enum {
    NOT_RIGHT,
    NOT_TIMED,
    NOT_CONFIRMED,
    NOT_SOUND,
    NOT_VERIFIED,
    NOT_TRUSTED,
    REASONS
};

static heed_status count_unranked(void *data, const lab_record_row *row)
{
    size_t *counts = data;
    counts[strcmp(row->verdict, "ok") != 0 ? NOT_RIGHT
           : !(row->seconds > 0)           ? NOT_TIMED
           : !row->confirmed               ? NOT_CONFIRMED
           : !row->sound                   ? NOT_SOUND
           : !row->verified                ? NOT_VERIFIED
                                           : NOT_TRUSTED]++;
    return HEED_OK;
}

/* Explains an empty list: the reasons why trials are not ranked. */
static heed_status explain_nothing(lab_record *record, const lab_record_filter *filter,
                                   lab_error *error)
{
    static const char *const reasons[REASONS] = {
        [NOT_RIGHT] = "with a wrong result",
        [NOT_TIMED] = "without a time",
        [NOT_CONFIRMED] = "not timed again once they were chosen",
        [NOT_SOUND] = "damaged, or impossibly fast",
        [NOT_VERIFIED] = "without a proof by all gates",
        [NOT_TRUSTED] = "judged by gates that failed their own test",
    };
    size_t counts[REASONS] = { 0 }, total = 0, length = 0;
    char text[300] = "";
    lab_record_filter every = *filter;
    every.part = LAB_BOARD_ALL;
    heed_status status = lab_record_visit(record, &every, count_unranked, counts, error);
    for (int i = 0; i < REASONS; i++)
        if (counts[i] > 0) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%zu %s",
                                       total ? ", " : "", counts[i], reasons[i]);
            total += counts[i];
        }
    if (total > 0)
        cli_message("no matching trial is ranked: %s; --all shows them", text);
    else if (status == HEED_OK)
        cli_message("no trial on the board matches; --all also shows those that are not ranked");
    return status;
}

/* Prints all rows that pass the filter to print->out. */
static cli_exit read_rows(board_print *print)
{
    char spec[HEED_SPEC_SIZE];
    lab_error error;
    lab_record *record;
    const lab_record_filter filter = read_filter(print->args, spec);
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, print->args);
    if (!record)
        return code;
    add_members(&print->rows, &(lab_record_row){ 0 }); /* CSV has heads without rows as well */
    lab_listing_heads(&print->rows);
    heed_status status = lab_record_visit(record, &filter, visit, print, &error);
    print->left_out = lab_record_left_out(record);
    if (status == HEED_OK && !print->count)
        status = explain_nothing(record, &filter, &error);
    lab_record_close(record);
    end_table(print);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static cli_exit print_rows(board_print *print, const char *text)
{
    cli_exit code = CLI_OK;
    if (print->failed || !text) {
        cli_error("not enough memory for the table");
        return CLI_ENVIRONMENT;
    }
    if (cli_args_json(print->args))
        code = cli_rows_print(&print->rows, "rows", "board");
    else
        fputs(text, stdout);
    if (!cli_args_json(print->args) && !cli_args_flag(print->args, "csv") && print->count)
        printf("\nratio: how many times as long the other takes; +: changes on top of the commit; "
               "*: promoted\n");
    if (print->damaged)
        cli_error("%zu of these are damaged: their content is not what was added", print->damaged);
    if (print->impossible)
        cli_error("%zu of these are impossible: their figures contradict each other, or are beyond "
                  "what the device can do",
                  print->impossible);
    if (print->left_out > 0)
        cli_error("trial %lld would be ranked, but it is damaged or impossible, and left out; "
                  "'heed board check' says which are",
                  (long long)print->left_out);
    return print->damaged || print->impossible || print->left_out > 0 ? CLI_CORRUPT : code;
}

cli_exit cli_board_list(const cli_args *args)
{
    char *text = NULL;
    size_t size = 0;
    bool csv = cli_args_flag(args, "csv") && !cli_args_json(args);
    board_print print = { .args = args,
                          .out = open_memstream(&text, &size),
                          .history = cli_args_flag(args, "history"),
                          .all = cli_args_flag(args, "all"),
                          .rows = csv ? lab_listing_begin(LAB_LIST_CSV)
                                      : cli_rows_begin(cli_args_json(args)) };
    if (!print.out) {
        lab_listing_free(&print.rows);
        cli_error("not enough memory for the table");
        return CLI_ENVIRONMENT;
    }
    cli_exit code = read_rows(&print);
    print.failed |= ferror(print.out) != 0;
    print.failed |= fclose(print.out) != 0;
    /* Also after a failure: print the rows that could be read. Without any, the failure is the only
     * answer. */
    cli_exit printed = code == CLI_OK || print.count ? print_rows(&print, text) : code;
    free(text);
    lab_listing_free(&print.rows);
    return code == CLI_OK ? printed : code;
}
