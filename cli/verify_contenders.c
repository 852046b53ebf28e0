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

/* HEED_OK if the kernel runs at all in @context; HEED_ERR_UNSUPPORTED if it needs other CPU
 * features; HEED_ERR_INVALID if there is none of that name and config. */
static heed_status try_kernel(heed_context *context, const char *kernel)
{
    static const char *const specs[] = { "b1 h1 s1 d1 f32", "b1 h1 s1 d1 f16", "b1 h1 s1 d1 bf16" };
    heed_status status = HEED_ERR_UNSUPPORTED;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0] && status != HEED_OK; i++) {
        heed_problem problem;
        heed_plan *plan = NULL;
        status = heed_problem_parse(&problem, specs[i]);
        if (status == HEED_OK)
            status = heed_plan_create_named(&plan, context, &problem, kernel);
        heed_plan_destroy(plan);
    }
    return status;
}

/* Is @kernel in the list, in whatever config? If it names one, in that. */
static bool listed(const verify_contenders *list, const char *kernel)
{
    size_t length = strlen(kernel);
    for (size_t i = 0; i < list->count; i++) {
        const char *other = list->items[i].kernel;
        if (strncmp(other, kernel, length) == 0 &&
            (other[length] == 0 || strncmp(other + length, "__", 2) == 0))
            return true;
    }
    return false;
}

/* @kernel in its own config or, if it names none, the one that the planner likes best; or, with
 * @configs set, in every config. */
static bool add_kernel(verify_contenders *list, const char *cpu, const char *kernel, bool configs,
                       int threads)
{
    char name[HEED_NAME_SIZE];
    size_t index = 0;
    if (!configs || strstr(kernel, "__"))
        return add_contender(list, cpu, kernel, threads);
    while (heed_kernel_name(index) && strcmp(heed_kernel_name(index), kernel) != 0)
        index++;
    bool room = true;
    for (size_t c = 0; c < config_count(index) && room; c++)
        room = heed_kernel_config(index, c, name, sizeof name) == HEED_OK &&
               add_contender(list, cpu, name, threads);
    return room;
}

/* Adds a kernel if it runs in @context, or if its level was asked for. With --once it is left out
 * if it has been added for another level. */
static cli_exit add_if_able(verify_contenders *list, const cli_args *args, const char *cpu,
                            heed_context *context, const char *kernel)
{
    bool configs = strcmp(cli_args_text(args, "configs"), "all") == 0;
    heed_status status = try_kernel(context, kernel);
    if (status != HEED_OK && status != HEED_ERR_UNSUPPORTED)
        return cli_fail(status, "--kernel");
    bool able = status == HEED_OK ||
                (cli_args_list_count(args, "cpu") > 0 && cli_args_list_count(args, "kernel") > 0);
    if (!able || (cli_args_flag(args, "once") && listed(list, kernel)))
        return CLI_OK;
    if (add_kernel(list, cpu, kernel, configs, heed_context_threads(context)))
        return CLI_OK;
    cli_error("--kernel: too many kernels");
    return CLI_USAGE;
}

/* The names of --kernel, or all kernels. */
static cli_exit add_level(verify_contenders *list, const cli_args *args, const char *cpu,
                          heed_context *context)
{
    size_t named = cli_args_list_count(args, "kernel");
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < named && code == CLI_OK; i++)
        code = add_if_able(list, args, cpu, context, cli_args_list(args, "kernel", i));
    for (size_t i = 0; heed_kernel_name(i) && named == 0 && code == CLI_OK; i++)
        code = add_if_able(list, args, cpu, context, heed_kernel_name(i));
    return code;
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
    cli_exit code = add_level(list, args, cpu, context);
    heed_context_destroy(context);
    return code;
}

static cli_exit add_levels(verify_contenders *list, const cli_args *args)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; cli_cpu_levels[i] && code == CLI_OK; i++)
        if (wanted(args, cli_cpu_levels[i]))
            code = add_cpu(list, args, cli_cpu_levels[i]);
    return code;
}

/* Room for everything that add_levels() can add. */
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
