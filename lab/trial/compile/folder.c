/*
 * folder.c - a temporary folder for a compiler's input and output
 */
#include "lab/trial/compile/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool lab_folder_write(const char *folder, const char *name, const void *data, size_t size)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    bool written = file && fwrite(data, 1, size, file) == size;
    return file && fclose(file) == 0 && written;
}

/* Returns whether @name is a folder, and gives back permissions that were taken away. */
static bool allow(int at, const char *name)
{
    struct stat it;
    return fstatat(at, name, &it, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(it.st_mode) &&
           fchmodat(at, name, 0700, 0) == 0;
}

static DIR *open_folder(int at, const char *name)
{
    if (!allow(at, name))
        return NULL;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (!directory && fd >= 0)
        close(fd);
    return directory;
}

/* Moves a folder to @top, under a name that is not taken there. */
static bool move(int from, const char *name, int top, size_t *moved)
{
    char other[40];
    int failed;
    do {
        snprintf(other, sizeof other, "heed-moved-%zu", (*moved)++);
        failed = renameat(from, name, top, other) == 0 ? 0 : errno;
    } while (failed == EEXIST || failed == ENOTEMPTY || failed == ENOTDIR);
    return failed == 0;
}

/* Removes what is in the folder @from; folders that are not empty are moved to @top under new
 * names. Returns whether there were any. */
static bool empty_folder(DIR *from, int top, size_t *moved)
{
    const struct dirent *entry;
    bool more = false;
    while ((entry = readdir(from))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            unlinkat(dirfd(from), name, 0) == 0 || unlinkat(dirfd(from), name, AT_REMOVEDIR) == 0)
            continue;
        more = (allow(dirfd(from), name) && move(dirfd(from), name, top, moved)) || more;
    }
    return more;
}

/* Empties each folder in @top. Returns whether something was moved to it. */
static bool empty_each(DIR *top, size_t *moved)
{
    const struct dirent *entry;
    bool more = false;
    rewinddir(top);
    while ((entry = readdir(top))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(dirfd(top), name, 0) == 0)
            continue;
        DIR *inner = open_folder(dirfd(top), name);
        if (!inner)
            continue;
        more = empty_folder(inner, dirfd(top), moved) || more;
        closedir(inner);
        unlinkat(dirfd(top), name, AT_REMOVEDIR);
    }
    return more;
}

/* Folders may be nested deeper than a path may be long: none is removed by a path, or by a call in
 * a call. */
void lab_folder_remove(const char *path)
{
    size_t moved = 0;
    DIR *top = path[0] ? open_folder(AT_FDCWD, path) : NULL;
    while (top && empty_each(top, &moved))
        continue;
    if (top)
        closedir(top);
    if (path[0])
        rmdir(path);
}
