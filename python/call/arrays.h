/*
 * arrays.h - where the elements of arrays are, and a key of the rest
 *
 * Arrays of NumPy are read where their C API has them (PyArrayObject_fields, the same since NumPy
 * 1.0; Python compares one with its attributes before this is used), tensors of PyTorch by the
 * table of functions that DLPack 1.3 describes (DLPackExchangeAPI).
 */
#ifndef HEED_CALL_ARRAYS_H
#define HEED_CALL_ARRAYS_H

#include "python.h"

#include <stdint.h>

enum {
    FIXED = 4,     /* q, k, v, out */
    OPERANDS = 16, /* at most, after them */
    RANK = 8,      /* an array of more dimensions goes the long way */
    WORDS = (FIXED + OPERANDS) * (3 + 2 * RANK)
};

/* Some arrays of one call. */
typedef struct reading {
    char *data[FIXED + OPERANDS];
    int count;
    int device_type; /* of the last one; DLPack's numbers */
    int32_t device_id;
    int words_count;
    int64_t words[WORDS]; /* the key */
} reading;

/* arrays_init() makes names that reading needs. Returns 0 with an exception. */
int arrays_init(void);

/* read_arrays() reads arrays of one library; None stands for one that is not there, and the last
 * of the FIXED ones must be writable. Returns 0 where the call must go the long way, as where
 * tensors may have tangents. */
int read_arrays(PyObject *const *arrays, int count, reading *to);

/* data_of() returns where the elements of @x begin, or NULL, perhaps with no exception. */
char *data_of(PyObject *x);

/* note_written() lets torch's autograd know that the elements of @x were changed, if it is a
 * tensor. */
void note_written(PyObject *x);

/* stream_of() writes the current stream of torch for the device of @from. Returns 0 with an
 * exception. */
int stream_of(const reading *from, void **stream);

/* is_plain() says whether @q is a tensor, and torch in its plain state: no trace, transform, mode
 * or autocast. */
int is_plain(const PyObject *q);

/* products_of() returns the word for the products that torch permits at this time to a call on the
 * tensors of @from, q first, or NULL with an exception: "full", or one of set_products(). It is
 * borrowed. add_products() makes the very object @products part of the key. */
PyObject *products_of(const reading *from);
void add_products(PyObject *products, reading *to);

/* Functions of the module: set_numpy(array, use) returns (address, shape, strides, dtype,
 * writable) as they are read here, or, if @use is true, makes its type that of NumPy's arrays.
 * set_torch(type, exchange, is_neg, grad_enabled, forward_ad, written, *checks) does so for
 * tensors: with DLPack's table, functions of torch, the names of torch.autograd.forward_ad, the
 * function of note_written(), and functions whose answer is false in torch's plain state.
 * set_products(setting, cpu, cuda, operation, products, full) tells what products_of() needs:
 * torch's function setting(cpu or cuda, operation), a dict with the words for its answers, and that
 * for others. */
PyObject *set_numpy(PyObject *self, PyObject *const *x, Py_ssize_t count);
PyObject *set_torch(PyObject *self, PyObject *const *x, Py_ssize_t count);
PyObject *set_products(PyObject *self, PyObject *const *x, Py_ssize_t count);

#endif
