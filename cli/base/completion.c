/*
 * completion.c - shell completions for bash, zsh and fish, from the option tables
 */
#include <string.h>

#include "cli.h"

/* Prints @text for use between single quotes of a shell; @colons also escapes brackets and colons,
 * which are special in zsh's argument specs. */
static void print_quoted(FILE *stream, const char *text, bool colons)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stream);
        else if (colons && strchr("[]:\\", *text))
            fprintf(stream, "\\%c", *text);
        else
            fputc(*text, stream);
    }
}

static void print_choices(FILE *stream, const cli_option *option)
{
    const char *choice;
    for (size_t i = 0; (choice = cli_option_choice(option, i)); i++)
        fprintf(stream, "%s%s", i ? " " : "", choice);
}

static void print_verb_names(FILE *stream)
{
    const char *separator = "";
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (!(*verb)->hidden) {
            fprintf(stream, "%s%s", separator, (*verb)->name);
            separator = " ";
        }
}

/* -------------------------------------------------------------------------- */
/* bash                                                                       */
/* -------------------------------------------------------------------------- */

static bool takes_files(const cli_option *option)
{
    return option->kind == CLI_PATH || option->kind == CLI_PATHS;
}

static void print_bash_pattern(FILE *stream, const cli_verb *verb, const cli_option *option)
{
    fprintf(stream, "    %s:--%s", verb->name, option->name);
    if (option->letter)
        fprintf(stream, "|%s:-%c", verb->name, option->letter);
}

/* The words that may follow an option; one without an argument has no row. */
static void print_bash_arguments(FILE *stream, const cli_verb *verb)
{
    const cli_option *option;
    for (size_t i = 0; (option = cli_verb_option(verb, i)); i++) {
        if (option->kind == CLI_FLAG)
            continue;
        print_bash_pattern(stream, verb, option);
        if (cli_option_choice(option, 0)) {
            fputs(") words='", stream);
            print_choices(stream, option);
            fputs("' ;;\n", stream);
        } else {
            fprintf(stream, ") %s ;;\n", takes_files(option) ? "files=1" : ":");
        }
    }
}

static void print_bash_options(FILE *stream, const cli_verb *verb)
{
    fprintf(stream, "        %s) words='", verb->name);
    const cli_option *option;
    for (size_t i = 0; (option = cli_verb_option(verb, i)); i++)
        fprintf(stream, "%s--%s", i ? " " : "", option->name);
    fputs("' ;;\n", stream);
}

void cli_completion_bash(FILE *stream)
{
    /* bash splits words at '=' and ':', which choices contain: "causal=tl" is reassembled from the
     * line. */
    fputs("# bash completion for heed\n"
          "_heed() {\n"
          "    local line=${COMP_LINE:0:COMP_POINT} current previous words='' files='' cut\n"
          "    local -a typed\n"
          "    COMPREPLY=()\n"
          "    read -ra typed <<<\"$line\"\n"
          "    [[ $line == *[[:blank:]] ]] && typed+=('')\n"
          "    current=${typed[-1]}\n"
          "    previous=${typed[-2]}\n"
          "    case ${typed[1]}:$previous in\n",
          stream);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (!(*verb)->hidden)
            print_bash_arguments(stream, *verb);
    fputs("    *)\n        if ((${#typed[@]} <= 2)); then\n            words='", stream);
    print_verb_names(stream);
    fputs(" help --help --version'\n        elif [[ $current == -* ]]; then\n        case "
          "${typed[1]} in\n",
          stream);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (!(*verb)->hidden)
            print_bash_options(stream, *verb);
    fputs("        esac\n"
          "        else\n"
          "            files=1\n"
          "        fi ;;\n"
          "    esac\n"
          "    if [[ $files ]]; then\n"
          "        compopt -o filenames 2>/dev/null\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
          "        return\n"
          "    fi\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "    cut=${current%\"${current##*=}\"}\n"
          "    COMPREPLY=(\"${COMPREPLY[@]#\"$cut\"}\")\n"
          "}\n"
          "complete -F _heed heed\n",
          stream);
}

/* -------------------------------------------------------------------------- */
/* zsh                                                                        */
/* -------------------------------------------------------------------------- */

static void print_zsh_action(FILE *stream, const cli_option *option)
{
    if (option->kind == CLI_FLAG)
        return;
    fprintf(stream, ":%s:", option->argument);
    if (takes_files(option))
        fputs("_files", stream);
    if (cli_option_choice(option, 0)) {
        fputc('(', stream);
        print_choices(stream, option);
        fputc(')', stream);
    }
}

/* A letter and its name exclude each other, unless the option may be repeated. */
static void print_zsh_option(FILE *stream, const cli_option *option)
{
    bool repeats = cli_option_repeats(option);
    fputs("            '", stream);
    if (option->letter && !repeats)
        fprintf(stream, "(-%c --%s)", option->letter, option->name);
    fputs(repeats ? "*" : "", stream);
    if (option->letter)
        fprintf(stream, "'{-%c,--%s}'[", option->letter, option->name);
    else
        fprintf(stream, "--%s[", option->name);
    print_quoted(stream, option->help, true);
    fputc(']', stream);
    print_zsh_action(stream, option);
    fputs("' \\\n", stream);
}

void cli_completion_zsh(FILE *stream)
{
    fputs("#compdef heed\n"
          "_heed() {\n"
          "    local -a verbs\n"
          "    if ((CURRENT == 2)); then\n"
          "        verbs=(\n",
          stream);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (!(*verb)->hidden) {
            fprintf(stream, "            '%s:", (*verb)->name);
            print_quoted(stream, (*verb)->summary, false);
            fputs("'\n", stream);
        }
    fputs("        )\n"
          "        _describe verb verbs\n"
          "        return\n"
          "    fi\n"
          "    local verb=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $verb in\n",
          stream);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++) {
        if ((*verb)->hidden)
            continue;
        fprintf(stream, "    %s)\n        _arguments -s \\\n", (*verb)->name);
        for (size_t i = 0; cli_verb_option(*verb, i); i++)
            print_zsh_option(stream, cli_verb_option(*verb, i));
        fputs("            '*: :_files' ;;\n", stream);
    }
    fputs("    esac\n}\n_heed \"$@\"\n", stream);
}

/* -------------------------------------------------------------------------- */
/* fish                                                                       */
/* -------------------------------------------------------------------------- */

static void print_fish_option(FILE *stream, const cli_verb *verb, const cli_option *option)
{
    fprintf(stream, "complete -c heed -n '__fish_seen_subcommand_from %s' -l %s", verb->name,
            option->name);
    if (option->letter)
        fprintf(stream, " -s %c", option->letter);
    if (takes_files(option))
        fputs(" -r -F", stream);
    else if (option->kind != CLI_FLAG)
        fputs(" -x", stream);
    if (cli_option_choice(option, 0)) {
        fputs(" -a '", stream);
        print_choices(stream, option);
        fputc('\'', stream);
    }
    fputs(" -d '", stream);
    print_quoted(stream, option->help, false);
    fputs("'\n", stream);
}

void cli_completion_fish(FILE *stream)
{
    fputs("# fish completion for heed\n", stream);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++) {
        if ((*verb)->hidden)
            continue;
        fprintf(stream, "complete -c heed -n __fish_use_subcommand -f -a %s -d '", (*verb)->name);
        print_quoted(stream, (*verb)->summary, false);
        fputs("'\n", stream);
        for (size_t i = 0; cli_verb_option(*verb, i); i++)
            print_fish_option(stream, *verb, cli_verb_option(*verb, i));
    }
}
