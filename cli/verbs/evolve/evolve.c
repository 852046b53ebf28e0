/*
 * evolve.c - `heed evolve`: searches for faster kernels by mutation and crossover
 */
#include "evolve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/verbs/selftest/selftest.h"
#include "report/format.h"
#include "src/device.h"
#include "src/measure.h"

#define TOLD_SECONDS 1.0 /* shorter trials of the gates are not reported */

/* -------------------------------------------------------------------------- */
/* Before                                                                     */
/* -------------------------------------------------------------------------- */

/* True if the selected device is the host. Uses a temporary context: the gates are tried in child
 * processes, and a process with CUDA or threads cannot fork them. */
static bool means_host(const cli_args *args, cli_exit *code)
{
    const char *device = cli_device(args);
    heed_context *context = NULL;
    heed_status status = cli_device_check(device);
    if (status != HEED_OK)
        *code = cli_fail(status, NULL);
    if (strcmp(device, "auto") != 0)
        return strcmp(device, "cpu") == 0;
    *code = cli_context_open(&context, args);
    bool host = context && heed_device_is_host(context);
    heed_context_destroy(context);
    return host;
}

/* Finds the selftest to rely on, on the board or by running it now. If "auto" turned out to be a
 * GPU it is too late to run it. */
static cli_exit find_trust(evolve_run *run)
{
    const char *device = cli_device(run->args);
    cli_exit code = CLI_OK;
    lab_error error;
    bool host = means_host(run->args, &code);
    if (code != CLI_OK)
        return code;
    if (host || strcmp(device, "auto") != 0)
        return cli_selftest_trust(run->evolve.session.record, host ? NULL : device,
                                  &run->evolve.session.selftest);
    heed_status status = cli_board_selftest_find(run->evolve.session.record, "cuda",
                                                 &run->evolve.session.selftest, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static cli_exit open_board(evolve_run *run)
{
    cli_exit code = cli_board_open(&run->evolve.session.record, LAB_RECORD_WRITE, run->args);
    const int64_t start = heed_clock_ns();
    if (code == CLI_OK && !run->evolve.no_verify)
        code = find_trust(run);
    const double took = (double)(heed_clock_ns() - start) * 1e-9;
    if (code == CLI_OK && run->evolve.seconds > 0 && took > TOLD_SECONDS)
        cli_message("that took %.0f s, in addition to the %g s of --seconds", took,
                    run->evolve.seconds);
    return code;
}

/* Options about the space of configs do not apply to sources. */
static cli_exit check_options(const cli_args *args, bool sources)
{
    static const char *const names[] = { "space", "kernel" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sources && cli_args_given(args, names[i])) {
            cli_error("--%s chooses configs; with --proposer or --source, sources are evolved",
                      names[i]);
            return CLI_USAGE;
        }
    return CLI_OK;
}

static cli_exit open_device(evolve_run *run)
{
    lab_evolve *it = &run->evolve;
    cli_exit code = sweep_open_device(&it->sweep, run->args);
    if (code != CLI_OK)
        return code;
    cli_board_place_read(&run->place, it->sweep.context);
    cli_session_place(&it->session, &run->place);
    it->rebuild = cli_rebuild_options(run->args);
    it->bench = (lab_bench){ .context = it->sweep.context,
                             .sink = &cli_sink,
                             .replay = it->sweep.replay,
                             .host_threads = it->sweep.threads };
    if (!heed_device_is_host(it->sweep.context))
        snprintf(it->bench.device, sizeof it->bench.device, "%s",
                 strncmp(it->device, "cuda:", 5) == 0 ? it->device : "cuda:0");
    return CLI_OK;
}

static cli_exit read_space(evolve_run *run)
{
    const char *name = cli_args_text(run->args, "space");
    cli_exit code = cli_kernel_check(run->args);
    return code == CLI_OK && name ? cli_space_load(&run->evolve.sweep.space, name, "--space: ")
                                  : code;
}

/* True if heed plans a kernel of the space for a problem. */
static bool is_usual(const lab_sweep *sweep)
{
    for (int i = 0; i < sweep->space.kernel_count; i++) {
        size_t length = strlen(sweep->space.kernels[i]);
        for (size_t j = 0; j < sweep->problems.count; j++)
            if (strncmp(sweep->shapes[j].usual, sweep->space.kernels[i], length) == 0)
                return true;
    }
    return false;
}

static cli_exit choose_space(lab_sweep *sweep)
{
    for (size_t i = 0; sweep_spaces[i]; i++) {
        lab_space_free(&sweep->space);
        cli_exit code = cli_space_load(&sweep->space, sweep_spaces[i], "");
        if (code != CLI_OK)
            return code;
        if (is_usual(sweep))
            return CLI_OK;
    }
    cli_error("there is no space of what heed plans for '%s', %s: name one with --space",
              sweep->shapes[0].spec, sweep->shapes[0].usual);
    return CLI_UNSUPPORTED;
}

static cli_exit open_space(evolve_run *run)
{
    lab_sweep *sweep = &run->evolve.sweep;
    cli_exit code = cli_args_text(run->args, "space") ? CLI_OK : choose_space(sweep);
    sweep->limits = sweep->space.limits;
    if (code == CLI_OK)
        code = sweep_choose_kernel(sweep, run->args);
    return code == CLI_OK ? sweep_exit(sweep, lab_sweep_pool_start(sweep)) : code;
}

/* -------------------------------------------------------------------------- */
/* The result, as a table or JSON                                             */
/* -------------------------------------------------------------------------- */

#define TOP 5 /* kernels of the islands in the list */

/* The search, or an empty one if it never began. */
static lab_search_result result_of(const lab_evolve *it)
{
    return it->sweep.search ? lab_search_get(it->sweep.search) : (lab_search_result){ .count = 0 };
}

static int64_t count_timed(const lab_evolve *it)
{
    const lab_search_result result = result_of(it);
    int64_t count = 0;
    for (size_t i = 0; i < result.count; i++)
        count += isfinite(result.tries[i].score);
    return count;
}

static void print_counts(const lab_evolve *it)
{
    cli_message("%s on %s, run %lld of the board: %lld kernel%s bred, %lld launched, %lld of "
                "them right (%lld answer%s were "
                "known), %lld challenge%s of a champion%s%s",
                it->sweep.kernel, heed_context_device(it->sweep.context),
                (long long)it->session.run, (long long)lab_evolution_children(it->bred.evolution),
                lab_plural(lab_evolution_children(it->bred.evolution)),
                (long long)result_of(it).launched, (long long)count_timed(it),
                (long long)it->sweep.reused, lab_plural(it->sweep.reused),
                (long long)it->challenges, lab_plural(it->challenges),
                *it->last ? "; the last: " : "", it->last);
    if (it->refuted > 0)
        cli_warning("%lld challenger%s won and did not pass all gates", (long long)it->refuted,
                    lab_plural(it->refuted));
}

/* True if the champion is FASTER than heed's plan on some problem. */
static bool is_better(const lab_evolve *it)
{
    for (size_t i = 0; i < it->sweep.problems.count; i++)
        if (it->sweep.shapes[i].verdict && it->sweep.shapes[i].low > 1)
            return true;
    return false;
}

static cli_exit print_insights(const lab_evolve *it)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < it->sweep.problems.count && code == CLI_OK; i++)
        if (it->bred.course.mode == LAB_INSIGHT_MEASURED && *it->bred.insights[i].kernel)
            code = insight_print(&it->bred.insights[i]);
    return code;
}

double evolve_planned_score(const lab_sweep *sweep)
{
    double sum = 0;
    for (size_t i = 0; i < sweep->problems.count; i++)
        sum += sweep->shapes[i].usual_seconds > 0 ? log(sweep->shapes[i].usual_seconds)
                                                  : (double)NAN;
    return sum / (double)sweep->problems.count;
}

/* Configs begin with heed's plan; there is no other rival here. */
static lab_figures figures_of(const lab_evolve *it)
{
    const lab_search_result result = result_of(it);
    const double from = evolve_planned_score(&it->sweep);
    double *values = calloc(result.count + 1, sizeof *values);
    size_t count = 0;
    lab_figures figures = { .seconds = (double)(heed_clock_ns() - it->start_ns) * 1e-9,
                            .tokens_in = -1,
                            .tokens_out = -1,
                            .confirmed = it->proven == LAB_PROVEN && is_better(it) };
    lab_figures_count(&figures, &result);
    for (size_t i = 0; i < result.count && values && isfinite(from); i++)
        if (isfinite(result.tries[i].score))
            values[count++] = exp(from - result.tries[i].score);
    figures.origin = lab_speedups_of(values, count);
    free(values);
    return figures;
}

static cli_exit report_text(const lab_evolve *it, const lab_individual *champion)
{
    char point[LAB_POINT_TEXT], text[LAB_FORMAT_SIZE];
    print_counts(it);
    if (!champion)
        return CLI_OK;
    const lab_point knobs = lab_space_at(&it->sweep.space, champion->point);
    const lab_try *one = lab_search_tried(it->sweep.search, champion->point);
    lab_point_print(&it->sweep.space, &knobs, point);
    printf("champion %s: number %lld, %s on average\n\n", point, (long long)champion->id,
           lab_format_seconds(exp(champion->score), text));
    cli_exit code = sweep_print_shapes(&it->sweep, one->seconds, "champion", "champion is");
    if (code == CLI_OK)
        code = print_insights(it);
    if (it->proven == LAB_PROVEN)
        cli_message("the champion passes all gates");
    if (it->leads > 0)
        cli_message("it leads the board on %lld problem%s from now on", (long long)it->leads,
                    lab_plural(it->leads));
    if (!it->no_compare && !is_better(it))
        cli_message("nothing was found that is faster than heed's own plan");
    const lab_figures figures = figures_of(it);
    figures_print(&figures, "heed's plan");
    return code;
}

/* ---- JSON ---- */

static json_t *json_individual(const lab_evolve *it, const lab_individual *one)
{
    char name[HEED_NAME_SIZE] = "", text[LAB_POINT_TEXT];
    const lab_sweep *sweep = &it->sweep;
    if (!one)
        return json_null();
    const lab_point point = lab_space_at(&sweep->space, one->point);
    const lab_try *tried = lab_search_tried(sweep->search, one->point);
    lab_space_name(&sweep->space, &point, sweep->kernel, name, NULL);
    lab_point_print(&sweep->space, &point, text);
    return json_pack("{s:I, s:s, s:s, s:[I,I], s:o, s:o}", "number", (json_int_t)one->id, "kernel",
                     name, "point", text, "parents", (json_int_t)one->parents[0],
                     (json_int_t)one->parents[1], "seconds",
                     cli_json_reals(tried->seconds, sweep->problems.count), "mean_seconds",
                     cli_json_real(exp(one->score)));
}

static json_t *json_best(const lab_evolve *it)
{
    json_t *list = json_array();
    const lab_individual *one;
    for (int island = 0; island < LAB_ISLANDS; island++)
        for (int i = 0; i < TOP && (one = lab_evolution_member(it->bred.evolution, island, i));
             i++) {
            json_t *json = json_individual(it, one);
            json_object_set_new(json, "island", json_integer(island));
            json_object_set_new(json, "gates",
                                json_string(sweep_gates_word(&it->gates, one->point)));
            list = cli_json_append(list, json);
        }
    return list;
}

static json_t *json_insights(const lab_evolve *it)
{
    json_t *list = json_array();
    for (size_t i = 0; i < it->sweep.problems.count; i++)
        if (it->bred.course.mode == LAB_INSIGHT_MEASURED && *it->bred.insights[i].kernel)
            list = cli_json_append(list, insight_json(&it->bred.insights[i]));
    return json_pack("{s:s, s:o, s:o, s:o}", "mode", insight_modes[it->bred.course.mode], "seconds",
                     cli_json_real(it->bred.course.spent), "shared",
                     insight_words_json(it->bred.course.shared), "measured", list);
}

static cli_exit report_json(const lab_evolve *it, const lab_individual *champion)
{
    const lab_figures figures = figures_of(it);
    return cli_json_print(
        json_pack(
            "{s:s, s:s, s:o, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:o, "
            "s:o}",
            "space", it->sweep.space.name, "kernel", it->sweep.kernel, "device",
            lab_json_text(heed_context_device(it->sweep.context)), "run",
            (json_int_t)it->session.run, "resumed", it->session.resumed, "bred",
            (json_int_t)lab_evolution_children(it->bred.evolution), "launched",
            (json_int_t)result_of(it).launched, "timed", (json_int_t)count_timed(it), "reused",
            (json_int_t)it->sweep.reused, "challenges", (json_int_t)it->challenges, "refuted",
            (json_int_t)it->refuted, "titles", (json_int_t)it->leads, "verified",
            it->proven == LAB_PROVEN, "champion", json_individual(it, champion), "shapes",
            sweep_json_shapes(&it->sweep, "champion_seconds"), "best", json_best(it), "insights",
            json_insights(it), "figures", figures_json(&figures)),
        "evolve");
}

static cli_exit report(const evolve_run *run)
{
    const lab_individual *champion = lab_evolution_champion(run->evolve.bred.evolution);
    return cli_args_json(run->args) ? report_json(&run->evolve, champion)
                                    : report_text(&run->evolve, champion);
}

/* -------------------------------------------------------------------------- */
/* A run                                                                      */
/* -------------------------------------------------------------------------- */

cli_exit evolve_end(const evolve_run *run, cli_exit code, const char *note)
{
    code = cli_session_end(&run->evolve.session, code, note);
    if (code == CLI_INTERRUPTED)
        cli_message("interrupted: all trials are on the board, and the same command goes on from "
                    "there");
    return code;
}

static cli_exit evolve_configs(evolve_run *run)
{
    lab_evolve *it = &run->evolve;
    cli_exit code = open_space(run);
    if (code == CLI_OK)
        code = sweep_exit(&it->sweep,
                          lab_evolve_configs_begin(it, cli_args_flag(run->args, "afresh")));
    if (code == CLI_OK)
        code = cli_session_begun(&it->session, false);
    if (code != CLI_OK)
        return code;
    code = sweep_exit(&it->sweep, lab_evolve_configs(it));
    bool open = code == CLI_OK && lab_evolve_is_open(it);
    if (code == CLI_OK && it->proven == LAB_REFUTED)
        code = CLI_VERIFY_FAILED;
    if (open)
        code = *it->left_out ? CLI_TIMEOUT : CLI_ENVIRONMENT;
    code = evolve_end(run, code, NULL);
    if (open || code == CLI_OK || code == CLI_INTERRUPTED) {
        cli_exit printed = report(run);
        code = printed != CLI_OK ? printed : code;
    }
    if (code == CLI_OK && !lab_evolution_champion(it->bred.evolution)) {
        bool time = it->deadline_ns == 0 || heed_clock_ns() < it->deadline_ns;
        cli_error("no kernel of %s ran%s", it->sweep.space.name,
                  time ? "" : ": there was no time for one, see --seconds");
        code = CLI_FINDING;
    }
    return code;
}

static cli_exit evolve(evolve_run *run)
{
    bool sources = cli_args_text(run->args, "proposer") || cli_args_text(run->args, "source");
    cli_exit code = check_options(run->args, sources);
    if (code == CLI_OK)
        code = sources ? evolve_sources_check(run->args) : read_space(run);
    if (code == CLI_OK)
        code = sweep_load_problems(&run->evolve.sweep, run->args, 0);
    if (code == CLI_OK)
        code = open_board(run);
    if (code == CLI_OK)
        code = open_device(run);
    if (code != CLI_OK)
        return code;
    lab_evolve_begin(&run->evolve); /* the trial runs before it do not count against the time */
    return sources ? evolve_sources(run) : evolve_configs(run);
}

static void close_run(evolve_run *run)
{
    lab_sweep *sweep = &run->evolve.sweep;
    lab_evolve_free(&run->evolve);
    lab_record_close(run->evolve.session.record);
    lab_time_judge_destroy(sweep->judge);
    heed_context_destroy(sweep->context);
    cli_problems_free(&sweep->problems);
    lab_space_free(&sweep->space);
    cli_board_tools_free(&run->place.tools);
}

static cli_exit run_verb(const cli_args *args)
{
    evolve_run run = { .args = args, .machine = cli_machine(args) };
    run.evolve = (lab_evolve){ .sweep = { .session = &run.evolve.session, .keeps_pruned = true },
                               .session = { .verb = "evolve",
                                            .seed = (uint64_t)cli_args_integer(args, "seed"),
                                            .cold = cli_args_flag(args, "cold") },
                               .prover = cli_prover(&run.machine),
                               .device = run.machine.device,
                               .insights = (lab_insight_mode)cli_args_choice(args, "insights"),
                               .duel = cli_args_real(args, "duel"),
                               .seconds = cli_args_real(args, "seconds"),
                               .trials = cli_args_integer(args, "trials"),
                               .no_verify = cli_args_flag(args, "no-verify"),
                               .no_compare = cli_args_flag(args, "no-compare") };
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
             "The space of configs, as for 'heed sweep' [default: that of heed's plans for "
             "the problems]"),
    OPT_TEXT("proposer", 'p', "PROGRAM",
             "Evolve sources instead of configs. PROGRAM proposes them: regions, openai, or any "
             "program that speaks the protocol of docs/proposers.md"),
    OPT_CHOICE("way", 0, "WAY", lab_way_names, "full",
               "Input of a proposer: free: the task and the best source; insight: also facts and "
               "earlier thoughts; full: also earlier trials and a second source"),
    OPT_PATH("source", 0, "FILE",
             "Evolve sources, beginning with FILE, a candidate in C for the CPU or in CUDA for a "
             "device (docs/trials.md) [default: heed's plain one]. Without --proposer its marked "
             "regions are varied"),
    OPT_INTEGER("trials", 'n', "N", 1, 1000000, "60", "Maximum number of kernels to launch"),
    SWEEP_OPTION_SECONDS,
    OPT_REAL("duel", 0, "S", 0.01, 1000, "0.5",
             "Seconds to compare challenger and champion on each problem"),
    CLI_OPTION_SEED("Seed of all random numbers"),
    CLI_OPTION_INSIGHTS,
    CLI_OPTION_BOARD,
    OPT_FLAG("afresh", 0, "Start a new run, even if an unfinished one could be resumed"),
    SWEEP_OPTION_COLD,
    OPT_FLAG("no-compare", 0, "Do not time the champion beside heed's plan"),
    OPT_FLAG("no-verify", 0,
             "Skip the gates of 'heed verify' for champions and do not rank them. Sources, and "
             "heed's plans beside them, still go through the gates"),
    CLI_OPTION_UNSAFE,
    CLI_OPTION_KERNEL,
    { .table = cli_machine_options },
    { .name = NULL },
};

const cli_verb cli_verb_evolve = {
    .name = "evolve",
    .summary = "search configs or sources for faster kernels by evolution",
    .operands = { "SPEC...", 0, CLI_ANY },
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
        "and returns another one, which is compiled and run in sandboxes and must meet "
        "the same rule.\n"
        "\n"
        "A sixth of --seconds is for heed's plans, half for breeding, and a third for the gates "
        "and "
        "comparisons of the champion. The preceding trial of the gates does not count.",
    .examples = "  heed evolve 'b1 h8 s512 d64 f32' --trials 40\n"
                "  heed evolve --shapes seed --seconds 600\n"
                "  heed evolve 'b1 h1 s64 d64 f32' --proposer regions --trials 20",
    .status = "The exit status is 1 if no kernel ran, 5 if the champion does not pass all gates, 6 "
              "if there was no time for them, and 3 if they have no answer for another reason.",
    .options = options,
    .run = run_verb,
};
