/*
 * arena.c - memory shared with a candidate's process, and the placement of tensors in it
 */
#define _GNU_SOURCE /* memfd_create() */
#include "lab/trial/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lab/trial/process.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* Size of the inaccessible pages around rooms, enough to catch an index that is a few tiles off. */
#define WALL ((size_t)64 << 10)

bool lab_arena_create(lab_arena *arena, size_t size, bool read_only)
{
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | (read_only ? F_SEAL_FUTURE_WRITE : 0) | F_SEAL_SEAL;

    *arena = (lab_arena){ .fd = memfd_create("heed-tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                          .size = size };
    if (arena->fd < 0 || ftruncate(arena->fd, (off_t)size) != 0) {
        lab_arena_destroy(arena);
        return false;
    }
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, arena->fd, 0);
    arena->map = map == MAP_FAILED ? NULL : map;
    if (!arena->map || fcntl(arena->fd, F_ADD_SEALS, seals) != 0) {
        lab_arena_destroy(arena);
        return false;
    }
    return true;
}

void lab_arena_destroy(lab_arena *arena)
{
    int error = errno;

    if (arena->map)
        munmap(arena->map, arena->size);
    arena->map = NULL;
    lab_close_fd(&arena->fd);
    errno = error;
}

bool lab_arena_place(lab_arena *arena, const lab_span *span, lab_wire_room *room)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t lean = (uintptr_t)span->room % page; /* offset of the room in its page */
    size_t start = (arena->used + WALL + page - 1) / page * page + lean;
    size_t end;

    *room = (lab_wire_room){ .size = 0 };
    if (span->size == 0)
        return true;
    if (__builtin_add_overflow(start, span->room_size, &end) || arena->size < WALL ||
        end > arena->size - WALL)
        return false;
    arena->used = end;
    *room = (lab_wire_room){ .start = start, .size = span->room_size, .data = start + span->start };
    return true;
}
