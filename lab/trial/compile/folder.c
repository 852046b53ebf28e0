/*
 * folder.c - a temporary folder for a compiler's input and output
 */
#include "lab/trial/compile/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 16

bool lab_folder_make(char *path, size_t size, const char *what)
{
    const char *base = getenv("TMPDIR");
    char name[40];

    snprintf(name, sizeof name, "/heed-%s-XXXXXX", what);
    if (!base || base[0] != '/' || strlen(base) + strlen(name) >= size)
        base = "/tmp";
    snprintf(path, size, "%s%s", base, name);
    bool made = mkdtemp(path);
    if (!made)
        path[0] = '\0';
    return made;
}

static void empty_folder(int at, const char *path, int depth)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    while (directory && (entry = readdir(directory))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(fd, name, 0) == 0)
            continue;
        if (depth < DEPTH_MAX)
            empty_folder(fd, name, depth + 1);
        unlinkat(fd, name, AT_REMOVEDIR);
    }
    if (directory)
        closedir(directory);
    else if (fd >= 0)
        close(fd);
}

void lab_folder_remove(const char *path)
{
    if (!path[0])
        return;
    empty_folder(AT_FDCWD, path, 0);
    rmdir(path);
}
