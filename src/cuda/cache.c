/*
 * cache.c - on-disk cache of compiled kernels
 */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "number.h"

/* The file: this, then the log, then the code. In native byte order; the magic number does not
 * match with another one. */
typedef struct header {
    uint64_t magic;
    uint32_t version;
    uint32_t ptx;
    uint64_t log_size;
    uint64_t size;
    uint8_t hash[SHA256_DIGEST_LENGTH]; /* of the key, the fields above, and the payload */
} header;

#define MAGIC UINT64_C(0x6e69627563646565) /* "eedcubin" */
#define VERSION 2

#define LIMIT_MIB 256
#define DAY_SECONDS (24 * 60 * 60)
#define HOUR_SECONDS (60 * 60)

/* -------------------------------------------------------------------------- */
/* Keys                                                                       */
/* -------------------------------------------------------------------------- */

void heed_cache_digest(const heed_cache_part *part, uint8_t digest[HEED_CACHE_DIGEST_SIZE])
{
    SHA2_CTX hash;
    SHA256Init(&hash);
    SHA256Update(&hash, part->data, part->size);
    SHA256Final(digest, &hash);
}

void heed_cache_key(const heed_cache_part *parts, size_t count, char key[HEED_CACHE_KEY_SIZE])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA2_CTX hash;
    SHA256Init(&hash);
    for (size_t i = 0; i < count; i++) {
        uint64_t size = parts[i].size;
        SHA256Update(&hash, (const uint8_t *)&size, sizeof size);
        SHA256Update(&hash, parts[i].data, parts[i].size);
    }
    SHA256Final(digest, &hash);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(key + 2 * i, 3, "%02x", digest[i]);
}

/* The hash includes the key, so an entry under another entry's name is invalid. */
static void hash_file(const char *key, const header *head, const unsigned char *payload,
                      uint8_t digest[SHA256_DIGEST_LENGTH])
{
    SHA2_CTX hash;
    SHA256Init(&hash);
    SHA256Update(&hash, (const uint8_t *)key, strlen(key));
    SHA256Update(&hash, (const uint8_t *)head, offsetof(header, hash));
    SHA256Update(&hash, payload, (size_t)(head->log_size + head->size));
    SHA256Final(digest, &hash);
}

/* -------------------------------------------------------------------------- */
/* Where                                                                      */
/* -------------------------------------------------------------------------- */

uint64_t heed_cache_limit(void)
{
    const char *text = getenv("HEED_CACHE_LIMIT");
    int64_t mebibytes;
    if (!text || !*text || heed_number_int(text, &mebibytes) != strlen(text))
        mebibytes = LIMIT_MIB;
    return mebibytes > INT64_MAX >> 20 ? UINT64_MAX : (uint64_t)mebibytes << 20;
}

bool heed_cache_folder(char path[PATH_MAX])
{
    static const struct {
        const char *variable, *below;
    } roots[] = {
        { "HEED_CACHE", "" },
        { "XDG_CACHE_HOME", "/heed" },
        { "HOME", "/.cache/heed" },
    };
    path[0] = '\0';
    if (heed_cache_limit() == 0)
        return false;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        const char *root = getenv(roots[i].variable);
        if (!root || !*root)
            continue;
        if (snprintf(path, PATH_MAX, "%s%s/cubin", root, roots[i].below) < PATH_MAX)
            return true;
        path[0] = '\0';
        return false;
    }
    return false;
}

/* The file of @key that ends with @suffix; false if there is no folder or the path is too long. */
static bool file_path(const char *key, const char *suffix, char path[PATH_MAX])
{
    char folder[PATH_MAX];
    return heed_cache_folder(folder) &&
           snprintf(path, PATH_MAX, "%s/%s%s", folder, key, suffix) < PATH_MAX;
}

/* Makes the cache folder and its parents, readable only by the owner. */
static bool make_folder(void)
{
    char path[PATH_MAX];
    if (!heed_cache_folder(path))
        return false;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* -------------------------------------------------------------------------- */
/* Load                                                                       */
/* -------------------------------------------------------------------------- */

static bool read_all(int file, void *data, size_t size)
{
    unsigned char *at = data;
    while (size > 0) {
        ssize_t part = read(file, at, size);
        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0)
            return false;
        at += part;
        size -= (size_t)part;
    }
    return true;
}

/* True if it is the header of a complete file of @file_size bytes. */
static bool fits(const header *head, uint64_t file_size)
{
    return head->magic == MAGIC && head->version == VERSION && head->ptx <= 1 && head->size > 0 &&
           head->size <= HEED_CACHE_ENTRY_MAX && head->log_size <= HEED_CACHE_ENTRY_MAX &&
           sizeof *head + head->log_size + head->size == file_size;
}

/* Splits the payload into log and code. */
static bool fill_entry(heed_cache_entry *entry, const header *head, const unsigned char *payload)
{
    size_t log_size = (size_t)head->log_size, size = (size_t)head->size;
    *entry = (heed_cache_entry){ .data = malloc(size),
                                 .size = size,
                                 .log = malloc(log_size + 1),
                                 .log_size = log_size,
                                 .ptx = head->ptx };
    if (!entry->data || !entry->log) {
        heed_cache_entry_free(entry);
        return false;
    }
    memcpy(entry->log, payload, log_size);
    entry->log[log_size] = '\0';
    memcpy(entry->data, payload + log_size, size);
    return true;
}

/* Reads an open file. *@damaged distinguishes an invalid file from a lack of memory. */
static bool read_entry(int file, uint64_t file_size, const char *key, heed_cache_entry *entry,
                       bool *damaged)
{
    header head;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    *damaged = !read_all(file, &head, sizeof head) || !fits(&head, file_size);
    if (*damaged)
        return false;
    size_t size = (size_t)(head.log_size + head.size);
    unsigned char *payload = malloc(size);
    if (!payload)
        return false;
    *damaged = !read_all(file, payload, size);
    if (!*damaged) {
        hash_file(key, &head, payload, digest);
        *damaged = memcmp(digest, head.hash, sizeof digest) != 0;
    }
    bool good = !*damaged && fill_entry(entry, &head, payload);
    free(payload);
    return good;
}

/* Marks the file as used, at most once a day, to avoid a write for each read. */
static void touch(int file, const struct stat *info)
{
    if (time(NULL) - info->st_mtime > DAY_SECONDS)
        futimens(file, NULL);
}

/* Reads the entry of @key from the file @path. If @kept, it is marked as used, or removed if it is
 * damaged. */
static bool load_file(const char *path, const char *key, heed_cache_entry *entry, bool kept)
{
    struct stat info;
    bool damaged = false, good = false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe must not block */
    if (file < 0)
        return false;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
        good = read_entry(file, (uint64_t)info.st_size, key, entry, &damaged);
        if (good && kept)
            touch(file, &info);
        else if (damaged && kept)
            unlink(path);
    }
    close(file);
    return good;
}

bool heed_cache_load(const char *key, heed_cache_entry *entry)
{
    char path[PATH_MAX];
    *entry = (heed_cache_entry){ .data = NULL };
    return file_path(key, ".cubin", path) && load_file(path, key, entry, true);
}

bool heed_cache_read(const char *folder, const char *key, heed_cache_entry *entry)
{
    char path[PATH_MAX];
    *entry = (heed_cache_entry){ .data = NULL };
    return snprintf(path, PATH_MAX, "%s/%s.cubin", folder, key) < PATH_MAX &&
           load_file(path, key, entry, false);
}

void heed_cache_entry_free(heed_cache_entry *entry)
{
    free(entry->data);
    free(entry->log);
    *entry = (heed_cache_entry){ .data = NULL };
}

/* -------------------------------------------------------------------------- */
/* The size limit                                                             */
/* -------------------------------------------------------------------------- */

/* A file of the cache. */
typedef struct stored {
    char name[HEED_CACHE_KEY_SIZE + 40];
    uint64_t size;
    time_t used;
} stored;

typedef struct inventory {
    stored *files;
    size_t count;
    size_t capacity;
    uint64_t bytes;
} inventory;

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* True for names of cache files. Other files are never removed. */
static bool is_ours(const char *name)
{
    return strspn(name, "0123456789abcdef") == HEED_CACHE_KEY_SIZE - 1 &&
           strlen(name) < sizeof((stored *)NULL)->name &&
           (ends_with(name, ".cubin") || ends_with(name, ".log") || ends_with(name, ".tmp"));
}

static bool add_stored(inventory *all, const char *name, const struct stat *info)
{
    if (all->count == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 64;
        stored *files = realloc(all->files, capacity * sizeof *files);
        if (!files)
            return false;
        all->files = files;
        all->capacity = capacity;
    }
    stored *file = &all->files[all->count++];
    snprintf(file->name, sizeof file->name, "%s", name);
    file->size = (uint64_t)info->st_size;
    file->used = info->st_mtime;
    all->bytes += file->size;
    return true;
}

/* Lists the files, and removes incomplete ones that killed processes left behind. */
static void take_inventory(DIR *folder, inventory *all)
{
    const struct dirent *item;
    struct stat info;
    time_t now = time(NULL);
    while ((item = readdir(folder))) {
        if (!is_ours(item->d_name) ||
            fstatat(dirfd(folder), item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode))
            continue;
        if (!ends_with(item->d_name, ".tmp")) {
            if (!add_stored(all, item->d_name, &info))
                return;
        } else if (now - info.st_mtime > HOUR_SECONDS)
            unlinkat(dirfd(folder), item->d_name, 0);
    }
}

static int by_use(const void *a, const void *b)
{
    const stored *one = a, *other = b;
    if (one->used != other->used)
        return one->used < other->used ? -1 : 1;
    return strcmp(one->name, other->name);
}

/* Removes the least recently used files, but not the one named @kept. */
static void keep_limit(const char *kept)
{
    char path[PATH_MAX];
    inventory all = { .files = NULL };
    uint64_t limit = heed_cache_limit();
    DIR *folder = heed_cache_folder(path) ? opendir(path) : NULL;
    if (!folder)
        return;
    take_inventory(folder, &all);
    if (all.bytes > limit)
        qsort(all.files, all.count, sizeof *all.files, by_use);
    for (size_t i = 0; i < all.count && all.bytes > limit; i++) {
        if (strcmp(all.files[i].name, kept) == 0)
            continue;
        unlinkat(dirfd(folder), all.files[i].name, 0);
        all.bytes -= all.files[i].size;
    }
    free(all.files);
    closedir(folder);
}

/* -------------------------------------------------------------------------- */
/* Store                                                                      */
/* -------------------------------------------------------------------------- */

/* An earlier process with the same ID may have left files behind, and other threads of this one may
 * be storing the same entry, so a few names are tried. */
#define NAMES_TRIED 100

static int open_beside(const char *path, char name[PATH_MAX])
{
    for (int i = 0; i < NAMES_TRIED; i++) {
        if (snprintf(name, PATH_MAX, "%s.%ld.%d.tmp", path, (long)getpid(), i) >= PATH_MAX)
            return -1;
        int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

static bool write_all(int file, const void *data, size_t size)
{
    const unsigned char *at = data;
    while (size > 0) {
        ssize_t part = write(file, at, size);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return false;
        at += part;
        size -= (size_t)part;
    }
    return true;
}

/* Writes the parts to a new file and renames it to @path once it is complete. */
static bool write_file(const char *path, const heed_cache_part *parts, size_t count)
{
    char name[PATH_MAX];
    int file = open_beside(path, name);
    if (file < 0)
        return false;
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good = write_all(file, parts[i].data, parts[i].size);
    good = good && fsync(file) == 0;
    good = close(file) == 0 && good;
    good = good && rename(name, path) == 0;
    if (!good)
        unlink(name);
    return good;
}

/* Writes an entry to the file @path. */
static bool store_file(const char *path, const char *key, const heed_cache_entry *entry)
{
    size_t payload_size = entry->log_size + entry->size;
    unsigned char *payload = malloc(payload_size);
    if (!payload)
        return false;
    memcpy(payload, entry->log, entry->log_size);
    memcpy(payload + entry->log_size, entry->data, entry->size);
    header head = { .magic = MAGIC,
                    .version = VERSION,
                    .ptx = entry->ptx,
                    .log_size = entry->log_size,
                    .size = entry->size };
    hash_file(key, &head, payload, head.hash);
    const heed_cache_part parts[] = { { &head, sizeof head }, { payload, payload_size } };
    bool written = write_file(path, parts, 2);
    free(payload);
    return written;
}

/* True if the entry could be read again. */
static bool may_be_stored(const heed_cache_entry *entry)
{
    return entry->size > 0 && entry->size <= HEED_CACHE_ENTRY_MAX &&
           entry->log_size <= HEED_CACHE_ENTRY_MAX;
}

bool heed_cache_store(const char *key, const heed_cache_entry *entry)
{
    char path[PATH_MAX], name[HEED_CACHE_KEY_SIZE + 8];
    if (!may_be_stored(entry) || entry->size > heed_cache_limit() ||
        !file_path(key, ".cubin", path) || !make_folder())
        return false;
    bool written = store_file(path, key, entry);
    snprintf(name, sizeof name, "%s.cubin", key);
    keep_limit(name);
    return written;
}

bool heed_cache_write(const char *folder, const char *key, const heed_cache_entry *entry)
{
    char path[PATH_MAX];
    return may_be_stored(entry) &&
           snprintf(path, PATH_MAX, "%s/%s.cubin", folder, key) < PATH_MAX &&
           store_file(path, key, entry) && chmod(path, 0644) == 0; /* readable by all */
}

bool heed_cache_keep_log(const char *key, const char *log, char path[PATH_MAX])
{
    char name[HEED_CACHE_KEY_SIZE + 8];
    const heed_cache_part part = { log, strlen(log) };
    if (!file_path(key, ".log", path) || !make_folder() || !write_file(path, &part, 1)) {
        path[0] = '\0';
        return false;
    }
    snprintf(name, sizeof name, "%s.log", key);
    keep_limit(name);
    return true;
}
