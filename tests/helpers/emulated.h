/*
 * emulated.h - a kernel on the emulator as a subject of verification
 *
 * In addition to the gates, a race in shared memory, a stray access or a read of uninitialized
 * memory fails a run.
 */
#ifndef EMULATED_H
#define EMULATED_H

#include "emulator/emulator.h"
#include "emulator/kernels/kernel.h"
#include "lab/verify/verify.h"

/* A kernel, the number of blocks that share the keys, and the results of its runs. */
typedef struct emulated {
    const emulated_config *config;
    unsigned splits;
    bool spread;   /* in parts of equal size: items may have fewer */
    bool changes;  /* compiled with the steps (score.h) of its problems; false: compiled without
                    * steps, and refuses problems that have some */
    int64_t ahead; /* keys counted by lengths that do not exist */
    heed_problem problem;
    unsigned runs;
    uint64_t conflicts; /* in all runs */
    uint64_t passes;
    uint64_t listed;    /* tiles on the lists passed to it, */
    uint64_t inner;     /* those of them that only steps hide in part, */
    uint64_t all_tiles; /* and the total number of tiles */
    bool stopped;       /* by the emulator */
    char worst[EMULATOR_TEXT_SIZE];
} emulated;

/* emulated_subject() returns @it, whose members before its problem are set, as a subject. It is
 * launched on an imaginary device, and its splits are merged both ways, by the last block and by a
 * second kernel, which must agree. */
lab_subject emulated_subject(emulated *it);

/* emulated_splits() returns the number of blocks that share @keys keys if a test requests @splits:
 * one if the kernel does not merge, and more if a block cannot have so many keys. */
unsigned emulated_splits(const emulated_kernel *kernel, unsigned splits, int64_t keys);

/* emulated_needs() fills in the needs of any kernel here: no workspace, and unknown duration. */
void emulated_needs(lab_needs *needs);

#endif /* EMULATED_H */
