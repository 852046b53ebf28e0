/*
 * objects.h - short forms of Python's C API
 */
#ifndef HEED_CALL_OBJECTS_H
#define HEED_CALL_OBJECTS_H

#include "python.h"

/* none() returns None, as a new reference. */
PyObject *none(void);

/* refuse() sets a TypeError with @text and returns NULL. */
PyObject *refuse(const char *text);

/* keep() returns a new reference to @x, or NULL if it is NULL or None. */
PyObject *keep(PyObject *x);

/* drop() releases a reference. NULL is ignored. */
void drop(PyObject *x);

/* call_with() returns function(*arguments), or NULL with an exception. */
PyObject *call_with(PyObject *function, PyObject *const *arguments, size_t count);

/* answers() returns true if function(x) is true, or function() if @x is NULL, or if it fails; the
 * exception is then cleared. */
int answers(PyObject *function, PyObject *x);

#endif
