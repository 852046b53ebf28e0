/*
 * test_verbs.c - every option of every verb: its table row, invalid values, help, manual and
 * completions
 */
#include "run_tests.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "lab/report/table.h"
#include "scratch.h"

typedef void check_fn(void **state, const cli_verb *verb, const cli_option *option);

static void for_every_option(void **state, check_fn *check)
{
    int count = 0;
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        for (size_t i = 0; cli_verb_option(*verb, i); i++, count++)
            check(state, *verb, cli_verb_option(*verb, i));
    assert_true(count > 20);
}

/* -------------------------------------------------------------------------- */
/* The rows                                                                   */
/* -------------------------------------------------------------------------- */

static void check_unique(const cli_verb *verb, const cli_option *option)
{
    const cli_option *other;
    for (size_t i = 0; (other = cli_verb_option(verb, i)) && other != option; i++) {
        assert_string_not_equal(other->name, option->name);
        if (option->letter)
            assert_int_not_equal(other->letter, option->letter);
    }
}

static void check_row(void **state, const cli_verb *verb, const cli_option *option)
{
    size_t length = strlen(option->help);
    assert_true(length > 0 && length < 300);
    assert_int_not_equal(option->help[length - 1], '.');
    assert_true(isupper((unsigned char)option->help[0]));
    assert_int_equal(option->kind == CLI_FLAG, option->argument == NULL);
    assert_true(option->kind == CLI_CHOICE || option->kind == CLI_LIST ||
                !cli_option_choice(option, 0));
    assert_true(option->kind != CLI_CHOICE || cli_option_choice(option, 0));
    assert_true(!option->choices || !option->choice);
    assert_true(option->min <= option->max);
    assert_true(option->letter == 0 || isalpha((unsigned char)option->letter));
    assert_int_equal(strspn(option->name, "abcdefghijklmnopqrstuvwxyz0123456789-"),
                     strlen(option->name));
    check_unique(verb, option);
}

static void rows_are_sound(void **state)
{
    for_every_option(state, check_row);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++) {
        assert_ptr_equal(cli_verb_find((*verb)->name), *verb);
        assert_true(strlen((*verb)->summary) < 80);
        assert_non_null((*verb)->run);
        assert_true((*verb)->operands.text || (*verb)->operands.most == 0);
        assert_true((*verb)->operands.most == CLI_ANY ||
                    (*verb)->operands.least <= (*verb)->operands.most);
    }
    assert_null(cli_verb_find("no-such-verb"));
}

/* -------------------------------------------------------------------------- */
/* Values                                                                     */
/* -------------------------------------------------------------------------- */

/* Parses a whole line, which ends with NULL; stderr goes to @message. */
static cli_exit parse_all(void **state, const cli_verb *verb, char **argv, char message[2048])
{
    char path[SCRATCH_PATH_SIZE];
    cli_args *args;
    int saved = dup(STDERR_FILENO), argc = 0;
    while (argv[argc])
        argc++;
    assert_non_null(freopen(scratch_path(state, "stderr", path), "w", stderr));
    cli_exit code = cli_args_parse(&args, verb, argc, argv);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    message[scratch_read(path, message, 2047)] = '\0';
    cli_args_free(args);
    return code;
}

/* Parses the verb with one argument. */
static cli_exit parse(void **state, const cli_verb *verb, char *argument, char message[2048])
{
    char *argv[] = { (char *)verb->name, argument, (char *)"--help", NULL };
    return parse_all(state, verb, argv, message);
}

static void assert_refused(void **state, const cli_verb *verb, const cli_option *option,
                           const char *value)
{
    char argument[128], message[2048], name[64];
    snprintf(argument, sizeof argument, "--%s=%s", option->name, value);
    snprintf(name, sizeof name, "--%s: ", option->name);
    cli_exit code = parse(state, verb, argument, message);
    if (code != CLI_USAGE || !strstr(message, name))
        fail_msg("heed %s %s gave %d and: %s", verb->name, argument, (int)code, message);
}

/* Values just beyond the limits: by one, or by the step of a double if that is larger. */
static void check_limits(void **state, const cli_verb *verb, const cli_option *option)
{
    char value[64];
    double step = option->kind == CLI_INTEGER ? 1 : 0;
    if (option->min == 0 && option->max == 0)
        return;
    snprintf(value, sizeof value, "%.17g",
             fmax(option->max + step, nextafter(option->max, INFINITY)));
    assert_refused(state, verb, option, value);
    snprintf(value, sizeof value, "%.17g",
             fmin(option->min - step, nextafter(option->min, -INFINITY)));
    assert_refused(state, verb, option, value);
}

static void check_values(void **state, const cli_verb *verb, const cli_option *option)
{
    static const char *const not_integers[] = { "x", "1.5", "1x", "99999999999999999999", NULL };
    static const char *const not_reals[] = { "x", "nan", "inf", "1e999", "1x", NULL };
    static const char *const not_choices[] = { "no-such-choice", "x", NULL };
    static const char *const none[] = { NULL };
    static const char *const *const bad[] = {
        [CLI_FLAG] = none,      [CLI_TEXT] = none,
        [CLI_PATH] = none,      [CLI_INTEGER] = not_integers,
        [CLI_REAL] = not_reals, [CLI_CHOICE] = not_choices,
        [CLI_LIST] = none,      [CLI_PATHS] = none,
    };
    assert_refused(state, verb, option, ""); /* an empty argument; any argument of a flag */
    const cli_kind kind = cli_option_choice(option, 0) ? CLI_CHOICE : option->kind;
    for (size_t i = 0; bad[kind][i]; i++)
        assert_refused(state, verb, option, bad[kind][i]);
    check_limits(state, verb, option);
}

static void bad_values_are_refused(void **state)
{
    for_every_option(state, check_values);
}

/* Returns a valid value. */
static const char *good_value(const cli_option *option, char text[64])
{
    const char *choice = cli_option_choice(option, 0);
    double least = option->min != 0 || option->max != 0 ? option->min : 1;
    if (choice || (option->kind != CLI_INTEGER && option->kind != CLI_REAL))
        return choice ? choice : "word";
    snprintf(text, 64, "%.17g", least);
    return text;
}

/* Only lists and flags may be repeated; for other options it would be unclear which value
 * counts. */
static void check_twice(void **state, const cli_verb *verb, const cli_option *option)
{
    char argument[128], value[64], message[2048], expected[128];
    bool may = option->kind == CLI_LIST || option->kind == CLI_PATHS || option->kind == CLI_FLAG;
    if (option->kind == CLI_FLAG)
        snprintf(argument, sizeof argument, "--%s", option->name);
    else
        snprintf(argument, sizeof argument, "--%s=%s", option->name, good_value(option, value));
    char *argv[] = { (char *)verb->name, argument, argument, (char *)"--help", NULL };
    cli_exit code = parse_all(state, verb, argv, message);
    snprintf(expected, sizeof expected, "--%s: given twice", option->name);
    if (code != (may ? CLI_OK : CLI_USAGE) || (strstr(message, expected) == NULL) != may)
        fail_msg("heed %s %s twice gave %d and: %s", verb->name, argument, (int)code, message);
}

static void twice_is_refused(void **state)
{
    for_every_option(state, check_twice);
}

/* The name with an additional letter. */
static void check_slip(void **state, const cli_verb *verb, const cli_option *option)
{
    char argument[128], message[2048], advice[128];
    if (strlen(option->name) < 3)
        return; /* too short for a certain suggestion */
    snprintf(argument, sizeof argument, "--%sx", option->name);
    snprintf(advice, sizeof advice, "did you mean --%s?", option->name);
    assert_int_equal(parse(state, verb, argument, message), CLI_USAGE);
    if (!strstr(message, advice))
        fail_msg("heed %s %s gave: %s", verb->name, argument, message);
}

static void slips_get_a_suggestion(void **state)
{
    for_every_option(state, check_slip);
}

/* -------------------------------------------------------------------------- */
/* Products of the tables                                                     */
/* -------------------------------------------------------------------------- */

static char *print(void (*printer)(FILE *stream, const cli_verb *verb), const cli_verb *verb)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    printer(stream, verb);
    fclose(stream);
    return text;
}

static void print_help(FILE *stream, const cli_verb *verb)
{
    if (verb)
        cli_help_print_verb(stream, verb);
    else
        cli_help_print(stream);
}

static void print_man(FILE *stream, const cli_verb *verb)
{
    cli_man_print(stream, verb, "March 1, 2026");
}

static void print_bash(FILE *stream, const cli_verb *verb)
{
    cli_completion_bash(stream);
}

static void print_zsh(FILE *stream, const cli_verb *verb)
{
    cli_completion_zsh(stream);
}

static void print_fish(FILE *stream, const cli_verb *verb)
{
    cli_completion_fish(stream);
}

static void assert_fits(char *text, int width)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (lab_text_width(line) > width)
            fail_msg("wider than %d columns: %s", width, line);
    free(text);
}

/* Number of lines in @text before its options. */
static int lines_before_options(const char *text)
{
    static const char options[] = "\nOptions:\n";
    int lines = 0;
    for (; *text && strncmp(text, options, sizeof options - 1) != 0; text++)
        lines += *text == '\n';
    assert_int_equal(*text, '\n');
    return lines;
}

/* The width, and the number of lines before the options: together with the first options they fit
 * on a screen. */
static void help_fits(void **state)
{
    assert_fits(print(print_help, NULL), CLI_HELP_WIDTH);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++) {
        char *text = print(print_help, *verb);
        int lines = lines_before_options(text);
        if (lines > 18)
            fail_msg("help of %s has %d lines before its options", (*verb)->name, lines);
        assert_fits(text, CLI_HELP_WIDTH);
    }
}

static void assert_mentions(char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("'%s' is not in: %.500s", what, text);
    free(text);
}

static void check_mentioned(void **state, const cli_verb *verb, const cli_option *option)
{
    char text[128];
    snprintf(text, sizeof text, " --%s", option->name);
    assert_mentions(print(print_help, verb), text);
    if (verb->hidden)
        return;
    snprintf(text, sizeof text, "Fl \\-%s", option->name);
    assert_mentions(print(print_man, verb), text);
    snprintf(text, sizeof text, "--%s", option->name);
    assert_mentions(print(print_bash, NULL), text);
    assert_mentions(print(print_zsh, NULL), text);
    snprintf(text, sizeof text, "'__fish_seen_subcommand_from %s' -l %s", verb->name, option->name);
    assert_mentions(print(print_fish, NULL), text);
}

static void every_option_is_documented(void **state)
{
    for_every_option(state, check_mentioned);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (!(*verb)->hidden)
            assert_mentions(print(print_man, NULL), (*verb)->name);
}

/* -------------------------------------------------------------------------- */
/* Progress                                                                   */
/* -------------------------------------------------------------------------- */

/* A log gets a line, with the remaining time, only after ten silent seconds. */
static void progress_speaks_up_in_logs(void **state)
{
    char path[SCRATCH_PATH_SIZE], text[300];
    int kept = dup(STDERR_FILENO);
    assert_non_null(freopen(scratch_path(state, "log.txt", path), "w", stderr));
    lab_progress progress = lab_progress_start(&cli_sink, "tests", 4);
    lab_progress_step(&progress, 1, "the first");
    progress.start_ns -= INT64_C(60000000000);
    progress.last_ns -= INT64_C(9000000000);
    lab_progress_step(&progress, 1, "the second");
    progress.last_ns -= INT64_C(1100000000);
    lab_progress_step(&progress, 1, "the third");
    lab_progress_step(&progress, 2, "the fourth");
    lab_progress_end(&progress);
    progress = lab_progress_start(&cli_sink, NULL, 9); /* work without a name: no line */
    progress.last_ns = 1;
    lab_progress_step(&progress, 1, "the first");
    lab_progress_end(&progress);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    scratch_text_read(state, "log.txt", text, sizeof text);
    assert_int_equal(strncmp(text, "tests: 1 of 4, 3:", 17), 0); /* followed by seconds */
    assert_string_equal(strstr(text, " left"), " left  the third\n");
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, rows_are_sound, bad_values_are_refused,
                 twice_is_refused, slips_get_a_suggestion, help_fits, every_option_is_documented,
                 progress_speaks_up_in_logs)
