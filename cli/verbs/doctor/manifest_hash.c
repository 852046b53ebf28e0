/*
 * manifest_hash.c - cached hashes of files: a run-time compiler has a hundred megabytes
 *
 * A file counts as unchanged if its path, size, inode number and times are. The hashes are in the
 * cache folder, below "files", under the hash of these facts, and may be deleted at any time.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "manifest.h"

#define KEPT_FROM ((int64_t)1 << 20) /* bytes; smaller files are hashed as quickly */

/* The path of the cached hash of a file; false if there is no cache folder. */
static bool place_of(const char *path, const struct stat *about, char place[PATH_MAX])
{
    char text[PATH_MAX + 160], hash[LAB_RECORD_HASH_SIZE], name[LAB_RECORD_HASH_SIZE + 8];
    lab_error error;
    snprintf(text, sizeof text, "%s %ju %ju %jd %jd.%09ld %jd.%09ld", path,
             (uintmax_t)about->st_dev, (uintmax_t)about->st_ino, (intmax_t)about->st_size,
             (intmax_t)about->st_mtim.tv_sec, about->st_mtim.tv_nsec,
             (intmax_t)about->st_ctim.tv_sec, about->st_ctim.tv_nsec);
    lab_record_hash(text, strlen(text), hash);
    snprintf(name, sizeof name, "files/%s", hash);
    return lab_file_cache(place, PATH_MAX, name, &error) == HEED_OK;
}

static bool read_kept(const char *place, char hash[LAB_RECORD_HASH_SIZE])
{
    FILE *file = fopen(place, "re");
    bool good = file && fread(hash, 1, LAB_RECORD_HASH_SIZE - 1, file) == LAB_RECORD_HASH_SIZE - 1;
    hash[good ? LAB_RECORD_HASH_SIZE - 1 : 0] = '\0';
    if (file)
        fclose(file);
    return good && strspn(hash, "0123456789abcdef") == LAB_RECORD_HASH_SIZE - 1;
}

/* Caches a hash. Errors are ignored. */
static void keep(const char *place, const char *hash)
{
    lab_output output;
    lab_error error;
    if (lab_file_folders(place, 0700, &error) != HEED_OK ||
        lab_output_begin(&output, place, &error) != HEED_OK)
        return;
    lab_output_write(&output, hash, strlen(hash));
    lab_output_commit(&output, &error);
}

static bool hash_now(int file, size_t size, char hash[LAB_RECORD_HASH_SIZE])
{
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
        return false;
    lab_record_hash(data, size, hash);
    munmap(data, size);
    return true;
}

bool cli_manifest_hash_file(const char *path, char hash[LAB_RECORD_HASH_SIZE])
{
    struct stat about;
    char place[PATH_MAX] = "";
    bool hashed = false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
        bool kept = about.st_size >= KEPT_FROM && place_of(path, &about, place);
        hashed = kept && read_kept(place, hash);
        if (!hashed && hash_now(file, (size_t)about.st_size, hash)) {
            hashed = true;
            if (kept)
                keep(place, hash);
        }
    }
    if (file >= 0)
        close(file);
    return hashed;
}
