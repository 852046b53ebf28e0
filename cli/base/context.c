/*
 * context.c - the options --device, --threads, --cpu, --wisdom and --kernel, and their meaning
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plural.h"
#include "cli.h"
#include "src/device.h"
#include "src/measure.h"
#include "src/message.h"

#define WISDOM_MAX ((int64_t)64 << 20)

const cli_option cli_device_options[] = {
    OPT_TEXT("device", 'd', "DEVICE",
             "Device to use: cpu, cuda, cuda:N, or auto, which is the first CUDA device "
             "that works, else the CPU; --cpu alone means the CPU too [default: "
             "HEED_DEVICE, else auto]"),
    OPT_INTEGER("threads", 't', "N", 1, 1024, NULL,
                "Threads to use [default: as many as this process has CPUs]"),
    { .name = NULL },
};

const cli_option cli_machine_options[] = {
    { .table = cli_device_options },
    { .name = "cpu",
      .kind = CLI_CHOICE,
      .argument = "LEVEL",
      .choice = lab_cpu_feature,
      .help = "Best CPU features to use [default: HEED_CPU, else all of this CPU]" },
    { .name = NULL },
};

heed_status cli_wisdom_load(heed_context *context, const char *path, size_t *taken, size_t *skipped,
                            lab_error *error)
{
    char *text = NULL;
    size_t size;
    bool stream = lab_file_is_stream(path);
    heed_status status = stream ? cli_read_text(path, WISDOM_MAX, &text, &size, error) : HEED_OK;
    if (status != HEED_OK)
        return status;
    status = stream ? heed_wisdom_import(context, text, taken, skipped)
                    : heed_wisdom_load(context, path, taken, skipped);
    if (status != HEED_OK)
        lab_fail(error, status, "%s%s%s", stream ? path : "", stream ? ": " : "", heed_message());
    free(text);
    return status;
}

/* True if @path does not exist, but its folder does. */
static bool can_be_made(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = snprintf(folder, sizeof folder, "%.*s.", slash ? (int)(slash + 1 - path) : 0,
                          path);
    return access(path, F_OK) != 0 && errno == ENOENT && length < PATH_MAX &&
           access(folder, F_OK) == 0;
}

/* Loads @path into @context; with @made it need not exist. *@skipped: lines that do not match this
 * machine. */
static heed_status load(heed_context *context, const char *path, bool made, size_t *skipped,
                        lab_error *error)
{
    *skipped = 0;
    if (made && strcmp(path, "-") != 0 && can_be_made(path))
        return HEED_OK;
    return cli_wisdom_load(context, path, NULL, skipped, error);
}

const char *cli_device(const cli_args *args)
{
    const char *device = cli_args_has(args, "device") ? cli_args_text(args, "device") : NULL;
    if (!device)
        device = getenv("HEED_DEVICE");
    if (!device || !*device)
        device = "auto";
    bool cpu = cli_args_has(args, "cpu") && cli_args_given(args, "cpu");
    const char *source = cli_args_has(args, "source") ? cli_args_text(args, "source") : NULL;
    size_t length = source ? strlen(source) : 0;
    cpu |= length > 2 && strcmp(source + length - 2, ".c") == 0;
    return cpu && strcmp(device, "auto") == 0 ? "cpu" : device;
}

/* Words from HEED_DEVICE are told from those of --device by their place in memory. */
heed_status cli_device_check(const char *device)
{
    int ordinal;
    if (!device || strcmp(device, "auto") == 0 || heed_device_parse(device, &ordinal))
        return HEED_OK;
    return heed_fail(HEED_ERR_INVALID, "%s is \"%.40s\"; it must be cpu, cuda, cuda:N or auto",
                     device == getenv("HEED_DEVICE") ? "HEED_DEVICE" : "device", device);
}

/* Creates a context in which Ctrl-C ends measurements. */
static heed_status create(heed_context **context, const heed_options *options)
{
    heed_status status = heed_context_create(context, options);
    if (status == HEED_OK)
        heed_context_stop(*context, cli_interrupted);
    return status;
}

heed_status cli_context_create(heed_context **context, heed_options *options)
{
    heed_status status = cli_device_check(options->device);
    if (status != HEED_OK)
        return status;
    if (!options->device || strcmp(options->device, "auto") != 0)
        return create(context, options);
    options->device = "cuda";
    status = create(context, options);
    if (status == HEED_OK || status == HEED_ERR_INVALID) /* bad options: the CPU refuses them too */
        return status;
    options->device = "cpu";
    return create(context, options);
}

heed_options cli_machine(const cli_args *args)
{
    heed_options options = { .size = sizeof options, .device = cli_device(args) };
    if (cli_args_has(args, "threads"))
        options.threads = (int)cli_args_integer(args, "threads");
    if (cli_args_has(args, "cpu"))
        options.cpu = cli_args_text(args, "cpu");
    return options;
}

static cli_exit open_context(heed_context **context, const cli_args *args, bool made)
{
    heed_options options = cli_machine(args);
    heed_status status = cli_context_create(context, &options);
    if (status != HEED_OK)
        return cli_fail(status, NULL);

    const char *path = cli_args_has(args, "wisdom") ? cli_args_text(args, "wisdom") : NULL;
    size_t skipped = 0;
    lab_error error;
    if (path)
        status = load(*context, path, made, &skipped, &error);
    if (status != HEED_OK) {
        cli_error("--wisdom: %s", error.text);
        heed_context_destroy(*context);
        *context = NULL;
        return cli_exit_of(status);
    }
    if (skipped)
        cli_warning("--wisdom: %s: %zu line%s not used; the last one because %s", path, skipped,
                    lab_plural(skipped), heed_message());
    return CLI_OK;
}

cli_exit cli_context_open(heed_context **context, const cli_args *args)
{
    return open_context(context, args, true);
}

cli_exit cli_context_open_read(heed_context **context, const cli_args *args)
{
    return open_context(context, args, false);
}

/* Counts lines of @path for other machines, which a save would drop. A second context has only the
 * contents of the file, without the results learned since. */
static heed_status count_foreign(const cli_args *args, const char *path, size_t *skipped)
{
    lab_error error;
    heed_context *fresh;
    heed_options options = cli_machine(args);
    heed_status status = cli_context_create(&fresh, &options);
    if (status != HEED_OK)
        return status;
    status = load(fresh, path, true, skipped, &error);
    heed_context_destroy(fresh);
    return status;
}

cli_exit cli_wisdom_save(heed_context *context, const cli_args *args)
{
    const char *path = cli_args_text(args, "wisdom");
    size_t foreign = 0;
    if (!path)
        return CLI_OK;
    if (lab_file_is_stream(path)) {
        cli_warning("--wisdom: %s is a pipe: new wisdom is not saved", path);
        return CLI_OK;
    }
    heed_status status = count_foreign(args, path, &foreign);
    if (status == HEED_OK && foreign) {
        cli_warning("--wisdom: %s is not changed: saving would drop %zu line%s for other machines "
                    "or builds; name another file, or remove this one",
                    path, foreign, lab_plural(foreign));
        return CLI_OK;
    }
    if (status == HEED_OK)
        status = heed_wisdom_save(context, path);
    return status == HEED_OK ? CLI_OK : cli_fail(status, "--wisdom");
}
