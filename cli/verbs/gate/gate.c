/*
 * gate.c - `heed gate`: checks for regressions against the champions of the board
 */
#include "gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/plural.h"
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
        code = gate_report(gate);
    return code == CLI_OK ? gate_exit(gate) : code;
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
                      .limit = cli_args_real(args, "limit") / 100,
                      .seconds = cli_args_real(args, "seconds") };
    cli_exit code = check_arguments(args);
    if (code == CLI_OK)
        code = cli_kernel_check(args);
    if (code == CLI_OK)
        code = cli_context_open(&gate.bench.context, args);
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
    CLI_OPTION_WISDOM,
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
