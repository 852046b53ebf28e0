/*
 * options.c - parses a command line by a verb's option table
 */
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli.h"

/* The value that getopt_long() returns for the option at index 0; all letters are below it. */
#define LONG_BASE 256

typedef struct cli_value {
    bool given;
    const char *text;
    int64_t integer;
    double real;
    int choice;
    const char **list; /* if it may be repeated: room for argc texts */
    size_t list_count;
} cli_value;

struct cli_args {
    const cli_verb *verb;
    cli_value *values; /* one per option, in the order of cli_verb_option() */
    char **operands;
    int operand_count;
};

static const cli_option common_options[] = {
    OPT_FLAG("json", 0,
             "Print the result as JSON with a versioned schema; a failure as heed.error/1"),
    OPT_FLAG("help", 'h', "Show this help and exit"),
    { .name = NULL },
};

/* The row @index of @table and the tables that it includes. Past the end it returns NULL, with
 * *@index reduced by the number of rows. */
static const cli_option *row_at(const cli_option *table, size_t *index)
{
    for (const cli_option *row = table; row && (row->name || row->table); row++) {
        const cli_option *found = row->table ? row_at(row->table, index) : NULL;
        if (found || (row->name && (*index)-- == 0))
            return found ? found : row;
    }
    return NULL;
}

const cli_option *cli_verb_option(const cli_verb *verb, size_t index)
{
    const cli_option *own = row_at(verb->options, &index);
    return own ? own : row_at(common_options, &index);
}

bool cli_option_repeats(const cli_option *option)
{
    return option->kind == CLI_LIST || option->kind == CLI_PATHS;
}

const char *cli_option_choice(const cli_option *option, size_t index)
{
    if (option->choice)
        return option->choice(index);
    return option->choices ? option->choices[index] : NULL;
}

const char *cli_type_at(size_t index)
{
    return index < HEED_TYPE_COUNT ? heed_type_name((heed_type)index) : NULL;
}

static size_t option_count(const cli_verb *verb)
{
    size_t count = 0;
    while (cli_verb_option(verb, count))
        count++;
    return count;
}

/* -------------------------------------------------------------------------- */
/* One value                                                                  */
/* -------------------------------------------------------------------------- */

static bool has_limits(const cli_option *option)
{
    return option->min != 0 || option->max != 0;
}

static cli_exit out_of_range(const cli_option *option, const char *text)
{
    cli_error("--%s: %s is out of range; it must be %.16g to %.16g", option->name, text,
              option->min, option->max);
    return CLI_USAGE;
}

static cli_exit read_integer(const cli_option *option, const char *text, cli_value *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end) {
        cli_error("--%s: '%s' is not an integer", option->name, text);
        return CLI_USAGE;
    }
    long double exact = number; /* a double would round values just above a large limit */
    if (errno == ERANGE || (has_limits(option) && (exact < option->min || exact > option->max)))
        return out_of_range(option, text);
    value->integer = number;
    return CLI_OK;
}

static cli_exit read_real(const cli_option *option, const char *text, cli_value *value)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number)) {
        cli_error("--%s: '%s' is not a finite number", option->name, text);
        return CLI_USAGE;
    }
    if (has_limits(option) && (number < option->min || number > option->max))
        return out_of_range(option, text);
    value->real = number;
    return CLI_OK;
}

static cli_exit bad_choice(const cli_option *option, const char *text)
{
    lab_suggestion suggestion = lab_suggest(text);
    char list[256] = "";
    const char *choice;
    for (size_t i = 0, length = 0; (choice = cli_option_choice(option, i)); i++) {
        int added = length < sizeof list ? snprintf(list + length, sizeof list - length, "%s%s",
                                                    i ? ", " : "", choice)
                                         : 0;
        length += added > 0 ? (size_t)added : 0;
        lab_suggest_consider(&suggestion, choice);
    }
    if (suggestion.best)
        cli_error("--%s: '%s' is not one of %s; did you mean '%s'?", option->name, text, list,
                  suggestion.best);
    else
        cli_error("--%s: '%s' is not one of %s", option->name, text, list);
    return CLI_USAGE;
}

static cli_exit read_choice(const cli_option *option, const char *text, cli_value *value)
{
    const char *choice;
    for (int i = 0; (choice = cli_option_choice(option, (size_t)i)); i++)
        if (strcmp(choice, text) == 0) {
            value->choice = i;
            return CLI_OK;
        }
    return bad_choice(option, text);
}

static cli_exit read_value(const cli_option *option, const char *text, cli_value *value)
{
    if (text && !*text) {
        cli_error("--%s: its argument is empty; give %s", option->name, option->argument);
        return CLI_USAGE;
    }
    value->text = text;
    switch (option->kind) {
    case CLI_INTEGER:
        return read_integer(option, text, value);
    case CLI_REAL:
        return read_real(option, text, value);
    case CLI_CHOICE:
        return read_choice(option, text, value);
    case CLI_LIST:
    case CLI_PATHS:
        value->list[value->list_count++] = text;
        return option->choice ? read_choice(option, text, value) : CLI_OK;
    case CLI_FLAG:
    case CLI_TEXT:
    case CLI_PATH:
        break;
    }
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* The whole line                                                             */
/* -------------------------------------------------------------------------- */

/* The option table in getopt's form. */
typedef struct getopt_table {
    struct option *options;
    char *letters;
} getopt_table;

static void getopt_table_free(getopt_table *table)
{
    free(table->options);
    free(table->letters);
}

static bool getopt_table_make(getopt_table *table, const cli_verb *verb)
{
    size_t count = option_count(verb), length = 0;
    table->options = calloc(count + 1, sizeof *table->options);
    table->letters = calloc(2 * count + 2, 1);
    if (!table->options || !table->letters)
        return false;
    table->letters[length++] = ':'; /* tell a missing argument from an unknown option */
    for (size_t i = 0; i < count; i++) {
        const cli_option *option = cli_verb_option(verb, i);
        bool argument = option->kind != CLI_FLAG;
        table->options[i] = (struct option){ option->name,
                                             argument ? required_argument : no_argument, NULL,
                                             LONG_BASE + (int)i };
        if (option->letter)
            table->letters[length++] = option->letter;
        if (option->letter && argument)
            table->letters[length++] = ':';
    }
    return true;
}

/* The index of the option for getopt's @code, a letter or LONG_BASE + index. */
static size_t option_index(const cli_verb *verb, int code)
{
    if (code >= LONG_BASE)
        return (size_t)(code - LONG_BASE);
    size_t index = 0;
    while (cli_verb_option(verb, index) && cli_verb_option(verb, index)->letter != code)
        index++;
    return index;
}

static void see_help(const cli_verb *verb)
{
    cli_message("'heed %s --help' lists the options", verb->name);
}

/* Reports the long option @word, which is unknown or ambiguous. */
static void unknown_long_option(const cli_verb *verb, const char *word)
{
    size_t length = strcspn(word, "="), matches = 0;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             word);
    lab_suggestion suggestion = lab_suggest(name);
    for (size_t i = 0; cli_verb_option(verb, i); i++) {
        const char *candidate = cli_verb_option(verb, i)->name;
        matches += strncmp(candidate, name, strlen(name)) == 0;
        lab_suggest_consider(&suggestion, candidate);
    }
    if (matches > 1)
        cli_error("--%s: more than one option of 'heed %s' begins like this", name, verb->name);
    else if (suggestion.best)
        cli_error("--%s: 'heed %s' has no such option; did you mean --%s?", name, verb->name,
                  suggestion.best);
    else
        cli_error("--%s: 'heed %s' has no such option", name, verb->name);
}

/* @code is the result of getopt_long(), ':' or '?'; @word is the last argument that it read. */
static cli_exit bad_option(const cli_verb *verb, int code, const char *word)
{
    if (code == ':') {
        const cli_option *option = cli_verb_option(verb, option_index(verb, optopt));
        cli_error("--%s: its argument is missing; give %s", option->name, option->argument);
    } else if (optopt >= LONG_BASE) {
        cli_error("--%s: takes no argument",
                  cli_verb_option(verb, option_index(verb, optopt))->name);
    } else if (optopt == 0) {
        unknown_long_option(verb, word + strspn(word, "-"));
    } else {
        cli_error("-%c: 'heed %s' has no such option", optopt, verb->name);
    }
    see_help(verb);
    return CLI_USAGE;
}

/* Stores an option's value. If it is given twice and is not a list, neither value counts. */
static cli_exit take_option(const cli_option *option, const char *text, cli_value *value)
{
    bool again = value->given;
    value->given = true;
    if (option->kind == CLI_FLAG)
        return CLI_OK;
    if (!again || cli_option_repeats(option))
        return read_value(option, text, value);
    cli_error("--%s: given twice, as '%s' and as '%s'; give it once", option->name, value->text,
              text);
    return CLI_USAGE;
}

static cli_exit read_options(cli_args *args, const getopt_table *table, int argc, char **argv)
{
    optind = 0; /* restart, even after another command line */
    opterr = 0;
    for (;;) {
        int code = getopt_long(argc, argv, table->letters, table->options, NULL);
        if (code == -1)
            break;
        if (code == '?' || code == ':')
            return bad_option(args->verb, code, argv[optind - 1]);
        size_t index = option_index(args->verb, code);
        cli_exit result = take_option(cli_verb_option(args->verb, index), optarg,
                                      &args->values[index]);
        if (result != CLI_OK)
            return result;
    }
    args->operands = argv + optind;
    args->operand_count = argc - optind;
    return CLI_OK;
}

static cli_exit check_operands(const cli_args *args)
{
    const cli_verb *verb = args->verb;
    if (verb->operands.most != CLI_ANY && args->operand_count > verb->operands.most) {
        cli_error("'%s' is one operand too many for 'heed %s'", args->operands[verb->operands.most],
                  verb->name);
        see_help(verb);
        return CLI_USAGE;
    }
    if (args->operand_count < verb->operands.least) {
        cli_error("'heed %s' needs %s", verb->name, verb->operands.text);
        see_help(verb);
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* The number of an option's files that are standard input. */
static size_t count_input(const cli_option *option, const cli_value *value)
{
    size_t count = 0;
    bool reads = strcmp(option->name, "output") != 0;
    for (size_t i = 0; option->kind == CLI_PATHS && i < value->list_count; i++)
        count += strcmp(value->list[i], "-") == 0;
    return option->kind == CLI_PATH && value->given && reads ? strcmp(value->text, "-") == 0
                                                             : count;
}

/* At most one file can be standard input. */
static cli_exit check_input(const cli_args *args)
{
    const cli_option *first = NULL, *option;
    for (size_t i = 0; (option = cli_verb_option(args->verb, i)); i++) {
        size_t count = count_input(option, &args->values[i]);
        if (count > 1 || (count > 0 && first)) {
            cli_error("--%s and --%s are both '-', which is standard input: name a file for one",
                      first ? first->name : option->name, option->name);
            return CLI_USAGE;
        }
        first = count > 0 ? option : first;
    }
    return CLI_OK;
}

static cli_exit read_defaults(cli_args *args)
{
    cli_exit code = CLI_OK;
    const cli_option *option;
    for (size_t i = 0; code == CLI_OK && (option = cli_verb_option(args->verb, i)); i++) {
        args->values[i].choice = args->values[i].given ? args->values[i].choice : -1;
        if (option->standard && !args->values[i].given)
            code = read_value(option, option->standard, &args->values[i]);
    }
    return code;
}

/* Allocates arguments with room for their values: for each list at most @argc and a default. NULL
 * if out of memory. */
static cli_args *args_create(const cli_verb *verb, int argc)
{
    cli_args *args = calloc(1, sizeof *args);
    if (!args)
        return NULL;
    args->verb = verb;
    args->values = calloc(option_count(verb) + 1, sizeof *args->values);
    bool complete = args->values != NULL;
    for (size_t i = 0; complete && i < option_count(verb); i++)
        if (cli_option_repeats(cli_verb_option(verb, i)))
            complete = (args->values[i].list = calloc((size_t)argc + 1, sizeof(char *))) != NULL;
    if (complete)
        return args;
    cli_args_free(args);
    return NULL;
}

cli_exit cli_args_parse(cli_args **args, const cli_verb *verb, int argc, char **argv)
{
    getopt_table table = { NULL, NULL };
    cli_exit code = CLI_OK;

    *args = args_create(verb, argc);
    if (!*args || !getopt_table_make(&table, verb)) {
        cli_error("not enough memory for the command line");
        code = CLI_ENVIRONMENT;
    }
    if (code == CLI_OK)
        code = read_options(*args, &table, argc, argv);
    if (code == CLI_OK)
        code = check_input(*args);
    if (code == CLI_OK)
        code = read_defaults(*args);
    if (code == CLI_OK && !cli_args_flag(*args, "help"))
        code = check_operands(*args);
    getopt_table_free(&table);
    if (code != CLI_OK) {
        cli_args_free(*args);
        *args = NULL;
    }
    return code;
}

void cli_args_free(cli_args *args)
{
    if (!args)
        return;
    for (size_t i = 0; args->values && i < option_count(args->verb); i++)
        free(args->values[i].list);
    free(args->values);
    free(args);
}

/* -------------------------------------------------------------------------- */
/* Values by name                                                             */
/* -------------------------------------------------------------------------- */

int cli_args_operand_count(const cli_args *args)
{
    return args->operand_count;
}

const char *cli_args_operand(const cli_args *args, int index)
{
    return index >= 0 && index < args->operand_count ? args->operands[index] : NULL;
}

/* A name that is not in the table is a programming error; it is treated as an option that was not
 * given. */
static const cli_value *value_of(const cli_args *args, const char *name)
{
    static const cli_value none = { .choice = -1 };
    for (size_t i = 0; cli_verb_option(args->verb, i); i++)
        if (strcmp(cli_verb_option(args->verb, i)->name, name) == 0)
            return &args->values[i];
    assert(false && "the verb's table lacks this option");
    return &none;
}

bool cli_args_has(const cli_args *args, const char *name)
{
    for (size_t i = 0; cli_verb_option(args->verb, i); i++)
        if (strcmp(cli_verb_option(args->verb, i)->name, name) == 0)
            return true;
    return false;
}

bool cli_args_given(const cli_args *args, const char *name)
{
    return value_of(args, name)->given;
}

bool cli_args_flag(const cli_args *args, const char *name)
{
    return value_of(args, name)->given;
}

const char *cli_args_text(const cli_args *args, const char *name)
{
    return value_of(args, name)->text;
}

int64_t cli_args_integer(const cli_args *args, const char *name)
{
    return value_of(args, name)->integer;
}

double cli_args_real(const cli_args *args, const char *name)
{
    return value_of(args, name)->real;
}

int cli_args_choice(const cli_args *args, const char *name)
{
    return value_of(args, name)->choice;
}

size_t cli_args_list_count(const cli_args *args, const char *name)
{
    return value_of(args, name)->list_count;
}

const char *cli_args_list(const cli_args *args, const char *name, size_t index)
{
    const cli_value *value = value_of(args, name);
    return index < value->list_count ? value->list[index] : NULL;
}

bool cli_args_json(const cli_args *args)
{
    return cli_args_flag(args, "json");
}

cli_exit cli_rules_check(const cli_args *args, const cli_rule *rules)
{
    for (const cli_rule *rule = rules; rule->option; rule++) {
        if (!cli_args_given(args, rule->option) || cli_args_given(args, rule->other) != rule->apart)
            continue;
        if (rule->says)
            cli_error("%s", rule->says);
        else
            cli_error("--%s %s --%s%s", rule->option, rule->apart ? "cannot be used with" : "needs",
                      rule->other, rule->why ? rule->why : "");
        return CLI_USAGE;
    }
    return CLI_OK;
}
