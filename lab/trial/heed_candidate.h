/*
 * heed_candidate.h - the interface of kernels in C that are proposed to heed
 *
 * A candidate is one C file that includes this header and defines heed_candidate_run(). It is
 * compiled to a shared object and called in a process that may do nothing but compute: no files, no
 * network, no threads, no other process, and no memory beyond a limit. Values of its knobs are
 * macros that the compiler is given. It may use the functions of math.h and string.h.
 *
 * The semantics are those of heed.h: O = softmax(scale * Q K^T + mask) V for every batch element
 * and query head, accumulated in float32 or better. Query head h reads key/value head
 * h / (heads_q / heads_kv). A row that sees no key gives O = 0 and LSE = -infinity. One that sees
 * keys, all of them with logits of -infinity, gives 0 or NaN for each element of O, and -infinity
 * or NaN for the LSE.
 *
 * All of these are tried, and -O3 -march=native compiles them:
 *
 *  - Keys and values that are masked hold NaN and infinities. Leave them out: a NaN plus -infinity
 *    is NaN, and so is a weight of 0 times a NaN of V.
 *  - A NaN that a row sees makes the row not finite: in K its LSE and all of O, in V its column of
 *    O. fmaxf() passes over a NaN, and a test for a maximum of -infinity may then skip its key.
 *  - Finite logits lie anywhere in float32: maxima begin at -INFINITY or -FLT_MAX, not at -1e30.
 *  - A logit that is computed twice may differ from itself, as the compiler fuses the product with
 *    scale into the next subtraction. Keep it, or compute it where nothing is inlined.
 */
#ifndef HEED_CANDIDATE_H
#define HEED_CANDIDATE_H

#include <stddef.h>
#include <stdint.h>

/* Element types, and masks: query i sees every key, the keys j <= i, or the keys
 * j <= i + seq_k - seq_q; of these what a window and chunks leave of them. */
enum {
    HEED_CANDIDATE_F32 = 0,
    HEED_CANDIDATE_F16 = 1,
    HEED_CANDIDATE_BF16 = 2
};
enum {
    HEED_CANDIDATE_MASK_NONE = 0,
    HEED_CANDIDATE_MASK_TOP_LEFT = 1,
    HEED_CANDIDATE_MASK_BOTTOM_RIGHT = 2
};

/* Distances in elements. Those of one head vector are contiguous. */
typedef struct heed_candidate_strides {
    int64_t batch;
    int64_t seq;
    int64_t head;
} heed_candidate_strides;

/* Operands, which change logits or hide keys: heed.h says what each of them means. Types of their
 * elements, and dimensions along which they differ. */
enum {
    HEED_CANDIDATE_NO_OPERAND = 0,
    HEED_CANDIDATE_OPERAND_F32 = 1,
    HEED_CANDIDATE_OPERAND_F16 = 2,
    HEED_CANDIDATE_OPERAND_BF16 = 3,
    HEED_CANDIDATE_OPERAND_I32 = 4,
    HEED_CANDIDATE_OPERAND_BYTES = 5,
    HEED_CANDIDATE_OPERAND_BITS = 6
};
enum {
    HEED_CANDIDATE_ALONG_BATCH = 1,
    HEED_CANDIDATE_ALONG_HEAD = 2,
    HEED_CANDIDATE_ALONG_QUERY = 4,
    HEED_CANDIDATE_ALONG_KEY = 8
};

typedef struct heed_candidate_operand {
    int32_t type;
    int32_t along;
    heed_candidate_strides strides; /* of batch, query and head; keys are contiguous */
} heed_candidate_operand;

/* An array that expressions read, dense. */
#define HEED_CANDIDATE_ARRAYS_MAX 4
typedef struct heed_candidate_array {
    char name[16]; /* "": there is none */
    int32_t type;
    int32_t rank;
    int64_t size[3];
} heed_candidate_array;

typedef struct heed_candidate_problem {
    int32_t type;
    int32_t mask;
    int64_t batch;
    int64_t heads_q;
    int64_t heads_kv;
    int64_t seq_q;
    int64_t seq_k;
    int64_t dim_qk;
    int64_t dim_v;
    float scale;              /* of the logits; finite, may be negative */
    int32_t accumulate_f16;   /* 1: the problem permits sums in half precision */
    heed_candidate_strides q; /* [batch, seq_q, heads_q, dim_qk] */
    heed_candidate_strides k; /* [batch, seq_k, heads_kv, dim_qk] */
    heed_candidate_strides v; /* [batch, seq_k, heads_kv, dim_v] */
    heed_candidate_strides o; /* [batch, seq_q, heads_q, dim_v] */
    int32_t align;        /* 1: query i stands at position p = i + seq_k - seq_q, as it does with
                             that mask; else at p = i */
    int32_t window_sides; /* 1: it sees the keys j >= p - window_left alone; 2: j <= p +
                             window_right; 3: both */
    int64_t window_left;
    int64_t window_right;
    int64_t chunk; /* not 0: it sees those with floor(j / chunk) = floor(p / chunk) alone */
    float softcap; /* the rest: see heed_candidate_takes_operands */
    heed_candidate_operand bias;
    heed_candidate_operand slopes;
    heed_candidate_operand sinks;
    heed_candidate_operand starts;
    heed_candidate_operand shown;
    heed_candidate_operand lengths;
    heed_candidate_operand table; /* [batch, seq_k / page], i32 */
    int64_t page;  /* not 0: K and V are pools of so many pages of so many keys, [pages, page, */
    int64_t pages; /* heads_kv, dim]; key j of b is key j % page of page table[b][j / page] */
    int64_t
        tokens_q; /* not 0: Q and O are [tokens_q, heads_q, dim], sequence b has the rows from */
    int64_t tokens_k; /* cu_seqlens_q[b] up to cu_seqlens_q[b + 1] and without it, and LSE is */
    heed_candidate_operand
        cu_seqlens_q; /* [heads_q, tokens_q]; K and V likewise; [batch + 1], of */
    heed_candidate_operand cu_seqlens_k; /* i32 or i64 */
    heed_candidate_array arrays[HEED_CANDIDATE_ARRAYS_MAX];
    char score[256]; /* expressions without blanks; "": none */
    char visible[256];
    int32_t products; /* 1: the problem permits operands of products rounded to TF32; 2: sums of two
                         bfloat16 */
} heed_candidate_problem;

/* The data of one execution. Inputs are read-only, and what lies around the tensors may not be
 * touched. Tensors are aligned to their elements alone, the workspace to 64 bytes. */
typedef struct heed_candidate_buffers {
    const void *q;
    const void *k;
    const void *v;
    void *o;         /* only its elements are written, never the gaps between them */
    float *lse;      /* [batch, heads_q, seq_q], dense: natural logarithms; NULL: not wanted */
    void *workspace; /* as heed_candidate_workspace() asked for; its content is rubbish */
    size_t workspace_size;
    const void *bias; /* operands; NULL: there is none */
    const void *slopes;
    const void *sinks;
    const void *starts;
    const void *shown;
    const void *lengths;
    const void *table;
    const void *cu_seqlens_q;
    const void *cu_seqlens_k;
    const void *arrays[HEED_CANDIDATE_ARRAYS_MAX];
} heed_candidate_buffers;

/* A candidate that knows softcap, operands and expressions defines this as 1, and may refuse those
 * that it cannot do. One that does not define it is never asked for a problem that has any of them:
 * it cannot do it. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const int heed_candidate_takes_operands;

/* heed_candidate_run() computes O, and LSE if wanted, of any problem it can do, whatever its last
 * one was. Returns 0; or anything else if it cannot do @problem, with nothing written. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers);

/* heed_candidate_workspace() returns the bytes of workspace that an execution of @problem needs. A
 * candidate that needs none does not define it. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
size_t
heed_candidate_workspace(const heed_candidate_problem *problem);

#endif /* HEED_CANDIDATE_H */
