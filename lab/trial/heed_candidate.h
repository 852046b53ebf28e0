/*
 * heed_candidate.h - the interface of C kernels proposed to heed
 *
 * A candidate is one C file that includes this header and defines heed_candidate_run(). It is
 * compiled to a shared object and called in a process that may only compute: no files, network,
 * threads or child processes, and no memory beyond a limit. The values of its knobs are macros. It
 * may use the functions of math.h and string.h.
 *
 * The semantics are those of heed.h: O = softmax(scale * Q K^T + mask) V for every batch element
 * and query head, accumulated in float32 or better. Query head h reads key/value head
 * h / (heads_q / heads_kv). A row that sees no key gives O = 0 and LSE = -infinity. One that sees
 * keys, all of them with logits of -infinity, gives 0 or NaN for each element of O, and -infinity
 * or NaN for the LSE.
 *
 * All of the following cases are tested, compiled with -O3 -march=native:
 *
 *  - Masked keys and values contain NaN and infinities. Skip them: a NaN plus -infinity
 *    is NaN, and so is a weight of 0 times a NaN of V.
 *  - A NaN that a row sees makes the row non-finite: in K its LSE and all of O, in V its column of
 *    O. fmaxf() ignores a NaN, and a test for a maximum of -infinity may then skip its key.
 *  - Finite logits cover all of float32: start maxima at -INFINITY or -FLT_MAX, not at -1e30.
 *  - A logit computed twice may differ, as the compiler may fuse the product with
 *    scale into the next subtraction. Store it, or compute it in a function that is not inlined.
 */
#ifndef HEED_CANDIDATE_H
#define HEED_CANDIDATE_H

#include <stddef.h>
#include <stdint.h>

/* Element types, and masks: query i sees every key, the keys j <= i, or the keys j <= i + seq_k -
 * seq_q; all restricted by a window and chunks. */
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

/* Strides in elements. The elements of a head vector are contiguous. */
typedef struct heed_candidate_strides {
    int64_t batch;
    int64_t seq;
    int64_t head;
} heed_candidate_strides;

/* Operands, which change logits or hide keys, see heed.h. Types of their elements, and dimensions
 * along which they are not broadcast. */
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

/* A dense array for expressions. */
#define HEED_CANDIDATE_ARRAYS_MAX 4
typedef struct heed_candidate_array {
    char name[16]; /* "": unused */
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
    int32_t align; /* 1: query i is at position p = i + seq_k - seq_q, as with that mask; else at p
                      = i */
    int32_t window_sides; /* 1: it sees only keys j >= p - window_left; 2: j <= p + window_right; 3:
                             both */
    int64_t window_left;
    int64_t window_right;
    int64_t chunk; /* not 0: it sees only keys with floor(j / chunk) = floor(p / chunk) */
    float softcap; /* this and all that follow: see heed_candidate_takes_operands */
    heed_candidate_operand bias;
    heed_candidate_operand slopes;
    heed_candidate_operand sinks;
    heed_candidate_operand starts;
    heed_candidate_operand shown;
    heed_candidate_operand lengths;
    heed_candidate_operand table; /* [batch, seq_k / page], i32 */

    /* If page is not 0, K and V are pools of pages with page keys each, [pages, page, heads_kv,
     * dim]; key j of b is key j % page of page table[b][j / page]. */
    int64_t page;
    int64_t pages;

    /* If tokens_q is not 0, Q and O are [tokens_q, heads_q, dim], where sequence b has rows
     * cu_seqlens_q[b] to cu_seqlens_q[b + 1] - 1, and LSE is [heads_q, tokens_q]; K and V likewise.
     */
    int64_t tokens_q;
    int64_t tokens_k;
    heed_candidate_operand cu_seqlens_q; /* [batch + 1], i32 or i64 */
    heed_candidate_operand cu_seqlens_k;
    heed_candidate_array arrays[HEED_CANDIDATE_ARRAYS_MAX];
    char score[256]; /* expressions without spaces; "": none */
    char visible[256];
    int32_t products; /* 1: the problem permits operands of products rounded to TF32; 2: sums of two
                         bfloat16 */
} heed_candidate_problem;

/* The data of one execution. Inputs are read-only, and memory around the tensors may not be
 * touched. Tensors are aligned only to their elements, the workspace to 64 bytes. */
typedef struct heed_candidate_buffers {
    const void *q;
    const void *k;
    const void *v;
    void *o;         /* only its elements are written, never the gaps between them */
    float *lse;      /* [batch, heads_q, seq_q], dense: natural logarithms; NULL: not wanted */
    void *workspace; /* of the size from heed_candidate_workspace(); uninitialized */
    size_t workspace_size;
    const void *bias; /* operands; NULL: none */
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

/* A candidate that supports softcap, operands or expressions defines this as 1, and may refuse
 * those that it cannot do. One that does not define it never gets a problem with any of them. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const int heed_candidate_takes_operands;

/* heed_candidate_run() computes O, and LSE if wanted, for any problem that it supports, regardless
 * of earlier ones. Returns 0; or a nonzero value, with nothing written, if it cannot do @problem.
 */
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
