/*
 * sass_flow.c - the control flow graph of a kernel: basic blocks, edges and loops
 *
 * Loops are the natural loops of the graph (Aho, Lam, Sethi, Ullman, "Compilers", section 9.6): an
 * edge back to a block that dominates its origin, and all blocks that reach the origin without
 * passing the head. Dominators are found as in Cooper, Harvey, Kennedy, "A Simple, Fast Dominance
 * Algorithm" (2001).
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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
    int *order; /* blocks in postorder from the entry and the functions */
    int order_count;
    int *rank;      /* by block: its position in order; -1: unreachable */
    int *dominator; /* by block: its immediate dominator; itself for a root */
    int *stack;
    int *body;     /* blocks of the current loop */
    int *marked;   /* by block: 1 + the last loop that it was marked for */
    bool *is_root; /* by block */
    bool failed;
} flow_maker;

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
/* Dominators                                                                 */
/* -------------------------------------------------------------------------- */

/* Numbers the blocks reachable from @root in postorder. marked[] has the next edge to follow for
 * each block on the stack. */
static void walk(flow_maker *maker, int root)
{
    int top = 0;
    if (maker->rank[root] != -1)
        return;
    maker->stack[top++] = root;
    maker->marked[root] = maker->flow->out[root];
    maker->rank[root] = -2;
    while (top > 0) {
        int block = maker->stack[top - 1], edge = maker->marked[block];
        if (edge < 0) {
            maker->rank[block] = maker->order_count;
            maker->order[maker->order_count++] = block;
            top--;
            continue;
        }
        maker->marked[block] = maker->flow->edges[edge].next_out;
        int to = maker->flow->edges[edge].to;
        if (maker->rank[to] == -1) {
            maker->rank[to] = -2;
            maker->marked[to] = maker->flow->out[to];
            maker->stack[top++] = to;
        }
    }
}

/* The nearest common dominator; -1: none but the entry. */
static int meet(const flow_maker *maker, int a, int b)
{
    while (a != b) {
        int *lower = maker->rank[a] < maker->rank[b] ? &a : &b;
        int up = maker->dominator[*lower];
        if (up == *lower)
            return -1;
        *lower = up;
    }
    return a;
}

static int meet_of_origins(const flow_maker *maker, int block)
{
    int common = -1;
    for (int e = maker->flow->in[block]; e >= 0; e = maker->flow->edges[e].next_in) {
        int from = maker->flow->edges[e].from;
        if (maker->rank[from] < 0 || maker->dominator[from] < 0)
            continue;
        common = common < 0 ? from : meet(maker, common, from);
        if (common < 0)
            return block; /* reached from two roots: treated as one */
    }
    return common;
}

static void find_dominators(flow_maker *maker)
{
    int count = maker->flow->block_count;
    for (int i = 0; i < count; i++)
        maker->rank[i] = maker->dominator[i] = -1;
    /* The entry comes last, so it is first in reverse order. */
    for (int i = count - 1; i >= 0; i--)
        if (maker->is_root[i])
            walk(maker, i);
    for (int i = 0; i < count; i++)
        if (maker->is_root[i])
            maker->dominator[i] = i;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = maker->order_count - 1; i >= 0; i--) {
            int block = maker->order[i];
            if (maker->is_root[block])
                continue;
            int next = meet_of_origins(maker, block);
            changed = changed || next != maker->dominator[block];
            maker->dominator[block] = next;
        }
    }
}

static bool dominates(const flow_maker *maker, int above, int below)
{
    while (below != above && maker->dominator[below] != below && maker->dominator[below] >= 0)
        below = maker->dominator[below];
    return below == above;
}

/* -------------------------------------------------------------------------- */
/* Loops                                                                      */
/* -------------------------------------------------------------------------- */

static bool is_back_edge(const flow_maker *maker, const sass_edge *edge)
{
    return !edge->turn && maker->rank[edge->from] >= 0 && dominates(maker, edge->to, edge->from);
}

/* Writes the blocks of the loop with header @head to body[], and returns their number; 0: not a
 * header. The block of the last back edge goes to *@last. */
static int collect_body(flow_maker *maker, int head, int *last)
{
    int top = 0, count = 0;
    *last = -1;
    for (int e = maker->flow->in[head]; e >= 0; e = maker->flow->edges[e].next_in) {
        int from = maker->flow->edges[e].from;
        if (!is_back_edge(maker, &maker->flow->edges[e]))
            continue;
        *last = from > *last ? from : *last;
        if (maker->marked[from] != head + 1 && from != head) {
            maker->marked[from] = head + 1;
            maker->stack[top++] = from;
        }
    }
    if (*last < 0)
        return 0;
    maker->marked[head] = head + 1;
    maker->body[count++] = head;
    while (top > 0) {
        int block = maker->stack[--top];
        maker->body[count++] = block;
        for (int e = maker->flow->in[block]; e >= 0; e = maker->flow->edges[e].next_in) {
            int from = maker->flow->edges[e].from;
            if (maker->rank[from] >= 0 && maker->marked[from] != head + 1) {
                maker->marked[from] = head + 1;
                maker->stack[top++] = from;
            }
        }
    }
    return count;
}

static bool add_loop(flow_maker *maker, int head, int last)
{
    sass_flow *flow = maker->flow;
    if (!lab_grow(&flow->loops, (size_t)flow->loop_count, sizeof *flow->loops))
        return false;
    const sass_instruction *list = maker->code->list;
    flow->loops[flow->loop_count++] = (lab_sass_loop){
        .first = list[flow->blocks[head].first].address,
        .last = list[flow->blocks[last].last].address,
        .parent = flow->blocks[head].loop
    };
    return true;
}

/* Headers are visited in reverse postorder, outer loops before inner ones, so the last loop to take
 * a block is its innermost. */
static bool find_loops(flow_maker *maker)
{
    memset(maker->marked, 0, (size_t)maker->flow->block_count * sizeof *maker->marked);
    for (int i = maker->order_count - 1; i >= 0; i--) {
        int last, count = collect_body(maker, maker->order[i], &last);
        if (count == 0)
            continue;
        if (!add_loop(maker, maker->order[i], last))
            return false;
        for (int b = 0; b < count; b++)
            maker->flow->blocks[maker->body[b]].loop = maker->flow->loop_count - 1;
    }
    return true;
}

/* -------------------------------------------------------------------------- */
/* Functions                                                                  */
/* -------------------------------------------------------------------------- */

/* The innermost loop around both; -1: none. */
static int loop_around(const sass_flow *flow, int a, int b)
{
    for (; a >= 0; a = flow->loops[a].parent)
        for (int other = b; other >= 0; other = flow->loops[other].parent)
            if (other == a)
                return a;
    return -1;
}

/* Puts a block of a function, and its outermost loop, into the loop @around. */
static void place_block(sass_flow *flow, int block, int around)
{
    int outer = flow->blocks[block].loop;
    if (outer < 0) {
        flow->blocks[block].loop = around;
        return;
    }
    while (flow->loops[outer].parent >= 0)
        outer = flow->loops[outer].parent;
    if (outer > around) /* else it is in it already: the loops of functions come last */
        flow->loops[outer].parent = around;
}

/* Puts functions into the loop around all their calls. A function that only functions call stays
 * outside. body[] has the loop of each root, stack[] the root of each block. */
static void place_functions(flow_maker *maker)
{
    sass_flow *flow = maker->flow;
    int *around = maker->body, *root_of = maker->stack;
    for (int i = 0; i < flow->block_count; i++)
        around[i] = -2;
    for (int i = 0; i < maker->call_count; i++) {
        int *loop = &around[maker->calls[i].to], from = flow->blocks[maker->calls[i].from].loop;
        *loop = *loop == -2 ? from : loop_around(flow, *loop, from);
    }
    for (int i = maker->order_count - 1; i >= 0; i--) {
        int block = maker->order[i], above = maker->dominator[block];
        root_of[block] = above == block ? block : root_of[above];
        if (around[root_of[block]] >= 0)
            place_block(flow, block, around[root_of[block]]);
    }
}

static void find_depths(sass_flow *flow)
{
    for (int i = 0; i < flow->loop_count; i++)
        for (int at = i; at >= 0 && flow->loops[i].depth <= flow->loop_count;
             at = flow->loops[at].parent)
            flow->loops[i].depth++;
}

static bool find_all_loops(flow_maker *maker)
{
    find_dominators(maker);
    if (!find_loops(maker))
        return false;
    place_functions(maker);
    find_depths(maker->flow);
    return true;
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
    done = done && find_all_loops(&maker);
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
