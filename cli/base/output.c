/*
 * output.c - messages, colours, JSON, and detection of failed writes
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

cli_exit cli_exit_of(heed_status status)
{
    static const cli_exit codes[] = {
        [HEED_OK] = CLI_OK,
        [HEED_ERR_INVALID] = CLI_USAGE,
        [HEED_ERR_UNSUPPORTED] = CLI_UNSUPPORTED,
        [HEED_ERR_NO_MEMORY] = CLI_ENVIRONMENT,
        [HEED_ERR_NO_WISDOM] = CLI_FINDING,
        [HEED_ERR_SYSTEM] = CLI_ENVIRONMENT,
        [HEED_ERR_CORRUPT] = CLI_CORRUPT,
    };
    size_t index = (size_t)status;
    return index < sizeof codes / sizeof codes[0] ? codes[index] : CLI_ENVIRONMENT;
}

static void __attribute__((format(printf, 3, 0)))
print_labelled(lab_style style, const char *label, const char *format, va_list list)
{
    fprintf(stderr, "heed: %s%s:%s ", cli_style(stderr, style), label,
            cli_style(stderr, LAB_PLAIN));
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
}

/* Errors for programs that read JSON, printed at the end if no other JSON was. Like stdout this is
 * global state: the only other global variable is in progress.c. */
#define ERRORS_MAX 16
static struct {
    char texts[ERRORS_MAX][1024];
    size_t count;
    char message[1024]; /* the last one: the reason if there is no error */
    bool answered;      /* a document has been written to stdout */
} said;

static void __attribute__((format(printf, 1, 0))) keep_error(const char *format, va_list list)
{
    if (said.count < ERRORS_MAX)
        vsnprintf(said.texts[said.count++], sizeof said.texts[0], format, list);
}

static void __attribute__((format(printf, 1, 0))) say_message(const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    vsnprintf(said.message, sizeof said.message, format, again);
    va_end(again);
}

static void __attribute__((format(printf, 1, 0))) say_error(const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    print_labelled(LAB_BAD, "error", format, list);
    keep_error(format, again);
    va_end(again);
}

static void __attribute__((format(printf, 1, 0))) say_warning(const char *format, va_list list)
{
    print_labelled(LAB_WARN, "warning", format, list);
}

static void __attribute__((format(printf, 3, 0)))
say(void *data, lab_tone tone, const char *format, va_list list)
{
    (void)data;
    if (tone == LAB_MESSAGE)
        say_message(format, list);
    else if (tone == LAB_WARNING)
        say_warning(format, list);
    else
        say_error(format, list);
}

/* Advice on verbs and options, added to a message of the laboratory. */
static void advise(void *data, lab_advice advice, const char *kernel, const char *spec,
                   char text[LAB_ADVICE_SIZE])
{
    static const char *const words[] = {
        [LAB_ADVICE_TIME] = "--seconds gives more",
        [LAB_ADVICE_BOARD] = "'heed board check' says which are",
        [LAB_ADVICE_RIVALS] = "'heed doctor' lists them",
        [LAB_ADVICE_OTHERS] = "'heed gate' meets it",
    };
    (void)data;
    if (advice == LAB_ADVICE_PROVE)
        snprintf(text, LAB_ADVICE_SIZE, "see 'heed verify --proof --kernel %s \"%s\"'", kernel,
                 spec);
    else
        snprintf(text, LAB_ADVICE_SIZE, "%s", words[advice]);
}

const lab_sink cli_sink = {
    .interrupted = cli_interrupted,
    .say = say,
    .advise = advise,
    .step = cli_progress_show,
    .end = cli_progress_clear,
};

void cli_message(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say_message(format, list);
    va_end(list);
}

void cli_warning(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say_warning(format, list);
    va_end(list);
}

void cli_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say_error(format, list);
    va_end(list);
}

void cli_error_detail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    keep_error(format, list);
    va_end(list);
}

cli_exit cli_json_finish(cli_exit code, const char *verb)
{
    static const char *const kinds[] = {
        [CLI_FINDING] = "finding",         [CLI_USAGE] = "usage",
        [CLI_ENVIRONMENT] = "environment", [CLI_UNSUPPORTED] = "unsupported",
        [CLI_VERIFY_FAILED] = "wrong",     [CLI_TIMEOUT] = "timeout",
        [CLI_CORRUPT] = "corrupt",         [CLI_OPEN] = "open",
        [CLI_INTERRUPTED] = "interrupted",
    };
    json_t *errors = json_array();
    if (code == CLI_OK || said.answered) {
        json_decref(errors);
        return code;
    }
    if (code == CLI_INTERRUPTED)
        errors = cli_json_append(errors, json_string("interrupted"));
    for (size_t i = 0; i < said.count; i++)
        errors = cli_json_append(errors, lab_json_text(said.texts[i]));
    if (json_array_size(errors) == 0 && *said.message)
        errors = cli_json_append(errors, lab_json_text(said.message));
    cli_json_print(json_pack("{s:s?, s:i, s:s, s:o}", "verb", verb, "exit", (int)code, "kind",
                             kinds[code], "errors", errors),
                   "error");
    return code;
}

cli_exit cli_fail(heed_status status, const char *subject)
{
    if (subject)
        cli_error("%s: %s", subject, heed_message());
    else
        cli_error("%s", heed_message());
    return cli_exit_of(status);
}

cli_exit cli_fail_error(heed_status status, const lab_error *error)
{
    cli_error("%s", error->text);
    return cli_exit_of(status);
}

cli_exit cli_exit_of_work(heed_status status, const lab_error *error)
{
    if (status == HEED_OK)
        return CLI_OK;
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    cli_error("%s", *error->text ? error->text : heed_status_name(status));
    return cli_exit_of(status);
}

static bool colours_wanted(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color && *no_color)
        return false;
    return term && strcmp(term, "dumb") != 0 && isatty(fileno(stream));
}

const char *cli_style(FILE *stream, lab_style style)
{
    return colours_wanted(stream) ? lab_style_sequence(style) : "";
}

json_t *cli_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

json_t *cli_json_list(const void *items, size_t count, size_t size, cli_json_fn *make)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        array = cli_json_append(array, make((const char *)items + i * size));
    return array;
}

json_t *cli_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_json_positive(double value)
{
    return value > 0 ? cli_json_real(value) : json_null();
}

json_t *cli_json_reals(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        array = cli_json_append(array, cli_json_real(values[i]));
    return array;
}

json_t *cli_json_word(const char *text)
{
    return text && *text ? lab_json_text(text) : json_null();
}

bool cli_json_write(json_t *json, const char *verb, size_t layout, FILE *stream)
{
    json_t *document = json_pack("{s:o, s:s}", "schema", json_sprintf("heed.%s/1", verb), "version",
                                 heed_version());
    bool complete = json && document && json_object_update(document, json) == 0;
    said.answered |= complete && stream == stdout;
    if (complete) {
        /* the caller checks @stream for errors */
        bool precise = (layout & JSON_REAL_PRECISION(0x1f)) != 0;
        json_dumpf(document, stream, precise ? layout : layout | JSON_REAL_PRECISION(9));
        fputc('\n', stream);
    }
    json_decref(json);
    json_decref(document);
    return complete;
}

lab_listing cli_rows_begin(bool json)
{
    return lab_listing_begin(json                     ? LAB_LIST_JSON
                             : colours_wanted(stdout) ? LAB_LIST_COLOUR
                                                      : LAB_LIST_TEXT);
}

cli_exit cli_table_print(lab_listing rows)
{
    return cli_rows_print(&rows, NULL, NULL);
}

cli_exit cli_rows_print(lab_listing *rows, const char *key, const char *verb)
{
    cli_exit code = CLI_OK;
    if (rows->json)
        code = cli_json_print(json_pack("{s:o}", key, lab_listing_rows(rows)), verb);
    else if (!lab_listing_print(rows, stdout)) {
        cli_error("not enough memory for the table");
        code = CLI_ENVIRONMENT;
    }
    lab_listing_free(rows);
    return code;
}

cli_exit cli_json_print(json_t *json, const char *verb)
{
    if (cli_json_write(json, verb, JSON_INDENT(2), stdout))
        return CLI_OK;
    cli_error("not enough memory for the JSON output");
    return CLI_ENVIRONMENT;
}

void cli_shell_word(FILE *stream, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%";
    if (*text && strspn(text, plain) == strlen(text)) {
        fputs(text, stream);
        return;
    }
    fputc('\'', stream);
    for (; *text; text++)
        fputs(*text == '\'' ? "'\\''" : (const char[]){ *text, '\0' }, stream);
    fputc('\'', stream);
}

void cli_output_open(void)
{
    /* Opened in the opposite mode, so that using a closed standard stream still fails. */
    static const int modes[] = { O_WRONLY, O_RDONLY, O_RDONLY };
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
            return;
}

/* True if stdout is a pipe whose reader is gone, as in "heed ... | head". */
static bool reader_is_gone(void)
{
    struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return poll(&output, 1, 0) > 0 && (output.revents & POLLERR);
}

cli_exit cli_output_close(cli_exit code)
{
    bool failed_before = ferror(stdout) != 0;
    errno = 0;
    bool failed_now = fflush(stdout) != 0;
    int reason = errno;
    if (!failed_before && !failed_now)
        return code;
    if (!reader_is_gone())
        cli_error("standard output: %s",
                  failed_now && reason ? strerror(reason) : "a write failed");
    return code == CLI_OK ? CLI_ENVIRONMENT : code;
}

json_t *cli_json_column(const lab_record_column *column, const lab_record_row *row)
{
    const void *at = (const char *)row + column->offset;
    const char *text;
    switch (column->kind) {
    case LAB_COLUMN_TEXT:
        text = *(const char *const *)at;
        return text ? lab_json_text(text) : json_null();
    case LAB_COLUMN_NUMBER:
        return json_integer(*(const int64_t *)at);
    case LAB_COLUMN_INT:
        return json_integer(*(const int *)at);
    case LAB_COLUMN_BOOL:
        return json_boolean(*(const bool *)at);
    default:
        return cli_json_positive(*(const double *)at);
    }
}
