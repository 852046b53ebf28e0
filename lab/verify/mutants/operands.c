/*
 * operands.c - wrong kernels: windows, chunks, operands, softcap and expressions
 */
#include <stdio.h>

#include "lab/verify/mutants/steps.h"

/* ---------------------------------------------------------------------------------------------- */
/* Windows and chunks                                                                             */
/* ---------------------------------------------------------------------------------------------- */

static void window_less_left(heed_problem *problem)
{
    problem->window.left--;
}

static void window_more_right(heed_problem *problem)
{
    problem->window.right++;
}

/* FlashAttention's window counts the query itself on the left side, heed's does not. */
static void window_with_itself(heed_problem *problem)
{
    problem->window.left++;
}

/* A chunk begins with the last key of the previous one. */
static void chunk_early(mutant_row *r)
{
    bool more = r->first > 0;
    r->first -= more;
    r->keys += more;
    mutant_plain_row(r);
}

/* ---------------------------------------------------------------------------------------------- */
/* Lengths                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

#define LENGTHS_MAX 16
#define PAGES_MAX 256

/* Computes with lengths plus @more, or with those of the previous batch element. */
static void with_lengths(const heed_problem *problem, const heed_buffers *buffers, int32_t more,
                         int64_t before)
{
    lab_view view = lab_view_of(problem, LAB_LENGTHS);
    int32_t lengths[LENGTHS_MAX];
    heed_problem other = *problem;
    heed_buffers with = *buffers;
    other.lengths.strides = (heed_strides){ .batch = 1 };
    for (int64_t b = 0; b < problem->batch && b < LENGTHS_MAX; b++) {
        int64_t at = lab_view_at(&view, b < before ? b : b - before, 0, 0);
        int32_t length = ((const int32_t *)buffers->lengths)[at] + more;
        lengths[b] = length < problem->seq_k ? length : (int32_t)problem->seq_k;
    }
    with.lengths = lengths;
    mutant_run_all(&other, &with, mutant_plain_row);
}

/* Computes with a page table whose entry @n, of @count, is entry @from(n, width); rows have @width
 * entries. */
static void with_table(const heed_problem *problem, const heed_buffers *buffers,
                       int64_t (*from)(int64_t n, int64_t width))
{
    heed_problem other = *problem;
    heed_buffers with = *buffers;
    int32_t table[PAGES_MAX];
    lab_view view = lab_view_of(problem, LAB_TABLE);
    other.table.strides = (heed_strides){ .batch = view.dim };
    for (int64_t n = 0; n < view.batch * view.dim && n < PAGES_MAX; n++) {
        int64_t at = from(n, view.dim);
        at = lab_view_at(&view, at / view.dim, 0, 0) + at % view.dim;
        table[n] = ((const int32_t *)buffers->table)[at];
    }
    with.table = table;
    mutant_run_all(&other, &with, mutant_plain_row);
}

static int64_t second_is_first(int64_t n, int64_t width)
{
    return n % width == 1 ? n - 1 : n;
}

static void page_twice(const heed_problem *problem, const heed_buffers *buffers)
{
    with_table(problem, buffers, second_is_first);
}

static int64_t of_one_before(int64_t n, int64_t width)
{
    return n < width ? n : n - width;
}

static void table_before(const heed_problem *problem, const heed_buffers *buffers)
{
    with_table(problem, buffers, of_one_before);
}

static void length_more(const heed_problem *problem, const heed_buffers *buffers)
{
    with_lengths(problem, buffers, 1, 0);
}

/* Computes with cumulative lengths of @role whose entry @n, below the last one, is @entry(of, n).
 */
static void with_cumulative(const heed_problem *problem, const heed_buffers *buffers, lab_role role,
                            int64_t (*entry)(const int64_t *of, int64_t n))
{
    heed_problem other = *problem;
    heed_buffers with = *buffers;
    lab_view view = lab_view_of(problem, role);
    int64_t of[LENGTHS_MAX + 1], changed[LENGTHS_MAX + 1];
    if (problem->batch > LENGTHS_MAX)
        return;
    for (int64_t n = 0; n <= problem->batch; n++)
        of[n] = (int64_t)lab_data_get(view.kind, lab_buffers_get(buffers, role), n);
    for (int64_t n = 0; n <= problem->batch; n++) {
        changed[n] = n < problem->batch ? entry(of, n) : of[n];
        if (changed[n] > of[problem->batch])
            changed[n] = of[problem->batch];
    }
    heed_operand *cu = role == LAB_CU_Q ? &other.cu_seqlens_q : &other.cu_seqlens_k;
    cu->type = HEED_DATA_I64;
    lab_buffers_set(&with, role, changed);
    mutant_run_all(&other, &with, mutant_plain_row);
}

static int64_t one_later(const int64_t *of, int64_t n)
{
    return n > 0 ? of[n] + 1 : 0;
}

static int64_t of_sequence_before(const int64_t *of, int64_t n)
{
    return n > 1 ? of[n - 1] + of[1] : of[n];
}

static void keys_late(const heed_problem *problem, const heed_buffers *buffers)
{
    with_cumulative(problem, buffers, LAB_CU_K, one_later);
}

static void keys_of_before(const heed_problem *problem, const heed_buffers *buffers)
{
    with_cumulative(problem, buffers, LAB_CU_K, of_sequence_before);
}

static void queries_late(const heed_problem *problem, const heed_buffers *buffers)
{
    with_cumulative(problem, buffers, LAB_CU_Q, one_later);
}

/* Sums in a valid order, but in another order in a batch than alone. */
static void sums_by_batch(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_run_all(problem, buffers, problem->batch > 1 ? mutant_reversed_row : mutant_plain_row);
}

static void length_before(const heed_problem *problem, const heed_buffers *buffers)
{
    with_lengths(problem, buffers, 0, 1);
}

/* ---------------------------------------------------------------------------------------------- */
/* Logits                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

static void uncapped(heed_problem *problem)
{
    problem->softcap = 0;
}

/* As an expression, which comes after the bias. */
static void capped_last(heed_problem *problem)
{
    snprintf(problem->score, sizeof problem->score, "%.9g*tanh(s/%.9g)", (double)problem->softcap,
             (double)problem->softcap);
    problem->softcap = 0;
}

static void bias_of_first_head(heed_problem *problem)
{
    problem->bias.strides.head = 0;
}

static void bias_of_first_query(heed_problem *problem)
{
    problem->bias.strides.seq = 0;
}

/* Adds the bias of a hidden pair to its logit of -infinity. */
static float bias_of_hidden(const mutant_row *r, int64_t j)
{
    const lab_view *bias = &r->logits->view[LAB_BIAS];
    int64_t at = lab_view_pair(bias, r->row.batch, r->row.head, r->row.query, r->first + j);
    double more = mutant_shows(r, j) ? 0 : lab_data_get(bias->kind, r->buffers->bias, at);
    return r->s[j] + (float)more;
}

static float slope_at(const mutant_row *r, int64_t head)
{
    lab_view view = lab_view_of(r->problem, LAB_SLOPES);
    return (float)lab_data_get(view.kind, r->buffers->slopes,
                               lab_view_pair(&view, r->row.batch, head, 0, 0));
}

/* slope * j, as in FlashAttention-2 under a causal mask: the same O, but another LSE. */
static float alibi_of_key(const mutant_row *r, int64_t j)
{
    return r->problem->scale * mutant_dot(r, j) + slope_at(r, r->row.head) * (float)(r->first + j);
}

static float slope_of_next_head(const mutant_row *r, int64_t j)
{
    int64_t distance = lab_position(r->problem, r->row.query) - (r->first + j);
    float slope = slope_at(r, (r->row.head + 1) % r->problem->heads_q);
    return r->problem->scale * mutant_dot(r, j) - slope * fabsf((float)distance);
}

/* Distances as if masks were aligned top left, though they are not. */
static void alibi_other_corner(heed_problem *problem)
{
    problem->align = HEED_ALIGN_TOP_LEFT;
}

static void score_left_out(heed_problem *problem)
{
    problem->score[0] = '\0';
}

static float score_in_half(const mutant_row *r, int64_t j)
{
    return (float)lab_element_round(HEED_F16, (double)r->s[j]);
}

/* ---------------------------------------------------------------------------------------------- */
/* Hidden keys                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

static void mask_left_out(heed_problem *problem)
{
    problem->shown = (heed_operand){ 0 };
}

static void visible_left_out(heed_problem *problem)
{
    problem->visible[0] = '\0';
}

/* Bit 31 of a word is taken as its first key. */
static float reversed_bits(const mutant_row *r, int64_t j)
{
    const lab_view *shown = &r->logits->view[LAB_SHOWN];
    const uint32_t *words = r->buffers->shown;
    int64_t at = lab_view_pair(shown, r->row.batch, r->row.head, r->row.query, r->first + j);
    bool seen = words[at / 32] >> (31 - at % 32) & 1;
    return seen ? r->problem->scale * mutant_dot(r, j) : -INFINITY;
}

/* The key at the start of the row is hidden, too. */
static void starts_late(mutant_row *r)
{
    lab_view view = lab_view_of(r->problem, LAB_STARTS);
    int64_t at = lab_view_pair(&view, r->row.batch, 0, r->row.query, 0);
    int32_t start = ((const int32_t *)r->buffers->starts)[at];
    mutant_logits(r);
    if (start >= r->first && start < r->first + r->keys)
        r->s[start - r->first] = -INFINITY;
    mutant_finish(r);
}

/* Skips 16 keys if the first and the last are hidden. */
static void tile_by_its_ends(mutant_row *r)
{
    const int64_t tile = 16;
    mutant_logits(r);
    for (int64_t first = 0; first + tile <= r->keys; first += tile)
        if (!mutant_shows(r, first) && !mutant_shows(r, first + tile - 1))
            for (int64_t j = first; j < first + tile; j++)
                r->s[j] = -INFINITY;
    mutant_finish(r);
}

/* Values of hidden keys times a weight of 0: NaN if they are NaN. */
static void hidden_values(mutant_row *r)
{
    static const lab_logits nothing;
    float sum = mutant_weights(r);
    r->logits = &nothing;
    mutant_weighted_sum(r, sum);
}

/* ---------------------------------------------------------------------------------------------- */
/* Sinks                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

static void sink_out_of_lse(mutant_row *r)
{
    mutant_plain_row(r);
    float lse = r->lse, sink = mutant_sink(r);
    r->lse = lse > sink ? lse + logf(1 - expf(sink - lse)) : -INFINITY;
}

static void sink_twice(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_high(r);
    float sum = mutant_softmax(r, high), more = mutant_sink_weight(r, high);
    r->lse += logf(1 + more / sum);
    mutant_weighted_sum(r, sum + more);
}

static void sink_left_out(heed_problem *problem)
{
    problem->sinks = (heed_operand){ 0 };
}

/* A row that sees nothing has an LSE of -infinity, sink or not. */
static void sink_of_empty_row(mutant_row *r)
{
    mutant_plain_row(r);
    if (r->keys == 0)
        r->lse = -INFINITY;
}

/* ---------------------------------------------------------------------------------------------- */
/* Equivalent problems                                                                            */
/* ---------------------------------------------------------------------------------------------- */

/* A mask of bytes is read as if its keys were reversed; one of bits is right. */
static float reversed_bytes(const mutant_row *r, int64_t j)
{
    lab_view shown = lab_view_of(r->problem, LAB_SHOWN);
    int64_t at = lab_view_pair(&shown, r->row.batch, r->row.head, r->row.query,
                               lab_keys(r->problem) - 1 - r->first - j);
    if (shown.kind != HEED_DATA_BYTES)
        return r->s[j];
    bool seen = lab_data_get(shown.kind, r->buffers->shown, at) != 0;
    return seen ? r->problem->scale * mutant_dot(r, j) : -INFINITY;
}

/* Without sinks it adds one of 0, as in the softmax that adds 1 to its denominator. */
static void sink_of_none(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_high(r), sum = mutant_softmax(r, high);
    float more = lab_has_sinks(r->problem) ? 0 : expf(-high);
    r->lse += logf(1 + more / sum);
    mutant_weighted_sum(r, sum + more);
}

/* A bias of 0 hides its pair, as if it were a mask. */
static float zero_hides(const mutant_row *r, int64_t j)
{
    lab_view bias = lab_view_of(r->problem, LAB_BIAS);
    int64_t at = lab_view_pair(&bias, r->row.batch, r->row.head, r->row.query, r->first + j);
    bool hides = bias.kind && lab_data_get(bias.kind, r->buffers->bias, at) == 0;
    return hides ? -INFINITY : r->s[j];
}

#define SPEC "b1 h2 s40 d24 f32 "

/* clang-format off */
const lab_mutant lab_mutants_operands[] = {
    { .name = "window-less-left", .does = "has a window that is one key short on the left", .behaviour.misread = window_less_left,
      .spec = SPEC "window=7:3", .inputs = "normal", .gate = "error" },
    { .name = "window-more-right", .does = "has a window that is one key too long on the right", .behaviour.misread = window_more_right,
      .spec = SPEC "window=7:3", .inputs = "normal", .gate = "error" },
    { .name = "window-with-itself", .does = "has a window that is one key too long on the left", .behaviour.misread = window_with_itself,
      .spec = SPEC "window=7: causal", .inputs = "impulse", .gate = "error" },
    { .name = "chunk-early", .does = "has chunks that begin one key early", .behaviour.row = chunk_early,
      .spec = SPEC "chunk=9 causal", .inputs = "normal", .gate = "error" },
    { .name = "softcap-left-out", .does = "leaves the softcap out", .behaviour.misread = uncapped,
      .spec = SPEC "softcap=2", .inputs = "normal", .gate = "error" },
    { .name = "softcap-last", .does = "caps the logits after the bias", .behaviour.misread = capped_last,
      .spec = SPEC "softcap=2 bias=f32", .inputs = "normal", .gate = "error" },
    { .name = "bias-of-first-head", .does = "has the bias of the first head in all", .behaviour.misread = bias_of_first_head,
      .spec = SPEC "bias=f16", .inputs = "normal", .gate = "error" },
    { .name = "bias-of-first-query", .does = "has the bias of the first query in all", .behaviour.misread = bias_of_first_query,
      .spec = SPEC "bias=bf16:hq", .inputs = "normal", .gate = "error" },
    { .name = "bias-of-hidden", .does = "adds the bias of hidden pairs", .behaviour.logit = bias_of_hidden,
      .spec = SPEC "bias=f32 shown=bytes", .inputs = "masked", .gate = "finite" },
    { .name = "alibi-of-key", .does = "uses the slope times the key's index as ALiBi", .behaviour.logit = alibi_of_key,
      .spec = SPEC "alibi causal", .inputs = "normal", .gate = "lse" },
    { .name = "slope-of-next-head", .does = "has the slope of the next head", .behaviour.logit = slope_of_next_head,
      .spec = SPEC "alibi", .inputs = "normal", .gate = "error" },
    { .name = "alibi-other-corner", .does = "counts distances from the top left corner", .behaviour.misread = alibi_other_corner,
      .spec = "b1 h2 s20/40 d24 f32 alibi align=br", .inputs = "normal", .gate = "error" },
    { .name = "score-left-out", .does = "leaves the expression of logits out", .behaviour.misread = score_left_out,
      .spec = SPEC "score=s-0.1*abs(p-k)", .inputs = "normal", .gate = "error" },
    { .name = "score-in-half", .does = "computes the expression in float16", .behaviour.logit = score_in_half,
      .spec = SPEC "score=1.5*s-0.1*abs(p-k)", .inputs = "normal", .gate = "error" },
    { .name = "mask-left-out", .does = "leaves the mask out", .behaviour.misread = mask_left_out,
      .spec = SPEC "shown=bytes:h", .inputs = "normal", .gate = "error" },
    { .name = "visible-left-out", .does = "leaves the expression of hidden keys out", .behaviour.misread = visible_left_out,
      .spec = SPEC "visible=(q+k)%7!=3", .inputs = "normal", .gate = "error" },
    { .name = "tile-by-its-ends", .does = "skips tiles whose first and last key are hidden", .behaviour.row = tile_by_its_ends,
      .spec = SPEC "visible=(q+k)%5!=0", .inputs = "normal", .gate = "error" },
    { .name = "reversed-bits", .does = "reads the bits of a word from the highest on", .behaviour.logit = reversed_bits,
      .spec = SPEC "shown=bits", .inputs = "normal", .gate = "error" },
    { .name = "keys-alike-in-doubt", .does = "returns the mean of V where steps of an expression are in doubt", .behaviour.row = mutant_mean_row,
      .spec = "b1 h2 s64 d32 f32 score=s-floor(float(k)*0.1)", .inputs = "normal", .gate = "error" },
    { .name = "length-more", .does = "sees a key past the end", .behaviour.run = length_more,
      .spec = "b3 h2 s4/40 d8 f32 lengths", .inputs = "normal", .gate = "error" },
    { .name = "length-before", .does = "uses the length of the previous batch element", .behaviour.run = length_before,
      .spec = "b3 h2 s4/40 d8 f32 lengths causal=br", .inputs = "normal", .gate = "error" },
    { .name = "page-twice", .does = "reads the first page twice instead of the second", .behaviour.run = page_twice,
      .spec = "b3 h2 s4/40 d8 f32 paged=8/20", .inputs = "normal", .gate = "error" },
    { .name = "sums-by-batch", .does = "sums in another order where there are more batch elements", .behaviour.run = sums_by_batch,
      .spec = "b3 h2 s4/40 d8 f32 invariant", .inputs = "normal", .gate = "batch" },
    { .name = "keys-late", .does = "begins packed sequences of keys a key late", .behaviour.run = keys_late,
      .spec = "b4 h2 s9/20 d8 f32 varlen=30/60 causal=br", .inputs = "normal", .gate = "error" },
    { .name = "keys-of-before", .does = "gives packed sequences the number of keys of the previous one", .behaviour.run = keys_of_before,
      .spec = "b5 h2 s9/20 d8 f32 varlen=30/60", .inputs = "normal", .gate = "error" },
    { .name = "queries-late", .does = "begins packed sequences of queries a query late", .behaviour.run = queries_late,
      .spec = "b4 h2 s9/20 d8 f32 varlen=30/60", .inputs = "normal", .gate = "error" },
    { .name = "table-before", .does = "uses the page table of the previous batch element", .behaviour.run = table_before,
      .spec = "b3 h2 s4/40 d8 f32 paged=8/20 lengths", .inputs = "normal", .gate = "error" },
    { .name = "starts-late", .does = "hides the first key of a document", .behaviour.row = starts_late,
      .spec = SPEC "starts causal", .inputs = "normal", .gate = "error" },
    { .name = "hidden-values", .does = "multiplies values of hidden keys by 0", .behaviour.row = hidden_values,
      .spec = SPEC "shown=bytes", .inputs = "masked", .gate = "finite" },
    { .name = "sink-out-of-lse", .does = "leaves the sink out of the LSE", .behaviour.row = sink_out_of_lse,
      .spec = SPEC "sinks", .inputs = "normal", .gate = "lse" },
    { .name = "sink-twice", .does = "counts the sink twice", .behaviour.row = sink_twice,
      .spec = SPEC "sinks", .inputs = "normal", .gate = "error" },
    { .name = "sink-left-out", .does = "leaves the sink out", .behaviour.misread = sink_left_out,
      .spec = SPEC "sinks", .inputs = "normal", .gate = "error" },
    { .name = "sink-of-empty-row", .does = "omits the sink from the LSE of a row that sees nothing", .behaviour.row = sink_of_empty_row,
      .spec = "b1 h2 s40/12 d24 f32 causal=br sinks", .inputs = "normal", .gate = "finite" },
    { .name = "expressions-left-out", .does = "ignores expressions; words are right", .behaviour.misread = score_left_out,
      .spec = SPEC "softcap=2", .inputs = "normal", .gate = "spelled" },
    { .name = "reversed-bytes", .does = "reads masks of bytes from the last key on; bits are right", .behaviour.logit = reversed_bytes,
      .spec = SPEC "shown=bits", .inputs = "normal", .gate = "shown" },
    { .name = "sink-of-none", .does = "has a sink of 0 where the problem has none", .behaviour.row = sink_of_none,
      .spec = SPEC "sinks score=0.9*s", .inputs = "normal", .gate = "sinks" },
    { .name = "zero-hides", .does = "treats keys with a bias of 0 as hidden", .behaviour.logit = zero_hides,
      .spec = SPEC "bias=f32", .inputs = "normal", .gate = "neutral" },
    { .name = NULL },
};
/* clang-format on */
