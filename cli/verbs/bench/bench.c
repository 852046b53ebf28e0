/*
 * bench.c - `heed bench`: times kernels and their rivals, with confidence intervals
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/inputs.h"
#include "cli/base/source.h"
#include "cli/verbs/doctor/manifest.h"
#include "cli/verbs/roofline/roofline.h"
#include "measure/behind.h"

cli_exit bench_exit_of(lab_bench_outcome outcome)
{
    static const cli_exit codes[] = {
        [LAB_BENCH_OK] = CLI_OK,
        [LAB_BENCH_REFUSED] = CLI_UNSUPPORTED,
        [LAB_BENCH_SKIPPED] = CLI_OK,
        [LAB_BENCH_FAILED] = CLI_ENVIRONMENT,
        [LAB_BENCH_WRONG] = CLI_VERIFY_FAILED,
        [LAB_BENCH_IMPOSSIBLE] = CLI_FINDING,
    };
    return codes[outcome];
}

cli_exit bench_exit_of_work(heed_status status)
{
    return status == HEED_OK ? CLI_OK : CLI_INTERRUPTED;
}

static cli_exit tell_of_peers(heed_status status, const lab_error *error)
{
    if (status == HEED_ERR_SYSTEM)
        return CLI_INTERRUPTED;
    if (status != HEED_OK)
        cli_error("%s%s", status == HEED_ERR_INVALID ? "--peers: " : "", error->text);
    return cli_exit_of(status);
}

cli_exit bench_open_peers(lab_bench *bench)
{
    lab_error error;
    return tell_of_peers(lab_bench_rivals_open(bench, &error), &error);
}

cli_exit bench_check_peers(lab_bench *bench)
{
    lab_error error;
    return tell_of_peers(lab_bench_rivals_check(bench, &error), &error);
}

static const char *const efforts[] = { "estimate", "measure", "patient", NULL };

/* A load above this gets a warning: other programs use the cores. */
#define LOAD_QUIET 0.5

static void warn_if_busy(const lab_environment *environment)
{
    if (environment->load > LOAD_QUIET)
        cli_warning(
            "the load average of the last minute is %.2f: other programs disturb the figures",
            environment->load);
}

/* Measures the ceilings of the types in use, and the copy bandwidth, on a CPU that is timed by its
 * clock. */
static void measure_machine(lab_bench *bench, const bench_sources *sources)
{
    if (bench->replay)
        return;
    int cores = bench->environment.cores_allowed, threads = heed_context_threads(bench->context);
    for (size_t i = 0; i < sources->count; i++)
        lab_bench_ceiling(bench, sources->items[i].problem.type, false);
    if (lab_ceiling_copy(&bench->copy, cores > 0 && threads > cores ? cores : threads) != HEED_OK)
        bench->copy = 0;
}

cli_exit bench_measure(lab_bench *bench, const bench_sources *sources, const char *title)
{
    lab_progress progress = lab_progress_start(&cli_sink, title, sources->count);
    char spec[HEED_SPEC_SIZE];
    cli_exit code = CLI_OK;
    bench->rows = calloc(sources->count + 1, sizeof *bench->rows);
    if (!bench->rows) {
        cli_error("not enough memory for %zu problems", sources->count);
        return CLI_ENVIRONMENT;
    }
    for (size_t i = 0; code == CLI_OK && i < sources->count; i++) {
        heed_problem_print(&sources->items[i].problem, spec, sizeof spec);
        lab_progress_step(&progress, i, spec);
        code = bench_exit_of_work(lab_bench_measure(bench, &sources->items[i], &bench->rows[i]));
        bench->row_count += code == CLI_OK;
    }
    lab_progress_end(&progress);
    return code;
}

void bench_close(lab_bench *bench)
{
    for (size_t i = 0; i < bench->row_count; i++)
        lab_bench_row_free(&bench->rows[i]);
    free(bench->rows);
    bench->rows = NULL;
    bench->row_count = 0;
    lab_bench_rivals_close(bench);
}

/* Checks for requested backends of peers that are not available, whose names cannot be checked. */
static cli_exit check_backends(const lab_bench *bench)
{
    for (size_t i = 0; i < bench->rival_count; i++) {
        const lab_bench_rival *rival = &bench->rivals[i];
        if (!rival->peer && rival->outcome == LAB_BENCH_REFUSED && strchr(rival->name, '-')) {
            cli_error("--peers: '%s' was not compared: %s", rival->name, rival->reason);
            return CLI_ENVIRONMENT;
        }
    }
    return CLI_OK;
}

/* The worst outcome of heed, else of the user's source, else a missing backend. Figures of rivals
 * do not count. */
static cli_exit verdict(const lab_bench *bench)
{
    lab_bench_outcome worst = LAB_BENCH_OK;
    for (size_t i = 0; i < bench->row_count; i++)
        if (bench->rows[i].outcome > worst)
            worst = bench->rows[i].outcome;
    cli_exit code = bench_exit_of(worst != LAB_BENCH_OK ? worst : lab_bench_own_outcome(bench));
    return code == CLI_OK ? check_backends(bench) : code;
}

static cli_exit print(const lab_bench *bench, const cli_args *args)
{
    bool record = cli_args_given(args, "record");
    json_t *manifest = record ? cli_manifest_take() : NULL; /* stdout names it as well */
    cli_exit code = cli_args_json(args) ? bench_print_json(bench, manifest)
                                        : bench_print_table(bench);
    if (code == CLI_OK && record)
        code = bench_record(bench, args, manifest);
    json_decref(manifest);
    return code;
}

/* Checks that the user's kernel runs on all problems. */
static cli_exit open_own(const lab_bench *bench, cli_source *own, const bench_sources *sources)
{
    const cli_source_place place = { .on_host = heed_device_is_host(bench->context),
                                     .device = bench->device,
                                     .name = heed_context_device(bench->context) };
    if (!bench->own)
        return CLI_OK;
    heed_problem *problems = calloc(sources->count + 1, sizeof *problems);
    if (!problems)
        return CLI_ENVIRONMENT;
    for (size_t i = 0; i < sources->count; i++)
        problems[i] = sources->items[i].problem;
    cli_exit code = cli_source_check(own, &place, problems, sources->count);
    free(problems);
    return code;
}

/* Times and prints everything. */
static cli_exit run_bench(lab_bench *bench, const bench_sources *sources, const cli_args *args,
                          cli_source *own)
{
    if (cli_args_flag(args, "calibrate"))
        return cli_args_given(args, "duels") ? bench_duel_itself(bench, sources, args)
                                             : bench_calibrate(bench, sources, args);
    cli_exit code = open_own(bench, own, sources);
    if (code == CLI_OK)
        code = bench_open_peers(bench);
    if (code == CLI_OK) {
        if (!roofline_known(&bench->roofline, bench->context))
            memset(&bench->roofline, 0, sizeof bench->roofline);
        measure_machine(bench, sources);
        code = bench_measure(bench, sources, "timing");
        if (code == CLI_INTERRUPTED)
            cli_message("interrupted: %zu of %zu problem%s finished", bench->row_count,
                        sources->count, lab_plural(sources->count));
    }
    if (code == CLI_OK || code == CLI_INTERRUPTED) {
        cli_exit printed = print(bench, args);
        if (printed != CLI_OK)
            code = printed;
    }
    return code;
}

/* For --behind: loads a kernel that is launched before each call of a graph. */
static cli_exit open_behind(lab_bench *bench, lab_behind **behind)
{
    if (heed_device_is_host(bench->context)) {
        cli_error("--behind launches a kernel of another module before each call, which a CPU does "
                  "not have; use it with --device cuda");
        return CLI_USAGE;
    }
    heed_status status = lab_behind_create(behind, bench->context);
    if (status != HEED_OK)
        cli_error("--behind: %s",
                  status == HEED_ERR_NO_MEMORY ? "not enough memory" : heed_message());
    bench->behind = *behind;
    return cli_exit_of(status);
}

/* Checks options and files before any work. --calibrate compares a kernel with itself: options that
 * name another side are mistakes. Records contain heed and its rivals only, and a sandbox launches
 * no other kernel. */
static cli_exit check(const cli_args *args)
{
    static const cli_rule rules[] = {
        { "duels", "calibrate", false, NULL,
          "--duels counts verdicts of a kernel beside itself; add --calibrate" },
        { "record", "source", true, NULL,
          "--record keeps only heed and its rivals; leave out --source, or keep what --json "
          "prints" },
        { "behind", "source", true, NULL,
          "--behind times only heed and its rivals; leave out --source" },
        { .option = NULL },
    };
    static const char *const others[] = { "against", "peers", "record", "source" };
    size_t count = sizeof others / sizeof others[0];
    if (cli_args_given(args, "duels")) /* allows the last one, the source */
        count--;
    for (size_t i = 0; cli_args_flag(args, "calibrate") && i < count; i++)
        if (cli_args_given(args, others[i])) {
            cli_error("--calibrate compares each kernel only with itself; leave out --%s",
                      others[i]);
            return CLI_USAGE;
        }
    cli_exit code = cli_rules_check(args, rules);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    return code == CLI_OK ? cli_kernel_check_of(args, "against") : code;
}

/* Reads the options of the run. */
static lab_bench read_run(const cli_args *args)
{
    return (lab_bench){ .sink = &cli_sink,
                        .effort = (heed_effort)cli_args_choice(args, "effort"),
                        .kernel = cli_args_text(args, "kernel"),
                        .against = cli_args_text(args, "against"),
                        .rival_names = cli_args_text(args, "peers"),
                        .seconds = cli_args_real(args, "seconds"),
                        .margin = cli_args_real(args, "margin") / 100,
                        .cold = cli_args_flag(args, "cold"),
                        .replay = cli_args_flag(args, "replay"),
                        .seed = (uint64_t)cli_args_integer(args, "seed") };
}

static cli_exit run(const cli_args *args)
{
    lab_bench bench = read_run(args);
    bool calibrate = cli_args_flag(args, "calibrate");
    bench_sources sources = { .count = 0 };
    cli_source own = { .text = NULL };
    lab_behind *behind = NULL;
    lab_bench_own opponent = { .name = own.name,
                               .path = cli_args_text(args, "source"),
                               .worker = &own.worker };
    cli_exit code = check(args);
    if (code == CLI_OK && opponent.path && !calibrate) {
        bench.own = &opponent;
        code = cli_source_read(&own, args);
    }
    if (code == CLI_OK)
        code = bench_sources_read(&sources, args);
    if (code == CLI_OK)
        code = cli_context_open(&bench.context, args);
    if (code == CLI_OK) {
        lab_bench_look_at_device(&bench, cli_device(args));
        if (heed_device_is_host(bench.context))
            warn_if_busy(&bench.environment);
        if (cli_args_flag(args, "behind"))
            code = open_behind(&bench, &behind);
    }
    if (code == CLI_OK)
        code = run_bench(&bench, &sources, args, &own);
    if (code == CLI_OK)
        code = cli_wisdom_save(bench.context, args);
    if (code == CLI_OK && !calibrate)
        code = verdict(&bench);
    lab_behind_destroy(behind);
    bench_close(&bench);
    heed_context_destroy(bench.context);
    bench_sources_free(&sources);
    cli_source_free(&own);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_PATH("tensors", 0, "FILE",
             "Also time the captured values in FILE, a .safetensors file: every q, k and v with "
             "the same "
             "prefix is a problem"),
    CLI_OPTION_LAYOUT,
    CLI_OPTION_WORDS("Further words of the specs of the problems in that file, such as 'causal'"),
    CLI_OPTION_KERNEL,
    OPT_TEXT("against", 0, "NAME",
             "Also compare with this kernel of heed's, named as for --kernel"),
    CLI_OPTION_SOURCE(
        "Prove this kernel of your own, a .c or .cu file (docs/your-own-kernel.md), and time it in "
        "turns with heed; rivals are then only those of --peers. With --duels: time "
        "the C file beside a copy of itself, each in its sandbox"),
    OPT_CHOICE("effort", 'e', "EFFORT", efforts, "estimate",
               "How to choose heed's kernel: by a cost model, by timing every kernel, or "
               "every config of every kernel"),
    OPT_TEXT("peers", 0, "LIST",
             "Rivals to time, separated by commas, or none [default: all that are found]. Each "
             "backend of a rival counts as one, such as torch-flash; fa2, fa3, flashinfer and flex "
             "are timed only if they are named"),
    OPT_REAL("seconds", 0, "N", 0.01, 3600, "1",
             "Seconds to time heed, and each rival beside it, on each problem; slow ones "
             "take longer"),
    CLI_OPTION_MARGIN("Treat differences up to this as none"),
    OPT_FLAG("calibrate", 0,
             "Compare each kernel with itself for --seconds, and print the smallest difference "
             "that can be detected here"),
    OPT_REAL("detect", 0, "PERCENT", 0.1, 100, "2",
             "With --calibrate: warn if a difference of PERCENT cannot be detected"),
    OPT_INTEGER("duels", 0, "N", 1, 100000, NULL,
                "With --calibrate: make N comparisons of --seconds, and print how often the "
                "verdict is wrong"),
    OPT_REAL("planted", 0, "PERCENT", 0, 100, "0",
             "With --duels and --source: slow the copy down by PERCENT of its CPU time, so "
             "that FASTER is the right verdict"),
    OPT_REAL("time-limit", 0, "SECONDS", 0.001, 1e6, "1e6",
             "With --duels: start no comparison after SECONDS"),
    CLI_OPTION_COLD,
    OPT_FLAG("replay", 0, "Time captured sequences of calls, as always on a GPU"),
    OPT_FLAG("behind", 0,
             "On a GPU: launch a kernel of another module, of one element, before each call of a "
             "graph, as in a model; it is in the figures of all sides"),
    OPT_PATH("record", 0, "FOLDER",
             "Also write all figures, samples and tool versions to one JSON file below FOLDER, by "
             "device and date; 'heed report' reads it"),
    CLI_OPTION_SEED(
        "Seed of the random values, of the rows that are checked, and of the intervals"),
    { .table = cli_machine_options },
    CLI_OPTION_WISDOM,
    { .name = NULL },
};

const cli_verb cli_verb_bench = {
    .name = "bench",
    .summary = "time kernels beside their rivals",
    .operands = { "[SPEC...]", 0, CLI_ANY },
    .description =
        "Prints for each problem the median (p50) and the 90th percentile of the time of a "
        "call, the rate, and its share of this machine's measured limit. On a GPU, the "
        "device times graphs of calls; eager is a single call by the host's clock, launch "
        "the host's share of it.\n"
        "\n"
        "Rivals are separate programs that take turns with heed in blocks of calls. "
        "rival/heed is the rival's time over heed's, with a 99 % interval: FASTER or "
        "SLOWER if it lies beyond the margin, EQUIVALENT if within, AMBIGUOUS if it "
        "crosses; then more --seconds may help.\n"
        "\n"
        "Timed outputs are checked; a wrong one has a reason instead of a figure. With "
        "--source a kernel of your own is timed once it has passed all gates. With "
        "--calibrate kernels are compared with themselves, to find the smallest detectable "
        "difference. docs/measuring.md has the method.",
    .examples = "  heed bench --shapes shapes/seed.txt --peers openblas --json > bench.json\n"
                "  heed bench --device cuda --cold --peers torch-flash,torch-cudnn --shapes "
                "shapes/rivals.txt\n"
                "  heed bench --source mine.c --threads 1 b1 h8 s512 d64 f32",
    .status = "The exit status is 5 if a source is wrong, and 4 if it refuses a problem.",
    .options = options,
    .run = run,
};
