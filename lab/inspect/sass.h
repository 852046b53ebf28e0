/*
 * sass.h - instruction counts of a kernel's machine code, in total and by loop
 *
 * Reads the output of a disassembler, nvdisasm -c or cuobjdump -sass. Instructions are counted
 * statically, each once, regardless of predicates and of how often it is executed.
 *
 * Loops are natural loops: a branch back to an instruction that dominates it. So a wait that the
 * compiler moved past the end of the kernel belongs to the loop that waits, and the branch back
 * from it is not a separate loop. Main loops are chosen by their work: asynchronous tensor
 * instructions of a warpgroup or block, each of which does the work of dozens of a warp's, if any
 * loop has some, else tensor instructions of a warp, else floating-point arithmetic, else memory
 * accesses. A loop is a main loop if it has, without its inner loops, at least an eighth of the
 * work of the busiest loop, and contains no main loop. There may be several: with and without a
 * mask, or one for each kind of warp. Producers are loops that start asynchronous copies and
 * neither contain a main loop nor lie inside one.
 *
 * Limitations: fully unrolled code has no loop; a function called from both inside and outside a
 * loop counts as outside; targets of a branch through a register are known only if the disassembler
 * lists them (lab_sass.indirect).
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

/* Groups of classes. */
typedef enum lab_sass_group {
    LAB_SASS_GROUP_TENSOR,       /* products on tensor cores */
    LAB_SASS_GROUP_TENSOR_ASYNC, /* those of a warpgroup or a block */
    LAB_SASS_GROUP_SHARED,       /* all accesses to shared memory except barriers */
    LAB_SASS_GROUP_SHARED_LOAD,  /* into registers */
    LAB_SASS_GROUP_SHARED_STORE, /* from registers */
    LAB_SASS_GROUP_ASYNC,        /* copies that a thread starts and does not wait for */
    LAB_SASS_GROUP_LOCAL,
    LAB_SASS_GROUP_GLOBAL_LOAD, /* into registers, of any width */
    LAB_SASS_GROUP_GLOBAL_STORE,
    LAB_SASS_GROUP_BARRIER,
    LAB_SASS_GROUP_ARITHMETIC, /* floating point, except on tensor cores */
    LAB_SASS_GROUP_MEMORY      /* accesses of all kinds except constants */
} lab_sass_group;

int64_t lab_sass_sum(const lab_sass_counts *counts, lab_sass_group group);

typedef enum lab_sass_role {
    LAB_SASS_PLAIN,
    LAB_SASS_MAIN,
    LAB_SASS_PRODUCER,
    LAB_SASS_WAIT /* only tests a barrier */
} lab_sass_role;

/* lab_sass_role_name() returns "", "main", "producer" or "wait". */
const char *lab_sass_role_name(lab_sass_role role);

typedef struct lab_sass_loop {
    int64_t first; /* address of its header in the kernel's code, bytes */
    int64_t last;  /* address of the last branch back to it */
    int depth;     /* 1: outermost */
    int parent;    /* index of the loop around it; -1: none */
    lab_sass_role role;
    lab_sass_counts counts; /* including inner loops */
} lab_sass_loop;

/* Threads of a block along x, y and z. */
typedef struct lab_sass_shape {
    int x, y, z;
} lab_sass_shape;

/* Accesses to shared memory whose addresses are a known function of the lane. */
typedef struct lab_sass_banks {
    int known;       /* accesses with known conflicts */
    int unknown;     /* and with unknown ones */
    int ways;        /* of the worst access: 1 is conflict-free; 0: none known */
    int64_t address; /* address of the worst access */
    bool in_loop;    /* it is in a loop */
    int conflicting; /* accesses of two ways or more */
    bool shapeless; /* some are unknown because blocks have more than one row of threads, of unknown
                       shape */
    char instruction[64];
} lab_sass_banks;

/* Uncoalesced loads from global memory: nearly each lane reads from a different line of 128 bytes.
 * Found like bank conflicts, from addresses that are a known function of the lane. */
typedef struct lab_sass_rows {
    int known;       /* loads that could be judged */
    int apart;       /* that touch many more lines than needed */
    int lines;       /* touched by the worst */
    int least;       /* needed by the worst */
    int64_t address; /* address of the worst */
    bool in_loop;
    char instruction[64];
} lab_sass_rows;

/* Loops that at most one thread of each warp reaches, because of a branch on its index. */
typedef struct lab_sass_single {
    int loops;      /* with floating-point arithmetic or global loads */
    int64_t first;  /* header of the one with most of these */
    int64_t amount; /* number of these instructions */
} lab_sass_single;

typedef struct lab_sass {
    lab_sass_counts all;
    lab_sass_counts main;     /* of all main loops together */
    lab_sass_counts producer; /* of all producers */
    lab_sass_loop *loops;     /* outer ones before those inside them */
    size_t loop_count;
    int main_count;
    int producer_count;
    bool indirect;    /* it has branches to unknown targets in registers */
    bool reads_block; /* it reads the index of its block or cluster */
    lab_sass_banks banks;
    lab_sass_rows rows;
    lab_sass_single single;
} lab_sass;

/* lab_sass_read() finds the kernel @name in @text, which need not be valid, and fills @sass; free
 * it. Bank conflicts assume blocks of @shape, or if that is NULL, blocks with one row of threads if
 * the kernel never reads another coordinate. HEED_ERR_CORRUPT if @text has no such kernel, or one
 * without instructions; HEED_ERR_UNSUPPORTED if it has more than 250,000; HEED_ERR_NO_MEMORY. After
 * a failure @sass is empty. */
heed_status lab_sass_read(lab_sass *sass, const char *text, const char *name,
                          const lab_sass_shape *shape, lab_error *error);
void lab_sass_free(lab_sass *sass);

#endif /* LAB_SASS_H */
