/*
 * source.h - a user's kernel: the C or CUDA source of --source
 *
 *     cli_source own;
 *     cli_source_read(&own, args);                      the file
 *     cli_source_check(&own, &place, problems, count);  compiles and starts it once
 *     ... own.worker: as a subject of verification, or a side of a pair ...
 *     cli_source_free(&own);
 *
 * Errors in it are reported before anything else that takes time.
 */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include "bench/worker.h"
#include "cli.h"

#define CLI_OPTION_SOURCE(about) OPT_PATH("source", 0, "FILE", about)

typedef struct cli_source {
    char name[80]; /* the file's, without folders */
    char *text;
    lab_bench_worker worker;
} cli_source;

/* The device to run it on. */
typedef struct cli_source_place {
    bool on_host;
    const char *device; /* such as "cuda:0" */
    const char *name;   /* the name of that device */
} cli_source_place;

/* cli_source_is_named() returns true if @path may be a source: by its extension, or because it is a
 * pipe. cli_source_language() returns the language by the extension of @path, or for a pipe by its
 * @text. */
bool cli_source_is_named(const char *path);
lab_language cli_source_language(const char *path, const char *text);

/* cli_source_read() reads the file of --source. CLI_USAGE if it cannot be read, or cannot be a
 * kernel; the error has been printed. Free it in any case. */
cli_exit cli_source_read(cli_source *it, const cli_args *args);
void cli_source_free(cli_source *it);

/* cli_source_check() checks that the source is for the device, declares its launch for each of the
 * problems, compiles, and starts; its process is then ended. An error has been printed, with the
 * first lines of the compiler: CLI_UNSUPPORTED if the source is unfit, CLI_ENVIRONMENT if there is
 * no compiler or no sandbox here, CLI_VERIFY_FAILED if it misbehaves while it is loaded. */
cli_exit cli_source_check(cli_source *it, const cli_source_place *place,
                          const heed_problem *problems, size_t count);

#endif /* CLI_SOURCE_H */
