/*
 * emulator_scene.h - runs test kernels on the emulator and checks the reports
 */
#ifndef HEED_TESTS_EMULATOR_SCENE_H
#define HEED_TESTS_EMULATOR_SCENE_H

#include "emulator/emulator.h"

/* Runs a kernel. The test fails if the result contradicts the report: success with a finding, or
 * failure without one. */
emulator_report emulate(const emulator_launch *launch);

/* The same with @blocks blocks. */
emulator_report emulate_blocks(void (*kernel)(const void *args), const void *args, uint32_t blocks,
                               uint32_t threads, uint32_t shared_bytes);

/* There must be no findings. */
void assert_clean(const emulator_report *report);

/* @text must contain @part. */
void assert_says(const char *text, const char *part);

/* The expected findings of a run; "" for none. */
void assert_report(const emulator_report *report, const char *race, const char *error);

#endif /* HEED_TESTS_EMULATOR_SCENE_H */
