/*
 * lock.c - the lock that limits a board to one writer
 *
 * The lock is on a file next to the board, whose only line names the owner. The system releases it
 * whenever the owner ends. It is advisory: two concurrent writers would wait for each other's
 * transactions and damage nothing, but their runs would mix.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"

#define OWNER_SIZE 128

/* Locks belong to processes, not to open files: a surviving child does not hold one. */
static bool take(int file)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(file, F_SETLK, &lock) == 0;
}

#define OWNED_BY "process "

/* True if nothing is lost when the file is overwritten: it is a lock, which may be left over, or
 * empty. */
static bool is_lock(int file)
{
    struct stat status;
    char start[sizeof OWNED_BY - 1];
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    return status.st_size == 0 || (pread(file, start, sizeof start, 0) == sizeof start &&
                                   memcmp(start, OWNED_BY, sizeof start) == 0);
}

static void sign(int file)
{
    char now[LAB_RECORD_TIME_SIZE], line[OWNER_SIZE];
    lab_record_now(now);
    int length = snprintf(line, sizeof line, OWNED_BY "%ld, since %s\n", (long)getpid(), now);
    /* The line is only information about the owner. */
    if (ftruncate(file, 0) == 0 && pwrite(file, line, (size_t)length, 0) < length)
        errno = 0;
}

static void read_owner(int file, char owner[OWNER_SIZE])
{
    ssize_t length = pread(file, owner, OWNER_SIZE - 1, 0);
    owner[length > 0 ? length : 0] = '\0';
    owner[strcspn(owner, "\n")] = '\0';
    if (!*owner)
        snprintf(owner, OWNER_SIZE, "another process");
}

/* SQLite appends "-journal" to the name of a board. */
#define BOARD_NAME_MAX (NAME_MAX - 8)

heed_status lab_record_lock(const char *path, int *lock, lab_error *error)
{
    const char *slash = strrchr(path, '/');
    const size_t length = strlen(slash ? slash + 1 : path);
    if (length > BOARD_NAME_MAX)
        return lab_fail(error, HEED_ERR_SYSTEM,
                        "the name of a board has at most %d bytes, and this one has %zu: %s",
                        BOARD_NAME_MAX, length, path);
    char name[LAB_RECORD_PATH_SIZE + 8], owner[OWNER_SIZE];
    snprintf(name, sizeof name, "%s.lock", path);
    *lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666);
    if (*lock < 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: cannot open: %s", name, strerror(errno));
    const bool taken = take(*lock);
    int reason = errno;
    if (taken && is_lock(*lock)) {
        sign(*lock);
        return HEED_OK;
    }
    read_owner(*lock, owner);
    close(*lock);
    *lock = -1;
    if (taken)
        return lab_fail(error, HEED_ERR_SYSTEM,
                        "%s: is a file of another program, and not changed; the lock of the board "
                        "would have this name: name another board",
                        name);
    if (reason != EACCES && reason != EAGAIN)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s: cannot lock: %s", name, strerror(reason));
    return lab_fail(error, HEED_ERR_SYSTEM,
                    "%s: is being written to by %s; wait until that has ended, or name another "
                    "file",
                    path, owner);
}

void lab_record_unlock(int lock)
{
    if (lock < 0)
        return;
    /* The line must not outlast its owner. */
    if (ftruncate(lock, 0) != 0)
        errno = 0;
    close(lock);
}
