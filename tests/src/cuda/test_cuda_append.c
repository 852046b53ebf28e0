/*
 * test_cuda_append.c - appended keys and values on a CUDA device: a launch before the kernel's, on
 * the same stream, without waiting, also in a captured graph (fake_cuda.h)
 */
#include "run_tests.h"

#include <stdio.h>
#include <string.h>

#include "cuda/append.h"
#include "cuda_trial.h"
#include "device.h"
#include "internal.h"

#define PLAIN_APPEND "b2 h4 s1/1024 d64 f16 lengths causal=br append=1"
#define ROTATED PLAIN_APPEND " rotary=64"

/* Tensors needed for appending. */
typedef struct others {
    void *memory[5];
} others;

static others give_others(trial *t)
{
    others o;
    for (int i = 0; i < 5; i++)
        o.memory[i] = trial_room(t->context, 1 << 20);
    t->buffers.lengths = o.memory[0];
    t->buffers.k_new = o.memory[1];
    t->buffers.v_new = o.memory[2];
    t->buffers.rotary_cos = o.memory[3];
    t->buffers.rotary_sin = o.memory[4];
    return o;
}

static void end_all(trial *t, others *o)
{
    for (int i = 0; i < 5; i++)
        heed_device_free(t->context, o->memory[i]);
    trial_end(t);
}

static heed_cuda_append_args append_args(const fake_launch *launch)
{
    heed_cuda_append_args args;
    memcpy(&args, launch->kept, sizeof args);
    return args;
}

static void test_two_launches(void **state)
{
    trial t = trial_make(PLAIN_APPEND);
    others o = give_others(&t);
    assert_int_equal(trial_execute(&t, &t.buffers), 2);
    const heed_cuda_append_args first = append_args(&trial_launches[0]);
    const heed_cuda_args second = trial_args(&trial_launches[1]);
    assert_string_equal(trial_launches[0].function, "heed_append_wide");
    assert_string_equal(trial_launches[1].function, "heed_attend");
    assert_ptr_equal(first.k, t.buffers.k);
    assert_ptr_equal(first.v, t.buffers.v);
    assert_ptr_equal(first.k_new, t.buffers.k_new);
    assert_ptr_equal(first.v_new, t.buffers.v_new);
    assert_ptr_equal(first.lengths, t.buffers.lengths);
    assert_null(first.queries);
    assert_null(first.table);
    assert_int_equal(first.vectors, 2 * 4 * 2);
    assert_int_equal(trial_launches[0].grid[0], 4);
    assert_int_equal(trial_launches[0].block[0], 128);
    assert_ptr_equal(second.q, t.buffers.q);
    assert_ptr_equal(second.k, t.buffers.k);
    assert_int_equal(trial_launches[0].overlap, trial_launches[1].overlap);
    assert_ptr_equal(trial_launches[0].stream, trial_launches[1].stream);
    end_all(&t, &o);
}

/* Attention reads the rotated queries, which follow its own part of the workspace. */
static void test_rotated_queries(void **state)
{
    trial t = trial_make(ROTATED), plain = trial_make(PLAIN_APPEND);
    others o = give_others(&t);
    const size_t own = heed_plan_workspace_size(plain.plan);
    const size_t before = (own + HEED_ALIGNMENT - 1) / HEED_ALIGNMENT * HEED_ALIGNMENT;
    assert_int_equal(heed_plan_workspace_size(t.plan), before + 2 * 4 * 64 * 2);
    assert_string_equal(heed_plan_name(t.plan), heed_plan_name(plain.plan));
    assert_int_equal(trial_execute(&t, &t.buffers), 2);
    const heed_cuda_append_args first = append_args(&trial_launches[0]);
    const heed_cuda_args second = trial_args(&trial_launches[1]);
    assert_ptr_equal(first.q, t.buffers.q);
    assert_ptr_equal(first.cosines, t.buffers.rotary_cos);
    assert_ptr_equal(first.sines, t.buffers.rotary_sin);
    assert_ptr_equal(first.queries, (char *)t.buffers.workspace + before);
    assert_ptr_equal(second.q, first.queries);
    assert_int_equal(first.vectors, 2 * 4 * 2 + 2 * 4);
    end_all(&t, &o);
    trial_end(&plain);
}

/* With packed queries, and with packed new keys, the launch reads the first rows of sequences. With
 * a prefix it also writes the queries after the last sequence. */
static void test_packed(void **state)
{
    static const char *const specs[] = { "varlen=5/0 append=3:packed rotary=64",
                                         "varlen=5/0 append=3 rotary=64 cu_q=i64 prefix=8" };
    for (int i = 0; i < 2; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "b2 h4 s3/1024 d64 f16 lengths causal=br %s", specs[i]);
        trial t = trial_make(spec);
        others o = give_others(&t);
        void *cu = trial_room(t.context, 64);
        t.buffers.cu_seqlens_q = cu;
        assert_in_range(trial_execute(&t, &t.buffers), 2, 4);
        const heed_cuda_append_args first = append_args(&trial_launches[0]);
        assert_string_equal(trial_launches[0].function, "heed_append_wide");
        assert_ptr_equal(first.cu_q, cu);
        assert_int_equal(first.cu_q_words, 1 + i);
        assert_int_equal(first.sequences, 2);
        assert_int_equal(first.all, i);
        assert_int_equal(first.keys, i ? 2 * 3 * 4 : 5 * 4);
        assert_int_equal(first.vectors, 2 * first.keys + 5 * 4);
        t.buffers.cu_seqlens_q = specs;
        trial_launch_count = 0;
        assert_int_equal(heed_execute(t.plan, &t.buffers), HEED_ERR_INVALID);
        assert_non_null(strstr(heed_message(), "cu_seqlens_q"));
        assert_int_equal(trial_launch_count, 0);
        heed_device_free(t.context, cu);
        end_all(&t, &o);
    }
}

static void test_any_address_will_do(void **state)
{
    trial t = trial_make(ROTATED);
    others o = give_others(&t);
    heed_buffers odd = t.buffers;
    odd.k_new = (const char *)odd.k_new + 2;
    assert_int_equal(trial_execute(&t, &odd), 2);
    assert_string_equal(trial_launches[0].function, "heed_append_any");
    assert_string_equal(trial_launches[1].function, "heed_attend");
    end_all(&t, &o);
}

/* Nothing is written unless all pointers are memory of the device. */
static void test_bad_pointers_launch_nothing(void **state)
{
    static const text_integer fields[] = { { "k_new", offsetof(heed_buffers, k_new) },
                                           { "v_new", offsetof(heed_buffers, v_new) },
                                           { "rotary_cos", offsetof(heed_buffers, rotary_cos) },
                                           { "rotary_sin", offsetof(heed_buffers, rotary_sin) },
                                           { "o", offsetof(heed_buffers, o) },
                                           { "q", offsetof(heed_buffers, q) },
                                           { "lengths", offsetof(heed_buffers, lengths) } };
    static _Alignas(16) char host[1 << 10];
    const void *const wrong = host;
    trial t = trial_make(ROTATED);
    others o = give_others(&t);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        heed_buffers bad = t.buffers;
        memcpy((char *)&bad + fields[i].value, &wrong, sizeof wrong);
        trial_launch_count = 0;
        assert_int_equal(heed_execute(t.plan, &bad), HEED_ERR_INVALID);
        assert_non_null(strstr(heed_message(), fields[i].text));
        assert_int_equal(trial_launch_count, 0);
        assert_int_equal(fake->depth, 0);
    }
    end_all(&t, &o);
}

static void test_trusted_pointers(void **state)
{
    trial t = trial_make(ROTATED);
    others o = give_others(&t);
    assert_int_equal(trial_execute_trusted(&t), 2);
    end_all(&t, &o);
}

RUN_SCENE_TESTS(scene_begin_uncached, test_two_launches, test_rotated_queries, test_packed,
                test_any_address_will_do, test_bad_pointers_launch_nothing, test_trusted_pointers)
