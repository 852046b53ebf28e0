/*
 * sass_single.c - finds code that only one thread executes
 *
 * "if (threadIdx.x == 0)" is a comparison that is true for one lane, and a branch or exit on it.
 * Code reachable only through such a branch runs in at most one thread of a warp. A comparison is
 * tracked to the end of its block.
 */
#include <stdlib.h>

#include "inspect/sass_parts.h"

void sass_single_step(sass_choice *choice, const sass_state *state,
                      const sass_instruction *instruction)
{
    int predicate;
    uint32_t lanes = sass_lanes_compare(state, instruction, &predicate);
    int count = __builtin_popcount(lanes);
    if (predicate >= 0 && (count == 1 || count == SASS_LANES - 1))
        *choice = (sass_choice){ predicate, count > 1 };
    else if (choice->predicate >= 0 && instruction->operand_length > 1 &&
             instruction->operands[0] == 'P' && instruction->operands[1] == '0' + choice->predicate)
        choice->predicate = -1; /* it is overwritten */
}

/* "@P0" or "@!P0" before the opcode: the number, and whether it is negated; -1: none. */
static int guard_of(const sass_instruction *instruction, bool *turned)
{
    const char *at = instruction->opcode;
    while (at[-1] == ' ')
        at--;
    *turned = at[-3] == '!';
    return at[-2] == 'P' && at[-1] >= '0' && at[-1] <= '9' && (at[-3] == '@' || *turned)
               ? at[-1] - '0'
               : -1;
}

int sass_single_edge(const sass_choice *choice, const sass_code *code, const sass_flow *flow,
                     int block)
{
    const sass_instruction *end = &code->list[flow->blocks[block].last];
    bool turned, exits = sass_is(end, "EXIT");
    if (choice->predicate < 0 || !end->guarded || (!exits && !sass_is(end, "BRA")) ||
        guard_of(end, &turned) != choice->predicate)
        return -1;
    bool others_go = choice->others != turned; /* the lanes that pass the guard */
    if (others_go)
        return block + 1 < flow->block_count ? block + 1 : -1;
    for (int e = flow->out[block]; e >= 0 && !exits; e = flow->edges[e].next_out)
        if (flow->edges[e].to != block + 1)
            return flow->edges[e].to;
    return -1;
}

/* Marks the blocks reachable from the entry without the edges to @alone. */
static void reach(const sass_flow *flow, const int *alone, bool *reached, int *list)
{
    int count = 1;
    list[0] = 0;
    reached[0] = true;
    while (count > 0) {
        int block = list[--count];
        for (int e = flow->out[block]; e >= 0; e = flow->edges[e].next_out) {
            int to = flow->edges[e].to;
            if ((alone && alone[block] == to) || reached[to])
                continue;
            reached[to] = true;
            list[count++] = to;
        }
    }
}

/* Work that many threads could share. Copies and waits are properly done by one thread. */
static int64_t work_of(const lab_sass_loop *loop)
{
    if (loop->role == LAB_SASS_PRODUCER || loop->role == LAB_SASS_WAIT)
        return 0;
    return lab_sass_sum(&loop->counts, LAB_SASS_GROUP_ARITHMETIC) +
           lab_sass_sum(&loop->counts, LAB_SASS_GROUP_GLOBAL_LOAD);
}

bool sass_single_find(const sass_code *code, const sass_flow *flow, const int *alone,
                      lab_sass_single *single)
{
    size_t count = (size_t)flow->block_count;
    bool *many = calloc(count, sizeof *many), *any = calloc(count, sizeof *any);
    int *list = calloc(count, sizeof *list);
    bool done = many && any && list;
    *single = (lab_sass_single){ .loops = 0 };
    if (done) {
        reach(flow, alone, many, list);
        reach(flow, NULL, any, list);
    }
    for (int b = 0; done && b < flow->block_count; b++)
        for (int l = 0; any[b] && !many[b] && l < flow->loop_count; l++) {
            int64_t work = work_of(&flow->loops[l]);
            if (flow->loops[l].first != code->list[flow->blocks[b].first].address || work == 0)
                continue;
            single->loops++;
            if (work > single->amount)
                *single = (lab_sass_single){ single->loops, flow->loops[l].first, work };
        }
    free(many);
    free(any);
    free(list);
    return done;
}
