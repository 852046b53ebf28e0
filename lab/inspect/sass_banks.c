/*
 * sass_banks.c - finds shared memory bank conflicts, uncoalesced loads from global memory, and code
 * that only one thread executes
 *
 * Shared memory has 32 banks of 4 bytes. An access takes passes of at most 128 bytes: 32 lanes of
 * up to 4 bytes, 16 of 8, or 8 of 16, like the rows of a matrix; words in the same bank but
 * different rows take a pass each (CUDA C++ Programming Guide, "Shared Memory").
 *
 * A warp's load from global memory moves lines of 128 bytes. If adjacent lanes read adjacent data,
 * lines are fully used; if each lane reads from a different row of a matrix, a line is moved for
 * every lane.
 *
 * "if (threadIdx.x == 0)" is a comparison that is true for one lane, and a branch or exit on it.
 * Code reachable only through such a branch runs in at most one thread of a warp. A comparison is
 * tracked to the end of its block.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/sass_parts.h"

enum {
    BANKS = 32,
    BANK_BYTES = 4,
    PASS_BYTES = BANKS * BANK_BYTES,
    BLOCKS_MAX = 3000 /* each takes 34 KB */
};

/* Writes an instruction as text. */
static void print(const sass_instruction *instruction, char *text, size_t size)
{
    snprintf(text, size, "%.*s %.*s", instruction->opcode_length, instruction->opcode,
             instruction->operand_length, instruction->operands);
    for (size_t end = strlen(text); end > 0 && text[end - 1] == ' ';)
        text[--end] = '\0';
}

/* -------------------------------------------------------------------------- */
/* Bank conflicts                                                             */
/* -------------------------------------------------------------------------- */

/* Bytes per lane; 0: not an access with per-lane addresses. */
static int bytes_of(const sass_instruction *instruction)
{
    lab_sass_class kind = lab_sass_classify(instruction->opcode);
    if (kind == LAB_SASS_SHARED_LOAD_MATRIX || kind == LAB_SASS_SHARED_STORE_MATRIX)
        return 16;
    if (kind != LAB_SASS_SHARED_LOAD && kind != LAB_SASS_SHARED_STORE)
        return 0;
    return sass_has(instruction, "128") ? 16 : sass_has(instruction, "64") ? 8 : BANK_BYTES;
}

/* Lanes that provide addresses: one for each of a matrix's eight rows. */
static int lanes_of(const sass_instruction *instruction)
{
    lab_sass_class kind = lab_sass_classify(instruction->opcode);
    if (kind != LAB_SASS_SHARED_LOAD_MATRIX && kind != LAB_SASS_SHARED_STORE_MATRIX)
        return SASS_LANES;
    return sass_has(instruction, "4") ? 32 : sass_has(instruction, "2") ? 16 : 8;
}

/* Passes for @count lanes of @bytes each, which need only one without conflicts. */
static int count_passes(const int32_t *address, int count, int bytes)
{
    int64_t words[BANKS][PASS_BYTES / BANK_BYTES];
    int used[BANKS] = { 0 }, most = 1;
    for (int i = 0; i < count; i++)
        for (int byte = 0; byte < bytes; byte += BANK_BYTES) {
            uint32_t word = (uint32_t)(address[i] + byte) / BANK_BYTES;
            uint32_t bank = word % BANKS;
            int k = 0;
            while (k < used[bank] && words[bank][k] != word)
                k++;
            words[bank][k] = word;
            used[bank] += k == used[bank];
            most = used[bank] > most ? used[bank] : most;
        }
    return most;
}

/* Uses addresses relative to the lowest one, so none is negative: a common offset shifts all banks
 * alike. */
static int ways_of(const sass_value *value, int lanes, int bytes)
{
    int32_t least = value->lane[0], address[SASS_LANES];
    int ways = 1, together = PASS_BYTES / bytes;
    for (int i = 1; i < lanes; i++)
        least = value->lane[i] < least ? value->lane[i] : least;
    for (int i = 0; i < lanes; i++)
        address[i] = (int32_t)((uint32_t)value->lane[i] - (uint32_t)least);
    for (int i = 0; i < lanes; i += together) {
        int passes = count_passes(address + i, together < lanes - i ? together : lanes - i, bytes);
        ways = passes > ways ? passes : ways;
    }
    return ways;
}

static void judge_banks(const sass_state *state, const sass_instruction *instruction, bool in_loop,
                        lab_sass_banks *banks)
{
    int bytes = bytes_of(instruction);
    if (bytes == 0 || instruction->never)
        return;
    const sass_value address = sass_lanes_address(state, instruction);
    /* An access by some lanes has fewer conflicts than one by all. */
    if (address.kind == SASS_UNKNOWN || instruction->guarded) {
        banks->unknown++;
        return;
    }
    int ways = ways_of(&address, lanes_of(instruction), bytes);
    banks->known++;
    banks->conflicting += ways > 1;
    if (ways < banks->ways || (ways == banks->ways && (banks->in_loop || !in_loop)))
        return;
    banks->ways = ways;
    banks->address = instruction->address;
    banks->in_loop = in_loop;
    print(instruction, banks->instruction, sizeof banks->instruction);
}

/* -------------------------------------------------------------------------- */
/* Uncoalesced loads                                                          */
/* -------------------------------------------------------------------------- */

enum {
    LINE_BYTES = 128,
    LINES_MANY = 16, /* of 32 lanes */
    TIMES_MANY = 4   /* times the lines needed */
};

/* Bytes that a lane loads; 0: not a load from global memory. */
static int loaded_bytes(const sass_instruction *instruction)
{
    static const struct {
        lab_sass_class kind;
        int bytes;
    } loads[] = { { LAB_SASS_GLOBAL_LOAD_8, 1 },
                  { LAB_SASS_GLOBAL_LOAD_16, 2 },
                  { LAB_SASS_GLOBAL_LOAD_32, 4 },
                  { LAB_SASS_GLOBAL_LOAD_64, 8 },
                  { LAB_SASS_GLOBAL_LOAD_128, 16 } };
    lab_sass_class kind = lab_sass_classify(instruction->opcode);
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (loads[i].kind == kind)
            return loads[i].bytes;
    return 0;
}

/* Lines that the lanes read from, if the lowest address begins one. */
static int count_lines(const sass_value *address)
{
    int64_t least = address->lane[0], seen[SASS_LANES] = { 0 };
    int count = 0;
    for (int i = 1; i < SASS_LANES; i++)
        least = address->lane[i] < least ? address->lane[i] : least;
    for (int i = 0; i < SASS_LANES; i++) {
        int64_t line = (address->lane[i] - least) / LINE_BYTES;
        int k = 0;
        while (k < count && seen[k] != line)
            k++;
        seen[k] = line;
        count += k == count;
    }
    return count;
}

static void judge_rows(const sass_state *state, const sass_instruction *instruction, bool in_loop,
                       lab_sass_rows *rows)
{
    int bytes = loaded_bytes(instruction);
    if (bytes == 0 || instruction->never || instruction->guarded)
        return;
    const sass_value address = sass_lanes_address(state, instruction);
    if (address.kind == SASS_UNKNOWN)
        return;
    int lines = count_lines(&address);
    int least = (SASS_LANES * bytes + LINE_BYTES - 1) / LINE_BYTES;
    bool apart = lines >= LINES_MANY && lines >= TIMES_MANY * least;
    rows->known++;
    rows->apart += apart;
    if (!apart || lines < rows->lines || (lines == rows->lines && (rows->in_loop || !in_loop)))
        return;
    rows->lines = lines;
    rows->least = least;
    rows->address = instruction->address;
    rows->in_loop = in_loop;
    print(instruction, rows->instruction, sizeof rows->instruction);
}

/* -------------------------------------------------------------------------- */
/* Code that only one thread executes                                         */
/* -------------------------------------------------------------------------- */

/* A predicate, tracked through a block, that is true for only one lane, or, if others, for all but
 * one; -1: none. */
typedef struct sass_choice {
    int predicate;
    bool others;
} sass_choice;

static void follow_choice(sass_choice *choice, const sass_state *state,
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

/* The successor of @block that at most one lane takes, given @choice at its end; -1: none. */
static int edge_of_one(const sass_choice *choice, const sass_code *code, const sass_flow *flow,
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

/* Finds the loops that are reached only through edges to the blocks in @alone, which has such a
 * successor or -1 for each block. False: no memory. */
static bool find_single(const sass_code *code, const sass_flow *flow, const int *alone,
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

/* -------------------------------------------------------------------------- */
/* The state at the beginning of each block                                   */
/* -------------------------------------------------------------------------- */

typedef struct bank_walk {
    const sass_code *code;
    const sass_flow *flow;
    sass_state *at; /* by block, at its beginning */
    bool *reached;  /* by block */
    bool *waiting;  /* by block: in the worklist */
    int *list;
    const lab_sass_shape *shape; /* of blocks; NULL: unknown */
} bank_walk;

/* Merges @state, from the end of a block, into the beginning of @block. Returns true if that
 * changed it. */
static bool carry(bank_walk *walk, const sass_state *state, int block)
{
    bool news = false;
    if (!walk->reached[block]) {
        walk->at[block] = *state;
        walk->reached[block] = true;
        return true;
    }
    for (int i = 0; i < SASS_REGISTERS; i++)
        news = sass_merge(&walk->at[block].registers[i], &state->registers[i]) || news;
    return news;
}

/* Runs every block to a fixed point: values only ever become less known. */
static void spread(bank_walk *walk, sass_state *state)
{
    int count = 1, next = 0, blocks = walk->flow->block_count;
    walk->reached[0] = true; /* with all registers unknown */
    while (count > 0) {
        int block = walk->list[next];
        next = (next + 1) % blocks;
        count--;
        walk->waiting[block] = false;
        *state = walk->at[block];
        for (int i = walk->flow->blocks[block].first; i <= walk->flow->blocks[block].last; i++)
            sass_lanes_step(state, &walk->code->list[i], walk->shape);
        for (int e = walk->flow->out[block]; e >= 0; e = walk->flow->edges[e].next_out) {
            int to = walk->flow->edges[e].to;
            if (!carry(walk, state, to) || walk->waiting[to])
                continue;
            walk->waiting[to] = true;
            walk->list[(next + count++) % blocks] = to;
        }
    }
}

/* @alone gets, by block, the successor that at most one lane takes, or -1. */
static void judge_all(const bank_walk *walk, sass_state *state, int *alone, lab_sass *sass)
{
    for (int b = 0; b < walk->flow->block_count; b++) {
        const sass_block *block = &walk->flow->blocks[b];
        sass_choice choice = { .predicate = -1 };
        alone[b] = -1;
        if (!walk->reached[b])
            continue;
        *state = walk->at[b];
        for (int i = block->first; i <= block->last; i++) {
            const sass_instruction *instruction = &walk->code->list[i];
            judge_banks(state, instruction, block->loop >= 0, &sass->banks);
            judge_rows(state, instruction, block->loop >= 0, &sass->rows);
            follow_choice(&choice, state, instruction);
            sass_lanes_step(state, instruction, walk->shape);
        }
        alone[b] = edge_of_one(&choice, walk->code, walk->flow, b);
    }
}

/* False if threads may have two dimensions, so that lane i is not thread (i, 0). */
static bool is_flat(const sass_code *code)
{
    for (int i = 0; i < code->count; i++) {
        const size_t length = (size_t)code->list[i].operand_length;
        if (memmem(code->list[i].operands, length, "SR_TID.Y", 8) ||
            memmem(code->list[i].operands, length, "SR_TID.Z", 8))
            return false;
    }
    return true;
}

bool sass_banks_judge(const sass_code *code, const sass_flow *flow, const lab_sass_shape *shape,
                      lab_sass *sass)
{
    static const lab_sass_shape row = { SASS_LANES, 1, 1 };
    size_t count = (size_t)flow->block_count;
    sass->banks = (lab_sass_banks){ .ways = 0 };
    sass->rows = (lab_sass_rows){ .known = 0 };
    sass->single = (lab_sass_single){ .loops = 0 };
    if (flow->block_count > BLOCKS_MAX)
        return true;
    bank_walk walk = { .code = code,
                       .flow = flow,
                       .at = calloc(count, sizeof *walk.at),
                       .reached = calloc(count, sizeof *walk.reached),
                       .waiting = calloc(count, sizeof *walk.waiting),
                       .list = calloc(count, sizeof *walk.list),
                       .shape = shape           ? shape
                                : is_flat(code) ? &row
                                                : NULL };
    sass_state *state = malloc(sizeof *state);
    int *alone = calloc(count, sizeof *alone);
    bool done = walk.at && walk.reached && walk.waiting && walk.list && state && alone;
    if (done) {
        spread(&walk, state);
        judge_all(&walk, state, alone, sass);
        sass->banks.shapeless = !walk.shape && sass->banks.unknown > 0;
        done = find_single(code, flow, alone, &sass->single);
    }
    free(alone);
    free(walk.at);
    free(walk.reached);
    free(walk.waiting);
    free(walk.list);
    free(state);
    return done;
}
