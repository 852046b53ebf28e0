/*
 * verify_contenders.c - which kernels `heed verify` lets run, under which CPU features
 */
#include <stdlib.h>
#include <string.h>

#include "verify.h"

static bool add_contender(verify_contenders *list, const char *cpu, const char *kernel, int threads)
{
    if (list->count == list->room)
        return false;
    char *name = list->names[list->count];
    snprintf(name, HEED_NAME_SIZE, "%s", kernel);
    list->items[list->count++] = (lab_contender){ .cpu = cpu, .kernel = name, .threads = threads };
    return true;
}

static size_t config_count(size_t kernel)
{
    char name[HEED_NAME_SIZE];
    size_t count = 0;
    while (heed_kernel_config(kernel, count, name, sizeof name) == HEED_OK)
        count++;
    return count;
}

/* A built-in kernel in the config that the planner likes best, or in every config. */
static bool add_kernel(verify_contenders *list, const char *cpu, size_t kernel, bool configs,
                       int threads)
{
    char name[HEED_NAME_SIZE];
    if (!configs)
        return add_contender(list, cpu, heed_kernel_name(kernel), threads);
    bool room = true;
    for (size_t c = 0; c < config_count(kernel) && room; c++)
        room = heed_kernel_config(kernel, c, name, sizeof name) == HEED_OK &&
               add_contender(list, cpu, name, threads);
    return room;
}

/* Everything that runs under one mask: the names of --kernel, or all kernels. */
static bool add_level(verify_contenders *list, const cli_args *args, const char *cpu, int threads)
{
    bool configs = strcmp(cli_args_text(args, "configs"), "all") == 0;
    size_t named = cli_args_list_count(args, "kernel");
    bool room = true;
    for (size_t i = 0; i < named && room; i++)
        room = add_contender(list, cpu, cli_args_list(args, "kernel", i), threads);
    for (size_t i = 0; heed_kernel_name(i) && named == 0 && room; i++)
        room = add_kernel(list, cpu, i, configs, threads);
    return room;
}

/* Can this machine do @cpu? If so, *@threads is how many a context has. */
static cli_exit probe(const char *cpu, const cli_args *args, int *threads, bool *able)
{
    heed_context *context;
    const heed_options options = { .threads = (int)cli_args_integer(args, "threads"), .cpu = cpu };
    heed_status status = heed_context_create(&context, &options);
    *able = status == HEED_OK;
    if (*able)
        *threads = heed_context_threads(context);
    heed_context_destroy(context);
    return status == HEED_OK || status == HEED_ERR_INVALID ? CLI_OK : cli_fail(status, NULL);
}

static bool wanted(const cli_args *args, const char *cpu)
{
    size_t count = cli_args_list_count(args, "cpu");
    bool found = count == 0;
    for (size_t i = 0; i < count; i++)
        found = found || strcmp(cli_args_list(args, "cpu", i), cpu) == 0;
    return found;
}

static cli_exit add_levels(verify_contenders *list, const cli_args *args)
{
    for (size_t i = 0; cli_cpu_levels[i]; i++) {
        const char *cpu = cli_cpu_levels[i];
        int threads = 0;
        bool able = false;
        cli_exit code = wanted(args, cpu) ? probe(cpu, args, &threads, &able) : CLI_OK;
        if (code != CLI_OK)
            return code;
        if (!able && wanted(args, cpu) && cli_args_list_count(args, "cpu")) {
            cli_error("--cpu: %s", heed_message());
            return CLI_ENVIRONMENT;
        }
        if (able && !add_level(list, args, cpu, threads)) {
            cli_error("--kernel: too many kernels");
            return CLI_USAGE;
        }
    }
    return CLI_OK;
}

/* Room for everything that add_levels() may add. */
static size_t room_for(const cli_args *args)
{
    size_t kernels = cli_args_list_count(args, "kernel"), levels = 0;
    for (size_t i = 0; heed_kernel_name(i); i++)
        kernels += config_count(i) + 1;
    while (cli_cpu_levels[levels])
        levels++;
    return kernels * levels;
}

cli_exit verify_contenders_list(verify_contenders *list, const cli_args *args)
{
    memset(list, 0, sizeof *list);
    list->room = room_for(args);
    list->items = calloc(list->room, sizeof *list->items);
    list->names = calloc(list->room, sizeof *list->names);
    if (list->items && list->names)
        return add_levels(list, args);
    cli_error("not enough memory for a list of %zu kernels", list->room);
    return CLI_ENVIRONMENT;
}

void verify_contenders_free(verify_contenders *list)
{
    free(list->items);
    free(list->names);
    memset(list, 0, sizeof *list);
}
