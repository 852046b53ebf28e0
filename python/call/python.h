/*
 * python.h - the parts of Python's stable ABI that this folder uses
 *
 * They are declared here, as documented in https://docs.python.org/3/c-api/stable.html, so that
 * the build needs no Python headers and one binary works with every CPython from 3.10 that has a
 * global interpreter lock. PyObject_Vectorcall is in the stable ABI since 3.12, and the same in
 * 3.11. tests/python/test_call_abi.py compiles the folder with Python's own headers.
 */
#ifndef HEED_PYTHON_H
#define HEED_PYTHON_H

#ifdef HEED_OF_PYTHON /* use Python's own headers */
#include <Python.h>
#else

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef ssize_t Py_ssize_t;
typedef struct PyTypeObject PyTypeObject;
typedef struct PyObject {
    Py_ssize_t references;
    PyTypeObject *ob_type;
} PyObject;
typedef struct PyThreadState PyThreadState;

typedef PyObject *(*PyCFunction)(PyObject *self, PyObject *argument);
typedef struct PyMethodDef {
    const char *ml_name;
    PyCFunction ml_meth;
    int ml_flags;
    const char *ml_doc;
} PyMethodDef;
#define METH_FASTCALL 0x0080

typedef struct PyModuleDef {
    struct {
        PyObject head;
        PyObject *(*init)(void);
        Py_ssize_t index;
        PyObject *copy;
    } m_base;
    const char *m_name;
    const char *m_doc;
    Py_ssize_t m_size;
    PyMethodDef *m_methods;
    void *m_slots;
    void *m_traverse;
    void *m_clear;
    void *m_free;
} PyModuleDef;
#define PyModuleDef_HEAD_INIT      \
    {                              \
        { 1, NULL }, NULL, 0, NULL \
    }
PyObject *PyModule_Create2(PyModuleDef *module, int version);
#define PyModule_Create(module) PyModule_Create2(module, 3)
#define PyMODINIT_FUNC __attribute__((visibility("default"))) PyObject *

void Py_IncRef(PyObject *x);
void Py_DecRef(PyObject *x);

extern PyObject _Py_NoneStruct;
#define Py_None (&_Py_NoneStruct)
extern PyObject *PyExc_TypeError;
extern PyObject *PyExc_ValueError;
void PyErr_SetString(PyObject *kind, const char *text);
PyObject *PyErr_Occurred(void);
PyObject *PyErr_NoMemory(void);
void PyErr_Clear(void);

PyObject *PyObject_GetAttr(PyObject *x, PyObject *name);
PyObject *PyObject_Call(PyObject *function, PyObject *arguments, PyObject *words);
PyObject *PyObject_Vectorcall(PyObject *function, PyObject *const *arguments, size_t count,
                              PyObject *words);
PyObject *PyObject_CallFunction(PyObject *function, const char *format, ...);
int PyObject_IsTrue(PyObject *x);
unsigned long PyType_GetFlags(PyTypeObject *type);
#define Py_TPFLAGS_TUPLE_SUBCLASS (1UL << 26)

PyObject *PyTuple_New(Py_ssize_t count);
int PyTuple_SetItem(PyObject *tuple, Py_ssize_t index, PyObject *x);
PyObject *PyTuple_Pack(Py_ssize_t count, ...);
Py_ssize_t PyTuple_Size(PyObject *tuple);
PyObject *PyTuple_GetItem(PyObject *tuple, Py_ssize_t index);
PyObject *PyBytes_FromStringAndSize(const char *bytes, Py_ssize_t size);
PyObject *PyDict_GetItemWithError(PyObject *dict, PyObject *key);
PyObject *PyLong_FromLongLong(long long value);
PyObject *PyLong_FromVoidPtr(void *pointer);
long PyLong_AsLong(PyObject *x);
size_t PyLong_AsSize_t(PyObject *x);
void *PyLong_AsVoidPtr(PyObject *x);
PyObject *PyUnicode_InternFromString(const char *text);
PyObject *Py_BuildValue(const char *format, ...);

typedef void (*PyCapsule_Destructor)(PyObject *capsule);
PyObject *PyCapsule_New(void *pointer, const char *name, PyCapsule_Destructor destructor);
void *PyCapsule_GetPointer(PyObject *capsule, const char *name);

PyThreadState *PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState *state);

#endif
#endif
