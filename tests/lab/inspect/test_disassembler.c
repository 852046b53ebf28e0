/*
 * test_disassembler.c - search for a disassembler, and its invocation
 */
#include "run_tests.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "inspect/disassembler.h"

static char root[64];

/* An empty directory, and an environment that names no other place. */
static int begin(void **state)
{
    static const char *const variables[] = { "HEED_NVDISASM", "CUDA_HOME", "CUDA_PATH",
                                             "VIRTUAL_ENV", "CONDA_PREFIX" };
    strcpy(root, "/tmp/heed-disassembler-XXXXXX");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    if (!mkdtemp(root))
        return -1;
    setenv("HOME", root, 1);
    setenv("PATH", root, 1);
    return 0;
}

static int end(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "/bin/rm -rf '%s'", root);
    return system(command); /* NOLINT(cert-env33-c) */
}

/* Makes the file @name below the directory, and its parent directories. */
static void make(const char *name, int mode)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("#!/bin/sh\n", file);
    fclose(file);
    assert_int_equal(chmod(path, (mode_t)mode), 0);
}

static void point(const char *variable, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, name);
    setenv(variable, path, 1);
}

static void assert_found(const char *name, const char *place, bool object_tool)
{
    char path[PATH_MAX];
    lab_disassembler tool;
    lab_error error = { "" };
    if (lab_disassembler_find(&tool, &error) != HEED_OK)
        fail_msg("%s", error.text);
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_string_equal(tool.path, path);
    assert_string_equal(tool.place, place);
    assert_int_equal(tool.object_tool, object_tool);
}

static void test_the_wish_comes_first(void **state)
{
    lab_disassembler tool;
    lab_error error = { "" };
    make("nvdisasm", 0700);
    make("mine/nvdisasm-13", 0700);
    make("mine/cuobjdump", 0700);
    assert_found("nvdisasm", "PATH", false);
    point("HEED_NVDISASM", "mine/nvdisasm-13");
    assert_found("mine/nvdisasm-13", "HEED_NVDISASM", false);
    point("HEED_NVDISASM", "mine/cuobjdump");
    assert_found("mine/cuobjdump", "HEED_NVDISASM", true);
    setenv("HEED_NVDISASM", "", 1);
    assert_found("nvdisasm", "PATH", false);
    point("HEED_NVDISASM", "mine"); /* a directory: an error, and no other place is tried */
    assert_int_equal(lab_disassembler_find(&tool, &error), HEED_ERR_DEVICE);
    assert_non_null(strstr(error.text, "/mine is not a program"));
}

static void test_places(void **state)
{
    make("cuda/bin/nvdisasm", 0700);
    point("CUDA_HOME", "cuda");
    assert_found("cuda/bin/nvdisasm", "CUDA_HOME", false);
    unsetenv("CUDA_HOME");

    make("venv/lib/python3.11/site-packages/nvidia/cu13/bin/nvdisasm", 0700);
    point("VIRTUAL_ENV", "venv");
    assert_found("venv/lib/python3.11/site-packages/nvidia/cu13/bin/nvdisasm", "VIRTUAL_ENV",
                 false);
    unsetenv("VIRTUAL_ENV");

    make("python/bin/python3", 0700);
    make("python/lib/python3.9/site-packages/triton/backends/nvidia/bin/nvdisasm", 0700);
    point("PATH", "python/bin");
    assert_found("python/lib/python3.9/site-packages/triton/backends/nvidia/bin/nvdisasm",
                 "python3", false);
    make("python/lib/python3.9/site-packages/nvidia/cuda_nvdisasm/bin/nvdisasm", 0700);
    assert_found("python/lib/python3.9/site-packages/nvidia/cuda_nvdisasm/bin/nvdisasm", "python3",
                 false);

    make("bin/nvdisasm", 0600); /* not executable */
    point("PATH", "bin");
    make(".local/lib/python3.12/site-packages/nvidia/cu13/bin/nvdisasm", 0700);
    assert_found(".local/lib/python3.12/site-packages/nvidia/cu13/bin/nvdisasm",
                 "python3 of the user", false);
}

/* cuobjdump runs nvdisasm for the code: it is used only if nvdisasm is not found by itself. */
static void test_the_second_choice(void **state)
{
    lab_disassembler tool;
    lab_error error = { "" };
    if (lab_disassembler_find(&tool, &error) == HEED_OK) {
        print_message("skipped: this machine has one in %s\n", tool.place);
        skip();
    }
    assert_non_null(strstr(error.text, "pip install nvidia-cuda-nvdisasm"));
    assert_non_null(strstr(error.text, "HEED_NVDISASM"));
    make("cuobjdump", 0700);
    assert_found("cuobjdump", "PATH", true);
    make(".local/lib/python3.12/site-packages/nvidia/cu13/bin/nvdisasm", 0700);
    assert_found(".local/lib/python3.12/site-packages/nvidia/cu13/bin/nvdisasm",
                 "python3 of the user", false);
}

/* Wildcards in a name are literal. */
static void test_odd_names(void **state)
{
    make("a[b]*c/bin/nvdisasm", 0700);
    point("CUDA_PATH", "a[b]*c");
    assert_found("a[b]*c/bin/nvdisasm", "CUDA_PATH", false);
}

static void test_arguments(void **state)
{
    const char *arguments[LAB_DISASSEMBLER_ARGUMENTS];
    lab_disassembler tool = { .path = "/x/nvdisasm" };
    lab_disassembler_arguments(&tool, "k.cubin", arguments);
    assert_string_equal(arguments[0], "/x/nvdisasm");
    assert_string_equal(arguments[1], "-c");
    assert_string_equal(arguments[2], "k.cubin");
    assert_null(arguments[3]);
    tool.object_tool = true;
    lab_disassembler_arguments(&tool, "k.cubin", arguments);
    assert_string_equal(arguments[1], "-sass");
}

RUN_TESTS_EACH(begin, end, test_the_wish_comes_first, test_places, test_the_second_choice,
               test_odd_names, test_arguments)
