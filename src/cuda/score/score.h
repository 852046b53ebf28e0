/*
 * score.h - changed logits, hidden keys and sinks in the form for CUDA kernels
 *
 * The steps of a problem (program.h) become program.cuh, a header that a kernel for such a problem
 * is compiled with; kernels/score.cuh says what is in it. Sizes, strides and addresses are not:
 * they are arguments. Starts are no step here, but the beginning of an interval of keys, as a
 * window has one.
 */
#ifndef HEED_CUDA_SCORE_H
#define HEED_CUDA_SCORE_H

#include "../../problem/program.h"
#include "../kernels/args.cuh"

/* The abilities that a kernel needs for a problem, and their cost. */
typedef struct heed_cuda_needs {
    bool modifies; /* steps change logits */
    bool hides;    /* steps hide keys */
    bool starts;
    bool lengths;
    bool packed_q, packed_k;
    bool pages;
    bool sinks;
    bool any;
    bool lists;       /* the intervals of steps may tell which tiles are hidden (tile_list.cuh), */
    bool per_head;    /* and that differs between heads, */
    bool per_batch;   /* or between elements of the batch */
    int pairs;        /* elements of two neighbouring keys may be read at once, and with 2 bytes of
                         sixteen, where addresses are multiples of what heed_cuda_operands() says */
    int instructions; /* about, for a score, */
    int exponentials; /* operations of the special function units, */
    int registers;    /* and of a thread; */
    bool crowded;     /* more of them where other work goes on beside the scores, */
    bool per_key;     /* and half of one for each key of a tile; */
    bool ahead;       /* a quarter of one where elements are read ahead */
} heed_cuda_needs;
heed_cuda_needs heed_cuda_needs_of(const heed_problem *problem);

/* heed_cuda_products() returns HEED_PRODUCTS, how kernels are to make products of float32 as
 * @problem permits it: 3 three of tf32, 2 three of bfloat16, 1 one of tf32 (single_mma.cuh). */
int heed_cuda_products(const heed_problem *problem);

/* heed_cuda_masked() says whether kernels are to be compiled with a mask. */
bool heed_cuda_masked(const heed_problem *problem);

/* heed_cuda_print_program() prints program.cuh for @problem, normalized, into @text. Returns its
 * length, with which @text ends in a null byte if it is below @size; 0 if the problem needs none.
 */
#define HEED_CUDA_PROGRAM_SIZE (128 << 10)
size_t heed_cuda_print_program(const heed_problem *problem, char *text, size_t size);

/* heed_cuda_fill_changes() fills in all of @changes but the addresses, and returns the factor that
 * turns changed scores into logits to base 2. */
float heed_cuda_fill_changes(heed_cuda_changes *changes, const heed_problem *problem);

/* An address of the caller's that a kernel gets. */
typedef struct heed_cuda_operand {
    const char *name; /* of the field, or the array */
    size_t buffer;    /* where it is in heed_buffers */
    int unit;         /* bytes that it must be a multiple of for pairs */
} heed_cuda_operand;

/* heed_cuda_operands() lists them for @problem, the sources first, in their order: *@sources of
 * them. Returns how many there are in all. */
#define HEED_CUDA_OPERANDS_MAX (HEED_SOURCES_MAX + 6)
int heed_cuda_operands(const heed_problem *problem, int *sources,
                       heed_cuda_operand operands[HEED_CUDA_OPERANDS_MAX]);

#endif /* HEED_CUDA_SCORE_H */
