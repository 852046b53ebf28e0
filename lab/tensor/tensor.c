/*
 * tensor.c - a dense array in memory
 */
#include "tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"

bool lab_shape_bytes(const int64_t *shape, int rank, size_t element_size, size_t *bytes)
{
    bool empty = false, fits = true;
    size_t product = element_size;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return false;
        empty = empty || shape[i] == 0;
        fits = fits && !__builtin_mul_overflow(product, (uint64_t)shape[i], &product) &&
               product <= PTRDIFF_MAX;
    }
    *bytes = empty ? 0 : product;
    return empty || fits;
}

const char *lab_shape_print(const int64_t *shape, int rank, char text[LAB_SHAPE_SIZE])
{
    int length = snprintf(text, LAB_SHAPE_SIZE, "[");
    for (int i = 0; i < rank && i < LAB_RANK_MAX; i++)
        length += snprintf(text + length, LAB_SHAPE_SIZE - (size_t)length, "%s%lld", i ? ", " : "",
                           (long long)shape[i]);
    snprintf(text + length, LAB_SHAPE_SIZE - (size_t)length, "]");
    return text;
}

/* @bytes rounded up to whole alignment units, at least one. */
static void *allocate(size_t bytes)
{
    size_t units = bytes / HEED_ALIGNMENT + 1;
    if (units > PTRDIFF_MAX / HEED_ALIGNMENT)
        return NULL;
    return aligned_alloc(HEED_ALIGNMENT, units * HEED_ALIGNMENT);
}

heed_status lab_tensor_create(lab_tensor *tensor, heed_type type, const int64_t *shape, int rank,
                              lab_error *error)
{
    return lab_tensor_create_kind(tensor, lab_data_of(type), shape, rank, error);
}

heed_status lab_tensor_create_kind(lab_tensor *tensor, heed_data kind, const int64_t *shape,
                                   int rank, lab_error *error)
{
    char text[LAB_SHAPE_SIZE];
    size_t bytes;

    memset(tensor, 0, sizeof *tensor);
    if (rank < 0 || rank > LAB_RANK_MAX)
        return lab_fail(error, HEED_ERR_INVALID,
                        "an array has %d dimensions; at most %d can be handled", rank,
                        LAB_RANK_MAX);
    if (!lab_shape_bytes(shape, rank, lab_data_size(kind), &bytes))
        return lab_fail(error, HEED_ERR_INVALID, "the shape %s has no size in bytes",
                        lab_shape_print(shape, rank, text));
    void *data = allocate(bytes);
    if (!data)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "not enough memory for an array of %zu bytes",
                        bytes);
    memset(data, 0, bytes);
    tensor->type = lab_data_type(kind);
    tensor->kind = kind;
    tensor->rank = rank;
    memcpy(tensor->shape, shape, (size_t)rank * sizeof *shape);
    tensor->data = data;
    return HEED_OK;
}

void lab_tensor_free(lab_tensor *tensor)
{
    free(tensor->data);
    memset(tensor, 0, sizeof *tensor);
}

size_t lab_tensor_bytes(const lab_tensor *tensor)
{
    size_t bytes = 0;
    return lab_shape_bytes(tensor->shape, tensor->rank, lab_data_size(tensor->kind), &bytes) ? bytes
                                                                                             : 0;
}

int64_t lab_tensor_elements(const lab_tensor *tensor)
{
    size_t element = lab_data_size(tensor->kind);
    return element ? (int64_t)(lab_tensor_bytes(tensor) / element) : 0;
}

heed_status lab_tensor_convert(lab_tensor *tensor, heed_type type, lab_error *error)
{
    lab_tensor converted;
    if (tensor->type == type)
        return HEED_OK;
    heed_status status = lab_tensor_create(&converted, type, tensor->shape, tensor->rank, error);
    if (status != HEED_OK)
        return status;
    int64_t count = lab_tensor_elements(tensor);
    for (int64_t i = 0; i < count; i++)
        lab_element_set(type, converted.data, i, lab_element_get(tensor->type, tensor->data, i));
    lab_tensor_free(tensor);
    *tensor = converted;
    return HEED_OK;
}

heed_status lab_tensor_swap(lab_tensor *tensor, lab_error *error)
{
    const int64_t *from = tensor->shape;
    const int64_t shape[] = { from[0], from[2], from[1], from[3] };
    lab_tensor swapped;
    if (tensor->rank != 4)
        return lab_fail(error, HEED_ERR_INVALID, "rank is %d; it must be 4", tensor->rank);
    heed_status status = lab_tensor_create(&swapped, tensor->type, shape, 4, error);
    if (status != HEED_OK)
        return status;
    size_t row = (size_t)from[3] * heed_type_size(tensor->type);
    const char *read = tensor->data;
    for (int64_t i = 0; i < from[0]; i++)
        for (int64_t j = 0; j < from[1]; j++)
            for (int64_t k = 0; k < from[2]; k++, read += row)
                memcpy((char *)swapped.data + (size_t)((i * from[2] + k) * from[1] + j) * row, read,
                       row);
    lab_tensor_free(tensor);
    *tensor = swapped;
    return HEED_OK;
}
