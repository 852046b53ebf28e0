/*
 * arena.h - memory shared with a candidate's process, and the placement of tensors in it
 */
#ifndef LAB_ARENA_H
#define LAB_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/trial/wire.h"

typedef struct lab_arena {
    int fd; /* passed to the other process */
    unsigned char *map;
    size_t size;
    size_t used;
} lab_arena;

/* A tensor, and the memory around it that must not change: gaps, slack. @room has at least the
 * tensor's alignment. */
typedef struct lab_span {
    void *room; /* @room_size bytes ... */
    size_t room_size;
    size_t start; /* ... in which the tensor begins here ... */
    size_t size;  /* ... and has this many bytes, including gaps; 0: no tensor */
} lab_span;

/* lab_arena_create() makes an arena of @size bytes, which the process that receives @fd cannot
 * resize, or write to if it is @read_only. Returns false, with errno, on failure. */
bool lab_arena_create(lab_arena *arena, size_t size, bool read_only);
void lab_arena_destroy(lab_arena *arena);

/* lab_arena_place() finds a place for @span after the @used bytes, with an unused page on either
 * side; false if there is no space left. */
bool lab_arena_place(lab_arena *arena, const lab_span *span, lab_wire_room *room);

#endif /* LAB_ARENA_H */
