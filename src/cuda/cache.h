/*
 * cache.h - compiled kernels on disk
 *
 * An entry is a file named after the SHA-256 of all that its content depends on, so that it is
 * never out of date, only unused. Processes share the folder without locks: entries appear whole,
 * by rename, and what one process removes another makes again. Nothing here is fatal: without a
 * folder, with one that cannot be written, or on a full disk, everything is compiled again.
 */
#ifndef HEED_CUDA_CACHE_H
#define HEED_CUDA_CACHE_H

#include <limits.h>
#include <stdint.h>

#include "internal.h"

/* 64 hexadecimal digits and the final null byte. */
#define HEED_CACHE_KEY_SIZE 65

/* Largest entry that is stored or read, in bytes. */
#define HEED_CACHE_ENTRY_MAX ((size_t)64 << 20)

/* Bytes that a key depends on. */
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
    bool ptx; /* PTX, and not machine code */
} heed_cache_entry;

/* heed_cache_digest() writes the SHA-256 of a part, which may stand for it in a key. */
#define HEED_CACHE_DIGEST_SIZE 32
void heed_cache_digest(const heed_cache_part *part, uint8_t digest[HEED_CACHE_DIGEST_SIZE]);

/* heed_cache_key() writes the SHA-256 of the parts and of where each of them ends. */
void heed_cache_key(const heed_cache_part *parts, size_t count, char key[HEED_CACHE_KEY_SIZE]);

/* heed_cache_folder() writes the folder: HEED_CACHE, else XDG_CACHE_HOME/heed, else ~/.cache/heed,
 * and below it "cubin". Returns false, with an empty @path, if none of them is set or
 * HEED_CACHE_LIMIT is 0, which turns the cache off. The folder need not exist. */
bool heed_cache_folder(char path[PATH_MAX]);

/* heed_cache_limit() returns what all entries together may take, in bytes: HEED_CACHE_LIMIT in
 * MiB, 256 if that is not set or not a number. */
uint64_t heed_cache_limit(void);

/* heed_cache_load() reads the entry of @key. Returns true with an @entry to be freed with
 * heed_cache_entry_free(); false, with @entry zeroed, if there is none. One that is damaged is
 * removed and counts as none. */
bool heed_cache_load(const char *key, heed_cache_entry *entry);
void heed_cache_entry_free(heed_cache_entry *entry);

/* heed_cache_store() writes an entry, making the folder if need be, then removes the files that
 * were not used for longest until all are within the limit. Returns false if it could not. */
bool heed_cache_store(const char *key, const heed_cache_entry *entry);

/* heed_cache_read() reads the entry of @key from a folder that is not the cache's, and
 * heed_cache_write() writes one there: nothing is removed, and nothing limits them. Return false if
 * there is no entry, or it is damaged or another key's; if it could not be written. */
bool heed_cache_read(const char *folder, const char *key, heed_cache_entry *entry);
bool heed_cache_write(const char *folder, const char *key, const heed_cache_entry *entry);

/* heed_cache_keep_log() keeps the log of a build that failed beside the entries; @path becomes the
 * file's, or empty if it could not be written. It counts and ages as entries do. */
bool heed_cache_keep_log(const char *key, const char *log, char path[PATH_MAX]);

#endif /* HEED_CUDA_CACHE_H */
