/*
 * figures.h - summary figures of a search, as reported in papers
 */
#ifndef LAB_FIGURES_H
#define LAB_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/search/search.h"

/* Speed-ups over a baseline; zeroed: it was not timed. */
typedef struct lab_speedups {
    double median, best;
    size_t count; /* number of speed-ups */
} lab_speedups;

typedef struct lab_figures {
    int64_t candidates;            /* points considered */
    int64_t compiled;              /* of these: compiled to code that can be launched */
    int64_t passed;                /* of these: right, and timed */
    lab_speedups origin;           /* of those that passed, over the first kernel of the search */
    lab_speedups rival;            /* over the fastest rival that was timed in the same run */
    double seconds;                /* of the whole search */
    int64_t tokens_in, tokens_out; /* of a language model; negative: not known */
    bool confirmed; /* the result won twice, the second time on fresh samples, and passed all gates
                     */
} lab_figures;

/* lab_speedups_of() sorts @values and returns their summary. */
lab_speedups lab_speedups_of(double *values, size_t count);

/* lab_figures_count() adds the points that @result tried to candidates, compiled and passed. */
void lab_figures_count(lab_figures *figures, const lab_search_result *result);

#endif /* LAB_FIGURES_H */
