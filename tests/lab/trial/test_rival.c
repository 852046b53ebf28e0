/*
 * test_rival.c - the requests of the protocol, tested with misbehaving scripts and with the naive
 * peer
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expect.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/trial/peer/rival.h"
#include "lab/verify/reference/reference.h"
#include "problems.h"
#include "scratch.h"

static const char *folder;

static int open_folder(void **state)
{
    int failed = scratch_open(state);
    folder = *state;
    return failed;
}

#define HELLO                                                                                      \
    "hello() { printf '%s\\n' '{\"status\": \"ok\", \"protocol\": \"heed.trial/1\", \"threads\": " \
    "2, "                                                                                          \
    "\"version\": \"7\\n\\u001b[31m\", \"detail\": \"d\"}'; }\n"                                   \
    "ok() { echo '{\"status\": \"ok\"}'; }\n"

/* Opens a rival that is a shell script. */
static lab_answer open_script(lab_rival *rival, const char *body)
{
    lab_found found = { .name = "fake" };
    char text[4096];

    snprintf(found.path, sizeof found.path, "%s/fake_peer", folder);
    unlink(found.path);
    int length = snprintf(text, sizeof text, "#!/bin/sh\ncd %s\n%s%s\n", folder, HELLO, body);
    assert_in_range(length, 1, sizeof text - 1);
    scratch_write(found.path, text, (size_t)length);
    assert_int_equal(chmod(found.path, 0700), 0);
    return lab_rival_open(rival, &found, 2, "", NULL);
}

static void expect_reason(const lab_rival *rival, const char *words)
{
    if (!strstr(rival->reason, words))
        fail_msg("\"%s\" lacks \"%s\"", rival->reason, words);
}

static const float ones[64] = { 1 };
static const lab_rival_data small_data = { .q = ones, .k = ones, .v = ones };
#define SMALL "b1 h1 s2 d4 f32"

static void test_hello(void **state)
{
    lab_rival rival;

    assert_int_equal(open_script(&rival, "read x; hello; read x; ok"), LAB_ANSWER_OK);
    assert_string_equal(rival.version, "7  [31m"); /* no terminal escapes */
    assert_string_equal(rival.detail, "d");
    assert_false(rival.ceiling);
    lab_rival_close(&rival);
}

static void test_bad_hellos(void **state)
{
    static const text_code cases[] = {
        { "{\"status\":\"unsupported\",\"reason\":\"no torch\"}", LAB_ANSWER_UNSUPPORTED,
          "no torch" },
        { "{\"status\":\"error\"}", LAB_ANSWER_ERROR, "gave no reason" },
        { "{\"status\":\"ok\"}", LAB_ANSWER_ERROR, "another protocol" },
        { "{\"status\":\"ok\",\"protocol\":\"heed.trial/2\",\"threads\":2}", LAB_ANSWER_ERROR,
          "another protocol" },
        { "{\"status\":\"ok\",\"protocol\":\"heed.trial/1\",\"threads\":1}", LAB_ANSWER_ERROR,
          "requested number of threads" },
        { "good morning", LAB_ANSWER_LOST, "not a reply" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[256];
        lab_rival rival;
        snprintf(body, sizeof body, "read x; echo '%s'; read x", cases[i].given);
        assert_int_equal(open_script(&rival, body), cases[i].code);
        expect_reason(&rival, cases[i].wanted);
        lab_rival_close(&rival);
    }
}

static void test_refused_problem(void **state)
{
    heed_problem problem = parsed(SMALL);
    lab_rival rival;

    assert_int_equal(open_script(&rival,
                                 "read x; hello; read x; "
                                 "echo '{\"status\":\"unsupported\",\"reason\":\"only f16\"}'"
                                 "; read x; ok"),
                     LAB_ANSWER_OK);
    assert_int_equal(lab_rival_prepare(&rival, &problem, &small_data, 1), LAB_ANSWER_UNSUPPORTED);
    expect_reason(&rival, "only f16");
    lab_rival_release(&rival); /* sends nothing, since nothing is prepared */
    lab_rival_close(&rival);
}

static void test_bad_runs(void **state)
{
    const char *const *replies = WORDS(
        "{\"status\":\"ok\"}", "{\"status\":\"ok\",\"calls\":3,\"ns\":0}",
        "{\"status\":\"ok\",\"calls\":3,\"ns\":-5}", "{\"status\":\"ok\",\"calls\":2,\"ns\":500}",
        "{\"status\":\"ok\",\"calls\":3,\"ns\":1.5}",
        "{\"status\":\"ok\",\"calls\":\"3\",\"ns\":500}");
    heed_problem problem = parsed(SMALL);

    for (size_t i = 0; replies[i]; i++) {
        char body[256];
        double seconds;
        lab_rival rival;
        snprintf(body, sizeof body, "read x; hello; read x; ok; read x; echo '%s'; read x; ok",
                 replies[i]);
        assert_int_equal(open_script(&rival, body), LAB_ANSWER_OK);
        assert_int_equal(lab_rival_prepare(&rival, &problem, &small_data, 1), LAB_ANSWER_OK);
        assert_int_equal(lab_rival_run(&rival, 0, 3, 1, &seconds), LAB_ANSWER_ERROR);
        expect_reason(&rival, "impossible");
        lab_rival_close(&rival);
    }
}

/* The O that a rival writes must have the right size. */
static void test_bad_check(void **state)
{
    heed_problem problem = parsed(SMALL);
    float o[8];
    lab_rival rival;

    assert_int_equal(open_script(&rival, "read x; hello; read x; ok; read x; ok; read x; ok"),
                     LAB_ANSWER_OK);
    assert_int_equal(lab_rival_prepare(&rival, &problem, &small_data, 1), LAB_ANSWER_OK);
    assert_int_equal(lab_rival_check(&rival, NULL, 0, o, sizeof o), LAB_ANSWER_ERROR);
    expect_reason(&rival, "another size");
    lab_rival_close(&rival);
}

/* A rival that crashes is restarted for the next problem, but not forever. */
static void test_crashes_are_survived(void **state)
{
    heed_problem problem = parsed(SMALL);
    double seconds;
    lab_rival rival;
    int prepared = 0;

    assert_int_equal(open_script(&rival, "read x; hello; read x; ok; read x; kill -SEGV $$"),
                     LAB_ANSWER_OK);
    for (int i = 0; i < 10; i++) {
        if (lab_rival_prepare(&rival, &problem, &small_data, 1) != LAB_ANSWER_OK)
            continue;
        prepared++;
        assert_int_equal(lab_rival_run(&rival, 0, 1, 1, &seconds), LAB_ANSWER_LOST);
        assert_int_equal(rival.lost, LAB_PEER_CRASHED);
        expect_reason(&rival, "signal 11");
        assert_int_equal(lab_rival_run(&rival, 0, 1, 1, &seconds), LAB_ANSWER_LOST);
        lab_rival_pause(&rival);
        lab_rival_release(&rival);
    }
    assert_in_range(prepared, 2, 6);
    lab_rival_close(&rival);
}

/* Operands are passed in separate files, with names, types and shapes. */
static void test_operands(void **state)
{
    static float bias[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static int32_t doc[2] = { 7, 9 };
    const lab_rival_operand operands[] = {
        { "bias", NULL, "f32", { 1, 2, 1, 4 }, 4, bias, sizeof bias },
        { "arrays[0]", "doc", "i32", { 2 }, 1, doc, sizeof doc },
    };
    lab_rival_data data = small_data;
    char path[600], text[sizeof bias + sizeof doc + 1];
    heed_problem problem = parsed(SMALL);
    lab_rival rival;
    data.operands = operands;
    data.operand_count = 2;
    assert_int_equal(open_script(&rival,
                                 "read x; hello; read x; printf '%s' \"$x\" >asked; "
                                 "for f in $(grep -o '\"/proc[^\"]*\"' asked | tr -d '\"' | "
                                 "tail -2); do cat $f; done >data; ok; read x; ok"),
                     LAB_ANSWER_OK);
    assert_int_equal(lab_rival_prepare(&rival, &problem, &data, 1), LAB_ANSWER_OK);
    lab_rival_close(&rival);
    snprintf(path, sizeof path, "%s/asked", folder);
    json_t *asked = json_load_file(path, 0, NULL);
    const json_t *list = json_object_get(asked, "operands");
    const json_t *first = json_array_get(list, 0), *second = json_array_get(list, 1);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "bias");
    assert_null(json_object_get(first, "array"));
    assert_int_equal(json_array_size(json_object_get(first, "shape")), 4);
    assert_string_equal(json_string_value(json_object_get(second, "array")), "doc");
    assert_string_equal(json_string_value(json_object_get(second, "type")), "i32");
    json_decref(asked);
    snprintf(path, sizeof path, "%s/data", folder);
    assert_int_equal(scratch_read(path, text, sizeof text), sizeof bias + sizeof doc);
    assert_memory_equal(text, bias, sizeof bias);
    assert_memory_equal(text + sizeof bias, doc, sizeof doc);
}

/* Packed tensors, pools of pages, and a V that is a part of K: the sizes of the files of Q, K and
 * V, and of O, in bytes. */
static void test_serving(void **state)
{
    static const struct {
        const char *spec, *sizes, *member;
        size_t output;
    } rows[] = {
        { "b3 h4/2 s9/20 d8/4 f16 varlen=14/33", "896 1056 528", "tokens_k", (size_t)14 * 16 * 2 },
        { "b3 h4/2 s9/20 d8/4 f16 varlen=14/0", "896 1920 960", "tokens_q", (size_t)14 * 16 * 2 },
        { "b3 h4/2 s2/20 d8/4 f16 paged=5/7", "384 1120 560", "pages", (size_t)6 * 16 * 2 },
        { "b3 h4/2 s2/20 d8/4 f16 shared", "384 1920 0", "seq_k", (size_t)6 * 16 * 2 },
    };
    static char values[4096];
    const lab_rival_data data = { .q = values, .k = values, .v = values };
    char path[600], text[100];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_problem problem = parsed(rows[i].spec);
        lab_rival rival;
        assert_int_equal(open_script(&rival,
                                     "read x; hello; read x; printf '%s' \"$x\" >asked; "
                                     "printf '%s ' $(for f in $(grep -o '\"/proc[^\"]*\"' asked "
                                     "| tr -d '\"' | head -3); do stat -Lc %s $f; done) >data; "
                                     "ok; read x; ok"),
                         LAB_ANSWER_OK);
        assert_int_equal(lab_rival_prepare(&rival, &problem, &data, 1), LAB_ANSWER_OK);
        assert_int_equal(rival.o_size, rows[i].output);
        lab_rival_close(&rival);
        snprintf(path, sizeof path, "%s/data", folder);
        const int length = (int)scratch_read(path, text, sizeof text);
        if (length < 1 || strncmp(text, rows[i].sizes, (size_t)length - 1) != 0)
            fail_msg("%s: %.*s", rows[i].spec, length, text);
        snprintf(path, sizeof path, "%s/asked", folder);
        json_t *asked = json_load_file(path, 0, NULL);
        assert_true(json_is_integer(json_object_get(asked, rows[i].member)));
        json_decref(asked);
    }
}

/* Runs the naive peer on @spec and compares every element of O with the float64 reference. */
static void run_naive(const char *spec)
{
    heed_problem problem = parsed(spec);
    heed_problem dense = problem;
    lab_found found = { .path = HEED_BUILD_DIR "/peers/naive_peer" };
    void *tensors[4];
    size_t counts[4] = {
        (size_t)(problem.batch * problem.seq_q * problem.heads_q * problem.dim_qk),
        (size_t)(problem.batch * problem.seq_k * problem.heads_kv * problem.dim_qk),
        (size_t)(problem.batch * problem.seq_k * problem.heads_kv * problem.dim_v),
        (size_t)(problem.batch * problem.seq_q * problem.heads_q * problem.dim_v)
    };
    size_t element = heed_type_size(problem.type);
    double seconds;
    lab_rival rival;

    memset(&dense.q, 0, sizeof dense.q);
    memset(&dense.k, 0, sizeof dense.k);
    memset(&dense.v, 0, sizeof dense.v);
    memset(&dense.o, 0, sizeof dense.o);
    assert_int_equal(heed_problem_normalize(&dense, &dense), HEED_OK);
    for (int t = 0; t < 4; t++) {
        tensors[t] = calloc(counts[t], element);
        for (size_t i = 0; i < counts[t]; i++)
            lab_element_set(problem.type, tensors[t], (int64_t)i,
                            lab_random_normal((uint64_t)t, i));
    }
    lab_rival_data data = { .q = tensors[0], .k = tensors[1], .v = tensors[2] };
    assert_int_equal(lab_rival_open(&rival, &found, 2, "", NULL), LAB_ANSWER_OK);
    assert_int_equal(lab_rival_prepare(&rival, &problem, &data, 3), LAB_ANSWER_OK);
    assert_int_equal(lab_rival_prepare(&rival, &problem, &data, 3), LAB_ANSWER_ERROR);
    assert_int_equal(lab_rival_run(&rival, 1, 4, 1, &seconds), LAB_ANSWER_OK);
    assert_true(seconds > 0 && seconds < 10);
    lab_rival_pause(&rival);
    assert_int_equal(lab_rival_check(&rival, NULL, 0, tensors[3], counts[3] * element),
                     LAB_ANSWER_OK);

    heed_buffers buffers = {
        .size = sizeof buffers, .q = tensors[0], .k = tensors[1], .v = tensors[2]
    };
    double *weights = calloc((size_t)problem.seq_k, sizeof *weights);
    for (int64_t n = 0; n < lab_rows(&dense); n++) {
        double o[HEED_DIM_MAX];
        double lse;
        lab_row row = lab_row_at(&dense, n);
        int64_t first = ((row.batch * dense.seq_q + row.query) * dense.heads_q + row.head) *
                        dense.dim_v;
        lab_reference_row(&dense, &buffers, row, weights, o, &lse);
        for (int64_t d = 0; d < dense.dim_v; d++) {
            double got = lab_element_get(dense.type, tensors[3], first + d);
            if (!(fabs(got - o[d]) <= 1e-5 + lab_type_unit(dense.type) * 2 * fabs(o[d])))
                fail_msg("%s row %lld: got %g, want %g", spec, (long long)n, got, o[d]);
        }
    }
    lab_rival_release(&rival);
    assert_int_equal(lab_rival_prepare(&rival, &problem, &data, 1), LAB_ANSWER_OK);
    lab_rival_close(&rival);
    free(weights);
    for (int t = 0; t < 4; t++)
        free(tensors[t]);
}

static void test_naive_peer(void **state)
{
    run_naive("b2 h4/2 s9/13 d8/5 f32");
    run_naive("b1 h2 s9/5 d8 f32 causal=br layout=bhsd");
    run_naive("b1 h2 s5/9 d8 f16 causal=tl");
    run_naive("b2 h1 s7 d16 bf16 causal scale=0.5");
}

static void test_requests_out_of_order(void **state)
{
    lab_found found = { .path = HEED_BUILD_DIR "/peers/naive_peer" };
    double seconds;
    double flops;
    float o[8];
    lab_rival rival;

    assert_int_equal(lab_rival_open(&rival, &found, 1, "", NULL), LAB_ANSWER_OK);
    assert_int_equal(lab_rival_run(&rival, 0, 1, 1, &seconds), LAB_ANSWER_ERROR);
    assert_int_equal(lab_rival_check(&rival, NULL, 0, o, sizeof o), LAB_ANSWER_ERROR);
    assert_int_equal(lab_rival_sgemm(&rival, 64, &flops), LAB_ANSWER_UNSUPPORTED);
    expect_reason(&rival, "naive has no ceiling");
    lab_rival_close(&rival);
}

/* A problem with a word that a peer does not support is refused with the word's name; so is a
 * kernel before each call if the peer does not support it. */
static void test_unknown_words(void **state)
{
    static const struct {
        const char *spec, *status, *reason;
    } cases[] = {
        { SMALL " window=3:0 chunk=4", "unsupported", "the word window of" },
        { "alibi " SMALL, "unsupported", "the word alibi of" },
        { SMALL " b2=1", "unsupported", "the word b2 of" },
        { SMALL " quiteunusuallylongword=1", "unsupported", "the word quiteunusuallylongword of" },
        { "  b1 h2/1  causal=br acc=f16 products=tf32 scale=0.5 layout=bhsd q=1:2:3 bf16 ", "error",
          "/nowhere" },
    };
    lab_found found = { .path = HEED_BUILD_DIR "/peers/naive_peer" };
    heed_problem problem = parsed(SMALL);
    lab_rival_data data = small_data;
    lab_rival rival;

    assert_int_equal(lab_rival_open(&rival, &found, 1, "", NULL), LAB_ANSWER_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *request = json_pack(
            "{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:i, s:s, s:s, s:s, s:s}",
            "op", "prepare", "spec", cases[i].spec, "type", "f32", "mask", "none", "batch", 1,
            "heads_q", 1, "heads_kv", 1, "seq_q", 2, "seq_k", 2, "dim_qk", 4, "dim_v", 4, "scale",
            0.5, "copies", 1, "q", "/nowhere/q", "k", "/nowhere/k", "v", "/nowhere/v", "o",
            "/nowhere/o");
        json_t *reply = lab_peer_ask(rival.peer, request, 10);
        const char *reason = json_string_value(json_object_get(reply, "reason"));
        assert_string_equal(json_string_value(json_object_get(reply, "status")), cases[i].status);
        if (!strstr(reason, cases[i].reason))
            fail_msg("\"%s\" lacks \"%s\"", reason, cases[i].reason);
        json_decref(reply);
    }
    data.behind = "a text";
    assert_int_equal(lab_rival_prepare(&rival, &problem, &data, 1), LAB_ANSWER_UNSUPPORTED);
    expect_reason(&rival, "is not timed behind a kernel of another module");
    lab_rival_close(&rival);
}

/* Compares the requested rows, which are dense, with the reference. */
static void expect_rows(const heed_problem *problem, const heed_buffers *data, const int64_t *rows,
                        int64_t count, const void *got)
{
    double *weights = calloc((size_t)problem->seq_k, sizeof *weights);

    assert_non_null(weights);
    for (int64_t i = 0; i < count; i++) {
        double o[HEED_DIM_MAX];
        double lse;
        lab_reference_row(problem, data, lab_row_at(problem, rows[i]), weights, o, &lse);
        for (int64_t d = 0; d < problem->dim_v; d++) {
            double value = lab_element_get(problem->type, got, i * problem->dim_v + d);
            if (!(fabs(value - o[d]) <= 2e-3))
                fail_msg("row %lld: got %g, want %g", (long long)rows[i], value, o[d]);
        }
    }
    free(weights);
}

/* Runs one backend of a rival on a device, from repeating values to rows of its output. */
static void run_backend(lab_rival *rival, const char *backend, const heed_problem *problem)
{
    enum {
        PERIOD = 97,
        ROWS = 3
    };
    const int64_t rows[ROWS] = { 0, 17, 4 * 9 - 1 };
    size_t counts[3] = { 9 * 4 * 16, 21 * 2 * 16, 21 * 2 * 16 };
    uint16_t values[3][PERIOD], o[ROWS * 16], *tensors[3];
    double seconds, samples[7];

    for (int t = 0; t < 3; t++) {
        tensors[t] = calloc(counts[t], sizeof **tensors);
        assert_non_null(tensors[t]);
        for (int i = 0; i < PERIOD; i++)
            lab_element_set(HEED_F16, values[t], i, lab_random_normal((uint64_t)t, (uint64_t)i));
        for (size_t i = 0; i < counts[t]; i++)
            tensors[t][i] = values[t][i % PERIOD];
    }
    lab_rival_data data = {
        .q = values[0], .k = values[1], .v = values[2], .period = PERIOD, .backend = backend
    };
    heed_buffers buffers = {
        .size = sizeof buffers, .q = tensors[0], .k = tensors[1], .v = tensors[2]
    };
    assert_int_equal(lab_rival_prepare(rival, problem, &data, 2), LAB_ANSWER_OK);
    assert_int_equal(lab_rival_replay(rival, 5, 1, 2, 1, &seconds), LAB_ANSWER_OK);
    assert_true(seconds > 0 && seconds < 10);
    lab_rival_pause(rival);
    assert_int_equal(lab_rival_check(rival, rows, ROWS, o, sizeof o), LAB_ANSWER_OK);
    expect_rows(problem, &buffers, rows, ROWS, o);
    assert_int_equal(lab_rival_check(rival, rows, 2, o, sizeof o), LAB_ANSWER_ERROR);
    assert_int_equal(lab_rival_eager(rival, 7, 1, samples), LAB_ANSWER_OK);
    assert_true(samples[6] > 0 && samples[6] < 10);
    lab_rival_release(rival);
    for (int t = 0; t < 3; t++)
        free(tensors[t]);
}

/* The torch peer on a device, with a fake PyTorch. */
static void test_device(void **state)
{
    heed_problem problem = parsed("b1 h4/2 s9/21 d16 f16 causal=br");
    lab_found found = { .name = "torch",
                        .path = HEED_SOURCE_DIR "/peers/torch_peer.py",
                        .interpreter = HEED_TEST_PYTHON };
    lab_rival rival;

    setenv("PYTHONPATH", HEED_SOURCE_DIR "/tests/peers/fake_torch", 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("FAKE_TORCH_REFUSES", "math", 1);
    lab_answer answer = lab_rival_open(&rival, &found, 1, "cuda:0", NULL);
    if (answer == LAB_ANSWER_UNSUPPORTED && strstr(rival.reason, "numpy")) {
        lab_rival_close(&rival);
        skip();
    }
    assert_int_equal(answer, LAB_ANSWER_OK);
    assert_true(rival.period && rival.behind);
    assert_int_equal(rival.backend_count, 8);
    assert_string_equal(rival.backends[0], "flash");
    run_backend(&rival, "flash", &problem);
    run_backend(&rival, "efficient", &problem);
    assert_non_null(strstr(rival.method, "repeated"));
    lab_rival_data data = { .q = folder, .k = folder, .v = folder, .period = 1, .backend = "math" };
    assert_int_equal(lab_rival_prepare(&rival, &problem, &data, 2), LAB_ANSWER_UNSUPPORTED);
    expect_reason(&rival, "There is no such kernel.");
    lab_rival_close(&rival);

    /* A peer without device support answers, but is not a rival here. */
    lab_found naive = { .name = "naive", .path = HEED_BUILD_DIR "/peers/naive_peer" };
    answer = lab_rival_open(&rival, &naive, 1, "cuda:0", NULL);
    assert_int_equal(answer, LAB_ANSWER_UNSUPPORTED);
    expect_reason(&rival, "cuda:0");
    lab_rival_close(&rival);
}

RUN_TESTS_WITHIN(open_folder, scratch_close, test_hello, test_bad_hellos, test_refused_problem,
                 test_bad_runs, test_bad_check, test_crashes_are_survived, test_operands,
                 test_serving, test_naive_peer, test_requests_out_of_order, test_unknown_words,
                 test_device)
