/*
 * board.c - `heed board`: the leaderboard, and whether its figures can be trusted
 */
#include "board.h"

#include <errno.h>
#include <unistd.h>

#include "base/plural.h"
#include "build/sources.h"
#include "session/plausible.h"

/* -------------------------------------------------------------------------- */
/* The file                                                                   */
/* -------------------------------------------------------------------------- */

static bool has_flag(const cli_args *args, const char *name)
{
    return cli_args_has(args, name) && cli_args_flag(args, name);
}

lab_rebuild_options cli_rebuild_options(const cli_args *args)
{
    bool runs_sources = cli_args_has(args, "unsafe-candidates");
    return (lab_rebuild_options){ .board = cli_args_text(args, "board"),
                                  .trusts_board = has_flag(args, "trust-board"),
                                  .remedy = cli_args_has(args, "trust-board") ? "--trust-board"
                                                                              : NULL,
                                  .unsafe = has_flag(args, "unsafe-candidates"),
                                  .unsafe_remedy = runs_sources ? CLI_UNSAFE_REMEDY : NULL,
                                  .unproved = has_flag(args, "no-verify") };
}

cli_exit cli_board_open(lab_record **record, lab_record_mode mode, const cli_args *args)
{
    char path[LAB_RECORD_PATH_SIZE];
    lab_error error;
    *record = NULL;
    heed_status status = lab_record_path(cli_args_text(args, "board"), path, &error);
    if (status == HEED_OK && mode == LAB_RECORD_READ && access(path, F_OK) != 0 &&
        errno == ENOENT) {
        cli_message(
            "There is no board yet: %s does not exist.\n"
            "'heed bench --record FOLDER ...' times kernels, and 'heed board add FILE.json' "
            "puts what it recorded on the board.",
            path);
        return CLI_OK;
    }
    if (status == HEED_OK)
        status = lab_record_open(record, path, mode, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    lab_time_judge *judge = lab_time_judge_create();
    if (!judge) {
        cli_error("not enough memory for the board");
        lab_record_close(*record);
        *record = NULL;
        return CLI_ENVIRONMENT;
    }
    lab_record_describe(*record, lab_build_describe);
    lab_record_judge(*record, lab_plausible, judge, lab_time_judge_destroy);
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit check(const cli_args *args)
{
    lab_error error;
    lab_record *record;
    lab_record_chain chain;
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, args);
    if (!record)
        return code;
    heed_status status = lab_record_check(record, cli_args_text(args, "head"), &chain, &error);
    lab_record_close(record);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    if (cli_args_json(args))
        return cli_json_print(json_pack("{s:I, s:I, s:s, s:b}", "trials", (json_int_t)chain.trials,
                                        "links", (json_int_t)chain.links, "head", chain.head,
                                        "sound", 1),
                              "board.check");
    printf("%lld trial%s, all as they were added\n%lld link%s, head %s\n", (long long)chain.trials,
           lab_plural(chain.trials), (long long)chain.links, lab_plural(chain.links), chain.head);
    return CLI_OK;
}

static cli_exit run(const cli_args *args)
{
    static const cli_subcommand subcommands[] = {
        { "list", 0, 0, cli_board_list },         { "show", 1, 1, cli_board_show },
        { "add", 1, CLI_ANY, cli_board_add },     { "check", 0, 0, check },
        { "manifest", 1, 1, cli_board_manifest }, { NULL, 0, 0, NULL },
    };
    return cli_subcommand_run(subcommands, args);
}

static const cli_option options[] = {
    CLI_OPTION_BOARD,
    CLI_OPTION_PROBLEM,
    OPT_TEXT("device", 'd', "TEXT", "Only devices whose name contains this text, such as H200"),
    OPT_TEXT("against", 'a', "NAME", "Compare with this rival [default: the fastest]"),
    OPT_FLAG("ranking", 'r', "Also show the kernels behind the leader"),
    OPT_FLAG("history", 0,
             "Show every confirmed trial, the newest first, including those that a newer "
             "figure of the same kernel has replaced"),
    OPT_FLAG("all", 0,
             "Show every trial, including those that failed, were not confirmed or cannot "
             "be trusted"),
    OPT_TEXT("head", 0, "HASH",
             "Check that nothing was removed since 'heed board check' printed this head"),
    OPT_FLAG("csv", 0, "Print comma-separated values with all columns"),
    { .name = NULL },
};

const cli_verb cli_verb_board = {
    .name = "board",
    .summary = "show the leaderboard: the best kernel for each problem and device",
    .operands = { "[list | show ID | add FILE... | check | manifest ID]", 0, CLI_ANY },
    .description =
        "The board is a file of trials with their evidence: samples, verdicts, source, "
        "environment, commit. Trials are added and never changed.\n"
        "\n"
        "list, the default, shows the leader of each problem on each device, cold or hot: "
        "the kernel promoted last, else the fastest confirmed one. Figures of different "
        "days are history; a ratio to a rival is from one run. trusted says whether 'heed "
        "selftest' had killed all mutants with the gates of that trial.\n"
        "\n"
        "show prints a trial. manifest prints its tools and libraries, for 'heed doctor "
        "--check'. add imports records of 'heed bench --record'. check verifies the chain "
        "of hashes of all rows and prints its head, which --head compares later.",
    .examples = "  heed board --problem 'b1 h8 s512 d64 f16' --history\n"
                "  heed board add benchmarks/nvidia-h200/*/*.json\n"
                "  heed board manifest 17 >then.lock; heed doctor --check then.lock",
    .status = "The exit status is 7 if the file is damaged or not a board, or a trial that would "
              "be ranked is\n"
              "damaged; the file is not changed.",
    .options = options,
    .run = run,
};
