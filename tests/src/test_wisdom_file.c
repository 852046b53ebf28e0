/*
 * test_wisdom_file.c - wisdom files: saved completely or not at all
 */
#include "run_tests.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"
#include "scratch.h"

static heed_context *make_context(int problems)
{
    heed_context *context;
    const heed_options options = { .size = sizeof options, .threads = 1 };
    if (heed_context_create(&context, &options) != HEED_OK)
        fail_msg("%s", heed_message());
    for (int i = 1; i <= problems; i++) {
        heed_problem problem;
        heed_choice choice = { .seconds = i, .effort = HEED_MEASURE };
        assert_int_equal(heed_problem_parse(&problem, "b1 h1 s4 d8 f16"), HEED_OK);
        problem.seq_q = i;
        assert_int_equal(heed_kernel_config(0, 0, choice.name, sizeof choice.name), HEED_OK);
        assert_int_equal(heed_wisdom_add(context->wisdom, &problem, &choice), HEED_OK);
    }
    return context;
}

static int count_files(const char *folder)
{
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    int count = 0;
    const struct dirent *entry;
    while ((entry = readdir(directory)))
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void assert_message(const char *message)
{
    if (!strstr(heed_message(), message))
        fail_msg("\"%s\" does not say \"%s\"", heed_message(), message);
}

static void test_a_file_comes_back(void **state)
{
    char path[SCRATCH_PATH_SIZE], one[4096], other[4096];
    scratch_path(state, "wisdom", path);
    heed_context *writer = make_context(5), *reader = make_context(0);
    size_t taken = 99, skipped = 99;
    assert_int_equal(heed_wisdom_save(writer, path), HEED_OK);
    assert_int_equal(heed_wisdom_load(reader, path, &taken, &skipped), HEED_OK);
    assert_int_equal(taken, 5);
    assert_int_equal(skipped, 0);
    heed_wisdom_export(writer, one, sizeof one);
    heed_wisdom_export(reader, other, sizeof other);
    assert_string_equal(one, other);

    heed_wisdom_forget(writer); /* a shorter text replaces the longer one completely */
    assert_int_equal(heed_wisdom_save(writer, path), HEED_OK);
    heed_wisdom_forget(reader);
    assert_int_equal(heed_wisdom_load(reader, path, &taken, &skipped), HEED_OK);
    assert_int_equal(taken, 0);
    assert_int_equal(count_files(*state), 1);
    heed_context_destroy(reader);
    heed_context_destroy(writer);
}

/* A path that is not a regular file is left alone: a pipe here, but it could be /dev/null. */
static void test_links_and_pipes_stay(void **state)
{
    char path[SCRATCH_PATH_SIZE], link[SCRATCH_PATH_SIZE], pipe[SCRATCH_PATH_SIZE];
    char text[4096], said[4096];
    struct stat info;
    heed_context *context = make_context(2);
    size_t length = heed_wisdom_export(context, text, sizeof text);
    assert_int_equal(mkfifo(scratch_path(state, "pipe", pipe), 0600), 0);
    int reader = open(pipe, O_RDWR | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(heed_wisdom_save(context, pipe), HEED_OK);
    assert_int_equal(read(reader, said, sizeof said), length);
    assert_memory_equal(said, text, length);
    close(reader);
    assert_int_equal(lstat(pipe, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));

    scratch_path(state, "file", path);
    assert_int_equal(heed_wisdom_save(context, path), HEED_OK);
    assert_int_equal(symlink(path, scratch_path(state, "link", link)), 0);
    heed_wisdom_forget(context);
    assert_int_equal(heed_wisdom_save(context, link), HEED_OK);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_true(scratch_read(path, said, sizeof said) < length);
    assert_int_equal(count_files(*state), 3);
    heed_context_destroy(context);
}

static void test_permissions_are_those_of_a_new_file(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    struct stat info;
    heed_context *context = make_context(1);
    mode_t mask = umask(027);
    heed_status status = heed_wisdom_save(context, scratch_path(state, "wisdom", path));
    umask(mask);
    heed_context_destroy(context);
    assert_int_equal(status, HEED_OK);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

/* A write that fails halfway because the file system is full. */
static void test_a_full_disk_leaves_the_old_file(void **state)
{
    char path[SCRATCH_PATH_SIZE], before[4096], after[4096];
    heed_context *small = make_context(1), *large = make_context(100);
    assert_int_equal(heed_wisdom_save(small, scratch_path(state, "wisdom", path)), HEED_OK);
    size_t size = scratch_read(path, before, sizeof before);

    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &none), 0);
    limit = (struct rlimit){ .rlim_cur = 2000, .rlim_max = none.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    heed_status status = heed_wisdom_save(large, path);
    setrlimit(RLIMIT_FSIZE, &none);

    assert_int_equal(status, HEED_ERR_SYSTEM);
    assert_message("cannot write: File too large");
    assert_int_equal(scratch_read(path, after, sizeof after), size);
    assert_memory_equal(before, after, size);
    assert_int_equal(count_files(*state), 1);
    heed_context_destroy(large);
    heed_context_destroy(small);
}

static void test_places_that_cannot_be_written(void **state)
{
    char path[SCRATCH_PATH_SIZE], inner[SCRATCH_PATH_SIZE + 8];
    heed_context *context = make_context(1);
    snprintf(inner, sizeof inner, "%s/x", scratch_path(state, "none", path));
    assert_int_equal(heed_wisdom_save(context, inner), HEED_ERR_SYSTEM);
    assert_message("/none/x: cannot create: No such file or directory");

    assert_int_equal(mkdir(path, 0777), 0); /* a directory is in the way */
    assert_int_equal(heed_wisdom_save(context, path), HEED_ERR_SYSTEM);
    assert_message("/none: cannot replace: Is a directory");
    assert_int_equal(count_files(*state), 1);
    assert_int_equal(rmdir(path), 0);

    assert_int_equal(heed_wisdom_save(context, ""), HEED_ERR_SYSTEM);
    if (geteuid() != 0) { /* root can write anything */
        assert_int_equal(chmod(*state, 0555), 0);
        assert_int_equal(heed_wisdom_save(context, path), HEED_ERR_SYSTEM);
        assert_int_equal(chmod(*state, 0777), 0);
        assert_message("cannot create: Permission denied");
    }
    heed_context_destroy(context);
}

static void test_files_that_cannot_be_read(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    heed_context *context = make_context(0);
    scratch_path(state, "wisdom", path);
    assert_int_equal(heed_wisdom_load(context, path, NULL, NULL), HEED_ERR_SYSTEM);
    assert_message("/wisdom: cannot open: No such file or directory");
    assert_int_equal(heed_wisdom_load(context, *state, NULL, NULL), HEED_ERR_SYSTEM);
    assert_message("cannot read: not a regular file");
    assert_int_equal(mkfifo(path, 0666), 0); /* must not wait for a writer */
    assert_int_equal(heed_wisdom_load(context, path, NULL, NULL), HEED_ERR_SYSTEM);
    assert_message("/wisdom: cannot read: not a regular file");
    heed_context_destroy(context);
}

static void test_bad_files(void **state)
{
    char path[SCRATCH_PATH_SIZE], text[4096];
    heed_context *context = make_context(2);
    scratch_path(state, "wisdom", path);
    scratch_write(path, "", 0);
    assert_int_equal(heed_wisdom_load(context, path, NULL, NULL), HEED_ERR_CORRUPT);
    assert_message("/wisdom: line 1: not heed wisdom");

    size_t length = heed_wisdom_export(context, text, sizeof text);
    text[length - 30] = '\0'; /* must not be taken for the end of the text */
    scratch_write(path, text, length);
    assert_int_equal(heed_wisdom_load(context, path, NULL, NULL), HEED_ERR_CORRUPT);
    assert_message("/wisdom: line 3: ");

    assert_int_equal(truncate(path, (16 << 20) + 1), 0);
    assert_int_equal(heed_wisdom_load(context, path, NULL, NULL), HEED_ERR_CORRUPT);
    assert_message("/wisdom: more than the 16777216 bytes that wisdom may have");
    heed_context_destroy(context);
}

static void test_null_is_refused(void **state)
{
    heed_context *context = make_context(0);
    assert_int_equal(heed_wisdom_load(NULL, "x", NULL, NULL), HEED_ERR_INVALID);
    assert_int_equal(heed_wisdom_load(context, NULL, NULL, NULL), HEED_ERR_INVALID);
    assert_int_equal(heed_wisdom_save(NULL, "x"), HEED_ERR_INVALID);
    assert_int_equal(heed_wisdom_save(context, NULL), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "path is NULL");
    heed_context_destroy(context);
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_a_file_comes_back, test_links_and_pipes_stay,
               test_permissions_are_those_of_a_new_file, test_a_full_disk_leaves_the_old_file,
               test_places_that_cannot_be_written, test_files_that_cannot_be_read, test_bad_files,
               test_null_is_refused)
