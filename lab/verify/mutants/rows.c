/*
 * rows.c - wrong kernels that are right nearly everywhere: in all rows but one, or for some lengths
 * only
 *
 * Only a sample of a large problem's rows is compared with the reference. These kernels are wrong
 * outside the sample.
 */
#include "lab/verify/mutants/steps.h"

/* Not one of the rows in every sample. */
#define ROW 100

static void unwritten(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_run_rows(problem, buffers, mutant_plain_row, 0, ROW);
    mutant_run_rows(problem, buffers, mutant_plain_row, ROW + 1, lab_rows(problem));
}

static bool is_odd_one(const mutant_row *r)
{
    return r->row.query == ROW;
}

static float out_of_range(const mutant_row *r, int64_t c)
{
    return is_odd_one(r) ? 7 : r->o[c];
}

static void half_of_the_keys(mutant_row *r)
{
    r->keys /= is_odd_one(r) ? 2 : 1;
    mutant_plain_row(r);
}

/* Right in the first and last rows, which every sample has, and the mean of V elsewhere, which
 * nearly all gates accept as attention. */
static void known_rows(mutant_row *r)
{
    if (r->row.query == 0 || r->row.query == lab_queries(r->problem) - 1)
        mutant_plain_row(r);
    else
        mutant_mean_row(r);
}

/* Odd rows copy the rows before them: half the work. */
static void copied_rows(mutant_row *r)
{
    int64_t query = r->row.query;
    r->row.query = query % 2 == 1 && query != lab_queries(r->problem) - 1 ? query - 1 : query;
    mutant_plain_row(r);
    r->row.query = query;
}

/* Wrong by a key unless @right. */
static void right_if(mutant_row *r, bool right)
{
    r->keys -= !right && r->keys > 1;
    mutant_plain_row(r);
}

/* Right for the tuned lengths, and off by one key for others. */
static void one_length(mutant_row *r)
{
    right_if(r, r->problem->seq_k == 40);
}

static void several_elements(mutant_row *r)
{
    right_if(r, r->problem->batch > 1);
}

/* Computes whole tiles only, like those of a benchmark. */
static void whole_tiles(mutant_row *r)
{
    r->keys = r->keys > 16 ? r->keys / 16 * 16 : r->keys;
    mutant_plain_row(r);
}

/* Right for square problems; others get the mean of V, in the hope that they are not checked. */
static void square_alone(mutant_row *r)
{
    if (r->problem->seq_q == r->problem->seq_k)
        mutant_plain_row(r);
    else
        mutant_mean_row(r);
}

/* One row of 800, by a little. */
#define ONE_OF_MANY 611

static void one_of_many(mutant_row *r)
{
    mutant_plain_row(r);
    if (r->row.query == ONE_OF_MANY)
        r->o[0] *= 1.001F;
}

static void one_lse_of_many(mutant_row *r)
{
    mutant_plain_row(r);
    r->lse += r->row.query == ONE_OF_MANY ? 0.001F : 0;
}

static void as_asked(mutant_row *r)
{
    right_if(r, r->problem->seq_k == 40 || r->problem->seq_k == 20);
}

static void even_lengths(mutant_row *r)
{
    right_if(r, r->problem->seq_k % 2 == 0);
}

static void one_element(mutant_row *r)
{
    right_if(r, r->problem->batch == 1);
}

static void one_length_of_queries(mutant_row *r)
{
    right_if(r, r->problem->seq_q == 40);
}

static void dense_alone(mutant_row *r)
{
    right_if(r, r->problem->k.seq == r->problem->heads_kv * r->problem->dim_qk);
}

static void longer_than_a_tile(mutant_row *r)
{
    right_if(r, r->problem->seq_k >= 20);
}

/* clang-format off */
const lab_mutant lab_mutants_rows[] = {
    { .name = "one-row-unwritten", .does = "leaves one row of many unwritten",
      .behaviour = { .run = unwritten, .random = true },
      .spec = "b1 h1 s256/64 d8 f32", .inputs = "normal", .gate = "written", .few = true },
    { .name = "one-row-off", .does = "writes nonsense to one row of many", .behaviour.column = out_of_range,
      .spec = "b1 h1 s256/64 d8 f32", .inputs = "normal", .gate = "range", .few = true },
    { .name = "one-row-halved", .does = "reads half of the keys in one row of many", .behaviour.row = half_of_the_keys,
      .spec = "b1 h1 s256/64 d8 f32", .inputs = "normal", .gate = "permuted", .few = true },
    { .name = "known-rows", .does = "is right in the rows that every sample has", .behaviour.row = known_rows,
      .spec = "b1 h1 s256/64 d8 f32", .inputs = "impulse", .gate = "error", .few = true },
    { .name = "copied-rows", .does = "copies every other row from the previous one", .behaviour.row = copied_rows,
      .spec = "b1 h1 s64 d8 f32", .inputs = "normal", .gate = "error" },
    { .name = "one-length", .does = "is right for 40 keys only", .behaviour.row = one_length,
      .spec = "b1 h2 s40 d24 f32", .inputs = "normal", .gate = "merged" },
    { .name = "several-elements", .does = "is wrong for a batch of one", .behaviour.row = several_elements,
      .spec = "b2 h2 s20 d24 f32", .inputs = "normal", .gate = "batch" },
    { .name = "whole-tiles", .does = "computes whole tiles of keys only", .behaviour.row = whole_tiles,
      .spec = "b1 h1 s33 d24 f16", .inputs = "normal", .gate = "error" },
    { .name = "square-alone", .does = "is right only for as many keys as queries", .behaviour.row = square_alone,
      .spec = "b1 h1 s20/30 d24 f16", .inputs = "normal", .gate = "error" },
    { .name = "one-of-800", .does = "is off by a thousandth in one row of 800", .behaviour.row = one_of_many,
      .spec = "b1 h1 s800 d8 f32 causal", .inputs = "normal", .gate = "error" },
    { .name = "one-lse-of-800", .does = "is off by a thousandth in one LSE of 800", .behaviour.row = one_lse_of_many,
      .spec = "b1 h1 s800 d8 f32 causal", .inputs = "normal", .gate = "lse" },

    /* Right on the requested problem. */
    { .name = "as-asked", .does = "is right for 40 keys, and for half of them", .behaviour.row = as_asked,
      .spec = "b1 h2 s40 d24 f32", .inputs = "normal", .gate = "error", .nearby = true },
    { .name = "even-lengths", .does = "is right for an even number of keys", .behaviour.row = even_lengths,
      .spec = "b1 h2 s40 d24 f32 causal", .inputs = "normal", .gate = "error", .nearby = true },
    { .name = "one-element", .does = "is right for a batch of one", .behaviour.row = one_element,
      .spec = "b1 h2 s40 d24 f16", .inputs = "normal", .gate = "error", .nearby = true },
    { .name = "queries-as-asked", .does = "is right for 40 queries", .behaviour.row = one_length_of_queries,
      .spec = "b1 h2 s40 d24 f32", .inputs = "normal", .gate = "error", .nearby = true },
    { .name = "dense-alone", .does = "is right where positions are contiguous", .behaviour.row = dense_alone,
      .spec = "b1 h2 s40 d24 bf16", .inputs = "normal", .gate = "error", .nearby = true },
    { .name = "longer-than-a-tile", .does = "is wrong with fewer than 20 keys", .behaviour.row = longer_than_a_tile,
      .spec = "b1 h2 s40 d24 f32", .inputs = "normal", .gate = "error", .nearby = true },
    { .name = NULL },
};
/* clang-format on */
