/*
 * prefix.c - wrong kernels: shared prefixes, and their merge with the other keys
 */
#include "lab/verify/mutants/steps.h"

/* Adds @by to the logits of the prefix. */
static float weigh_prefix(const mutant_row *r, int64_t j)
{
    return r->first + j < r->problem->prefix ? r->s[j] + r->by : r->s[j];
}

/* The mean of both results, ignoring their weights; the LSE is right. */
static void merged_alike(mutant_row *r)
{
    const int64_t prefix = r->problem->prefix, dim = r->problem->dim_v;
    mutant_row part[2];
    mutant_plain_row(r);
    const float lse = r->lse;
    mutant_part(r, &part[0], 0, prefix);
    mutant_part(r, &part[1], prefix, r->keys);
    for (int64_t c = 0; c < dim; c++)
        r->o[c] = (part[0].o[c] + part[1].o[c]) / 2;
    r->lse = lse;
}

/* Each batch element has separate keys there. */
static void own_keys(heed_problem *problem)
{
    problem->prefix = 0;
}

/* Lengths are taken as those after the prefix, which then counts twice. */
static void lengths_from_prefix(const heed_problem *problem, const heed_buffers *buffers)
{
    const lab_view view = lab_view_of(problem, LAB_LENGTHS);
    heed_buffers other = *buffers;
    int32_t *lengths = malloc(lab_view_bytes(&view));
    if (!lengths)
        return;
    for (int64_t b = 0; b < view.batch; b++) {
        const int64_t at = lab_view_at(&view, b, 0, 0);
        const int64_t more = ((const int32_t *)buffers->lengths)[at] + problem->prefix;
        lengths[at] = (int32_t)(more < problem->seq_k ? more : problem->seq_k);
    }
    other.lengths = lengths;
    mutant_plain(problem, &other);
    free(lengths);
}

/* Right with a prefix; without one the last batch element's keys are those of the first. */
static void first_for_last(mutant_row *r)
{
    if (r->problem->prefix == 0 && r->kv_batch == r->problem->batch - 1)
        r->kv_batch = 0;
    mutant_plain_row(r);
}

#define SPEC "b3 h4/2 s3/40 d16 f32 causal=br prefix=16"
#define PACKED "b3 h4/2 s9/40 d16 f32 varlen=17/0 prefix=16"
#define PAGED "b3 h4/2 s2/40 d8 f16 lengths causal=br prefix=16 paged=8/11"

/* clang-format off */
const lab_mutant lab_mutants_prefix[] = {
    { .name = "prefix-twice", .does = "counts the prefix twice", .behaviour = { .logit = weigh_prefix, .by = 0.69314718F },
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "prefix-dropped", .does = "leaves the prefix out", .behaviour = { .logit = weigh_prefix, .by = -INFINITY },
      .spec = PAGED, .inputs = "normal", .gate = "error" },
    { .name = "prefix-merged-alike", .does = "merges the two parts without weights", .behaviour = { .row = merged_alike },
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "prefix-own", .does = "reads a separate prefix of each batch element", .behaviour = { .misread = own_keys },
      .spec = SPEC, .inputs = "normal", .gate = "finite" },
    { .name = "prefix-lengths", .does = "takes lengths as those after the prefix", .behaviour = { .run = lengths_from_prefix },
      .spec = PAGED, .inputs = "normal", .gate = "error" },
    { .name = "right-with-prefix", .does = "uses the first batch element's keys for the last one, except with a prefix",
      .behaviour = { .row = first_for_last }, .spec = PACKED, .inputs = "normal", .gate = "prefixed" },
    { .name = NULL },
};
/* clang-format on */
