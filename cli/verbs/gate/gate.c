/*
 * gate.c - `heed gate`: checks for regressions against the champions of the board
 */
#include "gate.h"

#include "src/device.h"

static cli_exit read_board(gate_run *gate, const cli_args *args)
{
    lab_record *record;
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, args);
    if (!record)
        return code == CLI_OK ? CLI_ENVIRONMENT : code;
    code = gate_read_champions(gate, record);
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
    gate_run gate = { .options = cli_rebuild_options(args),
                      .machine = cli_machine(args),
                      .problem = cli_args_text(args, "problem"),
                      .json = cli_args_json(args),
                      .allow_ambiguous = cli_args_flag(args, "allow-ambiguous"),
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
    gate_free(&gate);
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
