/*
 * fuzz_npy.c - arbitrary .npy files
 */
#include <string.h>

#include "lab/tensor/npy.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_read(const char *path, size_t size, int bits)
{
    lab_tensor tensor;
    lab_error error = { "" };
    heed_status status = lab_npy_read(&tensor, path, bits, &error);
    if (status != HEED_OK) {
        require(status == HEED_ERR_CORRUPT || status == HEED_ERR_UNSUPPORTED,
                "a bad file is corrupt or unsupported");
        require(strncmp(error.text, path, strlen(path)) == 0, "a message names the file");
        require(tensor.data == NULL && tensor.rank == 0, "a bad file gives no array");
        return;
    }
    size_t bytes = 0;
    require(tensor.rank >= 0 && tensor.rank <= LAB_RANK_MAX, "the rank is in its range");
    require(tensor.type != HEED_BF16 || bits == HEED_BF16, "bf16 is read only when asked for");
    require(lab_shape_bytes(tensor.shape, tensor.rank, heed_type_size(tensor.type), &bytes) &&
                bytes == lab_tensor_bytes(&tensor) && bytes < size,
            "an array is no larger than its file");
    require(tensor.data != NULL, "an array has data");
    lab_tensor_free(&tensor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_FILE_PATH_SIZE];
    int file = memory_file_open(data, size, path);
    try_read(path, size, LAB_NPY_REFUSE);
    try_read(path, size, HEED_BF16);
    close(file);
    return 0;
}
