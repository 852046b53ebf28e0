/*
 * jit_scene.h - a small kernel, and whether there is a compiler for it
 */
#ifndef JIT_SCENE_H
#define JIT_SCENE_H

#include "cuda/driver/nvrtc.h"
#include "cuda/jit.h"

/* The text of a kernel, and how it is built for @arch. */
extern const char jit_scene_text[];
heed_build jit_scene_build(int arch);

/* jit_scene_open() is scratch_open(), and makes the folder the cache. */
int jit_scene_open(void **state);
#define JIT_TEST(function) cmocka_unit_test_setup_teardown(function, jit_scene_open, scratch_close)

/* jit_scene_compiler() skips the test where there is no NVRTC, and says so. */
const heed_nvrtc *jit_scene_compiler(void);

/* Does @nvrtc make machine code for @arch (10 * major + minor)? */
bool jit_scene_supports(const heed_nvrtc *nvrtc, int arch);

#endif /* JIT_SCENE_H */
