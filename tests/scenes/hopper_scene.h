/*
 * hopper_scene.h - helpers for tests of Hopper's instructions on the emulator
 */
#ifndef HEED_TESTS_HOPPER_SCENE_H
#define HEED_TESTS_HOPPER_SCENE_H

#include "emulator_scene.h"

#define GROUP 128 /* threads per warpgroup */
#define SEEDS 8   /* for the order of asynchronous operations */

/* emulate() for two blocks of @threads. */
emulator_report run(void (*kernel)(const void *args), const void *args, uint32_t threads,
                    uint32_t shared_bytes, uint64_t seed);

/* Fills a matrix with small integers and halves as float16, all of whose sums are exact; another
 * @salt gives another matrix. */
void fill(uint16_t *to, int rows, int columns, int salt);

/* The descriptor of the matrix at @smem. */
uint64_t describe(uint32_t smem, uint32_t leading, uint32_t stride);

/* Address of element @column in row @row of a box at @smem. */
uint32_t place(uint32_t smem, uint32_t row, uint32_t column);

#endif /* HEED_TESTS_HOPPER_SCENE_H */
