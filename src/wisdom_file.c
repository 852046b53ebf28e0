/*
 * wisdom_file.c - load and save wisdom files
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wisdom.h"

static heed_status fail_file(const char *path, const char *action)
{
    return heed_fail(HEED_ERR_SYSTEM, "%s: cannot %s: %s", path, action, strerror(errno));
}

/* -------------------------------------------------------------------------- */
/* Load                                                                       */
/* -------------------------------------------------------------------------- */

/* Reads up to @size bytes; fewer if the file became shorter. */
static heed_status read_bytes(int file, const char *path, char *text, size_t size, size_t *length)
{
    *length = 0;
    while (*length < size) {
        ssize_t part = read(file, text + *length, size - *length);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return fail_file(path, "read");
        if (part == 0)
            break;
        *length += (size_t)part;
    }
    return HEED_OK;
}

static heed_status load_open(heed_context *context, const char *path, int file, size_t *taken,
                             size_t *skipped)
{
    struct stat info;
    if (fstat(file, &info) != 0)
        return fail_file(path, "read");
    if (!S_ISREG(info.st_mode))
        return heed_fail(HEED_ERR_SYSTEM, "%s: cannot read: not a regular file", path);
    if ((uintmax_t)info.st_size > HEED_WISDOM_SIZE_MAX)
        return heed_fail(HEED_ERR_CORRUPT, "%s: more than the %zu bytes that wisdom may have", path,
                         HEED_WISDOM_SIZE_MAX);

    size_t size = (size_t)info.st_size, length;
    char *text = malloc(size + 1);
    if (!text)
        return heed_fail(HEED_ERR_NO_MEMORY, "%s: no memory for %zu bytes", path, size);
    heed_status status = read_bytes(file, path, text, size, &length);
    if (status == HEED_OK)
        status = heed_wisdom_read(context, path, text, length, taken, skipped);
    free(text);
    return status;
}

static heed_status check_arguments(const heed_context *context, const char *path)
{
    if (context && !path)
        return heed_fail(HEED_ERR_INVALID, "path is NULL");
    return heed_context_check(context);
}

heed_status heed_wisdom_load(heed_context *context, const char *path, size_t *taken,
                             size_t *skipped)
{
    heed_status status = check_arguments(context, path);
    if (status != HEED_OK)
        return status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe must not block */
    if (file < 0)
        return fail_file(path, "open");
    status = load_open(context, path, file, taken, skipped);
    close(file);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Save                                                                       */
/* -------------------------------------------------------------------------- */

/* An earlier process with the same ID may have left files behind, so a few names are tried. */
#define NAMES_TRIED 100
#define SUFFIX_SIZE 48

/* Makes a new file in the directory of @path; its name begins with as much of @path's as fits. The
 * caller frees *@name, its name, also on failure. */
static heed_status open_beside(const char *path, char **name, int *file)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    size_t size = strlen(path) + SUFFIX_SIZE;
    *file = -1;
    *name = malloc(size);
    if (!*name)
        return heed_fail(HEED_ERR_NO_MEMORY, "%s: no memory to save it", path);
    for (int i = 0; i < NAMES_TRIED && *file < 0; i++) {
        snprintf(*name, size, "%.*s%.*s.%ld.%d.tmp", (int)(last - path), path,
                 NAME_MAX - SUFFIX_SIZE, last, (long)getpid(), i);
        *file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*file < 0 && errno != EEXIST)
            break;
    }
    return *file < 0 ? fail_file(path, "create") : HEED_OK;
}

static heed_status write_bytes(int file, const char *name, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t part = write(file, text, length);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return fail_file(name, "write");
        text += part;
        length -= (size_t)part;
    }
    return HEED_OK;
}

/* Writes to a device or a pipe directly, without replacing it. */
static heed_status write_device(const char *path, const char *text, size_t length)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return fail_file(path, "open");
    heed_status status = write_bytes(file, path, text, length);
    if (close(file) != 0 && status == HEED_OK)
        status = fail_file(path, "write");
    return status;
}

/* Replaces the file @path by one that holds @text: the old one stays until the new one is complete.
 */
static heed_status replace_regular(const char *path, const char *text, size_t length)
{
    char *name = NULL;
    int file;
    heed_status status = open_beside(path, &name, &file);
    if (status == HEED_OK) {
        status = write_bytes(file, name, text, length);
        if (status == HEED_OK && fsync(file) != 0)
            status = fail_file(name, "write");
        if (close(file) != 0 && status == HEED_OK)
            status = fail_file(name, "write");
        if (status == HEED_OK && rename(name, path) != 0)
            status = fail_file(path, "replace");
        if (status != HEED_OK)
            unlink(name);
    }
    free(name);
    return status;
}

/* Replaces the content of @path by @text; for a symlink, that of its target. */
static heed_status replace_file(const char *path, const char *text, size_t length)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return replace_regular(path, text, length);
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return write_device(path, text, length);
    char *target = realpath(path, NULL);
    heed_status status = target ? replace_regular(target, text, length) : fail_file(path, "find");
    free(target);
    return status;
}

/* Writes all wisdom to a new string, to be freed by the caller. */
static heed_status copy_text(heed_context *context, char **text, size_t *length)
{
    pthread_mutex_lock(&context->wisdom->mutex);
    *length = heed_wisdom_write(context, NULL, 0);
    *text = malloc(*length + 1);
    if (*text)
        heed_wisdom_write(context, *text, *length + 1);
    pthread_mutex_unlock(&context->wisdom->mutex);
    if (!*text)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for %zu bytes of wisdom", *length);
    return HEED_OK;
}

heed_status heed_wisdom_save(heed_context *context, const char *path)
{
    char *text;
    size_t length;
    heed_status status = check_arguments(context, path);
    if (status == HEED_OK)
        status = copy_text(context, &text, &length);
    if (status != HEED_OK)
        return status;
    if (length > HEED_WISDOM_SIZE_MAX)
        status = heed_fail(HEED_ERR_SYSTEM, "%s: %zu bytes of wisdom; a file holds %zu", path,
                           length, HEED_WISDOM_SIZE_MAX);
    else
        status = replace_file(path, text, length);
    free(text);
    return status;
}
