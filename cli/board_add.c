/*
 * board_add.c - `heed board add`: files of heed.bench/1, each a run of the board
 *
 * A file is known by its hash: adding it once more goes on where the first time stopped, or finds
 * nothing to do.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "board_claims.h"
#include "library.h"
#include "manifest.h"
#include "wisdom_line.h"

#define COUNT_MAX ((int64_t)1 << 53)
#define RIVALS_MAX 32
#define FACTS_MAX 16

/* One file, on its way. */
typedef struct board_file {
    lab_record *record;
    const char *path;
    json_t *json;
    int64_t run;
    lab_record_device device;
    lab_record_environment environment;
    char driver[16], nvrtc[16];
    cli_board_tools tools;
    size_t added, known, left_out; /* trials; rows without a kernel */
} board_file;

/* -------------------------------------------------------------------------- */
/* JSON                                                                       */
/* -------------------------------------------------------------------------- */

/* A member that is a text, else NULL; a number, else 0. */
static const char *text_of(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

static double number_of(const json_t *object, const char *member)
{
    return json_number_value(json_object_get(object, member));
}

/* A member that is a number from 0 to @most, else 0. */
static int64_t integer_of(const json_t *object, const char *member, int64_t most)
{
    double value = number_of(object, member);
    return value >= 0 && value <= (double)most ? (int64_t)value : 0;
}

static void read_place(board_file *file)
{
    const json_t *facts = json_object_get(file->json, "device_facts");
    const json_t *around = json_object_get(file->json, "environment");
    const char *features = text_of(facts, "features");
    const char *backend = text_of(facts, "backend"), *cpu = text_of(file->json, "cpu");
    file->device = (lab_record_device){
        .name = text_of(file->json, "device"),
        .backend = backend ? backend : "cpu",
        .memory_bytes = number_of(facts, "memory_bytes"),
        .cache_bytes = number_of(facts, "cache_bytes"),
        .multiprocessors = number_of(facts, "multiprocessors"),
        .clock_hz = number_of(facts, "clock_hz"),
        .bandwidth = number_of(facts, "bandwidth"),
    };
    file->environment = (lab_record_environment){
        .features = features ? features : cpu,
        .threads = (int)integer_of(file->json, "threads", 1024),
        .build = text_of(file->json, "build"),
        .heed = text_of(around, "heed"),
        .commit = text_of(around, "commit"),
        .driver = cli_board_version(features, "driver", file->driver),
        .nvrtc = cli_board_version(features, "nvrtc", file->nvrtc),
        .compiler = text_of(around, "compiler"),
        .cpu = text_of(around, "cpu"),
        .system = text_of(around, "kernel"),
        .governor = text_of(around, "governor"),
    };
    /* A record of another heed has sources that are not here. */
    const char *build = file->environment.build;
    if (build && strcmp(build, heed_wisdom_build()) == 0)
        file->environment.library = cli_library_sources();
}

static cli_exit read_manifest(board_file *file)
{
    json_t *manifest;
    cli_exit code = cli_manifest_of_record(&manifest, file->json, file->path);
    file->environment.manifest = text_of(file->json, "manifest");
    if (manifest)
        cli_board_tools_take(&file->tools, manifest, &file->environment);
    json_decref(manifest);
    return code;
}

/* -------------------------------------------------------------------------- */
/* One row of the file: a trial                                               */
/* -------------------------------------------------------------------------- */

/* The texts that a trial points to. */
typedef struct board_trial {
    heed_problem problem;
    char kernel[HEED_NAME_SIZE];
    lab_record_comparison comparisons[RIVALS_MAX];
    lab_record_samples samples[1 + 2 * RIVALS_MAX];
    double *values[1 + 2 * RIVALS_MAX];
    lab_record_fact facts[FACTS_MAX];
    lab_record_gate gate;
    lab_record_trial trial;
} board_trial;

static void free_values(board_trial *t)
{
    for (size_t i = 0; i < sizeof t->values / sizeof *t->values; i++)
        free(t->values[i]);
}

/* Adds the numbers of @array, if there are any. Returns false if there is no memory. */
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
    const json_t *rivals = json_object_get(file->json, "rivals");
    for (size_t i = 0; i < json_array_size(rivals); i++) {
        const json_t *rival = json_array_get(rivals, i);
        const char *known = text_of(rival, "name");
        if (known && strcmp(known, name) == 0)
            return text_of(rival, "version");
    }
    return NULL;
}

static bool add_rival(const board_file *file, board_trial *t, const json_t *rival)
{
    const json_t *compared = json_object_get(rival, "comparison");
    const char *name = text_of(rival, "name"), *outcome = text_of(rival, "outcome");
    if (!name || t->trial.comparison_count == RIVALS_MAX)
        return true;
    t->comparisons[t->trial.comparison_count++] = (lab_record_comparison){
        .against = name,
        .version = version_of(file, name),
        .method = text_of(rival, "method"),
        .outcome = outcome ? outcome : "unknown",
        .reason = text_of(rival, "reason"),
        .seconds = number_of(rival, "seconds"),
        .ratio = number_of(compared, "ratio"),
        .low = number_of(compared, "low"),
        .high = number_of(compared, "high"),
        .margin = number_of(compared, "margin"),
        .verdict = text_of(compared, "verdict"),
        .pairs = integer_of(compared, "pairs", COUNT_MAX),
    };
    lab_record_samples samples = { .against = name, .kind = t->trial.timing };
    bool good = add_samples(t, json_object_get(rival, "heed_blocks"), samples);
    samples.other = true;
    samples.calls = integer_of(rival, "replay_calls", COUNT_MAX);
    return good && add_samples(t, json_object_get(rival, "rival_blocks"), samples);
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
    for (size_t i = 0; outcome && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].outcome, outcome) == 0)
            return words[i].verdict;
    return LAB_RECORD_FAILED;
}

/* The checks of heed bench: some rows of the timed output, where there is one. */
static void add_gate(board_trial *t, const json_t *row)
{
    const json_t *error = json_object_get(row, "error");
    if (!json_is_number(error) || !(number_of(row, "rows_checked") > 0))
        return;
    t->gate = (lab_record_gate){ .name = "rows",
                                 .passed = json_number_value(error) <= 1,
                                 .detail = t->trial.verdict == LAB_RECORD_WRONG ? t->trial.reason
                                                                                : NULL,
                                 .seed = t->trial.seed };
    t->trial.gates = &t->gate;
    t->trial.gate_count = 1;
}

/* Splits "kernel__config" in place. */
static void split_name(board_trial *t)
{
    char *at = strstr(t->kernel, "__");
    t->trial.candidate.kernel = t->kernel;
    t->trial.candidate.proposer = "bench";
    t->trial.candidate.seed = t->trial.seed;
    if (!at)
        return;
    *at = '\0';
    t->trial.candidate.config = at + 2;
}

static void fill_trial(const board_file *file, board_trial *t, const json_t *row)
{
    const json_t *seconds = json_object_get(row, "seconds");
    const char *time = text_of(json_object_get(file->json, "environment"), "time");
    bool cold = json_is_true(json_object_get(file->json, "cold"));
    t->trial = (lab_record_trial){
        .run = file->run,
        .problem = &t->problem,
        .device = file->device,
        .environment = file->environment,
        .seed = (uint64_t)integer_of(file->json, "seed", COUNT_MAX),
        .started = time,
        .ended = time,
        .verdict = verdict_of(text_of(row, "outcome")),
        .reason = text_of(row, "reason"),
        .confirmed = true, /* nobody chose it by these samples */
        .seconds = number_of(seconds, "p50"),
        .p90 = number_of(seconds, "p90"),
        .of_roofline = number_of(row, json_object_get(row, "of_roofline") ? "of_roofline"
                                                                          : "of_ceiling"),
        .samples = t->samples,
        .comparisons = t->comparisons,
        .facts = t->facts,
    };
    if (t->trial.seconds > 0)
        t->trial.timing = cold ? LAB_RECORD_COLD : LAB_RECORD_HOT;
    split_name(t);
    add_gate(t, row);
}

/* How many of the rows before @index are of the same kernel and problem: captured values may be. */
static int attempt_of(const json_t *rows, size_t index)
{
    const json_t *row = json_array_get(rows, index);
    int count = 0;
    for (size_t i = 0; i < index; i++) {
        const json_t *other = json_array_get(rows, i);
        count += json_equal(json_object_get(other, "problem"), json_object_get(row, "problem")) &&
                 json_equal(json_object_get(other, "kernel"), json_object_get(row, "kernel"));
    }
    return count;
}

static cli_exit fail_row(const board_file *file, size_t index, const char *why)
{
    cli_error("%s: rows[%zu]: %s", file->path, index, why);
    return CLI_CORRUPT;
}

/* A record whose figures cannot be is refused: somebody else than heed made it, or changed it. */
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
        cli_error("%s: %s", file->path, error.text);
        return cli_exit_of(status);
    }
    *(found.trial ? &file->known : &file->added) += 1;
    return CLI_OK;
}

static cli_exit add_row(board_file *file, const json_t *rows, size_t index)
{
    const json_t *row = json_array_get(rows, index), *rivals = json_object_get(row, "rivals");
    const char *spec = text_of(row, "problem"), *kernel = text_of(row, "kernel");
    lab_error error;
    board_trial t = { .kernel = "" };
    if (!spec || heed_problem_parse(&t.problem, spec) != HEED_OK)
        return fail_row(file, index, spec ? heed_message() : "problem is missing");
    if (!kernel) { /* none could do it, or planning failed */
        file->left_out++;
        return CLI_OK;
    }
    if (strlen(kernel) >= sizeof t.kernel)
        return fail_row(file, index, "kernel is too long");
    snprintf(t.kernel, sizeof t.kernel, "%s", kernel);
    fill_trial(file, &t, row);
    t.trial.attempt = attempt_of(rows, index);
    lab_record_samples own = { .kind = t.trial.timing };
    own.calls = integer_of(json_object_get(row, "replay"), "calls", COUNT_MAX);
    bool good = add_samples(&t, json_object_get(row, "samples"), own);
    for (size_t i = 0; good && i < json_array_size(rivals); i++)
        good = add_rival(file, &t, json_array_get(rivals, i));
    add_facts(&t, row);
    cli_exit code = CLI_ENVIRONMENT;
    if (good && board_claims_check(file->json, row, &t.trial, &error) != HEED_OK)
        code = fail_row(file, index, error.text);
    else if (good)
        code = append(file, &t, index);
    else
        cli_error("%s: not enough memory", file->path);
    free_values(&t);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The file                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit add_rows(board_file *file)
{
    const json_t *rows = json_object_get(file->json, "rows");
    cli_exit code = CLI_OK;
    if (!file->device.name || !json_is_array(rows)) {
        cli_error("%s: %s is missing", file->path, file->device.name ? "rows" : "device");
        return CLI_CORRUPT;
    }
    for (size_t i = 0; code == CLI_OK && i < json_array_size(rows); i++)
        code = cli_interrupted() ? CLI_INTERRUPTED : add_row(file, rows, i);
    return code;
}

/* The words of the state are those of record.h. */
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
    const char *slash = strrchr(file->path, '/');
    char command[256];
    snprintf(command, sizeof command, "heed board add %s", slash ? slash + 1 : file->path);
    const lab_record_work work = { .key = key, .verb = "bench", .command = command };
    heed_status status = lab_record_finished(file->record, key, &finished, &error);
    if (status == HEED_OK && finished) {
        cli_message("%s: on the board already, as run %lld", file->path, (long long)finished);
        return CLI_OK;
    }
    if (status == HEED_OK)
        status = lab_record_begin(file->record, &work, &file->run, &resumed, &error);
    if (status != HEED_OK)
        return cli_board_fail(status, &error);
    cli_exit code = add_rows(file);
    status = lab_record_end(file->record, file->run, state_of(code), NULL, &error);
    if (status != HEED_OK && code == CLI_OK)
        return cli_board_fail(status, &error);
    if (code == CLI_OK)
        cli_message("%s: %zu trials added, %zu already there, %zu rows without a kernel left out",
                    file->path, file->added, file->known, file->left_out);
    return code;
}

static cli_exit add_file(lab_record *record, const char *path)
{
    char hash[LAB_RECORD_HASH_SIZE], key[LAB_RECORD_HASH_SIZE + 8];
    board_file file = { .record = record, .path = path };
    cli_exit code = cli_read_record(file.path, &file.json, hash);
    if (code == CLI_OK) {
        snprintf(key, sizeof key, "bench %s", hash);
        read_place(&file);
        code = read_manifest(&file);
        code = code == CLI_OK ? add_run(&file, key) : code;
    }
    json_decref(file.json);
    cli_board_tools_free(&file.tools);
    return code;
}

cli_exit cli_board_add(const cli_args *args)
{
    lab_record *record;
    cli_interrupt_catch();
    cli_exit code = cli_board_open(&record, LAB_RECORD_WRITE, args);
    /* Files after one that is no good are added all the same. */
    for (int i = 1; record && code != CLI_INTERRUPTED && i < cli_args_operand_count(args); i++) {
        cli_exit result = add_file(record, cli_args_operand(args, i));
        code = code == CLI_OK || result == CLI_INTERRUPTED ? result : code;
    }
    lab_record_close(record);
    return code;
}
