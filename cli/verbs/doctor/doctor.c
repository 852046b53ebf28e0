/*
 * doctor.c - `heed doctor`: checks that this machine is fit for heed, with remedies
 */
#include "doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "cli/base/cli.h"
#include "manifest.h"

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

static void add_finding(lab_listing *rows, const doctor_finding *finding)
{
    static const char *const words[] = { "OK", "WARN", "FAIL" };
    static const lab_style styles[] = { LAB_GOOD, LAB_WARN, LAB_BAD };
    lab_cell_styled(rows, NULL, "", styles[finding->level], words[finding->level]);
    lab_cell_text(rows, "check", "", finding->name);
    lab_cell_text(rows, "level", NULL, levels[finding->level]);
    lab_cell_text(rows, "text", "", finding->text);
    lab_cell_text(rows, "fix", NULL, finding->fix);
    lab_row_end(rows);
    if (rows->json || !finding->fix)
        return;
    lab_cell_left(rows, "", "%s", "");
    lab_cell_left(rows, "", "%s", "");
    lab_cell_left(rows, "", "-> %s", finding->fix);
    lab_row_end(rows);
}

static cli_exit print(const doctor_report *report)
{
    lab_listing rows = cli_rows_begin(cli_args_json(report->args));
    for (size_t i = 0; i < report->count; i++)
        add_finding(&rows, &report->findings[i]);
    if (!rows.json)
        return cli_table_print(rows);
    return cli_json_print(
        json_pack("{s:s, s:o}", "level", levels[worst(report)], "findings", lab_listing_take(rows)),
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

/* -------------------------------------------------------------------------- */
/* --lock and --check: manifests of tools and libraries                       */
/* -------------------------------------------------------------------------- */

#define DIFFERENCES_MAX 256

static cli_exit no_memory(void)
{
    cli_error("not enough memory for a manifest");
    return CLI_ENVIRONMENT;
}

/* A regular file is replaced atomically; a device is written to. */
static cli_exit write_file(const char *text, const char *path)
{
    lab_output output;
    lab_error error = { "" };
    heed_status status = lab_output_begin(&output, path, &error);
    if (status == HEED_OK) {
        lab_output_write(&output, text, strlen(text));
        lab_output_write(&output, "\n", 1);
        status = lab_output_commit(&output, &error);
    }
    if (status != HEED_OK)
        cli_error("--lock: %s", error.text);
    return cli_exit_of(status);
}

static cli_exit tell(const cli_args *args, const json_t *manifest, const char *path)
{
    size_t parts = json_object_size(json_object_get(manifest, "parts"));
    const char *hash = cli_manifest_hash(manifest);
    if (cli_args_json(args))
        return cli_json_print(json_pack("{s:o, s:s, s:I}", "file", lab_json_text(path), "hash",
                                        hash, "parts", (json_int_t)parts),
                              "doctor-lock");
    cli_message("%zu tools and libraries in %s, hash %.12s", parts, path, hash);
    return CLI_OK;
}

/* Writes a manifest to the operand, or to stdout. */
static cli_exit write_lock(const cli_args *args)
{
    const char *path = cli_args_operand_count(args) > 0 ? cli_args_operand(args, 0) : "-";
    json_t *manifest = cli_manifest_take();
    char *text = manifest ? json_dumps(manifest, JSON_INDENT(2)) : NULL;
    cli_exit code = text ? CLI_OK : no_memory();
    if (text && strcmp(path, "-") == 0)
        puts(text);
    else if (text && (code = write_file(text, path)) == CLI_OK)
        code = tell(args, manifest, path);
    free(text);
    json_decref(manifest);
    return code;
}

static lab_listing list_differences(const cli_manifest_difference *found, size_t count, bool json)
{
    lab_listing rows = cli_rows_begin(json);
    for (size_t i = 0; i < count; i++) {
        lab_cell_text(&rows, "name", "", found[i].name);
        lab_cell_json(&rows, "then", cli_json_word(found[i].then));
        lab_cell_left(&rows, "then", "%s", found[i].then ? found[i].then : "not there");
        lab_cell_json(&rows, "now", cli_json_word(found[i].now));
        lab_cell_left(&rows, "now", "%s%s", found[i].now ? found[i].now : "not there",
                      found[i].content ? ", another file" : "");
        lab_cell_json(&rows, "content_differs", json_boolean(found[i].content));
        lab_row_end(&rows);
    }
    return rows;
}

/* Prints the differences from the manifest of --check: CLI_FINDING if there are any. */
static cli_exit check_lock(const cli_args *args)
{
    json_t *then, *now;
    cli_manifest_difference found[DIFFERENCES_MAX];
    cli_exit code = cli_manifest_read(&then, cli_args_text(args, "check"));
    if (code != CLI_OK)
        return code;
    now = cli_manifest_take();
    if (!now) {
        json_decref(then);
        return no_memory();
    }
    size_t count = cli_manifest_compare(then, now, found, DIFFERENCES_MAX);
    size_t shown = count < DIFFERENCES_MAX ? count : DIFFERENCES_MAX;
    lab_listing rows = list_differences(found, shown, cli_args_json(args));
    if (rows.json)
        code = cli_json_print(json_pack("{s:s, s:s, s:b, s:o}", "then", cli_manifest_hash(then),
                                        "now", cli_manifest_hash(now), "same", count == 0,
                                        "differences", lab_listing_take(rows)),
                              "doctor-check");
    else
        code = cli_table_print(rows);
    if (count == 0 && !cli_args_json(args))
        printf("all %zu tools and libraries are the same\n",
               json_object_size(json_object_get(now, "parts")));
    json_decref(now);
    json_decref(then);
    return code == CLI_OK && count > 0 ? CLI_FINDING : code;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

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
    return lock ? write_lock(args) : check ? check_lock(args) : examine(args);
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
