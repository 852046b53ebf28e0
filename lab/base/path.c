/*
 * path.c - finding programs, without running them, and paths relative to the running one
 */
#include "path.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool lab_path_is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool lab_path_is_binary(const char *path)
{
    char start[4] = "";
    FILE *file = fopen(path, "re");
    bool binary = file && fread(start, 1, 4, file) == 4 && memcmp(start, "\177ELF", 4) == 0;
    if (file)
        fclose(file);
    return binary;
}

bool lab_path_find(const char *list, const char *name, lab_path_test *test, char *path, size_t size)
{
    while (list && *list) {
        size_t length = strcspn(list, ":");
        int needed = snprintf(path, size, "%.*s/%s", (int)length, list, name);
        if (length > 0 && needed > 0 && (size_t)needed < size && test(path))
            return true;
        list += length + (list[length] == ':');
    }
    return false;
}

bool lab_path_match(const char *pattern, char *path, size_t size)
{
    glob_t files;
    bool found = false;
    if (glob(pattern, 0, NULL, &files) != 0)
        return false;
    for (size_t i = files.gl_pathc; i > 0 && !found; i--) {
        int needed = snprintf(path, size, "%s", files.gl_pathv[i - 1]);
        found = needed > 0 && (size_t)needed < size && lab_path_is_program(path);
    }
    globfree(&files);
    return found;
}

bool lab_beside(const char *place, char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size);
    if (length <= 0 || (size_t)length >= size)
        return false;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    size_t room = size - (size_t)(slash + 1 - path);
    return (size_t)snprintf(slash + 1, room, "%s", place) < room;
}
