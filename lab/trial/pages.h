/*
 * pages.h - checks a process's memory map: its code, and its accessible pages
 */
#ifndef LAB_PAGES_H
#define LAB_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lab/trial/wire.h"

/* lab_pages_fixed() returns true if all code of the stopped process @pid comes from files and is
 * not writable. True also if the system does not provide the map. */
bool lab_pages_fixed(pid_t pid);

/* lab_pages_walled() returns true if the stopped process @pid can access exactly the pages of the
 * rooms of @sets in an arena's file @fd, and its first @kept bytes, with walls on both sides of
 * each room. @outputs: the arena is that of outputs. True also if the system does not provide the
 * map.
 */
bool lab_pages_walled(pid_t pid, int fd, bool outputs, size_t kept, const lab_wire_set *sets,
                      int count);

/* lab_pages_text_walled() does so for the text of /proc/PID/maps and the stat() result of the
 * arena.
 */
bool lab_pages_text_walled(FILE *maps, const struct stat *arena, bool outputs, size_t kept,
                           const lab_wire_set *sets, int count);

#endif /* LAB_PAGES_H */
