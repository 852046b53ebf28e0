/*
 * test_cuda_prefix.c - shared key prefix on a CUDA device: launches for the prefix, for the other
 * keys and for the merge on one stream, without waiting (fake_cuda.h)
 */
#include "run_tests.h"

#include <stdint.h>
#include <string.h>

#include "cuda/prefix.h"
#include "cuda_trial.h"
#include "device.h"
#include "internal.h"

#define PAGED "b4 h4 s1/256 d64 f16 lengths causal=br prefix=128 paged=16/44"
#define PADDED "b4 h4 s2/256 d64 f16 causal=br prefix=100"
#define PACKED "b4 h4 s9/256 d64 f16 varlen=17/0 lengths causal=br prefix=128 paged=16/44"

/* A trial with the operands of its problem. */
typedef struct setting {
    trial t;
    void *memory[3];
} setting;

/* Uses a device on which the planner has one kernel for both parts. */
static setting open_setting(const char *spec)
{
    fake->arch = 80;
    setting s = { .t = trial_make(spec) };
    for (int i = 0; i < 3; i++)
        s.memory[i] = trial_room(s.t.context, 1 << 16);
    s.t.buffers.lengths = s.memory[0];
    s.t.buffers.table = s.memory[1];
    s.t.buffers.cu_seqlens_q = s.memory[2];
    return s;
}

static void close_setting(setting *s)
{
    for (int i = 0; i < 3; i++)
        heed_device_free(s->t.context, s->memory[i]);
    trial_end(&s->t);
}

static heed_cuda_merge_args merge_args(const fake_launch *launch)
{
    heed_cuda_merge_args args;
    memcpy(&args, launch->kept, sizeof args);
    return args;
}

/* The launches are attention twice and then the merge, on one stream. */
static void expect_launches(const setting *s, const heed_buffers *buffers, int count)
{
    assert_int_equal(trial_execute(&s->t, buffers), count);
    assert_string_equal(trial_launches[0].function, "heed_attend");
    assert_string_equal(trial_launches[count - 1].function, "heed_merge_wide");
    for (int i = 1; i < count; i++) {
        assert_ptr_equal(trial_launches[i].stream, trial_launches[0].stream);
        assert_int_equal(trial_launches[i].overlap, trial_launches[0].overlap);
    }
}

static void test_three_launches(void **state)
{
    setting s = open_setting(PAGED);
    const heed_buffers *b = &s.t.buffers;
    const char *begin = b->workspace, *end = begin + heed_plan_workspace_size(s.t.plan);
    expect_launches(&s, &s.t.buffers, 3);
    const heed_cuda_args part = trial_args(&trial_launches[0]);
    const heed_cuda_args rest = trial_args(&trial_launches[1]);
    const heed_cuda_merge_args merge = merge_args(&trial_launches[2]);
    assert_ptr_equal(part.q, b->q);
    assert_ptr_equal(part.k, b->k);
    assert_ptr_equal(part.changes.table, b->table);
    assert_int_equal(part.rows, 4);
    assert_int_equal(part.seq_k, 128);
    assert_int_equal(part.heads, 4);
    assert_ptr_equal(rest.k, b->k);
    assert_ptr_equal(rest.o, b->o);
    assert_ptr_equal(rest.lse, b->lse);
    assert_ptr_equal(rest.changes.table, (const int32_t *)b->table + 8);
    assert_int_equal(rest.changes.table_stride, 16);
    assert_ptr_equal(rest.changes.lengths, b->lengths);
    assert_int_equal(rest.changes.ahead, 128);
    assert_int_equal(rest.seq_k, 128);
    assert_ptr_equal(merge.o, b->o);
    assert_ptr_equal(merge.lse, b->lse);
    assert_ptr_equal(merge.rest_lse, b->lse);
    assert_ptr_equal(merge.part, part.o);
    assert_ptr_equal(merge.part_lse, part.lse);
    assert_null(merge.end);
    assert_int_equal(merge.rows, 16);
    assert_int_equal(merge.dim, 64);
    assert_int_equal(trial_launches[2].grid[0], 4);
    assert_int_equal(trial_launches[2].block[0], 128);
    assert_true((const char *)part.o >= begin && (const char *)part.o + 16 * 64 * 2 <= end);
    assert_true((const char *)part.lse >= begin && (const char *)(part.lse + 16) <= end);
    close_setting(&s);
}

/* Keys of padded tensors follow their prefix, and an LSE that was not requested is in the
 * workspace. */
static void test_padded_tensors(void **state)
{
    setting s = open_setting(PADDED);
    const heed_buffers *b = &s.t.buffers;
    const char *begin = b->workspace, *end = begin + heed_plan_workspace_size(s.t.plan);
    heed_buffers silent = s.t.buffers;
    silent.lse = NULL;
    expect_launches(&s, &silent, 3);
    const heed_cuda_args part = trial_args(&trial_launches[0]);
    const heed_cuda_args rest = trial_args(&trial_launches[1]);
    const heed_cuda_merge_args merge = merge_args(&trial_launches[2]);
    assert_ptr_equal(part.k, b->k);
    assert_int_equal(part.rows, 8);
    assert_ptr_equal(rest.k, (const char *)b->k + 100 * 4 * 64 * 2);
    assert_ptr_equal(rest.v, (const char *)b->v + 100 * 4 * 64 * 2);
    assert_int_equal(rest.k_stride.batch, 256 * 4 * 64);
    assert_int_equal(rest.visible, 156 - 2 + 1);
    assert_null(merge.lse);
    assert_ptr_equal(merge.rest_lse, rest.lse);
    assert_true((const char *)rest.lse >= begin && (const char *)(rest.lse + 32) <= end);
    assert_true(rest.lse >= part.lse + 32 || part.lse >= rest.lse + 32);
    close_setting(&s);
}

static void test_packed_queries(void **state)
{
    setting s = open_setting(PACKED);
    expect_launches(&s, &s.t.buffers, 3);
    const heed_cuda_args part = trial_args(&trial_launches[0]);
    const heed_cuda_merge_args merge = merge_args(&trial_launches[2]);
    assert_int_equal(part.rows, 17);
    assert_int_equal(merge.rows, 17 * 4);
    assert_ptr_equal(merge.end, (const int32_t *)s.t.buffers.cu_seqlens_q + 4);
    close_setting(&s);
}

/* Unaligned outputs are merged element by element. */
static void test_any_address_will_do(void **state)
{
    setting s = open_setting(PAGED);
    heed_buffers odd = s.t.buffers;
    odd.o = (char *)odd.o + 2;
    assert_int_equal(trial_execute(&s.t, &odd), 3);
    assert_string_equal(trial_launches[2].function, "heed_merge_any");
    close_setting(&s);
}

/* New keys are appended first. */
static void test_new_keys_come_first(void **state)
{
    setting s = open_setting(
        "b4 h4 s1/256 d64 f16 lengths causal=br prefix=128 append=1 paged=16/44");
    void *added[2] = { trial_room(s.t.context, 1 << 12), trial_room(s.t.context, 1 << 12) };
    s.t.buffers.k_new = added[0];
    s.t.buffers.v_new = added[1];
    assert_int_equal(trial_execute(&s.t, &s.t.buffers), 4);
    assert_string_equal(trial_launches[0].function, "heed_append_wide");
    assert_string_equal(trial_launches[1].function, "heed_attend");
    assert_string_equal(trial_launches[2].function, "heed_attend");
    assert_string_equal(trial_launches[3].function, "heed_merge_wide");
    heed_device_free(s.t.context, added[0]);
    heed_device_free(s.t.context, added[1]);
    close_setting(&s);
}

/* Pointers outside device memory are refused before anything is launched. */
static void test_bad_pointers(void **state)
{
    static _Alignas(16) char host[1 << 10];
    setting s = open_setting(PAGED);
    heed_buffers bad = s.t.buffers;
    bad.o = host;
    trial_launch_count = 0;
    assert_int_equal(heed_execute(s.t.plan, &bad), HEED_ERR_INVALID);
    assert_non_null(strstr(heed_message(), "o is"));
    assert_int_equal(trial_launch_count, 0);
    assert_int_equal(fake->depth, 0);
    close_setting(&s);
}

static void test_trusted_pointers(void **state)
{
    setting s = open_setting(PAGED);
    assert_int_equal(trial_execute_trusted(&s.t), 3);
    close_setting(&s);
}

RUN_SCENE_TESTS(scene_begin_uncached, test_three_launches, test_padded_tensors, test_packed_queries,
                test_any_address_will_do, test_new_keys_come_first, test_bad_pointers,
                test_trusted_pointers)
