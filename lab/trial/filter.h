/*
 * filter.h - which system calls a process may make (seccomp)
 *
 * Made for the machine's own system call numbers, without a library: a few short tables.
 */
#ifndef LAB_FILTER_H
#define LAB_FILTER_H

#include <stdbool.h>

#include "lab/trial/verdict.h"

typedef enum lab_filter {
    LAB_FILTER_NONE,
    LAB_FILTER_COMPILER, /* all that a compiler does, but no network, and nothing that reaches
                            into other processes or the kernel: such calls fail with EPERM */
    LAB_FILTER_DEVICE,   /* the same, and sockets within the system that are connected to nothing:
                            CUDA's driver does not start without one */
    LAB_FILTER_LOADING,  /* all that loading a shared object takes; anything else is SIGSYS */
    LAB_FILTER_COMPUTING /* memory, clocks, descriptors 0 to 2; anything else is SIGSYS */
} lab_filter;

/* lab_filter_known() says whether the filters are written for this architecture and the kernel
 * takes any. */
bool lab_filter_known(void);

/* lab_filter_install() puts @filter on the calling thread, for good, on top of those it has. The
 * thread must have no_new_privs set. Async-signal-safe. Returns false if the system refuses. */
bool lab_filter_install(lab_filter filter);

/* lab_filter_judge() returns the verdict on a candidate that made the system call @number, and what
 * the call is named, or "" if the name is of no use, in *@name. */
lab_trial_verdict lab_filter_judge(int number, const char **name);

#endif /* LAB_FILTER_H */
