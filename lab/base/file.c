/*
 * file.c - exact reads, atomic replacement of files, parent folders, and the cache folder
 */
#define _GNU_SOURCE /* mkostemp() */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/plural.h"

heed_status lab_file_open(FILE **file, const char *path, lab_error *error)
{
    struct stat facts;
    int input = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : -1;
    *file = input >= 0 ? fdopen(input, "rb") : fopen(path, "rb");
    if (!*file)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    if (fstat(fileno(*file), &facts) == 0 && S_ISDIR(facts.st_mode)) {
        fclose(*file);
        *file = NULL;
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(EISDIR));
    }
    return HEED_OK;
}

heed_status lab_file_require_plain(const char *path, lab_error *error)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return lab_fail(error, HEED_ERR_INVALID, "%s: it is not a regular file", path);
    return HEED_OK;
}

/* Copies all of @from, and rewinds @to. */
static bool copy_all(FILE *from, FILE *to)
{
    char part[1 << 16];
    size_t size;
    while ((size = fread(part, 1, sizeof part, from)) > 0)
        if (fwrite(part, 1, size, to) != size)
            return false;
    return !ferror(from) && fflush(to) == 0 && fseeko(to, 0, SEEK_SET) == 0;
}

heed_status lab_file_open_whole(FILE **file, const char *path, lab_error *error)
{
    struct stat facts;
    heed_status status = lab_file_open(file, path, error);
    if (status != HEED_OK || fstat(fileno(*file), &facts) != 0 ||
        !(S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode) || isatty(fileno(*file))))
        return status;
    FILE *whole = tmpfile();
    errno = 0;
    if (!whole || !copy_all(*file, whole)) {
        lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(errno ? errno : EIO));
        fclose(*file);
        if (whole)
            fclose(whole);
        *file = NULL;
        return HEED_ERR_SYSTEM;
    }
    fclose(*file);
    *file = whole;
    return HEED_OK;
}

bool lab_file_is_stream(const char *path)
{
    struct stat facts, own;
    bool open = strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0;
    if (strcmp(path, "-") == 0)
        return true;
    if (stat(path, &facts) != 0 || !(open || S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode)))
        return false;
    return fstat(STDOUT_FILENO, &own) != 0 || own.st_dev != facts.st_dev ||
           own.st_ino != facts.st_ino;
}

int64_t lab_file_left(FILE *file)
{
    struct stat facts;
    off_t at = ftello(file);
    if (at < 0 || fstat(fileno(file), &facts) != 0 || !S_ISREG(facts.st_mode))
        return -1;
    return facts.st_size > at ? facts.st_size - at : 0;
}

heed_status lab_file_read(FILE *file, const char *path, const char *what, void *data, size_t size,
                          lab_error *error)
{
    errno = 0;
    size_t got = fread(data, 1, size, file);
    if (got == size)
        return HEED_OK;
    if (ferror(file))
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    return lab_fail(error, HEED_ERR_CORRUPT,
                    "%s: cut short: %s is %zu byte%s long, and %zu are there", path, what, size,
                    lab_plural(size), got);
}

bool lab_file_write(int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t put = write(fd, at, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        size -= (size_t)put;
    }
    return true;
}

heed_status lab_file_temporary(char *path, size_t path_size, const char *name, const void *data,
                               size_t size, lab_error *error)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, path_size, "%s/%s-XXXXXX", folder && *folder ? folder : "/tmp", name);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "cannot create %s: %s", path, strerror(errno));
    const bool written = lab_file_write(fd, data, size);
    const int reason = errno;
    if (close(fd) == 0 && written)
        return HEED_OK;
    lab_fail(error, HEED_ERR_SYSTEM, "cannot write %s: %s", path,
             strerror(written ? errno : reason));
    unlink(path);
    return HEED_ERR_SYSTEM;
}

/* The permissions that a new file would get. umask() cannot be read without being set. */
static mode_t new_file_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static heed_status output_failed(lab_output *output, const char *path, int reason, lab_error *error)
{
    lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(reason));
    lab_output_abandon(output);
    return HEED_ERR_SYSTEM;
}

#define SUFFIX ".XXXXXX"

/* Opens "<path>.XXXXXX" with the permissions of the file it will replace. The end of a long name is
 * left out, so that the new one is not too long. */
static heed_status open_temporary(lab_output *output, mode_t mode, lab_error *error)
{
    const char *slash = strrchr(output->path, '/'), *name = slash ? slash + 1 : output->path;
    const size_t size = strlen(output->path) + sizeof SUFFIX;
    output->temporary = malloc(size);
    if (!output->temporary) {
        lab_output_abandon(output);
        return lab_fail(error, HEED_ERR_NO_MEMORY, "not enough memory for the name of a file");
    }
    snprintf(output->temporary, size, "%.*s%.*s" SUFFIX, (int)(name - output->path), output->path,
             (int)(NAME_MAX - strlen(SUFFIX)), name);
    int fd = mkstemp(output->temporary);
    if (fd < 0) {
        int reason = errno;
        free(output->temporary); /* no file to remove */
        output->temporary = NULL;
        return output_failed(output, output->path, reason, error);
    }
    if (fchmod(fd, mode) != 0 || !(output->file = fdopen(fd, "wb"))) {
        int reason = errno;
        close(fd);
        return output_failed(output, output->path, reason, error);
    }
    return HEED_OK;
}

heed_status lab_output_begin(lab_output *output, const char *path, lab_error *error)
{
    struct stat facts;
    bool exists = stat(path, &facts) == 0, regular = !exists || S_ISREG(facts.st_mode);

    memset(output, 0, sizeof *output);
    if (!exists && errno == ENAMETOOLONG)
        return lab_fail(error, HEED_ERR_SYSTEM,
                        "%.60s...: %s; a name has at most %d bytes, a path %d", path,
                        strerror(ENAMETOOLONG), NAME_MAX, PATH_MAX - 1);
    output->path = exists && regular ? realpath(path, NULL) : strdup(path);
    if (!output->path)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    if (regular)
        return open_temporary(output, exists ? facts.st_mode & 07777 : new_file_mode(), error);
    output->file = fopen(output->path, "wb");
    return output->file ? HEED_OK : output_failed(output, path, errno, error);
}

void lab_output_write(lab_output *output, const void *data, size_t size)
{
    errno = 0;
    if (output->reason == 0 && fwrite(data, 1, size, output->file) != size)
        output->reason = errno ? errno : EIO;
}

/* The reason why an earlier write failed, which a stream does not keep: that of another write. */
static int failed_write(FILE *file)
{
    clearerr(file);
    errno = 0;
    if (fputc('\n', file) != EOF)
        fflush(file);
    return errno ? errno : EIO;
}

/* Flushes everything to disk and closes the file. Returns 0 or an errno. */
static int finish(lab_output *output)
{
    FILE *file = output->file;
    int reason = output->reason;
    if (reason == 0 && ferror(file))
        reason = failed_write(file);
    if (reason == 0 && fflush(file) != 0)
        reason = errno;
    if (reason == 0 && output->temporary && fsync(fileno(file)) != 0)
        reason = errno;
    output->file = NULL;
    if (fclose(file) != 0 && reason == 0)
        reason = errno;
    return reason;
}

heed_status lab_output_commit(lab_output *output, lab_error *error)
{
    int reason = finish(output);
    if (reason == 0 && output->temporary && rename(output->temporary, output->path) != 0)
        reason = errno;
    if (reason != 0)
        return output_failed(output, output->path, reason, error);
    free(output->temporary); /* it has its final name now */
    output->temporary = NULL;
    lab_output_abandon(output);
    return HEED_OK;
}

void lab_output_abandon(lab_output *output)
{
    if (output->file)
        fclose(output->file);
    if (output->temporary)
        unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    memset(output, 0, sizeof *output);
}

/* -------------------------------------------------------------------------- */
/* Folders                                                                    */
/* -------------------------------------------------------------------------- */

heed_status lab_file_folders(const char *path, mode_t mode, lab_error *error)
{
    char folder[PATH_MAX];
    if (strlen(path) >= sizeof folder)
        return lab_fail(error, HEED_ERR_SYSTEM, "%.60s...: %s", path, strerror(ENAMETOOLONG));
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, mode) != 0 && errno != EEXIST)
            return lab_fail(error, HEED_ERR_SYSTEM, "%s: cannot make this folder: %s", folder,
                            strerror(errno));
        *slash = '/';
    }
    return HEED_OK;
}

heed_status lab_file_cache(char *path, size_t size, const char *name, lab_error *error)
{
    static const struct {
        const char *variable, *below;
    } places[] = { { "HEED_CACHE", "" },
                   { "XDG_CACHE_HOME", "/heed" },
                   { "HOME", "/.cache/heed" } };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *folder = getenv(places[i].variable);
        if (!folder || !*folder)
            continue;
        size_t length = (size_t)snprintf(path, size, "%s%s/%s", folder, places[i].below, name);
        if (length < size)
            return HEED_OK;
        return lab_fail(error, HEED_ERR_SYSTEM,
                        "%s has %zu bytes; a file below it would have %zu, and %zu are the most",
                        places[i].variable, strlen(folder), length, size - 1);
    }
    return lab_fail(error, HEED_ERR_SYSTEM,
                    "no place for %s: HEED_CACHE, XDG_CACHE_HOME and HOME are not set", name);
}
