/*
 * pages.c - checks a process's memory map: its code, and its accessible pages
 */
#include "lab/trial/trial_parts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A line of /proc/PID/maps: addresses, access such as "r-xp", offset, device, inode, name. The
 * system's code, such as "[vdso]", has no file. */
static bool is_fixed(const char *line)
{
    char access[8] = "", name[8] = "";
    unsigned long long file = 0;

    if (sscanf(line, "%*s %7s %*s %*s %llu %7s", access, &file, name) < 2 || access[2] != 'x')
        return true;
    return access[1] != 'w' && (file != 0 || strncmp(name, "[v", 2) == 0);
}

bool lab_pages_fixed(pid_t pid)
{
    char path[48], line[4096];
    bool fixed = true;

    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    FILE *file = fopen(path, "re");
    while (file && fixed && fgets(line, sizeof line, file))
        fixed = is_fixed(line);
    if (file)
        fclose(file);
    return fixed;
}

/* ---------------------------------------------------------------------------------------------- */
/* Walls                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* A mapping: its addresses, and its bytes of a file. */
typedef struct stretch {
    uint64_t start, end;
    uint64_t offset;
    bool closed; /* not accessible */
    bool arena;  /* it maps the arena's file */
} stretch;

/* An inode number is unique only per device: shared memory may have the same number as a library.
 */
static bool read_stretch(const char *line, const struct stat *arena, stretch *to)
{
    unsigned long long start, end, offset, file;
    unsigned major_number, minor_number;
    char access[8] = "";

    if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu", &start, &end, access, &offset, &major_number,
               &minor_number, &file) != 7)
        return false;
    *to = (stretch){ start, end, offset, strncmp(access, "---", 3) == 0,
                     file == arena->st_ino &&
                         makedev(major_number, minor_number) == arena->st_dev };
    return true;
}

/* True if it has exactly the pages of a room of @sets. */
static bool is_room(const stretch *it, bool outputs, const lab_wire_set *sets, int count)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = it->end - it->start;

    for (int i = 0; i < count * LAB_BLOCKS; i++) {
        const lab_wire_room *room = &sets[i / LAB_BLOCKS].room[i % LAB_BLOCKS];
        uint64_t first = room->start / page * page;
        uint64_t end = (room->start + room->size + page - 1) / page * page;
        if ((i % LAB_BLOCKS >= LAB_O) == outputs && room->size > 0 && it->offset == first &&
            size == end - first)
            return true;
    }
    return false;
}

/* True if @b continues @a, in addresses and in the arena. */
static bool is_next(const stretch *a, const stretch *b)
{
    return a->arena && b->arena && a->end == b->start &&
           a->offset + (a->end - a->start) == b->offset;
}

bool lab_pages_text_walled(FILE *maps, const struct stat *arena, bool outputs, size_t kept,
                           const lab_wire_set *sets, int count)
{
    stretch before = { .arena = false }, now = before, it;
    char line[4096];
    bool walled = true;

    while (walled && fgets(line, sizeof line, maps)) {
        if (!read_stretch(line, arena, &it))
            continue;
        if (is_next(&now, &it) && now.closed == it.closed) { /* madvise() may split a room */
            now.end = it.end;
            continue;
        }
        bool open = now.arena && !now.closed && (now.offset > 0 || now.end - now.start != kept);
        walled = !open || (is_next(&before, &now) && is_next(&now, &it) &&
                           is_room(&now, outputs, sets, count));
        before = now;
        now = it;
    }
    return walled;
}

bool lab_pages_walled(pid_t pid, int fd, bool outputs, size_t kept, const lab_wire_set *sets,
                      int count)
{
    char path[48];
    struct stat arena;

    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    FILE *file = fstat(fd, &arena) == 0 ? fopen(path, "re") : NULL;
    bool walled = !file || lab_pages_text_walled(file, &arena, outputs, kept, sets, count);
    if (file)
        fclose(file);
    return walled;
}
