/*
 * verify_report.c - the output of `heed verify`
 */
#include <math.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/cli.h"
#include "report/wrap.h"
#include "verify.h"

/* The most failures printed on stderr, and the most of a user's source, for which one is enough;
 * all are counted. */
#define FAILURES_SHOWN 20
#define FAILURES_SHOWN_OWN 4

/* -------------------------------------------------------------------------- */
/* Failures                                                                   */
/* -------------------------------------------------------------------------- */

/* One verification of a campaign. */
typedef struct verify_item {
    const heed_problem *problem;
    const lab_inputs *inputs;
    const lab_contender *contender;
    const lab_report *report;
} verify_item;

/* The kernel with its config, so that a later change of the plan does not hide the failure. */
static const char *kernel_of(const verify_item *item)
{
    return item->report->name[0] ? item->report->name : verify_contender_name(item->contender);
}

/* Prints the options of captured values, which come from files. */
static int print_files(const cli_args *args, char *text, size_t size)
{
    const char *tensors = cli_args_text(args, "tensors"), *prefix = cli_args_text(args, "prefix");
    const char *layout = cli_args_text(args, "layout"), *words = cli_args_text(args, "words");
    if (tensors)
        return snprintf(text, size,
                        "heed verify --tensors '%s' --prefix '%s' --layout %s --words '%s'",
                        tensors, prefix ? prefix : "", layout, words);
    return snprintf(text, size, "heed verify --q '%s' --k '%s' --v '%s' --layout %s --words '%s'",
                    cli_args_text(args, "q"), cli_args_text(args, "k"), cli_args_text(args, "v"),
                    layout, words);
}

/* Prints the command that repeats the verification. */
static void print_command(const verify_job *job, const verify_item *item, char *text, size_t size)
{
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(item->problem, spec, sizeof spec);
    int length = item->inputs == &lab_inputs_captured
                     ? print_files(job->args, text, size)
                     : snprintf(text, size, "heed verify '%s' --inputs %s", spec,
                                item->inputs->name);
    char place[96];
    const lab_contender *contender = item->contender;
    if (contender->subject)
        snprintf(place, sizeof place, "--source %.200s%s", cli_args_text(job->args, "source"),
                 job->contenders.on_host ? " --device cpu" : "");
    else if (contender->cpu)
        snprintf(place, sizeof place, "--kernel %s --cpu %s --threads %d", kernel_of(item),
                 contender->cpu, contender->threads);
    else
        snprintf(place, sizeof place, "--kernel %s --device %s", kernel_of(item),
                 contender->device);
    if (length >= 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, " %s --seed %llu%s", place,
                 (unsigned long long)job->options.seed, job->options.strict ? " --strict" : "");
}

static void add_failure(verify_job *job, const verify_item *item, size_t gate)
{
    char spec[HEED_SPEC_SIZE], command[2 * HEED_SPEC_SIZE];
    const lab_verdict *verdict = &item->report->verdicts[gate];
    const char *name = lab_gate_at(gate)->name;
    heed_problem_print(item->problem, spec, sizeof spec);
    print_command(job, item, command, sizeof command);
    if (cli_args_json(job->args)) {
        job->failures = cli_json_append(
            job->failures,
            json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:o}", "problem", spec, "kernel",
                      kernel_of(item), "cpu", verify_contender_place(item->contender), "inputs",
                      item->inputs->name, "seed", (json_int_t)job->options.seed, "gate", name,
                      "figure", cli_json_real(verdict->figure < 0 ? NAN : verdict->figure),
                      "reason", lab_json_text(verdict->reason), "repeat", lab_json_text(command)));
        return;
    }
    size_t shown = job->own.text ? FAILURES_SHOWN_OWN : FAILURES_SHOWN;
    if (job->printed++ >= shown)
        return;
    lab_progress_end(&job->progress);
    cli_message("%sFAIL%s %s: %s, %s inputs, %s: %s: %s", cli_style(stderr, LAB_BAD),
                cli_style(stderr, LAB_PLAIN), spec, kernel_of(item), item->inputs->name,
                verify_contender_place(item->contender), name, verdict->reason);
    cli_message("     %s", command);
    if (job->printed == shown)
        cli_message("further failures are counted, not shown; --json lists all");
}

/* -------------------------------------------------------------------------- */
/* Tallies                                                                    */
/* -------------------------------------------------------------------------- */

static void count_outcome(verify_tally *tally, lab_outcome outcome)
{
    tally->passed += outcome == LAB_PASS;
    tally->failed += outcome == LAB_FAIL;
    tally->skipped += outcome == LAB_SKIP;
}

static void tally_add(verify_tally *tally, const lab_report *report)
{
    count_outcome(tally, report->outcome);
    if (report->outcome == LAB_SKIP)
        return;
    double error = report->verdicts[lab_gate_index("error")].figure;
    double lse = report->verdicts[lab_gate_index("lse")].figure;
    tally->worst_error = fmax(tally->worst_error, error);
    tally->worst_lse = fmax(tally->worst_lse, lse);
}

static void add_item(verify_job *job, const verify_item *item, size_t contender)
{
    const lab_report *report = item->report;
    tally_add(&job->tallies[contender], report);
    tally_add(&job->total, report);
    if (report->outcome == LAB_SKIP) {
        memcpy(job->last_skip, report->verdicts[0].reason, sizeof job->last_skip);
    } else {
        job->rows += report->rows;
        job->rows_compared += report->rows_compared;
    }
    for (size_t g = 0; g < LAB_GATES; g++) {
        count_outcome(&job->gates[g], report->verdicts[g].outcome);
        if (report->verdicts[g].outcome == LAB_FAIL)
            add_failure(job, item, g);
    }
}

static void add_unjudged(verify_job *job, const verify_item *item)
{
    char spec[HEED_SPEC_SIZE];
    size_t gate = 0;
    if (job->unjudged++ > 0)
        return;
    while (item->report->verdicts[gate].kept_by == HEED_OK)
        gate++;
    heed_problem_print(item->problem, spec, sizeof spec);
    snprintf(job->first_unjudged, sizeof job->first_unjudged, "%s: %s, %s inputs: %s: %s", spec,
             kernel_of(item), item->inputs->name, lab_gate_at(gate)->name,
             item->report->verdicts[gate].reason);
}

void verify_report_add(verify_job *job, const lab_campaign *campaign,
                       const lab_campaign_result *results)
{
    for (size_t i = 0; i < campaign->case_count; i++)
        for (size_t c = 0; c < campaign->contender_count; c++) {
            const lab_campaign_result *result = &results[i * campaign->contender_count + c];
            const verify_item item = { &campaign->cases[i].problem, campaign->cases[i].inputs,
                                       &campaign->contenders[c], &result->report };
            if (result->ended == LAB_NOT_RUN)
                continue;
            add_item(job, &item, c);
            if (lab_report_kept_by(&result->report) != HEED_OK) {
                add_unjudged(job, &item);
                continue;
            }
            bool skipped = result->report.outcome == LAB_SKIP && !campaign->cases[i].neighbour;
            job->unproved += skipped;
            if (skipped && item.contender->subject && !lab_case_absent(item.problem, item.inputs))
                verify_source_refusal(job, item.problem, item.report);
        }
}

/* -------------------------------------------------------------------------- */
/* The report                                                                 */
/* -------------------------------------------------------------------------- */

static void add_ratio(lab_listing *rows, const char *key, const char *head, double ratio)
{
    lab_cell_style(rows, ratio > 1 && isfinite(ratio) ? LAB_BAD : LAB_PLAIN);
    lab_cell_real(rows, key, head, ratio, ratio < 1e4 ? "%.2f" : "%.1e", ratio);
}

static void add_kernel(lab_listing *rows, const verify_job *job, size_t index)
{
    const lab_contender *contender = &job->contenders.items[index];
    const verify_tally *tally = &job->tallies[index];
    lab_cell_text(rows, "kernel", "kernel", verify_contender_name(contender));
    lab_cell_text(rows, "cpu", job->contenders.on_host ? "cpu" : "device",
                  verify_contender_place(contender));
    lab_cell_count(rows, "passed", "passed", (int64_t)tally->passed);
    lab_cell_style(rows, tally->failed > 0 ? LAB_BAD : LAB_PLAIN);
    lab_cell_count(rows, "failed", "failed", (int64_t)tally->failed);
    lab_cell_count(rows, "skipped", "skipped", (int64_t)tally->skipped);
    add_ratio(rows, "worst_error", "error/allowed", tally->worst_error);
    add_ratio(rows, "worst_lse", "LSE/allowed", tally->worst_lse);
    lab_row_end(rows);
}

/* Kernels that support none of the problems are listed only in JSON. */
static bool is_idle(const verify_job *job, size_t index)
{
    const verify_tally *tally = &job->tallies[index];
    return tally->passed + tally->failed == 0 && job->total.passed + job->total.failed > 0 &&
           !job->contenders.items[index].subject;
}

static lab_listing list_kernels(const verify_job *job, size_t *hidden)
{
    lab_listing rows = cli_rows_begin(cli_args_json(job->args));
    *hidden = 0;
    for (size_t c = 0; c < job->contenders.count; c++)
        if (cli_args_json(job->args) || !is_idle(job, c))
            add_kernel(&rows, job, c);
        else
            ++*hidden;
    return rows;
}

static cli_exit print_text(const verify_job *job)
{
    size_t hidden;
    lab_listing kernels = list_kernels(job, &hidden);
    cli_exit code = cli_table_print(kernels);
    if (code != CLI_OK)
        return code;
    if (hidden)
        printf("and %zu more that can do none of this\n", hidden);
    double share = job->rows ? 100.0 * (double)job->rows_compared / (double)job->rows : 0;
    printf("\n");
    lab_wrap_format(
        stdout, 4,
        "%s: %zu problem%s, seed %llu; %.3g %% of the rows were compared with the float64 "
        "reference",
        job->contenders.name, job->problems, lab_plural(job->problems),
        (unsigned long long)job->options.seed, share);
    if (job->half_problems)
        printf("%zu with acc=f16, by the error budget of half-precision accumulation\n",
               job->half_problems);
    if (job->rounded_problems)
        printf("%zu with products=, by the error budget of products of rounded operands\n",
               job->rounded_problems);
    printf("%zu passed, %zu failed, %zu skipped\n", job->total.passed, job->total.failed,
           job->total.skipped);
    return CLI_OK;
}

/* Adds a gate with its summary, and its tally if there is one. */
static void add_gate(lab_listing *rows, size_t gate, const verify_tally *tally)
{
    lab_cell_text(rows, "gate", "gate", lab_gate_at(gate)->name);
    lab_cell_text(rows, "proves", "proves", lab_gate_at(gate)->proves);
    if (tally) {
        lab_cell_count(rows, "passed", NULL, (int64_t)tally->passed);
        lab_cell_count(rows, "failed", NULL, (int64_t)tally->failed);
        lab_cell_count(rows, "skipped", NULL, (int64_t)tally->skipped);
    }
    lab_row_end(rows);
}

static cli_exit print_json(const verify_job *job)
{
    size_t hidden;
    lab_listing kernels = list_kernels(job, &hidden), gates = cli_rows_begin(true);
    for (size_t g = 0; g < LAB_GATES; g++)
        add_gate(&gates, g, &job->gates[g]);
    json_t *json = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:O, s:o, s:I}",
        "device", job->contenders.name, "backend", job->contenders.on_host ? "cpu" : "cuda", "seed",
        (json_int_t)job->options.seed, "problems", (json_int_t)job->problems, "half_problems",
        (json_int_t)job->half_problems, "rounded_problems", (json_int_t)job->rounded_problems,
        "passed", (json_int_t)job->total.passed, "failed", (json_int_t)job->total.failed, "skipped",
        (json_int_t)job->total.skipped, "rows", (json_int_t)job->rows, "rows_compared",
        (json_int_t)job->rows_compared, "kernels", lab_listing_take(kernels), "gates",
        lab_listing_take(gates), "failures", job->failures, "source",
        job->own.text ? lab_json_text(cli_args_text(job->args, "source")) : json_null(), "refused",
        (json_int_t)job->refused);
    return cli_json_print(json, "verify");
}

cli_exit verify_report_print(const verify_job *job)
{
    return cli_args_json(job->args) ? print_json(job) : print_text(job);
}

/* -------------------------------------------------------------------------- */
/* --list                                                                     */
/* -------------------------------------------------------------------------- */

cli_exit verify_report_list(const cli_args *args)
{
    lab_listing rows = cli_rows_begin(cli_args_json(args));
    for (size_t i = 0; lab_gate_at(i); i++)
        add_gate(&rows, i, NULL);
    json_t *gates = lab_listing_rows(&rows);
    lab_listing_rule(&rows, "inputs|description");
    for (size_t i = 0; lab_inputs_at(i); i++) {
        lab_cell_text(&rows, "inputs", "inputs", lab_inputs_at(i)->name);
        lab_cell_text(&rows, "summary", "description", lab_inputs_at(i)->summary);
        lab_row_end(&rows);
    }
    return rows.json ? cli_json_print(json_pack("{s:o, s:o}", "gates", gates, "inputs",
                                                lab_listing_take(rows)),
                                      "verify")
                     : cli_table_print(rows);
}
