/*
 * watch.h - resource limits on a solution's process group: memory, files and disk space
 *
 * Limits per process do not suffice: CUDA reserves more address space than there is memory, and a
 * solution may create any number of processes and files. So the totals are polled.
 */
#ifndef LAB_WATCH_H
#define LAB_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lab/trial/verdict.h"

typedef struct lab_watch {
    const char *folder;  /* the folder that they may write to */
    size_t memory_most;  /* maximum of their private and shared memory, bytes */
    size_t memory_least; /* minimum that must stay free on the machine, bytes */
    size_t folder_most;  /* maximum bytes in the folder */
    size_t folder_files; /* maximum of files and folders in it */
    size_t disk_least;   /* minimum that must stay free on its disk, bytes */
} lab_watch;

/* lab_watch_begin() sets the limits for processes that may write to @folder, which the caller keeps
 * valid: @memory bytes, or half of the free memory for 0. */
lab_watch lab_watch_begin(const char *folder, size_t memory);

/* lab_watch_look() returns true if the group of the process @pid is within its limits; else
 * @outcome has the limit that was exceeded, and the value. Also true if the system does not provide
 * the figures. */
bool lab_watch_look(const lab_watch *watch, pid_t pid, lab_trial_outcome *outcome);

/* lab_watch_others() returns the number of other processes in the group of @pid, which they cannot
 * leave: all descendants, even if reparented. Ended ones do not count. */
int lab_watch_others(pid_t pid);

#endif /* LAB_WATCH_H */
