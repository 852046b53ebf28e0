/*
 * profile_launch.c - `heed launch`: one call and nothing beside it, for a profiler to watch
 */
#include "bench_engine.h"
#include "profile.h"

#define SEED 1

/* Takes over @plan. */
static cli_exit execute(const cli_args *args, const bench_tensors *tensors, heed_plan *plan)
{
    bench_engine engine;
    int64_t calls = cli_args_integer(args, "calls");
    heed_status status = bench_engine_start(&engine, tensors, plan);
    for (int64_t i = 0; i < calls && status == HEED_OK; i++)
        status = bench_engine_call(&engine);
    if (status == HEED_OK)
        status = heed_device_wait(tensors->context);
    if (status == HEED_OK)
        printf("heed launched %s\n", heed_plan_name(plan));
    bench_engine_stop(&engine);
    return status == HEED_OK ? CLI_OK : cli_fail(status, NULL);
}

static cli_exit run_problem(const cli_args *args, const heed_problem *problem)
{
    heed_context *context = NULL;
    heed_plan *plan = NULL;
    bench_tensors tensors = { .copies = 0 };
    bench_source source = { .problem = *problem };
    cli_exit code = cli_context_open(&context, args);
    heed_status status = code == CLI_OK ? profile_plan(args, context, problem, &plan) : HEED_OK;
    if (code == CLI_OK && status == HEED_OK)
        status = bench_tensors_create(&tensors, context, &source, SEED, 0);
    if (status != HEED_OK) {
        heed_plan_destroy(plan);
        code = cli_fail(status, NULL);
    } else if (code == CLI_OK) {
        code = execute(args, &tensors, plan);
        bench_tensors_free(&tensors);
    }
    heed_context_destroy(context);
    return code;
}

static cli_exit run(const cli_args *args)
{
    cli_problems problems;
    cli_exit code = cli_problems_read(&problems, args);
    if (code == CLI_OK && problems.count > 1) {
        cli_error("%zu problems; one is launched", problems.count);
        code = CLI_USAGE;
    }
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    if (code == CLI_OK)
        code = run_problem(args, &problems.items[0]);
    cli_problems_free(&problems);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_KERNEL,
    PROFILE_OPTION_SOURCE,
    CLI_OPTION_DEVICE,
    CLI_OPTION_THREADS,
    CLI_OPTION_CPU,
    { .name = "calls",
      .letter = 'n',
      .kind = CLI_INTEGER,
      .argument = "N",
      .min = 1,
      .max = 1000000,
      .standard = "1",
      .help = "How many calls to make, one after another" },
    { .name = NULL },
};

extern const cli_verb cli_verb_launch;
const cli_verb cli_verb_launch = {
    .name = "launch",
    .summary = "one call, for a profiler to watch",
    .operands = "SPEC",
    .operand_min = 1,
    .operand_max = CLI_ANY,
    .description = "Makes a plan, executes it on random values, and ends. No other kernel runs on "
                   "the device. 'heed profile' has ncu watch this.",
    .options = options,
    .hidden = true,
    .run = run,
};
