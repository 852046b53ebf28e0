/*
 * process.h - a child process in a group and, if wanted, a sandbox of its own; where its program is
 */
#ifndef LAB_PROCESS_H
#define LAB_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lab/trial/sandbox.h"
#include "lab/trial/verdict.h"

typedef struct lab_process {
    pid_t pid; /* and process group; 0: there is none */
    int in;    /* our ends of its stdin, stdout and stderr; -1: closed */
    int out;
    int err;
} lab_process;

#define LAB_PROCESS_FILES 3

/* How to start one. It gets the descriptors below and no others. */
typedef struct lab_process_command {
    const char *path;
    const char *const *arguments;   /* beginning with the program's name, ending with NULL */
    const char *const *environment; /* ending with NULL */
    const char *folder;             /* where it works; NULL: where we do */
    const lab_sandbox *sandbox;     /* NULL: none */
    bool pinned;                    /* to @cpu, else it may run where we may */
    int cpu;
    int files[LAB_PROCESS_FILES]; /* that become its descriptors 3 and on; -1: none */
} lab_process_command;

/* lab_process_start() starts a process, which is killed when the calling thread ends. Its pid must
 * be given to lab_process_reap(). Returns an errno value; on failure there is no process. */
int lab_process_start(lab_process *process, const lab_process_command *command);

/* lab_process_await() gives the child @pid until @deadline (heed_clock_ns()) to end; true if it
 * has. It is left to be waited for. */
bool lab_process_await(pid_t pid, int64_t deadline);

/* lab_process_reap() kills what is left of the group of the child @pid, and returns the child's
 * wait status. */
int lab_process_reap(pid_t pid);

/* lab_process_freeze() stops the child @pid, all of it, and waits until it is; false if it ended
 * instead, and is left to be waited for. lab_process_thaw() lets it go on.
 * lab_process_stood_still() returns whether nothing else has since it was frozen: the system tells
 * of each time that a child goes on or is stopped again. */
bool lab_process_freeze(pid_t pid);
void lab_process_thaw(pid_t pid);
bool lab_process_stood_still(pid_t pid);

/* lab_process_close() closes our ends of the channels of @process. lab_close_fd() closes one
 * descriptor and makes it -1. */
void lab_process_close(lab_process *process);
void lab_close_fd(int *fd);

/* Text that arrives in pieces. A part that does not fit is read and dropped, but counted. */
typedef struct lab_inlet {
    char *text; /* @size bytes, always null-terminated */
    size_t size;
    size_t length;
    size_t arrived; /* bytes, with those that were dropped */
} lab_inlet;

/* lab_inlet_read() takes what is there on *@fd, which it closes at its end. */
void lab_inlet_read(lab_inlet *inlet, int *fd);

/* lab_process_listen() takes what @process writes to its output and to its errors until both are
 * closed and it has ended. False if it has not by @deadline (heed_clock_ns()), or once
 * @interrupted, which may be NULL and is asked every 0.1 s, says so; the caller ends it then. */
bool lab_process_listen(lab_process *process, lab_inlet *output, lab_inlet *errors,
                        int64_t deadline, bool (*interrupted)(void));

/* The programs that trials start, which lie beside the one that is running. */

#define LAB_RUNNER_C "heed_candidate"
#define LAB_RUNNER_CUDA "heed_candidate_cuda"

/* lab_program_find() writes the path of the program @name to @path: in the folder of the running
 * program, in a build tree, or where an installation puts it. */
bool lab_program_find(const char *name, char path[PATH_MAX], lab_trial_outcome *outcome);

#endif /* LAB_PROCESS_H */
