/*
 * ablate.c - `heed ablate`: bottlenecks of a kernel, found by ablation
 */
#include "ablate/ablate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/cli.h"
#include "measure/environment.h"
#include "report/format.h"

/* Default of --seconds for each ablation: a GPU's times vary little. */
#define SECONDS_HOST 1.0
#define SECONDS_DEVICE 0.25

#define SAY_SIZE 160

/* Opens a context of one thread, unless the main one has one. */
static heed_status open_single(lab_ablate_run *run, const char *cpu)
{
    if (!heed_device_is_host(run->bench.context) || heed_context_threads(run->bench.context) < 2)
        return HEED_OK;
    heed_options options = { .size = sizeof options, .device = "cpu", .threads = 1, .cpu = cpu };
    return cli_context_create(&run->single, &options);
}

static const char *ablation_name(size_t index)
{
    return lab_ablation_at(index) ? lab_ablation_at(index)->name : NULL;
}

/* Checks that every name of --only is an ablation. */
static cli_exit check_only(const cli_args *args)
{
    const char *list = cli_args_text(args, "only");
    char names[512] = "there are";
    size_t used = strlen(names);
    for (size_t i = 0; ablation_name(i) && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s %s", i > 0 ? "," : "",
                                 ablation_name(i));
    for (const char *at = list; at && *at; at += *at == ',') {
        char name[64];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
                 at);
        at += length;
        cli_exit code = cli_name_check("--only: there is no ablation", name, ablation_name, names);
        if (code != CLI_OK)
            return code;
    }
    return CLI_OK;
}

/* Plans all problems first, so that the remaining time is known, and builds for one are compiled
 * while another one is measured. */
static cli_exit prepare_all(lab_ablate_run *run, const lab_problems *problems)
{
    run->subjects = calloc(problems->count, sizeof *run->subjects);
    if (!run->subjects) {
        cli_error("not enough memory for %zu problems", problems->count);
        return CLI_ENVIRONMENT;
    }
    for (size_t i = 0; i < problems->count && !cli_interrupted(); i++) {
        lab_ablate_subject *subject = &run->subjects[run->count++];
        subject->problem = problems->items[i];
        heed_problem_print(&subject->problem, subject->spec, sizeof subject->spec);
        heed_status status = lab_ablate_prepare(run, subject);
        if (status != HEED_OK)
            return cli_fail(status, subject->spec);
    }
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

static cli_exit measure(lab_ablate_run *run, lab_ablate_subject *subject)
{
    heed_status status = lab_ablate_try(run, subject);
    lab_progress_end(&run->progress);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    return status == HEED_OK ? CLI_OK : cli_fail(status, subject->spec);
}

static cli_exit measure_all(lab_ablate_run *run, const lab_problems *problems)
{
    run->progress = lab_progress_start(&cli_sink, "ablating", 0);
    cli_exit code = prepare_all(run, problems);
    for (size_t i = 0; i < run->count && code == CLI_OK; i++)
        code = measure(run, &run->subjects[i]);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The answer                                                                 */
/* -------------------------------------------------------------------------- */

/* The measured effects, ranked; NULL if out of memory. */
static lab_effect *ranked(const lab_ablate_subject *subject, size_t *count)
{
    lab_effect *effects = calloc(subject->count + 1, sizeof *effects);
    *count = 0;
    for (size_t i = 0; effects && i < subject->count; i++)
        if (subject->cases[i].duel.pairs > 0)
            effects[(*count)++] = subject->cases[i].effect;
    if (effects)
        lab_effects_rank(effects, *count);
    return effects;
}

static const lab_ablate_case *case_of(const lab_ablate_subject *subject, const char *name)
{
    for (size_t i = 0; i < subject->count; i++)
        if (strcmp(subject->cases[i].it->name, name) == 0)
            return &subject->cases[i];
    return NULL;
}

/* ---- Rows ---- */

/* Adds a ratio, in a table as the change of the time, such as "+12.3 %". */
static void add_ratio(lab_listing *rows, double ratio, double low, double high)
{
    lab_cell_json(rows, "ratio",
                  json_pack("{s:o, s:o, s:o}", "estimate", cli_json_real(ratio), "low",
                            cli_json_real(low), "high", cli_json_real(high)));
    if (isfinite(ratio) && ratio > 0)
        lab_cell_right(rows, "time", "%+.1f %%", 100 * (ratio - 1));
    else
        lab_cell_right(rows, "time", "-");
    if (isfinite(high) && low > 0)
        lab_cell_right(rows, "99 % interval", "%+.1f to %+.1f", 100 * (low - 1), 100 * (high - 1));
    else
        lab_cell_right(rows, "99 % interval", "-");
}

static void add_effect(lab_listing *rows, const lab_ablate_subject *subject,
                       const lab_effect *effect)
{
    const lab_ablate_case *what = case_of(subject, effect->name);
    char says[SAY_SIZE];
    lab_effect_say(effect, says, sizeof says);
    lab_cell_text(rows, "name", NULL, effect->name);
    lab_cell_left(rows, "ablation", "%s%s", effect->name, what->it->wrong ? " *" : "");
    lab_cell_text(rows, "kernel", NULL, what->kernel);
    add_ratio(rows, effect->ratio, effect->low, effect->high);
    lab_cell_text(rows, "verdict", "", lab_effect_word_name(lab_effect_of(effect)));
    lab_cell_json(rows, "effect", cli_json_real(lab_effect_value(effect)));
    lab_cell_json(rows, "gain_at_most", cli_json_real(lab_effect_gain(effect)));
    lab_cell_json(rows, "wrong_by_design", json_boolean(what->it->wrong));
    lab_cell_count(rows, "pairs", NULL, (int64_t)what->duel.pairs);
    lab_cell_text(rows, "says", "finding", says);
    lab_row_end(rows);
}

static lab_listing list_effects(const lab_ablate_subject *subject, bool json)
{
    size_t count;
    lab_effect *effects = ranked(subject, &count);
    lab_listing rows = cli_rows_begin(json);
    for (size_t i = 0; i < count; i++)
        add_effect(&rows, subject, &effects[i]);
    if (!effects)
        lab_listing_free(&rows);
    free(effects);
    return rows;
}

static lab_listing list_planted(const lab_ablate_subject *subject, bool json)
{
    lab_listing rows = cli_rows_begin(json);
    for (size_t i = 0; i < subject->planted_count; i++) {
        const lab_ablate_planted *planted = &subject->planted[i];
        const lab_interval *ratio = &planted->duel.comparison.ratio;
        bool found = ratio->low > 1;
        lab_cell_real(&rows, "planted", "planted", planted->share, "%.0f %%", 100 * planted->share);
        add_ratio(&rows, ratio->estimate, ratio->low, ratio->high);
        lab_cell_json(&rows, "found", json_boolean(found));
        lab_cell_left(&rows, "", "%s", found ? "found" : "not found");
        lab_row_end(&rows);
    }
    return rows;
}

/* ---- Tables ---- */

/* Ablations that do not apply are listed below the others. */
static cli_exit print_effects(const lab_ablate_subject *subject)
{
    lab_listing rows = list_effects(subject, false);
    for (size_t i = 0; i < subject->absent_count; i++) {
        lab_cell_left(&rows, "ablation", "%s", subject->absent[i].it->name);
        lab_cell_right(&rows, "time", "-");
        lab_cell_right(&rows, "99 % interval", "-");
        lab_cell_left(&rows, "", "-");
        lab_cell_left(&rows, "finding", "not applicable: %s", subject->absent[i].why);
        lab_row_end(&rows);
    }
    return cli_table_print(rows);
}

/* Notes below the tables. */
static void print_notes(const lab_ablate_subject *subject)
{
    bool wrong = false;
    for (size_t i = 0; i < subject->count; i++) {
        const lab_ablate_case *what = &subject->cases[i];
        wrong = wrong || (what->it->wrong && what->duel.pairs > 0);
        if (strcmp(what->kernel, subject->kernel) != 0 && what->duel.pairs > 0)
            printf("%s is the config %s\n", what->it->name, what->kernel);
        if (what->outcome != LAB_BENCH_OK)
            printf("%s: %s: %s\n", what->it->name, lab_bench_outcome_name(what->outcome),
                   what->reason);
    }
    if (wrong)
        printf("* its results are wrong, as they must be\n");
}

static cli_exit print_subject(const lab_ablate_run *run, const lab_ablate_subject *subject)
{
    char time[LAB_FORMAT_SIZE];
    printf("%s%s%s\n", cli_style(stdout, LAB_BOLD), subject->spec, cli_style(stdout, LAB_PLAIN));
    printf("%s, %s%s, on %s\n\n", subject->kernel,
           lab_format_seconds(subject->seconds > 0 ? subject->seconds : -1, time),
           run->bench.cold ? " cold" : "", heed_context_device(run->bench.context));
    cli_exit code = print_effects(subject);
    print_notes(subject);
    if (code == CLI_OK && subject->planted_count > 0) {
        printf("\n");
        code = cli_table_print(list_planted(subject, false));
    } else if (subject->reach != 0) {
        printf("\na delay of its blocks does not change its time, so none was planted\n");
    }
    return code;
}

static cli_exit print_text(const lab_ablate_run *run)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < run->count && code == CLI_OK; i++) {
        if (i > 0)
            printf("\n");
        code = print_subject(run, &run->subjects[i]);
    }
    return code;
}

/* ---- JSON ---- */

static json_t *json_failed(const lab_ablate_subject *subject)
{
    json_t *array = json_array();
    for (size_t i = 0; i < subject->count; i++) {
        const lab_ablate_case *what = &subject->cases[i];
        if (what->outcome != LAB_BENCH_OK)
            array = cli_json_append(array,
                                    json_pack("{s:s, s:s, s:o}", "name", what->it->name, "outcome",
                                              lab_bench_outcome_name(what->outcome), "reason",
                                              lab_json_text(what->reason)));
    }
    return array;
}

static json_t *json_absent(const void *item)
{
    const lab_ablate_absent *absent = item;
    return json_pack("{s:s, s:s}", "name", absent->it->name, "reason", absent->why);
}

static json_t *json_subject(const void *item)
{
    const lab_ablate_subject *subject = item;
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "problem", subject->spec, "kernel",
        subject->kernel, "seconds", cli_json_positive(subject->seconds), "ablations",
        lab_listing_take(list_effects(subject, true)), "failed", json_failed(subject),
        "not_applicable",
        cli_json_list(subject->absent, subject->absent_count, sizeof *subject->absent, json_absent),
        "reach", cli_json_real(subject->reach), "planted",
        lab_listing_take(list_planted(subject, true)));
}

static cli_exit print_json(const lab_ablate_run *run)
{
    json_t *array = cli_json_list(run->subjects, run->count, sizeof *run->subjects, json_subject);
    return cli_json_print(json_pack("{s:s, s:b, s:f, s:f, s:o}", "device",
                                    heed_context_device(run->bench.context), "cold",
                                    run->bench.cold, "seconds", run->bench.seconds, "margin",
                                    run->bench.margin, "problems", array),
                          "ablate");
}

/* An ablation that should compute correct results and does not is a bug. */
static cli_exit verdict(const lab_ablate_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        for (size_t j = 0; j < run->subjects[i].count; j++)
            if (run->subjects[i].cases[j].outcome == LAB_BENCH_WRONG)
                return CLI_VERIFY_FAILED;
    return CLI_OK;
}

/* The parts that depend on the device. */
static cli_exit set_up(lab_ablate_run *run, const cli_args *args)
{
    bool host = heed_device_is_host(run->bench.context);
    int cores = lab_environment_cores();
    run->bench.replay = !host;
    run->bench.host_threads = host ? heed_context_threads(run->bench.context) : cores;
    if (!cli_args_given(args, "seconds"))
        run->bench.seconds = host ? SECONDS_HOST : SECONDS_DEVICE;
    heed_status status = open_single(run, cli_args_text(args, "cpu"));
    if (status != HEED_OK)
        return cli_fail(status, NULL);
    if (!host)
        run->pool = lab_ablate_pool_start(run->bench.context, cores > 1 ? cores - 1 : 1);
    return CLI_OK;
}

static cli_exit run_ablate(lab_ablate_run *run, const lab_problems *problems, const cli_args *args)
{
    cli_exit set = set_up(run, args);
    if (set != CLI_OK)
        return set;
    cli_exit code = measure_all(run, problems);
    if (code == CLI_OK || code == CLI_INTERRUPTED) {
        cli_exit printed = cli_args_json(args) ? print_json(run) : print_text(run);
        if (code == CLI_OK)
            code = printed == CLI_OK ? verdict(run) : printed;
    }
    for (size_t i = 0; i < run->count; i++)
        lab_ablate_subject_free(&run->subjects[i]);
    free(run->subjects);
    lab_ablate_pool_stop(run->pool);
    heed_context_destroy(run->single);
    return code;
}

static cli_exit run(const cli_args *args)
{
    lab_ablate_run ablate = { .only = cli_args_text(args, "only"),
                              .planted = !cli_args_flag(args, "no-planted"),
                              .bench = { .effort = HEED_ESTIMATE,
                                         .kernel = cli_args_text(args, "kernel"),
                                         .seconds = cli_args_given(args, "seconds")
                                                        ? cli_args_real(args, "seconds")
                                                        : SECONDS_HOST,
                                         .margin = cli_args_real(args, "margin") / 100,
                                         .cold = cli_args_flag(args, "cold"),
                                         .seed = (uint64_t)cli_args_integer(args, "seed") } };
    lab_problems problems;
    cli_exit code = check_only(args);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    if (code != CLI_OK)
        return code;
    code = cli_problems_read(&problems, args);
    if (code == CLI_OK)
        code = cli_context_open_read(&ablate.bench.context, args);
    if (code == CLI_OK)
        code = run_ablate(&ablate, &problems, args);
    heed_context_destroy(ablate.bench.context);
    cli_problems_free(&problems);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_SHAPES,
    CLI_OPTION_KERNEL,
    OPT_TEXT("only", 0, "LIST", "Run only these ablations, separated by commas"),
    OPT_FLAG("no-planted", 0, "Do not plant delays"),
    OPT_REAL("seconds", 0, "N", 0.01, 3600, NULL,
             "Seconds to time each ablation, and each delay, in turns with the kernel; slow "
             "ones take longer [default: 1 on a CPU, 0.25 on a GPU]"),
    CLI_OPTION_MARGIN("Treat effects up to this as none"),
    CLI_OPTION_COLD,
    CLI_OPTION_SEED("Seed of the random values, of the order of turns, and of the intervals"),
    { .table = cli_machine_options },
    CLI_OPTION_WISDOM_READ("Choose the kernel from the wisdom in FILE"),
    { .name = NULL },
};

const cli_verb cli_verb_ablate = {
    .name = "ablate",
    .summary = "find a kernel's bottlenecks with deliberately degraded builds",
    .operands = { "SPEC...", 0, CLI_ANY },
    .description =
        "Builds the planned kernel of each problem again for each ablation: without "
        "exponentials, products or loads, with an extra barrier in each step, with bank "
        "conflicts, with tiny blocks, and so on. Each build takes turns with the original. "
        "The table ranks them by the change in time, with intervals of a joint confidence of "
        "99 %; inapplicable ablations are listed with the reason.\n"
        "\n"
        "The time saved by leaving work out is the most that optimizing it can "
        "gain. docs/ablating.md explains each name. Builds without exponentials, products "
        "or loads compute wrong results; the others are checked against a float64 "
        "reference.\n"
        "\n"
        "As a check of the method, delays of 1, 2 and 5 % are planted, and the last table "
        "says which were detected. Smaller effects need more --seconds.",
    .examples = "  heed ablate b1 h8 s512 d64 f32\n"
                "  heed ablate --only no-exp,no-products --seconds 5 b1 h8 s512 d64 f32",
    .status = "The exit status is 5 if an ablation that must leave the results right does not.",
    .options = options,
    .run = run,
};
