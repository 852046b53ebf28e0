/*
 * generate.c - `heed generate`: manual pages and completions, for the build
 */
#include <string.h>

#include "cli/base/cli.h"

/* Prints the names of verbs that have a manual page, one per line. */
static void print_verbs(void)
{
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (!(*verb)->hidden)
            printf("%s\n", (*verb)->name);
}

static cli_exit generate_man(const char *name, const char *date)
{
    const cli_verb *verb = name ? cli_verb_find(name) : NULL;
    if (name && !verb) {
        cli_error("--verb: '%s' is not a verb", name);
        return CLI_USAGE;
    }
    cli_man_print(stdout, verb, date);
    return CLI_OK;
}

static cli_exit run(const cli_args *args)
{
    const char *form = cli_args_operand(args, 0);
    if (strcmp(form, "man") == 0)
        return generate_man(cli_args_text(args, "verb"), cli_args_text(args, "date"));
    if (strcmp(form, "bash") == 0)
        cli_completion_bash(stdout);
    else if (strcmp(form, "zsh") == 0)
        cli_completion_zsh(stdout);
    else if (strcmp(form, "fish") == 0)
        cli_completion_fish(stdout);
    else if (strcmp(form, "verbs") == 0)
        print_verbs();
    else {
        cli_error("'%s' is not one of man, bash, zsh, fish, verbs", form);
        return CLI_USAGE;
    }
    return CLI_OK;
}

static const cli_option options[] = {
    OPT_TEXT("verb", 0, "NAME", "For man: write the page of this verb instead of heed's"),
    { .name = "date",
      .kind = CLI_TEXT,
      .argument = "DATE",
      .standard = "$Mdocdate$",
      .help = "For man: the date on the page, such as \"March 1, 2026\"" },
    { .name = NULL },
};

const cli_verb cli_verb_generate = {
    .name = "generate",
    .summary = "print manual pages and completions",
    .operands = { "man|bash|zsh|fish|verbs", 1, 1 },
    .description = "Prints the option tables as a manual page in mdoc or as a completion script.",
    .options = options,
    .hidden = true,
    .run = run,
};
