/*
 * watch.h - limits on all that the processes of a solution take of the machine
 *
 * Limits on one process do not do: CUDA reserves more addresses than there are, and a solution may
 * have processes and files without number. So all of them are counted, again and again.
 */
#ifndef LAB_WATCH_H
#define LAB_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lab/trial/verdict.h"

typedef struct lab_watch {
    const char *folder;  /* that they may write to */
    size_t memory_most;  /* bytes that they may have of their own, or share */
    size_t memory_least; /* bytes that must be left of the machine's */
    size_t folder_most;  /* bytes in the folder */
    size_t folder_files; /* files in it, and folders */
    size_t disk_least;   /* bytes that must be left of its disk */
} lab_watch;

/* lab_watch_begin() sets the limits for processes that may write to @folder, which the caller
 * keeps: @memory bytes, or half of what is free now for 0. */
lab_watch lab_watch_begin(const char *folder, size_t memory);

/* lab_watch_look() returns whether the group of the process @pid is within its limits; else
 * @outcome says which one it broke, and by how much. Where the system does not tell, it is. */
bool lab_watch_look(const lab_watch *watch, pid_t pid, lab_trial_outcome *outcome);

/* lab_watch_others() returns how many processes there are beside @pid in its group, which none can
 * leave: its children, and theirs, whoever has adopted them. Those that have ended do not count. */
int lab_watch_others(pid_t pid);

#endif /* LAB_WATCH_H */
