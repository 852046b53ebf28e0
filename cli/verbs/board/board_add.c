/*
 * board_add.c - `heed board add`: files of heed.bench/1, each a run of the board
 *
 * A file is identified by its hash: adding it again resumes an interrupted import, or does nothing.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "board.h"
#include "build/sources.h"
#include "cli/verbs/report/report.h"
#include "wisdom_line.h"

#define FACTS_MAX 16

/* A file being added. */
typedef struct board_file {
    lab_record *record;
    report_record *source;
    int64_t run;
    lab_record_device device;
    lab_record_environment environment;
    char driver[16], nvrtc[16];
    cli_board_tools tools;
    size_t added, known, left_out; /* trials; rows without a kernel */
} board_file;

static cli_exit read_place(board_file *file)
{
    report_record *source = file->source;
    if (source->threads < 1 || source->threads > 1024) {
        field_enter(&source->reader, "%s", "");
        field_fail(&source->reader, "threads", json_object_get(source->json, "threads"),
                   "a number from 1 to 1024");
        return CLI_CORRUPT;
    }
    lab_record_environment *around = &file->environment;
    file->device = source->device;
    if (!file->device.backend)
        file->device.backend = "cpu";
    *around = source->around;
    around->features = source->around.features ? source->around.features : source->cpu_level;
    around->threads = (int)source->threads;
    around->driver = cli_board_version(source->around.features, "driver", file->driver);
    around->nvrtc = cli_board_version(source->around.features, "nvrtc", file->nvrtc);
    /* The sources of a record by another build are not available here. */
    if (source->around.build && strcmp(source->around.build, heed_wisdom_build()) == 0)
        around->library = lab_build_sources();
    if (source->manifest)
        cli_board_tools_take(&file->tools, source->manifest, around);
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* One row of the file: a trial                                               */
/* -------------------------------------------------------------------------- */

/* A trial, and the texts that it points to. */
typedef struct board_trial {
    char kernel[HEED_NAME_SIZE];
    lab_record_comparison comparisons[REPORT_RIVALS_MAX];
    lab_record_samples samples[1 + 2 * REPORT_RIVALS_MAX];
    double *values[1 + 2 * REPORT_RIVALS_MAX];
    lab_record_fact facts[FACTS_MAX];
    lab_record_gate gate;
    lab_record_trial trial;
} board_trial;

static void free_values(board_trial *t)
{
    for (size_t i = 0; i < sizeof t->values / sizeof *t->values; i++)
        free(t->values[i]);
}

/* Adds the numbers of @array, if any, which have been checked. Returns false if memory runs out. */
static bool add_samples(board_trial *t, const json_t *array, lab_record_samples samples)
{
    size_t count = json_array_size(array), at = t->trial.sample_count;
    if (count == 0)
        return true;
    double *values = malloc(count * sizeof *values);
    if (!values)
        return false;
    for (size_t i = 0; i < count; i++)
        values[i] = json_number_value(json_array_get(array, i));
    samples.seconds = t->values[at] = values;
    samples.count = count;
    t->samples[at] = samples;
    t->trial.sample_count++;
    return true;
}

/* Adds @value, which has been checked: it is a text, a number, or absent. */
static void add_fact(board_trial *t, const char *name, const json_t *value)
{
    lab_record_fact fact = { .name = name, .number = (double)NAN };
    if (json_is_string(value))
        fact.text = json_string_value(value);
    else if (json_is_number(value))
        fact.number = json_number_value(value);
    else
        return;
    if (t->trial.fact_count < FACTS_MAX)
        t->facts[t->trial.fact_count++] = fact;
}

static void add_facts(board_trial *t, const json_t *row)
{
    static const char *const of_row[] = { "label", "error", "rows_checked", "copies" };
    static const char *const of_state[] = { "sm_clock_hz",   "memory_clock_hz", "power_w",
                                            "temperature_c", "throttle",        "other_processes" };
    const json_t *replay = json_object_get(row, "replay"),
                 *state = json_object_get(replay, "state");
    for (size_t i = 0; i < sizeof of_row / sizeof *of_row; i++)
        add_fact(t, of_row[i], json_object_get(row, of_row[i]));
    add_fact(t, "hot_seconds", json_object_get(replay, "hot"));
    add_fact(t, "cold_seconds", json_object_get(replay, "cold"));
    add_fact(t, "launch_seconds", json_object_get(replay, "launch"));
    add_fact(t, "eager_p50", json_object_get(json_object_get(replay, "eager"), "p50"));
    add_fact(t, "eager_p90", json_object_get(json_object_get(replay, "eager"), "p90"));
    for (size_t i = 0; i < sizeof of_state / sizeof *of_state; i++)
        add_fact(t, of_state[i], json_object_get(state, of_state[i]));
}

static const char *version_of(const board_file *file, const char *name)
{
    const json_t *rivals = json_object_get(file->source->json, "rivals");
    for (size_t i = 0; i < json_array_size(rivals); i++) {
        const json_t *rival = json_array_get(rivals, i);
        const char *known = json_string_value(json_object_get(rival, "name"));
        if (known && strcmp(known, name) == 0)
            return json_string_value(json_object_get(rival, "version"));
    }
    return NULL;
}

/* A board identifies the rivals of a trial by their names. */
static cli_exit check_names(field_reader *r, const report_row *row, size_t index)
{
    for (size_t i = 0; i < row->match_count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(row->matches[i].name, row->matches[j].name) == 0) {
                const json_t *rival = json_array_get(json_object_get(row->json, "rivals"), i);
                field_enter(r, "rows[%zu].rivals[%zu].", index, i);
                field_fail(r, "name", json_object_get(rival, "name"), "that of no rival before it");
                return CLI_CORRUPT;
            }
    return CLI_OK;
}

static bool add_rival(const board_file *file, board_trial *t, const report_match *match)
{
    t->comparisons[t->trial.comparison_count++] = (lab_record_comparison){
        .against = match->name,
        .version = version_of(file, match->name),
        .method = match->method,
        .outcome = match->outcome,
        .reason = match->reason,
        .seconds = match->seconds,
        .ratio = match->ratio,
        .low = match->low,
        .high = match->high,
        .margin = match->margin,
        .verdict = match->verdict,
        .pairs = match->pairs,
    };
    lab_record_samples samples = { .against = match->name, .kind = t->trial.timing };
    bool good = add_samples(t, match->heed_blocks, samples);
    samples.other = true;
    samples.calls = match->calls;
    return good && add_samples(t, match->rival_blocks, samples);
}

static lab_record_verdict verdict_of(const char *outcome)
{
    static const struct {
        const char *outcome;
        lab_record_verdict verdict;
    } words[] = {
        { "ok", LAB_RECORD_OK },           { "refused", LAB_RECORD_UNFIT },
        { "skipped", LAB_RECORD_SKIPPED }, { "wrong", LAB_RECORD_WRONG },
        { "failed", LAB_RECORD_FAILED },   { "impossible", LAB_RECORD_IMPOSSIBLE },
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].outcome, outcome) == 0)
            return words[i].verdict;
    return LAB_RECORD_FAILED;
}

/* Adds the check of heed bench, of some rows of the timed output, if there was one. */
static void add_gate(board_trial *t, const report_row *row)
{
    if (row->error < 0 || row->rows_checked == 0)
        return;
    t->gate = (lab_record_gate){ .name = "rows",
                                 .passed = row->error <= 1,
                                 .detail = t->trial.verdict == LAB_RECORD_WRONG ? row->reason
                                                                                : NULL,
                                 .seed = t->trial.seed };
    t->trial.gates = &t->gate;
    t->trial.gate_count = 1;
}

/* Splits "kernel__config". */
static void split_name(board_trial *t, const char *name)
{
    snprintf(t->kernel, sizeof t->kernel, "%s", name);
    char *at = strstr(t->kernel, "__");
    t->trial.candidate.kernel = t->kernel;
    t->trial.candidate.proposer = "bench";
    t->trial.candidate.seed = t->trial.seed;
    if (!at)
        return;
    *at = '\0';
    t->trial.candidate.config = at + 2;
}

static void fill_trial(const board_file *file, board_trial *t, const report_row *row)
{
    const report_record *source = file->source;
    const json_t *share = json_object_get(row->json, "of_roofline");
    t->trial = (lab_record_trial){
        .run = file->run,
        .problem = &row->shape,
        .device = file->device,
        .environment = file->environment,
        .seed = (uint64_t)source->seed,
        .started = source->time,
        .ended = source->time,
        .verdict = verdict_of(row->outcome),
        .reason = row->reason,
        .confirmed = true, /* it was not chosen by these samples */
        .seconds = row->p50,
        .p90 = row->p90,
        .of_roofline = json_number_value(share ? share : json_object_get(row->json, "of_ceiling")),
        .samples = t->samples,
        .comparisons = t->comparisons,
        .facts = t->facts,
    };
    if (t->trial.seconds > 0)
        t->trial.timing = source->cold ? LAB_RECORD_COLD : LAB_RECORD_HOT;
    split_name(t, row->kernel);
    add_gate(t, row);
}

/* The number of rows before @index with the same kernel and problem, as for captured values. */
static int attempt_of(const report_row *rows, size_t index)
{
    const report_row *row = &rows[index];
    int count = 0;
    for (size_t i = 0; i < index; i++)
        count += rows[i].kernel && strcmp(rows[i].kernel, row->kernel) == 0 &&
                 strcmp(rows[i].problem, row->problem) == 0;
    return count;
}

static cli_exit fail_row(const board_file *file, size_t index, const char *why)
{
    cli_error("%s: rows[%zu]: %s", file->source->path, index, why);
    return CLI_CORRUPT;
}

/* A record with impossible figures is refused: it was not made by heed, or changed. */
static cli_exit append(board_file *file, board_trial *t, size_t index)
{
    lab_error error;
    lab_record_found found;
    heed_status status = lab_record_find(file->record, &t->trial, &found, &error);
    if (status == HEED_OK && !found.trial && t->trial.verdict == LAB_RECORD_OK &&
        !lab_record_plausible(file->record, &t->trial, &error))
        status = HEED_ERR_INVALID;
    else if (status == HEED_OK && !found.trial)
        status = lab_record_append(file->record, &t->trial, NULL, &error);
    if (status == HEED_ERR_INVALID)
        return fail_row(file, index, error.text);
    if (status != HEED_OK) {
        cli_error("%s: %s", file->source->path, error.text);
        return cli_exit_of(status);
    }
    *(found.trial ? &file->known : &file->added) += 1;
    return CLI_OK;
}

static cli_exit add_row(board_file *file, size_t index)
{
    const report_row *row = &file->source->rows[index];
    lab_error error;
    board_trial t = { .kernel = "" };
    if (!row->kernel) { /* no kernel supports it, or planning failed */
        file->left_out++;
        return CLI_OK;
    }
    fill_trial(file, &t, row);
    t.trial.attempt = attempt_of(file->source->rows, index);
    lab_record_samples own = { .kind = t.trial.timing, .calls = row->calls };
    bool good = add_samples(&t, row->samples, own);
    for (size_t i = 0; good && i < row->match_count; i++)
        good = add_rival(file, &t, &row->matches[i]);
    add_facts(&t, row->json);
    cli_exit code = CLI_ENVIRONMENT;
    if (good && board_claims_check(file->source->json, row->json, &t.trial, &error) != HEED_OK)
        code = fail_row(file, index, error.text);
    else if (good)
        code = append(file, &t, index);
    else
        cli_error("%s: not enough memory", file->source->path);
    free_values(&t);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The file                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit add_rows(board_file *file)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < file->source->row_limit; i++) {
        code = cli_interrupted() ? CLI_INTERRUPTED : report_read_row(file->source);
        if (code == CLI_OK)
            code = check_names(&file->source->reader, &file->source->rows[i], i);
        if (code == CLI_OK)
            code = add_row(file, i);
    }
    return code;
}

/* The state in terms of record.h. */
static lab_record_state state_of(cli_exit code)
{
    return code == CLI_OK            ? LAB_RECORD_FINISHED
           : code == CLI_INTERRUPTED ? LAB_RECORD_INTERRUPTED
                                     : LAB_RECORD_BROKEN;
}

static cli_exit add_run(board_file *file, const char *key)
{
    lab_error error;
    int64_t finished = 0;
    bool resumed;
    char command[256];
    snprintf(command, sizeof command, "heed board add %s", basename(file->source->path));
    const lab_record_work work = { .key = key, .verb = "bench", .command = command };
    heed_status status = lab_record_finished(file->record, key, &finished, &error);
    if (status == HEED_OK && finished) {
        cli_message("%s: on the board already, as run %lld", file->source->path,
                    (long long)finished);
        return CLI_OK;
    }
    if (status == HEED_OK)
        status = lab_record_begin(file->record, &work, &file->run, &resumed, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_exit code = add_rows(file);
    status = lab_record_end(file->record, file->run, state_of(code), NULL, &error);
    if (status != HEED_OK && code == CLI_OK)
        return cli_fail_error(status, &error);
    if (code == CLI_OK)
        cli_message("%s: %zu trial%s added, %zu already there, %zu row%s without a kernel left out",
                    file->source->path, file->added, lab_plural(file->added), file->known,
                    file->left_out, lab_plural(file->left_out));
    return code;
}

static cli_exit add_file(lab_record *record, const char *path)
{
    char key[LAB_RECORD_HASH_SIZE + 8];
    board_file file = { .record = record };
    cli_exit code = report_open(&file.source, path);
    if (code == CLI_OK)
        code = read_place(&file);
    if (code == CLI_OK && file.source->behind) {
        cli_message("%s: left out: its times include a kernel of another module", path);
    } else if (code == CLI_OK) {
        snprintf(key, sizeof key, "bench %s", file.source->file_hash);
        code = add_run(&file, key);
    }
    report_record_free(file.source);
    cli_board_tools_free(&file.tools);
    return code;
}

cli_exit cli_board_add(const cli_args *args)
{
    lab_record *record;
    cli_interrupt_catch();
    cli_exit code = cli_board_open(&record, LAB_RECORD_WRITE, args);
    /* Files after a bad one are still added. */
    for (int i = 1; record && code != CLI_INTERRUPTED && i < cli_args_operand_count(args); i++) {
        cli_exit result = add_file(record, cli_args_operand(args, i));
        code = code == CLI_OK || result == CLI_INTERRUPTED ? result : code;
    }
    lab_record_close(record);
    return code;
}
