/*
 * hopper_scene.c - helpers for tests of Hopper's instructions on the emulator
 */
#include "hopper_scene.h"

#include "emulator/half.h"

emulator_report run(void (*kernel)(const void *args), const void *args, uint32_t threads,
                    uint32_t shared_bytes, uint64_t seed)
{
    const emulator_launch launch = { .kernel = kernel,
                                     .args = args,
                                     .grid = { 2, 1, 1 },
                                     .threads = threads,
                                     .shared_bytes = shared_bytes,
                                     .seed = seed };
    return emulate(&launch);
}

void fill(uint16_t *to, int rows, int columns, int salt)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            int row = r + salt;
            to[r * columns + c] = half_to_f16((float)((row * 7 + c * 5 + row * c) % 17 - 8) * 0.5f);
        }
}

uint64_t describe(uint32_t smem, uint32_t leading, uint32_t stride)
{
    return (uint64_t)(smem >> 4) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
           UINT64_C(1) << 62;
}

uint32_t place(uint32_t smem, uint32_t row, uint32_t column)
{
    return smem + row * 128 + (column / 8 ^ row % 8) * 16 + column % 8 * 2;
}
