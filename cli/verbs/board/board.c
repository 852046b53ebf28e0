/*
 * board.c - `heed board`: the leaderboard, and whether its figures can be trusted
 */
#include "board.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "build/sources.h"
#include "cli/verbs/doctor/manifest.h"
#include "measure/stats.h"
#include "report/format.h"
#include "session/plausible.h"

/* -------------------------------------------------------------------------- */
/* The file                                                                   */
/* -------------------------------------------------------------------------- */

static bool has_flag(const cli_args *args, const char *name)
{
    return cli_args_has(args, name) && cli_args_flag(args, name);
}

lab_rebuild_options cli_rebuild_options(const cli_args *args)
{
    bool runs_sources = cli_args_has(args, "unsafe-candidates");
    return (lab_rebuild_options){ .board = cli_args_text(args, "board"),
                                  .trusts_board = has_flag(args, "trust-board"),
                                  .remedy = cli_args_has(args, "trust-board") ? "--trust-board"
                                                                              : NULL,
                                  .unsafe = has_flag(args, "unsafe-candidates"),
                                  .unsafe_remedy = runs_sources ? CLI_UNSAFE_REMEDY : NULL,
                                  .unproved = has_flag(args, "no-verify") };
}

cli_exit cli_board_open(lab_record **record, lab_record_mode mode, const cli_args *args)
{
    char path[LAB_RECORD_PATH_SIZE];
    lab_error error;
    *record = NULL;
    heed_status status = lab_record_path(cli_args_text(args, "board"), path, &error);
    if (status == HEED_OK && mode == LAB_RECORD_READ && access(path, F_OK) != 0 &&
        errno == ENOENT) {
        cli_message(
            "There is no board yet: %s does not exist.\n"
            "'heed bench --record FOLDER ...' times kernels, and 'heed board add FILE.json' "
            "puts what it recorded on the board.",
            path);
        return CLI_OK;
    }
    if (status == HEED_OK)
        status = lab_record_open(record, path, mode, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    lab_time_judge *judge = lab_time_judge_create();
    if (!judge) {
        cli_error("not enough memory for the board");
        lab_record_close(*record);
        *record = NULL;
        return CLI_ENVIRONMENT;
    }
    lab_record_describe(*record, lab_build_describe);
    lab_record_judge(*record, lab_plausible, judge, lab_time_judge_destroy);
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* A trial as JSON                                                            */
/* -------------------------------------------------------------------------- */

static json_t *json_value(const lab_record_field *field)
{
    switch (field->kind) {
    case LAB_RECORD_INTEGER:
        return json_integer(field->integer);
    case LAB_RECORD_REAL:
        return cli_json_real(field->real);
    case LAB_RECORD_TEXT:
        return lab_json_text(field->text);
    case LAB_RECORD_SAMPLES:
        return cli_json_reals(field->samples, field->count);
    default:
        return json_null();
    }
}

/* The object that contains @field: its section, or a row of the section. */
static json_t *object_of(json_t *all, const lab_record_field *field)
{
    json_t *section = json_object_get(all, field->section);
    if (!section) {
        section = field->list ? json_array() : json_object();
        if (json_object_set_new(all, field->section, section) != 0)
            return NULL;
    }
    if (!field->list)
        return section;
    json_t *row = json_array_get(section, field->row);
    if (!row) {
        row = json_object();
        if (json_array_append_new(section, row) != 0)
            return NULL;
    }
    return row;
}

static heed_status add_json(void *data, const lab_record_field *field)
{
    json_t *object = object_of(data, field);
    return json_object_set_new(object, field->name, json_value(field)) == 0 ? HEED_OK
                                                                            : HEED_ERR_NO_MEMORY;
}

/* -------------------------------------------------------------------------- */
/* A trial as text                                                            */
/* -------------------------------------------------------------------------- */

/* The state of printing, which goes to memory first: while a trial is read the board is locked. */
typedef struct show_print {
    FILE *out;
    char section[32];
    size_t row;
} show_print;

static void print_samples(FILE *out, const lab_record_field *field)
{
    char p50[LAB_FORMAT_SIZE], p90[LAB_FORMAT_SIZE], min[LAB_FORMAT_SIZE];
    const lab_summary summary = lab_stats_summary_of(field->samples, field->count);
    fprintf(out, "%zu sample%s", field->count, lab_plural(field->count));
    if (summary.n > 0)
        fprintf(out, ", median %s, p90 %s, least %s", lab_format_seconds(summary.p50, p50),
                lab_format_seconds(summary.p90, p90), lab_format_seconds(summary.min, min));
    putc('\n', out);
}

/* Prints text with lines after the first indented, and without control characters. */
static void print_text(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            fputs(text[1] ? "\n    " : "", out);
        else
            putc((unsigned char)*text < ' ' && *text != '\t' ? '?' : *text, out);
    putc('\n', out);
}

static void print_value(FILE *out, const lab_record_field *field)
{
    switch (field->kind) {
    case LAB_RECORD_INTEGER:
        fprintf(out, "%" PRId64 "\n", field->integer);
        break;
    case LAB_RECORD_REAL:
        fprintf(out, "%.9g\n", field->real);
        break;
    case LAB_RECORD_SAMPLES:
        print_samples(out, field);
        break;
    default:
        print_text(out, field->text);
    }
}

/* Prints a fact as a line: its name and its value. */
static bool print_fact(FILE *out, const lab_record_field *field)
{
    if (strcmp(field->section, "facts") != 0)
        return false;
    if (strcmp(field->name, "name") == 0 && field->text)
        fprintf(out, "  %-15s ", field->text);
    else
        print_value(out, field);
    return true;
}

static heed_status print_field(void *data, const lab_record_field *field)
{
    show_print *print = data;
    FILE *out = print->out;
    bool begins = strcmp(print->section, field->section) != 0;
    if (begins) {
        fprintf(out, "%s%s%s%s\n", *print->section ? "\n" : "", cli_style(stdout, LAB_BOLD),
                field->section, cli_style(stdout, LAB_PLAIN));
        snprintf(print->section, sizeof print->section, "%s", field->section);
        print->row = field->row;
    }
    if (field->kind == LAB_RECORD_NOTHING || print_fact(out, field))
        return HEED_OK;
    if (field->row != print->row)
        putc('\n', out);
    print->row = field->row;
    fprintf(out, "  %-15s ", field->name);
    print_value(out, field);
    return HEED_OK;
}

/* ---- One trial ---- */

static bool read_id(const char *word, const char *text, int64_t *id)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    *id = value;
    if (*end == '\0' && end != text && value > 0)
        return true;
    cli_error("%s: '%s' is not the number of a trial, which 'heed board' shows first in each row",
              word, text);
    return false;
}

static cli_exit show_json(lab_record *record, int64_t id)
{
    lab_error error = { "not enough memory for the trial" };
    json_t *all = json_pack("{s:I}", "id", (json_int_t)id);
    heed_status status = lab_record_show(record, id, add_json, all, &error);
    if (status == HEED_OK)
        return cli_json_print(all, "board.trial");
    json_decref(all);
    return cli_fail_error(status, &error);
}

static cli_exit show_text(lab_record *record, int64_t id)
{
    char *text = NULL;
    size_t size = 0;
    lab_error error;
    show_print print = { .out = open_memstream(&text, &size) };
    bool failed = !print.out;
    heed_status status = HEED_OK;
    if (print.out) {
        status = lab_record_show(record, id, print_field, &print, &error);
        failed = ferror(print.out) != 0;
        failed |= fclose(print.out) != 0;
    }
    if (!failed)
        fputs(text, stdout);
    free(text);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    if (failed)
        cli_error("not enough memory for the trial");
    return failed ? CLI_ENVIRONMENT : CLI_OK;
}

/* Runs a subcommand about the trial whose number is its operand: calls tell() with the open board,
 * which prints errors. */
static cli_exit tell_trial(const cli_args *args, cli_exit (*tell)(lab_record *record, int64_t id))
{
    lab_record *record;
    int64_t id;
    if (!read_id(cli_args_operand(args, 0), cli_args_operand(args, 1), &id))
        return CLI_USAGE;
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, args);
    if (record)
        code = tell(record, id);
    else if (code == CLI_OK)
        code = CLI_USAGE; /* there is no such trial */
    lab_record_close(record);
    return code;
}

static cli_exit show(const cli_args *args)
{
    return tell_trial(args, cli_args_json(args) ? show_json : show_text);
}

/* -------------------------------------------------------------------------- */
/* `heed board manifest`: the tools and libraries of a trial                  */
/* -------------------------------------------------------------------------- */

/* Prints the manifest with these parts, whose hash must be @hash. */
static cli_exit print_manifest(const char *text, const char *hash)
{
    json_t *manifest = cli_manifest_of(json_loads(text, 0, NULL));
    cli_exit code = CLI_OK;
    if (!manifest || strcmp(cli_manifest_hash(manifest), hash) != 0) {
        cli_error("the manifest %s is not what was added: see 'heed board check'", hash);
        code = CLI_CORRUPT;
    } else if (json_dumpf(manifest, stdout, JSON_INDENT(2)) != 0 || putchar('\n') < 0) {
        cli_error("the manifest cannot be printed");
        code = CLI_ENVIRONMENT;
    }
    json_decref(manifest);
    return code;
}

/* Prints the manifest of a trial. For an imported trial it is the manifest that came with its
 * file. */
static cli_exit answer(lab_record *record, int64_t id)
{
    lab_error error;
    char hash[LAB_RECORD_HASH_SIZE], *source, *text = NULL;
    heed_status status = lab_record_source(record, id, &source, &error); /* checks that the trial
                                                                          * exists */
    free(status == HEED_OK ? source : NULL);
    if (status == HEED_OK)
        status = lab_record_manifest(record, id, hash, &text, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_exit code = CLI_FINDING;
    if (text)
        code = print_manifest(text, hash);
    else if (*hash)
        cli_error("trial %lld was made with the manifest %s, which did not come with it",
                  (long long)id, hash);
    else
        cli_error("trial %lld has no record of its tools", (long long)id);
    free(text);
    return code;
}

static cli_exit show_manifest(const cli_args *args)
{
    return tell_trial(args, answer);
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit check(const cli_args *args)
{
    lab_error error;
    lab_record *record;
    lab_record_chain chain;
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, args);
    if (!record)
        return code;
    heed_status status = lab_record_check(record, cli_args_text(args, "head"), &chain, &error);
    lab_record_close(record);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    if (cli_args_json(args))
        return cli_json_print(json_pack("{s:I, s:I, s:s, s:b}", "trials", (json_int_t)chain.trials,
                                        "links", (json_int_t)chain.links, "head", chain.head,
                                        "sound", 1),
                              "board.check");
    printf("%lld trial%s, all as they were added\n%lld link%s, head %s\n", (long long)chain.trials,
           lab_plural(chain.trials), (long long)chain.links, lab_plural(chain.links), chain.head);
    return CLI_OK;
}

static cli_exit run(const cli_args *args)
{
    static const cli_subcommand subcommands[] = {
        { "list", 0, 0, cli_board_list },     { "show", 1, 1, show },
        { "add", 1, CLI_ANY, cli_board_add }, { "check", 0, 0, check },
        { "manifest", 1, 1, show_manifest },  { NULL, 0, 0, NULL },
    };
    return cli_subcommand_run(subcommands, args);
}

static const cli_option options[] = {
    CLI_OPTION_BOARD,
    CLI_OPTION_PROBLEM,
    OPT_TEXT("device", 'd', "TEXT", "Only devices whose name contains this text, such as H200"),
    OPT_TEXT("against", 'a', "NAME", "Compare with this rival [default: the fastest]"),
    OPT_FLAG("ranking", 'r', "Also show the kernels behind the leader"),
    OPT_FLAG("history", 0,
             "Show every confirmed trial, the newest first, including those that a newer "
             "figure of the same kernel has replaced"),
    OPT_FLAG("all", 0,
             "Show every trial, including those that failed, were not confirmed or cannot "
             "be trusted"),
    OPT_TEXT("head", 0, "HASH",
             "Check that nothing was removed since 'heed board check' printed this head"),
    OPT_FLAG("csv", 0, "Print comma-separated values with all columns"),
    { .name = NULL },
};

const cli_verb cli_verb_board = {
    .name = "board",
    .summary = "show the leaderboard: the best kernel for each problem and device",
    .operands = { "[list | show ID | add FILE... | check | manifest ID]", 0, CLI_ANY },
    .description =
        "The board is a file of trials with their evidence: samples, verdicts, source, "
        "environment, commit. Trials are added and never changed.\n"
        "\n"
        "list, the default, shows the leader of each problem on each device, cold or hot: "
        "the kernel promoted last, else the fastest confirmed one. Figures of different "
        "days are history; a ratio to a rival is from one run. trusted says whether 'heed "
        "selftest' had killed all mutants with the gates of that trial.\n"
        "\n"
        "show prints a trial. manifest prints its tools and libraries, for 'heed doctor "
        "--check'. add imports records of 'heed bench --record'. check verifies the chain "
        "of hashes of all rows and prints its head, which --head compares later.",
    .examples = "  heed board --problem 'b1 h8 s512 d64 f16' --history\n"
                "  heed board add benchmarks/nvidia-h200/*/*.json\n"
                "  heed board manifest 17 >then.lock; heed doctor --check then.lock",
    .status = "The exit status is 7 if the file is damaged or not a board, or a trial that would "
              "be ranked is\n"
              "damaged; the file is not changed.",
    .options = options,
    .run = run,
};
