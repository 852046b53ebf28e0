/*
 * ptx.cuh - the instructions of src/cuda/kernels/ptx.cuh and the files it includes, in C on the
 * emulator
 *
 * A kernel that is compiled with this file included first (-include) finds the include guards set
 * and uses these definitions in place of the real ones, which document them. Arithmetic is in
 * ptx_math.cuh; the machine does everything that touches shared memory or waits. Macros at the end
 * of each file record the line of the kernel that makes a request.
 */
#ifndef HEED_PTX_CUH
#define HEED_PTX_CUH

#include "emulator/ptx_math.cuh"
#include "emulator/ptx_memory.cuh"
#include "emulator/ptx_thread.cuh"
#include "emulator/ptx_warp.cuh"

#endif /* HEED_PTX_CUH */
