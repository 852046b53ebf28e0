/*
 * test_jit.c - kernels compiled on demand, if NVRTC is available
 */
#include "run_tests.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/append.h"
#include "cuda/prefix.h"
#include "cuda/sources.h"
#include "jit_scene.h"
#include "scratch.h"

static void assert_message(const char *words)
{
    if (!strstr(heed_message(), words))
        fail_msg("\"%s\" does not say \"%s\"", heed_message(), words);
}

static void assert_builds(const heed_build *build, const char *text, heed_cubin *cubin)
{
    if (heed_jit_build_text(build, text, cubin) != HEED_OK)
        fail_msg("%s", heed_message());
}

/* -------------------------------------------------------------------------- */
/* Embedded sources                                                           */
/* -------------------------------------------------------------------------- */

/* Every file in @folder of kernels/ ("", or a name and a slash) is embedded, as it was when the
 * library was built. Returns the number of files. */
static size_t carried_of(const char *folder) /* NOLINT(misc-no-recursion) */
{
    static char text[1 << 20];
    char path[PATH_MAX], name[PATH_MAX];
    size_t count = 0;
    snprintf(path, sizeof path, HEED_SOURCE_DIR "/src/cuda/kernels/%s", folder);
    DIR *opened = opendir(path);
    assert_non_null(opened);
    for (const struct dirent *item; (item = readdir(opened));) {
        heed_source source;
        const char *dot = strrchr(item->d_name, '.');
        if (*item->d_name == '.')
            continue;
        snprintf(name, sizeof name, "%s%s%s", folder, item->d_name, dot ? "" : "/");
        if (!dot) {
            count += carried_of(name);
            continue;
        }
        if (!heed_source_find(name, &source))
            fail_msg("%s has no row in src/cuda/sources.def", name);
        snprintf(path, sizeof path, HEED_SOURCE_DIR "/src/cuda/kernels/%s", name);
        assert_int_equal(scratch_read(path, text, sizeof text), source.size);
        assert_memory_equal(text, source.text, source.size);
        assert_int_equal(source.text[source.size], 0);
        assert_int_equal(heed_source_is_header(&source), strcmp(dot, ".cuh") == 0);
        count++;
    }
    closedir(opened);
    return count;
}

/* The same for the headers that kernels share with other folders of src/. */
static size_t shared_count(void)
{
    static char text[1 << 20];
    char path[PATH_MAX];
    heed_source source;
    size_t count = 0;
    for (size_t i = 0; heed_source_at(i, &source); i++) {
        snprintf(path, sizeof path, HEED_SOURCE_DIR "/src/cuda/kernels/%s", source.name);
        if (access(path, F_OK) == 0)
            continue;
        snprintf(path, sizeof path, HEED_SOURCE_DIR "/src/%s", source.name);
        assert_int_equal(scratch_read(path, text, sizeof text), source.size);
        assert_memory_equal(text, source.text, source.size);
        assert_true(heed_source_is_header(&source));
        count++;
    }
    return count;
}

static void test_every_device_source_is_carried(void **state)
{
    heed_source source;
    size_t count = carried_of("");
    assert_true(count > 0);
    assert_int_equal(shared_count(),
                     3); /* ablation.h, and interval.h and operations.h of problem/ */
    assert_true(heed_source_at(count + 2, &source));
    assert_false(heed_source_at(count + 3, &source));
    assert_false(heed_source_find("none.cu", &source));
}

/* -------------------------------------------------------------------------- */
/* Builds                                                                     */
/* -------------------------------------------------------------------------- */

static void test_each_architecture_gets_its_code(void **state)
{
    static const int archs[] = { 80, 86, 89, 90 };
    const heed_nvrtc *nvrtc = jit_scene_compiler();
    char target[16];
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        heed_cubin cubin;
        const heed_build build = jit_scene_build(archs[i]);
        assert_builds(&build, jit_scene_text, &cubin);
        assert_int_equal(cubin.ptx, !jit_scene_supports(nvrtc, archs[i]));
        assert_false(cubin.cached);
        assert_memory_equal(cubin.data, cubin.ptx ? "//" : "\177ELF", cubin.ptx ? 2 : 4);
        snprintf(target, sizeof target, "'sm_%d%s'", archs[i], archs[i] >= 90 ? "a" : "");
        assert_non_null(strstr(cubin.log, target));
        assert_non_null(strstr(cubin.log, "spill stores"));
        assert_int_equal(strlen(cubin.key), 64);
        heed_cubin_free(&cubin);
    }
}

static void expect_no_spills(const heed_build *build, const char *what)
{
    heed_cubin cubin;
    if (heed_jit_build(build, &cubin) != HEED_OK)
        fail_msg("%s: %s", what, heed_message());
    if (!cubin.ptx)
        assert_non_null(strstr(cubin.log, "0 bytes spill stores"));
    heed_cubin_free(&cubin);
}

/* append.cu, with the macros of every kind of problem. */
static void test_what_appends_compiles(void **state)
{
    static const char *const words[][2] = {
        { "", "" },
        { "", "rotary=16" },
        { "", "rotary=16:interleaved" },
        { "", "rotary=16 cos=bf16 sin=bf16" },
        { "", "rotary=16 varlen=1/0" },
        { "", "rotary=16:interleaved varlen=1/0" },
        { ":packed", "varlen=1/0" },
        { ":packed", "varlen=1/0 rotary=16" },
    };
    static const char *const types[] = { "f32", "f16", "bf16" };
    static const int archs[] = { 80, 90 };
    jit_scene_compiler();
    for (size_t i = 0; i < 8 * 3; i++) {
        heed_define defines[HEED_APPEND_DEFINES];
        heed_problem problem;
        char spec[96];
        snprintf(spec, sizeof spec, "b1 h1 s1/9 d16 %s lengths append=1%s %s", types[i % 3],
                 words[i / 3][0], words[i / 3][1]);
        assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
        const heed_build build = { .source = "append.cu",
                                   .defines = defines,
                                   .define_count = heed_cuda_append_defines(&problem, defines),
                                   .arch = archs[i % 2] };
        expect_no_spills(&build, spec);
    }
}

/* merge.cu, for every type. */
static void test_what_merges_compiles(void **state)
{
    static const int archs[] = { 80, 90 };
    jit_scene_compiler();
    for (int i = 0; i < 2 * HEED_TYPE_COUNT; i++) {
        heed_define defines[HEED_MERGE_DEFINES];
        const heed_build build = { .source = "merge.cu",
                                   .defines = defines,
                                   .define_count = heed_cuda_merge_defines((heed_type)(i / 2),
                                                                           defines),
                                   .arch = archs[i % 2] };
        expect_no_spills(&build, heed_type_name((heed_type)(i / 2)));
    }
}

static void test_the_second_time_is_cached(void **state)
{
    jit_scene_compiler();
    heed_cubin first, second;
    const heed_build build = jit_scene_build(80);
    assert_builds(&build, jit_scene_text, &first);
    assert_builds(&build, jit_scene_text, &second);
    assert_false(first.cached);
    assert_true(second.cached);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    assert_string_equal(first.log, second.log);
    assert_string_equal(first.key, second.key);
    print_message("compiled in %.1f ms, from the cache in %.2f ms\n", 1e3 * first.seconds,
                  1e3 * second.seconds);
    heed_cubin_free(&first);
    heed_cubin_free(&second);
}

static void test_a_fresh_build_is_compiled_each_time(void **state)
{
    jit_scene_compiler();
    heed_cubin cubin;
    heed_build build = jit_scene_build(80);
    build.fresh = true;
    for (int i = 0; i < 2; i++) {
        assert_builds(&build, jit_scene_text, &cubin);
        assert_false(cubin.cached);
        heed_cubin_free(&cubin);
    }
    build.fresh = false; /* it was not stored either */
    for (int i = 0; i < 2; i++) {
        assert_builds(&build, jit_scene_text, &cubin);
        assert_int_equal(cubin.cached, i);
        heed_cubin_free(&cubin);
    }
    build.fresh = true;
    assert_builds(&build, jit_scene_text, &cubin);
    assert_false(cubin.cached);
    heed_cubin_free(&cubin);
}

static void test_everything_is_part_of_the_key(void **state)
{
    jit_scene_compiler();
    static const heed_define factor_3[] = { { "FACTOR", 3 } };
    static const heed_define two[] = { { "FACTOR", 2 }, { "OTHER", -1 } };
    static const char *const texts[] = { jit_scene_text,
                                         jit_scene_text,
                                         jit_scene_text,
                                         jit_scene_text,
                                         jit_scene_text,
                                         jit_scene_text,
                                         "extern \"C\" __global__ void other() {}" };
    heed_build builds[] = { jit_scene_build(80), jit_scene_build(80), jit_scene_build(80),
                            jit_scene_build(80), jit_scene_build(80), jit_scene_build(89),
                            jit_scene_build(80) };
    char keys[7][HEED_CACHE_KEY_SIZE];
    builds[1].defines = factor_3;
    builds[2].defines = two;
    builds[2].define_count = 2;
    builds[3].registers = 32;
    builds[4].source = "another_name.cu";
    for (int i = 0; i < 7; i++) {
        heed_cubin cubin;
        assert_builds(&builds[i], texts[i], &cubin);
        assert_false(cubin.cached);
        memcpy(keys[i], cubin.key, sizeof keys[i]);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(keys[i], keys[j]);
        heed_cubin_free(&cubin);
    }
}

static void test_registers_can_be_capped(void **state)
{
    jit_scene_compiler();
    static const char hungry[] =
        "extern \"C\" __global__ void hungry(float *x) {\n"
        "    float a[48];\n"
        "    _Pragma(\"unroll\") for (int i = 0; i < 48; i++) a[i] = x[i * threadIdx.x];\n"
        "    __syncthreads();\n"
        "    _Pragma(\"unroll\") for (int i = 0; i < 48; i++) x[i + threadIdx.x] = a[i];\n"
        "}\n";
    heed_cubin cubin;
    heed_build build = jit_scene_build(80);
    build.registers = 32;
    assert_builds(&build, hungry, &cubin);
    assert_non_null(strstr(cubin.log, "Used 32 registers"));
    heed_cubin_free(&cubin);
}

static void test_an_unknown_architecture_gets_ptx(void **state)
{
    const heed_nvrtc *nvrtc = jit_scene_compiler();
    heed_cubin cubin;
    heed_build build = jit_scene_build(999);
    char target[32];
    assert_builds(&build, jit_scene_text, &cubin);
    assert_true(cubin.ptx);
    assert_int_equal(cubin.data[cubin.size - 1], 0);
    snprintf(target, sizeof target, ".target sm_%d\n",
             nvrtc->supported[nvrtc->supported_count - 1]);
    assert_non_null(strstr((char *)cubin.data, target));
    heed_cubin_free(&cubin);
    assert_builds(&build, jit_scene_text, &cubin);
    assert_true(cubin.cached && cubin.ptx);
    heed_cubin_free(&cubin);

    build = jit_scene_build(81); /* between two known ones */
    assert_builds(&build, jit_scene_text, &cubin);
    assert_non_null(strstr((char *)cubin.data, ".target sm_80\n"));
    heed_cubin_free(&cubin);

    build = jit_scene_build(50);
    if (nvrtc->supported[0] > 50) {
        assert_int_equal(heed_jit_build_text(&build, jit_scene_text, &cubin), HEED_ERR_UNSUPPORTED);
        assert_message("not for sm_50");
        heed_cubin_free(&cubin);
    }
}

/* -------------------------------------------------------------------------- */
/* Failures                                                                   */
/* -------------------------------------------------------------------------- */

static void test_an_error_is_shown_and_the_log_kept(void **state)
{
    jit_scene_compiler();
    static const char wrong[] = "static __device__ int warned() {}\n"
                                "extern \"C\" __global__ void wrong(float *x)\n"
                                "{\n"
                                "    x[0] = no_such_thing;\n"
                                "}\n";
    static char log[1 << 16];
    char path[PATH_MAX];
    heed_cubin cubin;
    heed_build build = jit_scene_build(80);
    build.source = "wrong.cu";
    assert_int_equal(heed_jit_build_text(&build, wrong, &cubin), HEED_ERR_DEVICE);
    assert_message("wrong.cu(4): error");
    assert_message("no_such_thing");
    assert_null(strstr(heed_message(), "warning"));
    assert_null(cubin.data);
    assert_non_null(strstr(cubin.log, "warning"));
    assert_non_null(strstr(cubin.log, "no_such_thing"));
    snprintf(path, sizeof path, "%s/cubin/%s.log", (char *)*state, cubin.key);
    assert_message(path);
    size_t size = scratch_read(path, log, sizeof log - 1);
    log[size] = '\0';
    assert_string_equal(log, cubin.log);
    heed_cubin_free(&cubin);

    /* The word in a name is not an error, and a failure without an error in the log is
     * explained. */
    static const char named[] = "extern \"C\" __global__ void wrong(float *x)\n"
                                "{\n"
                                "    int error;\n"
                                "    x[0] = no_such_thing;\n"
                                "}\n";
    assert_int_equal(heed_jit_build_text(&build, named, &cubin), HEED_ERR_DEVICE);
    assert_message("wrong.cu(4): error");
    heed_cubin_free(&cubin);
    static const char large[] = "extern \"C\" __global__ void wrong(float *x)\n"
                                "{\n"
                                "    __shared__ float s[15 * 1024];\n"
                                "    s[threadIdx.x] = x[0];\n"
                                "    __syncthreads();\n"
                                "    x[threadIdx.x] = s[99 - threadIdx.x];\n"
                                "}\n";
    assert_int_equal(heed_jit_build_text(&build, large, &cubin), HEED_ERR_DEVICE);
    assert_null(strstr(heed_message(), "gmem"));
    assert_message("61440"); /* bytes, or 0xf000 if the assembler reports it */
    heed_cubin_free(&cubin);

    setenv("HEED_CACHE", "/dev/null", 1);
    assert_int_equal(heed_jit_build_text(&build, wrong, &cubin), HEED_ERR_DEVICE);
    setenv("HEED_CACHE", *state, 1);
    assert_message("could not be kept");
    heed_cubin_free(&cubin);
}

static void test_without_a_cache_it_is_compiled_again(void **state)
{
    jit_scene_compiler();
    heed_cubin cubin;
    const heed_build build = jit_scene_build(80);
    setenv("HEED_CACHE", "/dev/null", 1);
    for (int i = 0; i < 2; i++) {
        assert_builds(&build, jit_scene_text, &cubin);
        assert_false(cubin.cached);
        heed_cubin_free(&cubin);
    }
    setenv("HEED_CACHE", *state, 1);
}

static void test_a_damaged_entry_is_compiled_again(void **state)
{
    jit_scene_compiler();
    char path[PATH_MAX];
    heed_cubin cubin;
    const heed_build build = jit_scene_build(80);
    assert_builds(&build, jit_scene_text, &cubin);
    snprintf(path, sizeof path, "%s/cubin/%s.cubin", (char *)*state, cubin.key);
    heed_cubin_free(&cubin);
    assert_int_equal(truncate(path, 1000), 0);
    assert_builds(&build, jit_scene_text, &cubin);
    assert_false(cubin.cached);
    heed_cubin_free(&cubin);
    assert_builds(&build, jit_scene_text, &cubin);
    assert_true(cubin.cached);
    heed_cubin_free(&cubin);
}

static void assert_refused(const heed_build *build, const char *words)
{
    heed_cubin cubin;
    memset(&cubin, 0x5a, sizeof cubin);
    assert_int_equal(heed_jit_build_text(build, jit_scene_text, &cubin), HEED_ERR_INVALID);
    assert_message(words);
    assert_null(cubin.data);
    heed_cubin_free(&cubin);
}

static void test_a_bad_build_is_refused(void **state)
{
    static const heed_define bad[] = { { "A=1 -I/", 1 }, { "", 1 }, { "9A", 1 }, { NULL, 1 } };
    heed_build build = jit_scene_build(49);
    assert_refused(&build, "arch is 49; it must be 50 to 999");
    build = jit_scene_build(1000);
    assert_refused(&build, "arch is 1000");
    build = jit_scene_build(80);
    build.registers = 256;
    assert_refused(&build, "registers is 256; it must be 0 to 255");
    build.registers = 0;
    build.define_count = HEED_DEFINES_MAX + 1;
    assert_refused(&build, "define_count is 65; it must be 0 to 64");
    build.define_count = 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        build.defines = &bad[i];
        assert_refused(&build, "defines[0]");
    }
    build = jit_scene_build(80);
    build.source = NULL;
    assert_refused(&build, "source is NULL");
}

static void test_only_kernels_that_are_carried_have_a_name(void **state)
{
    static const char *const names[] = { "none.cu", "ptx.cuh", "", NULL };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        heed_cubin cubin;
        heed_build build = jit_scene_build(80);
        build.source = names[i];
        assert_int_equal(heed_jit_build(&build, &cubin), HEED_ERR_INVALID);
        assert_message("carries no such kernel");
        heed_cubin_free(&cubin);
    }
}

/* A file in the current directory with the name of an embedded header is not included. */
static void test_headers_are_the_embedded_ones(void **state)
{
    jit_scene_compiler();
    char before[PATH_MAX], path[SCRATCH_PATH_SIZE];
    heed_cubin cubin;
    const heed_build build = jit_scene_build(80);
    assert_non_null(getcwd(before, sizeof before));
    scratch_write(scratch_path(state, "ptx.cuh", path), "#error wrong one\n", 17);
    assert_int_equal(chdir(*state), 0);
    heed_status status = heed_jit_build_text(&build, jit_scene_text, &cubin);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(status, HEED_OK);
    heed_cubin_free(&cubin);
}

/* -------------------------------------------------------------------------- */
/* Many at once                                                               */
/* -------------------------------------------------------------------------- */

typedef struct worker {
    pthread_t thread;
    int arch;
    heed_status status;
    heed_cubin cubin;
} worker;

static void *work(void *data)
{
    worker *self = data;
    const heed_build build = jit_scene_build(self->arch);
    self->status = heed_jit_build_text(&build, jit_scene_text, &self->cubin);
    return NULL;
}

static void test_threads_build_at_once(void **state)
{
    jit_scene_compiler();
    static const int archs[] = { 80, 86, 89, 90 };
    worker workers[8] = { 0 };
    for (int i = 0; i < 8; i++) {
        workers[i].arch = archs[i % 4];
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 8; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < 8; i++) {
        const heed_cubin *one = &workers[i].cubin, *other = &workers[i % 4].cubin;
        assert_int_equal(workers[i].status, HEED_OK);
        assert_string_equal(one->key, other->key);
        assert_int_equal(one->size, other->size);
        assert_memory_equal(one->data, other->data, one->size);
    }
    for (int i = 0; i < 8; i++)
        heed_cubin_free(&workers[i].cubin);
}

RUN_TESTS_EACH(jit_scene_open, scratch_close, test_every_device_source_is_carried,
               test_each_architecture_gets_its_code, test_what_appends_compiles,
               test_what_merges_compiles, test_the_second_time_is_cached,
               test_a_fresh_build_is_compiled_each_time, test_everything_is_part_of_the_key,
               test_registers_can_be_capped, test_an_unknown_architecture_gets_ptx,
               test_an_error_is_shown_and_the_log_kept, test_without_a_cache_it_is_compiled_again,
               test_a_damaged_entry_is_compiled_again, test_a_bad_build_is_refused,
               test_only_kernels_that_are_carried_have_a_name, test_headers_are_the_embedded_ones,
               test_threads_build_at_once)
