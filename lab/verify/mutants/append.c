/*
 * append.c - wrong kernels: appending new keys and values to the cache
 */
#include "lab/verify/mutants/steps.h"

/* Attention to the keys in place, with rotated queries. */
static void attend(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_rest rest;
    mutant_turn(&rest, problem, buffers);
    mutant_plain(&rest.problem, &rest.buffers);
    free(rest.queries);
}

static void nothing_written(const heed_problem *problem, const heed_buffers *buffers)
{
    attend(problem, buffers);
}

/* The kernel works on copies of K and V: the result is right, but the cache is not. */
static void written_aside(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_buffers own = *buffers;
    void *copies[LAB_VECTORS] = { NULL };
    for (int role = LAB_K; role <= LAB_V; role++) {
        lab_view view = lab_view_of(problem, (lab_role)role);
        copies[role] = malloc(lab_view_bytes(&view));
        if (!copies[role])
            continue;
        memcpy(copies[role], lab_buffers_get(buffers, (lab_role)role), lab_view_bytes(&view));
        lab_buffers_set(&own, (lab_role)role, copies[role]);
    }
    lab_append_complete(problem, &own);
    attend(problem, &own);
    free(copies[LAB_K]);
    free(copies[LAB_V]);
}

/* Appends as if all batch elements were @more keys longer. */
static void append_elsewhere(const heed_problem *problem, const heed_buffers *buffers, int32_t more)
{
    const lab_view view = lab_view_of(problem, LAB_LENGTHS);
    heed_buffers other = *buffers;
    int32_t *lengths = malloc(lab_view_bytes(&view));
    if (!lengths)
        return;
    memcpy(lengths, buffers->lengths, lab_view_bytes(&view));
    for (int64_t b = 0; b < view.batch; b++) {
        int32_t *length = &lengths[lab_view_at(&view, b, 0, 0)];
        if (*length + more >= problem->append && *length + more <= problem->seq_k)
            *length += more;
    }
    other.lengths = lengths;
    lab_append_complete(problem, &other);
    free(lengths);
}

static void row_early(const heed_problem *problem, const heed_buffers *buffers)
{
    append_elsewhere(problem, buffers, -1);
    attend(problem, buffers);
}

/* Right, but also writes the row after the new ones. */
static void row_more(const heed_problem *problem, const heed_buffers *buffers)
{
    append_elsewhere(problem, buffers, 1);
    lab_append_complete(problem, buffers);
    attend(problem, buffers);
}

/* The last new key is left out: its slot keeps its old contents. */
static void stale_row(const heed_problem *problem, const heed_buffers *buffers)
{
    const size_t bytes = (size_t)problem->dim_qk * heed_type_size(problem->type);
    unsigned char kept[HEED_DIM_MAX * sizeof(float)];
    lab_view k = lab_view_of(problem, LAB_K);
    lab_view_bind(&k, problem, buffers->table);
    const int64_t last = lab_append_first(problem, buffers, 0) + problem->append - 1;
    unsigned char *slot;
    memcpy(&slot, &buffers->k, sizeof slot);
    slot += (size_t)lab_view_at(&k, 0, last, 0) * k.element;
    memcpy(kept, slot, bytes);
    lab_append_complete(problem, buffers);
    memcpy(slot, kept, bytes);
    attend(problem, buffers);
}

/* Takes each packed new key from the next row. */
static void rows_of_next(const heed_problem *problem, const heed_buffers *buffers)
{
    const lab_view view = lab_view_of(problem, LAB_K_NEW);
    heed_buffers other = *buffers;
    void *keys = malloc(lab_view_bytes(&view));
    if (!keys)
        return;
    for (int64_t n = 0; n < lab_view_vectors(&view); n++) {
        const int64_t from = lab_view_at(&view, 0, (n % view.seq + 1) % view.seq, n / view.seq);
        memcpy((char *)keys + (size_t)lab_view_vector(&view, n) * view.element,
               (const char *)buffers->k_new + (size_t)from * view.element,
               (size_t)view.dim * view.element);
    }
    other.k_new = keys;
    lab_append_complete(problem, &other);
    attend(problem, buffers);
    free(keys);
}

/* Angles of the position @later after the right one, wrapping at the end. */
static heed_buffers turned_by(const heed_problem *problem, const heed_buffers *buffers,
                              int64_t later, void *copies[2])
{
    const int64_t pairs = problem->rotary / 2, count = problem->seq_k * pairs;
    const lab_role roles[2] = { LAB_COS, LAB_SIN };
    heed_buffers other = *buffers;
    for (int i = 0; i < 2; i++) {
        const lab_view view = lab_view_of(problem, roles[i]);
        const void *from = lab_buffers_get(buffers, roles[i]);
        copies[i] = malloc(lab_view_bytes(&view));
        for (int64_t at = 0; at < count && copies[i]; at++)
            lab_data_set(view.kind, copies[i], at,
                         lab_data_get(view.kind, from, (at + later * pairs) % count));
        if (copies[i])
            lab_buffers_set(&other, roles[i], copies[i]);
    }
    return other;
}

static void keys_turned_late(const heed_problem *problem, const heed_buffers *buffers)
{
    void *copies[2];
    const heed_buffers late = turned_by(problem, buffers, 1, copies);
    lab_append_complete(problem, &late);
    attend(problem, buffers);
    free(copies[0]);
    free(copies[1]);
}

static void queries_turned_late(const heed_problem *problem, const heed_buffers *buffers)
{
    void *copies[2];
    const heed_buffers late = turned_by(problem, buffers, 1, copies);
    lab_append_complete(problem, buffers);
    attend(problem, &late);
    free(copies[0]);
    free(copies[1]);
}

static void queries_not_turned(const heed_problem *problem, const heed_buffers *buffers)
{
    const heed_problem rest = lab_append_rest(problem);
    lab_append_complete(problem, buffers);
    mutant_plain(&rest, buffers);
}

/* Rotates as if each packed sequence had as many queries as the longest one. */
static void queries_turned_padded(const heed_problem *problem, const heed_buffers *buffers)
{
    const lab_view view = lab_view_of(problem, LAB_LENGTHS);
    heed_buffers other = *buffers;
    mutant_rest rest;
    int32_t *lengths = malloc(lab_view_bytes(&view));
    if (!lengths)
        return;
    memcpy(lengths, buffers->lengths, lab_view_bytes(&view));
    for (int64_t b = 0; b < view.batch; b++)
        lengths[lab_view_at(&view, b, 0, 0)] +=
            (int32_t)(lab_data_get(problem->cu_seqlens_q.type, buffers->cu_seqlens_q, b + 1) -
                      lab_data_get(problem->cu_seqlens_q.type, buffers->cu_seqlens_q, b) -
                      (double)problem->seq_q);
    other.lengths = lengths;
    lab_append_complete(problem, buffers);
    mutant_turn(&rest, problem, &other);
    rest.buffers.lengths = buffers->lengths;
    mutant_plain(&rest.problem, &rest.buffers);
    free(rest.queries);
    free(lengths);
}

/* Halves instead of adjacent pairs, or vice versa. */
static void other_pairs(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem other = *problem;
    other.interleaved = !problem->interleaved;
    lab_append_complete(&other, buffers);
    attend(&other, buffers);
}

static void turned_backwards(const heed_problem *problem, const heed_buffers *buffers)
{
    const lab_view view = lab_view_of(problem, LAB_SIN);
    heed_buffers other = *buffers;
    void *sines = malloc(lab_view_bytes(&view));
    for (int64_t i = 0; i < view.dim && sines; i++)
        lab_data_set(view.kind, sines, i, -lab_data_get(view.kind, buffers->rotary_sin, i));
    other.rotary_sin = sines ? sines : buffers->rotary_sin;
    lab_append_complete(problem, &other);
    attend(problem, &other);
    free(sines);
}

#define SPEC "b3 h4/2 s3/40 d16 f32 lengths causal=br append=3"
#define PAGED "b3 h2 s4/40 d8 f16 lengths causal=br append=4 paged=8/20"

/* clang-format off */
const lab_mutant lab_mutants_append[] = {
    { .name = "appends-nothing", .does = "leaves the cache as it is", .behaviour = { .run = nothing_written, .appends = true },
      .spec = SPEC, .inputs = "normal", .gate = "finite" },
    { .name = "appends-aside", .does = "attends to new keys without writing them to the cache", .behaviour = { .run = written_aside, .appends = true },
      .spec = PAGED, .inputs = "normal", .gate = "appended" },
    { .name = "appends-early", .does = "writes new keys a row early", .behaviour = { .run = row_early, .appends = true },
      .spec = PAGED, .inputs = "normal", .gate = "appended" },
    { .name = "appends-more", .does = "writes to the row after new keys", .behaviour = { .run = row_more, .appends = true },
      .spec = SPEC, .inputs = "normal", .gate = "appended" },
    { .name = "stale-row", .does = "leaves the last new key of a head out", .behaviour = { .run = stale_row, .appends = true },
      .spec = SPEC, .inputs = "normal", .gate = "appended" },
    { .name = "rows-of-next", .does = "takes each packed new key from the next row", .behaviour = { .run = rows_of_next, .appends = true },
      .spec = "b3 h4/2 s9/40 d16 f16 varlen=17/0 lengths causal=br append=9:packed", .inputs = "normal", .gate = "appended" },
    { .name = "keys-turned-late", .does = "rotates new keys by the next position", .behaviour = { .run = keys_turned_late, .appends = true },
      .spec = PAGED " rotary=8", .inputs = "normal", .gate = "appended" },
    { .name = "queries-turned-late", .does = "rotates queries by the next position", .behaviour = { .run = queries_turned_late, .appends = true },
      .spec = SPEC " rotary=16:interleaved", .inputs = "normal", .gate = "error" },
    { .name = "queries-not-turned", .does = "rotates new keys only", .behaviour = { .run = queries_not_turned, .appends = true },
      .spec = SPEC " rotary=16", .inputs = "normal", .gate = "error" },
    { .name = "queries-turned-padded", .does = "rotates packed queries as if all sequences had equally many", .behaviour = { .run = queries_turned_padded, .appends = true },
      .spec = "b3 h4/2 s9/40 d16 f32 varlen=17/0 lengths causal=br append=3 rotary=16", .inputs = "normal", .gate = "error" },
    { .name = "other-pairs", .does = "rotates halves instead of adjacent pairs", .behaviour = { .run = other_pairs, .appends = true },
      .spec = SPEC " rotary=16:interleaved", .inputs = "normal", .gate = "appended" },
    { .name = "turned-backwards", .does = "rotates by the negative angle, which does not change products of new queries and new keys",
      .behaviour = { .run = turned_backwards, .appends = true },
      .spec = "b2 h2 s4 d8 f32 lengths causal=br append=4 rotary=8", .inputs = "normal", .gate = "appended" },
    { .name = NULL },
};
/* clang-format on */
