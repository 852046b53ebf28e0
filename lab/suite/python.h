/*
 * python.h - Python reading a text of somebody else's, in a sandbox
 *
 * The programs are those of suites/: they parse and do not run. Their process can read Python, its
 * library and them, write nothing, and reach no network.
 */
#ifndef LAB_PYTHON_H
#define LAB_PYTHON_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "heed.h"
#include "lab/base/error.h"

/* Where Python and its readers are. */
typedef struct lab_python {
    char program[PATH_MAX]; /* the interpreter itself, behind links */
    char asked[PATH_MAX];   /* its name, by which it knows its virtual environment */
    char library[PATH_MAX]; /* its own, if that is not the system's; else "" */
    char readers[PATH_MAX]; /* the folder of the programs in Python */
    char version[32];       /* of the interpreter's file name, such as "python3.11" */
} lab_python;

/* lab_python_find() looks for the interpreter: HEED_PYTHON, else the first python3 in PATH that is
 * a program and no script, and for the readers. HEED_ERR_SYSTEM if one of them is not there. */
heed_status lab_python_find(lab_python *python, lab_error *error);

/* A text to be read. */
typedef struct lab_python_task {
    const char *reader; /* a program of the readers' folder */
    const char *way;    /* its task: its first argument */
    const char *text;   /* @size bytes */
    size_t size;
    double seconds;            /* after which it is ended; 0: 20 */
    bool (*interrupted)(void); /* asked every 0.1 s; true ends it. May be NULL */
} lab_python_task;

/* lab_python_read() has the reader read the text, and returns its answer, an object, for the caller
 * to release. NULL, with @error: it could not be started, did not end in time, took more memory
 * than it may have, or did not answer; *@status says which kind of failure that is,
 * HEED_ERR_INVALID for one that is the text's. Any thread. */
json_t *lab_python_read(const lab_python *python, const lab_python_task *task, heed_status *status,
                        lab_error *error);

#endif /* LAB_PYTHON_H */
