/*
 * share.c - files in memory shared by two processes
 */
#define _GNU_SOURCE /* memfd_create() */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

int lab_share(const char *name, const void *data, size_t size)
{
    /* It may be loaded as code; older kernels do not have this flag. */
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || !data)
        return fd;
    if (lab_file_write(fd, data, size) &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool read_all(int fd, char *data, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(fd, data + done, size - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool lab_share_read(int fd, void *data, size_t size)
{
    struct stat status;

    return fstat(fd, &status) == 0 && (size_t)status.st_size == size && read_all(fd, data, size);
}
