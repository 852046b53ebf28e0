/*
 * test_bench_process_hard.c - hard values in timed calls change the answer, but not the verdict on
 * a correct kernel
 */
#include "run_tests.h"

#include <string.h>

#include "contexts.h"
#include "lab/bench/hard.h"
#include "lab/bench/match.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/mutants/suite.h"
#include "lab/verify/reference/reference.h"
#include "problems.h"

#define LOTS 32
#define KINDS 8

static const char *const specs[] = {
    "b1 h2 s40 d64 f32",
    "b2 h4/2 s33/47 d24/16 f32 causal=br",
    "b1 h1 s24/9 d8 f32 causal=br scale=-0.3",
    "b1 h2 s64 d64 f16 causal",
    "b1 h2 s40 d128 f16 acc=f16",
    "b2 h4/2 s33/47 d64/16 f32 causal=br products=tf32",
    "b1 h2 s40 d64 f32 products=bf16x3",
    "b1 h2 s17/90 d80 bf16 causal=br",
    "b1 h1 s1 d1 f32",
    "b1 h3/1 s5/300 d32/40 f16 q=600:40:1500 k=50:100:9",
};

/* A kernel of the suite that rounds as much as is allowed. */
#define ROUNDING "cut-operands"

static void run_rounding(const heed_problem *problem, const heed_buffers *buffers)
{
    size_t i = 0;
    while (strcmp(lab_mutant_at(LAB_CONTROLS, i)->name, ROUNDING) != 0)
        i++;
    lab_actor *actor = lab_actor_create(&lab_mutant_at(LAB_CONTROLS, i)->behaviour);
    lab_needs needs;
    assert_non_null(actor);
    const lab_subject subject = lab_actor_subject(actor);
    assert_int_equal(subject.prepare(subject.data, problem, &needs), HEED_OK);
    lab_actor_run(actor, buffers);
    lab_actor_destroy(actor);
}

/* The largest error of a kernel, over all rows. */
static double run(heed_context *context, const char *name, const lab_bench_tensors *tensors)
{
    const lab_sampling all = { .seed = 1, .work = INT64_MAX, .threads = 1 };
    heed_buffers buffers = lab_bench_tensors_buffers(tensors, 0);
    lab_expect *expect;

    if (strcmp(name, ROUNDING) == 0)
        run_rounding(&tensors->problem, &buffers);
    else if (!host_compute(context, &tensors->problem, name, buffers))
        return 0;
    assert_int_equal(lab_expect_create(&expect, &tensors->problem, &buffers, &all), HEED_OK);
    double error = lab_bench_error(&tensors->problem, buffers.o, expect);
    lab_expect_destroy(expect);
    return error;
}

static lab_bench_tensors open_tensors(heed_context *context, const char *spec, uint64_t seed)
{
    lab_bench_source source = { .label = "" };
    lab_bench_tensors tensors;

    source.problem = parsed(spec);
    assert_int_equal(heed_problem_normalize(&source.problem, &source.problem), HEED_OK);
    assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, seed, 0), HEED_OK);
    return tensors;
}

/* With any values at any place, heed's own kernels stay within the allowed error. */
static void test_honest(void **state)
{
    static const char *const kernels[] = { "fwd_any_scalar_row", "fwd_any_avx2_tile",
                                           "fwd_any_avx2_few", "fwd_any_avx512_tile", ROUNDING };
    heed_context *context = host_context(1);
    int put = 0;

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (uint64_t lot = 0; lot < LOTS; lot++) {
            lab_bench_tensors tensors = open_tensors(context, specs[i], lot);
            heed_buffers data = lab_bench_tensors_buffers(&tensors, 0);
            lab_bench_hard hard = lab_bench_hard_put(
                &tensors.problem, (void *[]){ (void *)data.q, (void *)data.k, (void *)data.v },
                &data, lot, lab_random_stream(7, lot));
            put += hard.what != NULL;
            for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
                double error = run(context, kernels[k], &tensors);
                if (error > 1)
                    fail_msg("%s on %s with %s (lot %d): %g of the allowed error", kernels[k],
                             specs[i], hard.what ? hard.what : "nothing", (int)lot, error);
            }
            lab_bench_tensors_free(&tensors);
        }
    assert_true(put > (int)(sizeof specs / sizeof *specs) * LOTS * 3 / 4);
    heed_context_destroy(context);
}

/* The affected row has a different answer than before, and every kind that needs no mask occurs. */
static void show(const char *spec)
{
    heed_context *context = host_context(1);
    const char *seen[KINDS] = { NULL };

    for (uint64_t turn = 0; turn < KINDS * LOTS; turn++) {
        lab_bench_tensors tensors = open_tensors(context, spec, turn);
        heed_buffers data = lab_bench_tensors_buffers(&tensors, 0);
        assert_true(run(context, "fwd_any_scalar_row", &tensors) <= 1);
        lab_bench_hard hard = lab_bench_hard_put(
            &tensors.problem, (void *[]){ (void *)data.q, (void *)data.k, (void *)data.v }, &data,
            turn, lab_random_stream(9, turn));
        lab_expect *expect;
        const lab_sampling one = { .seed = 1, .threads = 1, .least = 1, .also = hard.row + 1 };
        assert_non_null(hard.what);
        int kind = 0;
        while (kind < KINDS - 1 && seen[kind] && seen[kind] != hard.what)
            kind++;
        assert_true(!seen[kind] || seen[kind] == hard.what);
        seen[kind] = hard.what;
        assert_int_equal(lab_expect_create(&expect, &tensors.problem, &data, &one), HEED_OK);
        assert_true(expect->count == 2 || expect->rows[0] == hard.row);
        if (lab_bench_error(&tensors.problem, data.o, expect) <= 1)
            fail_msg("the answer is the same with %s", hard.what);
        lab_expect_destroy(expect);
        lab_bench_tensors_free(&tensors);
    }
    assert_non_null(seen[KINDS - 1]);
    heed_context_destroy(context);
}

static void test_shows(void **state)
{
    show("b2 h4/2 s16/20 d16 f32");
    show("b2 h4/2 s16/20 d16 f32 products=bf16x3");
    show("b2 h4/2 s16/20 d16 f32 products=tf32");
}

/* A kernel that gives up a row at its first NaN, or a head at its first NaN row, saves less than
 * any margin: in such calls at most a fortieth of all work is wasted. */
static void test_spares_little(void **state)
{
    static const char *const of[] = { "b1 h1 s1024 d16 f32", "b1 h8/1 s16 d16 f32",
                                      "b1 h1 s1/40 d8 f32", "b1 h1 s5/40 d8 f32 causal=br" };
    heed_context *context = host_context(1);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        lab_bench_tensors tensors = open_tensors(context, of[i], 1);
        const heed_problem *p = &tensors.problem;
        heed_buffers data = lab_bench_tensors_buffers(&tensors, 0);
        double spared = 0;
        for (uint64_t turn = 0; turn < 4000; turn++) {
            lab_bench_hard hard = lab_bench_hard_put(
                p, (void *[]){ (void *)data.q, (void *)data.k, (void *)data.v }, &data, turn,
                lab_random_stream(11, turn));
            if (hard.what && (strstr(hard.what, "in K") || strstr(hard.what, "in Q")))
                spared += (double)hard.odd / (double)(lab_rows(p) * p->dim_v);
        }
        print_message("%s: %.4f of the work of hard calls is saved\n", of[i], spared / 4000);
        assert_true(spared / 4000 < 0.05); /* at most half of all calls are hard */
        lab_bench_tensors_free(&tensors);
    }
    heed_context_destroy(context);
}

RUN_TESTS(test_honest, test_shows, test_spares_little)
