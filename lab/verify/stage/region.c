/*
 * region.c - memory with guard pages and patterns that reveal stray accesses
 */
#include "lab/verify/stage/region.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lab/tensor/random.h"

/* Wide enough that an index that is a few tiles off still hits the wall. */
#define WALL_PAGES 16

/* Larger regions may be sparse. */
#define POPULATE_MAX ((size_t)1 << 22)

heed_status lab_region_create(lab_region *region, size_t size, size_t alignment, lab_edge edge)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t wall = WALL_PAGES * page, room, total;
    memset(region, 0, sizeof *region);
    size_t odd = 0, over = alignment; /* bytes over a multiple of odd */
    if (edge == LAB_EDGE_ODD && alignment < LAB_ODD_BYTES)
        odd = LAB_ODD_BYTES;
    if (edge >= LAB_EDGE_APART && alignment < LAB_ODD_BYTES) {
        odd = LAB_APART_BYTES;
        over = (2 * (size_t)(edge - LAB_EDGE_APART) + 1) * alignment;
    }
    size_t margins = edge == LAB_EDGE_NONE ? 2 * page : 0;
    if (__builtin_add_overflow(size, page - 1 + odd + margins, &room))
        return HEED_ERR_NO_MEMORY;
    room -= room % page;
    if (__builtin_add_overflow(room, 2 * wall, &total))
        return HEED_ERR_NO_MEMORY;

    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    unsigned char *map = mmap(NULL, total, PROT_NONE, flags, -1, 0);
    if (map == MAP_FAILED)
        return HEED_ERR_NO_MEMORY;
    if (mprotect(map + wall, room, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, total);
        return HEED_ERR_NO_MEMORY;
    }
#ifdef MADV_POPULATE_WRITE
    if (room <= POPULATE_MAX) /* prefaulting all pages at once is faster; failure is harmless */
        madvise(map + wall, room, MADV_POPULATE_WRITE);
#endif
    size_t slack = edge == LAB_EDGE_START ? 0 : (room - size) / alignment * alignment;
    if (odd) /* pages have a larger alignment */
        slack = (room - size - over) / odd * odd + over;
    if (margins)
        slack = page;
    *region = (lab_region){ .map = map,
                            .map_size = total,
                            .room = map + wall,
                            .room_size = room,
                            .data = map + wall + slack,
                            .size = size };
    return HEED_OK;
}

void lab_region_destroy(lab_region *region)
{
    if (region->map)
        munmap(region->map, region->map_size);
    memset(region, 0, sizeof *region);
}

bool lab_region_lock(const lab_region *region, bool locked)
{
    int access = locked ? PROT_READ : PROT_READ | PROT_WRITE;
    return !region->map || mprotect(region->room, region->room_size, access) == 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Patterns repeat after this many bytes, a power of two. */
#define PERIOD ((size_t)512)

/* Eight bytes of a pattern, from offset 8 * @index on. */
static uint64_t pattern_word(uint64_t pattern, size_t index)
{
    return pattern == LAB_PATTERN_ONES ? UINT64_MAX : lab_random_bits(pattern, index);
}

/* Writes the pattern's bytes from offset @start up to @end, at most a period, to @bytes. */
static void make_bytes(uint64_t pattern, size_t start, size_t end, unsigned char *bytes)
{
    for (size_t place = start; place < end;) {
        size_t within = place % 8, count = least(8 - within, end - place);
        uint64_t word = pattern_word(pattern, place % PERIOD / 8);
        if (count == 8)
            memcpy(bytes, &word, 8);
        else
            memcpy(bytes, (const unsigned char *)&word + within, count);
        bytes += count;
        place += count;
    }
}

void lab_region_paint(const lab_region *region, size_t start, size_t end, uint64_t pattern)
{
    unsigned char bytes[PERIOD];
    make_bytes(pattern, start, least(end, start + PERIOD), bytes);
    for (size_t place = start; place < end; place += PERIOD)
        memcpy(region->room + place, bytes, least(PERIOD, end - place));
}

size_t lab_region_spoiled(const lab_region *region, size_t start, size_t end, uint64_t pattern)
{
    unsigned char bytes[PERIOD];
    make_bytes(pattern, start, least(end, start + PERIOD), bytes);
    for (size_t place = start; place < end; place += PERIOD) {
        size_t count = least(PERIOD, end - place);
        if (memcmp(region->room + place, bytes, count) == 0)
            continue;
        for (size_t i = 0; i < count; i++)
            if (region->room[place + i] != bytes[i])
                return place + i;
    }
    return end;
}
