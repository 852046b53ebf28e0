/*
 * problem.c - the limits of a problem and its normal form
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../sized.h"
#include "operand.h"
#include "problem.h"
#include "problem_parse.h"
#include "program.h"

const heed_size heed_sizes[HEED_PART_SIZES] = {
    [HEED_PART_BATCH] = { "batch", 1, HEED_SIZE_MAX, offsetof(heed_problem, batch) },
    [HEED_PART_HEADS_Q] = { "heads_q", 1, HEED_SIZE_MAX, offsetof(heed_problem, heads_q) },
    [HEED_PART_HEADS_KV] = { "heads_kv", 1, HEED_SIZE_MAX, offsetof(heed_problem, heads_kv) },
    [HEED_PART_SEQ_Q] = { "seq_q", 1, HEED_SIZE_MAX, offsetof(heed_problem, seq_q) },
    [HEED_PART_SEQ_K] = { "seq_k", 1, HEED_SIZE_MAX, offsetof(heed_problem, seq_k) },
    [HEED_PART_DIM_QK] = { "dim_qk", 1, HEED_DIM_MAX, offsetof(heed_problem, dim_qk) },
    [HEED_PART_DIM_V] = { "dim_v", 1, HEED_DIM_MAX, offsetof(heed_problem, dim_v) },
    [HEED_PART_APPEND] = { "append", 0, HEED_SIZE_MAX, offsetof(heed_problem, append) },
    [HEED_PART_PREFIX] = { "prefix", 0, HEED_SIZE_MAX, offsetof(heed_problem, prefix) },
};

void heed_problem_set_size(heed_problem *problem, heed_part part, int64_t size)
{
    memcpy((char *)problem + heed_sizes[part].offset, &size, sizeof size);
}

int64_t heed_problem_size(const heed_problem *problem, heed_part part)
{
    int64_t size;
    memcpy(&size, (const char *)problem + heed_sizes[part].offset, sizeof size);
    return size;
}

static const char *const type_names[HEED_TYPE_COUNT] = {
#define HEED_TYPE(type, data, name, size) [type] = (name),
#include "types.def"
#undef HEED_TYPE
};

size_t heed_type_size(heed_type type)
{
    return (size_t)type < HEED_TYPE_COUNT ? (size_t)heed_element_size(type) : 0;
}

const char *heed_type_name(heed_type type)
{
    return (size_t)type < HEED_TYPE_COUNT ? type_names[type] : "unknown";
}

const char *heed_products_name(int64_t products)
{
    static const char *const names[HEED_PRODUCTS_COUNT] = { "full", "tf32", "bf16x3" };
    return products >= 0 && products < HEED_PRODUCTS_COUNT ? names[products] : "unknown";
}

float heed_scale_default(int64_t dim_qk)
{
    return (float)(1.0 / sqrt((double)dim_qk));
}

/* -------------------------------------------------------------------------- */
/* Tensors and their strides                                                  */
/* -------------------------------------------------------------------------- */

#define QUERIES HEED_PART_HEADS_Q, HEED_PART_SEQ_Q
#define KEYS HEED_PART_HEADS_KV, HEED_PART_SEQ_K
#define NEW_KEYS HEED_PART_HEADS_KV, HEED_PART_APPEND
#define PLACES(field) offsetof(heed_problem, field), offsetof(heed_buffers, field)
const heed_role_row heed_roles[HEED_ROLES] = {
    [HEED_ROLE_Q] = { "q", QUERIES, HEED_PART_DIM_QK, PLACES(q), false, false },
    [HEED_ROLE_K] = { "k", KEYS, HEED_PART_DIM_QK, PLACES(k), false, false },
    [HEED_ROLE_V] = { "v", KEYS, HEED_PART_DIM_V, PLACES(v), false, false },
    [HEED_ROLE_O] = { "o", QUERIES, HEED_PART_DIM_V, PLACES(o), true, false },
    [HEED_ROLE_K_NEW] = { "k_new", NEW_KEYS, HEED_PART_DIM_QK, PLACES(k_new), false, false },
    [HEED_ROLE_V_NEW] = { "v_new", NEW_KEYS, HEED_PART_DIM_V, PLACES(v_new), false, false },
    [HEED_ROLE_LSE] = { .name = "lse",
                        .heads = HEED_PART_HEADS_Q,
                        .seq = HEED_PART_SEQ_Q,
                        .buffer = offsetof(heed_buffers, lse),
                        .output = true,
                        .optional = true },
};

void heed_buffer_set(heed_buffers *buffers, heed_role role, void *address)
{
    memcpy((char *)buffers + heed_roles[role].buffer, &address, sizeof address);
}

static heed_strides strides_of(const heed_problem *problem, int role)
{
    heed_strides strides = { 0 };
    memcpy(&strides, (const char *)problem + heed_roles[role].strides, sizeof strides);
    return strides;
}

bool heed_problem_has(const heed_problem *problem, int role)
{
    if (role == HEED_ROLE_K_NEW)
        return problem->append > 0;
    return role != HEED_ROLE_V_NEW || (problem->append > 0 && !problem->shared);
}

/* Does an execution write to the tensor @role: an output, or K and V where new keys are appended?
 */
static bool is_written(const heed_problem *problem, int role)
{
    return heed_roles[role].output ||
           (problem->append > 0 && heed_roles[role].seq == HEED_PART_SEQ_K);
}

int64_t heed_problem_turned(const heed_problem *problem)
{
    return problem->shared ? problem->dim_v : 0;
}

/* Returns the number of rows of a packed tensor of @role; 0 for others. */
static int64_t packed_rows(const heed_problem *problem, int role)
{
    const heed_part seq = heed_roles[role].seq;
    if (seq == HEED_PART_SEQ_K)
        return problem->tokens_k;
    return seq == HEED_PART_SEQ_Q || problem->append_packed ? problem->tokens_q : 0;
}

heed_tensor heed_problem_tensor(const heed_problem *problem, int role)
{
    const heed_role_row *row = &heed_roles[role];
    const int64_t tokens = packed_rows(problem, role);
    const bool paged = problem->page > 0 && row->seq == HEED_PART_SEQ_K;
    heed_tensor tensor = { .role = row,
                           .batch = paged        ? heed_problem_pages(problem)
                                    : tokens > 0 ? 1
                                                 : problem->batch,
                           .seq = paged        ? problem->page
                                  : tokens > 0 ? tokens
                                               : heed_problem_size(problem, row->seq),
                           .heads = heed_problem_size(problem, row->heads),
                           .dim = heed_problem_size(problem, row->dim),
                           .strides = strides_of(problem, role) };
    if (role == HEED_ROLE_V && problem->shared) {
        const heed_tensor k = heed_problem_tensor(problem, HEED_ROLE_K);
        tensor.strides = heed_strides_normal(&k, k.strides);
    }
    return tensor;
}

void heed_problem_set_strides(heed_problem *problem, int role, heed_strides strides)
{
    memcpy((char *)problem + heed_roles[role].strides, &strides, sizeof strides);
}

int64_t heed_tensor_extent(const heed_tensor *tensor)
{
    const heed_strides *s = &tensor->strides;
    return (tensor->batch - 1) * s->batch + (tensor->seq - 1) * s->seq +
           (tensor->heads - 1) * s->head + tensor->dim;
}

const char *const heed_layouts[] = { "bshd", "bhsd", "sbhd", NULL };

heed_strides heed_layout_strides(const heed_tensor *tensor, const char *layout)
{
    heed_strides strides = { 0, 0, 0 };
    int64_t distance = tensor->dim;
    for (int i = 2; i >= 0; i--) { /* from the innermost of the three outwards */
        int64_t size = tensor->heads;
        int64_t *stride = &strides.head;
        if (layout[i] == 'b') {
            size = tensor->batch;
            stride = &strides.batch;
        } else if (layout[i] == 's') {
            size = tensor->seq;
            stride = &strides.seq;
        }
        *stride = distance;
        if (__builtin_mul_overflow(distance, size, &distance))
            distance = INT64_MAX;
    }
    return strides;
}

static bool strides_zero(heed_strides strides)
{
    return strides.batch == 0 && strides.seq == 0 && strides.head == 0;
}

heed_strides heed_strides_normal(const heed_tensor *tensor, heed_strides strides)
{
    heed_strides dense = heed_layout_strides(tensor, heed_layouts[0]);
    if (strides_zero(strides))
        return dense;
    return (heed_strides){
        .batch = tensor->batch == 1 ? dense.batch : strides.batch,
        .seq = tensor->seq == 1 ? dense.seq : strides.seq,
        .head = tensor->heads == 1 ? dense.head : strides.head,
    };
}

bool heed_strides_equal(heed_strides a, heed_strides b)
{
    return a.batch == b.batch && a.seq == b.seq && a.head == b.head;
}

/* -------------------------------------------------------------------------- */
/* Check                                                                      */
/* -------------------------------------------------------------------------- */

bool heed_fault_set(heed_fault *fault, heed_part part, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    fault->part = part;
    fault->expression = NULL;
    fault->at = 0;
    return true;
}

static bool sizes_fault(const heed_problem *problem, heed_fault *fault)
{
    for (int part = 0; part < HEED_PART_SIZES; part++) {
        int64_t value = heed_problem_size(problem, (heed_part)part);
        if (value < heed_sizes[part].min || value > heed_sizes[part].max) {
            return heed_fault_set(fault, (heed_part)part, "%s is %lld; it must be %lld to %lld",
                                  heed_sizes[part].name, (long long)value,
                                  (long long)heed_sizes[part].min, (long long)heed_sizes[part].max);
        }
    }
    if (problem->heads_q % problem->heads_kv != 0) {
        return heed_fault_set(fault, HEED_PART_HEADS_KV,
                              "heads_kv is %lld; it must divide heads_q, which is %lld",
                              (long long)problem->heads_kv, (long long)problem->heads_q);
    }
    return false;
}

/* Checks one side of the window; @bit is that of the side. */
static bool side_fault(const heed_window *window, unsigned bit, int64_t keys, heed_fault *fault)
{
    const char *name = bit == HEED_WINDOW_LEFT ? "left" : "right";
    if (!(window->sides & bit) && keys != 0) {
        return heed_fault_set(
            fault, HEED_PART_WINDOW,
            "window.%s is %lld; it must be 0 where window.sides has no HEED_WINDOW_%s", name,
            (long long)keys, bit == HEED_WINDOW_LEFT ? "LEFT" : "RIGHT");
    }
    if (keys < 0 || keys > HEED_SIZE_MAX) {
        return heed_fault_set(fault, HEED_PART_WINDOW, "window.%s is %lld; it must be 0 to %lld",
                              name, (long long)keys, (long long)HEED_SIZE_MAX);
    }
    return false;
}

static bool mask_fault(const heed_problem *problem, heed_fault *fault)
{
    const heed_window *window = &problem->window;
    if ((unsigned)problem->mask > (unsigned)HEED_MASK_CAUSAL_BOTTOM_RIGHT) {
        return heed_fault_set(fault, HEED_PART_MASK,
                              "mask is %d; it must be 0 (none), 1 (top left) or 2 (bottom right)",
                              (int)problem->mask);
    }
    if ((unsigned)problem->align > (unsigned)HEED_ALIGN_BOTTOM_RIGHT) {
        return heed_fault_set(fault, HEED_PART_ALIGN,
                              "align is %d; it must be 0 (top left) or 1 (bottom right)",
                              (int)problem->align);
    }
    if (problem->align == HEED_ALIGN_BOTTOM_RIGHT && problem->mask == HEED_MASK_CAUSAL_TOP_LEFT) {
        return heed_fault_set(
            fault, HEED_PART_ALIGN,
            "align is 1 (bottom right) and mask is 1 (top left); with a causal mask "
            "align must be that of the mask, or 0");
    }
    if (window->sides > (HEED_WINDOW_LEFT | HEED_WINDOW_RIGHT)) {
        return heed_fault_set(
            fault, HEED_PART_WINDOW,
            "window.sides is %u; it must be 0 to 3, the sum of 1 (left) and 2 (right)",
            window->sides);
    }
    if (problem->chunk < 0 || problem->chunk > HEED_SIZE_MAX) {
        return heed_fault_set(fault, HEED_PART_CHUNK, "chunk is %lld; it must be 0 to %lld",
                              (long long)problem->chunk, (long long)HEED_SIZE_MAX);
    }
    return side_fault(window, HEED_WINDOW_LEFT, window->left, fault) ||
           side_fault(window, HEED_WINDOW_RIGHT, window->right, fault);
}

static bool expressions_fault(const heed_problem *problem, heed_fault *fault)
{
    const struct {
        const char *name, *text;
        heed_part part;
        heed_kind kind;
    } all[] = { { "score", problem->score, HEED_PART_SCORE, HEED_KIND_FLOAT },
                { "visible", problem->visible, HEED_PART_VISIBLE, HEED_KIND_BOOL } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char why[128];
        size_t at = 0;
        if (strnlen(all[i].text, HEED_EXPRESSION_SIZE) == HEED_EXPRESSION_SIZE)
            return heed_fault_set(fault, all[i].part, "%s has no end within %d characters",
                                  all[i].name, HEED_EXPRESSION_SIZE);
        if (heed_expression_check(problem, all[i].text, all[i].kind, why, sizeof why, &at))
            continue;
        heed_fault_set(fault, all[i].part, "%s: %s", all[i].name, why);
        fault->expression = all[i].text;
        fault->at = at;
        return true;
    }
    return false;
}

/* Checks that V can be a part of K, if it is shared. */
static bool shared_fault(const heed_problem *problem, heed_fault *fault)
{
    const heed_strides given = strides_of(problem, HEED_ROLE_V);
    if (problem->shared != 0 && problem->shared != 1)
        return heed_fault_set(fault, HEED_PART_SHARED,
                              "shared is %lld; it must be 0, or 1 where V is a part of K",
                              (long long)problem->shared);
    if (!problem->shared)
        return false;
    if (problem->dim_v > problem->dim_qk)
        return heed_fault_set(fault, HEED_PART_SHARED,
                              "shared is 1 and dim_v is %lld; it must be dim_qk, which is %lld, or "
                              "less",
                              (long long)problem->dim_v, (long long)problem->dim_qk);
    const heed_tensor v = heed_problem_tensor(problem, HEED_ROLE_V);
    if (strides_zero(given) ||
        heed_strides_equal(heed_strides_normal(&v, given), heed_strides_normal(&v, v.strides)))
        return false;
    return heed_fault_set(fault, HEED_PART_SHARED,
                          "shared is 1 and v strides are %lld:%lld:%lld; they must be those of k, "
                          "%lld:%lld:%lld, or be left out",
                          (long long)given.batch, (long long)given.seq, (long long)given.head,
                          (long long)v.strides.batch, (long long)v.strides.seq,
                          (long long)v.strides.head);
}

static bool products_fault(const heed_problem *problem, heed_fault *fault)
{
    if (problem->products < 0 || problem->products >= HEED_PRODUCTS_COUNT)
        return heed_fault_set(fault, HEED_PART_PRODUCTS,
                              "products is %lld; it must be 0 (full), 1 (tf32) or 2 (bf16x3)",
                              (long long)problem->products);
    if (problem->products == HEED_PRODUCTS_FULL || problem->type == HEED_F32)
        return false;
    return heed_fault_set(fault, HEED_PART_PRODUCTS,
                          "products is %lld (%s) and type is %s; with that type it must be 0 "
                          "(full)",
                          (long long)problem->products, heed_products_name(problem->products),
                          heed_type_name(problem->type));
}

/* "0 (f32), 1 (f16) or 2 (bf16)" */
static const char *type_list(char text[128])
{
    heed_text list = { text, 128, 0 };
    text[0] = '\0';
    for (int type = 0; type < HEED_TYPE_COUNT; type++)
        heed_text_add(&list, "%s%d (%s)",
                      type == 0                     ? ""
                      : type == HEED_TYPE_COUNT - 1 ? " or "
                                                    : ", ",
                      type, type_names[type]);
    return text;
}

static bool options_fault(const heed_problem *problem, heed_fault *fault)
{
    char types[128];

    if (problem->pass != HEED_FORWARD) {
        return heed_fault_set(fault, HEED_PART_PASS, "pass is %d; it must be 0 (forward)",
                              (int)problem->pass);
    }
    if (heed_type_size(problem->type) == 0) {
        return heed_fault_set(fault, HEED_PART_TYPE, "type is %d; it must be %s",
                              (int)problem->type, type_list(types));
    }
    if (mask_fault(problem, fault) || heed_operands_fault(problem, fault) ||
        expressions_fault(problem, fault))
        return true;
    if (problem->softcap != 0 && !(isfinite(problem->softcap) && problem->softcap > 0)) {
        return heed_fault_set(fault, HEED_PART_SOFTCAP,
                              "softcap is %g; it must be finite and positive, or 0 for none",
                              (double)problem->softcap);
    }
    if ((unsigned)problem->accumulate > (unsigned)HEED_ACC_F16) {
        return heed_fault_set(fault, HEED_PART_ACCUMULATE,
                              "accumulate is %d; it must be 0 (f32) or 1 (f16)",
                              (int)problem->accumulate);
    }
    if (problem->accumulate == HEED_ACC_F16 && problem->type != HEED_F16) {
        return heed_fault_set(
            fault, HEED_PART_ACCUMULATE,
            "accumulate is 1 (f16) and type is %s; with that type it must be 0 (f32)",
            heed_type_name(problem->type));
    }
    if (products_fault(problem, fault))
        return true;
    if (!isfinite(problem->scale)) {
        return heed_fault_set(fault, HEED_PART_SCALE, "scale is %g; it must be finite",
                              (double)problem->scale);
    }
    if (problem->invariant != 0 && problem->invariant != 1)
        return heed_fault_set(fault, HEED_PART_INVARIANT,
                              "invariant is %lld; it must be 0, or 1 for a batch-invariant problem",
                              (long long)problem->invariant);
    return false;
}

/* One dimension of a tensor with more than one element. */
typedef struct dimension {
    int64_t size;
    int64_t stride;
} dimension;

/* Writes the dimensions of @tensor that have more than one element, the smallest stride first, to
 * @dimensions. Returns their number. */
static int sorted_dimensions(const heed_tensor *tensor, dimension dimensions[3])
{
    const dimension all[3] = { { tensor->batch, tensor->strides.batch },
                               { tensor->seq, tensor->strides.seq },
                               { tensor->heads, tensor->strides.head } };
    int count = 0;
    for (int i = 0; i < 3; i++) {
        if (all[i].size > 1) {
            int place = count++;
            for (; place > 0 && dimensions[place - 1].stride > all[i].stride; place--)
                dimensions[place] = dimensions[place - 1];
            dimensions[place] = all[i];
        }
    }
    return count;
}

/* Elements of @tensor, or -1 for more than HEED_EXTENT_MAX. Elements repeated by a zero stride are
 * counted each time. */
static int64_t count_elements(const heed_tensor *tensor)
{
    int64_t count = tensor->dim;
    if (__builtin_mul_overflow(count, tensor->batch, &count) ||
        __builtin_mul_overflow(count, tensor->seq, &count) ||
        __builtin_mul_overflow(count, tensor->heads, &count) || count > HEED_EXTENT_MAX)
        return -1;
    return count;
}

/* Adds (size - 1) * stride to *@extent. Returns false if it becomes more than HEED_EXTENT_MAX. */
static bool extent_add(int64_t *extent, const dimension *step)
{
    int64_t span;
    return !__builtin_mul_overflow(step->size - 1, step->stride, &span) &&
           !__builtin_add_overflow(*extent, span, extent) && *extent <= HEED_EXTENT_MAX;
}

/* Checks one tensor. No two elements of an output may share an address. This is guaranteed if each
 * dimension steps over all of the ones inside it, as in any layout made by slicing or permuting a
 * dense array. */
static bool tensor_fault(const heed_tensor *tensor, bool written, heed_part part, heed_fault *fault)
{
    const heed_strides *s = &tensor->strides;
    const char *name = tensor->role->name;
    if (s->batch < 0 || s->seq < 0 || s->head < 0) {
        return heed_fault_set(fault, part, "%s strides are %lld:%lld:%lld; they must be 0 or more",
                              name, (long long)s->batch, (long long)s->seq, (long long)s->head);
    }
    if (count_elements(tensor) < 0) {
        return heed_fault_set(fault, tensor->role->seq,
                              "%s has %lld x %lld x %lld x %lld elements; the limit is %lld", name,
                              (long long)tensor->batch, (long long)tensor->seq,
                              (long long)tensor->heads, (long long)tensor->dim,
                              (long long)HEED_EXTENT_MAX);
    }
    if (strides_zero(*s))
        return false; /* dense */
    dimension dimensions[3];
    int count = sorted_dimensions(tensor, dimensions);
    int64_t extent = tensor->dim;
    for (int i = 0; i < count; i++) {
        if (written && dimensions[i].stride < extent) {
            return heed_fault_set(
                fault, part,
                "%s strides %lld:%lld:%lld overlap: a stride of %lld must be %lld or more", name,
                (long long)s->batch, (long long)s->seq, (long long)s->head,
                (long long)dimensions[i].stride, (long long)extent);
        }
        if (!extent_add(&extent, &dimensions[i])) {
            return heed_fault_set(fault, part,
                                  "%s strides %lld:%lld:%lld span more than %lld elements", name,
                                  (long long)s->batch, (long long)s->seq, (long long)s->head,
                                  (long long)HEED_EXTENT_MAX);
        }
    }
    return false;
}

/* Checks the strides of a tensor that the problem does not have. */
static bool absent_fault(const heed_tensor *tensor, heed_part part, heed_fault *fault)
{
    if (strides_zero(tensor->strides))
        return false;
    return heed_fault_set(
        fault, part, "%s strides are %lld:%lld:%lld; they must be 0 where the problem has no %s",
        tensor->role->name, (long long)tensor->strides.batch, (long long)tensor->strides.seq,
        (long long)tensor->strides.head, tensor->role->name);
}

bool heed_problem_find_fault(const heed_problem *problem, heed_fault *fault)
{
    if (sizes_fault(problem, fault) || options_fault(problem, fault))
        return true;
    for (int i = 0; i < HEED_ALL_TENSORS; i++) {
        heed_tensor tensor = heed_problem_tensor(problem, i);
        heed_part part = (heed_part)(HEED_PART_Q + i);
        if (i == HEED_ROLE_V && shared_fault(problem, fault)) /* K has been checked */
            return true;
        if (heed_problem_has(problem, i)
                ? tensor_fault(&tensor, is_written(problem, i), part, fault)
                : absent_fault(&tensor, part, fault))
            return true;
    }
    return heed_prefix_fault(problem, fault);
}

heed_status heed_problem_read(heed_problem *own, const heed_problem *problem)
{
    if (problem == NULL)
        return heed_fail(HEED_ERR_INVALID, "problem is NULL");
    return heed_sized_read(&heed_sized_problem, own, problem);
}

heed_status heed_problem_read_checked(heed_problem *own, const heed_problem *problem)
{
    heed_fault fault;
    heed_status status = heed_problem_read(own, problem);
    if (status != HEED_OK || !heed_problem_find_fault(own, &fault))
        return status;
    const heed_parser expression = { .spec = fault.expression };
    return fault.expression
               ? heed_parse_fail(&expression, fault.expression + fault.at, "%s", fault.text)
               : heed_fail(HEED_ERR_INVALID, "%s", fault.text);
}

heed_status heed_problem_check(const heed_problem *problem)
{
    heed_problem own;
    return heed_problem_read_checked(&own, problem);
}

/* -------------------------------------------------------------------------- */
/* Normal form                                                                */
/* -------------------------------------------------------------------------- */

void heed_problem_normalize_own(heed_problem *problem)
{
    if (problem->scale == 0.0F)
        problem->scale = heed_scale_default(problem->dim_qk);
    heed_mask_normalize(problem);
    problem->pages = heed_problem_pages(problem);
    heed_operands_normalize(problem);
    heed_expression_squeeze(problem->score);
    heed_expression_squeeze(problem->visible);
    for (int i = 0; i < HEED_ALL_TENSORS; i++) {
        heed_tensor tensor = heed_problem_tensor(problem, i);
        if (heed_problem_has(problem, i))
            heed_problem_set_strides(problem, i, heed_strides_normal(&tensor, tensor.strides));
    }
}

heed_status heed_problem_read_normal(heed_problem *own, const heed_problem *problem)
{
    heed_status status = heed_problem_read_checked(own, problem);
    if (status == HEED_OK)
        heed_problem_normalize_own(own);
    return status;
}

heed_status heed_problem_normalize(heed_problem *normal, const heed_problem *problem)
{
    if (normal == NULL)
        return heed_fail(HEED_ERR_INVALID, "normal is NULL");
    heed_problem own;
    heed_status status = heed_problem_read_normal(&own, problem);
    return status == HEED_OK ? heed_sized_write(&heed_sized_problem, normal, problem->size, &own)
                             : status;
}

bool heed_problem_equal(const heed_problem *a, const heed_problem *b)
{
    for (int part = 0; part < HEED_PART_SIZES; part++)
        if (heed_problem_size(a, (heed_part)part) != heed_problem_size(b, (heed_part)part))
            return false;
    for (int i = 0; i < HEED_ALL_TENSORS; i++)
        if (!heed_strides_equal(strides_of(a, i), strides_of(b, i)))
            return false;
    return a->pass == b->pass && a->type == b->type && a->mask == b->mask && a->scale == b->scale &&
           a->accumulate == b->accumulate && a->products == b->products && a->align == b->align &&
           a->window.sides == b->window.sides && a->window.left == b->window.left &&
           a->window.right == b->window.right && a->chunk == b->chunk && a->softcap == b->softcap &&
           a->page == b->page && a->pages == b->pages && a->tokens_q == b->tokens_q &&
           a->tokens_k == b->tokens_k && a->shared == b->shared && a->invariant == b->invariant &&
           a->rotary == b->rotary && a->interleaved == b->interleaved &&
           a->append_packed == b->append_packed && heed_operands_equal(a, b);
}
