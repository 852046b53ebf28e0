/*
 * cache.h - on-disk cache of compiled kernels
 *
 * An entry is a file named after the SHA-256 of everything that its content depends on, so it is
 * never stale, only unused. Processes share the folder without locks: entries appear complete, by
 * rename, and an entry that one process removes is made again by another. Nothing here is fatal:
 * without a folder, with a read-only one, or on a full disk, everything is compiled again.
 */
#ifndef HEED_CUDA_CACHE_H
#define HEED_CUDA_CACHE_H

#include <limits.h>
#include <stdint.h>

#include "internal.h"

/* 64 hexadecimal digits and the terminating null byte. */
#define HEED_CACHE_KEY_SIZE 65

/* Largest entry that is stored or read, in bytes. */
#define HEED_CACHE_ENTRY_MAX ((size_t)64 << 20)

/* Bytes that a key is computed from. */
typedef struct heed_cache_part {
    const void *data;
    size_t size;
} heed_cache_part;

/* An entry: the code, and the compiler's messages about it. */
typedef struct heed_cache_entry {
    unsigned char *data;
    size_t size;
    char *log; /* ends with a null byte that log_size does not count */
    size_t log_size;
    bool ptx; /* PTX instead of machine code */
} heed_cache_entry;

/* heed_cache_digest() writes the SHA-256 of a part, which may replace the part in a key. */
#define HEED_CACHE_DIGEST_SIZE 32
void heed_cache_digest(const heed_cache_part *part, uint8_t digest[HEED_CACHE_DIGEST_SIZE]);

/* heed_cache_key() writes the SHA-256 of the parts and their sizes. */
void heed_cache_key(const heed_cache_part *parts, size_t count, char key[HEED_CACHE_KEY_SIZE]);

/* heed_cache_folder() writes the folder: the subfolder "cubin" of HEED_CACHE, else of
 * XDG_CACHE_HOME/heed, else of ~/.cache/heed. Returns false, with an empty @path, if none of them
 * is set or HEED_CACHE_LIMIT is 0, which turns the cache off. The folder need not exist. */
bool heed_cache_folder(char path[PATH_MAX]);

/* heed_cache_limit() returns the size limit of all entries together, in bytes: HEED_CACHE_LIMIT in
 * MiB, 256 if that is not set or not a number. */
uint64_t heed_cache_limit(void);

/* heed_cache_load() reads the entry of @key. Returns true with an @entry to be freed with
 * heed_cache_entry_free(); false, with @entry zeroed, if there is none. A damaged one is removed
 * and counts as none. */
bool heed_cache_load(const char *key, heed_cache_entry *entry);
void heed_cache_entry_free(heed_cache_entry *entry);

/* heed_cache_store() writes an entry, making the folder if necessary, then removes the least
 * recently used files until all are within the limit. Returns false on failure. */
bool heed_cache_store(const char *key, const heed_cache_entry *entry);

/* heed_cache_read() reads the entry of @key from a folder other than the cache's, and
 * heed_cache_write() writes one there: nothing is removed, and there is no limit. They return false
 * if there is no entry, or it is damaged or has another key; or if it could not be written. */
bool heed_cache_read(const char *folder, const char *key, heed_cache_entry *entry);
bool heed_cache_write(const char *folder, const char *key, const heed_cache_entry *entry);

/* heed_cache_keep_log() stores the log of a failed build in the cache folder; @path is set to the
 * file's, or empty if it could not be written. It counts towards the limit and is removed as
 * entries are. */
bool heed_cache_keep_log(const char *key, const char *log, char path[PATH_MAX]);

#endif /* HEED_CUDA_CACHE_H */
