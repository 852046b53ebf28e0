/*
 * report.c - `heed report`: a page of all results
 */
#include "report.h"

#include <string.h>

#include "base/file.h"
#include "base/plural.h"
#include "report_final.h"

/* -------------------------------------------------------------------------- */
/* Out                                                                        */
/* -------------------------------------------------------------------------- */

static bool write_report(const report_run *run, FILE *stream)
{
    if (cli_args_json(run->args))
        return cli_json_write(report_json(run), "report", JSON_INDENT(2), stream);
    if (cli_args_flag(run->args, "brief"))
        return report_write_brief(run, stream);
    return report_write(run, stream,
                        cli_args_flag(run->args, "markdown") ? LAB_PAGE_MARKDOWN : LAB_PAGE_HTML);
}

static cli_exit no_memory(void)
{
    cli_error("not enough memory for the report");
    return CLI_ENVIRONMENT;
}

/* Writes the file atomically: on failure it stays unchanged. */
static cli_exit write_file(const report_run *run, const char *path)
{
    lab_error error;
    lab_output output;
    heed_status status = lab_output_begin(&output, path, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    if (!write_report(run, output.file)) {
        lab_output_abandon(&output);
        return no_memory();
    }
    status = lab_output_commit(&output, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_message("written to %s", path);
    return CLI_OK;
}

static cli_exit write_out(const report_run *run)
{
    const char *path = cli_args_text(run->args, "output");
    if (path && strcmp(path, "-") != 0)
        return write_file(run, path);
    return write_report(run, stdout) ? CLI_OK : no_memory();
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit check(const cli_args *args)
{
    static const char final[] = ": it writes the files of a folder";
    static const cli_rule rules[] = {
        { "json", "brief", true, NULL, NULL },
        { "json", "markdown", true, NULL, NULL },
        { "final", "json", true, final, NULL },
        { "final", "markdown", true, final, NULL },
        { "final", "brief", true, final, NULL },
        { "final", "output", true, final, NULL },
        { .option = NULL },
    };
    bool brief = cli_args_flag(args, "brief");
    cli_exit code = cli_rules_check(args, rules);
    if (code != CLI_OK)
        return code;
    if (brief && (cli_args_given(args, "board") || cli_args_operand_count(args) == 0)) {
        cli_error("--brief is for records: it takes at least one, and no --board");
        return CLI_USAGE;
    }
    return CLI_OK;
}

static cli_exit check_damage(const lab_final_board *board)
{
    size_t damaged = report_count_trusted(board, "damaged");
    size_t impossible = report_count_trusted(board, "impossible");
    if (damaged > 0)
        cli_error("%s: damaged: the content of %zu trial%s is not what was added", board->path,
                  damaged, lab_plural(damaged));
    if (impossible > 0)
        cli_error("%s: the figures of %zu trial%s contradict each other, or are beyond what the "
                  "device can do",
                  board->path, impossible, lab_plural(impossible));
    return damaged + impossible > 0 ? CLI_CORRUPT : CLI_OK;
}

/* The final artifacts need a board with trials. */
static cli_exit check_board(const report_run *run)
{
    if (run->board.count > 0)
        return CLI_OK;
    cli_error(
        "%s: %s, and --final is about a board: 'heed evolve', 'heed tune' and 'heed board add' "
        "put trials on one",
        run->board.path, run->board.there ? "there is no trial on it" : "there is no board");
    return CLI_ENVIRONMENT;
}

static cli_exit write_final(report_run *run, lab_record *record)
{
    report_final final;
    cli_exit code = check_board(run);
    if (code != CLI_OK)
        return code;
    code = report_final_begin(&final, run, record);
    run->final = &final;
    if (code == CLI_OK)
        code = report_final_write(&final, cli_args_text(run->args, "final"));
    run->final = NULL;
    report_final_end(&final);
    return code;
}

/* Reads the board, and writes the final artifacts if requested. */
static cli_exit with_board(report_run *run)
{
    lab_error error;
    lab_record *record;
    bool whole = cli_args_given(run->args, "final");
    heed_status status = lab_record_path(cli_args_text(run->args, "board"), run->board.path,
                                         &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_exit code = cli_board_open(&record, LAB_RECORD_READ, run->args);
    if (code == CLI_OK && record) {
        status = lab_final_board_read(&run->board, record, whole, &error);
        code = status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
    }
    if (code == CLI_OK && whole)
        code = write_final(run, record);
    lab_record_close(record);
    return code;
}

static cli_exit run_verb(const cli_args *args)
{
    report_run run = { .args = args };
    bool final = cli_args_given(args, "final");
    run.with_board = final || cli_args_given(args, "board") || cli_args_operand_count(args) == 0;
    cli_exit code = check(args);
    if (code == CLI_OK)
        code = report_find(&run.records, args);
    if (code == CLI_OK && run.with_board)
        code = with_board(&run);
    if (code == CLI_OK && !final)
        code = write_out(&run);
    if (code == CLI_OK)
        code = check_damage(&run.board);
    lab_final_board_free(&run.board);
    report_records_free(&run.records);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_BOARD,
    OPT_PATH("output", 'o', "FILE",
             "Write to FILE, replacing it atomically [default, and -: "
             "standard output]"),
    OPT_FLAG("markdown", 'm', "Write Markdown, without the drawings, instead of a web page"),
    OPT_FLAG("brief", 0, "Write only a short Markdown table for each record, for a README"),
    OPT_PATH(
        "final", 0, "FOLDER",
        "Write the final artifacts of the board, and of the records that are named, to FOLDER: "
        "final_summary.md, findings.md, leaderboard.md, champion.diff, roofline.svg, pareto.svg, "
        "report.html"),
    { .name = "title",
      .kind = CLI_TEXT,
      .argument = "TEXT",
      .standard = "Attention kernels: results",
      .help = "The heading of the page" },
    { .name = NULL },
};

const cli_verb cli_verb_report = {
    .name = "report",
    .summary = "make a page of all results",
    .operands = { "[RECORD | FOLDER]...", 0, CLI_ANY },
    .description =
        "Writes one self-contained web page, without scripts or network, about records of "
        "'heed bench --record' or, with --board or without a record, about the board.\n"
        "\n"
        "From a FOLDER it takes the newest date of each device; if several records of one "
        "day have the same problem, the last one counts. The page shows machine, software and "
        "commit; heed against each rival; the share of the device's limit and the unit "
        "that binds; and reasons for doubt. Two records of one device are compared as history, "
        "without verdicts. From the board it shows the leaders, their history, and the "
        "verdicts of all trials.\n"
        "\n"
        "With --final it writes a folder about searches: results beside PyTorch's SDPA, "
        "findings, the diff from the first kernel to the champion, and the commands.",
    .examples = "  heed report -o report.html benchmarks\n"
                "  heed report --final final --board run/board.db benchmarks\n"
                "  heed report --brief benchmarks >>README.md",
    .status = "The exit status is 7 if a record or the board is damaged or of another schema.",
    .options = options,
    .run = run_verb,
};
