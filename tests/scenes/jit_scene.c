/*
 * jit_scene.c - a small kernel, and the check for a compiler
 */
#include "jit_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "scratch.h"

const char jit_scene_text[] = "#include \"ptx.cuh\"\n"
                              "extern \"C\" __global__ void tiny(float *x)\n"
                              "{\n"
                              "    x[threadIdx.x] *= FACTOR;\n"
                              "}\n";

static const heed_define factor_2[] = { { "FACTOR", 2 } };

heed_build jit_scene_build(int arch)
{
    return (
        heed_build){ .source = "tiny.cu", .defines = factor_2, .define_count = 1, .arch = arch };
}

int jit_scene_open(void **state)
{
    return scratch_open(state) == 0 ? setenv("HEED_CACHE", *state, 1) : -1;
}

const heed_nvrtc *jit_scene_compiler(void)
{
    const heed_nvrtc *nvrtc;
    if (heed_nvrtc_get(&nvrtc) != HEED_OK) {
        print_message("skipped: %s\n", heed_message());
        skip();
    }
    return nvrtc;
}

bool jit_scene_supports(const heed_nvrtc *nvrtc, int arch)
{
    for (int i = 0; i < nvrtc->supported_count; i++)
        if (nvrtc->supported[i] == arch)
            return true;
    return false;
}
