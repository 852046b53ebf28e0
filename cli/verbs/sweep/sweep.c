/*
 * sweep.c - `heed sweep`: searches a space of configs for the fastest one
 */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"

#define NS_PER_SECOND 1e9

/* -------------------------------------------------------------------------- */
/* The search                                                                 */
/* -------------------------------------------------------------------------- */

/* Progress, and the best so far. */
static void tried(void *data, const lab_try *one, const lab_try *best)
{
    sweep_run *run = data;
    char text[LAB_FORMAT_SIZE], line[LAB_POINT_TEXT] = "", what[LAB_POINT_TEXT + 64] = "";
    if (best) {
        const lab_point point = lab_space_at(&run->sweep.space, best->index);
        lab_point_print(&run->sweep.space, &point, line);
        snprintf(what, sizeof what, "best %s %s", lab_format_seconds(exp(best->score), text), line);
    }
    lab_progress_step(&run->progress, one->trial, what);
}

static cli_exit search(sweep_run *run)
{
    const lab_evaluator evaluator = lab_sweep_evaluator(&run->sweep);
    const char *strategy = cli_args_text(run->args, "strategy");
    int64_t trials = cli_args_integer(run->args, "trials");
    size_t start_count = 0;
    lab_error error;
    lab_point *starts = lab_sweep_find_starts(&run->sweep, &start_count);
    bool all = strcmp(strategy, "exhaustive") == 0;
    const lab_search_options options = {
        .strategy = strategy,
        .seed = run->seed,
        .trials = trials > 0 ? trials : 0,
        .budget_ns = (int64_t)(cli_args_real(run->args, "seconds") * NS_PER_SECOND),
        .starts = starts,
        .start_count = all ? 0 : start_count,
        .interrupted = cli_interrupted,
        .tried = tried,
        .data = run
    };
    int64_t points = lab_space_count(&run->sweep.space);
    run->progress = lab_progress_start(&cli_sink, "sweep",
                                       (size_t)(trials > 0 && trials < points ? trials : points));
    heed_status status = lab_search_run(&run->sweep.search, &run->sweep.space, &evaluator, &options,
                                        &error);
    lab_progress_end(&run->progress);
    free(starts);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    if (status != HEED_OK) {
        cli_error("%s%s%s", error.text, *run->sweep.trouble.text ? ": " : "",
                  run->sweep.trouble.text);
        return cli_exit_of(status);
    }
    return CLI_OK;
}

/* Returns the best point that was timed on all problems; NULL: none. */
static const lab_try *best_of(const sweep_run *run)
{
    const lab_try *best = lab_search_get(run->sweep.search).best;
    return best && best->shapes == (int)run->sweep.problems.count ? best : NULL;
}

/* The next of the best points that has not been verified; NULL: none. */
static const lab_try *next_finalist(const sweep_run *run)
{
    const lab_search_result result = lab_search_get(run->sweep.search);
    const lab_try *best = best_of(run);
    if (best && strcmp(sweep_gates_word(&run->gates, best->index), "unknown") == 0)
        return best;
    for (size_t i = 0; best && i < result.count; i++) {
        const lab_try *one = result.tries + i;
        if (isfinite(one->score) && one->shapes == best->shapes &&
            one->efforts[0] == best->efforts[0] && one->efforts[0] > 0 &&
            strcmp(sweep_gates_word(&run->gates, one->index), "unknown") == 0)
            return one;
    }
    return NULL;
}

/* Verifies all finalists and drops those that fail. */
static heed_status verify_finalists(sweep_run *run)
{
    const lab_try *one;
    heed_status status = HEED_OK;
    lab_proven proven = LAB_PROVEN; /* if heed verify cannot be run once, it is not tried again */
    while (status == HEED_OK && proven != LAB_UNTOLD && (one = next_finalist(run))) {
        status = lab_sweep_prove(&run->gates, one->index, &proven);
        if (status != HEED_OK || proven != LAB_REFUTED)
            continue;
        status = lab_sweep_add_refused(&run->sweep, one->index);
        lab_search_disqualify(run->sweep.search, one->index, "it does not pass all gates");
        run->wrong++;
    }
    const lab_try *best = best_of(run);
    run->verified = best && lab_sweep_proven(&run->gates, best->index) == LAB_PROVEN;
    return status;
}

static cli_exit judge_best(sweep_run *run)
{
    heed_status status = HEED_OK;
    lab_sweep_find_usual(&run->sweep);
    if (!cli_args_flag(run->args, "no-verify"))
        status = verify_finalists(run);
    if (status == HEED_OK && best_of(run) && !cli_args_flag(run->args, "no-compare"))
        status = lab_sweep_compare(&run->gates, best_of(run)->index, run->seed);
    return sweep_exit(&run->sweep, status);
}

static void say_how_to_resume(const sweep_run *run)
{
    const char *path = run->sweep.record_path;
    if (run->sweep.session)
        cli_message("interrupted: all trials are on the board, and the same command goes on from "
                    "there");
    else if (path)
        cli_message("interrupted: all trials are in %s, and the same command goes on from there",
                    path);
    else
        cli_message("interrupted: with --record FILE a sweep can be resumed");
}

/* Reports that nothing could be tried, with the reason for the first point. */
static cli_exit say_nothing_ran(sweep_run *run)
{
    const lab_evaluator evaluator = lab_sweep_evaluator(&run->sweep);
    const lab_search_result result = lab_search_get(run->sweep.search);
    const lab_point first = lab_space_at(&run->sweep.space, 0);
    char name[HEED_NAME_SIZE] = "", why[LAB_WHY_SIZE] = "";
    lab_error error = { "" };
    if (result.refused < result.points)
        cli_error("no point of %s ran%s", run->sweep.space.name,
                  result.end == LAB_SEARCH_TIME ? ": there was no time for one, see --seconds"
                                                : "");
    else if (!lab_space_allows(&run->sweep.space, &first, &error))
        cli_error("no point of %s satisfies its constraints; the first one fails: %s",
                  run->sweep.space.name, error.text);
    else if (evaluator.refuse(evaluator.data, &first, why)) {
        lab_space_name(&run->sweep.space, &first, run->sweep.kernel, name, &error);
        cli_error("no point of %s is taken: the first one, %s, is refused: %s",
                  run->sweep.space.name, *name ? name : "which has no name", why);
    }
    return CLI_FINDING;
}

static cli_exit search_and_judge(sweep_run *run, const cli_args *args)
{
    lab_sweep *sweep = &run->sweep;
    cli_exit code = sweep_open_device(sweep, args);
    if (code == CLI_OK)
        code = sweep_choose_kernel(sweep, args);
    if (code == CLI_OK)
        code = sweep_open_record(sweep);
    if (code == CLI_OK)
        code = sweep_open_board(run, args);
    if (code == CLI_OK)
        code = sweep_exit(sweep, lab_sweep_pool_start(sweep));
    if (code != CLI_OK)
        return code;
    code = search(run);
    if (code == CLI_OK)
        code = judge_best(run);
    if (code == CLI_INTERRUPTED)
        say_how_to_resume(run);
    if (run->sweep.search && (code == CLI_OK || code == CLI_INTERRUPTED)) {
        cli_exit printed = sweep_report(run);
        code = printed != CLI_OK ? printed : code;
    }
    if (code == CLI_OK && run->wrong > 0)
        code = CLI_VERIFY_FAILED;
    if (code == CLI_OK && !lab_search_get(run->sweep.search).best)
        code = say_nothing_ran(run);
    return code;
}

static cli_exit sweep_static(sweep_run *run, const cli_args *args)
{
    cli_exit code = sweep_read_arch(&run->sweep, args);
    if (code == CLI_OK)
        code = sweep_choose_kernel(&run->sweep, args);
    if (code == CLI_OK)
        code = sweep_exit(&run->sweep, lab_sweep_pool_start(&run->sweep));
    return code == CLI_OK ? sweep_report_static(run) : code;
}

static void close_run(sweep_run *run)
{
    lab_sweep *sweep = &run->sweep;
    lab_record_close(run->session.record);
    cli_board_tools_free(&run->place.tools);
    free(run->gates.items);
    lab_sweep_pool_stop(sweep->pool);
    lab_search_free(sweep->search);
    lab_trials_free(&sweep->known);
    if (sweep->record)
        fclose(sweep->record);
    lab_sweep_shapes_free(sweep);
    lab_time_judge_destroy(sweep->judge);
    heed_context_destroy(sweep->context);
    cli_problems_free(&sweep->problems);
    lab_space_free(&sweep->space);
}

static cli_exit run_verb(const cli_args *args)
{
    sweep_run run = { .args = args,
                      .machine = cli_machine(args),
                      .seed = (uint64_t)cli_args_integer(args, "seed"),
                      .sweep = { .sink = &cli_sink,
                                 .record_path = cli_args_text(args, "record") } };
    const char *replay = cli_args_text(args, "replay");
    run.session = (lab_session){ .verb = "sweep",
                                 .seed = run.seed,
                                 .cold = cli_args_flag(args, "cold") };
    run.gates = (lab_sweep_gates){ .sweep = &run.sweep, .prover = cli_prover(&run.machine) };
    cli_exit code = sweep_load_space(&run.sweep, args);
    if (code == CLI_OK && replay)
        code = sweep_replay(&run, args, replay);
    else if (code == CLI_OK)
        code = sweep_load_problems(&run.sweep, args, 1);
    if (code == CLI_OK && !replay)
        code = cli_args_text(args, "static")
                   ? sweep_static(&run, args)
                   : cli_session_end(&run.session, search_and_judge(&run, args), NULL);
    close_run(&run);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static const char *const strategies[] = { "model", "exhaustive", "random", "halving",
                                          "local", "evolution",  NULL };

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_CHOICE("strategy", 0, "NAME", strategies, "model",
               "How to search: model predicts the improvement of each point, exhaustive tries all "
               "points, random tries some, halving tries many on few problems and then few on "
               "many, local moves to better neighbours, evolution mutates and crosses points. With "
               "--replay, only this strategy"),
    OPT_INTEGER("trials", 'n', "N", 1, 1048576, NULL,
                "Maximum number of points to time; pruned points do not count [default: all]"),
    SWEEP_OPTION_SECONDS,
    CLI_OPTION_SEED(
        "Seed of the strategy: with the same results, the same seed tries the same points"),
    OPT_PATH("record", 'o', "FILE",
             "Append every trial to FILE, and reuse those that it has, so that the same "
             "command resumes an interrupted sweep"),
    CLI_OPTION_BOARD,
    OPT_FLAG("no-board", 0, "Put no trials on the board"),
    OPT_PATH("replay", 0, "FILE",
             "Run nothing: print how many of the trials in FILE each strategy needs"),
    OPT_INTEGER("runs", 0, "N", 1, 100000, "200",
                "With --replay, number of runs of each strategy, each with a different seed"),
    OPT_REAL("within", 0, "PERCENT", 0.01, 1000, "5",
             "With --replay, how close to the best time a strategy must come"),
    OPT_REAL("noise", 0, "PERCENT", 0, 100, "0",
             "With --replay, standard deviation of noise that is added to the recorded times"),
    OPT_TEXT("static", 0, "ARCH",
             "Run nothing: compile every point for an architecture such as sm_90, without a "
             "GPU, and print its resource usage and which points are pruned"),
    OPT_INTEGER("spills", 0, "BYTES", 0, 1048576, NULL,
                "Prune configs that spill more than BYTES per thread, stores and loads together "
                "[default: the space's limit, else 0]"),
    SWEEP_OPTION_COLD,
    OPT_FLAG("no-compare", 0, "Do not time the best point beside heed's plan"),
    OPT_FLAG("no-verify", 0, "Do not run the best points through all gates of 'heed verify'"),
    CLI_OPTION_KERNEL,
    { .table = cli_machine_options },
    { .name = NULL },
};

const cli_verb cli_verb_sweep = {
    .name = "sweep",
    .summary = "search a space of configs",
    .operands = { "SPACE SPEC...", 1, CLI_ANY },
    .description =
        "Searches the points of SPACE, a text file that names a kernel, its knobs with "
        "their values, and constraints; sweep90, mma, wgmma, cpu_tile and cpu_few come "
        "with heed. Each point is timed on every problem; the best has the smallest geometric "
        "mean.\n"
        "\n"
        "For a GPU, points are compiled on all cores while others run, and those that "
        "spill registers or do not fit are pruned before launch. The output of each point "
        "is checked on some rows. At the end the best few are timed again, longer, and go "
        "through all gates of 'heed verify'; the best of these is timed in turns with "
        "heed's plan. Every trial is put on the board (see 'heed board') before the next "
        "one begins, and the same command resumes an interrupted sweep.",
    .examples = "  heed sweep cpu_tile 'b1 h8 s512 d64 f32' --trials 20\n"
                "  heed sweep sweep90 --shapes seed --strategy exhaustive --record trials.txt\n"
                "  heed sweep sweep90 'b2 h8 s512 d64 f16' --static sm_90",
    .status = "The exit status is 1 if no point ran, and 5 if the best one was wrong: then the "
              "next one is shown.",
    .options = options,
    .run = run_verb,
};
