/*
 * help.c - --help, generated from the option tables
 */
#include <string.h>

#include "cli.h"
#include "report/wrap.h"

#define INDENT 2
#define OPTION_COLUMN 28 /* start of the help of an option */

/* Prints @length bytes of @text, wrapped at CLI_HELP_WIDTH and indented to @column, the current
 * column. */
static void print_wrapped(FILE *stream, const char *text, size_t length, int column)
{
    const lab_wrap wrap = { .at = column, .indent = column, .limit = CLI_HELP_WIDTH };
    lab_wrap_print(stream, text, length, wrap);
}

/* Lines that start with two blanks are printed unchanged; the others are wrapped. */
static void print_description(FILE *stream, const char *text)
{
    while (*text) {
        size_t line = strcspn(text, "\n");
        if (line == 0 || strncmp(text, "  ", 2) == 0)
            fprintf(stream, "%.*s\n", (int)line, text);
        else
            print_wrapped(stream, text, line, 0);
        text += line + (text[line] == '\n');
    }
}

/* Appends the default, the choices and the limits, in brackets. */
static void append_facts(char *text, size_t size, const cli_option *option)
{
    size_t length = strlen(text);
    const char *separator = " (";
    const char *choice;
    for (size_t i = 0; (choice = cli_option_choice(option, i)) && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%s", separator, choice);
        separator = ", ";
    }
    if ((option->min != 0 || option->max != 0) && length < size) {
        length += (size_t)snprintf(text + length, size - length, "%s%.16g to %.16g", separator,
                                   option->min, option->max);
        separator = "; ";
    }
    if (option->standard && length < size) {
        separator = option->kind == CLI_CHOICE ? "; " : separator;
        length += (size_t)snprintf(text + length, size - length, "%sdefault %s", separator,
                                   option->standard);
        separator = "; ";
    }
    if (separator[0] != ' ' && length < size)
        snprintf(text + length, size - length, ")");
}

static void print_option(FILE *stream, const cli_option *option)
{
    char letter[4] = "   ", left[64], help[1024];
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c,", option->letter);
    int width = snprintf(left, sizeof left, "%*s%s --%s%s%s", INDENT, "", letter, option->name,
                         option->argument ? " " : "", option->argument ? option->argument : "");
    fputs(left, stream);
    if (width + 2 > OPTION_COLUMN)
        fprintf(stream, "\n%*s", OPTION_COLUMN, "");
    else
        fprintf(stream, "%*s", OPTION_COLUMN - width, "");
    snprintf(help, sizeof help, "%s", option->help);
    append_facts(help, sizeof help, option);
    print_wrapped(stream, help, strlen(help), OPTION_COLUMN);
}

void cli_help_print_verb(FILE *stream, const cli_verb *verb)
{
    fprintf(stream, "heed %s: %s\n\nUsage: heed %s [OPTION]...%s%s\n\n", verb->name, verb->summary,
            verb->name, verb->operands.text ? " " : "",
            verb->operands.text ? verb->operands.text : "");
    print_description(stream, verb->description);
    fputs("\nOptions:\n", stream);
    for (size_t i = 0; cli_verb_option(verb, i); i++)
        print_option(stream, cli_verb_option(verb, i));
    if (verb->status) {
        fputc('\n', stream);
        print_description(stream, verb->status);
    }
    if (verb->examples) {
        fputs("\nExamples:\n", stream);
        print_description(stream, verb->examples);
    }
}

void cli_help_print(FILE *stream)
{
    fputs("heed: plan, run, verify and time fused attention\n\nUsage: heed VERB [OPTION]... "
          "[OPERAND]...\n\nVerbs:\n",
          stream);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (!(*verb)->hidden)
            fprintf(stream, "  %-10s%s\n", (*verb)->name, (*verb)->summary);
    fputs("\n'heed VERB --help' explains a verb; 'heed --version' prints the version.\n", stream);
}
