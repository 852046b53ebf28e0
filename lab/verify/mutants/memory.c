/*
 * memory.c - wrong kernels: mistakes in reads and writes
 */
#include <fenv.h>
#include <unistd.h>

#include "lab/verify/mutants/steps.h"

/* ---------------------------------------------------------------------------------------------- */
/* Strides and offsets                                                                            */
/* ---------------------------------------------------------------------------------------------- */

static void dense_keys(heed_problem *problem)
{
    memset(&problem->k, 0, sizeof problem->k);
    heed_problem_normalize(problem, problem);
}

/* Uses the strides of K for V. */
static void strides_of_keys(heed_problem *problem)
{
    problem->v = problem->k;
}

/* 32-bit offsets. */
static void narrow_offsets(heed_problem *problem)
{
    problem->k.batch = (int32_t)(uint32_t)problem->k.batch;
}

static void narrow_output(heed_problem *problem)
{
    problem->o.batch = (int32_t)(uint32_t)problem->o.batch;
}

/* Loads 16 bytes at a time, ignoring misalignment. */
static void rounded_pointers(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_buffers rounded = *buffers;
    rounded.k = (const char *)buffers->k - (uintptr_t)buffers->k % 16;
    mutant_run_all(problem, &rounded, mutant_plain_row);
}

/* The LSE as [batch, query, head]. */
static void transposed_lse(const heed_problem *problem, const heed_buffers *buffers)
{
    int64_t heads = problem->heads_q, queries = lab_queries(problem);
    float *kept = calloc((size_t)lab_rows(problem), sizeof *kept);
    mutant_plain(problem, buffers);
    if (kept && buffers->lse) {
        memcpy(kept, buffers->lse, (size_t)lab_rows(problem) * sizeof *kept);
        for (int64_t n = 0; n < lab_rows(problem); n++) {
            lab_row row = lab_row_at(problem, n);
            buffers->lse[(row.batch * queries + row.query) * heads + row.head] = kept[n];
        }
    }
    free(kept);
}

/* ---------------------------------------------------------------------------------------------- */
/* Not written                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

static void last_row_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_run_rows(problem, buffers, mutant_plain_row, 0, lab_rows(problem) - 1);
}

static void first_row_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_run_rows(problem, buffers, mutant_plain_row, 1, lab_rows(problem));
}

static void last_element_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view o = lab_view_of(problem, LAB_O);
    int64_t last = lab_view_extent(&o) - 1;
    double kept = lab_element_get(problem->type, buffers->o, last);
    mutant_plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, last, kept);
}

static void empty_rows_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    for (int64_t n = 0; n < lab_rows(problem); n++)
        if (lab_visible_count(problem, lab_row_at(problem, n).query) > 0)
            mutant_run_rows(problem, buffers, mutant_plain_row, n, n + 1);
}

static void lse_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_buffers without = *buffers;
    without.lse = NULL;
    mutant_plain(problem, &without);
}

/* Adds to the output, as if it had been cleared. */
static void added_up(const heed_problem *problem, const heed_buffers *buffers)
{
    double before = lab_element_get(problem->type, buffers->o, 0);
    mutant_plain(problem, buffers);
    double value = lab_element_get(problem->type, buffers->o, 0);
    lab_element_set(problem->type, buffers->o, 0, value + before);
}

/* ---------------------------------------------------------------------------------------------- */
/* Written or read where it should not be                                                         */
/* ---------------------------------------------------------------------------------------------- */

static void past_the_end(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view o = lab_view_of(problem, LAB_O);
    mutant_plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, lab_view_extent(&o), 0);
}

static void before_the_start(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, -1, 0);
}

static void into_the_gap(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, problem->dim_v, 0);
}

static void past_the_workspace(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_plain(problem, buffers);
    ((char *)buffers->workspace)[buffers->workspace_size] = 0;
}

static void reads_past_the_end(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view k = lab_view_of(problem, LAB_K);
    volatile double sink = lab_element_get(problem->type, buffers->k, lab_view_extent(&k) + 3);
    (void)sink;
    mutant_plain(problem, buffers);
}

static void *writable(const void *input)
{
    union {
        const void *input;
        void *writable;
    } pointer = { input };
    return pointer.writable;
}

static void scales_in_place(const heed_problem *problem, const heed_buffers *buffers)
{
    void *q = writable(buffers->q);
    double value = lab_element_get(problem->type, q, 0);
    lab_element_set(problem->type, q, 0, value * (double)problem->scale);
    mutant_plain(problem, buffers);
}

/* Uses K as scratch after its last read. */
static void leaves_a_mark(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_plain(problem, buffers);
    lab_element_set(problem->type, writable(buffers->k), 0, 42);
}

/* Changes the rounding mode, and does not restore it. */
static void leaves_rounding(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_plain(problem, buffers);
    fesetround(FE_TOWARDZERO);
}

/* No more blocks than a dimension of a launch can have. */
static void short_launch(const heed_problem *problem, const heed_buffers *buffers)
{
    int64_t heads = problem->batch * problem->heads_q, launched = heads < 65535 ? heads : 65535;
    mutant_run_rows(problem, buffers, mutant_plain_row, 0, launched * lab_queries(problem));
}

/* Zeroes V, so that zeros are right for a reference computed afterwards. */
static void clears_values(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view v = lab_view_of(problem, LAB_V);
    for (int64_t n = 0; n < lab_view_vectors(&v); n++)
        for (int64_t c = 0; c < v.dim; c++)
            lab_element_set(v.type, writable(buffers->v), lab_view_vector(&v, n) + c, 0);
    mutant_plain(problem, buffers);
}

/* Adds to the old contents of the workspace. */
static void dirty_workspace(const heed_problem *problem, const heed_buffers *buffers)
{
    float left;
    memcpy(&left, buffers->workspace, sizeof left);
    mutant_plain(problem, buffers);
    double value = lab_element_get(problem->type, buffers->o, 0);
    lab_element_set(problem->type, buffers->o, 0, value + (double)left);
}

static void lse_always(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_plain(problem, buffers);
    buffers->lse[0] += 0;
}

static void endless(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_plain(problem, buffers);
    for (;;)
        sleep(1);
}

static void ends_the_process(const heed_problem *problem, const heed_buffers *buffers)
{
    mutant_plain(problem, buffers);
    _exit(0);
}

#define SPEC "b1 h2 s40 d24 f32"
#define GAPS "b1 h2 s9 d8 f32 o=400:40:16"

/* clang-format off */
const lab_mutant lab_mutants_memory[] = {
    { .name = "dense-keys", .does = "assumes that K is dense", .behaviour.misread = dense_keys,
      .spec = "b1 h2 s20 d24 f32 k=2000:100:40", .inputs = "normal", .gate = "finite" },
    { .name = "dense-order", .does = "assumes the order of K's dimensions", .behaviour.misread = dense_keys,
      .spec = "b1 h2 s20 d24 f32 k=960:24:480", .inputs = "normal", .gate = "error" },
    { .name = "strides-of-keys", .does = "uses the strides of K for V", .behaviour.misread = strides_of_keys,
      .spec = "b1 h2 s20 d24/16 f32", .inputs = "needle", .gate = "executes", .text = "touched V" },
    { .name = "32-bit-offsets", .does = "uses 32-bit offsets", .behaviour.misread = narrow_offsets,
      .spec = "b2 h1 s4 d8 f32 k=2147483652:8:8", .inputs = "normal", .gate = "executes", .text = "SIGSEGV" },
    { .name = "32-bit-output", .does = "uses 32-bit offsets into its output", .behaviour.misread = narrow_output,
      .spec = "b2 h1 s4 d8 f32 o=4294967296:8:8", .inputs = "normal", .gate = "written" },
    { .name = "rounded-pointers", .does = "rounds its pointers down to 16 bytes", .behaviour.run = rounded_pointers,
      .spec = "b1 h2 s40 d24 f16", .inputs = "normal", .gate = "unaligned" },
    { .name = "transposed-lse", .does = "stores the LSE as [batch, query, head]", .behaviour.run = transposed_lse,
      .spec = SPEC, .inputs = "needle", .gate = "lse" },
    { .name = "no-last-row", .does = "leaves the last row unwritten", .behaviour.run = last_row_missing,
      .spec = SPEC, .inputs = "normal", .gate = "written" },
    { .name = "no-first-row", .does = "leaves the first row unwritten", .behaviour.run = first_row_missing,
      .spec = SPEC, .inputs = "normal", .gate = "written" },
    { .name = "no-last-element", .does = "leaves the last element unwritten", .behaviour.run = last_element_missing,
      .spec = SPEC, .inputs = "normal", .gate = "written" },
    { .name = "no-empty-rows", .does = "leaves rows that see no key unwritten", .behaviour.run = empty_rows_missing,
      .spec = "b1 h2 s40/20 d24 f32 causal=br", .inputs = "normal", .gate = "written" },
    { .name = "no-lse", .does = "leaves the LSE unwritten", .behaviour.run = lse_missing,
      .spec = SPEC, .inputs = "normal", .gate = "written", .text = "LSE" },
    { .name = "added-up", .does = "adds to what the output holds", .behaviour.run = added_up,
      .spec = SPEC, .inputs = "normal", .gate = "deterministic" },
    { .name = "past-the-end", .does = "writes past the end of O", .behaviour.run = past_the_end,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "touched O" },
    { .name = "before-the-start", .does = "writes before the start of O", .behaviour.run = before_the_start,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "before its start" },
    { .name = "into-the-gap", .does = "writes into a gap of O", .behaviour.run = into_the_gap,
      .spec = GAPS, .inputs = "needle", .gate = "canaries", .text = "gap" },
    { .name = "past-the-workspace", .does = "writes past the end of the workspace",
      .behaviour = { .run = past_the_workspace, .workspace = 100 },
      .spec = SPEC, .inputs = "normal", .gate = "canaries", .text = "workspace" },
    { .name = "reads-past-the-end", .does = "reads past the end of K", .behaviour.run = reads_past_the_end,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "touched K" },
    { .name = "scales-in-place", .does = "scales Q in place", .behaviour.run = scales_in_place,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "wrote to the input Q" },
    { .name = "leaves-a-mark", .does = "uses K as scratch after its last read", .behaviour.run = leaves_a_mark,
      .spec = SPEC, .inputs = "needle", .gate = "inputs", .text = "K", .unlocked = true },
    { .name = "leaves-rounding", .does = "leaves a changed rounding mode to its caller", .behaviour.run = leaves_rounding,
      .spec = SPEC, .inputs = "normal", .gate = "canaries", .text = "rounding" },
    { .name = "short-launch", .does = "leaves heads beyond the 65535th unwritten", .behaviour.run = short_launch,
      .spec = "b65540 h1 s1 d1 f32", .inputs = "normal", .gate = "written" },
    { .name = "clears-values", .does = "zeroes V, for which zeros are right", .behaviour.run = clears_values,
      .spec = SPEC, .inputs = "normal", .gate = "inputs", .text = "V", .unlocked = true },
    { .name = "dirty-workspace", .does = "adds to what the workspace holds",
      .behaviour = { .run = dirty_workspace, .workspace = 64 },
      .spec = SPEC, .inputs = "normal", .gate = "finite" },
    { .name = "lse-always", .does = "writes an LSE that was not requested", .behaviour.run = lse_always,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "without LSE" },
    { .name = "by-address", .does = "sums in an order that depends on where Q lies", .behaviour.run = mutant_by_address,
      .spec = SPEC, .inputs = "normal", .gate = "deterministic" },
    { .name = "ends-the-process", .does = "ends the process with success", .behaviour.run = ends_the_process,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "ended its process" },
    { .name = "endless", .does = "never ends", .behaviour.run = endless,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "not done", .endless = true },
    { .name = NULL },
};
/* clang-format on */
