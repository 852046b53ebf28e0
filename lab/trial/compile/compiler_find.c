/*
 * compiler_find.c - finds a C compiler, and the files that it may read
 *
 * Its messages may quote files, and are shown to the author of the source.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/base/path.h"
#include "lab/trial/compile/compile.h"
#include "lab/trial/compile/compiler.h"

/* Folders of compilers and their files, including those of unusual distributions. */
static const char *const system_paths[] = { "/usr",       "/bin",      "/lib",
                                            "/lib32",     "/lib64",    "/etc/ld.so.cache",
                                            "/nix/store", "/gnu/store" };
#define SYSTEM_PATHS (sizeof system_paths / sizeof *system_paths)

/* Sibling folders in the prefix of a compiler installed elsewhere, and signs of such an
 * installation. */
static const char *const parts[] = { "bin", "include", "lib", "lib32", "lib64", "libexec" };
static const char *const marks[] = { "lib/gcc", "lib64/gcc", "libexec/gcc", "lib/clang",
                                     "lib64/clang" };

static bool is_systems(const char *path)
{
    for (size_t i = 0; i < SYSTEM_PATHS; i++) {
        size_t length = strlen(system_paths[i]);
        if (strncmp(path, system_paths[i], length) == 0 && path[length] == '/')
            return true;
    }
    return false;
}

static bool may_run(const char *path)
{
    char real[PATH_MAX];

    return path[0] == '/' && access(path, X_OK) == 0 && realpath(path, real) &&
           (is_systems(real) || lab_path_is_binary(real));
}

static bool find_in_path(const char *name, char path[PATH_MAX])
{
    return lab_path_find(getenv("PATH"), name, may_run, path, PATH_MAX);
}

bool lab_compiler_find(char path[PATH_MAX])
{
    static const char *const names[] = { "cc", "gcc", "clang" };
    const char *asked = getenv("HEED_CC");

    if (asked && asked[0] == '/')
        return snprintf(path, PATH_MAX, "%s", asked) < PATH_MAX && may_run(path);
    if (asked && asked[0])
        return find_in_path(asked, path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_in_path(names[i], path))
            return true;
    return false;
}

/* Removes the last @count components of @path. */
static void go_up(char *path, int count)
{
    for (int i = 0; i < count; i++) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
}

/* True if a compiler is installed in @prefix. */
static bool is_installation(const char *prefix)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (snprintf(path, sizeof path, "%s/%s", prefix, marks[i]) < (int)sizeof path &&
            access(path, F_OK) == 0)
            return true;
    return false;
}

size_t lab_compiler_paths(const char *path, char paths[LAB_COMPILER_PATHS][PATH_MAX])
{
    char prefix[PATH_MAX];
    size_t count = 0;

    for (; count < SYSTEM_PATHS; count++)
        snprintf(paths[count], PATH_MAX, "%s", system_paths[count]);
    if (!realpath(path, prefix) || is_systems(prefix))
        return count;
    snprintf(paths[count++], PATH_MAX, "%s", prefix);
    go_up(prefix, 2);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && is_installation(prefix); i++)
        if (snprintf(paths[count], PATH_MAX, "%s/%s", prefix, parts[i]) < PATH_MAX)
            count++;
    return count;
}
