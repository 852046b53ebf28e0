/*
 * figures.h - the figures that a search ends with, as papers give them
 */
#ifndef LAB_FIGURES_H
#define LAB_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/search/search.h"

/* Speed-ups over something; zeroed: it was not timed. */
typedef struct lab_speedups {
    double median, best;
    size_t count; /* of which they are */
} lab_speedups;

typedef struct lab_figures {
    int64_t candidates;  /* that were looked at */
    int64_t compiled;    /* of them: were made into code that could be started */
    int64_t passed;      /* of those: were right, and timed */
    lab_speedups origin; /* of those that passed, over the kernel that the search began with */
    lab_speedups rival;  /* over the fastest rival that was timed in the same run */
    double seconds;      /* that all of it took */
    int64_t tokens_in, tokens_out; /* of a model that was asked; negative: nobody told */
    bool confirmed; /* the result won twice, the second time on fresh samples, and passed all gates
                     */
} lab_figures;

/* lab_speedups_of() sorts @values and returns what they come to. */
lab_speedups lab_speedups_of(double *values, size_t count);

/* lab_figures_count() adds the points that @result tried to candidates, compiled and passed. */
void lab_figures_count(lab_figures *figures, const lab_search_result *result);

#endif /* LAB_FIGURES_H */
