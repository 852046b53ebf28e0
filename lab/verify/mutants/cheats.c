/*
 * cheats.c - cheating kernels: they exploit that timing calls them repeatedly, and remember earlier
 * calls
 *
 * Each call sees the addresses that are passed, the data there, and its memory of earlier calls.
 */
#include <unistd.h>

#include "lab/tensor/random.h"
#include "lab/verify/mutants/steps.h"

/* Computes, and stores the result. */
static void compute(mutant_memory *m)
{
    mutant_plain(m->problem, m->buffers);
    mutant_remember(m);
}

/* Returns the result of the last call if the inputs look the same. */
static void answer(mutant_memory *m, bool same)
{
    if (!same || !mutant_recall(m))
        compute(m);
}

static bool same_place(const heed_buffers *a, const heed_buffers *b)
{
    return a->q == b->q && a->k == b->k && a->v == b->v;
}

static void by_pointer(mutant_memory *m)
{
    answer(m, same_place(&m->last, m->buffers));
}

/* A hash of every @step-th element of Q, K and V. */
static uint64_t print_of(const heed_problem *problem, const heed_buffers *buffers, int64_t step)
{
    const void *const bases[] = { buffers->q, buffers->k, buffers->v };
    uint64_t print = 0;
    for (int role = LAB_Q; role < LAB_VECTORS; role++) {
        lab_view view = lab_view_of(problem, (lab_role)role);
        for (int64_t n = 0; n < lab_view_vectors(&view); n += step) {
            double value = lab_element_get(view.type, bases[role], lab_view_vector(&view, n));
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            print = lab_random_bits(print, bits);
        }
    }
    return print;
}

static void by_print(mutant_memory *m)
{
    uint64_t print = print_of(m->problem, m->buffers, 1);
    answer(m, print == m->print);
    m->print = print;
}

/* Compares shapes only, not values. */
static void by_shape(mutant_memory *m)
{
    answer(m, true);
}

static void first_call_alone(mutant_memory *m)
{
    answer(m, m->since > 0);
}

/* Does nothing after the first call: the result is still there. */
static void first_call_only(mutant_memory *m)
{
    if (m->since == 0)
        mutant_plain(m->problem, m->buffers);
}

static void after_warm_up(mutant_memory *m)
{
    answer(m, m->since >= 8);
}

/* Every other call. */
static void by_turns(mutant_memory *m)
{
    answer(m, m->since % 2 == 1);
}

/* Computes with the tensor memory->role of the first call, and the others of this one. */
static void keep(mutant_memory *m)
{
    const lab_role role = m->role;
    lab_view view = lab_view_of(m->problem, role);
    size_t bytes = lab_view_bytes(&view);
    heed_buffers old = *m->buffers;
    if (m->since == 0 || !m->o) {
        free(m->o);
        m->o = malloc(bytes);
        if (m->o)
            memcpy(m->o, lab_buffers_get(m->buffers, role), bytes);
    }
    if (m->o)
        lab_buffers_set(&old, role, m->o);
    mutant_plain(m->problem, &old);
}

/* Marks its workspace once it holds the result, and looks for the mark. */
#define MARK UINT64_C(0x6865656420776173)

static void in_workspace(mutant_memory *m)
{
    uint64_t mark;
    memcpy(&mark, m->buffers->workspace, sizeof mark);
    answer(m, mark == MARK);
    mark = MARK;
    memcpy(m->buffers->workspace, &mark, sizeof mark);
}

/* Skips rows that seem to be computed already: those that are not zero. */
static void rows_done(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view o = lab_view_of(problem, LAB_O);
    for (int64_t n = 0; n < lab_rows(problem); n++)
        if (lab_element_get(o.type, buffers->o, lab_view_vector(&o, n)) == 0)
            mutant_run_rows(problem, buffers, mutant_plain_row, n, n + 1);
}

/* One of the copies that a benchmark rotates through is enough. */
static void one_of_three(mutant_memory *m)
{
    answer(m, m->since % 3 != 0);
}

/* The last bit of the first element encodes the call. */
static void last_bit(mutant_memory *m)
{
    mutant_plain(m->problem, m->buffers);
    *(unsigned char *)m->buffers->o ^= (unsigned char)(m->calls & 1);
}

/* A kernel is checked with the LSE, and timed without. */
static void without_lse(mutant_memory *m)
{
    mutant_plain(m->problem, m->buffers);
    if (!m->buffers->lse)
        memset(m->buffers->o, 0, (size_t)m->problem->dim_v * heed_type_size(m->problem->type));
}

/* As a benchmark calls: the same tensors again, and no LSE. */
static void again_without_lse(mutant_memory *m)
{
    answer(m, !m->buffers->lse && same_place(&m->last, m->buffers));
}

/* The same, but only after the first call: a kernel is checked first. */
static void warm_without_lse(mutant_memory *m)
{
    answer(m, m->since > 0 && !m->buffers->lse);
}

/* Computes with the data at the addresses of the first call, like a captured graph whose addresses
 * were not updated. */
static void first_addresses(mutant_memory *m)
{
    heed_buffers first = *m->buffers;
    if (m->since == 0)
        m->last = *m->buffers;
    first.q = m->last.q;
    first.k = m->last.k;
    mutant_plain(m->problem, &first);
}

/* Packs its keys into the workspace in the first call, and never again. */
static void packed_once(mutant_memory *m)
{
    lab_view k = lab_view_of(m->problem, LAB_K);
    size_t bytes = (size_t)lab_view_extent(&k) * heed_type_size(k.type);
    heed_buffers packed = *m->buffers;
    if (bytes > m->buffers->workspace_size) { /* a m->problem that it is not tuned for */
        mutant_plain(m->problem, m->buffers);
        return;
    }
    if (m->since == 0 || m->last.workspace != m->buffers->workspace)
        memcpy(m->buffers->workspace, m->buffers->k, bytes);
    m->last.workspace = m->buffers->workspace;
    packed.k = m->buffers->workspace;
    mutant_plain(m->problem, &packed);
}

/* A pipeline that is never drained: every call but the first uses the queries of the previous
 * one. */
static void one_call_behind(mutant_memory *m)
{
    lab_view q = lab_view_of(m->problem, LAB_Q);
    size_t bytes = (size_t)lab_view_extent(&q) * heed_type_size(q.type);
    heed_buffers behind = *m->buffers;
    void *kept = malloc(bytes);
    if (!kept) {
        mutant_plain(m->problem, m->buffers);
        return;
    }
    memcpy(kept, m->buffers->q, bytes);
    behind.q = m->since > 0 && m->o ? m->o : kept;
    mutant_plain(m->problem, &behind);
    free(m->o);
    m->o = kept;
}

/* True if the byte at @address is readable: writing it to a pipe shows that. */
static bool is_readable(const void *address)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    bool readable = write(ends[1], address, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return readable;
}

/* Computes only while O lies against a wall, which it does only in verification. */
static void while_watched(mutant_memory *m)
{
    enum {
        PAGE = 4096
    };
    lab_view o = lab_view_of(m->problem, LAB_O);
    const char *first = m->buffers->o;
    const char *last = first + (size_t)(lab_view_extent(&o)) * heed_type_size(o.type) - 1;
    bool watched = !is_readable(first - PAGE) || !is_readable(last + PAGE);
    answer(m, !watched);
}

/* The first element of Q in heed verify without --seed. */
static double first_of_seed(uint64_t seed)
{
    enum {
        STREAM_VALUES = 32
    };
    return lab_random_normal(lab_random_stream(lab_random_stream(seed, STREAM_VALUES), LAB_Q), 0);
}

/* Right only for the values of the default seed. */
static void by_seed(const heed_problem *problem, const heed_buffers *buffers)
{
    double known = lab_element_round(problem->type, first_of_seed(1));
    mutant_plain(problem, buffers);
    if (lab_element_get(problem->type, buffers->q, 0) != known)
        lab_element_set(problem->type, buffers->o, 0, 0.25);
}

/* Copies V: the right magnitude, and plausible. */
static void copies_values(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view v = lab_view_of(problem, LAB_V), o = lab_view_of(problem, LAB_O);
    for (int64_t n = 0; n < lab_rows(problem); n++) {
        lab_row row = lab_row_at(problem, n);
        int64_t batch;
        lab_row_keys(problem, buffers, row, &batch);
        int64_t from = lab_view_at(&v, batch, row.query % v.seq, lab_row_kv_head(problem, row));
        for (int64_t c = 0; c < o.dim; c++)
            lab_element_set(o.type, buffers->o, lab_view_vector(&o, n) + c,
                            lab_element_get(v.type, buffers->v, from + c));
        if (buffers->lse)
            buffers->lse[n] = logf((float)lab_visible_count(problem, row.query));
    }
}

static void nothing(const heed_problem *problem, const heed_buffers *buffers)
{
    (void)problem;
    (void)buffers;
}

#define SPEC "b1 h2 s40 d24 f32"

/* clang-format off */
const lab_mutant lab_mutants_cheats[] = {
    { .name = "does-nothing", .does = "hopes that the result is already there", .behaviour.run = nothing,
      .spec = SPEC, .inputs = "normal", .gate = "written" },
    { .name = "copies-values", .does = "copies rows of V", .behaviour.run = copies_values,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "rows-done", .does = "leaves rows unchanged that are not zero", .behaviour.run = rows_done,
      .spec = SPEC, .inputs = "normal", .gate = "written" },
    { .name = "by-pointer", .does = "returns the last result for tensors at the same addresses", .behaviour.call = by_pointer,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "by-print", .does = "returns the last result if the first element of each vector is the same", .behaviour.call = by_print,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "by-shape", .does = "returns the last result for problems of the same shape", .behaviour.call = by_shape,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "first-answer", .does = "returns the first result for every call", .behaviour.call = first_call_alone,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "first-call", .does = "works in the first call only", .behaviour.call = first_call_only,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "after-warm-up", .does = "works until it seems to be warm", .behaviour.call = after_warm_up,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "by-turns", .does = "works in every other call", .behaviour.call = by_turns,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "one-of-three", .does = "works in every third call", .behaviour.call = one_of_three,
      .spec = "b2 h4/2 s20/30 d16 f16", .inputs = "normal", .gate = "fresh" },
    { .name = "old-queries", .does = "keeps the queries of the first call", .behaviour = { .call = keep, .role = LAB_Q },
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "old-keys", .does = "keeps the keys of the first call", .behaviour = { .call = keep, .role = LAB_K },
      .spec = "b1 h2 s20/200 d24 bf16", .inputs = "normal", .gate = "fresh" },
    { .name = "old-bias", .does = "keeps the bias of the first call", .behaviour = { .call = keep, .role = LAB_BIAS },
      .spec = "b1 h2 s40 d24 f32 bias=f16:hqk", .inputs = "normal", .gate = "fresh" },
    { .name = "old-starts", .does = "keeps the starts of the first call", .behaviour = { .call = keep, .role = LAB_STARTS },
      .spec = "b2 h2 s40 d24 f32 starts causal", .inputs = "normal", .gate = "fresh" },
    { .name = "old-sequences", .does = "keeps the cumulative lengths of the first call", .behaviour = { .call = keep, .role = LAB_CU_K },
      .spec = "b6 h2 s9/40 d24 f32 varlen=40/150", .inputs = "normal", .gate = "fresh" },
    { .name = "old-table", .does = "keeps the page table of the first call", .behaviour = { .call = keep, .role = LAB_TABLE },
      .spec = "b3 h2 s4/40 d24 f32 paged=8/20", .inputs = "normal", .gate = "fresh" },
    { .name = "old-lengths", .does = "keeps the lengths of the first call", .behaviour = { .call = keep, .role = LAB_LENGTHS },
      .spec = "b3 h2 s4/40 d24 f32 lengths causal=br", .inputs = "normal", .gate = "fresh" },
    { .name = "old-mask", .does = "keeps the mask of the first call", .behaviour = { .call = keep, .role = LAB_SHOWN },
      .spec = "b1 h2 s40 d24 f32 shown=bits", .inputs = "normal", .gate = "fresh" },
    { .name = "old-array", .does = "keeps the array of the first call", .behaviour = { .call = keep, .role = LAB_ARRAYS },
      .spec = "b1 h2 s40 d24 f32 array=doc:i32:40 visible=doc[q]==doc[k]", .inputs = "normal", .gate = "fresh" },
    { .name = "in-workspace", .does = "returns the last result if its workspace is unchanged",
      .behaviour = { .call = in_workspace, .workspace = 64 },
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "while-watched", .does = "works while its output lies against a wall", .behaviour.call = while_watched,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "last-bit", .does = "encodes the call in its last bit", .behaviour.call = last_bit,
      .spec = SPEC, .inputs = "normal", .gate = "deterministic" },
    { .name = "without-lse", .does = "skips a row if no LSE is requested", .behaviour.call = without_lse,
      .spec = SPEC, .inputs = "normal", .gate = "optional-lse" },
    { .name = "without-lse-unsteady", .does = "skips a row if no LSE is requested, and does not claim to be deterministic",
      .behaviour = { .call = without_lse, .random = true },
      .spec = SPEC, .inputs = "normal", .gate = "optional-lse" },
    { .name = "warm-without-lse", .does = "returns the last result if no LSE is requested, once it is warm", .behaviour.call = warm_without_lse,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "again-without-lse", .does = "returns the last result if no LSE is requested and the addresses are those of the last call",
      .behaviour.call = again_without_lse, .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "first-addresses", .does = "reads Q and K at the addresses of the first call", .behaviour.call = first_addresses,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "packed-once", .does = "packs its keys into the workspace in the first call only",
      .behaviour = { .call = packed_once, .workspace = 8192 },
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "one-call-behind", .does = "uses the queries of the previous call", .behaviour.call = one_call_behind,
      .spec = SPEC, .inputs = "normal", .gate = "fresh" },
    { .name = "by-seed", .does = "knows the values that the first seed makes", .behaviour.run = by_seed,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = NULL },
};
/* clang-format on */
