/*
 * gate.c - `heed gate`: checks for regressions against the champions of the board
 */
#include "gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/plural.h"
#include "cli/base/cli.h"
#include "src/device.h"
#include "wisdom_line.h"

/* -------------------------------------------------------------------------- */
/* The board's champions for this device                                      */
/* -------------------------------------------------------------------------- */

/* True if the same champion is already listed, for example with another driver. */
static bool is_known(const gate_run *gate, const gate_shape *shape)
{
    for (size_t i = 0; i < gate->count; i++) {
        const gate_shape *other = &gate->shapes[i];
        if (strcmp(other->spec, shape->spec) == 0 && other->cold == shape->cold &&
            strcmp(other->champion, shape->champion) == 0)
            return true;
    }
    return false;
}

static heed_status take_row(void *data, const lab_record_row *row)
{
    gate_run *gate = data;
    gate_shape shape = { .trial = row->trial, .then = row->seconds };
    heed_problem problem;
    if (strcmp(row->device, heed_context_device(gate->bench.context)) != 0)
        return HEED_OK;
    if (row->threads != heed_context_threads(gate->bench.context)) {
        gate->elsewhere++;
        return HEED_OK;
    }
    snprintf(shape.spec, sizeof shape.spec, "%s", row->problem);
    snprintf(shape.champion, sizeof shape.champion, "%.95s%s%.95s", row->kernel,
             *row->config ? "__" : "", row->config);
    shape.cold = row->timing && strcmp(row->timing, "cold") == 0;
    shape.damaged = !row->sound;
    snprintf(shape.build, sizeof shape.build, "%s", row->build ? row->build : "");
    shape.rebuilt_elsewhere = !row->build || strcmp(row->build, heed_wisdom_build()) != 0;
    if (is_known(gate, &shape) || heed_problem_parse(&problem, row->problem) != HEED_OK ||
        heed_problem_normalize(&shape.source.problem, &problem) != HEED_OK)
        return HEED_OK;
    if (!lab_grow(&gate->shapes, gate->count, sizeof *gate->shapes))
        return HEED_ERR_NO_MEMORY;
    gate->shapes[gate->count++] = shape;
    return HEED_OK;
}

/* Finds the sources of heed that the champion was built from, which are read once for each
 * build. */
static heed_status find_library(gate_run *gate, lab_record *record, gate_shape *shape,
                                lab_error *error)
{
    for (size_t i = 0; i < gate->library_count; i++)
        if (strcmp(gate->libraries[i].build, shape->build) == 0) {
            shape->library = i + 1;
            return HEED_OK;
        }
    lab_record_library *sources;
    heed_status status = lab_record_library_read(record, shape->trial, &sources, error);
    if (status != HEED_OK || !sources)
        return status;
    if (!lab_grow(&gate->libraries, gate->library_count, sizeof *gate->libraries)) {
        lab_record_library_free(sources);
        return HEED_ERR_NO_MEMORY;
    }
    lab_rebuild_library *library = &gate->libraries[gate->library_count];
    *library = (lab_rebuild_library){ .sources = sources };
    memcpy(library->build, shape->build, sizeof shape->build);
    shape->library = ++gate->library_count;
    return HEED_OK;
}

/* Finds the sources for rebuilding the champions, once all rows have been read. */
static heed_status find_sources(gate_run *gate, lab_record *record, lab_error *error)
{
    bool host = heed_device_is_host(gate->bench.context);
    heed_status status = HEED_OK;
    for (size_t i = 0; i < gate->count && status == HEED_OK; i++) {
        gate_shape *shape = &gate->shapes[i];
        status = lab_record_source(record, shape->trial, &shape->code, error);
        bool needed = shape->code ? !host : shape->rebuilt_elsewhere;
        if (status == HEED_OK && needed)
            status = lab_record_launch(record, shape->trial, &shape->launch, error);
        if (status == HEED_OK && needed)
            status = find_library(gate, record, shape, error);
    }
    return status;
}

static cli_exit say_nothing_there(const gate_run *gate, const lab_record *record)
{
    const char *problem = cli_args_text(gate->args, "problem");
    const char *device = heed_context_device(gate->bench.context);
    int threads = heed_context_threads(gate->bench.context);
    if (gate->elsewhere)
        cli_error("the board has no champion for %s with %d thread%s, but %zu with other numbers "
                  "of threads: see --threads",
                  device, threads, lab_plural(threads), gate->elsewhere);
    else
        cli_error("%s: the board has no champion for %s%s%s: nothing can be judged; 'heed tune "
                  "--board %s' finds some",
                  lab_record_place(record), device, problem ? " and " : "", problem ? problem : "",
                  lab_record_place(record));
    return CLI_ENVIRONMENT;
}

/* CLI_ENVIRONMENT if there is none: a gate without a champion must not pass. */
static cli_exit read_champions(gate_run *gate, lab_record *record)
{
    const lab_record_filter filter = { .part = LAB_BOARD_BEST,
                                       .problem = cli_args_text(gate->args, "problem"),
                                       .device = heed_context_device(gate->bench.context) };
    lab_error error = { "not enough memory for the champions" };
    cli_exit code = CLI_OK;
    heed_status status = lab_record_visit(record, &filter, take_row, gate, &error);
    if (status == HEED_OK)
        status = find_sources(gate, record, &error);
    if (status == HEED_OK && gate->count == 0)
        code = say_nothing_there(gate, record);
    return status == HEED_OK ? code : cli_fail_error(status, &error);
}

static void free_gate(gate_run *gate)
{
    for (size_t i = 0; i < gate->count; i++) {
        lab_bench_pair_free(&gate->shapes[i].pair);
        free(gate->shapes[i].code);
        free(gate->shapes[i].launch);
    }
    for (size_t i = 0; i < gate->library_count; i++)
        lab_rebuild_library_free(&gate->libraries[i]);
    free(gate->libraries);
    gate->libraries = NULL;
    gate->library_count = 0;
    free(gate->shapes);
    gate->shapes = NULL;
    gate->count = 0;
}

/* -------------------------------------------------------------------------- */
/* The result, and its exit code                                              */
/* -------------------------------------------------------------------------- */

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

static cli_exit exit_of(const gate_run *gate)
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
static void add_judged(lab_listing *rows, const gate_shape *shape, const char *key, double figure)
{
    lab_cell_json(rows, key, cli_json_real(shape->judged ? figure : (double)NAN));
}

static void add_verdict(lab_listing *rows, const gate_shape *shape)
{
    static const lab_style styles[GATE_VERDICTS] = { LAB_WARN, LAB_GOOD, LAB_GOOD, LAB_BAD,
                                                     LAB_BAD };
    const lab_interval *ratio = &shape->comparison.ratio;
    add_judged(rows, shape, "ratio", ratio->estimate);
    add_judged(rows, shape, "low", ratio->low);
    add_judged(rows, shape, "high", ratio->high);
    if (shape->judged)
        lab_cell_left(rows, "again/now", "%.3f [%.3f, %.3f]", ratio->estimate, ratio->low,
                      ratio->high);
    else
        lab_cell_left(rows, "again/now", "-");
    lab_cell_count(rows, "pairs", NULL, (int64_t)shape->pair.duel.pairs);
    add_judged(rows, shape, "noise", shape->comparison.noise);
    lab_cell_styled(rows, "verdict", "verdict", styles[shape->verdict],
                    verdict_name(shape->verdict));
    lab_cell_json(rows, "why", cli_json_word(shape->why));
}

static void add_shape(lab_listing *rows, const gate_shape *shape)
{
    const lab_bench_pair *pair = &shape->pair;
    const char *planned = pair->planned[0], *shown = *planned ? planned : "-";
    lab_cell_text(rows, "problem", NULL, shape->spec);
    lab_cell_left(rows, "problem", "%s%s", shape->spec, shape->cold ? " (cold)" : "");
    lab_cell_json(rows, "cold", json_boolean(shape->cold));
    lab_cell_count(rows, "trial", NULL, shape->trial);
    lab_cell_text(rows, "champion", NULL, shape->champion);
    lab_cell_left(rows, "champion", "%s%s", shape->champion, shape->rebuilt ? " (rebuilt)" : "");
    lab_cell_text(rows, "planned", NULL, planned);
    lab_cell_json(rows, "same", json_boolean(pair->same));
    lab_cell_json(rows, "rebuilt", json_boolean(shape->rebuilt));
    lab_cell_seconds(rows, "then_seconds", "then", shape->then);
    lab_cell_seconds(rows, NULL, "again", pair->seconds[1]);
    add_judged(rows, shape, "champion_seconds", pair->seconds[1]);
    lab_cell_left(rows, "planned now", "%s", pair->same ? "the same" : shown);
    lab_cell_seconds(rows, "planned_seconds", "now", pair->seconds[0]);
    add_verdict(rows, shape);
    lab_row_end(rows);
}

static lab_listing list_shapes(const gate_run *gate)
{
    lab_listing rows = cli_rows_begin(cli_args_json(gate->args));
    for (size_t i = 0; i < gate->count; i++)
        add_shape(&rows, &gate->shapes[i]);
    return rows;
}

static cli_exit print_table(const gate_run *gate)
{
    cli_exit code = cli_table_print(list_shapes(gate));
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
                    exit_of(gate) == CLI_OK ? "--allow-ambiguous lets them pass"
                                            : "they do not pass");
}

/* -------------------------------------------------------------------------- */
/* JSON                                                                       */
/* -------------------------------------------------------------------------- */

static cli_exit print_json(const gate_run *gate)
{
    json_t *counts = json_object();
    for (int i = 0; i < GATE_VERDICTS; i++)
        json_object_set_new(counts, names[i],
                            json_integer((json_int_t)count_of(gate, (gate_verdict)i)));
    return cli_json_print(
        json_pack("{s:s, s:i, s:o, s:o, s:b, s:i, s:o, s:o}", "device",
                  heed_context_device(gate->bench.context), "threads",
                  heed_context_threads(gate->bench.context), "limit", cli_json_real(gate->limit),
                  "seconds", cli_json_real(gate->bench.seconds), "allow_ambiguous",
                  cli_args_flag(gate->args, "allow-ambiguous"), "exit", exit_of(gate), "counts",
                  counts, "shapes", lab_listing_take(list_shapes(gate))),
        "gate");
}

static cli_exit report(const gate_run *gate)
{
    if (cli_args_json(gate->args))
        return print_json(gate);
    cli_exit code = print_table(gate);
    print_sum(gate);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit read_board(gate_run *gate, const cli_args *args)
{
    lab_record *record;
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, args);
    if (!record)
        return code == CLI_OK ? CLI_ENVIRONMENT : code;
    code = read_champions(gate, record);
    lab_record_close(record);
    return code;
}

static cli_exit pass_gates(gate_run *gate)
{
    cli_exit code = gate_time(gate);
    if (code == CLI_OK && !gate->options.unproved)
        code = gate_verify(gate);
    if (code == CLI_INTERRUPTED)
        cli_message("interrupted: nothing has been judged");
    if (code == CLI_OK)
        code = gate_judge(gate);
    if (code == CLI_OK)
        code = report(gate);
    return code == CLI_OK ? exit_of(gate) : code;
}

/* Problems need --criteria: without it the board determines them. */
static cli_exit check_arguments(const cli_args *args)
{
    bool named = cli_args_operand_count(args) > 0 || cli_args_text(args, "shapes");
    if (!named || cli_args_flag(args, "criteria"))
        return CLI_OK;
    cli_error("the board determines the problems, and --problem chooses among them; SPEC and "
              "--shapes need --criteria");
    return CLI_USAGE;
}

static cli_exit run(const cli_args *args)
{
    gate_run gate = { .args = args,
                      .options = cli_rebuild_options(args),
                      .machine = cli_machine(args),
                      .bench = { .sink = &cli_sink,
                                 .rival_names = cli_args_text(args, "peers"),
                                 .kernel = cli_args_text(args, "kernel"),
                                 .seconds = cli_args_real(args, "seconds"),
                                 .margin = 0.01,
                                 .seed = (uint64_t)cli_args_integer(args, "seed") },
                      .limit = cli_args_real(args, "limit") / 100 };
    cli_exit code = check_arguments(args);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    if (code == CLI_OK)
        code = cli_context_open_read(&gate.bench.context, args);
    if (code != CLI_OK)
        return code;
    lab_bench_look_at_device(&gate.bench, gate.machine.device);
    if (cli_args_flag(args, "criteria"))
        code = gate_criteria(&gate.bench, args);
    else if ((code = read_board(&gate, args)) == CLI_OK)
        code = pass_gates(&gate);
    free_gate(&gate);
    heed_context_destroy(gate.bench.context);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_BOARD,
    CLI_OPTION_PROBLEM,
    OPT_REAL("limit", 0, "PERCENT", 0.1, 100, "2", "Slowdown beyond which a problem fails"),
    OPT_REAL("seconds", 0, "N", 0.01, 3600, "2",
             "Maximum seconds to time each problem; less if the verdict is clear. With "
             "--criteria, the seconds beside each backend of SDPA that may be the fastest"),
    OPT_FLAG("criteria", 0,
             "Judge by fixed criteria instead: beside PyTorch's SDPA, spills, bank conflicts"),
    CLI_OPTION_SHAPES,
    { .name = "peers",
      .kind = CLI_TEXT,
      .argument = "LIST",
      .standard = "torch",
      .help = "With --criteria, the backends of torch that count as SDPA, such as "
              "torch-flash; the fastest is compared" },
    OPT_FLAG("allow-ambiguous", 0, "Let AMBIGUOUS problems pass"),
    OPT_FLAG("trust-board", 0,
             "Compile and load sources of heed stored on the board, even if others may "
             "write to its file"),
    CLI_OPTION_UNSAFE,
    OPT_FLAG("no-verify", 0,
             "Compare only some rows of the timed outputs, and skip the gates of 'heed "
             "verify' for planned kernels"),
    CLI_OPTION_SEED("Seed of the values, the order of the blocks, and the rows that are compared"),
    CLI_OPTION_KERNEL,
    CLI_OPTION_WISDOM_READ("Plan with the wisdom in FILE"),
    { .table = cli_machine_options },
    { .name = NULL },
};

const cli_verb cli_verb_gate = {
    .name = "gate",
    .summary = "check for performance regressions",
    .operands = { "[SPEC...]", 0, CLI_ANY },
    .description =
        "Rebuilds the champions of the board on this device and times each in turns with "
        "heed's current plan. Recorded times are shown, not compared. Verdicts, with 99 % "
        "confidence for all problems together:\n"
        "\n"
        "  PASS       a slowdown of more than --limit has been ruled out\n"
        "  SAME       heed plans the champion itself, from the same code\n"
        "  SLOWER     slower by more than --limit\n"
        "  WRONG      the timed or planned kernel computes a wrong result\n"
        "  AMBIGUOUS  undecided, for the reason that is printed; more --seconds may help\n"
        "\n"
        "--criteria judges against PyTorch's SDPA instead (docs/gating.md): 10 % faster on "
        "two problems and 5 % on a third, p90 not worse, no spills, at most 5 % bank "
        "conflicts.",
    .examples = "  heed gate --device cuda --board champions.db --seconds 5",
    .status = "The exit status is 1 if anything is SLOWER or WRONG, or a criterion fails; 8 if "
              "something is AMBIGUOUS or not verified; 3 if nothing can be judged, or a "
              "criterion is UNKNOWN or AMBIGUOUS.",
    .options = options,
    .run = run,
};
