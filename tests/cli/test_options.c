/*
 * test_options.c - parsing a command line by an option table, and suggestions
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/base/cli.h"
#include "scratch.h"

static const char *const colours[] = { "red", "green", "blue", NULL };

static const cli_option options[] = {
    { .name = "flag", .letter = 'f', .kind = CLI_FLAG, .help = "A flag" },
    { .name = "count",
      .letter = 'n',
      .kind = CLI_INTEGER,
      .argument = "N",
      .min = -5,
      .max = 10,
      .standard = "3",
      .help = "A number" },
    { .name = "any", .kind = CLI_INTEGER, .argument = "N", .help = "A number without limits" },
    { .name = "factor", .kind = CLI_REAL, .argument = "X", .min = 0, .max = 1, .help = "A factor" },
    { .name = "colour",
      .letter = 'c',
      .kind = CLI_CHOICE,
      .argument = "COLOUR",
      .choices = colours,
      .help = "A colour" },
    { .name = "name",
      .kind = CLI_TEXT,
      .argument = "NAME",
      .standard = "nobody",
      .help = "A name" },
    { .name = "file", .kind = CLI_PATH, .argument = "FILE", .help = "A file" },
    { .name = "tag", .kind = CLI_LIST, .argument = "TAG", .help = "A tag, again and again" },
    { .name = NULL },
};

static const cli_verb verb = {
    .name = "paint", .summary = "paint", .operands = { "WALL [WALL]", 1, 2 }, .options = options
};

#define WORDS_MAX 20

/* Parses "paint" and the words of @line, separated by single blanks. stderr goes to @message. */
static cli_exit parse(void **state, const char *line, cli_args **args, char message[512])
{
    static char text[512]; /* the arguments belong to it and to argv */
    static char *argv[WORDS_MAX + 1];
    char path[SCRATCH_PATH_SIZE];
    memset(argv, 0, sizeof argv);
    argv[0] = (char *)"paint";
    int argc = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = text; *line && word && argc < WORDS_MAX; argc++) {
        argv[argc] = word;
        word = strchr(word, ' ');
        if (word)
            *word++ = '\0';
    }
    int saved = dup(STDERR_FILENO);
    assert_non_null(freopen(scratch_path(state, "stderr", path), "w", stderr));
    cli_exit code = cli_args_parse(args, &verb, argc, argv);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    message[scratch_read(path, message, 511)] = '\0';
    return code;
}

static void reads_every_kind(void **state)
{
    cli_args *args;
    char message[512];
    cli_exit code = parse(state,
                          "east -f -n -5 --any=-9223372036854775808 --factor 0.25 -cblue "
                          "--name=x=y --tag a west --tag b --file f",
                          &args, message);
    assert_string_equal(message, "");
    assert_int_equal(code, CLI_OK);
    assert_true(cli_args_flag(args, "flag"));
    assert_true(cli_args_integer(args, "count") == -5);
    assert_true(cli_args_integer(args, "any") == INT64_MIN);
    assert_true(cli_args_real(args, "factor") == 0.25);
    assert_int_equal(cli_args_choice(args, "colour"), 2);
    assert_string_equal(cli_args_text(args, "colour"), "blue");
    assert_string_equal(cli_args_text(args, "name"), "x=y");
    assert_string_equal(cli_args_text(args, "file"), "f");
    assert_int_equal(cli_args_list_count(args, "tag"), 2);
    assert_string_equal(cli_args_list(args, "tag", 0), "a");
    assert_string_equal(cli_args_list(args, "tag", 1), "b");
    assert_null(cli_args_list(args, "tag", 2));
    assert_int_equal(cli_args_operand_count(args), 2);
    assert_string_equal(cli_args_operand(args, 0), "east");
    assert_string_equal(cli_args_operand(args, 1), "west");
    assert_null(cli_args_operand(args, 2));
    assert_false(cli_args_json(args));
    cli_args_free(args);
}

static void knows_defaults(void **state)
{
    cli_args *args;
    char message[512];
    assert_int_equal(parse(state, "wall", &args, message), CLI_OK);
    assert_false(cli_args_flag(args, "flag"));
    assert_true(cli_args_integer(args, "count") == 3);
    assert_false(cli_args_given(args, "count"));
    assert_true(cli_args_real(args, "factor") == 0);
    assert_int_equal(cli_args_choice(args, "colour"), -1);
    assert_string_equal(cli_args_text(args, "name"), "nobody");
    assert_null(cli_args_text(args, "file"));
    assert_int_equal(cli_args_list_count(args, "tag"), 0);
    assert_true(cli_args_has(args, "tag"));
    assert_false(cli_args_has(args, "threads"));
    cli_args_free(args);
}

static void accepts_the_usual_forms(void **state)
{
    cli_args *args;
    char message[512];
    assert_int_equal(parse(state, "--colou red --count 2 -- --flag", &args, message), CLI_OK);
    assert_int_equal(cli_args_choice(args, "colour"), 0); /* an abbreviation */
    assert_true(cli_args_integer(args, "count") == 2);
    assert_string_equal(cli_args_operand(args, 0), "--flag"); /* the rest are operands */
    assert_false(cli_args_flag(args, "flag"));
    cli_args_free(args);
    assert_int_equal(parse(state, "-fn7 wall --json", &args, message), CLI_OK);
    assert_true(cli_args_flag(args, "flag"));
    assert_true(cli_args_integer(args, "count") == 7);
    assert_true(cli_args_json(args));
    cli_args_free(args);
    assert_int_equal(parse(state, "--help", &args, message), CLI_OK); /* without the operand */
    cli_args_free(args);
}

/* A command line that is refused, and the message. */
static const text_pair refused[] = {
    { "wall --count x", "--count: 'x' is not an integer" },
    { "wall --count 1.5", "--count: '1.5' is not an integer" },
    { "wall --count 0x1", "--count: '0x1' is not an integer" },
    { "wall --count=", "--count: its argument is empty; give N" },
    { "wall --count 11", "--count: 11 is out of range; it must be -5 to 10" },
    { "wall --count -6", "--count: -6 is out of range" },
    { "wall --any 9223372036854775808", "--any: 9223372036854775808 is out of range" },
    { "wall --factor 1.01", "--factor: 1.01 is out of range; it must be 0 to 1" },
    { "wall --factor nan", "--factor: 'nan' is not a finite number" },
    { "wall --factor inf", "--factor: 'inf' is not a finite number" },
    { "wall --factor 1e999", "--factor: '1e999' is not a finite number" },
    { "wall --factor half", "--factor: 'half' is not a finite number" },
    { "wall --colour gren",
      "--colour: 'gren' is not one of red, green, blue; did you mean 'green'?" },
    { "wall --colour purple", "--colour: 'purple' is not one of red, green, blue\n" },
    { "wall --tag=", "--tag: its argument is empty; give TAG" },
    { "wall --file", "--file: its argument is missing; give FILE" },
    { "wall --count 1 -n 2", "--count: given twice, as '1' and as '2'; give it once" },
    { "wall --count 1 --count 1", "--count: given twice" },
    { "wall -n", "--count: its argument is missing; give N" },
    { "wall --flag=1", "--flag: takes no argument" },
    { "wall --colur red", "--colur: 'heed paint' has no such option; did you mean --colour?" },
    { "wall --colur=red", "--colur: 'heed paint' has no such option; did you mean --colour?" },
    { "wall --zzzzzz", "--zzzzzz: 'heed paint' has no such option\n" },
    { "wall --f", "--f: more than one option of 'heed paint' begins like this" },
    { "wall -z", "-z: 'heed paint' has no such option" },
    { "wall -fz", "-z: 'heed paint' has no such option" },
    { "", "'heed paint' needs WALL [WALL]" },
    { "a b c", "'c' is one operand too many for 'heed paint'" },
};

static void refuses_with_a_reason(void **state)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        cli_args *args;
        char message[512];
        cli_exit code = parse(state, refused[i].given, &args, message);
        if (code != CLI_USAGE || !strstr(message, refused[i].wanted))
            fail_msg("'%s' gave %d and: %s", refused[i].given, (int)code, message);
        assert_null(args);
        assert_ptr_equal(strstr(message, "heed: error: "), message);
    }
}

static const char *suggestion_for(const char *word)
{
    lab_suggestion suggestion = lab_suggest(word);
    static const char *const names[] = { "plan", "run", "verify", "bench", "doctor" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        lab_suggest_consider(&suggestion, names[i]);
    return suggestion.best ? suggestion.best : "";
}

static void suggests_the_nearest(void **state)
{
    char longest[200];
    assert_string_equal(suggestion_for("plna"), "plan"); /* two swapped letters are one error */
    assert_string_equal(suggestion_for("pla"), "plan");
    assert_string_equal(suggestion_for("rum"), "run");
    assert_string_equal(suggestion_for("rnu"), "run");
    assert_string_equal(suggestion_for("nur"), "");
    assert_string_equal(suggestion_for("verfiy"), "verify");
    assert_string_equal(suggestion_for("docter"), "doctor");
    assert_string_equal(suggestion_for("benchmark"), "bench");
    assert_string_equal(suggestion_for("xyz"), "");
    assert_string_equal(suggestion_for(""), "");
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_string_equal(suggestion_for(longest), "");
}

static void maps_status_to_exit_code(void **state)
{
    static const cli_exit codes[] = { CLI_OK,          CLI_USAGE,   CLI_UNSUPPORTED,
                                      CLI_ENVIRONMENT, CLI_FINDING, CLI_ENVIRONMENT,
                                      CLI_CORRUPT };
    for (int status = HEED_OK; status <= HEED_ERR_CORRUPT; status++)
        assert_int_equal(cli_exit_of((heed_status)status), codes[status]);
    assert_int_equal(cli_exit_of((heed_status)99), CLI_ENVIRONMENT);
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, reads_every_kind, knows_defaults,
                 accepts_the_usual_forms, refuses_with_a_reason, suggests_the_nearest,
                 maps_status_to_exit_code)
