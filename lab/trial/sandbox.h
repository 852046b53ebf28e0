/*
 * sandbox.h - the sandbox of an untrusted process
 *
 * Uses four features of Linux: no_new_privs, resource limits, Landlock (file access), seccomp
 * (system calls). None needs privileges, and none can be undone by the process or its children. A
 * superuser's capabilities are dropped, except access to files of any owner.
 */
#ifndef LAB_SANDBOX_H
#define LAB_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/trial/filter.h"

/* The features of this kernel. */
typedef struct lab_protections {
    int landlock; /* version of its interface; 0: not available */
    bool seccomp;
    bool no_new_privs;
} lab_protections;

lab_protections lab_protections_find(void);

/* lab_protections_suffice() returns true if a candidate may run with them.
 * lab_protections_missing() writes the missing ones, such as "Landlock, seccomp", or "". */
bool lab_protections_suffice(const lab_protections *protections);
void lab_protections_missing(const lab_protections *protections, char *text, size_t size);

/* A file, or a folder with its content. Ignored if it does not exist. */
typedef struct lab_access {
    const char *path;
    bool write;  /* create, change and remove files; else read and execute */
    bool device; /* the same, and ioctl on devices */
} lab_access;

/* Limits of one process; 0: none. */
typedef struct lab_resources {
    size_t memory;      /* of address space, bytes */
    size_t stack;       /* bytes */
    size_t file_size;   /* of files that it writes, bytes */
    unsigned seconds;   /* of CPU time */
    unsigned processes; /* of the user in total; does not apply to a superuser */
    unsigned files;     /* open at the same time */
} lab_resources;

/* A sandbox, ready for a child to enter. */
typedef struct lab_sandbox {
    lab_protections protections;
    lab_resources resources;
    lab_filter filter;
    bool threads; /* it may set names of its threads in /proc, as CUDA's driver does */
    int ruleset;  /* of Landlock; -1: none */
} lab_sandbox;

/* lab_sandbox_create() prepares a sandbox in which only the @count entries of @access are
 * accessible. Returns false, with errno, if a feature reported by the system fails. */
bool lab_sandbox_create(lab_sandbox *sandbox, const lab_access *access, size_t count);
void lab_sandbox_destroy(lab_sandbox *sandbox);

/* lab_sandbox_enter() puts the calling process, which has one thread, into @sandbox, with the
 * available protections. Async-signal-safe. Returns false, with errno, if one of them fails: the
 * process must then end. */
bool lab_sandbox_enter(const lab_sandbox *sandbox);

#endif /* LAB_SANDBOX_H */
