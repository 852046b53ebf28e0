/*
 * problem.h - shared by problem.c and the two halves of the spec: the parts of a problem, and its
 * tensors
 */
#ifndef HEED_PROBLEM_H
#define HEED_PROBLEM_H

#include <string.h>

#include "../internal.h"

/* The parts of a problem that can be wrong. Those before HEED_PART_SIZES are sizes. */
typedef enum heed_part {
    HEED_PART_BATCH,
    HEED_PART_HEADS_Q,
    HEED_PART_HEADS_KV,
    HEED_PART_SEQ_Q,
    HEED_PART_SEQ_K,
    HEED_PART_DIM_QK,
    HEED_PART_DIM_V,
    HEED_PART_APPEND, /* may be 0 */
    HEED_PART_PREFIX, /* likewise */
    HEED_PART_SIZES,
    HEED_PART_TYPE = HEED_PART_SIZES,
    HEED_PART_MASK,
    HEED_PART_SCALE,
    HEED_PART_ACCUMULATE,
    HEED_PART_PRODUCTS,
    HEED_PART_PASS,
    HEED_PART_ALIGN,
    HEED_PART_WINDOW,
    HEED_PART_CHUNK,
    HEED_PART_SOFTCAP,
    HEED_PART_BIAS,
    HEED_PART_SLOPES,
    HEED_PART_SINKS,
    HEED_PART_STARTS,
    HEED_PART_SHOWN,
    HEED_PART_LENGTHS,
    HEED_PART_PAGE,
    HEED_PART_TABLE,
    HEED_PART_VARLEN,
    HEED_PART_CU_Q,
    HEED_PART_CU_K,
    HEED_PART_SHARED,
    HEED_PART_INVARIANT,
    HEED_PART_ROTARY,
    HEED_PART_COS,
    HEED_PART_SIN,
    HEED_PART_ARRAYS,
    HEED_PART_SCORE,
    HEED_PART_VISIBLE,
    HEED_PART_LAYOUT, /* of all tensors; only in a spec */
    HEED_PART_Q,      /* the strides of Q */
    HEED_PART_K,
    HEED_PART_V,
    HEED_PART_O,
    HEED_PART_K_NEW,
    HEED_PART_V_NEW,
    HEED_PART_COUNT
} heed_part;

/* An error in a problem. */
typedef struct heed_fault {
    heed_part part;
    size_t at;      /* of an expression: the character that is meant */
    char text[192]; /* names field, value and limit */
} heed_fault;

/* Writes a fault; returns true, as heed_problem_find_fault() does. */
bool heed_fault_set(heed_fault *fault, heed_part part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Name of a size as in heed.h, its limits, and where it is in the struct. */
typedef struct heed_size {
    const char *name;
    int64_t min, max;
    size_t offset;
} heed_size;
extern const heed_size heed_sizes[HEED_PART_SIZES];

int64_t heed_problem_size(const heed_problem *problem, heed_part part);
void heed_problem_set_size(heed_problem *problem, heed_part part, int64_t size);

/* The tensors, in this order wherever they are counted. Those before HEED_ALL_TENSORS have the
 * problem's type, a head dim, and strides in the problem; those before HEED_TENSORS are what
 * kernels compute with, and every problem has them. */
typedef enum heed_role {
    HEED_ROLE_Q,
    HEED_ROLE_K,
    HEED_ROLE_V,
    HEED_ROLE_O,
    HEED_TENSORS,
    HEED_ROLE_K_NEW = HEED_TENSORS,
    HEED_ROLE_V_NEW,
    HEED_ALL_TENSORS,
    HEED_ROLE_LSE = HEED_ALL_TENSORS,
    HEED_ROLES
} heed_role;

/* A role as heed.h has it. */
typedef struct heed_role_row {
    const char *name;
    heed_part heads, seq, dim; /* its sizes, beside the batch */
    size_t strides;            /* where they are in heed_problem, */
    size_t buffer;             /* and where its address is in heed_buffers */
    bool output;
    bool optional; /* its address may be NULL */
} heed_role_row;
extern const heed_role_row heed_roles[HEED_ROLES];

/* The address of a tensor in the caller's buffers. */
static inline const void *heed_buffer(const heed_buffers *buffers, heed_role role)
{
    const void *address;
    memcpy(&address, (const char *)buffers + heed_roles[role].buffer, sizeof address);
    return address;
}

void heed_buffer_set(heed_buffers *buffers, heed_role role, void *address);

/* heed_problem_has() says whether @problem has the tensor @role. */
bool heed_problem_has(const heed_problem *problem, int role);

/* heed_problem_writes() says whether an execution writes to the tensor @role: to an output, and to
 * K and V where new ones are appended. */
bool heed_problem_writes(const heed_problem *problem, int role);

/* heed_problem_turned() returns the first column of Q and of new keys that may be rotated. */
int64_t heed_problem_turned(const heed_problem *problem);

/* The sizes of a tensor, and its strides in the problem. */
typedef struct heed_tensor {
    const heed_role_row *role;
    int64_t batch;
    int64_t seq;
    int64_t heads;
    int64_t dim;
    heed_strides strides;
} heed_tensor;

/* heed_problem_tensor() returns that of @role, below HEED_ALL_TENSORS. */
heed_tensor heed_problem_tensor(const heed_problem *problem, int role);

/* heed_problem_tokens() returns how many rows a packed tensor of @role has; 0 of others. */
int64_t heed_problem_tokens(const heed_problem *problem, int role);
void heed_problem_set_strides(heed_problem *problem, int role, heed_strides strides);

/* heed_tensor_extent() returns the elements of @tensor, at normal strides, from its first to its
 * last. */
int64_t heed_tensor_extent(const heed_tensor *tensor);

/* Orders of the dense dimensions, the default first; ends with NULL. */
extern const char *const heed_layouts[];

/* heed_layout_strides() returns the dense strides of @tensor in the order @layout, one of
 * heed_layouts. A stride beyond the range of int64_t becomes INT64_MAX. */
heed_strides heed_layout_strides(const heed_tensor *tensor, const char *layout);

/* heed_strides_normal() returns strides that address the same elements: zeros become the dense
 * strides, and a dimension of size 1, whose stride is never used, has the stride of the dense
 * layout. */
heed_strides heed_strides_normal(const heed_tensor *tensor, heed_strides strides);

bool heed_strides_equal(heed_strides a, heed_strides b);

/* heed_problem_read() copies the caller's @problem, of whatever size, to @own. Returns
 * HEED_ERR_INVALID, with a message, if it is NULL or its size is wrong. */
heed_status heed_problem_read(heed_problem *own, const heed_problem *problem);

/* heed_problem_normalize_own() brings @problem, which heed_problem_check() grants, into its normal
 * form. */
void heed_problem_normalize_own(heed_problem *problem);

/* heed_problem_read_normal() is heed_problem_normalize() with a struct of the library's for @own:
 * the caller's may be longer. */
heed_status heed_problem_read_normal(heed_problem *own, const heed_problem *problem);

/* heed_problem_find_fault() looks for the first thing that heed_problem_check() refuses. Returns
 * true and fills @fault if there is one. */
bool heed_problem_find_fault(const heed_problem *problem, heed_fault *fault);

/* prefix.c: heed_prefix_fault() is the part of heed_problem_find_fault() that a prefix adds. */
bool heed_prefix_fault(const heed_problem *problem, heed_fault *fault);

/* How the queries of all batch elements lie: those of one behind those of the one before; those of
 * the same number beside each other; or neither. */
typedef enum heed_prefix_orders {
    HEED_PREFIX_BEHIND,
    HEED_PREFIX_BESIDE,
    HEED_PREFIX_APART
} heed_prefix_orders;
heed_prefix_orders heed_prefix_order(const heed_problem *problem);

/* heed_prefix_rest() returns what is left of @problem, normalized, without its prefix: of the keys
 * behind it, which lengths count from 0 on. heed_prefix_part() returns attention over the prefix:
 * the queries of all batch elements are those of one, in their order; where they have none, of as
 * many with the same keys. */
heed_problem heed_prefix_rest(const heed_problem *problem);
heed_problem heed_prefix_part(const heed_problem *problem);

float heed_scale_default(int64_t dim_qk);

#endif /* HEED_PROBLEM_H */
