/*
 * heed.h - fused scaled-dot-product attention
 *
 * Describe a problem, make a plan for this machine, execute the plan:
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
 *  - O = softmax(scale * Q K^T + mask) V for every batch element and query head. The softmax is
 *    over keys. Sums are accumulated in float32 or better, except those of the two matrix products
 *    where heed_problem.accumulate permits half precision. Operands are multiplied at full
 *    precision, unless heed_problem.products permits less.
 *  - Grouped queries: query head h reads key/value head h / (heads_q / heads_kv).
 *  - The position of query i among the keys is p = i where masks are aligned top left, and
 *    p = i + seq_k - seq_q where they are aligned bottom right. A causal mask shows it the keys
 *    j <= p; a window the keys from p - left to p + right; chunks those with
 *    floor(j / chunk) = floor(p / chunk). It sees the keys that all of these show. (FlashAttention
 *    aligns bottom right and defines a window in the same way; PyTorch's is_causal is aligned top
 *    left; the left side of cuDNN's sliding window is left + 1 here.)
 *  - With lengths, batch element b has only the keys j < lengths[b], where lengths[b] is 0 to
 *    seq_k. No other part of K and V is read. Bottom right is then p = i + lengths[b] - seq_q: the
 *    last query is at the last key.
 *  - Packed sequences (varlen) follow one another in memory, without padding: where queries are
 *    packed, Q and O are [tokens_q, heads_q, dim] and sequence b, in place of a batch element, has
 *    the rows from cu_seqlens_q[b] to cu_seqlens_q[b + 1] - 1, between 0 and seq_q rows; the same
 *    holds for K and V where keys are packed. Rows after the last sequence are not written, and
 *    their contents never affect a result; with a prefix those of Q are read. Bottom right is then
 *    p = i + the sequence's keys - its queries; with lengths too, these are the first lengths[b] of
 *    its keys, or all of them if it has fewer. Masks, operands and expressions number queries and
 *    keys within their sequence. (This is the layout of FlashAttention's varlen functions; the LSE
 *    is [heads_q, tokens_q], as theirs is.)
 *  - With pages, K and V are pools of pages. A page holds page keys of one batch element: K is
 *    [pages, page, heads_kv, dim_qk], and its batch stride is the distance between pages. Key j of
 *    batch element b is key j % page of page table[b][j / page]. Table entries that no key below
 *    the length needs are not read. (FlashAttention's page_table, vLLM's block_table; the order
 *    [pages, heads_kv, page, dim] is a matter of strides.)
 *  - With a prefix, the first prefix keys and values are the same for all batch elements: those of
 *    batch element 0; with pages, those in the pages that the first prefix / page entries of its
 *    row of the table name. They are read once for the queries of all batch elements if these are
 *    evenly spaced, as they must be with pages. Other batch elements' entries in that place, in K,
 *    V or the table, are not read. Keys are numbered as without a prefix, and lengths include the
 *    prefix: they are prefix to seq_k, and under a causal mask at least prefix plus the element's
 *    queries, which come after the prefix and see all of it. The result is that of two attentions,
 *    over the prefix and over the remaining keys, weighted by the exponentials of their LSEs. (The
 *    cascade attention of FlashInfer and vLLM.)
 *  - Where V is shared, it is the first dim_v elements of every vector of K, and has K's strides.
 *    DeepSeek's multi-head latent attention (MLA) has this form once its projections are absorbed:
 *    one KV head, d576/512. Kernels that keep tiles of K need not read V separately.
 *  - With append, K and V are a KV cache that an execution first writes to: the append vectors of
 *    k_new and v_new of batch element b become its keys and values lengths[b] - append to
 *    lengths[b] - 1, and attention is computed as if they had always been there; no other element
 *    of K and V is changed. So lengths include the new keys, and are append to seq_k. (The
 *    cache_seqlens of FlashAttention's flash_attn_with_kvcache do not include them:
 *    lengths = cache_seqlens + new keys.) Where V is shared there are only new keys.
 *  - With packed queries, each sequence still has append new keys, unless new keys are packed too
 *    (append_packed): then a sequence has one new key per query, in the rows of k_new and v_new
 *    that its queries have in Q, and lengths[b] is at least their number. So one batch can hold
 *    prompt chunks and single steps, and the keys of a sequence without queries do not change.
 *    (FlashAttention-3 where cu_seqlens_k_new is cu_seqlens_q.)
 *  - With rotary, the first rotary columns of a new key (where V is shared, the first ones after
 *    V) are rotated before it is written, by the cosines and sines of its position, which for the
 *    n-th of N new keys is lengths[b] - N + n. The same columns of query i are rotated before use,
 *    by those of position i + lengths[b] - seq_q, in a packed sequence i + lengths[b] - its
 *    queries, or of 0 where that is negative, whatever the mask is; Q itself is not changed.
 *    (FlashAttention rotates query i as at cache_seqlens + i: the same only if there are as many
 *    new keys as queries.) If columns a and b form pair c, a becomes a cos - b sin and b becomes b
 *    cos + a sin, with element c of the position's cosines and sines: the exact value, rounded to
 *    float64, to float32 and to the type, to the same bits on every backend. Keys that are already
 *    in the cache are used as they are.
 *  - A logit is computed in this order, from t = scale * q.k: t = softcap * tanh(t / softcap);
 *    t + bias; t - slope * |p - j| (ALiBi); the expression score; then hidden keys are removed:
 *    those hidden by the mask, by lengths, by starts (keys below the query's start, which must not
 *    decrease from one query to the next), and those for which shown or visible is false. A sink is
 *    one more logit in the denominator of the softmax, without a value. (ONNX, FlashAttention,
 *    cuDNN and ggml use the same order; ONNX had the bias before the softcap up to 2026-04.
 *    FlashAttention-2 leaves the row's constant out of a causal ALiBi, and so out of the LSE;
 *    FlashInfer's LSE is to base 2.)
 *  - An expression may contain numbers, s (the logit; only in score), q and k (the query's and the
 *    key's number), p (the query's position), head, batch, the problem's sizes heads, queries and
 *    keys (seq_q and seq_k, even where a sequence has fewer), true and false, array elements such
 *    as slope[head] or doc[batch,k], + - * /, % and // (whole numbers, rounded down), < <= > >= ==
 *    != && || ! and c ? x : y, and the functions abs, min, max, exp, log, tanh, sqrt, floor, float
 *    and int (rounded toward 0, and limited to 32 bits). Whole numbers have 32 bits and wrap
 *    around, and become float32 beside a float32; an element of a bytes array is true or false; an
 *    index beyond an array reads its nearest element; x // 0 is 0, and x % 0 is x.
 *  - A row that sees no key, or only keys whose logit is -infinity, has O = 0 and LSE = -infinity;
 *    with a sink, O = 0 and LSE = the sink.
 *  - A logit of any size is finite and handled correctly as long as the sum of |q_c k_c| over the
 *    head dim, and 1.45 |scale| times that sum and times each q_c, are below 3.4e38, float32's
 *    largest number. Beyond that, sums may overflow to an infinity, or to NaN where terms of both
 *    signs do. +infinity and NaN make O and LSE of the row NaN or infinite; -infinity gives the key
 *    no weight. A logit that a bias, ALiBi or an expression takes beyond +-2.3e38 may count as the
 *    infinity of that sign: a row where every bias is float32's lowest number may therefore count
 *    as one that sees no key.
 *  - Weighted values are summed first, and divided by the sum of the weights afterwards. O is
 *    guaranteed to be finite where (keys + 1) * max |v| is below 1.7e38 = 2^127; beyond that, a
 *    column of O may be infinite or NaN, but not finite and wrong. This can only occur with f32 and
 *    bf16.
 *  - Error bounds. With u = 2^-24 and unit the unit roundoff of the type (2^-24, 2^-11, 2^-8), to
 *    first order and for every row,
 *
 *        |logit - exact| <= L = (a + 4) u |scale| sum_c |q_c k_c|, of the key where it is largest
 *        |O_c - exact|   <= (2 L + (b + 16) u + w) sum_j p_j |v_jc| + unit |O_c|
 *        |LSE - exact|   <= L + (b + 16) u + 2 u |LSE|
 *
 *    where p are the weights, w is unit where matrix units take weights in the type of V and 0
 *    elsewhere, and a and b are the largest numbers of additions that one product goes through. For
 *    the CPU kernels a <= 128 + dim_qk / 128 and b <= 128 + keys / 128, plus 64 where keys are
 *    split, else a <= dim_qk and b <= keys: the error of blocked summation (N. Higham, Accuracy and
 *    Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 4.2). Errors are mostly far
 *    smaller, as roundings differ in sign: in root mean square, the CPU's float32 errors were 0.1
 *    to 1.5 times those of sgemm, softmax, sgemm with a matrix library, and
 *    tests/src/test_accuracy.c requires at most twice theirs for every kind of finite values that
 *    heed verify tries. With large logits, up to +-1e4, most rows have a single weight and no error
 *    in O; in the others the two largest logits nearly tie, and on a few such rows either
 *    implementation may by chance have many times the other's error. Where logits are changed, each
 *    step multiplies the error L by its derivative, and adds its own error. A softcap adds
 *    4 u softcap, and 2 u |t| times its derivative; a bias u times the sum of |t|, |bias| and
 *    |result|; ALiBi the same, and 2 u |its term|; a step of an expression u times its value, twice
 *    that for / and sqrt, four times for exp and log, 4 u for tanh. No bound holds where an error
 *    changes the result of a comparison, of floor or of int. Weights below 2^-126 of the largest
 *    one, or of the sink's, may count as 0, and so may any result below 2^-126. A prefix adds
 *    (unit + 8 u (1 + |LSE|)) sum_j p_j |v_jc| to the error of O, as its two parts are rounded to
 *    the type and weighted by LSEs in float32, and 4 u (1 + |LSE|) to that of LSE.
 *    Where products permits less than full precision, and a kernel makes use of it, a product of
 *    two operands has a relative error of up to x: L grows by x |scale| sum_c |q_c k_c|, and w is
 *    x. TF32 keeps 11 significant bits of an operand: its relative error is up to 2^-11 if rounded
 *    to nearest, 2^-10 if truncated, and x = 2^-9. bfloat16 has 8 significant bits: the high part
 *    of an operand leaves a relative remainder of 2^-8, the low part 2^-8 of that. Both operands
 *    have a relative error of 2^-16, the product of the low parts is 2^-16 of the whole, and
 *    x = 3 * 2^-16. Parts of operands below 2^-126 may count as 0, and operands from 2^127 on may
 *    overflow.
 *  - LSE, when asked for, is the natural logarithm of the sum of exp(logit) over the visible
 *    keys: float32, dense [batch, heads_q, seq_q].
 *  - In a batch-invariant problem the bits of a row depend only on the queries, keys and operands
 *    of its own batch element or sequence; on a CPU, with finite values, not on the other queries.
 *    They are the same in all plans that a context makes with the same effort and the same wisdom
 *    for problems that differ only in batch, tokens and pages: kernel, config and splits are chosen
 *    as if the batch had HEED_INVARIANT_BATCH elements. On a CUDA device the condition of
 *    heed_plan_deterministic() applies. A plan by name has the config that it names.
 *  - A NaN or an infinity in a masked position never reaches an output; one in a visible
 *    position makes the outputs that depend on it non-finite, as IEEE arithmetic would.
 *
 * The library never prints, never aborts, and keeps no state outside the objects declared here,
 * except for the text that heed_message() returns, which belongs to the calling thread, and
 * NVIDIA's libraries, which stay loaded once a context for a CUDA device has been requested.
 *
 * Structs that may grow, heed_problem, heed_options and heed_buffers, begin with their size, which
 * the caller sets to the sizeof of the struct, so fields can be added at the end: those that an
 * older caller does not have count as zero. Fields of a newer caller that this library does not
 * have must be zero, or the call fails with HEED_ERR_INVALID, as it does for a size of 0.
 *
 * If a context, a plan or a problem is NULL, functions return HEED_ERR_INVALID, or 0, NULL or "" if
 * they do not return a status.
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
    HEED_ERR_UNSUPPORTED = 2, /* a valid problem that the requested kernel cannot compute */
    HEED_ERR_NO_MEMORY = 3,   /* an allocation failed; nothing was leaked or left half made */
    HEED_ERR_NO_WISDOM = 4,   /* HEED_WISDOM_ONLY found no line for this problem on this machine */
    HEED_ERR_SYSTEM = 5,      /* an operating system call failed, for a file or a thread */
    HEED_ERR_CORRUPT = 6,     /* a text is not wisdom, or is damaged */
    HEED_ERR_DEVICE = 7, /* no such device, driver or compiler, or it reported an error, which the
                            message quotes */
    HEED_ERR_LOST = 8    /* the device failed during execution, for example by an illegal access:
                            nothing can run on it any more in this process; every later call returns
                            this */
} heed_status;

/* heed_status_name() returns the name of @status in lower case, such as "invalid", for messages
 * and records. It never returns NULL; a value outside the enum gives "unknown". */
HEED_API const char *heed_status_name(heed_status status);

/* heed_message() returns the message of the last heed call that failed on the calling thread, or ""
 * if none did. The text belongs to the thread and is valid until its next failing call. Successful
 * calls do not change it, so read it only after a status other than HEED_OK. */
HEED_API const char *heed_message(void);

/* heed_version() returns the version of the loaded library, such as "0.1.0", which may be newer
 * than the HEED_VERSION_STRING that the caller was compiled with. */
HEED_API const char *heed_version(void);

/* ---- Problem ------------------------------------------------------------------------------- */

/* Element type of Q, K, V and O. LSE is always float32. */
typedef enum heed_type {
    HEED_F32 = 0, /* IEEE binary32 */
    HEED_F16 = 1, /* IEEE binary16 */
    HEED_BF16 = 2 /* bfloat16: the upper half of a binary32 */
} heed_type;

/* Number of heed_type values, numbered from 0. */
#define HEED_TYPE_COUNT 3

typedef enum heed_mask {
    HEED_MASK_NONE = 0,
    HEED_MASK_CAUSAL_TOP_LEFT = 1,    /* query i sees keys j <= i */
    HEED_MASK_CAUSAL_BOTTOM_RIGHT = 2 /* query i sees keys j <= i + seq_k - seq_q */
} heed_mask;

/* Alignment of a window and chunks without a causal mask; with one they have its alignment. */
typedef enum heed_align {
    HEED_ALIGN_TOP_LEFT = 0,    /* query i is at position i */
    HEED_ALIGN_BOTTOM_RIGHT = 1 /* query i is at position i + seq_k - seq_q */
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
    HEED_ACC_F16 = 1  /* permits half precision, only with type f16. A kernel that makes use of it
                         may overflow where a logit before scaling, or a sum of weighted values,
                         exceeds 65504; the softmax and the LSE's sum stay in float32 */
} heed_accumulate;

/* The least precision in which a kernel may multiply the operands of the two matrix products: Q and
 * K, weights and V. Only with type f32. A kernel may be more precise, and CPU kernels always are.
 * Sums and the softmax stay in float32. The error bounds are given above. */
typedef enum heed_products {
    HEED_PRODUCTS_FULL = 0,  /* float32, as precise as float32 products */
    HEED_PRODUCTS_TF32 = 1,  /* each operand rounded to TF32, to nearest or by truncation */
    HEED_PRODUCTS_BF16X3 = 2 /* each operand the sum of two bfloat16, each rounded to nearest; the
                                product of the two low parts is omitted */
} heed_products;

/* Number of heed_products values, numbered from 0. */
#define HEED_PRODUCTS_COUNT 3

/* Limits of a problem. Anything beyond them is refused by heed_problem_check(). */
#define HEED_DIM_MAX 1024                /* head dims */
#define HEED_SIZE_MAX ((int64_t)1 << 31) /* batch, heads, sequence lengths */
#define HEED_EXTENT_MAX \
    ((int64_t)1 << 46) /* elements of one tensor, and its span from first to last element */

#define HEED_PAGE_MAX 1024 /* keys of a page */

/* Batch elements for which a batch-invariant problem is planned. */
#define HEED_INVARIANT_BATCH 4

/* Distances, in elements, between neighbours along three of a tensor's dimensions. The elements
 * of one head vector are contiguous.
 *
 *  - All three zero means the dense layout [batch, seq, heads, dim].
 *  - A stride of zero, with another one non-zero, repeats Q, K or V along that dimension. Each
 *    repetition of an element counts towards HEED_EXTENT_MAX.
 *  - The stride of a dimension of size 1 is never used and may have any value of 0 or more.
 *  - Negative strides are refused.
 *  - No two elements of O may share an address. To ensure that, each stride of O (of a dimension
 *    larger than 1) must be at least the extent of all dimensions with smaller strides, as in any
 *    layout made by permuting, slicing or padding a dense array; other layouts of O are refused. */
typedef struct heed_strides {
    int64_t batch;
    int64_t seq;
    int64_t head;
} heed_strides;

/* Dimensions that an operand may have, in this order: [batch, heads_q, seq_q, seq_k or pages].
 * Along the other dimensions it is constant. */
enum {
    HEED_ALONG_BATCH = 1,
    HEED_ALONG_HEAD = 2,
    HEED_ALONG_QUERY = 4,
    HEED_ALONG_KEY = 8,
    HEED_ALONG_PAGE = 16,     /* seq_k / page elements; only for the page table */
    HEED_ALONG_SEQUENCE = 32, /* batch + 1 elements; only for cumulative lengths */
    HEED_ALONG_POSITION = 64  /* seq_k rows of rotary / 2 elements; only for the cosines and sines
                                 of rotary embeddings */
};

/* Element types of operands. */
typedef enum heed_data {
    HEED_DATA_NONE = 0, /* no such operand */
    HEED_DATA_F32 = 1,
    HEED_DATA_F16 = 2,
    HEED_DATA_BF16 = 3,
    HEED_DATA_I32 = 4,
    HEED_DATA_BYTES = 5, /* one byte each: 0 is false, anything else true */
    HEED_DATA_I64 = 7,   /* only for cumulative lengths */
    HEED_DATA_BITS = 6 /* a row of keys is (seq_k + 31) / 32 words of 32 bits: key j is bit j % 32,
                          counted from the lowest, of word j / 32; words count as elements */
} heed_data;

/* An operand: an additional input, such as one that changes logits or hides keys. All zero: no
 * operand. */
typedef struct heed_operand {
    heed_data type;
    unsigned along;       /* of HEED_ALONG_... */
    heed_strides strides; /* in elements, of batch, query and head. All zero: dense, in the order
                             [batch, head, query, key]. Otherwise its last dimension is contiguous:
                             the head stride of slopes and sinks and the query stride of starts are
                             1; only lengths may have gaps. A stride of 0 repeats, but the batch
                             stride of lengths and of a table is 1 or more. That of a dimension
                             that the operand does not have is not used. Cumulative lengths and
                             rotary embeddings are dense, and have strides of 0 */
} heed_operand;

/* An array that expressions read: dense, with its last index contiguous. */
#define HEED_ARRAYS_MAX 4
#define HEED_ARRAY_RANK_MAX 3
#define HEED_ARRAY_NAME_SIZE 16
typedef struct heed_array {
    char name[HEED_ARRAY_NAME_SIZE];   /* letters, digits and '_', not a digit first; "": no
                                          array */
    heed_data type;                    /* HEED_DATA_F32, I32 or BYTES */
    int rank;                          /* 1 to HEED_ARRAY_RANK_MAX */
    int64_t size[HEED_ARRAY_RANK_MAX]; /* 1 or more each, fewer than 2^31 elements in total */
} heed_array;

/* Maximum size of an expression, including the terminating null. */
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
    heed_accumulate accumulate; /* HEED_ACC_F16 permits less, only where type is HEED_F16 */
    heed_strides q;             /* Q: [batch, seq_q, heads_q, dim_qk] */
    heed_strides k;             /* K: [batch, seq_k, heads_kv, dim_qk] */
    heed_strides v;             /* V: [batch, seq_k, heads_kv, dim_v] */
    heed_strides o;             /* O: [batch, seq_q, heads_q, dim_v] */
    heed_pass pass;
    heed_align align;    /* of window and chunks; top left with a causal mask, whose alignment
                            applies instead */
    heed_window window;  /* its right side has no effect under a causal mask */
    int64_t chunk;       /* keys of a chunk, 1 or more; 0: no chunks */
    float softcap;       /* 0: none. Otherwise finite and positive */
    heed_operand bias;   /* f32, f16 or bf16; along keys, and any others */
    heed_operand slopes; /* of ALiBi: f32, along heads, and batch */
    heed_operand sinks;  /* f32, along heads, and batch */
    heed_operand starts; /* i32, along queries, and batch */
    heed_operand shown;  /* bytes or bits; along keys, and any others */
    heed_array arrays[HEED_ARRAYS_MAX]; /* that score and visible read, without gaps from the first
                                           entry */
    char score[HEED_EXPRESSION_SIZE];   /* "": none */
    char visible[HEED_EXPRESSION_SIZE];
    heed_operand lengths; /* i32, along batch */
    int64_t page;         /* keys of a page, 1 to HEED_PAGE_MAX, a divisor of seq_k; 0: no pages */
    int64_t pages;        /* in the pools of K and V, which planning assumes to be filled; 0:
                             batch * seq_k / page */
    heed_operand table;   /* i32, along batch and pages, where there are pages: page numbers, 0 to
                             pages - 1, which is the caller's responsibility */
    int64_t tokens_q;     /* rows of Q and O, where queries are packed: 1 to batch * seq_q; 0: not
                             packed, Q and O as above */
    int64_t tokens_k;     /* of K and V, likewise; only without pages */
    heed_operand cu_seqlens_q; /* i32 or i64, along sequences, where queries are packed: 0, and then
                                  the numbers of queries of the first 1, 2, ... sequences, which do
                                  not decrease; the last is at most tokens_q: the caller's
                                  responsibility */
    heed_operand cu_seqlens_k; /* of keys, likewise */
    int64_t shared;    /* 1: V is the first dim_v elements of the vectors of K, and dim_v is dim_qk
                          or less; its strides are 0 or K's, its address is NULL or K's. 0: V is a
                          separate tensor */
    int64_t invariant; /* 1: batch-invariant, as described above; 0: kernels are chosen for the
                          batch */
    int64_t append;    /* new keys of each batch element, 1 to seq_k, which an execution writes to K
                          and V; 0: none. Needs lengths; keys must not be packed, and no two
                          elements of K or V may share an address */
    heed_strides k_new; /* [batch, append, heads_kv, dim_qk], or packed */
    heed_strides v_new; /* [batch, append, heads_kv, dim_v], likewise; 0 where V is shared */
    int64_t rotary; /* columns of Q and of new keys that are rotated by position: even, 2 to dim_qk,
                       or to dim_qk - dim_v where V is shared; 0: none. Only with append */
    int64_t interleaved;     /* 1: column 2 i is rotated with column 2 i + 1; 0: column i with
                                column i + rotary / 2 */
    heed_operand rotary_cos; /* f32, f16 or bf16, along positions: [seq_k, rotary / 2], with a
                                rotary embedding */
    heed_operand rotary_sin; /* likewise, of the same type */
    int64_t prefix;   /* keys that all batch elements share, a multiple of page with pages; 0: none.
                         At most seq_k minus the keys that must follow it: 1, or append, or under a
                         causal mask seq_q if that is more. Not with packed keys, a mask that is
                         aligned top left, windows, chunks, bias, ALiBi, starts, shown, expressions,
                         or invariant. Where queries are not evenly spaced, neither K nor V may
                         repeat along both seq and heads */
    int64_t products; /* a heed_products: other values than HEED_PRODUCTS_FULL permit less, only
                         where type is HEED_F32 */
    int64_t append_packed; /* 1: new keys are packed as queries are, and append is seq_q: k_new is
                              [tokens_q, heads_kv, dim_qk], v_new likewise. Only with packed
                              queries */
} heed_problem;

/* heed_problem_parse_sized() is heed_problem_parse() for a caller whose heed_problem has @size
 * bytes. It refuses a spec that needs a field that the caller does not have. */
HEED_API heed_status heed_problem_parse_sized(heed_problem *problem, size_t size, const char *spec);

/*
 * heed_problem_parse() reads a problem from its one-line spec, such as
 *
 *     b2 h8 s512 d64 f16
 *     b4 h32/8 s1/4096 d192/128 bf16 causal=br scale=0.1 layout=bhsd
 *
 * Words may be in any order, separated by spaces or tabs. b, h, s, d and the type are required;
 * each word may occur once:
 *
 *     bN            batch
 *     hN  hN/M      query heads / key-value heads (M divides N; default M = N)
 *     sN  sN/M      queries / keys (default M = N)
 *     dN  dN/M      head dim of Q and K / of V and O (default M = N)
 *     f32 f16 bf16  element type
 *     causal        causal mask, only where queries = keys
 *     causal=tl     causal mask, top left aligned
 *     causal=br     causal mask, bottom right aligned
 *     window=L:R    sliding window: the keys from L before the query's position to R after it;
 *                   either number may be omitted, for a side without a limit
 *     chunk=N       chunks of N keys: a query sees those of its own
 *     softcap=X     logits become X * tanh(logit / X), a positive decimal number
 *     bias=T:DIMS   an additive bias of type T (f32, f16, bf16) that differs along DIMS, some of
 *                   the letters b (batch), h (heads) and q (queries); bias=T: all three
 *     alibi=DIMS    ALiBi with slopes along DIMS: h or bh; alibi: h
 *     sinks=DIMS    a sink for each head, likewise; sinks: h
 *     starts=DIMS   each query's first key, along DIMS: q or bq; starts: bq
 *     shown=T:DIMS  a mask of type T (bytes, bits), DIMS as of a bias
 *     lengths       the number of keys of each batch element
 *     paged=N/M     K and V in M pages of N keys, with a page table; paged=N: as many as are needed
 *     shared        V is the first dim_v elements of the vectors of K
 *     prefix=N      all batch elements share the first N keys of batch element 0, read once
 *     invariant     batch-invariant: a row's bits do not depend on the rest of the batch
 *     table=b@B:0:0 the page table's batch stride, where it is not seq_k / N
 *     append=N      N new keys and values of each batch element are written to K and V first;
 *                   append=N:packed: one per query, N being seq_q, in the same packed rows
 *     rotary=N      N columns of Q and of new keys are rotated by position, paired by halves;
 *                   rotary=N:interleaved: neighbouring columns paired
 *     cos=T sin=T   the type of its cosines and sines, where it is not f32
 *     varlen=N/M    queries packed in N rows, keys in M, with cumulative lengths of type i32;
 *                   0: not packed. varlen=N: both
 *     cu_q=i64      type of the queries' cumulative lengths, where it is not i32; likewise cu_k=
 *     array=NAME:T:SIZES
 *                   an array that expressions read: T is f32, i32 or bytes, SIZES are up to three
 *                   numbers with x between them; may be given up to four times
 *     score=E       logits become the expression E, which has no blanks or is in double quotes
 *     visible=E     keys where E is false are hidden
 *     align=tl      alignment of window and chunks without a causal mask, which may be omitted
 *     align=br      where queries = keys
 *     scale=X       logit scale, a decimal number other than 0 (default 1/sqrt(d))
 *     acc=f16       permits half-precision accumulation, only with f16 (default acc=f32)
 *     products=P    permits products by tf32 or bf16x3, only with f32 (default products=full)
 *     layout=bshd   order of the dense dimensions of Q, K, V and O: bshd (default), bhsd or sbhd
 *     q=B:S:H       element strides of Q for batch, sequence and head, not all zero; likewise k= v=
 *                   o= k_new= v_new=. They replace the layout for that tensor
 *
 * Returns HEED_OK and fills @problem, its size included, normalized as by heed_problem_normalize(),
 * or HEED_ERR_INVALID with a message of three lines: the error, the spec (a part of it, if it is
 * long), and a caret below the offending character; @problem is then unchanged. A parsed problem
 * has passed heed_problem_check(). The process's locale has no effect.
 */
static inline heed_status heed_problem_parse(heed_problem *problem, const char *spec)
{
    return heed_problem_parse_sized(problem, sizeof *problem, spec);
}

/* heed_problem_print() writes the canonical spec of @problem into @text, which has room for @size
 * bytes with the terminating null, and returns the length of the whole spec without it, as snprintf
 * does: a result of @size or more means that it was truncated. @text may be NULL if @size is 0.
 * Parsing the canonical spec gives the same problem again, normalized, and two problems that are
 * equal when normalized print the same. For a problem that heed_problem_check() refuses, the text
 * shows the fields as they are and may not be a valid spec. If the problem's size is wrong, the
 * text is "". */
HEED_API size_t heed_problem_print(const heed_problem *problem, char *text, size_t size);

/* A buffer of this size holds every canonical spec. */
#define HEED_SPEC_SIZE 1792

/* heed_problem_check() returns HEED_OK if @problem is one that heed can describe, else
 * HEED_ERR_INVALID with a message that names the field, its value and the limit. A wrong expression
 * and a caret follow in two more lines. heed_plan_create() makes the same check. */
HEED_API heed_status heed_problem_check(const heed_problem *problem);

/* heed_problem_normalize() checks @problem and writes it to @normal in canonical form, which is the
 * same for all equivalent descriptions:
 *
 *  - the scale and the strides of dense tensors are written out,
 *  - the stride of a dimension of size 1 is that of the dense layout,
 *  - bottom-right alignment becomes top-left where seq_q = seq_k, as both mean the same there, and
 *    where nothing is aligned,
 *  - a window without keys to the right becomes a causal mask, and sides of a window and chunks
 *    that hide no key are removed.
 *
 * The size field of @problem gives the number of bytes written. @normal may be @problem itself.
 * Returns the same as heed_problem_check(); on failure @normal is unchanged. */
HEED_API heed_status heed_problem_normalize(heed_problem *normal, const heed_problem *problem);

/* heed_problem_flops() returns the floating-point operations of @problem by the usual convention: 2
 * per multiply-add of the two matrix products, over the visible query-key pairs only; the softmax
 * is not counted. Packed sequences count as if all had the same length, an equal share of tokens_q
 * and tokens_k, and sequences with lengths as if they filled the pages of a pool that is too small
 * for seq_k keys of each. Returns 0 for a problem that heed_problem_check() refuses. */
HEED_API double heed_problem_flops(const heed_problem *problem);

/* heed_problem_bytes() returns the minimum number of bytes that @problem must move: Q, K, V,
 * operands and arrays read once and O written once, without the gaps between strided elements.
 * Elements that a zero stride repeats, and those of a prefix, count once. Elements of a bias or a
 * mask for pairs outside the causal mask, the window and chunks do not count. All tokens of packed
 * tensors count. New keys and values count in addition to K and V, and so do the cosines and sines
 * of as many positions as there are new keys, or queries if those are more. Returns 0 for a problem
 * that heed_problem_check() refuses. */
HEED_API double heed_problem_bytes(const heed_problem *problem);

/* heed_type_size() returns the bytes of one element of @type: 4 or 2; 0 for a value outside the
 * enum. */
HEED_API size_t heed_type_size(heed_type type);

/* heed_type_name() returns "f32", "f16" or "bf16"; "unknown" for a value outside the enum. */
HEED_API const char *heed_type_name(heed_type type);

/* heed_products_name() returns "full", "tf32" or "bf16x3"; "unknown" for a value outside the
 * enum. */
HEED_API const char *heed_products_name(int64_t products);

/* ---- Context: the machine, its threads, and what is known about it ------------------------- */

typedef struct heed_context heed_context;

/* A thread pool that the caller provides. heed calls it to run body(data, i) at most once for each
 * i in 0 .. count-1, including i = 0, on any threads and in any order; it must return only when all
 * bodies that were started have returned. Each body takes work until there is none left, so running
 * fewer of them only takes longer. count is at most the context's thread count. */
typedef void heed_parallel_fn(void *pool, void (*body)(void *data, int index), void *data,
                              int count);

/* When a plan's kernel is compiled, if it needs to be. */
typedef enum heed_compile {
    HEED_COMPILE_NOW = 0,       /* before the plan is returned */
    HEED_COMPILE_BACKGROUND = 1 /* during executions, which run another kernel meanwhile */
} heed_compile;

/*
 * Options for creating a context. A field of zero means its default.
 *
 * A context is for one device. On a CPU tensors are host memory, and heed_execute() returns when
 * they are complete. On a CUDA device tensors are memory that the device can reach in its primary
 * context, the one that the CUDA runtime and PyTorch use too, and heed_execute() starts the work on
 * the caller's stream. heed then needs two NVIDIA libraries, which it looks for when the process
 * makes its first such context: the driver, for CUDA 12.0 or later, and NVRTC, the runtime
 * compiler. It runs on devices of compute capability 8.0 or later.
 *
 * Each call makes the device's primary context current on the calling thread if it is not, and
 * restores the previous one. A heed_context retains the primary context until it is destroyed; if
 * nothing else has retained it, destroying the heed_context destroys the primary context with all
 * its memory and streams.
 */
typedef struct heed_options {
    size_t size;        /* sizeof(heed_options) */
    const char *device; /* "cpu"; "cuda" or "cuda:N", N counting from 0 as CUDA does; NULL: the
                         * environment's HEED_DEVICE, else "cpu" */
    int threads;        /* threads to use, 1 to 1024; 0: one per CPU available to this process */
    const char *cpu;    /* best CPU features to use: "scalar", "avx2", "avx512", "avx512bf16" or
                         * "amx", each with those that it implies; "": all that the machine has;
                         * NULL: the environment's HEED_CPU, else all */
    heed_parallel_fn *parallel; /* the caller's thread pool; NULL: heed starts its own threads */
    void *pool;                 /* passed to parallel(). For a CUDA device these last four fields
                                   are checked but not used */
    int64_t compile; /* a heed_compile, for a CUDA device: when to compile kernels that are neither
                        in the cache nor shipped with the library */
} heed_options;

/* heed_context_create() makes a context with @options, or with the defaults if that is NULL, and
 * starts its threads. The threads sleep while there is no work. Returns HEED_OK; HEED_ERR_INVALID
 * for a bad option (HEED_CPU and HEED_DEVICE included), and for a CUDA device in a process that was
 * forked after CUDA was used; HEED_ERR_NO_MEMORY; HEED_ERR_SYSTEM if a thread cannot be started;
 * HEED_ERR_DEVICE if there is no such device, driver or compiler, or the device is too old. On
 * failure *@context is NULL.
 *
 * A context may be used by many threads at once. A child process after fork() has neither its
 * threads nor its device, so make contexts after forking. In such a child no call hangs: a CPU's
 * plans still execute, on the calling thread only; destroying frees the child's copy; any other
 * call with the context, and an execution on a CUDA device, returns HEED_ERR_INVALID
 * (heed_wisdom_export() writes nothing). CUDA does not work in a child whose parent has used it,
 * whatever context the child makes.
 * On an x86 CPU with AMX, Linux is asked for permission to use its tile registers, for the process
 * and until its end; alternate signal stacks must then have 12 KiB or more. */
HEED_API heed_status heed_context_create(heed_context **context, const heed_options *options);

/* heed_context_destroy() ends the threads of @context and frees it. All its plans must have been
 * destroyed. It does not wait for work on a CUDA device. NULL is ignored. */
HEED_API void heed_context_destroy(heed_context *context);

/* heed_context_threads() returns the most threads that a plan of @context uses: 1, the caller's,
 * for a CUDA device. */
HEED_API int heed_context_threads(const heed_context *context);

/* heed_context_device() returns the name of the device that plans of @context run on, such as
 * "AMD EPYC 9R14" or "NVIDIA H200". It is part of every line of wisdom. The text belongs to
 * @context. */
HEED_API const char *heed_context_device(const heed_context *context);

/* heed_context_backend() returns "cpu" or "cuda"; "" for NULL. */
HEED_API const char *heed_context_backend(const heed_context *context);

/* heed_context_cpu() returns the CPU features in use as one word: "scalar", "avx2", "avx512",
 * "avx512bf16" or "amx"; names of features that do not imply each other would be joined by "+".
 * They have no effect on plans for a CUDA device. The text belongs to @context. */
HEED_API const char *heed_context_cpu(const heed_context *context);

/* ---- Plan ---------------------------------------------------------------------------------- */

typedef struct heed_plan heed_plan;

/* Planning effort. Each level uses wisdom that took at least as much effort, if the context has
 * it. */
typedef enum heed_effort {
    HEED_ESTIMATE = 0,   /* a cost model chooses: microseconds */
    HEED_MEASURE = 1,    /* time every applicable kernel in the config that the model ranks best, on
                            temporary tensors */
    HEED_PATIENT = 2,    /* time every config of those kernels */
    HEED_WISDOM_ONLY = 3 /* take the choice from wisdom or fail with HEED_ERR_NO_WISDOM */
} heed_effort;

/* heed_plan_create() makes a plan for @problem on the device of @context. The problem is copied.
 *
 * On a CPU it takes up to 128 KiB of the calling thread's stack, and an execution up to 64 KiB.
 *
 * HEED_MEASURE and HEED_PATIENT allocate tensors of the problem's extent while they measure, and
 * add the result to the context's wisdom. The choice of HEED_ESTIMATE depends only on the problem
 * and the machine, unless wisdom has a line for the problem.
 *
 * On a CUDA device the plan holds compiled code: the first plan of its kind takes a few tenths of a
 * second; later ones take a few milliseconds, even in other processes and for other lengths with
 * the same config. Planning loads code and, while it measures, waits for the device, so no stream
 * may be captured into a graph meanwhile: not by the calling thread, nor in CUDA's global capture
 * mode by any other.
 *
 * Compiling a kernel takes between a few tenths of a second and several seconds. In a context with
 * HEED_COMPILE_BACKGROUND, a plan whose kernel must be compiled is returned at once if another
 * kernel or config, whose code was shipped with the library or is in the cache, can compute the
 * problem; else as soon as the kernel for tensors that are not aligned to 16 bytes has been
 * compiled, which the plan needs too, and which takes about a second. The plan executes the best of
 * these until a background thread has compiled and loaded the kernel that heed_plan_name() names,
 * and executes that one from then on. An execution on a stream that is being captured waits for
 * that, so that a graph does not keep the other one. Neither this compilation nor a stream capture
 * by another thread disturbs the other. heed_plan_explain() shows which kernel is in use. The
 * workspace is enough for both. The kernel of a batch-invariant problem is compiled at once, since
 * its bits may not change, and so are those that are measured or requested by name. Plans of one
 * context compile one after another. heed_plan_destroy() waits for a compilation that has begun.
 *
 * Returns HEED_OK; HEED_ERR_INVALID for a bad argument; HEED_ERR_NO_WISDOM; HEED_ERR_NO_MEMORY, of
 * the host or the device; HEED_ERR_UNSUPPORTED if no kernel can compute @problem on the device;
 * HEED_ERR_DEVICE if the code cannot be compiled or loaded; HEED_ERR_LOST. On failure *@plan is
 * NULL. */
HEED_API heed_status heed_plan_create(heed_plan **plan, heed_context *context,
                                      const heed_problem *problem, heed_effort effort);

/* heed_plan_wait() waits until @plan executes the kernel that was chosen for it, which may be
 * compiling in the background. Call it before a measurement, for example, or before a stream is
 * captured into a graph, which keeps the kernel in use at that time. If nothing is being compiled
 * it returns at once.
 *
 * Returns HEED_OK; HEED_ERR_INVALID; or the error that kept the kernel from being compiled or
 * loaded, such as HEED_ERR_DEVICE, and then the other kernel stays in use. */
HEED_API heed_status heed_plan_wait(const heed_plan *plan);

/* heed_plan_create_named() is like heed_plan_create(), but the caller chooses the kernel: @kernel
 * is the name of a kernel, such as "fwd_any_avx512_tile", which then runs in the config that the
 * cost model ranks best, or of a kernel and its config, such as "fwd_any_avx512_tile__m128n128s1".
 * Returns HEED_ERR_INVALID if there is no such kernel or config, HEED_ERR_UNSUPPORTED, with the
 * reason, if it cannot run @problem here. */
HEED_API heed_status heed_plan_create_named(heed_plan **plan, heed_context *context,
                                            const heed_problem *problem, const char *kernel);

/* heed_plan_destroy() frees @plan, which must not be executing: on a CUDA device all work that
 * heed_execute() started must have finished, and a CUDA graph that captured it must not be launched
 * any more, because the code that it runs is freed. NULL is ignored. */
HEED_API void heed_plan_destroy(heed_plan *plan);

/* heed_plan_workspace_size() returns the bytes of workspace that each concurrent execution of @plan
 * needs; 0 if none. On a CPU it grows with the number of threads and with tile sizes, and where
 * keys are split, on any device, with the elements of O times the splits; rotated queries take as
 * much as a dense Q, and a prefix as much as a dense O and two LSEs. It grows with seq_q * seq_k
 * only on a CUDA device where an expression decides which keys are visible: by 4 bytes for each
 * pair of a block of queries and a tile of keys, 256 MiB at most. It need not be cleared. On a CUDA
 * device reuse a small number of workspaces: after the 64th address a plan that splits keys needs
 * two launches instead of one. */
HEED_API size_t heed_plan_workspace_size(const heed_plan *plan);

/* A workspace must be aligned to this many bytes. Tensors only need the alignment of their element
 * type, but are read fastest at this one. On a CUDA device f16 and bf16 are fast where Q, K, V and
 * O begin at multiples of 16 bytes and all their strides are multiples of 8 elements; otherwise a
 * slower config of the same kernel runs, although heed_plan_name() does not show it. */
#define HEED_ALIGNMENT 64

/* heed_plan_name() returns the chosen kernel and config, such as "fwd_any_avx512_tile__m128n128s1",
 * in the form that heed_plan_create_named() takes. Where there is a prefix, it is the kernel for
 * the remaining keys; the planner chooses that for the prefix, which heed_plan_explain() names. The
 * text belongs to @plan. */
HEED_API const char *heed_plan_name(const heed_plan *plan);

/* heed_plan_problem() returns the problem of @plan, normalized. Its size field is that of the
 * problem that the plan was made for, or this library's if that is smaller. It belongs to @plan. */
HEED_API const heed_problem *heed_plan_problem(const heed_plan *plan);

/* heed_plan_deterministic() returns 1 if two executions of @plan on equal inputs give equal bits,
 * regardless of thread scheduling, else 0. On a CUDA device this holds between executions whose Q,
 * K, V and O all begin at multiples of 16 bytes, and between executions where they do not. A plan
 * whose kernel was compiled in the background is not deterministic, as the kernel in use meanwhile
 * may round differently; so may another plan for the same problem. */
HEED_API int heed_plan_deterministic(const heed_plan *plan);

/* The planner's estimate of one kernel. Times are seconds per execution; a negative one is
 * unknown. */
typedef struct heed_candidate {
    const char *name;     /* kernel and config */
    const char *rejected; /* why it cannot run the problem here, or, after "not worthwhile: ", why
                             the planner would not choose it; else NULL. A config that was requested
                             by name, or came from wisdom, may be both chosen and not worthwhile */
    double predicted;     /* by the cost model */
    double measured;      /* by HEED_MEASURE or HEED_PATIENT */
    int chosen;           /* 1 for the candidate that the plan executes */
} heed_candidate;

/* heed_plan_candidate_sized() is heed_plan_candidate() for a caller whose heed_candidate has @size
 * bytes, which it writes. */
HEED_API heed_status heed_plan_candidate_sized(const heed_plan *plan, size_t index,
                                               heed_candidate *candidate, size_t size);

/* heed_plan_candidate() writes the @index-th kernel that the planner considered to @candidate; its
 * texts belong to @plan. Returns HEED_ERR_INVALID if @index is past the last one: to list all,
 * count up from 0 until then. */
static inline heed_status heed_plan_candidate(const heed_plan *plan, size_t index,
                                              heed_candidate *candidate)
{
    return heed_plan_candidate_sized(plan, index, candidate, sizeof *candidate);
}

/* heed_plan_explain() writes the information of heed_plan_candidate() into @text, as several lines
 * for people to read. Sizes and return value are as for heed_problem_print(). The wording may
 * change between versions. */
HEED_API size_t heed_plan_explain(const heed_plan *plan, char *text, size_t size);

/* ---- Execute ------------------------------------------------------------------------------- */

/* The data of one execution. All memory belongs to the caller and must stay valid until the
 * execution ends. O, LSE and the workspace must overlap neither each other nor Q, K and V.
 *
 * Where the plan's problem appends, K and V are written to, although the fields are const: the
 * memory must be writable, no two batch elements may have their new keys in the same place, and
 * k_new and v_new must not overlap any other tensor. */
typedef struct heed_buffers {
    size_t size;     /* sizeof(heed_buffers) */
    const void *q;   /* [batch, seq_q, heads_q, dim_qk] at the problem's strides, or packed */
    const void *k;   /* [batch, seq_k, heads_kv, dim_qk], or [pages, page, heads_kv, dim_qk] */
    const void *v;   /* [batch, seq_k, heads_kv, dim_v], likewise */
    void *o;         /* [batch, seq_q, heads_q, dim_v]: only elements are written, never the gaps */
    float *lse;      /* [batch, heads_q, seq_q], or [heads_q, tokens_q], dense; NULL: not wanted */
    void *workspace; /* aligned to HEED_ALIGNMENT; may be NULL if the plan needs none */
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
    int64_t trusted; /* CUDA: not 0: the caller knows that the plan's device can access all memory
                        above, and heed does not ask the driver. With HEED_CHECK=1 it asks */
} heed_buffers;

/* heed_execute() computes O, and LSE if wanted, from Q, K and V. It allocates nothing. Many threads
 * may execute one plan at once, each with its own workspace.
 *
 * On a CPU it returns when the outputs are complete; while another thread uses the context's
 * threads, the calling thread works alone. On a CUDA device it starts the work on buffers->stream,
 * which must belong to the device's primary context, and returns. The buffers must stay valid, and
 * the workspace must not be used otherwise, until that work has finished; executions on one stream
 * may share a workspace. It neither waits nor copies, and may be captured into a CUDA graph, whose
 * launches then need what the call needed: plan, buffers, workspace.
 *
 * Pointers are checked for NULL, for alignment and, on a CUDA device unless @buffers are trusted,
 * for the device that owns the memory. Device memory must be that of the plan's device, even where
 * the device could access another's; managed memory and pinned host memory are accepted too. O or
 * LSE at the address of Q, K or V is refused; otherwise sizes and overlap of the memory are the
 * caller's responsibility. On a CPU, lengths, cumulative lengths, page numbers and starts are
 * checked, and the message names the first one that is wrong. On a CUDA device they are the
 * caller's responsibility too, unless HEED_CHECK=1 was in the environment of heed_context_create():
 * then each execution, and each launch of a heed_graph, waits for the device and reads them; an
 * execution that a stream captures does not.
 *
 * Returns HEED_OK; HEED_ERR_INVALID for a pointer that is NULL, misaligned or not memory that the
 * device can access, or a workspace that is too small: nothing was written then; HEED_ERR_DEVICE if
 * the launch was refused, as for a stream of another device; HEED_ERR_NO_MEMORY if the driver could
 * not allocate memory for it; HEED_ERR_LOST, whose cause may be an earlier execution. */
HEED_API heed_status heed_execute(const heed_plan *plan, const heed_buffers *buffers);

/* An execution as a CUDA graph, for programs that do not build graphs themselves: launching it is a
 * single driver call and, without HEED_CHECK=1, checks nothing. */
typedef struct heed_graph heed_graph;

/* heed_graph_create() captures one execution of @plan, made for a CUDA device, with @buffers, whose
 * stream is ignored. Nothing is executed. It waits for the kernel that was chosen for the plan, as
 * heed_plan_wait() does, and captures it, or the one in use if the chosen one cannot be compiled or
 * loaded. As during planning, the calling thread must not be capturing a stream, nor any thread one
 * in the global mode.
 *
 * Returns HEED_OK; HEED_ERR_INVALID as heed_execute() does, and for a plan for a CPU;
 * HEED_ERR_NO_MEMORY; HEED_ERR_DEVICE; HEED_ERR_LOST. On failure *@graph is NULL. */
HEED_API heed_status heed_graph_create(heed_graph **graph, const heed_plan *plan,
                                       const heed_buffers *buffers);

/* heed_graph_launch() starts the execution on @stream, as heed_execute() would, with the contents
 * that the buffers have by then. Buffers and plan must still exist. Launches of one graph share its
 * workspace: they must run in order, for example on one stream, and be made by one thread at a
 * time. Returns HEED_OK; HEED_ERR_INVALID; HEED_ERR_NO_MEMORY; HEED_ERR_DEVICE; HEED_ERR_LOST. */
HEED_API heed_status heed_graph_launch(heed_graph *graph, void *stream);

/* heed_graph_destroy() frees @graph, whose launches must have finished, and which may outlive its
 * plan but not its context. NULL is ignored. */
HEED_API void heed_graph_destroy(heed_graph *graph);

/* ---- Kernels ------------------------------------------------------------------------------- */

/* heed_kernel_name() returns the name of the @index-th built-in kernel, counted from 0, or NULL
 * past the last one. All kernels are listed, including those that this machine cannot run. */
HEED_API const char *heed_kernel_name(size_t index);

/* heed_kernel_summary() returns a one-line description of the @index-th kernel, or NULL past the
 * last one. */
HEED_API const char *heed_kernel_summary(size_t index);

/* heed_kernel_knob() returns the name of the @knob-th knob of the @index-th kernel, such as
 * "STAGES", in the order in which config names list their values; *@letter, if @letter is not NULL,
 * is set to its letter there. NULL past the last knob or kernel. */
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
 * @context. A line that was made for another device, another number of threads, other CPU features
 * (for a CUDA device: architecture, driver or NVRTC) or another version of its kernel is skipped. A
 * line that matches replaces an earlier one for the same problem if it took at least as much
 * effort. Wisdom can only choose among the kernels of this library.
 *
 * Writes the number of lines taken to *@taken and of lines skipped to *@skipped (either may be
 * NULL). After a line was skipped, heed_message() names the field that differs in the last one
 * skipped. Returns HEED_OK; HEED_ERR_CORRUPT, with the line number, if @text is not wisdom or is
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

/* heed_wisdom_save() writes all wisdom of @context to the file @path. It writes a temporary file in
 * the same directory and renames it, so a reader sees either the old file or the new one. A symlink
 * is followed, and its target replaced. A device or a pipe is written to directly. HEED_ERR_SYSTEM
 * if that fails; the old file is then unchanged. */
HEED_API heed_status heed_wisdom_save(heed_context *context, const char *path);

/* heed_wisdom_forget() drops all wisdom of @context. */
HEED_API void heed_wisdom_forget(heed_context *context);

#ifdef __cplusplus
}
#endif

#endif /* HEED_H */
