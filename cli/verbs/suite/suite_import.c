/*
 * suite_import.c - `heed suite import`: the attention in the tasks of a suite
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/plural.h"
#include "cli/base/cli.h"
#include "suite.h"

typedef struct importing {
    const cli_args *args;
    lab_suite suite;
    int counts[LAB_TASK_KINDS];
    size_t problems; /* in the shape file */
} importing;

/* True if tasks of this kind are listed. */
static bool is_shown(const importing *it, const lab_task *task)
{
    return cli_args_flag(it->args, "all") ||
           (task->kind != LAB_TASK_NONE && task->kind != LAB_TASK_OUTSIDE);
}

/* ---- JSON ---- */

static json_t *json_attention(const void *item)
{
    const lab_task_attention *one = item;
    json_t *notes = json_array();
    for (int i = 0; i < one->note_count; i++)
        notes = cli_json_append(notes, lab_json_text(one->notes[i]));
    return json_pack("{s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o}", "problem",
                     lab_json_text(one->spec), "how", lab_json_text(one->how), "line", one->line,
                     "layers", one->layers, "operations", cli_json_real(one->operations), "refusal",
                     cli_json_word(one->refusal), "unfit", cli_json_word(one->unfit), "notes",
                     notes);
}

static json_t *json_task(const void *item)
{
    const lab_task *task = item;
    json_t *attention = cli_json_list(task->attention, task->attention_count,
                                      sizeof *task->attention, json_attention),
           *beside = json_array();
    for (int i = 0; i < task->work_count; i++)
        beside = cli_json_append(beside, json_pack("{s:o, s:i, s:o}", "kind",
                                                   lab_json_text(task->work[i].kind), "count",
                                                   task->work[i].count, "operations",
                                                   cli_json_real(task->work[i].operations)));
    return json_pack("{s:i, s:i, s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "level", task->level,
                     "problem", task->number, "name", lab_json_text(task->name), "file",
                     lab_json_text(task->path), "class", lab_task_kind_name(task->kind), "reason",
                     cli_json_word(task->reason), "attention", attention, "beside", beside,
                     "attention_share", cli_json_positive(lab_task_share(task)));
}

static cli_exit print_json(const importing *it)
{
    json_t *tasks = cli_json_list(it->suite.tasks, it->suite.count, sizeof *it->suite.tasks,
                                  json_task),
           *counts = json_object();
    for (int kind = LAB_TASK_ATTENTION; kind < LAB_TASK_KINDS; kind++)
        json_object_set_new(counts, lab_task_kind_name((lab_task_kind)kind),
                            json_integer(it->counts[kind]));
    return cli_json_print(json_pack("{s:s, s:o, s:o, s:o}", "suite", "kernelbench", "suite_version",
                                    cli_json_word(it->suite.version), "counts", counts, "tasks",
                                    tasks),
                          "suite.import");
}

/* ---- The table ---- */

static void add_row(lab_listing *rows, const lab_task *task, const lab_task_attention *one)
{
    char label[32];
    double share = lab_task_share(task);
    snprintf(label, sizeof label, "%d/%d", task->level, task->number);
    lab_cell_text(rows, NULL, "task", label);
    lab_cell_text(rows, NULL, "name", task->name);
    lab_cell_text(rows, NULL, "has", lab_task_kind_name(task->kind));
    lab_cell_text(rows, NULL, "problem", one ? one->spec : "");
    lab_cell_count(rows, NULL, "layers", one ? one->layers : -1);
    lab_cell_real(rows, NULL, "share", share > 0 ? share : -1, "%.0f %%", 100 * share);
    lab_row_end(rows);
}

/* Prints remarks on a task, below the table. */
static void say_task(const lab_task *task)
{
    char label[160];
    lab_task_label(task, label, sizeof label);
    if (*task->reason)
        printf("%s: %s\n", label, task->reason);
    for (size_t i = 0; i < task->attention_count; i++)
        for (int j = 0; j < task->attention[i].note_count; j++)
            printf("%s, line %d: %s\n", label, task->attention[i].line,
                   task->attention[i].notes[j]);
    for (int i = 0; i < task->work_count && task->attention_count > 0; i++)
        printf("%s: %d x %s, %.3g GFLOP: no attention\n", label, task->work[i].count,
               task->work[i].kind, task->work[i].operations * 1e-9);
}

static const char *version_of(const importing *it)
{
    return *it->suite.version ? it->suite.version : "of an unknown version";
}

static void say_counts(const importing *it)
{
    char text[256];
    size_t length = 0;
    for (int kind = LAB_TASK_ATTENTION; kind < LAB_TASK_KINDS && length < sizeof text; kind++)
        if (it->counts[kind] > 0)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%d %s",
                                       length ? ", " : "", it->counts[kind],
                                       lab_task_kind_name((lab_task_kind)kind));
    cli_message("%zu task%s of KernelBench %s: %s", it->suite.count, lab_plural(it->suite.count),
                version_of(it), text);
}

static cli_exit print_table(const importing *it)
{
    lab_listing rows = cli_rows_begin(false);
    for (size_t i = 0; i < it->suite.count; i++) {
        const lab_task *task = &it->suite.tasks[i];
        if (!is_shown(it, task))
            continue;
        for (size_t j = 0; j < task->attention_count; j++)
            add_row(&rows, task, &task->attention[j]);
        if (task->attention_count == 0)
            add_row(&rows, task, NULL);
    }
    cli_exit code = cli_table_print(rows);
    printf("\n");
    for (size_t i = 0; i < it->suite.count; i++)
        if (is_shown(it, &it->suite.tasks[i]))
            say_task(&it->suite.tasks[i]);
    say_counts(it);
    return code;
}

/* ---- The shape file ---- */

static void write_task(importing *it, FILE *file, const lab_task *task)
{
    char label[160];
    lab_task_label(task, label, sizeof label);
    for (size_t i = 0; i < task->attention_count; i++) {
        const lab_task_attention *one = &task->attention[i];
        const char *why = *one->unfit ? one->unfit : one->refusal;
        fprintf(file, "\n# %s, %s, line %d, %d layers%s%s\n%s%s\n", label, task->name, one->line,
                one->layers, *why ? ": " : "", why, *why ? "# " : "", one->spec);
        it->problems += *why == '\0';
    }
}

static void write_tasks(importing *it, FILE *file)
{
    fprintf(file, "# The attention in tasks of KernelBench %s.\n", version_of(it));
    for (size_t i = 0; i < it->suite.count; i++)
        write_task(it, file, &it->suite.tasks[i]);
}

/* "-" is stdout, which has no table then. */
static bool on_stdout(const importing *it)
{
    const char *path = cli_args_text(it->args, "out");
    return path && strcmp(path, "-") == 0;
}

static cli_exit write_shapes(importing *it)
{
    const char *path = cli_args_text(it->args, "out");
    lab_output output;
    lab_error error;
    if (on_stdout(it))
        write_tasks(it, stdout);
    if (!path || on_stdout(it))
        return CLI_OK;
    heed_status status = lab_output_begin(&output, path, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    write_tasks(it, output.file);
    status = lab_output_commit(&output, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static void say_shapes(const importing *it)
{
    const char *path = cli_args_text(it->args, "out");
    if (path && !on_stdout(it))
        cli_message("%zu problem%s written to %s", it->problems, lab_plural(it->problems), path);
}

/* ---- The whole ---- */

static cli_exit read_suite(importing *it)
{
    lab_python python;
    lab_error error;
    cli_exit code = suite_python(&python);
    if (code != CLI_OK)
        return code;
    heed_status status = lab_suite_find(&it->suite, cli_args_operand(it->args, 2),
                                        cli_args_flag(it->args, "any-version"), &error);
    if (status == HEED_ERR_UNSUPPORTED) {
        cli_error("%s; --any-version reads it nevertheless", error.text);
        return CLI_UNSUPPORTED;
    }
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    status = lab_suite_read(&it->suite, &python, suite_threads(), &cli_sink, &error);
    for (size_t i = 0; i < it->suite.count; i++)
        it->counts[it->suite.tasks[i].kind]++;
    return status == HEED_OK ? CLI_OK : cli_exit_of_work(status, &error);
}

cli_exit suite_import(const cli_args *args)
{
    importing it = { .args = args };
    cli_exit code = suite_name_check(args);
    if (code == CLI_OK && cli_args_json(args) && on_stdout(&it)) {
        cli_error("--json cannot be used with --out -");
        code = CLI_USAGE;
    }
    if (code == CLI_OK)
        code = read_suite(&it);
    if (code == CLI_OK)
        code = write_shapes(&it); /* first: if it fails, JSON has only the error */
    if (code == CLI_OK && !on_stdout(&it))
        code = cli_args_json(args) ? print_json(&it) : print_table(&it);
    if (code == CLI_OK)
        say_shapes(&it);
    for (size_t i = 0; i < it.suite.count && code == CLI_OK; i++)
        if (it.suite.tasks[i].kind == LAB_TASK_DAMAGED)
            cli_error("%s: %s", it.suite.tasks[i].path, it.suite.tasks[i].reason);
    if (code == CLI_OK && it.counts[LAB_TASK_DAMAGED] > 0)
        code = CLI_CORRUPT;
    lab_suite_free(&it.suite);
    return code;
}
