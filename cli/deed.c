/*
 * deed.c - verbs that have several deeds, such as `heed board show` and `heed board add`
 */
#include <string.h>

#include "base/suggest.h"
#include "board.h"

static cli_exit unknown(const cli_deed *deeds, const char *word)
{
    char names[256] = "";
    size_t length = 0;
    lab_suggestion suggestion = lab_suggest(word);
    for (; deeds->name && length < sizeof names; deeds++) {
        lab_suggest_consider(&suggestion, deeds->name);
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   length ? ", " : "", deeds->name);
    }
    if (suggestion.best)
        cli_error("'%s' is not one of %s; did you mean '%s'?", word, names, suggestion.best);
    else
        cli_error("'%s' is not one of %s", word, names);
    return CLI_USAGE;
}

cli_exit cli_deed_run(const cli_deed *deeds, const cli_args *args)
{
    int count = cli_args_operand_count(args);
    const char *word = count ? cli_args_operand(args, 0) : deeds[0].name;
    const cli_deed *deed = deeds;
    while (deed->name && strcmp(deed->name, word) != 0)
        deed++;
    if (!deed->name)
        return unknown(deeds, word);
    int more = count ? count - 1 : 0;
    if (more >= deed->least && (deed->most == CLI_ANY || more <= deed->most))
        return deed->run(args);
    cli_error("%s: %d operands; it takes %s%d", word, more,
              deed->most == CLI_ANY ? "at least " : "", deed->least);
    return CLI_USAGE;
}
