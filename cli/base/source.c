/*
 * source.c - a user's kernel: the C or CUDA source of --source
 */
#include "source.h"

#include <stdlib.h>
#include <string.h>

#include "base/ends.h"
#include "base/file.h"
#include "cli.h"
#include "search/declare.h"
#include "trial/peer/peer.h"

#define LOG_LINES 12 /* of a compiler's log */
#define LINE_MAX_BYTES 300
#define LAUNCH_MARK "heed:launch" /* contained in every CUDA source */

bool cli_source_is_named(const char *path)
{
    return lab_ends_with(path, ".cu") || lab_ends_with(path, ".c") || lab_file_is_stream(path);
}

lab_language cli_source_language(const char *path, const char *text)
{
    bool cuda = lab_file_is_stream(path) ? strstr(text, LAUNCH_MARK) != NULL
                                         : lab_ends_with(path, ".cu");
    return cuda ? LAB_LANGUAGE_CUDA : LAB_LANGUAGE_C;
}

/* ---- The file ---- */

/* Checks that hold for every source. */
static cli_exit check_text(const cli_source *it, const char *path, size_t size)
{
    bool cuda = it->worker.language == LAB_LANGUAGE_CUDA;
    const char *needed = cuda ? LAUNCH_MARK : "heed_candidate_run";
    if (size == 0)
        cli_error("--source: %s is empty", path);
    else if (memchr(it->text, '\0', size))
        cli_error("--source: %s is not a text: byte %zu is zero", path, strlen(it->text) + 1);
    else if (!strstr(it->text, needed))
        cli_error(cuda ? "--source: %s does not say how it is launched: /* %s entry=NAME threads=N "
                         "rows=N */; see docs/your-own-kernel.md"
                       : "--source: %s does not define %s(); see docs/your-own-kernel.md",
                  path, needed);
    else
        return CLI_OK;
    return size == 0 || memchr(it->text, '\0', size) ? CLI_USAGE : CLI_UNSUPPORTED;
}

/* The requested device, if any, must be of the source's kind. */
static cli_exit check_device(const cli_source *it, const cli_args *args)
{
    const char *device = cli_device(args);
    bool cuda = it->worker.language == LAB_LANGUAGE_CUDA;
    if (strcmp(device, cuda ? "cpu" : "cuda") != 0 && (cuda || strncmp(device, "cuda:", 5) != 0))
        return CLI_OK;
    cli_error("--source: %s is for %s, and the requested device is %s", it->name,
              cuda ? "a CUDA device" : "the CPU", device);
    return CLI_USAGE;
}

cli_exit cli_source_read(cli_source *it, const cli_args *args)
{
    const char *path = cli_args_text(args, "source");
    size_t size;
    *it = (cli_source){ .worker = { .limits = { .interrupted = cli_interrupted } } };
    snprintf(it->name, sizeof it->name, "%.79s", basename(path));
    if (lab_file_is_stream(path))
        snprintf(it->name, sizeof it->name, "%s", strcmp(path, "-") == 0 ? "stdin" : "pipe");
    lab_peer_tame(it->name);
    if (!cli_source_is_named(path)) {
        cli_error("--source: %s ends neither with .c nor with .cu", path);
        return CLI_USAGE;
    }
    cli_exit code = cli_read_file(path, LAB_SOURCE_MAX, &it->text, &size);
    if (code == CLI_OK) {
        it->worker.language = cli_source_language(path, it->text);
        code = check_device(it, args);
    }
    if (code == CLI_OK)
        code = check_text(it, path, size);
    it->worker.name = it->name;
    it->worker.source = it->text;
    return code;
}

void cli_source_free(cli_source *it)
{
    lab_bench_process_close(&it->worker.process);
    free(it->text);
    memset(it, 0, sizeof *it);
}

/* ---- Checks before any long work ---- */

static cli_exit check_place(cli_source *it, const cli_source_place *place)
{
    bool cuda = it->worker.language == LAB_LANGUAGE_CUDA;
    if (cuda && place->on_host) {
        cli_error("--source: %s is for a CUDA device, and heed found none: it runs on the CPU, %s; "
                  "'heed doctor' says what is missing",
                  it->name, place->name);
        return CLI_ENVIRONMENT;
    }
    it->worker.limits.device = cuda ? place->device : NULL;
    return CLI_OK;
}

/* The source must declare its launch for every kind of problem. */
static cli_exit check_launches(const cli_source *it, const heed_problem *problems, size_t count)
{
    lab_declared declared;
    lab_error error;
    char spec[HEED_SPEC_SIZE];
    for (size_t i = 0; i < count && it->worker.language == LAB_LANGUAGE_CUDA; i++) {
        if (lab_declare_read(it->text, &problems[i], &declared, &error) == HEED_OK)
            continue;
        heed_problem_print(&problems[i], spec, sizeof spec);
        cli_error("%s: %s: %s", it->name, spec, error.text);
        return CLI_UNSUPPORTED;
    }
    return CLI_OK;
}

static cli_exit code_of(lab_trial_verdict verdict)
{
    switch (verdict) {
    case LAB_TRIAL_OK:
        return CLI_OK;
    case LAB_TRIAL_REFUSED:
    case LAB_TRIAL_COMPILE_ERROR:
    case LAB_TRIAL_UNSUPPORTED:
        return CLI_UNSUPPORTED;
    case LAB_TRIAL_UNPROTECTED:
    case LAB_TRIAL_LOST:
    case LAB_TRIAL_SYSTEM:
        return CLI_ENVIRONMENT;
    case LAB_TRIAL_INTERRUPTED:
        return CLI_INTERRUPTED;
    default:
        return CLI_VERIFY_FAILED;
    }
}

/* Writes a line of a compiler to @to, with the user's file name in place of the laboratory's. */
static const char *rename_in(const cli_source *it, const char *line, size_t length,
                             char to[LINE_MAX_BYTES + 256])
{
    static const char ours[] = "candidate.c";
    char text[LINE_MAX_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)length, line);
    const char *at = strstr(text, ours);
    const char *rest = at ? at + strlen(ours) + (at[strlen(ours)] == 'u') : text;
    snprintf(to, LINE_MAX_BYTES + 256, "%.*s%.255s%s", at ? (int)(at - text) : 0, text,
             at ? it->name : "", rest);
    return to;
}

static void print_line(const cli_source *it, const char *before, const char *line, size_t length)
{
    char text[LINE_MAX_BYTES + 256];
    cli_message("%s%s", before, rename_in(it, line, length, text));
}

/* Prints the useful lines of the compiler's messages. */
static void print_log(const cli_source *it)
{
    int lines = 0;
    for (const char *line = it->worker.log; *line && lines < LOG_LINES; lines++) {
        size_t length = strcspn(line, "\n");
        print_line(it, "    ", line, length);
        line += length + (line[length] == '\n');
    }
}

cli_exit cli_source_check(cli_source *it, const cli_source_place *place,
                          const heed_problem *problems, size_t count)
{
    lab_bench_worker *worker = &it->worker;
    char text[LINE_MAX_BYTES + 256];
    cli_exit code = check_launches(it, problems, count);
    if (code == CLI_OK)
        code = check_place(it, place);
    if (code != CLI_OK || count == 0)
        return code;
    if (!lab_bench_worker_open(worker, &problems[0])) {
        bool compiled = worker->process.outcome.verdict != LAB_TRIAL_COMPILE_ERROR;
        if (compiled)
            cli_error("%s: %s", it->name, worker->process.outcome.text);
        else
            cli_error("%s cannot be compiled:", it->name);
        if (!compiled)
            cli_error_detail("%s",
                             rename_in(it, worker->process.outcome.text, LINE_MAX_BYTES, text));
        if (!compiled && !*worker->log)
            print_line(it, "    ", worker->process.outcome.text, LINE_MAX_BYTES);
        print_log(it);
        code = code_of(worker->process.outcome.verdict);
    }
    lab_bench_process_close(&worker->process);
    return code;
}
