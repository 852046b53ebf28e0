/*
 * memo.h - lookup of known calls
 */
#ifndef HEED_CALL_MEMO_H
#define HEED_CALL_MEMO_H

#include "arrays.h"

/* key_of() returns a key of arrays and of the words' types as bytes, or NULL with an exception.
 * Types matter as 1, 1.0 and True are equal but not equally valid. @words is a tuple or None. */
PyObject *key_of(const reading *from, PyObject *words);

/* lookup() returns calls[key, words] as a new reference, or NULL, possibly with an exception, for
 * example if a word has no hash. */
PyObject *lookup(PyObject *calls, PyObject *words, const reading *from);

/* A function of the module: forget(calls) drops the cached results of lookup() in a dict. */
PyObject *forget(PyObject *self, PyObject *const *x, Py_ssize_t count);

#endif
