/*
 * verify.c - `heed verify`: every kernel is hostile until proven otherwise
 */
#include "verify.h"

#include <stdlib.h>

#include "base/plural.h"
#include "cli/base/inputs.h"
#include "measure/environment.h"

/* Each has a separate CUDA context. */
#define DEVICE_JOBS_MAX 8

/* -------------------------------------------------------------------------- */
/* Options                                                                    */
/* -------------------------------------------------------------------------- */

static const char hint[] = "'heed verify --list' lists all names";

static const char *inputs_name(size_t index)
{
    return lab_inputs_at(index) ? lab_inputs_at(index)->name : NULL;
}

/* Checks that every word of the list option @option is one of the names. */
static cli_exit check_list(const cli_args *args, const char *option, const char *(*name)(size_t))
{
    char what[64];
    cli_exit code = CLI_OK;
    snprintf(what, sizeof what, "--%s: there is no", option);
    for (size_t i = 0; code == CLI_OK && i < cli_args_list_count(args, option); i++)
        code = cli_name_check(what, cli_args_list(args, option, i), name, hint);
    return code;
}

static cli_exit check_kernels(const cli_args *args)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < cli_args_list_count(args, "kernel"); i++)
        code = cli_kernel_name_check("kernel", cli_args_list(args, "kernel", i));
    return code;
}

static cli_exit check_options(const cli_args *args)
{
    cli_exit code = check_list(args, "gate", lab_gate_name);
    if (code == CLI_OK)
        code = check_list(args, "inputs", inputs_name);
    return code == CLI_OK ? check_kernels(args) : code;
}

static lab_verify_options read_options(const cli_args *args)
{
    lab_verify_options options = lab_verify_standard();
    options.seed = (uint64_t)cli_args_integer(args, "seed");
    options.strict = cli_args_flag(args, "strict");
    options.own = !cli_args_given(args, "source");
    if (cli_args_flag(args, "quick"))
        options.work /= 4;
    if (cli_args_flag(args, "all-rows"))
        options.work = INT64_MAX;
    options.time_limit_s = cli_args_real(args, "time-limit");
    if (cli_args_list_count(args, "gate"))
        options.gates = 0;
    for (size_t i = 0; i < cli_args_list_count(args, "gate"); i++)
        options.gates |= (uint32_t)1 << lab_gate_index(cli_args_list(args, "gate", i));
    return options;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit conclude(const verify_job *job)
{
    cli_exit code = verify_report_print(job);
    if (cli_interrupted()) {
        cli_message("stopped early: the results so far are above");
        return CLI_INTERRUPTED;
    }
    if (code != CLI_OK)
        return code;
    if (job->total.failed)
        return CLI_VERIFY_FAILED;
    if (job->unjudged) {
        cli_error("%zu case%s could not be judged by all gates, as memory ran out or the system "
                  "refused a call; try smaller problems, or fewer --jobs. The first: %s",
                  job->unjudged, lab_plural(job->unjudged), job->first_unjudged);
        return CLI_ENVIRONMENT;
    }
    if (job->refused) {
        cli_error("%s does not support %zu of the problems; see above", job->own.name,
                  job->refused);
        return CLI_UNSUPPORTED;
    }
    if (job->total.passed && !(cli_args_flag(job->args, "proof") && job->unproved))
        return CLI_OK;
    cli_error("%s; the last one because %s",
              job->total.passed ? "nothing is proved: cases were skipped"
                                : "nothing was verified: every kernel was skipped",
              job->last_skip);
    return CLI_UNSUPPORTED;
}

/* Kernels on the CPU use all threads, and so does the reference, in alternation. With a device the
 * CPUs compute references of several cases at a time. */
static void share_cpus(verify_job *job)
{
    int given = (int)cli_args_integer(job->args, "jobs"), cpus = lab_environment_cores();
    int jobs = cpus / 2 < DEVICE_JOBS_MAX ? cpus / 2 : DEVICE_JOBS_MAX;
    if (job->contenders.on_host)
        jobs = 1;
    job->jobs = given > 0 ? given : jobs > 1 ? jobs : 1;
    job->options.threads = cpus > job->jobs ? cpus / job->jobs : 1;
    if (job->contenders.on_host && job->contenders.count)
        job->options.threads = job->contenders.items[0].threads;
}

static cli_exit make_room(verify_job *job)
{
    job->tallies = calloc(job->contenders.count, sizeof *job->tallies);
    job->failures = cli_args_json(job->args) ? json_array() : NULL;
    if (!job->tallies) {
        cli_error("not enough memory for the counts");
        return CLI_ENVIRONMENT;
    }
    for (size_t c = 0; c < job->contenders.count; c++)
        job->tallies[c].worst_error = job->tallies[c].worst_lse = -1;
    return CLI_OK;
}

/* Finds errors of files, names and sources before verifying anything. */
static cli_exit prepare(verify_job *job, const cli_args *args)
{
    bool own = cli_args_given(args, "source");
    cli_exit code = own ? cli_source_read(&job->own, args) : CLI_OK;
    if (code == CLI_OK)
        code = verify_read(job, args);
    if (code == CLI_OK)
        code = verify_contenders_list(&job->contenders, args);
    if (code == CLI_OK && own)
        code = verify_source_add(job);
    if (code == CLI_OK && job->contenders.count == 0) {
        cli_error("there is no kernel for %s", job->contenders.name);
        code = CLI_UNSUPPORTED;
    }
    return code == CLI_OK ? make_room(job) : code;
}

static cli_exit verify(const cli_args *args)
{
    verify_job job = { .args = args, .options = read_options(args) };
    const size_t kinds = cli_args_list_count(args, "inputs");
    for (size_t i = 0; i < kinds && job.input_count < VERIFY_INPUTS_MAX; i++)
        job.inputs[job.input_count++] = lab_inputs_find(cli_args_list(args, "inputs", i));
    job.total.worst_error = job.total.worst_lse = -1;
    cli_exit code = prepare(&job, args);
    if (code == CLI_OK) {
        share_cpus(&job);
        code = verify_run(&job, args);
    }
    if (code == CLI_OK)
        code = conclude(&job);
    json_decref(job.failures);
    free(job.tallies);
    verify_contenders_free(&job.contenders);
    cli_problems_free(&job.asked);
    cli_source_free(&job.own);
    return code;
}

static cli_exit run(const cli_args *args)
{
    if (cli_args_flag(args, "list"))
        return verify_report_list(args);
    cli_exit code = check_options(args);
    return code == CLI_OK ? verify(args) : code;
}

static const char *const config_choices[] = { "default", "worthwhile", "all", NULL };

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_LIST("kernel", 'k', "NAME",
             "Verify this kernel, in the config after \"__\" if NAME has one; may be given more "
             "than once [default: all kernels]"),
    CLI_OPTION_SOURCE("Verify this kernel of your own, a .c or .cu file (docs/your-own-kernel.md), "
                      "beside heed's plan or, with --kernel, that kernel"),
    OPT_CHOICE(
        "configs", 0, "WHICH", config_choices, "default",
        "Configs of each kernel: the planner's best for the problem, those that it considers "
        "there, or all of 'heed plan --list' that can run it; --kernel names any other"),
    { .name = "cpu",
      .kind = CLI_LIST,
      .argument = "LEVEL",
      .choice = lab_cpu_feature,
      .help = "Verify only with these CPU features; may be given more than once [default: each "
              "level that the machine has]" },
    { .table = cli_device_options },
    OPT_INTEGER("jobs", 'j', "N", 1, LAB_JOBS_MAX, NULL,
                "Verify N cases in parallel, each in a separate process [default: 1 on the CPU; on "
                "a device half the number of CPUs, up to 8]"),
    OPT_LIST("inputs", 'i', "NAME",
             "Use this kind of values; may be given more than once [default: every kind for small "
             "problems, two for large ones]"),
    OPT_LIST("gate", 'g', "NAME", "Run only this gate; may be given more than once"),
    CLI_OPTION_SEED("Seed of all random numbers"),
    OPT_FLAG("strict", 0,
             "Require that a batch element computed alone has the same bits as in its batch"),
    OPT_FLAG("all-rows", 0,
             "Compare every row with the reference instead of a sample, also on large problems"),
    OPT_FLAG("once", 0,
             "Verify each kernel once per problem, under the fewest CPU features that it "
             "needs, not under every level"),
    OPT_FLAG("proof", 0,
             "Run all cases that ranking requires: every kind of values for every problem, "
             "all rows except of large problems, and four random neighbours of each "
             "problem. If a case is skipped, the exit status is 4"),
    OPT_FLAG(
        "quick", 0,
        "Use two kinds of values for every problem, normal ones and another kind in turn, compare "
        "a quarter of the rows, and run the gates for properties on one problem in four"),
    OPT_REAL("time-limit", 0, "SECONDS", 0.001, 1e6, "10",
             "Skip cases that take longer than SECONDS by the kernel's own estimate"),
    OPT_INTEGER("deadline", 0, "SECONDS", 1, 86400, "300",
                "A kernel that has not finished after SECONDS has failed"),
    OPT_FLAG("together", 0, "Run everything in this process, for a debugger; a crash ends it"),
    OPT_FLAG("exact", 0,
             "On a device, allocate each tensor without a spare byte and leave the "
             "workspace as it is, for compute-sanitizer; with --together"),
    OPT_PATH("tensors", 0, "FILE", "Also use the values q, k and v in this .safetensors file"),
    OPT_TEXT("prefix", 0, "TEXT", "Prefix of the names q, k and v in the file of --tensors"),
    OPT_PATH("q", 0, "FILE", "Values of Q, a .npy file, instead of --tensors"),
    OPT_PATH("k", 0, "FILE", "Values of K"),
    OPT_PATH("v", 0, "FILE", "Values of V"),
    CLI_OPTION_LAYOUT,
    OPT_TYPE("type", NULL, "Round the values from files to this type"),
    CLI_OPTION_WORDS("Further words of the spec of the problem that files make, such as 'causal'"),
    OPT_REAL("scale", 0, "X", 0, 0, NULL,
             "Logit scale of the problem that files make [default: 1/sqrt(dim)]"),
    OPT_FLAG("list", 'l', "List the gates and the kinds of values instead"),
    { .name = NULL },
};

const cli_verb cli_verb_verify = {
    .name = "verify",
    .summary = "prove that kernels are correct",
    .operands = { "SPEC...", 0, CLI_ANY },
    .description =
        "Runs every kernel on every problem with several kinds of values, under each level "
        "of CPU features of this machine, and checks the results with gates: the error "
        "against a float64 reference, properties of attention such as linearity in V, "
        "writes outside the outputs, NaN, and more (--list).\n"
        "\n"
        "Each problem runs in a separate process, between unmapped pages and with "
        "read-only inputs, so that a crash is reported as a failure. With --source a "
        "kernel of your own is verified in a sandbox.\n"
        "\n"
        "A failure names the gate and prints the command that repeats it. A skipped case "
        "is one that the kernel does not support, or for which there are no values of that "
        "kind.",
    .examples = "  heed verify 'b2 h4/2 s100/130 d64 f16 causal=br'\n"
                "  heed verify --source mine.c 'b1 h8 s512 d64 f32 causal'\n"
                "  heed verify --shapes shapes/edge.txt --cpu avx2 --inputs normal",
    .status = "The exit status is 5 if a gate fails, 4 if a source does not compile or refuses a "
              "problem, and 3 if there was not enough memory for all gates.",
    .options = options,
    .run = run,
};
