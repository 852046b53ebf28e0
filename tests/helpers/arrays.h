/*
 * arrays.h - a directory with arrays for `heed run`
 */
#ifndef ARRAYS_H
#define ARRAYS_H

/* arrays_open() is scratch_open() and writes matching arrays of f32, Q.npy, K.npy and V.npy (2
 * batch elements, 5 queries and 9 keys, 8 and 4 heads, dims 16 and 24), Q16.npy and Qbf.npy, which
 * are Q.npy in f16 and bf16, and some that differ from them as their names say. It fits cmocka's
 * setup, with scratch_close() as the teardown. */
int arrays_open(void **state);

#endif /* ARRAYS_H */
