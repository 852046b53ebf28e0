/*
 * tune_spaces.c - where `heed tune` searches: every space with a kernel that can do the problem
 */
#include <string.h>

#include "base/file.h"
#include "tune.h"

/* The kernel of the space to search with: the champion's, else the first that runs; NULL: none. */
static const char *choose_kernel(const tune_run *tune, const tune_shape *shape,
                                 const lab_space *space, const char *champion)
{
    for (int i = 0; i < space->kernel_count; i++)
        if (strcmp(space->kernels[i], champion) == 0)
            return space->kernels[i];
    for (int i = 0; i < space->kernel_count; i++)
        if (lab_sweep_kernel_runs(tune->bench.context, &shape->source->problem,
                                  space->kernels[i]) == HEED_OK)
            return space->kernels[i];
    return NULL;
}

/* Adds a space, that of the champion's kernel in front. */
static void add_space(tune_shape *shape, const char *name, const char *kernel, const char *champion)
{
    if (shape->space_count == TUNE_SPACES)
        return;
    tune_space *space = &shape->spaces[shape->space_count++];
    if (strcmp(kernel, champion) == 0 && space != &shape->spaces[0]) {
        *space = shape->spaces[0];
        space = &shape->spaces[0];
    }
    memset(space, 0, sizeof *space);
    snprintf(space->name, sizeof space->name, "%s", name);
    snprintf(space->kernel, sizeof space->kernel, "%s", kernel);
}

cli_exit tune_check_space(const tune_run *tune)
{
    lab_space space;
    const char *wanted = cli_args_text(tune->args, "space");
    if (!wanted)
        return CLI_OK;
    if (lab_file_is_stream(wanted)) {
        cli_error("--space: %s is a pipe, and each problem reads the space anew: name a file",
                  wanted);
        return CLI_USAGE;
    }
    cli_exit code = cli_space_load(&space, wanted, "--space: ");
    if (code == CLI_OK)
        lab_space_free(&space);
    return code;
}

cli_exit tune_find_spaces(const tune_run *tune, tune_shape *shape)
{
    const char *wanted = cli_args_text(tune->args, "space");
    const char *const one[] = { wanted, NULL };
    const char *const *names = wanted ? one : sweep_spaces;
    char champion[2 * HEED_NAME_SIZE];
    snprintf(champion, sizeof champion, "%s", shape->champion);
    char *end = strstr(champion, "__");
    if (end)
        *end = '\0';
    for (size_t i = 0; names[i]; i++) {
        lab_space space;
        cli_exit code = cli_space_load(&space, names[i], "--space: ");
        if (code != CLI_OK)
            return code;
        const char *kernel = choose_kernel(tune, shape, &space, champion);
        if (kernel)
            add_space(shape, names[i], kernel, champion);
        lab_space_free(&space);
    }
    if (shape->space_count == 0)
        snprintf(shape->challenge.why, sizeof shape->challenge.why,
                 "no space has a kernel for it: there is nothing to search");
    return CLI_OK;
}
