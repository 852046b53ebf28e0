/*
 * evolve_sources.c - `heed evolve --proposer`: evolution of sources proposed by an external program
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "base/plural.h"
#include "cli/base/source.h"
#include "evolve.h"
#include "report/format.h"
#include "src/device.h"
#include "src/measure.h"

#define SOURCE_FILE_MAX ((int64_t)24 << 10)

/* ---- Before ---- */

/* The file of --source, or a source that comes with heed; NULL: none. */
static const char *find_origin(const cli_args *args, char *path, size_t size)
{
    const char *given = cli_args_text(args, "source");
    return given ? cli_find_list("proposers", given, path, size) : NULL;
}

static const char *proposer_name(size_t index)
{
    static const char *const names[] = { "regions", "openai" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

/* Others need not know the request that lab_proposer_check() sends. */
static bool comes_with_heed(const char *command)
{
    const char *name;
    for (size_t i = 0; (name = proposer_name(i)); i++)
        if (strcmp(name, command) == 0)
            return true;
    return false;
}

static cli_exit check_proposer(const char *command)
{
    char program[512], found[PATH_MAX];
    lab_error error;
    lab_proposer_find(command, program, sizeof program);
    if (strchr(program, '/') && comes_with_heed(command)) {
        if (lab_proposer_check(program, cli_interrupted, &error) == HEED_OK)
            return CLI_OK;
        cli_error("--proposer: %s: %s", command, error.text);
        return CLI_ENVIRONMENT;
    }
    if (!strchr(program, '/') &&
        !lab_path_find(getenv("PATH"), program, lab_path_is_program, found, sizeof found))
        return cli_name_check("--proposer: there is no program", command, proposer_name,
                              "regions and openai come with heed");
    if (!strchr(program, '/') || access(program, X_OK) == 0)
        return CLI_OK;
    cli_error("--proposer: %s: %s", program, strerror(errno));
    return CLI_ENVIRONMENT;
}

/* Checks that the file compiles and can be loaded, before the gates are tried and a device is
 * opened, which takes a minute. Only for C, and not for pipes, which can be read only once. */
static cli_exit try_file(const cli_args *args, const char *path)
{
    const cli_source_place place = { .on_host = true };
    const heed_problem any = { .size = sizeof any, .batch = 1 };
    cli_source own = { .text = NULL };
    if (lab_file_is_stream(path) || cli_source_language(path, "") != LAB_LANGUAGE_C ||
        strcmp(path, cli_args_text(args, "source")) != 0)
        return CLI_OK;
    cli_exit code = cli_source_read(&own, args);
    own.worker.limits.unsafe = cli_args_flag(args, "unsafe-candidates");
    own.worker.limits.remedy = CLI_UNSAFE_REMEDY;
    if (code == CLI_OK)
        code = cli_source_check(&own, &place, &any, 1);
    cli_source_free(&own);
    return code;
}

cli_exit evolve_sources_check(const cli_args *args)
{
    char found[1024];
    const char *path = find_origin(args, found, sizeof found);
    const char *proposer = cli_args_text(args, "proposer");
    if (path && !cli_source_is_named(path)) {
        cli_error("--source: %s ends neither with .c nor with .cu", path);
        return CLI_USAGE;
    }
    if (path && strcmp(path, "-") != 0 && access(path, R_OK) != 0) {
        cli_error("--source: %s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    cli_exit code = proposer ? check_proposer(proposer) : CLI_OK;
    return code == CLI_OK && path ? try_file(args, path) : code;
}

static cli_exit read_origin(lab_sources *all, const cli_args *args, char path[1024])
{
    bool host = heed_device_is_host(all->run->sweep.context);
    const char *name = find_origin(args, path, 1024);
    size_t size;
    if (!name)
        name = cli_find_list("proposers", host ? "attention.c" : "attention.cu", path, 1024);
    if (name != path)
        snprintf(path, 1024, "%s", name);
    cli_exit code = cli_read_file(path, SOURCE_FILE_MAX, &all->origin, &size);
    if (code != CLI_OK)
        return code;
    all->language = cli_source_language(path, all->origin);
    if ((all->language == LAB_LANGUAGE_C) == host)
        return CLI_OK;
    cli_error("--source: %s is for %s, and the device is %s: see --device", path,
              host ? "a CUDA device" : "the CPU", heed_context_device(all->run->sweep.context));
    return CLI_UNSUPPORTED;
}

/* -------------------------------------------------------------------------- */
/* The result, as a table or JSON                                             */
/* -------------------------------------------------------------------------- */

static void print_counts(const lab_sources *all)
{
    const lab_evolve *run = all->run;
    cli_message(
        "run %lld of the board, proposer %s, strategy %s: %zu source%s tried, %lld right on "
        "all problems, %lld answer%s rejected, %lld challenge%s of a champion%s%s%s%s",
        (long long)run->session.run, all->proposer_name, lab_way_name(all->way),
        all->count > 0 ? all->count - 1 : 0, lab_plural(all->count > 0 ? all->count - 1 : 0),
        (long long)all->right, (long long)all->refused, lab_plural(all->refused),
        (long long)run->challenges, lab_plural(run->challenges), *run->last ? "; the last: " : "",
        run->last, *all->end ? "; " : "", all->end);
    for (size_t i = all->count > 5 ? all->count - 5 : 0; i < all->count; i++) {
        const lab_sources_kernel *it = &all->kernels[i];
        if (it->verdict != LAB_RECORD_OK)
            cli_message("%s: %s: %.*s", it->name, lab_record_verdict_name(it->verdict),
                        it->log ? (int)strcspn(it->log, "\n") : 0, it->log ? it->log : "");
    }
}

/* False if the compiler, or the laboratory before it, refused the source. */
static bool was_compiled(const lab_sources_kernel *it)
{
    return it->verdict != LAB_RECORD_REFUSED && it->verdict != LAB_RECORD_COMPILE &&
           it->verdict != LAB_RECORD_PRUNED && it->verdict != LAB_RECORD_SKIPPED &&
           it->verdict != LAB_RECORD_UNPROTECTED;
}

/* Speed-ups of the sources that passed, over a kernel with the score @from. */
static lab_speedups speedups(const lab_sources *all, double from)
{
    double *values = calloc(all->count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 1; i < all->count && values && isfinite(from); i++)
        if (isfinite(all->kernels[i].score))
            values[count++] = exp(from - all->kernels[i].score);
    const lab_speedups made = lab_speedups_of(values, count);
    free(values);
    return made;
}

static lab_figures figures_of(const lab_sources *all)
{
    lab_figures figures = { .candidates = all->refused,
                            .seconds = (double)(heed_clock_ns() - all->run->start_ns) * 1e-9,
                            .tokens_in = all->tokens_in,
                            .tokens_out = all->tokens_out,
                            .confirmed = all->has_champion && all->champion > 0 &&
                                         !all->run->no_verify };
    for (size_t i = 1; i < all->count; i++) {
        figures.candidates++;
        figures.compiled += was_compiled(&all->kernels[i]);
        figures.passed += isfinite(all->kernels[i].score);
    }
    figures.origin = speedups(all, all->count > 0 ? all->kernels[0].score : (double)NAN);
    figures.rival = speedups(all, evolve_planned_score(&all->run->sweep));
    return figures;
}

static cli_exit report_text(const lab_sources *all)
{
    print_counts(all);
    if (!all->has_champion)
        return CLI_OK;
    const lab_sources_kernel *champion = &all->kernels[all->champion], *first = &all->kernels[0];
    printf("champion %s%s%s\n\n", champion->name, *champion->thought ? ": " : "",
           champion->thought);
    lab_listing rows = cli_rows_begin(false);
    for (size_t i = 0; i < all->run->sweep.problems.count; i++) {
        lab_cell_text(&rows, NULL, "problem", all->run->sweep.shapes[i].spec);
        lab_cell_seconds(&rows, NULL, "first source", first->seconds[i]);
        lab_cell_seconds(&rows, NULL, "champion", champion->seconds[i]);
        lab_cell_right(&rows, "times as fast", "%.2f", first->seconds[i] / champion->seconds[i]);
        lab_row_end(&rows);
    }
    cli_exit code = cli_table_print(rows);
    putchar('\n');
    if (code == CLI_OK)
        code = sweep_print_shapes(&all->run->sweep, champion->seconds, "champion", "champion is");
    if (code == CLI_OK && all->measured > 0)
        code = insight_print(&all->insight);
    if (all->run->leads > 0)
        cli_message("it leads the board on %lld problem%s from now on", (long long)all->run->leads,
                    lab_plural(all->run->leads));
    if (all->champion == 0)
        cli_message("nothing was found that is faster than the first source");
    const lab_figures figures = figures_of(all);
    figures_print(&figures, "the first source");
    return code;
}

static json_t *json_kernel(const lab_sources *all, const lab_sources_kernel *it, bool source)
{
    json_t *seconds = json_array();
    for (size_t i = 0; i < all->run->sweep.problems.count; i++)
        seconds = cli_json_append(seconds,
                                  cli_json_real(it->seconds[i] > 0 ? it->seconds[i] : NAN));
    json_t *json = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", it->name, "hash",
                             it->hash, "verdict", lab_record_verdict_name(it->verdict), "reason",
                             it->log ? lab_json_text(it->log) : json_null(), "thought",
                             lab_json_text(it->thought), "seconds", seconds, "mean_seconds",
                             cli_json_real(exp(it->score)));
    if (json && source)
        json_object_set_new(json, "source", lab_json_text(it->source));
    return json;
}

static json_t *json_insight(const lab_sources *all)
{
    json_t *list = json_array();
    if (all->measured > 0)
        list = cli_json_append(list, insight_json(&all->insight));
    return json_pack(
        "{s:s, s:o, s:o, s:o}", "mode", insight_modes[all->course.mode], "seconds",
        cli_json_real(all->course.spent), "findings",
        insight_words_json(all->has_champion ? all->kernels[all->champion].findings : 0),
        "measured", list);
}

static cli_exit report_json(const lab_sources *all)
{
    const lab_evolve *run = all->run;
    json_t *list = json_array(), *problems = json_array();
    const lab_figures figures = figures_of(all);
    for (size_t i = 0; i < all->count; i++)
        list = cli_json_append(list, json_kernel(all, &all->kernels[i], false));
    for (size_t i = 0; i < run->sweep.problems.count; i++)
        problems = cli_json_append(problems, json_string(run->sweep.shapes[i].spec));
    json_t *champion = all->has_champion ? json_kernel(all, &all->kernels[all->champion], true)
                                         : json_null();
    return cli_json_print(
        json_pack(
            "{s:s, s:s, s:o, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o, "
            "s:o}",
            "proposer", all->proposer_name, "way", lab_way_name(all->way), "device",
            lab_json_text(heed_context_device(run->sweep.context)), "run",
            (json_int_t)run->session.run, "resumed", run->session.resumed, "tried",
            (json_int_t)(all->count > 0 ? all->count - 1 : 0), "right", (json_int_t)all->right,
            "reused", (json_int_t)run->sweep.reused, "refused", (json_int_t)all->refused,
            "challenges", (json_int_t)run->challenges, "titles", (json_int_t)run->leads, "end",
            all->end, "problems", problems, "champion", champion, "shapes",
            sweep_json_shapes(&run->sweep, "champion_seconds"), "kernels", list, "insights",
            json_insight(all), "figures", figures_json(&figures)),
        "evolve-sources");
}

/* -------------------------------------------------------------------------- */
/* A run                                                                      */
/* -------------------------------------------------------------------------- */

/* Reports that the first source is unusable: nothing can be bred from it. */
static cli_exit refuse_origin(const lab_sources *all, const char *path)
{
    const lab_sources_kernel *first = &all->kernels[0];
    const char *log = first->log ? first->log : "";
    cli_error("%s, the first source: %s: %.*s", path, lab_record_verdict_name(first->verdict),
              (int)strcspn(log, "\n"), log);
    return first->verdict == LAB_RECORD_UNPROTECTED ? CLI_ENVIRONMENT : CLI_FINDING;
}

static cli_exit run_sources(evolve_run *run, lab_sources *all, const char *path)
{
    lab_sweep *sweep = &run->evolve.sweep;
    cli_exit code = sweep_exit(sweep, lab_sources_begin(all, cli_args_flag(run->args, "afresh")));
    if (code == CLI_OK)
        code = cli_session_begun(&run->evolve.session, false);
    if (code != CLI_OK)
        return code;
    code = sweep_exit(sweep, lab_sources_run(all));
    if (code == CLI_OK && !all->has_champion)
        code = refuse_origin(all, path);
    code = evolve_end(run, code, *all->end ? all->end : NULL);
    if (code == CLI_OK || code == CLI_INTERRUPTED) {
        cli_exit printed = cli_args_json(run->args) ? report_json(all) : report_text(all);
        code = printed != CLI_OK ? printed : code;
    }
    if (code == CLI_OK && all->count == 1) {
        cli_error("%s proposed nothing: %s", all->program, all->end);
        code = CLI_ENVIRONMENT;
    }
    return code;
}

cli_exit evolve_sources(evolve_run *run)
{
    const cli_args *args = run->args;
    const lab_sweep *sweep = &run->evolve.sweep;
    const char *proposer = cli_args_text(args, "proposer");
    char path[1024], program[512];
    lab_sources all = { .run = &run->evolve,
                        .named = cli_args_text(args, "source") != NULL,
                        .program = program,
                        .way = (lab_way)cli_args_choice(args, "way"),
                        .limits = { .interrupted = cli_interrupted,
                                    .unsafe = run->evolve.rebuild.unsafe,
                                    .remedy = CLI_UNSAFE_REMEDY } };
    if (!heed_device_is_host(sweep->context)) {
        const char *device = run->evolve.device;
        all.limits.device = strncmp(device, "cuda", 4) == 0 ? device : "cuda";
        all.limits.arch = sweep->arch;
    }
    lab_proposer_find(proposer ? proposer : "regions", program, sizeof program);
    cli_exit code = read_origin(&all, args, path);
    if (code == CLI_OK)
        code = run_sources(run, &all, path);
    lab_sources_free(&all);
    return code;
}
