/*
 * beside.c - paths relative to the running program
 */
#include "lab/base/beside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
