/*
 * suite_judge.c - `heed suite judge`: verifies others' solutions with heed's gates
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/ends.h"
#include "cli/base/cli.h"
#include "lab/suite/judge/judge.h"
#include "suite.h"
#include "tensor/random.h"
#include "trial/peer/peer.h"

typedef struct solution {
    char path[PATH_MAX];
    char name[256];
    lab_task *task;
    lab_judgement judgement;
} solution;

typedef struct judging {
    const cli_args *args;
    lab_python python;
    lab_suite suite;
    solution *solutions;
    size_t count;
    size_t judged; /* the first so many of them */
    int counts[LAB_JUDGEDS];
} judging;

static bool is_python(const char *file)
{
    return file[0] != '.' && lab_ends_with(file, ".py");
}

/* The task in the name of a solution, level_L_problem_P..., or the only task. */
static lab_task *task_of(judging *it, const char *file)
{
    int level, number;
    if (it->suite.count == 1)
        return &it->suite.tasks[0];
    if (sscanf(file, "level_%d_problem_%d", &level, &number) != 2)
        return NULL;
    for (size_t i = 0; i < it->suite.count; i++)
        if (it->suite.tasks[i].level == level && it->suite.tasks[i].number == number)
            return &it->suite.tasks[i];
    return NULL;
}

static cli_exit add_solution(judging *it, const char *folder, const char *file)
{
    solution one = { .task = task_of(it, file) };
    if (snprintf(one.path, sizeof one.path, "%s/%s", folder, file) >= (int)sizeof one.path)
        return CLI_OK;
    snprintf(one.name, sizeof one.name, "%s", file);
    lab_peer_tame(one.name);
    if (!lab_grow(&it->solutions, it->count, sizeof *it->solutions)) {
        cli_error("no memory for the solutions in %s", folder);
        return CLI_ENVIRONMENT;
    }
    it->solutions[it->count++] = one;
    return CLI_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const solution *)a)->name, ((const solution *)b)->name);
}

static cli_exit find_solutions(judging *it)
{
    const char *given = cli_args_operand(it->args, 1);
    char folder[PATH_MAX];
    const struct dirent *entry;
    cli_exit code = CLI_OK;
    DIR *directory = realpath(given, folder) ? opendir(folder) : NULL;
    if (!directory) {
        cli_error("%s: %s", given, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    while (code == CLI_OK && (entry = readdir(directory)))
        if (is_python(entry->d_name))
            code = add_solution(it, folder, entry->d_name);
    closedir(directory);
    if (code == CLI_OK && it->count == 0) {
        cli_error("%s: there are no solutions, files that end in .py", given);
        return CLI_USAGE;
    }
    if (it->count > 0)
        qsort(it->solutions, it->count, sizeof *it->solutions, by_name);
    return code;
}

/* Reads the tasks of the solutions: a checkout, or one file. */
static cli_exit read_tasks(judging *it)
{
    const char *tasks = cli_args_text(it->args, "tasks");
    lab_error error;
    struct stat there;
    if (!tasks) {
        cli_error("--tasks: judge needs the tasks, a checkout of KernelBench or one file of it");
        return CLI_USAGE;
    }
    bool file = stat(tasks, &there) == 0 && S_ISREG(there.st_mode);
    heed_status status = file ? lab_suite_find_task(&it->suite, tasks, &error)
                              : lab_suite_find(&it->suite, tasks, true, &error);
    if (status == HEED_OK)
        status = lab_suite_read(&it->suite, &it->python, suite_threads(), &cli_sink, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

/* ---- Judging ---- */

static cli_exit judge_one(solution *one, lab_judging *how)
{
    lab_error error;
    one->judgement = (lab_judgement){ .judged = LAB_JUDGED_NOT, .error = -1 };
    if (!one->task) {
        snprintf(one->judgement.evidence, sizeof one->judgement.evidence,
                 "its name has no task; it must be like level_L_problem_P");
        return CLI_OK;
    }
    if (!lab_random_hidden(&how->seed)) {
        cli_error("the system has no random numbers");
        return CLI_ENVIRONMENT;
    }
    heed_status status = lab_solution_judge(&one->judgement, one->path, one->task, how, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static cli_exit judge_all(judging *it)
{
    const char *device = cli_device(it->args);
    heed_status status = cli_device_check(device);
    if (status != HEED_OK)
        return cli_fail(status, NULL);
    lab_judging how = {
        .python = &it->python,
        .device = strcmp(device, "auto") == 0 ? "cuda" : device,
        .way = lab_way_at(cli_args_given(it->args, "products")
                              ? (size_t)cli_args_choice(it->args, "products")
                              : 0),
        .threads = suite_threads(),
        .call_seconds = cli_args_real(it->args, "seconds"),
        .memory = (size_t)cli_args_integer(it->args, "memory") << 20,
        .unsafe = cli_args_flag(it->args, "unsafe-candidates"),
        .interrupted = cli_interrupted,
    };
    lab_progress progress = lab_progress_start(&cli_sink, "judging", it->count);
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < it->count && code == CLI_OK; i++) {
        lab_progress_step(&progress, i, it->solutions[i].name);
        code = judge_one(&it->solutions[i], &how);
        if (cli_interrupted())
            code = CLI_INTERRUPTED;
        if (code == CLI_OK)
            it->counts[it->solutions[it->judged++].judgement.judged]++;
    }
    lab_progress_end(&progress);
    return code;
}

/* ---- The answer ---- */

static void add_row(lab_listing *rows, const solution *one)
{
    const lab_judgement *j = &one->judgement;
    bool good = j->judged == LAB_JUDGED_RIGHT;
    bool bad = j->judged == LAB_JUDGED_WRONG || j->judged == LAB_JUDGED_CHEATS;
    lab_cell_text(rows, "solution", "solution", one->name);
    lab_cell_text(rows, "problem", NULL,
                  one->task && one->task->attention_count ? one->task->attention[0].spec : NULL);
    lab_cell_styled(rows, "judged", "is",
                    good  ? LAB_GOOD
                    : bad ? LAB_BAD
                          : LAB_PLAIN,
                    lab_judged_name(j->judged));
    lab_cell_text(rows, "verdict", NULL, *j->verdict ? j->verdict : NULL);
    lab_cell_text(rows, "gate", "gate", *j->gate ? j->gate : NULL);
    lab_cell_text(rows, "values", "values", *j->values ? j->values : NULL);
    lab_cell_real(rows, "error_over_allowed", "error/allowed", j->error, "%.3g", j->error);
    lab_cell_seconds(rows, "claimed_seconds", "claimed", j->claimed);
    lab_cell_seconds(rows, "repeated_seconds", NULL, j->repeated);
    lab_cell_seconds(rows, "fresh_seconds", "new tensors", j->fresh);
    lab_cell_json(rows, "evidence", lab_json_text(j->evidence));
    lab_row_end(rows);
}

static cli_exit print(const judging *it)
{
    lab_listing rows = cli_rows_begin(cli_args_json(it->args));
    for (size_t i = 0; i < it->judged; i++)
        add_row(&rows, &it->solutions[i]);
    cli_exit code = cli_rows_print(&rows, "solutions", "suite.judge");
    if (cli_args_json(it->args))
        return code;
    printf("\n");
    for (size_t i = 0; i < it->judged; i++)
        printf("%s: %s\n", it->solutions[i].name, it->solutions[i].judgement.evidence);
    return code;
}

cli_exit suite_judge(const cli_args *args)
{
    judging it = { .args = args };
    cli_exit code = suite_python(&it.python);
    if (code == CLI_OK)
        code = read_tasks(&it);
    if (code == CLI_OK)
        code = find_solutions(&it);
    if (code == CLI_OK)
        code = judge_all(&it);
    if (code == CLI_OK || it.judged > 0) { /* after Ctrl-C or an error those judged so far */
        cli_exit printed = print(&it);
        code = code == CLI_OK ? printed : code;
    }
    int bad = it.counts[LAB_JUDGED_WRONG] + it.counts[LAB_JUDGED_CHEATS] +
              it.counts[LAB_JUDGED_MEASURED] + it.counts[LAB_JUDGED_FAILED];
    free(it.solutions);
    lab_suite_free(&it.suite);
    return code == CLI_OK && bad > 0 ? CLI_FINDING : code;
}
