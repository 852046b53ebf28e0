/*
 * sass_loops.c - the loops of a kernel
 *
 * They are the natural loops of a flow graph (Aho, Lam, Sethi, Ullman, "Compilers", section 9.6):
 * an edge back to a block that dominates its origin, and all blocks that reach the origin without
 * passing the head. Dominators are found as in Cooper, Harvey, Kennedy, "A Simple, Fast Dominance
 * Algorithm" (2001).
 */
#include <string.h>

#include "base/array.h"
#include "inspect/sass_parts.h"

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

bool sass_loops_find(flow_maker *maker)
{
    find_dominators(maker);
    if (!find_loops(maker))
        return false;
    place_functions(maker);
    find_depths(maker->flow);
    return true;
}
