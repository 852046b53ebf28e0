/*
 * score.h - changed logits, hidden keys and sinks for CUDA kernels
 *
 * The steps of a problem (program.h) become program.cuh, a generated header with which a kernel for
 * such a problem is compiled; kernels/score.cuh describes its contents. Sizes, strides and
 * addresses are not part of it: they are arguments. Starts are not steps here, but the beginning of
 * an interval of keys, like that of a window.
 */
#ifndef HEED_CUDA_SCORE_H
#define HEED_CUDA_SCORE_H

#include "../../problem/program.h"
#include "../kernels/args.cuh"

/* The features that a kernel needs for a problem, and their cost. */
typedef struct heed_cuda_needs {
    bool modifies; /* steps change logits */
    bool hides;    /* steps hide keys */
    bool starts;
    bool lengths;
    bool packed_q, packed_k;
    bool pages;
    bool sinks;
    bool caps; /* a softcap of products, which polynomials may compute */
    bool any;
    bool lists;       /* intervals of the steps may show which tiles are hidden (tile_list.cuh), */
    bool per_head;    /* differently for each head, */
    bool per_batch;   /* or for each batch element */
    int pairs;        /* 1: elements of two neighbouring keys may be read at once, 2: also bytes of
                         sixteen keys, if addresses are multiples of the units of
                         heed_cuda_operands() */
    int instructions; /* approximate, per score, */
    int packed;       /* and of these, what packing the elements of a mask saves */
    int exponentials; /* operations of the special function units, */
    int registers;    /* and per thread; */
    int loading;      /* more of them for elements in flight; */
    bool packs;       /* these are bytes of sixteen keys at once */
    bool stages;      /* elements of a bias of 16 bits may be read from its tiles */
    bool loads;       /* elements of operands that have keys are read; */
    bool computes;    /* steps take more instructions than a few; */
    bool ahead;       /* a quarter if elements are read ahead */
} heed_cuda_needs;
heed_cuda_needs heed_cuda_needs_of(const heed_problem *problem);

/* heed_cuda_products() returns HEED_PRODUCTS, how kernels compute float32 products as permitted by
 * @problem: 3: three of tf32, 2: three of bfloat16, 1: one of tf32 (single_mma.cuh). */
int heed_cuda_products(const heed_problem *problem);

/* heed_cuda_masked() returns true if kernels are compiled with a mask. */
bool heed_cuda_masked(const heed_problem *problem);

/* heed_cuda_print_program() prints program.cuh for @problem, normalized, into @text. Returns its
 * length, as snprintf does; 0 if the problem needs none. */
#define HEED_CUDA_PROGRAM_SIZE (128 << 10)
size_t heed_cuda_print_program(const heed_problem *problem, char *text, size_t size);

/* heed_cuda_fill_changes() fills in all of @changes except the addresses, and returns the factor
 * from changed scores to base-2 logits. */
float heed_cuda_fill_changes(heed_cuda_changes *changes, const heed_problem *problem);

/* An address that the caller passes to a kernel. */
typedef struct heed_cuda_operand {
    const char *name; /* of the field, or the array */
    size_t buffer;    /* its offset in heed_buffers */
    int unit;         /* for pairs it must be a multiple of this many bytes */
} heed_cuda_operand;

/* heed_cuda_operands() lists them for @problem, first the sources in their order, *@sources of
 * them. Returns the total number. */
#define HEED_CUDA_OPERANDS_MAX (HEED_SOURCES_MAX + 6)
int heed_cuda_operands(const heed_problem *problem, int *sources,
                       heed_cuda_operand operands[HEED_CUDA_OPERANDS_MAX]);

#endif /* HEED_CUDA_SCORE_H */
