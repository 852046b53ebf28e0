/*
 * emulator_scene.h - kernels of tests on the emulator, and what a run of them must say
 */
#ifndef HEED_TESTS_EMULATOR_SCENE_H
#define HEED_TESTS_EMULATOR_SCENE_H

#include "emulator/emulator.h"

/* Runs a kernel. The test fails if the run ends well though something was found, or badly though
 * nothing was. */
emulator_report emulate(const emulator_launch *launch);

/* The same of @blocks blocks. */
emulator_report emulate_blocks(void (*kernel)(const void *args), const void *args, uint32_t blocks,
                               uint32_t threads, uint32_t shared_bytes);

/* Nothing may have been found. */
void assert_clean(const emulator_report *report);

/* @text must contain @part. */
void assert_says(const char *text, const char *part);

/* The expected output of a run: nothing where a text is "". */
void assert_report(const emulator_report *report, const char *race, const char *error);

#endif /* HEED_TESTS_EMULATOR_SCENE_H */
