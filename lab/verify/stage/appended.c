/*
 * appended.c - checks the KV cache after new keys and values were appended
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/verify/append.h"
#include "lab/verify/stage/stage.h"

/* The same bits, or a NaN on both sides. */
static bool is_same(const lab_block *block, int64_t at, const lab_block *expected)
{
    const size_t place = (size_t)at * block->element;
    if (memcmp(block->region.data + place, expected->region.data + place, block->element) == 0)
        return true;
    return isnan(lab_element_get(block->view.type, block->region.data, at)) &&
           isnan(lab_element_get(block->view.type, expected->region.data, at));
}

static bool block_misses(const lab_block *block, const lab_block *expected, const char *name,
                         char *text, size_t size)
{
    const lab_view *view = &block->view;
    for (int64_t n = 0; n < lab_view_vectors(view); n++) {
        const int64_t first = lab_view_vector(&expected->view, n);
        int64_t c = 0;
        while (c < view->dim && is_same(block, first + c, expected))
            c++;
        if (c == view->dim)
            continue;
        snprintf(text, size, "%s has %g, not %g: batch %lld, head %lld, key %lld, column %lld",
                 name, lab_element_get(view->type, block->region.data, first + c),
                 lab_element_get(view->type, expected->region.data, first + c),
                 (long long)(n / view->seq / view->heads), (long long)(n / view->seq % view->heads),
                 (long long)(n % view->seq), (long long)c);
        return true;
    }
    return false;
}

bool lab_stage_misses(const lab_stage *stage, const lab_values *values, char *text, size_t size)
{
    lab_values expected;
    bool misses = false;
    if (stage->problem.append == 0)
        return false;
    if (lab_values_copy(&expected, values) != HEED_OK) {
        snprintf(text, size, "not judged: not enough memory");
        return true;
    }
    heed_buffers data = lab_values_buffers(&expected);
    lab_append_complete(&expected.problem, &data);
    for (int role = LAB_K; role <= LAB_V && !misses; role++)
        if (stage->block[role].region.map)
            misses = block_misses(&stage->block[role], &expected.block[role], lab_block_name(role),
                                  text, size);
    lab_values_destroy(&expected);
    return misses;
}
