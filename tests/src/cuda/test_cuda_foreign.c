/*
 * test_cuda_foreign.c - plans of kernels that are not built in (fake_cuda.h)
 *
 * One with the facts of a built-in kernel must produce the same launches.
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdio.h>

#include "cuda_trial.h"

/* The launch facts of the plan of @t, under the name "foreign". */
static heed_cuda_facts facts_of(const trial *t)
{
    heed_cuda_facts facts;

    if (heed_cuda_facts_find(heed_plan_name(t->plan), heed_plan_problem(t->plan), 90, &facts) !=
        HEED_OK)
        fail_msg("%s", heed_message());
    snprintf(facts.name, sizeof facts.name, "foreign");
    return facts;
}

/* Replaces the plan of @t by one with @facts. */
static heed_status replace(trial *t, const heed_cuda_facts *facts)
{
    const heed_cubin cubin = scene_cubin("foreign");
    heed_plan *plan;
    heed_status status = heed_plan_create_foreign(&plan, t->context, heed_plan_problem(t->plan),
                                                  facts->name, &facts->launch, &cubin);

    if (status != HEED_OK) {
        assert_null(plan);
        return status;
    }
    heed_plan_destroy(t->plan);
    t->plan = plan;
    return HEED_OK;
}

/* The launches are equal except for the name and the counters, which each plan allocates. */
static void expect_same(const fake_launch *a, const fake_launch *b)
{
    heed_cuda_args args[2] = { trial_args(a), trial_args(b) };

    assert_memory_equal(a->grid, b->grid, sizeof a->grid);
    assert_memory_equal(a->block, b->block, sizeof a->block);
    assert_int_equal(a->smem, b->smem);
    assert_int_equal(a->overlap, b->overlap);
    assert_ptr_equal(a->window, b->window);
    assert_int_equal(args[0].arrived != NULL, args[1].arrived != NULL);
    args[0].arrived = args[1].arrived = NULL;
    assert_memory_equal(&args[0], &args[1], sizeof args[0]);
}

static void expect_same_plan(const char *spec)
{
    trial t = trial_make(spec);
    size_t workspace = heed_plan_workspace_size(t.plan);
    heed_cuda_facts facts = facts_of(&t);

    assert_int_equal(trial_execute(&t, &t.buffers), 1);
    const fake_launch built_in = trial_launches[0];
    assert_int_equal(replace(&t, &facts), HEED_OK);
    assert_string_equal(heed_plan_name(t.plan), "foreign");
    assert_int_equal(heed_plan_workspace_size(t.plan), workspace);
    assert_int_equal(trial_execute(&t, &t.buffers), 1);
    assert_string_equal(trial_launches[0].function, facts.launch.entry);
    expect_same(&built_in, &trial_launches[0]);
    trial_end(&t);
}

static void test_like_a_built_in(void **state)
{
    expect_same_plan(PLAIN);
    expect_same_plan(DECODING);
    expect_same_plan("b2 h4 s1024 d64 f16 causal");
}

/* A built-in kernel takes over for unsuitable addresses or strides. */
static void test_unaligned(void **state)
{
    trial t = trial_make(PLAIN);
    heed_cuda_facts facts = facts_of(&t);

    assert_int_equal(replace(&t, &facts), HEED_OK);
    heed_buffers shifted = t.buffers;
    shifted.q = (const char *)t.buffers.q + 2;
    trial_execute(&t, &t.buffers);
    assert_int_equal(trial_launches[0].block[0], facts.launch.threads);
    unsigned rows = trial_args(&trial_launches[0]).blocks;
    trial_execute(&t, &shifted);
    assert_true(trial_args(&trial_launches[0]).blocks > rows); /* a block of few rows */
    trial_end(&t);
}

/* With code that takes any address, nothing takes over. */
static void test_any_address(void **state)
{
    trial t = trial_make(PLAIN);
    const heed_cuda_facts facts = {
        .name = "any", .launch = { .entry = "any_address", .threads = 96, .rows = 24, .splits = 1 }
    };

    assert_int_equal(replace(&t, &facts), HEED_OK);
    heed_buffers shifted = t.buffers;
    shifted.q = (const char *)t.buffers.q + 2;
    trial_execute(&t, &shifted);
    assert_string_equal(trial_launches[0].function, "any_address");
    assert_int_equal(trial_launches[0].block[0], 96);
    assert_int_equal(trial_args(&trial_launches[0]).blocks, (1024 + 23) / 24);
    trial_end(&t);
}

static void test_refusals(void **state)
{
    trial t = trial_make(PLAIN);
    const heed_cuda_facts good = facts_of(&t);
    heed_cuda_facts facts = good;

    facts.launch.aligned = false;
    facts.launch.splits = 4;
    assert_int_equal(replace(&t, &facts), HEED_ERR_INVALID);
    facts = good;
    facts.launch.entry = "missing";
    assert_int_equal(replace(&t, &facts), HEED_ERR_DEVICE);
    facts = good;
    facts.launch.smem = (int64_t)1 << 30;
    assert_int_equal(replace(&t, &facts), HEED_ERR_DEVICE);
    trial_end(&t);
}

/* Every call that can fail fails once; scene_check() finds leaks. */
static void test_failures(void **state)
{
    trial t = trial_make(DECODING);
    const heed_cuda_facts facts = facts_of(&t);
    int call = 1, refused = 0;

    for (fake->failed = ""; fake->failed; call++) {
        fake->failed = NULL;
        scene_fail_at(NULL, call, 2);
        refused += replace(&t, &facts) != HEED_OK;
    }
    scene_fail_at(NULL, 0, 0);
    assert_true(refused > 5);
    assert_int_equal(trial_execute(&t, &t.buffers), 1);
    trial_end(&t);
}

RUN_SCENE_TESTS(scene_begin, test_like_a_built_in, test_unaligned, test_any_address, test_refusals,
                test_failures)
