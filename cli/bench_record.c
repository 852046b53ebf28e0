/*
 * bench_record.c - keeps the answer: FOLDER/<device>/<date>/<what>-<time>.{json,csv,md}
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"
#include "manifest.h"
#include "report/table.h"

#define PATH_MAX_SIZE 1024

/* Copies @text as the name of a file: lower case letters and digits, a dash for anything else. */
static void copy_name(char *to, size_t size, const char *text)
{
    size_t length = 0;
    for (; *text && length + 1 < size; text++) {
        unsigned char c = (unsigned char)*text;
        if (isalnum(c))
            to[length++] = (char)tolower(c);
        else if (length > 0 && to[length - 1] != '-')
            to[length++] = '-';
    }
    while (length > 0 && to[length - 1] == '-')
        length--;
    to[length] = '\0';
}

/* Makes the folder @path and those above it. */
static bool make_folders(char *path)
{
    for (char *slash = path + 1; *slash; slash++)
        if (*slash == '/') {
            *slash = '\0';
            bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
            *slash = '/';
            if (!made)
                return false;
        }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* The subject of the times: the name of the shape file, or of the kernel, or simply "bench". */
static void describe(const bench_run *bench, char *text, size_t size)
{
    const char *shapes = cli_args_text(bench->args, "shapes");
    const char *from = shapes ? shapes : bench->kernel ? bench->kernel : "bench";
    const char *slash = strrchr(from, '/');
    char stem[64], name[64];
    snprintf(stem, sizeof stem, "%s", slash ? slash + 1 : from);
    if (shapes && strrchr(stem, '.'))
        *strrchr(stem, '.') = '\0';
    copy_name(name, sizeof name, stem);
    snprintf(text, size, "%s%s", name, bench->cold ? "-cold" : "");
}

/* The path without its end, from the time of the run such as 2026-01-31T23:59:59Z. */
static bool make_path(const bench_run *bench, const char *folder, char path[PATH_MAX_SIZE])
{
    char device[96], what[80], folders[PATH_MAX_SIZE];
    const char *time = bench->environment.time;
    if (strlen(time) < 19) /* "unknown" */
        time = "0000-00-00T00:00:00Z";
    copy_name(device, sizeof device, heed_context_device(bench->context));
    describe(bench, what, sizeof what);
    int length = snprintf(folders, sizeof folders, "%s/%s/%.10s", folder, device, time);
    if (length < 0 || length > PATH_MAX_SIZE - 128) {
        cli_error("--record: the name of the folder is longer than %d bytes", PATH_MAX_SIZE - 128);
        return false;
    }
    if (!make_folders(folders)) {
        cli_error("--record: %s: %s", folders, strerror(errno));
        return false;
    }
    snprintf(path, PATH_MAX_SIZE, "%.895s/%s-%.2s%.2s%.2s", folders, what, time + 11, time + 14,
             time + 17);
    return true;
}

static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

/* A number, or nothing where there is none. */
static void write_number(FILE *file, double value)
{
    if (value > 0 && isfinite(value))
        fprintf(file, ",%.9g", value);
    else
        fputc(',', file);
}

static void write_summary(FILE *file, const lab_summary *summary)
{
    write_number(file, summary->n ? summary->p50 : 0);
    write_number(file, summary->n ? summary->p90 : 0);
}

static void write_heed(FILE *file, const char *spec, const bench_row *row)
{
    bool good = row->outcome == BENCH_OK;
    write_text(file, spec);
    fprintf(file, ",heed,%s,%s", row->kernel, bench_outcome_name(row->outcome));
    write_number(file, good ? row->summary.p50 : 0);
    write_number(file, good ? row->summary.p90 : 0);
    write_number(file, good ? row->flops / row->summary.p50 : 0);
    write_summary(file, &row->eager);
    write_number(file, row->launch);
    fputs(",,,,,", file);
    write_text(file, row->reason);
    fputc('\n', file);
}

static void write_match(FILE *file, const char *spec, const bench_row *row,
                        const bench_match *match)
{
    const lab_comparison *c = &match->comparison;
    bool good = match->outcome == BENCH_OK;
    write_text(file, spec);
    fputc(',', file);
    write_text(file, match->name);
    fputc(',', file);
    write_text(file, match->method);
    fprintf(file, ",%s", bench_outcome_name(match->outcome));
    write_number(file, good ? match->seconds : 0);
    fputc(',', file);
    write_number(file, good ? row->flops / match->seconds : 0);
    write_summary(file, &match->eager);
    fputc(',', file);
    write_number(file, good ? c->ratio.estimate : 0);
    write_number(file, good ? c->ratio.low : 0);
    write_number(file, good ? c->ratio.high : 0);
    fprintf(file, ",%s,", good ? lab_compared_name(c->verdict) : "");
    write_text(file, match->reason);
    fputc('\n', file);
}

static bool write_csv(const bench_run *bench, FILE *file)
{
    char spec[HEED_SPEC_SIZE];
    fputs("problem,name,method,outcome,p50,p90,flops_per_second,eager_p50,eager_p90,launch,"
          "ratio,low,high,verdict,reason\n",
          file);
    for (size_t i = 0; i < bench->row_count; i++) {
        const bench_row *row = &bench->rows[i];
        heed_problem_print(&row->source->problem, spec, sizeof spec);
        write_heed(file, spec, row);
        for (size_t j = 0; j < row->match_count; j++)
            write_match(file, spec, row, &row->matches[j]);
    }
    return true;
}

static bool write_markdown(const bench_run *bench, FILE *file)
{
    const lab_environment *e = &bench->environment;
    char features[32];
    heed_device_features(bench->context, features);
    fprintf(file, "# %s, %s\n\nheed %s (%s), %s; %s, %s; %s buffers, %s.\n",
            heed_context_device(bench->context), e->time, e->heed, e->commit, features, e->cpu,
            e->kernel, bench->cold ? "cold" : "hot",
            bench->replay ? "seconds of the device by replays" : "seconds by the clock");
    fputs(bench->rival_count > 0 ? "\n" : "", file);
    for (size_t i = 0; i < bench->rival_count; i++) {
        const bench_rival *rival = &bench->rivals[i];
        if (rival->open)
            fprintf(file, "- %s: %s, %s\n", rival->name, rival->peer->version, rival->peer->detail);
        else
            fprintf(file, "- %s: %s\n", rival->name, rival->reason);
    }
    fputs("\n", file);
    lab_table *table = bench_summary(bench);
    bool good = lab_table_print(table, file, LAB_MARKDOWN);
    lab_table_destroy(table);
    fprintf(file, "\n%s", bench_summary_key);
    return good;
}

/* Records are published, and the folders of a rival's path are the user's own. */
static void drop_folders(json_t *rival)
{
    const char *path = json_string_value(json_object_get(rival, "path"));
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) /* without memory for it the path stays whole */
        json_object_set_new(rival, "path", json_string(slash + 1));
}

static bool write_json(const bench_run *bench, FILE *file)
{
    json_t *all = bench_json(bench);
    json_t *rivals = json_object_get(all, "rivals");
    for (size_t i = 0; i < json_array_size(rivals); i++)
        drop_folders(json_array_get(rivals, i));
    return cli_json_write(all, "bench", file);
}

static bool write_lock(const bench_run *bench, FILE *file)
{
    return json_dumpf(bench->manifest, file, JSON_INDENT(2)) == 0 && fputc('\n', file) >= 0;
}

/* Writes one file. */
static cli_exit keep(const bench_run *bench, const char *path, const char *end,
                     bool write(const bench_run *bench, FILE *file))
{
    char name[PATH_MAX_SIZE + 8];
    snprintf(name, sizeof name, "%s.%s", path, end);
    FILE *file = fopen(name, "wex");
    if (!file) {
        cli_error("--record: %s: %s", name, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    bool written = write(bench, file);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        cli_error("--record: %s: %s", name, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    if (!written)
        cli_error("not enough memory for %s", name);
    return written ? CLI_OK : CLI_ENVIRONMENT;
}

cli_exit bench_record(const bench_run *bench, const char *folder)
{
    static const struct {
        const char *end;
        bool (*write)(const bench_run *bench, FILE *file);
    } forms[] = { { "json", write_json },
                  { "csv", write_csv },
                  { "md", write_markdown },
                  { "lock", write_lock } };
    char path[PATH_MAX_SIZE];
    cli_exit code = make_path(bench, folder, path) ? CLI_OK : CLI_ENVIRONMENT;
    for (size_t i = 0; code == CLI_OK && i < sizeof forms / sizeof forms[0]; i++)
        code = keep(bench, path, forms[i].end, forms[i].write);
    if (code == CLI_OK)
        cli_message("recorded in %s.json, .csv, .md and .lock", path);
    return code;
}
