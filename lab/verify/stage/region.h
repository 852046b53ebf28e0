/*
 * region.h - memory with guard pages and patterns that reveal stray accesses
 *
 * A region holds data in separate pages between two walls of inaccessible pages: a read or write
 * there ends the process with SIGSEGV. The data lies against one of the walls. Between it and the
 * other wall is slack of less than a page, which can be filled with a pattern that reveals writes;
 * so can the gaps of strided data.
 */
#ifndef LAB_REGION_H
#define LAB_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* The wall that the data lies against. LAB_EDGE_ODD is near the end, at an address one alignment
 * above a multiple of LAB_ODD_BYTES, so that the data has no more than the requested alignment.
 * LAB_EDGE_NONE is neither: a page or more from both walls, aligned to a page, as memory usually
 * is. LAB_EDGE_APART + n, n up to 3, is near the end, 2 n + 1 alignments above a multiple of
 * LAB_APART_BYTES: two tensors with different n have different alignments. */
typedef enum lab_edge {
    LAB_EDGE_END,
    LAB_EDGE_START,
    LAB_EDGE_ODD,
    LAB_EDGE_NONE,
    LAB_EDGE_APART
} lab_edge;

#define LAB_ODD_BYTES 16
#define LAB_APART_BYTES 64

typedef struct lab_region {
    unsigned char *map; /* with the walls */
    size_t map_size;
    unsigned char *room; /* between the walls: whole pages */
    size_t room_size;
    unsigned char *data;
    size_t size; /* bytes of data */
} lab_region;

/* lab_region_create() makes a region for @size bytes of data, 1 or more, aligned to @alignment, a
 * power of two up to 64: at LAB_EDGE_END the data ends within alignment - 1 bytes of the wall, at
 * LAB_EDGE_START it begins there, aligned to a page. Pages are allocated on first write. Returns
 * HEED_OK, or HEED_ERR_NO_MEMORY with *@region zeroed if the system refuses. */
heed_status lab_region_create(lab_region *region, size_t size, size_t alignment, lab_edge edge);

/* lab_region_destroy() gives the memory back; a zeroed region is ignored. */
void lab_region_destroy(lab_region *region);

/* lab_region_lock() makes every write to the region raise SIGSEGV if @locked, else permits them
 * again. Returns false if the system refuses; a zeroed region is ignored. */
bool lab_region_lock(const lab_region *region, bool locked);

/* The pattern with all bits set, a NaN in every element type; other patterns are random bytes. */
#define LAB_PATTERN_ONES 0

/* lab_region_paint() writes a pattern to the bytes from @start up to @end of the room; each byte
 * depends on its offset only. lab_region_spoiled() returns the offset of the first of these bytes
 * that differs, or @end. */
void lab_region_paint(const lab_region *region, size_t start, size_t end, uint64_t pattern);
size_t lab_region_spoiled(const lab_region *region, size_t start, size_t end, uint64_t pattern);

#endif /* LAB_REGION_H */
