/*
 * sass.h - the instructions of a kernel's machine code, in all and in its loops
 *
 * Reads the text of a disassembler, nvdisasm -c or cuobjdump -sass. Instructions are counted as
 * they stand in the code, each once, whatever its predicate and however often it is executed.
 *
 * Loops are natural loops: a branch back to an instruction that every way to the branch passes. So
 * a wait that the compiler moved behind the end of the kernel belongs to the loop that waits, and
 * its way back is no loop of its own. Of these the main ones are chosen by where the work is: the
 * asynchronous tensor instructions of a warpgroup or a block, each of which does the work of dozens
 * of a warp's, if any loop has some, else a warp's, else arithmetic in floating point, else
 * accesses to memory. A loop is a main loop if it has at least an eighth as much of that work as
 * the loop with the most of it, loops inside not counted, and none inside it is one. There may be
 * several: with and without a mask, or one of each kind of warps. Producers are loops that start
 * asynchronous copies and neither contain a main loop nor lie inside one.
 *
 * Blind spots: code that was unrolled altogether has no loop; a function that is called
 * from inside and from outside a loop counts as outside; the targets of a branch through a register
 * are only known where the disassembler says them (lab_sass.indirect).
 */
#ifndef LAB_SASS_H
#define LAB_SASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum lab_sass_class {
#define LAB_SASS_CLASS(symbol, name, what) symbol,
#include "inspect/sass_classes.def"
#undef LAB_SASS_CLASS
    LAB_SASS_CLASSES
} lab_sass_class;

/* lab_sass_class_name() returns "tensor_warp", "shared_loads", ... */
const char *lab_sass_class_name(lab_sass_class kind);

/* lab_sass_classify() returns the class of @opcode, which ends at the first character that is not
 * part of one. */
lab_sass_class lab_sass_classify(const char *opcode);

typedef struct lab_sass_counts {
    int64_t total;
    int64_t of[LAB_SASS_CLASSES];
} lab_sass_counts;

/* Some classes together. */
typedef enum lab_sass_group {
    LAB_SASS_GROUP_TENSOR,       /* products on tensor cores */
    LAB_SASS_GROUP_TENSOR_ASYNC, /* those that a warpgroup or a block starts */
    LAB_SASS_GROUP_SHARED,       /* all that touches shared memory, but for barriers */
    LAB_SASS_GROUP_SHARED_LOAD,  /* into registers */
    LAB_SASS_GROUP_SHARED_STORE, /* from registers */
    LAB_SASS_GROUP_ASYNC,        /* copies that a thread starts and does not wait for */
    LAB_SASS_GROUP_LOCAL,
    LAB_SASS_GROUP_GLOBAL_LOAD, /* into registers, of any width */
    LAB_SASS_GROUP_GLOBAL_STORE,
    LAB_SASS_GROUP_BARRIER,
    LAB_SASS_GROUP_ARITHMETIC, /* in floating point, but for the tensor cores' */
    LAB_SASS_GROUP_MEMORY      /* accesses of all kinds, but for constants */
} lab_sass_group;

int64_t lab_sass_sum(const lab_sass_counts *counts, lab_sass_group group);

typedef enum lab_sass_role {
    LAB_SASS_PLAIN,
    LAB_SASS_MAIN,
    LAB_SASS_PRODUCER,
    LAB_SASS_WAIT /* does nothing but look whether a barrier has been passed */
} lab_sass_role;

/* lab_sass_role_name() returns "", "main", "producer" or "wait". */
const char *lab_sass_role_name(lab_sass_role role);

typedef struct lab_sass_loop {
    int64_t first; /* address of its head in the kernel's code, bytes */
    int64_t last;  /* of the last branch back to that */
    int depth;     /* 1: in no other loop */
    int parent;    /* index of the loop around it; -1: none */
    lab_sass_role role;
    lab_sass_counts counts; /* loops inside it included */
} lab_sass_loop;

/* Threads of a block along x, y and z. */
typedef struct lab_sass_shape {
    int x, y, z;
} lab_sass_shape;

/* Accesses to shared memory whose addresses are a known function of the lane. */
typedef struct lab_sass_banks {
    int known;       /* accesses whose conflicts could be told */
    int unknown;     /* and whose could not */
    int ways;        /* of the worst: 1 is free of conflicts; 0: none is known */
    int64_t address; /* where that is */
    bool in_loop;    /* it is in a loop */
    int conflicting; /* accesses of two ways or more */
    bool shapeless;  /* some are unknown because threads lie in more than a row, and nobody said how
                      */
    char instruction[64];
} lab_sass_banks;

/* Loads from global memory whose lanes read far apart, each from a line of 128 bytes of its own or
 * nearly: told like banks, from addresses that are a known function of the lane. */
typedef struct lab_sass_rows {
    int known;       /* loads that could be judged */
    int apart;       /* that touch many times the lines that their bytes fill */
    int lines;       /* of the worst */
    int least;       /* that its bytes would fill */
    int64_t address; /* where that is */
    bool in_loop;
    char instruction[64];
} lab_sass_rows;

/* Loops that one thread of each warp at most comes to, because of what a branch asks of its index.
 */
typedef struct lab_sass_single {
    int loops;      /* with arithmetic in floating point or loads from global memory */
    int64_t first;  /* the head of the one with most of that */
    int64_t amount; /* of that, instructions */
} lab_sass_single;

typedef struct lab_sass {
    lab_sass_counts all;
    lab_sass_counts main;     /* of all main loops together */
    lab_sass_counts producer; /* of all producers */
    lab_sass_loop *loops;     /* outer ones before those inside them */
    size_t loop_count;
    int main_count;
    int producer_count;
    bool indirect;    /* it branches through registers to where nobody knows */
    bool reads_block; /* it asks for the index of its block or cluster */
    lab_sass_banks banks;
    lab_sass_rows rows;
    lab_sass_single single;
} lab_sass;

/* lab_sass_read() finds the kernel @name in @text, which may be anything, and fills @sass, to be
 * freed. Bank conflicts are those of blocks of @shape; where that is NULL, of blocks with one row
 * of threads, if the kernel never asks for another coordinate. HEED_ERR_CORRUPT if @text has no
 * such kernel, or one without instructions; HEED_ERR_UNSUPPORTED if it has more than 250,000;
 * HEED_ERR_NO_MEMORY. After a failure @sass is empty. */
heed_status lab_sass_read(lab_sass *sass, const char *text, const char *name,
                          const lab_sass_shape *shape, lab_error *error);
void lab_sass_free(lab_sass *sass);

#endif /* LAB_SASS_H */
