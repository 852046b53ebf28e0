/*
 * test_run_sequences.c - `heed run` with packed sequences, paged keys, and a V that is a part of K:
 * results, defaults and errors
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/npy.h"
#include "lab/tensor/random.h"
#include "lab/verify/reference/reference.h"
#include "run_heed.h"
#include "scratch.h"

static const run_heed_way way = { HEED_PROGRAM, NULL };

#define EXPECT(state, table) run_heed_rows(state, &way, table, sizeof(table) / sizeof(table)[0])

/* Three sequences each; packed ones have four, of different lengths. */
static const struct {
    const char *name;
    int rank;
    int64_t shape[4];
} vectors[] = {
    { "Q.npy", 4, { 3, 2, 4, 16 } },       { "K.npy", 4, { 3, 21, 2, 16 } },
    { "V.npy", 4, { 3, 21, 2, 24 } },      { "Q_packed.npy", 3, { 30, 4, 16 } },
    { "K_packed.npy", 3, { 50, 2, 16 } },  { "V_packed.npy", 3, { 50, 2, 24 } },
    { "Q_heads.npy", 3, { 4, 30, 16 } },   { "K_heads.npy", 3, { 2, 50, 16 } },
    { "V_heads.npy", 3, { 2, 50, 24 } },   { "K_pool.npy", 4, { 12, 7, 2, 16 } },
    { "V_pool.npy", 4, { 12, 7, 2, 24 } },
};

#define NUMBERS_MAX 9
static const struct {
    const char *name;
    heed_data kind;
    int rank;
    int64_t shape[2];
    double numbers[NUMBERS_MAX];
} operands[] = {
    { "cu_q.npy", HEED_DATA_I64, 1, { 5 }, { 0, 0, 1, 18, 28 } },
    { "cu_k.npy", HEED_DATA_I32, 1, { 5 }, { 0, 9, 9, 30, 50 } },
    { "cu_k64.npy", HEED_DATA_I64, 1, { 5 }, { 0, 9, 9, 30, 50 } },
    { "cu_three.npy", HEED_DATA_I32, 1, { 4 }, { 0, 9, 30, 50 } },
    { "cu_falls.npy", HEED_DATA_I32, 1, { 5 }, { 0, 9, 8, 30, 50 } },
    { "cu_late.npy", HEED_DATA_I32, 1, { 5 }, { 1, 9, 9, 30, 50 } },
    { "cu_far.npy", HEED_DATA_I32, 1, { 5 }, { 0, 9, 9, 30, 51 } },
    { "cu_deep.npy", HEED_DATA_I32, 2, { 1, 5 }, { 0, 9, 9, 30, 50 } },
    { "cu_alone.npy", HEED_DATA_I32, 1, { 1 }, { 0 } },
    { "cu_real.npy", HEED_DATA_F32, 1, { 5 }, { 0, 9, 9, 30, 50 } },
    { "table.npy", HEED_DATA_I32, 2, { 3, 3 }, { 3, 1, 9, 0, 2, 11, 5, 6, 7 } },
    { "table_far.npy", HEED_DATA_I32, 2, { 3, 3 }, { 3, 1, 9, 0, 12, 11, 5, 6, -1 } },
    { "table_flat.npy", HEED_DATA_I32, 1, { 9 }, { 3, 1, 9, 0, 2, 11, 5, 6, 7 } },
    { "lengths.npy", HEED_DATA_I32, 1, { 3 }, { 21, 7, 0 } },
    { "lengths_far.npy", HEED_DATA_I32, 1, { 3 }, { 21, 22, 0 } },
    { "lengths_two.npy", HEED_DATA_I32, 1, { 2 }, { 21, 8 } },
};

static void write_all(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_tensor tensor;
    for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++) {
        assert_int_equal(
            lab_tensor_create(&tensor, HEED_F32, vectors[n].shape, vectors[n].rank, NULL), HEED_OK);
        for (int64_t i = 0; i < lab_tensor_elements(&tensor); i++)
            lab_element_set(HEED_F32, tensor.data, i, lab_random_normal(n, (uint64_t)i));
        assert_int_equal(lab_npy_write(&tensor, scratch_path(state, vectors[n].name, path), NULL),
                         HEED_OK);
        lab_tensor_free(&tensor);
    }
    for (size_t n = 0; n < sizeof operands / sizeof *operands; n++) {
        assert_int_equal(lab_tensor_create_kind(&tensor, operands[n].kind, operands[n].shape,
                                                operands[n].rank, NULL),
                         HEED_OK);
        for (int64_t i = 0; i < lab_tensor_elements(&tensor); i++)
            lab_data_set(operands[n].kind, tensor.data, i, operands[n].numbers[i]);
        assert_int_equal(lab_npy_write(&tensor, scratch_path(state, operands[n].name, path), NULL),
                         HEED_OK);
        lab_tensor_free(&tensor);
    }
}

static int open_arrays(void **state)
{
    if (scratch_open(state) != 0)
        return -1;
    write_all(state);
    return 0;
}

#define RUN "heed run --q Q.npy --k K.npy --v V.npy "
#define PACKED "heed run --q Q_packed.npy --k K_packed.npy --v V_packed.npy "
#define PAGED "heed run --q Q.npy --k K_pool.npy --v V_pool.npy "

/* An error names the option, the file, the entry or the dimension, and the expected value. */
static void refuses_what_does_not_fit(void **state)
{
    static const run_heed_row lines[] = {
        { PACKED "--cu-seqlens-q no.npy", 3, "", "no.npy: No such file" },
        { PACKED "--cu-seqlens-q cu_falls.npy", 2, "",
          "--cu-seqlens-q: cu_falls.npy: entry 2 is 8; it must be 9 to 30" },
        { PACKED "--cu-seqlens-q cu_q.npy --cu-seqlens-k cu_late.npy", 2, "",
          "--cu-seqlens-k: cu_late.npy: entry 0 is 1; it must be 0" },
        { PACKED "--cu-seqlens-q cu_q.npy --cu-seqlens-k cu_far.npy", 2, "",
          "entry 4 is 51; it must be 30 to 50" },
        { PACKED "--cu-seqlens-q cu_deep.npy", 2, "",
          "cu_deep.npy has shape [1, 5] of i32; it must be [batch + 1] of i32 or i64" },
        { PACKED "--cu-seqlens-q cu_alone.npy", 2, "", "has shape [1] of i32" },
        { PACKED "--cu-seqlens-q cu_real.npy", 2, "", "has shape [5] of f32" },
        { PACKED "--cu-seqlens-q cu_q.npy --cu-seqlens-k cu_three.npy", 2, "",
          "--cu-seqlens-q and --cu-seqlens-k differ in the number of sequences: 4 and 3" },
        { PACKED "--cu-seqlens-q cu_q.npy", 2, "",
          "K (K_packed.npy: [50, 2, 16]) has 50 tokens, which cannot be divided evenly among "
          "4 sequences; give --cu-seqlens-k FILE" },
        { PACKED "--words varlen=30", 2, "", "varlen must be given once" },
        { RUN "--cu-seqlens-q cu_q.npy", 2, "",
          "--cu-seqlens-q: Q (Q.npy: [3, 2, 4, 16]) has 4 dimensions; packed sequences have 3: "
          "[tokens, heads, dim]" },
        { RUN "--words varlen=6", 2, "", "varlen needs its elements: give --cu-seqlens-q FILE" },
        { RUN "--words paged=7", 2, "", "paged needs its elements: give --table FILE" },
        { "heed run --q Q.npy --k K_packed.npy --v V.npy", 2, "",
          "one has 3 dimensions, packed sequences, and the other has not" },
        { "heed run --q Q.npy --k K_packed.npy --v V_packed.npy --table table.npy", 2, "",
          "K (K_packed.npy: [50, 2, 16]) has 3 dimensions; pages have 4: [pages, page, heads, "
          "dim]" },
        { PAGED, 2, "", "differ in batch: 3 and 12" },
        { PAGED "--table table_flat.npy", 2, "",
          "has shape [9] of i32; it must be [batch, pages of a sequence] of i32" },
        { PAGED "--table table_far.npy", 2, "",
          "--table: table_far.npy: entry [1, 1] is 12; it must be 0 to 11" },
        { PAGED "--table table.npy --lengths lengths_far.npy", 2, "",
          "--lengths: lengths_far.npy: entry 1 is 22; it must be 0 to 21" },
        { PAGED "--table table.npy --lengths lengths.npy --words prefix=14", 2, "",
          "--lengths: lengths.npy: entry 1 is 7; it must be 14 to 21" },
        { PAGED "--table table_far.npy --words prefix=14", 2, "",
          "--table: table_far.npy: entry [2, 2] is -1; it must be 0 to 11" },
        { PAGED "--table table.npy --lengths lengths_two.npy", 2, "",
          "dimension 0 (batch) is 2; it must be 3" },
        { "heed run --q Q.npy --k K_pool.npy --v V.npy --table table.npy", 2, "",
          "differ in batch: 12 and 3" },
        { "heed run --q Q_packed.npy --k K_pool.npy --v V_pool.npy --table table.npy "
          "--cu-seqlens-q cu_q.npy",
          2, "", "--cu-seqlens-q and --table differ in the number of sequences: 4 and 3" },
        { RUN "--dim-v 8", 2, "", "--v and --dim-v exclude each other" },
        { RUN "--words shared", 2, "", "shared" },
        { "heed run --q Q.npy --k K.npy --dim-v 17", 2, "", "dim_v is 17; it must be dim_qk" },
        { "heed run --q Q.npy --k K.npy --dim-v 0", 2, "",
          "--dim-v: 0 is out of range; it must be 1 to 1024" },
        { "heed verify --once --q Q_packed.npy --k K.npy --v V.npy", 2, "",
          "has 3 dimensions; it must have 4" },
    };
    EXPECT(state, lines);
}

/* Defaults without files: sequences of equal length, or one sequence; all keys. */
static void says_what_arrays_mean(void **state)
{
    static const run_heed_row lines[] = {
        { PACKED, 0, "b1 h4/2 s30/50 d16/24 f32 varlen=30/50", "" },
        { "heed run --q Q_packed.npy --k K.npy --v V.npy", 0,
          "b3 h4/2 s10/21 d16/24 f32 varlen=30/0", NULL },
        { "heed run --q Q_packed.npy --k K.npy --v V.npy --cu-seqlens-q cu_q.npy", 2, "",
          "--cu-seqlens-q and K differ in the number of sequences: 4 and 3" },
        { "heed run --q Q.npy --k K_packed.npy --v V_packed.npy --cu-seqlens-k cu_three.npy", 0,
          "b3 h4/2 s2/21 d16/24 f32 varlen=0/50", NULL },
        { PAGED "--table table.npy", 0, "b3 h4/2 s2/21 d16/24 f32 paged=7/12", NULL },
        { PAGED "--table table.npy --words prefix=14", 0,
          "b3 h4/2 s2/21 d16/24 f32 prefix=14 paged=7/12", NULL },
        { "heed run --q Q_packed.npy --k K_pool.npy --v V_pool.npy --table table.npy", 0,
          "b3 h4/2 s10/21 d16/24 f32 varlen=30/0 paged=7/12", NULL },
    };
    EXPECT(state, lines);
}

static void read_array(void **state, const char *name, lab_tensor *tensor)
{
    char path[SCRATCH_PATH_SIZE];
    memset(tensor, 0, sizeof *tensor);
    if (name)
        assert_int_equal(
            lab_npy_read(tensor, scratch_path(state, name, path), LAB_NPY_OPERAND, NULL), HEED_OK);
}

/* Options of runs, and the same problem for the reference. */
static const struct {
    const char *options, *spec;
    const char *q, *k, *v, *cu_q, *cu_k, *table, *lengths;
} runs[] = {
    { "--cu-seqlens-q cu_q.npy --cu-seqlens-k cu_k.npy --words causal=br",
      "b4 h4/2 s17/21 d16/24 f32 causal=br varlen=30/50 cu_q=i64", "Q_packed.npy", "K_packed.npy",
      "V_packed.npy", "cu_q.npy", "cu_k.npy", NULL, NULL },
    { "--cu-seqlens-q cu_q.npy --cu-seqlens-k cu_k64.npy --kernel fwd_any_scalar_row",
      "b4 h4/2 s17/21 d16/24 f32 varlen=30/50 cu_q=i64 cu_k=i64", "Q_packed.npy", "K_packed.npy",
      "V_packed.npy", "cu_q.npy", "cu_k64.npy", NULL, NULL },
    { "--cu-seqlens-q cu_q.npy --cu-seqlens-k cu_k.npy --layout bhsd --words 'window=5:2 align=br'",
      "b4 h4/2 s17/21 d16/24 f32 window=5:2 varlen=30/50 cu_q=i64 align=br layout=bhsd",
      "Q_heads.npy", "K_heads.npy", "V_heads.npy", "cu_q.npy", "cu_k.npy", NULL, NULL },
    { "--table table.npy --lengths lengths.npy --words causal=br",
      "b3 h4/2 s2/21 d16/24 f32 causal=br lengths paged=7/12", "Q.npy", "K_pool.npy", "V_pool.npy",
      NULL, NULL, "table.npy", "lengths.npy" },
    { "--table table.npy --lengths lengths.npy --dim-v 8",
      "b3 h4/2 s2/21 d16/8 f32 lengths paged=7/12 shared", "Q.npy", "K_pool.npy", NULL, NULL, NULL,
      "table.npy", "lengths.npy" },
};
#define RUNS (sizeof runs / sizeof *runs)

/* Compares O.npy and LSE.npy with the float64 reference, in the rows of sequences. */
static void assert_right(void **state, size_t n, const heed_buffers *data, int64_t rows)
{
    heed_problem problem;
    lab_tensor o, lse;
    double weights[64], row_o[64], row_lse;
    read_array(state, "O.npy", &o);
    read_array(state, "LSE.npy", &lse);
    assert_int_equal(heed_problem_parse(&problem, runs[n].spec), HEED_OK);
    heed_problem_normalize(&problem, &problem);
    const lab_view view = lab_view_of(&problem, LAB_O);
    assert_int_equal(o.rank, problem.tokens_q > 0 ? 3 : 4);
    assert_int_equal(lse.rank, o.rank - 1);
    assert_int_equal(lab_tensor_elements(&lse), lab_rows(&problem));
    for (int64_t i = 0; i < lab_rows(&problem); i++) {
        const lab_row row = lab_row_at(&problem, i);
        const int64_t at = lab_view_at(&view, row.batch, row.query, row.head);
        if (row.query < rows)
            lab_reference_row(&problem, data, row, weights, row_o, &row_lse);
        else /* after the last sequence */
            row_lse = row_o[0] = 0;
        for (int64_t d = 0; d < (row.query < rows ? problem.dim_v : 1); d++)
            if (!(fabs(lab_element_get(HEED_F32, o.data, at + d) - row_o[d]) < 1e-5))
                fail_msg("%s: row %d", runs[n].spec, (int)i);
        const double got = lab_element_get(HEED_F32, lse.data, i);
        assert_true(got == row_lse || fabs(got - row_lse) < 1e-5);
    }
    lab_tensor_free(&o);
    lab_tensor_free(&lse);
}

static void computes_attention(void **state)
{
    heed_said *result = malloc(sizeof *result);
    assert_non_null(result);
    for (size_t n = 0; n < RUNS; n++) {
        enum {
            Q,
            K,
            V,
            CU_Q,
            CU_K,
            TABLE,
            LENGTHS,
            ALL
        };
        const char *const names[ALL] = { runs[n].q,    runs[n].k,     runs[n].v,      runs[n].cu_q,
                                         runs[n].cu_k, runs[n].table, runs[n].lengths };
        lab_tensor read[ALL];
        char line[512];
        for (int i = 0; i < ALL; i++)
            read_array(state, names[i], &read[i]);
        snprintf(line, sizeof line, "heed run --q %s --k %s %s %s %s --out O.npy --lse LSE.npy",
                 names[Q], names[K], names[V] ? "--v" : "", names[V] ? names[V] : "",
                 runs[n].options);
        run_heed(state, &way, line, result);
        if (result->code != 0)
            fail_msg("%s\n gave %d: %s%s", line, result->code, result->out, result->err);
        const heed_buffers data = { .size = sizeof data,
                                    .q = read[Q].data,
                                    .k = read[K].data,
                                    .v = names[V] ? read[V].data : read[K].data,
                                    .cu_seqlens_q = read[CU_Q].data,
                                    .cu_seqlens_k = read[CU_K].data,
                                    .table = read[TABLE].data,
                                    .lengths = read[LENGTHS].data };
        assert_right(state, n, &data, names[CU_Q] ? 28 : 30);
        for (int i = 0; i < ALL; i++)
            lab_tensor_free(&read[i]);
    }
    free(result);
}

RUN_TESTS_WITHIN(open_arrays, scratch_close, refuses_what_does_not_fit, says_what_arrays_mean,
                 computes_attention)
