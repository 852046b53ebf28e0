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

/* Does the kernel run at all in @context? If not, its level of CPU features is another one. */
static bool runs(heed_context *context, const char *kernel)
{
    static const char *const specs[] = { "b1 h1 s1 d1 f32", "b1 h1 s1 d1 f16", "b1 h1 s1 d1 bf16" };
    bool able = false;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0] && !able; i++) {
        heed_problem problem;
        heed_plan *plan;
        able = heed_problem_parse(&problem, specs[i]) == HEED_OK &&
               heed_plan_create_named(&plan, context, &problem, kernel) == HEED_OK;
        if (able)
            heed_plan_destroy(plan);
    }
    return able;
}

static bool listed(const verify_contenders *list, const char *kernel)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].kernel, kernel) == 0)
            return true;
    return false;
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

/* What runs in @context: all kernels or, whether they run or not, the names of --kernel. */
static bool add_level(verify_contenders *list, const cli_args *args, const char *cpu,
                      heed_context *context)
{
    bool configs = strcmp(cli_args_text(args, "configs"), "all") == 0;
    bool once = cli_args_flag(args, "once");
    size_t named = cli_args_list_count(args, "kernel");
    int threads = heed_context_threads(context);
    bool room = true;
    for (size_t i = 0; i < named && room; i++) {
        const char *kernel = cli_args_list(args, "kernel", i);
        if (!once || (runs(context, kernel) && !listed(list, kernel)))
            room = add_contender(list, cpu, kernel, threads);
    }
    for (size_t i = 0; heed_kernel_name(i) && named == 0 && room; i++) {
        char first[HEED_NAME_SIZE];
        snprintf(first, sizeof first, "%s", heed_kernel_name(i));
        if (configs)
            heed_kernel_config(i, 0, first, sizeof first);
        if (runs(context, heed_kernel_name(i)) && !(once && listed(list, first)))
            room = add_kernel(list, cpu, i, configs, threads);
    }
    return room;
}

static bool wanted(const cli_args *args, const char *cpu)
{
    size_t count = cli_args_list_count(args, "cpu");
    bool found = count == 0;
    for (size_t i = 0; i < count; i++)
        found = found || strcmp(cli_args_list(args, "cpu", i), cpu) == 0;
    return found;
}

/* Adds what is to be verified under @cpu. A level that the machine lacks is an error only if it was
 * asked for. */
static cli_exit add_cpu(verify_contenders *list, const cli_args *args, const char *cpu)
{
    heed_context *context;
    const heed_options options = { .threads = (int)cli_args_integer(args, "threads"), .cpu = cpu };
    heed_status status = heed_context_create(&context, &options);
    if (status == HEED_ERR_INVALID && cli_args_list_count(args, "cpu")) {
        cli_error("--cpu: %s", heed_message());
        return CLI_ENVIRONMENT;
    }
    if (status == HEED_ERR_INVALID)
        return CLI_OK;
    if (status != HEED_OK)
        return cli_fail(status, NULL);
    bool room = add_level(list, args, cpu, context);
    heed_context_destroy(context);
    if (room)
        return CLI_OK;
    cli_error("--kernel: too many kernels");
    return CLI_USAGE;
}

static cli_exit add_levels(verify_contenders *list, const cli_args *args)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; cli_cpu_levels[i] && code == CLI_OK; i++)
        if (wanted(args, cli_cpu_levels[i]))
            code = add_cpu(list, args, cli_cpu_levels[i]);
    return code;
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
