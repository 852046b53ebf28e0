/*
 * subcommand.c - verbs that have several subcommands, such as `heed board show` and `heed board
 * add`
 */
#include <string.h>

#include "base/suggest.h"
#include "cli.h"

static cli_exit unknown(const cli_subcommand *subcommands, const char *word)
{
    char names[256] = "";
    size_t length = 0;
    lab_suggestion suggestion = lab_suggest(word);
    for (; subcommands->name && length < sizeof names; subcommands++) {
        lab_suggest_consider(&suggestion, subcommands->name);
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   length ? ", " : "", subcommands->name);
    }
    if (suggestion.best)
        cli_error("'%s' is not one of %s; did you mean '%s'?", word, names, suggestion.best);
    else
        cli_error("'%s' is not one of %s", word, names);
    return CLI_USAGE;
}

cli_exit cli_subcommand_run(const cli_subcommand *subcommands, const cli_args *args)
{
    int count = cli_args_operand_count(args);
    const char *word = count ? cli_args_operand(args, 0) : subcommands[0].name;
    const cli_subcommand *subcommand = subcommands;
    while (subcommand->name && strcmp(subcommand->name, word) != 0)
        subcommand++;
    if (!subcommand->name)
        return unknown(subcommands, word);
    int more = count ? count - 1 : 0;
    if (more >= subcommand->least && (subcommand->most == CLI_ANY || more <= subcommand->most))
        return subcommand->run(args);
    cli_error("%s: %d operands; it takes %s%d", word, more,
              subcommand->most == CLI_ANY ? "at least " : "", subcommand->least);
    return CLI_USAGE;
}
