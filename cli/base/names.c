/*
 * names.c - words that must be one of a list of names: "did you mean", subcommands, kernels with or
 * without a config
 */
#include <string.h>

#include "base/plural.h"
#include "base/suggest.h"
#include "cli.h"
#include "wisdom_line.h"

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
    cli_error("%s: %d operand%s; it takes %s%d", word, more, lab_plural(more),
              subcommand->most == CLI_ANY ? "at least " : "", subcommand->least);
    return CLI_USAGE;
}

size_t cli_config_count(size_t kernel)
{
    char name[HEED_NAME_SIZE];
    size_t count = 0;
    while (heed_kernel_config(kernel, count, name, sizeof name) == HEED_OK)
        count++;
    return count;
}

size_t cli_kernel_index(const char *name)
{
    size_t index = 0;
    while (heed_kernel_name(index) && strcmp(heed_kernel_name(index), name) != 0)
        index++;
    return index;
}

/* Reports that @kernel has no config @word, with the closest name, if any is close. */
static cli_exit deny_config(const char *option, const char *kernel, const char *word)
{
    char name[HEED_NAME_SIZE], best[HEED_NAME_SIZE] = "";
    lab_suggestion suggestion = lab_suggest(word);
    size_t index = cli_kernel_index(kernel), start = strlen(kernel) + 2;
    for (size_t i = 0; heed_kernel_config(index, i, name, sizeof name) == HEED_OK; i++) {
        size_t distance = suggestion.distance;
        lab_suggest_consider(&suggestion, strlen(name) > start ? name + start : "");
        if (suggestion.distance < distance)
            memcpy(best, name, sizeof best);
    }
    if (*best)
        cli_error("--%s: %s has no config '%s'; did you mean '%s'?", option, kernel, word, best);
    else
        cli_error("--%s: %s has no config '%s'; 'heed plan --list --json' lists them", option,
                  kernel, word);
    return CLI_USAGE;
}

cli_exit cli_kernel_name_check(const char *option, const char *word)
{
    char name[HEED_NAME_SIZE], what[64];
    const char *config = strstr(word, "__");
    size_t length = config ? (size_t)(config - word) : strlen(word);
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             word);
    snprintf(what, sizeof what, "--%s: there is no kernel", option);
    cli_exit code = cli_name_check(what, name, heed_kernel_name, "'heed plan --list' lists them");
    if (code != CLI_OK || !config || heed_wisdom_kernel(word))
        return code;
    return deny_config(option, name, config + 2);
}

cli_exit cli_kernel_check_of(const cli_args *args, const char *option)
{
    const char *given = cli_args_text(args, option);
    return given ? cli_kernel_name_check(option, given) : CLI_OK;
}

cli_exit cli_kernel_check(const cli_args *args)
{
    return cli_kernel_check_of(args, "kernel");
}
