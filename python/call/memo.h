/*
 * memo.h - finding a call that is known
 */
#ifndef HEED_CALL_MEMO_H
#define HEED_CALL_MEMO_H

#include "arrays.h"

/* key_of() returns a key of arrays and of the types of words as bytes, or NULL with an exception:
 * 1, 1.0 and True are equal, and not all of them are taken. @words is a tuple or None. */
PyObject *key_of(const reading *from, PyObject *words);

/* lookup() returns calls[key, words] as a new reference, or NULL, perhaps with an exception, such
 * as of words that have no hash. */
PyObject *lookup(PyObject *calls, PyObject *words, const reading *from);

/* A function of the module: forget(calls) forgets what lookup() has found in a dict. */
PyObject *forget(PyObject *self, PyObject *const *x, Py_ssize_t count);

#endif
