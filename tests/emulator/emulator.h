/*
 * emulator.h - CUDA kernels on a CPU
 *
 * A kernel of src/cuda/kernels, compiled as C with emulator/ptx.cuh in place of the real one, runs
 * here a block or a cluster of blocks at a time, every thread of it a coroutine that gives way
 * where lanes or warps meet.
 * It is a machine that forgives nothing:
 *
 *   - an address outside of shared memory, a misaligned one, lanes of a warp that are not at the
 *     same instruction where they must be, a barrier that will never be complete, or that threads
 *     wait at in two places: the run ends.
 *   - shared memory that was not written reads as NaN, and so does what cp.async brings until the
 *     thread that started it has waited.
 *   - two accesses to the same bytes of shared memory, one of them a write, that no barrier
 *     orders are a race, whether or not they did harm. Within a warp only a warp barrier orders
 * them; shuffles and matrix instructions do not, as on the device.
 *   - copies of boxes are done some turns after they were started, in an order that the seed says,
 *     and products of wgmma when they are waited for; their output is NaN until then, and their
 * input must be left alone. Ordinary stores that they shall see need their fence.
 *   - barriers in shared memory that were not made, too many arrivals or bytes, a phase that a
 *     thread may miss, copies, stores or products that nobody has waited for: the run ends.
 *   - stores to another block of the cluster come some turns later, too. Blocks must be known to
 *     have begun before they are stored to, by the cluster's barrier, and must not leave while
 *     bytes are still to come.
 *
 * Its limits: races in global memory, reads past a tensor unless its memory is guarded, and
 * anything of time. Products of mma are exact, their sum in double is rounded once, which is a
 * little better than the device; ex2, lg2 and rcp are those of libm.
 */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMULATOR_TEXT_SIZE 256

/* The launch: kernel(args) for every thread. */
typedef struct emulator_launch {
    void (*kernel)(const void *args);
    const void *args;
    uint32_t grid[3];
    uint32_t threads;      /* of a block; a multiple of 32 up to 1024 */
    uint32_t shared_bytes; /* dynamic shared memory, up to 227 KiB */
    uint64_t seed;         /* for the order in which copies of boxes, and stores to other blocks,
                              arrive */
    uint32_t cluster;      /* blocks of a cluster, along x, up to 8; 0 and 1: there are none */
} emulator_launch;

typedef struct emulator_report {
    char error[EMULATOR_TEXT_SIZE]; /* why the run ended early, or "" */

    uint64_t races;
    char race[EMULATOR_TEXT_SIZE]; /* the first one, or "" */

    /* Reads of shared memory that nobody wrote; those of ldmatrix, which may be of rows that do not
     * count, only give NaN. */
    uint64_t uninitialised;
    char uninitialised_at[EMULATOR_TEXT_SIZE];

    /* Passes of shared memory through its 32 banks, 8 lanes of 16 bytes at a time, 16 of 8, or 32
     * of 4: how many there were beyond one, and where most of them. */
    uint64_t passes;
    uint64_t conflicts;
    char worst[EMULATOR_TEXT_SIZE]; /* "file:line: number", or "" */
} emulator_report;

/* emulator_run() runs a kernel and fills @report. It returns true if there was neither an error nor
 * a race. Nothing is shared between runs: several threads may each have one. */
bool emulator_run(const emulator_launch *launch, emulator_report *report);

/* emulator_complaint() returns the error or else the first race, or "". */
const char *emulator_complaint(const emulator_report *report);

#endif /* EMULATOR_H */
