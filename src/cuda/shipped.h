/*
 * shipped.h - compiled kernels shipped with the library
 *
 * A folder next to the library, written when the library is packaged (heed_jit_pack), has the same
 * entries as the cache (cache.h), except for their keys: these do not include the compiler, which
 * need not be on the machine. They include everything else that code depends on, so an entry for
 * other sources or options is not found. A file that is damaged, or belongs to another entry, is
 * refused.
 */
#ifndef HEED_CUDA_SHIPPED_H
#define HEED_CUDA_SHIPPED_H

#include "cache.h"

/* heed_shipped_folder() writes the folder: HEED_CUBINS if that is set, else "cubins" or
 * "heed/cubins" next to the file that contains this code, else "../lib/heed/cubins". Returns false,
 * with an empty @path, if there is none, or if HEED_CUBINS is set and empty, which turns it off. */
bool heed_shipped_folder(char path[PATH_MAX]);

/* heed_shipped_compiler() returns the version of the NVRTC that compiled the code; false, with
 * zeros, if there is no folder, or it does not name one. Then nothing in it is used. */
bool heed_shipped_compiler(int *major, int *minor);

/* heed_shipped_load() is heed_cache_load() for shipped kernels, but removes nothing. */
bool heed_shipped_load(const char *key, heed_cache_entry *entry);

/* heed_shipped_store() writes an entry to @folder, and heed_shipped_sign() the version of the NVRTC
 * that compiled all of them. They return false on failure. */
bool heed_shipped_store(const char *folder, const char *key, const heed_cache_entry *entry);
bool heed_shipped_sign(const char *folder, int major, int minor);

#endif /* HEED_CUDA_SHIPPED_H */
