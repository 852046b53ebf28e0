/*
 * sass_parts.h - declarations shared by the files that read machine code
 */
#ifndef LAB_SASS_PARTS_H
#define LAB_SASS_PARTS_H

#include "inspect/sass.h"

#define SASS_INSTRUCTIONS_MAX 250000 /* 4 MB of code */
#define SASS_TARGETS_MAX 64          /* of a branch by a table */

/* ---- sass_text.c: the disassembly, line by line ---- */

typedef struct sass_instruction {
    const char *opcode; /* in the text */
    const char *operands;
    int opcode_length;
    int operand_length; /* without the semicolon */
    int64_t address;
    bool guarded; /* it has a predicate, and so may do nothing */
    bool never;   /* its predicate is false: it only fills a place */
} sass_instruction;

/* A place in the code that has a name. */
typedef struct sass_label {
    const char *name; /* in the text */
    int length;
    int at; /* the instruction that follows */
} sass_label;

typedef struct sass_code {
    sass_instruction *list; /* by address */
    int count;
    sass_label *labels;
    int label_count;
} sass_code;

/* sass_code_read() finds the instructions of the kernel @name. Returns as lab_sass_read() does; in
 * every case @code is to be freed. */
heed_status sass_code_read(sass_code *code, const char *text, const char *name, lab_error *error);
void sass_code_free(sass_code *code);

/* sass_is() says whether the first word of the opcode is @word; sass_has() whether one that follows
 * is. */
bool sass_is(const sass_instruction *instruction, const char *word);
bool sass_has(const sass_instruction *instruction, const char *word);

/* sass_targets() writes the instructions that the operands name, by label or address, to @targets
 * and returns how many there are, at most @max. *@first: nothing but a target is among the
 * operands. */
int sass_targets(const sass_code *code, int at, int *targets, int max, bool *first);

/* ---- sass_flow.c: from where to where ---- */

typedef struct sass_block {
    int first, last; /* instructions */
    int loop;        /* the innermost loop that it is in; -1: none */
} sass_block;

/* An edge, from one block to another, in the list of those that leave the same block and in that of
 * those that reach the same one. */
typedef struct sass_edge {
    int from, to;
    int next_out, next_in; /* -1: the last */
    bool turn; /* back to serve the next value of a register that should have been uniform */
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

/* sass_flow_find() finds blocks and loops; roles and counts of the loops are left empty. In every
 * case @flow is to be freed. HEED_ERR_NO_MEMORY. */
heed_status sass_flow_find(sass_flow *flow, const sass_code *code);
void sass_flow_free(sass_flow *flow);

/* ---- sass_values.c: known values of registers by lane ---- */

#define SASS_LANES 32

/* The values of 32 lanes in a register. */
typedef struct sass_value {
    enum {
        SASS_UNKNOWN,
        SASS_SHIFTED, /* lane[i] and something that all lanes have in common, but nobody knows */
        SASS_EXACT
    } kind;
    int32_t lane[SASS_LANES];
} sass_value;

/* Nothing is known; all lanes have the same; all have zero. */
extern const sass_value sass_unknown, sass_uniform, sass_zero;

/* All lanes have the same; and it is known what. */
bool sass_is_flat(const sass_value *value);
bool sass_is_constant(const sass_value *value);

sass_value sass_constant(int32_t number);
int32_t sass_wrap(int64_t number); /* to 32 bits */
sass_value sass_add(const sass_value *a, const sass_value *b);
sass_value sass_multiply(const sass_value *a, const sass_value *b);
sass_value sass_shift_left(const sass_value *a, const sass_value *by);
sass_value sass_shift_right(const sass_value *a, const sass_value *by, bool is_signed);

/* Bit number 4a + 2b + c of @table is what bits a, b and c become. */
sass_value sass_combine_bits(const sass_value parts[3], unsigned table);

/* sass_merge() makes *@value hold for what comes two ways. Returns whether it changed. */
bool sass_merge(sass_value *value, const sass_value *other);

/* ---- sass_lanes.c: effects of instructions on them ---- */

#define SASS_REGISTERS 255

typedef struct sass_state {
    sass_value registers[SASS_REGISTERS];
} sass_state;

/* sass_lanes_step() does to @state what @instruction does. Where a thread's place in the block is
 * asked for, it is the first warp's in a block of @shape; NULL: it is unknown. */
void sass_lanes_step(sass_state *state, const sass_instruction *instruction,
                     const lab_sass_shape *shape);

/* sass_lanes_address() returns the addresses that the operand in brackets has. */
sass_value sass_lanes_address(const sass_state *state, const sass_instruction *instruction);

/* sass_lanes_compare() returns the lanes for which the comparison @instruction is true, a bit each,
 * and the number of the predicate that it sets; -1 if it sets none, or not one known by lane. */
uint32_t sass_lanes_compare(const sass_state *state, const sass_instruction *instruction,
                            int *predicate);

/* ---- sass_banks.c: conflicts of shared memory ---- */

/* sass_banks_judge() judges all accesses whose addresses are known by lane, in blocks of @shape or,
 * where that is NULL, of one row, and fills banks, rows and single of @sass. False: no memory. */
bool sass_banks_judge(const sass_code *code, const sass_flow *flow, const lab_sass_shape *shape,
                      lab_sass *sass);

/* ---- sass_rows.c: loads from global memory whose lanes are apart ---- */

void sass_rows_judge(const sass_state *state, const sass_instruction *instruction, bool in_loop,
                     lab_sass_rows *rows);

/* ---- sass_single.c: code that one thread executes alone ---- */

/* sass_single_step() follows, through a block, @predicate (-1: none), which is true for one lane
 * alone, or @others for all but one. */
typedef struct sass_choice {
    int predicate;
    bool others;
} sass_choice;
void sass_single_step(sass_choice *choice, const sass_state *state,
                      const sass_instruction *instruction);

/* sass_single_edge() returns the block that one lane at most goes to from the end of @block, as
 * @choice is then; -1: none. */
int sass_single_edge(const sass_choice *choice, const sass_code *code, const sass_flow *flow,
                     int block);

/* sass_single_find() finds the loops that are reached over edges to @alone alone, which has such a
 * block or -1 by block. False: no memory. */
bool sass_single_find(const sass_code *code, const sass_flow *flow, const int *alone,
                      lab_sass_single *single);

/* A function that kernels call: its first block, and the block that calls it. */
typedef struct flow_call {
    int from, to;
} flow_call;

typedef struct flow_maker {
    const sass_code *code;
    sass_flow *flow;
    int *block_of; /* by instruction */
    flow_call *calls;
    int call_count;
    int *order; /* blocks in postorder of a walk from the beginning and the functions */
    int order_count;
    int *rank;      /* by block: its place in that; -1: out of reach */
    int *dominator; /* by block: the next one that dominates it; itself: it is a root */
    int *stack;
    int *body;     /* blocks of the loop at hand */
    int *marked;   /* by block: 1 + the last loop that it was marked for */
    bool *is_root; /* by block */
    bool failed;
} flow_maker;

/* sass_loops.c: sass_loops_find() finds the loops of a flow that has blocks and edges. False: no
 * memory. */
bool sass_loops_find(flow_maker *maker);

#endif /* LAB_SASS_PARTS_H */
