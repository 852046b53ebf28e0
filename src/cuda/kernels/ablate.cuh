/*
 * ablate.cuh - the ways to degrade a kernel on purpose, to see the cost of its parts
 *
 * A build with HEED_ABLATE set to one of these numbers is worse in that one way, or leaves that one
 * thing out, and is otherwise the same; without, its machine code is as if none of this were here.
 * The lines of a kernel that begin with @ablate, in its parameter block, name those that it can be
 * built with; lab/inspect/ablate.c has their names, docs/ablating.md what they tell. All of them
 * end, and touch no memory but what the kernel touches anyway. Without products,
 * exponentials or loads the results are wrong; with the others they are as right as ever.
 */
#ifndef HEED_ABLATE_CUH
#define HEED_ABLATE_CUH

#define ABLATE_NONE 0
#define ABLATE_NO_EXP 1        /* weights are the exponents themselves */
#define ABLATE_NO_PRODUCTS 2   /* of matrices: their operands come, and are not multiplied */
#define ABLATE_DIVERGENT 3     /* odd lanes, or keys, make their exponentials in a branch apart */
#define ABLATE_EXTRA_BARRIER 4 /* one more in every step */
#define ABLATE_STRIDED 5       /* neighbours load from other rows, or rows come in small pieces */
#define ABLATE_UNSWIZZLED 6    /* tiles lie in shared memory as if it had no banks */
#define ABLATE_NO_STAGING 7    /* operands are not gathered in fast memory first */
#define ABLATE_NO_OVERLAP 8    /* nothing is loaded while a tile is worked on */
#define ABLATE_UNROLLED 9      /* eight steps of the main loop one after another in the code */
#define ABLATE_MASKED 10       /* all tiles are masked, needed or not */
#define ABLATE_DELAY 11       /* HEED_DELAY / 65536 of a block's time is spent waiting at its end */
#define ABLATE_NO_LOADS 12    /* tiles of K and V but the first are the first ones again */
#define ABLATE_TINY_BLOCKS 13 /* of one warp; on a CPU, tasks of one row */
#define ABLATE_MISPREDICTED 14 /* on a CPU: a branch at each exponential that nothing predicts */

#ifndef HEED_ABLATE
#define HEED_ABLATE ABLATE_NONE
#endif

/* Before the main loop of a kernel. */
#if HEED_ABLATE == ABLATE_UNROLLED && defined __CUDACC__
#define HEED_MAIN_LOOP _Pragma("unroll 8")
#else
#define HEED_MAIN_LOOP HEED_NO_UNROLL
#endif

/* Is this a build with that one? A constant. */
#define ABLATED(which) (HEED_ABLATE == (which))

#endif /* HEED_ABLATE_CUH */
