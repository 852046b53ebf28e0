/*
 * emulated.h - a kernel on the emulator as a subject of verification
 *
 * Beside the gates' own verdicts, a race in shared memory, a stray access or a read of what was
 * never written fails a run.
 */
#ifndef EMULATED_H
#define EMULATED_H

#include "emulator/emulator.h"
#include "emulator/kernels/kernel.h"
#include "lab/verify/verify.h"

/* A kernel, how many blocks share the keys, and the results of its runs. */
typedef struct emulated {
    const emulated_config *config;
    unsigned splits;
    bool spread;   /* by shares of equal size: not each item has so many */
    bool changes;  /* it is compiled with the steps (score.h) of the problems that it gets; false:
                      without any, and refuses problems that have some */
    int64_t ahead; /* keys that lengths count and that are not there */
    heed_problem problem;
    unsigned runs;
    uint64_t conflicts; /* of all runs */
    uint64_t passes;
    uint64_t listed;    /* tiles on the lists that it was given, */
    uint64_t all_tiles; /* and how many there were in all */
    bool stopped;       /* by the emulator */
    char worst[EMULATOR_TEXT_SIZE];
} emulated;

/* emulated_subject() returns @it, whose members before its problem are set, as a subject. It is
 * launched on an imaginary device, with what its splits leave merged both ways, by the last block
 * and by a second kernel, which must agree. */
lab_subject emulated_subject(emulated *it);

/* emulated_splits() returns how many blocks share @keys keys, where a test asks for @splits: one,
 * if the kernel merges none, and more, if a block cannot have so many keys. */
unsigned emulated_splits(const emulated_kernel *kernel, unsigned splits, int64_t keys);

/* emulated_needs() fills in what any kernel here needs: no workspace; and that nobody knows how
 * long it takes. */
void emulated_needs(lab_needs *needs);

#endif /* EMULATED_H */
