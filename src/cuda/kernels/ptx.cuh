/*
 * ptx.cuh - the instructions that C lacks, one wrapper each, named after the instruction
 *
 * Nothing in device code but these files and ptx_hopper.cuh may contain asm or a builtin of CUDA.
 * tests/emulator/ptx.cuh has the same prototypes in C, which is how kernels run where there is no
 * GPU; a wrapper added here is added there.
 *
 * Asynchronous operations, barriers, and accesses to memory that others write are volatile and
 * clobber memory, so that the compiler keeps their order; arithmetic is neither, so that it may be
 * scheduled freely.
 */
#ifndef HEED_PTX_CUH
#define HEED_PTX_CUH

#include "ptx_thread.cuh"

#include "ptx_memory.cuh"

#include "ptx_warp.cuh"

#include "ptx_math.cuh"

#endif /* HEED_PTX_CUH */
