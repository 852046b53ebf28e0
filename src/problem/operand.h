/*
 * operand.h - the operands of a problem: their table, types, strides and sizes
 */
#ifndef HEED_OPERAND_H
#define HEED_OPERAND_H

#include "problem.h"

/* A kind of operand: its names, fields, types and dimensions. */
typedef struct heed_operand_row {
    const char *word; /* in a spec */
    const char *name; /* of the fields in heed.h */
    heed_part part;
    size_t operand;      /* its offset in heed_problem, */
    size_t buffer;       /* and that of its address in heed_buffers */
    unsigned types;      /* types that it may have, bits 1 << heed_data, */
    heed_data type;      /* and the default one in a spec; HEED_DATA_NONE: it must be given */
    unsigned needs, may; /* dimensions */
    unsigned along;      /* the default ones in a spec */
} heed_operand_row;

enum {
    HEED_OPERAND_BIAS,
    HEED_OPERAND_SLOPES,
    HEED_OPERAND_SINKS,
    HEED_OPERAND_STARTS,
    HEED_OPERAND_SHOWN,
    HEED_OPERAND_LENGTHS,
    HEED_OPERAND_TABLE,
    HEED_OPERAND_CU_Q,
    HEED_OPERAND_CU_K,
    HEED_OPERAND_COS,
    HEED_OPERAND_SIN,
    HEED_OPERANDS
};
extern const heed_operand_row heed_operand_rows[HEED_OPERANDS];

/* Dimensions of operands that have exactly these, and no gaps: a spec gives only their type. */
#define HEED_ALONG_ALONE (HEED_ALONG_SEQUENCE | HEED_ALONG_POSITION)

/* The address of an operand in the caller's buffers. */
static inline const void *heed_operand_buffer(const heed_buffers *buffers, int index)
{
    const void *address;
    memcpy(&address, (const char *)buffers + heed_operand_rows[index].buffer, sizeof address);
    return address;
}

static inline void heed_operand_buffer_set(heed_buffers *buffers, int index, const void *address)
{
    memcpy((char *)buffers + heed_operand_rows[index].buffer, &address, sizeof address);
}

const heed_operand *heed_problem_operand(const heed_problem *problem, int index);
heed_operand *heed_problem_operand_of(heed_problem *problem, int index);

/* heed_data_size() returns the bytes of an element, 4 for a word of bits; 0 outside the enum and
 * for HEED_DATA_NONE. heed_data_name() returns "f32", "bits", ...; "none" outside the enum. */
size_t heed_data_size(heed_data type);
const char *heed_data_name(heed_data type);

/* heed_data_type() returns the matching heed_type of a floating-point type; HEED_TYPE_COUNT for
 * others. */
static inline heed_type heed_data_type(heed_data of)
{
#define HEED_TYPE(type, data, name, size) \
    if (of == (data))                     \
        return type;
#include "types.def"
#undef HEED_TYPE
    return (heed_type)HEED_TYPE_COUNT;
}

/* Finds the type by its name, of @length characters; HEED_DATA_NONE if there is none. */
heed_data heed_data_find(const char *name, size_t length);

/* heed_operand_dense() returns the strides of an operand without gaps, 0 along dimensions that it
 * does not have. */
heed_strides heed_operand_dense(const heed_problem *problem, const heed_operand *operand);

/* heed_operand_extent() returns the number of elements from its first to its last one, at most
 * INT64_MAX. */
int64_t heed_operand_extent(const heed_problem *problem, const heed_operand *operand);

/* heed_array_elements() returns the number of elements of an array. */
int64_t heed_array_elements(const heed_array *array);

/* heed_operands_fault() is the part of heed_problem_find_fault() for operands;
 * heed_operands_normalize() normalizes valid operands. */
/* heed_problem_has_operands() returns true if anything changes logits, hides keys other than by
 * intervals, or adds sinks. */
bool heed_problem_has_operands(const heed_problem *problem);

/* heed_problem_pages() returns the number of pages, even where the field is 0 for the default,
 * which heed_problem_all_pages() returns: those that seq_k keys of all batch elements take. */
int64_t heed_problem_pages(const heed_problem *problem);
int64_t heed_problem_all_pages(const heed_problem *problem);

/* heed_operands_bytes() returns the minimum bytes of a problem's operands and arrays that must be
 * read: elements of pairs outside the queries' intervals are not counted. */
double heed_operands_bytes(const heed_problem *problem);

bool heed_operands_fault(const heed_problem *problem, heed_fault *fault);
void heed_operands_normalize(heed_problem *problem);
bool heed_operands_equal(const heed_problem *a, const heed_problem *b);

/* Characters of names, independent of the locale. */
static inline bool heed_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool heed_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The letters of dimensions, in the order of the bits HEED_ALONG_...: "bhqkpc". */
extern const char heed_along_letters[];

#endif /* HEED_OPERAND_H */
