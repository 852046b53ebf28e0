/*
 * test_cuda_check.c - HEED_CHECK=1 on a CUDA device: out-of-range lengths, cumulative lengths and
 * pages and decreasing starts are reported before executions and graph launches, and nothing is
 * launched; addresses are checked first, and captures work (fake_cuda.h)
 */
#include "run_tests.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_trial.h"
#include "device.h"

#define PAGED "b2 h4 s1/256 d64 f16 lengths causal=br paged=64/8"
#define PACKED "b2 h4 s64 d64 f16 varlen=100"
#define APPENDING "b2 h4 s1/256 d64 f16 lengths causal=br append=2"
#define STARTING "b2 h4 s4/256 d64 f16 starts=bq" /* starts are in the table */
#define PREFIXED "b2 h4 s1/256 d64 f16 lengths causal=br prefix=128 paged=64/8"

/* Operands in device memory. */
typedef struct numbers {
    int32_t lengths[2], table[8], cu[3];
} numbers;

static const struct {
    const char *spec;
    numbers numbers;
    const char *fault; /* NULL: none */
} cases[] = {
    { PAGED, { { 256, 3 }, { 0, 1, 2, 7, 4, -1, 99, 8 }, { 0 } }, NULL },
    { PAGED, { { 257, 3 }, { 0 }, { 0 } }, "lengths[0] is 257; it must be 0 to 256" },
    { PAGED, { { 256, 3 }, { 0, 1, 2, 8 }, { 0 } }, "table[0][3] is 8; it must be 0 to 7" },
    { PACKED, { { 0 }, { 0 }, { 0, 40, 100 } }, NULL },
    { PACKED,
      { { 0 }, { 0 }, { 0, 70, 100 } },
      "cu_seqlens_q[1] is 70; it must be 0 to 64, as no sequence may be longer than 64" },
    { APPENDING, { { 256, 2 }, { 0 }, { 0 } }, NULL },
    { APPENDING,
      { { 256, 1 }, { 0 }, { 0 } },
      "lengths[1] is 1; it must be 2 to 256: it includes new keys" },
    { STARTING, { { 0 }, { 0, 3, 3, 200, -4, -4, 5, 300 }, { 0 } }, NULL },
    { STARTING, { { 0 }, { 0, 3, 3, 200, 9, 9, 8, 9 }, { 0 } }, "starts[1][2] is 8; it must be 9" },
    { PREFIXED, { { 256, 192 }, { 0, 1, 2, 3, -1, -1, 7, 8 }, { 0 } }, NULL },
    { PREFIXED, { { 256, 128 }, { 0 }, { 0 } }, "lengths[1] is 128; it must be 129 to 256" },
    { PREFIXED, { { 256, 192 }, { 0, 1, 2, 3, 4, 5, 9 }, { 0 } }, "table[1][2] is 9; it must be" },
};
#define CASES (sizeof cases / sizeof *cases)

/* A trial with the numbers of its problem, and appended keys. */
typedef struct setting {
    trial t;
    numbers *numbers;
    void *added;
} setting;

static setting open_setting(const char *spec)
{
    fake->arch = 80; /* here the planner has one kernel for the prefix and the other keys */
    setting s = { .t = trial_make(spec) };
    s.numbers = trial_room(s.t.context, sizeof *s.numbers);
    s.added = trial_room(s.t.context, 1 << 12);
    s.t.buffers.lengths = s.numbers->lengths; /* the fake's memory is the host's */
    s.t.buffers.table = s.t.buffers.starts = s.numbers->table;
    s.t.buffers.cu_seqlens_q = s.t.buffers.cu_seqlens_k = s.numbers->cu;
    s.t.buffers.k_new = s.t.buffers.v_new = s.added;
    return s;
}

static void close_setting(setting *s)
{
    heed_device_free(s->t.context, s->numbers);
    heed_device_free(s->t.context, s->added);
    trial_end(&s->t);
}

static void expect_fault(heed_status status, const char *fault)
{
    assert_int_equal(status, HEED_ERR_INVALID);
    if (!strstr(heed_message(), fault))
        fail_msg("%s, not %s", heed_message(), fault);
    assert_int_equal(trial_launch_count, 0);
    assert_int_equal(fake->depth, 0);
}

static void test_faults_are_named(void **state)
{
    for (size_t i = 0; i < CASES; i++) {
        setting s = open_setting(cases[i].spec);
        *s.numbers = cases[i].numbers;
        trial_launch_count = 0;
        if (cases[i].fault)
            expect_fault(heed_execute(s.t.plan, &s.t.buffers), cases[i].fault);
        else
            assert_true(trial_execute(&s.t, &s.t.buffers) > 0);
        close_setting(&s);
    }
}

/* Nothing is read at an address outside device memory. */
static void test_addresses_come_first(void **state)
{
    static const numbers host;
    static const struct {
        const char *spec, *name;
        size_t place;
        const void *wrong;
    } fields[] = {
        { PAGED, "lengths is", offsetof(heed_buffers, lengths), host.lengths },
        { PREFIXED, "table is", offsetof(heed_buffers, table), host.table },
        { PACKED, "cu_seqlens_q is", offsetof(heed_buffers, cu_seqlens_q), host.cu },
        { PACKED, "cu_seqlens_k is", offsetof(heed_buffers, cu_seqlens_k), host.cu },
        { APPENDING, "lengths is", offsetof(heed_buffers, lengths), host.lengths },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        setting s = open_setting(fields[i].spec);
        heed_buffers bad = s.t.buffers;
        memcpy((char *)&bad + fields[i].place, &fields[i].wrong, sizeof fields[i].wrong);
        trial_launch_count = 0;
        expect_fault(heed_execute(s.t.plan, &bad), fields[i].name);
        close_setting(&s);
    }
}

/* Not even trusted pointers are used unchecked. */
static void test_trust_is_checked(void **state)
{
    static _Alignas(16) char host[64];
    setting s = open_setting(PAGED);
    memset(s.numbers, 0, sizeof *s.numbers);
    heed_buffers bad = s.t.buffers;
    bad.trusted = 1;
    bad.q = host;
    trial_launch_count = 0;
    expect_fault(heed_execute(s.t.plan, &bad), "q is");
    close_setting(&s);
}

/* A graph is created whatever the numbers are at that time, and each launch of it checks them. */
static void test_launches_of_graphs(void **state)
{
    for (size_t i = 0; i < CASES; i++) {
        setting s = open_setting(cases[i].spec);
        heed_graph *graph;
        memset(s.numbers, 0x7f, sizeof *s.numbers);
        trial_launch_count = 0;
        if (heed_graph_create(&graph, s.t.plan, &s.t.buffers) != HEED_OK)
            fail_msg("%s: %s", cases[i].spec, heed_message());
        *s.numbers = cases[i].numbers;
        if (cases[i].fault)
            expect_fault(heed_graph_launch(graph, NULL), cases[i].fault);
        else
            assert_int_equal(heed_graph_launch(graph, NULL), HEED_OK);
        assert_int_equal(trial_launch_count > 0, !cases[i].fault);
        heed_graph_destroy(graph);
        close_setting(&s);
    }
}

static heed_status execute(void *data, int index, void *stream)
{
    const trial *t = data;
    heed_buffers buffers = t->buffers;
    buffers.stream = stream;
    return heed_execute(t->plan, &buffers);
}

/* Executions that the planner and the laboratory capture for timing are not checked. */
static void test_captures(void **state)
{
    setting s = open_setting(PAGED);
    heed_replay replay;
    double seconds;
    memset(s.numbers, 0x7f, sizeof *s.numbers);
    trial_launch_count = 0;
    assert_int_equal(heed_replay_create(&replay, s.t.context, execute, &s.t, 3), HEED_OK);
    assert_int_equal(heed_replay_run(&replay, &seconds), HEED_OK);
    assert_true(trial_launch_count >= 3);
    heed_replay_destroy(&replay);
    close_setting(&s);
}

/* The driver's error text if it cannot report whether a stream is being captured. */
static void test_refused_question(void **state)
{
    setting s = open_setting(PAGED);
    scene_fail_at("cuStreamIsCapturing", 1, 999);
    trial_launch_count = 0;
    assert_int_equal(heed_execute(s.t.plan, &s.t.buffers), HEED_ERR_DEVICE);
    assert_non_null(strstr(heed_message(), "querying whether a stream is captured"));
    assert_int_equal(trial_launch_count, 0);
    close_setting(&s);
}

int main(void)
{
    setenv("HEED_CHECK", "1", 1);
    return run_test_list(TEST_LIST_EACH(scene_reset, scene_check, test_faults_are_named,
                                        test_addresses_come_first, test_trust_is_checked,
                                        test_launches_of_graphs, test_captures,
                                        test_refused_question),
                         scene_begin_uncached, NULL);
}
