/*
 * python.h - parses untrusted text with Python in a sandbox
 *
 * The programs in suites/ parse text without running it. Their process can only read Python, its
 * library and these programs; it cannot write or use the network.
 */
#ifndef LAB_PYTHON_H
#define LAB_PYTHON_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "heed.h"
#include "lab/base/error.h"

/* The paths of Python and the readers. */
typedef struct lab_python {
    char program[PATH_MAX]; /* the interpreter, with symlinks resolved */
    char asked[PATH_MAX];   /* its unresolved name, which selects the virtual environment */
    char library[PATH_MAX]; /* its library, if not the system's; else "" */
    char readers[PATH_MAX]; /* the folder of the reader programs */
    char version[32];       /* of the interpreter's file name, such as "python3.11" */
} lab_python;

/* lab_python_find() looks for the interpreter: HEED_PYTHON, else the first python3 in PATH that is
 * a binary, not a script, and for the readers. HEED_ERR_SYSTEM if one of them is missing. */
heed_status lab_python_find(lab_python *python, lab_error *error);

/* lab_python_read() runs the reader read_task.py in the mode @way, its first argument, on the @size
 * bytes @text, and returns its reply, an object, which the caller releases. @interrupted is called
 * every 0.1 s; true ends it; may be NULL. NULL, with @error, if it could not be started, did not
 * end in 20 s, used too much memory, or did not reply; *@status is HEED_ERR_INVALID if the text is
 * at fault. Thread-safe. */
json_t *lab_python_read(const lab_python *python, const char *way, const char *text, size_t size,
                        bool (*interrupted)(void), heed_status *status, lab_error *error);

#endif /* LAB_PYTHON_H */
