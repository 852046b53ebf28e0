/*
 * jit_scene.h - a small kernel, and the check for a compiler
 */
#ifndef JIT_SCENE_H
#define JIT_SCENE_H

#include "cuda/driver/nvrtc.h"
#include "cuda/jit.h"

/* The text of a kernel, and its build for @arch. */
extern const char jit_scene_text[];
heed_build jit_scene_build(int arch);

/* jit_scene_open() is scratch_open(), and uses the directory as the cache. */
int jit_scene_open(void **state);

/* jit_scene_compiler() skips the test with a message if there is no NVRTC. */
const heed_nvrtc *jit_scene_compiler(void);

/* Returns whether @nvrtc can compile for @arch (10 * major + minor). */
bool jit_scene_supports(const heed_nvrtc *nvrtc, int arch);

#endif /* JIT_SCENE_H */
