/*
 * objects.c - short forms of Python's C API
 */
#include "objects.h"

PyObject *none(void)
{
    Py_IncRef(Py_None);
    return Py_None;
}

/* NULL before Python 3.11. */
#pragma weak PyObject_Vectorcall

PyObject *call_with(PyObject *function, PyObject *const *arguments, size_t count)
{
    if (PyObject_Vectorcall)
        return PyObject_Vectorcall(function, arguments, count, NULL);
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        Py_IncRef(arguments[i]);
        PyTuple_SetItem(tuple, (Py_ssize_t)i, arguments[i]);
    }
    PyObject *answer = tuple ? PyObject_Call(function, tuple, NULL) : NULL;
    drop(tuple);
    return answer;
}

PyObject *refuse(const char *text)
{
    PyErr_SetString(PyExc_TypeError, text);
    return NULL;
}

void drop(PyObject *x)
{
    if (x)
        Py_DecRef(x);
}

PyObject *keep(PyObject *x)
{
    if (!x || x == Py_None)
        return NULL;
    Py_IncRef(x);
    return x;
}

int answers(PyObject *function, PyObject *x)
{
    PyObject *answer = call_with(function, &x, x ? 1 : 0);
    int yes = answer ? PyObject_IsTrue(answer) : 1;
    if (answer)
        Py_DecRef(answer);
    if (!answer || yes < 0)
        PyErr_Clear();
    return yes != 0;
}
