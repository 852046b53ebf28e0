/*
 * test_bench.c - `heed bench` as people call it, with rivals that misbehave, and its judge of
 * outputs
 */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "cli/bench.h"
#include "lab/tensor/convert.h"
#include "scratch.h"

#define CAPTURE HEED_SOURCE_DIR "/tests/data/minilm.safetensors"
#define TEXT_SIZE 1000000

/* -------------------------------------------------------------------------- */
/* Tensors and the judge                                                      */
/* -------------------------------------------------------------------------- */

static bench_source source_of(const char *spec)
{
    bench_source source;
    memset(&source, 0, sizeof source);
    assert_int_equal(heed_problem_parse(&source.problem, spec), HEED_OK);
    assert_int_equal(heed_problem_normalize(&source.problem, &source.problem), HEED_OK);
    return source;
}

static heed_context *open_context(void)
{
    const heed_options options = { .device = "cpu" };
    heed_context *context;
    assert_int_equal(heed_context_create(&context, &options), HEED_OK);
    return context;
}

static void execute(heed_context *context, const bench_tensors *tensors, int64_t call)
{
    heed_plan *plan;
    heed_buffers buffers = bench_tensors_buffers(tensors, call);
    assert_int_equal(
        heed_plan_create_named(&plan, context, &tensors->problem, "fwd_any_scalar_row"), HEED_OK);
    buffers.workspace_size = heed_plan_workspace_size(plan);
    buffers.workspace = aligned_alloc(HEED_ALIGNMENT, (buffers.workspace_size / 64 + 1) * 64);
    assert_int_equal(heed_execute(plan, &buffers), HEED_OK);
    free(buffers.workspace);
    heed_plan_destroy(plan);
}

/* A right output passes; one that was not written, is not finite, or is off in a single element by
 * more than rounding, does not. */
static void judges_outputs(void **state)
{
    static const char *const specs[] = { "b2 h4/2 s9/17 d8 f32", "b1 h2 s16 d8 f16 causal",
                                         "b1 h2 s7/9 d8/6 bf16 layout=bhsd" };
    heed_context *context = open_context();
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        bench_source source = source_of(specs[i]);
        bench_tensors tensors;
        lab_expect *expect;
        lab_sampling all = { .seed = 1, .work = INT64_MAX, .threads = 1 };
        assert_int_equal(bench_tensors_create(&tensors, context, &source, 7, 0), HEED_OK);
        heed_buffers data = bench_tensors_buffers(&tensors, 0);
        assert_int_equal(lab_expect_create(&expect, &tensors.problem, &data, &all), HEED_OK);
        assert_true(bench_error(&tensors.problem, data.o, expect) == INFINITY);
        execute(context, &tensors, 0);
        assert_true(bench_error(&tensors.problem, data.o, expect) <= 1);
        double value = lab_element_get(source.problem.type, data.o, 5);
        lab_element_set(source.problem.type, data.o, 5, value + 0.05);
        assert_true(bench_error(&tensors.problem, data.o, expect) > 1);
        lab_element_set(source.problem.type, data.o, 5, INFINITY);
        assert_true(bench_error(&tensors.problem, data.o, expect) == INFINITY);
        bench_tensors_poison(&tensors);
        assert_true(bench_error(&tensors.problem, data.o, expect) == INFINITY);
        lab_expect_destroy(expect);
        bench_tensors_free(&tensors);
    }
    heed_context_destroy(context);
}

/* Copies have the same values at other addresses, and together exceed what they are to exceed. */
static void rotates_copies(void **state)
{
    heed_context *context = open_context();
    bench_source source = source_of("b1 h2 s16 d8 f32");
    bench_tensors tensors;
    assert_int_equal(bench_tensors_create(&tensors, context, &source, 7, 20000), HEED_OK);
    assert_int_equal(tensors.copies, 5); /* of 4096 bytes */
    heed_buffers first = bench_tensors_buffers(&tensors, 0);
    for (int64_t call = 1; call < 5; call++) {
        heed_buffers copy = bench_tensors_buffers(&tensors, call);
        assert_ptr_not_equal(copy.q, first.q);
        assert_ptr_not_equal(copy.o, first.o);
        assert_memory_equal(copy.q, first.q, 1024);
        assert_memory_equal(copy.v, first.v, 1024);
    }
    assert_ptr_equal(bench_tensors_buffers(&tensors, 5).q, first.q);
    assert_memory_not_equal(first.q, first.k, 1024);
    bench_tensors_free(&tensors);
    heed_context_destroy(context);
}

/* Strided tensors become dense for the rivals: the values follow from place, not from address. */
static void packs_strided_tensors(void **state)
{
    heed_context *context = open_context();
    bench_source dense = source_of("b2 h3 s5 d4 f16");
    bench_source strided = source_of("b2 h3 s5 d4 f16 layout=sbhd k=1000:100:9");
    bench_tensors a, b;
    assert_int_equal(bench_tensors_create(&a, context, &dense, 7, 0), HEED_OK);
    assert_int_equal(bench_tensors_create(&b, context, &strided, 7, 0), HEED_OK);
    for (int role = LAB_Q; role <= LAB_V; role++) {
        void *packed = bench_tensors_dense(&b, (lab_role)role);
        assert_memory_equal(packed, a.data[role], 240);
        free(packed);
    }
    bench_tensors_free(&a);
    bench_tensors_free(&b);
    heed_context_destroy(context);
}

/* Values of large tensors repeat, the same for heed and for rivals, and no two vectors are alike.
 */
static void repeats_values(void **state)
{
    heed_context *context = open_context();
    bench_source source = source_of("b1 h16 s2048 d64 f16");
    bench_tensors tensors;
    assert_int_equal(bench_tensors_create(&tensors, context, &source, 7, 0), HEED_OK);
    assert_in_range(tensors.period, 1000000, 2 * 1024 * 1024 - 1);
    const uint16_t *q = bench_tensors_buffers(&tensors, 0).q, *values = tensors.values[LAB_Q];
    for (size_t i = 0; i < (size_t)2048 * 16 * 64; i++)
        if (q[i] != values[i % (size_t)tensors.period])
            fail_msg("element %zu", i);
    assert_memory_not_equal(q, q + (size_t)1024 * 16 * 64, 128);
    bench_tensors_free(&tensors);
    heed_context_destroy(context);
}

/* Only rows that were asked for are looked at, and each of them. */
static void judges_rows(void **state)
{
    heed_context *context = open_context();
    bench_source source = source_of("b1 h2 s40 d8 f16");
    bench_tensors tensors;
    lab_expect *expect;
    lab_sampling some = { .seed = 1, .work = 10 * 40 * 16, .threads = 1 };
    uint16_t rows[10 * 8];
    assert_int_equal(bench_tensors_create(&tensors, context, &source, 7, 0), HEED_OK);
    heed_buffers data = bench_tensors_inputs(&tensors);
    assert_int_equal(lab_expect_create(&expect, &tensors.problem, &data, &some), HEED_OK);
    assert_in_range(expect->count, 5, 10);
    execute(context, &tensors, 0);
    lab_view view = lab_view_of(&tensors.problem, LAB_O);
    for (int64_t i = 0; i < expect->count; i++)
        memcpy(rows + i * 8,
               (uint16_t *)tensors.data[LAB_O] + lab_view_vector(&view, expect->rows[i]), 16);
    double whole = bench_error(&tensors.problem, tensors.data[LAB_O], expect), error;
    assert_true(bench_rows_error(HEED_F16, rows, expect) == whole && whole <= 1);
    assert_int_equal(bench_tensors_error(&tensors, 0, expect, &error), HEED_OK);
    assert_true(error == whole);
    for (int64_t i = 0; i < expect->count; i++) {
        rows[i * 8 + 3] ^= 0x4000;
        assert_true(bench_rows_error(HEED_F16, rows, expect) > 1);
        rows[i * 8 + 3] ^= 0x4000;
    }
    lab_expect_destroy(expect);
    bench_tensors_free(&tensors);
    heed_context_destroy(context);
}

static void refuses_more_than_the_machine_has(void **state)
{
    heed_context *context = open_context();
    bench_source source = source_of("b100000 h100 s10000 d512 f32");
    bench_tensors tensors;
    assert_int_equal(bench_tensors_create(&tensors, context, &source, 7, 0), HEED_ERR_NO_MEMORY);
    assert_null(tensors.data);
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* The program                                                                */
/* -------------------------------------------------------------------------- */

static void read_text(void **state, const char *name, char *text)
{
    char path[SCRATCH_PATH_SIZE];
    text[scratch_read(scratch_path(state, name, path), text, TEXT_SIZE - 1)] = '\0';
}

/* Runs "heed bench @arguments"; @before may set variables. Returns the exit code. */
static int bench(void **state, const char *before, const char *arguments)
{
    char command[4096];
    int length = snprintf(command, sizeof command,
                          "cd '%s' && %s '%s' bench %s >stdout.txt 2>stderr.txt",
                          (const char *)*state, before, HEED_PROGRAM, arguments);
    assert_in_range(length, 1, sizeof command - 1);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect_text(void **state, const char *file, const char *part)
{
    char *text = malloc(TEXT_SIZE);
    assert_non_null(text);
    read_text(state, file, text);
    if (!strstr(text, part))
        fail_msg("%s lacks \"%s\":\n%s", file, part, text);
    free(text);
}

/* Runs with --json and returns the answer. */
static json_t *json_of(void **state, const char *before, const char *arguments, int code)
{
    char line[2048];
    char path[SCRATCH_PATH_SIZE];
    json_error_t error;
    snprintf(line, sizeof line, "--json %s", arguments);
    int got = bench(state, before, line);
    if (got != code) {
        expect_text(state, "stderr.txt", "(that is what it said)");
        fail();
    }
    json_t *answer = json_load_file(scratch_path(state, "stdout.txt", path), 0, &error);
    if (!answer)
        fail_msg("%s", error.text);
    assert_string_equal(json_string_value(json_object_get(answer, "schema")), "heed.bench/1");
    return answer;
}

static const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *member)
{
    return json_number_value(json_object_get(object, member));
}

/* The median of an array of numbers. */
static double median_of(const json_t *array)
{
    static double values[4096];
    size_t count = json_array_size(array);
    assert_in_range(count, 1, 4096);
    for (size_t i = 0; i < count; i++)
        values[i] = json_number_value(json_array_get(array, i));
    lab_stats_sort(values, count);
    return lab_stats_median(values, count);
}

static void refuses_bad_command_lines(void **state)
{
    static const struct {
        const char *arguments;
        int code;
        const char *message;
    } cases[] = {
        { "", 2, "no problem given" },
        { "b1 h1 s4 d4", 2, "type" },
        { "b1 h1 s4 d4 f32 --kernel nonsense", 2, "no kernel 'nonsense'" },
        { "b1 h1 s4 d4 f32 --seconds 0", 2, "--seconds" },
        { "b1 h1 s4 d4 f32 --seconds nan", 2, "--seconds" },
        { "b1 h1 s4 d4 f32 --margin 0", 2, "--margin" },
        { "b1 h1 s4 d4 f32 --effort heroic", 2, "--effort" },
        { "b1 h1 s4 d4 f32 --seed -1", 2, "--seed" },
        { "b1 h1 s4 d4 f32 --threads 0", 2, "--threads" },
        { "b1 h1 s4 d4 f32 --peers naive,,torch", 2, "--peers" },
        { "--tensors nowhere.safetensors", 3, "nowhere.safetensors" },
        { "--shapes nowhere.txt", 3, "nowhere.txt" },
        { "--mask causal=up --tensors " CAPTURE, 2, "--mask" },
        { "--tensors " HEED_SOURCE_DIR "/tests/data/f4_v1.npy", 7, "f4_v1.npy" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(bench(state, "", cases[i].arguments), cases[i].code);
        expect_text(state, "stderr.txt", cases[i].message);
    }
}

/* Every figure follows from the samples that stand beside it. */
static void reports_what_it_sampled(void **state)
{
    json_t *answer = json_of(state, "", "'b1 h2 s33 d16 f32 causal' --peers none --seconds 0.02",
                             0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *seconds = json_object_get(row, "seconds");
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 1);
    assert_string_equal(text_of(row, "problem"), "b1 h2 s33 d16 f32 causal");
    assert_string_equal(text_of(row, "outcome"), "ok");
    assert_true(number_of(row, "error") >= 0 && number_of(row, "error") <= 1);
    assert_int_equal(number_of(row, "rows_checked"), 66);
    assert_true(json_array_size(json_object_get(row, "samples")) >= 5);
    double p50 = number_of(seconds, "p50");
    assert_true(fabs(median_of(json_object_get(row, "samples")) / p50 - 1) < 1e-6);
    assert_true(number_of(seconds, "min") <= p50 && p50 <= number_of(seconds, "p90"));
    assert_true(fabs(number_of(row, "flops") / p50 / number_of(row, "flops_per_second") - 1) <
                1e-6);
    assert_true(number_of(row, "of_ceiling") > 0 && number_of(row, "of_ceiling") < 1.05);
    assert_true(number_of(json_object_get(answer, "ceilings"), "f32") > 1e8);
    assert_string_not_equal(text_of(json_object_get(answer, "environment"), "commit"), "");
    json_decref(answer);
}

static void compares_with_the_naive_rival(void **state)
{
    json_t *answer = json_of(state, "", "'b1 h2 s65 d16 f16' --peers naive --seconds 0.2", 0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *match = json_array_get(json_object_get(row, "rivals"), 0);
    json_t *comparison = json_object_get(match, "comparison");
    assert_string_equal(text_of(match, "name"), "naive");
    assert_string_equal(text_of(match, "outcome"), "ok");
    double heed = median_of(json_object_get(match, "heed_blocks"));
    double rival = median_of(json_object_get(match, "rival_blocks"));
    double ratio = number_of(comparison, "ratio");
    assert_true(fabs(rival / heed / ratio - 1) < 1e-6);
    assert_true(number_of(comparison, "low") <= ratio && ratio <= number_of(comparison, "high"));
    assert_int_equal(number_of(comparison, "pairs"),
                     json_array_size(json_object_get(match, "heed_blocks")));
    json_decref(answer);
}

static void compares_two_kernels(void **state)
{
    json_t *answer = json_of(state, "",
                             "'b1 h1 s64 d16 f32' --kernel fwd_any_scalar_row "
                             "--against fwd_any_scalar_row --peers none --seconds 0.2",
                             0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *match = json_array_get(json_object_get(row, "rivals"), 0);
    assert_non_null(strstr(text_of(row, "kernel"), "fwd_any_scalar_row"));
    assert_non_null(strstr(text_of(match, "name"), "fwd_any_scalar_row"));
    assert_string_equal(text_of(match, "outcome"), "ok");
    assert_true(number_of(json_object_get(match, "comparison"), "pairs") >= 5);
    json_decref(answer);

    answer = json_of(state, "",
                     "'b1 h1 s64 d16 f32' --against nonsense --peers none --seconds 0.02", 0);
    row = json_array_get(json_object_get(answer, "rows"), 0);
    match = json_array_get(json_object_get(row, "rivals"), 0);
    assert_string_equal(text_of(match, "outcome"), "refused");
    json_decref(answer);
}

static void times_captured_tensors(void **state)
{
    json_t *answer = json_of(state, "", "--tensors " CAPTURE " --peers none --seconds 0.02", 0);
    json_t *rows = json_object_get(answer, "rows");
    assert_int_equal(json_array_size(rows), 3);
    assert_string_equal(text_of(json_array_get(rows, 0), "label"), "layer0.");
    assert_string_equal(text_of(json_array_get(rows, 0), "problem"), "b1 h12 s128 d32 f32");
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(text_of(json_array_get(rows, i), "outcome"), "ok");
    json_decref(answer);
}

static void says_what_cannot_be_done(void **state)
{
    json_t *answer = json_of(state, "",
                             "'b1 h1 s8 d8 f32' --kernel fwd_any_scalar_row__x9 --peers none", 3);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    assert_string_equal(text_of(row, "outcome"), "failed");
    json_decref(answer);
    answer = json_of(state, "", "'b100000 h100 s10000 d512 f32' --peers none", 3);
    row = json_array_get(json_object_get(answer, "rows"), 0);
    assert_string_equal(text_of(row, "reason"), "not enough memory");
    json_decref(answer);
}

/* A rival written in shell. */
static void write_rival(void **state, const char *name, const char *body)
{
    static const char hello[] =
        "#!/bin/sh\n"
        "ok='{\"status\": \"ok\"}'\n"
        "read x; echo '{\"status\": \"ok\", \"protocol\": \"heed.trial/1\", \"threads\": 1}'\n";
    char path[SCRATCH_PATH_SIZE];
    char text[2048];
    int length = snprintf(text, sizeof text, "%s%s\n", hello, body);
    scratch_write(scratch_path(state, name, path), text, (size_t)length);
    assert_int_equal(chmod(path, 0700), 0);
}

/* Whatever rivals do, heed's figure stands, the other rivals are timed, and the reason is recorded.
 */
static void survives_bad_rivals(void **state)
{
    static const struct {
        const char *name;
        const char *body;
        const char *outcome;
        const char *reason;
    } cases[] = {
        { "refuses",
          "read x; echo '{\"status\": \"unsupported\", \"reason\": \"not today\"}'; read x; echo "
          "$ok",
          "refused", "not today" },
        { "crashes", "read x; echo $ok; read x; kill -SEGV $$", "failed", "signal 11" },
        { "babbles", "read x; echo what?; read x", "failed", "no reply" },
        { "lies",
          "read x; echo $ok; while read x; do case $x in *warmup*) "
          "n=${x##*calls\\\":}; echo \"{\\\"status\\\": \\\"ok\\\", \\\"ns\\\": 99, \\\"calls\\\": "
          "${n%\\}}}\";; "
          "*) echo $ok;; esac; done",
          "failed", "another size" },
    };
    char path[SCRATCH_PATH_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s_peer", cases[i].name);
        write_rival(state, file, cases[i].body);
    }
    scratch_write(scratch_path(state, "dies_peer", path), "#!/bin/sh\nexit 9\n", 17);
    assert_int_equal(chmod(path, 0700), 0);

    json_t *answer = json_of(state, "HEED_PEERS=.",
                             "'b1 h1 s8 d8 f32' --threads 1 --seconds 0.1 "
                             "--peers refuses,crashes,babbles,lies,dies,absent,naive",
                             0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *matches = json_object_get(row, "rivals");
    assert_string_equal(text_of(row, "outcome"), "ok");
    assert_int_equal(json_array_size(matches), 5);
    for (size_t i = 0; i < 4; i++) {
        json_t *match = json_array_get(matches, i);
        assert_string_equal(text_of(match, "name"), cases[i].name);
        assert_string_equal(text_of(match, "outcome"), cases[i].outcome);
        if (!strstr(text_of(match, "reason"), cases[i].reason))
            fail_msg("%s: %s", cases[i].name, text_of(match, "reason"));
        assert_true(json_is_null(json_object_get(match, "seconds")));
    }
    assert_string_equal(text_of(json_array_get(matches, 4), "outcome"), "ok");
    json_t *rivals = json_object_get(answer, "rivals");
    assert_non_null(strstr(text_of(json_array_get(rivals, 4), "reason"), "status 9"));
    assert_non_null(strstr(text_of(json_array_get(rivals, 5), "reason"), "no such peer"));
    json_decref(answer);

    assert_int_equal(
        bench(state, "HEED_PEERS=.", "'b1 h1 s8 d8 f32' -t 1 --seconds 0.05 --peers refuses"), 0);
    expect_text(state, "stdout.txt", "refuses: not today");
}

/* A rival that answers in time with the wrong numbers has no figure. */
static void shows_no_wrong_rival(void **state)
{
    write_rival(state, "wrong_peer",
                "while read x; do case $x in *prepare*) o=${x##*\\\"o\\\":\\\"}; o=${o%%\\\"*};; "
                "*check*) head -c 256 /dev/zero > $o;; esac; case $x in *warmup*) "
                "n=${x##*calls\\\":}; echo \"{\\\"status\\\": \\\"ok\\\", \\\"ns\\\": 99, "
                "\\\"calls\\\": ${n%\\}}}\";; "
                "*) echo $ok;; esac; done");
    json_t *answer = json_of(state, "HEED_PEERS=.",
                             "'b1 h1 s8 d8 f32' --threads 1 --seconds 0.1 --peers wrong", 0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *match = json_array_get(json_object_get(row, "rivals"), 0);
    assert_string_equal(text_of(match, "outcome"), "wrong");
    assert_true(number_of(match, "error") > 16);
    assert_true(json_is_null(json_object_get(match, "seconds")));
    json_decref(answer);
}

/* A rival on a device, here the CPU, with two backends. It counts what it is asked for. */
static const char device_rival[] =
    "import math, struct, sys\n"
    "sys.path.insert(0, '" HEED_SOURCE_DIR "/peers')\n"
    "import peer\n"
    "class Rows:\n"
    "    name, kinds = 'rows', {'cpu'}\n"
    "    def setup(self, threads):\n"
    "        return {'version': '1', 'types': ['f32'], 'backends': ['right', 'wrong', 'lazy']}\n"
    "    def prepare(self, p, data):\n"
    "        if p.backend == 'lazy':\n"
    "            raise peer.Unsupported('not with these heads')\n"
    "        x = {n: struct.unpack(f'{len(d) // 4}f', d) for n, d in data.items()}\n"
    "        outputs = [b''] * p.copies\n"
    "        at = lambda n, i, h, d: x[n][(i * p.heads_q + h) * d : (i * p.heads_q + h + 1) * d]\n"
    "        def row(i, h):\n"
    "            q = at('q', i, h, p.dim_qk)\n"
    "            w = [math.exp(p.scale * sum(map(float.__mul__, q, at('k', j, h, p.dim_qk))))\n"
    "                 for j in range(p.seq_k)]\n"
    "            if p.backend == 'wrong': w = w[:-1] + [0]\n"
    "            return [sum(a * b for a, b in zip(w, c)) / sum(w)\n"
    "                    for c in zip(*(at('v', j, h, p.dim_v) for j in range(p.seq_k)))]\n"
    "        def step(c):\n"
    "            o = sum((row(i, h) for i in range(p.seq_q) for h in range(p.heads_q)), [])\n"
    "            outputs[c] = struct.pack(f'{len(o)}f', *o)\n"
    "        steps = [lambda c=c: step(c) for c in range(p.copies)]\n"
    "        return peer.Prepared(steps, lambda c: outputs[c], 'bshd', p.backend)\n"
    "peer.serve(Rows)\n";

/* Replays, hot and cold, beside a rival's backends; and the record of it. */
static void replays_beside_backends(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    scratch_write(scratch_path(state, "rows_peer.py", path), device_rival, sizeof device_rival - 1);
    json_t *answer = json_of(state, "HEED_PEERS=.",
                             "'b1 h2 s5/9 d4 f32' --replay --cold --threads 1 --seconds 0.05 "
                             "--peers rows-right,rows,rows-odd,naive --record kept",
                             0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *replay = json_object_get(row, "replay");
    assert_true(number_of(replay, "calls") > 1);
    assert_true(number_of(replay, "hot") > 0 && number_of(replay, "launch") > 0);
    assert_true(number_of(replay, "cold") == number_of(json_object_get(row, "seconds"), "p50"));
    assert_true(number_of(json_object_get(replay, "eager"), "p90") > 0);
    static const struct {
        const char *name, *outcome, *reason;
    } cases[] = {
        { "rows-right", "ok", "" },
        { "rows-right", "ok", "" },
        { "rows-wrong", "wrong", "output is wrong" },
        { "rows-lazy", "refused", "not with these heads" },
    };
    json_t *matches = json_object_get(row, "rivals");
    assert_int_equal(json_array_size(matches), 4);
    for (size_t i = 0; i < 4; i++) {
        json_t *match = json_array_get(matches, i);
        assert_string_equal(text_of(match, "name"), cases[i].name);
        assert_string_equal(text_of(match, "outcome"), cases[i].outcome);
        assert_non_null(strstr(text_of(match, "reason"), cases[i].reason));
    }
    json_t *match = json_array_get(matches, 0);
    assert_true(number_of(match, "replay_calls") >= 1);
    assert_true(number_of(json_object_get(match, "eager"), "p50") > 0);
    json_t *rivals = json_object_get(answer, "rivals");
    assert_string_equal(text_of(json_array_get(rivals, 4), "name"), "rows-odd");
    assert_non_null(strstr(text_of(json_array_get(rivals, 4), "reason"), "no such backend"));
    assert_non_null(strstr(text_of(json_array_get(rivals, 5), "reason"), "not timed by replays"));
    json_decref(answer);

    /* The files say the same, less the folders of the rivals' paths. */
    char command[2 * SCRATCH_PATH_SIZE];
    snprintf(
        command, sizeof command,
        "cd '%s' && grep -q '\"path\": \".*/rows_peer.py\"' stdout.txt && "
        "sed 's|\"path\": \".*/|\"path\": \"|' stdout.txt | cmp - kept/*/*/bench-cold-*.json && "
        "grep -q '^\"b1 h2 s5/9 d4 f32\",\"rows-right\",\"right\",ok,' kept/*/*/*.csv && "
        "grep -q '^| b1 h2 s5/9 d4 f32 | .* wrong | refused |$' kept/*/*/*.md",
        (const char *)*state);
    assert_int_equal(system(command), 0);
}

/* The table of replays has a short one below it. */
static void prints_a_summary(void **state)
{
    assert_int_equal(bench(state, "",
                           "'b1 h1 s64 d16 f32' --replay --peers none --seconds 0.05 --kernel "
                           "fwd_any_scalar_row --against fwd_any_scalar_row"),
                     0);
    expect_text(state, "stdout.txt", "eager p50");
    expect_text(state, "stdout.txt", "geometric mean");
    expect_text(state, "stdout.txt", "+ heed is faster");
}

static void says_where_it_cannot_record(void **state)
{
    assert_int_equal(bench(state, "", "'b1 h1 s8 d8 f32' --peers none --record /dev/null/x"), 3);
    expect_text(state, "stderr.txt", "--record: /dev/null/x");
}

/* After Ctrl-C what is finished is printed: the first problem, unless the machine is very slow. */
static void stops_at_an_interrupt(void **state)
{
    json_t *answer = json_of(state, "timeout --foreground --preserve-status -s INT 3",
                             "'b1 h1 s8 d8 f32' 'b1 h8 s512 d64 f32' --peers none "
                             "--kernel fwd_any_scalar_row --seconds 1000",
                             130);
    assert_in_range(json_array_size(json_object_get(answer, "rows")), 0, 1);
    expect_text(state, "stderr.txt", "of 2 problems are finished");
    json_decref(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_outputs),
        cmocka_unit_test(rotates_copies),
        cmocka_unit_test(packs_strided_tensors),
        cmocka_unit_test(repeats_values),
        cmocka_unit_test(judges_rows),
        cmocka_unit_test(refuses_more_than_the_machine_has),
        cmocka_unit_test_setup_teardown(refuses_bad_command_lines, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(reports_what_it_sampled, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(compares_with_the_naive_rival, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(compares_two_kernels, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(times_captured_tensors, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(says_what_cannot_be_done, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(survives_bad_rivals, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(shows_no_wrong_rival, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(replays_beside_backends, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(prints_a_summary, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(says_where_it_cannot_record, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(stops_at_an_interrupt, scratch_open, scratch_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
