/*
 * stage.h - the tensors of one execution, laid out so that forbidden accesses show
 *
 * Values are the inputs of a problem as the laboratory keeps them. Tensors are what a kernel gets
 * to see: a copy of the values, and outputs and workspace filled with rubbish, each in a region of
 * its own. Gaps and slack of the inputs hold NaNs, those of the outputs random bytes.
 *
 * Of a tensor that spans more than LAB_SPARSE_BYTES, most of it gaps, only the elements and a
 * margin around each head vector are ever touched, so that strides of many gigabytes take little
 * memory.
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

/* A region and what lies in it. */
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

/* lab_block_stretches() returns in how many pieces the bytes lie that are ever touched: one, the
 * whole room, or the surroundings of each head vector of a sparse tensor. lab_block_stretch()
 * returns the @n-th. They may overlap. */
int64_t lab_block_stretches(const lab_block *block);
lab_stretch lab_block_stretch(const lab_block *block, int64_t n);

typedef struct lab_values {
    heed_problem problem;        /* normalized */
    lab_block block[LAB_INPUTS]; /* absent ones are zeroed */
} lab_values;

/* lab_values_create() makes room for the inputs of @problem, which must be normalized, all elements
 * zero. Returns HEED_OK, or HEED_ERR_NO_MEMORY with *@values zeroed. */
heed_status lab_values_create(lab_values *values, const heed_problem *problem);

/* Queries and keys of batch element or sequence @batch. */
typedef struct lab_lengths {
    int64_t queries;
    int64_t keys;
} lab_lengths;
lab_lengths lab_values_lengths(const lab_values *values, int64_t batch);

/* lab_values_slice() makes the inputs of @problem out of those of @whole, a problem of the same
 * kind and strides: batch element b and key j of @problem are b + @batch and j + @key of @whole.
 * @problem may lack operands of @whole; its arrays are the same. */
heed_status lab_values_slice(lab_values *values, const heed_problem *problem,
                             const lab_values *whole, int64_t batch, int64_t key);

/* lab_values_take() copies one input of @from, which must have the same kind of elements, and the
 * same sizes at least, as that of @values. */
void lab_values_take(lab_values *values, const lab_values *from, lab_role role);

/* lab_values_share() makes V the first columns of K, if the problem says that it is, and new keys
 * and values those of K and V, as lengths say. The values of a V that is shared have memory of
 * their own all the same; a stage has none for them. */
void lab_values_share(lab_values *values);

/* lab_values_copy() is lab_values_slice() of all. */
heed_status lab_values_copy(lab_values *values, const lab_values *whole);

/* lab_values_destroy() frees the memory; zeroed values are ignored. */
void lab_values_destroy(lab_values *values);

/* lab_values_data() returns the elements of an input. lab_values_buffers() returns them all. */
void *lab_values_data(const lab_values *values, lab_role role);
heed_buffers lab_values_buffers(const lab_values *values);

/* LSE and workspace come after the tensors of lab_role. */
#define LAB_LSE LAB_ROLES
#define LAB_WORKSPACE (LAB_ROLES + 1)
#define LAB_BLOCKS (LAB_ROLES + 2)

typedef struct lab_stage {
    heed_problem problem;
    lab_block block[LAB_BLOCKS]; /* the tensors, LSE, workspace; absent ones are zeroed */
    lab_edge edge;
    uint64_t seed;
    int sign;
    bool modes_changed; /* the last run left the caller other floating-point modes */
} lab_stage;

/* How to lay the tensors out. */
typedef struct lab_layout {
    lab_edge edge;
    bool lse;         /* is it wanted? */
    uint64_t seed;    /* of the rubbish */
    int sign;         /* 1 or -1: poison of another sign differs in every element */
    size_t workspace; /* bytes */
} lab_layout;

/* lab_stage_create() makes tensors with a copy of @values. Returns HEED_OK, or HEED_ERR_NO_MEMORY
 * with *@stage zeroed. */
heed_status lab_stage_create(lab_stage *stage, const lab_values *values, const lab_layout *layout);
void lab_stage_destroy(lab_stage *stage);

/* lab_stage_renew() makes K and V what they were, and the new keys and values those that belong
 * where the stage's own lengths and page table say. */
void lab_stage_renew(lab_stage *stage, const lab_values *values);

/* lab_stage_buffers() returns what to give to the kernel. */
heed_buffers lab_stage_buffers(const lab_stage *stage);

/* lab_stage_writes() says whether a kernel writes to the block of @stage: to an output, or to K and
 * V, to which it appends. */
bool lab_stage_writes(const lab_stage *stage, int index);

/* lab_stage_lock() makes writes to the other inputs trap, or stops that. False if the system
 * refuses. */
bool lab_stage_lock(const lab_stage *stage, bool locked);

/* lab_poison() returns the bits that an element of O, of @type and counted [row][dim_v], held
 * before the execution; or, with @lse set, an element [row] of the LSE: a number of size 0.5 to 1.
 */
uint32_t lab_poison(uint64_t seed, int sign, bool lse, heed_type type, int64_t index);

/* lab_stage_poison() fills the outputs with poison of @sign anew. */
void lab_stage_poison(lab_stage *stage, int sign);

/* lab_stage_take() copies the outputs: O densely as [row][dim_v] in its type, LSE as [row]. */
void lab_stage_take(const lab_stage *stage, void *o, float *lse);

/* lab_stage_misses() looks for an element of K or V that is not as it must be once what is new is
 * appended, to the bit but for those of a NaN; all is well where nothing is. It returns true and
 * says where in @text, or false. */
bool lab_stage_misses(const lab_stage *stage, const lab_values *values, char *text, size_t size);

/* lab_stage_changed() looks for an input element that is not as in @values; lab_stage_spoiled(), to
 * be called last as it wipes the elements out, for a byte outside of the elements that was written
 * to. It looks at the @inputs only if told so: where they were locked there is no need. They return
 * true and say where in @text, or false. */
bool lab_stage_changed(const lab_stage *stage, const lab_values *values, char *text, size_t size);
bool lab_stage_spoiled(const lab_stage *stage, bool inputs, char *text, size_t size);

/* lab_block_name() is lab_role_name(), or returns "LSE" or "workspace". */
const char *lab_block_name(int index);

#endif /* LAB_STAGE_H */
