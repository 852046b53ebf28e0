/*
 * sass.c - instruction counts of a kernel's machine code, in total and by loop
 */
#include "inspect/sass.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/sass_parts.h"

/* -------------------------------------------------------------------------- */
/* Classes                                                                    */
/* -------------------------------------------------------------------------- */

static const char *const classes[LAB_SASS_CLASSES] = {
#define LAB_SASS_CLASS(kind, text, what) [kind] = (text),
#include "inspect/sass_classes.def"
#undef LAB_SASS_CLASS
};

static const struct {
    const char *word;
    const char *also; /* NULL: anything follows */
    lab_sass_class kind;
} opcodes[] = {
#define LAB_SASS_OPCODE(first, second, number) { first, second, number },
#include "inspect/sass_opcodes.def"
#undef LAB_SASS_OPCODE
};

/* Ranges of classes. */
static const struct {
    lab_sass_class first, last;
} groups[] = {
    [LAB_SASS_GROUP_TENSOR] = { LAB_SASS_TENSOR_WARP, LAB_SASS_TENSOR_BLOCK },
    [LAB_SASS_GROUP_TENSOR_ASYNC] = { LAB_SASS_TENSOR_GROUP, LAB_SASS_TENSOR_BLOCK },
    [LAB_SASS_GROUP_SHARED] = { LAB_SASS_TENSOR_GROUP, LAB_SASS_BULK_STORE },
    [LAB_SASS_GROUP_SHARED_LOAD] = { LAB_SASS_SHARED_LOAD, LAB_SASS_SHARED_LOAD_MATRIX },
    [LAB_SASS_GROUP_SHARED_STORE] = { LAB_SASS_SHARED_STORE, LAB_SASS_SHARED_STORE_MATRIX },
    [LAB_SASS_GROUP_ASYNC] = { LAB_SASS_ASYNC_COPY, LAB_SASS_BULK_COPY },
    [LAB_SASS_GROUP_LOCAL] = { LAB_SASS_LOCAL_LOAD, LAB_SASS_LOCAL_STORE },
    [LAB_SASS_GROUP_GLOBAL_LOAD] = { LAB_SASS_GLOBAL_LOAD_8, LAB_SASS_GLOBAL_LOAD_256 },
    [LAB_SASS_GROUP_GLOBAL_STORE] = { LAB_SASS_GLOBAL_STORE_8, LAB_SASS_GLOBAL_STORE_256 },
    [LAB_SASS_GROUP_BARRIER] = { LAB_SASS_BARRIER_BLOCK, LAB_SASS_BARRIER_CLUSTER },
    [LAB_SASS_GROUP_ARITHMETIC] = { LAB_SASS_EXP, LAB_SASS_DOUBLE },
    [LAB_SASS_GROUP_MEMORY] = { LAB_SASS_SHARED_LOAD, LAB_SASS_GENERIC },
};

const char *lab_sass_class_name(lab_sass_class kind)
{
    return kind < LAB_SASS_CLASSES ? classes[kind] : "unknown";
}

const char *lab_sass_role_name(lab_sass_role role)
{
    static const char *const names[] = { [LAB_SASS_PLAIN] = "",
                                         [LAB_SASS_MAIN] = "main",
                                         [LAB_SASS_PRODUCER] = "producer",
                                         [LAB_SASS_WAIT] = "wait" };
    return (size_t)role < sizeof names / sizeof *names ? names[role] : "unknown";
}

static lab_sass_class classify(const sass_instruction *instruction)
{
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes && !instruction->never; i++)
        if (sass_is(instruction, opcodes[i].word) &&
            (!opcodes[i].also || sass_has(instruction, opcodes[i].also)))
            return opcodes[i].kind;
    return LAB_SASS_OTHER;
}

lab_sass_class lab_sass_classify(const char *opcode)
{
    int length = 0;
    while (isalnum((unsigned char)opcode[length]) || opcode[length] == '.' || opcode[length] == '_')
        length++;
    return classify(&(sass_instruction){ .opcode = opcode, .opcode_length = length });
}

int64_t lab_sass_sum(const lab_sass_counts *counts, lab_sass_group group)
{
    int64_t sum = 0;
    for (int kind = (int)groups[group].first; kind <= (int)groups[group].last; kind++)
        sum += counts->of[kind];
    return sum;
}

/* -------------------------------------------------------------------------- */
/* Counts                                                                     */
/* -------------------------------------------------------------------------- */

static void add_counts(lab_sass_counts *sum, const lab_sass_counts *more)
{
    sum->total += more->total;
    for (int i = 0; i < LAB_SASS_CLASSES; i++)
        sum->of[i] += more->of[i];
}

/* Counts the instructions of the code and of each loop; @own has the counts of each loop without
 * its inner loops. */
static void count(lab_sass *sass, const sass_code *code, const sass_flow *flow,
                  lab_sass_counts *own)
{
    for (int b = 0; b < flow->block_count; b++) {
        const sass_block *block = &flow->blocks[b];
        for (int i = block->first; i <= block->last; i++) {
            lab_sass_class kind = classify(&code->list[i]);
            sass->all.total++;
            sass->all.of[kind]++;
            if (block->loop < 0)
                continue;
            own[block->loop].total++;
            own[block->loop].of[kind]++;
        }
    }
    /* Outer loops come first. */
    for (int i = flow->loop_count - 1; i >= 0; i--) {
        add_counts(&flow->loops[i].counts, &own[i]);
        if (flow->loops[i].parent >= 0)
            add_counts(&flow->loops[flow->loops[i].parent].counts, &flow->loops[i].counts);
    }
}

/* True for S2R R0, SR_CTAID.X and similar. */
static bool asks_for_block(const sass_instruction *instruction)
{
    static const char *const names[] = { "SR_CTAID", "SR_CLUSTERID", "SR_VIRTID" };
    if (!sass_is(instruction, "S2R") && !sass_is(instruction, "S2UR") &&
        !sass_is(instruction, "CS2R"))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (memmem(instruction->operands, (size_t)instruction->operand_length, names[i],
                   strlen(names[i])))
            return true;
    return false;
}

/* -------------------------------------------------------------------------- */
/* Roles                                                                      */
/* -------------------------------------------------------------------------- */

enum {
    WORK_SHARE = 8, /* a main loop has at least 1/WORK_SHARE of the work of the busiest loop */
    WAIT_MAX = 12   /* instructions of a pure wait loop */
};

/* Gives the @role to the innermost loops with work of the kind @group. */
static void give_role(const sass_flow *flow, const lab_sass_counts *own, lab_sass_group group,
                      lab_sass_role role)
{
    int64_t most = 0;
    for (int i = 0; i < flow->loop_count; i++) {
        int64_t work = lab_sass_sum(&own[i], group);
        most = work > most && flow->loops[i].role == LAB_SASS_PLAIN ? work : most;
    }
    if (most == 0)
        return;
    for (int i = 0; i < flow->loop_count; i++)
        if (flow->loops[i].role == LAB_SASS_PLAIN &&
            WORK_SHARE * lab_sass_sum(&own[i], group) >= most)
            flow->loops[i].role = role;
    /* Inner loops come last, so only the innermost loop of a nest keeps the role. */
    for (int i = flow->loop_count - 1; i >= 0; i--)
        if (flow->loops[i].role == role)
            for (int at = flow->loops[i].parent; at >= 0; at = flow->loops[at].parent)
                if (flow->loops[at].role == role)
                    flow->loops[at].role = LAB_SASS_PLAIN;
}

/* Loops around a main loop, or inside it, are not producers. */
static bool touches_main(const sass_flow *flow, int loop)
{
    for (int i = 0; i < flow->loop_count; i++) {
        if (flow->loops[i].role != LAB_SASS_MAIN)
            continue;
        for (int at = i; at >= 0; at = flow->loops[at].parent)
            if (at == loop)
                return true;
        for (int at = loop; at >= 0; at = flow->loops[at].parent)
            if (at == i)
                return true;
    }
    return false;
}

/* True if the loop tests a barrier and does no work. */
static bool is_wait(const lab_sass_loop *loop, const lab_sass_counts *own)
{
    return own->total <= WAIT_MAX && own->of[LAB_SASS_BARRIER_MEMORY] > 0 &&
           own->total == loop->counts.total && lab_sass_sum(own, LAB_SASS_GROUP_TENSOR) == 0 &&
           lab_sass_sum(own, LAB_SASS_GROUP_MEMORY) == 0;
}

static void give_roles(const sass_flow *flow, const lab_sass_counts *own)
{
    static const lab_sass_group work[] = { LAB_SASS_GROUP_TENSOR_ASYNC, LAB_SASS_GROUP_TENSOR,
                                           LAB_SASS_GROUP_ARITHMETIC, LAB_SASS_GROUP_MEMORY };
    bool found = false;
    for (int i = 0; i < flow->loop_count; i++)
        if (is_wait(&flow->loops[i], &own[i]))
            flow->loops[i].role = LAB_SASS_WAIT;
    for (size_t kind = 0; kind < sizeof work / sizeof *work && !found; kind++) {
        give_role(flow, own, work[kind], LAB_SASS_MAIN);
        for (int i = 0; i < flow->loop_count; i++)
            found = found || flow->loops[i].role == LAB_SASS_MAIN;
    }
    give_role(flow, own, LAB_SASS_GROUP_ASYNC, LAB_SASS_PRODUCER);
    for (int i = 0; i < flow->loop_count; i++)
        if (flow->loops[i].role == LAB_SASS_PRODUCER && touches_main(flow, i))
            flow->loops[i].role = LAB_SASS_PLAIN;
}

static void sum_roles(lab_sass *sass)
{
    for (size_t i = 0; i < sass->loop_count; i++) {
        const lab_sass_loop *loop = &sass->loops[i];
        if (loop->role == LAB_SASS_MAIN)
            add_counts(&sass->main, &loop->counts);
        if (loop->role == LAB_SASS_PRODUCER)
            add_counts(&sass->producer, &loop->counts);
        sass->main_count += loop->role == LAB_SASS_MAIN;
        sass->producer_count += loop->role == LAB_SASS_PRODUCER;
    }
}

/* -------------------------------------------------------------------------- */
/* The whole                                                                  */
/* -------------------------------------------------------------------------- */

static heed_status judge(lab_sass *sass, const sass_code *code, const lab_sass_shape *shape,
                         sass_flow *flow)
{
    lab_sass_counts *own = calloc((size_t)flow->loop_count + 1, sizeof *own);
    if (!own)
        return HEED_ERR_NO_MEMORY;
    count(sass, code, flow, own);
    give_roles(flow, own);
    free(own);
    for (int i = 0; i < code->count; i++)
        sass->reads_block = sass->reads_block || asks_for_block(&code->list[i]);
    if (!sass_banks_judge(code, flow, shape, sass))
        return HEED_ERR_NO_MEMORY;
    sass->indirect = flow->indirect;
    sass->loops = flow->loops;
    sass->loop_count = (size_t)flow->loop_count;
    flow->loops = NULL;
    sum_roles(sass);
    return HEED_OK;
}

heed_status lab_sass_read(lab_sass *sass, const char *text, const char *name,
                          const lab_sass_shape *shape, lab_error *error)
{
    sass_code code;
    sass_flow flow = { .block_count = 0 };
    *sass = (lab_sass){ .loop_count = 0 };
    heed_status status = sass_code_read(&code, text, name, error);
    if (status == HEED_OK) {
        status = sass_flow_find(&flow, &code);
        if (status == HEED_OK)
            status = judge(sass, &code, shape, &flow);
        if (status != HEED_OK)
            lab_fail(error, status, "%s: no memory for its loops", name);
    }
    sass_flow_free(&flow);
    sass_code_free(&code);
    if (status != HEED_OK)
        lab_sass_free(sass);
    return status;
}

void lab_sass_free(lab_sass *sass)
{
    free(sass->loops);
    *sass = (lab_sass){ .loop_count = 0 };
}
