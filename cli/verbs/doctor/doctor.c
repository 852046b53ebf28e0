/*
 * doctor.c - `heed doctor`: checks that this machine is fit for heed, with remedies
 */
#include "doctor.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/array.h"
#include "cli/base/rows.h"

static void (*const checks[])(doctor_report *report) = {
    doctor_check_library, doctor_check_cpu,    doctor_check_features, doctor_check_caches,
    doctor_check_threads, doctor_check_memory, doctor_check_clock,    doctor_check_load,
    doctor_check_cuda,    doctor_check_tools,  doctor_check_torch,    doctor_check_wisdom,
    doctor_check_board,   doctor_check_trials, doctor_check_rivals,
};

void doctor_say(doctor_report *report, doctor_level level, const char *name, const char *fix,
                const char *format, ...)
{
    if (!lab_grow(&report->findings, report->count, sizeof *report->findings)) {
        report->failed = true;
        return;
    }
    doctor_finding *finding = &report->findings[report->count++];
    *finding = (doctor_finding){ .level = level, .name = name, .fix = fix };
    va_list list;
    va_start(list, format);
    vsnprintf(finding->text, sizeof finding->text, format, list);
    va_end(list);
}

static doctor_level worst(const doctor_report *report)
{
    doctor_level level = DOCTOR_OK;
    for (size_t i = 0; i < report->count; i++)
        level = report->findings[i].level > level ? report->findings[i].level : level;
    return level;
}

static const char *const levels[] = { "ok", "warn", "fail" };

static void add_finding(cli_rows *rows, const doctor_finding *finding)
{
    static const char *const words[] = { "OK", "WARN", "FAIL" };
    static const cli_style_name styles[] = { CLI_GOOD, CLI_WARN, CLI_BAD };
    cli_row_styled(rows, NULL, "", styles[finding->level], words[finding->level]);
    cli_row_text(rows, "check", "", finding->name);
    cli_row_text(rows, "level", NULL, levels[finding->level]);
    cli_row_text(rows, "text", "", finding->text);
    cli_row_text(rows, "fix", NULL, finding->fix);
    cli_row_end(rows);
    if (rows->json || !finding->fix)
        return;
    cli_row_cell(rows, "", "%s", "");
    cli_row_cell(rows, "", "%s", "");
    cli_row_cell(rows, "", "-> %s", finding->fix);
}

static cli_exit print(const doctor_report *report)
{
    cli_rows rows = cli_rows_begin(cli_args_json(report->args));
    for (size_t i = 0; i < report->count; i++)
        add_finding(&rows, &report->findings[i]);
    if (!rows.json)
        return cli_table_print(rows.table);
    return cli_json_print(
        json_pack("{s:s, s:o}", "level", levels[worst(report)], "findings", cli_rows_take(&rows)),
        "doctor");
}

static cli_exit examine(const cli_args *args)
{
    doctor_report report = { .args = args };
    lab_environment_read(&report.around);
    const size_t count = sizeof checks / sizeof checks[0];
    lab_progress progress = lab_progress_start(&cli_sink, "doctor", count);
    for (size_t i = 0; i < count && !cli_interrupted(); i++) {
        lab_progress_step(&progress, i, NULL);
        checks[i](&report);
    }
    lab_progress_end(&progress);
    cli_exit code = print(&report);
    if (report.failed)
        cli_error("not enough memory for all findings");
    if (code == CLI_OK && (report.failed || worst(&report) == DOCTOR_FAIL))
        code = CLI_ENVIRONMENT;
    free(report.findings);
    return code;
}

static cli_exit run(const cli_args *args)
{
    bool lock = cli_args_flag(args, "lock"), check = cli_args_given(args, "check");
    if (lock && check) {
        cli_error("--lock and --check cannot be used together");
        return CLI_USAGE;
    }
    if (!lock && cli_args_operand_count(args) > 0) {
        cli_error("'%s' is unexpected: a file goes with --lock, or after --check",
                  cli_args_operand(args, 0));
        return CLI_USAGE;
    }
    return lock ? doctor_lock(args) : check ? doctor_check(args) : examine(args);
}

static const cli_option options[] = {
    OPT_FLAG("lock", 0,
             "Write a manifest of every tool and library that figures depend on, with versions "
             "and hashes, as JSON to FILE [default: stdout]"),
    OPT_PATH("check", 0, "FILE",
             "Compare this machine with the manifest in FILE, or in a record of 'heed bench'"),
    OPT_PATH("wisdom", 'w', "FILE", "Also check this wisdom file"),
    OPT_FLAG("no-rivals", 0, "Do not start the rivals to check them, which takes seconds"),
    { .name = NULL },
};

const cli_verb cli_verb_doctor = {
    .name = "doctor",
    .summary = "check that this machine is fit for heed, with remedies",
    .operands = { "[FILE]", 0, 1 },
    .description =
        "Checks the library, the CPU and its features, caches, threads, memory, clocks, "
        "the load by other programs, NVIDIA's driver, GPUs, compiler and tools, wisdom, "
        "the sandbox for candidates, and the rivals that 'heed bench' compares with. Each "
        "line is OK, WARN (it works, but slower or with noisier timings) or FAIL, with a "
        "remedy.",
    .examples = "  heed doctor\n"
                "  heed doctor --lock tools.json\n"
                "  heed doctor --check tools.json",
    .status = "The exit status is 3 if a check fails, else 0. With --check it is 1 if something "
              "differs, and 7 if FILE is not a manifest or was changed.",
    .options = options,
    .run = run,
};
