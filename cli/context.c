/*
 * context.c - the options --device, --threads, --cpu, --wisdom and --kernel, and what they mean
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

const char *const cli_cpu_levels[] = { "scalar", "avx2", "avx512", "avx512bf16", NULL };

/* Loads @path into @context. *@skipped: lines that do not match this machine. */
static heed_status load(heed_context *context, const char *path, size_t *skipped)
{
    *skipped = 0;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return HEED_OK;
    return heed_wisdom_load(context, path, NULL, skipped);
}

const char *cli_device(const cli_args *args)
{
    const char *device = cli_args_has(args, "device") ? cli_args_text(args, "device") : NULL;
    if (!device)
        device = getenv("HEED_DEVICE");
    if (!device || !*device)
        device = "auto";
    bool cpu = cli_args_has(args, "cpu") && cli_args_given(args, "cpu");
    return cpu && strcmp(device, "auto") == 0 ? "cpu" : device;
}

heed_status cli_context_create(heed_context **context, heed_options *options)
{
    if (!options->device || strcmp(options->device, "auto") != 0)
        return heed_context_create(context, options);
    options->device = "cuda";
    heed_status status = heed_context_create(context, options);
    if (status == HEED_OK || status == HEED_ERR_INVALID) /* which the CPU would say as well */
        return status;
    options->device = "cpu";
    return heed_context_create(context, options);
}

/* What the command line says of a context. */
static heed_options read_options(const cli_args *args)
{
    heed_options options = { .device = cli_device(args) };
    if (cli_args_has(args, "threads"))
        options.threads = (int)cli_args_integer(args, "threads");
    if (cli_args_has(args, "cpu"))
        options.cpu = cli_args_text(args, "cpu");
    return options;
}

cli_exit cli_context_open(heed_context **context, const cli_args *args)
{
    heed_options options = read_options(args);
    heed_status status = cli_context_create(context, &options);
    if (status != HEED_OK)
        return cli_fail(status, NULL);

    const char *path = cli_args_has(args, "wisdom") ? cli_args_text(args, "wisdom") : NULL;
    size_t skipped = 0;
    if (path)
        status = load(*context, path, &skipped);
    if (status != HEED_OK) {
        heed_context_destroy(*context);
        *context = NULL;
        return cli_fail(status, "--wisdom");
    }
    if (skipped)
        cli_warning("--wisdom: %s: %zu lines not used; the last one because %s", path, skipped,
                    heed_message());
    return CLI_OK;
}

/* Would a save drop lines of @path that another machine needs? A second context sees what the file
 * says, without what was learned since. */
static heed_status count_foreign(const cli_args *args, const char *path, size_t *skipped)
{
    heed_context *fresh;
    heed_options options = read_options(args);
    heed_status status = cli_context_create(&fresh, &options);
    if (status != HEED_OK)
        return status;
    status = load(fresh, path, skipped);
    heed_context_destroy(fresh);
    return status;
}

cli_exit cli_wisdom_save(heed_context *context, const cli_args *args)
{
    const char *path = cli_args_text(args, "wisdom");
    size_t foreign = 0;
    if (!path)
        return CLI_OK;
    heed_status status = count_foreign(args, path, &foreign);
    if (status == HEED_OK && foreign) {
        cli_warning("--wisdom: %s is left as it is: saving would drop %zu lines for other machines "
                    "or builds; name another "
                    "file, or remove this one",
                    path, foreign);
        return CLI_OK;
    }
    if (status == HEED_OK)
        status = heed_wisdom_save(context, path);
    return status == HEED_OK ? CLI_OK : cli_fail(status, "--wisdom");
}

size_t cli_config_count(size_t kernel)
{
    char name[HEED_NAME_SIZE];
    size_t count = 0;
    while (heed_kernel_config(kernel, count, name, sizeof name) == HEED_OK)
        count++;
    return count;
}

cli_exit cli_kernel_check(const cli_args *args)
{
    const char *given = cli_args_text(args, "kernel");
    if (!given)
        return CLI_OK;
    char name[HEED_NAME_SIZE];
    const char *config = strstr(given, "__");
    size_t length = config ? (size_t)(config - given) : strlen(given);
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             given);
    return cli_name_check("--kernel: there is no kernel", name, heed_kernel_name,
                          "'heed plan --list' lists them");
}
