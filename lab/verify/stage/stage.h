/*
 * stage.h - the tensors of one execution, laid out to reveal forbidden accesses
 *
 * Values are the laboratory's copy of the inputs of a problem. Tensors are the memory passed to a
 * kernel: a copy of the values, and outputs and workspace filled with garbage, each in a separate
 * region. Gaps and slack of the inputs hold NaNs, those of the outputs random bytes.
 *
 * If a tensor spans more than LAB_SPARSE_BYTES, most of it gaps, only the elements and a margin
 * around each head vector are ever touched, so that strides of many gigabytes take little memory.
 */
#ifndef LAB_STAGE_H
#define LAB_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"
#include "lab/verify/stage/region.h"

#define LAB_SPARSE_BYTES ((size_t)1 << 22)

/* A region and its contents. */
typedef struct lab_block {
    lab_region region;
    lab_view view;
    size_t element;   /* bytes of one */
    uint64_t pattern; /* of gaps and slack */
} lab_block;

/* Bytes of the room of a region, from @start up to @end. */
typedef struct lab_stretch {
    size_t start;
    size_t end;
} lab_stretch;

/* lab_block_stretches() returns the number of stretches that are ever touched: one, the whole room,
 * or one around each head vector of a sparse tensor. lab_block_stretch() returns the @n-th. They
 * may overlap. */
int64_t lab_block_stretches(const lab_block *block);
lab_stretch lab_block_stretch(const lab_block *block, int64_t n);

/* lab_block_set() sets all elements to @value. */
void lab_block_set(const lab_block *block, double value);

typedef struct lab_values {
    heed_problem problem;        /* normalized */
    lab_block block[LAB_INPUTS]; /* absent ones are zeroed */
} lab_values;

/* lab_values_create() allocates the inputs of @problem, which must be normalized, with all elements
 * zero. Returns HEED_OK, or HEED_ERR_NO_MEMORY with *@values zeroed. */
heed_status lab_values_create(lab_values *values, const heed_problem *problem);

/* The numbers of queries and keys of batch element or sequence @batch. */
typedef struct lab_lengths {
    int64_t queries;
    int64_t keys;
} lab_lengths;
lab_lengths lab_values_lengths(const lab_values *values, int64_t batch);

/* lab_values_slice() makes the inputs of @problem from those of @whole, a problem of the same kind
 * and strides: batch element b and key j of @problem are b + @batch and j + @key of @whole.
 * @problem may lack operands of @whole; its arrays are the same. */
heed_status lab_values_slice(lab_values *values, const heed_problem *problem,
                             const lab_values *whole, int64_t batch, int64_t key);

/* lab_values_take() copies one input of @from, which must have the same kind of elements as that of
 * @values, and at least its dimensions. */
void lab_values_take(lab_values *values, const lab_values *from, lab_role role);

/* lab_values_share() makes V the first columns of K, if the problem shares it, and takes new keys
 * and values from K and V, by the lengths. A shared V has separate memory in values, but not in a
 * stage. */
void lab_values_share(lab_values *values);

/* lab_values_copy() is lab_values_slice() of the whole. */
heed_status lab_values_copy(lab_values *values, const lab_values *whole);

/* lab_values_destroy() frees the memory; zeroed values are ignored. */
void lab_values_destroy(lab_values *values);

/* lab_values_data() returns the elements of an input. lab_values_buffers() returns them all. */
void *lab_values_data(const lab_values *values, lab_role role);
heed_buffers lab_values_buffers(const lab_values *values);

typedef struct lab_stage {
    heed_problem problem;
    lab_block block[LAB_BLOCKS]; /* the tensors, LSE, workspace; absent ones are zeroed */
    lab_edge edge;
    uint64_t seed;
    int sign;
    bool modes_changed; /* the last run changed the caller's floating-point modes */
} lab_stage;

/* How to lay the tensors out. */
typedef struct lab_layout {
    lab_edge edge;
    bool lse;         /* pass an LSE */
    uint64_t seed;    /* of the garbage */
    int sign;         /* 1 or -1: poisons of different signs differ in every element */
    size_t workspace; /* bytes */
} lab_layout;

/* lab_stage_create() makes tensors with a copy of @values. Returns HEED_OK, or HEED_ERR_NO_MEMORY
 * with *@stage zeroed. */
heed_status lab_stage_create(lab_stage *stage, const lab_values *values, const lab_layout *layout);
void lab_stage_destroy(lab_stage *stage);

/* lab_stage_renew() restores K and V, and sets the new keys and values to those that belong at the
 * places given by the stage's lengths and page table. */
void lab_stage_renew(lab_stage *stage, const lab_values *values);

/* lab_stage_buffers() returns the kernel's buffers. */
heed_buffers lab_stage_buffers(const lab_stage *stage);

/* lab_stage_writes() returns true if a kernel may write to the block of @stage: an output, or K and
 * V if it appends. */
bool lab_stage_writes(const lab_stage *stage, int index);

/* lab_stage_lock() makes writes to the other inputs trap if @locked, else permits them. False if
 * the system refuses. */
bool lab_stage_lock(const lab_stage *stage, bool locked);

/* lab_poison() returns the bits that an element of O, of @type and with the index in [row][dim_v],
 * held before the execution; or, with @lse set, an element [row] of the LSE: a number of magnitude
 * 0.5 to 1. */
uint32_t lab_poison(uint64_t seed, int sign, bool lse, heed_type type, int64_t index);

/* lab_stage_poison() refills the outputs with poison of @sign. */
void lab_stage_poison(lab_stage *stage, int sign);

/* lab_stage_take() copies the outputs: O as dense [row][dim_v] in its type, LSE as [row]. */
void lab_stage_take(const lab_stage *stage, void *o, float *lse);

/* lab_stage_misses() looks for an element of K or V that is wrong after appending, compared by bits
 * except for NaNs. Returns true with its place in @text, or false, also if nothing is appended. */
bool lab_stage_misses(const lab_stage *stage, const lab_values *values, char *text, size_t size);

/* lab_stage_changed() looks for an input element that differs from @values. lab_stage_spoiled()
 * looks for a byte outside the elements that was written to; call it last, as it overwrites the
 * elements. It checks inputs only if @inputs is set, which is needless if they were locked. Both
 * return true with the place in @text, or false. */
bool lab_stage_changed(const lab_stage *stage, const lab_values *values, char *text, size_t size);
bool lab_stage_spoiled(const lab_stage *stage, bool inputs, char *text, size_t size);

#endif /* LAB_STAGE_H */
