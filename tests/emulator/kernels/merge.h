/*
 * merge.h - merge.cu compiled for the emulator, once for each type
 */
#ifndef EMULATOR_MERGE_H
#define EMULATOR_MERGE_H

typedef struct emulated_merge {
    const char *name;               /* its parameters, for messages */
    void (*wide)(const void *args); /* these take a heed_cuda_merge_args */
    void (*any)(const void *args);
} emulated_merge;

/* By heed_type. */
extern const emulated_merge *const emulated_merges[3];

#endif /* EMULATOR_MERGE_H */
