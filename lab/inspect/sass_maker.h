/*
 * sass_maker.h - what is known while the flow of a kernel is being found
 */
#ifndef LAB_SASS_MAKER_H
#define LAB_SASS_MAKER_H

#include "inspect/sass_parts.h"

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

#endif /* LAB_SASS_MAKER_H */
