/*
 * board_show.c - `heed board show` and `manifest`: one trial in full, and its tools and libraries
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "board.h"
#include "cli/verbs/doctor/manifest.h"
#include "measure/stats.h"
#include "report/format.h"

/* -------------------------------------------------------------------------- */
/* JSON                                                                       */
/* -------------------------------------------------------------------------- */

static json_t *json_value(const lab_record_field *field)
{
    json_t *array;
    switch (field->kind) {
    case LAB_RECORD_INTEGER:
        return json_integer(field->integer);
    case LAB_RECORD_REAL:
        return cli_json_real(field->real);
    case LAB_RECORD_TEXT:
        return cli_json_text(field->text);
    case LAB_RECORD_SAMPLES:
        array = json_array();
        for (size_t i = 0; i < field->count; i++)
            array = cli_json_append(array, cli_json_real(field->samples[i]));
        return array;
    default:
        return json_null();
    }
}

/* The object that contains @field: its section, or a row of the section. */
static json_t *object_of(json_t *all, const lab_record_field *field)
{
    json_t *section = json_object_get(all, field->section);
    if (!section) {
        section = field->list ? json_array() : json_object();
        if (json_object_set_new(all, field->section, section) != 0)
            return NULL;
    }
    if (!field->list)
        return section;
    json_t *row = json_array_get(section, field->row);
    if (!row) {
        row = json_object();
        if (json_array_append_new(section, row) != 0)
            return NULL;
    }
    return row;
}

static heed_status add_json(void *data, const lab_record_field *field)
{
    json_t *object = object_of(data, field);
    return json_object_set_new(object, field->name, json_value(field)) == 0 ? HEED_OK
                                                                            : HEED_ERR_NO_MEMORY;
}

/* -------------------------------------------------------------------------- */
/* Text                                                                       */
/* -------------------------------------------------------------------------- */

/* The state of printing, which goes to memory first: while a trial is read the board is locked. */
typedef struct show_print {
    FILE *out;
    char section[32];
    size_t row;
} show_print;

static void print_samples(FILE *out, const lab_record_field *field)
{
    char p50[LAB_FORMAT_SIZE], p90[LAB_FORMAT_SIZE], min[LAB_FORMAT_SIZE];
    const lab_summary summary = lab_stats_summary_of(field->samples, field->count);
    fprintf(out, "%zu sample%s", field->count, lab_plural(field->count));
    if (summary.n > 0)
        fprintf(out, ", median %s, p90 %s, least %s", lab_format_seconds(summary.p50, p50),
                lab_format_seconds(summary.p90, p90), lab_format_seconds(summary.min, min));
    putc('\n', out);
}

/* Prints text with lines after the first indented, and without control characters. */
static void print_text(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            fputs(text[1] ? "\n    " : "", out);
        else
            putc((unsigned char)*text < ' ' && *text != '\t' ? '?' : *text, out);
    putc('\n', out);
}

static void print_value(FILE *out, const lab_record_field *field)
{
    switch (field->kind) {
    case LAB_RECORD_INTEGER:
        fprintf(out, "%" PRId64 "\n", field->integer);
        break;
    case LAB_RECORD_REAL:
        fprintf(out, "%.9g\n", field->real);
        break;
    case LAB_RECORD_SAMPLES:
        print_samples(out, field);
        break;
    default:
        print_text(out, field->text);
    }
}

/* Prints a fact as a line: its name and its value. */
static bool print_fact(FILE *out, const lab_record_field *field)
{
    if (strcmp(field->section, "facts") != 0)
        return false;
    if (strcmp(field->name, "name") == 0 && field->text)
        fprintf(out, "  %-15s ", field->text);
    else
        print_value(out, field);
    return true;
}

static heed_status print_field(void *data, const lab_record_field *field)
{
    show_print *print = data;
    FILE *out = print->out;
    bool begins = strcmp(print->section, field->section) != 0;
    if (begins) {
        fprintf(out, "%s%s%s%s\n", *print->section ? "\n" : "", cli_style(stdout, CLI_BOLD),
                field->section, cli_style(stdout, CLI_PLAIN));
        snprintf(print->section, sizeof print->section, "%s", field->section);
        print->row = field->row;
    }
    if (field->kind == LAB_RECORD_NOTHING || print_fact(out, field))
        return HEED_OK;
    if (field->row != print->row)
        putc('\n', out);
    print->row = field->row;
    fprintf(out, "  %-15s ", field->name);
    print_value(out, field);
    return HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static bool read_id(const char *word, const char *text, int64_t *id)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    *id = value;
    if (*end == '\0' && end != text && value > 0)
        return true;
    cli_error("%s: '%s' is not the number of a trial, which 'heed board' shows first in each row",
              word, text);
    return false;
}

static cli_exit show_json(lab_record *record, int64_t id)
{
    lab_error error = { "not enough memory for the trial" };
    json_t *all = json_pack("{s:I}", "id", (json_int_t)id);
    heed_status status = lab_record_show(record, id, add_json, all, &error);
    if (status == HEED_OK)
        return cli_json_print(all, "board.trial");
    json_decref(all);
    return cli_fail_error(status, &error);
}

static cli_exit show_text(lab_record *record, int64_t id)
{
    char *text = NULL;
    size_t size = 0;
    lab_error error;
    show_print print = { .out = open_memstream(&text, &size) };
    bool failed = !print.out;
    heed_status status = HEED_OK;
    if (print.out) {
        status = lab_record_show(record, id, print_field, &print, &error);
        failed = ferror(print.out) != 0;
        failed |= fclose(print.out) != 0;
    }
    if (!failed)
        fputs(text, stdout);
    free(text);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    if (failed)
        cli_error("not enough memory for the trial");
    return failed ? CLI_ENVIRONMENT : CLI_OK;
}

/* Runs a subcommand about the trial whose number is its operand: calls tell() with the open board,
 * which prints errors. */
static cli_exit tell_trial(const cli_args *args, cli_exit (*tell)(lab_record *record, int64_t id))
{
    lab_record *record;
    int64_t id;
    if (!read_id(cli_args_operand(args, 0), cli_args_operand(args, 1), &id))
        return CLI_USAGE;
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, args);
    if (record)
        code = tell(record, id);
    else if (code == CLI_OK)
        code = CLI_USAGE; /* there is no such trial */
    lab_record_close(record);
    return code;
}

cli_exit cli_board_show(const cli_args *args)
{
    return tell_trial(args, cli_args_json(args) ? show_json : show_text);
}

/* -------------------------------------------------------------------------- */
/* `heed board manifest`: the tools and libraries of a trial                  */
/* -------------------------------------------------------------------------- */

/* Prints the manifest with these parts, whose hash must be @hash. */
static cli_exit print(const char *text, const char *hash)
{
    json_t *manifest = cli_manifest_of(json_loads(text, 0, NULL));
    cli_exit code = CLI_OK;
    if (!manifest || strcmp(cli_manifest_hash(manifest), hash) != 0) {
        cli_error("the manifest %s is not what was added: see 'heed board check'", hash);
        code = CLI_CORRUPT;
    } else if (json_dumpf(manifest, stdout, JSON_INDENT(2)) != 0 || putchar('\n') < 0) {
        cli_error("the manifest cannot be printed");
        code = CLI_ENVIRONMENT;
    }
    json_decref(manifest);
    return code;
}

/* Prints the manifest of a trial. For an imported trial it is the manifest that came with its
 * file. */
static cli_exit answer(lab_record *record, int64_t id)
{
    lab_error error;
    char hash[LAB_RECORD_HASH_SIZE], *source, *text = NULL;
    heed_status status = lab_record_source(record, id, &source, &error); /* checks that the trial
                                                                          * exists */
    free(status == HEED_OK ? source : NULL);
    if (status == HEED_OK)
        status = lab_record_manifest(record, id, hash, &text, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_exit code = CLI_FINDING;
    if (text)
        code = print(text, hash);
    else if (*hash)
        cli_error("trial %lld was made with the manifest %s, which did not come with it",
                  (long long)id, hash);
    else
        cli_error("trial %lld has no record of its tools", (long long)id);
    free(text);
    return code;
}

cli_exit cli_board_manifest(const cli_args *args)
{
    return tell_trial(args, answer);
}
