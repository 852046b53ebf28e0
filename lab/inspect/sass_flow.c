/*
 * sass_flow.c - the control flow graph of a kernel: basic blocks and edges
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspect/sass_parts.h"

enum {
    BARRIERS = 16 /* convergence barriers B0 to B15 */
};

/* -------------------------------------------------------------------------- */
/* Blocks                                                                     */
/* -------------------------------------------------------------------------- */

static bool is_branch(const sass_instruction *instruction)
{
    return sass_is(instruction, "BRA") || sass_is(instruction, "BRX") ||
           sass_is(instruction, "BRXU") || sass_is(instruction, "JMP") ||
           sass_is(instruction, "JMX") || sass_is(instruction, "JMXU");
}

/* True if it reconverges the threads of a warp at its target. */
static bool is_collective(const sass_instruction *instruction)
{
    return sass_is(instruction, "WARPSYNC") && sass_has(instruction, "COLLECTIVE");
}

static bool ends_thread(const sass_instruction *instruction)
{
    return sass_is(instruction, "EXIT") || sass_is(instruction, "RET") ||
           sass_is(instruction, "KILL");
}

static bool ends_block(const sass_instruction *instruction)
{
    return is_branch(instruction) || is_collective(instruction) || ends_thread(instruction) ||
           sass_is(instruction, "BSYNC") || sass_is(instruction, "CALL");
}

static bool names_a_leader(const sass_instruction *instruction)
{
    return (ends_block(instruction) && !ends_thread(instruction)) || sass_is(instruction, "BSSY");
}

static bool find_blocks(flow_maker *maker)
{
    const sass_code *code = maker->code;
    bool *leads = calloc((size_t)code->count + 1, sizeof *leads), first;
    maker->block_of = calloc((size_t)code->count, sizeof *maker->block_of);
    maker->flow->blocks = calloc((size_t)code->count, sizeof *maker->flow->blocks);
    if (!leads || !maker->block_of || !maker->flow->blocks) {
        free(leads);
        return false;
    }
    leads[0] = true;
    for (int i = 0; i < code->count; i++) {
        int targets[SASS_TARGETS_MAX], count = 0;
        if (names_a_leader(&code->list[i]))
            count = sass_targets(code, i, targets, SASS_TARGETS_MAX, &first);
        for (int t = 0; t < count; t++)
            leads[targets[t]] = true;
        leads[i + 1] = leads[i + 1] || ends_block(&code->list[i]);
    }
    int at = -1;
    for (int i = 0; i < code->count; i++) {
        if (leads[i])
            maker->flow->blocks[++at] = (sass_block){ .first = i, .loop = -1 };
        maker->flow->blocks[at].last = i;
        maker->block_of[i] = at;
    }
    maker->flow->block_count = at + 1;
    free(leads);
    return true;
}

/* -------------------------------------------------------------------------- */
/* Edges                                                                      */
/* -------------------------------------------------------------------------- */

static void add_edge(flow_maker *maker, int from, int to, bool turn)
{
    sass_flow *flow = maker->flow;
    if (!lab_grow(&flow->edges, (size_t)flow->edge_count, sizeof *flow->edges)) {
        maker->failed = true;
        return;
    }
    int at = flow->edge_count++;
    flow->edges[at] = (sass_edge){
        .from = from, .to = to, .next_out = flow->out[from], .next_in = flow->in[to], .turn = turn
    };
    flow->out[from] = at;
    flow->in[to] = at;
}

static void add_call(flow_maker *maker, int from, int to)
{
    if (!lab_grow(&maker->calls, (size_t)maker->call_count, sizeof *maker->calls)) {
        maker->failed = true;
        return;
    }
    maker->calls[maker->call_count++] = (flow_call){ .from = from, .to = to };
    maker->is_root[to] = true;
}

/* The convergence barrier that an instruction names first; -1: none. */
static int barrier_of(const sass_instruction *instruction)
{
    const char *at = instruction->operands;
    if (instruction->operand_length < 2 || at[0] != 'B' || at[1] < '0' || at[1] > '9')
        return -1;
    int number = atoi(at + 1);
    return number < BARRIERS ? number : -1;
}

static void add_edges_of_branch(flow_maker *maker, int block)
{
    const sass_instruction *end = &maker->code->list[maker->flow->blocks[block].last];
    int targets[SASS_TARGETS_MAX];
    bool first, jumps = is_branch(end);
    int count = sass_targets(maker->code, maker->flow->blocks[block].last, targets,
                             SASS_TARGETS_MAX, &first);
    bool turn = sass_is(end, "BRA") && sass_has(end, "ANY");
    for (int t = 0; t < count; t++)
        if (sass_is(end, "CALL"))
            add_call(maker, block, maker->block_of[targets[t]]);
        else
            add_edge(maker, block, maker->block_of[targets[t]], turn);
    if (jumps && count == 0)
        maker->flow->indirect = true;
    bool through = !jumps || end->guarded || (count > 0 && !first && !sass_is(end, "BRX"));
    if (through && block + 1 < maker->flow->block_count)
        add_edge(maker, block, block + 1, false);
}

/* Adds the edges of @block, at whose end the convergence barriers lead to @where. */
static void add_edges(flow_maker *maker, int block, const int where[BARRIERS])
{
    const sass_instruction *end = &maker->code->list[maker->flow->blocks[block].last];
    bool more = block + 1 < maker->flow->block_count;
    if (is_branch(end) || is_collective(end) || sass_is(end, "CALL"))
        add_edges_of_branch(maker, block);
    else if (sass_is(end, "BSYNC")) {
        int barrier = barrier_of(end);
        if (barrier >= 0 && where[barrier] >= 0)
            add_edge(maker, block, where[barrier], false);
        if (more && (end->guarded || barrier < 0 || where[barrier] < 0))
            add_edge(maker, block, block + 1, false);
    } else if (more && (!ends_thread(end) || end->guarded))
        add_edge(maker, block, block + 1, false);
}

/* Tracks the barriers through @block: BSSY sets where threads that wait at one continue. */
static void follow_barriers(const flow_maker *maker, int block, int where[BARRIERS])
{
    const sass_block *range = &maker->flow->blocks[block];
    for (int i = range->first; i <= range->last; i++) {
        int targets[SASS_TARGETS_MAX], barrier;
        bool first;
        if (!sass_is(&maker->code->list[i], "BSSY"))
            continue;
        barrier = barrier_of(&maker->code->list[i]);
        if (barrier >= 0 && sass_targets(maker->code, i, targets, SASS_TARGETS_MAX, &first) > 0)
            where[barrier] = maker->block_of[targets[0]];
    }
}

/* Walks the reachable blocks, each with the barriers of the first path to it. In compiled code all
 * paths have the same ones. */
static bool find_edges(flow_maker *maker)
{
    int count = maker->flow->block_count, top = 0;
    int(*where)[BARRIERS] = malloc((size_t)count * sizeof *where);
    bool *seen = calloc((size_t)count, sizeof *seen);
    if (where && seen) {
        memset(where[0], -1, sizeof where[0]);
        seen[0] = true;
        maker->is_root[0] = true;
        maker->stack[top++] = 0;
    }
    while (top > 0 && !maker->failed) {
        int block = maker->stack[--top], calls = maker->call_count, now[BARRIERS];
        memcpy(now, where[block], sizeof now);
        follow_barriers(maker, block, now);
        add_edges(maker, block, now);
        for (int e = maker->flow->out[block]; e >= 0; e = maker->flow->edges[e].next_out) {
            int to = maker->flow->edges[e].to;
            if (!seen[to]) {
                memcpy(where[to], now, sizeof now);
                maker->stack[top++] = to;
                seen[to] = true;
            }
        }
        for (; calls < maker->call_count; calls++) {
            int to = maker->calls[calls].to;
            if (!seen[to]) {
                memset(where[to], -1, sizeof where[to]);
                maker->stack[top++] = to;
                seen[to] = true;
            }
        }
    }
    bool done = where && seen && !maker->failed;
    free(where);
    free(seen);
    return done;
}

/* -------------------------------------------------------------------------- */
/* The whole                                                                  */
/* -------------------------------------------------------------------------- */

static bool make_lists(flow_maker *maker)
{
    size_t count = (size_t)maker->flow->block_count;
    int **const lists[] = { &maker->flow->out, &maker->flow->in, &maker->order, &maker->rank,
                            &maker->dominator, &maker->stack,    &maker->body,  &maker->marked };
    bool done = true;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        *lists[i] = malloc(count * sizeof **lists[i]);
        done = done && *lists[i];
    }
    maker->is_root = calloc(count, sizeof *maker->is_root);
    if (!done || !maker->is_root)
        return false;
    for (size_t i = 0; i < count; i++)
        maker->flow->out[i] = maker->flow->in[i] = -1;
    return true;
}

heed_status sass_flow_find(sass_flow *flow, const sass_code *code)
{
    *flow = (sass_flow){ .block_count = 0 };
    flow_maker maker = { .code = code, .flow = flow };
    bool done = find_blocks(&maker) && make_lists(&maker) && find_edges(&maker);
    done = done && sass_loops_find(&maker);
    void *const lists[] = { maker.block_of, maker.calls,     maker.order,
                            maker.rank,     maker.dominator, maker.stack,
                            maker.body,     maker.marked,    maker.is_root };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]);
    return done ? HEED_OK : HEED_ERR_NO_MEMORY;
}

void sass_flow_free(sass_flow *flow)
{
    free(flow->blocks);
    free(flow->loops);
    free(flow->edges);
    free(flow->out);
    free(flow->in);
    *flow = (sass_flow){ .block_count = 0 };
}
