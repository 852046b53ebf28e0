/*
 * test_cubin.c - the resource usage of a compiled kernel, from its file and from the assembler's
 * log
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/driver/nvrtc.h"
#include "cuda/jit.h"
#include "inspect/cubin.h"
#include "scratch.h"

#define CORPUS HEED_SOURCE_DIR "/tests/fuzz/corpus/cubin/"

static size_t read_corpus(const char *name, unsigned char *data, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, CORPUS "%s", name);
    return scratch_read(path, data, size);
}

static lab_cubin cubin_of(const char *name)
{
    unsigned char data[4096];
    lab_cubin cubin;
    lab_error error;
    size_t size = read_corpus(name, data, sizeof data);
    assert_int_equal(lab_cubin_read(&cubin, data, size, "x", &error), HEED_OK);
    return cubin;
}

/* -------------------------------------------------------------------------- */
/* Files of known content                                                     */
/* -------------------------------------------------------------------------- */

static void test_an_older_file_is_read(void **state)
{
    lab_cubin cubin = cubin_of("sm80_old");
    assert_int_equal(cubin.arch, 80);
    assert_string_equal(cubin.compiler, "");
    assert_int_equal(cubin.count, 1);
    const lab_cubin_kernel *kernel = cubin.kernels;
    assert_string_equal(kernel->name, "attend");
    assert_int_equal(kernel->registers, 168);
    assert_int_equal(kernel->stack, 0);
    assert_int_equal(kernel->smem, 320);
    assert_int_equal(kernel->max_threads, 128);
    assert_int_equal(kernel->barriers, 3);
    assert_int_equal(kernel->params, 48);
    assert_int_equal(kernel->constant, 400);
    assert_int_equal(kernel->code, 128);
    assert_int_equal(kernel->spill_stores, -1);
    lab_cubin_free(&cubin);
}

static void test_a_newer_file_is_read(void **state)
{
    lab_cubin cubin = cubin_of("sm90_new");
    assert_int_equal(cubin.arch, 90);
    assert_int_equal(cubin.count, 2);
    assert_string_equal(cubin.kernels[1].name, "two");
    assert_int_equal(cubin.kernels[1].registers, 255);
    assert_int_equal(cubin.kernels[1].stack, 16);
    assert_int_equal(cubin.kernels[1].smem, 0); /* 1024 bytes of it are reserved by the system */
    lab_cubin_free(&cubin);
}

/* Code that was compiled for blocks of a fixed shape has the number of threads in another attribute
 * than launch bounds; the launch bounds are converted to it here. */
static void test_a_required_shape_is_read(void **state)
{
    static const unsigned char bounds[] = { 0x04, 0x05, 0x0c, 0x00 };
    unsigned char data[4096];
    lab_cubin cubin;
    lab_error error;
    size_t size = read_corpus("sm80_old", data, sizeof data);
    unsigned char *at = memmem(data, size, bounds, sizeof bounds);
    assert_non_null(at);
    assert_int_equal(lab_cubin_read(&cubin, data, size, "x", &error), HEED_OK);
    int threads = cubin.kernels[0].max_threads;
    assert_int_equal(cubin.kernels[0].shape[0], 0);
    lab_cubin_free(&cubin);
    at[1] = 0x10;
    at[8] = 4;
    assert_int_equal(lab_cubin_read(&cubin, data, size, "x", &error), HEED_OK);
    assert_int_equal(cubin.kernels[0].max_threads, threads * 4);
    assert_int_equal(cubin.kernels[0].shape[0], threads);
    assert_int_equal(cubin.kernels[0].shape[1], 4);
    assert_int_equal(cubin.kernels[0].shape[2], 1);
    lab_cubin_free(&cubin);
    at[4] = 0; /* no threads at all: ignored */
    assert_int_equal(lab_cubin_read(&cubin, data, size, "x", &error), HEED_OK);
    assert_int_equal(cubin.kernels[0].shape[1], 0);
    lab_cubin_free(&cubin);
}

/* Replaces @from in @data. */
static void patch(unsigned char *data, size_t size, const char *from, const char *to)
{
    unsigned char *at = memmem(data, size, from, strlen(from));
    assert_non_null(at);
    memcpy(at, to, strlen(to));
}

/* Debug code: the kilobyte reserved by the system has a symbol but no section. */
static void test_a_reserve_without_a_section(void **state)
{
    static const char symbol[] = ".nv.reservedSmem.offset0";
    unsigned char data[4096];
    lab_cubin cubin;
    lab_error error;
    size_t size = read_corpus("sm90_new", data, sizeof data);
    patch(data, size, ".nv.shared.reserved", ".nv.shared.otherwise");
    for (int step = 0; step < 3; step++) { /* neither; a symbol; a symbol, but not yet linked */
        data[16] = step == 2 ? 1 : 2;
        if (step == 1) {
            memcpy(data + size, symbol, sizeof symbol);
            size += sizeof symbol;
        }
        assert_int_equal(lab_cubin_read(&cubin, data, size, "x", &error), HEED_OK);
        assert_int_equal(cubin.kernels[1].smem, step == 1 ? 0 : 1024);
        lab_cubin_free(&cubin);
    }
}

/* Relocatable code has sections of another type that occupy no space in the file. */
static void test_code_that_is_to_be_linked(void **state)
{
    static const unsigned char empty[] = { 8, 0, 0, 0 }, shared[] = { 0x0a, 0, 0, 0x70 };
    unsigned char data[4096];
    lab_cubin cubin;
    lab_error error;
    size_t size = read_corpus("sm80_old", data, sizeof data);
    size_t table = (size_t)data[40] | (size_t)data[41] << 8, entry = table;
    while (entry + 64 <= size && memcmp(data + entry + 4, empty, sizeof empty) != 0)
        entry += 64;
    assert_true(entry + 64 <= size);
    memcpy(data + entry + 4, shared, sizeof shared);
    memset(data + entry + 24, 0x7f, 3); /* its offset, far past the end of the file */
    assert_int_equal(lab_cubin_read(&cubin, data, size, "x", &error), HEED_OK);
    assert_int_equal(cubin.kernels[0].smem, 320);
    lab_cubin_free(&cubin);
}

static void test_spills_are_in_the_log(void **state)
{
    static const char log[] =
        "ptxas info    : Function properties for two\n"
        "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Function properties for three\n"
        "ptxas         .     16 bytes stack frame, 1 bytes spill stores, 1 bytes spill loads\n"
        "ptxas info    : Function properties for one";
    lab_cubin cubin = cubin_of("sm90_new");
    lab_cubin_spills(&cubin, log);
    assert_int_equal(cubin.kernels[0].spill_stores, -1);
    assert_int_equal(cubin.kernels[1].spill_stores, 8);
    assert_int_equal(cubin.kernels[1].spill_loads, 12);
    lab_cubin_spills(&cubin, "");
    assert_int_equal(cubin.kernels[1].spill_stores, 8);
    lab_cubin_free(&cubin);
}

static void assert_refused(const char *name, heed_status status, const char *words)
{
    unsigned char data[4096];
    lab_cubin cubin;
    lab_error error = { "" };
    size_t size = read_corpus(name, data, sizeof data);
    assert_int_equal(lab_cubin_read(&cubin, data, size, "x.cubin", &error), status);
    if (!strstr(error.text, words) || strncmp(error.text, "x.cubin: ", 9) != 0)
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    assert_int_equal(cubin.count, 0);
    assert_null(cubin.kernels);
}

static void test_other_files_are_refused(void **state)
{
    assert_refused("empty", HEED_ERR_CORRUPT, "not an ELF file");
    assert_refused("other_machine", HEED_ERR_UNSUPPORTED, "machine 62");
    assert_refused("cut", HEED_ERR_CORRUPT, "outside the file");
    assert_refused("far_table", HEED_ERR_CORRUPT, "table of sections is outside the file");
}

/* With any byte changed, nothing outside the file is read: the copy has exactly its size, so that
 * sanitizers detect it. */
static void test_damage_is_survived(void **state)
{
    unsigned char whole[4096];
    lab_cubin cubin;
    size_t size = read_corpus("sm90_new", whole, sizeof whole);
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit += 7) {
            unsigned char *data = malloc(size);
            assert_non_null(data);
            memcpy(data, whole, size);
            data[at] ^= (unsigned char)(1 << bit);
            if (lab_cubin_read(&cubin, data, size, "x", NULL) == HEED_OK)
                lab_cubin_free(&cubin);
            free(data);
        }
    for (size_t length = 1; length < size; length++) {
        unsigned char *data = malloc(length);
        assert_non_null(data);
        memcpy(data, whole, length);
        assert_int_not_equal(lab_cubin_read(&cubin, data, length, "x", NULL), HEED_OK);
        free(data);
    }
}

/* -------------------------------------------------------------------------- */
/* Files written by the compiler                                              */
/* -------------------------------------------------------------------------- */

/* The first kernel keeps its array in registers; the second needs a stack, spills, and uses shared
 * memory. */
static const char source[] =
    "extern \"C\" __global__ void __launch_bounds__(96) lean(float *x) {\n"
    "    float a[24];\n"
    "    _Pragma(\"unroll\") for (int i = 0; i < 24; i++) a[i] = x[i * threadIdx.x];\n"
    "    __syncthreads();\n"
    "    _Pragma(\"unroll\") for (int i = 0; i < 24; i++) x[i + threadIdx.x] = a[i];\n"
    "}\n"
    "extern \"C\" __global__ void fat(float *x, int n) {\n"
    "    __shared__ float shared[77];\n"
    "    float a[64];\n"
    "    _Pragma(\"unroll\") for (int i = 0; i < 64; i++) a[i] = x[i * threadIdx.x];\n"
    "    shared[threadIdx.x] = x[0];\n"
    "    __syncthreads();\n"
    "    _Pragma(\"unroll\") for (int i = 0; i < 64; i++)\n"
    "        x[i + threadIdx.x] = a[i] + a[(int)x[i] & 63] + shared[i] + n;\n"
    "}\n";

/* Returns the number before @words on the line after "Function properties for @name" or up to two
 * lines later; 0 if absent. */
static long long said(const char *log, const char *name, const char *words)
{
    char head[64], text[256];
    snprintf(head, sizeof head, "Function properties for %s\n", name);
    const char *at = strstr(log, head);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s", (int)sizeof text - 1, at + strlen(head));
    char *frame = strchr(text, '\n'), *used = frame ? strchr(frame + 1, '\n') : NULL;
    assert_non_null(frame);
    if (used)
        *used = '\0';
    char *found = strstr(text, words);
    if (!found)
        return 0;
    while (found > text && found[-1] >= '0' && found[-1] <= '9')
        found--;
    return atoll(found);
}

static void check_kernel(const lab_cubin_kernel *kernel, const char *log)
{
    assert_int_equal(kernel->registers, said(log, kernel->name, " registers"));
    assert_int_equal(kernel->stack, said(log, kernel->name, " bytes stack frame"));
    assert_int_equal(kernel->spill_stores, said(log, kernel->name, " bytes spill stores"));
    assert_int_equal(kernel->spill_loads, said(log, kernel->name, " bytes spill loads"));
    assert_int_equal(kernel->barriers, said(log, kernel->name, " barriers"));
    assert_int_equal(kernel->smem, said(log, kernel->name, " bytes smem"));
    long long constant = said(log, kernel->name, " bytes cmem[0]");
    assert_true(constant == 0 || constant == kernel->constant);
    assert_true(kernel->code > 0 && kernel->code % 16 == 0);
}

/* @major is NVRTC's version; before 13, files did not contain the architecture. */
static void check_arch(int arch, int major)
{
    const heed_build build = { .source = "two.cu", .arch = arch, .registers = 32 };
    heed_cubin code;
    lab_cubin cubin;
    lab_error error = { "" };
    if (heed_jit_build_text(&build, source, &code) != HEED_OK)
        fail_msg("%s", heed_message());
    if (lab_cubin_read(&cubin, code.data, code.size, "two.cu", &error) != HEED_OK)
        fail_msg("%s", error.text);
    lab_cubin_spills(&cubin, code.log);
    assert_int_equal(cubin.arch, arch);
    if (major >= 13) {
        assert_int_equal(cubin.compiler[0], 'V');
        assert_int_equal(atoi(cubin.compiler + 1), major);
    }
    assert_int_equal(cubin.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const lab_cubin_kernel *kernel = &cubin.kernels[i];
        bool fat = strcmp(kernel->name, "fat") == 0;
        check_kernel(kernel, code.log);
        assert_int_equal(kernel->max_threads, fat ? 0 : 96);
        assert_int_equal(kernel->params, fat ? 12 : 8);
        assert_int_equal(kernel->smem, fat ? 308 : 0);
        assert_int_equal(kernel->stack > 0, fat);
        assert_int_equal(kernel->spill_stores > 0, fat);
    }
    lab_cubin_free(&cubin);
    heed_cubin_free(&code);
}

static void test_the_assembler_says_the_same(void **state)
{
    static const int archs[] = { 80, 86, 89, 90 };
    heed_cubin probe;
    const heed_build build = { .source = "probe.cu", .arch = 80 };
    setenv("HEED_CACHE_LIMIT", "0", 1);
    heed_status status = heed_jit_build_text(&build, "", &probe);
    heed_cubin_free(&probe);
    const heed_nvrtc *nvrtc;
    if (status == HEED_ERR_DEVICE) {
        print_message("skipped: %s\n", heed_message());
        skip();
    }
    assert_int_equal(heed_nvrtc_get(&nvrtc), HEED_OK);
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        check_arch(archs[i], nvrtc->major);
}

RUN_TESTS(test_an_older_file_is_read, test_a_newer_file_is_read, test_a_required_shape_is_read,
          test_a_reserve_without_a_section, test_code_that_is_to_be_linked,
          test_spills_are_in_the_log, test_other_files_are_refused, test_damage_is_survived,
          test_the_assembler_says_the_same)
