/*
 * board.c - `heed board`: who is the fastest, by how much, and whether that can be trusted
 */
#include "board.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/format.h"
#include "report/table.h"

/* -------------------------------------------------------------------------- */
/* The file                                                                   */
/* -------------------------------------------------------------------------- */

cli_exit cli_board_fail(heed_status status, const lab_error *error)
{
    cli_error("%s", error->text);
    return cli_exit_of(status);
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
    return status == HEED_OK ? CLI_OK : cli_board_fail(status, &error);
}

/* -------------------------------------------------------------------------- */
/* The columns of JSON and CSV                                                */
/* -------------------------------------------------------------------------- */

typedef enum field_kind {
    FIELD_TEXT,
    FIELD_NUMBER, /* int64_t */
    FIELD_INT,
    FIELD_BOOL,
    FIELD_REAL /* 0: not known */
} field_kind;

#define FIELD(kind, name, member)                    \
    {                                                \
        name, kind, offsetof(lab_record_row, member) \
    }
static const struct field {
    const char *name;
    field_kind kind;
    size_t offset;
} fields[] = {
    FIELD(FIELD_NUMBER, "trial", trial),
    FIELD(FIELD_NUMBER, "run", run),
    FIELD(FIELD_INT, "place", place),
    FIELD(FIELD_TEXT, "problem", problem),
    FIELD(FIELD_TEXT, "device", device),
    FIELD(FIELD_TEXT, "backend", backend),
    FIELD(FIELD_TEXT, "features", features),
    FIELD(FIELD_TEXT, "build", build),
    FIELD(FIELD_INT, "threads", threads),
    FIELD(FIELD_TEXT, "kernel", kernel),
    FIELD(FIELD_TEXT, "config", config),
    FIELD(FIELD_TEXT, "verdict", verdict),
    FIELD(FIELD_TEXT, "reason", reason),
    FIELD(FIELD_TEXT, "timing", timing),
    FIELD(FIELD_BOOL, "confirmed", confirmed),
    FIELD(FIELD_BOOL, "promoted", promoted),
    FIELD(FIELD_REAL, "seconds", seconds),
    FIELD(FIELD_REAL, "p90", p90),
    FIELD(FIELD_REAL, "flops_per_second", rate),
    FIELD(FIELD_REAL, "of_roofline", of_roofline),
    FIELD(FIELD_TEXT, "against", against),
    FIELD(FIELD_REAL, "ratio", ratio),
    FIELD(FIELD_REAL, "low", low),
    FIELD(FIELD_REAL, "high", high),
    FIELD(FIELD_TEXT, "compared", compared),
    FIELD(FIELD_TEXT, "heed", heed),
    FIELD(FIELD_TEXT, "commit", commit),
    FIELD(FIELD_BOOL, "dirty", dirty),
    FIELD(FIELD_TEXT, "ended", ended),
    FIELD(FIELD_TEXT, "trusted", trusted),
};
enum {
    FIELDS = sizeof fields / sizeof *fields
};

static json_t *json_field(const struct field *field, const lab_record_row *row)
{
    const char *at = (const char *)row + field->offset;
    switch (field->kind) {
    case FIELD_TEXT: {
        const char *text = *(const char *const *)(const void *)at;
        return text ? cli_json_text(text) : json_null();
    }
    case FIELD_NUMBER:
        return json_integer(*(const int64_t *)(const void *)at);
    case FIELD_INT:
        return json_integer(*(const int *)(const void *)at);
    case FIELD_BOOL:
        return json_boolean(*(const bool *)(const void *)at);
    default: {
        double value = *(const double *)(const void *)at;
        return value > 0 ? cli_json_real(value) : json_null();
    }
    }
}

static json_t *json_row(const lab_record_row *row)
{
    json_t *object = json_object();
    for (int i = 0; i < FIELDS; i++)
        if (json_object_set_new(object, fields[i].name, json_field(&fields[i], row)) != 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static void print_quoted(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

/* As JSON says it, but that what is not known is nothing. */
static void print_csv_row(const lab_record_row *row)
{
    for (int i = 0; i < FIELDS; i++) {
        json_t *value = json_field(&fields[i], row);
        if (i > 0)
            putchar(',');
        if (json_is_string(value))
            print_quoted(json_string_value(value));
        else if (json_is_real(value))
            printf("%.9g", json_real_value(value));
        else if (json_is_integer(value))
            printf("%lld", (long long)json_integer_value(value));
        else if (json_is_boolean(value))
            printf("%d", json_is_true(value));
        json_decref(value);
    }
    putchar('\n');
}

static void print_csv_head(void)
{
    for (int i = 0; i < FIELDS; i++)
        printf("%s%s", i ? "," : "", fields[i].name);
    putchar('\n');
}

/* -------------------------------------------------------------------------- */
/* The table                                                                  */
/* -------------------------------------------------------------------------- */

/* What is being printed. Rows come device by device; each has a table of its own. */
typedef struct board_print {
    const cli_args *args;
    bool history, all, failed;
    char device[256]; /* of the table below */
    lab_table *table; /* NULL: none has begun */
    json_t *rows;
    size_t count, damaged;
} board_print;

static lab_table *new_table(const board_print *print)
{
    lab_table *table = lab_table_create();
    lab_table_column(table, "trial", LAB_RIGHT);
    lab_table_column(table, "problem", LAB_LEFT);
    lab_table_column(table, "kernel", LAB_LEFT);
    lab_table_column(table, "buffers", LAB_LEFT);
    lab_table_column(table, "time", LAB_RIGHT);
    lab_table_column(table, "TFLOP/s", LAB_RIGHT);
    lab_table_column(table, "of roof", LAB_RIGHT);
    lab_table_column(table, "against", LAB_LEFT);
    lab_table_column(table, "ratio", LAB_RIGHT);
    lab_table_column(table, "interval", LAB_LEFT);
    lab_table_column(table, "commit", LAB_LEFT);
    lab_table_column(table, "date", LAB_LEFT);
    lab_table_column(table, "trusted", LAB_LEFT);
    if (print->all)
        lab_table_column(table, "verdict", LAB_LEFT);
    return table;
}

static void end_table(board_print *print)
{
    if (!print->table)
        return;
    print->failed |= cli_table_print(print->table) != CLI_OK;
    print->table = NULL;
}

static void begin_device(board_print *print, const lab_record_row *row)
{
    char device[sizeof print->device];
    snprintf(device, sizeof device, "%s (%s%s%s), %d thread%s", row->device, row->backend,
             row->features ? ", " : "", row->features ? row->features : "", row->threads,
             row->threads == 1 ? "" : "s");
    if (print->table && strcmp(device, print->device) == 0)
        return;
    end_table(print);
    printf("%s%s%s%s\n\n", print->count ? "\n" : "", cli_style(stdout, CLI_BOLD), device,
           cli_style(stdout, CLI_PLAIN));
    memcpy(print->device, device, sizeof device);
    print->table = new_table(print);
}

static void add_share(lab_table *table, double share)
{
    if (share > 0)
        lab_table_cell(table, "%.1f %%", 100 * share);
    else
        lab_table_cell(table, "-");
}

static void add_comparison(lab_table *table, const lab_record_row *row)
{
    lab_table_cell(table, "%s", row->against ? row->against : "-");
    if (!row->against || !(row->ratio > 0)) {
        lab_table_cell(table, "-");
        lab_table_cell(table, "%s", "");
        return;
    }
    lab_table_cell(table, "%.3f", row->ratio);
    lab_table_cell(table, "[%.3f, %.3f] %s", row->low, row->high,
                   row->compared ? row->compared : "");
}

static void add_row(lab_table *table, const lab_record_row *row, bool all)
{
    char text[LAB_FORMAT_SIZE];
    lab_table_cell(table, "%lld", (long long)row->trial);
    lab_table_cell(table, "%s", row->problem);
    lab_table_cell(table, "%s%s%s%s", row->kernel, *row->config ? "__" : "", row->config,
                   row->promoted ? " *" : "");
    lab_table_cell(table, "%s", row->timing ? row->timing : "-");
    lab_table_cell(table, "%s", lab_format_seconds(row->seconds > 0 ? row->seconds : -1, text));
    if (row->rate > 0)
        lab_table_cell(table, "%.2f", row->rate / 1e12);
    else
        lab_table_cell(table, "-");
    add_share(table, row->of_roofline);
    add_comparison(table, row);
    lab_table_cell(table, "%.12s%s", row->commit ? row->commit : "-", row->dirty ? "+" : "");
    lab_table_cell(table, "%.10s", row->ended);
    lab_table_cell(table, "%s", row->trusted);
    if (all)
        lab_table_cell(table, "%s%s", row->verdict, row->confirmed ? "" : ", not confirmed");
}

/* -------------------------------------------------------------------------- */
/* Rows                                                                       */
/* -------------------------------------------------------------------------- */

static heed_status visit(void *data, const lab_record_row *row)
{
    board_print *print = data;
    if (print->history && !print->all && !row->confirmed)
        return HEED_OK;
    print->damaged += strcmp(row->trusted, "damaged") == 0;
    if (cli_args_json(print->args))
        print->rows = cli_json_append(print->rows, json_row(row));
    else if (cli_args_flag(print->args, "csv"))
        print_csv_row(row);
    else {
        begin_device(print, row);
        add_row(print->table, row, print->all);
    }
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
    /* A whole spec, however it is written, means that problem alone. */
    if (filter.problem && heed_problem_parse(&problem, filter.problem) == HEED_OK) {
        heed_problem_print(&problem, spec, HEED_SPEC_SIZE);
        filter.problem = spec;
        filter.exact = true;
    }
    return filter;
}

static cli_exit print_end(board_print *print)
{
    const cli_args *args = print->args;
    end_table(print);
    if (cli_args_json(args)) {
        cli_exit code = cli_json_print(json_pack("{s:O?}", "rows", print->rows), "board");
        return code;
    }
    if (print->failed)
        return CLI_ENVIRONMENT;
    if (!cli_args_flag(args, "csv") && print->count > 0)
        printf("\nratio: how many times as long the other takes; +: changes on top of the commit; "
               "*: promoted\n");
    else if (print->count == 0)
        cli_message("nothing on the board fits; --all shows every trial, and without --problem and "
                    "--device all of them");
    return CLI_OK;
}

static cli_exit list(const cli_args *args)
{
    char spec[HEED_SPEC_SIZE];
    lab_error error;
    lab_record *record;
    board_print print = { .args = args,
                          .history = cli_args_flag(args, "history"),
                          .all = cli_args_flag(args, "all"),
                          .rows = json_array() };
    const lab_record_filter filter = read_filter(args, spec);
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, args);
    heed_status status = HEED_OK;
    if (code == CLI_OK && cli_args_flag(args, "csv") && !cli_args_json(args))
        print_csv_head();
    if (record)
        status = lab_record_visit(record, &filter, visit, &print, &error);
    if (code == CLI_OK && (record || cli_args_json(args)))
        code = print_end(&print);
    if (status != HEED_OK)
        code = cli_board_fail(status, &error);
    else if (print.damaged) {
        cli_error("%zu of these are damaged: their content is not what was added", print.damaged);
        code = CLI_CORRUPT;
    }
    json_decref(print.rows);
    lab_record_close(record);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit check(const cli_args *args)
{
    lab_error error;
    lab_record *record;
    int64_t trials = 0;
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, args);
    if (!record)
        return code;
    heed_status status = lab_record_check(record, &trials, &error);
    lab_record_close(record);
    if (status != HEED_OK)
        return cli_board_fail(status, &error);
    if (cli_args_json(args))
        return cli_json_print(json_pack("{s:I, s:b}", "trials", (json_int_t)trials, "sound", 1),
                              "board.check");
    printf("%lld trials, all as they were added\n", (long long)trials);
    return CLI_OK;
}

static cli_exit run(const cli_args *args)
{
    static const cli_deed deeds[] = {
        { "list", 0, 0, list },
        { "show", 1, 1, cli_board_show },
        { "add", 1, CLI_ANY, cli_board_add },
        { "check", 0, 0, check },
        { NULL, 0, 0, NULL },
    };
    return cli_deed_run(deeds, args);
}

static const cli_option options[] = {
    CLI_OPTION_BOARD,
    { .name = "problem",
      .letter = 'p',
      .kind = CLI_TEXT,
      .argument = "SPEC",
      .help = "Only this problem, or those whose spec holds this text, such as d128 or causal" },
    { .name = "device",
      .letter = 'd',
      .kind = CLI_TEXT,
      .argument = "TEXT",
      .help = "Only devices whose name holds this text, such as H200" },
    { .name = "against",
      .letter = 'a',
      .kind = CLI_TEXT,
      .argument = "NAME",
      .help = "Compare with this rival; without it with the fastest" },
    { .name = "ranking", .letter = 'r', .kind = CLI_FLAG, .help = "Show who follows the first" },
    { .name = "history",
      .kind = CLI_FLAG,
      .help = "Show every confirmed trial, the newest first, also those that a newer figure of the "
              "same kernel has replaced" },
    { .name = "all",
      .kind = CLI_FLAG,
      .help = "Show every trial, also those that failed, were not confirmed or cannot be trusted" },
    { .name = "csv", .kind = CLI_FLAG, .help = "Print comma-separated values with all columns" },
    { .name = NULL },
};

extern const cli_verb cli_verb_board;
const cli_verb cli_verb_board = {
    .name = "board",
    .summary = "show the leaderboard: the best kernel for each problem and device",
    .operands = "[list | show ID | add FILE... | check]",
    .operand_max = CLI_ANY,
    .description =
        "The board is a file that keeps every trial with its evidence: samples, verdicts, the "
        "source, the environment, the commit. Trials are added and never changed.\n"
        "\n"
        "list, the default, shows for every problem the kernel that leads on each device, cold or "
        "hot: who was promoted last after a comparison side by side, else the fastest. Of each "
        "kernel its newest confirmed figure counts. A figure of another day is history and proves "
        "nothing by itself; the ratio to a rival was taken in one run.\n"
        "\n"
        "show prints everything of one trial. add puts the JSON files of 'heed bench --record' on "
        "the board; a file that is there already adds nothing. check reads the whole file and says "
        "whether anything in it is not as it was added.\n"
        "\n"
        "trusted says whether 'heed selftest' had killed all wrong kernels with the gates that "
        "judged the trial: yes, no, or untested.\n"
        "\n"
        "Examples:\n"
        "\n"
        "  heed board\n"
        "  heed board --problem 'b1 h8 s512 d64 f16' --history\n"
        "  heed board add benchmarks/nvidia-h200/*/*.json\n"
        "  heed board show 17 --json\n"
        "\n"
        "The exit status is 7 if the file is damaged or no board; it is then left as it is.",
    .options = options,
    .run = run,
};
