/*
 * hopper_scene.h - functions shared by tests of Hopper's instructions on the emulator
 */
#ifndef HEED_TESTS_HOPPER_SCENE_H
#define HEED_TESTS_HOPPER_SCENE_H

#include "emulator_scene.h"

#define GROUP 128 /* threads of a warpgroup */
#define SEEDS 8   /* of the order in which what is asynchronous happens */

/* emulate() for two blocks of @threads. */
emulator_report run(void (*kernel)(const void *args), const void *args, uint32_t threads,
                    uint32_t shared_bytes, uint64_t seed);

/* Fills a matrix with small whole numbers and halves as float16, of which all sums are exact;
 * another @salt makes another matrix. */
void fill(uint16_t *to, int rows, int columns, int salt);

/* The descriptor of what is at @smem. */
uint64_t describe(uint32_t smem, uint32_t leading, uint32_t stride);

/* Where element @column of row @row of a box at @smem is. */
uint32_t place(uint32_t smem, uint32_t row, uint32_t column);

#endif /* HEED_TESTS_HOPPER_SCENE_H */
