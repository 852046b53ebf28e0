/*
 * append_args.cuh - the arguments of an append launch, for host and device code
 *
 * A vector is a new key of one head, its value, or a query to rotate, in this order. Strides are in
 * elements.
 */
#ifndef HEED_APPEND_ARGS_CUH
#define HEED_APPEND_ARGS_CUH

#include "args.cuh"

/* Vectors of a block, one for each warp. */
#define HEED_APPEND_VECTORS 4

typedef struct heed_cuda_append_args {
    const void *q;
    const void *k_new;
    const void *v_new;
    void *k;
    void *v;
    void *queries; /* rotated */
    const void *cosines;
    const void *sines;  /* rotary / 2 for each position */
    const int *lengths; /* of batch elements, so far apart */
    long long length_stride;
    const int *table; /* of pages; with this stride between batch elements; NULL: none */
    long long table_stride;
    heed_cuda_divisor page; /* keys per page */
    heed_cuda_strides q_stride, queries_stride, k_stride, v_stride, k_new_stride, v_new_stride;
    heed_cuda_divisor append;   /* new keys of a batch element */
    heed_cuda_divisor seq_q;    /* queries of a batch element */
    heed_cuda_divisor heads_kv; /* heads of new keys, and of queries */
    heed_cuda_divisor heads_q;
    unsigned keys;    /* vectors of new keys, below 2^31; */
    unsigned values;  /* with values; */
    unsigned vectors; /* and with queries: all */
    unsigned dim_qk, dim_v;
    unsigned turned;     /* the first column that is rotated, */
    unsigned rotary;     /* and their number; 0: none */
    const int *cu_q;     /* cumulative lengths of packed queries */
    unsigned cu_q_words; /* words of each of them, the lower one first */
    unsigned sequences;  /* number of packed sequences */
    unsigned all;        /* 1: queries after the last sequence are written too, without rotation */
} heed_cuda_append_args;

#endif /* HEED_APPEND_ARGS_CUH */
