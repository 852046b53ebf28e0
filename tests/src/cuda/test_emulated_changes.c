/*
 * test_emulated_changes.c - CUDA kernels that change logits, hide keys by steps and add sinks, on
 * the emulator, compared with the formulas of heed.h in double precision
 *
 * Tensors and formulas are in changes_scene.h; packed sequences and spread splits are checked by
 * the gates of the laboratory instead.
 *
 *     test_emulated_changes [sample | NAME]
 *
 * With "sample" each kernel is tried on one fixed shape; with a NAME only kernels whose names
 * contain it are tried. Every fourth kernel is in this program, and the others are in
 * test_emulated_changes_others, which has the same source.
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "changes_scene.h"
#include "cuda/score/score.h"
#include "emulated.h"
#include "lab/verify/verify.h"

/* Shapes: even numbers of keys, for which operands are read in pairs, and odd ones. Operands keep
 * all their dimensions, and the steps are the same for all shapes. */
static const struct {
    const char *sizes;
    unsigned splits;
} shapes[] = {
    { "b2 h6/2 s70/130", 1 }, { "b2 h6/3 s33/257", 1 },  { "b2 h6 s100/64 scale=-0.4", 1 },
    { "b2 h6/1 s5/600", 3 },  { "b2 h6/2 s190/192", 1 }, { "b2 h6/2 s3/2", 1 },
    { "b2 h6/2 s9/592", 1 },  { "b2 h6/2 s7/384", 1 },   { "b2 h6/3 s304/304", 1 },
};
#define SHAPES (sizeof shapes / sizeof shapes[0])

/* Returns whether @x is within the tolerance of @expected, or equal to it if not finite. */
static bool is_near(double x, double expected, double tolerance)
{
    if (isinf(expected) && expected < 0)
        return x == expected;
    if (!isfinite(expected))
        return !isfinite(x);
    return fabs(x - expected) <= tolerance * (1 + fabs(expected));
}

static int64_t count_wrong(const changes_scene *s, const char *name, size_t shape)
{
    static const double tolerances[] = { 2e-5, 3e-3, 2e-2 };
    const heed_problem *p = &s->problem;
    int64_t rows = p->batch * p->heads_q * p->seq_q, wrong = 0;
    double exact = s->kernel->half ? 4e-3 : 2e-5, loose = tolerances[p->type];
    if (s->kernel->products == 1 || s->kernel->products == 2)
        exact = loose = s->kernel->products == 1 ? 4e-3 : 1e-4;
    for (int64_t n = 0; n < rows * p->dim_v; n++) {
        double x = changes_get(s->buffers.o, changes_data_of(p->type), n);
        if (is_near(x, isinf(s->o[n]) ? NAN : s->o[n], s->kernel->half ? 2e-2 : loose))
            continue;
        if (wrong++ < 4)
            print_message("%s '%s': o[%lld] (query %lld, head %lld) is %g, not %g\n", name,
                          shapes[shape].sizes, (long long)n,
                          (long long)(n / p->dim_v / p->heads_q % p->seq_q),
                          (long long)(n / p->dim_v % p->heads_q), x, s->o[n]);
    }
    for (int64_t n = 0; n < rows; n++) {
        if (is_near((double)s->buffers.lse[n], s->lse[n], exact))
            continue;
        if (wrong++ < 4)
            print_message("%s '%s': lse[%lld] is %g, not %g\n", name, shapes[shape].sizes,
                          (long long)n, (double)s->buffers.lse[n], s->lse[n]);
    }
    return wrong;
}

/* Sizes with one block of rows, for kernels that spread the keys of a sequence over several
 * splits. */
static const struct {
    const char *sizes;
    unsigned splits;
} spread_shapes[SHAPES] = {
    { "b40 h4/2 s3/90", 2 }, { "b3 h6/1 s5/600", 3 }, { "b2 h6/2 s9/592", 8 },
    { "b5 h2/1 s1/2", 2 },   { "b33 h2 s2/64", 4 },   { "b1 h6/2 s7/384", 5 },
};

/* Returns whether the number of keys is a multiple of the page, and the shape exists for spread
 * splits. */
static bool fits(const emulated_config *change, size_t shape)
{
    const char *page = strstr(change->words, "paged="), *keys = strchr(shapes[shape].sizes, 's');
    const char *slash = strchr(keys, '/');
    if (strstr(change->name, "spread"))
        return spread_shapes[shape].sizes != NULL;
    return !page || strtol(slash + 1, NULL, 10) % strtol(page + 6, NULL, 10) == 0;
}

/* The fixed shape of a kernel for "sample". */
static size_t part_shape(const emulated_config *change)
{
    size_t shape = (size_t)(change - emulated_changed) % SHAPES;
    while (!fits(change, shape))
        shape = (shape + 1) % SHAPES;
    return shape;
}

/* Returns whether a kernel is tried on a shape, given the program's argument (NULL: none). */
static bool is_tried(const emulated_config *change, size_t shape, const char *only)
{
    if (only && strcmp(only, "sample") == 0)
        return part_shape(change) == shape;
    return (!only || strstr(change->name, only)) && fits(change, shape);
}

/* Makes a spec of @sizes with the words of @change. If these pack sequences, they have most of the
 * possible rows. */
static void fit_words(const emulated_config *change, const char *sizes, char spec[512])
{
    const emulated_kernel *kernel = change->aligned;
    const char *at = strstr(change->words, "varlen=");
    if (!at) {
        snprintf(spec, 512, "%s d%d/%d %s %s", sizes, kernel->dim_qk, kernel->dim_v,
                 heed_type_name((heed_type)kernel->type), change->words);
        return;
    }
    const char *slash = strchr(at, '/'), *end = at + strcspn(at, " ");
    long queries = strtol(strchr(sizes, 's') + 1, NULL, 10);
    long keys = strtol(strchr(strchr(sizes, 's'), '/') + 1, NULL, 10);
    long batch = strtol(sizes + 1, NULL, 10);
    queries = strtol(at + 7, NULL, 10) > 0 ? batch * queries * 4 / 5 + 1 : 0;
    keys = !slash || slash > end || strtol(slash + 1, NULL, 10) > 0 ? batch * keys * 4 / 5 + 1 : 0;
    snprintf(spec, 512, "%s d%d/%d %s %.*svarlen=%ld/%ld%s", sizes, kernel->dim_qk, kernel->dim_v,
             heed_type_name((heed_type)kernel->type), (int)(at - change->words), change->words,
             queries, keys, end);
}

/* Packed sequences and spread splits are checked by the gates of the laboratory that need no other
 * problem. */
static int64_t run_gates(const emulated_config *change, const char *sizes, unsigned splits)
{
    static const char *const kinds[] = { "normal", "needle", "masked" };
    char spec[512];
    heed_problem problem;
    int64_t wrong = 0;
    lab_verify_options options = lab_verify_standard();
    options.own = true;
    for (size_t i = 0; i < LAB_GATES; i++)
        if (lab_gate_at(i)->property)
            options.gates &= ~(1U << i);
    fit_words(change, sizes, spec);
    if (heed_problem_parse(&problem, spec) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const lab_inputs *inputs = lab_inputs_find(kinds[i]);
        lab_report report;
        emulated it = { .config = change,
                        .changes = true,
                        .splits = splits,
                        .spread = strstr(change->name, "spread") != NULL };
        const lab_subject subject = emulated_subject(&it);
        if (lab_case_absent(&problem, inputs))
            continue;
        options.seed = strlen(sizes);
        assert_int_equal(lab_verify_problem(&problem, inputs, &subject, &options, NULL, &report),
                         HEED_OK);
        if (report.outcome == LAB_PASS && !it.stopped)
            continue;
        wrong++;
        print_message("%s on '%s', %s values: %s\n", change->name, spec, kinds[i], it.worst);
        for (size_t g = 0; g < LAB_GATES; g++)
            if (report.verdicts[g].outcome == LAB_FAIL)
                print_message("    %s: %s\n", lab_gate_at(g)->name, report.verdicts[g].reason);
    }
    return wrong;
}

static int64_t run_one(const emulated_config *change, size_t shape)
{
    changes_scene s;
    lab_needs needs;
    if (strstr(change->name, "spread"))
        return run_gates(change, spread_shapes[shape].sizes, spread_shapes[shape].splits);
    if (strstr(change->words, "varlen="))
        return run_gates(change, shapes[shape].sizes,
                         emulated_splits(change->aligned, shapes[shape].splits, 0));
    changes_begin(&s, change, shapes[shape].sizes, shape);
    changes_define(&s);
    emulated it = { .config = change,
                    .changes = true,
                    .splits = emulated_splits(change->aligned, shapes[shape].splits, 0),
                    .ahead = s.ahead };
    const lab_subject subject = emulated_subject(&it);
    assert_int_equal(subject.prepare(subject.data, &s.problem, &needs), HEED_OK);
    int64_t wrong = 1;
    if (subject.run(subject.data, &s.buffers) == HEED_OK)
        wrong = count_wrong(&s, change->name, shape);
    else
        print_message("%s '%s': %s\n", change->name, shapes[shape].sizes, it.worst);
    changes_end(&s);
    return wrong;
}

static void test_results_are_right(void **state)
{
    int64_t wrong = 0, tried = 0;
    for (const emulated_config *change = emulated_changed; change->name; change++)
        for (size_t shape = 0; shape < SHAPES; shape++)
            if (is_tried(change, shape, *state)) {
                tried++;
                wrong += run_one(change, shape);
            }
    assert_int_equal(wrong, 0);
    assert_true(tried > 0);
}

/* Documents of 130 keys and a causal mask leave 25 pairs of 64 queries and 64 keys. */
static void test_hidden_tiles_are_left_out(void **state)
{
    const emulated_config *change = emulated_changed;
    changes_scene s;
    lab_needs needs;
    (void)state;
    while (change->name && strcmp(change->name, "changed_wgmma_documents") != 0)
        change++;
    if (!change->name)
        skip(); /* it is in the other program */
    changes_begin(&s, change, shapes[SHAPES - 1].sizes, SHAPES - 1);
    emulated it = { .config = change, .changes = true, .splits = 1, .ahead = s.ahead };
    const lab_subject subject = emulated_subject(&it);
    assert_int_equal(subject.prepare(subject.data, &s.problem, &needs), HEED_OK);
    changes_define(&s);
    assert_int_equal(subject.run(subject.data, &s.buffers), HEED_OK);
    assert_int_equal(it.all_tiles, s.problem.batch * 25);
    assert_int_equal(it.listed, s.problem.batch * (1 + 2 + 3 + 2 + 3));
    assert_int_equal(it.inner, s.problem.batch * (0 + 1 + 2 + 1 + 2)); /* not on the diagonal */
    changes_end(&s);
}

/* The kernels were compiled with the program text of a problem with other sizes. */
static void test_programs_fit(void **state)
{
    static char text[HEED_CUDA_PROGRAM_SIZE], compiled[HEED_CUDA_PROGRAM_SIZE];
    for (const emulated_config *change = emulated_changed; change->name; change++)
        for (size_t shape = 0; shape < SHAPES; shape++) {
            changes_scene s;
            char path[512];
            if (!fits(change, shape) || strstr(change->words, "varlen=") ||
                strstr(change->name, "spread"))
                continue;
            changes_begin(&s, change, shapes[shape].sizes, shape);
            size_t length = heed_cuda_print_program(&s.problem, text, sizeof text);
            snprintf(path, sizeof path, "%s/%s/program.cuh", PROGRAMS, change->name);
            FILE *file = fopen(path, "r");
            assert_non_null(file);
            size_t there = fread(compiled, 1, sizeof compiled - 1, file);
            fclose(file);
            compiled[there] = '\0';
            if (there != length || strcmp(text, compiled) != 0)
                fail_msg("%s '%s': other steps than those compiled:\n%s\n%s", change->name,
                         shapes[shape].sizes, text, compiled);
            changes_end(&s);
        }
}

int main(int argc, char **argv)
{
    test_list tests = TEST_LIST(test_programs_fit, test_hidden_tiles_are_left_out,
                                test_results_are_right);
    tests.state = argc > 1 ? argv[1] : NULL;
    return run_test_list(tests, NULL, NULL);
}
