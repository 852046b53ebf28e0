/*
 * find.c - the tasks of a checkout of KernelBench, and its version
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lab/base/array.h"
#include "lab/suite/suite.h"

#define LEVELS 9

/* The supported versions, from setup.py and from pyproject.toml. */
static const char *const versions[] = { "0.0.1", "0.2.0.dev0" };

static const char *const kinds[LAB_TASK_KINDS] = { "untouched", "attention", "limited", "unfit",
                                                   "none",      "outside",   "unread",  "damaged" };

const char *lab_task_kind_name(lab_task_kind kind)
{
    return kind >= 0 && kind < LAB_TASK_KINDS ? kinds[kind] : "unknown";
}

/* ---- Version ---- */

/* Finds version = "..." in the file @name of @folder. */
static bool read_version(const char *folder, const char *name, char version[64])
{
    char path[PATH_MAX], line[256];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, " version = \"%63[^\"]\"", version) == 1 ||
                sscanf(line, " version=\"%63[^\"]\"", version) == 1;
    if (file)
        fclose(file);
    return found;
}

static heed_status check_version(lab_suite *suite, const char *folder, bool any, lab_error *error)
{
    if (!read_version(folder, "pyproject.toml", suite->version) &&
        !read_version(folder, "setup.py", suite->version))
        suite->version[0] = '\0';
    bool known = *suite->version == '\0' || any;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        known = known || strcmp(suite->version, versions[i]) == 0;
    if (known)
        return HEED_OK;
    return lab_fail(error, HEED_ERR_UNSUPPORTED,
                    "%s: version is %s; those of KernelBench that are known are %s and %s", folder,
                    suite->version, versions[0], versions[1]);
}

/* ---- Tasks ---- */

/* Copies the name of a file. It goes into comments, tables and names of other files, where a line
 * break or a slash would mean something. */
static void take_name(const char *from, size_t length, char *name, size_t size)
{
    snprintf(name, size, "%.*s", (int)length, from);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-+.", *c))
            *c = '_';
}

/* Parses the number and the name of a task from its file name. */
static bool read_name(const char *file, int *number, char *name, size_t size)
{
    char *end;
    size_t length = strlen(file);
    if (!isdigit((unsigned char)*file) || length < 6 || strcmp(file + length - 3, ".py") != 0)
        return false;
    long value = strtol(file, &end, 10);
    if (*end != '_' || value < 1 || value > 100000)
        return false;
    *number = (int)value;
    take_name(end + 1, length - 3 - (size_t)(end + 1 - file), name, size);
    return true;
}

static heed_status add_task(lab_suite *suite, int level, const char *folder, const char *file,
                            lab_error *error)
{
    lab_task task = { .level = level };
    if (!read_name(file, &task.number, task.name, sizeof task.name))
        return HEED_OK;
    if (snprintf(task.path, sizeof task.path, "%s/%s", folder, file) >= (int)sizeof task.path)
        return lab_fail(error, HEED_ERR_INVALID, "%s: the path of %s is too long", folder, file);
    if (suite->count == LAB_SUITE_TASKS_MAX)
        return lab_fail(error, HEED_ERR_INVALID, "%s: more than %d tasks", folder,
                        LAB_SUITE_TASKS_MAX);
    if (!lab_grow(&suite->tasks, suite->count, sizeof *suite->tasks))
        return lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for the tasks of %s", folder);
    suite->tasks[suite->count++] = task;
    return HEED_OK;
}

static heed_status add_level(lab_suite *suite, int level, const char *folder, lab_error *error)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    heed_status status = HEED_OK;
    while (directory && status == HEED_OK && (entry = readdir(directory)))
        status = add_task(suite, level, folder, entry->d_name, error);
    if (directory)
        closedir(directory);
    return status;
}

/* The level in the last part of @path, such as "level3"; 0: none. */
static int level_named(const char *path)
{
    char name[16] = "";
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    snprintf(name, sizeof name, "%.*s", (int)(end - begin), path + begin);
    bool named = strncmp(name, "level", 5) == 0 && isdigit((unsigned char)name[5]) && !name[6];
    return named ? name[5] - '0' : 0;
}

/* The same of a folder that may be named otherwise, such as "." */
static int level_of(const char *folder)
{
    char whole[PATH_MAX];
    int level = level_named(folder);
    return level > 0 || !realpath(folder, whole) ? level : level_named(whole);
}

static heed_status add_levels(lab_suite *suite, const char *folder, lab_error *error)
{
    char path[PATH_MAX];
    heed_status status = HEED_OK;
    for (int level = 1; level <= LEVELS && status == HEED_OK; level++)
        if (snprintf(path, sizeof path, "%s/level%d", folder, level) < (int)sizeof path)
            status = add_level(suite, level, path, error);
    return status;
}

static int by_number(const void *a, const void *b)
{
    const lab_task *x = a, *y = b;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(x->name, y->name);
}

static heed_status list_tasks(lab_suite *suite, const char *folder, bool any_version,
                              lab_error *error)
{
    char inner[PATH_MAX];
    struct stat there;
    if (stat(folder, &there) != 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", folder, strerror(errno));
    if (!S_ISDIR(there.st_mode))
        return lab_fail(error, HEED_ERR_INVALID, "%s: it is no folder", folder);
    if (level_of(folder) > 0)
        return add_level(suite, level_of(folder), folder, error);
    heed_status status = check_version(suite, folder, any_version, error);
    bool whole = snprintf(inner, sizeof inner, "%s/KernelBench", folder) < (int)sizeof inner &&
                 stat(inner, &there) == 0;
    return status == HEED_OK ? add_levels(suite, whole ? inner : folder, error) : status;
}

heed_status lab_suite_find(lab_suite *suite, const char *folder, bool any_version, lab_error *error)
{
    *suite = (lab_suite){ .tasks = NULL };
    heed_status status = list_tasks(suite, folder, any_version, error);
    if (status == HEED_OK && suite->count == 0)
        status = lab_fail(error, HEED_ERR_INVALID,
                          "%s: there are no tasks, files NUMBER_NAME.py in folders level1 to "
                          "level%d",
                          folder, LEVELS);
    if (status == HEED_OK)
        qsort(suite->tasks, suite->count, sizeof *suite->tasks, by_number);
    else
        lab_suite_free(suite);
    return status;
}

heed_status lab_suite_find_task(lab_suite *suite, const char *path, lab_error *error)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    lab_task task = { .level = 0 };
    struct stat there;
    *suite = (lab_suite){ .tasks = NULL };
    if (stat(path, &there) != 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    if (S_ISDIR(there.st_mode))
        return lab_fail(error, HEED_ERR_INVALID, "%s: it is a folder, and one task is a file",
                        path);
    if (snprintf(task.path, sizeof task.path, "%s", path) >= (int)sizeof task.path)
        return lab_fail(error, HEED_ERR_INVALID, "the path of the task is too long");
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (!read_name(file, &task.number, task.name, sizeof task.name))
        take_name(file, strcspn(file, "."), task.name, sizeof task.name);
    task.level = task.number > 0 ? level_of(folder) : 0;
    if (!lab_grow(&suite->tasks, 0, sizeof *suite->tasks))
        return lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for a task");
    suite->tasks[suite->count++] = task;
    return HEED_OK;
}

const char *lab_task_label(const lab_task *task, char *text, size_t size)
{
    if (task->level > 0)
        snprintf(text, size, "level %d, problem %d", task->level, task->number);
    else
        snprintf(text, size, "%s", task->name);
    return text;
}

void lab_suite_free(lab_suite *suite)
{
    for (size_t i = 0; i < suite->count; i++)
        free(suite->tasks[i].attention);
    free(suite->tasks);
    *suite = (lab_suite){ .tasks = NULL };
}

/* ---- Precisions ---- */

static const lab_way ways[] = {
    { "f32", "in float32", NULL, HEED_F32, HEED_PRODUCTS_FULL },
    { "f16", "in 16 bits (float16), to which their inputs are rounded, and O too", "torch.float16",
      HEED_F16, HEED_PRODUCTS_FULL },
    { "bf16", "in 16 bits (bfloat16), to which their inputs are rounded, and O too",
      "torch.bfloat16", HEED_BF16, HEED_PRODUCTS_FULL },
    { "tf32", "of operands rounded to TF32, as far as kernels make use of it", NULL, HEED_F32,
      HEED_PRODUCTS_TF32 },
    { "bf16x3", "of sums of two bfloat16, as far as kernels make use of it", NULL, HEED_F32,
      HEED_PRODUCTS_BF16X3 },
};

const lab_way *lab_way_at(size_t index)
{
    return index < sizeof ways / sizeof *ways ? &ways[index] : NULL;
}

void lab_way_take(const lab_way *way, heed_problem *problem)
{
    if (problem->type != HEED_F32)
        return;
    problem->type = way->type;
    problem->products = way->products;
}
