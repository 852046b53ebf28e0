/*
 * wisdom.c - `heed wisdom`: exports, imports and checks wisdom
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/plural.h"
#include "cli/base/rows.h"
#include "cli/verbs/board/board.h"
#include "src/device.h"
#include "wisdom_line.h"

/* The library's limit. */
#define FILE_SIZE_MAX ((int64_t)16 << 20)

/* -------------------------------------------------------------------------- */
/* show and check: a file, line by line                                       */
/* -------------------------------------------------------------------------- */

/* The state of printing. */
typedef struct line_print {
    bool unused_alone;
    cli_rows rows;
    size_t count, unused;
} line_print;

static void add_line(cli_rows *rows, const heed_wisdom_line *line)
{
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(line->problem, spec, sizeof spec);
    cli_row_count(rows, "line", "line", (int64_t)line->number);
    cli_row_text(rows, "problem", "problem", spec);
    cli_row_text(rows, "device", NULL, line->device);
    cli_row_text(rows, "cpu", NULL, line->cpu);
    cli_row_text(rows, "threads", NULL, line->threads);
    cli_row_text(rows, "build", NULL, line->build);
    cli_row_text(rows, "kernel", "kernel", line->kernel);
    cli_row_seconds(rows, "seconds", "time", line->seconds);
    cli_row_text(rows, "effort", NULL, line->effort == HEED_PATIENT ? "patient" : "measure");
    cli_row_member(rows, "used", json_boolean(!line->why_not));
    cli_row_text(rows, "why_not", NULL, line->why_not);
    cli_row_cell(rows, "here", "%s", line->why_not ? line->why_not : "used");
    cli_row_end(rows);
}

static void visit_line(void *data, const heed_wisdom_line *line)
{
    line_print *print = data;
    print->count++;
    print->unused += line->why_not != NULL;
    if (!print->unused_alone || line->why_not)
        add_line(&print->rows, line);
}

static cli_exit visit_file(heed_context *context, const char *path, line_print *print)
{
    char *text;
    size_t size;
    cli_exit code = cli_read_file(path, FILE_SIZE_MAX, &text, &size);
    if (code != CLI_OK)
        return code;
    heed_status status = heed_wisdom_visit(context, path, text, size, visit_line, print);
    free(text);
    return status == HEED_OK ? CLI_OK : cli_fail(status, NULL);
}

static cli_exit print_lines(heed_context *context, line_print *print)
{
    if (print->rows.json)
        return cli_json_print(
            json_pack("{s:s, s:i, s:I, s:I, s:o}", "device", heed_context_device(context),
                      "threads", heed_context_threads(context), "count", (json_int_t)print->count,
                      "unused", (json_int_t)print->unused, "lines", cli_rows_list(&print->rows)),
            "wisdom");
    cli_exit code = CLI_OK;
    if (print->rows.headed) {
        code = cli_table_print(print->rows.table);
        print->rows.table = NULL;
        putchar('\n');
    }
    printf("%zu of %zu line%s used on %s\n", print->count - print->unused, print->count,
           lab_plural(print->count), heed_context_device(context));
    return code;
}

static cli_exit look(const cli_args *args, bool check)
{
    heed_context *context;
    cli_exit code = cli_context_open(&context, args);
    if (code != CLI_OK)
        return code;
    line_print print = { .unused_alone = check, .rows = cli_rows_begin(cli_args_json(args)) };
    for (int i = 1; code == CLI_OK && i < cli_args_operand_count(args); i++)
        code = visit_file(context, cli_args_operand(args, i), &print);
    if (code == CLI_OK)
        code = print_lines(context, &print);
    if (code == CLI_OK && check && print.unused > 0)
        code = CLI_FINDING;
    cli_rows_free(&print.rows);
    heed_context_destroy(context);
    return code;
}

/* -------------------------------------------------------------------------- */
/* import: other files into that of --wisdom                                  */
/* -------------------------------------------------------------------------- */

static cli_exit import_file(heed_context *context, const char *path)
{
    size_t taken, skipped;
    lab_error error;
    heed_status status = cli_wisdom_load(context, path, &taken, &skipped, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    if (skipped)
        cli_warning("%s: %zu line%s taken, %zu not; the last one because %s", path, taken,
                    lab_plural(taken), skipped, heed_message());
    else
        cli_message("%s: %zu line%s taken", path, taken, lab_plural(taken));
    return CLI_OK;
}

static cli_exit import(const cli_args *args)
{
    heed_context *context;
    if (!cli_args_text(args, "wisdom")) {
        cli_error("import: --wisdom must name the file to add the lines to");
        return CLI_USAGE;
    }
    cli_exit code = cli_context_open(&context, args);
    if (code != CLI_OK)
        return code;
    for (int i = 1; code == CLI_OK && i < cli_args_operand_count(args); i++)
        code = import_file(context, cli_args_operand(args, i));
    if (code == CLI_OK)
        code = cli_wisdom_save(context, args);
    heed_context_destroy(context);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit show(const cli_args *args)
{
    return look(args, false);
}

static cli_exit check(const cli_args *args)
{
    return look(args, true);
}

static cli_exit run(const cli_args *args)
{
    static const cli_subcommand subcommands[] = {
        { "export", 0, 0, cli_wisdom_export },
        { "import", 1, CLI_ANY, import },
        { "show", 1, CLI_ANY, show },
        { "check", 1, CLI_ANY, check },
        { NULL, 0, 0, NULL },
    };
    return cli_subcommand_run(subcommands, args);
}

static const cli_option options[] = {
    CLI_OPTION_BOARD,
    OPT_FLAG("stale", 0,
             "With export: also take figures of another build of heed, driver or compiler, "
             "which may be out of date"),
    CLI_OPTION_WISDOM,
    { .table = cli_machine_options },
    { .name = NULL },
};

const cli_verb cli_verb_wisdom = {
    .name = "wisdom",
    .summary = "export the fastest kernels as wisdom for planning; merge and show wisdom",
    .operands = { "export | import FILE... | show FILE... | check FILE...", 1, CLI_ANY },
    .description =
        "Wisdom is a text that tells planning the fastest kernel and config for a problem "
        "on this machine. It can only choose among heed's own kernels.\n"
        "\n"
        "export takes the board's leaders on this device, with the same number of threads, and "
        "prints "
        "them as wisdom, or adds them to the file of --wisdom. Figures for cold buffers "
        "come before those for hot ones. Where a user's source leads, the best of heed's "
        "own kernels is taken, with a warning. import adds the lines of other files that "
        "are for this machine to the file of --wisdom.\n"
        "\n"
        "show prints each line of a file, and whether it is used here or which field "
        "differs. check prints only those that are not used.",
    .examples = "  heed wisdom export > heed.wisdom\n"
                "  heed wisdom export --device cuda --wisdom heed.wisdom\n"
                "  heed wisdom check heed.wisdom",
    .status = "The exit status is 1 if there is nothing to export, or if check finds a line that "
              "is not used here.",
    .options = options,
    .run = run,
};
