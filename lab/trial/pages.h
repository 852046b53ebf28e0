/*
 * pages.h - the memory of a process, as the system tells it: its code, and the pages it can touch
 */
#ifndef LAB_PAGES_H
#define LAB_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lab/trial/wire.h"

/* lab_pages_fixed() says whether all code of the process @pid, which stands still, is that of
 * files, and can not be written to. True also if the system does not tell. */
bool lab_pages_fixed(pid_t pid);

/* lab_pages_walled() says whether the process @pid, which stands still, can touch just the pages of
 * the rooms of @sets in the file of an arena, @fd, and its first @kept bytes, with walls on both
 * sides of each room. @outputs: the arena is that of outputs. True also if the system does not
 * tell.
 */
bool lab_pages_walled(pid_t pid, int fd, bool outputs, size_t kept, const lab_wire_set *sets,
                      int count);

/* lab_pages_text_walled() does so by the text of /proc/PID/maps and what stat() says of the arena.
 */
bool lab_pages_text_walled(FILE *maps, const struct stat *arena, bool outputs, size_t kept,
                           const lab_wire_set *sets, int count);

#endif /* LAB_PAGES_H */
