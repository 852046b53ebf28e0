/*
 * report_board.c - every trial of the board, and which of them nobody beats
 *
 * The board cannot be added to while it is read, so all of it is copied first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "report.h"
#include "search/point_facts.h"

/* Column @i of @row if it is a text of the row's own; NULL otherwise. `trusted` is a constant. */
static const char **text_at(const lab_record_row *row, int i)
{
    const lab_record_column *column = &lab_record_columns[i];
    if (column->kind != LAB_COLUMN_TEXT || column->offset == offsetof(lab_record_row, trusted))
        return NULL;
    return (const char **)(uintptr_t)((const char *)row + column->offset);
}

/* `trusted` is one of a few words. */
static const char *trusted_word(const char *word)
{
    static const char *const words[] = { "yes", "no", "untested", "damaged", "impossible" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0)
            return words[i];
    return "damaged";
}

static void free_trial(report_trial *trial)
{
    for (int i = 0; i < LAB_RECORD_COLUMNS; i++)
        if (text_at(&trial->row, i))
            free((char *)(uintptr_t)*text_at(&trial->row, i));
}

/* Seconds since 1970 of an ISO 8601 time as the board has it; 0 if @text is not one. */
static double seconds_of(const char *text)
{
    struct tm utc = { 0 };
    double seconds = 0;
    int read = sscanf(text, "%4d-%2d-%2dT%2d:%2d:%lf", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
                      &utc.tm_hour, &utc.tm_min, &seconds);
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    return read == 6 && isfinite(seconds) ? (double)timegm(&utc) + seconds : 0;
}

/* -------------------------------------------------------------------------- */
/* Reading                                                                    */
/* -------------------------------------------------------------------------- */

typedef struct board_reader {
    report_board *board;
    lab_error *error;
} board_reader;

static heed_status no_memory(lab_error *error)
{
    return lab_fail(error, HEED_ERR_NO_MEMORY, "not enough memory for the trials of the board");
}

static heed_status keep_trial(void *data, const lab_record_row *row)
{
    board_reader *reader = data;
    report_board *board = reader->board;
    if (!lab_grow(&board->trials, board->count, sizeof *board->trials))
        return no_memory(reader->error);
    report_trial *trial = &board->trials[board->count++];
    *trial = (report_trial){ .row = *row, .registers = -1, .spills = -1, .shared = -1 };
    bool good = true;
    for (int i = 0; i < LAB_RECORD_COLUMNS; i++) {
        const char **text = text_at(&trial->row, i);
        if (text && *text) {
            *text = strdup(*text);
            good &= *text != NULL;
        }
    }
    trial->row.trusted = trusted_word(row->trusted);
    trial->at = seconds_of(row->ended);
    return good ? HEED_OK : no_memory(reader->error);
}

static heed_status mark_leader(void *data, const lab_record_row *row)
{
    report_board *board = ((board_reader *)data)->board;
    for (size_t i = 0; i < board->count; i++)
        board->trials[i].leads |= board->trials[i].row.trial == row->trial;
    return HEED_OK;
}

static heed_status read_artifact(void *data, const lab_record_field *field)
{
    report_trial *trial = data;
    if (strcmp(field->section, "artifact") != 0 || field->kind != LAB_RECORD_INTEGER)
        return HEED_OK;
    if (strcmp(field->name, "registers") == 0)
        trial->registers = field->integer;
    else if (strcmp(field->name, "spill_bytes") == 0)
        trial->spills = field->integer;
    else if (strcmp(field->name, "shared_bytes") == 0)
        trial->shared = field->integer;
    return HEED_OK;
}

static heed_status read_trials(lab_record *record, report_board *board, lab_error *error)
{
    board_reader reader = { .board = board, .error = error };
    lab_record_filter filter = { .part = LAB_BOARD_ALL };
    heed_status status = lab_record_visit(record, &filter, keep_trial, &reader, error);
    filter.part = LAB_BOARD_BEST;
    if (status == HEED_OK)
        status = lab_record_visit(record, &filter, mark_leader, &reader, error);
    for (size_t i = 0; status == HEED_OK && i < board->count; i++)
        if (report_ranked(&board->trials[i]))
            status = lab_record_show(record, board->trials[i].row.trial, read_artifact,
                                     &board->trials[i], error);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Order                                                                      */
/* -------------------------------------------------------------------------- */

static int by_place(const report_trial *a, const report_trial *b)
{
    int order = report_order_text(a->row.device, b->row.device);
    order = order ? order : (a->row.threads > b->row.threads) - (a->row.threads < b->row.threads);
    order = order ? order : report_order_text(a->row.problem, b->row.problem);
    return order ? order : report_order_text(a->row.timing, b->row.timing);
}

static int by_place_and_time(const void *a, const void *b)
{
    const report_trial *x = a, *y = b;
    int order = by_place(x, y);
    order = order ? order : (x->at > y->at) - (x->at < y->at);
    return order ? order : (x->row.trial > y->row.trial) - (x->row.trial < y->row.trial);
}

bool report_same_place(const report_trial *a, const report_trial *b)
{
    return by_place(a, b) == 0;
}

bool report_ranked(const report_trial *trial)
{
    return trial->row.confirmed && trial->row.seconds > 0 && trial->row.timing &&
           strcmp(trial->row.verdict, "ok") == 0 && strcmp(trial->row.trusted, "no") != 0 &&
           trial->row.sound;
}

/* -------------------------------------------------------------------------- */
/* Pareto                                                                     */
/* -------------------------------------------------------------------------- */

/* Marks those of the @count trials of a place that no other one beats in everything. */
static bool mark_front(report_trial *trials, size_t count, size_t *fronts)
{
    lab_standing *standings = calloc(count + 1, sizeof *standings);
    bool *front = calloc(count + 1, sizeof *front);
    size_t known = 0;
    if (!standings || !front) {
        free(standings);
        free(front);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        bool counts = report_ranked(&trials[i]) && trials[i].registers >= 0;
        standings[i].time = counts ? trials[i].row.seconds : (double)INFINITY;
        standings[i].point_facts = lab_point_facts_unknown();
        standings[i].point_facts.value[LAB_FACT_REGISTERS] = trials[i].registers;
        standings[i].point_facts.value[LAB_FACT_SMEM] = trials[i].shared;
        known += counts;
    }
    lab_point_facts_front(standings, count, front);
    for (size_t i = 0; i < count; i++)
        trials[i].front = front[i];
    *fronts += known > 1;
    free(standings);
    free(front);
    return true;
}

static bool mark_fronts(report_board *board)
{
    bool good = true;
    for (size_t i = 0, next; good && i < board->count; i = next) {
        for (next = i + 1; next < board->count; next++)
            if (!report_same_place(&board->trials[i], &board->trials[next]))
                break;
        good = mark_front(&board->trials[i], next - i, &board->fronts);
    }
    return good;
}

/* -------------------------------------------------------------------------- */
/* The board                                                                  */
/* -------------------------------------------------------------------------- */

cli_exit report_board_read(report_board *board, const cli_args *args)
{
    lab_error error;
    lab_record *record;
    heed_status status = lab_record_path(cli_args_text(args, "board"), board->path, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, args);
    if (!record)
        return code;
    board->there = true;
    status = read_trials(record, board, &error);
    lab_record_close(record);
    if (board->count > 0)
        qsort(board->trials, board->count, sizeof *board->trials, by_place_and_time);
    if (status == HEED_OK && !mark_fronts(board))
        status = no_memory(&error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

void report_board_free(report_board *board)
{
    for (size_t i = 0; i < board->count; i++)
        free_trial(&board->trials[i]);
    free(board->trials);
    *board = (report_board){ .count = 0 };
}
