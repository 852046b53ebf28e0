/*
 * args.cuh - the arguments of a launch, for host and device code
 *
 * Everything that may differ between executions of the same compiled kernel: lengths, strides and
 * addresses, but not element type, head dims and mask. Strides are in elements.
 *
 * The query heads that read one key/value head form a group. Their queries are the rows of one tall
 * matrix: row r is query r / group of the group's head r % group, so K and V are read once for the
 * whole group, and later rows see more keys under a causal mask.
 */
#ifndef HEED_ARGS_CUH
#define HEED_ARGS_CUH

typedef struct heed_cuda_strides {
    long long batch;
    long long seq;
    long long head;
} heed_cuda_strides;

/* Division by a number that is known before the launch: n / value = n * multiplier >> 32 >> shift
 * for n below 2^31 (Granlund and Montgomery 1994), a few instructions instead of about twenty. */
typedef struct heed_cuda_divisor {
    unsigned value;
    unsigned multiplier; /* 0: the value is 1 */
    unsigned shift;
} heed_cuda_divisor;

/* The source of a load in a program: the offset of an element is the sum of index * stride, where
 * the stride of the last index is 1. For bits the last index counts bits, strides count words. */
typedef struct heed_cuda_source {
    const void *data;
    long long stride[3];
    int last[4]; /* the largest index along each dimension */
} heed_cuda_source;

#define HEED_CUDA_SOURCES 11

/* A softcap X tanh(y) of products, whose logits are in the unit of ln(2). For a small or a tiny y
 * there are polynomials in the product. */
typedef struct heed_cuda_cap {
    float stretch;     /* factor from a product to the base-2 exponent of e^2y */
    float top;         /* X in that unit, */
    float inverse;     /* and -1 / (2 top) */
    float small;       /* the product up to which y is small, */
    float shift;       /* the square of a tiny product plus this */
    float limit;       /* is between half of this power of two and the whole; 0: none is tiny */
    float of_small[4]; /* coefficients of x, x^3, ... */
    float of_tiny[3];  /* of x, x (x^2 + shift), ... */
} heed_cuda_cap;

/* Arguments for changed logits, hidden keys and sinks (score.cuh). */
typedef struct heed_cuda_changes {
    float natural;      /* the logit of a product of 1, without its sign; */
    float inverse;      /* 1 / unit; */
    float unit;         /* the logit of a changed score of 1 */
    const float *sinks; /* of query heads; with this stride between batch elements */
    long long sink_stride;
    const int *starts; /* of queries, likewise */
    long long start_stride;
    const int *lengths; /* of batch elements, with this stride */
    long long length_stride;
    long long ahead;  /* keys that lengths include but K does not: the prefix */
    const int *table; /* of pages, with this stride between batch elements; */
    long long table_stride;
    heed_cuda_divisor page;          /* keys per page, */
    unsigned pages;                  /* and the number of pages of K and V */
    const int *cu_q;                 /* cumulative lengths of packed queries, */
    const int *cu_k;                 /* and keys: */
    unsigned cu_q_words, cu_k_words; /* words per element, the lower one first */
    unsigned tokens_q;               /* rows of packed queries */
    unsigned places; /* slots for blocks of rows per key/value head (order.cuh); 0: one per
                        sequence */
    heed_cuda_source sources[HEED_CUDA_SOURCES];
    unsigned *lists;              /* of tiles (tile_list.cuh), each for a block of rows of this */
    heed_cuda_divisor list_heads; /* many key/value heads; */
    unsigned list_tiles;          /* room of each, in tiles */
    heed_cuda_cap cap;
} heed_cuda_changes;

typedef struct heed_cuda_args {
    const void *q;
    const void *k;
    const void *v;
    void *o;
    float *lse;         /* or NULL */
    float *partial;     /* with splits: [heads][splits][rows][dim_v], each normalized (with spread
                           keys in the order of spread.cuh) ... */
    float *partial_lse; /* ... and [heads][splits][rows], to base 2 */
    unsigned *arrived;  /* with splits: [heads][blocks], number of finished parts; zero before and
                           after a launch. NULL: a separate launch merges the parts */
    heed_cuda_strides q_stride, k_stride, v_stride, o_stride;
    long long visible; /* query i sees the keys j < i + visible; without a mask it is unused */
    unsigned rows;     /* seq_q * group, below 2^31 */
    unsigned seq_q;
    unsigned seq_k;
    unsigned heads; /* batch * heads_kv */
    heed_cuda_divisor heads_kv;
    heed_cuda_divisor group;   /* query heads per key/value head */
    heed_cuda_divisor splits;  /* blocks that share the keys of the same rows, or, if they are
                                  spread, of all rows of a key/value head */
    heed_cuda_divisor section; /* key/value heads processed at the same time */
    heed_cuda_divisor rest;    /* heads of the last section */
    heed_cuda_divisor work;    /* section * blocks */
    unsigned blocks;           /* of rows, per key/value head */
    float scale;               /* of the logits, without its sign, times log2(e) */
    unsigned negate;           /* 1: the scale is negative */
    unsigned share;   /* heads that read the same one of K and V: 1, but with maps (maps.cuh) maybe
                         more */
    long long hidden; /* query i does not see keys before i + hidden, if the mask hides
                         first keys, */
    long long first;  /* nor, if there are chunks, keys outside the chunk of i + first */
    heed_cuda_divisor chunk;
#if !defined __CUDACC__ || HEED_CHANGES
    heed_cuda_changes changes; /* only used by code that is compiled for them */
#endif
} heed_cuda_args;

#endif /* HEED_ARGS_CUH */
