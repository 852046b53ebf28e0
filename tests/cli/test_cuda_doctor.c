/*
 * test_cuda_doctor.c - `heed doctor` with and without drivers, GPUs and tools
 */
#include "run_tests.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "run_heed.h"
#include "scratch.h"

#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "
#define BARE                                                                             \
    "env -u HEED_LIBCUDA -u HEED_NVRTC -u HEED_NVML -u HEED_NVDISASM -u HEED_DEVICE -u " \
    "HEED_PYTHON "                                                                       \
    "-u CUDA_HOME -u CUDA_PATH HEED_CACHE=/dev/null PATH=/usr/bin:/bin "

/* A machine simulated by settings; the doctor's exit status, and text that it must and must not
 * print. */
static const struct {
    const char *settings;
    int status;
    const char *said[8];
    const char *unsaid[4];
} cases[] = {
    /* missing CUDA is not a failure, unless it is requested */
    { "HEED_LIBCUDA=/nowhere",
      0,
      { "WARN  driver", "/nowhere", "unset HEED_LIBCUDA" },
      { "FAIL" } },
    { "HEED_DEVICE=gpu", 3, { "FAIL  device", "HEED_DEVICE is \"gpu\"; it must be cpu" }, { "" } },
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
    /* precompiled kernels */
    { FAKE "HEED_CUBINS=$PWD/cubins",
      3,
      { "OK  kernels", "compiled by NVRTC 12.9, in", "/cubins" },
      { "FAIL  NVRTC" } },
    { FAKE "HEED_CUBINS=$PWD/bin", 3, { "OK  NVRTC" }, { "kernels  compiled" } },
    /* a GPU that is too old */
    { FAKE "FAKE_CUDA_ARCH=75",
      0,
      { "WARN  cuda:0", "Imaginary GPU 0", "capability 7.5", "8.0 or later" },
      { "known answer could", "FAIL" } },
    /* two that are suitable, and busy */
    { FAKE "FAKE_CUDA_DEVICES=2",
      3, /* the driver runs no code, so no result is right */
      { "for CUDA 13.0", "of driver 999.99", "cuda:1", "132 multiprocessors", "2 processes compute",
        "power cap, thermal", "1755 MHz, memory 3201 MHz, 654 W, 51 C" },
      { "cuda:2" } },
    /* tools found on PATH, next to CUDA, and not at all */
    { FAKE "PATH=$PWD/bin:/usr/bin:/bin CUDA_HOME=$PWD/cuda",
      3,
      { "bin/ncu", "cuda/bin/nvdisasm", "2.11.0+cu130, CUDA 13.0, /opt/a folder/torch" },
      { "no hardware counters" } },
    { FAKE "HEED_PYTHON=/nowhere/python", 3, { "WARN  torch", "HEED_PYTHON names" }, { "" } },
};

/* Runs the doctor under @settings, in a directory that simulates the machine. */
static int run_doctor(void **state, const char *settings, heed_said *said)
{
    static const run_heed_way way = { HEED_PROGRAM, NULL };
    char line[2048];
    snprintf(line, sizeof line, BARE "%s '%s' doctor --no-rivals 2>&1", settings, HEED_PROGRAM);
    run_heed(state, &way, line, said);
    return said->code;
}

/* Returns whether @words are in @text, where a blank in @words matches any number of blanks, and a
 * line break. */
static bool says(const char *text, const char *words)
{
    for (; *text; text++) {
        const char *t = text, *w = words;
        while (*w && (*w == *t || (*w == ' ' && *t == '\n'))) {
            bool blank = *w == ' ';
            for (w++, t++; blank && *w == ' '; w++) {
            }
            for (; blank && (*t == ' ' || *t == '\n'); t++) {
            }
        }
        if (!*w)
            return true;
    }
    return false;
}

static void test_machines(void **state)
{
    static heed_said said;
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = run_doctor(state, cases[i].settings, &said);
        bool right = status == cases[i].status;
        for (int k = 0; k < 8 && cases[i].said[k]; k++)
            right &= says(said.out, cases[i].said[k]);
        for (int k = 0; k < 4 && cases[i].unsaid[k] && *cases[i].unsaid[k]; k++)
            right &= !says(said.out, cases[i].unsaid[k]);
        if (!right)
            fprintf(stderr, "%s gave %d and\n%s\n", cases[i].settings, status, said.out);
        wrong += !right;
    }
    assert_int_equal(wrong, 0);
}

/* The report without CUDA and without settings. */
static void test_no_gpu(void **state)
{
    static heed_said said;
    if (access("/proc/driver/nvidia/version", F_OK) == 0)
        skip();
    assert_int_equal(run_doctor(state, "", &said), 0);
    assert_true(says(said.out, "OK driver"));
    assert_true(says(said.out, "uses the CPU"));
    assert_false(says(said.out, "FAIL"));
    assert_false(says(said.out, "not found: no")); /* nothing about tools either */
    assert_int_equal(run_doctor(state, "HEED_DEVICE=cuda:3", &said), 3);
    assert_true(says(said.out, "FAIL driver HEED_DEVICE asks for a GPU"));
}

static int open_machine(void **state)
{
    static const run_heed_way way = { HEED_PROGRAM, NULL };
    if (scratch_open(state) != 0)
        return -1;
    run_heed_must(state, &way, "mkdir -p bin cubins cuda/bin", 0);
    scratch_text_write(state, "cubins/compiler", "NVRTC 12.9\n");
    scratch_script_write(state, "bin/ncu", "#!/bin/sh\nexit 0\n");
    scratch_script_write(state, "cuda/bin/nvdisasm", "#!/bin/sh\nexit 0\n");
    scratch_script_write(state, "bin/python3",
                         "#!/bin/sh\necho '2.11.0+cu130 13.0 /opt/a folder/torch'\n");
    return 0;
}

RUN_TESTS_WITHIN(open_machine, scratch_close, test_machines, test_no_gpu)
