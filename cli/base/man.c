/*
 * man.c - manual pages in mdoc, from the option tables
 */
#include <ctype.h>
#include <string.h>

#include "cli.h"

#define PROSE_WIDTH 78 /* mandoc's lint requires source lines below 80 */

/* The exit codes as explained in the manual, in the order of cli_exit. */
static const struct {
    cli_exit code;
    const char *meaning;
} exit_meanings[] = {
    { CLI_OK, "Success" },
    { CLI_FINDING, "Success, with a negative answer" },
    { CLI_USAGE, "The command line or the problem is wrong" },
    { CLI_ENVIRONMENT, "A problem of the machine: memory, a file, a missing program" },
    { CLI_UNSUPPORTED, "The requested kernel does not support the problem" },
    { CLI_VERIFY_FAILED, "A kernel computes a wrong result" },
    { CLI_TIMEOUT, "Out of time" },
    { CLI_CORRUPT, "A file is damaged" },
    { CLI_OPEN, "Success, but the answer is not known" },
    { CLI_INTERRUPTED, "Interrupted by Ctrl-C, SIGTERM or SIGHUP" },
};

/* Prints text with roff's special characters escaped. @inside: not at the start of a line. */
static void print_escaped(FILE *stream, const char *text, size_t length, bool inside)
{
    for (size_t i = 0; i < length; i++) {
        bool line_start = i == 0 ? !inside : text[i - 1] == '\n';
        if (line_start && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", stream);
        if (text[i] == '\\')
            fputs("\\e", stream);
        else if (text[i] == '-')
            fputs("\\-", stream);
        else if (text[i] == '"')
            fputs("\\(dq", stream);
        else
            fputc(text[i], stream);
    }
}

/* True if the word of @length bytes at @word ends a sentence. "3.5" and "e.g." do not. */
static bool ends_sentence(const char *word, size_t length)
{
    const char *next = word + length + 1;
    return length > 1 && strchr(".!?", word[length - 1]) && word[length] == ' ' &&
           (isupper((unsigned char)*next) || *next == '\'');
}

/* Prints wrapped lines, each sentence on a new line, as is usual in roff. */
static void print_prose(FILE *stream, const char *text, size_t length)
{
    const char *end = text + length;
    size_t at = 0;
    while (text < end) {
        size_t word = strcspn(text, " \n");
        word = word > (size_t)(end - text) ? (size_t)(end - text) : word;
        if (at && at + 1 + word > PROSE_WIDTH) {
            fputc('\n', stream);
            at = 0;
        }
        if (at)
            fputc(' ', stream);
        print_escaped(stream, text, word, at > 0);
        at += (at > 0) + word;
        if (ends_sentence(text, word)) {
            fputc('\n', stream);
            at = 0;
        }
        text += word;
        while (text < end && (*text == ' ' || *text == '\n'))
            text++;
    }
    fputs(at ? "\n" : "", stream);
}

/* The length of the literal lines at @text, including empty lines between them. */
static size_t literal_length(const char *text)
{
    size_t length = 0, seen = 0;
    while (text[seen] == '\n' || strncmp(text + seen, "  ", 2) == 0) {
        bool blank = text[seen] == '\n';
        seen += strcspn(text + seen, "\n");
        seen += text[seen] == '\n';
        length = blank ? length : seen;
    }
    return length;
}

static void print_description(FILE *stream, const char *text)
{
    bool first = true;
    while (*text) {
        size_t literal = literal_length(text);
        size_t line = strcspn(text, "\n");
        if (literal) {
            fputs(".Bd -literal -offset indent\n", stream);
            print_escaped(stream, text, literal, false);
            fputs(text[literal - 1] == '\n' ? ".Ed\n" : "\n.Ed\n", stream);
            text += literal;
        } else {
            if (line && !first)
                fputs(".Pp\n", stream);
            if (line)
                print_prose(stream, text, line);
            text += line + (text[line] == '\n');
        }
        first = false;
    }
}

static void print_option(FILE *stream, const cli_option *option)
{
    fputs(".It ", stream);
    if (option->letter)
        fprintf(stream, "Fl %c , ", option->letter);
    fprintf(stream, "Fl \\-%s", option->name);
    if (option->argument)
        fprintf(stream, " Ar %s", option->argument);
    fputc('\n', stream);
    char help[1024];
    snprintf(help, sizeof help, "%s.", option->help);
    print_prose(stream, help, strlen(help));
    const char *choice;
    for (size_t i = 0; (choice = cli_option_choice(option, i)); i++)
        fprintf(stream, "%s%s%s", i ? ", " : ".br\nOne of ", choice,
                cli_option_choice(option, i + 1) ? "" : ".\n");
    if (option->min != 0 || option->max != 0)
        fprintf(stream, ".br\nFrom %.16g to %.16g.\n", option->min, option->max);
    if (option->standard)
        fprintf(stream, ".br\nDefault: %s.\n", option->standard);
}

/* @own: sentences about the codes of one verb, or NULL. */
static void print_exit_codes(FILE *stream, const char *own)
{
    fputs(".Sh EXIT STATUS\n.Bl -tag -width 4n -compact\n", stream);
    for (size_t i = 0; i < sizeof exit_meanings / sizeof exit_meanings[0]; i++)
        fprintf(stream, ".It %d\n%s.\n", (int)exit_meanings[i].code, exit_meanings[i].meaning);
    fputs(".El\n", stream);
    if (own) {
        fputs(".Pp\n", stream);
        print_prose(stream, own, strlen(own));
    }
}

static void print_head(FILE *stream, const char *date, const char *name, const char *summary)
{
    fprintf(stream, ".Dd %s\n.Dt ", date);
    for (const char *letter = name; *letter; letter++)
        fputc(toupper((unsigned char)*letter), stream);
    fprintf(stream, " 1\n.Os\n.Sh NAME\n.Nm %s\n.Nd ", name);
    print_escaped(stream, summary, strlen(summary), true);
    fputs("\n.Sh SYNOPSIS\n", stream);
}

static void print_verb_page(FILE *stream, const cli_verb *verb, const char *date)
{
    char name[64];
    snprintf(name, sizeof name, "heed-%s", verb->name);
    print_head(stream, date, name, verb->summary);
    fprintf(stream, ".Nm heed %s\n.Op Ar option ...\n", verb->name);
    if (verb->operands.text) {
        fputs(".Ar \"", stream);
        print_escaped(stream, verb->operands.text, strlen(verb->operands.text), true);
        fputs("\"\n", stream);
    }
    fputs(".Sh DESCRIPTION\n", stream);
    print_description(stream, verb->description);
    fputs(".Pp\nThe options are:\n.Bl -tag -width Ds\n", stream);
    for (size_t i = 0; cli_verb_option(verb, i); i++)
        print_option(stream, cli_verb_option(verb, i));
    fputs(".El\n", stream);
    print_exit_codes(stream, verb->status);
    if (verb->examples) {
        fputs(".Sh EXAMPLES\n", stream);
        print_description(stream, verb->examples);
    }
    fputs(".Sh SEE ALSO\n.Xr heed 1\n", stream);
}

static const char *const environment[][2] = {
    { "HEED_CACHE", "The folder of the cache of compiled CUDA kernels. Unset: heed in "
                    "XDG_CACHE_HOME, else ~/.cache/heed." },
    { "HEED_CACHE_LIMIT", "The size limit of that cache in MiB. Unset: 256. 0: nothing is "
                          "cached." },
    { "HEED_CPU", "The best CPU features to use, a LEVEL of --cpu. Unset: all that the machine "
                  "has." },
    { "HEED_DEVICE", "The device to use unless an option names one: cpu, cuda, cuda:N or auto." },
    { "HEED_LIBCUDA", "The file of NVIDIA's driver. Unset: libcuda.so.1, as found by the linker." },
    { "HEED_NVML", "The file of NVIDIA's management library. Unset: libnvidia-ml.so.1." },
    { "HEED_NVRTC", "The file of NVRTC, the compiler for CUDA kernels. Unset: it is looked for in "
                    "Python's packages, CUDA_HOME, /usr/local/cuda and by the linker." },
    { "HEED_PEERS", "More folders with rivals, separated by colons." },
    { "HEED_PYTHON", "The interpreter that runs rivals in Python. Unset: python3." },
    { "NO_COLOR", "If set and not empty, nothing is printed in colour." },
};

/* The verb after @name in alphabetical order, NULL after the last one. */
static const cli_verb *next_verb(const char *name)
{
    const cli_verb *next = NULL;
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (!(*verb)->hidden && strcmp((*verb)->name, name) > 0 &&
            (!next || strcmp((*verb)->name, next->name) < 0))
            next = *verb;
    return next;
}

/* In alphabetical order, as mdoc requires. */
static void print_see_also(FILE *stream)
{
    fputs(".Sh SEE ALSO\n", stream);
    for (const cli_verb *verb = next_verb(""); verb; verb = next_verb(verb->name))
        fprintf(stream, ".Xr heed-%s 1%s\n", verb->name, next_verb(verb->name) ? " ," : "");
}

static void print_main_page(FILE *stream, const char *date)
{
    print_head(stream, date, "heed", "plan, run, verify and time fused attention");
    fputs(".Nm\n.Ar verb\n.Op Ar option ...\n.Op Ar operand ...\n.Sh DESCRIPTION\n", stream);
    print_prose(stream, "Data goes to standard output, messages to standard error.", 57);
    fputs("The verbs are:\n.Bl -tag -width verify\n", stream);
    for (const cli_verb *const *verb = cli_verbs; *verb; verb++)
        if (!(*verb)->hidden) {
            fprintf(stream, ".It Cm %s\n", (*verb)->name);
            print_prose(stream, (*verb)->summary, strlen((*verb)->summary));
        }
    fputs(".El\n.Sh ENVIRONMENT\n.Bl -tag -width NO_COLOR\n", stream);
    for (size_t i = 0; i < sizeof environment / sizeof environment[0]; i++) {
        fprintf(stream, ".It Ev %s\n", environment[i][0]);
        print_prose(stream, environment[i][1], strlen(environment[i][1]));
    }
    fputs(".El\n", stream);
    print_exit_codes(stream, NULL);
    print_see_also(stream);
}

void cli_man_print(FILE *stream, const cli_verb *verb, const char *date)
{
    if (verb)
        print_verb_page(stream, verb, date);
    else
        print_main_page(stream, date);
}
