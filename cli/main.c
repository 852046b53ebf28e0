/*
 * main.c - finds the verb and runs it; the only place that ends the process
 */
#include <locale.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/base/cli.h"

static cli_exit unknown_verb(const char *name)
{
    lab_suggestion suggestion = lab_suggest(name);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (!(*verb)->hidden)
            lab_suggest_consider(&suggestion, (*verb)->name);
    if (suggestion.best)
        cli_error("'%s' is not a verb; did you mean '%s'?", name, suggestion.best);
    else
        cli_error("'%s' is not a verb; 'heed --help' lists them", name);
    return CLI_USAGE;
}

static cli_exit run_verb(const cli_verb *verb, int argc, char **argv)
{
    cli_args *args;
    cli_exit code = cli_args_parse(&args, verb, argc, argv);
    if (code != CLI_OK)
        return code;
    if (cli_args_flag(args, "help"))
        cli_help_print_verb(stdout, verb);
    else
        code = verb->run(args);
    cli_args_free(args);
    return code;
}

/* heed --help, heed help [VERB] */
static cli_exit run_help(int argc, char **argv)
{
    if (argc < 2) {
        cli_help_print(stdout);
        return CLI_OK;
    }
    const cli_verb *verb = cli_verb_find(argv[1]);
    if (!verb)
        return unknown_verb(argv[1]);
    cli_help_print_verb(stdout, verb);
    return CLI_OK;
}

static cli_exit run(int argc, char **argv)
{
    if (argc < 2) {
        cli_help_print(stderr);
        return CLI_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return run_help(argc - 1, argv + 1);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("heed %s\n", heed_version());
        return CLI_OK;
    }
    if (word[0] == '-') {
        cli_error("'%s': options come after the verb; 'heed --help' lists the verbs", word);
        return CLI_USAGE;
    }
    const cli_verb *verb = cli_verb_find(word);
    return verb ? run_verb(verb, argc - 1, argv + 1) : unknown_verb(word);
}

/* True if --json, or an abbreviation such as --js, was given. Also used before options are parsed,
 * as errors of parsing are JSON too. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--js", 4) == 0 &&
            strncmp(argv[i], "--json", strcspn(argv[i], "=")) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    bool json = wants_json(argc, argv);
    /* parsing options reorders the other words */
    const char *verb = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    setlocale(LC_CTYPE, ""); /* for the width of characters; numbers keep a decimal point */
    cli_output_open();
    cli_interrupt_catch();
    cli_exit code = run(argc, argv);
    if (cli_interrupted())
        code = CLI_INTERRUPTED;
    if (json)
        code = cli_json_finish(code, verb);
    return cli_output_close(code);
}
