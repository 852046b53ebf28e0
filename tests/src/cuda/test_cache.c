/*
 * test_cache.c - cache of compiled kernels on disk: entries are complete or absent, and the size
 * limit holds
 */
#include "run_tests.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cuda/cache.h"
#include "scratch.h"

/* -------------------------------------------------------------------------- */
/* A cache in a directory of the test                                         */
/* -------------------------------------------------------------------------- */

static int open_cache(void **state)
{
    if (scratch_open(state) != 0)
        return -1;
    unsetenv("HEED_CACHE_LIMIT");
    return setenv("HEED_CACHE", *state, 1);
}

/* The key that consists of @digit 64 times. */
static const char *key_of(char digit, char key[HEED_CACHE_KEY_SIZE])
{
    memset(key, digit, HEED_CACHE_KEY_SIZE - 1);
    key[HEED_CACHE_KEY_SIZE - 1] = '\0';
    return key;
}

static const char *path_of(const char *name, char path[PATH_MAX])
{
    char folder[PATH_MAX];
    assert_true(heed_cache_folder(folder));
    assert_true(snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
    return path;
}

static const char *entry_path(char digit, char path[PATH_MAX])
{
    char key[HEED_CACHE_KEY_SIZE], name[HEED_CACHE_KEY_SIZE + 8];
    snprintf(name, sizeof name, "%s.cubin", key_of(digit, key));
    return path_of(name, path);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static bool store(char digit, const char *code, size_t size, const char *log, bool ptx)
{
    char key[HEED_CACHE_KEY_SIZE];
    const heed_cache_entry entry = { .data = (unsigned char *)(uintptr_t)code,
                                     .size = size,
                                     .log = (char *)(uintptr_t)log,
                                     .log_size = strlen(log),
                                     .ptx = ptx };
    return heed_cache_store(key_of(digit, key), &entry);
}

static bool load(char digit, heed_cache_entry *entry)
{
    char key[HEED_CACHE_KEY_SIZE];
    return heed_cache_load(key_of(digit, key), entry);
}

static bool loads(char digit)
{
    heed_cache_entry entry;
    bool good = load(digit, &entry);
    heed_cache_entry_free(&entry);
    return good;
}

static void set_age(const char *path, time_t seconds)
{
    const struct timespec then = { .tv_sec = time(NULL) - seconds };
    const struct timespec times[] = { then, then };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static time_t age_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return time(NULL) - info.st_mtime;
}

static int count_files(void)
{
    char folder[PATH_MAX];
    assert_true(heed_cache_folder(folder));
    DIR *directory = opendir(folder);
    int count = 0;
    for (const struct dirent *item; directory && (item = readdir(directory));)
        count += item->d_name[0] != '.';
    if (directory)
        closedir(directory);
    return count;
}

/* -------------------------------------------------------------------------- */
/* Keys and places                                                            */
/* -------------------------------------------------------------------------- */

static void test_a_key_knows_where_parts_end(void **state)
{
    const heed_cache_part one[] = { { "ab", 2 }, { "c", 1 } };
    const heed_cache_part other[] = { { "a", 1 }, { "bc", 2 } };
    char key[HEED_CACHE_KEY_SIZE], again[HEED_CACHE_KEY_SIZE], different[HEED_CACHE_KEY_SIZE];
    heed_cache_key(one, 2, key);
    heed_cache_key(one, 2, again);
    heed_cache_key(other, 2, different);
    assert_int_equal(strlen(key), 64);
    assert_int_equal(strspn(key, "0123456789abcdef"), 64);
    assert_string_equal(key, again);
    assert_string_not_equal(key, different);
    heed_cache_key(one, 1, different);
    assert_string_not_equal(key, different);
    heed_cache_key(NULL, 0, key); /* SHA-256 of the empty message, as in FIPS 180-4 */
    assert_string_equal(key, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void assert_folder(const char *wanted)
{
    char folder[PATH_MAX];
    assert_int_equal(heed_cache_folder(folder), *wanted != '\0');
    assert_string_equal(folder, wanted);
}

static void test_the_folder_is_what_the_environment_says(void **state)
{
    const char *const names[] = { "HEED_CACHE", "XDG_CACHE_HOME", "HOME" };
    char *saved[3];
    for (int i = 0; i < 3; i++) {
        saved[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
        unsetenv(names[i]);
    }
    assert_folder("");
    setenv("HOME", "/home/someone", 1);
    assert_folder("/home/someone/.cache/heed/cubin");
    setenv("XDG_CACHE_HOME", "", 1);
    assert_folder("/home/someone/.cache/heed/cubin");
    setenv("XDG_CACHE_HOME", "/var/cache", 1);
    assert_folder("/var/cache/heed/cubin");
    setenv("HEED_CACHE", "here", 1);
    assert_folder("here/cubin");
    setenv("HEED_CACHE_LIMIT", "0", 1);
    assert_folder("");
    unsetenv("HEED_CACHE_LIMIT");
    char *longest = malloc(PATH_MAX + 1);
    assert_non_null(longest);
    memset(longest, 'a', PATH_MAX);
    longest[PATH_MAX] = '\0';
    setenv("HEED_CACHE", longest, 1);
    assert_folder("");
    free(longest);
    for (int i = 0; i < 3; i++) {
        if (saved[i])
            setenv(names[i], saved[i], 1);
        else
            unsetenv(names[i]);
        free(saved[i]);
    }
}

static void test_the_limit_is_in_mebibytes(void **state)
{
    static const struct {
        const char *text;
        uint64_t limit;
    } cases[] = {
        { "", (uint64_t)256 << 20 },
        { "1", (uint64_t)1 << 20 },
        { "0", 0 },
        { "x", (uint64_t)256 << 20 },
        { "1x", (uint64_t)256 << 20 },
        { "-1", (uint64_t)256 << 20 },
        { "99999999999999999999", UINT64_MAX },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("HEED_CACHE_LIMIT", cases[i].text, 1);
        assert_true(heed_cache_limit() == cases[i].limit);
    }
}

/* -------------------------------------------------------------------------- */
/* Entries                                                                    */
/* -------------------------------------------------------------------------- */

static void test_an_entry_comes_back(void **state)
{
    heed_cache_entry entry;
    assert_false(load('1', &entry));
    assert_null(entry.data);
    assert_true(store('1', "code\0more", 9, "ptxas: fine", false));
    assert_true(store('2', ".version 9", 11, "", true));
    assert_true(load('1', &entry));
    assert_int_equal(entry.size, 9);
    assert_memory_equal(entry.data, "code\0more", 9);
    assert_string_equal(entry.log, "ptxas: fine");
    assert_false(entry.ptx);
    heed_cache_entry_free(&entry);
    assert_true(load('2', &entry));
    assert_string_equal((char *)entry.data, ".version 9");
    assert_string_equal(entry.log, "");
    assert_true(entry.ptx);
    heed_cache_entry_free(&entry);
    assert_int_equal(count_files(), 2);
    assert_false(store('3', "", 0, "", false));
}

/* Writes @data in place of the entry: it must be ignored, removed, and stored again. */
static void assert_rebuilt(const unsigned char *data, size_t size)
{
    char path[PATH_MAX];
    scratch_write(entry_path('1', path), data, size);
    if (loads('1') || exists(path))
        fail_msg("a damaged entry of %zu bytes was %s", size, exists(path) ? "kept" : "taken");
    assert_true(store('1', "code", 4, "log", false));
    assert_true(loads('1'));
}

static void test_a_damaged_entry_is_made_again(void **state)
{
    unsigned char whole[512], bad[513];
    char path[PATH_MAX];
    assert_true(store('1', "code", 4, "log", false));
    size_t size = scratch_read(entry_path('1', path), whole, sizeof whole);
    for (size_t length = 0; length < size; length++)
        assert_rebuilt(whole, length);
    for (size_t at = 0; at < size; at++) {
        memcpy(bad, whole, size);
        bad[at] ^= 0x10;
        assert_rebuilt(bad, size);
    }
    memcpy(bad, whole, size);
    bad[size] = 0;
    assert_rebuilt(bad, size + 1);
    memset(bad, 0xff, size); /* sizes whose sum overflows 64 bits */
    memcpy(bad, whole, 16);
    assert_rebuilt(bad, size);
}

static void test_what_is_no_file_is_left_alone(void **state)
{
    char path[PATH_MAX];
    assert_true(store('1', "code", 4, "", false));
    unlink(entry_path('1', path));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(loads('1')); /* without waiting for a writer */
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(loads('1'));
    assert_false(store('1', "code", 4, "", false));
    assert_int_equal(count_files(), 1);
}

static void test_use_is_noted_once_a_day(void **state)
{
    char path[PATH_MAX];
    assert_true(store('1', "code", 4, "", false));
    set_age(entry_path('1', path), 3600);
    assert_true(loads('1'));
    assert_true(age_of(path) >= 3600);
    set_age(path, 3 * 24 * 3600);
    assert_true(loads('1'));
    assert_true(age_of(path) < 3600);
}

/* -------------------------------------------------------------------------- */
/* The size limit                                                             */
/* -------------------------------------------------------------------------- */

#define LARGE ((size_t)300 << 10)

static void store_large(char digit, time_t age)
{
    char path[PATH_MAX];
    char *code = malloc(LARGE);
    assert_non_null(code);
    memset(code, digit, LARGE);
    assert_true(store(digit, code, LARGE, "", false));
    free(code);
    set_age(entry_path(digit, path), age);
}

static void test_what_was_not_used_goes_first(void **state)
{
    char path[PATH_MAX];
    setenv("HEED_CACHE_LIMIT", "1", 1); /* room for three entries */
    store_large('1', 500);
    scratch_write(path_of("notes.txt", path), "not ours", 8);
    set_age(path, 9999);
    store_large('2', 900);
    store_large('3', 100);
    assert_true(loads('1') && loads('2') && loads('3'));
    store_large('4', 9000);
    assert_true(loads('1') && loads('3') && loads('4'));
    assert_false(loads('2'));
    store_large('5', 0);
    assert_false(loads('4'));
    assert_true(loads('1') && loads('3') && loads('5'));
    set_age(entry_path('1', path), -3600); /* used in the future, by a wrong clock */
    set_age(entry_path('3', path), -3600);
    set_age(entry_path('5', path), -3600);
    store_large('6', 0); /* now the oldest, but a new entry is kept */
    assert_true(loads('6'));
    assert_int_equal(loads('1') + loads('3') + loads('5'), 2);
    assert_true(exists(path_of("notes.txt", path)));
    setenv("HEED_CACHE_LIMIT", "0", 1);
    assert_false(loads('6'));
    assert_false(store('7', "code", 4, "", false));
}

static void test_an_entry_larger_than_the_limit_is_not_stored(void **state)
{
    size_t size = (size_t)2 << 20;
    char *code = calloc(size, 1);
    assert_non_null(code);
    assert_true(store('1', "code", 4, "", false));
    setenv("HEED_CACHE_LIMIT", "1", 1);
    assert_false(store('2', code, size, "", false));
    free(code);
    assert_true(loads('1'));
}

static void test_what_a_killed_process_left_is_removed(void **state)
{
    char key[HEED_CACHE_KEY_SIZE], name[HEED_CACHE_KEY_SIZE + 40], old[PATH_MAX], new[PATH_MAX];
    assert_true(store('1', "code", 4, "", false));
    snprintf(name, sizeof name, "%s.cubin.1.0.tmp", key_of('2', key));
    scratch_write(path_of(name, old), "half", 4);
    set_age(old, 2 * 3600);
    snprintf(name, sizeof name, "%s.cubin.2.0.tmp", key_of('3', key));
    scratch_write(path_of(name, new), "half", 4);
    assert_true(store('4', "code", 4, "", false));
    assert_false(exists(old));
    assert_true(exists(new));
}

static void test_logs_are_kept_and_counted(void **state)
{
    char key[HEED_CACHE_KEY_SIZE], path[PATH_MAX], log[64];
    setenv("HEED_CACHE_LIMIT", "1", 1);
    assert_true(heed_cache_keep_log(key_of('f', key), "line 3: error", path));
    size_t size = scratch_read(path, log, sizeof log);
    assert_int_equal(size, 13);
    assert_memory_equal(log, "line 3: error", size);
    set_age(path, 5000);
    for (int i = 0; i < 4; i++)
        store_large((char)('1' + i), 10);
    assert_false(exists(path));
}

/* -------------------------------------------------------------------------- */
/* Places that refuse                                                         */
/* -------------------------------------------------------------------------- */

static void test_a_missing_folder_is_made(void **state)
{
    char root[SCRATCH_PATH_SIZE], path[PATH_MAX];
    struct stat info;
    snprintf(root, sizeof root, "%s/a/b", (char *)*state);
    setenv("HEED_CACHE", root, 1);
    assert_false(loads('1'));
    assert_true(store('1', "code", 4, "", false));
    assert_true(loads('1'));
    assert_int_equal(stat(root, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    unlink(entry_path('1', path));
    snprintf(path, sizeof path, "%s/cubin", root);
    rmdir(path);
    rmdir(root);
    *strrchr(root, '/') = '\0';
    rmdir(root);
}

static void test_a_folder_that_cannot_be_is_no_error(void **state)
{
    char key[HEED_CACHE_KEY_SIZE], path[PATH_MAX];
    static const char *const folders[] = { "/dev/null", "/proc/heed" };
    for (int i = 0; i < 2; i++) {
        setenv("HEED_CACHE", folders[i], 1);
        assert_false(store('1', "code", 4, "", false));
        assert_false(loads('1'));
        assert_false(heed_cache_keep_log(key_of('1', key), "log", path));
        assert_string_equal(path, "");
    }
}

static void test_a_full_disk_leaves_nothing(void **state)
{
    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &none), 0);
    limit = (struct rlimit){ .rlim_cur = 64, .rlim_max = none.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    bool stored = store('1', "code", 4, "some log", false);
    setrlimit(RLIMIT_FSIZE, &none);
    assert_false(stored);
    assert_int_equal(count_files(), 0);
}

/* -------------------------------------------------------------------------- */
/* Many at once                                                               */
/* -------------------------------------------------------------------------- */

static void *use_entry(void *data)
{
    int *failures = data;
    for (int i = 0; i < 50; i++) {
        heed_cache_entry entry;
        if (!store('1', "the same code", 13, "log", false))
            ++*failures;
        if (!load('1', &entry) || entry.size != 13 || memcmp(entry.data, "the same code", 13) != 0)
            ++*failures;
        heed_cache_entry_free(&entry);
    }
    return NULL;
}

static void test_threads_share_an_entry(void **state)
{
    pthread_t threads[8];
    int failures[8] = { 0 };
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_entry, &failures[i]), 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failures[i], 0);
    }
    assert_int_equal(count_files(), 1);
}

RUN_TESTS_EACH(open_cache, scratch_close, test_a_key_knows_where_parts_end,
               test_the_folder_is_what_the_environment_says, test_the_limit_is_in_mebibytes,
               test_an_entry_comes_back, test_a_damaged_entry_is_made_again,
               test_what_is_no_file_is_left_alone, test_use_is_noted_once_a_day,
               test_what_was_not_used_goes_first, test_an_entry_larger_than_the_limit_is_not_stored,
               test_what_a_killed_process_left_is_removed, test_logs_are_kept_and_counted,
               test_a_missing_folder_is_made, test_a_folder_that_cannot_be_is_no_error,
               test_a_full_disk_leaves_nothing, test_threads_share_an_entry)
