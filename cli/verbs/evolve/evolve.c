/*
 * evolve.c - `heed evolve`: kernels that are mutated and crossed until better ones come out
 */
#include "evolve_sources.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs/selftest/selftest.h"
#include "report/format.h"
#include "src/device.h"
#include "src/measure.h"

#define NS_PER_SECOND 1e9

/* -------------------------------------------------------------------------- */
/* Evolution of configs                                                       */
/* -------------------------------------------------------------------------- */

static cli_exit fail(const evolve_run *run, heed_status status)
{
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    cli_error("%s", *run->trouble.text ? run->trouble.text : heed_status_name(status));
    return cli_exit_of(status);
}

static bool has_time(const evolve_run *run)
{
    return run->deadline_ns == 0 || heed_clock_ns() < run->deadline_ns;
}

/* Progress, and the best so far. */
static void show(void *data, const char *what)
{
    evolve_run *run = data;
    const lab_individual *champion = lab_evolution_champion(run->bred.evolution);
    char text[LAB_FORMAT_SIZE], point[LAB_POINT_TEXT], best[LAB_POINT_TEXT + 64] = "";
    if (champion) {
        lab_point_print(&run->sweep.space, &champion->genome.point, point);
        snprintf(best, sizeof best, "best %s %s", lab_format_seconds(exp(champion->score), text),
                 point);
    }
    lab_progress_step(&run->progress, (size_t)run->bred.launched, what ? what : best);
}

static cli_exit breed(evolve_run *run)
{
    run->progress = lab_progress_start(&cli_sink, "evolve", (size_t)run->sweep.options.trials);
    heed_status status = lab_sweep_evolve(&run->bred, run->deadline_ns, run->sweep.options.trials);
    lab_progress_end(&run->progress);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    return status == HEED_OK ? CLI_OK : fail(run, status);
}

static cli_exit create(evolve_run *run)
{
    lab_genome genomes[LAB_SEARCH_SHAPES] = { 0 };
    size_t count = 0;
    lab_point *starts = lab_sweep_find_starts(&run->sweep, &count);
    if (!starts) {
        cli_error("not enough memory for %zu problems", run->sweep.problems.count);
        return CLI_ENVIRONMENT;
    }
    for (size_t i = 0; i < count; i++)
        genomes[i].point = starts[i];
    free(starts);
    run->bred.succeeds = evolve_succeeds;
    run->bred.show = show;
    heed_status status = lab_sweep_evolution_create(&run->bred, genomes, count);
    if (status == HEED_OK)
        return CLI_OK;
    cli_error("%s", run->trouble.text);
    return cli_exit_of(status);
}

/* The best of each island, and the champion last, through all gates: none of them may be called
 * good without that. */
static cli_exit verify_best(evolve_run *run, int64_t champion)
{
    cli_exit code = CLI_OK;
    for (int i = 0; i <= LAB_SWEEP_ISLANDS && code == CLI_OK; i++) {
        const lab_individual *one = i < LAB_SWEEP_ISLANDS
                                        ? lab_evolution_member(run->bred.evolution, i, 0)
                                        : NULL;
        if (i < LAB_SWEEP_ISLANDS && !one)
            continue;
        code = sweep_verify(
            &run->sweep, one ? lab_space_index(&run->sweep.space, &one->genome.point) : champion);
    }
    return code;
}

/* The champion once more: the gates, what heed plans, and who leads the board. */
static cli_exit judge(evolve_run *run)
{
    const lab_individual *champion = lab_evolution_champion(run->bred.evolution);
    cli_exit code = CLI_OK;
    if (!champion)
        return CLI_OK;
    int64_t index = lab_space_index(&run->sweep.space, &champion->genome.point);
    run->sweep.verified = run->sweep.refuted = false;
    if (!run->sweep.options.no_verify)
        code = verify_best(run, index);
    if (code == CLI_OK && run->sweep.refuted)
        return CLI_VERIFY_FAILED;
    if (code == CLI_OK && !run->sweep.options.no_compare)
        code = sweep_compare(&run->sweep, index);
    if (code != CLI_OK || !run->sweep.verified)
        return code;
    heed_status status = run->succeeded ? HEED_OK : evolve_confirm(run, champion);
    if (status == HEED_OK)
        status = evolve_lead_config(run, champion);
    return status == HEED_OK && !cli_interrupted() ? CLI_OK : fail(run, status);
}

/* -------------------------------------------------------------------------- */
/* A run                                                                      */
/* -------------------------------------------------------------------------- */

static cli_exit evolve_knobs(evolve_run *run)
{
    char what[HEED_NAME_SIZE + 80];
    cli_exit code = evolve_open_space(run);
    snprintf(what, sizeof what, "%s %s", run->sweep.space.name, run->sweep.kernel);
    if (code == CLI_OK)
        code = create(run);
    if (code == CLI_OK)
        code = evolve_open_run(run, what);
    if (code != CLI_OK)
        return code;
    lab_sweep_evolution_insights(&run->bred, run->sweep.options.seconds);
    bool ranked = !run->sweep.options.no_verify && !run->sweep.options.no_compare;
    heed_status status = ranked ? evolve_rank_plans(run) : HEED_OK;
    code = status == HEED_OK ? breed(run) : fail(run, status);
    if (code == CLI_OK)
        code = judge(run);
    code = evolve_end_run(run, code, NULL);
    if (code == CLI_OK || code == CLI_INTERRUPTED) {
        cli_exit printed = evolve_report(run);
        code = printed != CLI_OK ? printed : code;
    }
    if (code == CLI_OK && !lab_evolution_champion(run->bred.evolution)) {
        cli_error("no kernel of %s ran%s", run->sweep.space.name,
                  has_time(run) ? "" : ": there was no time for one, see --seconds");
        code = CLI_FINDING;
    }
    return code;
}

/* Is the device that is meant the host? Asked of a context that is gone again: the gates are tried
 * in children, and a process with CUDA or threads can have none. */
static bool means_host(const cli_args *args, cli_exit *code)
{
    const char *device = cli_device(args);
    heed_context *context = NULL;
    if (strcmp(device, "auto") != 0)
        return strcmp(device, "cpu") == 0;
    *code = cli_context_open(&context, args);
    bool host = context && heed_device_is_host(context);
    heed_context_destroy(context);
    return host;
}

/* Finds the selftest to rely on, on the board or by running it now. Where "auto" turned out to be a
 * GPU it is too late for the latter. */
static cli_exit find_trust(evolve_run *run)
{
    const char *device = cli_device(run->args);
    cli_exit code = CLI_OK;
    lab_error error;
    bool host = means_host(run->args, &code);
    if (code != CLI_OK)
        return code;
    if (host || strcmp(device, "auto") != 0)
        return cli_selftest_trust(run->session.record, host ? NULL : device,
                                  &run->session.selftest);
    heed_status status = cli_board_selftest_find(run->session.record, "cuda",
                                                 &run->session.selftest, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static cli_exit open_board(evolve_run *run)
{
    cli_exit code = cli_board_open(&run->session.record, LAB_RECORD_WRITE, run->args);
    if (code == CLI_OK && !run->sweep.options.no_verify)
        code = find_trust(run);
    return code;
}

/* The seconds are those of evolving: what had to be tried before it, once, is not on them. */
static void start_clock(evolve_run *run)
{
    double seconds = run->sweep.options.seconds;
    run->deadline_ns = seconds > 0 ? heed_clock_ns() + (int64_t)(seconds * NS_PER_SECOND) : 0;
}

/* Options about the space of configs have no meaning for sources. */
static cli_exit check_options(const cli_args *args, bool sources)
{
    static const char *const names[] = { "space", "kernel" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sources && cli_args_given(args, names[i])) {
            cli_error("--%s is about configs, and with --proposer or --source sources are evolved",
                      names[i]);
            return CLI_USAGE;
        }
    return CLI_OK;
}

static cli_exit evolve(evolve_run *run)
{
    bool sources = cli_args_text(run->args, "proposer") || cli_args_text(run->args, "source");
    cli_exit code = check_options(run->args, sources);
    if (code == CLI_OK)
        code = sources ? evolve_sources_check(run->args) : evolve_read_space(run);
    if (code == CLI_OK)
        code = sweep_load_problems(&run->sweep, run->args, 0);
    if (code == CLI_OK)
        code = open_board(run);
    if (code == CLI_OK)
        code = evolve_open_device(run);
    if (code != CLI_OK)
        return code;
    start_clock(run);
    return sources ? evolve_sources_run(run) : evolve_knobs(run);
}

static void close_run(evolve_run *run)
{
    lab_sweep_evolution_free(&run->bred);
    lab_record_close(run->session.record);
    lab_sweep_pool_stop(run->sweep.pool);
    lab_sweep_shapes_free(&run->sweep);
    lab_time_judge_destroy(run->sweep.judge);
    heed_context_destroy(run->sweep.context);
    cli_problems_free(&run->sweep.problems);
    lab_space_free(&run->sweep.space);
    cli_board_place_free(&run->place);
}

static cli_exit run_verb(const cli_args *args)
{
    const lab_sweep_options options = sweep_options_read(args);
    evolve_run run = { .args = args,
                       .sweep = { .sink = &cli_sink,
                                  .options = options,
                                  .judge = lab_time_judge_create(),
                                  .keeps_pruned = true },
                       .session = { .verb = "evolve", .seed = options.seed, .cold = options.cold },
                       .seed = options.seed,
                       .duel = cli_args_real(args, "duel") };
    run.bred = (lab_sweep_evolution){
        .sweep = &run.sweep, .data = &run, .counts_known = true, .trouble = &run.trouble
    };
    cli_interrupt_catch();
    cli_exit code = evolve(&run);
    close_run(&run);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    OPT_PATH("space", 0, "SPACE",
             "The space of configs, as 'heed sweep' takes it [default: that of heed's plans for "
             "the problems]"),
    OPT_TEXT("proposer", 'p', "PROGRAM",
             "Evolve sources instead of configs. PROGRAM proposes them: regions, openai, or any "
             "program that speaks the protocol of docs/proposers.md"),
    OPT_CHOICE("way", 0, "WAY", lab_way_names, "full",
               "Input of a proposer: free, the task and the best source; insight, also what is "
               "known and was thought; full, also what was tried and a second source"),
    OPT_PATH("source", 0, "FILE",
             "Evolve sources, beginning with FILE, a candidate in C for the CPU or in CUDA for a "
             "device (docs/trials.md) [default: heed's plain one]. Without --proposer its marked "
             "regions are varied"),
    OPT_INTEGER("trials", 'n', "N", 1, 1000000, "60", "Maximum number of kernels to launch"),
    SWEEP_OPTION_SECONDS,
    OPT_REAL("duel", 0, "S", 0.01, 1000, "0.5",
             "Seconds to compare challenger and champion on each problem"),
    CLI_OPTION_SEED("Seed of everything that is random"),
    CLI_OPTION_INSIGHTS,
    CLI_OPTION_BOARD,
    OPT_FLAG("afresh", 0, "Start a new run, even if an unfinished one could be resumed"),
    SWEEP_OPTION_COLD,
    OPT_FLAG("no-compare", 0, "Do not time the champion beside heed's plan"),
    OPT_FLAG("no-verify", 0,
             "Do not let champions through all gates of heed verify, nor rank them. Sources, and "
             "what heed plans beside them, go through the gates all the same"),
    CLI_OPTION_UNSAFE,
    CLI_OPTION_KERNEL,
    { .table = cli_machine_options },
    { .name = NULL },
};

const cli_verb cli_verb_evolve = {
    .name = "evolve",
    .summary = "search configs or sources for faster kernels by evolution",
    .operands = { "[SPEC]...", 0, CLI_ANY },
    .description =
        "Evolves configs of a kernel, beginning with heed's plan: populations on islands, "
        "with mutation and crossover. A guide prefers moves that address what limits the "
        "kernel, as read from its machine code and measured for champions (--insights, "
        "docs/searching.md).\n"
        "\n"
        "A kernel replaces the champion if it is FASTER by 3 % on two problems, or on the "
        "only one, and SLOWER on none, again on fresh samples, and passes all gates of "
        "'heed verify'. Every trial is put on the board (see 'heed board') before the next "
        "one begins. The same command resumes an interrupted run, with the same outcome; "
        "only --trials and --seconds may differ.\n"
        "\n"
        "With --proposer sources are evolved: a program gets the task and the best source "
        "and returns another one, which is compiled and run in sandboxes and has to meet "
        "the same rule.\n"
        "\n"
        "Examples:\n"
        "\n"
        "  heed evolve 'b1 h8 s512 d64 f32' --trials 40\n"
        "  heed evolve --shapes seed --seconds 600\n"
        "  heed evolve 'b1 h1 s64 d64 f32' --proposer regions --trials 20\n"
        "\n"
        "The exit status is 1 if no kernel ran, and 5 if the champion does not pass all "
        "gates.",
    .options = options,
    .run = run_verb,
};
