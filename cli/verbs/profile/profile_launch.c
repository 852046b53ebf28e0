/*
 * profile_launch.c - `heed launch`: a single call, for a profiler
 */
#include <stdlib.h>

#include "bench/engine.h"
#include "build/rebuild.h"
#include "cli/verbs/board/board.h"
#include "profile.h"
#include "trial/launch.h"

#define SEED 1
#define CODE_MAX (INT64_C(64) << 20) /* bytes */

/* Makes a plan of the code in the file of --code, launched by --launch. */
static cli_exit plan_code(const cli_args *args, heed_context *context, const heed_problem *problem,
                          heed_plan **plan)
{
    lab_launched launched;
    char hash[LAB_RECORD_HASH_SIZE], *text;
    size_t size;
    const char *bad, *words = cli_args_text(args, "launch");
    if (!words || !lab_launch_parse(&launched, words, &bad)) {
        cli_error("--launch: %s%s", words ? "not understood: " : "must go with --code",
                  words ? bad : "");
        return CLI_USAGE;
    }
    cli_exit code = cli_read_file(cli_args_text(args, "code"), CODE_MAX, &text, &size);
    if (code != CLI_OK)
        return code;
    const heed_cubin cubin = { .data = (unsigned char *)text, .size = size };
    heed_status status = lab_rebuild_plan(plan, context, problem, launched.launch.entry,
                                          &launched.launch, &cubin, hash);
    free(text);
    return status == HEED_OK ? CLI_OK : cli_fail(status, NULL);
}

static cli_exit plan_for(const cli_args *args, heed_context *context, const heed_problem *problem,
                         heed_plan **plan)
{
    if (cli_args_text(args, "code"))
        return plan_code(args, context, problem, plan);
    heed_status status = profile_plan(args, context, problem, plan);
    return status == HEED_OK ? CLI_OK : cli_fail(status, NULL);
}

/* Takes ownership of @plan. */
static cli_exit execute(const cli_args *args, const lab_bench_tensors *tensors, heed_plan *plan)
{
    lab_bench_engine engine;
    int64_t calls = cli_args_integer(args, "calls");
    heed_status status = lab_bench_engine_start(&engine, tensors, plan, NULL);
    for (int64_t i = 0; i < calls && status == HEED_OK; i++)
        status = lab_bench_engine_call(&engine);
    if (status == HEED_OK)
        status = heed_device_wait(tensors->context);
    if (status == HEED_OK)
        printf("heed launched %s\n", heed_plan_name(plan));
    lab_bench_engine_stop(&engine);
    return status == HEED_OK ? CLI_OK : cli_fail(status, NULL);
}

static cli_exit run_problem(const cli_args *args, const heed_problem *problem)
{
    heed_context *context = NULL;
    heed_plan *plan = NULL;
    lab_bench_tensors tensors = { .copies = 0 };
    lab_bench_source source = { .problem = *problem };
    cli_exit code = cli_context_open_read(&context, args);
    if (code == CLI_OK)
        code = plan_for(args, context, problem, &plan);
    heed_status status = code == CLI_OK
                             ? lab_bench_tensors_create(&tensors, context, &source, SEED, 0)
                             : HEED_OK;
    if (status != HEED_OK) {
        heed_plan_destroy(plan);
        code = cli_fail(status, NULL);
    } else if (code == CLI_OK) {
        code = execute(args, &tensors, plan);
        lab_bench_tensors_free(&tensors);
    }
    heed_context_destroy(context);
    return code;
}

static cli_exit run(const cli_args *args)
{
    lab_problems problems;
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
    OPT_PATH("code", 0, "FILE", "A cubin, which you trust, in place of any kernel; see --launch"),
    OPT_TEXT("launch", 0, "WORDS", "How that is launched, in the board's form (docs/trials.md)"),
    { .table = cli_machine_options },
    OPT_INTEGER("calls", 'n', "N", 1, 1000000, "1", "Number of calls, one after another"),
    { .name = NULL },
};

const cli_verb cli_verb_launch = {
    .name = "launch",
    .summary = "make one call, for a profiler to watch",
    .operands = { "SPEC", 1, CLI_ANY },
    .description = "Makes a plan, executes it on random values, and ends. No other kernel runs on "
                   "the device. 'heed profile' runs this under ncu.",
    .options = options,
    .hidden = true,
    .run = run,
};
