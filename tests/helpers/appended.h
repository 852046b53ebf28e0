/*
 * appended.h - caches before and after appending keys and values, by an independent definition
 *
 * Slots to be written, those past the lengths, pages that no table names and gaps hold NaN at
 * first. Each tensor ends at inaccessible memory.
 */
#ifndef TEST_APPENDED_H
#define TEST_APPENDED_H

#include "lab/verify/stage/region.h"
#include "problem/problem.h"

typedef struct appended {
    heed_problem problem;                 /* with new keys */
    heed_problem rest;                    /* the same after appending */
    lab_region tensors[HEED_ALL_TENSORS]; /* absent ones are zeroed; O is uninitialized */
    lab_region lengths, table, cos, sin, cu_q;
    void *after[HEED_TENSORS]; /* Q rotated, K and V with appended rows, if they are inputs */
} appended;

/* appended_create() makes the tensors of @spec; it fails the test if the spec is wrong. The lengths
 * of batch elements are seq_k, the number of new keys, and values in between; no two new keys have
 * the same slot. Packed sequences have 0, seq_q, 1 and seq_q - 1 queries in turns, up to the end of
 * Q. */
void appended_create(appended *a, const char *spec);
void appended_destroy(appended *a);

/* appended_buffers() returns the buffers of an execution with new keys, appended_rest_buffers()
 * those of one without; the caller fills in O, LSE and workspace. */
heed_buffers appended_buffers(const appended *a);
heed_buffers appended_rest_buffers(const appended *a);

/* appended_rows() returns the number of packed queries of all sequences. */
int64_t appended_rows(const appended *a);

/* appended_is_done() returns whether K and V have the expected contents, byte for byte;
 * appended_reset() restores them. */
bool appended_is_done(const appended *a);
void appended_reset(appended *a);

#endif /* TEST_APPENDED_H */
