/*
 * test_own.c - a user's kernel: `heed verify --source` and `heed bench --source`
 */
#include "run_tests.h"

#include <string.h>

#include "hold.h"
#include "members.h"
#include "run_heed.h"
#include "scratch.h"
#include "src/measure.h"

#define DATA HEED_SOURCE_DIR "/tests/data/trial/"
#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "
#define SPEC "'b1 h2 s33 d16 f32'"
#define HALF "'b1 h2 s33 d16 f16'"
#define VERIFY "heed verify --source "
#define BENCH "heed bench --seconds 0.05 -t 1 --source "

/* Right on normal values, but with a running maximum that never falls below zero. */
#define FLAWED "sed 's/most = -INFINITY/most = 0/' " DATA "plain.c >flawed.c; "

static const run_heed_way way = { HEED_PROGRAM, NULL };
static heed_said said;

/* Finds the object of @list whose @key is @value. */
static json_t *find(const json_t *list, const char *key, const char *value)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(text_of(json_array_get(list, i), key), value) == 0)
            return json_array_get(list, i);
    fail_msg("there is no %s '%s'", key, value);
    return NULL;
}

static void test_right(void **state)
{
    json_t *json = run_heed_json(state, &way, VERIFY DATA "plain.c --json " SPEC, 0);
    const json_t *kernels = json_object_get(json, "kernels");
    const json_t *own = find(kernels, "kernel", "plain.c");
    assert_string_equal(text_of(json, "source"), DATA "plain.c");
    assert_string_equal(text_of(own, "cpu"), "sandbox");
    assert_int_equal(integer_of(own, "failed"), 0);
    /* every kind of values, the neighbours, and the properties; and heed's choice too */
    assert_true(integer_of(own, "passed") > 15);
    assert_int_equal(integer_of(find(kernels, "kernel", "heed's plan"), "passed"),
                     integer_of(own, "passed"));
    json_decref(json);

    json = run_heed_json(state, &way, BENCH DATA "plain.c --json " SPEC, 0);
    const json_t *row = json_array_get(json_object_get(json, "rows"), 0);
    const json_t *match = find(json_object_get(row, "rivals"), "name", "plain.c");
    assert_string_equal(text_of(match, "outcome"), "ok");
    assert_true(number_of(match, "seconds") > 0);
    assert_true(number_of(match, "error") <= 1);
    assert_true(number_of(json_object_get(match, "comparison"), "ratio") > 0);
    json_decref(json);
    run_heed_as(state, &way, BENCH DATA "plain.c --against fwd_any_scalar_row " SPEC, 0, &said);
    assert_non_null(strstr(said.out, "  fwd_any_scalar_row"));
    assert_non_null(strstr(said.out, ", 1 thread, "));
    assert_non_null(strstr(said.out, "  plain.c "));
    assert_non_null(strstr(said.out, "plain.c: passes all gates"));
}

/* A pipe has no file extension: the language is detected from the text. */
static void test_piped(void **state)
{
    static const run_heed_row rows[] = {
        { "cat " DATA "plain.c | " VERIFY "- --quick " SPEC, 0, "\nstdin  ", NULL },
        { "cat " DATA "plain.c | " VERIFY "/dev/stdin --quick " SPEC, 0, "\npipe  ", NULL },
        { VERIFY "/dev/fd/3 --quick " SPEC " 3<" DATA "plain.c", 0, "\npipe  ", NULL },
        { "echo '/* heed:launch */' | " VERIFY "- --device cpu " HALF, 2, "",
          "stdin is for a CUDA device" },
        { "echo 'int x;' | " VERIFY "- " SPEC, 4, "", "does not define heed_candidate_run()" },
    };
    run_heed_rows(state, &way, rows, sizeof rows / sizeof *rows);
}

/* A wrong source is not timed; one that does not support a problem gives the reason and the
 * problem. */
static void test_wrong(void **state)
{
    static const run_heed_row rows[] = {
        { VERIFY DATA "mean.c " SPEC, 5, "mean.c", "FAIL b1 h2 s33 d16 f32: mean.c" },
        { FLAWED VERIFY "flawed.c --inputs normal " SPEC, 0, NULL, NULL },
        { FLAWED VERIFY "flawed.c " SPEC, 5, NULL, "low inputs" },
        { FLAWED BENCH "flawed.c " SPEC, 5, "flawed.c: b1 h2 s33 d16 f32: wrong, by the gate",
          NULL },
        { VERIFY DATA "null.c " SPEC, 5, NULL, "executes: used a null pointer" },
        { BENCH DATA "null.c " SPEC, 5, "used a null pointer", NULL },
        /* an error of 1e36 does not make a wide column */
        { "{ echo '#include \"heed_candidate.h\"'; echo 'int heed_candidate_run(const "
          "heed_candidate_problem *p, const heed_candidate_buffers *b) { return 0; }'; } "
          ">none.c; " VERIFY "none.c --inputs normal " SPEC
          " | awk '/^none.c/ && length($0) < 90 { print 1 }'",
          0, "1", "is not written" },
        { VERIFY DATA "forbidden/print.c " SPEC, 5, NULL,
          "print.c, normal inputs, sandbox: executes: " },
        { VERIFY DATA "refuse.c " SPEC, 4, NULL,
          "refuse.c cannot do b1 h2 s33 d16 f32: says that it cannot do this problem: "
          "heed_candidate_run() did not return 0" },
        { VERIFY DATA "plain.c " SPEC " " HALF, 4, NULL, "plain.c cannot do b1 h2 s33 d16 f16" },
        { BENCH DATA "plain.c " SPEC " " HALF, 4, "plain.c: b1 h2 s33 d16 f16: says", NULL },
        { VERIFY DATA "syntax.c " SPEC, 4, "", "syntax.c cannot be compiled" },
        { VERIFY DATA "syntax.c " SPEC " --json", 4, "\"syntax.c:5:12: error: 'missing' undeclared",
          NULL },
    };
    run_heed_rows(state, &way, rows, sizeof rows / sizeof *rows);
    run_heed_as(state, &way, BENCH DATA "mean.c " SPEC, 5, &said);
    const char *line = strstr(said.out, "  mean.c");
    assert_non_null(line);
    line += strspn(line + 8, " ") + 8;
    assert_int_equal(strncmp(line, "wrong\n", 6), 0);
}

/* A hang costs ten seconds once, not for each of twenty cases. */
static void test_hang(void **state)
{
    int64_t begun = heed_clock_ns();
    run_heed_as(state, &way, VERIFY DATA "hang.c " SPEC, 5, &said);
    assert_non_null(strstr(said.err, "was not done after"));
    assert_true(heed_clock_ns() - begun < INT64_C(120000000000));
}

/* All of it is reported before anything is verified or timed: nothing is on stdout. */
static void test_arguments(void **state)
{
    static const run_heed_row rows[] = {
        { VERIFY "none.c " SPEC, 3, "", "none.c: No such file" },
        { "mkdir d.c; " VERIFY "d.c " SPEC, 3, "", "d.c: Is a directory" },
        { ": >e.c; " VERIFY "e.c " SPEC, 2, "", "e.c is empty" },
        { "head -c 1048577 /dev/zero >h.c; " VERIFY "h.c " SPEC, 7, "",
          "at most 1048576 are read" },
        { "head -c 9 /dev/zero >z.c; " VERIFY "z.c " SPEC, 2, "", "z.c is not a text" },
        { "echo 'int x;' >x.c; " VERIFY "x.c " SPEC, 4, "", "does not define heed_candidate_run" },
        { "echo x >x.txt; " BENCH "x.txt " SPEC, 2, "", "neither with .c nor with .cu" },
        { VERIFY DATA "plain.c", 2, "", "no problem given" },
        { VERIFY DATA "plain.c --gate eror " SPEC, 2, "", "did you mean 'error'" },
        { BENCH DATA "plain.c 'b1 h1 s8 d8 f31'", 2, "", "did you mean f32" },
        { BENCH DATA "plain.c --against fwd_any_scalar_rwo " SPEC, 2, "",
          "did you mean 'fwd_any_scalar_row'" },
        { BENCH DATA "plain.c --record r " SPEC, 2, "", "leave out --source" },
        { BENCH DATA "plain.c --calibrate " SPEC, 2, "", "leave out --source" },
        { "HEED_CC=/none " VERIFY DATA "plain.c " SPEC, 3, "", "there is no C compiler" },
        { "TMPDIR=/none " VERIFY DATA "plain.c " SPEC, 3, "", "cannot write to TMPDIR" },
        { VERIFY DATA "plain.c --device cuda " SPEC, 2, "", "is for the CPU" },
        { VERIFY DATA "null.cu --device cpu " SPEC, 2, "", "is for a CUDA device" },
        { "HEED_DEVICE=auto HEED_LIBCUDA=/none " VERIFY HEED_SOURCE_DIR
          "/proposers/attention.cu " HALF,
          3, "", "heed found none" },
        { "echo '/* heed:launch entry=a threads=x rows=1 */' >l.cu; HEED_DEVICE=auto "
          "HEED_LIBCUDA=/none " BENCH "l.cu " HALF,
          4, "", "l.cu: b1 h2 s33 d16 f16: heed:launch: threads" },
    };
    run_heed_rows(state, &way, rows, sizeof rows / sizeof *rows);
}

/* Compared with a copy of itself, which is equally fast, and with one that takes half as long
 * again: even on a noisy machine the estimate is closer to the true value than to any other
 * verdict. */
static void test_duels(void **state)
{
    json_t *json = run_heed_json(state, &way,
                                 BENCH DATA "plain.c --calibrate --duels 3 --planted 50 --json "
                                            "'b1 h1 s128 d64 f32'",
                                 0);
    double ratio = json_number_value(json_object_get(json_object_get(json, "ratio"), "estimate"));
    assert_true(ratio > 1.4 && ratio < 1.6);
    assert_int_equal(json_array_size(json_object_get(json, "duels")), 3);
    assert_string_equal(text_of(json, "source"), DATA "plain.c");
    json_decref(json);
    run_heed_as(state, &way, BENCH DATA "plain.c --calibrate --duels 1 " SPEC, 0, &said);
    run_heed_as(state, &way, BENCH DATA "plain.c --duels 1 " SPEC, 2, &said);
    assert_non_null(strstr(said.err, "add --calibrate"));
}

/* A fake driver in host memory computes nothing, which is detected before a source is tried. */
static void test_cuda(void **state)
{
    static const run_heed_row rows[] = {
        { FAKE VERIFY HEED_SOURCE_DIR "/proposers/attention.cu --device cuda " HALF, 3, "",
          "attention.cu: a known answer came out wrong on cuda" },
        { FAKE BENCH HEED_SOURCE_DIR "/proposers/attention.cu --device cuda " HALF, 3, "",
          "attention.cu: a known answer came out wrong on cuda" },
    };
    run_heed_rows(state, &way, rows, sizeof rows / sizeof *rows);
}

int main(void)
{
    return can_hold_aloud() ? run_test_list(TEST_LIST_EACH(scratch_open, scratch_close, test_right,
                                                           test_piped, test_wrong, test_hang,
                                                           test_arguments, test_duels, test_cuda),
                                            NULL, NULL)
                            : HOLD_SKIPPED;
}
