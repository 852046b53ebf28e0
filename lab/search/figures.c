/*
 * figures.c - summary figures of a search
 */
#include "lab/search/figures.h"

#include <math.h>
#include <stdlib.h>

#include "lab/base/array.h"

lab_speedups lab_speedups_of(double *values, size_t count)
{
    if (count == 0)
        return (lab_speedups){ .count = 0 };
    qsort(values, count, sizeof *values, lab_order_reals);
    double middle = (values[(count - 1) / 2] + values[count / 2]) / 2;
    return (lab_speedups){ .median = middle, .best = values[count - 1], .count = count };
}

void lab_figures_count(lab_figures *figures, const lab_search_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        const lab_try *one = &result->tries[i];
        bool made = one->state != LAB_STATE_PRUNED && one->state != LAB_STATE_FAILED;
        figures->candidates++;
        figures->compiled += made;
        figures->passed += isfinite(one->score);
    }
}
