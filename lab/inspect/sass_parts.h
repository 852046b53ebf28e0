/*
 * sass_parts.h - declarations shared by the files that read machine code
 */
#ifndef LAB_SASS_PARTS_H
#define LAB_SASS_PARTS_H

#include "inspect/sass.h"

#define SASS_INSTRUCTIONS_MAX 250000 /* 4 MB of code */
#define SASS_TARGETS_MAX 64          /* of a branch through a table */

/* ---- sass_text.c: the disassembly, line by line ---- */

typedef struct sass_instruction {
    const char *opcode; /* in the text */
    const char *operands;
    int opcode_length;
    int operand_length; /* without the semicolon */
    int64_t address;
    bool guarded; /* it has a predicate */
    bool never;   /* its predicate is always false: padding */
} sass_instruction;

/* A label in the code. */
typedef struct sass_label {
    const char *name; /* in the text */
    int length;
    int at; /* index of the next instruction */
} sass_label;

typedef struct sass_code {
    sass_instruction *list; /* by address */
    int count;
    sass_label *labels;
    int label_count;
} sass_code;

/* sass_code_read() finds the instructions of the kernel @name. Returns as lab_sass_read() does;
 * free @code in any case. */
heed_status sass_code_read(sass_code *code, const char *text, const char *name, lab_error *error);
void sass_code_free(sass_code *code);

/* sass_is() returns true if the first word of the opcode is @word; sass_has() if a later one is. */
bool sass_is(const sass_instruction *instruction, const char *word);
bool sass_has(const sass_instruction *instruction, const char *word);

/* sass_targets() writes the instructions that the operands name, by label or address, to @targets
 * and returns their number, at most @max. *@first is true if the operands are only a target. */
int sass_targets(const sass_code *code, int at, int *targets, int max, bool *first);

/* ---- sass_flow.c: control flow ---- */

typedef struct sass_block {
    int first, last; /* instructions */
    int loop;        /* innermost loop around it; -1: none */
} sass_block;

/* An edge between blocks, linked in the lists of edges from its source and to its target. */
typedef struct sass_edge {
    int from, to;
    int next_out, next_in; /* -1: the last */
    bool turn; /* back edge of a loop over the distinct values of a register that should be uniform
                */
} sass_edge;

typedef struct sass_flow {
    sass_block *blocks;
    int block_count;
    sass_edge *edges;
    int edge_count;
    int *out, *in;        /* by block: its first edge; -1: none */
    lab_sass_loop *loops; /* outer ones before those inside them */
    int loop_count;
    bool indirect;
} sass_flow;

/* sass_flow_find() finds blocks and loops; it does not set roles and counts of loops. Free @flow in
 * any case. HEED_ERR_NO_MEMORY. */
heed_status sass_flow_find(sass_flow *flow, const sass_code *code);
void sass_flow_free(sass_flow *flow);

/* ---- sass_lanes.c: known values of registers by lane, and effects of instructions on them ---- */

#define SASS_LANES 32

/* The values of 32 lanes in a register. */
typedef struct sass_value {
    enum {
        SASS_UNKNOWN,
        SASS_SHIFTED, /* lane[i] plus an unknown value common to all lanes */
        SASS_EXACT
    } kind;
    int32_t lane[SASS_LANES];
} sass_value;

/* sass_merge() weakens *@value to cover both paths of a join. Returns true if it changed. */
bool sass_merge(sass_value *value, const sass_value *other);

#define SASS_REGISTERS 255

typedef struct sass_state {
    sass_value registers[SASS_REGISTERS];
} sass_state;

/* sass_lanes_step() applies @instruction to @state. Thread indices are those of the first warp in a
 * block of @shape; NULL: unknown. */
void sass_lanes_step(sass_state *state, const sass_instruction *instruction,
                     const lab_sass_shape *shape);

/* sass_lanes_address() returns the addresses in the bracketed operand. */
sass_value sass_lanes_address(const sass_state *state, const sass_instruction *instruction);

/* sass_lanes_compare() returns a bit mask of the lanes for which the comparison @instruction is
 * true, and the number of the predicate that it sets; -1 if it sets none, or the lanes are unknown.
 */
uint32_t sass_lanes_compare(const sass_state *state, const sass_instruction *instruction,
                            int *predicate);

/* ---- sass_banks.c: conflicts of shared memory, uncoalesced loads from global memory ---- */

/* sass_banks_judge() judges all accesses whose addresses are known by lane, for blocks of @shape
 * or, if NULL, of one row, and fills banks, rows and single of @sass. False: no memory. */
bool sass_banks_judge(const sass_code *code, const sass_flow *flow, const lab_sass_shape *shape,
                      lab_sass *sass);

#endif /* LAB_SASS_PARTS_H */
