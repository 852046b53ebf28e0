/*
 * process.h - a child process in a new process group, optionally in a sandbox; finding its program;
 * files in memory shared with it
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
    pid_t pid; /* also its process group; 0: none */
    int in;    /* our ends of its stdin, stdout and stderr; -1: closed */
    int out;
    int err;
} lab_process;

#define LAB_PROCESS_FILES 3

/* How to start a process. It gets only the descriptors below. */
typedef struct lab_process_command {
    const char *path;
    const char *const *arguments;   /* beginning with the program's name, ending with NULL */
    const char *const *environment; /* ending with NULL */
    const char *folder;             /* working folder; NULL: the caller's */
    const lab_sandbox *sandbox;     /* NULL: none */
    bool pinned;                    /* to @cpu, else it inherits the caller's affinity */
    int cpu;
    int files[LAB_PROCESS_FILES]; /* become its descriptors from 3; -1: none */
} lab_process_command;

/* lab_process_start() starts a process, which is killed when the calling thread ends. Pass its pid
 * to lab_process_reap(). Returns an errno value; on failure there is no process. */
int lab_process_start(lab_process *process, const lab_process_command *command);

/* lab_process_await() waits until @deadline (heed_clock_ns()) for the child @pid to end; returns
 * true if it has ended. It must still be reaped. */
bool lab_process_await(pid_t pid, int64_t deadline);

/* lab_process_reap() kills the process group of the child @pid, and returns the child's wait
 * status. */
int lab_process_reap(pid_t pid);

/* lab_process_freeze() stops all threads of the child @pid, and waits until they are stopped; false
 * if it ended instead, and must still be reaped. lab_process_thaw() resumes it.
 * lab_process_stood_still() returns true if it has not been resumed otherwise since it was frozen:
 * the system reports each time that a child is resumed or stopped. */
bool lab_process_freeze(pid_t pid);
void lab_process_thaw(pid_t pid);
bool lab_process_stood_still(pid_t pid);

/* lab_process_close() closes our ends of the channels of @process. lab_close_fd() closes one
 * descriptor and makes it -1. */
void lab_process_close(lab_process *process);
void lab_close_fd(int *fd);

/* Text that arrives in pieces. Excess text is read and dropped, but counted. */
typedef struct lab_inlet {
    char *text; /* @size bytes, always null-terminated */
    size_t size;
    size_t length;
    size_t arrived; /* bytes, including dropped ones */
} lab_inlet;

/* lab_inlet_read() reads available data from *@fd, and closes it at the end of input. */
void lab_inlet_read(lab_inlet *inlet, int *fd);

/* lab_process_listen() reads the stdout and stderr of @process until both are closed and it has
 * ended. Returns false if it has not ended by @deadline (heed_clock_ns()), or once @interrupted,
 * which may be NULL and is called every 0.1 s, returns true; the caller then ends it. */
bool lab_process_listen(lab_process *process, lab_inlet *output, lab_inlet *errors,
                        int64_t deadline, bool (*interrupted)(void));

/* Files in memory shared by two processes. */

/* lab_share() returns a descriptor of a file in memory of @size bytes; with @data not NULL it has
 * that content and is sealed. It is freed when the last process closes it, whatever happens to
 * heed. -1 on failure. */
int lab_share(const char *name, const void *data, size_t size);

/* lab_share_read() reads all of such a file. Returns false if it does not have @size bytes, or on a
 * failure. */
bool lab_share_read(int fd, void *data, size_t size);

/* The programs that trials start, in the folder of the running program. */

#define LAB_RUNNER_C "heed_candidate"
#define LAB_RUNNER_CUDA "heed_candidate_cuda"

/* lab_program_find() writes the path of the program @name to @path: in the folder of the running
 * program, in a build tree, or in the installation. */
bool lab_program_find(const char *name, char path[PATH_MAX], lab_trial_outcome *outcome);

#endif /* LAB_PROCESS_H */
