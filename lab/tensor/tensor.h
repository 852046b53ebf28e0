/*
 * tensor.h - a dense array in memory
 */
#ifndef LAB_TENSOR_H
#define LAB_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "heed.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file formats are little-endian, and so must the machine be"
#endif

#define LAB_RANK_MAX 8

/* The last dimension is contiguous, as in C. Starts zeroed; release with lab_tensor_free(). */
typedef struct lab_tensor {
    heed_type type; /* of floating-point elements */
    heed_data kind; /* of the elements; words for HEED_DATA_BITS */
    int rank;       /* 0: a single number */
    int64_t shape[LAB_RANK_MAX];
    void *data; /* owned; aligned to HEED_ALIGNMENT; never NULL, even without elements */
} lab_tensor;

/* lab_shape_bytes() writes the size of an array with elements of @element_size bytes to *@bytes.
 * Returns false if a dimension is negative or the product is above PTRDIFF_MAX. */
bool lab_shape_bytes(const int64_t *shape, int rank, size_t element_size, size_t *bytes);

/* lab_shape_print() writes the shape as "[2, 512, 8, 64]" and returns @text. */
#define LAB_SHAPE_SIZE (LAB_RANK_MAX * 22 + 3)
const char *lab_shape_print(const int64_t *shape, int rank, char text[LAB_SHAPE_SIZE]);

/* lab_tensor_create() makes an array of zeros, lab_tensor_create_kind() one of any kind.
 * HEED_ERR_INVALID for an invalid shape, HEED_ERR_NO_MEMORY; *@tensor is zeroed then. */
heed_status lab_tensor_create(lab_tensor *tensor, heed_type type, const int64_t *shape, int rank,
                              lab_error *error);
heed_status lab_tensor_create_kind(lab_tensor *tensor, heed_data kind, const int64_t *shape,
                                   int rank, lab_error *error);
void lab_tensor_free(lab_tensor *tensor);

/* lab_tensor_bytes() returns the size of a tensor's data; lab_tensor_elements() the number of
 * elements. */
size_t lab_tensor_bytes(const lab_tensor *tensor);
int64_t lab_tensor_elements(const lab_tensor *tensor);

/* lab_tensor_convert() changes the elements to @type, each rounded to nearest, ties to even.
 * HEED_ERR_NO_MEMORY leaves the tensor unchanged. */
heed_status lab_tensor_convert(lab_tensor *tensor, heed_type type, lab_error *error);

/* lab_tensor_swap() transposes a tensor of shape [a, b, c, d] to [a, c, b, d]: element [i, j, k, l]
 * moves to [i, k, j, l]. HEED_ERR_INVALID if the rank is not 4; HEED_ERR_NO_MEMORY; either leaves
 * the tensor unchanged. */
heed_status lab_tensor_swap(lab_tensor *tensor, lab_error *error);

#endif /* LAB_TENSOR_H */
