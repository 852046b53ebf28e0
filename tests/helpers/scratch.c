/*
 * scratch.c - a temporary directory for the files of a test
 */
#include "scratch.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

int scratch_open(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *path = malloc(SCRATCH_PATH_SIZE);
    if (!path)
        return -1;
    snprintf(path, SCRATCH_PATH_SIZE, "%s/heed-test-XXXXXX", parent && *parent ? parent : "/tmp");
    *state = path;
    return mkdtemp(path) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

int scratch_close(void **state)
{
    nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

const char *scratch_path(void **state, const char *name, char path[SCRATCH_PATH_SIZE])
{
    int length = snprintf(path, SCRATCH_PATH_SIZE, "%s/%s", (const char *)*state, name);
    assert_in_range(length, 1, SCRATCH_PATH_SIZE - 1);
    return path;
}

void scratch_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

size_t scratch_read(const char *path, void *data, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(data, 1, size, file);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    return length;
}

void scratch_text_write(void **state, const char *name, const char *text)
{
    char path[SCRATCH_PATH_SIZE];
    scratch_write(scratch_path(state, name, path), text, strlen(text));
}

void scratch_script_write(void **state, const char *name, const char *text)
{
    char path[SCRATCH_PATH_SIZE];
    scratch_text_write(state, name, text);
    assert_int_equal(chmod(scratch_path(state, name, path), 0700), 0);
}

const char *scratch_text_read(void **state, const char *name, char *text, size_t size)
{
    char path[SCRATCH_PATH_SIZE];
    text[scratch_read(scratch_path(state, name, path), text, size - 1)] = '\0';
    return text;
}
