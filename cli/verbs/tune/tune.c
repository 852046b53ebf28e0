/*
 * tune.c - `heed tune`: the fastest kernel and config for each problem, and the proof
 */
#include "tune.h"

#include "cli/base/inputs.h"
#include "src/measure.h"

/* -------------------------------------------------------------------------- */
/* The run                                                                    */
/* -------------------------------------------------------------------------- */

/* A champion that is wrong, whoever it is of, is the worst that can be found out. */
static cli_exit verdict(const tune_run *tune)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < tune->count; i++) {
        if (tune->shapes[i].before.outcome == LAB_BENCH_WRONG ||
            tune->shapes[i].proof == TUNE_REFUTED)
            return CLI_VERIFY_FAILED;
        if (tune->shapes[i].before.outcome == LAB_BENCH_FAILED)
            code = CLI_ENVIRONMENT;
    }
    return code;
}

static cli_exit tune_all(tune_run *tune)
{
    cli_exit code = tune_find_champions(tune);
    if (code == CLI_OK)
        code = tune_time_all(tune, false);
    if (code == CLI_OK)
        code = tune_search(tune);
    if (code == CLI_OK)
        code = tune_challenge(tune);
    if (code == CLI_OK)
        code = tune_time_all(tune, true);
    if (code == CLI_OK)
        code = tune_prove(tune, false);
    return code;
}

static cli_exit end_run(tune_run *tune, cli_exit code)
{
    code = cli_session_end(&tune->session, code, NULL);
    if (code == CLI_INTERRUPTED)
        cli_message("interrupted: every trial is on the board, as run %lld, and the same command "
                    "goes on from there",
                    (long long)tune->session.run);
    return code;
}

static cli_exit run_tune(tune_run *tune)
{
    cli_exit code = bench_check_peers(&tune->bench); /* a misspelt one leaves no board behind */
    if (code == CLI_OK)
        code = cli_board_open(&tune->session.record, LAB_RECORD_WRITE, tune->args);
    if (code == CLI_OK)
        code = tune_open_run(tune);
    tune->bench.deadline_ns = tune_until(tune, TUNE_BASELINES);
    if (code == CLI_OK)
        code = bench_open_peers(&tune->bench);
    if (code == CLI_OK)
        code = end_run(tune, tune_all(tune));
    if (code == CLI_OK)
        tune_keep(tune);
    if (code == CLI_OK)
        code = tune_report(tune);
    if (code == CLI_OK)
        code = cli_wisdom_save(tune->bench.context, tune->args);
    lab_bench_rivals_close(&tune->bench);
    lab_record_close(tune->session.record);
    return code == CLI_OK ? verdict(tune) : code;
}

/* Adapts the run to the device. */
static void look_at_device(tune_run *tune)
{
    lab_bench *bench = &tune->bench;
    lab_bench_look_at_device(bench, tune->options.machine.device);
    cli_board_place_read(&tune->place, bench->context);
    cli_session_place(&tune->session, &tune->place);
    bench->roofline = tune->place.ceilings;
    tune->rerun = (lab_rerun_place){ .options = cli_rebuild_options(tune->args),
                                     .context = bench->context,
                                     .device = bench->device,
                                     .sink = &cli_sink,
                                     .threads = bench->host_threads,
                                     .seed = tune->options.seed };
}

static cli_exit run(const cli_args *args)
{
    tune_run tune = { .args = args,
                      .options = sweep_options_read(args),
                      .duel = cli_args_real(args, "duel"),
                      .rivals = cli_args_real(args, "rivals"),
                      .start_ns = heed_clock_ns(),
                      .judge = lab_time_judge_create() };
    tune.session = (lab_session){ .verb = "tune",
                                  .seed = tune.options.seed,
                                  .cold = tune.options.cold };
    tune.bench = (lab_bench){ .sink = &cli_sink,
                              .rival_names = cli_args_text(args, "peers"),
                              .margin = 0.01,
                              .cold = tune.options.cold,
                              .seed = tune.options.seed };
    cli_exit code = tune_open_problems(&tune);
    if (code == CLI_OK)
        code = tune_check_space(&tune);
    if (code == CLI_OK)
        code = cli_context_open(&tune.bench.context, args);
    if (code == CLI_OK) {
        look_at_device(&tune);
        code = run_tune(&tune);
    }
    tune_free(&tune);
    lab_time_judge_destroy(tune.judge);
    heed_context_destroy(tune.bench.context);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_PATH("tensors", 0, "FILE",
             "Also tune for the captured values in FILE, a .safetensors file: every q, k and v "
             "with the same prefix is a problem, of equal ones the first"),
    CLI_OPTION_LAYOUT,
    CLI_OPTION_WORDS("Further words of the specs of the problems in that file, such as 'causal'"),
    OPT_REAL("seconds", 0, "S", 0.01, 1e7, "60",
             "Seconds for everything: rivals, searches, comparisons and gates of all "
             "problems together"),
    OPT_INTEGER("trials", 'n', "N", 1, 1048576, NULL,
                "Maximum number of points to launch for each problem, by sweep and evolution "
                "together [default: as many as there is time for]"),
    OPT_PATH("space", 0, "SPACE",
             "Search this space alone [default: those of all kernels that take the problem]"),
    OPT_REAL("duel", 0, "S", 0.01, 3600, "2",
             "Maximum seconds to compare the best of a search with the champion, twice"),
    OPT_REAL("rivals", 0, "S", 0.01, 3600, "0.3",
             "How long to time heed, and each rival beside it, on each problem"),
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
        "samples, and passes all gates of 'heed verify'. Without a problem the list seed "
        "is tuned for. If nothing is faster, heed says so.\n"
        "\n"
        "All of this takes --seconds; only the step under way is finished. Steps for which "
        "no time was left are named. A user's source that leads the board is challenged as "
        "well, in a sandbox.\n"
        "\n"
        "Every trial is put on the board before the next one begins, so the same command "
        "resumes after an interruption. --wisdom saves the best proven kernel of each "
        "problem for planning.\n"
        "\n"
        "Examples:\n"
        "\n"
        "  heed tune --seconds 600 --wisdom heed.wisdom 'b1 h8 s512 d64 f32'\n"
        "  heed tune --shapes rivals --device cuda --peers torch-flash,torch-cudnn --cold\n"
        "\n"
        "The exit status is 0 with or without an improvement, and 5 if a kernel computes a "
        "wrong result.",
    .options = options,
    .run = run,
};
