/*
 * append.h - append.cu compiled for the emulator, once for each set of macros
 */
#ifndef EMULATOR_APPEND_H
#define EMULATOR_APPEND_H

typedef struct emulated_append {
    const char *name; /* its parameters, for messages */
    int type;         /* a heed_type */
    int turns;        /* type of cosines and sines; -1: it reads none */
    int interleaved;
    int varlen;                     /* 1: its queries are packed; 2: and its new keys */
    void (*wide)(const void *args); /* these take a heed_cuda_append_args */
    void (*any)(const void *args);
} emulated_append;

/* Ends with a NULL. */
extern const emulated_append *const emulated_appends[];

#endif /* EMULATOR_APPEND_H */
