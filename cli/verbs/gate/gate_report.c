/*
 * gate_report.c - the result of `heed gate`, and its exit code
 */
#include <math.h>

#include "base/plural.h"
#include "cli/base/rows.h"
#include "gate.h"

static const char *const names[GATE_VERDICTS] = { "AMBIGUOUS", "PASS", "SAME", "SLOWER", "WRONG" };

static const char *verdict_name(gate_verdict verdict)
{
    return (unsigned)verdict < GATE_VERDICTS ? names[verdict] : "unknown";
}

static size_t count_of(const gate_run *gate, gate_verdict verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < gate->count; i++)
        count += gate->shapes[i].verdict == verdict;
    return count;
}

cli_exit gate_exit(const gate_run *gate)
{
    if (count_of(gate, GATE_WRONG) + count_of(gate, GATE_SLOWER) > 0)
        return CLI_FINDING;
    bool doubtful = count_of(gate, GATE_AMBIGUOUS) > 0 || gate->unverified;
    return doubtful && !cli_args_flag(gate->args, "allow-ambiguous") ? CLI_OPEN : CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* Shapes                                                                     */
/* -------------------------------------------------------------------------- */

/* Adds a figure of the comparison, for a shape that was judged. */
static void add_judged(cli_rows *rows, const gate_shape *shape, const char *key, double figure)
{
    cli_row_member(rows, key, cli_json_real(shape->judged ? figure : (double)NAN));
}

static void add_verdict(cli_rows *rows, const gate_shape *shape)
{
    static const cli_style_name styles[GATE_VERDICTS] = { CLI_WARN, CLI_GOOD, CLI_GOOD, CLI_BAD,
                                                          CLI_BAD };
    const lab_interval *ratio = &shape->comparison.ratio;
    add_judged(rows, shape, "ratio", ratio->estimate);
    add_judged(rows, shape, "low", ratio->low);
    add_judged(rows, shape, "high", ratio->high);
    if (shape->judged)
        cli_row_cell(rows, "again/now", "%.3f [%.3f, %.3f]", ratio->estimate, ratio->low,
                     ratio->high);
    else
        cli_row_cell(rows, "again/now", "-");
    cli_row_count(rows, "pairs", NULL, (int64_t)shape->pair.duel.pairs);
    add_judged(rows, shape, "noise", shape->comparison.noise);
    cli_row_styled(rows, "verdict", "verdict", styles[shape->verdict],
                   verdict_name(shape->verdict));
    cli_row_member(rows, "why", cli_json_word(shape->why));
}

static void add_shape(cli_rows *rows, const gate_shape *shape)
{
    const lab_bench_pair *pair = &shape->pair;
    const char *planned = pair->planned[0], *shown = *planned ? planned : "-";
    cli_row_text(rows, "problem", NULL, shape->spec);
    cli_row_cell(rows, "problem", "%s%s", shape->spec, shape->cold ? " (cold)" : "");
    cli_row_member(rows, "cold", json_boolean(shape->cold));
    cli_row_count(rows, "trial", NULL, shape->trial);
    cli_row_text(rows, "champion", NULL, shape->champion);
    cli_row_cell(rows, "champion", "%s%s", shape->champion, shape->rebuilt ? " (rebuilt)" : "");
    cli_row_text(rows, "planned", NULL, planned);
    cli_row_member(rows, "same", json_boolean(pair->same));
    cli_row_member(rows, "rebuilt", json_boolean(shape->rebuilt));
    cli_row_seconds(rows, "then_seconds", "then", shape->then);
    cli_row_seconds(rows, NULL, "again", pair->seconds[1]);
    add_judged(rows, shape, "champion_seconds", pair->seconds[1]);
    cli_row_cell(rows, "planned now", "%s", pair->same ? "the same" : shown);
    cli_row_seconds(rows, "planned_seconds", "now", pair->seconds[0]);
    add_verdict(rows, shape);
    cli_row_end(rows);
}

static cli_rows list_shapes(const gate_run *gate)
{
    cli_rows rows = cli_rows_begin(cli_args_json(gate->args));
    for (size_t i = 0; i < gate->count; i++)
        add_shape(&rows, &gate->shapes[i]);
    return rows;
}

static cli_exit print_table(const gate_run *gate)
{
    cli_exit code = cli_table_print(list_shapes(gate).table);
    printf("\n");
    for (size_t i = 0; i < gate->count; i++)
        if (*gate->shapes[i].why)
            printf("%s: %s: %s\n", gate->shapes[i].spec, verdict_name(gate->shapes[i].verdict),
                   gate->shapes[i].why);
    return code;
}

/* Prints the closing line. */
static void print_sum(const gate_run *gate)
{
    size_t doubtful = count_of(gate, GATE_AMBIGUOUS);
    printf("%zu champion%s on %s: %zu pass, %zu are planned anyway, %zu slower by more than "
           "%.3g %%, %zu wrong, %zu ambiguous\n",
           gate->count, lab_plural(gate->count), heed_context_device(gate->bench.context),
           count_of(gate, GATE_PASS), count_of(gate, GATE_SAME), count_of(gate, GATE_SLOWER),
           100 * gate->limit, count_of(gate, GATE_WRONG), doubtful);
    if (doubtful)
        cli_warning("AMBIGUOUS on %zu of %zu shape%s: neither a slowdown nor its absence was "
                    "shown, and so %s; more --seconds or a quieter machine may decide",
                    doubtful, gate->count, lab_plural(gate->count),
                    gate_exit(gate) == CLI_OK ? "--allow-ambiguous lets them pass"
                                              : "they do not pass");
}

/* -------------------------------------------------------------------------- */
/* JSON                                                                       */
/* -------------------------------------------------------------------------- */

static cli_exit print_json(const gate_run *gate)
{
    cli_rows shapes = list_shapes(gate);
    json_t *counts = json_object();
    for (int i = 0; i < GATE_VERDICTS; i++)
        json_object_set_new(counts, names[i],
                            json_integer((json_int_t)count_of(gate, (gate_verdict)i)));
    return cli_json_print(
        json_pack("{s:s, s:i, s:o, s:o, s:b, s:i, s:o, s:o}", "device",
                  heed_context_device(gate->bench.context), "threads",
                  heed_context_threads(gate->bench.context), "limit", cli_json_real(gate->limit),
                  "seconds", cli_json_real(gate->seconds), "allow_ambiguous",
                  cli_args_flag(gate->args, "allow-ambiguous"), "exit", gate_exit(gate), "counts",
                  counts, "shapes", cli_rows_take(&shapes)),
        "gate");
}

cli_exit gate_report(const gate_run *gate)
{
    if (cli_args_json(gate->args))
        return print_json(gate);
    cli_exit code = print_table(gate);
    print_sum(gate);
    return code;
}
