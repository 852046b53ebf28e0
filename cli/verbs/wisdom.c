/*
 * wisdom.c - `heed wisdom`: exports, imports and checks wisdom
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/plural.h"
#include "cli/base/cli.h"
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
    lab_listing rows;
    size_t count, unused;
} line_print;

static void add_line(lab_listing *rows, const heed_wisdom_line *line)
{
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(line->problem, spec, sizeof spec);
    lab_cell_count(rows, "line", "line", (int64_t)line->number);
    lab_cell_text(rows, "problem", "problem", spec);
    lab_cell_text(rows, "device", NULL, line->device);
    lab_cell_text(rows, "cpu", NULL, line->cpu);
    lab_cell_text(rows, "threads", NULL, line->threads);
    lab_cell_text(rows, "build", NULL, line->build);
    lab_cell_text(rows, "kernel", "kernel", line->kernel);
    lab_cell_seconds(rows, "seconds", "time", line->seconds);
    lab_cell_text(rows, "effort", NULL, line->effort == HEED_PATIENT ? "patient" : "measure");
    lab_cell_json(rows, "used", json_boolean(!line->why_not));
    lab_cell_text(rows, "why_not", NULL, line->why_not);
    lab_cell_left(rows, "here", "%s", line->why_not ? line->why_not : "used");
    lab_row_end(rows);
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
                      "unused", (json_int_t)print->unused, "lines", lab_listing_rows(&print->rows)),
            "wisdom");
    cli_exit code = CLI_OK;
    if (print->rows.some) {
        code = cli_rows_print(&print->rows, NULL, NULL);
        putchar('\n');
    }
    printf("%zu of %zu line%s used on %s\n", print->count - print->unused, print->count,
           lab_plural(print->count), heed_context_device(context));
    return code;
}

/* For show, and for check, which lists only lines that are not used. */
static cli_exit look(const cli_args *args)
{
    heed_context *context;
    bool check = strcmp(cli_args_operand(args, 0), "check") == 0;
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
    lab_listing_free(&print.rows);
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
/* export: the fastest kernels of the board                                   */
/* -------------------------------------------------------------------------- */

/* A leader of the board that wisdom has not taken (yet). */
typedef struct leader {
    char problem[HEED_SPEC_SIZE], name[2 * HEED_NAME_SIZE], why[160];
    int64_t trial;
    double seconds;
    int64_t instead; /* the trial that was taken instead; 0: none */
    char taken[2 * HEED_NAME_SIZE];
    double taken_seconds;
} leader;

typedef struct leaders {
    leader *items;
    size_t count;
} leaders;

/* The outcome of each of the board's leaders. */
typedef struct board_export {
    heed_context *context;
    bool stale;
    char features[32], last[HEED_SPEC_SIZE];
    size_t taken, left_out;
    char why[256];  /* the reason for the last one that was left out */
    leaders passed; /* wisdom cannot select them, as it chooses among heed's own kernels */
    leaders open;   /* no trial has shown that they pass all gates, which they must first */
} board_export;

/* Why the row does not apply to this machine, or NULL. */
static const char *refuse(const board_export *e, const lab_record_row *row, char why[256])
{
    const struct {
        const char *name, *there, *here;
        bool may_differ;
    } pairs[] = {
        { "device", row->device, heed_context_device(e->context), false },
        { "backend", row->backend, heed_context_backend(e->context), false },
        { "features", row->features, e->features, e->stale },
        { "build", row->build, heed_wisdom_build(), e->stale },
    };
    if (!row->sound)
        return row->trusted;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *there = pairs[i].there ? pairs[i].there : "not known";
        if (!pairs[i].may_differ && strcmp(there, pairs[i].here) != 0) {
            snprintf(why, 256, "%s is \"%.90s\", here it is \"%.90s\"", pairs[i].name, there,
                     pairs[i].here);
            return why;
        }
    }
    if (row->threads != heed_context_threads(e->context)) {
        snprintf(why, 256, "threads is %d, here it is %d", row->threads,
                 heed_context_threads(e->context));
        return why;
    }
    return NULL;
}

static void leave_out(board_export *e, int64_t trial, const char *why)
{
    e->left_out++;
    snprintf(e->why, sizeof e->why, "trial %lld: %.200s", (long long)trial, why);
}

/* The skipped leader of @row's problem, if it is the last skipped one; else NULL. */
static leader *passed_of(const board_export *e, const lab_record_row *row)
{
    leader *last = e->passed.count > 0 ? &e->passed.items[e->passed.count - 1] : NULL;
    return last && strcmp(last->problem, row->problem) == 0 ? last : NULL;
}

static heed_status add_leader(leaders *list, const lab_record_row *row, const char *name,
                              const char *why)
{
    if (!lab_grow(&list->items, list->count, sizeof *list->items))
        return HEED_ERR_NO_MEMORY;
    leader *it = &list->items[list->count++];
    *it = (leader){ .trial = row->trial, .seconds = row->seconds };
    snprintf(it->problem, sizeof it->problem, "%s", row->problem);
    snprintf(it->name, sizeof it->name, "%s", name);
    snprintf(it->why, sizeof it->why, "%s", why);
    return HEED_OK;
}

/* Records that wisdom cannot select @row; a later row may do. */
static heed_status pass_over(board_export *e, const lab_record_row *row, const char *name,
                             const char *why)
{
    return passed_of(e, row) ? HEED_OK : add_leader(&e->passed, row, name, why);
}

static void take(board_export *e, const lab_record_row *row, const char *name)
{
    leader *passed = passed_of(e, row);
    if (passed) {
        passed->instead = row->trial;
        passed->taken_seconds = row->seconds;
        snprintf(passed->taken, sizeof passed->taken, "%s", name);
    }
    snprintf(e->last, sizeof e->last, "%s", row->problem);
    e->taken++;
}

/* Proves the rows that were put off, now that the board is closed, as heed tune does. */
static cli_exit prove(board_export *e, const cli_args *args)
{
    const heed_options machine = cli_machine(args);
    heed_status status = HEED_OK;
    lab_progress progress = lab_progress_start(&cli_sink, "verifying", e->open.count);
    for (size_t i = 0; i < e->open.count && status == HEED_OK && !cli_interrupted(); i++) {
        const leader *it = &e->open.items[i];
        const char *const specs[] = { it->problem };
        heed_problem problem;
        lab_progress_step(&progress, i, it->problem);
        if (cli_verify_self(&machine, it->name, specs, 1, 0) != CLI_OK) {
            e->taken--;
            leave_out(e, it->trial, "it does not pass all gates");
            continue;
        }
        status = heed_problem_parse(&problem, it->problem);
        if (status == HEED_OK)
            status = heed_wisdom_learn(e->context, &problem, it->name, it->seconds);
    }
    lab_progress_end(&progress);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    return status == HEED_OK ? CLI_OK : cli_fail(status, "wisdom");
}

/* Rows of a problem come in ranking order, cold before hot: the first that can be selected is
 * taken. Among rows for other machines only leaders are reported. */
static heed_status take_row(void *data, const lab_record_row *row)
{
    board_export *e = data;
    char name[2 * HEED_NAME_SIZE], buffer[256];
    heed_problem problem;
    const char *why = refuse(e, row, buffer);
    if (why && row->place == 1)
        leave_out(e, row->trial, why);
    if (why || strcmp(e->last, row->problem) == 0)
        return HEED_OK;
    snprintf(name, sizeof name, "%.95s%s%.95s", row->kernel, *row->config ? "__" : "", row->config);
    if (row->foreign)
        return pass_over(e, row, name, "it is a user's source");
    heed_plan *plan = NULL;
    heed_status status = heed_problem_parse(&problem, row->problem);
    if (status == HEED_OK && row->verified)
        status = heed_wisdom_learn(e->context, &problem, name, row->seconds);
    else if (status == HEED_OK)
        status = heed_plan_create_named(&plan, e->context, &problem, name);
    heed_plan_destroy(plan);
    if (status == HEED_OK && !row->verified)
        status = add_leader(&e->open, row, name, ""); /* proved once the board is closed */
    if (status == HEED_ERR_NO_MEMORY)
        return status;
    if (status != HEED_OK)
        return pass_over(e, row, name, heed_message());
    take(e, row, name);
    return HEED_OK;
}

/* Prints leaders that are not in the wisdom, and the kernels taken instead. */
static void print_passed(const board_export *e)
{
    for (size_t i = 0; i < e->passed.count; i++) {
        const leader *it = &e->passed.items[i];
        if (it->instead)
            cli_warning("%s: %s of trial %lld leads, but wisdom cannot select it (%s); %s of trial "
                        "%lld is taken, at %.3g times its time",
                        it->problem, it->name, (long long)it->trial, it->why, it->taken,
                        (long long)it->instead, it->taken_seconds / it->seconds);
        else
            cli_warning(
                "%s: %s of trial %lld leads, but wisdom cannot select it (%s), and there is "
                "nothing else on the board",
                it->problem, it->name, (long long)it->trial, it->why);
    }
}

static cli_exit print_wisdom(heed_context *context)
{
    size_t size = heed_wisdom_export(context, NULL, 0) + 1;
    char *text = malloc(size);
    if (!text) {
        cli_error("not enough memory for %zu bytes of wisdom", size);
        return CLI_ENVIRONMENT;
    }
    heed_wisdom_export(context, text, size);
    fputs(text, stdout);
    free(text);
    return CLI_OK;
}

static cli_exit end_export(const board_export *e, const cli_args *args)
{
    cli_exit code = CLI_OK;
    print_passed(e);
    if (e->taken + e->left_out + e->passed.count == 0)
        cli_message("the board has nothing for %s", heed_context_device(e->context));
    if (e->left_out)
        cli_warning("%zu leader%s of the board not exported; the last one because %s%s",
                    e->left_out, lab_plural(e->left_out), e->why,
                    e->stale ? "" : "; --stale takes those of other builds and drivers");
    if (cli_args_json(args))
        code = cli_json_print(json_pack("{s:I, s:I, s:I, s:s}", "taken", (json_int_t)e->taken,
                                        "left_out", (json_int_t)e->left_out, "passed_over",
                                        (json_int_t)e->passed.count, "device",
                                        heed_context_device(e->context)),
                              "wisdom.export");
    else if (!cli_args_text(args, "wisdom"))
        code = print_wisdom(e->context);
    if (code == CLI_OK)
        code = cli_wisdom_save(e->context, args);
    if (code == CLI_OK && cli_args_text(args, "wisdom"))
        cli_message("%zu line%s for %s", e->taken, lab_plural(e->taken),
                    heed_context_device(e->context));
    return code == CLI_OK && e->taken == 0 ? CLI_FINDING : code;
}

static cli_exit take_board(board_export *e, const cli_args *args)
{
    const lab_record_filter filter = { .part = LAB_BOARD_RANKED,
                                       .device = heed_context_device(e->context) };
    lab_error error = { "not enough memory for the wisdom" };
    lab_record *record;
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, args);
    if (!record)
        return code == CLI_OK ? CLI_FINDING : code;
    heed_status status = lab_record_visit(record, &filter, take_row, e, &error);
    lab_record_close(record);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    code = prove(e, args);
    return code == CLI_OK ? end_export(e, args) : code;
}

static cli_exit export(const cli_args *args)
{
    board_export e = { .stale = cli_args_flag(args, "stale") };
    cli_exit code = cli_context_open(&e.context, args);
    if (code != CLI_OK)
        return code;
    heed_device_features(e.context, e.features);
    code = take_board(&e, args);
    free(e.passed.items);
    free(e.open.items);
    heed_context_destroy(e.context);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit run(const cli_args *args)
{
    static const cli_subcommand subcommands[] = {
        { "export", 0, 0, export },   { "import", 1, CLI_ANY, import },
        { "show", 1, CLI_ANY, look }, { "check", 1, CLI_ANY, look },
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
