/*
 * heed.h - fused scaled-dot-product attention
 *
 * Describe a problem, make a plan for the machine at hand, execute the plan:
 *
 *     heed_context *context;
 *     heed_problem problem;
 *     heed_plan *plan;
 *
 *     heed_context_create(&context, NULL);
 *     heed_problem_parse(&problem, "b2 h8 s512 d64 f32 causal");
 *     heed_plan_create(&plan, context, &problem, HEED_ESTIMATE);
 *     ...
 *     heed_buffers buffers = { .size = sizeof buffers, .q = q, .k = k, .v = v, .o = o,
 *                              .workspace = w, .workspace_size = heed_plan_workspace_size(plan) };
 *     heed_execute(plan, &buffers);
 *
 * The computation, the same on every backend:
 *
 *  - O = softmax(scale * Q K^T + mask) V for every batch element and query head. The softmax
 *    is over keys. Sums are accumulated in float32 or better, but for those of the two matrix
 *    products where heed_problem.accumulate permits half precision. Products are those of the
 *    operands as they are, but where heed_problem.products permits others.
 *  - Grouped queries: query head h reads key/value head h / (heads_q / heads_kv).
 *  - Query i stands at position p = i among the keys where masks are aligned top left, and at
 *    p = i + seq_k - seq_q where they are aligned bottom right. A causal mask shows it the keys
 *    j <= p; a window the keys from p - left to p + right; chunks those with floor(j / chunk) =
 *    floor(p / chunk). It sees the keys that all of them show. (FlashAttention aligns bottom right
 *    and counts a window as here; PyTorch's is_causal is aligned top left; the left side of
 *    cuDNN's sliding window is left + 1 here.)
 *  - With lengths, batch element b has the keys j < lengths[b] alone, 0 to seq_k of them. Nothing
 *    else of K and V is looked at. Bottom right is then p = i + lengths[b] - seq_q: the last query
 *    stands at the last key.
 *  - Packed sequences (varlen) lie one after another in memory, without padding: where queries are
 *    packed, Q and O are [tokens_q, heads_q, dim] and sequence b, in place of a batch element,
 *    has the rows from cu_seqlens_q[b] to cu_seqlens_q[b + 1] - 1, none or up to seq_q of them; K
 *    and V likewise, where keys are. Rows behind the last sequence are not written, nor is
 *    anything made of what they hold; with a prefix those of Q are read.
 *    Bottom right is then p = i + the sequence's keys - its queries. The number of a query or key,
 *    for masks, operands and expressions, is that within its sequence. (FlashAttention's varlen
 *    functions; the LSE is [heads_q, tokens_q], as theirs.)
 *  - With pages, K and V are pools of pages that hold the keys of one batch element each, page keys
 *    a page: K is [pages, page, heads_kv, dim_qk], and its batch stride that between pages. Key j
 *    of batch element b is key j % page of page table[b][j / page]. Entries that no key below the
 *    length needs are not looked at. (FlashAttention's page_table, vLLM's block_table; the order
 *    [pages, heads_kv, page, dim] is a matter of strides.)
 *  - With a prefix, the first prefix keys are the same for all batch elements, and so are their
 *    values: those of batch element 0, in pages those that the first prefix / page entries of its
 *    row of the table name. They are read once for the queries of all, where these are equally far
 *    apart, as they must be with pages. Nothing is looked at that other elements have in that
 *    place, in K, V or the table. The number of a key is what it is without a prefix, and lengths
 *    count it: they are prefix to seq_k, and under a causal mask at least prefix and the element's
 *    queries together, which stand behind the prefix and see all of it. The result is that of two
 *    attentions, over the prefix and over the rest, weighted by the exponentials of their LSEs.
 *    (The cascade of FlashInfer and vLLM.)
 *  - Where V is shared, it is the first dim_v elements of every vector of K, and has K's strides.
 *    DeepSeek's multi-head latent attention (MLA) has this form once its projections are absorbed:
 *    one head of keys, d576/512. Kernels that keep tiles of K need not read it twice.
 *  - With append, K and V are a cache that an execution first writes to: the append vectors of
 *    k_new and v_new of batch element b become its keys and values lengths[b] - append to
 *    lengths[b] - 1, and attention then is as if they had always been there; no other element of K
 *    and V is changed. So lengths count the new keys, and are append to seq_k. (The cache_seqlens
 *    of FlashAttention's flash_attn_with_kvcache do not: lengths = cache_seqlens + new keys.) Where
 *    V is shared there are new keys alone.
 *  - Where queries are packed, each sequence has append new keys all the same, or new keys are
 *    packed too (append_packed): then a sequence has as many as queries, in those rows of k_new and
 *    v_new that its queries have in Q, and lengths[b] is at least their number. So one batch takes
 *    the next pieces of prompts beside single steps, and a sequence without queries is left as it
 *    is. (FlashAttention-3 where cu_seqlens_k_new is cu_seqlens_q.)
 *  - With rotary, the first rotary columns of a new key, where V is shared those behind V, are
 *    rotated before it is written, by the cosines and sines of its position, which for the n-th of
 *    N new ones is lengths[b] - N + n, and those of query i before it is looked at, by those of
 *    position i + lengths[b] - seq_q, in a packed sequence i + lengths[b] - its queries, 0 where
 *    that is negative, whatever the mask is; Q itself is not changed. (FlashAttention rotates query
 *    i as at cache_seqlens + i: the same where there are as many new keys as queries, and not
 *    elsewhere.) Of columns a and b that belong together, pair c of the position, a becomes
 *    a cos - b sin and b becomes b cos + a sin: the exact value, rounded to float64, to float32 and
 *    to the type, on every backend to the same bits. Keys that are in the cache already are taken
 *    as they are.
 *  - A logit is made in this order, from t = scale * q.k: t = softcap * tanh(t / softcap);
 *    t + bias; t - slope * |p - j| (ALiBi); the expression score; then keys that are hidden are
 *    taken out: by the mask, by lengths, by starts (keys below the query's start, which must not
 *    decrease from one query to the next), by shown and by visible where they are false. A sink
 *    is one more logit in the denominator of the softmax, of no value. (ONNX, FlashAttention,
 *    cuDNN and ggml have the same order; ONNX had the bias before the softcap up to 2026-04.
 *    FlashAttention-2 leaves the row's constant out of a causal ALiBi, and so out of the LSE;
 *    FlashInfer's LSE is to base 2.)
 *  - An expression has numbers, s (the logit, of score alone), q and k (the query's and the key's
 *    number), p (the query's position), head, batch, the problem's sizes heads, queries and keys,
 *    true and false, elements of arrays as in slope[head] or doc[batch,k], + - * /, % and // (whole
 *    numbers, rounded down), < <= > >= == != && || ! and c ? x : y, and the functions abs, min,
 *    max, exp, log, tanh, sqrt, floor, float and int. Whole numbers have 32 bits and wrap around;
 *    an index beyond an array reads its nearest element; x // 0 is 0, and x % 0 is x.
 *  - A row that sees no key, or only keys whose logit is -infinity, gives O = 0 and LSE =
 *    -infinity; with a sink, O = 0 and LSE = the sink.
 *  - A logit is finite, and counts for what it is however large, as long as the sum of
 *    |q_c k_c| over the head dim, and 1.45 |scale| times it and times each q_c, are below 3.4e38,
 *    float32's largest number. Beyond, sums may overflow to an infinity, or to NaN where terms of
 *    both signs do. +infinity and NaN make O and LSE of the row NaN or infinite; -infinity is a
 *    key without weight. A logit that a bias, ALiBi or an expression takes beyond 2.3e38, in
 *    either direction, may count as the infinity of that sign: so a row where every bias is
 *    float32's lowest number may be one that sees no key.
 *  - Weighted values are added up before the sum is divided by that of the weights. A finite O
 *    is sure where (keys + 1) * max |v| is below 1.7e38 = 2^127; beyond, a column of O may be
 *    infinite or NaN, but not finite and wrong. That can concern f32 and bf16 alone.
 *  - Error. With u = 2^-24 and unit the unit roundoff of the type (2^-24, 2^-11, 2^-8), to first
 *    order and for every row,
 *
 *        |logit - exact| <= L = (a + 4) u |scale| sum_c |q_c k_c|, of the key where it is largest
 *        |O_c - exact|   <= (2 L + (b + 16) u + w) sum_j p_j |v_jc| + unit |O_c|
 *        |LSE - exact|   <= L + (b + 16) u + 2 u |LSE|
 *
 *    p being the weights; w unit where matrix units take weights in the type of V, else 0; a and
 *    b the most additions that one product goes through. For the CPU's kernels a <= 128 +
 *    dim_qk / 128 and b <= 128 + keys / 128, plus 64 where keys are split, else a <= dim_qk and
 *    b <= keys: the error of a sum in parts (N. Higham, Accuracy and Stability of Numerical
 *    Algorithms, 2nd ed., sections 3.1 and 4.2). Errors are mostly far smaller, as roundings
 *    differ in sign: in the root mean square the CPU's float32 errors were 0.1 to 1.5 times those
 *    of sgemm, softmax, sgemm of a matrix library, and tests/src/test_accuracy.c holds them to
 *    twice on every kind of finite values that heed verify tries. With large logits, to +-1e4, most
 *    rows have one weight and no error in O; the rest have two largest logits that nearly tie, and
 *    on a few such rows either side may have many times the other's error by chance.
 *    Where logits are changed, each step takes the error L times its derivative, and adds its own.
 *    A softcap adds 4 u softcap, and 2 u |t| times its derivative; a bias u times the sum of |t|,
 *    |bias| and |result|; ALiBi the same, and 2 u |its term|; a step of an expression u times its
 *    value, twice that for / and sqrt, four times for exp and log, 4 u for tanh. No bound holds
 *    where an error decides how a comparison ends, or what floor and int return. Weights below
 *    2^-126 of the heaviest one, or of the sink's, may count as 0. With a prefix, O adds
 *    (unit + 8 u (1 + |LSE|)) sum_j p_j |v_jc|, as two parts of it are rounded to the type and
 *    weighted by LSEs in float32, and LSE 4 u (1 + |LSE|).
 *    Where products permits others than full ones, and a kernel makes use of it, a product of two
 *    operands is off by up to x of itself: L adds x |scale| sum_c |q_c k_c|, and w is x. TF32 keeps
 *    11 significant bits of an operand: 2^-11 of it may be lost by rounding to nearest, 2^-10 by
 *    cutting off, and x = 2^-9. With bfloat16, of 8 significant bits, the high part of an operand
 *    leaves 2^-8 of it, the low part 2^-8 of that: both operands are off by 2^-16, the product of
 *    the low parts is 2^-16 of the whole, and x = 3 * 2^-16. Parts of operands below 2^-126 may
 *    count as 0, and operands from 2^127 on may overflow.
 *  - LSE, when asked for, is the natural logarithm of the sum of exp(logit) over the visible
 *    keys: float32, dense [batch, heads_q, seq_q].
 *  - In a batch-invariant problem the bits of a row depend on its own query and operands, and
 *    on the keys of its own batch element or sequence, alone. They are the same in all plans that
 *    a context makes with one effort, and one wisdom, for problems that differ in batch, tokens
 *    and pages alone: kernel, config and splits are chosen as if the batch had
 *    HEED_INVARIANT_BATCH elements. On a CUDA device that is said as heed_plan_deterministic()
 *    says it. A plan by name has the config that it names.
 *  - A NaN or an infinity in a masked position never reaches an output; one in a visible
 *    position makes the outputs that depend on it non-finite, as IEEE arithmetic would.
 *
 * The library never prints, never aborts, and keeps no state outside the objects declared here,
 * but for the text that heed_message() returns, which belongs to the calling thread, and for
 * NVIDIA's libraries, which stay loaded once a context for a CUDA device has been asked for.
 *
 * Structs that may grow, heed_problem, heed_options and heed_buffers, begin with their size, which
 * the caller sets to the sizeof of the struct. So fields can be added at the end: those that an
 * older caller does not have count as zero, and a newer caller's that this library does not know
 * must be zero, or the call fails with HEED_ERR_INVALID, as it does for a size of 0.
 *
 * NULL in place of a context, a plan or a problem is refused with HEED_ERR_INVALID, or answered
 * with 0, NULL or "" by functions that return no status.
 */
#ifndef HEED_H
#define HEED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 1
#define HEED_VERSION_PATCH 0
#define HEED_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define HEED_API __attribute__((visibility("default")))
#else
#define HEED_API
#endif

/* ---- Status and messages ------------------------------------------------------------------- */

/* The result of every fallible call. The values are stable: they may be stored. */
typedef enum heed_status {
    HEED_OK = 0,
    HEED_ERR_INVALID = 1,     /* an argument is wrong; the message names field, value and limit */
    HEED_ERR_UNSUPPORTED = 2, /* a valid problem that the kernel asked for cannot do */
    HEED_ERR_NO_MEMORY = 3,   /* an allocation failed; nothing was leaked or half made */
    HEED_ERR_NO_WISDOM = 4,   /* HEED_WISDOM_ONLY found no line for this problem on this machine */
    HEED_ERR_SYSTEM = 5,      /* the operating system refused: a file, a thread */
    HEED_ERR_CORRUPT = 6,     /* a wisdom text is not one, or is damaged */
    HEED_ERR_DEVICE = 7, /* no such device, driver or compiler, or it refused; the message has its
                            own words */
    HEED_ERR_LOST = 8 /* the device failed while it worked, an illegal access say: nothing can run
                         on it any more in this process; every later call says so */
} heed_status;

/* heed_status_name() returns the name of @status in lower case, such as "invalid", for messages
 * and records. It never returns NULL; a value outside the enum gives "unknown". */
HEED_API const char *heed_status_name(heed_status status);

/* heed_message() returns the message of the last heed call that failed on the calling thread, or
 * "" if none did. The text belongs to the thread and is valid until its next failing call.
 * Successful calls leave it alone, so look at it only after a status other than HEED_OK. */
HEED_API const char *heed_message(void);

/* heed_version() returns the version of the library that is running, such as "0.1.0", which may
 * be newer than the HEED_VERSION_STRING that the caller was compiled with. */
HEED_API const char *heed_version(void);

/* ---- Problem ------------------------------------------------------------------------------- */

/* Element type of Q, K, V and O. LSE is always float32. */
typedef enum heed_type {
    HEED_F32 = 0, /* IEEE binary32 */
    HEED_F16 = 1, /* IEEE binary16 */
    HEED_BF16 = 2 /* bfloat16: the upper half of a binary32 */
} heed_type;

/* Types of this header, numbered from 0. */
#define HEED_TYPE_COUNT 3

typedef enum heed_mask {
    HEED_MASK_NONE = 0,
    HEED_MASK_CAUSAL_TOP_LEFT = 1,    /* query i sees keys j <= i */
    HEED_MASK_CAUSAL_BOTTOM_RIGHT = 2 /* query i sees keys j <= i + seq_k - seq_q */
} heed_mask;

/* Where a window and chunks are aligned without a causal mask; with one they are aligned as it is.
 */
typedef enum heed_align {
    HEED_ALIGN_TOP_LEFT = 0,    /* query i stands at position i */
    HEED_ALIGN_BOTTOM_RIGHT = 1 /* query i stands at position i + seq_k - seq_q */
} heed_align;

/* Sides of a window that have a limit. */
enum {
    HEED_WINDOW_LEFT = 1,
    HEED_WINDOW_RIGHT = 2
};

/* A sliding window: a query at position p sees the keys from p - left to p + right, both
 * included. */
typedef struct heed_window {
    unsigned sides; /* of HEED_WINDOW_LEFT and HEED_WINDOW_RIGHT; 0: no window */
    int64_t left;   /* 0 or more; 0 where that side is open */
    int64_t right;
} heed_window;

/* The pass of the computation. */
typedef enum heed_pass {
    HEED_FORWARD = 0 /* O and LSE from Q, K and V */
} heed_pass;

/* The least precision in which a kernel may accumulate the two matrix products. */
typedef enum heed_accumulate {
    HEED_ACC_F32 = 0, /* float32 */
    HEED_ACC_F16 = 1  /* half precision, with type f16 alone: a permission. A kernel that makes use
                         of it may overflow where a logit before scaling, or a sum of weighted
                         values, passes 65504; the softmax and the LSE's sum stay in float32 */
} heed_accumulate;

/* The least precision in which a kernel may multiply the operands of the two matrix products: Q and
 * K, weights and V. With type f32 alone: a permission. A kernel may be more exact, and those of a
 * CPU always are. Sums and the softmax stay in float32. The errors are said above. */
typedef enum heed_products {
    HEED_PRODUCTS_FULL = 0,  /* float32, as exact as its own products */
    HEED_PRODUCTS_TF32 = 1,  /* each operand rounded to TF32: to nearest, or the rest cut off */
    HEED_PRODUCTS_BF16X3 = 2 /* each operand the sum of two bfloat16, each rounded to nearest; the
                                product of the two low parts is left out */
} heed_products;

/* Products of this header, numbered from 0. */
#define HEED_PRODUCTS_COUNT 3

/* Limits of a problem. Anything beyond them is refused by heed_problem_check(). */
#define HEED_DIM_MAX 1024                /* head dims */
#define HEED_SIZE_MAX ((int64_t)1 << 31) /* batch, heads, sequence lengths */
#define HEED_EXTENT_MAX \
    ((int64_t)1 << 46) /* elements of one tensor, and from its first to its last */

#define HEED_PAGE_MAX 1024 /* keys of a page */

/* Batch elements for which a batch-invariant problem is planned. */
#define HEED_INVARIANT_BATCH 4

/* Distances, in elements, between neighbours along three of a tensor's dimensions. The elements
 * of one head vector are contiguous.
 *
 *  - All three zero stands for the dense layout [batch, seq, heads, dim].
 *  - A stride of zero, with another one non-zero, repeats Q, K or V along that dimension.
 *    Elements that are repeated count each time towards HEED_EXTENT_MAX.
 *  - The stride of a dimension of size 1 is never used and may be anything but negative.
 *  - Negative strides are refused.
 *  - No two elements of O may share an address. For that, each stride of O (of a dimension
 *    larger than 1) must be at least the extent of all the dimensions with smaller strides, as
 *    it is in any layout made by permuting, slicing or padding a dense array; other layouts of
 *    O are refused. */
typedef struct heed_strides {
    int64_t batch;
    int64_t seq;
    int64_t head;
} heed_strides;

/* Dimensions that an operand may have, in this order: [batch, heads_q, seq_q, seq_k or pages].
 * Along the others it is the same everywhere. */
enum {
    HEED_ALONG_BATCH = 1,
    HEED_ALONG_HEAD = 2,
    HEED_ALONG_QUERY = 4,
    HEED_ALONG_KEY = 8,
    HEED_ALONG_PAGE = 16,     /* seq_k / page of them; of the page table alone */
    HEED_ALONG_SEQUENCE = 32, /* batch + 1 of them; of cumulative lengths alone */
    HEED_ALONG_POSITION = 64  /* seq_k of them, of rotary / 2 elements each; of the cosines and
                                 sines of rotary embeddings alone */
};

/* Element types of operands. */
typedef enum heed_data {
    HEED_DATA_NONE = 0, /* there is no such operand */
    HEED_DATA_F32 = 1,
    HEED_DATA_F16 = 2,
    HEED_DATA_BF16 = 3,
    HEED_DATA_I32 = 4,
    HEED_DATA_BYTES = 5, /* a byte each: 0 is false, all else true */
    HEED_DATA_I64 = 7,   /* of cumulative lengths alone */
    HEED_DATA_BITS = 6 /* a row of keys is (seq_k + 31) / 32 words of 32 bits: key j is bit j % 32,
                          counted from the lowest, of word j / 32; words count as elements */
} heed_data;

/* An operand: a further input, which changes logits or hides keys. Zeroed, there is none. */
typedef struct heed_operand {
    heed_data type;
    unsigned along;       /* of HEED_ALONG_... */
    heed_strides strides; /* in elements, of batch, query and head. All zero: dense, in the order
                             [batch, head, query, key]. Else the last dimension that it has is
                             contiguous: the head stride of slopes and sinks and the query stride
                             of starts are 1; lengths alone may have gaps. A stride of 0 repeats,
                             but the batch stride of lengths and of a table is 1 or more */
} heed_operand;

/* An array that expressions read, dense, its last index contiguous. */
#define HEED_ARRAYS_MAX 4
#define HEED_ARRAY_RANK_MAX 3
#define HEED_ARRAY_NAME_SIZE 16
typedef struct heed_array {
    char name[HEED_ARRAY_NAME_SIZE];   /* letters, digits and '_', no digit first; "": no array */
    heed_data type;                    /* HEED_DATA_F32, I32 or BYTES */
    int rank;                          /* 1 to HEED_ARRAY_RANK_MAX */
    int64_t size[HEED_ARRAY_RANK_MAX]; /* 1 or more each, below 2^31 elements in all */
} heed_array;

/* Characters of an expression, with the terminating null. */
#define HEED_EXPRESSION_SIZE 256

/* One attention problem: everything but the data. Start from a zeroed struct, set its size, fill in
 * what you need. */
typedef struct heed_problem {
    size_t size; /* sizeof(heed_problem) */
    heed_type type;
    heed_mask mask;
    int64_t batch;    /* 1 or more */
    int64_t heads_q;  /* query heads, a multiple of heads_kv */
    int64_t heads_kv; /* key/value heads, 1 or more */
    int64_t seq_q;    /* queries per batch element, 1 or more */
    int64_t seq_k;    /* keys per batch element, 1 or more */
    int64_t dim_qk;   /* head dim of Q and K, 1 to HEED_DIM_MAX */
    int64_t dim_v;    /* head dim of V and O, 1 to HEED_DIM_MAX */
    float scale;      /* 0: the default, 1/sqrt(dim_qk). Otherwise finite; may be negative */
    heed_accumulate accumulate; /* HEED_ACC_F16 permits less, and only where type is HEED_F16 */
    heed_strides q;             /* Q: [batch, seq_q, heads_q, dim_qk] */
    heed_strides k;             /* K: [batch, seq_k, heads_kv, dim_qk] */
    heed_strides v;             /* V: [batch, seq_k, heads_kv, dim_v] */
    heed_strides o;             /* O: [batch, seq_q, heads_q, dim_v] */
    heed_pass pass;
    heed_align align;    /* of window and chunks; top left with a causal mask, whose own counts */
    heed_window window;  /* its right side changes nothing under a causal mask */
    int64_t chunk;       /* keys of a chunk, 1 or more; 0: no chunks */
    float softcap;       /* 0: none. Otherwise finite and positive */
    heed_operand bias;   /* f32, f16 or bf16; along keys, and any others */
    heed_operand slopes; /* of ALiBi: f32, along heads, and batch */
    heed_operand sinks;  /* f32, along heads, and batch */
    heed_operand starts; /* i32, along queries, and batch */
    heed_operand shown;  /* bytes or bits; along keys, and any others */
    heed_array arrays[HEED_ARRAYS_MAX]; /* that score and visible read, from the first on */
    char score[HEED_EXPRESSION_SIZE];   /* "": none */
    char visible[HEED_EXPRESSION_SIZE];
    heed_operand lengths; /* i32, along batch */
    int64_t page;         /* keys of a page, 1 to HEED_PAGE_MAX, a divisor of seq_k; 0: no pages */
    int64_t pages;        /* in the pools of K and V; 0: batch * seq_k / page */
    heed_operand table; /* i32, along batch and pages, where there are pages: numbers of pages, each
                           0 to pages - 1, which is the caller's duty */
    int64_t tokens_q; /* rows of Q and O, where queries are packed: 1 to batch * seq_q; 0: they are
                         not, and Q and O are as said above */
    int64_t tokens_k; /* of K and V, likewise; they are not in pages then */
    heed_operand cu_seqlens_q; /* i32 or i64, along sequences, where queries are packed: 0, and the
                                  sums of the queries of the first sequences, which do not
                                  decrease; the last is up to tokens_q: the caller's duty */
    heed_operand cu_seqlens_k; /* of keys, likewise */
    int64_t shared;    /* 1: V is the first dim_v elements of the vectors of K, dim_v being dim_qk
                          or less; its strides are 0 or K's, its address is NULL or K's. 0: it
                          is a tensor of its own */
    int64_t invariant; /* 1: batch-invariant, as said above; 0: kernels are chosen for the batch */
    int64_t append;    /* new keys of each batch element, 1 to seq_k, which an execution writes to K
                          and V; 0: none. Needs lengths; keys are not packed then, and no two
                          elements of K or V share an address */
    heed_strides k_new; /* [batch, append, heads_kv, dim_qk], or packed */
    heed_strides v_new; /* [batch, append, heads_kv, dim_v], likewise; 0 where V is shared */
    int64_t rotary; /* columns of Q and of new keys that are rotated by their position: even, 2 to
                       dim_qk, where V is shared to dim_qk - dim_v; 0: none. Only with append */
    int64_t interleaved;     /* 1: column 2 i is rotated with 2 i + 1; 0: i with i + rotary / 2 */
    heed_operand rotary_cos; /* f32, f16 or bf16, along positions: [seq_k, rotary / 2], where there
                                is a rotary embedding */
    heed_operand rotary_sin; /* likewise, of the same type */
    int64_t prefix; /* keys that all batch elements have in common, in pages a multiple of page; 0:
                       none. At most seq_k less the keys behind it: 1, or append, or under a causal
                       mask seq_q if that is more. Not with packed keys, a mask that is aligned top
                       left, windows, chunks, bias, ALiBi, starts, shown, expressions, or invariant.
                       Where queries are not equally far apart, neither K nor V may repeat along
                       both seq and heads */
    int64_t products; /* a heed_products: others than HEED_PRODUCTS_FULL permit less, and only where
                         type is HEED_F32 */
    int64_t append_packed; /* 1: new keys are packed as queries are, which must be, and append is
                              seq_q: k_new is [tokens_q, heads_kv, dim_qk], v_new likewise */
} heed_problem;

/* heed_problem_parse_sized() is heed_problem_parse() for a caller whose heed_problem has @size
 * bytes. It refuses a spec that needs a field which the caller does not have. */
HEED_API heed_status heed_problem_parse_sized(heed_problem *problem, size_t size, const char *spec);

/*
 * heed_problem_parse() reads a problem from its one-line spec, such as
 *
 *     b2 h8 s512 d64 f16
 *     b4 h32/8 s1/4096 d192/128 bf16 causal=br scale=0.1 layout=bhsd
 *
 * Words stand in any order, separated by spaces or tabs. b, h, s, d and the type are required;
 * each word at most once:
 *
 *     bN            batch
 *     hN  hN/M      query heads / key-value heads (M divides N; default M = N)
 *     sN  sN/M      queries / keys (default M = N)
 *     dN  dN/M      head dim of Q and K / of V and O (default M = N)
 *     f32 f16 bf16  element type
 *     causal        causal mask, only where queries = keys
 *     causal=tl     causal mask, top left aligned
 *     causal=br     causal mask, bottom right aligned
 *     window=L:R    sliding window: the keys from L before the query's position to R behind it;
 *                   either number may be left out, for a side without a limit
 *     chunk=N       chunks of N keys: a query sees those of its own
 *     softcap=X     logits become X * tanh(logit / X), a positive decimal number
 *     bias=T:DIMS   an additive bias of type T (f32, f16, bf16) that differs along DIMS, some of
 *                   the letters b (batch), h (heads) and q (queries); bias=T: all three
 *     alibi=DIMS    ALiBi with slopes along DIMS: h or bh; alibi: h
 *     sinks=DIMS    a sink for each head, likewise; sinks: h
 *     starts=DIMS   each query's first key, along DIMS: q or bq; starts: bq
 *     shown=T:DIMS  a mask of type T (bytes, bits), DIMS as of a bias
 *     lengths       the number of keys of each batch element
 *     paged=N/M     K and V in M pages of N keys, by a page table; paged=N: as many as are needed
 *     shared        V is the first dim_v elements of the vectors of K
 *     prefix=N      the first N keys are those of batch element 0 for all, and read once
 *     invariant     batch-invariant: a row's bits do not depend on the rest of the batch
 *     table=b@B:0:0 the page table's batch stride, where it is not seq_k / N
 *     append=N      N new keys and values of each batch element are written to K and V first;
 *                   append=N:packed: as many as queries, up to N, in the same packed rows
 *     rotary=N      N columns of Q and of new keys are rotated by their position, in halves;
 *                   rotary=N:interleaved: in neighbours
 *     cos=T sin=T   the type of the cosines and sines of that, where it is not f32
 *     varlen=N/M    queries packed in N rows, keys in M, by cumulative lengths of type i32; 0: not
 *                   packed. varlen=N: both
 *     cu_q=i64      the type of those of queries, where it is not i32; likewise cu_k=
 *     array=NAME:T:SIZES
 *                   an array that expressions read: T is f32, i32 or bytes, SIZES are up to three
 *                   numbers with x between them; may be given up to four times
 *     score=E       logits become the expression E, which has no blanks, or stands in double quotes
 *     visible=E     keys where E is false are hidden
 *     align=tl      alignment of window and chunks without a causal mask, which may be left out
 *     align=br      where queries = keys
 *     scale=X       logit scale, a decimal number other than 0 (default 1/sqrt(d))
 *     acc=f16       half-precision accumulation is permitted, only with f16 (default acc=f32)
 *     products=P    products by tf32 or bf16x3 are permitted, only with f32 (default products=full)
 *     layout=bshd   order of the dense dimensions of Q, K, V and O: bshd (default), bhsd or sbhd
 *     q=B:S:H       element strides of Q for batch, sequence and head, not all zero; likewise k= v=
 *                   o= k_new= v_new=. They take the place of the layout for that tensor
 *
 * Returns HEED_OK and fills @problem, its size included, normalized as by
 * heed_problem_normalize(), or HEED_ERR_INVALID with a message of three lines: the error, the
 * spec (a part of it, if it is long), and a caret below the character that is meant; @problem is
 * then unchanged. A parsed problem has passed heed_problem_check(). The locale of the process makes
 * no difference.
 */
static inline heed_status heed_problem_parse(heed_problem *problem, const char *spec)
{
    return heed_problem_parse_sized(problem, sizeof *problem, spec);
}

/* heed_problem_print() writes the canonical spec of @problem into @text, which has room for @size
 * bytes with the terminating null, and returns the length of the whole spec without it, as
 * snprintf does: a result of @size or more means that it was cut. @text may be NULL if @size is
 * 0. Parsing the canonical spec gives the same problem again, normalized, and two problems that
 * are equal when normalized print the same. For a problem that heed_problem_check() refuses, the
 * text shows the fields as they are; it may be no spec. One with a wrong size is "". */
HEED_API size_t heed_problem_print(const heed_problem *problem, char *text, size_t size);

/* A buffer of this size holds every canonical spec. */
#define HEED_SPEC_SIZE 1792

/* heed_problem_check() returns HEED_OK if @problem is one that heed can describe, else
 * HEED_ERR_INVALID with a message that names the field, its value and the limit.
 * heed_plan_create() does the same by itself. */
HEED_API heed_status heed_problem_check(const heed_problem *problem);

/* heed_problem_normalize() checks @problem and writes it to @normal in the form that is the same
 * for all ways to say it:
 *
 *  - the scale and the strides of dense tensors are written out,
 *  - the stride of a dimension of size 1 is that of the dense layout,
 *  - bottom-right alignment becomes top-left where seq_q = seq_k, as both mean the same there, and
 *    where nothing is aligned,
 *  - a window without keys to the right is a causal mask, and sides of a window and chunks that
 * hide no key are left out.
 *
 * It writes as many bytes as the size of @problem says. @normal may be @problem itself. Returns as
 * heed_problem_check() does; on failure @normal is unchanged. */
HEED_API heed_status heed_problem_normalize(heed_problem *normal, const heed_problem *problem);

/* heed_problem_flops() returns the floating-point operations of a valid problem by the usual
 * convention: 2 per multiply-add of the two matrix products, over the visible query-key pairs
 * alone; the softmax is not counted. Packed sequences count as if all were equally long, with their
 * share of tokens_q and tokens_k. */
HEED_API double heed_problem_flops(const heed_problem *problem);

/* heed_problem_bytes() returns the bytes that a valid problem must move at least: Q, K, V, operands
 * and arrays read once and O written once, without the gaps between strided elements. Elements that
 * a zero stride repeats count once, as those of a prefix do, and those of a bias or a mask that
 * belong to pairs outside of the causal mask, the window and chunks not at all. Of packed tensors
 * all tokens count, and new keys and values count beside K and V, as of cosines and sines as many
 * positions as there may be new keys, or queries if those are more. */
HEED_API double heed_problem_bytes(const heed_problem *problem);

/* heed_type_size() returns the bytes of one element of @type: 4 or 2; 0 for a value outside the
 * enum. */
HEED_API size_t heed_type_size(heed_type type);

/* heed_type_name() returns "f32", "f16" or "bf16"; "unknown" for a value outside the enum. */
HEED_API const char *heed_type_name(heed_type type);

/* heed_products_name() returns "full", "tf32" or "bf16x3"; "unknown" for a value that is no
 * heed_products. */
HEED_API const char *heed_products_name(int64_t products);

/* ---- Context: the machine, its threads, and what is known about it ------------------------- */

typedef struct heed_context heed_context;

/* A caller's own thread pool. heed calls it to run body(data, i) at most once for each i in 0 ..
 * count-1, i = 0 among them, on any threads and in any order; it must return only when all bodies
 * that were begun have ended. Each body takes work until there is none left, so fewer of them
 * only take longer. count is at most the context's thread number. */
typedef void heed_parallel_fn(void *pool, void (*body)(void *data, int index), void *data,
                              int count);

/* When a plan's kernel is compiled, if it must be. */
typedef enum heed_compile {
    HEED_COMPILE_NOW = 0,       /* before the plan is there */
    HEED_COMPILE_BACKGROUND = 1 /* beside executions, which run another kernel meanwhile */
} heed_compile;

/*
 * How to create a context. Zero in a field means its default.
 *
 * A context is for one device. On a CPU tensors are host memory, and heed_execute() returns when
 * they are complete. On a CUDA device tensors are memory that the device can reach in its primary
 * context, the one that the CUDA runtime and PyTorch use too, and heed_execute() starts the work
 * on the caller's stream. heed needs two libraries of NVIDIA's there, which it looks for when the
 * process makes its first such context: the driver, for CUDA 12.0 or later, and NVRTC, the
 * compiler. It runs on devices of compute capability 8.0 or later.
 *
 * Each call makes the device's primary context current on the calling thread where it is not, and
 * puts back what was current. A context keeps the primary context alive until it is destroyed; if
 * nobody else has retained it, that ends it, with all memory and streams in it.
 */
typedef struct heed_options {
    size_t size;        /* sizeof(heed_options) */
    const char *device; /* "cpu"; "cuda" or "cuda:N", N counting from 0 as CUDA does; NULL: the
                         * environment's HEED_DEVICE, else "cpu" */
    int threads;        /* threads to use, 1 to 1024; 0: as many as this process has CPUs */
    const char *cpu;    /* best CPU features to use: "scalar", "avx2", "avx512" or "avx512bf16",
                         * each with those that it implies; "": all that the machine has; NULL: the
                         * environment's HEED_CPU, else all */
    heed_parallel_fn *parallel; /* the caller's thread pool; NULL: heed starts threads of its own */
    void *pool;                 /* passed to parallel(). The last four are checked for a CUDA device
                                   too, and not used */
    int64_t compile; /* a heed_compile, of a CUDA device: when kernels are compiled that are neither
                        in the cache nor came with the library */
} heed_options;

/* heed_context_create() makes a context with @options, or with the defaults if that is NULL, and
 * starts its threads. They sleep while there is no work. Returns HEED_OK; HEED_ERR_INVALID for a
 * bad option (HEED_CPU and HEED_DEVICE included); HEED_ERR_NO_MEMORY; HEED_ERR_SYSTEM if a thread
 * cannot be started; HEED_ERR_DEVICE if there is no such device, driver or compiler, or the device
 * is too old. On failure *@context is NULL.
 *
 * A context may be used by many threads at once. A child process after fork() has neither its
 * threads nor its device, so make contexts after forking. In such a child no call waits for what is
 * not there: a CPU's plans still execute, on the calling thread alone; destroying frees the child's
 * copy; everything else that is given the context, and an execution on a CUDA device, returns
 * HEED_ERR_INVALID (heed_wisdom_export() writes nothing). CUDA serves no child whose parent has
 * used it, whatever context it makes. */
HEED_API heed_status heed_context_create(heed_context **context, const heed_options *options);

/* heed_context_destroy() ends the threads of @context and frees it. All its plans must have been
 * destroyed. It does not wait for work on a CUDA device. NULL is ignored. */
HEED_API void heed_context_destroy(heed_context *context);

/* heed_context_threads() returns how many threads a plan of @context uses at most: 1, the caller's,
 * for a CUDA device. */
HEED_API int heed_context_threads(const heed_context *context);

/* heed_context_device() returns the name of the device that plans of @context run on, such as
 * "AMD EPYC 9R14" or "NVIDIA H200". It is part of every line of wisdom. The text belongs to
 * @context. */
HEED_API const char *heed_context_device(const heed_context *context);

/* heed_context_backend() returns "cpu" or "cuda"; "" for NULL. */
HEED_API const char *heed_context_backend(const heed_context *context);

/* heed_context_cpu() returns the CPU features in use as one word: "scalar", "avx2", "avx512" or
 * "avx512bf16"; the names of features that do not imply each other would be joined by "+". They say
 * nothing of plans for a CUDA device. The text belongs to @context. */
HEED_API const char *heed_context_cpu(const heed_context *context);

/* ---- Plan ---------------------------------------------------------------------------------- */

typedef struct heed_plan heed_plan;

/* How much work planning may be. Each level uses wisdom that is at least as good, if the context
 * has it. */
typedef enum heed_effort {
    HEED_ESTIMATE = 0,   /* a cost model chooses: microseconds */
    HEED_MEASURE = 1,    /* time every applicable kernel in the config that the model likes best, on
                            tensors of its own */
    HEED_PATIENT = 2,    /* time every config of those kernels */
    HEED_WISDOM_ONLY = 3 /* take the choice from wisdom or fail with HEED_ERR_NO_WISDOM */
} heed_effort;

/* heed_plan_create() makes a plan for @problem on the device of @context. The problem is copied.
 *
 * HEED_MEASURE and HEED_PATIENT allocate tensors of the problem's extent while they measure, and
 * leave what they learned in the context's wisdom. HEED_ESTIMATE depends on the problem and the
 * machine alone, unless wisdom has a line for the problem.
 *
 * On a CUDA device the plan holds compiled code: the first plan of its kind takes some tenths of a
 * second, later ones, also those of other processes, and of other lengths in the same config, a few
 * milliseconds. It loads code and, while it measures, waits for the device, so no stream may be
 * captured into a graph meanwhile: not by the calling thread, nor in CUDA's global capture mode by
 * any other.
 *
 * In a context with HEED_COMPILE_BACKGROUND, a plan whose kernel must be compiled, some tenths of a
 * second to seconds, is there at once if another kernel or config, whose code came with the library
 * or is in the cache, can do the problem. It executes the best one of these until a thread of its
 * own has compiled and loaded the one that heed_plan_name() names, which from then on is executed:
 * another thread's capture does not disturb that, nor that a capture. heed_plan_explain() says
 * which one serves. The workspace is enough for both. A batch-invariant problem's kernel is
 * compiled at once, since its bits may not change, and so are those that are measured or asked for
 * by name. Plans of one context compile one after another. heed_plan_destroy() waits for a
 * compilation that has begun.
 *
 * Returns HEED_OK; HEED_ERR_INVALID for a bad argument; HEED_ERR_NO_WISDOM; HEED_ERR_NO_MEMORY, of
 * the host or the device; HEED_ERR_UNSUPPORTED if no kernel can do @problem on the device;
 * HEED_ERR_DEVICE if the code cannot be compiled or loaded; HEED_ERR_LOST. On failure *@plan is
 * NULL. */
HEED_API heed_status heed_plan_create(heed_plan **plan, heed_context *context,
                                      const heed_problem *problem, heed_effort effort);

/* heed_plan_wait() waits until @plan executes the kernel that was chosen for it, which may be
 * compiled in the background: before a measurement, say, or before a stream is captured into a
 * graph, which keeps the kernel that served then. Where nothing is compiled it returns at once.
 *
 * Returns HEED_OK; HEED_ERR_INVALID; or what kept the kernel from being made, HEED_ERR_DEVICE say,
 * and then the other one goes on to serve. */
HEED_API heed_status heed_plan_wait(const heed_plan *plan);

/* heed_plan_create_named() is like heed_plan_create(), but the caller chooses the kernel: @kernel
 * is the name of one, such as "fwd_any_avx512_tile", which then runs in the config that the cost
 * model likes best, or of a kernel and its config, such as "fwd_any_avx512_tile__m128n128s1".
 * Returns HEED_ERR_INVALID if there is no such kernel or config, HEED_ERR_UNSUPPORTED, with the
 * reason, if it cannot run @problem here. */
HEED_API heed_status heed_plan_create_named(heed_plan **plan, heed_context *context,
                                            const heed_problem *problem, const char *kernel);

/* heed_plan_destroy() frees @plan, which must not be executing: on a CUDA device what
 * heed_execute() has started must have finished, and a CUDA graph that it was captured into must
 * not be launched any more, for the code that it runs is freed. NULL is ignored. */
HEED_API void heed_plan_destroy(heed_plan *plan);

/* heed_plan_workspace_size() returns the bytes of workspace that each concurrent execution of
 * @plan needs; 0 if none. On a CPU it grows with the number of threads and with tile sizes, and
 * where keys are split, on any device, with the elements of O times the splits; rotated queries
 * take as much as a dense Q, and a prefix as much as a dense O and two LSEs. It grows with seq_q *
 * seq_k only where an expression says which keys are visible, on a CUDA device: by 4 bytes for
 * each pair of a block of queries and a tile of keys, 256 MiB at most. It need not be cleared. On
 * a CUDA device use few workspaces again and again: after the 64th address a plan that splits keys
 * starts two launches instead of one. */
HEED_API size_t heed_plan_workspace_size(const heed_plan *plan);

/* A workspace must be aligned to this many bytes. Tensors need the alignment of their element
 * type alone, but are read fastest at this one. On a CUDA device f16 and bf16 are fast where Q, K,
 * V and O begin at multiples of 16 bytes and all their strides are multiples of 8 elements;
 * elsewhere a slower config of the same kernel runs, whatever heed_plan_name() says. */
#define HEED_ALIGNMENT 64

/* heed_plan_name() returns the chosen kernel and config, such as
 * "fwd_any_avx512_tile__m128n128s1", as heed_plan_create_named() takes it: where there is a prefix
 * those of the rest; the planner chooses those of the prefix, which heed_plan_explain() names. The
 * text belongs to @plan. */
HEED_API const char *heed_plan_name(const heed_plan *plan);

/* heed_plan_problem() returns the problem of @plan, normalized. Its size is that of the problem
 * that the plan was made for, or what this library knows if that is less. It belongs to @plan. */
HEED_API const heed_problem *heed_plan_problem(const heed_plan *plan);

/* heed_plan_deterministic() returns 1 if two executions of @plan on equal inputs give equal bits,
 * whatever the threads do, else 0. On a CUDA device that is said of executions whose Q, K, V and O
 * either all begin at multiples of 16 bytes, or in both do not. A plan whose kernel was compiled in
 * the background is not, as the one that served meanwhile may round otherwise; so may another plan
 * for the same problem. */
HEED_API int heed_plan_deterministic(const heed_plan *plan);

/* The planner's estimate of one kernel. Times are seconds per execution; a negative one is not
 * known. */
typedef struct heed_candidate {
    const char *name;     /* kernel and config */
    const char *rejected; /* why it cannot run the problem here, or, after "not worthwhile: ", why
                             the planner would not choose it; else NULL. The config that a plan was
                             asked for by name, or has from wisdom, may be chosen and not worthwhile
                           */
    double predicted;     /* by the cost model */
    double measured;      /* by HEED_MEASURE or HEED_PATIENT */
    int chosen;           /* 1 for the candidate that the plan executes */
} heed_candidate;

/* heed_plan_candidate_sized() is heed_plan_candidate() for a caller whose heed_candidate has @size
 * bytes, which it writes. */
HEED_API heed_status heed_plan_candidate_sized(const heed_plan *plan, size_t index,
                                               heed_candidate *candidate, size_t size);

/* heed_plan_candidate() writes the @index-th kernel that the planner considered to @candidate;
 * its texts belong to @plan. Returns HEED_ERR_INVALID if @index is past the last one: count up
 * from 0 until then. */
static inline heed_status heed_plan_candidate(const heed_plan *plan, size_t index,
                                              heed_candidate *candidate)
{
    return heed_plan_candidate_sized(plan, index, candidate, sizeof *candidate);
}

/* heed_plan_explain() writes what heed_plan_candidate() tells, as a text of several lines for
 * people, into @text. Sizes and return value are those of heed_problem_print(). The wording may
 * change between versions. */
HEED_API size_t heed_plan_explain(const heed_plan *plan, char *text, size_t size);

/* ---- Execute ------------------------------------------------------------------------------- */

/* The data of one execution. All pointers are the caller's and must stay valid until the
 * execution ends. O, LSE and the workspace must overlap neither each other nor Q, K and V.
 *
 * Where the plan's problem appends, K and V are written to, although the fields say const: the
 * memory must be writable, no two batch elements may have their new keys in the same place, and
 * k_new and v_new overlap no other tensor. */
typedef struct heed_buffers {
    size_t size;   /* sizeof(heed_buffers) */
    const void *q; /* [batch, seq_q, heads_q, dim_qk] at the problem's strides, or packed */
    const void *k; /* [batch, seq_k, heads_kv, dim_qk], or [pages, page, heads_kv, dim_qk] */
    const void *v; /* [batch, seq_k, heads_kv, dim_v], likewise */
    void *o;    /* [batch, seq_q, heads_q, dim_v]: only its elements are written, never the gaps */
    float *lse; /* [batch, heads_q, seq_q], or [heads_q, tokens_q], dense; NULL: not wanted */
    void *workspace;       /* aligned to HEED_ALIGNMENT; may be NULL if the plan needs none */
    size_t workspace_size; /* bytes at workspace, heed_plan_workspace_size() or more */
    void *
        stream; /* CUDA: the CUstream or cudaStream_t to work on; NULL: the legacy default stream */
    const void
        *bias; /* the problem's operands, where it has them: [batch, heads_q, seq_q, seq_k] */
    const void *slopes; /* [batch, heads_q] */
    const void *sinks;  /* [batch, heads_q] */
    const void *starts; /* [batch, seq_q] */
    const void *shown;  /* [batch, heads_q, seq_q, seq_k] */
    const void *arrays[HEED_ARRAYS_MAX];
    const void *lengths;      /* [batch] */
    const void *table;        /* [batch, seq_k / page] */
    const void *cu_seqlens_q; /* [batch + 1] */
    const void *cu_seqlens_k; /* [batch + 1] */
    const void *k_new;        /* [batch, append, heads_kv, dim_qk], where the problem appends, */
    const void *v_new;        /* [batch, append, heads_kv, dim_v], likewise; both may be packed */
    const void *rotary_cos;   /* [seq_k, rotary / 2] */
    const void *rotary_sin;   /* [seq_k, rotary / 2] */
} heed_buffers;

/* heed_execute() computes O, and LSE if wanted, from Q, K and V. It allocates nothing. One plan may
 * be executed by many threads at once, each with a workspace of its own.
 *
 * On a CPU it returns when the outputs are complete; while another thread uses the context's
 * threads, the calling thread works alone. On a CUDA device it starts the work on buffers->stream,
 * which must be one of the device's primary context, and returns; the buffers must stay valid and
 * the workspace unused until the stream has got there; executions on one stream may share one. It
 * neither waits nor copies, and may be captured into a CUDA graph, whose launches then need what
 * the call needed: plan, buffers, workspace.
 *
 * Checks of pointers: that they are not NULL, their alignment and, on a CUDA device, whose
 * memory begins there. Device memory must be of the plan's own device, even where the device could
 * reach that of others; managed memory and pinned host memory will do. How far the memory
 * reaches, and what overlaps, is the caller's responsibility. Lengths, cumulative lengths and
 * numbers of pages are checked on a CPU, and the first one that is out of range is named. On a CUDA
 * device they are the caller's responsibility too, but where the environment of
 * heed_context_create() has HEED_CHECK=1: then each execution, and each launch of a heed_graph,
 * waits for the device and reads them; an execution that a stream captures does not.
 *
 * Returns HEED_OK; HEED_ERR_INVALID for a pointer that is NULL, misaligned or not memory that the
 * device can reach, or a workspace that is too small: nothing was written then; HEED_ERR_DEVICE if
 * the launch was refused, as for a stream of another device; HEED_ERR_NO_MEMORY if the driver had
 * none for it; HEED_ERR_LOST, which may tell of an earlier execution. */
HEED_API heed_status heed_execute(const heed_plan *plan, const heed_buffers *buffers);

/* An execution as a CUDA graph, for a program that has no graph of its own: launching it is one
 * call of the driver and, without HEED_CHECK=1, checks nothing. */
typedef struct heed_graph heed_graph;

/* heed_graph_create() captures one execution of @plan, a CUDA device's, with @buffers, whose stream
 * does not matter. Nothing is executed. The kernel that was chosen for the plan is waited for, as
 * by heed_plan_wait(), and captured, unless it cannot be made: then the one that serves. As while a
 * plan is made, the calling thread must not capture a stream, nor any thread one in the global
 * mode.
 *
 * Returns HEED_OK; HEED_ERR_INVALID as heed_execute() does, and for a plan of a CPU;
 * HEED_ERR_NO_MEMORY; HEED_ERR_DEVICE; HEED_ERR_LOST. On failure *@graph is NULL. */
HEED_API heed_status heed_graph_create(heed_graph **graph, const heed_plan *plan,
                                       const heed_buffers *buffers);

/* heed_graph_launch() starts the execution on @stream, as heed_execute() would, with what the
 * buffers, which must still be there as the plan must, hold by then. Launches of one graph share
 * its workspace: they must be in order, on one stream say, and by one thread at a time. Returns
 * HEED_OK; HEED_ERR_INVALID; HEED_ERR_NO_MEMORY; HEED_ERR_DEVICE; HEED_ERR_LOST. */
HEED_API heed_status heed_graph_launch(heed_graph *graph, void *stream);

/* heed_graph_destroy() frees @graph, whose launches must have finished, and which may outlive its
 * plan but not its context. NULL is ignored. */
HEED_API void heed_graph_destroy(heed_graph *graph);

/* ---- Kernels ------------------------------------------------------------------------------- */

/* heed_kernel_name() returns the name of the @index-th built-in kernel, counted from 0, or NULL
 * past the last one. Every kernel is listed, also those that this machine cannot run. */
HEED_API const char *heed_kernel_name(size_t index);

/* heed_kernel_summary() returns one line that says what the @index-th kernel is, or NULL past the
 * last one. */
HEED_API const char *heed_kernel_summary(size_t index);

/* heed_kernel_knob() returns the name of the @knob-th knob of the @index-th kernel, such as
 * "STAGES", in the order in which names of configs have their values; *@letter, if not NULL,
 * becomes the letter that stands for it there. NULL past the last knob or kernel. */
HEED_API const char *heed_kernel_knob(size_t index, size_t knob, char *letter);

/* heed_kernel_config() writes the name of the @config-th config of the @index-th kernel, such as
 * "fwd_any_avx512_tile__m64n128s1", into @name, which has room for @size bytes. Returns
 * HEED_ERR_INVALID past the last config or kernel, or if @size is too small; HEED_NAME_SIZE is
 * enough. */
HEED_API heed_status heed_kernel_config(size_t index, size_t config, char *name, size_t size);

/* A buffer of this size holds the name of every kernel with its config. */
#define HEED_NAME_SIZE 96

/* ---- Wisdom: measured choices, kept as text ------------------------------------------------ */

/*
 * heed_wisdom_import() adds the lines of the wisdom text @text (a null-terminated string) to
 * @context. A line that was made for another device, another number of threads, other CPU
 * features (of a CUDA device: architecture, driver or NVRTC) or another version of its kernel is
 * skipped. A line that matches replaces an earlier
 * one for the same problem if it took at least as much effort. Wisdom can only choose among the
 * kernels of this library.
 *
 * Writes the number of lines taken to *@taken and of lines skipped to *@skipped (either may be
 * NULL). After skipping a line, heed_message() names the field that differs in the last one
 * skipped. Returns HEED_OK; HEED_ERR_CORRUPT, with the line's number, if @text is not wisdom or
 * damaged: then nothing was added; HEED_ERR_NO_MEMORY.
 */
HEED_API heed_status heed_wisdom_import(heed_context *context, const char *text, size_t *taken,
                                        size_t *skipped);

/* heed_wisdom_export() writes all wisdom of @context into @text. Sizes and return value are those
 * of heed_problem_print(). */
HEED_API size_t heed_wisdom_export(heed_context *context, char *text, size_t size);

/* heed_wisdom_load() is like heed_wisdom_import(), but reads the file @path. HEED_ERR_SYSTEM if
 * it cannot be read. */
HEED_API heed_status heed_wisdom_load(heed_context *context, const char *path, size_t *taken,
                                      size_t *skipped);

/* heed_wisdom_save() writes all wisdom of @context to the file @path, by way of a temporary file
 * beside it that is then renamed, so that a reader sees either the old file or the new one; of a
 * symbolic link the file that it points to. A device or a pipe is written to as it is.
 * HEED_ERR_SYSTEM if that fails; the old file is then as it was. */
HEED_API heed_status heed_wisdom_save(heed_context *context, const char *path);

/* heed_wisdom_forget() drops all wisdom of @context. */
HEED_API void heed_wisdom_forget(heed_context *context);

#ifdef __cplusplus
}
#endif

#endif /* HEED_H */
