/*
 * shipped.c - compiled kernels shipped with the library
 */
#include "shipped.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file in the folder that names the compiler of the others. */
#define COMPILER_FILE "compiler"
#define COMPILER_TEXT "NVRTC %d.%d\n"

/* The folder of the file that contains this code, a library or a program. */
static bool own_folder(char path[PATH_MAX])
{
    static const char here;
    Dl_info info;
    if (dladdr(&here, &info) && info.dli_fname && strchr(info.dli_fname, '/')) {
        if (!realpath(info.dli_fname, path))
            return false;
    } else { /* a program that was found on PATH */
        ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
        if (length <= 0)
            return false;
        path[length] = '\0';
    }
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

bool heed_shipped_folder(char path[PATH_MAX])
{
    static const char *const below[] = { "cubins", "heed/cubins", "../lib/heed/cubins" };
    const char *named = getenv("HEED_CUBINS");
    char own[PATH_MAX];
    path[0] = '\0';
    if (named) {
        if (*named && snprintf(path, PATH_MAX, "%s", named) < PATH_MAX)
            return true;
        path[0] = '\0';
        return false;
    }
    if (!own_folder(own))
        return false;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        if (snprintf(path, PATH_MAX, "%s/%s", own, below[i]) < PATH_MAX && access(path, X_OK) == 0)
            return true;
    path[0] = '\0';
    return false;
}

bool heed_shipped_compiler(int *major, int *minor)
{
    char folder[PATH_MAX], path[PATH_MAX];
    *major = *minor = 0;
    if (!heed_shipped_folder(folder) ||
        snprintf(path, PATH_MAX, "%s/" COMPILER_FILE, folder) >= PATH_MAX)
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char text[64] = "", expected[64];
    bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    if (read && sscanf(text, COMPILER_TEXT, major, minor) == 2) {
        snprintf(expected, sizeof expected, COMPILER_TEXT, *major, *minor);
        if (strcmp(text, expected) == 0)
            return true;
    }
    *major = *minor = 0;
    return false;
}

bool heed_shipped_load(const char *key, heed_cache_entry *entry)
{
    int major, minor;
    char folder[PATH_MAX];
    *entry = (heed_cache_entry){ .data = NULL };
    return heed_shipped_compiler(&major, &minor) && heed_shipped_folder(folder) &&
           heed_cache_read(folder, key, entry);
}

bool heed_shipped_store(const char *folder, const char *key, const heed_cache_entry *entry)
{
    return heed_cache_write(folder, key, entry);
}

bool heed_shipped_sign(const char *folder, int major, int minor)
{
    char path[PATH_MAX];
    if (snprintf(path, PATH_MAX, "%s/" COMPILER_FILE, folder) >= PATH_MAX)
        return false;
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    bool good = fprintf(file, COMPILER_TEXT, major, minor) > 0;
    return fclose(file) == 0 && good;
}
