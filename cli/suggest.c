/*
 * suggest.c - "did you mean" of a word that must be one of some names
 */
#include <string.h>

#include "base/suggest.h"
#include "cli.h"

cli_exit cli_name_check(const char *what, const char *word, const char *(*name)(size_t index),
                        const char *hint)
{
    lab_suggestion suggestion = lab_suggest(word);
    for (size_t i = 0; name(i); i++) {
        if (strcmp(name(i), word) == 0)
            return CLI_OK;
        lab_suggest_consider(&suggestion, name(i));
    }
    if (suggestion.best)
        cli_error("%s '%s'; did you mean '%s'?", what, word, suggestion.best);
    else
        cli_error("%s '%s'%s%s", what, word, hint ? "; " : "", hint ? hint : "");
    return CLI_USAGE;
}
