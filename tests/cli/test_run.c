/*
 * test_run.c - the `heed run` command: results, errors, inputs and outputs
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/npy.h"
#include "lab/tensor/safetensors.h"
#include "lab/verify/reference/reference.h"
#include "run_heed.h"
#include "scratch.h"

#define CAPTURE HEED_SOURCE_DIR "/tests/data/minilm.safetensors"

static const run_heed_way way = { HEED_PROGRAM, NULL };

#define EXPECT(state, table) run_heed_rows(state, &way, table, sizeof(table) / sizeof(table)[0])

#define RUN "heed run --q Q.npy --k K.npy --v V.npy "

static void refuses_arrays_that_do_not_fit(void **state)
{
    static const run_heed_row lines[] = {
        { "heed run", 2, "", "--q is missing: give --q, --k and --v, or --tensors" },
        { "heed run --q Q.npy --k K.npy", 2, "", "--v is missing" },
        { RUN "--tensors x.safetensors", 2, "", "exclude each other" },
        { RUN "--prefix a.", 2, "", "--prefix needs --tensors" },
        { RUN "extra", 2, "", "'extra' is one operand too many" },
        { "heed run --q none.npy --k K.npy --v V.npy", 3, "", "none.npy: No such file" },
        { "heed run --q stdout.txt --k K.npy --v V.npy", 7, "", "stdout.txt: " },
        { "head -c 300 Q.npy >cut.npy; heed run --q cut.npy --k K.npy --v V.npy", 7, "",
          "cut.npy: shape [2, 5, 8, 16]" },
        { "heed run --q " HEED_SOURCE_DIR "/tests/data/f2_v2.npy --k K.npy --v V.npy", 2, "",
          "f2_v2.npy: [3, 2]) has 2 dimensions" },
        { "heed run --q Q.npy --k K_batch3.npy --v V.npy", 2, "",
          "and K (K_batch3.npy: [3, 9, 4, 16]) differ in batch: 2 and 3" },
        { "heed run --q Q.npy --k K_dim8.npy --v V.npy", 2, "", "differ in dim: 16 and 8" },
        { "heed run --q Q.npy --k K.npy --v V_heads3.npy", 2, "", "differ in heads: 4 and 3" },
        { "heed run --q Q.npy --k K.npy --v V_seq8.npy", 2, "", "differ in seq: 9 and 8" },
        { "heed run --q Q.npy --k K_heads3.npy --v V_heads3.npy", 2, "",
          "8 heads cannot be shared among 3" },
        { "heed run --q Q_empty.npy --k K.npy --v V.npy", 2, "", "seq_q is 0" },
        { "heed run --q Q16.npy --k K.npy --v V.npy", 2, "", "different types, f16 and f32" },
        { "heed run --q Qbf.npy --k K.npy --v V.npy", 4, "", "type bf16" },
        { RUN "--words causal", 2, "", "causal with 5 queries and 9 keys needs an alignment" },
        { RUN "--words casual", 2, "", "did you mean causal?" },
        { RUN "--words k=100000000:64:16", 2, "", "the strides of K span 400002304 bytes; its" },
        { RUN "--words o=5000:192:24", 2, "", "the strides of O span 23840 bytes; its array has" },
        { RUN "--scale 0x", 2, "", "--scale: '0x' is not a finite number" },
        { RUN "--out O.txt", 2, "", "--out: 'O.txt' must end in .npy or .safetensors" },
        { RUN "--lse L", 2, "", "--lse: 'L' must end in" },
        { RUN "--out O.npy --lse O.npy", 2, "", "name the same file" },
        { RUN "--out ./Q.npy", 2, "",
          "--out: './Q.npy' is a file that is read, and would be lost" },
        { RUN "--lse V.npy", 2, "", "--lse: 'V.npy' is a file that is read" },
        { RUN "--bias V_seq8.npy --out V_seq8.npy", 2, "",
          "--out: 'V_seq8.npy' is a file that is read" },
        { RUN "--array a=K_dim8.npy --out K_dim8.npy", 2, "",
          "--out: 'K_dim8.npy' is a file that is read" },
        { RUN "--out no/O.npy", 3, "", "no/O.npy: No such file" },
        { RUN "--kernel none", 2, "", "there is no kernel 'none'" },
        { "heed run --q Q.npy --k K.npy --v V.npy --wisdom none.txt", 3, "",
          "--wisdom: none.txt: cannot open: No such file or directory" },
        { "heed run --cpu scalar --q Q.npy --k K.npy --v V.npy -k fwd_any_avx2_tile", 4, "",
          "--kernel: " },
        { "heed run --tensors none.safetensors", 3, "", "none.safetensors: No such file" },
        { "heed run --tensors Q.npy", 7, "", "Q.npy: " },
        { "heed run --tensors " CAPTURE, 2, "", "prefixes: layer0., " },
    };
    EXPECT(state, lines);
}

/* For a file that does not fit, the message names the option, the file, the dimension and the
 * expected size. */
static void refuses_operands_that_do_not_fit(void **state)
{
    static const run_heed_row lines[] = {
        { RUN "--bias no.npy", 3, "", "no.npy: No such file" },
        { RUN "--bias bias_h3.npy", 2, "",
          "--bias: bias_h3.npy has shape [1, 3, 5, 9]: dimension 1 (heads) is 3; it must be 8, or "
          "1" },
        { RUN "--bias bias_i32.npy", 2, "",
          "--bias: bias_i32.npy has elements of type i32; they must be of f32, f16, bf16" },
        { RUN "--bias sinks.npy", 2, "", "dimension 0 (seq_k) is 8; it must be 9" },
        { RUN "--shown bits2.npy", 2, "", "dimension 1 (seq_k) is 2; it must be 1" },
        { RUN "--shown starts.npy", 2, "", "type i32; they must be of bytes, bits" },
        { RUN "--sinks bias.npy", 2, "", "type f16; they must be of f32" },
        { RUN "--sinks deep.npy", 2, "", "4 dimensions; it must have 1 to 2" },
        { RUN "--starts table.npy", 2, "", "dimension 1 (seq_q) is 9; it must be 5" },
        { RUN "--starts falling.npy", 2, "", "starts[0][3] is 0; it must be 2 or more" },
        { RUN "--slopes slopes.npy", 2, "", "needs an alignment" },
        { RUN "--bias B", 2, "", "--bias: 'B' does not end in .npy, and there is no --tensors" },
        { "heed run --tensors " CAPTURE " --prefix layer0. --bias none", 2, "",
          "there is no array 'none'" },
        { RUN "--array table.npy", 2, "", "--array: 'table.npy' must be NAME=FILE" },
        { RUN "--array t=deep.npy", 2, "", "4 dimensions; it must have 1 to 3" },
        { RUN "--array t=empty.npy", 2, "",
          "--array: empty.npy has shape [2, 0]: dimension 1 is 0; it must be 1 or more" },
        { RUN "--array t=bias.npy", 2, "", "must be of f32, i32 or bytes" },
        { RUN "--words bias=f32", 2, "", "bias needs its elements: give --bias FILE" },
        { RUN "--words 'array=t:i32:9 visible=t[k]>0'", 2, "", "give --array t=FILE" },
        { RUN "--words score=s+t[k]", 2, "", "there is no array \"t\"" },
        { RUN "--words softcap=0", 2, "", "softcap is \"0\"" },
    };
    EXPECT(state, lines);
}

/* Words that follow from the files, on kernels that support them. */
static void computes_with_operands(void **state)
{
    static const run_heed_row lines[] = {
        { RUN "--bias bias.npy --shown bytes.npy --sinks sinks.npy --out O.npy", 0,
          "bias=f16:hq sinks=h shown=bytes:bq", NULL },
        { RUN "--shown bits.npy --starts starts.npy", 0, "starts=q shown=bits:q", NULL },
        { RUN "--slopes slopes.npy --words 'softcap=5 align=br'", 0, "softcap=5 alibi=bh align=br",
          NULL },
        { RUN "--array t=table.npy --words 'visible=t[batch,k]>0 score=s*2'", 0,
          "array=t:i32:2x9 score=s*2 visible=t[batch,k]>0", NULL },
    };
    EXPECT(state, lines);
}

static void read_array(void **state, const char *name, lab_tensor *tensor)
{
    char path[SCRATCH_PATH_SIZE];
    assert_int_equal(lab_npy_read(tensor, scratch_path(state, name, path), HEED_BF16, NULL),
                     HEED_OK);
}

/* Compares O.npy and LSE.npy with the float64 reference on the inputs rounded to the type of O. */
static void assert_right(void **state, const char *spec, const char *q_name, double tolerance)
{
    lab_tensor q, k, v, o, lse;
    heed_problem problem;
    read_array(state, q_name, &q);
    read_array(state, "K.npy", &k);
    read_array(state, "V.npy", &v);
    read_array(state, "O.npy", &o);
    read_array(state, "LSE.npy", &lse);
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    assert_int_equal(o.type, problem.type);
    assert_int_equal(lse.type, HEED_F32);
    assert_int_equal(lab_tensor_elements(&lse), lab_rows(&problem));
    lab_tensor *inputs[] = { &q, &k, &v };
    for (int i = 0; i < 3; i++)
        assert_int_equal(lab_tensor_convert(inputs[i], problem.type, NULL), HEED_OK);

    heed_buffers data = { .size = sizeof data, .q = q.data, .k = k.data, .v = v.data };
    double weights[64], row_o[64], row_lse;
    for (int64_t n = 0; n < lab_rows(&problem); n++) {
        lab_row row = lab_row_at(&problem, n);
        int64_t at = row.batch * problem.o.batch + row.query * problem.o.seq +
                     row.head * problem.o.head;
        lab_reference_row(&problem, &data, row, weights, row_o, &row_lse);
        for (int64_t d = 0; d < problem.dim_v; d++)
            assert_true(fabs(lab_element_get(o.type, o.data, at + d) - row_o[d]) < tolerance);
        double got = lab_element_get(HEED_F32, lse.data, n);
        assert_true(got == row_lse || fabs(got - row_lse) < 1e-5);
    }
    lab_tensor *all[] = { &q, &k, &v, &o, &lse };
    for (int i = 0; i < 5; i++)
        lab_tensor_free(all[i]);
}

static void computes_attention(void **state)
{
    static const struct {
        const char *options;
        const char *spec;
        const char *q;
        double tolerance;
    } runs[] = {
        { "--q Q.npy", "b2 h8/4 s5/9 d16/24 f32", "Q.npy", 1e-5 },
        { "--q Q.npy --words causal=br --scale -0.5",
          "b2 h8/4 s5/9 d16/24 f32 causal=br scale=-0.5", "Q.npy", 1e-5 },
        { "--q Q.npy --words causal=tl --kernel fwd_any_scalar_row",
          "b2 h8/4 s5/9 d16/24 f32 causal=tl", "Q.npy", 1e-5 },
        { "--q Q16.npy --type f16 --threads 1", "b2 h8/4 s5/9 d16/24 f16", "Q16.npy", 4e-3 },
        { "--q Qbf.npy --type bf16", "b2 h8/4 s5/9 d16/24 bf16", "Qbf.npy", 3e-2 },
        { "--q Q16.npy --type f32 --cpu scalar", "b2 h8/4 s5/9 d16/24 f32", "Q16.npy", 1e-5 },
    };
    heed_said *result = malloc(sizeof *result);
    assert_non_null(result);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        char line[512];
        snprintf(line, sizeof line, "heed run %s --k K.npy --v V.npy --out O.npy --lse LSE.npy",
                 runs[i].options);
        run_heed(state, &way, line, result);
        if (result->code != 0 || !strstr(result->out, runs[i].spec))
            fail_msg("%s\n gave %d: %s%s", line, result->code, result->out, result->err);
        assert_right(state, runs[i].spec, runs[i].q, runs[i].tolerance);
    }
    free(result);
}

/* Writes @name.npy in the other order to @name_t.npy. */
static void swap_array(void **state, const char *name)
{
    lab_tensor tensor;
    char file[32], path[SCRATCH_PATH_SIZE];
    snprintf(file, sizeof file, "%s.npy", name);
    read_array(state, file, &tensor);
    assert_int_equal(lab_tensor_swap(&tensor, NULL), HEED_OK);
    snprintf(file, sizeof file, "%s_t.npy", name);
    assert_int_equal(lab_npy_write(&tensor, scratch_path(state, file, path), NULL), HEED_OK);
    lab_tensor_free(&tensor);
}

/* PyTorch's order: with the option, the numbers are the same, in that order. Without it, arrays
 * that look like it cause a warning, and arrays that fit only that order cause an error that names
 * the option. */
static void knows_both_layouts(void **state)
{
#define SWAPPED "heed run --q Q_t.npy --k K_t.npy --v V_t.npy "
    static const char *const names[] = { "Q", "K", "V" };
    static const run_heed_row lines[] = {
        { SWAPPED "--layout bhsd --kernel fwd_any_scalar_row --out P.npy --lse LSE_t.npy", 0,
          "f32 [2, 8, 5, 24]", "" },
        { RUN "--kernel fwd_any_scalar_row --out O.npy --lse LSE.npy", 0, "f32 [2, 5, 8, 24]", "" },
        { "cmp LSE.npy LSE_t.npy", 0, "", "" },
        { SWAPPED, 2, "", "as [batch, heads, seq, dim] they fit: --layout bhsd" },
        { SWAPPED "--layout bhds", 2, "", "--layout: 'bhds' is not one of bshd, bhsd" },
        { RUN "--layout bhsd", 2, "", "as [batch, seq, heads, dim] they fit: --layout bshd" },
        { "heed run --q K_t.npy --k K_t.npy --v V_t.npy", 0, "b2 h9 s4 d16/24",
          "warning: the arrays are read as [batch, seq, heads, dim]: 9 heads, 4 keys; if they are "
          "[batch, heads, seq, dim], use --layout bhsd, else --layout bshd" },
        { "heed run --q Q_heads12.npy --k K.npy --v V.npy", 0, "b2 h12/4 s9 d16/24",
          "[batch, seq, heads, dim]: 12 heads, 9 keys; if they are [batch, heads, seq, dim], use" },
        { "heed run --q K_t.npy --k K_t.npy --v V_t.npy --layout bshd", 0, "b2 h9 s4 d16/24", "" },
        { "heed run --q K_t.npy --k K_t.npy --v V_t.npy --layout bhsd", 0, "b2 h4 s9 d16/24", "" },
        { "heed verify --once --cpu scalar --layout bhsd --q Q_t.npy --k K_t.npy --v V_t.npy", 0,
          "0 failed", "" },
    };
    for (int i = 0; i < 3; i++)
        swap_array(state, names[i]);
    EXPECT(state, lines);
    swap_array(state, "O");
    static const run_heed_row same[] = { { "cmp P.npy O_t.npy", 0, "", "" } };
    EXPECT(state, same);
#undef SWAPPED
}

/* The capture contains the model's output of its first layer. */
static void agrees_with_a_real_model(void **state)
{
    lab_safetensors *file;
    lab_tensor expected, o;
    char path[SCRATCH_PATH_SIZE];
    static const run_heed_row lines[] = {
        { "heed run --tensors " CAPTURE " --prefix layer0. --out O.safetensors", 0,
          "O.safetensors: f32 [1, 128, 12, 32]", "" },
    };
    EXPECT(state, lines);
    assert_int_equal(lab_safetensors_open(&file, CAPTURE, NULL), HEED_OK);
    assert_int_equal(lab_safetensors_read(file, "layer0.o", false, &expected, NULL), HEED_OK);
    lab_safetensors_close(file);
    assert_int_equal(lab_safetensors_open(&file, scratch_path(state, "O.safetensors", path), NULL),
                     HEED_OK);
    assert_int_equal(lab_safetensors_read(file, "o", false, &o, NULL), HEED_OK);
    lab_safetensors_close(file);
    assert_memory_equal(o.shape, expected.shape, sizeof o.shape);
    for (int64_t i = 0; i < lab_tensor_elements(&o); i++)
        assert_true(fabsf(((const float *)o.data)[i] - ((const float *)expected.data)[i]) < 1e-4f);
    lab_tensor_free(&o);
    lab_tensor_free(&expected);
}

static void warns_of_what_is_not_finite(void **state)
{
    lab_tensor v;
    char path[SCRATCH_PATH_SIZE];
    read_array(state, "V.npy", &v);
    lab_element_set(HEED_F32, v.data, 3, NAN);
    assert_int_equal(lab_npy_write(&v, scratch_path(state, "V_nan.npy", path), NULL), HEED_OK);
    lab_tensor_free(&v);
    static const run_heed_row lines[] = {
        { "heed run --q Q.npy --k K.npy --v V_nan.npy --json", 0, "\"not_finite\": 10",
          "O has 10 elements that are NaN or infinite" },
    };
    EXPECT(state, lines);
}

/* The size of a pipe is unknown before its end. */
static void reads_pipes(void **state)
{
    static const run_heed_row lines[] = {
        { "cat Q.npy | heed run --q /dev/stdin --k K.npy --v V.npy", 0, "b2 h8/4 s5/9", "" },
        { "{ cat Q.npy; echo; } | heed run --q /dev/stdin --k K.npy --v V.npy", 7, "",
          "/dev/stdin: more data than shape [2, 5, 8, 16]" },
        { "cat Q.npy | heed run --q - --k K.npy --v V.npy", 0, "b2 h8/4 s5/9", "" },
        { "cat " CAPTURE " | heed run --tensors - --prefix layer0.", 0, "b1 h12 s128 d32 f32", "" },
        { "heed run --tensors /dev/fd/3 --prefix layer0. 3<" CAPTURE, 0, "b1 h12 s128", "" },
        { "head -c 300 Q.npy | heed run --q /dev/stdin --k K.npy --v V.npy", 7, "",
          "/dev/stdin: cut short" },
    };
    EXPECT(state, lines);
}

/* An old result is kept until the new one is complete; no temporary files are left. */
static void replaces_results_as_a_whole(void **state)
{
    static const run_heed_row lines[] = {
        { "mkdir d && cp Q.npy d/O.npy && cd d && ln -s O.npy L.npy", 0, "", "" },
        { "cd d; heed run --q ../Q.npy --k ../K.npy --v ../V.npy -o L.npy >/dev/null; ls -l | wc "
          "-l; [ -h L.npy ]",
          0, "3\n", "" },
        { "[ $(wc -c <d/O.npy) = 7808 ]", 0, "", "" },
        { "cp Q.npy d/O.npy; (ulimit -f 4; " RUN "-o d/O.npy)", 3, "", "O.npy: File too large" },
        { "cmp Q.npy d/O.npy; ls d | wc -l; rm -r d", 0, "2\n", "" },
    };
    EXPECT(state, lines);
}

RUN_TESTS_WITHIN(arrays_open, scratch_close, refuses_arrays_that_do_not_fit,
                 refuses_operands_that_do_not_fit, computes_with_operands, computes_attention,
                 knows_both_layouts, agrees_with_a_real_model, warns_of_what_is_not_finite,
                 reads_pipes, replaces_results_as_a_whole)
