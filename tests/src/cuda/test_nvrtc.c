/*
 * test_nvrtc.c - search paths for NVRTC, and the choice among several
 *
 * The search is tested in child processes, because an NVRTC that is already loaded is found first.
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit_scene.h"
#include "scratch.h"

/* Runs @body in a separate process. It checks with require(). */
static void in_child(void (*body)(const char *folder), const char *folder)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        body(folder);
        _exit(0);
    }
    assert_true(child > 0);
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "not so: %s (%s)\n", what, heed_message());
    _exit(1);
}

static void child_refuses_a_bad_name(const char *folder)
{
    static const char *const names[] = { "/no/such/file", "/etc/passwd", "/dev/null", "libm.so.6" };
    heed_nvrtc nvrtc;
    heed_nvrtc_search search;
    (void)folder;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("HEED_NVRTC", names[i], 1);
        require(heed_nvrtc_load(&nvrtc, &search) == HEED_ERR_DEVICE, "it is refused");
        require(strstr(heed_message(), "HEED_NVRTC") && strstr(heed_message(), names[i]),
                "the message names variable and value");
        require(search.count == 1 && !nvrtc.library, "no other place was tried");
    }
    const heed_nvrtc *process;
    require(heed_nvrtc_get(&process) == HEED_ERR_DEVICE && !process, "the process has none");
    setenv("HEED_NVRTC", "", 1);
    require(heed_nvrtc_get(&process) == HEED_ERR_DEVICE && strstr(heed_message(), "libm.so.6"),
            "nor later, for the same reason");
    heed_cubin cubin;
    const heed_build build = jit_scene_build(80);
    require(heed_jit_build_text(&build, jit_scene_text, &cubin) == HEED_ERR_DEVICE,
            "nothing is compiled");
    heed_cubin_free(&cubin);
}

static void test_a_bad_HEED_NVRTC_is_an_error(void **state)
{
    in_child(child_refuses_a_bad_name, *state);
}

/* Returns whether @place was tried, at a path that contains @part. */
static bool tried(const heed_nvrtc_search *search, const char *place, const char *part)
{
    for (int i = 0; i < search->count; i++)
        if (strcmp(search->tries[i].place, place) == 0 && strstr(search->tries[i].path, part))
            return true;
    return false;
}

static void child_looks_everywhere(const char *folder)
{
    char path[PATH_MAX];
    heed_nvrtc nvrtc;
    heed_nvrtc_search search;
    unsetenv("HEED_NVRTC");
    setenv("VIRTUAL_ENV", "/none/v[e]nv", 1); /* a name is not a pattern */
    setenv("CONDA_PREFIX", "/none/conda", 1);
    setenv("CUDA_HOME", folder, 1);
    snprintf(path, sizeof path, "%s/lib64", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/lib64/libnvrtc.so.12", folder);
    FILE *file = fopen(path, "w");
    require(file && fputs("no library", file) >= 0 && fclose(file) == 0, "a file can be made");
    heed_status status = heed_nvrtc_load(&nvrtc, &search);
    unlink(path);
    snprintf(path, sizeof path, "%s/lib64", folder);
    rmdir(path);
    require(status == HEED_OK || strstr(heed_message(), "pip install"), "none: says what to do");
    require(strcmp(search.tries[0].place, "this process") == 0, "a loaded library comes first");
    if (status == HEED_OK && strcmp(nvrtc.place, "this process") != 0)
        require(strncmp(nvrtc.path, "/", 1) == 0, "the path of the file is known");
    require(tried(&search, "VIRTUAL_ENV", "/none/v\\[e]nv/lib/python3"), "VIRTUAL_ENV");
    require(tried(&search, "CONDA_PREFIX", "/none/conda/lib/python3"), "CONDA_PREFIX");
    if (status != HEED_OK || strncmp(nvrtc.place, "python3", 7) != 0)
        require(tried(&search, "CUDA_HOME", "/lib64/libnvrtc.so.12"), "CUDA_HOME");
}

static void test_every_place_is_tried(void **state)
{
    in_child(child_looks_everywhere, *state);
}

static void child_takes_the_one_it_has(const char *folder)
{
    heed_nvrtc one, other;
    heed_nvrtc_search search;
    (void)folder;
    if (heed_nvrtc_load(&one, &search) != HEED_OK)
        return;
    require(heed_nvrtc_load(&other, &search) == HEED_OK, "it is found again");
    require(strcmp(other.place, "this process") == 0, "as one that is loaded");
    require(strcmp(one.path, other.path) == 0 && one.compile == other.compile, "and the same");
    setenv("HEED_NVRTC", one.path, 1);
    require(heed_nvrtc_load(&other, &search) == HEED_OK, "it can be named");
    require(strcmp(other.place, "HEED_NVRTC") == 0, "HEED_NVRTC comes first");
}

static void test_a_loaded_one_is_taken(void **state)
{
    in_child(child_takes_the_one_it_has, *state);
}

static void test_nvrtc_says_what_it_is(void **state)
{
    const heed_nvrtc *nvrtc = jit_scene_compiler();
    assert_true(nvrtc->major >= 11);
    assert_true(nvrtc->file_size > 0);
    assert_true(jit_scene_supports(nvrtc, 80));
    assert_false(jit_scene_supports(nvrtc, 81));
    heed_nvrtc again;
    heed_nvrtc_search search;
    assert_int_equal(heed_nvrtc_load(&again, &search), HEED_OK);
    assert_true(search.count > 0);
    assert_string_equal(search.tries[search.count - 1].path, nvrtc->path);
}

int main(void)
{
    /* Child processes first, before an NVRTC is loaded. */
    return run_test_list(TEST_LIST_EACH(jit_scene_open, scratch_close,
                                        test_a_bad_HEED_NVRTC_is_an_error,
                                        test_every_place_is_tried, test_a_loaded_one_is_taken,
                                        test_nvrtc_says_what_it_is),
                         NULL, NULL);
}
