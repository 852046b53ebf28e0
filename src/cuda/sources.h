/*
 * sources.h - the device sources, embedded in the library as text
 */
#ifndef HEED_CUDA_SOURCES_H
#define HEED_CUDA_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file of kernels/, or one that other folders of src share with them. It lives as long as the
 * library. */
typedef struct heed_source {
    const char *name; /* as sources include it, such as "ptx.cuh", "mma/load.cuh", "ablation.h" */
    const char *text; /* ends with a null byte that size does not count */
    size_t size;
    const uint8_t *digest; /* SHA-256 of the text: HEED_CACHE_DIGEST_SIZE bytes (cache.h) */
} heed_source;

/* heed_source_at() fills @source with the @index-th file; false past the last. heed_source_find()
 * does the same for the file @name; false, with @source undefined, if there is none. */
bool heed_source_at(size_t index, heed_source *source);
bool heed_source_find(const char *name, heed_source *source);

/* heed_source_is_header() returns true if @source is a header, which is not compiled alone. */
bool heed_source_is_header(const heed_source *source);

#endif /* HEED_CUDA_SOURCES_H */
