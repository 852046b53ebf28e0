/*
 * bench_json.c - heed.bench/1: every figure with its samples
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "bench.h"
#include "cli/verbs/doctor/manifest.h"
#include "wisdom_line.h"

static const char *const effort_names[] = { "estimate", "measure", "patient", "wisdom" };

static json_t *error_of(double error)
{
    return error < 0 ? json_null() : cli_json_real(error);
}

static json_t *verdict_of(const lab_bench_match *match)
{
    const lab_comparison *c = &match->comparison;
    if (match->outcome != LAB_BENCH_OK)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:I}", "ratio", cli_json_real(c->ratio.estimate),
                     "low", cli_json_real(c->ratio.low), "high", cli_json_real(c->ratio.high),
                     "margin", cli_json_real(c->margin), "verdict", lab_compared_name(c->verdict),
                     "pairs", (json_int_t)c->pairs);
}

static json_t *summary_json(const lab_summary *s)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "min", cli_json_real(s->min), "p50",
                     cli_json_real(s->p50), "p90", cli_json_real(s->p90), "mean",
                     cli_json_real(s->mean), "mad", cli_json_real(s->mad));
}

/* The state of the device; null for each figure that it does not report. */
static json_t *state_of(const heed_device_state *state)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o}", "sm_clock_hz", cli_json_positive(state->sm_clock_hz),
        "memory_clock_hz", cli_json_positive(state->memory_clock_hz), "power_w",
        cli_json_positive(state->power_w), "temperature_c", cli_json_positive(state->temperature_c),
        "throttle", cli_json_word(state->throttle), "other_processes",
        state->other_processes >= 0 ? json_integer(state->other_processes) : json_null());
}

/* More figures where the samples are replays; else null. */
static json_t *replay_of(const lab_bench_row *row)
{
    if (row->calls == 0)
        return json_null();
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "calls", (json_int_t)row->calls, "hot",
                     cli_json_positive(row->hot), "cold", cli_json_positive(row->cold), "eager",
                     summary_json(&row->eager), "launch", cli_json_positive(row->launch), "state",
                     state_of(&row->state));
}

static json_t *match_of(const void *item)
{
    const lab_bench_match *match = item;
    bool good = match->outcome == LAB_BENCH_OK;
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                     lab_json_text(match->name), "outcome", lab_bench_outcome_name(match->outcome),
                     "reason", cli_json_word(match->reason), "method", cli_json_word(match->method),
                     "error", error_of(match->error), "seconds",
                     good ? cli_json_real(match->seconds) : json_null(), "comparison",
                     verdict_of(match), "heed_blocks",
                     cli_json_reals(match->heed, good ? match->pairs : 0), "rival_blocks",
                     cli_json_reals(match->other, good ? match->pairs : 0), "replay_calls",
                     match->calls ? json_integer(match->calls) : json_null(), "eager",
                     match->eager.n ? summary_json(&match->eager) : json_null(), "asking",
                     cli_json_positive(match->asking));
}

/* The lengths on both sides; null for a problem without lengths. */
static json_t *sequences_of(const lab_bench_sequences *all)
{
    if (all->count == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "count", (json_int_t)all->count, "queries",
                     (json_int_t)all->queries, "keys", (json_int_t)all->keys, "shortest",
                     (json_int_t)all->shortest, "longest", (json_int_t)all->longest, "bytes",
                     cli_json_positive(all->work.bytes));
}

static json_t *row_of(const void *item)
{
    const lab_bench_row *row = item;
    char spec[HEED_SPEC_SIZE];
    bool good = row->outcome == LAB_BENCH_OK;
    double rate = good ? row->flops / row->summary.p50 : 0;
    heed_problem_print(&row->source->problem, spec, sizeof spec);
    return json_pack(
        "{s:s, s:o, s:o, s:s, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o}",
        "problem", spec, "label", cli_json_word(row->source->label), "kernel",
        cli_json_word(row->kernel), "outcome", lab_bench_outcome_name(row->outcome), "reason",
        cli_json_word(row->reason), "error", error_of(row->error), "rows_checked",
        (json_int_t)row->rows_checked, "copies", (json_int_t)row->copies, "sequences",
        sequences_of(&row->sequences), "flops", cli_json_real(row->flops), "flops_per_second",
        cli_json_positive(rate), "of_ceiling",
        cli_json_positive(row->ceiling > 0 ? rate / row->ceiling : 0), "of_roofline",
        cli_json_positive(good ? lab_bench_of_roofline(row) : 0), "floor_seconds",
        cli_json_positive(row->floor), "bound_by",
        row->floor > 0 ? json_string(lab_roof_name(row->binds)) : json_null(), "seconds",
        good ? summary_json(&row->summary) : json_null(), "samples",
        cli_json_reals(row->samples, good ? (size_t)row->count : 0), "replay",
        good ? replay_of(row) : json_null(), "rivals",
        cli_json_list(row->matches, row->match_count, sizeof *row->matches, match_of));
}

static json_t *rival_of(const void *item)
{
    const lab_bench_rival *r = item;
    const lab_rival *p = r->peer;
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:o}", "name", lab_json_text(r->name), "version",
                     cli_json_word(p ? p->version : ""), "detail",
                     cli_json_word(p ? p->detail : ""), "path",
                     cli_json_word(p ? p->found.path : ""), "outcome",
                     lab_bench_outcome_name(r->open ? LAB_BENCH_OK : r->outcome), "reason",
                     r->open ? json_null() : cli_json_word(r->reason));
}

static json_t *ceilings_of(const lab_bench *bench)
{
    json_t *ceilings = json_object();
    for (int type = 0; type < HEED_TYPE_COUNT; type++)
        json_object_set_new(ceilings, heed_type_name((heed_type)type),
                            cli_json_positive(bench->ceilings[type]));
    json_object_set_new(ceilings, "sgemm", cli_json_positive(bench->sgemm));
    json_object_set_new(ceilings, "copy_bytes", cli_json_positive(bench->copy));
    return ceilings;
}

json_t *bench_json_device(const lab_bench *bench)
{
    char features[32];
    heed_device_state state = { .other_processes = -1 };
    heed_device_limits limits = heed_device_get_limits(bench->context);
    heed_device_features(bench->context, features);
    heed_device_read_state(bench->context, &state);
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "backend",
                     heed_context_backend(bench->context), "name",
                     heed_context_device(bench->context), "features", features, "memory_bytes",
                     cli_json_positive((double)heed_device_memory(bench->context)), "cache_bytes",
                     cli_json_positive((double)heed_device_cache(bench->context)),
                     "multiprocessors", cli_json_positive(limits.multiprocessors), "clock_hz",
                     cli_json_positive(limits.clock_hz), "bandwidth",
                     cli_json_positive(limits.bandwidth), "state", state_of(&state));
}

/* Returns everything, for the caller to release; NULL if out of memory. */
static json_t *bench_json(const lab_bench *bench, const json_t *manifest)
{
    return json_pack(
        "{s:o, s:o, s:s, s:s, s:o, s:s, s:i, s:s, s:o, s:o, s:b, s:b, s:b, s:o, s:I, s:o, s:o, "
        "s:o}",
        "environment", lab_environment_json(&bench->environment), "manifest",
        cli_json_word(cli_manifest_hash(manifest)), "build", heed_wisdom_build(), "device",
        heed_context_device(bench->context), "device_facts", bench_json_device(bench), "cpu",
        heed_context_cpu(bench->context), "threads", heed_context_threads(bench->context), "effort",
        effort_names[bench->effort], "kernel", cli_json_word(bench->kernel), "source",
        bench->own ? lab_json_text(bench->own->path) : json_null(), "cold", bench->cold, "replay",
        bench->replay, "behind", bench->behind != NULL, "seconds", cli_json_real(bench->seconds),
        "seed", (json_int_t)bench->seed, "ceilings", ceilings_of(bench), "rivals",
        cli_json_list(bench->rivals, bench->rival_count, sizeof *bench->rivals, rival_of), "rows",
        cli_json_list(bench->rows, bench->row_count, sizeof *bench->rows, row_of));
}

cli_exit bench_print_json(const lab_bench *bench, const json_t *manifest)
{
    return cli_json_print(bench_json(bench, manifest), "bench");
}

/* -------------------------------------------------------------------------- */
/* A record: FOLDER/<device>/<date>/<what>-<time>.json                        */
/* -------------------------------------------------------------------------- */

#define PATH_MAX_SIZE 1024

/* Digits of a real number: the error is below the millionth that the board allows. */
#define RECORD_DIGITS 7

/* Copies @text as a file name: lower case letters and digits, with dashes for anything else. */
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

/* The subject of the times: the name of the shape file, or of the kernel, or simply "bench". */
static void describe(const lab_bench *bench, const char *shapes, char *text, size_t size)
{
    const char *from = shapes ? shapes : bench->kernel ? bench->kernel : "bench";
    char stem[64], name[64];
    snprintf(stem, sizeof stem, "%s", basename(from));
    if (shapes && strrchr(stem, '.'))
        *strrchr(stem, '.') = '\0';
    copy_name(name, sizeof name, stem);
    snprintf(text, size, "%s%s%s", name, bench->cold ? "-cold" : "",
             bench->behind ? "-behind" : "");
}

/* Makes the path, from the time of the run, such as 2026-01-31T23:59:59Z. */
static bool make_path(const lab_bench *bench, const cli_args *args, char path[PATH_MAX_SIZE])
{
    char device[96], what[80], folders[PATH_MAX_SIZE];
    lab_error error;
    const char *time = bench->environment.time;
    if (strlen(time) < 19) /* "unknown" */
        time = "0000-00-00T00:00:00Z";
    copy_name(device, sizeof device, heed_context_device(bench->context));
    describe(bench, cli_args_list(args, "shapes", 0), what, sizeof what);
    int length = snprintf(folders, sizeof folders, "%s/%s/%.10s", cli_args_text(args, "record"),
                          device, time);
    if (length < 0 || length > PATH_MAX_SIZE - 128) {
        cli_error("--record: the name of the folder is longer than %d bytes", PATH_MAX_SIZE - 128);
        return false;
    }
    snprintf(path, PATH_MAX_SIZE, "%.895s/%s-%.2s%.2s%.2s.json", folders, what, time + 11,
             time + 14, time + 17);
    if (lab_file_folders(path, 0777, &error) == HEED_OK)
        return true;
    cli_error("--record: %s", error.text);
    return false;
}

/* Drops the folders of a rival's path: records are published, and the folders are private. */
static void drop_folders(json_t *rival)
{
    const char *path = json_string_value(json_object_get(rival, "path"));
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) /* if memory runs out the path stays whole */
        json_object_set_new(rival, "path", json_string(slash + 1));
}

/* Removes null members, and all members of summaries but the median and the 90th percentile:
 * readers of a record use no others, and they follow from the samples. */
static void compact(json_t *value)
{
    void *next;
    const char *name;
    json_t *member;
    size_t i;
    json_array_foreach(value, i, member)
    {
        compact(member);
    }
    json_object_foreach_safe(value, next, name, member)
    {
        compact(member);
        if (strcmp(name, "eager") == 0 || strcmp(name, "seconds") == 0) {
            json_object_del(member, "min");
            json_object_del(member, "mean");
            json_object_del(member, "mad");
        }
        if (json_is_null(member))
            json_object_del(value, name);
    }
}

static bool write_record(const lab_bench *bench, const json_t *manifest, FILE *file)
{
    json_t *all = bench_json(bench, manifest), *rivals = json_object_get(all, "rivals");
    for (size_t i = 0; i < json_array_size(rivals); i++)
        drop_folders(json_array_get(rivals, i));
    compact(all);
    json_object_set(all, "parts", json_object_get(manifest, "parts"));
    return cli_json_write(all, "bench", JSON_COMPACT | JSON_REAL_PRECISION(RECORD_DIGITS), file);
}

cli_exit bench_record(const lab_bench *bench, const cli_args *args, const json_t *manifest)
{
    char path[PATH_MAX_SIZE];
    if (bench->row_count == 0) {
        cli_message("--record: no problem was finished, so there is nothing to record");
        return CLI_OK;
    }
    if (!make_path(bench, args, path))
        return CLI_ENVIRONMENT;
    FILE *file = fopen(path, "wex");
    if (!file) {
        cli_error("--record: %s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    bool written = write_record(bench, manifest, file), failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        cli_error("--record: %s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    if (!written) {
        cli_error("not enough memory for %s", path);
        return CLI_ENVIRONMENT;
    }
    cli_message("recorded in %s", path);
    return CLI_OK;
}
