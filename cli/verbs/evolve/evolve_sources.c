/*
 * evolve_sources.c - evolution of source texts, which an outside program proposes
 */
#include "evolve_sources.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/base/source.h"
#include "report/format.h"
#include "src/device.h"
#include "src/measure.h"

#define SOURCE_FILE_MAX ((int64_t)24 << 10)
#define REFUSED_MAX 5 /* answers in a row that are of no use, before it is given up */

/* ---- Before ---- */

/* The file of --source, or of one that comes with heed; NULL: none is given. */
static const char *find_origin(const cli_args *args, char *path, size_t size)
{
    const char *given = cli_args_text(args, "source");
    return given ? cli_find_list("proposers", given, path, size) : NULL;
}

/* Is there a program of that name in one of the folders of PATH? */
static bool is_in_path(const char *name)
{
    char file[PATH_MAX];
    const char *folder = getenv("PATH");
    while (folder && *folder) {
        int length = (int)strcspn(folder, ":");
        snprintf(file, sizeof file, "%.*s/%s", length, folder, name);
        if (access(file, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

static const char *proposer_name(size_t index)
{
    static const char *const names[] = { "regions", "openai" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static cli_exit check_proposer(const char *command)
{
    char path[512];
    lab_proposer_find(command, path, sizeof path);
    if (!strchr(path, '/') && !is_in_path(path))
        return cli_name_check("--proposer: there is no program", command, proposer_name,
                              "regions and openai come with heed");
    if (!strchr(path, '/') || access(path, X_OK) == 0)
        return CLI_OK;
    cli_error("--proposer: %s: %s", path, strerror(errno));
    return CLI_ENVIRONMENT;
}

/* Is the file text that compiles and can be loaded? It is found out before the gates are tried and
 * a device is opened, which takes a minute; so of C alone, and of a pipe, which has one reader,
 * not.
 */
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

static cli_exit read_origin(evolve_sources *all)
{
    bool host = heed_device_is_host(all->run->sweep.context);
    const char *path = find_origin(all->run->args, all->path, sizeof all->path);
    size_t size;
    if (!path)
        path = cli_find_list("proposers", host ? "attention.c" : "attention.cu", all->path,
                             sizeof all->path);
    if (path != all->path)
        snprintf(all->path, sizeof all->path, "%s", path);
    cli_exit code = cli_read_file(path, SOURCE_FILE_MAX, &all->origin, &size);
    if (code != CLI_OK)
        return code;
    all->language = cli_source_language(path, all->origin);
    if ((all->language == LAB_LANGUAGE_C) == host)
        return CLI_OK;
    cli_error("--source: %s is for %s, and the device is %s: see --device", path,
              host ? "a CUDA device" : "the CPU", all->run->sweep.device);
    return CLI_UNSUPPORTED;
}

static cli_exit begin(evolve_sources *all)
{
    evolve_run *run = all->run;
    char hash[LAB_RECORD_HASH_SIZE], what[1024];
    const char *slash;
    const char *proposer = cli_args_text(run->args, "proposer");
    lab_proposer_find(proposer ? proposer : "regions", all->program, sizeof all->program);
    slash = strrchr(all->program, '/');
    all->proposer_name = slash ? slash + 1 : all->program;
    cli_exit code = read_origin(all);
    if (code != CLI_OK)
        return code;
    lab_record_hash(all->origin, strlen(all->origin), hash);
    snprintf(what, sizeof what, "source %s %s %s", hash, all->program, lab_way_name(all->way));
    code = evolve_open_run(run, what);
    if (code != CLI_OK || !run->session.resumed)
        return code;
    heed_status status = sources_restore(all);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &run->trouble);
}

/* ---- One kernel ---- */

static void show(evolve_sources *all)
{
    char text[LAB_FORMAT_SIZE], what[128] = "";
    if (all->has_champion) {
        const source_kernel *best = &all->kernels[all->champion];
        snprintf(what, sizeof what, "best %s %s", lab_format_seconds(exp(best->score), text),
                 best->name);
    }
    lab_progress_step(&all->run->progress, all->count > 0 ? all->count - 1 : 0, what);
}

/* Measures what is not known of kernel number @index; then it may challenge the champion. Answers
 * that are on the board cost nothing. */
static heed_status settle(evolve_sources *all, size_t index)
{
    bool yes = !all->has_champion;
    heed_status status = source_judge(all, &all->kernels[index]);
    double score = all->kernels[index].score;
    if (status != HEED_OK || !isfinite(score))
        return status;
    all->run->bred.timed++;
    if (all->has_champion && score < all->kernels[all->champion].score)
        status = source_contest(all, index, &yes);
    if (status == HEED_OK && yes) {
        all->champion = index;
        all->has_champion = true;
    }
    return status;
}

/* Names on the board are for people: no two kernels of a run have the same one, and none looks like
 * heed's own. */
static void make_name(const evolve_sources *all, const char *wanted, char name[80])
{
    const char *prefix = strncmp(wanted, "fwd", 3) == 0 ? "proposed-" : "";
    snprintf(name, 80, "%s%s", prefix, wanted);
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->kernels[i].name, name) == 0)
            snprintf(name, 80, "%s%s.%zu", prefix, wanted, all->count);
}

/* The next kernel. *@more is false if there will be none. */
static heed_status next(evolve_sources *all, int *useless, bool *more)
{
    lab_proposal proposal;
    lab_error error;
    char name[80];
    heed_status status = source_ask(all, &proposal, &error);
    if (status == HEED_OK && !source_is_new(all, proposal.source)) {
        status = HEED_ERR_INVALID;
        snprintf(error.text, sizeof error.text, "the proposer repeats what was tried");
    }
    if (status == HEED_ERR_INVALID) {
        all->refused++;
        *more = ++*useless < REFUSED_MAX;
        if (!*more)
            snprintf(all->end, sizeof all->end, "%.290s", error.text);
        lab_proposal_free(&proposal);
        return HEED_OK;
    }
    if (status != HEED_OK) { /* nothing more to propose, or nobody who would */
        *more = false;
        snprintf(all->end, sizeof all->end, "%.290s", error.text);
        return status == HEED_ERR_NO_MEMORY ? status : HEED_OK;
    }
    make_name(all, proposal.name, name);
    source_kernel *kernel = source_add(all, name, proposal.source, proposal.thought);
    lab_proposal_free(&proposal);
    if (!kernel)
        return HEED_ERR_NO_MEMORY;
    snprintf(kernel->parent, sizeof kernel->parent, "%s", all->kernels[all->champion].hash);
    *useless = 0;
    return settle(all, all->count - 1);
}

/* ---- All of them ---- */

static heed_status breed(evolve_sources *all)
{
    evolve_run *run = all->run;
    heed_status status = HEED_OK;
    int useless = 0;
    bool more = true;
    run->progress = lab_progress_start(&cli_sink, "evolve", (size_t)run->sweep.options.trials);
    if (all->count == 0 && !source_add(all, "origin", all->origin, ""))
        status = HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < all->count && status == HEED_OK; i++) {
        status = settle(all, i);
        if (i == 0 && !all->has_champion)
            break;
    }
    if (status == HEED_OK)
        status = source_measure(all);
    while (status == HEED_OK && more && all->has_champion && !cli_interrupted() &&
           (int64_t)all->count - 1 < run->sweep.options.trials &&
           (run->deadline_ns == 0 || heed_clock_ns() < run->deadline_ns)) {
        status = next(all, &useless, &more);
        if (status == HEED_OK)
            status = source_measure(all);
        show(all);
    }
    lab_progress_end(&run->progress);
    return status;
}

/* Is the champion somebody's work? The plain source that comes with heed, as it is, is nobody's. */
static bool is_contender(const evolve_sources *all)
{
    return all->kernels[all->champion].verdict == LAB_RECORD_OK &&
           (all->champion > 0 || cli_args_text(all->run->args, "source"));
}

/* The fastest of those of which nothing ill is known. */
static void find_champion(evolve_sources *all)
{
    all->has_champion = false;
    for (size_t i = 0; i < all->count; i++) {
        const source_kernel *it = &all->kernels[i];
        if (!isfinite(it->score) ||
            (all->has_champion && it->score >= all->kernels[all->champion].score))
            continue;
        all->champion = i;
        all->has_champion = true;
    }
}

/* The champion beside heed's plan and those who lead the board; one that falls there leaves its
 * place to the next. */
static heed_status meet_others(evolve_sources *all)
{
    heed_status status = HEED_OK;
    while (status == HEED_OK && all->has_champion && !cli_interrupted()) {
        status = source_meet_plan(all);
        if (status == HEED_OK && is_contender(all) && !cli_interrupted())
            status = source_lead(all);
        if (all->kernels[all->champion].verdict == LAB_RECORD_OK)
            break;
        find_champion(all);
    }
    return status;
}

static cli_exit code_of(const evolve_sources *all, heed_status status)
{
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    if (status != HEED_OK) {
        cli_error("%s",
                  *all->run->trouble.text ? all->run->trouble.text : heed_status_name(status));
        return cli_exit_of(status);
    }
    if (all->has_champion)
        return CLI_OK;
    const source_kernel *first = &all->kernels[0];
    const char *log = first->log ? first->log : "";
    cli_error("%s, which is to be begun with: %s: %.*s", all->path,
              lab_record_verdict_name(first->verdict), (int)strcspn(log, "\n"), log);
    return first->verdict == LAB_RECORD_UNPROTECTED ? CLI_ENVIRONMENT : CLI_FINDING;
}

cli_exit evolve_sources_run(evolve_run *run)
{
    evolve_sources all = { .run = run,
                           .way = (lab_way)cli_args_choice(run->args, "way"),
                           .limits = { .interrupted = cli_interrupted,
                                       .unsafe = cli_args_has(run->args, "unsafe-candidates") &&
                                                 cli_args_flag(run->args, "unsafe-candidates") } };
    if (!heed_device_is_host(run->sweep.context)) {
        const char *device = run->sweep.options.machine.device;
        all.limits.device = strncmp(device, "cuda", 4) == 0 ? device : "cuda";
        all.limits.arch = run->sweep.arch;
    }
    lab_sweep_evolution_insights(&run->bred, run->sweep.options.seconds);
    cli_exit code = begin(&all);
    if (code != CLI_OK) {
        sources_free(&all);
        return code;
    }
    all.proposer = lab_proposer_start(all.program, cli_interrupted);
    heed_status status = all.proposer ? evolve_rank_plans(run) : HEED_ERR_NO_MEMORY;
    if (status == HEED_OK)
        status = breed(&all);
    if (status == HEED_OK)
        status = meet_others(&all);
    code = code_of(&all, status);
    lab_proposer_end(all.proposer);
    code = evolve_end_run(run, code, *all.end ? all.end : NULL);
    if (code == CLI_OK || code == CLI_INTERRUPTED) {
        cli_exit printed = sources_report(&all);
        code = printed != CLI_OK ? printed : code;
    }
    if (code == CLI_OK && all.count == 1) {
        cli_error("%s proposed nothing: %s", all.program, all.end);
        code = CLI_ENVIRONMENT;
    }
    sources_free(&all);
    return code;
}
