/*
 * gate.c - `heed gate`: is it still as fast, and as right, as the board says it can be?
 */
#include "gate.h"

#include "../src/device.h"
#include "gate_criteria.h"

static cli_exit pass_gates(gate_run *gate)
{
    cli_exit code = gate_read_champions(gate);
    if (code == CLI_OK)
        code = gate_time(gate);
    if (code == CLI_OK && !cli_args_flag(gate->args, "no-verify"))
        code = gate_verify(gate);
    if (code == CLI_INTERRUPTED)
        cli_message("interrupted: nothing has been judged");
    if (code == CLI_OK)
        code = gate_judge(gate);
    if (code == CLI_OK)
        code = gate_report(gate);
    return code == CLI_OK ? gate_exit(gate) : code;
}

/* Problems are for --criteria: the board says which ones the champions are for. */
static cli_exit check_arguments(const cli_args *args)
{
    bool named = cli_args_operand_count(args) > 0 || cli_args_text(args, "shapes");
    if (!named || cli_args_flag(args, "criteria"))
        return CLI_OK;
    cli_error("the board says which problems are judged; --problem chooses among them, and SPEC "
              "and --shapes are for --criteria");
    return CLI_USAGE;
}

static cli_exit run(const cli_args *args)
{
    gate_run gate = { .args = args,
                      .options = gate_options_read(args),
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
    bench_look_at_device(&gate.bench, cli_device(args));
    code = cli_args_flag(args, "criteria") ? gate_criteria(&gate.bench, args) : pass_gates(&gate);
    gate_free(&gate);
    heed_context_destroy(gate.bench.context);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_BOARD,
    CLI_OPTION_PROBLEM,
    { .name = "limit",
      .kind = CLI_REAL,
      .argument = "PERCENT",
      .min = 0.1,
      .max = 100,
      .standard = "2",
      .help = "Slower by more than this fails" },
    { .name = "seconds",
      .kind = CLI_REAL,
      .argument = "N",
      .min = 0.01,
      .max = 3600,
      .standard = "2",
      .help =
          "How long to time each problem at most; it takes less where the answer is clear. With "
          "--criteria, so long beside the fastest backend of SDPA, and any that is near it" },
    { .name = "criteria",
      .kind = CLI_FLAG,
      .help = "Judge by the classic criteria instead: beside PyTorch's SDPA, spills, bank "
              "conflicts" },
    CLI_OPTION_SHAPES,
    { .name = "peers",
      .kind = CLI_TEXT,
      .argument = "LIST",
      .standard = "torch",
      .help = "With --criteria, which backends of torch count as SDPA, such as torch-flash; the "
              "fastest of them counts" },
    { .name = "allow-ambiguous", .kind = CLI_FLAG, .help = "Let what cannot be told pass" },
    { .name = "trust-board",
      .kind = CLI_FLAG,
      .help = "Compile and load the sources of heed that the board has kept, even where others may "
              "write to its file" },
    CLI_OPTION_UNSAFE,
    { .name = "no-verify",
      .kind = CLI_FLAG,
      .help =
          "Only compare some rows of what is timed, and do not send what is planned through all "
          "gates of 'heed verify'" },
    CLI_OPTION_SEED("Of the values, the order of the blocks, and the rows that are compared"),
    CLI_OPTION_KERNEL,
    CLI_OPTION_WISDOM,
    CLI_OPTION_DEVICE,
    CLI_OPTION_THREADS,
    CLI_OPTION_CPU,
    { .name = NULL },
};

extern const cli_verb cli_verb_gate;
const cli_verb cli_verb_gate = {
    .name = "gate",
    .summary = "check for performance regressions",
    .operands = "[SPEC...]",
    .operand_min = 0,
    .operand_max = CLI_ANY,
    .description =
        "Takes from the board the leaders on this device, rebuilds each of these champions and "
        "lets "
        "it and what heed plans now take turns, in blocks of calls on the same values. A champion "
        "of the kernels that there are now is its kernel and config; one of other code, or with a "
        "source of its own, is compiled from what the board has kept. The figure of the day when "
        "it became champion is shown, but nothing "
        "is compared with it: only what is timed side by side can be.\n"
        "\n"
        "The verdicts, with a 99 % confidence for all problems together:\n"
        "\n"
        "  PASS       slower by more than --limit has been ruled out\n"
        "  SAME       heed plans the champion itself, from the same code\n"
        "  SLOWER     slower by more than --limit\n"
        "  WRONG      what is timed, or planned, computes the wrong thing\n"
        "  AMBIGUOUS  it cannot be told, for a reason that is printed\n"
        "\n"
        "The exit status is 1 if anything is SLOWER or WRONG. It is 8 if something is AMBIGUOUS, "
        "or could not be verified: what is not known is no pass. The line says how small a "
        "slowdown would have been told; more --seconds tell more, and with --allow-ambiguous the "
        "status is 0. It is 3 where nothing can be judged at all, as without a board. So many "
        "pairs of blocks as a verdict takes are timed, 8 or more, even past --seconds.\n"
        "\n"
        "--criteria judges by what kernels for attention are usually held to, on SPEC, or the "
        "canonical shapes: at least 10 % faster than SDPA on two problems and 5 % on a third, by "
        "the median, with the whole interval; the 90th percentile not worse on any; no spills of "
        "registers; and of the wavefronts of shared memory at most 5 % conflicts of banks, which "
        "ncu counts. A criterion that cannot be measured here is UNKNOWN, never PASS. The exit "
        "status is 1 if "
        "one of them fails, else 3 if one is UNKNOWN or AMBIGUOUS.\n"
        "\n"
        "--kernel asks about that kernel in the place of what heed plans.\n"
        "\n"
        "Examples:\n"
        "\n"
        "  heed gate\n"
        "  heed gate --device cuda --board champions.db --seconds 5\n"
        "  heed gate --problem causal --limit 5 --json\n"
        "  heed gate --criteria --device cuda",
    .options = options,
    .run = run,
};
