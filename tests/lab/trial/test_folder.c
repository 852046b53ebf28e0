/*
 * test_folder.c - temporary directories for compiler output: their location, and that they are
 * removed
 */
#include "run_tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/trial/compile/folder.h"
#include "scratch.h"

static bool make(char path[LAB_FOLDER_SIZE], const char *base)
{
    setenv("TMPDIR", base, 1);
    bool made = lab_folder_make(path, LAB_FOLDER_SIZE, "test");
    unsetenv("TMPDIR");
    return made;
}

static void expect_below(const char *base, const char *given)
{
    char path[LAB_FOLDER_SIZE];
    struct stat status;

    assert_true(make(path, given));
    assert_memory_equal(path, base, strlen(base));
    assert_memory_equal(path + strlen(base), "/heed-test-", 11);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    lab_folder_remove(path);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_place(void **state)
{
    char long_path[LAB_FOLDER_SIZE];

    memset(long_path, '/', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    expect_below(*state, *state);
    expect_below("/tmp", "");
    expect_below("/tmp", ".");
    expect_below("/tmp", long_path);
}

static void test_no_place(void **state)
{
    char path[LAB_FOLDER_SIZE] = "left";

    (void)state;
    assert_false(make(path, "/none"));
    assert_string_equal(path, "");
    lab_folder_remove(path);
}

/* Subdirectories are removed too; targets of symlinks stay. */
static void test_all_of_it_goes(void **state)
{
    char path[LAB_FOLDER_SIZE], outside[SCRATCH_PATH_SIZE], name[LAB_FOLDER_SIZE + 40];

    scratch_text_write(state, "stays", "here");
    assert_true(make(path, *state));
    snprintf(name, sizeof name, "%s/one", path);
    assert_int_equal(mkdir(name, 0700), 0);
    snprintf(name, sizeof name, "%s/one/two", path);
    assert_int_equal(mkdir(name, 0700), 0);
    snprintf(name, sizeof name, "%s/one/two/file", path);
    scratch_write(name, "text", 4);
    snprintf(name, sizeof name, "%s/one/link", path);
    assert_int_equal(symlink(*state, name), 0);
    lab_folder_remove(path);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(scratch_path(state, "stays", outside), F_OK), 0);
}

/* So are folders nested deeper than a path may be long, and those without permissions. */
static void test_deep_ones_go(void **state)
{
    char path[LAB_FOLDER_SIZE], name[LAB_FOLDER_SIZE + 40];
    int depth = 0;

    assert_true(make(path, *state));
    snprintf(name, sizeof name, "%s/closed", path);
    assert_int_equal(mkdir(name, 0700), 0);
    snprintf(name, sizeof name, "%s/closed/file", path);
    scratch_write(name, "text", 4);
    snprintf(name, sizeof name, "%s/closed", path);
    assert_int_equal(chmod(name, 0), 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    while (depth < 3000 && mkdirat(fd, "heed-moved-0", 0700) == 0) {
        int inner = openat(fd, "heed-moved-0", O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = inner;
        depth++;
    }
    close(fd);
    assert_int_equal(depth, 3000);
    lab_folder_remove(path);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    unsetenv("TMPDIR");
    return run_test_list(TEST_LIST_EACH(scratch_open, scratch_close, test_place, test_no_place,
                                        test_all_of_it_goes, test_deep_ones_go),
                         NULL, NULL);
}
