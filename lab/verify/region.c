/*
 * region.c - memory that notices what is done to it
 */
#include "lab/verify/region.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lab/tensor/random.h"

/* Wide enough that an index a few tiles off still hits the wall. */
#define WALL_PAGES 16

heed_status lab_region_create(lab_region *region, size_t size, size_t alignment, lab_edge edge)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t wall = WALL_PAGES * page, room, total;
    memset(region, 0, sizeof *region);
    if (__builtin_add_overflow(size, page - 1, &room))
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
    size_t slack = edge == LAB_EDGE_START ? 0 : (room - size) / alignment * alignment;
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

bool lab_region_lock(const lab_region *region)
{
    return !region->map || mprotect(region->room, region->room_size, PROT_READ) == 0;
}

bool lab_region_unlock(const lab_region *region)
{
    return !region->map || mprotect(region->room, region->room_size, PROT_READ | PROT_WRITE) == 0;
}

/* Eight bytes of a pattern, those of the places 8 * index and on. */
static uint64_t pattern_word(uint64_t pattern, size_t index)
{
    return pattern == LAB_PATTERN_ONES ? UINT64_MAX : lab_random_bits(pattern, index);
}

static unsigned char pattern_byte(uint64_t pattern, size_t place)
{
    return (unsigned char)(pattern_word(pattern, place / 8) >> place % 8 * 8);
}

/* Do eight bytes of one pattern word begin at @place and end by @end? */
static bool whole_word(size_t place, size_t end)
{
    return place % 8 == 0 && end - place >= 8;
}

/* The eight bytes as they lie in memory, whatever the byte order of the machine. */
static void pattern_bytes(uint64_t pattern, size_t place, unsigned char bytes[8])
{
    uint64_t word = pattern_word(pattern, place / 8);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(word >> i * 8);
}

void lab_region_paint(const lab_region *region, size_t start, size_t end, uint64_t pattern)
{
    for (size_t place = start; place < end;) {
        if (whole_word(place, end)) {
            pattern_bytes(pattern, place, region->room + place);
            place += 8;
        } else {
            region->room[place] = pattern_byte(pattern, place);
            place++;
        }
    }
}

size_t lab_region_spoiled(const lab_region *region, size_t start, size_t end, uint64_t pattern)
{
    for (size_t place = start; place < end;) {
        unsigned char bytes[8];
        if (whole_word(place, end)) {
            pattern_bytes(pattern, place, bytes);
            if (memcmp(region->room + place, bytes, 8) == 0) {
                place += 8;
                continue;
            }
        }
        if (region->room[place] != pattern_byte(pattern, place))
            return place;
        place++;
    }
    return end;
}
