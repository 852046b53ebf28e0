/*
 * test_shipped.c - compiled kernels shipped with the library: plans use them without a compiler,
 * and reject damaged ones, those of other kernels, and those of other sources (fake_cuda.h)
 */
#include "run_tests.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/shipped.h"
#include "cuda_trial.h"
#include "scratch.h"

#define ARCH 90 /* of the fake's devices */
#define OTHER "b2 h4 s1024 d128 f16"
#define CONFIG "fwd_16bit_sm80_mma__m64n64w4k1s2q2o1b3p1l1a1"
#define NAIVE "fwd_any_sm80_naive"

/* -------------------------------------------------------------------------- */
/* A folder of them                                                           */
/* -------------------------------------------------------------------------- */

static heed_cuda_facts facts_of(const char *name)
{
    heed_cuda_facts facts;
    heed_problem problem = parsed(PLAIN);
    if (heed_cuda_facts_find(name, &problem, ARCH, &facts) != HEED_OK)
        fail_msg("%s: %s", name, heed_message());
    return facts;
}

/* Packs the kernel @name for PLAIN; its key is written to @key if that is not NULL. */
static void pack_one(const char *folder, const char *name, char key[HEED_CACHE_KEY_SIZE])
{
    heed_cubin cubin;
    const heed_cuda_facts facts = facts_of(name);
    const heed_build build = heed_cuda_facts_build(&facts, ARCH);
    if (heed_jit_pack(&build, folder, &cubin) != HEED_OK)
        fail_msg("%s: %s", name, heed_message());
    if (key)
        memcpy(key, cubin.key, sizeof cubin.key);
    heed_cubin_free(&cubin);
}

/* Name of the kernel that takes over for CONFIG if addresses are not aligned. */
static void name_fallback(char name[HEED_NAME_SIZE])
{
    const char *text;
    heed_config config;
    heed_gpu gpu;
    const heed_kernel *kernel = heed_kernel_find(CONFIG, &text);
    const heed_problem problem = scene_problem(PLAIN);
    assert_true(heed_config_parse(kernel->algorithm, text, &config));
    assert_true(heed_gpu_arch(&gpu, 90));
    const heed_cuda_cut cut = heed_cuda_mma_code.cut(&problem, &gpu, &config);
    heed_config_print(kernel, &cut.fallback, name, HEED_NAME_SIZE);
}

static void pack_all(const char *folder)
{
    char fallback[HEED_NAME_SIZE];
    name_fallback(fallback);
    pack_one(folder, CONFIG, NULL);
    pack_one(folder, fallback, NULL);
    pack_one(folder, NAIVE, NULL);
    assert_true(heed_shipped_sign(folder, 12, 9));
}

static int open_folder(void **state)
{
    unsetenv("HEED_CUBINS");
    return scene_reset(NULL) == 0 && scratch_open(state) == 0 ? 0 : -1;
}

static int close_folder(void **state)
{
    unsetenv("HEED_CUBINS");
    return scratch_close(state) == 0 ? scene_check(NULL) : -1;
}

/* Changes byte @at of each *.cubin in @folder, counted from its end if negative. */
static int damage(const char *folder, long at)
{
    char path[PATH_MAX];
    int count = 0;
    DIR *all = opendir(folder);
    assert_non_null(all);
    for (const struct dirent *item; (item = readdir(all));) {
        if (!strstr(item->d_name, ".cubin"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
        FILE *file = fopen(path, "r+e");
        assert_non_null(file);
        assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
        int byte = fgetc(file);
        assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
        assert_true(fputc(byte ^ 1, file) != EOF);
        assert_int_equal(fclose(file), 0);
        count++;
    }
    closedir(all);
    return count;
}

/* Number of compiler calls for a plan of @name for @spec. */
static int compilations_of(const char *spec, const char *name)
{
    heed_plan *plan;
    heed_context *context = scene_open("cuda");
    const heed_problem problem = parsed(spec);
    int before = fake->compilations;
    if (heed_plan_create_named(&plan, context, &problem, name) != HEED_OK)
        fail_msg("%s", heed_message());
    int count = fake->compilations - before;
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    return count;
}

/* -------------------------------------------------------------------------- */
/* With a compiler                                                            */
/* -------------------------------------------------------------------------- */

static void test_what_came_along_is_not_compiled(void **state)
{
    assert_int_equal(compilations_of(PLAIN, CONFIG), 2);
    pack_all(*state);
    setenv("HEED_CUBINS", *state, 1);
    assert_int_equal(compilations_of(PLAIN, CONFIG), 0);
    assert_int_equal(compilations_of(PLAIN, NAIVE), 0);
    assert_int_equal(compilations_of("b1 h8 s99 d64 f16", NAIVE), 0); /* same code for any size */
    setenv("HEED_CUBINS", "", 1);
    assert_int_equal(compilations_of(PLAIN, CONFIG), 2);
}

static void test_what_is_for_something_else_is_compiled(void **state)
{
    pack_all(*state);
    setenv("HEED_CUBINS", *state, 1);
    assert_int_equal(compilations_of(OTHER, NAIVE), 1);                  /* a head dim, */
    assert_int_equal(compilations_of(PLAIN " causal", NAIVE), 1);        /* a mask, */
    assert_int_equal(compilations_of("b2 h4 s1024 d64 bf16", NAIVE), 1); /* a type, */
    fake->arch = 80;                                                     /* an architecture */
    assert_int_equal(compilations_of(PLAIN, NAIVE), 1);
    fake->arch = ARCH;

    heed_cubin cubin; /* other options, and another source */
    const heed_cuda_facts facts = facts_of(NAIVE);
    heed_build build = heed_cuda_facts_build(&facts, ARCH);
    assert_int_equal(heed_jit_build(&build, &cubin), HEED_OK);
    assert_true(cubin.shipped && cubin.cached);
    heed_cubin_free(&cubin);
    build.registers = 64;
    assert_int_equal(heed_jit_build(&build, &cubin), HEED_OK);
    assert_false(cubin.shipped);
    heed_cubin_free(&cubin);
    build.registers = facts.launch.registers;
    assert_int_equal(heed_jit_build_text(&build, "/* changed */", &cubin), HEED_OK);
    assert_false(cubin.shipped);
    heed_cubin_free(&cubin);
    build.fresh = true;
    assert_int_equal(heed_jit_build(&build, &cubin), HEED_OK);
    assert_false(cubin.shipped);
    heed_cubin_free(&cubin);
}

/* Any byte: in the header, the log or the code. Nothing is removed, since others may own it. */
static void test_what_is_damaged_is_refused(void **state)
{
    static const long places[] = { 0, 8, 16, 24, 40, -64, -1 };
    pack_all(*state);
    setenv("HEED_CUBINS", *state, 1);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        assert_int_equal(damage(*state, places[i]), 3);
        assert_int_equal(compilations_of(PLAIN, CONFIG), 2);
        assert_int_equal(damage(*state, places[i]), 3); /* undo */
        assert_int_equal(compilations_of(PLAIN, CONFIG), 0);
    }
}

/* A valid entry under the name of another one. */
static void test_what_is_anothers_is_refused(void **state)
{
    char key[HEED_CACHE_KEY_SIZE], other[HEED_CACHE_KEY_SIZE], from[PATH_MAX], to[PATH_MAX];
    pack_one(*state, CONFIG, key);
    pack_one(*state, NAIVE, other);
    assert_true(heed_shipped_sign(*state, 12, 9));
    setenv("HEED_CUBINS", *state, 1);
    assert_int_equal(compilations_of(PLAIN, NAIVE), 0);
    snprintf(from, sizeof from, "%s/%s.cubin", (char *)*state, key);
    snprintf(to, sizeof to, "%s/%s.cubin", (char *)*state, other);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(compilations_of(PLAIN, NAIVE), 1);
}

static void test_a_folder_must_be_signed(void **state)
{
    static const char *const texts[] = { "",           "NVRTC",          "NVRTC 12",
                                         "NVRTC 12.9", "NVRTC 12.9\r\n", "nvrtc 12.9\n" };
    int major, minor;
    char path[SCRATCH_PATH_SIZE];
    pack_all(*state);
    setenv("HEED_CUBINS", *state, 1);
    assert_true(heed_shipped_compiler(&major, &minor));
    assert_int_equal(major, 12);
    assert_int_equal(minor, 9);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scratch_text_write(state, "compiler", texts[i]);
        assert_false(heed_shipped_compiler(&major, &minor));
        assert_int_equal(major + minor, 0);
        assert_int_equal(compilations_of(PLAIN, NAIVE), 1);
    }
    unlink(scratch_path(state, "compiler", path));
    assert_int_equal(compilations_of(PLAIN, NAIVE), 1);
    setenv("HEED_CUBINS", "/nowhere", 1);
    assert_int_equal(compilations_of(PLAIN, NAIVE), 1);
}

/* The same sources produce the same files, which are readable by everyone. */
static void test_packing_is_reproducible(void **state)
{
    static char first[1 << 16], second[1 << 16];
    char key[HEED_CACHE_KEY_SIZE], again[HEED_CACHE_KEY_SIZE], path[PATH_MAX];
    struct stat info;
    fake->compile_error = NULL;
    pack_one(*state, NAIVE, key);
    snprintf(path, sizeof path, "%s/%s.cubin", (char *)*state, key);
    size_t size = scratch_read(path, first, sizeof first);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0644);
    pack_one(*state, NAIVE, again);
    assert_string_equal(key, again);
    assert_int_equal(scratch_read(path, second, sizeof second), size);
    assert_memory_equal(first, second, size);
}

static void test_what_cannot_be_packed(void **state)
{
    heed_cubin cubin;
    const heed_cuda_facts facts = facts_of(NAIVE);
    heed_build build = heed_cuda_facts_build(&facts, ARCH);
    assert_int_equal(heed_jit_pack(&build, "/nowhere", &cubin), HEED_ERR_SYSTEM);
    assert_non_null(strstr(heed_message(), "/nowhere/"));
    assert_null(cubin.data);
    heed_cubin_free(&cubin);
    build.arch = 121; /* which the fake compiler does not support */
    assert_int_equal(heed_jit_pack(&build, *state, &cubin), HEED_ERR_UNSUPPORTED);
    heed_cubin_free(&cubin);
    build.arch = ARCH;
    build.fresh = true;
    assert_int_equal(heed_jit_pack(&build, *state, &cubin), HEED_ERR_INVALID);
    heed_cubin_free(&cubin);
    build.fresh = false;
    build.source = "none.cu";
    assert_int_equal(heed_jit_pack(&build, *state, &cubin), HEED_ERR_INVALID);
    heed_cubin_free(&cubin);
}

/* Wisdom is bound to the code that was timed. */
static void test_features_say_so(void **state)
{
    char text[HEED_FEATURES_SIZE];
    pack_all(*state);
    for (int shipped = 0; shipped < 2; shipped++) {
        setenv("HEED_CUBINS", shipped ? *state : "", 1);
        heed_context *context = scene_open("cuda");
        heed_machine_features(&context->machine, text);
        assert_string_equal(text,
                            shipped ? "sm_90-driver13.0-nvrtc12.9+" : "sm_90-driver13.0-nvrtc13.0");
        heed_context_destroy(context);
    }
}

/* -------------------------------------------------------------------------- */
/* Without one                                                                */
/* -------------------------------------------------------------------------- */

/* Returns the number of the failed step, or 0. */
static int go_alone(void)
{
    heed_plan *plan;
    heed_context *context;
    const heed_options options = { .size = sizeof options, .device = "cuda" };
    const heed_problem problem = parsed(PLAIN), other = parsed(OTHER);
    if (heed_context_create(&context, &options) != HEED_OK)
        return 1;
    if (heed_plan_create_named(&plan, context, &problem, CONFIG) != HEED_OK)
        return 2;
    heed_plan_destroy(plan);
    if (heed_plan_create(&plan, context, &problem, HEED_ESTIMATE) != HEED_OK)
        return 7; /* any of the shipped kernels will do */
    char text[4096];
    heed_plan_explain(plan, text, sizeof text);
    if (strcmp(heed_plan_name(plan), CONFIG) != 0 || !strstr(text, "-> " CONFIG) ||
        !strstr(text, "chosen: the best config is not precompiled, and there is no NVRTC"))
        return 8;
    heed_plan_destroy(plan);
    if (heed_plan_create(&plan, context, &other, HEED_ESTIMATE) != HEED_ERR_DEVICE ||
        !strstr(heed_message(), "not among the kernels shipped with heed"))
        return 9;
    if (heed_plan_create_named(&plan, context, &other, NAIVE) != HEED_ERR_DEVICE)
        return 3;
    if (!strstr(heed_message(), "not among the kernels shipped with heed") ||
        !strstr(heed_message(), "HEED_NVRTC=/nowhere"))
        return 4;
    heed_context_destroy(context);
    setenv("HEED_CUBINS", "", 1);
    if (heed_context_create(&context, &options) != HEED_ERR_DEVICE)
        return 5;
    return fake->compilations ? 6 : 0;
}

static int wait_for(pid_t child)
{
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In a child, before this process has looked for its compiler, which it does only once. */
static void test_no_compiler_is_needed(void **state)
{
    setenv("HEED_CUBINS", *state, 1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        pack_all(*state);
        _exit(0);
    }
    assert_int_equal(wait_for(child), 0);
    child = fork();
    if (child == 0) {
        setenv("HEED_NVRTC", "/nowhere", 1);
        _exit(go_alone());
    }
    assert_int_equal(wait_for(child), 0);
}

int main(void)
{
    return run_test_list(TEST_LIST_EACH(open_folder, close_folder, test_no_compiler_is_needed,
                                        test_what_came_along_is_not_compiled,
                                        test_what_is_for_something_else_is_compiled,
                                        test_what_is_damaged_is_refused,
                                        test_what_is_anothers_is_refused,
                                        test_a_folder_must_be_signed, test_packing_is_reproducible,
                                        test_what_cannot_be_packed, test_features_say_so),
                         scene_begin_uncached, NULL);
}
