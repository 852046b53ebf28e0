/*
 * features.h - the instructions of a CPU beyond the portable ones, as a set
 *
 * Features are no line: AMX does not imply the bfloat16 dot product, nor does that imply AMX. Each
 * is a row of a table, and says which others it is never used without.
 */
#ifndef HEED_CPU_FEATURES_H
#define HEED_CPU_FEATURES_H

#include <stdbool.h>

#include "../internal.h"

typedef struct heed_cpu_feature {
    const char *name; /* in heed_options.cpu, wisdom and listings */
    unsigned bit;     /* 0: needs nothing, which is portable C */
    unsigned implies; /* bits of rows ahead of this one; not in use without them */
    bool (*detect)(void);
} heed_cpu_feature;

/* The features that kernels have been written for. Ends with a row whose name is NULL. All
 * functions take a table of this form. */
extern const heed_cpu_feature heed_cpu_features[];

/* heed_cpu_detect() returns the features that the CPU has, with all that they imply. */
unsigned heed_cpu_detect(const heed_cpu_feature *table);

/* heed_cpu_allowed() sets *@allowed to the feature @name and all that it implies: the most that may
 * be used where a user names it. Returns false if there is none of that name. */
bool heed_cpu_allowed(const heed_cpu_feature *table, const char *name, unsigned *allowed);

/* heed_cpu_print() writes @features as one word: the names of those that no other one implies,
 * joined by "+", such as "avx512bf16". */
void heed_cpu_print(const heed_cpu_feature *table, unsigned features,
                    char text[HEED_FEATURES_SIZE]);

#endif /* HEED_CPU_FEATURES_H */
