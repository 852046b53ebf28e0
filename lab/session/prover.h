/*
 * prover.h - a callback that verifies kernels of a search by all gates
 *
 * The caller provides it because a child of a process that has initialized CUDA cannot use CUDA:
 * `heed` runs itself as a new process, and a program without GPUs may call lab_prove().
 */
#ifndef LAB_PROVER_H
#define LAB_PROVER_H

#include <stddef.h>
#include <stdint.h>

typedef enum lab_proven {
    LAB_UNPROVEN = 0, /* not tried, or there was no time */
    LAB_PROVEN,       /* it passed */
    LAB_REFUTED,      /* it did not */
    LAB_UNTOLD        /* the gates could not be run */
} lab_proven;

#define LAB_PROVER_WHY 100

/* prove() puts @kernel, a name with config, through all gates on @count problems, until @until_ns
 * by heed_clock_ns(), 0 for no limit. Unless LAB_PROVEN, @why has the reason, such as "does not
 * pass". */
typedef struct lab_prover {
    void *data;
    lab_proven (*prove)(void *data, const char *kernel, const char *const *specs, size_t count,
                        int64_t until_ns, char why[LAB_PROVER_WHY]);
} lab_prover;

#endif /* LAB_PROVER_H */
