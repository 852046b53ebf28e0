/*
 * sweep.c - `heed sweep`: the fastest config of a kernel, out of a space of them
 */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "src/measure.h"

#define NS_PER_SECOND 1e9

/* -------------------------------------------------------------------------- */
/* The search                                                                 */
/* -------------------------------------------------------------------------- */

/* Progress, and the best so far. */
static void tried(void *data, const lab_try *one, const lab_try *best)
{
    lab_sweep *run = data;
    char text[LAB_FORMAT_SIZE], line[LAB_POINT_TEXT] = "", what[LAB_POINT_TEXT + 64] = "";
    if (best) {
        const lab_point point = lab_space_at(&run->space, best->index);
        lab_point_print(&run->space, &point, line);
        snprintf(what, sizeof what, "best %s %s", lab_format_seconds(exp(best->score), text), line);
    }
    lab_progress_step(&run->progress, one->trial, what);
}

static cli_exit search(lab_sweep *run)
{
    const lab_evaluator evaluator = lab_sweep_evaluator(run);
    int64_t trials = run->options.trials;
    size_t start_count = 0;
    lab_error error;
    lab_point *starts = lab_sweep_find_starts(run, &start_count);
    bool all = strcmp(run->options.strategy, "exhaustive") == 0;
    const lab_search_options options = { .strategy = run->options.strategy,
                                         .seed = run->options.seed,
                                         .trials = trials > 0 ? trials : 0,
                                         .budget_ns = (int64_t)(run->options.seconds *
                                                                NS_PER_SECOND),
                                         .starts = starts,
                                         .start_count = all ? 0 : start_count,
                                         .interrupted = cli_interrupted,
                                         .tried = tried,
                                         .data = run };
    int64_t points = lab_space_count(&run->space);
    run->total = (size_t)(trials > 0 && trials < points ? trials : points);
    run->progress = lab_progress_start(&cli_sink, "sweep", run->total);
    heed_status status = lab_search_run(&run->search, &run->space, &evaluator, &options, &error);
    lab_progress_end(&run->progress);
    free(starts);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    if (status != HEED_OK) {
        cli_error("%s%s%s", error.text, *run->trouble ? ": " : "", run->trouble);
        return cli_exit_of(status);
    }
    return CLI_OK;
}

/* Is there a best point that was timed on all problems? */
static const lab_try *best_of(const lab_sweep *run)
{
    const lab_try *best = lab_search_get(run->search).best;
    return best && best->shapes == (int)run->problems.count ? best : NULL;
}

/* A point that is among the best, and has not been through the gates; NULL: none. */
static const lab_try *next_finalist(const lab_sweep *run)
{
    const lab_search_result result = lab_search_get(run->search);
    const lab_try *best = best_of(run);
    if (best && strcmp(sweep_proof_word(run, best->index), "unknown") == 0)
        return best;
    for (size_t i = 0; best && i < result.count; i++) {
        const lab_try *one = result.tries + i;
        if (isfinite(one->score) && one->shapes == best->shapes &&
            one->efforts[0] == best->efforts[0] && one->efforts[0] > 0 &&
            strcmp(sweep_proof_word(run, one->index), "unknown") == 0)
            return one;
    }
    return NULL;
}

/* Puts all finalists through the gates and drops those that fail. */
static cli_exit verify_finalists(lab_sweep *run)
{
    const lab_try *one;
    cli_exit code = CLI_OK;
    bool told = true; /* else heed verify cannot be run, and would not for the others */
    while (code == CLI_OK && told && (one = next_finalist(run))) {
        code = sweep_verify(run, one->index);
        told = run->verified || run->refuted;
        if (run->refuted) {
            const lab_point point = lab_space_at(&run->space, one->index);
            if (lab_sweep_board_add_refused(run, &point) != HEED_OK) {
                cli_error("%s", run->trouble);
                code = CLI_ENVIRONMENT;
            }
            lab_search_disqualify(run->search, one->index, "it does not pass all gates");
            run->wrong++;
        }
    }
    const lab_try *best = best_of(run);
    run->refuted = false;
    run->verified = best && strcmp(sweep_proof_word(run, best->index), "all") == 0;
    return code;
}

static cli_exit judge_best(lab_sweep *run)
{
    cli_exit code = CLI_OK;
    lab_sweep_find_usual(run);
    if (!run->options.no_verify)
        code = verify_finalists(run);
    if (code == CLI_OK && best_of(run) && !run->options.no_compare)
        code = sweep_compare(run, best_of(run)->index);
    return code;
}

static void say_how_to_resume(const lab_sweep *run)
{
    const char *path = run->record_path;
    if (run->session)
        cli_message("interrupted: all trials are on the board, and the same command goes on from "
                    "there");
    else if (path)
        cli_message("interrupted: all trials are in %s, and the same command goes on from there",
                    path);
    else
        cli_message("interrupted: with --record FILE a sweep can be resumed");
}

/* Nothing could be tried: says why, of the first point. */
static cli_exit say_nothing_ran(lab_sweep *run)
{
    const lab_evaluator evaluator = lab_sweep_evaluator(run);
    const lab_search_result result = lab_search_get(run->search);
    const lab_point first = lab_space_at(&run->space, 0);
    char name[HEED_NAME_SIZE] = "", why[LAB_WHY_SIZE] = "";
    lab_error error = { "" };
    if (result.refused < result.points)
        cli_error("no point of %s ran%s", run->space.name,
                  result.end == LAB_SEARCH_TIME ? ": there was no time for one, see --seconds"
                                                : "");
    else if (!lab_space_allows(&run->space, &first, &error))
        cli_error("no point of %s satisfies its constraints; the first one fails: %s",
                  run->space.name, error.text);
    else if (evaluator.refuse(evaluator.data, &first, why)) {
        lab_space_name(&run->space, &first, run->kernel, name, &error);
        cli_error("no point of %s is taken: the first one, %s, is refused: %s", run->space.name,
                  *name ? name : "which has no name", why);
    }
    return CLI_FINDING;
}

static cli_exit search_and_judge(lab_sweep *run, const cli_args *args, lab_session *session,
                                 cli_board_place *place)
{
    cli_exit code = sweep_open_device(run, args);
    if (code == CLI_OK)
        code = sweep_choose_kernel(run, args);
    if (code == CLI_OK)
        code = sweep_open_record(run);
    if (code == CLI_OK)
        code = sweep_board_open(run, args, session, place);
    if (code == CLI_OK)
        code = sweep_start_pool(run);
    if (code != CLI_OK)
        return code;
    code = search(run);
    if (code == CLI_OK)
        code = judge_best(run);
    if (code == CLI_INTERRUPTED)
        say_how_to_resume(run);
    if (run->search && (code == CLI_OK || code == CLI_INTERRUPTED)) {
        cli_exit printed = sweep_report(run);
        code = printed != CLI_OK ? printed : code;
    }
    if (code == CLI_OK && run->wrong > 0)
        code = CLI_VERIFY_FAILED;
    if (code == CLI_OK && !lab_search_get(run->search).best)
        code = say_nothing_ran(run);
    return code;
}

static cli_exit sweep(lab_sweep *run, const cli_args *args)
{
    cli_board_place place = { .device = { .name = NULL } };
    lab_session session = { .verb = "sweep", .seed = run->options.seed, .cold = run->options.cold };
    cli_exit code = cli_session_end(&session, search_and_judge(run, args, &session, &place), NULL);
    lab_record_close(session.record);
    cli_board_place_free(&place);
    return code;
}

static cli_exit sweep_static(lab_sweep *run, const cli_args *args)
{
    cli_exit code = sweep_read_arch(run, args);
    if (code == CLI_OK)
        code = sweep_choose_kernel(run, args);
    if (code == CLI_OK)
        code = sweep_start_pool(run);
    return code == CLI_OK ? sweep_report_static(run) : code;
}

static void close_run(lab_sweep *run)
{
    lab_sweep_pool_stop(run->pool);
    lab_search_free(run->search);
    lab_trials_free(&run->known);
    if (run->record)
        fclose(run->record);
    lab_sweep_shapes_free(run);
    lab_time_judge_destroy(run->judge);
    heed_context_destroy(run->context);
    cli_problems_free(&run->problems);
    lab_space_free(&run->space);
}

static cli_exit run_verb(const cli_args *args)
{
    lab_sweep run = { .sink = &cli_sink,
                      .options = sweep_options_read(args),
                      .record_path = cli_args_text(args, "record"),
                      .judge = lab_time_judge_create() };
    const char *replay = cli_args_text(args, "replay");
    cli_exit code = sweep_load_space(&run, args);
    if (code == CLI_OK && replay)
        code = sweep_replay(&run, args, replay);
    else if (code == CLI_OK)
        code = sweep_load_problems(&run, args, 1);
    if (code == CLI_OK && !replay)
        code = cli_args_text(args, "static") ? sweep_static(&run, args) : sweep(&run, args);
    close_run(&run);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static const char *const strategies[] = {
    "model", "exhaustive", "random", "halving", "local", NULL
};

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_CHOICE("strategy", 0, "NAME", strategies, "model",
               "How to search: model learns where improvement is to be expected, exhaustive takes "
               "all points, random some, halving many on few problems and then few on many, local "
               "goes to better neighbours. With --replay, this strategy alone"),
    OPT_INTEGER("trials", 'n', "N", 1, 1048576, NULL,
                "Maximum number of points to time; pruned points do not count [default: all]"),
    SWEEP_OPTION_SECONDS,
    CLI_OPTION_SEED(
        "Seed of the strategy: the same one asks the same questions, if it gets the same "
        "answers"),
    OPT_PATH("record", 'o', "FILE",
             "Append every trial to FILE, and reuse those that it has, so that the same "
             "command resumes an interrupted sweep"),
    CLI_OPTION_BOARD,
    OPT_FLAG("no-board", 0, "Keep no trial on the board"),
    OPT_PATH("replay", 0, "FILE",
             "Run nothing: say how many of the trials in FILE each strategy needs"),
    OPT_INTEGER("runs", 0, "N", 1, 100000, "200",
                "With --replay, runs of each strategy, each with another seed"),
    OPT_REAL("within", 0, "PERCENT", 0.01, 1000, "5",
             "With --replay, how near to the best time a strategy has to come"),
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
    .operands = { "SPACE [SPEC]...", 1, CLI_ANY },
    .description =
        "Searches the points of SPACE, a text file that names a kernel, its knobs with "
        "their values, and constraints; sweep90, mma, wgmma, cpu_tile and cpu_few come "
        "with heed. Each point is timed on every problem; the best has the least geometric "
        "mean.\n"
        "\n"
        "For a GPU, points are compiled on all cores while others run, and those that "
        "spill registers or do not fit are pruned before launch. The output of each point "
        "is checked on some rows. In the end the best few are timed again, longer, and go "
        "through all gates of 'heed verify'; the best of these is timed in turns with "
        "heed's plan. Every trial is put on the board (see 'heed board') before the next "
        "one begins, and the same command resumes an interrupted sweep.\n"
        "\n"
        "Examples:\n"
        "\n"
        "  heed sweep cpu_tile 'b1 h8 s512 d64 f32' --trials 20\n"
        "  heed sweep sweep90 --shapes seed --strategy exhaustive --record trials.txt\n"
        "  heed sweep sweep90 'b2 h8 s512 d64 f16' --static sm_90\n"
        "\n"
        "The exit status is 1 if no point ran, and 5 if the best one was wrong: then the "
        "next one is shown.",
    .options = options,
    .run = run_verb,
};
