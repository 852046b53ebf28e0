/*
 * arrays.h - the addresses of arrays' elements, and a key of their types and shapes
 *
 * NumPy arrays are read as structs of its C API (PyArrayObject_fields, unchanged since NumPy 1.0;
 * before the first use Python compares one with its attributes), PyTorch tensors through DLPack
 * 1.3's table of functions (DLPackExchangeAPI).
 */
#ifndef HEED_CALL_ARRAYS_H
#define HEED_CALL_ARRAYS_H

#include "python.h"

#include <stdint.h>

enum {
    FIXED = 4,     /* q, k, v, out */
    OPERANDS = 16, /* at most, after them */
    RANK = 8,      /* calls on arrays of more dimensions are not known */
    WORDS = (FIXED + OPERANDS) * (3 + 2 * RANK)
};

/* The arrays of one call. */
typedef struct reading {
    char *data[FIXED + OPERANDS];
    int count;
    int device_type; /* of the last one; DLPack's numbers */
    int32_t device_id;
    int words_count;
    int64_t words[WORDS]; /* the key */
} reading;

/* arrays_init() makes the attribute names that reading needs. Returns 0 with an exception on
 * failure. */
int arrays_init(void);

/* read_arrays() reads arrays of one library; None means a missing array. The last of the FIXED
 * arrays must be writable. Returns 0 if Python must handle the call, for example because tensors
 * may have tangents, or the storage of one was freed. are_values() returns false if one of the
 * arrays wants a gradient or is a lazy negation, or torch transforms or traces calls. */
int read_arrays(PyObject *const *arrays, int count, reading *to);
int are_values(PyObject *const *arrays, int count);

/* data_of() returns the address of the elements of @x, or NULL, possibly without an exception. */
char *data_of(PyObject *x);

/* note_written() tells torch's autograd that the elements of @x were written, if it is a tensor. */
void note_written(PyObject *x);

/* stream_of() writes torch's current stream for the device of @from. Returns 0 with an exception
 * on failure. */
int stream_of(const reading *from, void **stream);

/* is_without_modes() returns true if @q is a tensor and no mode of torch's dispatcher is active.
 * Python handles autocast.
 *
 * guard_holds() returns guard(*arrays) without those that are None. A guard is
 * torch.compile's own check that tensors, and torch's state besides modes, are like those of an
 * earlier call without modes that had are_values(): one call instead of two for each tensor. */
int is_without_modes(const PyObject *q);
int guard_holds(PyObject *guard, PyObject *const *arrays, int count);

/* products_of() returns @products for the precision that torch now allows for a call on the tensors
 * of @from, q first: "full", or a value of set_products(). The reference is borrowed. Returns NULL
 * with an exception on failure. add_products() adds the identity of the object @products to the
 * key. */
PyObject *products_of(const reading *from);
void add_products(PyObject *products, reading *to);

/* Functions of the module. set_numpy(array, use) returns (address, shape, strides, dtype, writable)
 * as they are read here, or, if @use is true, sets NumPy's array type to that of @array.
 * set_torch(type, exchange, is_neg, grad_enabled, forward_ad, written, offset_of, modes, *checks)
 * sets the tensor type, DLPack's table, functions of torch, the names of torch.autograd.forward_ad,
 * the function of note_written(), Tensor.storage_offset, a function that returns the number of
 * modes, and functions that return false in torch's plain state.
 * set_products(setting, cpu, cuda, operation, products, full) sets the inputs of products_of():
 * torch's function setting(cpu or cuda, operation), a dict from its results to @products, and
 * @products for other results. */
PyObject *set_numpy(PyObject *self, PyObject *const *x, Py_ssize_t count);
PyObject *set_torch(PyObject *self, PyObject *const *x, Py_ssize_t count);
PyObject *set_products(PyObject *self, PyObject *const *x, Py_ssize_t count);

#endif
