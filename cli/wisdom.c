/*
 * wisdom.c - `heed wisdom`: from the board to wisdom, and what a wisdom file is good for here
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/device.h"
#include "board.h"
#include "report/format.h"
#include "wisdom_line.h"

/* As much as the library reads. */
#define FILE_SIZE_MAX ((int64_t)16 << 20)

/* -------------------------------------------------------------------------- */
/* show and check: a file, line by line                                       */
/* -------------------------------------------------------------------------- */

/* What is being printed. */
typedef struct line_print {
    bool json, unused_alone;
    lab_table *table;
    json_t *lines;
    size_t count, unused;
} line_print;

static json_t *json_line(const heed_wisdom_line *line, const char *spec)
{
    return json_pack("{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:o}", "line",
                     (json_int_t)line->number, "problem", spec, "device",
                     cli_json_text(line->device), "cpu", cli_json_text(line->cpu), "threads",
                     cli_json_text(line->threads), "build", cli_json_text(line->build), "kernel",
                     cli_json_text(line->kernel), "seconds", cli_json_real(line->seconds), "effort",
                     line->effort == HEED_PATIENT ? "patient" : "measure", "used", !line->why_not,
                     "why_not", line->why_not ? cli_json_text(line->why_not) : json_null());
}

static void visit_line(void *data, const heed_wisdom_line *line)
{
    line_print *print = data;
    char spec[HEED_SPEC_SIZE], text[LAB_FORMAT_SIZE];
    print->count++;
    print->unused += line->why_not != NULL;
    heed_problem_print(line->problem, spec, sizeof spec);
    if (print->unused_alone && !line->why_not)
        return;
    if (print->json) {
        print->lines = cli_json_append(print->lines, json_line(line, spec));
        return;
    }
    lab_table_cell(print->table, "%zu", line->number);
    lab_table_cell(print->table, "%s", spec);
    lab_table_cell(print->table, "%s", line->kernel);
    lab_table_cell(print->table, "%s", lab_format_seconds(line->seconds, text));
    lab_table_cell(print->table, "%s", line->why_not ? line->why_not : "used");
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
    if (print->json)
        return cli_json_print(
            json_pack("{s:s, s:i, s:I, s:I, s:O?}", "device", heed_context_device(context),
                      "threads", heed_context_threads(context), "count", (json_int_t)print->count,
                      "unused", (json_int_t)print->unused, "lines", print->lines),
            "wisdom");
    cli_exit code = CLI_OK;
    if (print->unused_alone ? print->unused > 0 : print->count > 0) {
        code = cli_table_print(print->table);
        print->table = NULL;
        putchar('\n');
    }
    printf("%zu of %zu lines are used on %s\n", print->count - print->unused, print->count,
           heed_context_device(context));
    return code;
}

static cli_exit look(const cli_args *args, bool check)
{
    heed_context *context;
    cli_exit code = cli_context_open(&context, args);
    if (code != CLI_OK)
        return code;
    line_print print = { .json = cli_args_json(args),
                         .unused_alone = check,
                         .table = lab_table_create(),
                         .lines = json_array() };
    lab_table_column(print.table, "line", LAB_RIGHT);
    lab_table_column(print.table, "problem", LAB_LEFT);
    lab_table_column(print.table, "kernel", LAB_LEFT);
    lab_table_column(print.table, "time", LAB_RIGHT);
    lab_table_column(print.table, "here", LAB_LEFT);
    for (int i = 1; code == CLI_OK && i < cli_args_operand_count(args); i++)
        code = visit_file(context, cli_args_operand(args, i), &print);
    if (code == CLI_OK)
        code = print_lines(context, &print);
    if (code == CLI_OK && check && print.unused > 0)
        code = CLI_FINDING;
    lab_table_destroy(print.table);
    json_decref(print.lines);
    heed_context_destroy(context);
    return code;
}

/* -------------------------------------------------------------------------- */
/* import: other files into that of --wisdom                                  */
/* -------------------------------------------------------------------------- */

static cli_exit import_file(heed_context *context, const char *path)
{
    size_t taken, skipped;
    heed_status status = heed_wisdom_load(context, path, &taken, &skipped);
    if (status != HEED_OK)
        return cli_fail(status, NULL);
    if (skipped)
        cli_warning("%s: %zu lines taken, %zu not; the last one because %s", path, taken, skipped,
                    heed_message());
    else
        cli_message("%s: %zu lines taken", path, taken);
    return CLI_OK;
}

static cli_exit import(const cli_args *args)
{
    heed_context *context;
    if (!cli_args_text(args, "wisdom")) {
        cli_error("import: --wisdom must name the file that the lines are to go to");
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
/* export: from the board                                                     */
/* -------------------------------------------------------------------------- */

/* A leader that wisdom cannot select, as it chooses among heed's own kernels. */
typedef struct passed_over {
    char problem[HEED_SPEC_SIZE], name[2 * HEED_NAME_SIZE], why[160];
    int64_t trial;
    double seconds;
    int64_t instead; /* the trial that was taken in its place; 0: none */
    char taken[2 * HEED_NAME_SIZE];
    double taken_seconds;
} passed_over;

/* What the board's leaders come to. */
typedef struct board_export {
    heed_context *context;
    bool stale;
    char features[32], threads[16], last[HEED_SPEC_SIZE];
    size_t taken, left_out;
    char why[256]; /* of the last one that was left out */
    passed_over *passed;
    size_t passed_count;
} board_export;

/* Why the row is nothing for this machine, or NULL. */
static const char *refuse(const board_export *e, const lab_record_row *row, char why[256])
{
    const struct {
        const char *name, *there, *here;
        bool may_differ;
    } pairs[] = {
        { "device", row->device, heed_context_device(e->context), false },
        { "features", row->features, e->features, e->stale },
        { "build", row->build, heed_wisdom_build(), e->stale },
    };
    if (strcmp(row->trusted, "damaged") == 0)
        return "it is damaged";
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

static void leave_out(board_export *e, const lab_record_row *row, const char *why)
{
    e->left_out++;
    snprintf(e->why, sizeof e->why, "trial %lld: %.200s", (long long)row->trial, why);
}

/* The leader of @row's problem that was passed over, if that is the last one; else NULL. */
static passed_over *passed_of(const board_export *e, const lab_record_row *row)
{
    passed_over *last = e->passed_count > 0 ? &e->passed[e->passed_count - 1] : NULL;
    return last && strcmp(last->problem, row->problem) == 0 ? last : NULL;
}

/* Wisdom cannot select @row; whoever comes after it may do. */
static heed_status pass_over(board_export *e, const lab_record_row *row, const char *name,
                             const char *why)
{
    if (passed_of(e, row))
        return HEED_OK;
    passed_over *passed = realloc(e->passed, (e->passed_count + 1) * sizeof *passed);
    if (!passed)
        return HEED_ERR_NO_MEMORY;
    e->passed = passed;
    passed_over *it = &passed[e->passed_count++];
    *it = (passed_over){ .trial = row->trial, .seconds = row->seconds };
    snprintf(it->problem, sizeof it->problem, "%s", row->problem);
    snprintf(it->name, sizeof it->name, "%s", name);
    snprintf(it->why, sizeof it->why, "%s", why);
    return HEED_OK;
}

static void take(board_export *e, const lab_record_row *row, const char *name)
{
    passed_over *passed = passed_of(e, row);
    if (passed) {
        passed->instead = row->trial;
        passed->taken_seconds = row->seconds;
        snprintf(passed->taken, sizeof passed->taken, "%s", name);
    }
    snprintf(e->last, sizeof e->last, "%s", row->problem);
    e->taken++;
}

/* Rows of a problem come in the order of their places, cold ones before hot ones: the first that
 * can be selected is the one. Of those that are for another machine only leaders are spoken of. */
static heed_status take_row(void *data, const lab_record_row *row)
{
    board_export *e = data;
    char name[2 * HEED_NAME_SIZE], buffer[256];
    heed_problem problem;
    const char *why = refuse(e, row, buffer);
    if (why && row->place == 1)
        leave_out(e, row, why);
    if (why || strcmp(e->last, row->problem) == 0)
        return HEED_OK;
    snprintf(name, sizeof name, "%.95s%s%.95s", row->kernel, *row->config ? "__" : "", row->config);
    if (row->foreign)
        return pass_over(e, row, name, "it has a source of its own");
    heed_status status = heed_problem_parse(&problem, row->problem);
    if (status == HEED_OK)
        status = heed_wisdom_learn(e->context, &problem, name, row->seconds);
    if (status == HEED_ERR_NO_MEMORY)
        return status;
    if (status != HEED_OK)
        return pass_over(e, row, name, heed_message());
    take(e, row, name);
    return HEED_OK;
}

/* Who leads and is not in the wisdom, and who is in its place. */
static void print_passed(const board_export *e)
{
    for (size_t i = 0; i < e->passed_count; i++) {
        const passed_over *it = &e->passed[i];
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
    if (e->taken + e->left_out + e->passed_count == 0)
        cli_message("nothing on the board is for %s", heed_context_device(e->context));
    if (e->left_out)
        cli_warning("%zu leaders of the board not taken; the last one because %s%s", e->left_out,
                    e->why, e->stale ? "" : "; --stale takes those of other builds and drivers");
    if (cli_args_json(args))
        code = cli_json_print(json_pack("{s:I, s:I, s:I, s:s}", "taken", (json_int_t)e->taken,
                                        "left_out", (json_int_t)e->left_out, "passed_over",
                                        (json_int_t)e->passed_count, "device",
                                        heed_context_device(e->context)),
                              "wisdom.export");
    else if (!cli_args_text(args, "wisdom"))
        code = print_wisdom(e->context);
    if (code == CLI_OK)
        code = cli_wisdom_save(e->context, args);
    if (code == CLI_OK && cli_args_text(args, "wisdom"))
        cli_message("%zu lines for %s", e->taken, heed_context_device(e->context));
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
    return status == HEED_OK ? end_export(e, args) : cli_board_fail(status, &error);
}

static cli_exit export(const cli_args *args)
{
    board_export e = { .stale = cli_args_flag(args, "stale") };
    cli_exit code = cli_context_open(&e.context, args);
    if (code != CLI_OK)
        return code;
    heed_device_features(e.context, e.features);
    code = take_board(&e, args);
    free(e.passed);
    heed_context_destroy(e.context);
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
    static const cli_deed deeds[] = {
        { "export", 0, 0, export },   { "import", 1, CLI_ANY, import },
        { "show", 1, CLI_ANY, show }, { "check", 1, CLI_ANY, check },
        { NULL, 0, 0, NULL },
    };
    return cli_deed_run(deeds, args);
}

static const cli_option options[] = {
    CLI_OPTION_BOARD,
    { .name = "stale",
      .kind = CLI_FLAG,
      .help = "Of export: also take figures of another build of heed, or of another driver or "
              "compiler, which may be out of date" },
    CLI_OPTION_WISDOM,
    CLI_OPTION_DEVICE,
    CLI_OPTION_THREADS,
    CLI_OPTION_CPU,
    { .name = NULL },
};

extern const cli_verb cli_verb_wisdom;
const cli_verb cli_verb_wisdom = {
    .name = "wisdom",
    .summary = "make wisdom from the leaderboard, merge it, and see which of it applies here",
    .operands = "export | import FILE... | show FILE... | check FILE...",
    .operand_min = 1,
    .operand_max = CLI_ANY,
    .description =
        "Wisdom is a text that tells planning which kernel and config is the fastest for a problem "
        "on this machine. It can only choose among the kernels that heed has.\n"
        "\n"
        "export takes from the board who leads on this device, with as many threads, and prints it "
        "as wisdom, or adds it to the file of --wisdom. Where there are figures for cold and for "
        "hot buffers those for cold ones count. import adds the lines of other files that are for "
        "this machine to that of --wisdom. Wisdom chooses among heed's own kernels: where a source "
        "of "
        "somebody's leads the best of heed's own is taken, and a warning says so.\n"
        "\n"
        "show prints each line of a file, and whether it is used here or which field differs. "
        "check prints only those that are not used.\n"
        "\n"
        "Examples:\n"
        "\n"
        "  heed wisdom export > heed.wisdom\n"
        "  heed wisdom export --device cuda --wisdom heed.wisdom\n"
        "  heed wisdom check heed.wisdom\n"
        "\n"
        "The exit status is 1 if there is nothing to export, or if check finds a line that is not "
        "used here.",
    .options = options,
    .run = run,
};
