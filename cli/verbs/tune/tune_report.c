/*
 * tune_report.c - the result of `heed tune`: before and after, beside each rival
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "report/format.h"
#include "report/wrap.h"
#include "tune.h"

static const lab_bench_row *row_after(const lab_tune_shape *shape)
{
    return shape->challenge.won && shape->after.outcome == LAB_BENCH_OK && shape->after.count > 0
               ? &shape->after
               : NULL;
}

static const lab_bench_match *find_match(const lab_bench_row *row, const char *name)
{
    for (size_t i = 0; row && i < row->match_count; i++)
        if (strcmp(row->matches[i].name, name) == 0)
            return &row->matches[i];
    return NULL;
}

static size_t count_won(const lab_tune *tune)
{
    size_t won = 0;
    for (size_t i = 0; i < tune->count; i++)
        won += tune->shapes[i].challenge.won;
    return won;
}

/* -------------------------------------------------------------------------- */
/* The table                                                                  */
/* -------------------------------------------------------------------------- */

/* "1.21x", or a word for the reason why there is none. */
static const char *ratio_of(const lab_bench_match *match, char text[32])
{
    if (match && match->outcome == LAB_BENCH_OK)
        snprintf(text, 32, "%.2fx", match->comparison.ratio.estimate);
    else
        snprintf(text, 32, "%s", match ? lab_bench_outcome_name(match->outcome) : "-");
    return text;
}

static const char *proof_word(const lab_tune_shape *shape)
{
    static const char *const words[] = { [LAB_UNPROVEN] = "no time",
                                         [LAB_PROVEN] = "all",
                                         [LAB_REFUTED] = "refused",
                                         [LAB_UNTOLD] = "unknown" };
    return words[shape->proven];
}

/* The time of one of the two compared kernels, from the blocks in which they took turns: times
 * beside the rivals are minutes apart, and the machine may have changed. If nothing won, the time
 * of heed's kernel beside the rivals. 0: not timed. */
static double seconds_of(const lab_tune_shape *shape, bool after)
{
    const lab_bench_row *row = &shape->before;
    if (shape->challenge.won)
        return shape->challenge.pairs[1].seconds[after ? 0 : 1];
    return row->outcome == LAB_BENCH_OK && row->count > 0 ? row->summary.p50 : 0;
}

/* Adds a line for the kernel before or after, with the times of the available rivals over its. */
static void add_kernel(lab_listing *rows, const lab_tune *tune, const lab_tune_shape *shape,
                       bool after)
{
    char text[64] = "";
    bool won = shape->challenge.won;
    const lab_bench_row *row = after ? row_after(shape) : &shape->before;
    const lab_interval *ratio = &shape->challenge.bout.compared[1].ratio;
    if (after)
        snprintf(text, sizeof text, "%.3fx [%.3f, %.3f]", ratio->estimate, ratio->low, ratio->high);
    lab_cell_left(rows, "problem, kernel", "  %s%s", after ? "-> " : "",
                  after ? shape->best : shape->champion);
    lab_cell_seconds(rows, NULL, "time", seconds_of(shape, after));
    lab_cell_styled(rows, NULL, "before/after", after ? LAB_GOOD : LAB_PLAIN, won ? text : NULL);
    lab_cell_left(rows, "gates", "%s", won && !after ? "" : proof_word(shape));
    for (size_t i = 0; i < tune->bench.rival_count; i++) {
        const lab_bench_rival *rival = &tune->bench.rivals[i];
        if (rival->open)
            lab_cell_right(rows, rival->name, "%s", ratio_of(find_match(row, rival->name), text));
    }
    lab_row_end(rows);
}

static cli_exit print_table(const lab_tune *tune)
{
    lab_listing rows = cli_rows_begin(false);
    for (size_t i = 0; i < tune->count; i++) {
        const lab_tune_shape *shape = &tune->shapes[i];
        lab_cell_text(&rows, NULL, "problem, kernel", shape->spec);
        lab_row_end(&rows);
        add_kernel(&rows, tune, shape, false);
        if (shape->challenge.won)
            add_kernel(&rows, tune, shape, true);
    }
    return cli_table_print(rows);
}

/* Writes the measurements that the guide used. */
static void write_insight(FILE *stream, const lab_tune_shape *shape)
{
    char words[200];
    const lab_insight *it = &shape->insight;
    if (shape->course.mode != LAB_INSIGHT_MEASURED || !*it->kernel)
        return;
    if (lab_insight_known(it))
        fprintf(stream, " (%s)",
                *lab_clue_explain(lab_insight_findings(it), words, sizeof words)
                    ? words
                    : "nothing binds it clearly");
    else
        fprintf(stream, " (its limits were not measured: %s)", it->effects_why);
}

/* "30 of 91 points of cpu_tile, 4 of 18 of cpu_few" */
static void write_spaces(FILE *stream, const lab_tune_shape *shape)
{
    int64_t bred = 0;
    bool first = true;
    for (size_t i = 0; i < shape->space_count; i++) {
        const lab_tune_space *space = &shape->spaces[i];
        bred += space->bred;
        if (space->points == 0) /* there was no time for it */
            continue;
        fprintf(stream, "%s%lld of %lld%s of %s", first ? "" : ", ", (long long)space->launched,
                (long long)space->points, first ? " points" : "", space->name);
        first = false;
    }
    if (first)
        fprintf(stream, "nothing");
    fprintf(stream, " tried");
    if (bred > 0) {
        fprintf(stream, ", %lld kernel%s bred from the best", (long long)bred, lab_plural(bred));
        write_insight(stream, shape);
    }
}

/* Writes the steps taken for a problem, and their outcome. */
static void write_shape(FILE *stream, const void *data)
{
    static const char *const proofs[] = { [LAB_UNPROVEN] = "not verified: no time",
                                          [LAB_PROVEN] = "the leader passes all gates",
                                          [LAB_REFUTED] = "the gates refused a kernel",
                                          [LAB_UNTOLD] = "not verified: heed verify failed" };
    const lab_tune_shape *shape = data;
    fprintf(stream, "%s: ", shape->spec);
    if (shape->space_count > 0)
        write_spaces(stream, shape);
    fprintf(stream, "%s%s%s; %s", shape->reused ? ", some before the interruption" : "",
            shape->space_count > 0 ? "; " : "", shape->challenge.why, proofs[shape->proven]);
}

static void print_problems(const lab_tune *tune)
{
    for (size_t i = 0; i < tune->count; i++) {
        const lab_tune_shape *shape = &tune->shapes[i];
        lab_wrap_paragraph(stdout, 4, write_shape, shape);
        if (shape->foreign)
            lab_wrap_format(stdout, 4, "%s: the leader of the board: %s", shape->spec,
                            shape->lead.why);
    }
}

/* The time of the fastest rival of @row over heed's; 0: none was timed. */
static double beyond_rivals(const lab_bench_row *row)
{
    double least = 0;
    for (size_t i = 0; row && row->outcome == LAB_BENCH_OK && i < row->match_count; i++) {
        const lab_bench_match *match = &row->matches[i];
        double ratio = match->outcome == LAB_BENCH_OK ? match->comparison.ratio.estimate : 0;
        if (ratio > 0 && (least == 0 || ratio < least))
            least = ratio;
    }
    return least;
}

/* Speed-ups are those of the leaders, one for each problem: over the kernels before, if a candidate
 * was timed, and over rivals. */
static lab_figures figures_of(const lab_tune *tune)
{
    double *origin = calloc(2 * tune->count + 1, sizeof *origin);
    double *rival = origin ? origin + tune->count : NULL;
    size_t origins = 0, rivals = 0;
    lab_figures figures = { .seconds = lab_tune_passed(tune),
                            .tokens_in = -1,
                            .tokens_out = -1,
                            .confirmed = count_won(tune) > 0 };
    for (size_t i = 0; i < tune->count && origin; i++) {
        const lab_tune_shape *shape = &tune->shapes[i];
        const bool won = shape->challenge.won;
        const int64_t passed = figures.passed;
        for (size_t j = 0; j < shape->space_count; j++) {
            figures.candidates += shape->spaces[j].figures.candidates;
            figures.compiled += shape->spaces[j].figures.compiled;
            figures.passed += shape->spaces[j].figures.passed;
        }
        if (won || figures.passed > passed)
            origin[origins++] = won ? shape->challenge.bout.compared[1].ratio.estimate : 1;
        double beyond = beyond_rivals(won && row_after(shape) ? row_after(shape) : &shape->before);
        if (beyond > 0)
            rival[rivals++] = beyond;
        figures.confirmed = figures.confirmed && (!won || shape->proven == LAB_PROVEN);
    }
    figures.origin = lab_speedups_of(origin, origins);
    figures.rival = lab_speedups_of(rival, rivals);
    free(origin);
    return figures;
}

/* Prints the result in a sentence. */
static void print_sum(const lab_tune *tune)
{
    size_t won = count_won(tune);
    double sum = 0;
    for (size_t i = 0; i < tune->count; i++)
        sum += tune->shapes[i].challenge.won
                   ? log(tune->shapes[i].challenge.bout.compared[1].ratio.estimate)
                   : 0;
    printf("\n");
    if (won == 0)
        lab_wrap_format(stdout, 0,
                        "no improvement: on %s nothing that was tried is FASTER by %.3g %% twice; "
                        "%zu problem%s",
                        heed_context_device(tune->bench.context), 100 * LAB_CHAMPION_GAIN,
                        tune->count,
                        tune->count == 1 ? " keeps what it had" : "s keep what they had");
    else
        lab_wrap_format(
            stdout, 0,
            "new champions on %s for %zu of %zu problem%s, %.3fx as fast in the geometric "
            "mean; the others keep what they had",
            heed_context_device(tune->bench.context), won, tune->count, lab_plural(tune->count),
            exp(sum / (double)won));
}

static cli_exit print_text(const lab_tune *tune)
{
    char used[LAB_FORMAT_SIZE], all[LAB_FORMAT_SIZE];
    cli_exit code = print_table(tune);
    bool rivals = false;
    for (size_t i = 0; i < tune->bench.rival_count; i++) {
        const lab_bench_rival *rival = &tune->bench.rivals[i];
        rivals |= rival->open;
        if (!rival->open)
            lab_wrap_format(stdout, 4, "%s: %s", rival->name, rival->reason);
    }
    printf(rivals ? "Rivals: how many times as long as heed they take.\n\n"
                  : "There is no rival here to compare with.\n\n");
    print_problems(tune);
    print_sum(tune);
    const lab_figures figures = figures_of(tune);
    figures_print(&figures, "the kernels before");
    printf("%s of %s were used\n", lab_format_duration(lab_tune_passed(tune), used),
           lab_format_duration(tune->seconds, all));
    return code;
}

/* -------------------------------------------------------------------------- */
/* JSON                                                                       */
/* -------------------------------------------------------------------------- */

static json_t *json_comparison(const lab_comparison *c, bool there)
{
    if (!there)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:s, s:I}", "ratio", cli_json_real(c->ratio.estimate), "low",
                     cli_json_real(c->ratio.low), "high", cli_json_real(c->ratio.high), "verdict",
                     lab_compared_name(c->verdict), "pairs", (json_int_t)c->pairs);
}

static json_t *json_round(const lab_tune_contest *contest, int round)
{
    return json_comparison(&contest->bout.compared[round], contest->bout.rounds > round);
}

static json_t *json_match(const void *item)
{
    const lab_bench_match *match = item;
    return json_pack("{s:s, s:s, s:o, s:o}", "name", match->name, "outcome",
                     lab_bench_outcome_name(match->outcome), "reason", cli_json_word(match->reason),
                     "comparison",
                     json_comparison(&match->comparison, match->outcome == LAB_BENCH_OK));
}

static json_t *json_row(const lab_bench_row *row)
{
    if (!row || row->outcome != LAB_BENCH_OK || row->count <= 0)
        return json_null();
    return json_pack(
        "{s:s, s:o, s:o, s:o}", "kernel", row->kernel, "p50", cli_json_real(row->summary.p50),
        "p90", cli_json_real(row->summary.p90), "rivals",
        cli_json_list(row->matches, row->match_count, sizeof *row->matches, json_match));
}

static json_t *json_space(const void *item)
{
    const lab_tune_space *space = item;
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "space", space->name, "kernel",
                     space->kernel, "points", (json_int_t)space->points, "launched",
                     (json_int_t)space->launched, "pruned", (json_int_t)space->pruned, "bred",
                     (json_int_t)space->bred);
}

/* Seconds of a side, 0 for the best and 1 for the champion, in the turns judged by "again"; else
 * null. */
static json_t *json_turns(const lab_tune_shape *shape, int side)
{
    return cli_json_real(shape->challenge.bout.rounds > 1 ? shape->challenge.pairs[1].seconds[side]
                                                          : (double)NAN);
}

static int64_t launched(const lab_tune_shape *shape)
{
    int64_t sum = 0;
    for (size_t i = 0; i < shape->space_count; i++)
        sum += shape->spaces[i].launched;
    return sum;
}

/* A leader of the board that cannot be planned, and the outcome of comparing with it; else null. */
static json_t *json_leader(const lab_tune_shape *shape)
{
    const lab_tune_contest *lead = &shape->lead;
    if (!shape->foreign)
        return json_null();
    return json_pack("{s:s, s:I, s:o, s:o, s:b, s:s}", "name", shape->leader.name, "trial",
                     (json_int_t)shape->leader.trial, "first", json_round(lead, 0), "again",
                     json_round(lead, 1), "beaten", lead->won, "why", lead->why);
}

static json_t *json_shape(const lab_tune_shape *shape, bool kept)
{
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:b, s:s, s:b, s:o, s:I, s:I, "
        "s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
        "problem", shape->spec, "champion", shape->champion, "best",
        *shape->best ? json_string(shape->best) : json_null(), "spaces",
        cli_json_list(shape->spaces, shape->space_count, sizeof *shape->spaces, json_space),
        "improved", shape->challenge.won, "gates", proof_word(shape), "refuted",
        shape->proven == LAB_REFUTED, "why", cli_json_word(shape->challenge.why), "launched",
        (json_int_t)launched(shape), "reused", (json_int_t)shape->reused, "searched_seconds",
        cli_json_real(shape->searched > 0 ? shape->searched : (double)NAN), "first",
        json_round(&shape->challenge, 0), "again", json_round(&shape->challenge, 1), "best_seconds",
        json_turns(shape, 0), "champion_seconds", json_turns(shape, 1), "before",
        json_row(&shape->before), "after", json_row(row_after(shape)), "insights",
        *shape->insight.kernel ? insight_json(&shape->insight) : json_null(), "leader",
        json_leader(shape), "wisdom", kept);
}

cli_exit tune_report(const tune_run *run)
{
    const lab_tune *tune = &run->tune;
    json_t *shapes = json_array();
    if (!cli_args_json(run->args)) {
        json_decref(shapes);
        return print_text(tune);
    }
    for (size_t i = 0; i < tune->count; i++)
        shapes = cli_json_append(shapes, json_shape(&tune->shapes[i], run->kept[i]));
    const lab_figures figures = figures_of(tune);
    return cli_json_print(
        json_pack("{s:s, s:i, s:I, s:b, s:o, s:o, s:I, s:o, s:o}", "device",
                  heed_context_device(tune->bench.context), "threads",
                  heed_context_threads(tune->bench.context), "run", (json_int_t)tune->session.run,
                  "resumed", tune->session.resumed, "seconds", cli_json_real(tune->seconds), "took",
                  cli_json_real(lab_tune_passed(tune)), "improved", (json_int_t)count_won(tune),
                  "shapes", shapes, "figures", figures_json(&figures)),
        "tune");
}
