/*
 * arrays.c - a directory with arrays for `heed run`
 */
#include "arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/npy.h"
#include "lab/tensor/random.h"
#include "scratch.h"

static void writes_array(void **state, const char *name, heed_type type, const int64_t shape[4])
{
    char path[SCRATCH_PATH_SIZE];
    lab_tensor tensor;
    assert_int_equal(lab_tensor_create(&tensor, type, shape, 4, NULL), HEED_OK);
    for (int64_t i = 0; i < lab_tensor_elements(&tensor); i++)
        lab_element_set(type, tensor.data, i, lab_random_normal((uint64_t)name[0], (uint64_t)i));
    assert_int_equal(lab_npy_write(&tensor, scratch_path(state, name, path), NULL), HEED_OK);
    lab_tensor_free(&tensor);
}

/* Elements 0, 1, ... @last, 0, ... of @kind. */
static void writes_up_to(void **state, const char *name, heed_data kind, int rank,
                         const int64_t *shape, int64_t last)
{
    char path[SCRATCH_PATH_SIZE];
    lab_tensor tensor;
    assert_int_equal(lab_tensor_create_kind(&tensor, kind, shape, rank, NULL), HEED_OK);
    for (int64_t i = 0; i < lab_tensor_elements(&tensor); i++)
        lab_data_set(kind, tensor.data, kind == HEED_DATA_BITS ? 32 * i : i,
                     (double)(i % (last + 1)));
    assert_int_equal(lab_npy_write(&tensor, scratch_path(state, name, path), NULL), HEED_OK);
    lab_tensor_free(&tensor);
}

static void writes_operand(void **state, const char *name, heed_data kind, int rank,
                           const int64_t *shape)
{
    writes_up_to(state, name, kind, rank, shape, 2);
}

int arrays_open(void **state)
{
    if (scratch_open(state) != 0)
        return -1;
    writes_array(state, "Q.npy", HEED_F32, (int64_t[]){ 2, 5, 8, 16 });
    writes_array(state, "K.npy", HEED_F32, (int64_t[]){ 2, 9, 4, 16 });
    writes_array(state, "V.npy", HEED_F32, (int64_t[]){ 2, 9, 4, 24 });
    writes_array(state, "Q16.npy", HEED_F16, (int64_t[]){ 2, 5, 8, 16 });
    writes_array(state, "Qbf.npy", HEED_BF16, (int64_t[]){ 2, 5, 8, 16 });
    writes_array(state, "K_batch3.npy", HEED_F32, (int64_t[]){ 3, 9, 4, 16 });
    writes_array(state, "K_dim8.npy", HEED_F32, (int64_t[]){ 2, 9, 4, 8 });
    writes_array(state, "K_heads3.npy", HEED_F32, (int64_t[]){ 2, 9, 3, 16 });
    writes_array(state, "V_heads3.npy", HEED_F32, (int64_t[]){ 2, 9, 3, 24 });
    writes_array(state, "V_seq8.npy", HEED_F32, (int64_t[]){ 2, 8, 4, 24 });
    writes_array(state, "Q_heads12.npy", HEED_F32, (int64_t[]){ 2, 9, 12, 16 });
    writes_array(state, "Q_empty.npy", HEED_F32, (int64_t[]){ 2, 0, 8, 16 });
    writes_operand(state, "bias.npy", HEED_DATA_F16, 3, (int64_t[]){ 8, 5, 9 });
    writes_operand(state, "bias_i32.npy", HEED_DATA_I32, 3, (int64_t[]){ 8, 5, 9 });
    writes_operand(state, "bias_h3.npy", HEED_DATA_F32, 4, (int64_t[]){ 1, 3, 5, 9 });
    writes_operand(state, "bits.npy", HEED_DATA_BITS, 2, (int64_t[]){ 5, 1 });
    writes_operand(state, "bits2.npy", HEED_DATA_BITS, 2, (int64_t[]){ 5, 2 });
    writes_operand(state, "bytes.npy", HEED_DATA_BYTES, 4, (int64_t[]){ 2, 1, 5, 9 });
    writes_operand(state, "sinks.npy", HEED_DATA_F32, 1, (int64_t[]){ 8 });
    writes_operand(state, "slopes.npy", HEED_DATA_F32, 2, (int64_t[]){ 2, 8 });
    writes_up_to(state, "starts.npy", HEED_DATA_I32, 1, (int64_t[]){ 5 }, 4);
    writes_operand(state, "falling.npy", HEED_DATA_I32, 1, (int64_t[]){ 5 });
    writes_operand(state, "table.npy", HEED_DATA_I32, 2, (int64_t[]){ 2, 9 });
    writes_operand(state, "deep.npy", HEED_DATA_F32, 4, (int64_t[]){ 2, 1, 1, 2 });
    writes_operand(state, "empty.npy", HEED_DATA_F32, 2, (int64_t[]){ 2, 0 });
    return 0;
}
