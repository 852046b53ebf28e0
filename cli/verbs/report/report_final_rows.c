/*
 * report_final_rows.c - leaders of the board and rows of records, with their opponents, their
 * limits, and the command that repeats each
 */
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "measure/stats.h"
#include "report_final.h"

/* ---- Commands ---- */

static void add_word(FILE *stream, const char *option, const char *text)
{
    fprintf(stream, " %s ", option);
    cli_shell_word(stream, text);
}

/* Adds the options for the device. A CPU's features are those that it was allowed to use. */
static void add_place(FILE *stream, const report_final_row *row)
{
    fprintf(stream, " --device %s --threads %d", row->cuda ? "cuda" : "cpu", row->place.threads);
    if (!row->cuda && row->place.features)
        add_word(stream, "--cpu", row->place.features);
}

/* The command of a source rebuilds it from the board. */
static void write_command(FILE *stream, const report_final *final, const report_final_row *row,
                          const char *peers, const report_record *record)
{
    if (row->trial && row->trial->row.foreign) {
        fputs("heed gate", stream);
        add_place(stream, row);
        add_word(stream, "--board", final->run->board.path);
        add_word(stream, "--problem", row->problem);
        return;
    }
    fputs("heed bench", stream);
    add_place(stream, row);
    fputs(row->place.cold ? " --cold" : "", stream);
    fputs(record && record->behind ? " --behind" : "", stream);
    if (record && record->replay && !row->cuda)
        fputs(" --replay", stream);
    if (*row->kernel)
        add_word(stream, "--kernel", row->kernel);
    add_word(stream, "--peers", peers);
    if (record && record->seconds > 0)
        fprintf(stream, " --seconds %g", record->seconds);
    if (record && record->seed > 0)
        fprintf(stream, " --seed %lld", (long long)record->seed);
    fputc(' ', stream);
    cli_shell_word(stream, row->problem);
}

static bool make_command(report_final *final, report_final_row *row, const char *peers,
                         const report_record *record)
{
    size_t size;
    FILE *memory = open_memstream(&row->command, &size);
    if (memory)
        write_command(memory, final, row, peers, record);
    return memory && fclose(memory) == 0 && row->command;
}

/* ---- Opponents ---- */

/* Keeps the fastest of each kind. */
static void take_side(report_final_row *row, const lab_final_side *side)
{
    const bool sdpa = strncmp(side->name, "torch", strlen("torch")) == 0;
    lab_final_side *best = sdpa ? &row->sdpa : &row->other;
    if (side->p50 > 0 && side->ratio > 0 && (!*best->name || side->p50 < best->p50))
        *best = *side;
}

/* The 90th percentile of its blocks; 0: none. */
static double p90_of(const json_t *blocks)
{
    size_t count = json_array_size(blocks);
    double *seconds = calloc(count + 1, sizeof *seconds);
    for (size_t i = 0; seconds && i < count; i++)
        seconds[i] = json_number_value(json_array_get(blocks, i));
    const lab_summary summary = seconds ? lab_stats_summary_of(seconds, count)
                                        : (lab_summary){ .n = 0 };
    free(seconds);
    return summary.n > 0 ? summary.p90 : 0;
}

/* ---- Rows ---- */

static void take_limit(report_final_row *row, double known, const char *binds, const char *from)
{
    bool found = lab_final_limit_of(&row->limit, &row->place, row->problem);
    row->share = known > 0 ? known : found && row->p50 > 0 ? row->limit.seconds / row->p50 : 0;
    row->binds = known > 0 && binds ? binds : found ? row->limit.binds : NULL;
    row->share_from = known > 0 ? from : found ? row->limit.from : NULL;
}

static void say_gates(report_final_row *row)
{
    const lab_final_trial *trial = row->trial;
    if (trial->row.verified)
        snprintf(row->gates, sizeof row->gates, "all passed");
    else if (trial->gates > 0)
        snprintf(row->gates, sizeof row->gates, "%zu of %zu passed", trial->gates - trial->refused,
                 trial->gates);
    else
        snprintf(row->gates, sizeof row->gates, "not asked");
}

static bool add_leader(report_final *final, const lab_final_trial *trial)
{
    report_final_row *row = &final->rows[final->row_count++];
    const lab_record_row *it = &trial->row;
    *row = (report_final_row){
        .problem = it->problem,
        .place = { it->device, it->features, it->threads, strcmp(it->timing, "cold") == 0 },
        .cuda = strcmp(it->backend, "cuda") == 0,
        .p50 = it->seconds,
        .p90 = it->p90,
        .commit = it->commit,
        .trusted = it->trusted,
        .dirty = it->dirty,
        .trial = trial,
    };
    snprintf(row->from, sizeof row->from, "trial %lld", (long long)it->trial);
    lab_final_name(trial, row->kernel);
    for (size_t i = 0; i < trial->side_count; i++)
        take_side(row, &trial->sides[i]);
    take_limit(row, it->of_roofline, NULL, "board");
    say_gates(row);
    return make_command(final, row, "torch", NULL);
}

static void take_match(report_final_row *row, const report_match *match, FILE *peers)
{
    lab_final_side side = { .p50 = match->seconds,
                            .p90 = p90_of(match->rival_blocks),
                            .ratio = match->ratio,
                            .low = match->low,
                            .high = match->high };
    if (!match->ok)
        return;
    snprintf(side.name, sizeof side.name, "%s", match->name);
    snprintf(side.verdict, sizeof side.verdict, "%s", match->verdict);
    take_side(row, &side);
    fprintf(peers, "%s%s", ftell(peers) > 0 ? "," : "", match->name);
}

static bool add_record_row(report_final *final, const report_row *it)
{
    report_final_row *row = &final->rows[final->row_count++];
    const report_record *r = it->record;
    char *peers = NULL;
    size_t size;
    *row = (report_final_row){
        .problem = it->problem,
        .place = { r->device.name, r->around.features, (int)r->threads, r->cold },
        .cuda = r->device.backend ? strcmp(r->device.backend, "cuda") == 0 : r->replay,
        .p50 = it->p50,
        .p90 = it->p90,
        .commit = r->around.commit,
        .dirty = r->dirty,
    };
    snprintf(row->from, sizeof row->from, "%.150s", basename(r->path));
    snprintf(row->kernel, sizeof row->kernel, "%s", it->kernel ? it->kernel : "");
    if (it->error < 0)
        snprintf(row->gates, sizeof row->gates, "unverified");
    else
        snprintf(row->gates, sizeof row->gates, "%lld row%s, %.2f", (long long)it->rows_checked,
                 lab_plural(it->rows_checked), it->error);
    FILE *memory = open_memstream(&peers, &size);
    for (size_t i = 0; memory && i < it->match_count; i++)
        take_match(row, &it->matches[i], memory);
    bool good = memory && fclose(memory) == 0;
    take_limit(row, it->share, it->bound_by, it->share_of);
    good = good && make_command(final, row, *peers ? peers : "none", r);
    free(peers);
    return good;
}

cli_exit report_final_rows(report_final *final)
{
    const lab_final_board *board = &final->run->board;
    const report_records *records = &final->run->records;
    size_t room = board->count + 1;
    bool good = true;
    for (size_t i = 0; i < records->set_count; i++)
        room += records->sets[i].row_count;
    final->rows = calloc(room, sizeof *final->rows);
    for (size_t i = 0; final->rows && good && i < board->count; i++)
        if (board->trials[i].leads)
            good = add_leader(final, &board->trials[i]);
    for (size_t i = 0; final->rows && i < records->set_count; i++)
        for (size_t j = 0; good && j < records->sets[i].row_count; j++)
            if (records->sets[i].rows[j]->ok)
                good = add_record_row(final, records->sets[i].rows[j]);
    if (good && final->rows)
        return CLI_OK;
    cli_error("not enough memory for the results");
    return CLI_ENVIRONMENT;
}

void report_final_rows_free(report_final *final)
{
    for (size_t i = 0; i < final->row_count; i++)
        free(final->rows[i].command);
    free(final->rows);
}
