/*
 * selftest.c - `heed selftest`: tests the gates of verification on wrong and on correct kernels
 */
#include "selftest.h"

#include <inttypes.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/cli.h"
#include "cli/verbs/board/board.h"
#include "measure/environment.h"
#include "report/format.h"
#include "report/wrap.h"
#include "verify/isolate.h"

/* Each has a separate CUDA context. */
#define DEVICE_JOBS_MAX 8

/* -------------------------------------------------------------------------- */
/* Options                                                                    */
/* -------------------------------------------------------------------------- */

/* Reads the gates that remain after --gate. */
static cli_exit read_gates(const cli_args *args, uint32_t *gates)
{
    *gates = UINT32_MAX;
    for (size_t i = 0; i < cli_args_list_count(args, "gate"); i++) {
        const char *word = cli_args_list(args, "gate", i);
        cli_exit code = cli_name_check("--gate: there is no", word, lab_judge_name,
                                       "'heed verify --list' lists all names");
        if (code != CLI_OK)
            return code;
        *gates &= ~((uint32_t)1 << lab_judge_index(word));
    }
    return CLI_OK;
}

/* The name of the @index-th kernel of several lists. */
static const char *name_in(const lab_suite_list *lists, size_t count, size_t index)
{
    const lab_mutant *kernel = NULL;
    for (size_t list = 0; list < count; list++)
        for (size_t i = 0; (kernel = lab_mutant_at(lists[list], i)); i++)
            if (index-- == 0)
                return kernel->name;
    return NULL;
}

/* The names of the kernels of the host's suite, or of the device's. */
static const char *host_name(size_t index)
{
    static const lab_suite_list lists[] = { LAB_MUTANTS, LAB_CONTROLS, LAB_SOURCES };
    return name_in(lists, 3, index);
}

static const char *device_name(size_t index)
{
    static const lab_suite_list lists[] = { LAB_DEVICE_MUTANTS, LAB_DEVICE_CONTROLS };
    return name_in(lists, 2, index);
}

/* Leaves "cuda" and "cuda:N" in *@device, and sets NULL for the host. Does not check that the
 * device exists. */
static cli_exit check_device(const char **device)
{
    const char *name = *device;
    if (name && strcmp(name, "cpu") == 0)
        *device = NULL;
    if (!*device || strcmp(name, "cuda") == 0 ||
        (strncmp(name, "cuda:", 5) == 0 && name[5] &&
         strspn(name + 5, "0123456789") == strlen(name + 5)))
        return CLI_OK;
    cli_error("--device: \"%s\" is not a device; it must be cpu, cuda or cuda:N", name);
    return CLI_USAGE;
}

static int default_jobs(bool device)
{
    int cpus = lab_environment_cores(), half = cpus / 2;
    if (!device)
        return cpus > LAB_JOBS_MAX ? LAB_JOBS_MAX : cpus;
    return half < 1 ? 1 : half > DEVICE_JOBS_MAX ? DEVICE_JOBS_MAX : half;
}

/* -------------------------------------------------------------------------- */
/* --list                                                                     */
/* -------------------------------------------------------------------------- */

static void add_listed(lab_listing *rows, const lab_mutant *kernel)
{
    lab_cell_text(rows, "name", "mutant", kernel->name);
    lab_cell_left(rows, "to be killed by", "%s", kernel->gate ? kernel->gate : "none");
    lab_cell_text(rows, "does", "behaviour", kernel->does);
    if (kernel->spec)
        lab_cell_text(rows, "problem", NULL, kernel->spec);
    if (kernel->inputs)
        lab_cell_text(rows, "inputs", NULL, kernel->inputs);
    if (kernel->spec)
        lab_cell_text(rows, "gate", NULL, kernel->gate);
    lab_row_end(rows);
}

/* Each list is a member of the JSON object, and has a head in the table. */
static cli_exit list(const cli_args *args)
{
    static const struct {
        const char *key, *next; /* the head of the next list */
        lab_suite_list list;
    } lists[] = { { "mutants", "control", LAB_MUTANTS },
                  { "controls", "source", LAB_CONTROLS },
                  { "sources", "with --device", LAB_SOURCES },
                  { "device", NULL, LAB_DEVICE_MUTANTS } };
    lab_listing rows = cli_rows_begin(cli_args_json(args));
    json_t *all = json_pack("{s:[], s:[], s:[], s:[]}", "mutants", "controls", "device", "sources");
    const lab_mutant *kernel;
    for (size_t n = 0; n < sizeof lists / sizeof *lists; n++) {
        for (size_t i = 0; (kernel = lab_mutant_at(lists[n].list, i)); i++)
            add_listed(&rows, kernel);
        if (rows.json)
            json_object_set_new(all, lists[n].key, lab_listing_rows(&rows));
        else if (lists[n].next)
            lab_listing_rule(&rows, lists[n].next);
    }
    if (rows.json) {
        lab_listing_free(&rows);
        return cli_json_print(all, "selftest");
    }
    json_decref(all);
    return cli_table_print(rows);
}

/* -------------------------------------------------------------------------- */
/* The report                                                                 */
/* -------------------------------------------------------------------------- */

static lab_listing list_gates(const lab_selftest_result *result,
                              const lab_selftest_options *options, bool json)
{
    lab_listing rows = cli_rows_begin(json);
    for (size_t i = 0; i < LAB_JUDGES; i++) {
        const lab_selftest_gate *gate = &result->gates[i];
        lab_cell_text(&rows, "gate", "gate", lab_judge_name(i));
        if (json || options->gates >> i & 1) {
            lab_cell_count(&rows, "kills", "kills", (int64_t)gate->kills);
            lab_cell_count(&rows, "alone", "alone", (int64_t)gate->alone);
        } else {
            lab_cell_right(&rows, "kills", "left out");
            lab_cell_right(&rows, "alone", "%s", "");
        }
        lab_row_end(&rows);
    }
    return rows;
}

static json_t *json_failed(uint32_t failed)
{
    json_t *names = json_array();
    for (size_t i = 0; i < LAB_JUDGES; i++)
        if (failed >> i & 1)
            names = cli_json_append(names, json_string(lab_judge_name(i)));
    return names;
}

static json_t *json_entry(const lab_selftest_entry *entry)
{
    if (entry->kernel->gate)
        return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o, s:b, s:o}", "mutant", entry->kernel->name,
                         "problem", entry->spec, "inputs", entry->inputs, "gate",
                         entry->kernel->gate, "killed", entry->failed != 0, "by",
                         json_failed(entry->failed), "as_meant", entry->meant, "reason",
                         lab_json_text(entry->reason));
    return json_pack("{s:s, s:b, s:o, s:s, s:s, s:o}", "control", entry->kernel->name, "accepted",
                     entry->failed == 0, "by", json_failed(entry->failed), "problem", entry->spec,
                     "inputs", entry->inputs, "reason", lab_json_text(entry->reason));
}

static cli_exit print_json(const lab_selftest_result *result, const lab_selftest_options *options)
{
    json_t *kernels = json_array();
    char digest[17];
    snprintf(digest, sizeof digest, "%016" PRIx64, result->digest);
    for (size_t i = 0; i < result->entry_count; i++)
        if (result->entries[i].done)
            kernels = cli_json_append(kernels, json_entry(&result->entries[i]));
    json_t *json = json_pack(
        "{s:I, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "seed",
        (json_int_t)options->seed, "suite", digest, "trusted", result->trusted, "mutants",
        (json_int_t)result->mutants, "killed", (json_int_t)result->killed, "controls",
        (json_int_t)result->controls, "accepted", (json_int_t)result->accepted, "skipped",
        (json_int_t)result->skipped, "left_out", json_failed(~options->gates), "gates",
        lab_listing_take(list_gates(result, options, true)), "kernels", kernels);
    return cli_json_print(json, "selftest");
}

/* Prints survivors, rejected controls, and mutants that were not killed by the gate meant to kill
 * them. */
static void print_entry(const lab_selftest_entry *entry)
{
    const char *bad = cli_style(stderr, LAB_BAD), *plain = cli_style(stderr, LAB_PLAIN);
    if (entry->kernel->gate && !entry->failed)
        cli_message("%sSURVIVED%s %s, which %s: %s, %s inputs: %s", bad, plain, entry->kernel->name,
                    entry->kernel->does, entry->spec, entry->inputs, entry->reason);
    else if (entry->kernel->gate && !entry->meant)
        lab_wrap_format(stderr, 4, "%s was not killed by %s, but: %s", entry->kernel->name,
                        entry->kernel->gate, entry->reason);
    else if (!entry->kernel->gate && entry->failed)
        cli_message("%sREJECTED%s %s (%s): %s, %s inputs: %s", bad, plain, entry->kernel->name,
                    entry->kernel->does, entry->spec, entry->inputs, entry->reason);
}

static cli_exit print_text(const lab_selftest_result *result, const lab_selftest_options *options)
{
    char time[LAB_FORMAT_SIZE];
    for (size_t i = 0; i < result->entry_count; i++)
        if (result->entries[i].done)
            print_entry(&result->entries[i]);
    cli_exit code = cli_table_print(list_gates(result, options, false));
    printf("\nkilled %zu/%zu, accepted %zu/%zu\n", result->killed, result->mutants,
           result->accepted, result->controls);
    printf("suite %016" PRIx64 ", seed %llu, %s\n", result->digest,
           (unsigned long long)options->seed, lab_format_duration(result->seconds, time));
    return code;
}

/* -------------------------------------------------------------------------- */
/* A run                                                                      */
/* -------------------------------------------------------------------------- */

static void progress(void *data, size_t done, size_t total)
{
    lab_progress *line = data;
    line->total = total;
    lab_progress_step(line, done, NULL);
}

/* Tries the suite: the common part of all runs. */
static cli_exit try_suite(const lab_selftest_options *options, lab_selftest_result *result)
{
    lab_progress line = lab_progress_start(&cli_sink, "selftest", 1);
    line.uneven = true; /* sources are compiled, other kernels are functions */
    lab_selftest_options shown = *options;
    shown.stop = cli_interrupted;
    shown.progress = progress;
    shown.data = &line;
    heed_status status = selftest_run(&shown, result);
    lab_progress_end(&line);
    if (status == HEED_OK)
        return CLI_OK;
    cli_error("cannot try the gates: %s",
              status == HEED_ERR_NO_MEMORY ? "not enough memory" : "no process can be started");
    return cli_exit_of(status);
}

static cli_exit keep(lab_record *record, const lab_selftest_options *options,
                     const lab_selftest_result *result, int64_t *id)
{
    lab_error error;
    heed_status status = cli_board_selftest_add(record, options->device ? "cuda" : "cpu", result,
                                                id, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static cli_exit conclude(const lab_selftest_result *result, const lab_selftest_options *options,
                         bool json)
{
    cli_exit code = json ? print_json(result, options) : print_text(result, options);
    bool whole = result->killed == result->mutants && result->accepted == result->controls;
    if (cli_interrupted()) {
        cli_message("stopped early: %zu kernel%s not tried", result->skipped,
                    lab_plural(result->skipped));
        return CLI_INTERRUPTED;
    }
    return code != CLI_OK || whole ? code : CLI_FINDING;
}

/* Tries the suite, prints the result, and stores it on @record unless that is NULL. */
static cli_exit try_all(const cli_args *args, lab_selftest_options options, lab_record *record)
{
    lab_selftest_result result;
    int jobs = (int)cli_args_integer(args, "jobs");
    int64_t id;
    options.seed = (uint64_t)cli_args_integer(args, "seed");
    options.jobs = jobs > 0 ? jobs : default_jobs(options.device != NULL);
    options.deadline_s = (unsigned)cli_args_integer(args, "deadline");
    cli_exit code = try_suite(&options, &result);
    if (code != CLI_OK)
        return code;
    code = conclude(&result, &options, cli_args_json(args));
    if (record && (code == CLI_OK || code == CLI_FINDING)) {
        cli_exit kept = keep(record, &options, &result, &id);
        code = kept == CLI_OK ? code : kept;
    }
    lab_selftest_free(&result);
    return code;
}

/* Opens the board first: without it the run would be wasted. */
static cli_exit try_and_keep(const cli_args *args, lab_selftest_options options)
{
    lab_record *record = NULL;
    cli_exit code = CLI_OK;
    if (cli_args_flag(args, "record"))
        code = cli_board_open(&record, LAB_RECORD_WRITE, args);
    if (code == CLI_OK)
        code = try_all(args, options, record);
    lab_record_close(record);
    return code;
}

static cli_exit run(const cli_args *args)
{
    lab_selftest_options options = lab_selftest_standard();
    const char *name = cli_args_text(args, "device");
    const lab_selftest_device device = selftest_device(&name);
    if (cli_args_flag(args, "list"))
        return list(args);
    cli_exit code = read_gates(args, &options.gates);
    if (cli_args_operand_count(args) > 0)
        options.only = cli_args_operand(args, 0);
    if (cli_args_flag(args, "record") && (options.only || options.gates != UINT32_MAX)) {
        cli_error("--record: only a selftest of all kernels with all gates can be recorded");
        return CLI_USAGE;
    }
    if (code == CLI_OK)
        code = check_device(&name);
    if (code == CLI_OK && options.only)
        code = cli_name_check("there is no kernel", options.only, name ? device_name : host_name,
                              "'heed selftest --list' lists all names");
    if (code == CLI_OK && name)
        code = selftest_device_probe(&name);
    options.device = name ? &device : NULL;
    options.sources = selftest_sources();
    return code == CLI_OK ? try_and_keep(args, options) : code;
}

/* -------------------------------------------------------------------------- */
/* The selftest that the trials of other verbs rely on                        */
/* -------------------------------------------------------------------------- */

/* Tries the whole suite, and adds the result to @record. */
static cli_exit run_now(lab_record *record, const char *device, int64_t *id)
{
    const lab_selftest_device launched = selftest_device(&device);
    lab_selftest_options options = lab_selftest_standard();
    lab_selftest_result result;
    cli_exit code = device ? selftest_device_probe(&device) : CLI_OK;
    if (code != CLI_OK)
        return code;
    cli_message("testing the gates first, as 'heed selftest%s%s' does", device ? " --device " : "",
                device ? device : "");
    options.device = device ? &launched : NULL;
    options.sources = selftest_sources();
    options.jobs = default_jobs(device != NULL);
    code = try_suite(&options, &result);
    if (code != CLI_OK)
        return code;
    if (!cli_interrupted() && !result.trusted)
        cli_warning("the gates killed %zu of %zu wrong kernels and accepted %zu of %zu honest "
                    "ones: their verdicts cannot be trusted",
                    result.killed, result.mutants, result.accepted, result.controls);
    code = cli_interrupted() ? CLI_INTERRUPTED : keep(record, &options, &result, id);
    lab_selftest_free(&result);
    return code;
}

cli_exit cli_selftest_trust(lab_record *record, const char *device, int64_t *id)
{
    lab_error error;
    heed_status status = cli_board_selftest_look(record, device ? "cuda" : "cpu", id, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    return *id ? CLI_OK : run_now(record, device, id);
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static const cli_option options[] = {
    OPT_TEXT(
        "device", 'd', "DEVICE",
        "Try CUDA kernels on this device, cuda or cuda:N [default: cpu, functions of the host]"),
    OPT_LIST("gate", 'g', "NAME",
             "Leave this gate out, and see what survives; may be given more than once"),
    CLI_OPTION_SEED("Seed of all random numbers"),
    OPT_INTEGER("jobs", 'j', "N", 1, LAB_JOBS_MAX, NULL,
                "Try N kernels in parallel, each in a separate process [default: the number of "
                "CPUs; on a device half of it, up to 8]"),
    OPT_INTEGER("deadline", 0, "SECONDS", 1, 86400, "60",
                "A kernel that has not finished a problem after this time is rejected"),
    OPT_FLAG("record", 0,
             "Record the result on the board; it marks this build's trials as trusted"),
    CLI_OPTION_BOARD,
    OPT_FLAG("list", 'l',
             "List the kernels of the suite instead, each with the gate that is meant to kill "
             "it"),
    { .name = NULL },
};

const cli_verb cli_verb_selftest = {
    .name = "selftest",
    .summary = "test the verification gates with wrong, cheating and honest kernels",
    .operands = { "[KERNEL]", 0, 1 },
    .description =
        "Runs the gates of 'heed verify' on kernels that are known to be right or wrong. "
        "Mutants are wrong on purpose (they average V, halve the logits, mask one key too "
        "many, write past the end), or cheat (they return an earlier result for the same "
        "addresses, are right only while they are watched, round to eight bits); a gate must "
        "kill each. Controls are unusual but right, and all gates must accept them.\n"
        "\n"
        "Prints how many mutants each gate kills, and how many it alone kills. With KERNEL "
        "only that one is tried.",
    .examples = "  heed selftest\n"
                "  heed selftest --gate fresh\n"
                "  heed selftest half-the-logits\n"
                "  heed selftest --device cuda",
    .status = "The exit status is 0 if all mutants were killed and all controls accepted, else "
              "1: then the gates' results cannot be trusted.",
    .options = options,
    .run = run,
};
