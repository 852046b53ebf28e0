/*
 * ptx.cuh - the instructions that C lacks, one wrapper each, named after the instruction
 *
 * In device code only these files and ptx_hopper.cuh may contain asm or CUDA builtins.
 * tests/emulator/ptx.cuh has the same prototypes in C, so kernels can run without a GPU; add every
 * new wrapper there too.
 *
 * Asynchronous operations, barriers, and accesses to memory that other threads write are volatile
 * and clobber memory, so the compiler keeps their order; arithmetic is neither, so it can be
 * scheduled freely.
 */
#ifndef HEED_PTX_CUH
#define HEED_PTX_CUH

#include "ptx_thread.cuh"

#include "ptx_memory.cuh"

#include "ptx_warp.cuh"

#include "ptx_math.cuh"

#endif /* HEED_PTX_CUH */
