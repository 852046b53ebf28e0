/*
 * wisdom_export.c - `heed wisdom export`: the fastest kernels of the board, as wisdom
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/plural.h"
#include "cli/verbs/board/board.h"
#include "src/device.h"
#include "wisdom_line.h"

/* A leader that wisdom cannot select, as it chooses among heed's own kernels. */
typedef struct passed_over {
    char problem[HEED_SPEC_SIZE], name[2 * HEED_NAME_SIZE], why[160];
    int64_t trial;
    double seconds;
    int64_t instead; /* the trial that was taken instead; 0: none */
    char taken[2 * HEED_NAME_SIZE];
    double taken_seconds;
} passed_over;

/* A leader that no trial has shown to pass all gates, which it must before it becomes wisdom. */
typedef struct unproven {
    char problem[HEED_SPEC_SIZE], name[2 * HEED_NAME_SIZE];
    int64_t trial;
    double seconds;
} unproven;

/* The outcome of each of the board's leaders. */
typedef struct board_export {
    heed_context *context;
    bool stale;
    char features[32], threads[16], last[HEED_SPEC_SIZE];
    size_t taken, left_out;
    char why[256]; /* the reason for the last one that was left out */
    passed_over *passed;
    size_t passed_count;
    unproven *open;
    size_t open_count;
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

static void leave_out(board_export *e, const lab_record_row *row, const char *why)
{
    e->left_out++;
    snprintf(e->why, sizeof e->why, "trial %lld: %.200s", (long long)row->trial, why);
}

/* The skipped leader of @row's problem, if it is the last skipped one; else NULL. */
static passed_over *passed_of(const board_export *e, const lab_record_row *row)
{
    passed_over *last = e->passed_count > 0 ? &e->passed[e->passed_count - 1] : NULL;
    return last && strcmp(last->problem, row->problem) == 0 ? last : NULL;
}

/* Records that wisdom cannot select @row; a later row may do. */
static heed_status pass_over(board_export *e, const lab_record_row *row, const char *name,
                             const char *why)
{
    if (passed_of(e, row))
        return HEED_OK;
    if (!lab_grow(&e->passed, e->passed_count, sizeof *e->passed))
        return HEED_ERR_NO_MEMORY;
    passed_over *it = &e->passed[e->passed_count++];
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

/* Defers a row, to be proved after the board is closed. */
static heed_status put_off(board_export *e, const lab_record_row *row, const char *name)
{
    if (!lab_grow(&e->open, e->open_count, sizeof *e->open))
        return HEED_ERR_NO_MEMORY;
    unproven *it = &e->open[e->open_count++];
    *it = (unproven){ .trial = row->trial, .seconds = row->seconds };
    snprintf(it->problem, sizeof it->problem, "%s", row->problem);
    snprintf(it->name, sizeof it->name, "%s", name);
    return HEED_OK;
}

/* Proves a row with 'heed verify' in a child process, as for heed tune. */
static bool passes(const cli_args *args, const unproven *it)
{
    static const char *const options[] = { "device", "cpu", "threads" };
    char words[3][2][64];
    const char *line[20] = { "heed",   "verify",  "--kernel", it->name,
                             "--once", "--proof", it->problem };
    size_t count = 7;
    for (size_t i = 0; i < 3; i++) {
        if (!cli_args_given(args, options[i]))
            continue;
        snprintf(words[i][0], sizeof words[i][0], "--%s", options[i]);
        if (i < 2)
            snprintf(words[i][1], sizeof words[i][1], "%s", cli_args_text(args, options[i]));
        else
            snprintf(words[i][1], sizeof words[i][1], "%d", (int)cli_args_integer(args, "threads"));
        line[count++] = words[i][0];
        line[count++] = words[i][1];
    }
    return cli_run_self((char *const *)(const void *)line) == CLI_OK;
}

static cli_exit prove(board_export *e, const cli_args *args)
{
    heed_status status = HEED_OK;
    lab_progress progress = lab_progress_start(&cli_sink, "verifying", e->open_count);
    for (size_t i = 0; i < e->open_count && status == HEED_OK && !cli_interrupted(); i++) {
        const unproven *it = &e->open[i];
        heed_problem problem;
        lab_progress_step(&progress, i, it->problem);
        if (!passes(args, it)) {
            e->taken--;
            e->left_out++;
            snprintf(e->why, sizeof e->why, "trial %lld: it does not pass all gates",
                     (long long)it->trial);
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
        leave_out(e, row, why);
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
        status = put_off(e, row, name);
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
        cli_message("the board has nothing for %s", heed_context_device(e->context));
    if (e->left_out)
        cli_warning("%zu leader%s of the board not exported; the last one because %s%s",
                    e->left_out, lab_plural(e->left_out), e->why,
                    e->stale ? "" : "; --stale takes those of other builds and drivers");
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

cli_exit cli_wisdom_export(const cli_args *args)
{
    board_export e = { .stale = cli_args_flag(args, "stale") };
    cli_exit code = cli_context_open(&e.context, args);
    if (code != CLI_OK)
        return code;
    heed_device_features(e.context, e.features);
    code = take_board(&e, args);
    free(e.passed);
    free(e.open);
    heed_context_destroy(e.context);
    return code;
}
