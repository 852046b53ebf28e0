/*
 * npy.h - NumPy's file format for one array
 *
 * Versions 1.0, 2.0 and 3.0 of the format are read, in C order and little-endian: '<f4' is f32,
 * '<f2' is f16. The format has no bfloat16; 16-bit elements ('<u2', or 'V2' as the ml_dtypes
 * package writes it) are read as such if the caller requests it.
 */
#ifndef LAB_NPY_H
#define LAB_NPY_H

#include "tensor.h"

/* How to read elements that are not a NumPy float: as those of a heed_type, or one of these. */
enum {
    LAB_NPY_REFUSE = -1,
    LAB_NPY_OPERAND = -2 /* reads integers and booleans too: '<i4' as i32, '|b1' and '|u1' as bytes,
                            '<u4' as words of bits, '<u2' as bf16 */
};

/* lab_npy_read() reads the array in the file @path, which may be a pipe. On HEED_OK the caller owns
 * @tensor. Otherwise it is zeroed: HEED_ERR_SYSTEM (cannot be read), HEED_ERR_CORRUPT (not a .npy
 * file, damaged, too short or too long), HEED_ERR_UNSUPPORTED (an array of another type, order or
 * rank), HEED_ERR_NO_MEMORY. */
heed_status lab_npy_read(lab_tensor *tensor, const char *path, int bits, lab_error *error);

/* lab_npy_write() writes @tensor as version 1.0 to @path, replacing the file atomically; bf16 as
 * '<u2'. HEED_ERR_SYSTEM, HEED_ERR_NO_MEMORY. */
heed_status lab_npy_write(const lab_tensor *tensor, const char *path, lab_error *error);

#endif /* LAB_NPY_H */
