/*
 * shipped.h - compiled kernels that came with the library
 *
 * A folder beside the library, written when that is packed (heed_jit_pack), has entries as the
 * cache has (cache.h), which only differ in their keys: those do not know the compiler, which need
 * not be on the machine. All else that code depends on is in them, so that an entry of other
 * sources or options is not found, and a file that is damaged, or another entry's, is refused.
 */
#ifndef HEED_CUDA_SHIPPED_H
#define HEED_CUDA_SHIPPED_H

#include "cache.h"

/* heed_shipped_folder() writes the folder: HEED_CUBINS if that is set, else "cubins" or
 * "heed/cubins" beside the file that has this code, else "../lib/heed/cubins". Returns false, with
 * an empty @path, if there is none, or if HEED_CUBINS is set and empty, which turns it off. */
bool heed_shipped_folder(char path[PATH_MAX]);

/* heed_shipped_compiler() says which NVRTC made the code; false, with zeros, if there is no folder,
 * or it does not say. Then nothing in it is used. */
bool heed_shipped_compiler(int *major, int *minor);

/* heed_shipped_load() does as heed_cache_load() with precompiled kernels, but removes nothing. */
bool heed_shipped_load(const char *key, heed_cache_entry *entry);

/* heed_shipped_store() writes an entry to @folder, and heed_shipped_sign() which NVRTC made all of
 * them. Return false if they could not. */
bool heed_shipped_store(const char *folder, const char *key, const heed_cache_entry *entry);
bool heed_shipped_sign(const char *folder, int major, int minor);

#endif /* HEED_CUDA_SHIPPED_H */
