/*
 * ablation.h - ways to degrade a kernel on purpose, to measure the cost of its parts; for CPU
 * kernels and, as one of the device sources, for CUDA kernels
 *
 * A build with HEED_ABLATE set to one of these numbers is worse in that one way, or omits that one
 * thing, and is otherwise the same; without HEED_ABLATE, none of this affects the machine code. The
 * lines of a kernel that begin with @ablate, in its parameter block, list those that it supports;
 * lab/inspect/ablate.c has their names, docs/ablating.md explains the results. All of them
 * terminate, and only access memory that the kernel accesses anyway. Without products, exponentials
 * or loads the results are wrong; with the others they are correct.
 */
#ifndef HEED_ABLATION_H
#define HEED_ABLATION_H

#define ABLATE_NONE 0
#define ABLATE_NO_EXP 1        /* weights are the exponents themselves */
#define ABLATE_NO_PRODUCTS 2   /* operands of matrix products are loaded, but not multiplied */
#define ABLATE_DIVERGENT 3     /* odd lanes, or keys, compute exponentials in a separate branch */
#define ABLATE_EXTRA_BARRIER 4 /* an additional one in every step */
#define ABLATE_STRIDED 5       /* neighbours load different rows, or rows in small pieces */
#define ABLATE_UNSWIZZLED 6    /* the layout of tiles in shared memory ignores banks */
#define ABLATE_NO_STAGING 7    /* operands are not gathered in fast memory first */
#define ABLATE_NO_OVERLAP 8    /* no loads while a tile is processed */
#define ABLATE_UNROLLED 9      /* the main loop is unrolled eight times */
#define ABLATE_MASKED 10       /* all tiles are masked, needed or not */
#define ABLATE_DELAY 11        /* each block waits at its end for HEED_DELAY / 65536 of its time */
#define ABLATE_NO_LOADS 12     /* only the first tiles of K and V are loaded, and reused */
#define ABLATE_TINY_BLOCKS 13  /* of one warp; on a CPU, tasks of one row */
#define ABLATE_MISPREDICTED 14 /* on a CPU: an unpredictable branch at each exponential */

#ifndef HEED_ABLATE
#define HEED_ABLATE ABLATE_NONE
#endif

/* Before the main loop of a kernel. */
#if HEED_ABLATE == ABLATE_UNROLLED && defined __CUDACC__
#define HEED_MAIN_LOOP _Pragma("unroll 8")
#else
#define HEED_MAIN_LOOP HEED_NO_UNROLL
#endif

/* True in a build with that ablation; a constant. */
#define ABLATED(which) (HEED_ABLATE == (which))

#endif /* HEED_ABLATION_H */
