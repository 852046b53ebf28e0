/*
 * ablate.c - `heed ablate`: bottlenecks of a kernel, found by ablation
 */
#include "ablate.h"

#include <stdlib.h>
#include <string.h>

#include "measure/environment.h"

/* For each ablation, unless --seconds says otherwise: a GPU's times vary little. */
#define SECONDS_HOST 1.0
#define SECONDS_DEVICE 0.25

/* A context of one thread, where that is something else. */
static heed_status open_single(lab_ablate_run *run, const char *cpu)
{
    if (!heed_device_is_host(run->bench.context) || heed_context_threads(run->bench.context) < 2)
        return HEED_OK;
    heed_options options = { .size = sizeof options, .device = "cpu", .threads = 1, .cpu = cpu };
    return cli_context_create(&run->single, &options);
}

static const char *ablation_name(size_t index)
{
    return lab_ablation_at(index) ? lab_ablation_at(index)->name : NULL;
}

/* Every name of --only must be one. */
static cli_exit check_only(const cli_args *args)
{
    const char *list = cli_args_text(args, "only");
    char names[512] = "there are";
    size_t used = strlen(names);
    for (size_t i = 0; ablation_name(i) && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s %s", i > 0 ? "," : "",
                                 ablation_name(i));
    for (const char *at = list; at && *at; at += *at == ',') {
        char name[64];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
                 at);
        at += length;
        cli_exit code = cli_name_check("--only: there is no ablation", name, ablation_name, names);
        if (code != CLI_OK)
            return code;
    }
    return CLI_OK;
}

/* Plans all problems first, so that the end can be foreseen, and what is compiled for one of them
 * is while another one is measured. */
static cli_exit prepare_all(lab_ablate_run *run, const lab_problems *problems)
{
    run->subjects = calloc(problems->count, sizeof *run->subjects);
    if (!run->subjects) {
        cli_error("not enough memory for %zu problems", problems->count);
        return CLI_ENVIRONMENT;
    }
    for (size_t i = 0; i < problems->count && !cli_interrupted(); i++) {
        lab_ablate_subject *subject = &run->subjects[run->count++];
        subject->problem = problems->items[i];
        heed_problem_print(&subject->problem, subject->spec, sizeof subject->spec);
        heed_status status = lab_ablate_prepare(run, subject);
        if (status != HEED_OK)
            return cli_fail(status, subject->spec);
    }
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

static cli_exit measure(lab_ablate_run *run, lab_ablate_subject *subject)
{
    heed_status status = lab_ablate_try(run, subject);
    lab_progress_end(&run->progress);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    return status == HEED_OK ? CLI_OK : cli_fail(status, subject->spec);
}

static cli_exit measure_all(lab_ablate_run *run, const lab_problems *problems)
{
    run->progress = lab_progress_start(&cli_sink, "ablating", 0);
    cli_exit code = prepare_all(run, problems);
    for (size_t i = 0; i < run->count && code == CLI_OK; i++)
        code = measure(run, &run->subjects[i]);
    return code;
}

/* An ablation that should compute the right thing and does not is a bug. */
static cli_exit verdict(const lab_ablate_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        for (size_t j = 0; j < run->subjects[i].count; j++)
            if (run->subjects[i].cases[j].outcome == LAB_BENCH_WRONG)
                return CLI_VERIFY_FAILED;
    return CLI_OK;
}

/* The parts that depend on the device. */
static cli_exit set_up(lab_ablate_run *run, const cli_args *args)
{
    bool host = heed_device_is_host(run->bench.context);
    int cores = lab_environment_cores();
    run->bench.replay = !host;
    run->bench.host_threads = host ? heed_context_threads(run->bench.context) : cores;
    if (!cli_args_given(args, "seconds"))
        run->bench.seconds = host ? SECONDS_HOST : SECONDS_DEVICE;
    heed_status status = open_single(run, cli_args_text(args, "cpu"));
    if (status != HEED_OK)
        return cli_fail(status, NULL);
    if (!host)
        run->pool = lab_ablate_pool_start(run->bench.context, cores > 1 ? cores - 1 : 1);
    return CLI_OK;
}

static cli_exit run_ablate(lab_ablate_run *run, const lab_problems *problems, const cli_args *args)
{
    cli_exit set = set_up(run, args);
    if (set != CLI_OK)
        return set;
    cli_exit code = measure_all(run, problems);
    if (code == CLI_OK || code == CLI_INTERRUPTED) {
        cli_exit printed = cli_args_json(args) ? ablate_print_json(run) : ablate_print(run);
        if (code == CLI_OK)
            code = printed == CLI_OK ? verdict(run) : printed;
    }
    for (size_t i = 0; i < run->count; i++)
        lab_ablate_subject_free(&run->subjects[i]);
    free(run->subjects);
    lab_ablate_pool_stop(run->pool);
    heed_context_destroy(run->single);
    return code;
}

static cli_exit run(const cli_args *args)
{
    lab_ablate_run ablate = { .only = cli_args_text(args, "only"),
                              .planted = !cli_args_flag(args, "no-planted"),
                              .bench = { .effort = HEED_ESTIMATE,
                                         .kernel = cli_args_text(args, "kernel"),
                                         .seconds = cli_args_given(args, "seconds")
                                                        ? cli_args_real(args, "seconds")
                                                        : SECONDS_HOST,
                                         .margin = cli_args_real(args, "margin") / 100,
                                         .cold = cli_args_flag(args, "cold"),
                                         .seed = (uint64_t)cli_args_integer(args, "seed") } };
    lab_problems problems;
    cli_exit code = check_only(args);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    if (code != CLI_OK)
        return code;
    code = cli_problems_read(&problems, args);
    if (code == CLI_OK)
        code = cli_context_open(&ablate.bench.context, args);
    if (code == CLI_OK)
        code = run_ablate(&ablate, &problems, args);
    heed_context_destroy(ablate.bench.context);
    cli_problems_free(&problems);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    CLI_OPTION_KERNEL,
    OPT_TEXT("only", 0, "LIST", "Run only these ablations, separated by commas"),
    OPT_FLAG("no-planted", 0, "Do not plant delays"),
    OPT_REAL("seconds", 0, "N", 0.01, 3600, NULL,
             "Seconds to time each ablation, and each delay, in turns with the kernel; slow "
             "ones take longer [default: 1 on a CPU, 0.25 on a GPU]"),
    CLI_OPTION_MARGIN("Effects up to this count as none"),
    CLI_OPTION_COLD,
    CLI_OPTION_SEED("Seed of the random values, of the order of turns, and of the intervals"),
    { .table = cli_machine_options },
    CLI_OPTION_WISDOM,
    { .name = NULL },
};

const cli_verb cli_verb_ablate = {
    .name = "ablate",
    .summary = "find what binds a kernel by making it worse on purpose",
    .operands = { "SPEC...", 0, CLI_ANY },
    .description =
        "Builds the planned kernel of each problem again for each ablation: without "
        "exponentials, products or loads, with an extra barrier in each step, with bank "
        "conflicts, with tiny blocks, and so on. Each build takes turns with the original. "
        "The table ranks them by the change in time, with intervals that hold together at "
        "99 %; inapplicable ablations are listed with the reason.\n"
        "\n"
        "The time that is saved by leaving work out is the most that optimizing it can "
        "gain. docs/ablating.md explains each name. Builds without exponentials, products "
        "or loads compute wrong results; the others are checked against a float64 "
        "reference.\n"
        "\n"
        "As a check of the method, delays of 1, 2 and 5 % are planted, and the last table "
        "says which were detected. Smaller effects need more --seconds.\n"
        "\n"
        "Examples:\n"
        "\n"
        "  heed ablate b1 h8 s512 d64 f32\n"
        "  heed ablate --only no-exp,no-products --seconds 5 b1 h8 s512 d64 f32\n"
        "\n"
        "The exit status is 5 if an ablation that must leave the results right does not.",
    .options = options,
    .run = run,
};
