/*
 * sweep_replay.c - `heed sweep --replay`: the number of recorded trials that strategies need
 */
#include <math.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/cli.h"
#include "report/format.h"
#include "search/replay.h"
#include "sweep.h"

#define STRATEGIES_MAX 16

typedef struct replays {
    const char *names[STRATEGIES_MAX];
    lab_replay_result results[STRATEGIES_MAX];
    size_t count;
} replays;

static void add_trials(lab_listing *rows, const char *key, const char *head, double trials)
{
    lab_cell_json(rows, key, cli_json_real(trials));
    if (isfinite(trials))
        lab_cell_right(rows, head, "%.0f", trials);
    else
        lab_cell_right(rows, head, "never");
}

static lab_listing list_strategies(const replays *all, bool json)
{
    lab_listing rows = cli_rows_begin(json);
    for (size_t i = 0; i < all->count; i++) {
        const lab_replay_result *one = &all->results[i];
        double share = one->median / (double)one->points;
        lab_cell_text(&rows, "strategy", "strategy", all->names[i]);
        add_trials(&rows, "median_trials", "median", one->median);
        lab_cell_real(&rows, "share_of_points", "of points", share, "%.0f %%", 100 * share);
        add_trials(&rows, "p90_trials", "p90", one->p90);
        add_trials(&rows, "worst_trials", "worst", one->worst);
        add_trials(&rows, "median_evaluations", "evaluations", one->evaluations);
        lab_cell_count(&rows, "missed", "missed", one->missed);
        lab_cell_count(&rows, "runs", "runs", one->runs);
        lab_row_end(&rows);
    }
    return rows;
}

/* The target of heed's own strategy: this fraction of the points, in the median. */
#define TARGET_SHARE 0.30

static void tell_target(const replays *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const lab_replay_result *one = &all->results[i];
        double share = one->median / (double)one->points;
        if (strcmp(all->names[i], lab_strategy_at(0)->name) == 0)
            cli_message("%s needs %.0f %% of the points; the target is %.0f %% at most: %s",
                        all->names[i], isfinite(share) ? 100 * share : 100.0, 100 * TARGET_SHARE,
                        share <= TARGET_SHARE ? "met" : "missed");
    }
}

static cli_exit print_table(const sweep_run *run, const cli_args *args, const replays *all)
{
    const lab_replay_result *first = &all->results[0];
    char text[LAB_FORMAT_SIZE];
    cli_message("%s: %lld point%s, %lld of them recorded and not pruned, %lld with times on all "
                "shapes, %lld within %.0f %% of the best, %s",
                run->sweep.space.name, (long long)first->points, lab_plural(first->points),
                (long long)first->runnable, (long long)first->working, (long long)first->good,
                cli_args_real(args, "within"), lab_format_seconds(first->best_seconds, text));
    cli_exit code = cli_table_print(list_strategies(all, false));
    tell_target(all);
    return code;
}

static cli_exit print_json(const sweep_run *run, const replays *all)
{
    const lab_replay_result *first = &all->results[0];
    return cli_json_print(json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o}", "space",
                                    run->sweep.space.name, "points", (json_int_t)first->points,
                                    "runnable", (json_int_t)first->runnable, "working",
                                    (json_int_t)first->working, "good", (json_int_t)first->good,
                                    "best_seconds", cli_json_real(first->best_seconds),
                                    "strategies", lab_listing_take(list_strategies(all, true))),
                          "sweep-replay");
}

/* Runs one strategy, or all. */
static heed_status replay(const sweep_run *run, const cli_args *args, const lab_trials *trials,
                          replays *all, lab_error *error)
{
    const char *wanted = cli_args_given(args, "strategy") ? cli_args_text(args, "strategy") : NULL;
    heed_status status = HEED_OK;
    for (size_t i = 0; lab_strategy_at(i) && i < STRATEGIES_MAX && status == HEED_OK; i++) {
        const char *name = lab_strategy_at(i)->name;
        const lab_replay_options options = { .strategy = name,
                                             .seeds = (int)cli_args_integer(args, "runs"),
                                             .seed = run->seed,
                                             .within = cli_args_real(args, "within") / 100,
                                             .noise = cli_args_real(args, "noise") / 100,
                                             .trials = cli_args_integer(args, "trials") };
        if (wanted && strcmp(wanted, name) != 0)
            continue;
        if (cli_interrupted())
            return lab_fail(error, HEED_ERR_SYSTEM, "interrupted");
        all->names[all->count] = name;
        status = lab_replay_run(&run->sweep.space, trials, &options, &all->results[all->count],
                                error);
        all->count += status == HEED_OK;
    }
    return status;
}

cli_exit sweep_replay(const sweep_run *run, const cli_args *args, const char *path)
{
    replays all = { .count = 0 };
    lab_trials trials;
    lab_error error;
    heed_status status = lab_trials_read(&trials, &run->sweep.space, path, &error);
    if (status == HEED_OK)
        status = replay(run, args, &trials, &all, &error);
    lab_trials_free(&trials);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    if (status != HEED_OK) {
        cli_error("--replay: %s", error.text);
        return cli_exit_of(status);
    }
    return cli_args_json(args) ? print_json(run, &all) : print_table(run, args, &all);
}
