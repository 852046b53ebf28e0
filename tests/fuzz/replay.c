/*
 * replay.c - runs a fuzz target over stored inputs: fuzz_NAME FILE|FOLDER...
 *
 * It replaces libFuzzer's main() with other compilers, so that the ordinary tests try every stored
 * input again.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int complain(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return -1;
}

/* Reads the file into a block of exactly its size, so that sanitizers detect reads past the end. */
static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return complain(path);
    uint8_t *data = malloc(size ? size : 1);
    int result = 0;
    if (!data || fread(data, 1, size, file) != size)
        result = complain(path);
    fclose(file);
    if (result == 0) {
        LLVMFuzzerTestOneInput(data, size);
        result = 1;
    }
    free(data);
    return result;
}

/* Returns the number of inputs run, or -1. */
static int replay(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return complain(path);
    if (!S_ISDIR(status.st_mode))
        return replay_file(path, (size_t)status.st_size);
    DIR *folder = opendir(path);
    if (!folder)
        return complain(path);
    int count = 0;
    const struct dirent *entry;
    while (count >= 0 && (entry = readdir(folder))) {
        char child[4096];
        if (entry->d_name[0] == '.')
            continue;
        int length = snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        int one = length < (int)sizeof child ? replay(child) : -1;
        count = one < 0 ? -1 : count + one;
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int count = replay(argv[i]);
        if (count < 0)
            return 1;
        total += count;
    }
    printf("%d inputs\n", total);
    return total > 0 ? 0 : 1;
}
