/*
 * prover.h - the function of a caller that proves kernels for a search, by all gates
 *
 * The caller gives it, as a process that has talked to CUDA can have no children that do: `heed`
 * runs itself for it, and a program without GPUs may call lab_prove().
 */
#ifndef LAB_PROVER_H
#define LAB_PROVER_H

#include <stddef.h>
#include <stdint.h>

typedef enum lab_proven {
    LAB_UNPROVEN = 0, /* not asked, or there was no time */
    LAB_PROVEN,       /* it passed */
    LAB_REFUTED,      /* it did not */
    LAB_UNTOLD        /* the gates could not be asked */
} lab_proven;

#define LAB_PROVER_WHY 100

/* prove() lets @kernel, with its config, through all gates on @count problems, until @until_ns of
 * heed_clock_ns(), 0 for any time. Unless LAB_PROVEN, @why says more, such as "does not pass". */
typedef struct lab_prover {
    void *data;
    lab_proven (*prove)(void *data, const char *kernel, const char *const *specs, size_t count,
                        int64_t until_ns, char why[LAB_PROVER_WHY]);
} lab_prover;

#endif /* LAB_PROVER_H */
