/*
 * emulator.h - CUDA kernels on a CPU
 *
 * Runs a kernel of src/cuda/kernels, compiled as C with emulator/ptx.cuh in place of the real one,
 * a block or a cluster of blocks at a time. Every thread is a coroutine that yields where lanes or
 * warps meet. It is stricter than a device:
 *
 *   - An address outside shared memory, a misaligned one, lanes of a warp that are not at the same
 *     instruction where they must be, a barrier that will never be complete, or at which threads
 *     wait in two places, end the run.
 *   - Uninitialized shared memory reads as NaN, and so does the target of cp.async until the thread
 *     that started it has waited.
 *   - Two accesses to the same bytes of shared memory, at least one of them a write, that no
 *     barrier orders are a race, whether or not they did harm. Within a warp only a warp barrier
 *     orders them; shuffles and matrix instructions do not, as on the device.
 *   - Copies of boxes complete some turns after they were started, in an order that depends on the
 *     seed, and products of wgmma when they are waited for. Until then their output is NaN, and
 *     their input must not be changed. Ordinary stores need the fence to be visible to them.
 *   - Barriers in shared memory that were not initialized, too many arrivals or bytes, a phase that
 *     a thread may miss, and copies, stores or products that no thread has waited for, end the run.
 *   - Stores to another block of the cluster arrive some turns later, too. The cluster's barrier
 *     must ensure that a block has started before it is stored to, and a block must not exit while
 *     bytes are under way to it.
 *
 * It does not detect races in global memory, or reads past a tensor unless its memory is guarded,
 * and does not model time. Products of mma are exact, and their sum in double is rounded once,
 * which is slightly more accurate than the device; ex2, lg2 and rcp are those of libm.
 */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMULATOR_TEXT_SIZE 256

/* A launch: kernel(args) for every thread. */
typedef struct emulator_launch {
    void (*kernel)(const void *args);
    const void *args;
    uint32_t grid[3];
    uint32_t threads;      /* per block; a multiple of 32 up to 1024 */
    uint32_t shared_bytes; /* dynamic shared memory, up to 227 KiB */
    uint64_t seed;         /* for the order in which copies of boxes, and stores to other blocks,
                            * arrive */
    uint32_t cluster;      /* blocks per cluster, along x, up to 8; 0 or 1: no clusters */
} emulator_launch;

typedef struct emulator_report {
    char error[EMULATOR_TEXT_SIZE]; /* why the run ended early, or "" */

    uint64_t races;
    char race[EMULATOR_TEXT_SIZE]; /* the first one, or "" */

    /* Reads of uninitialized shared memory; those of ldmatrix, whose rows may be unused, only give
     * NaN. */
    uint64_t uninitialised;
    char uninitialised_at[EMULATOR_TEXT_SIZE];

    /* Passes of shared memory accesses through its 32 banks (8 lanes of 16 bytes, 16 of 8, or 32 of
     * 4 per pass): how many were needed beyond one per access, and the line with the most. */
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
