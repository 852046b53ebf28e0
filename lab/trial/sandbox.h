/*
 * sandbox.h - the sandbox of a process that is not to be trusted
 *
 * Four things of Linux: no_new_privs, resource limits, Landlock (which files), seccomp (which
 * system calls). None needs privileges, and none can be undone by the process or its children. A
 * superuser's privileges are given up, but for that to reach files of any owner.
 */
#ifndef LAB_SANDBOX_H
#define LAB_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/trial/filter.h"

/* The features of this kernel. */
typedef struct lab_protections {
    int landlock; /* version of its interface; 0: there is none */
    bool seccomp;
    bool no_new_privs;
} lab_protections;

lab_protections lab_protections_find(void);

/* lab_protections_suffice() says whether a candidate may run behind them. lab_protections_missing()
 * writes what is off, such as "Landlock, seccomp", or "". */
bool lab_protections_suffice(const lab_protections *protections);
void lab_protections_missing(const lab_protections *protections, char *text, size_t size);

/* A file, or a folder with all that is in it. One that does not exist is passed over. */
typedef struct lab_access {
    const char *path;
    bool write;  /* make, change, remove files there; else read and execute */
    bool device; /* all that, and control devices */
} lab_access;

/* Limits of one process; 0: none. */
typedef struct lab_resources {
    size_t memory;      /* of its addresses, bytes */
    size_t stack;       /* bytes */
    size_t file_size;   /* that it may write, bytes */
    unsigned seconds;   /* of CPU time */
    unsigned processes; /* of the user, all together; a superuser is not bound by it */
    unsigned files;     /* open at a time */
} lab_resources;

/* A sandbox that is ready to be entered by a child. */
typedef struct lab_sandbox {
    lab_protections protections;
    lab_resources resources;
    lab_filter filter;
    bool threads; /* it may name its own threads, under /proc, as CUDA's driver does */
    int ruleset;  /* of Landlock; -1: there is none */
} lab_sandbox;

/* lab_sandbox_create() prepares a sandbox in which only the @count entries of @access can be
 * reached. Returns false if the system refuses what it says it has; errno says why. */
bool lab_sandbox_create(lab_sandbox *sandbox, const lab_access *access, size_t count);
void lab_sandbox_destroy(lab_sandbox *sandbox);

/* lab_sandbox_enter() puts the calling process, which has one thread, into @sandbox, as far as its
 * protections go. Async-signal-safe. Returns false, with errno, if one of them fails: the process
 * must then end. */
bool lab_sandbox_enter(const lab_sandbox *sandbox);

#endif /* LAB_SANDBOX_H */
