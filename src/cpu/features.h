/*
 * features.h - the CPU's instruction set extensions, as a set of features
 *
 * Features are not linearly ordered: AMX does not imply the bfloat16 dot product, nor does that
 * imply AMX. Each is a row of a table, which lists the features that it implies.
 */
#ifndef HEED_CPU_FEATURES_H
#define HEED_CPU_FEATURES_H

#include <stdbool.h>

#include "../internal.h"

typedef struct heed_cpu_feature {
    const char *name; /* in heed_options.cpu, wisdom and listings */
    unsigned bit;     /* 0: portable C */
    unsigned implies; /* bits of earlier rows; not used without them */
    bool (*detect)(void);
} heed_cpu_feature;

/* The features that kernels are written for. Ends with a row whose name is NULL. All functions take
 * such a table. */
extern const heed_cpu_feature heed_cpu_features[];

/* heed_cpu_detect() returns the features that the CPU has, with all that they imply. */
unsigned heed_cpu_detect(const heed_cpu_feature *table);

/* heed_cpu_allowed() sets *@allowed to the feature @name and all that it implies: the features that
 * may be used if the user names it. Returns false if there is no such feature. */
bool heed_cpu_allowed(const heed_cpu_feature *table, const char *name, unsigned *allowed);

/* heed_cpu_print() writes @features as one word: the names of those that no other one implies,
 * joined by "+", such as "avx512bf16". */
void heed_cpu_print(const heed_cpu_feature *table, unsigned features,
                    char text[HEED_FEATURES_SIZE]);

#endif /* HEED_CPU_FEATURES_H */
