/*
 * verify.c - `heed verify`: every kernel is hostile until proven otherwise
 */
#include "verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/inputs.h"
#include "measure/environment.h"
#include "report/format.h"
#include "verify/operands.h"
#include "verify/proof.h"

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
/* The problems, one after another                                            */
/* -------------------------------------------------------------------------- */

/* Problems with more floating-point operations or more bytes than this get normal values and one
 * other kind; smaller ones all kinds. */
#define ALL_INPUTS_FLOPS 1e8
#define ALL_INPUTS_BYTES 4e6

/* With --quick the gates for properties run on one in this many problems. */
#define QUICK_PROPERTIES 4

/* The kinds of inputs for a problem: those of --inputs; else all if it is small, without --quick;
 * else the normal ones and another kind, by @index. */
static size_t choose_inputs(const lab_inputs **list, const heed_problem *problem, size_t index,
                            const verify_job *job)
{
    size_t count = 0, kinds = 0;
    for (; count < job->input_count; count++)
        list[count] = job->inputs[count];
    if (count)
        return count;
    while (lab_inputs_at(kinds))
        kinds++;
    bool all = !cli_args_flag(job->args, "quick") &&
               heed_problem_flops(problem) <= ALL_INPUTS_FLOPS &&
               heed_problem_bytes(problem) <= ALL_INPUTS_BYTES;
    for (size_t i = 0; i < kinds && count < VERIFY_INPUTS_MAX; i++)
        if (all || i == 0 || i == 1 + index % (kinds - 1))
            list[count++] = lab_inputs_at(i);
    return count;
}

/* The gates for properties, which run a kernel many times. */
static uint32_t property_gates(void)
{
    uint32_t gates = 0;
    for (size_t i = 0; lab_gate_at(i); i++)
        gates |= (uint32_t)lab_gate_at(i)->property << i;
    return gates;
}

/* On a device, several problems make one campaign, so that they share contexts, which are slow to
 * create; but problems that use much of its memory run alone. */
#define BATCH_PROBLEMS 128
#define BATCH_RESULTS 20000
#define LARGE_BYTES ((double)(1 << 30))

/* Problems of this many bytes or more have separate progress. */
#define SHOWN_BYTES 1e6

/* The options --device and --jobs for the next problems. */
typedef struct batch {
    lab_verify_case *cases;
    size_t room;
    size_t count;
    size_t problems; /* number of problems in these cases */
    bool large;
} batch;

static void show_progress(void *data, size_t done)
{
    verify_job *job = data;
    lab_progress_step(&job->batch, done, *job->on ? job->on : NULL);
}

/* Completes @campaign from the command line, runs it and adds the results. */
static cli_exit run_campaign(verify_job *job, lab_campaign *campaign)
{
    size_t count = campaign->case_count * job->contenders.count;
    lab_campaign_result *results = calloc(count, sizeof *results);
    campaign->contenders = job->contenders.items;
    campaign->contender_count = job->contenders.count;
    campaign->options = job->options;
    campaign->deadline_s = (unsigned)cli_args_integer(job->args, "deadline");
    campaign->together = cli_args_flag(job->args, "together");
    campaign->exact = cli_args_flag(job->args, "exact");
    campaign->stop = cli_interrupted;
    campaign->progress = campaign->jobs > 1 || *job->on ? show_progress : NULL;
    campaign->data = job;
    heed_status status = results ? lab_campaign_run(campaign, results) : HEED_ERR_NO_MEMORY;
    if (status == HEED_OK)
        verify_report_add(job, campaign, results);
    else
        cli_error("cannot verify: %s",
                  status == HEED_ERR_NO_MEMORY ? "not enough memory" : "no process can be started");
    free(results);
    return cli_exit_of(status);
}

/* The bytes from the first element of each tensor to its last, in total. */
static double extent(const heed_problem *problem)
{
    double bytes = 0;
    for (int role = LAB_Q; role < LAB_ROLES; role++) {
        const lab_view view = lab_view_of(problem, (lab_role)role);
        bytes += (double)lab_view_bytes(&view);
    }
    return bytes;
}

/* Shows the tensors in progress. Every kernel at every level of features runs about twenty times,
 * and each time all elements of the tensors are written, locked and compared: for large tensors
 * that takes longer than the kernels. */
static void tell_tensors(verify_job *job, const heed_problem *problem)
{
    char bytes[LAB_FORMAT_SIZE];
    const double size = extent(problem);
    job->on[0] = '\0';
    if (size > SHOWN_BYTES)
        snprintf(job->on, sizeof job->on, "kernels on tensors of %s",
                 lab_format_bytes((uint64_t)size, bytes));
}

/* Runs the cases of @next, if there are any, and empties it. */
static cli_exit run_batch(verify_job *job, batch *next)
{
    const lab_verify_case *last = next->cases + next->count - 1;
    char spec[HEED_SPEC_SIZE];
    lab_campaign campaign = { .cases = next->cases,
                              .case_count = next->count,
                              .jobs = next->large ? 1 : job->jobs };
    if (next->count == 0)
        return CLI_OK;
    heed_problem_print(&last->problem, spec, sizeof spec);
    lab_progress_step(&job->progress, job->done, spec);
    job->problems += next->problems;
    job->batch = lab_progress_start(&cli_sink, next->problems > 1 ? "this batch" : spec,
                                    next->count * job->contenders.count);
    tell_tensors(job, &last->problem);
    cli_exit code = run_campaign(job, &campaign);
    lab_progress_end(&job->batch);
    job->done += next->problems;
    next->count = next->problems = 0;
    return code;
}

static bool is_full(const verify_job *job, const batch *next, bool large)
{
    size_t problems = job->contenders.on_host && job->jobs == 1 ? 1 : BATCH_PROBLEMS;
    return next->problems >= problems || large != next->large ||
           next->count + VERIFY_INPUTS_MAX > next->room ||
           next->count * job->contenders.count > BATCH_RESULTS;
}

/* Adds the cases of a proof on @problem. */
static void add_proof(const verify_job *job, batch *next, const heed_problem *problem)
{
    const lab_proof proof = { .problem = *problem,
                              .seed = job->options.seed,
                              .sliced = !job->own.text };
    next->count += lab_proof_list(&proof, next->cases + next->count);
}

/* True for a full proof: a user's source gets all cases that ranking requires, unless options ask
 * for less. */
static bool wants_proof(const verify_job *job)
{
    bool less = job->input_count > 0 || cli_args_flag(job->args, "quick");
    return cli_args_flag(job->args, "proof") || (job->own.text && !less);
}

static void add_kinds(const verify_job *job, batch *next, const heed_problem *problem, size_t index)
{
    const lab_inputs *inputs[VERIFY_INPUTS_MAX];
    size_t count = choose_inputs(inputs, problem, index, job);
    bool properties = !cli_args_flag(job->args, "quick") || index % QUICK_PROPERTIES == 0;
    for (size_t i = 0; i < count; i++)
        next->cases[next->count++] = (lab_verify_case){ .problem = *problem,
                                                        .inputs = inputs[i],
                                                        .gates = properties ? UINT32_MAX
                                                                            : ~property_gates() };
}

/* Adds the cases of the @index-th problem to @next, after running those for which there is no more
 * room. */
static cli_exit add_problem(verify_job *job, batch *next, const heed_problem *problem, size_t index)
{
    bool large = extent(problem) > LARGE_BYTES;
    cli_exit code = is_full(job, next, large) ? run_batch(job, next) : CLI_OK;
    if (wants_proof(job))
        add_proof(job, next, problem);
    else
        add_kinds(job, next, problem, index);
    next->problems++;
    job->half_problems += problem->accumulate == HEED_ACC_F16;
    job->rounded_problems += problem->products != HEED_PRODUCTS_FULL;
    next->large = large;
    return code;
}

static cli_exit verify_problems(verify_job *job, const lab_problems *problems)
{
    batch next = { .room = (size_t)VERIFY_INPUTS_MAX * BATCH_PROBLEMS };
    next.cases = calloc(next.room, sizeof *next.cases);
    if (!next.cases) {
        cli_error("not enough memory for the problems");
        return CLI_ENVIRONMENT;
    }
    cli_exit code = CLI_OK;
    job->progress = lab_progress_start(&cli_sink, "verify", problems->count);
    for (size_t i = 0; i < problems->count && code == CLI_OK && !cli_interrupted(); i++)
        code = add_problem(job, &next, &problems->items[i], i);
    if (code == CLI_OK && !cli_interrupted())
        code = run_batch(job, &next);
    lab_progress_end(&job->progress);
    free(next.cases);
    return code;
}

/* Verifies with values from files, at the strides of their order there. */
static cli_exit verify_captured(verify_job *job, const cli_args *args)
{
    lab_verify_case captured = { .inputs = &lab_inputs_captured, .gates = UINT32_MAX };
    lab_campaign campaign = { .cases = &captured, .case_count = 1 };
    lab_values values;
    cli_inputs files;
    cli_exit code = cli_inputs_read(&files, args);
    if (code == CLI_OK)
        code = cli_inputs_problem(&captured.problem, &files, args);
    if (code == CLI_OK)
        code = cli_inputs_sort(&files);
    heed_status status = HEED_OK;
    memset(&values, 0, sizeof values);
    if (code == CLI_OK)
        status = lab_values_create(&values, &captured.problem);
    if (status != HEED_OK) {
        cli_error("not enough memory for the arrays");
        code = CLI_ENVIRONMENT;
    }
    if (code == CLI_OK) {
        memcpy(lab_values_data(&values, LAB_Q), files.q.tensor.data,
               lab_tensor_bytes(&files.q.tensor));
        memcpy(lab_values_data(&values, LAB_K), files.k.tensor.data,
               lab_tensor_bytes(&files.k.tensor));
        memcpy(lab_values_data(&values, LAB_V), files.v.tensor.data,
               lab_tensor_bytes(&files.v.tensor));
        lab_operands_fill(&values, LAB_OPERANDS_FINITE, job->options.seed);
        campaign.values = &values;
        job->problems++;
        code = run_campaign(job, &campaign);
    }
    lab_values_destroy(&values);
    cli_inputs_free(&files);
    return code;
}

static bool has_captured(const verify_job *job)
{
    return cli_args_text(job->args, "tensors") || cli_args_text(job->args, "q");
}

/* Reads the problems of the command line: operands and --shapes. */
static cli_exit read_problems(verify_job *job, const cli_args *args)
{
    bool specs = cli_args_operand_count(args) > 0 || cli_args_text(args, "shapes");
    return specs || !has_captured(job) ? cli_problems_read(&job->asked, args) : CLI_OK;
}

/* Verifies them, or values from files, or both. */
static cli_exit verify_all(verify_job *job, const cli_args *args)
{
    cli_exit code = verify_problems(job, &job->asked);
    if (code == CLI_OK && has_captured(job) && !cli_interrupted())
        code = verify_captured(job, args);
    return code;
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
        code = read_problems(job, args);
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
        code = verify_all(&job, args);
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
              "level that the machine has, up to HEED_CPU]" },
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
