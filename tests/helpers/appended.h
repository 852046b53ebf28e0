/*
 * appended.h - caches before and after new keys and values, by a definition of their own
 *
 * Slots that are to be written, those beyond the lengths, pages that no table names and gaps hold
 * NaN before. Each tensor ends at memory that cannot be touched.
 */
#ifndef TEST_APPENDED_H
#define TEST_APPENDED_H

#include "lab/verify/stage/region.h"
#include "problem/problem.h"

typedef struct appended {
    heed_problem problem;                 /* with new keys */
    heed_problem rest;                    /* the same once they are in place */
    lab_region tensors[HEED_ALL_TENSORS]; /* absent ones are zeroed; O is rubbish */
    lab_region lengths, table, cos, sin, cu_q;
    void *after[HEED_TENSORS]; /* Q rotated, K and V with what is new, where they are inputs */
} appended;

/* appended_create() makes the tensors of @spec, which fails the test if it is wrong. The lengths of
 * batch elements are all of seq_k, the new keys, and in between. No two of these have one place.
 * Packed sequences have no query, seq_q of them, one, and seq_q - 1, up to the end of Q. */
void appended_create(appended *a, const char *spec);
void appended_destroy(appended *a);

/* appended_buffers() returns what an execution with new keys gets, appended_rest_buffers() what one
 * gets to which nothing is new; O, LSE and workspace are the caller's to fill in. */
heed_buffers appended_buffers(const appended *a);
heed_buffers appended_rest_buffers(const appended *a);

/* appended_rows() returns how many packed queries all sequences have. */
int64_t appended_rows(const appended *a);

/* appended_is_done() says whether K and V are as they must be afterwards, every byte of them;
 * appended_reset() makes them what they were. */
bool appended_is_done(const appended *a);
void appended_reset(appended *a);

#endif /* TEST_APPENDED_H */
