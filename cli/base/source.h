/*
 * source.h - a user's kernel: the C or CUDA source of --source
 *
 *     cli_source own;
 *     cli_source_read(&own, args);                      the file
 *     cli_source_check(&own, &place, problems, count);  can it be compiled and started here?
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

/* Where it is to run. */
typedef struct cli_source_place {
    bool on_host;
    const char *device; /* such as "cuda:0" */
    const char *name;   /* of that device */
} cli_source_place;

/* cli_source_is_named() says whether @path may be a source: by its ending, or as a pipe has none.
 * cli_source_language() returns the language that the ending of @path says, of a pipe its @text. */
bool cli_source_is_named(const char *path);
lab_language cli_source_language(const char *path, const char *text);

/* cli_source_read() reads the file of --source. CLI_USAGE if it cannot be read, or cannot be a
 * kernel; the error has been printed. Free it in any case. */
cli_exit cli_source_read(cli_source *it, const cli_args *args);
void cli_source_free(cli_source *it);

/* cli_source_check() makes sure that it is for the device, says how it is launched on every one of
 * the problems, compiles, and starts; its process is ended again. An error has been printed, with
 * the first lines of a compiler: CLI_UNSUPPORTED if the source is unfit, CLI_ENVIRONMENT if there
 * is no compiler or no sandbox here, CLI_VERIFY_FAILED if it misbehaves as it is loaded. */
cli_exit cli_source_check(cli_source *it, const cli_source_place *place,
                          const heed_problem *problems, size_t count);

#endif /* CLI_SOURCE_H */
