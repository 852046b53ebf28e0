/*
 * roofline.c - `heed roofline`: measures a device's limits, and judges the cost model
 */
#include "roofline.h"

#include "base/suggest.h"
#include "session/plausible.h"
#include "src/cuda/facts.h"

/* Refuses options that exclude each other. */
static cli_exit check(const cli_args *args)
{
    static const cli_rule rules[] = {
        { "space", "judge", false, NULL, NULL },
        { "trials", "judge", false, NULL, NULL },
        { "fresh", "machine", true, NULL, NULL },
        { "device", "machine", true, NULL, NULL },
        { "threads", "machine", true, NULL, NULL },
        { "cpu", "machine", true, NULL, NULL },
        { .option = NULL },
    };
    cli_exit code = cli_rules_check(args, rules);
    if (code != CLI_OK)
        return code;
    if (cli_args_given(args, "machine") && cli_args_flag(args, "judge") &&
        !cli_args_given(args, "trials")) {
        cli_error("--judge with --machine needs --trials: a device that is not here cannot be "
                  "timed");
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* Finds the device @name of machines.def, or prints which there are. */
static cli_exit find_machine(heed_gpu *gpu, const char *name)
{
    char list[256] = "";
    size_t length = 0;
    const char *brief;
    lab_suggestion suggestion = lab_suggest(name);
    if (heed_gpu_find(gpu, name))
        return CLI_OK;
    for (size_t i = 0; length < sizeof list && heed_gpu_at(gpu, i, &brief); i++) {
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "",
                                   brief);
        lab_suggest_consider(&suggestion, brief);
    }
    if (suggestion.best)
        cli_error("--machine: heed knows no GPU '%s'; did you mean %s? It knows %s", name,
                  suggestion.best, list);
    else
        cli_error("--machine: heed knows no GPU '%s'; it knows %s", name, list);
    return CLI_USAGE;
}

roofline_prediction roofline_machine_predict(const heed_gpu *gpu, const heed_problem *problem)
{
    roofline_prediction best = { .seconds = -1 };
    for (size_t i = 0; heed_kernel_name(i); i++) {
        heed_cuda_facts facts;
        if (heed_cuda_facts_for(heed_kernel_name(i), problem, gpu, &facts) != HEED_OK ||
            (*best.kernel && facts.seconds >= best.seconds))
            continue;
        best.seconds = facts.seconds;
        snprintf(best.kernel, sizeof best.kernel, "%s", facts.name);
    }
    return best;
}

static cli_exit open_device(roofline_run *run)
{
    const char *machine = cli_args_text(run->args, "machine");
    run->machine = machine != NULL;
    if (!machine)
        return cli_context_open(&run->context, run->args);
    cli_exit code = find_machine(&run->gpu, machine);
    if (code == CLI_OK)
        run->ceilings = lab_ceilings_of_gpu(&run->gpu);
    return code;
}

static cli_exit run_verb(const cli_args *args)
{
    roofline_run run = { .args = args };
    bool named = cli_args_operand_count(args) > 0 || cli_args_given(args, "shapes");
    cli_exit code = check(args);
    if (code == CLI_OK && named)
        code = cli_problems_read(&run.problems, args);
    if (code == CLI_OK)
        code = open_device(&run);
    if (code == CLI_OK && cli_args_flag(args, "judge"))
        code = roofline_judge(&run);
    else if (code == CLI_OK) {
        if (!run.machine)
            code = roofline_get(&run.ceilings, run.context, cli_args_flag(args, "fresh"), run.path);
        if (code == CLI_OK)
            code = roofline_report(&run);
    }
    heed_context_destroy(run.context);
    cli_problems_free(&run.problems);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_TEXT(
        "machine", 'm', "NAME",
        "A GPU given by its data sheet, which need not be present: A100, RTX 3090, L4, L40S, RTX "
        "4090, H100, H200, B200. The cost model chooses the config and predicts its time"),
    OPT_FLAG("fresh", 0, "Measure the ceilings again, even if they are in the cache"),
    OPT_FLAG("judge", 0,
             "Judge the cost model: time the points of --space on the problems [default: "
             "the canonical ones], and print the rank correlation of predictions and times"),
    OPT_PATH("space", 0, "SPACE",
             "With --judge, the configs, as for 'heed sweep' [default: sweep90, on a CPU "
             "cpu_tile]"),
    OPT_PATH("trials", 0, "FILE",
             "With --judge, run nothing and take the times from FILE, a record of 'heed "
             "sweep --record'"),
    { .table = cli_machine_options },
    { .name = NULL },
};

const cli_verb cli_verb_roofline = {
    .name = "roofline",
    .summary = "measure a device's limits, and judge the cost model",
    .operands = { "[SPEC...]", 0, CLI_ANY },
    .description =
        "Measures the limits of this device with kernels that do nothing else: matrix "
        "products, exponentials, multiply-adds, reads and copies of memory, reads of the "
        "cache, and launches. They determine each problem's floor, the least time of any "
        "exact kernel here, and the limiting unit. Cold: tensors come from memory; hot: "
        "from the cache if they fit. The results are cached (HEED_CACHE) for each device, "
        "driver and number of threads.\n"
        "\n"
        "With --machine the limits are those of a data sheet, and the config that heed "
        "would choose there is shown with its predicted time. With --judge the cost model "
        "is judged by Spearman's rank correlation of predicted and measured times of many "
        "configs: 1 is the right order.",
    .examples =
        "  heed roofline b2 h8 s512 d64 f16\n"
        "  heed roofline --machine L4 --shapes shapes/seed.txt\n"
        "  heed roofline --judge --machine H200 --trials tests/data/trials/sweep90-h200.txt",
    .status = "The exit status is 1 if the correlation is less than 0.7.",
    .options = options,
    .run = run_verb,
};
