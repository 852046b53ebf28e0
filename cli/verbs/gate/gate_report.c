/*
 * gate_report.c - the answer of `heed gate`, and its exit code
 */
#include <math.h>
#include <string.h>

#include "gate.h"
#include "report/format.h"

static const char *const names[GATE_VERDICTS] = { "AMBIGUOUS", "PASS", "SAME", "SLOWER", "WRONG" };

static const char *verdict_name(gate_verdict verdict)
{
    return (unsigned)verdict < GATE_VERDICTS ? names[verdict] : "unknown";
}

size_t gate_count(const gate_run *gate, gate_verdict verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < gate->count; i++)
        count += gate->shapes[i].verdict == verdict;
    return count;
}

cli_exit gate_exit(const gate_run *gate)
{
    if (gate_count(gate, GATE_WRONG) + gate_count(gate, GATE_SLOWER) > 0)
        return CLI_FINDING;
    bool doubtful = gate_count(gate, GATE_AMBIGUOUS) > 0 || gate->unverified;
    return doubtful && !gate->allow_ambiguous ? CLI_OPEN : CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* The table                                                                  */
/* -------------------------------------------------------------------------- */

static void add_seconds(lab_table *table, double seconds)
{
    char text[LAB_FORMAT_SIZE];
    lab_table_cell(table, "%s", lab_format_seconds(seconds > 0 ? seconds : -1, text));
}

static void add_shape(lab_table *table, const gate_shape *shape)
{
    static const cli_style_name styles[GATE_VERDICTS] = { CLI_WARN, CLI_GOOD, CLI_GOOD, CLI_BAD,
                                                          CLI_BAD };
    const lab_interval *ratio = &shape->comparison.ratio;
    lab_table_cell(table, "%s%s", shape->spec, shape->cold ? " (cold)" : "");
    lab_table_cell(table, "%s%s", shape->champion, shape->rebuilt ? " (rebuilt)" : "");
    add_seconds(table, shape->then);
    add_seconds(table, shape->pair.seconds[1]);
    lab_table_cell(table, "%s",
                   shape->pair.same          ? "the same"
                   : *shape->pair.planned[0] ? shape->pair.planned[0]
                                             : "-");
    add_seconds(table, shape->pair.seconds[0]);
    if (shape->judged)
        lab_table_cell(table, "%.3f [%.3f, %.3f]", ratio->estimate, ratio->low, ratio->high);
    else
        lab_table_cell(table, "-");
    lab_table_cell(table, "%s%s%s", cli_style(stdout, styles[shape->verdict]),
                   verdict_name(shape->verdict), cli_style(stdout, CLI_PLAIN));
    lab_table_row_end(table);
}

static cli_exit print_table(const gate_run *gate)
{
    lab_table *table = lab_table_create();
    lab_table_columns(table, "problem|champion|then>|again>|planned now|now>|again/now|verdict");
    for (size_t i = 0; i < gate->count; i++)
        add_shape(table, &gate->shapes[i]);
    cli_exit code = cli_table_print(table);
    printf("\n");
    for (size_t i = 0; i < gate->count; i++)
        if (*gate->shapes[i].why)
            printf("%s: %s: %s\n", gate->shapes[i].spec, verdict_name(gate->shapes[i].verdict),
                   gate->shapes[i].why);
    return code;
}

/* The verdict, and the exit code. */
static void print_sum(const gate_run *gate)
{
    size_t doubtful = gate_count(gate, GATE_AMBIGUOUS);
    printf("%zu champions on %s: %zu pass, %zu are what is planned, %zu slower by more than "
           "%.3g %%, %zu wrong, %zu ambiguous\n",
           gate->count, heed_context_device(gate->bench.context), gate_count(gate, GATE_PASS),
           gate_count(gate, GATE_SAME), gate_count(gate, GATE_SLOWER), 100 * gate->limit,
           gate_count(gate, GATE_WRONG), doubtful);
    if (doubtful)
        cli_warning("%zu of %zu shapes are AMBIGUOUS: neither a slowdown nor its absence was "
                    "shown, and so %s; more --seconds or a quieter machine may decide",
                    doubtful, gate->count,
                    gate_exit(gate) == CLI_OK ? "--allow-ambiguous lets them pass"
                                              : "they do not pass");
}

/* -------------------------------------------------------------------------- */
/* JSON                                                                       */
/* -------------------------------------------------------------------------- */

static json_t *json_shape(const gate_shape *shape)
{
    const lab_comparison *c = &shape->comparison;
    bool judged = shape->judged;
    return json_pack(
        "{s:s, s:b, s:I, s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:s, s:o}",
        "problem", shape->spec, "cold", shape->cold, "trial", (json_int_t)shape->trial, "champion",
        shape->champion, "planned", shape->pair.planned[0], "same", shape->pair.same, "rebuilt",
        shape->rebuilt, "then_seconds", cli_json_real(shape->then > 0 ? shape->then : (double)NAN),
        "champion_seconds", cli_json_real(judged ? shape->pair.seconds[1] : (double)NAN),
        "planned_seconds",
        cli_json_real(shape->pair.seconds[0] > 0 ? shape->pair.seconds[0] : (double)NAN), "ratio",
        cli_json_real(judged ? c->ratio.estimate : (double)NAN), "low",
        cli_json_real(judged ? c->ratio.low : (double)NAN), "high",
        cli_json_real(judged ? c->ratio.high : (double)NAN), "pairs",
        (json_int_t)shape->pair.duel.pairs, "noise", cli_json_real(judged ? c->noise : (double)NAN),
        "verdict", verdict_name(shape->verdict), "why",
        *shape->why ? cli_json_text(shape->why) : json_null());
}

static cli_exit print_json(const gate_run *gate)
{
    json_t *list = json_array(), *counts = json_object();
    for (size_t i = 0; i < gate->count; i++)
        list = cli_json_append(list, json_shape(&gate->shapes[i]));
    for (int i = 0; i < GATE_VERDICTS; i++)
        json_object_set_new(counts, names[i],
                            json_integer((json_int_t)gate_count(gate, (gate_verdict)i)));
    return cli_json_print(
        json_pack("{s:s, s:i, s:o, s:o, s:b, s:i, s:o, s:o}", "device",
                  heed_context_device(gate->bench.context), "threads",
                  heed_context_threads(gate->bench.context), "limit", cli_json_real(gate->limit),
                  "seconds", cli_json_real(gate->seconds), "allow_ambiguous", gate->allow_ambiguous,
                  "exit", gate_exit(gate), "counts", counts, "shapes", list),
        "gate");
}

cli_exit gate_report(const gate_run *gate)
{
    if (gate->json)
        return print_json(gate);
    cli_exit code = print_table(gate);
    print_sum(gate);
    return code;
}
