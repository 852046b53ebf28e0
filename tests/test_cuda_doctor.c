/*
 * test_cuda_doctor.c - what `heed doctor` says of drivers, GPUs and tools that are there or not
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "
#define BARE                                                                             \
    "env -u HEED_LIBCUDA -u HEED_NVRTC -u HEED_NVML -u HEED_NVDISASM -u HEED_DEVICE -u " \
    "HEED_PYTHON "                                                                       \
    "-u CUDA_HOME -u CUDA_PATH HEED_CACHE=/dev/null PATH=/usr/bin:/bin "

/* A machine made of settings; the exit status of the doctor there, and what he says and does not
 * say. */
static const struct {
    const char *settings;
    int status;
    const char *said[8];
    const char *unsaid[4];
} cases[] = {
    /* nothing there is no failure, unless it is asked for */
    { "HEED_LIBCUDA=/nowhere",
      0,
      { "WARN  driver", "/nowhere", "unset HEED_LIBCUDA" },
      { "FAIL" } },
    { "HEED_LIBCUDA=/nowhere HEED_DEVICE=cuda", 3, { "FAIL  driver", "/nowhere" }, { "" } },
    { "HEED_NVRTC=/nowhere", 3, { "FAIL  NVRTC", "/nowhere", "unset HEED_NVRTC" }, { "" } },
    { FAKE "FAKE_CUDA_DEVICES=0",
      0,
      { "WARN  driver", "sees no GPU", "--gpus all" },
      { "cuda:0" } },
    { FAKE "FAKE_CUDA_DRIVER=11040", 0, { "for CUDA 11.4", "12.0 or later" }, { "cuda:0" } },
    /* a compiler that is newer than the driver, and one that is not */
    { FAKE "FAKE_CUDA_DRIVER=12080",
      3,
      { "WARN  NVRTC", "driver for CUDA 12.8 may refuse", "nvidia-cuda-nvrtc-cu12",
        "Update the driver" },
      { "" } },
    { FAKE "FAKE_CUDA_DRIVER=13010", 3, { "OK  NVRTC", "for CUDA 13.1" }, { "may refuse" } },
    /* a GPU that is too old */
    { FAKE "FAKE_CUDA_ARCH=75",
      0,
      { "WARN  cuda:0", "Imaginary GPU 0", "capability 7.5", "8.0 or later" },
      { "known answer could", "FAIL" } },
    /* two that will do, and are busy */
    { FAKE "FAKE_CUDA_DEVICES=2",
      3, /* the driver runs no code, so no answer comes out right */
      { "for CUDA 13.0", "of driver 999.99", "cuda:1", "132 multiprocessors", "2 processes compute",
        "power cap, thermal", "1755 MHz, memory 3201 MHz, 654 W, 51 C" },
      { "cuda:2" } },
    /* tools, found on PATH, beside CUDA, and not at all */
    { FAKE "PATH=$PWD/bin:/usr/bin:/bin CUDA_HOME=$PWD/cuda",
      3,
      { "bin/ncu", "cuda/bin/nvdisasm", "2.11.0+cu130, CUDA 13.0, /opt/a folder/torch" },
      { "no hardware counters" } },
    { FAKE "HEED_PYTHON=/nowhere/python", 3, { "WARN  torch", "HEED_PYTHON names" }, { "" } },
};

static void write_program(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

/* Runs the doctor under @settings; returns his exit status and writes what he says to @out. */
static int run_doctor(const char *settings, char *out, size_t size)
{
    char command[2048];
    snprintf(command, sizeof command, BARE "%s '%s' doctor --no-rivals 2>&1", settings,
             HEED_PROGRAM);
    FILE *program = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(program);
    size_t length = fread(out, 1, size - 1, program);
    out[length] = '\0';
    int status = pclose(program);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Is @words in @text, where one blank in @words stands for any number? */
static bool says(const char *text, const char *words)
{
    for (; *text; text++) {
        const char *t = text, *w = words;
        while (*w && *w == *t) {
            bool blank = *w == ' ';
            for (w++, t++; blank && *w == ' '; w++) {
            }
            for (; blank && *t == ' '; t++) {
            }
        }
        if (!*w)
            return true;
    }
    return false;
}

static void test_machines(void **state)
{
    static char out[16384];
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = run_doctor(cases[i].settings, out, sizeof out);
        bool right = status == cases[i].status;
        for (int k = 0; k < 8 && cases[i].said[k]; k++)
            right &= says(out, cases[i].said[k]);
        for (int k = 0; k < 4 && cases[i].unsaid[k] && *cases[i].unsaid[k]; k++)
            right &= !says(out, cases[i].unsaid[k]);
        if (!right)
            fprintf(stderr, "%s gave %d and\n%s\n", cases[i].settings, status, out);
        wrong += !right;
    }
    assert_int_equal(wrong, 0);
}

/* What is said where there is nothing, and nothing is set. */
static void test_no_gpu(void **state)
{
    static char out[16384];
    if (access("/proc/driver/nvidia/version", F_OK) == 0)
        skip();
    assert_int_equal(run_doctor("", out, sizeof out), 0);
    assert_true(says(out, "OK driver"));
    assert_true(says(out, "uses the CPU"));
    assert_false(says(out, "FAIL"));
    assert_false(says(out, "not found: no")); /* nor a word about tools */
    assert_int_equal(run_doctor("HEED_DEVICE=cuda:3", out, sizeof out), 3);
    assert_true(says(out, "FAIL driver HEED_DEVICE asks for a GPU"));
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_machines),
                                        cmocka_unit_test(test_no_gpu) };
    char folder[] = "/tmp/heed-test-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    if (mkdir("bin", 0755) || mkdir("cuda", 0755) || mkdir("cuda/bin", 0755))
        return 1;
    write_program("bin/ncu", "exit 0");
    write_program("cuda/bin/nvdisasm", "exit 0");
    write_program("bin/python3", "echo '2.11.0+cu130 13.0 /opt/a folder/torch'");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return failed;
}
