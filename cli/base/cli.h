/*
 * cli.h - options, output and exit codes, shared by the verbs of the command line
 *
 * A verb is one file with one `const cli_verb`, listed in verbs.c. Its option table is the only
 * place where an option is described: parsing, --help, the man page and the shell completions all
 * come from it.
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
#include "report/table.h"
#include "session/prover.h"
#include "shapes/shapes.h"

/* The exit status. The values are part of the interface: scripts depend on them. */
typedef enum cli_exit {
    CLI_OK = 0,
    CLI_FINDING =
        1, /* it worked, and the answer is bad news: a regression, a failed check, no wisdom */
    CLI_USAGE = 2,         /* the command line or the problem is wrong */
    CLI_ENVIRONMENT = 3,   /* the machine refuses: memory, a file, a missing peer */
    CLI_UNSUPPORTED = 4,   /* a valid problem that the kernel asked for cannot do */
    CLI_VERIFY_FAILED = 5, /* a kernel computes a wrong result */
    CLI_TIMEOUT = 6,
    CLI_CORRUPT = 7, /* a file is damaged, or not what it should be */
    CLI_OPEN = 8,    /* it worked, and the answer is not known: no good news */
    CLI_INTERRUPTED = 130
} cli_exit;

/* cli_exit_of() returns the exit code that stands for @status. */
cli_exit cli_exit_of(heed_status status);

/* -------------------------------------------------------------------------- */
/* options.c: verbs, their options, and the parsed command line               */
/* -------------------------------------------------------------------------- */

typedef enum cli_kind {
    CLI_FLAG,    /* takes no argument */
    CLI_TEXT,    /* any text */
    CLI_PATH,    /* a file: as CLI_TEXT, and shells complete file names */
    CLI_INTEGER, /* a decimal integer from min to max */
    CLI_REAL,    /* a finite number from min to max */
    CLI_CHOICE,  /* one of choices */
    CLI_LIST,    /* any text; may be given more than once */
    CLI_PATHS    /* the same with files */
} cli_kind;

typedef struct cli_option {
    const char *name; /* without the dashes; without name and table, the row ends its table */
    const struct cli_option *table; /* no option: the rows of this table stand here instead */
    char letter;                    /* of the short form, or 0 */
    cli_kind kind;
    const char *argument; /* the argument's name in --help, such as "FILE"; NULL for CLI_FLAG */
    double min;           /* of CLI_INTEGER and CLI_REAL; min = max = 0: no limits */
    double max;
    const char *const *choices; /* of CLI_CHOICE, ends with NULL; or, of CLI_LIST too, ... */
    const char *(*choice)(size_t index); /* ... the same one by one, NULL past the end */
    const char *standard;                /* the default as one would type it, or NULL for none */
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

/* Operands as the usage line shows them, such as "SPEC...", and how many there may be. Text
 * NULL: none. */
#define CLI_ANY (-1) /* as the most: no limit */
typedef struct cli_operands {
    const char *text;
    int least, most;
} cli_operands;

typedef struct cli_verb {
    const char *name;
    const char *summary; /* one line, lower case, no full stop */
    cli_operands operands;
    const char *description;   /* paragraphs between blank lines; a line that starts with two blanks
                                  is shown as it is */
    const char *examples;      /* lines of this kind, which --help has last; NULL: none */
    const char *status;        /* sentences about exit codes of its own; NULL: none */
    const cli_option *options; /* --json and --help are added to every verb */
    bool hidden;               /* not listed: for the build, not for people */
    cli_exit (*run)(const cli_args *args);
} cli_verb;

/* The verbs, each in a file of its own; verbs.c: every one, ends with NULL. */
extern const cli_verb cli_verb_ablate, cli_verb_bench, cli_verb_board, cli_verb_doctor,
    cli_verb_evolve, cli_verb_gate, cli_verb_generate, cli_verb_inspect, cli_verb_launch,
    cli_verb_plan, cli_verb_profile, cli_verb_report, cli_verb_roofline, cli_verb_run,
    cli_verb_selftest, cli_verb_suite, cli_verb_sweep, cli_verb_tune, cli_verb_verify,
    cli_verb_wisdom;
extern const cli_verb *const cli_verbs[];

/* cli_verb_find() returns the verb @name, or NULL. */
const cli_verb *cli_verb_find(const char *name);

/* cli_verb_option() returns the @index-th option of @verb, those that every verb has last; NULL
 * past the end. */
const cli_option *cli_verb_option(const cli_verb *verb, size_t index);

/* cli_option_repeats() says whether @option may be given more than once: it is a list. */
bool cli_option_repeats(const cli_option *option);

/* cli_option_choice() returns the @index-th choice of @option; NULL past the end, and where it
 * takes any text. */
const char *cli_option_choice(const cli_option *option, size_t index);

/* cli_type_at() returns the name of the @index-th element type; NULL past the last. */
const char *cli_type_at(size_t index);

/* cli_args_parse() reads a command line whose argv[0] is the verb, reordering argv. On CLI_OK the
 * caller owns *@args, which points into argv, and frees it with cli_args_free(). Otherwise *@args
 * is NULL and an error that names option, value and limit has been printed: CLI_USAGE, also for an
 * option that is given twice and may not be, or
 * CLI_ENVIRONMENT if there is no memory. With --help given, the operands are not counted. */
cli_exit cli_args_parse(cli_args **args, const cli_verb *verb, int argc, char **argv);
void cli_args_free(cli_args *args);

/* Operands: the arguments that are not options. */
int cli_args_operand_count(const cli_args *args);
const char *cli_args_operand(const cli_args *args, int index);

/* Values by option name, which must be one of the verb's table and of the right kind. Without the
 * option on the command line they return its default; without a default: false, NULL, 0, 0.0, -1.
 */
bool cli_args_has(const cli_args *args, const char *name);   /* is it in the verb's table? */
bool cli_args_given(const cli_args *args, const char *name); /* was it on the command line? */
bool cli_args_flag(const cli_args *args, const char *name);
const char *cli_args_text(const cli_args *args,
                          const char *name); /* CLI_TEXT, CLI_PATH, or CLI_CHOICE as text */
int64_t cli_args_integer(const cli_args *args, const char *name);
double cli_args_real(const cli_args *args, const char *name);
int cli_args_choice(const cli_args *args, const char *name); /* index into choices */
size_t cli_args_list_count(const cli_args *args, const char *name);
const char *cli_args_list(const cli_args *args, const char *name, size_t index);
bool cli_args_json(const cli_args *args); /* was --json given? */

/* -------------------------------------------------------------------------- */
/* context.c: options that several verbs have, and what they mean             */
/* -------------------------------------------------------------------------- */

/* Tables that others take in: --device and --threads; these and --cpu. */
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
    OPT_FLAG(           \
        "cold", 0,      \
        "Rotate through so many copies of the tensors that none is in a cache when it is used")

/* Rows that say in @about what the verb takes the value for. */
#define CLI_OPTION_SEED(about) OPT_INTEGER("seed", 0, "N", 0, 9007199254740992, "1", about)
#define CLI_OPTION_MARGIN(about) OPT_REAL("margin", 0, "PERCENT", 0.1, 100, "1", about)
#define CLI_OPTION_WORDS(about) OPT_ROW("words", 'm', CLI_TEXT, "WORDS", 0, 0, NULL, "none", about)
#define CLI_OPTION_WISDOM_READ(about) OPT_PATH("wisdom", 'w', "FILE", about)

/* cli_device() returns the device that --device asks for, else HEED_DEVICE: "cpu", "cuda",
 * "cuda:N", or "auto". With --cpu given, or a --source in C, "auto" is "cpu". Nothing is checked.
 */
const char *cli_device(const cli_args *args);

/* cli_machine() returns what --device, --threads and --cpu ask for, of those that the verb has. */
heed_options cli_machine(const cli_args *args);

/* cli_context_create() makes a context with @options, whose device may be "auto": that is replaced
 * by the one that was taken. Returns as heed_context_create() does. */
heed_status cli_context_create(heed_context **context, heed_options *options);

/* cli_context_open() makes a context as --device, --threads, --cpu and --wisdom say (those of them
 * that the verb has). A wisdom file that does not exist is an empty one. On failure the error has
 * been printed and *@context is NULL. */
cli_exit cli_context_open(heed_context **context, const cli_args *args);

/* cli_wisdom_load() is heed_wisdom_load() that also takes a pipe, and "-". */
heed_status cli_wisdom_load(heed_context *context, const char *path, size_t *taken, size_t *skipped,
                            lab_error *error);

/* cli_wisdom_save() saves the wisdom of @context where --wisdom says; without it does nothing. A
 * file with lines that do not match this machine is left as it is, with a warning: saving would
 * drop them. */
cli_exit cli_wisdom_save(heed_context *context, const cli_args *args);

/* cli_kernel_check() makes sure that --kernel, if given, is the name of a kernel,
 * with a config of it or without, or prints an error with a suggestion. */
cli_exit cli_kernel_check(const cli_args *args);

/* cli_kernel_check_of() does so for the text of another @option, cli_kernel_name_check() for one
 * @word of it. */
cli_exit cli_kernel_check_of(const cli_args *args, const char *option);
cli_exit cli_kernel_name_check(const char *option, const char *word);

/* cli_config_count() returns how many configs the kernel of heed_kernel_name(@kernel) has. */
size_t cli_config_count(size_t kernel);

/* problems.c: the problems of a command line. */
/* cli_problems_read() reads the operands, and the file of --shapes if the verb has that. An operand
 * is a spec; operands without blanks are words of one spec, so that it may be typed without quotes.
 * Nothing at all is a usage error. Free with cli_problems_free(), also after a failure. */
cli_exit cli_problems_read(lab_problems *problems, const cli_args *args);

/* cli_problems_read_from() is the same for the operands from number @first on, those before being
 * something else. */
cli_exit cli_problems_read_from(lab_problems *problems, const cli_args *args, int first);
void cli_problems_free(lab_problems *problems);

/* cli_problem_repeated() tells whether @again is @first once more, by its canonical spec, and says
 * so: for verbs in whose rules problems are counted. */
bool cli_problem_repeated(const heed_problem *again, const heed_problem *first);

/* cli_find_list() finds the list @name of a @folder such as "shapes": a plain name that is no file
 * here may be one of those that come with heed. Returns @name, or the path of that list in @path,
 * which has room for @size bytes. */
const char *cli_find_list(const char *folder, const char *name, char *path, size_t size);

/* cli_list_hint() returns "; did you mean 'NAME'?" with the list of @folder that is nearest to
 * @name, or the names of all where none is near, in @text, which has room for @size bytes; "" where
 * @name is a file or a path.
 */
const char *cli_list_hint(const char *folder, const char *name, char *text, size_t size);

struct lab_space; /* search/space.h */

/* cli_space_load() loads the space of configs @name, a file or one that comes with heed. A failure
 * has been printed, after @before. */
cli_exit cli_space_load(struct lab_space *space, const char *name, const char *before);

/* names.c: a word that is the first operand of a verb, and how
 * many operands may follow it. The first row of a table is the default; a NULL name ends it. */
typedef struct cli_subcommand {
    const char *name;
    int least, most; /* CLI_ANY: no limit */
    cli_exit (*run)(const cli_args *args);
} cli_subcommand;

/* cli_subcommand_run() runs the subcommand that the operands name, or says which there are. */
cli_exit cli_subcommand_run(const cli_subcommand *subcommands, const cli_args *args);

/* -------------------------------------------------------------------------- */
/* read.c: files as a whole                                                   */
/* -------------------------------------------------------------------------- */

/* cli_read_text() reads a file or a pipe of at most @most bytes into a new text, which ends
 * with a null byte, for the caller to free; cli_read_file() also prints the failure. */
heed_status cli_read_text(const char *path, int64_t most, char **text, size_t *size,
                          lab_error *error);
cli_exit cli_read_file(const char *path, int64_t most, char **text, size_t *size);

/* cli_read_json() reads a file of at most @most bytes as JSON in which no member stands twice, and
 * writes the hash of the file to @hash unless that is NULL. Prints the failure: CLI_CORRUPT for a
 * text that is not JSON. The caller releases *@json, which is NULL on failure. cli_read_record()
 * does so with a record of 'heed bench --record', and refuses any other schema. */
cli_exit cli_read_json(const char *path, int64_t most, json_t **json,
                       char hash[LAB_RECORD_HASH_SIZE]);
cli_exit cli_read_record(const char *path, json_t **record, char hash[LAB_RECORD_HASH_SIZE]);
#define CLI_RECORD_SCHEMA "heed.bench/1"
#define CLI_RECORD_SIZE_MAX ((int64_t)256 << 20)

/* -------------------------------------------------------------------------- */
/* names.c: words that must be one of some names                              */
/* -------------------------------------------------------------------------- */

/* cli_name_check() makes sure that @word is one of the names that @name returns for 0, 1, ... until
 * NULL. Else prints an error, "@what 'WORD'" with the nearest name or, without one, with @hint,
 * which may be NULL, and returns CLI_USAGE. */
cli_exit cli_name_check(const char *what, const char *word, const char *(*name)(size_t index),
                        const char *hint);

/* -------------------------------------------------------------------------- */
/* output.c: data on stdout, messages on stderr                               */
/* -------------------------------------------------------------------------- */

/* Everything below as the laboratory takes it: messages, progress, Ctrl-C. */
extern const lab_sink cli_sink;

/* One line on stderr each: the text as it is; after "heed: warning: "; after "heed: error: ". */
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* cli_error_detail() adds to the errors of --json what stderr says in lines of its own. */
void cli_error_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* cli_fail() prints heed_message() as an error, after "@subject: " if that is not NULL, and returns
 * cli_exit_of(@status): "return cli_fail(status, spec);" */
cli_exit cli_fail(heed_status status, const char *subject);

/* cli_fail_error() does so with the words of @error. */
cli_exit cli_fail_error(heed_status status, const lab_error *error);

/* cli_exit_of_work() is the exit code of long work of the laboratory: CLI_INTERRUPTED after Ctrl-C;
 * else a failure has been printed, in the words of @error if it has any. */
cli_exit cli_exit_of_work(heed_status status, const lab_error *error);

/* Colours. cli_style() returns the escape sequence that starts @style on @stream, or "" where
 * colours are not wanted: not a terminal, TERM=dumb, or NO_COLOR set. End every style with
 * CLI_PLAIN. Tables (lab/report/table.h) know that they have no width. */
typedef enum cli_style_name {
    CLI_PLAIN,
    CLI_BOLD,
    CLI_GOOD,
    CLI_WARN,
    CLI_BAD,
    CLI_FAINT
} cli_style_name;
const char *cli_style(FILE *stream, cli_style_name style);

/* cli_table_print() prints @table to stdout and destroys it. CLI_ENVIRONMENT if memory ran out,
 * also while it was filled; otherwise CLI_OK. */
cli_exit cli_table_print(lab_table *table);

/* cli_json_print() prints @json, an object, to stdout with "schema": "heed.@verb/1" and the
 * library's version in front, and releases it. NULL stands for an object that could not be made for
 * want of memory: CLI_ENVIRONMENT. Otherwise CLI_OK. */
cli_exit cli_json_print(json_t *json, const char *verb);

/* cli_json_finish() is what main() does last where JSON was asked for: if the exit is not CLI_OK
 * and nothing was printed as JSON yet, it prints a heed.error/1 with @code and what cli_error()
 * said, so that stdout holds one document whatever happens. Returns @code. @verb may
 * be NULL. */
cli_exit cli_json_finish(cli_exit code, const char *verb);

/* cli_json_write() is the same to any stream, whose failures are its owner's to see (ferror), with
 * jansson's flags @layout, JSON_INDENT(2) or JSON_COMPACT, and JSON_REAL_PRECISION() where that is
 * not to be 9. Returns false if there is no memory. */
bool cli_json_write(json_t *json, const char *verb, size_t layout, FILE *stream);

/* cli_json_append() appends @value to @array, takes it over, and returns @array; NULL if either of
 * them is NULL or there is no memory, with both released. So a chain of calls needs one check at
 * its end. */
json_t *cli_json_append(json_t *array, json_t *value);

/* cli_json_text() returns a JSON string. Bytes of @text that are not UTF-8, as file names may have,
 * become question marks. */
json_t *cli_json_text(const char *text);

/* cli_json_real() returns a JSON number, or null for a value that JSON cannot say. */
json_t *cli_json_real(double value);

/* cli_json_positive() returns null for 0 and less as well, cli_json_word() for NULL and "", and
 * cli_json_reals() an array. */
json_t *cli_json_positive(double value);
json_t *cli_json_word(const char *text);
json_t *cli_json_reals(const double *values, size_t count);

/* cli_json_column() returns a member of @row, or null for one that is not known. */
json_t *cli_json_column(const lab_record_column *column, const lab_record_row *row);

/* cli_output_open() makes sure that file descriptors 0 to 2 are taken, so that no data file can
 * become stdout; main() alone calls it. */
void cli_output_open(void);

/* cli_output_close() flushes stdout. If anything printed could not be written it says so, except to
 * a pipe that nobody reads any more, and returns CLI_ENVIRONMENT, else @code. */
cli_exit cli_output_close(cli_exit code);

/* -------------------------------------------------------------------------- */
/* progress.c: a line on stderr that shows how far a long verb is             */
/* -------------------------------------------------------------------------- */

/* The steps and the end of a lab_progress, as cli_sink has them: on a terminal shown at most ten
 * times a second, in a log every 10 s. End it before printing anything. */
void cli_progress_show(lab_progress *progress, size_t done, const char *what);
void cli_progress_clear(lab_progress *progress);

/* cli_interrupt_catch() makes Ctrl-C set a flag instead of ending the process (a second Ctrl-C does
 * end it), and makes a write to a closed pipe fail instead of killing. A child inherits the latter:
 * reset SIGPIPE when spawning. */
void cli_interrupt_catch(void);

/* cli_interrupted() says whether Ctrl-C was pressed. A long verb asks between two pieces of work,
 * stops cleanly, says how to go on, and returns CLI_INTERRUPTED. */
bool cli_interrupted(void);

/* -------------------------------------------------------------------------- */
/* self.c                                                                     */
/* -------------------------------------------------------------------------- */

/* cli_run_self() runs this program with @arguments (the first is a name for it, the last is NULL),
 * without its output, and returns its exit code; -1: it could not be run, or was killed. */
int cli_run_self(char *const arguments[]);

/* cli_run_self_until() stops it if it has not ended at @deadline_ns of heed_clock_ns(), 0 for
 * never, and then returns CLI_TIMEOUT; with a deadline what it says is not shown at all. */
int cli_run_self_until(char *const arguments[], int64_t deadline_ns);

/* cli_prover() returns who lets kernels through all gates on @machine, see cli_machine(), which
 * must outlive it: 'heed verify --once --proof', in a process of its own. */
lab_prover cli_prover(heed_options *machine);

/* -------------------------------------------------------------------------- */
/* help.c, man.c, completion.c: texts made from the tables                    */
/* -------------------------------------------------------------------------- */

/* Columns that --help keeps within. */
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
