/*
 * safetensors.h - files of named arrays
 *
 * A file is the length of the header (8 bytes, little-endian), the header (JSON) and the data. The
 * reader is strict: the arrays lie in the data without overlaps and holes, names are unique, and
 * every size agrees with its shape. Arrays of types that heed does not compute in are listed, and
 * cannot be read.
 */
#ifndef LAB_SAFETENSORS_H
#define LAB_SAFETENSORS_H

#include "tensor.h"

typedef struct lab_safetensors lab_safetensors;

/* One array of a file. The texts belong to the file. */
typedef struct lab_safetensors_entry {
    const char *name;
    const char *dtype; /* as the file writes it, such as "BF16" */
    int rank; /* may be above LAB_RANK_MAX: then it cannot be read, and shape holds the first ones
               */
    int64_t shape[LAB_RANK_MAX];
    uint64_t begin; /* bytes from the start of the data */
    uint64_t end;
} lab_safetensors_entry;

/* The longest header that is read. */
#define LAB_SAFETENSORS_HEADER_MAX 100000000

/* lab_safetensors_open() opens @path and reads its header. Returns HEED_OK; HEED_ERR_SYSTEM;
 * HEED_ERR_CORRUPT, naming the array and the field; HEED_ERR_NO_MEMORY. On failure *@file is NULL.
 */
heed_status lab_safetensors_open(lab_safetensors **file, const char *path, lab_error *error);
void lab_safetensors_close(lab_safetensors *file); /* NULL is ignored */

/* Entries in the order of their data. */
size_t lab_safetensors_count(const lab_safetensors *file);
const lab_safetensors_entry *lab_safetensors_at(const lab_safetensors *file,
                                                size_t index); /* NULL past the end */

/* lab_safetensors_read() reads the array @name. On HEED_OK the caller owns @tensor; else it is
 * zeroed: HEED_ERR_INVALID if there is no such name, HEED_ERR_UNSUPPORTED for a type or rank that
 * heed cannot hold, HEED_ERR_SYSTEM, HEED_ERR_CORRUPT, HEED_ERR_NO_MEMORY. */
heed_status lab_safetensors_read(lab_safetensors *file, const char *name, lab_tensor *tensor,
                                 lab_error *error);

/* lab_safetensors_read_operand() is the same, and reads I32, BOOL and U8, as bytes, and U32, as
 * words of bits, too. */
heed_status lab_safetensors_read_operand(lab_safetensors *file, const char *name,
                                         lab_tensor *tensor, lab_error *error);

/* lab_safetensors_write() writes @count arrays with their names, which are unique, to @path,
 * replacing what is there only when all is written. HEED_ERR_SYSTEM, HEED_ERR_NO_MEMORY. */
heed_status lab_safetensors_write(const char *path, const char *const *names,
                                  const lab_tensor *tensors, size_t count, lab_error *error);

#endif /* LAB_SAFETENSORS_H */
