/*
 * stage.c - the tensors of one execution, laid out to reveal forbidden accesses
 */
#include "lab/verify/stage/stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/append.h"
#include "lab/verify/operands.h"
#include "lab/verify/reference/reference.h"

/* Bytes around each head vector that are painted in a sparse tensor. */
#define MARGIN 64

/* ---------------------------------------------------------------------------------------------- */
/* One tensor                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

/* The bytes of the @n-th head vector. */
static lab_stretch vector_range(const lab_block *block, int64_t n)
{
    size_t start = (size_t)(block->region.data - block->region.room) +
                   (size_t)lab_view_vector(&block->view, n) * block->element;
    return (lab_stretch){ start, start + (size_t)block->view.dim * block->element };
}

static unsigned char *vector_data(const lab_block *block, int64_t n)
{
    return block->region.room + vector_range(block, n).start;
}

static bool sparse(const lab_block *block)
{
    size_t used = (size_t)lab_view_vectors(&block->view) * (size_t)block->view.dim * block->element;
    return block->region.size > LAB_SPARSE_BYTES && block->region.size / 8 > used;
}

int64_t lab_block_stretches(const lab_block *block)
{
    return sparse(block) ? lab_view_vectors(&block->view) : 1;
}

lab_stretch lab_block_stretch(const lab_block *block, int64_t n)
{
    if (!sparse(block))
        return (lab_stretch){ 0, block->region.room_size };
    lab_stretch range = vector_range(block, n);
    size_t after = block->region.room_size - range.end;
    return (lab_stretch){ range.start > MARGIN ? range.start - MARGIN : 0,
                          range.end + (after > MARGIN ? MARGIN : after) };
}

void lab_block_set(const lab_block *block, double value)
{
    const lab_view *view = &block->view;
    for (int64_t n = 0; n < lab_view_vectors(view); n++)
        for (int64_t c = 0; c < view->dim; c++)
            lab_data_set(view->kind, block->region.data, lab_view_vector(view, n) + c, value);
}

static void paint_all(const lab_block *block)
{
    for (int64_t n = 0; n < lab_block_stretches(block); n++) {
        lab_stretch range = lab_block_stretch(block, n);
        lab_region_paint(&block->region, range.start, range.end, block->pattern);
    }
}

static void paint_elements(const lab_block *block)
{
    for (int64_t n = 0; n < lab_view_vectors(&block->view); n++) {
        lab_stretch range = vector_range(block, n);
        lab_region_paint(&block->region, range.start, range.end, block->pattern);
    }
}

/* The element size and the alignment are the same for tensors; a workspace is a tensor of bytes. */
static heed_status block_create(lab_block *block, const lab_view *view, size_t element,
                                size_t alignment, lab_edge edge, uint64_t pattern)
{
    size_t size;
    memset(block, 0, sizeof *block);
    if (__builtin_mul_overflow((size_t)lab_view_extent(view), element, &size))
        return HEED_ERR_NO_MEMORY;
    heed_status status = lab_region_create(&block->region, size, alignment, edge);
    if (status != HEED_OK)
        return status;
    block->view = *view;
    block->element = element;
    block->pattern = pattern;
    paint_all(block);
    return HEED_OK;
}

/* A tensor of one head vector: LSE and workspace. */
static lab_view flat_view(heed_type type, int64_t count)
{
    return (lab_view){ .type = type, .batch = 1, .seq = 1, .heads = 1, .dim = count };
}

/* The start of a part of a tensor. */
typedef struct part {
    int64_t batch, seq, dim;
} part;

/* Copies @count elements; bits that do not start at a word boundary are shifted. */
static void copy_elements(const lab_block *to, int64_t target, const lab_block *from,
                          int64_t source, int64_t first)
{
    unsigned char *data = to->region.data + (size_t)target * to->element;
    if (to->view.kind != HEED_DATA_BITS) {
        source += first;
        memcpy(data, from->region.data + (size_t)source * from->element,
               (size_t)to->view.dim * to->element);
        return;
    }
    for (int64_t i = 0; i < to->view.dim * 32; i++)
        if (first + i < from->view.dim * 32)
            lab_data_set(HEED_DATA_BITS, data, i,
                         lab_data_get(HEED_DATA_BITS, from->region.data, source * 32 + first + i));
}

/* Fills the head vectors of @to with those of @from from @at on. */
static void copy_vectors(const lab_block *to, const lab_block *from, part at)
{
    for (int64_t b = 0; b < to->view.batch; b++)
        for (int64_t h = 0; h < to->view.heads; h++)
            for (int64_t s = 0; s < to->view.seq; s++) {
                int64_t batch = from->view.batch > 1 ? b + at.batch : 0;
                copy_elements(to, lab_view_at(&to->view, b, s, h), from,
                              lab_view_at(&from->view, batch, s + at.seq, h), at.dim);
            }
}

/* ---------------------------------------------------------------------------------------------- */
/* Values                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

/* The system overcommits memory, and kills a process that uses too much. Returns true if the
 * elements of all tensors, which are all touched, fit in the memory of this machine. */
static bool is_affordable(const heed_problem *problem)
{
    double host = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE), bytes = 0;
    for (int role = LAB_Q; role <= LAB_O; role++) {
        lab_view view = lab_view_of(problem, (lab_role)role);
        bytes += (double)lab_view_vectors(&view) * (double)view.dim * (double)view.element;
    }
    return bytes <= host;
}

static void clear(lab_block *block)
{
    for (int64_t n = 0; n < lab_view_vectors(&block->view); n++)
        memset(vector_data(block, n), 0, (size_t)block->view.dim * block->view.element);
}

/* The page table does not depend on the values, as it determines their places. Pages that it does
 * not name keep the pattern of gaps, which is NaN. */
static void make_table(lab_values *values)
{
    const void *table = values->block[LAB_TABLE].region.data;
    if (!values->block[LAB_TABLE].region.map)
        return;
    lab_operand_fill(&values->problem, LAB_TABLE, values->block[LAB_TABLE].region.data, 0);
    lab_view_bind(&values->block[LAB_K].view, &values->problem, table);
    lab_view_bind(&values->block[LAB_V].view, &values->problem, table);
}

heed_status lab_values_create(lab_values *values, const heed_problem *problem)
{
    memset(values, 0, sizeof *values);
    if (!is_affordable(problem))
        return HEED_ERR_NO_MEMORY;
    values->problem = *problem;
    for (int role = LAB_Q; role < LAB_INPUTS; role++) {
        lab_block *block = &values->block[role];
        lab_view view = lab_view_of(problem, (lab_role)role);
        if (view.kind == HEED_DATA_NONE)
            continue;
        heed_status status = block_create(block, &view, view.element, view.element, LAB_EDGE_END,
                                          LAB_PATTERN_ONES);
        if (status != HEED_OK) {
            lab_values_destroy(values);
            return status;
        }
    }
    make_table(values);
    for (int role = LAB_Q; role < LAB_INPUTS; role++)
        if (role != LAB_TABLE && values->block[role].region.map)
            clear(&values->block[role]);
    return HEED_OK;
}

/* Makes starts relative to @key. */
static void shift_keys(const lab_block *block, int64_t key)
{
    for (int64_t n = 0; n < lab_view_vectors(&block->view); n++) {
        int64_t at = lab_view_vector(&block->view, n);
        double number = lab_data_get(HEED_DATA_I32, block->region.data, at);
        lab_data_set(HEED_DATA_I32, block->region.data, at, number - (double)key);
    }
}

/* The first row of packed sequence @batch; 0 where none are packed. */
static int64_t first_row(const lab_values *values, lab_role role, int64_t batch)
{
    const lab_block *cu = &values->block[role];
    return cu->region.map ? (int64_t)lab_data_get(cu->view.kind, cu->region.data, batch) : 0;
}

lab_lengths lab_values_lengths(const lab_values *values, int64_t batch)
{
    const heed_problem *p = &values->problem;
    lab_lengths lengths = { p->seq_q, p->seq_k };
    if (p->tokens_q > 0)
        lengths.queries = first_row(values, LAB_CU_Q, batch + 1) -
                          first_row(values, LAB_CU_Q, batch);
    if (p->tokens_k > 0)
        lengths.keys = first_row(values, LAB_CU_K, batch + 1) - first_row(values, LAB_CU_K, batch);
    return lengths;
}

/* Clips lengths to the keys from @key to @key + @keys. */
static void cut_lengths(const lab_block *block, int64_t key, int64_t keys)
{
    for (int64_t n = 0; n < lab_view_vectors(&block->view); n++) {
        int64_t at = lab_view_vector(&block->view, n);
        double length = lab_data_get(HEED_DATA_I32, block->region.data, at) - (double)key;
        lab_data_set(HEED_DATA_I32, block->region.data, at, fmin(fmax(length, 0), (double)keys));
    }
}

/* The start of batch element or sequence @batch in the tensor @role, from key @key on. */
static part part_of(const lab_values *values, const lab_values *whole, lab_role role, int64_t batch,
                    int64_t key)
{
    part at = { .batch = batch };
    if (role == LAB_BIAS || role == LAB_SHOWN)
        at.dim = key;
    const bool added = role == LAB_K_NEW || role == LAB_V_NEW;
    if ((role == LAB_Q || (added && whole->problem.append_packed)) && values->problem.tokens_q == 0)
        at.seq = first_row(whole, LAB_CU_Q, batch);
    if (role == LAB_K || role == LAB_V)
        at.seq = key + (values->problem.tokens_k == 0 ? first_row(whole, LAB_CU_K, batch) : 0);
    return at;
}

heed_status lab_values_slice(lab_values *values, const heed_problem *problem,
                             const lab_values *whole, int64_t batch, int64_t key)
{
    heed_status status = lab_values_create(values, problem);
    if (status != HEED_OK)
        return status;
    for (int role = LAB_Q; role < LAB_INPUTS; role++) {
        const lab_block *to = &values->block[role], *from = &whole->block[role];
        if (to->region.map && role != LAB_TABLE)
            copy_vectors(to, from, part_of(values, whole, (lab_role)role, batch, key));
    }
    shift_keys(&values->block[LAB_STARTS], key);
    cut_lengths(&values->block[LAB_LENGTHS], key, problem->seq_k);
    return HEED_OK;
}

void lab_values_take(lab_values *values, const lab_values *from, lab_role role)
{
    copy_vectors(&values->block[role], &from->block[role], (part){ 0 });
}

/* Copies the new keys and values from their places in K and V. */
static void derive_blocks(const heed_problem *problem, const heed_buffers *data,
                          const lab_block *blocks)
{
    for (int role = LAB_K_NEW; role <= LAB_V_NEW; role++)
        if (blocks[role].region.map)
            lab_append_derive(problem, data, (lab_role)role, blocks[role].region.data);
}

static void derive_new(lab_values *values)
{
    const heed_buffers data = lab_values_buffers(values);
    derive_blocks(&values->problem, &data, values->block);
    lab_append_return(&values->problem, &data);
}

static void share_keys(lab_values *values)
{
    const lab_block *k = &values->block[LAB_K], *v = &values->block[LAB_V];
    if (!values->problem.shared)
        return;
    for (int64_t b = 0; b < v->view.batch; b++)
        for (int64_t h = 0; h < v->view.heads; h++)
            for (int64_t s = 0; s < v->view.seq; s++)
                copy_elements(v, lab_view_at(&v->view, b, s, h), k, lab_view_at(&k->view, b, s, h),
                              0);
}

void lab_values_share(lab_values *values)
{
    share_keys(values);
    derive_new(values);
}

heed_status lab_values_copy(lab_values *values, const lab_values *whole)
{
    return lab_values_slice(values, &whole->problem, whole, 0, 0);
}

void lab_values_destroy(lab_values *values)
{
    for (int role = LAB_Q; role < LAB_INPUTS; role++)
        lab_region_destroy(&values->block[role].region);
    memset(values, 0, sizeof *values);
}

void *lab_values_data(const lab_values *values, lab_role role)
{
    return values->block[role].region.data;
}

heed_buffers lab_values_buffers(const lab_values *values)
{
    heed_buffers buffers = { .size = sizeof buffers };
    for (int role = LAB_Q; role < LAB_INPUTS; role++)
        lab_buffers_set(&buffers, (lab_role)role, lab_values_data(values, (lab_role)role));
    return buffers;
}

/* ---------------------------------------------------------------------------------------------- */
/* Tensors                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

uint32_t lab_poison(uint64_t seed, int sign, bool lse, heed_type type, int64_t index)
{
    uint32_t random = (uint32_t)lab_random_bits(lse ? ~seed : seed, (uint64_t)index);
    return lab_type_bits(type, sign < 0, random);
}

/* Assumes little-endian numbers, as on all machines that heed runs on. */
static void poison(const lab_stage *stage, const lab_block *block, bool lse)
{
    const lab_view *view = &block->view;
    size_t element = heed_type_size(view->type);
    for (int64_t n = 0; n < lab_view_vectors(view); n++) {
        unsigned char *data = vector_data(block, n);
        for (int64_t c = 0; c < view->dim; c++) {
            uint32_t bits = lab_poison(stage->seed, stage->sign, lse, view->type,
                                       n * view->dim + c);
            memcpy(data + (size_t)c * element, &bits, element);
        }
    }
}

/* The edge of @role if alignments are to differ: those of Q, K, V and O, and of adjacent
 * operands. */
static lab_edge edge_of(lab_edge edge, int role)
{
    int place = role == LAB_O ? LAB_VECTORS : role % (LAB_VECTORS + 1);
    return edge == LAB_EDGE_APART ? (lab_edge)(LAB_EDGE_APART + place) : edge;
}

static heed_status create_inputs(lab_stage *stage, const lab_values *values, lab_edge edge)
{
    for (int role = LAB_Q; role < LAB_INPUTS; role++) {
        const lab_block *source = &values->block[role];
        lab_block *block = &stage->block[role];
        if (!source->region.map || (role == LAB_V && stage->problem.shared))
            continue;
        heed_status status = block_create(block, &source->view, source->element, source->element,
                                          edge_of(edge, role), LAB_PATTERN_ONES);
        if (status != HEED_OK)
            return status;
        copy_vectors(block, source, (part){ 0 });
    }
    return HEED_OK;
}

static heed_status create_outputs(lab_stage *stage, const lab_layout *layout)
{
    const heed_problem *problem = &stage->problem;
    lab_block *o = &stage->block[LAB_O], *lse = &stage->block[LAB_LSE];
    lab_view view = lab_view_of(problem, LAB_O);
    size_t element = heed_type_size(problem->type);
    heed_status status = block_create(o, &view, element, element, edge_of(layout->edge, LAB_O),
                                      lab_random_stream(layout->seed, 2));
    if (status != HEED_OK)
        return status;
    poison(stage, o, false);
    if (!layout->lse)
        return HEED_OK;
    view = flat_view(HEED_F32, lab_rows(problem));
    status = block_create(lse, &view, sizeof(float), sizeof(float), layout->edge,
                          lab_random_stream(layout->seed, 3));
    if (status == HEED_OK)
        poison(stage, lse, true);
    return status;
}

/* Fills the workspace with random bytes in one layout and NaNs in the other. */
static heed_status create_workspace(lab_stage *stage, const lab_layout *layout)
{
    lab_block *block = &stage->block[LAB_WORKSPACE];
    if (layout->workspace == 0)
        return HEED_OK;
    lab_view view = flat_view(HEED_F32, (int64_t)layout->workspace);
    heed_status status = block_create(block, &view, 1, HEED_ALIGNMENT, layout->edge,
                                      lab_random_stream(layout->seed, 4));
    if (status == HEED_OK && layout->sign < 0)
        memset(block->region.data, 0xff, layout->workspace);
    return status;
}

heed_status lab_stage_create(lab_stage *stage, const lab_values *values, const lab_layout *layout)
{
    memset(stage, 0, sizeof *stage);
    stage->problem = values->problem;
    stage->edge = layout->edge;
    stage->seed = layout->seed;
    stage->sign = layout->sign;
    heed_status status = create_inputs(stage, values, layout->edge);
    if (status == HEED_OK) {
        heed_buffers data = lab_stage_buffers(stage);
        lab_append_blank(&stage->problem, &data);
        status = create_outputs(stage, layout);
    }
    if (status == HEED_OK)
        status = create_workspace(stage, layout);
    if (status != HEED_OK)
        lab_stage_destroy(stage);
    return status;
}

void lab_stage_renew(lab_stage *stage, const lab_values *values)
{
    const heed_buffers data = lab_stage_buffers(stage);
    for (int role = LAB_K; role <= LAB_V; role++)
        if (stage->block[role].region.map)
            copy_vectors(&stage->block[role], &values->block[role], (part){ 0 });
    derive_blocks(&stage->problem, &data, stage->block);
    lab_append_blank(&stage->problem, &data);
}

void lab_stage_destroy(lab_stage *stage)
{
    for (int i = 0; i < LAB_BLOCKS; i++)
        lab_region_destroy(&stage->block[i].region);
    memset(stage, 0, sizeof *stage);
}

heed_buffers lab_stage_buffers(const lab_stage *stage)
{
    heed_buffers buffers = {
        .size = sizeof buffers,
        .lse = (float *)(void *)stage->block[LAB_LSE].region.data,
        .workspace = stage->block[LAB_WORKSPACE].region.data,
        .workspace_size = stage->block[LAB_WORKSPACE].region.size,
    };
    for (int role = LAB_Q; role < LAB_ROLES; role++)
        lab_buffers_set(&buffers, (lab_role)role, stage->block[role].region.data);
    if (stage->problem.shared && stage->edge != LAB_EDGE_END) /* passing it is optional */
        buffers.v = buffers.k;
    return buffers;
}

bool lab_stage_writes(const lab_stage *stage, int index)
{
    return index >= LAB_O || (stage->problem.append > 0 && (index == LAB_K || index == LAB_V));
}

bool lab_stage_lock(const lab_stage *stage, bool locked)
{
    bool done = true;
    for (int role = LAB_Q; role < LAB_INPUTS; role++)
        if (!lab_stage_writes(stage, role))
            done = lab_region_lock(&stage->block[role].region, locked) && done;
    return done;
}

void lab_stage_poison(lab_stage *stage, int sign)
{
    stage->sign = sign;
    poison(stage, &stage->block[LAB_O], false);
    if (stage->block[LAB_LSE].region.map)
        poison(stage, &stage->block[LAB_LSE], true);
}

void lab_stage_take(const lab_stage *stage, void *o, float *lse)
{
    const lab_block *source = &stage->block[LAB_O];
    size_t bytes = (size_t)source->view.dim * source->element;
    for (int64_t n = 0; n < lab_view_vectors(&source->view); n++)
        memcpy((unsigned char *)o + (size_t)n * bytes, vector_data(source, n), bytes);
    source = &stage->block[LAB_LSE];
    if (source->region.map && lse)
        memcpy(lse, source->region.data, source->region.size);
}

/* ---------------------------------------------------------------------------------------------- */
/* Checks of the tensors afterwards                                                               */
/* ---------------------------------------------------------------------------------------------- */

bool lab_stage_changed(const lab_stage *stage, const lab_values *values, char *text, size_t size)
{
    for (int role = LAB_Q; role < LAB_INPUTS; role++) {
        const lab_block *block = &stage->block[role], *source = &values->block[role];
        const lab_view *view = &block->view;
        size_t bytes = (size_t)view->dim * block->element;
        for (int64_t n = 0; n < lab_view_vectors(view) && !lab_stage_writes(stage, role); n++) {
            if (memcmp(vector_data(block, n), vector_data(source, n), bytes) == 0)
                continue;
            snprintf(text, size, "%s was written to: batch %lld, head %lld, position %lld",
                     lab_block_name(role), (long long)(n / view->seq / view->heads),
                     (long long)(n / view->seq % view->heads), (long long)(n % view->seq));
            return true;
        }
    }
    return false;
}

static bool block_spoiled(const lab_block *block, const char *name, char *text, size_t size)
{
    paint_elements(block);
    for (int64_t n = 0; n < lab_block_stretches(block); n++) {
        lab_stretch range = lab_block_stretch(block, n);
        size_t place = lab_region_spoiled(&block->region, range.start, range.end, block->pattern);
        if (place == range.end)
            continue;
        long long byte = block->region.room + place - block->region.data;
        long long bytes = (long long)block->region.size;
        if (byte < 0)
            snprintf(text, size, "%s: written %lld byte%s before its start", name, -byte,
                     lab_plural(-byte));
        else if (byte >= bytes)
            snprintf(text, size, "%s: written %lld byte%s past its end", name, byte - bytes,
                     lab_plural(byte - bytes));
        else
            snprintf(text, size, "%s: a gap was written to at byte %lld", name, byte);
        return true;
    }
    return false;
}

bool lab_stage_spoiled(const lab_stage *stage, bool inputs, char *text, size_t size)
{
    for (int i = LAB_Q; i < LAB_BLOCKS; i++) {
        const lab_block *block = &stage->block[i];
        if ((inputs || lab_stage_writes(stage, i)) && block->region.map &&
            block_spoiled(block, lab_block_name(i), text, size))
            return true;
    }
    return false;
}
