/*
 * board.c - reads every trial of the board, and finds the Pareto front
 *
 * The board cannot be extended while it is read, so all of it is copied first.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "final.h"
#include "lab/base/array.h"
#include "lab/measure/stats.h"
#include "lab/search/point_facts.h"

/* Column @i of @row if it is text, which the row owns; NULL otherwise. */
static const char **text_at(const lab_record_row *row, int i)
{
    const lab_record_column *column = &lab_record_columns[i];
    if (column->kind != LAB_COLUMN_TEXT)
        return NULL;
    return (const char **)(uintptr_t)((const char *)row + column->offset);
}

/* Texts that a complete trial has in addition to its row, and their source. */
static const struct {
    const char *section, *name;
    size_t offset;
} texts[] = {
    { "candidate", "hash", offsetof(lab_final_trial, hash) },
    { "candidate", "thought", offsetof(lab_final_trial, thought) },
    { "candidate", "proposer", offsetof(lab_final_trial, proposer) },
    { "parents", "hash", offsetof(lab_final_trial, parent) },
    { "run", "verb", offsetof(lab_final_trial, verb) },
    { "run", "command", offsetof(lab_final_trial, command) },
    { "run", "budget", offsetof(lab_final_trial, budget) },
    { "launch", "words", offsetof(lab_final_trial, launch) },
};
#define TEXTS (sizeof texts / sizeof *texts)

static char **member_of(lab_final_trial *trial, size_t text)
{
    return (char **)(void *)((char *)trial + texts[text].offset);
}

static void free_trial(lab_final_trial *trial)
{
    for (int i = 0; i < LAB_RECORD_COLUMNS; i++)
        if (text_at(&trial->row, i))
            free((char *)(uintptr_t)*text_at(&trial->row, i));
    for (size_t i = 0; i < TEXTS; i++)
        free(*member_of(trial, i));
    for (size_t i = 0; i < trial->fact_count; i++) {
        free(trial->facts[i].name);
        free(trial->facts[i].text);
    }
    free(trial->facts);
    free(trial->sides);
    free(trial->events);
}

/* Seconds since 1970 of a time in the board's ISO 8601 format; 0 if @text is not one. */
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
    lab_final_board *board;
    lab_error *error;
} board_reader;

static heed_status no_memory(lab_error *error)
{
    return lab_fail(error, HEED_ERR_NO_MEMORY, "not enough memory for the trials of the board");
}

static heed_status keep_trial(void *data, const lab_record_row *row)
{
    board_reader *reader = data;
    lab_final_board *board = reader->board;
    if (!lab_grow(&board->trials, board->count, sizeof *board->trials))
        return no_memory(reader->error);
    lab_final_trial *trial = &board->trials[board->count++];
    *trial = (lab_final_trial){ .row = *row, .registers = -1, .spills = -1, .shared = -1 };
    bool good = true;
    for (int i = 0; i < LAB_RECORD_COLUMNS; i++) {
        const char **text = text_at(&trial->row, i);
        if (text && *text) {
            *text = strdup(*text);
            good &= *text != NULL;
        }
    }
    trial->at = seconds_of(row->ended);
    return good ? HEED_OK : no_memory(reader->error);
}

static heed_status mark_leader(void *data, const lab_record_row *row)
{
    lab_final_board *board = ((board_reader *)data)->board;
    for (size_t i = 0; i < board->count; i++)
        board->trials[i].leads |= board->trials[i].row.trial == row->trial;
    return HEED_OK;
}

/* ---- All of one trial ---- */

typedef struct trial_reader {
    lab_final_trial *trial;
    lab_error *error;
    bool other; /* the samples that come next are of the other side */
} trial_reader;

/* Numbers of a trial, and their source. */
static void take_number(lab_final_trial *trial, const lab_record_field *field)
{
    const struct {
        const char *section, *name;
        int64_t *to;
    } numbers[] = {
        { "artifact", "registers", &trial->registers },
        { "artifact", "spill_bytes", &trial->spills },
        { "artifact", "shared_bytes", &trial->shared },
        { "trial", "attempt", &trial->attempt },
        { "run", "seed", &trial->seed },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (field->kind == LAB_RECORD_INTEGER && strcmp(field->section, numbers[i].section) == 0 &&
            strcmp(field->name, numbers[i].name) == 0)
            *numbers[i].to = field->integer;
}

/* The side of that name, added if missing; NULL if there is no memory. */
static lab_final_side *side_of(lab_final_trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->side_count; i++)
        if (strncmp(trial->sides[i].name, name, sizeof trial->sides[i].name - 1) == 0)
            return &trial->sides[i];
    if (!lab_grow(&trial->sides, trial->side_count, sizeof *trial->sides))
        return NULL;
    lab_final_side *side = &trial->sides[trial->side_count++];
    *side = (lab_final_side){ .p50 = 0 };
    snprintf(side->name, sizeof side->name, "%s", name);
    return side;
}

/* The side comes before the samples themselves. */
static heed_status take_samples(trial_reader *reader, const lab_record_field *field)
{
    if (strcmp(field->name, "side") == 0)
        reader->other = field->text && strcmp(field->text, "other") == 0;
    if (field->kind != LAB_RECORD_SAMPLES || !reader->other || !*field->key)
        return HEED_OK;
    lab_final_side *side = side_of(reader->trial, field->key);
    const lab_summary summary = lab_stats_summary_of(field->samples, field->count);
    if (!side || summary.n == 0)
        return no_memory(reader->error);
    side->p50 = summary.p50;
    side->p90 = summary.p90;
    return HEED_OK;
}

static heed_status take_comparison(trial_reader *reader, const lab_record_field *field)
{
    lab_final_side *side = side_of(reader->trial, field->key);
    if (!side)
        return no_memory(reader->error);
    const struct {
        const char *name;
        double *to;
    } numbers[] = { { "ratio", &side->ratio }, { "low", &side->low }, { "high", &side->high } };
    for (size_t i = 0; i < 3 && field->kind == LAB_RECORD_REAL; i++)
        if (strcmp(field->name, numbers[i].name) == 0)
            *numbers[i].to = field->real;
    if (strcmp(field->name, "seconds") == 0 && field->kind == LAB_RECORD_REAL && !(side->p50 > 0))
        side->p50 = field->real;
    if (strcmp(field->name, "verdict") == 0)
        snprintf(side->verdict, sizeof side->verdict, "%s", field->text ? field->text : "");
    return HEED_OK;
}

static heed_status take_gate(trial_reader *reader, const lab_record_field *field)
{
    reader->trial->gates += strcmp(field->name, "name") == 0;
    reader->trial->refused += strcmp(field->name, "passed") == 0 && field->integer == 0;
    return HEED_OK;
}

static heed_status take_fact(trial_reader *reader, const lab_record_field *field)
{
    lab_final_trial *trial = reader->trial;
    if (strcmp(field->name, "value") != 0)
        return HEED_OK;
    if (!lab_grow(&trial->facts, trial->fact_count, sizeof *trial->facts))
        return no_memory(reader->error);
    lab_final_fact *fact = &trial->facts[trial->fact_count++];
    *fact = (lab_final_fact){ .name = strdup(field->key),
                              .number = field->kind == LAB_RECORD_INTEGER ? (double)field->integer
                                                                          : field->real };
    if (field->kind == LAB_RECORD_TEXT)
        fact->text = strdup(field->text);
    return fact->name && (fact->text || field->kind != LAB_RECORD_TEXT) ? HEED_OK
                                                                        : no_memory(reader->error);
}

/* "begun 2026-01-31T23:59:59Z, finished ..." */
static heed_status take_event(trial_reader *reader, const lab_record_field *field)
{
    char *longer = NULL;
    const char *before = reader->trial->events ? reader->trial->events : "";
    if (!field->text || strcmp(field->name, "at") == 0)
        return HEED_OK;
    bool state = strcmp(field->name, "state") == 0;
    size_t size = strlen(before) + strlen(field->text) + strlen(field->key) + 8;
    if (!(longer = malloc(size)))
        return no_memory(reader->error);
    if (state)
        snprintf(longer, size, "%s%s%s %s", before, *before ? ", " : "", field->text, field->key);
    else
        snprintf(longer, size, "%s (%s)", before, field->text);
    free(reader->trial->events);
    reader->trial->events = longer;
    return HEED_OK;
}

static heed_status take_field(void *data, const lab_record_field *field)
{
    static const struct {
        const char *section;
        heed_status (*take)(trial_reader *reader, const lab_record_field *field);
    } takers[] = {
        { "samples", take_samples }, { "gates", take_gate },   { "comparisons", take_comparison },
        { "facts", take_fact },      { "events", take_event },
    };
    trial_reader *reader = data;
    take_number(reader->trial, field);
    for (size_t i = 0; i < TEXTS; i++)
        if (field->kind == LAB_RECORD_TEXT && strcmp(field->section, texts[i].section) == 0 &&
            strcmp(field->name, texts[i].name) == 0 && !*member_of(reader->trial, i) &&
            !(*member_of(reader->trial, i) = strdup(field->text)))
            return no_memory(reader->error);
    for (size_t i = 0; i < sizeof takers / sizeof *takers && field->key; i++)
        if (strcmp(field->section, takers[i].section) == 0)
            return takers[i].take(reader, field);
    return HEED_OK;
}

/* Takes only numbers, such as those of the compiler's output. */
static heed_status take_code(void *data, const lab_record_field *field)
{
    take_number(((trial_reader *)data)->trial, field);
    return HEED_OK;
}

static heed_status read_trial(lab_record *record, lab_final_trial *trial, bool whole,
                              lab_error *error)
{
    trial_reader reader = { .trial = trial, .error = error };
    heed_status status = HEED_OK;
    if (whole || lab_final_ranked(trial))
        status = lab_record_show(record, trial->row.trial, whole ? take_field : take_code, &reader,
                                 error);
    if (whole)
        trial->warps = lab_final_occupancy(trial->row.device, trial->launch, trial->registers,
                                           trial->shared, &trial->warps_max);
    return status;
}

static heed_status read_trials(lab_record *record, lab_final_board *board, bool whole,
                               lab_error *error)
{
    board_reader reader = { .board = board, .error = error };
    lab_record_filter filter = { .part = LAB_BOARD_ALL };
    heed_status status = lab_record_visit(record, &filter, keep_trial, &reader, error);
    filter.part = LAB_BOARD_BEST;
    if (status == HEED_OK)
        status = lab_record_visit(record, &filter, mark_leader, &reader, error);
    for (size_t i = 0; status == HEED_OK && i < board->count; i++)
        status = read_trial(record, &board->trials[i], whole, error);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Order                                                                      */
/* -------------------------------------------------------------------------- */

static int order_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_place(const lab_final_trial *a, const lab_final_trial *b)
{
    int order = strcmp(a->row.device, b->row.device);
    order = order ? order : (a->row.threads > b->row.threads) - (a->row.threads < b->row.threads);
    order = order ? order : strcmp(a->row.problem, b->row.problem);
    return order ? order : order_text(a->row.timing, b->row.timing);
}

static int by_place_and_time(const void *a, const void *b)
{
    const lab_final_trial *x = a, *y = b;
    int order = by_place(x, y);
    order = order ? order : (x->at > y->at) - (x->at < y->at);
    return order ? order : (x->row.trial > y->row.trial) - (x->row.trial < y->row.trial);
}

size_t lab_final_place_end(const lab_final_trial *trials, size_t begin, size_t count)
{
    size_t end = begin + 1;
    while (end < count && by_place(&trials[begin], &trials[end]) == 0)
        end++;
    return end;
}

bool lab_final_ranked(const lab_final_trial *trial)
{
    return trial->row.confirmed && trial->row.seconds > 0 && trial->row.timing &&
           strcmp(trial->row.verdict, "ok") == 0 && strcmp(trial->row.trusted, "no") != 0 &&
           trial->row.sound;
}

/* -------------------------------------------------------------------------- */
/* Pareto                                                                     */
/* -------------------------------------------------------------------------- */

lab_standing lab_final_standing(const lab_final_trial *trial, bool counts)
{
    lab_standing standing = { .time = counts ? trial->row.seconds : (double)INFINITY,
                              .point_facts = lab_point_facts_unknown() };
    standing.point_facts.value[LAB_FACT_REGISTERS] = trial->registers;
    standing.point_facts.value[LAB_FACT_SMEM] = trial->shared;
    return standing;
}

/* Marks the Pareto front of the @count trials of a place. */
static bool mark_front(lab_final_trial *trials, size_t count, size_t *fronts)
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
        bool counts = lab_final_ranked(&trials[i]) && trials[i].registers >= 0;
        standings[i] = lab_final_standing(&trials[i], counts);
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

static bool mark_fronts(lab_final_board *board)
{
    bool good = true;
    for (size_t i = 0, next; good && i < board->count; i = next) {
        next = lab_final_place_end(board->trials, i, board->count);
        good = mark_front(&board->trials[i], next - i, &board->fronts);
    }
    return good;
}

/* -------------------------------------------------------------------------- */
/* The board                                                                  */
/* -------------------------------------------------------------------------- */

heed_status lab_final_board_read(lab_final_board *board, lab_record *record, bool whole,
                                 lab_error *error)
{
    board->there = true;
    snprintf(board->path, sizeof board->path, "%s", lab_record_place(record));
    heed_status status = read_trials(record, board, whole, error);
    if (board->count > 0)
        qsort(board->trials, board->count, sizeof *board->trials, by_place_and_time);
    return status == HEED_OK && !mark_fronts(board) ? no_memory(error) : status;
}

void lab_final_board_free(lab_final_board *board)
{
    for (size_t i = 0; i < board->count; i++)
        free_trial(&board->trials[i]);
    free(board->trials);
    *board = (lab_final_board){ .count = 0 };
}

const char *lab_final_name(const lab_final_trial *trial, char text[LAB_FINAL_NAME])
{
    snprintf(text, LAB_FINAL_NAME, "%.250s%s%.250s", trial->row.kernel,
             *trial->row.config ? "__" : "", trial->row.config);
    return text;
}

const lab_final_fact *lab_final_fact_of(const lab_final_trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->fact_count; i++)
        if (strcmp(trial->facts[i].name, name) == 0)
            return &trial->facts[i];
    return NULL;
}
