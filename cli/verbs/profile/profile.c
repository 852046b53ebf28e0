/*
 * profile.c - `heed profile`: finds the limits of a running kernel
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "src/cuda/facts.h"
#include "src/device.h"
#include "src/message.h"

#define SOURCE_MAX (INT64_C(1) << 20)

static heed_status plan_built_in(const char *kernel, heed_context *context,
                                 const heed_problem *problem, heed_plan **plan)
{
    return kernel ? heed_plan_create_named(plan, context, problem, kernel)
                  : heed_plan_create(plan, context, problem, HEED_ESTIMATE);
}

/* Compiles @text as the source of the kernel and config @name, and launches it like that. */
static heed_status plan_text(heed_plan **plan, heed_context *context, const heed_problem *problem,
                             const char *name, const char *text)
{
    int arch = heed_device_arch(context);
    heed_cuda_facts facts;
    heed_cubin cubin;
    heed_status status = heed_cuda_facts_find(name, problem, arch, &facts);
    if (status != HEED_OK)
        return status;
    heed_build build = heed_cuda_facts_build(&facts, arch);
    build.fresh = true; /* it may include files that have changed */
    status = heed_jit_build_text(&build, text, &cubin);
    if (status != HEED_OK)
        return status;
    status = heed_plan_create_foreign(plan, context, problem, facts.name, &facts.launch, &cubin);
    heed_cubin_free(&cubin);
    return status;
}

heed_status profile_plan(const cli_args *args, heed_context *context, const heed_problem *problem,
                         heed_plan **plan)
{
    const char *kernel = cli_args_text(args, "kernel"), *path = cli_args_text(args, "source");
    char *text = NULL;
    if (!path)
        return plan_built_in(kernel, context, problem, plan);
    *plan = NULL;
    if (heed_device_is_host(context))
        return heed_fail(HEED_ERR_INVALID, "--source: '%s' is for a GPU, and the device is a CPU",
                         path);
    heed_plan *model = NULL;
    lab_error error;
    size_t size;
    heed_status status = cli_read_text(path, SOURCE_MAX, &text, &size, &error);
    status = status == HEED_OK ? HEED_OK : heed_fail(status, "--source: %s", error.text);
    if (status == HEED_OK)
        status = plan_built_in(kernel, context, problem, &model);
    if (status == HEED_OK)
        status = plan_text(plan, context, problem, heed_plan_name(model), text);
    heed_plan_destroy(model);
    free(text);
    return status;
}

#define MODES 3

/* The kinds of requests, of which one is permitted at a time. */
static const struct {
    const char *option; /* NULL: neither of these */
    cli_exit (*run)(const cli_args *args);
} modes[MODES] = {
    { "scaling", profile_scaling },
    { "timeline", profile_timeline },
    { NULL, profile_counters },
};

/* Options that apply to only one of them. */
static const struct {
    const char *option, *mode;
} uses[] = {
    { "gate", NULL },   { "ncu", NULL },        { "timeout", NULL },      { "read", NULL },
    { "caches", NULL }, { "steps", "scaling" }, { "seconds", "scaling" }, { "calls", "timeline" },
};

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static cli_exit check(const cli_args *args, const char *mode)
{
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (cli_args_given(args, uses[i].option) && !same(uses[i].mode, mode)) {
            if (uses[i].mode)
                cli_error("--%s goes with --%s", uses[i].option, uses[i].mode);
            else
                cli_error("--%s is for hardware counters, and cannot be used with --%s",
                          uses[i].option, mode);
            return CLI_USAGE;
        }
    return CLI_OK;
}

static cli_exit run(const cli_args *args)
{
    if (cli_args_flag(args, "scaling") && cli_args_flag(args, "timeline")) {
        cli_error("--scaling and --timeline cannot be used together");
        return CLI_USAGE;
    }
    int mode = 0;
    while (modes[mode].option && !cli_args_flag(args, modes[mode].option))
        mode++;
    cli_exit code = check(args, modes[mode].option);
    return code == CLI_OK ? modes[mode].run(args) : code;
}

static const char *const caches[] = { "flush", "keep", NULL };

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    CLI_OPTION_KERNEL,
    PROFILE_OPTION_SOURCE,
    OPT_FLAG("gate", 'g', "Exit with 1 if a gate that applies fails, with 3 if one is UNKNOWN"),
    OPT_CHOICE("caches", 0, "WHICH", caches, "flush",
               "For counters: empty the device's caches before each pass, or keep what the "
               "previous pass left there"),
    OPT_PATH("ncu", 0, "FILE",
             "Nsight Compute's program [default: search PATH and CUDA's folders]"),
    OPT_REAL("timeout", 0, "SECONDS", 1, 86400, "120", "Time limit of ncu for one problem"),
    OPT_PATH("read", 'r', "FILE",
             "Read recorded output of ncu --csv --page raw instead of profiling; - is the "
             "standard input"),
    OPT_FLAG("scaling", 0,
             "Time the problem as batch, heads and lengths double, and report where the time grows "
             "faster than the work"),
    OPT_INTEGER("steps", 0, "N", 2, 20, "4",
                "With --scaling: number of sizes of each kind, the given one included"),
    OPT_REAL("seconds", 0, "S", 0.001, 3600, "0.2", "With --scaling: seconds to measure each size"),
    OPT_FLAG("timeline", 0,
             "Time single calls one after another: the host's share, the device's, and the "
             "gap between them"),
    OPT_INTEGER("calls", 'n', "N", 2, 1000, "10", "With --timeline: number of calls"),
    { .table = cli_machine_options },
    CLI_OPTION_WISDOM_READ("Choose the kernel from the wisdom in FILE"),
    { .name = NULL },
};

const cli_verb cli_verb_profile = {
    .name = "profile",
    .summary = "find a kernel's bottlenecks: counters, scaling, timeline",
    .operands = { "SPEC...", 0, CLI_ANY },
    .description =
        "Runs the planned kernel under Nsight Compute (ncu) and shows its hardware "
        "counters beside the usual gates: SM busy 70 %, issue slots 60 %, 2 eligible "
        "warps, occupancy 20 %, coalescing 80 %, almost no bank conflicts or spills. Gates "
        "that count instructions and warps are off for kernels with asynchronous products. "
        "Without ncu, or its permission, counters are UNKNOWN, with a remedy.\n"
        "\n"
        "--scaling needs no ncu and works on CPUs too: it doubles batch, heads and "
        "lengths, one at a time, and reports where the time grows faster than the work. "
        "--timeline shows single calls.",
    .examples = "  heed profile 'b2 h8 s512 d64 f16'\n"
                "  heed profile --gate --kernel fwd_16bit_sm80_mma --shapes seed\n"
                "  heed profile --scaling 'b1 h8 s512 d64 f16'\n"
                "  ncu --csv --page raw --set full ./program | heed profile --read -",
    .status = "The exit status is 1 if a gate fails with --gate, or if --scaling has a finding; "
              "3 if nothing could be counted.",
    .options = options,
    .run = run,
};
