/*
 * places.c - where NVIDIA's packages lie: the folders that patterns of glob(3) are below
 */
#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Looks for python3 on PATH without running it. */
static bool find_python(char path[PATH_MAX])
{
    const char *folder = getenv("PATH");
    while (folder && *folder) {
        size_t length = strcspn(folder, ":");
        int needed = snprintf(path, PATH_MAX, "%.*s/python3", (int)length, folder);
        if (length > 0 && length < PATH_MAX && needed < PATH_MAX && access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

/* Cuts the last @count parts off @path. */
static bool cut_path(char *path, int count)
{
    for (int i = 0; i < count; i++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return true;
}

bool heed_root_find(heed_root root, const char *variable, char path[PATH_MAX])
{
    char python[PATH_MAX];
    const char *value = variable ? getenv(variable) : NULL;
    switch (root) {
    case HEED_ROOT_FOLDER:
        return value && *value && snprintf(path, PATH_MAX, "%s", value) < PATH_MAX;
    case HEED_ROOT_PYTHON:
        return find_python(path) && cut_path(path, 2);
    case HEED_ROOT_REAL:
        return find_python(python) && realpath(python, path) && cut_path(path, 2);
    case HEED_ROOT_FIXED:
        path[0] = '\0';
        return true;
    case HEED_ROOT_FILE:
    case HEED_ROOT_LOADED:
    case HEED_ROOT_SYSTEM:
        break;
    }
    return false;
}

bool heed_root_pattern(const char *root, const char *pattern, const char *name, char text[PATH_MAX])
{
    size_t at = 0;
    for (; *root && at + 2 < PATH_MAX; root++) {
        if (strchr("\\*?[", *root))
            text[at++] = '\\';
        text[at++] = *root;
    }
    int needed = snprintf(text + at, PATH_MAX - at, "%s%s", pattern, name);
    return !*root && needed >= 0 && (size_t)needed < PATH_MAX - at;
}
