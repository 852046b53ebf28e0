/*
 * filter.h - system call filters (seccomp)
 *
 * Built from a few short tables with the machine's system call numbers, without a library.
 */
#ifndef LAB_FILTER_H
#define LAB_FILTER_H

#include <stdbool.h>

#include "lab/trial/verdict.h"

typedef enum lab_filter {
    LAB_FILTER_NONE,
    LAB_FILTER_COMPILER, /* everything that a compiler needs, but no network, and nothing that
                            affects other processes or the kernel: such calls fail with EPERM */
    LAB_FILTER_DEVICE,   /* the same, and unconnected local sockets, which CUDA's driver needs to
                            start */
    LAB_FILTER_LOADING,  /* everything needed to load a shared object; anything else is SIGSYS */
    LAB_FILTER_COMPUTING /* memory, clocks, descriptors 0 to 2; anything else is SIGSYS */
} lab_filter;

/* lab_filter_known() returns true if the filters support this architecture and the kernel supports
 * seccomp. */
bool lab_filter_known(void);

/* lab_filter_install() installs @filter on the calling thread permanently, in addition to existing
 * ones. The thread must have no_new_privs set. Async-signal-safe. Returns false on failure. */
bool lab_filter_install(lab_filter filter);

/* lab_filter_judge() returns the verdict on a candidate that made the system call @number, and
 * writes the name of the call, or "" if it is not helpful, to *@name. */
lab_trial_verdict lab_filter_judge(int number, const char **name);

#endif /* LAB_FILTER_H */
