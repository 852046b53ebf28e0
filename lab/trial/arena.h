/*
 * arena.h - memory that a candidate's process shares, and where tensors lie in it
 */
#ifndef LAB_ARENA_H
#define LAB_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/trial/wire.h"

typedef struct lab_arena {
    int fd; /* for the other process */
    unsigned char *map;
    size_t size;
    size_t used;
} lab_arena;

/* A tensor, and the memory around it that must stay as it is: gaps, slack. @room is aligned at
 * least as the tensor is. */
typedef struct lab_span {
    void *room; /* @room_size bytes ... */
    size_t room_size;
    size_t start; /* ... in which the tensor begins here ... */
    size_t size;  /* ... and has so many bytes, gaps included; 0: there is none */
} lab_span;

/* lab_arena_create() makes an arena of @size bytes, which the process that @fd is handed to cannot
 * resize, nor write to if it is @read_only. False, with errno, on failure. */
bool lab_arena_create(lab_arena *arena, size_t size, bool read_only);
void lab_arena_destroy(lab_arena *arena);

/* lab_arena_clear() begins anew after the first @kept bytes. lab_arena_place() finds a place for
 * @span, with a page at either side that belongs to nothing; false if there is none left. */
void lab_arena_clear(lab_arena *arena, size_t kept);
bool lab_arena_place(lab_arena *arena, const lab_span *span, lab_wire_room *room);

#endif /* LAB_ARENA_H */
