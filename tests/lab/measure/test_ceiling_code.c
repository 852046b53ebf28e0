/*
 * test_ceiling_code.c - the kernels that measure a GPU compile for every architecture, and are not
 * optimised away
 */
#include "run_tests.h"

#include <stdint.h>
#include <string.h>

#include "cuda/jit.h"
#include "lab/inspect/cubin.h"
#include "lab/measure/ceiling_cuda.h"

/* Minimum number of 16-byte instructions in a loop, by kernel. */
static const text_integer loops[] = {
    { "heed_ceiling_fma", 64 },   { "heed_ceiling_exp", 64 },  { "heed_ceiling_mma", 32 },
    { "heed_ceiling_wgmma", 16 }, { "heed_ceiling_read", 16 }, { "heed_ceiling_copy", 16 },
    { "heed_ceiling_launch", 1 },
};

static void check_code(const heed_cubin *code, const char *name)
{
    lab_cubin cubin;
    lab_error error;
    assert_false(code->ptx);
    assert_int_equal(lab_cubin_read(&cubin, code->data, code->size, name, &error), HEED_OK);
    lab_cubin_spills(&cubin, code->log);
    assert_true(cubin.count > 0);
    for (size_t i = 0; i < cubin.count; i++) {
        const lab_cubin_kernel *kernel = &cubin.kernels[i];
        size_t known = 0;
        while (known < sizeof loops / sizeof *loops && strcmp(loops[known].text, kernel->name) != 0)
            known++;
        if (known == sizeof loops / sizeof *loops) {
            fail_msg("%s has %s, which is unknown", name, kernel->name);
            return;
        }
        assert_true(kernel->code >= 16 * loops[known].value);
        assert_int_equal(kernel->spill_stores + kernel->spill_loads, 0);
        assert_int_equal(kernel->stack, 0);
    }
    lab_cubin_free(&cubin);
}

static void test_they_compile(void **state)
{
    static const int archs[] = { 80, 86, 89, 90, 100 };
    const char *name, *text;
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        for (int file = 0; (text = lab_ceiling_cuda_text(file, &name)); file++)
            for (int bf16 = 0; bf16 < 2; bf16++) {
                const heed_define define = { "HEED_BF16", bf16 };
                const heed_build build = {
                    .source = name, .defines = &define, .define_count = 1, .arch = archs[i]
                };
                heed_cubin code;
                if (strstr(name, "wgmma") && archs[i] != 90)
                    continue;
                heed_status status = heed_jit_build_text(&build, text, &code);
                if (status == HEED_ERR_DEVICE && strstr(heed_message(), "NVRTC")) {
                    heed_cubin_free(&code);
                    skip();
                }
                if (status != HEED_OK)
                    fail_msg("%s for sm_%d: %s", name, archs[i], heed_message());
                check_code(&code, name);
                heed_cubin_free(&code);
            }
}

RUN_TESTS(test_they_compile)
