/*
 * problem.h - the parts of a problem, its faults and its tensors; shared by the check, the parser
 * and the printer
 */
#ifndef HEED_PROBLEM_H
#define HEED_PROBLEM_H

#include <string.h>

#include "../internal.h"

/* The parts of a problem that can have a fault. Those before HEED_PART_SIZES are sizes. */
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
    const char *expression; /* of the problem, if it has the fault, */
    size_t at;              /* and the offending character; else NULL and 0 */
    char text[256];         /* names field, value and limit */
} heed_fault;

/* Writes a fault; returns true, as heed_problem_find_fault() does. */
bool heed_fault_set(heed_fault *fault, heed_part part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Name of a size as in heed.h, its limits, and its offset in the struct. */
typedef struct heed_size {
    const char *name;
    int64_t min, max;
    size_t offset;
} heed_size;
extern const heed_size heed_sizes[HEED_PART_SIZES];

int64_t heed_problem_size(const heed_problem *problem, heed_part part);
void heed_problem_set_size(heed_problem *problem, heed_part part, int64_t size);

/* The tensors, always numbered in this order. Those before HEED_ALL_TENSORS have the problem's
 * type, a head dim, and strides in the problem; those before HEED_TENSORS are used by kernels, and
 * every problem has them. */
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

/* A tensor's names, sizes and fields. */
typedef struct heed_role_row {
    const char *name;
    heed_part heads, seq, dim; /* its sizes besides the batch */
    size_t strides;            /* their offset in heed_problem, */
    size_t buffer;             /* and that of its address in heed_buffers */
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

/* heed_problem_has() returns true if @problem has the tensor @role. */
bool heed_problem_has(const heed_problem *problem, int role);

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

/* heed_problem_tensor() returns the tensor of @role, below HEED_ALL_TENSORS. */
heed_tensor heed_problem_tensor(const heed_problem *problem, int role);

void heed_problem_set_strides(heed_problem *problem, int role, heed_strides strides);

/* heed_tensor_extent() returns the number of elements from the first to the last of @tensor, which
 * has normal strides. */
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

/* heed_problem_read() copies the caller's @problem, of any struct size, to @own. Returns
 * HEED_ERR_INVALID, with a message, if it is NULL or its size is wrong. */
heed_status heed_problem_read(heed_problem *own, const heed_problem *problem);

/* heed_problem_read_checked() also returns what heed_problem_check() does. */
heed_status heed_problem_read_checked(heed_problem *own, const heed_problem *problem);

/* heed_problem_normalize_own() normalizes @problem, which must be valid. */
void heed_problem_normalize_own(heed_problem *problem);

/* heed_problem_flops() and heed_problem_bytes() of the library's own @problem, which must be
 * valid. */
double heed_problem_flops_own(const heed_problem *problem);
double heed_problem_bytes_own(const heed_problem *problem);

/* heed_problem_read_normal() is heed_problem_normalize() with the library's own struct for @own:
 * the caller's may be longer. */
heed_status heed_problem_read_normal(heed_problem *own, const heed_problem *problem);

/* heed_problem_find_fault() finds the first fault of @problem. Returns true and fills @fault if
 * there is one. */
bool heed_problem_find_fault(const heed_problem *problem, heed_fault *fault);

/* prefix.c: heed_prefix_fault() is the part of heed_problem_find_fault() for a prefix. */
bool heed_prefix_fault(const heed_problem *problem, heed_fault *fault);

/* The order of the queries of all batch elements in memory: those of one batch element after those
 * of the previous one; those with the same number next to each other; or neither. */
typedef enum heed_prefix_orders {
    HEED_PREFIX_BEHIND,
    HEED_PREFIX_BESIDE,
    HEED_PREFIX_APART
} heed_prefix_orders;
heed_prefix_orders heed_prefix_order(const heed_problem *problem);

/* heed_prefix_rest() returns @problem, normalized, without its prefix: for the keys after it, which
 * are counted from 0. heed_prefix_part() returns the problem of attention over the prefix: the
 * queries of all batch elements become those of one; where their order does not allow that, it
 * keeps the batch elements, all with the same keys. */
heed_problem heed_prefix_rest(const heed_problem *problem);
heed_problem heed_prefix_part(const heed_problem *problem);

float heed_scale_default(int64_t dim_qk);

#endif /* HEED_PROBLEM_H */
