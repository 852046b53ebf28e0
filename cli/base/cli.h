/*
 * cli.h - options, output and exit codes, shared by the verbs of the command line
 *
 * A verb is one file with one `const cli_verb`, listed in verbs.c. Options are described only in
 * its option table: parsing, --help, the man page and the shell completions are all generated from
 * it.
 */
#ifndef HEED_CLI_H
#define HEED_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/planner.h"
#include "base/sink.h"
#include "heed.h"
#include "record/record.h"
#include "report/listing.h"
#include "session/session.h"
#include "shapes/shapes.h"

/* The exit status. The values are part of the interface: scripts depend on them. */
typedef enum cli_exit {
    CLI_OK = 0,
    CLI_FINDING = 1, /* success, with a negative answer: a regression, a failed check, no wisdom */
    CLI_USAGE = 2,   /* the command line or the problem is wrong */
    CLI_ENVIRONMENT = 3,   /* a problem of the machine: memory, a file, a missing peer */
    CLI_UNSUPPORTED = 4,   /* a valid problem that the requested kernel does not support */
    CLI_VERIFY_FAILED = 5, /* a kernel computes a wrong result */
    CLI_TIMEOUT = 6,
    CLI_CORRUPT = 7, /* a file is damaged, or not of the expected kind */
    CLI_OPEN = 8,    /* success, but the answer is not known */
    CLI_INTERRUPTED = 130
} cli_exit;

/* cli_exit_of() returns the exit code for @status. */
cli_exit cli_exit_of(heed_status status);

/* -------------------------------------------------------------------------- */
/* options.c: verbs, their options, and the parsed command line               */
/* -------------------------------------------------------------------------- */

typedef enum cli_kind {
    CLI_FLAG,    /* takes no argument */
    CLI_TEXT,    /* any text */
    CLI_PATH,    /* a file: like CLI_TEXT, and shells complete file names */
    CLI_INTEGER, /* a decimal integer from min to max */
    CLI_REAL,    /* a finite number from min to max */
    CLI_CHOICE,  /* one of choices */
    CLI_LIST,    /* any text; may be given more than once */
    CLI_PATHS    /* the same with files */
} cli_kind;

typedef struct cli_option {
    const char *name; /* without the dashes; without name and table, the row ends its table */
    const struct cli_option *table; /* not an option: the rows of this table are inserted here */
    char letter;                    /* of the short form, or 0 */
    cli_kind kind;
    const char *argument; /* the argument's name in --help, such as "FILE"; NULL for CLI_FLAG */
    double min;           /* of CLI_INTEGER and CLI_REAL; min = max = 0: no limits */
    double max;
    const char *const *choices; /* for CLI_CHOICE, ends with NULL; or, for CLI_LIST too, ... */
    const char *(*choice)(size_t index); /* ... a function that returns one, NULL past the end */
    const char *standard;                /* the default as typed by a user; NULL: none */
    const char *help;                    /* one or two sentences without a full stop at the end */
} cli_option;

/* Rows by kind; @letter may be 0, @standard NULL. */
#define OPT_ROW(name, letter, kind, argument, min, max, choices, standard, help)    \
    {                                                                               \
        name, NULL, letter, kind, argument, min, max, choices, NULL, standard, help \
    }
#define OPT_FLAG(name, letter, help) OPT_ROW(name, letter, CLI_FLAG, NULL, 0, 0, NULL, NULL, help)
#define OPT_TEXT(name, letter, argument, help) \
    OPT_ROW(name, letter, CLI_TEXT, argument, 0, 0, NULL, NULL, help)
#define OPT_PATH(name, letter, argument, help) \
    OPT_ROW(name, letter, CLI_PATH, argument, 0, 0, NULL, NULL, help)
#define OPT_LIST(name, letter, argument, help) \
    OPT_ROW(name, letter, CLI_LIST, argument, 0, 0, NULL, NULL, help)
#define OPT_PATHS(name, letter, argument, help) \
    OPT_ROW(name, letter, CLI_PATHS, argument, 0, 0, NULL, NULL, help)
#define OPT_INTEGER(name, letter, argument, min, max, standard, help) \
    OPT_ROW(name, letter, CLI_INTEGER, argument, min, max, NULL, standard, help)
#define OPT_REAL(name, letter, argument, min, max, standard, help) \
    OPT_ROW(name, letter, CLI_REAL, argument, min, max, NULL, standard, help)
#define OPT_CHOICE(name, letter, argument, choices, standard, help) \
    OPT_ROW(name, letter, CLI_CHOICE, argument, 0, 0, choices, standard, help)
/* An element type; the index of the choice is its heed_type. */
#define OPT_TYPE(name, standard, help)                                             \
    {                                                                              \
        name, NULL, 0, CLI_CHOICE, "TYPE", 0, 0, NULL, cli_type_at, standard, help \
    }

typedef struct cli_args cli_args;

/* Operands as shown in the usage line, such as "SPEC...", and their permitted number. Text NULL:
 * none. */
#define CLI_ANY (-1) /* as the maximum: no limit */
typedef struct cli_operands {
    const char *text;
    int least, most;
} cli_operands;

typedef struct cli_verb {
    const char *name;
    const char *summary; /* one line, lower case, no full stop */
    cli_operands operands;
    const char *description;   /* paragraphs between blank lines; a line that starts with two blanks
                                * is printed unchanged */
    const char *examples;      /* such lines, printed last by --help; NULL: none */
    const char *status;        /* sentences about the verb's special exit codes; NULL: none */
    const cli_option *options; /* --json and --help are added to every verb */
    bool hidden;               /* not listed: for the build, not for users */
    cli_exit (*run)(const cli_args *args);
} cli_verb;

/* The verbs, each in a separate file; verbs.c lists them, ending with NULL. */
extern const cli_verb cli_verb_ablate, cli_verb_bench, cli_verb_board, cli_verb_doctor,
    cli_verb_evolve, cli_verb_gate, cli_verb_generate, cli_verb_inspect, cli_verb_launch,
    cli_verb_plan, cli_verb_profile, cli_verb_report, cli_verb_roofline, cli_verb_run,
    cli_verb_selftest, cli_verb_suite, cli_verb_sweep, cli_verb_tune, cli_verb_verify,
    cli_verb_wisdom;
extern const cli_verb *const cli_verbs[];

/* cli_verb_find() returns the verb @name, or NULL. */
const cli_verb *cli_verb_find(const char *name);

/* cli_verb_option() returns the @index-th option of @verb, with the options common to all verbs
 * last; NULL past the end. */
const cli_option *cli_verb_option(const cli_verb *verb, size_t index);

/* cli_option_repeats() returns true if @option may be given more than once: it is a list. */
bool cli_option_repeats(const cli_option *option);

/* cli_option_choice() returns the @index-th choice of @option; NULL past the end, and if it takes
 * any text. */
const char *cli_option_choice(const cli_option *option, size_t index);

/* cli_type_at() returns the name of the @index-th element type; NULL past the last. */
const char *cli_type_at(size_t index);

/* cli_args_parse() reads a command line whose argv[0] is the verb, reordering argv. On CLI_OK the
 * caller owns *@args, which points into argv, and frees it with cli_args_free(). Otherwise *@args
 * is NULL and an error that names option, value and limit has been printed: CLI_USAGE, also for an
 * option that is given twice without permission, or CLI_ENVIRONMENT if memory runs out. With --help
 * given, the operands are not counted. */
cli_exit cli_args_parse(cli_args **args, const cli_verb *verb, int argc, char **argv);
void cli_args_free(cli_args *args);

/* Operands: the arguments that are not options. */
int cli_args_operand_count(const cli_args *args);
const char *cli_args_operand(const cli_args *args, int index);

/* Values by option name, which must be in the verb's table and of the right kind. If the option is
 * not on the command line they return its default; without a default: false, NULL, 0, 0.0, -1. */
bool cli_args_has(const cli_args *args, const char *name);   /* it is in the verb's table */
bool cli_args_given(const cli_args *args, const char *name); /* it was on the command line */
bool cli_args_flag(const cli_args *args, const char *name);
const char *cli_args_text(const cli_args *args,
                          const char *name); /* CLI_TEXT, CLI_PATH, or CLI_CHOICE as text */
int64_t cli_args_integer(const cli_args *args, const char *name);
double cli_args_real(const cli_args *args, const char *name);
int cli_args_choice(const cli_args *args, const char *name); /* index into choices */
size_t cli_args_list_count(const cli_args *args, const char *name);
const char *cli_args_list(const cli_args *args, const char *name, size_t index);
bool cli_args_json(const cli_args *args); /* --json was given */

/* A rule about two options: the first is given only together with the other one or, if @apart, only
 * without it. Otherwise the error is @says or, if that is NULL, names both, with @why after it. */
typedef struct cli_rule {
    const char *option, *other;
    bool apart;
    const char *why, *says; /* or NULL */
} cli_rule;

/* cli_rules_check() prints the error of the first rule that is broken. The table ends with a row
 * without an option. */
cli_exit cli_rules_check(const cli_args *args, const cli_rule *rules);

/* -------------------------------------------------------------------------- */
/* context.c: options that several verbs share, and their meaning             */
/* -------------------------------------------------------------------------- */

/* Tables that others include: --device and --threads; these and --cpu. */
extern const cli_option cli_device_options[], cli_machine_options[];

/* Rows for option tables. */
#define CLI_OPTION_WISDOM \
    CLI_OPTION_WISDOM_READ("Load wisdom from FILE if it exists, and save new results there")
#define CLI_OPTION_SHAPES                                                                        \
    OPT_PATHS("shapes", 's', "FILE",                                                             \
              "Also take the problems in FILE, one spec per line; edge, f32, far, "              \
              "features, grid, rivals, seed, serving, shipped and words come with heed; may be " \
              "given more than once")
#define CLI_OPTION_KERNEL                                                                      \
    OPT_TEXT("kernel", 'k', "NAME",                                                            \
             "Use this kernel ('heed plan --list' lists them), in the config after \"__\" if " \
             "NAME has one")
#define CLI_OPTION_COLD \
    OPT_FLAG("cold", 0, \
             "Rotate through enough copies of the tensors that none is cached when it is used")

/* Rows whose help @about describes the verb's use of the value. */
#define CLI_OPTION_SEED(about) OPT_INTEGER("seed", 0, "N", 0, 9007199254740992, "1", about)
#define CLI_OPTION_MARGIN(about) OPT_REAL("margin", 0, "PERCENT", 0.1, 100, "1", about)
#define CLI_OPTION_WORDS(about) OPT_ROW("words", 'm', CLI_TEXT, "WORDS", 0, 0, NULL, "none", about)
#define CLI_OPTION_WISDOM_READ(about) OPT_PATH("wisdom", 'w', "FILE", about)

/* cli_device() returns the device of --device, else of HEED_DEVICE: "cpu", "cuda", "cuda:N", or
 * "auto". With --cpu or a --source in C, "auto" is "cpu". Nothing is checked. */
const char *cli_device(const cli_args *args);

/* cli_device_check() returns HEED_ERR_INVALID, with the option or variable that it is from in
 * heed_message(), if @device, from cli_device(), is not such a word. NULL is permitted. */
heed_status cli_device_check(const char *device);

/* cli_machine() returns the values of --device, --threads and --cpu, as far as the verb has
 * them. */
heed_options cli_machine(const cli_args *args);

/* cli_context_create() makes a context with @options, whose device may be "auto": that is replaced
 * by the chosen one. Returns as heed_context_create() does. */
heed_status cli_context_create(heed_context **context, heed_options *options);

/* cli_context_open() makes a context by --device, --threads, --cpu and --wisdom, as far as the verb
 * has them. A wisdom file that does not exist is treated as empty, if its folder exists; for
 * cli_context_open_read() it must exist. On failure the error has been printed and *@context is
 * NULL. */
cli_exit cli_context_open(heed_context **context, const cli_args *args);
cli_exit cli_context_open_read(heed_context **context, const cli_args *args);

/* cli_wisdom_load() is heed_wisdom_load() that also accepts a pipe, and "-". */
heed_status cli_wisdom_load(heed_context *context, const char *path, size_t *taken, size_t *skipped,
                            lab_error *error);

/* cli_wisdom_save() saves the wisdom of @context to the file of --wisdom; without that option it
 * does nothing. A file with lines that do not match this machine is left unchanged, with a warning:
 * saving would drop them. */
cli_exit cli_wisdom_save(heed_context *context, const cli_args *args);

/* cli_kernel_check() checks that --kernel, if given, is the name of a kernel, with or without one
 * of its configs; otherwise it prints an error with a suggestion. */
cli_exit cli_kernel_check(const cli_args *args);

/* cli_kernel_check_of() does so for the text of another @option, cli_kernel_name_check() for one
 * @word of that text. */
cli_exit cli_kernel_check_of(const cli_args *args, const char *option);
cli_exit cli_kernel_name_check(const char *option, const char *word);

/* cli_kernel_index() returns the index of the kernel @name, or the number of kernels if there is
 * none; cli_config_count() the number of configs of the kernel heed_kernel_name(@kernel). */
size_t cli_kernel_index(const char *name);
size_t cli_config_count(size_t kernel);

/* problems.c: the problems of a command line. */
/* cli_problems_read() reads the operands, and the file of --shapes if the verb has that option. An
 * operand is a spec; operands without blanks are words of one spec, so that it may be typed without
 * quotes. No problem at all is a usage error. Free with cli_problems_free(), also after a
 * failure. */
cli_exit cli_problems_read(lab_problems *problems, const cli_args *args);

/* cli_problems_read_from() is the same for the operands from index @first on. */
cli_exit cli_problems_read_from(lab_problems *problems, const cli_args *args, int first);
void cli_problems_free(lab_problems *problems);

/* cli_problem_repeated() returns true, with a message, if @again has the canonical spec of @first:
 * for verbs that count problems. */
bool cli_problem_repeated(const heed_problem *again, const heed_problem *first);

/* cli_find_list() finds the list @name of a @folder such as "shapes": a plain name that is not a
 * file may be one of the lists that come with heed. Returns @name, or the path of that list in
 * @path, which has room for @size bytes. */
const char *cli_find_list(const char *folder, const char *name, char *path, size_t size);

struct lab_space; /* search/space.h */

/* cli_space_load() loads the space of configs @name, a file or one that comes with heed. A failure
 * has been printed, after @before. */
cli_exit cli_space_load(struct lab_space *space, const char *name, const char *before);

/* names.c: a subcommand is the first operand of a verb, with limits on the number of further
 * operands. The first row of a table is the default; a NULL name ends it. */
typedef struct cli_subcommand {
    const char *name;
    int least, most; /* CLI_ANY: no limit */
    cli_exit (*run)(const cli_args *args);
} cli_subcommand;

/* cli_subcommand_run() runs the subcommand that the operands name, or prints an error that lists
 * them. */
cli_exit cli_subcommand_run(const cli_subcommand *subcommands, const cli_args *args);

/* -------------------------------------------------------------------------- */
/* read.c: whole files                                                        */
/* -------------------------------------------------------------------------- */

/* cli_read_text() reads a file or a pipe of at most @most bytes into a new text, which ends
 * with a null byte, for the caller to free; cli_read_file() also prints the failure. */
heed_status cli_read_text(const char *path, int64_t most, char **text, size_t *size,
                          lab_error *error);
cli_exit cli_read_file(const char *path, int64_t most, char **text, size_t *size);

/* cli_read_json() reads a file of at most @most bytes as JSON without duplicate members, and writes
 * the hash of the file to @hash unless that is NULL. Prints the failure: CLI_CORRUPT for a text
 * that is not JSON. The caller releases *@json, which is NULL on failure. cli_read_record() does so
 * with a record of 'heed bench --record', and refuses any other schema. */
cli_exit cli_read_json(const char *path, int64_t most, json_t **json,
                       char hash[LAB_RECORD_HASH_SIZE]);
cli_exit cli_read_record(const char *path, json_t **record, char hash[LAB_RECORD_HASH_SIZE]);
#define CLI_RECORD_SCHEMA "heed.bench/1"
#define CLI_RECORD_SIZE_MAX ((int64_t)256 << 20)

/* -------------------------------------------------------------------------- */
/* names.c: words that must be one of a list of names                         */
/* -------------------------------------------------------------------------- */

/* cli_name_check() checks that @word is one of the names that @name returns for 0, 1, ... until
 * NULL. Otherwise it prints an error, "@what 'WORD'" with the closest name or, without one, with
 * @hint, which may be NULL, and returns CLI_USAGE. */
cli_exit cli_name_check(const char *what, const char *word, const char *(*name)(size_t index),
                        const char *hint);

/* -------------------------------------------------------------------------- */
/* output.c: data on stdout, messages on stderr                               */
/* -------------------------------------------------------------------------- */

/* The functions below in the laboratory's form: messages, progress, Ctrl-C. */
extern const lab_sink cli_sink;

/* Each prints one line on stderr: the plain text, or the text after "heed: warning: " or "heed:
 * error: ". */
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* cli_error_detail() adds details to the errors of --json that stderr has in separate lines. */
void cli_error_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* cli_fail() prints heed_message() as an error, after "@subject: " if that is not NULL, and returns
 * cli_exit_of(@status): "return cli_fail(status, spec);" */
cli_exit cli_fail(heed_status status, const char *subject);

/* cli_fail_error() does so with the text of @error. */
cli_exit cli_fail_error(heed_status status, const lab_error *error);

/* cli_exit_of_work() returns the exit code of long work of the laboratory: CLI_INTERRUPTED after
 * Ctrl-C. Other failures have been printed, with the text of @error if it has any. */
cli_exit cli_exit_of_work(heed_status status, const lab_error *error);

/* Colours. cli_style() returns the escape sequence that starts @style on @stream, or "" without
 * colours: not a terminal, TERM=dumb, or NO_COLOR set. End every style with LAB_PLAIN. Tables
 * (lab/report/table.h) count escape sequences as having no width. */
const char *cli_style(FILE *stream, lab_style style);

/* cli_rows_begin() begins rows for JSON, or for a table on stdout. */
lab_listing cli_rows_begin(bool json);

/* cli_table_print() prints @rows, a table, to stdout and releases them. Returns CLI_ENVIRONMENT if
 * memory ran out, also while they were added; otherwise CLI_OK. */
cli_exit cli_table_print(lab_listing rows);

/* cli_rows_print() prints the rows and releases them: as a table, or like cli_json_print() as
 * member @key of an object. */
cli_exit cli_rows_print(lab_listing *rows, const char *key, const char *verb);

/* cli_json_print() prints @json, an object, to stdout with "schema": "heed.@verb/1" and the
 * library's version in front, and releases it. Returns CLI_ENVIRONMENT for NULL, an object that
 * could not be allocated; otherwise CLI_OK. */
cli_exit cli_json_print(json_t *json, const char *verb);

/* main() calls cli_json_finish() last if JSON was requested: if @code is not CLI_OK and no JSON has
 * been printed yet, it prints a heed.error/1 with @code and the messages of cli_error(), so that
 * stdout always holds one document. Returns @code. @verb may be NULL. */
cli_exit cli_json_finish(cli_exit code, const char *verb);

/* cli_json_write() is the same for any stream; the caller checks for write errors (ferror). @layout
 * has jansson's flags: JSON_INDENT(2) or JSON_COMPACT, and JSON_REAL_PRECISION() if that is not to
 * be 9. Returns false if memory runs out. */
bool cli_json_write(json_t *json, const char *verb, size_t layout, FILE *stream);

/* cli_json_append() appends @value to @array, takes ownership of it, and returns @array; NULL, with
 * both released, if either is NULL or memory runs out. A chain of calls therefore needs one check
 * at its end. */
json_t *cli_json_append(json_t *array, json_t *value);

/* cli_json_list() returns an array of what @make returns for each of @count items of @size bytes.
 */
typedef json_t *cli_json_fn(const void *item);
json_t *cli_json_list(const void *items, size_t count, size_t size, cli_json_fn *make);

/* cli_json_real() returns a JSON number, or null for a value that JSON cannot represent. */
json_t *cli_json_real(double value);

/* cli_json_positive() returns null for 0 and less as well, cli_json_word() for NULL and "", and
 * cli_json_reals() an array. */
json_t *cli_json_positive(double value);
json_t *cli_json_word(const char *text);
json_t *cli_json_reals(const double *values, size_t count);

/* cli_json_column() returns a member of @row, or null if it is unknown. */
json_t *cli_json_column(const lab_record_column *column, const lab_record_row *row);

/* cli_shell_word() writes @text as one word of a shell, in quotes if it needs them. */
void cli_shell_word(FILE *stream, const char *text);

/* cli_output_open() makes sure that file descriptors 0 to 2 are in use, so that no data file can
 * become stdout. Only main() calls it. */
void cli_output_open(void);

/* cli_output_close() flushes stdout. If any output could not be written, it prints an error, unless
 * stdout is a pipe without a reader, and returns CLI_ENVIRONMENT; otherwise @code. */
cli_exit cli_output_close(cli_exit code);

/* -------------------------------------------------------------------------- */
/* progress.c: a progress line on stderr for long verbs                       */
/* -------------------------------------------------------------------------- */

/* The steps and the end of a lab_progress, for cli_sink: drawn at most ten times a second on a
 * terminal, every 10 s in a log. End it before printing anything. */
void cli_progress_show(lab_progress *progress, size_t done, const char *what);
void cli_progress_clear(lab_progress *progress);

/* cli_interrupt_catch() makes Ctrl-C, SIGTERM, which timeout(1) and job schedulers send, and
 * SIGHUP, of a closed terminal and unless it is ignored, set a flag instead of ending the process
 * (a second one does end it), and makes a write to a closed pipe fail instead of killing the
 * process. Children inherit the latter: reset SIGPIPE when spawning. */
void cli_interrupt_catch(void);

/* cli_interrupted() returns true after one of these signals. A long verb checks it between two
 * pieces of work, stops cleanly, prints how to resume, and returns CLI_INTERRUPTED. */
bool cli_interrupted(void);

/* -------------------------------------------------------------------------- */
/* self.c                                                                     */
/* -------------------------------------------------------------------------- */

/* cli_run_self() runs this program with @arguments (the first is the program name, the last is
 * NULL), discards its output, and returns its exit code; -1: it could not be run, or was killed. At
 * @deadline_ns of heed_clock_ns(), unless that is 0, it is stopped, with CLI_TIMEOUT; with a
 * deadline its messages are discarded as well. */
int cli_run_self(char *const arguments[], int64_t deadline_ns);

/* cli_verify_self() does so with 'heed verify --once --proof' of @kernel on @machine. */
int cli_verify_self(const heed_options *machine, const char *kernel, const char *const *specs,
                    size_t count, int64_t deadline_ns);

/* cli_prover() returns a prover that runs kernels through all gates on @machine, see cli_machine(),
 * which must outlive it: 'heed verify --once --proof', in a child process. */
lab_prover cli_prover(heed_options *machine);

/* -------------------------------------------------------------------------- */
/* help.c, man.c, completion.c: texts generated from the option tables        */
/* -------------------------------------------------------------------------- */

/* The width of --help in columns. */
#define CLI_HELP_WIDTH 100

void cli_help_print(FILE *stream);                            /* heed --help */
void cli_help_print_verb(FILE *stream, const cli_verb *verb); /* heed VERB --help */

/* The man page of @verb, or of heed itself if @verb is NULL, in mdoc, dated @date ("March 1,
 * 2026"). */
void cli_man_print(FILE *stream, const cli_verb *verb, const char *date);

void cli_completion_bash(FILE *stream);
void cli_completion_zsh(FILE *stream);
void cli_completion_fish(FILE *stream);

#endif /* HEED_CLI_H */
