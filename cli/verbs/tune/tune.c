/*
 * tune.c - `heed tune`: searches and proves the fastest kernel and config for each problem
 */
#include "tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/inputs.h"
#include "src/measure.h"
#include "wisdom_line.h"

/* -------------------------------------------------------------------------- */
/* Before                                                                     */
/* -------------------------------------------------------------------------- */

static bool is_known(const lab_tune *tune, const char *spec)
{
    for (size_t i = 0; i < tune->count; i++)
        if (strcmp(tune->shapes[i].spec, spec) == 0)
            return true;
    return false;
}

/* Captured values of several layers may have one problem: it is tuned on the first of them. */
static cli_exit open_problems(tune_run *run)
{
    const cli_args *args = run->args;
    lab_tune *tune = &run->tune;
    bool named = cli_args_operand_count(args) > 0 || cli_args_text(args, "shapes") ||
                 cli_args_text(args, "tensors");
    cli_exit code = named ? bench_sources_read(&run->sources, args)
                          : bench_sources_canonical(&run->sources);
    if (code != CLI_OK)
        return code;
    tune->shapes = calloc(run->sources.count + 1, sizeof *tune->shapes);
    run->kept = calloc(run->sources.count + 1, sizeof *run->kept);
    if (!tune->shapes || !run->kept) {
        cli_error("not enough memory for %zu problems", run->sources.count);
        return CLI_ENVIRONMENT;
    }
    for (size_t i = 0; i < run->sources.count; i++) {
        char spec[HEED_SPEC_SIZE];
        heed_problem_print(&run->sources.items[i].problem, spec, sizeof spec);
        if (is_known(tune, spec))
            continue;
        lab_tune_shape *shape = &tune->shapes[tune->count++];
        shape->source = &run->sources.items[i];
        snprintf(shape->spec, sizeof shape->spec, "%s", spec);
    }
    return CLI_OK;
}

/* The space of --space, or all that come with heed. */
static cli_exit load_spaces(tune_run *run)
{
    const char *const wanted[] = { cli_args_text(run->args, "space"), NULL };
    const char *const *names = wanted[0] ? wanted : sweep_spaces;
    lab_tune_spaces *spaces = &run->tune.spaces;
    cli_exit code = CLI_OK;
    *spaces = (lab_tune_spaces){ .names = run->names, .items = run->spaces };
    for (size_t i = 0; names[i] && code == CLI_OK; i++) {
        code = cli_space_load(&run->spaces[i], names[i], "--space: ");
        run->names[i] = names[i];
        spaces->count += code == CLI_OK;
    }
    return code;
}

/* Describes the machine and its tools, which takes long the first time. */
static void look_at_place(tune_run *run)
{
    lab_tune *tune = &run->tune;
    lab_bench *bench = &tune->bench;
    cli_board_place_read(&run->place, bench->context);
    cli_session_place(&tune->session, &run->place);
    bench->roofline = run->place.ceilings;
    tune->rebuild = cli_rebuild_options(run->args);
}

/* -------------------------------------------------------------------------- */
/* The run                                                                    */
/* -------------------------------------------------------------------------- */

/* A wrong champion, of whatever origin, decides the exit code. */
static cli_exit verdict(const lab_tune *tune)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < tune->count; i++) {
        const lab_tune_shape *shape = &tune->shapes[i];
        if (shape->before.outcome == LAB_BENCH_WRONG || shape->proven == LAB_REFUTED)
            return CLI_VERIFY_FAILED;
        if (shape->before.outcome == LAB_BENCH_FAILED)
            code = CLI_ENVIRONMENT;
    }
    return code;
}

/* Makes wisdom of the final leaders, new or old, that have passed all gates. */
static void keep(tune_run *run)
{
    const lab_tune *tune = &run->tune;
    const char *path = cli_args_text(run->args, "wisdom");
    size_t kept = 0;
    for (size_t i = 0; i < tune->count; i++) {
        const lab_tune_shape *shape = &tune->shapes[i];
        double seconds = lab_tune_proved_seconds(shape);
        if (!(seconds > 0))
            continue;
        run->kept[i] = heed_wisdom_learn(tune->bench.context, &shape->source->problem,
                                         lab_tune_contender(shape), seconds) == HEED_OK;
        kept += run->kept[i];
        if (!run->kept[i])
            cli_warning("%s: no wisdom: %s", shape->spec, heed_message());
    }
    if (path && kept < tune->count)
        cli_message("--wisdom: %s gets %zu of %zu problem%s; of the others nothing was proved, and "
                    "more --seconds may change that",
                    path, kept, tune->count, lab_plural(tune->count));
}

static cli_exit end_run(const lab_tune *tune, cli_exit code)
{
    code = cli_session_end(&tune->session, code, NULL);
    if (code == CLI_INTERRUPTED)
        cli_message("interrupted: every trial is on the board, as run %lld, and the same command "
                    "goes on from there",
                    (long long)tune->session.run);
    return code;
}

static cli_exit run_tune(tune_run *run)
{
    lab_tune *tune = &run->tune;
    cli_exit code = bench_check_peers(&tune->bench); /* a misspelt name must not create a board */
    if (code == CLI_OK)
        code = cli_board_open(&tune->session.record, LAB_RECORD_WRITE, run->args);
    if (code == CLI_OK) {
        look_at_place(run);
        code = cli_exit_of_work(lab_tune_begin(tune), &tune->trouble);
    }
    if (code == CLI_OK)
        code = cli_session_begun(&tune->session, true);
    if (code == CLI_OK)
        code = bench_open_peers(&tune->bench);
    if (code == CLI_OK)
        code = end_run(tune, cli_exit_of_work(lab_tune_run(tune), &tune->trouble));
    if (code == CLI_OK)
        keep(run);
    if (code == CLI_OK)
        code = tune_report(run);
    if (code == CLI_OK)
        code = cli_wisdom_save(tune->bench.context, run->args);
    lab_bench_rivals_close(&tune->bench);
    lab_record_close(tune->session.record);
    return code == CLI_OK ? verdict(tune) : code;
}

static void close_run(tune_run *run)
{
    lab_tune *tune = &run->tune;
    lab_tune_free(tune);
    for (size_t i = 0; i < tune->spaces.count; i++)
        lab_space_free(&run->spaces[i]);
    free(tune->shapes);
    free(run->kept);
    cli_board_tools_free(&run->place.tools);
    bench_sources_free(&run->sources);
    lab_time_judge_destroy(tune->judge);
    heed_context_destroy(tune->bench.context);
}

static cli_exit run(const cli_args *args)
{
    tune_run run = { .args = args, .machine = cli_machine(args) };
    const uint64_t seed = (uint64_t)cli_args_integer(args, "seed");
    const bool cold = cli_args_flag(args, "cold");
    run.tune = (lab_tune){ .bench = { .sink = &cli_sink,
                                      .rival_names = cli_args_text(args, "peers"),
                                      .margin = 0.01,
                                      .cold = cold,
                                      .seed = seed },
                           .session = { .verb = "tune", .seed = seed, .cold = cold },
                           .prover = cli_prover(&run.machine),
                           .device = run.machine.device,
                           .insights = (lab_insight_mode)cli_args_choice(args, "insights"),
                           .seconds = cli_args_real(args, "seconds"),
                           .start_ns = heed_clock_ns(),
                           .trials = cli_args_integer(args, "trials"),
                           .duel = cli_args_real(args, "duel"),
                           .rivals = cli_args_real(args, "rivals"),
                           .judge = lab_time_judge_create() };
    cli_exit code = open_problems(&run);
    if (code == CLI_OK)
        code = load_spaces(&run);
    if (code == CLI_OK)
        code = cli_context_open(&run.tune.bench.context, args);
    if (code == CLI_OK) {
        lab_bench_look_at_device(&run.tune.bench, run.tune.device);
        code = run_tune(&run);
    }
    close_run(&run);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_PATH("tensors", 0, "FILE",
             "Also tune for the captured values in FILE, a .safetensors file: every q, k and v "
             "with the same prefix is a problem; equal problems count once"),
    CLI_OPTION_LAYOUT,
    CLI_OPTION_WORDS("Further words of the specs of the problems in that file, such as 'causal'"),
    OPT_REAL("seconds", 0, "S", 0.01, 1e7, "60",
             "Seconds for everything: rivals, searches, comparisons and gates of all "
             "problems together"),
    OPT_INTEGER("trials", 'n', "N", 1, 1048576, NULL,
                "Maximum number of points to launch for each problem, by sweep and evolution "
                "together [default: as many as there is time for]"),
    OPT_PATH("space", 0, "SPACE",
             "Search only this space [default: those of all kernels that support the problem]"),
    OPT_REAL("duel", 0, "S", 0.01, 3600, "2",
             "Maximum seconds to compare the best of a search with the champion, twice"),
    OPT_REAL("rivals", 0, "S", 0.01, 3600, "0.3",
             "Seconds to time heed, and each rival beside it, on each problem"),
    OPT_TEXT("peers", 0, "LIST",
             "Rivals to time, separated by commas, or none [default: all that are found]"),
    SWEEP_OPTION_COLD,
    CLI_OPTION_SEED("Seed of the searches, the values, and the order of the blocks"),
    CLI_OPTION_INSIGHTS,
    CLI_OPTION_UNSAFE,
    CLI_OPTION_BOARD,
    CLI_OPTION_WISDOM,
    { .table = cli_machine_options },
    { .name = NULL },
};

const cli_verb cli_verb_tune = {
    .name = "tune",
    .summary = "search, prove and rank kernels for a list of problems",
    .operands = { "[SPEC...]", 0, CLI_ANY },
    .description =
        "Times the champion of each problem, or heed's plan, beside its rivals; then "
        "sweeps the spaces of all kernels that support the problem, and evolves the best "
        "config. The winner is timed in turns with the champion and replaces it if it is "
        "FASTER by 3 %, with 99 % confidence for all problems together, again on fresh "
        "samples, and passes all gates of 'heed verify'. Without a problem it takes the "
        "list seed. If nothing is faster, heed says so.\n"
        "\n"
        "The whole run takes --seconds and the remainder of the last step. It names the steps "
        "that it had no time for. A user's source that leads the board is challenged as "
        "well, in a sandbox.\n"
        "\n"
        "Every trial is put on the board before the next one begins, so the same command "
        "resumes after an interruption. --wisdom saves the best proven kernel of each "
        "problem for planning.",
    .examples = "  heed tune --seconds 600 --wisdom heed.wisdom 'b1 h8 s512 d64 f32'\n"
                "  heed tune --shapes rivals --device cuda --peers torch-flash,torch-cudnn --cold",
    .status = "The exit status is 0 with or without an improvement, and 5 if a kernel computes a "
              "wrong result.",
    .options = options,
    .run = run,
};
