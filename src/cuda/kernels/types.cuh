/*
 * types.cuh - integer types and attributes that device code takes from its compiler
 *
 * Device code is written in the common subset of C17 and C++, so that NVRTC compiles it for a GPU
 * and a C compiler for the emulator of tests/emulator. NVRTC has no <stdint.h>, hence the types.
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
/* A function of the device, always inlined: arrays that it gets stay in registers. */
#define HEED_DEVICE static __device__ __forceinline__
/* One that hardly ever runs: not inlined, and behind the kernel's end, so that the code that does
 * run lies as close together, and keeps as few registers, as without it. Scalars are handed to it
 * in registers; it finds all else anew. Its linkage is external: the name of a static function
 * has the file's name in it, and the same source in another file would be another cubin. */
#define HEED_RARE inline __device__ __noinline__
/* A kernel, by a name that the driver finds: HEED_ENTRY(128, 2) my_kernel(my_args args). Of
 * @threads threads a block; registers are allotted for @blocks blocks a multiprocessor, or as an
 * option of the compiler caps them, which bounds would overrule. */
#ifdef HEED_CAPPED
#define HEED_ENTRY(threads, blocks) extern "C" __global__ void
#else
#define HEED_ENTRY(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#endif
/* The same of a kernel beside the one that a cap on registers is meant for. */
#define HEED_ENTRY_BESIDE(threads) extern "C" __global__ void __launch_bounds__(threads, 1)
/* The same of a kernel whose blocks come in pairs, clusters of two along x. */
#define HEED_ENTRY_PAIR(threads, blocks) HEED_ENTRY(threads, blocks) __cluster_dims__(2, 1, 1)
/* Before "const" and the argument struct of a kernel: it is read where it lies. */
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

/* Four registers that memory is read and written with at once. */
typedef struct heed_u32x4 {
    HEED_ALIGNAS(16) u32 v[4];
} heed_u32x4;

/* Two of them. */
typedef struct heed_u32x2 {
    HEED_ALIGNAS(8) u32 v[2];
} heed_u32x2;

#endif /* HEED_TYPES_CUH */
