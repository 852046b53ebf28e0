/*
 * memo.h - finding a call that is known
 */
#ifndef HEED_CALL_MEMO_H
#define HEED_CALL_MEMO_H

#include "arrays.h"

/* lookup() returns calls[key, words] as a new reference, or NULL, perhaps with an exception, such
 * as of words that have no hash. @words is a tuple or None. */
PyObject *lookup(PyObject *calls, PyObject *words, const reading *from);

/* A function of the module: forget(calls) forgets what lookup() has found in a dict. */
PyObject *forget(PyObject *self, PyObject *const *x, Py_ssize_t count);

#endif
