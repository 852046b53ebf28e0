/*
 * verify_contenders.c - the kernels that `heed verify` runs, and their devices
 */
#include <stdlib.h>
#include <string.h>

#include "base/planner.h"
#include "src/device.h"
#include "tensor/random.h"
#include "verify.h"

const char *verify_contender_name(const lab_contender *contender)
{
    return contender->kernel ? contender->kernel : "heed's plan";
}

const char *verify_contender_place(const lab_contender *contender)
{
    return contender->cpu ? contender->cpu : contender->device;
}

/* True if only heed's plan runs beside a user's source, as no kernels are named. */
static bool plans_alone(const cli_args *args)
{
    return cli_args_given(args, "source") && cli_args_list_count(args, "kernel") == 0;
}

/* Adds @kernel, NULL for heed's choice, with the device and features of @place. */
static bool add_contender(verify_contenders *list, const lab_contender *place, const char *kernel)
{
    if (list->count == list->room)
        return false;
    char *name = list->names[list->count];
    snprintf(name, HEED_NAME_SIZE, "%s", kernel ? kernel : "");
    list->items[list->count] = *place;
    list->items[list->count++].kernel = kernel ? name : NULL;
    return true;
}

/* -------------------------------------------------------------------------- */
/* Kernels and devices                                                        */
/* -------------------------------------------------------------------------- */

/* The @index-th kernel of --kernel, else of all kernels; NULL past the last. */
static const char *wanted_kernel(const cli_args *args, size_t index)
{
    size_t named = cli_args_list_count(args, "kernel");
    if (plans_alone(args))
        return NULL;
    if (named == 0)
        return heed_kernel_name(index);
    return index < named ? cli_args_list(args, "kernel", index) : NULL;
}

static size_t wanted_kernels(const cli_args *args)
{
    size_t count = 0;
    while (wanted_kernel(args, count))
        count++;
    return count;
}

/* The result of creating a context with some options. */
typedef struct probe {
    heed_status status;
    char message[240]; /* unless HEED_OK */
    char device[32];   /* as in heed_options, with "auto" resolved */
    char name[64];
    char cpu[32]; /* the best features, of those that the options permit */
    bool on_host;
    int threads;
    heed_status kernels[]; /* by wanted_kernel(): see try_kernel() */
} probe;

typedef struct prober {
    const cli_args *args;
    heed_options options;
} prober;

/* HEED_OK if the kernel runs at all in @context; HEED_ERR_UNSUPPORTED if it needs another device or
 * other CPU features; HEED_ERR_INVALID if no kernel has that name and config. The gates judge the
 * rest. */
static heed_status try_kernel(heed_context *context, const char *kernel)
{
    static const char *const specs[] = { "b1 h1 s1 d1 f32", "b1 h1 s1 d1 f16", "b1 h1 s1 d1 bf16",
                                         "b1 h1 s64 d64 f32", "b1 h1 s64 d64 f16",
                                         "b1 h1 s64 d64 bf16",
                                         /* many keys, for split kernels */
                                         "b1 h1 s64/65536 d64 f32", "b1 h1 s64/65536 d64 f16",
                                         "b1 h1 s64/65536 d64 bf16", "b1 h1 s1/65536 d64 f32",
                                         "b1 h1 s1/65536 d64 f16", "b1 h1 s1/65536 d64 bf16" };
    heed_status status = HEED_ERR_UNSUPPORTED;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0] && status == HEED_ERR_UNSUPPORTED; i++) {
        heed_problem problem;
        heed_plan *plan = NULL;
        status = heed_problem_parse(&problem, specs[i]);
        if (status == HEED_OK)
            status = heed_plan_create_named(&plan, context, &problem, kernel);
        heed_plan_destroy(plan);
    }
    return status == HEED_ERR_UNSUPPORTED || status == HEED_ERR_INVALID ? status : HEED_OK;
}

/* Fills a probe, in a child process if the options may mean CUDA. */
static void run_probe(void *data, size_t index, lab_trace *trace, void *result)
{
    const prober *self = data;
    heed_options options = self->options;
    heed_context *context;
    probe *found = result;
    (void)index;
    (void)trace;
    found->status = cli_context_create(&context, &options);
    if (found->status != HEED_OK) {
        snprintf(found->message, sizeof found->message, "%s", heed_message());
        return;
    }
    snprintf(found->device, sizeof found->device, "%s", options.device);
    snprintf(found->name, sizeof found->name, "%s", heed_context_device(context));
    snprintf(found->cpu, sizeof found->cpu, "%s", heed_context_cpu(context));
    found->on_host = heed_device_is_host(context);
    found->threads = heed_context_threads(context);
    for (size_t i = 0; wanted_kernel(self->args, i); i++) {
        found->kernels[i] = try_kernel(context, wanted_kernel(self->args, i));
        if (found->kernels[i] == HEED_ERR_INVALID && !found->message[0])
            snprintf(found->message, sizeof found->message, "%s", heed_message());
    }
    heed_context_destroy(context);
}

/* @apart: in a child process. */
static cli_exit find_out(probe *found, size_t size, prober *self, bool apart)
{
    lab_ending ending;
    const lab_isolation isolation = {
        .run = run_probe, .data = self, .count = 1, .result_size = size
    };
    if (!apart) {
        run_probe(self, 0, NULL, found);
        return CLI_OK;
    }
    heed_status status = lab_isolate(&isolation, found, &ending);
    if (status != HEED_OK) {
        cli_error("cannot look for devices: no process can be started");
        return CLI_ENVIRONMENT;
    }
    if (ending.how == LAB_COMPLETED)
        return CLI_OK;
    cli_error("looking for devices: %s", ending.text);
    return CLI_ENVIRONMENT;
}

/* -------------------------------------------------------------------------- */
/* The list                                                                   */
/* -------------------------------------------------------------------------- */

/* True if @kernel is in the list, in any config unless it names one. */
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

/* Adds @kernel in the config that it names or, if it names none, in those of --configs: the
 * planner's best, those that it considers, or all. */
static bool add_kernel(verify_contenders *list, const lab_contender *place, const char *kernel,
                       const char *configs)
{
    char name[HEED_NAME_SIZE];
    size_t index = cli_kernel_index(kernel);
    lab_contender all = *place;
    all.worthwhile = strcmp(configs, "worthwhile") == 0;
    if (strcmp(configs, "default") == 0 || strstr(kernel, "__"))
        return add_contender(list, place, kernel);
    bool room = true;
    for (size_t c = 0; c < cli_config_count(index) && room; c++)
        room = heed_kernel_config(index, c, name, sizeof name) == HEED_OK &&
               add_contender(list, &all, name);
    return room;
}

/* Adds the kernels that run in @place, and those that were requested there explicitly. With --once
 * kernels that were added for another level are left out. */
static cli_exit add_place(verify_contenders *list, const cli_args *args, const lab_contender *place,
                          const probe *found)
{
    const char *configs = cli_args_text(args, "configs");
    bool asked = (cli_args_list_count(args, "cpu") > 0 || !found->on_host) &&
                 cli_args_list_count(args, "kernel") > 0;
    const char *kernel;
    if (plans_alone(args)) {
        list->count = cli_args_list_count(args, "cpu") > 0 ? list->count : 0; /* the best level */
        add_contender(list, place, NULL);
    }
    for (size_t i = 0; (kernel = wanted_kernel(args, i)) != NULL; i++) {
        if (found->kernels[i] == HEED_ERR_INVALID) {
            cli_error("--kernel: %s", found->message);
            return CLI_USAGE;
        }
        if (found->kernels[i] != HEED_OK && !asked)
            continue;
        if (cli_args_flag(args, "once") && listed(list, kernel))
            continue;
        if (!add_kernel(list, place, kernel, configs)) {
            cli_error("--kernel: too many kernels");
            return CLI_USAGE;
        }
    }
    return CLI_OK;
}

static bool wanted(const cli_args *args, const char *cpu)
{
    for (size_t i = 0; i < cli_args_list_count(args, "cpu"); i++)
        if (strcmp(cli_args_list(args, "cpu", i), cpu) == 0)
            return true;
    return false;
}

/* Finds out what the CPU can do with features up to @cpu, or, if that is NULL, up to HEED_CPU. */
static cli_exit find_cpu(const cli_args *args, const char *cpu, probe *found, size_t size)
{
    prober self = { .args = args,
                    .options = { .size = sizeof(heed_options),
                                 .device = "cpu",
                                 .threads = (int)cli_args_integer(args, "threads"),
                                 .cpu = cpu } };
    memset(found, 0, size);
    run_probe(&self, 0, NULL, found);
    if (found->status == HEED_OK)
        return CLI_OK;
    cli_error("%s%s", cpu ? "--cpu: " : "", found->message);
    return CLI_ENVIRONMENT;
}

/* Adds the kernels to verify under @cpu. */
static cli_exit add_cpu(verify_contenders *list, const cli_args *args, const char *cpu,
                        probe *found, size_t size)
{
    cli_exit code = find_cpu(args, cpu, found, size);
    if (code != CLI_OK)
        return code;
    if (!lab_cpu_has(found->cpu, cpu)) {
        cli_error("--cpu: this machine has no %s; its best is %s", cpu, found->cpu);
        return CLI_ENVIRONMENT;
    }
    const lab_contender place = { .cpu = cpu, .threads = found->threads };
    memcpy(list->name, found->name, sizeof list->name);
    return add_place(list, args, &place, found);
}

/* Adds the levels of --cpu or, without it, all that the machine has, up to HEED_CPU. */
static cli_exit add_levels(verify_contenders *list, const cli_args *args, probe *found, size_t size)
{
    const bool asked = cli_args_list_count(args, "cpu") > 0;
    char all[sizeof found->cpu];
    cli_exit code = asked ? CLI_OK : find_cpu(args, NULL, found, size);
    list->on_host = true;
    snprintf(list->device, sizeof list->device, "cpu");
    memcpy(all, found->cpu, sizeof all);
    const char *level;
    for (size_t i = 0; (level = lab_cpu_feature(i)) && code == CLI_OK; i++)
        if (asked ? wanted(args, level) : lab_cpu_has(all, level))
            code = add_cpu(list, args, level, found, size);
    return code;
}

/* Adds a device, or the CPU if "auto" resolves to it. */
static cli_exit add_device(verify_contenders *list, const cli_args *args, probe *found, size_t size)
{
    prober self = { .args = args,
                    .options = { .size = sizeof(heed_options), .device = cli_device(args) } };
    if (strcmp(self.options.device, "cpu") == 0)
        return add_levels(list, args, found, size);
    cli_exit code = find_out(found, size, &self, !cli_args_flag(args, "together"));
    if (code != CLI_OK)
        return code;
    if (found->status != HEED_OK) {
        bool named = cli_args_given(args, "device");
        cli_error("%s%s", named ? "--device: " : "", found->message);
        return cli_exit_of(found->status);
    }
    if (found->on_host)
        return add_levels(list, args, found, size);
    memcpy(list->device, found->device, sizeof list->device);
    memcpy(list->name, found->name, sizeof list->name);
    const lab_contender place = { .device = list->device };
    return add_place(list, args, &place, found);
}

/* The number of contenders that can be added. */
static size_t room_for(const cli_args *args)
{
    size_t kernels = cli_args_list_count(args, "kernel"), levels = 0;
    for (size_t i = 0; heed_kernel_name(i); i++)
        kernels += cli_config_count(i) + 1;
    while (lab_cpu_feature(levels))
        levels++;
    return (kernels + 1) * levels + 1; /* heed's plan, and a user's source */
}

cli_exit verify_contenders_list(verify_contenders *list, const cli_args *args)
{
    size_t size = sizeof(probe) + wanted_kernels(args) * sizeof(heed_status);
    probe *found = calloc(1, size);
    memset(list, 0, sizeof *list);
    list->room = room_for(args);
    list->items = calloc(list->room, sizeof *list->items);
    list->names = calloc(list->room, sizeof *list->names);
    cli_exit code = CLI_ENVIRONMENT;
    if (found && list->items && list->names)
        code = add_device(list, args, found, size);
    else
        cli_error("not enough memory for a list of %zu kernels", list->room);
    free(found);
    return code;
}

void verify_contenders_free(verify_contenders *list)
{
    free(list->items);
    free(list->names);
    memset(list, 0, sizeof *list);
}

/* -------------------------------------------------------------------------- */
/* --source: a user's kernel among them                                       */
/* -------------------------------------------------------------------------- */

/* Without a problem, as with captured values, C is compiled for this one: the code is the same for
 * all. */
static const char any_spec[] = "b1 h1 s1 d64 f32";

static cli_exit check_source(verify_job *job)
{
    const verify_contenders *list = &job->contenders;
    const cli_source_place place = { .on_host = list->on_host,
                                     .device = list->device,
                                     .name = list->name };
    heed_problem any;
    bool named = job->asked.count > 0;
    bool c = job->own.worker.language == LAB_LANGUAGE_C;
    heed_problem_parse(&any, any_spec);
    return cli_source_check(&job->own, &place, named ? job->asked.items : &any,
                            named ? job->asked.count
                            : c   ? 1
                                  : 0);
}

/* Draws an unpredictable seed unless one is given. The seed is printed, so that the run can be
 * repeated. */
static cli_exit draw_seed(verify_job *job)
{
    if (cli_args_given(job->args, "seed") || lab_random_hidden(&job->options.seed))
        return CLI_OK;
    cli_error("the system has no random numbers");
    return CLI_ENVIRONMENT;
}

cli_exit verify_source_add(verify_job *job)
{
    verify_contenders *list = &job->contenders;
    cli_exit code = draw_seed(job);
    if (code == CLI_OK)
        code = check_source(job);
    if (code != CLI_OK)
        return code;
    job->candidate = lab_bench_worker_candidate(&job->own.worker);
    job->subject = lab_bench_candidate_subject(&job->candidate);
    list->items[list->count++] = (lab_contender){ .cpu = list->on_host ? "sandbox" : NULL,
                                                  .kernel = job->own.name,
                                                  .threads = 1,
                                                  .device = list->device,
                                                  .subject = &job->subject };
    return CLI_OK;
}

void verify_source_refusal(verify_job *job, const heed_problem *problem, const lab_report *report)
{
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(problem, spec, sizeof spec);
    if (strcmp(spec, job->refused_spec) == 0)
        return;
    memcpy(job->refused_spec, spec, sizeof spec);
    job->refused++;
    lab_progress_end(&job->progress);
    if (!cli_args_json(job->args))
        cli_message("%s cannot do %s: %s", job->own.name, spec, report->verdicts[0].reason);
}
