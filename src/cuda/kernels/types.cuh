/*
 * types.cuh - integer types and attributes that device code takes from its compiler
 *
 * Device code is written in the common subset of C17 and C++, so NVRTC can compile it for a GPU and
 * a C compiler for the emulator in tests/emulator. NVRTC has no <stdint.h>, hence the types.
 */
#ifndef HEED_TYPES_CUH
#define HEED_TYPES_CUH

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

#ifdef __CUDACC__
#define HEED_ALIGNAS(bytes) alignas(bytes)
/* A device function, always inlined, so array arguments stay in registers. */
#define HEED_DEVICE static __device__ __forceinline__
/* A function that is rarely called: not inlined, and placed after the kernel, so the hot code is as
 * compact, and uses as few registers, as without it. Scalars are passed in registers; it computes
 * everything else again. Its linkage is external: the name of a static function includes the file's
 * name, and the same source in another file would give a different cubin. */
#define HEED_RARE inline __device__ __noinline__
/* A kernel with an unmangled name: HEED_ENTRY(128, 2) my_kernel(my_args args), with @threads
 * threads per block; registers are allocated for @blocks blocks per multiprocessor, or capped by a
 * compiler option, which launch bounds would override. */
#ifdef HEED_CAPPED
#define HEED_ENTRY(threads, blocks) extern "C" __global__ void
#else
#define HEED_ENTRY(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#endif
/* The same for an auxiliary kernel, to which the cap on registers does not apply. */
#define HEED_ENTRY_BESIDE(threads) extern "C" __global__ void __launch_bounds__(threads, 1)
/* The same for a kernel whose blocks form pairs, clusters of two along x. */
#define HEED_ENTRY_PAIR(threads, blocks) HEED_ENTRY(threads, blocks) __cluster_dims__(2, 1, 1)
/* Placed before "const" and the argument struct of a kernel, which is then read in place. */
#define HEED_GRID_CONSTANT __grid_constant__
#define HEED_UNROLL _Pragma("unroll")
#define HEED_NO_UNROLL _Pragma("unroll 1")
#define HEED_UNROLL_BY_TWO _Pragma("unroll 2")
#else
#include <stdbool.h>
#define HEED_ALIGNAS(bytes) _Alignas(bytes)
#define HEED_DEVICE static inline __attribute__((unused))
#define HEED_RARE HEED_DEVICE
#define HEED_ENTRY(threads, blocks) static __attribute__((unused)) void
#define HEED_ENTRY_BESIDE(threads) HEED_ENTRY(threads, 1)
#define HEED_ENTRY_PAIR(threads, blocks) HEED_ENTRY(threads, blocks)
#define HEED_GRID_CONSTANT
#define HEED_UNROLL
#define HEED_NO_UNROLL
#define HEED_UNROLL_BY_TWO
#endif

/* Four registers, for vector loads and stores. */
typedef struct heed_u32x4 {
    HEED_ALIGNAS(16) u32 v[4];
} heed_u32x4;

/* Two registers. */
typedef struct heed_u32x2 {
    HEED_ALIGNAS(8) u32 v[2];
} heed_u32x2;

#endif /* HEED_TYPES_CUH */
