/*
 * evolve_sources.c - `heed evolve --proposer`: evolution of sources proposed by an external program
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "cli/base/source.h"
#include "evolve.h"
#include "src/device.h"

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

static cli_exit check_proposer(const char *command)
{
    char program[512], found[PATH_MAX];
    lab_proposer_find(command, program, sizeof program);
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

/* ---- A run ---- */

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
        cli_exit printed = evolve_sources_report(all, run->options.json);
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
