/*
 * test_run_append.c - `heed run` with appended keys and values and with rotary embeddings: results,
 * output files, errors
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
#include "lab/tensor/safetensors.h"
#include "run_heed.h"
#include "scratch.h"

static const run_heed_way way = { HEED_PROGRAM, NULL };

#define EXPECT(state, table) run_heed_rows(state, &way, table, sizeof(table) / sizeof(table)[0])

enum {
    BATCH = 2,
    HEADS_Q = 4,
    HEADS = 2,
    QUERIES = 3,
    KEYS = 21,
    APPEND = 3,
    DIM = 16,
    DIM_V = 24,
    ROTARY = 12,
    BEHIND = 4, /* if V is a part of K it has this many columns, and the others are rotated */
    PAGE = 7,
    PAGES = 8,
    EACH = KEYS / PAGE
};
static const int32_t lengths[BATCH] = { KEYS, 8 };
static const int32_t cu_few[BATCH + 1] = { 0, 2, 2 * QUERIES }; /* of packed queries */
static const int32_t table[BATCH * EACH] = { 3, 1, 6, 0, 7, -1 };

/* -------------------------------------------------------------------------- */
/* Arrays                                                                     */
/* -------------------------------------------------------------------------- */

static lab_tensor zeros(heed_data kind, int rank, const int64_t *shape)
{
    lab_tensor tensor;
    assert_int_equal(lab_tensor_create_kind(&tensor, kind, shape, rank, NULL), HEED_OK);
    return tensor;
}

static lab_tensor normal(uint64_t seed, int64_t batch, int64_t seq, int64_t heads, int64_t dim)
{
    lab_tensor tensor = zeros(HEED_DATA_F32, 4, (int64_t[]){ batch, seq, heads, dim });
    for (int64_t i = 0; i < lab_tensor_elements(&tensor); i++)
        ((float *)tensor.data)[i] = (float)lab_random_normal(seed, (uint64_t)i);
    return tensor;
}

static lab_tensor copy(const lab_tensor *tensor)
{
    lab_tensor new = zeros(tensor->kind, tensor->rank, tensor->shape);
    memcpy(new.data, tensor->data, lab_tensor_bytes(tensor));
    return new;
}

static void put(void **state, const char *name, const lab_tensor *tensor)
{
    char path[SCRATCH_PATH_SIZE];
    assert_int_equal(lab_npy_write(tensor, scratch_path(state, name, path), NULL), HEED_OK);
}

/* Writes NAME.npy, NAME_t.npy in the other order, NAME_f16.npy and NAME_bf16.npy. */
static void put_all(void **state, const char *name, const lab_tensor *tensor)
{
    static const struct {
        const char *end;
        heed_type type;
        bool swapped;
    } forms[] = { { "", HEED_F32, false },
                  { "_t", HEED_F32, true },
                  { "_f16", HEED_F16, false },
                  { "_bf16", HEED_BF16, false } };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char file[64];
        lab_tensor form = copy(tensor);
        snprintf(file, sizeof file, "%s%s.npy", name, forms[i].end);
        assert_int_equal(lab_tensor_convert(&form, forms[i].type, NULL), HEED_OK);
        if (forms[i].swapped)
            assert_int_equal(lab_tensor_swap(&form, NULL), HEED_OK);
        put(state, file, &form);
        lab_tensor_free(&form);
    }
}

static float *row_of(const lab_tensor *tensor, int64_t batch, int64_t seq, int64_t head)
{
    const int64_t *shape = tensor->shape;
    return (float *)tensor->data + ((batch * shape[1] + seq) * shape[2] + head) * shape[3];
}

/* Writes NaN to everything outside the sequences, and to the slots of new keys. */
static void blank(lab_tensor *cache)
{
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t j = lengths[b] - APPEND; j < KEYS; j++)
            for (int64_t d = 0; d < HEADS * cache->shape[3]; d++)
                row_of(cache, b, j, 0)[d] = NAN;
}

static void fill(lab_tensor *cache, const lab_tensor *new)
{
    for (int64_t b = 0; b < BATCH; b++)
        memcpy(row_of(cache, b, lengths[b] - APPEND, 0), row_of(new, b, 0, 0),
               APPEND * HEADS * (size_t)cache->shape[3] * sizeof(float));
}

/* Writes the pages of @cache to NAME.npy; other pages are NaN. */
static void put_pool(void **state, const char *name, const lab_tensor *cache)
{
    const size_t row = HEADS * (size_t)cache->shape[3] * sizeof(float);
    lab_tensor pool = zeros(HEED_DATA_F32, 4, (int64_t[]){ PAGES, PAGE, HEADS, cache->shape[3] });
    for (int64_t i = 0; i < lab_tensor_elements(&pool); i++)
        ((float *)pool.data)[i] = NAN;
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t j = 0; j < lengths[b]; j++)
            memcpy(row_of(&pool, table[b * EACH + j / PAGE], j % PAGE, 0), row_of(cache, b, j, 0),
                   row);
    put(state, name, &pool);
    lab_tensor_free(&pool);
}

/* Kind of rotation. */
typedef struct turn {
    const char *name;
    int64_t first;
    bool interleaved;
} turn;
static const turn turns[] = { { "halves", 0, false },
                              { "pairs", 0, true },
                              { "behind", BEHIND, false } };

static void rotate(float *row, const turn *how, const lab_tensor *angles, int64_t position)
{
    for (int64_t c = 0; c < ROTARY / 2; c++) {
        const int64_t a = how->first + (how->interleaved ? 2 * c : c);
        const int64_t b = how->interleaved ? a + 1 : a + ROTARY / 2;
        const int64_t at = position * (ROTARY / 2) + c;
        const double x = row[a], y = row[b];
        const double cos = ((float *)angles[0].data)[at], sin = ((float *)angles[1].data)[at];
        row[a] = (float)(x * cos - y * sin);
        row[b] = (float)(y * cos + x * sin);
    }
}

/* Writes packed queries, rotated unless @how is NULL. */
static void put_packed(void **state, const turn *how, const lab_tensor *angles, const lab_tensor *q)
{
    char file[64];
    lab_tensor packed = zeros(HEED_DATA_F32, 3, (int64_t[]){ BATCH * QUERIES, HEADS_Q, DIM });
    memcpy(packed.data, q->data, lab_tensor_bytes(q));
    for (int64_t n = 0; n < BATCH * QUERIES * HEADS_Q && how; n++) {
        const int64_t i = n / HEADS_Q, b = i >= cu_few[1];
        rotate((float *)packed.data + n * DIM, how, angles, i + lengths[b] - cu_few[b + 1]);
    }
    snprintf(file, sizeof file, "Q_%s_packed.npy", how ? how->name : "plain");
    put(state, file, &packed);
    lab_tensor_free(&packed);
}

/* Writes new keys or values, packed as queries are. */
static void put_packed_new(void **state, const char *name, const lab_tensor *new)
{
    const int64_t shape[] = { BATCH * APPEND, HEADS, new->shape[3] };
    lab_tensor packed = zeros(HEED_DATA_F32, 3, shape);
    memcpy(packed.data, new->data, lab_tensor_bytes(new));
    put(state, name, &packed);
    lab_tensor_free(&packed);
}

/* Writes the cache after packed keys were appended to @full, rotated unless @how is NULL. */
static void put_packed_full(void **state, const char *name, const turn *how,
                            const lab_tensor *angles, const lab_tensor *full, const lab_tensor *new)
{
    char file[64];
    const int64_t dim = full->shape[3];
    lab_tensor cache = copy(full);
    for (int64_t n = 0; n < BATCH * APPEND; n++) {
        const int64_t b = n >= cu_few[1], j = n + lengths[b] - cu_few[b + 1];
        memcpy(row_of(&cache, b, j, 0), (float *)new->data + n *HEADS *dim,
               HEADS * (size_t)dim * sizeof(float));
        for (int64_t h = 0; h < HEADS && how; h++)
            rotate(row_of(&cache, b, j, h), how, angles, j);
    }
    snprintf(file, sizeof file, "%s_%s_packed.npy", name, how ? how->name : "plain");
    put(state, file, &cache);
    lab_tensor_free(&cache);
}

/* Writes the rotated Q and K, Q also packed and K also in pages. */
static void put_rotated(void **state, const turn *how, const lab_tensor *angles,
                        const lab_tensor *q, const lab_tensor *full)
{
    char file[64];
    lab_tensor queries = copy(q), keys = copy(full);
    for (int64_t b = 0; b < BATCH; b++) {
        for (int64_t i = 0; i < QUERIES; i++)
            for (int64_t h = 0; h < HEADS_Q; h++)
                rotate(row_of(&queries, b, i, h), how, angles, i + lengths[b] - QUERIES);
        for (int64_t j = lengths[b] - APPEND; j < lengths[b]; j++)
            for (int64_t h = 0; h < HEADS; h++)
                rotate(row_of(&keys, b, j, h), how, angles, j);
    }
    snprintf(file, sizeof file, "Q_%s", how->name);
    put_all(state, file, &queries);
    put_packed(state, how, angles, q);
    snprintf(file, sizeof file, "K_%s", how->name);
    put_all(state, file, &keys);
    snprintf(file, sizeof file, "K_pool_%s.npy", how->name);
    put_pool(state, file, &keys);
    lab_tensor_free(&queries);
    lab_tensor_free(&keys);
}

static void put_angles(void **state, lab_tensor angles[2])
{
    static const char *const names[] = { "cos", "sin" };
    for (int i = 0; i < 2; i++) { /* for more positions than keys */
        char file[64];
        angles[i] = zeros(HEED_DATA_F32, 2, (int64_t[]){ KEYS + 4, ROTARY / 2 });
        for (int64_t n = 0; n < lab_tensor_elements(&angles[i]); n++) {
            const double angle = lab_random_normal(9, (uint64_t)n);
            ((float *)angles[i].data)[n] = (float)(i ? sin(angle) : cos(angle));
        }
        snprintf(file, sizeof file, "%s.npy", names[i]);
        put(state, file, &angles[i]);
        lab_tensor half = copy(&angles[i]);
        assert_int_equal(lab_tensor_convert(&half, HEED_F16, NULL), HEED_OK);
        snprintf(file, sizeof file, "%s_f16.npy", names[i]);
        put(state, file, &half);
        lab_tensor_free(&half);
    }
}

/* Integers, and arrays of zeros whose shapes or types do not fit. */
static void put_others(void **state)
{
    static const struct {
        const char *name;
        heed_data kind;
        int rank;
        int64_t shape[4];
        int32_t numbers[BATCH * EACH];
    } rows[] = {
        { "lengths.npy", HEED_DATA_I32, 1, { BATCH }, { KEYS, 8 } },
        { "ten.npy", HEED_DATA_I32, 1, { BATCH }, { KEYS, 10 } },
        { "short.npy", HEED_DATA_I32, 1, { BATCH }, { KEYS, 2 } },
        { "cu_q.npy", HEED_DATA_I32, 1, { BATCH + 1 }, { 0, QUERIES, 2 * QUERIES } },
        { "cu_few.npy", HEED_DATA_I32, 1, { BATCH + 1 }, { 0, 2, 2 * QUERIES } },
        { "table.npy", HEED_DATA_I32, 2, { BATCH, EACH }, { 3, 1, 6, 0, 7, -1 } },
        { "table_new.npy", HEED_DATA_I32, 2, { BATCH, EACH }, { 3, 1, 6, 0, 6, -1 } },
        { "table_old.npy", HEED_DATA_I32, 2, { BATCH, EACH }, { 3, 7, 6, 0, 7, -1 } },
        { "table_ahead.npy", HEED_DATA_I32, 2, { BATCH, EACH }, { 3, 1, 6, 6, 7, -1 } },
        { "table_own.npy", HEED_DATA_I32, 2, { BATCH, EACH }, { 3, 6, 6, 0, 7, -1 } },
        { "new_flat.npy", HEED_DATA_F32, 3, { BATCH, APPEND, DIM }, { 0 } },
        { "new_batch.npy", HEED_DATA_F32, 4, { 3, APPEND, HEADS, DIM }, { 0 } },
        { "new_long.npy", HEED_DATA_F32, 4, { BATCH, KEYS + 1, HEADS, DIM }, { 0 } },
        { "new_none.npy", HEED_DATA_F32, 4, { BATCH, 0, HEADS, DIM }, { 0 } },
        { "new_heads.npy", HEED_DATA_F32, 4, { BATCH, APPEND, 3, DIM }, { 0 } },
        { "v_new_two.npy", HEED_DATA_F32, 4, { BATCH, 2, HEADS, DIM_V }, { 0 } },
        { "packed.npy", HEED_DATA_F32, 3, { BATCH * KEYS, HEADS, DIM }, { 0 } },
        { "cos_flat.npy", HEED_DATA_F32, 1, { KEYS }, { 0 } },
        { "cos_few.npy", HEED_DATA_F32, 2, { KEYS - 1, ROTARY / 2 }, { 0 } },
        { "cos_wide.npy", HEED_DATA_F32, 2, { KEYS, DIM / 2 + 1 }, { 0 } },
        { "sin_thin.npy", HEED_DATA_F32, 2, { KEYS, 2 }, { 0 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lab_tensor tensor = zeros(rows[i].kind, rows[i].rank, rows[i].shape);
        for (int64_t n = 0; rows[i].kind == HEED_DATA_I32 && n < lab_tensor_elements(&tensor); n++)
            ((int32_t *)tensor.data)[n] = rows[i].numbers[n];
        put(state, rows[i].name, &tensor);
        lab_tensor_free(&tensor);
    }
}

static void put_named(void **state, const lab_tensor *tensors)
{
    static const char *const names[] = {
        "x.q", "x.k", "x.v", "new_k", "new_v", "turn.c", "turn.s"
    };
    char path[SCRATCH_PATH_SIZE];
    assert_int_equal(lab_safetensors_write(scratch_path(state, "all.safetensors", path), names,
                                           tensors, sizeof names / sizeof *names, NULL),
                     HEED_OK);
}

static int open_arrays(void **state)
{
    if (scratch_open(state) != 0)
        return -1;
    lab_tensor all[] = { normal(1, BATCH, QUERIES, HEADS_Q, DIM),
                         normal(2, BATCH, KEYS, HEADS, DIM),
                         normal(3, BATCH, KEYS, HEADS, DIM_V),
                         normal(4, BATCH, APPEND, HEADS, DIM),
                         normal(5, BATCH, APPEND, HEADS, DIM_V),
                         { 0 },
                         { 0 } };
    static const char *const names[] = { "Q", "K", "V", "K_new", "V_new" };
    static const char *const pools[] = { NULL, "K_pool.npy", "V_pool.npy" };
    static const char *const full_pools[] = { NULL, "K_pool_full.npy", "V_pool_full.npy" };
    put_angles(state, all + 5);
    blank(&all[1]);
    blank(&all[2]);
    for (int i = 0; i < 5; i++)
        put_all(state, names[i], &all[i]);
    for (int i = 1; i < 3; i++) {
        char file[64];
        lab_tensor full = copy(&all[i]);
        fill(&full, &all[i + 2]);
        snprintf(file, sizeof file, "%s_full", names[i]);
        put_all(state, file, &full);
        put_pool(state, pools[i], &all[i]);
        put_pool(state, full_pools[i], &full);
        for (size_t n = 0; i == 1 && n < sizeof turns / sizeof *turns; n++)
            put_rotated(state, &turns[n], all + 5, &all[0], &full);
        put_packed_full(state, names[i], NULL, NULL, &full, &all[i + 2]);
        for (size_t n = 0; i == 1 && n < sizeof turns / sizeof *turns; n++)
            put_packed_full(state, names[i], &turns[n], all + 5, &full, &all[i + 2]);
        lab_tensor_free(&full);
    }
    put_packed(state, NULL, NULL, &all[0]);
    put_packed_new(state, "K_new_packed.npy", &all[3]);
    put_packed_new(state, "V_new_packed.npy", &all[4]);
    put_named(state, all);
    put_others(state);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        lab_tensor_free(&all[i]);
    return 0;
}

/* -------------------------------------------------------------------------- */
/* Results                                                                    */
/* -------------------------------------------------------------------------- */

#define NEW "--k-new K_new.npy --v-new V_new.npy "
#define PACKED "--k-new K_new_packed.npy --v-new V_new_packed.npy "
#define LENGTHS "--lengths lengths.npy "
#define ROTATED "--rotary-cos cos.npy --rotary-sin sin.npy "

/* A run with new keys, and one whose caches already contain them and whose queries are rotated:
 * outputs and caches must have the same bits. */
static const struct {
    const char *all;             /* options of both */
    const char *q, *k, *v, *new; /* files of the first, and its options */
    const char *q_rotated, *k_full, *v_full;
    const char *spec;
} runs[] = {
    { LENGTHS, "Q", "K", "V", NEW, "Q", "K_full", "V_full", "f32 append=3 lengths=b" },
    { LENGTHS "--words causal=br", "Q", "K", "V", NEW, "Q", "K_full", "V_full",
      "f32 causal=br append=3" },
    { LENGTHS "--words 'window=4: align=br' --kernel fwd_any_scalar_row", "Q", "K", "V", NEW, "Q",
      "K_full", "V_full", "append=3" },
    { LENGTHS "--layout bhsd --words causal=br", "Q_t", "K_t", "V_t",
      "--k-new K_new_t.npy --v-new V_new_t.npy ", "Q_t", "K_full_t", "V_full_t",
      "append=3 lengths=b layout=bhsd" },
    { LENGTHS "--table table.npy", "Q", "K_pool", "V_pool", NEW, "Q", "K_pool_full", "V_pool_full",
      "append=3 lengths=b paged=7/8" },
    { LENGTHS "--cu-seqlens-q cu_q.npy --words causal=br", "Q_plain_packed", "K", "V", NEW,
      "Q_plain_packed", "K_full", "V_full", "varlen=6/0 append=3" },
    { LENGTHS "--cu-seqlens-q cu_q.npy --table table.npy", "Q_plain_packed", "K_pool", "V_pool",
      NEW, "Q_plain_packed", "K_pool_full", "V_pool_full",
      "varlen=6/0 append=3 lengths=b paged=7/8" },
    { LENGTHS "--type f16", "Q", "K", "V", NEW, "Q", "K_full_f16", "V_full_f16", "f16 append=3" },
    { LENGTHS "--type f32", "Q_f16", "K", "V", NEW, "Q_f16", "K_full", "V_full", "f32 append=3" },
    { LENGTHS "--type bf16 --cpu scalar --threads 1 --kernel fwd_any_scalar_row", "Q_bf16",
      "K_bf16", "V_bf16", "--k-new K_new_bf16.npy --v-new V_new_bf16.npy ", "Q_bf16", "K_full_bf16",
      "V_full_bf16", "bf16 append=3" },
    { LENGTHS "--words causal=br", "Q", "K", "V", NEW ROTATED, "Q_halves", "K_halves", "V_full",
      "causal=br append=3 rotary=12 lengths=b" },
    { LENGTHS "--layout bhsd --kernel fwd_any_scalar_row", "Q_t", "K_t", "V_t",
      "--k-new K_new_t.npy --v-new V_new_t.npy " ROTATED, "Q_halves_t", "K_halves_t", "V_full_t",
      "append=3 rotary=12" },
    { LENGTHS, "Q", "K", "V", NEW ROTATED "--words rotary=12:interleaved ", "Q_pairs", "K_pairs",
      "V_full", "append=3 rotary=12:interleaved lengths=b" },
    { LENGTHS "--table table.npy", "Q", "K_pool", "V_pool", NEW ROTATED, "Q_halves",
      "K_pool_halves", "V_pool_full", "append=3 rotary=12 lengths=b paged=7/8" },
    { LENGTHS "--cu-seqlens-q cu_few.npy --words causal=br", "Q_plain_packed", "K", "V",
      NEW ROTATED, "Q_halves_packed", "K_halves", "V_full", "varlen=6/0 append=3 rotary=12" },
    { LENGTHS "--cu-seqlens-q cu_few.npy --words causal=br", "Q_plain_packed", "K_full", "V_full",
      PACKED, "Q_plain_packed", "K_plain_packed", "V_plain_packed", "varlen=6/0 append=4:packed" },
    { LENGTHS "--cu-seqlens-q cu_few.npy ", "Q_plain_packed", "K_full", "V_full",
      PACKED ROTATED "--words rotary=12:interleaved ", "Q_pairs_packed", "K_pairs_packed",
      "V_plain_packed", "varlen=6/0 append=4:packed rotary=12:interleaved" },
    { LENGTHS "--cu-seqlens-q cu_few.npy --dim-v 4", "Q_plain_packed", "K", NULL,
      "--k-new K_new.npy " ROTATED, "Q_behind_packed", "K_behind", NULL,
      "f32 shared varlen=6/0 append=3 rotary=12" },
    { LENGTHS "--dim-v 4", "Q", "K", NULL, "--k-new K_new.npy ", "Q", "K_full", NULL,
      "f32 shared append=3" },
    { LENGTHS "--dim-v 4", "Q", "K", NULL, "--k-new K_new.npy " ROTATED, "Q_behind", "K_behind",
      NULL, "f32 shared append=3 rotary=12" },
};

/* Runs a line whose report must contain @spec. */
static void run_line(void **state, const char *line, const char *spec, heed_said *said)
{
    run_heed(state, &way, line, said);
    if (said->code != 0 || !strstr(said->out, spec))
        fail_msg("%s\n gave %d: %s%s", line, said->code, said->out, said->err);
}

static void vectors_to(char *line, size_t size, const char *q, const char *k, const char *v)
{
    const size_t length = (size_t)snprintf(line, size, "heed run --q %s.npy --k %s.npy ", q, k);
    if (v)
        snprintf(line + length, size - length, "--v %s.npy ", v);
}

static void appends_as_if_keys_were_there(void **state)
{
    heed_said *said = malloc(sizeof *said);
    assert_non_null(said);
    for (size_t n = 0; n < sizeof runs / sizeof *runs; n++) {
        char line[1024], files[256];
        vectors_to(files, sizeof files, runs[n].q, runs[n].k, runs[n].v);
        snprintf(line, sizeof line, "%s%s%s -o O.npy --lse L.npy --k-out K_out.npy %s", files,
                 runs[n].new, runs[n].all, runs[n].v ? "--v-out V_out.npy" : "");
        run_line(state, line, runs[n].spec, said);
        vectors_to(files, sizeof files, runs[n].q_rotated, runs[n].k_full, runs[n].v_full);
        snprintf(line, sizeof line, "%s%s -o P.npy --lse M.npy", files, runs[n].all);
        run_line(state, line, "", said);
        snprintf(line, sizeof line,
                 "cmp O.npy P.npy && cmp L.npy M.npy && cmp K_out.npy %s.npy && cmp %s %s%s",
                 runs[n].k_full, runs[n].v ? "V_out.npy" : "O.npy",
                 runs[n].v ? runs[n].v_full : "P.npy", runs[n].v ? ".npy" : "");
        run_line(state, line, "", said);
    }
    free(said);
}

/* The report names the output files, and input files are unchanged. */
static void names_its_files(void **state)
{
    static const run_heed_row lines[] = {
        { "cp K.npy K_before.npy; cp V.npy V_before.npy", 0, "", "" },
        { "heed run --q Q.npy --k K.npy --v V.npy " NEW LENGTHS
          "--k-out K_out.npy --v-out V_out.safetensors",
          0,
          "K        K_out.npy: f32 [2, 21, 2, 16]\nV        V_out.safetensors: f32 [2, 21, 2, 24]",
          "" },
        { "cmp K.npy K_before.npy && cmp V.npy V_before.npy && cmp K_out.npy K_full.npy", 0, "",
          "" },
        { "heed run --json --q Q.npy --k K.npy --v V.npy " NEW LENGTHS "--k-out K_out.npy", 0,
          "\"out\": null,\n  \"lse\": null,\n  \"k_out\": \"K_out.npy\",\n  \"v_out\": null", "" },
        { "heed run --q Q.npy --k K_pool.npy --v V_pool.npy --table table.npy " NEW LENGTHS
          "--k-out K_out.npy",
          0, "K_out.npy: f32 [8, 7, 2, 16]", "" },
    };
    EXPECT(state, lines);
}

/* Arrays in the file of --tensors, by their full names. */
static void reads_named_arrays(void **state)
{
    static const run_heed_row lines[] = {
        { "heed run --tensors all.safetensors --prefix x. --k-new new_k --v-new new_v "
          "--rotary-cos turn.c --rotary-sin turn.s " LENGTHS "-o O.npy --k-out K_out.npy",
          0, "append=3 rotary=12", "" },
        { "heed run --q Q_halves.npy --k K_halves.npy --v V_full.npy " LENGTHS "-o P.npy", 0, NULL,
          "" },
        { "cmp O.npy P.npy && cmp K_out.npy K_halves.npy", 0, "", "" },
        { "heed run --tensors all.safetensors --prefix x. --k-new x.new_k --v-new new_v " LENGTHS,
          2, "", "all.safetensors: there is no array 'x.new_k'" },
        { "heed run --q Q.npy --k K.npy --v V.npy --k-new new_k --v-new V_new.npy " LENGTHS, 2, "",
          "--k-new: 'new_k' does not end in .npy, and there is no --tensors" },
    };
    EXPECT(state, lines);
}

/* Cosines and sines of a type other than that of Q and K. */
static void takes_tables_of_each_type(void **state)
{
    static const run_heed_row lines[] = {
        { "heed run --q Q.npy --k K.npy --v V.npy " NEW LENGTHS
          "--rotary-cos cos_f16.npy --rotary-sin sin_f16.npy",
          0, "append=3 rotary=12 lengths=b cos=f16 sin=f16", "" },
        { "heed run --type bf16 --cpu scalar --q Q.npy --k K.npy --v V.npy " NEW LENGTHS ROTATED
          "--k-out K_out.npy",
          0, "K_out.npy: bf16 [2, 21, 2, 16]", NULL },
    };
    EXPECT(state, lines);
}

/* -------------------------------------------------------------------------- */
/* Refusals                                                                   */
/* -------------------------------------------------------------------------- */

#define RUN "heed run --q Q.npy --k K.npy --v V.npy "
#define APPENDED RUN NEW LENGTHS
#define K_NEW "--v-new V_new.npy " LENGTHS "--k-new "
#define COS "--rotary-sin sin.npy --rotary-cos "
#define SIN "--rotary-cos cos.npy --rotary-sin "
#define PAGED "heed run --q Q.npy --k K_pool.npy --v V_pool.npy " NEW LENGTHS "--table "

static void refuses_options_without_others(void **state)
{
    static const run_heed_row lines[] = {
        { RUN "--v-new V_new.npy " LENGTHS, 2, "", "--v-new needs --k-new" },
        { RUN "--k-new K_new.npy " LENGTHS, 2, "",
          "--k-new needs --v-new, or --dim-v in the place of --v" },
        { RUN NEW, 2, "", "--k-new needs --lengths, which count the new keys" },
        { RUN LENGTHS ROTATED, 2, "",
          "--rotary-cos needs --k-new: Q is rotated beside new keys alone" },
        { APPENDED "--rotary-cos cos.npy", 2, "", "--rotary-cos needs --rotary-sin" },
        { APPENDED "--rotary-sin sin.npy", 2, "", "--rotary-sin needs --rotary-cos" },
        { RUN "--k-out K_out.npy", 2, "",
          "--k-out needs --k-new: without new keys K stays as it is" },
        { RUN "--v-out V_out.npy", 2, "",
          "--v-out needs --k-new: without new keys V stays as it is" },
        { "heed run --q Q.npy --k K.npy --dim-v 4 " NEW LENGTHS, 2, "",
          "--v-new and --dim-v exclude each other: with --dim-v, V is a part of K" },
        { "heed run --q Q.npy --k K.npy --dim-v 4 --k-new K_new.npy " LENGTHS "--v-out V_out.npy",
          2, "", "--v-out and --dim-v exclude each other" },
        { APPENDED "--k-out K.txt", 2, "", "--k-out: 'K.txt' must end in .npy or .safetensors" },
        { APPENDED "--v-out V", 2, "", "--v-out: 'V' must end in" },
        { APPENDED "--out O.npy --k-out O.npy", 2, "",
          "--out and --k-out name the same file, 'O.npy'" },
        { APPENDED "--k-out K_out.npy --v-out K_out.npy", 2, "",
          "--k-out and --v-out name the same file" },
        { APPENDED "--k-out no/K.npy", 3, "", "no/K.npy: No such file" },
    };
    EXPECT(state, lines);
}

static void refuses_new_keys_that_do_not_fit(void **state)
{
    static const run_heed_row lines[] = {
        { RUN K_NEW "no.npy", 3, "", "no.npy: No such file" },
        { RUN K_NEW "lengths.npy", 2, "",
          "--k-new: lengths.npy has elements of type i32; they must be of f32, f16, bf16" },
        { RUN K_NEW "K_new_f16.npy", 2, "",
          "--k-new: K_new_f16.npy has elements of type f16, K those of type f32; choose one "
          "with --type" },
        { RUN LENGTHS "--k-new K_new.npy --v-new V_new_bf16.npy", 2, "",
          "--v-new: V_new_bf16.npy has elements of type bf16, K those of type f32" },
        { RUN K_NEW "new_flat.npy", 2, "",
          "--k-new: new_flat.npy has shape [2, 3, 16], 3 dimensions; it must have 4: [batch, "
          "append, heads, dim]" },
        { RUN K_NEW "new_batch.npy", 2, "",
          "--k-new: new_batch.npy has shape [3, 3, 2, 16]: dimension 0 (batch) is 3; it must be "
          "2\n" },
        { RUN K_NEW "new_long.npy", 2, "", "dimension 1 (append) is 22; it must be 1 to 21" },
        { RUN K_NEW "new_none.npy", 2, "", "dimension 1 (append) is 0; it must be 1 to 21" },
        { RUN K_NEW "new_heads.npy", 2, "", "dimension 2 (heads) is 3; it must be 2\n" },
        { RUN K_NEW "V_new.npy", 2, "", "dimension 3 (dim) is 24; it must be 16\n" },
        { RUN LENGTHS "--k-new K_new.npy --v-new v_new_two.npy", 2, "",
          "--v-new: v_new_two.npy has shape [2, 2, 2, 24]: dimension 1 (append) is 2; it must be "
          "3\n" },
        { "heed run --layout bhsd --q Q_t.npy --k K_t.npy --v V_t.npy " NEW LENGTHS, 2, "",
          "--k-new: K_new.npy has shape [2, 3, 2, 16]: dimension 1 (heads) is 3; it must be 2\n" },
        { "heed run --layout bhsd --q Q_t.npy --k K_t.npy --v V_t.npy " K_NEW "new_flat.npy", 2, "",
          "it must have 4: [batch, heads, append, dim]" },
        { "heed run --q Q.npy --k packed.npy --v packed.npy " NEW LENGTHS, 2, "",
          "--k-new: K (packed.npy: [42, 2, 16]) has packed keys, to which none are appended" },
        { RUN "--lengths short.npy " NEW, 2, "",
          "--lengths: short.npy: entry 1 is 2; it must be 3 to 21" },
        { APPENDED "--words prefix=7", 2, "",
          "--lengths: lengths.npy: entry 1 is 8; it must be 10 to 21" },
        { APPENDED "--words append=3", 2, "", "append must be given once" },
        { APPENDED "--words k_new=96:32:16", 2, "", "the strides of k_new must be given once" },
        { RUN LENGTHS "--words append=3", 2, "",
          "append needs its elements: give --k-new FILE, which implies the word" },
    };
    EXPECT(state, lines);
}

static void refuses_rotations_that_do_not_fit(void **state)
{
    static const run_heed_row lines[] = {
        { APPENDED COS "lengths.npy", 2, "",
          "--rotary-cos: lengths.npy has elements of type i32; they must be of f32, f16, bf16" },
        { APPENDED COS "cos_flat.npy", 2, "",
          "--rotary-cos: cos_flat.npy has shape [21], 1 dimension; it must have 2: [positions, "
          "rotary / 2]" },
        { APPENDED COS "cos_few.npy", 2, "",
          "--rotary-cos: cos_few.npy has shape [20, 6]: dimension 0 (positions) is 20; it must be "
          "21 or more" },
        { APPENDED COS "cos_wide.npy", 2, "",
          "dimension 1 (rotary / 2) is 9; it must be 1 to 8\n" },
        { "heed run --q Q.npy --k K.npy --dim-v 8 --k-new K_new.npy " LENGTHS ROTATED, 2, "",
          "dimension 1 (rotary / 2) is 6; it must be 1 to 4\n" },
        { APPENDED SIN "cos_flat.npy", 2, "", "--rotary-sin: cos_flat.npy has shape [21]" },
        { APPENDED SIN "cos_few.npy", 2, "", "--rotary-sin: cos_few.npy has shape [20, 6]" },
        { APPENDED SIN "sin_thin.npy", 2, "",
          "--rotary-sin: sin_thin.npy has shape [21, 2]: dimension 1 (rotary / 2) is 2; it must "
          "be 6\n" },
        { APPENDED SIN "sin_f16.npy", 2, "",
          "--rotary-sin: sin_f16.npy has elements of type f16; they must be of f32, as those of "
          "--rotary-cos" },
        { APPENDED ROTATED "--words rotary=8", 2, "",
          "--words: rotary is 8; it must be 12, for 6 cosines of each position in cos.npy" },
        { APPENDED ROTATED "--words 'rotary=12 rotary=12'", 2, "", "rotary must be given once" },
        { APPENDED ROTATED "--words cos=f32", 2, "", "must be given once" },
        { APPENDED "--words rotary=12", 2, "",
          "rotary needs its elements: give --rotary-cos FILE" },
        { RUN LENGTHS "--words rotary=12", 2, "", "rotary is 12 and append is 0" },
    };
    EXPECT(state, lines);
}

/* A page that is written to must occur only once. Table entries in the range of a prefix do not
 * count. */
static void refuses_pages_that_are_shared(void **state)
{
    static const run_heed_row lines[] = {
        { PAGED "table_new.npy", 2, "",
          "--table: table_new.npy: entries [0, 2] and [1, 1] are both 6; new keys go to the "
          "former, and such a page must have only one entry" },
        { PAGED "table_old.npy", 2, "",
          "--table: table_old.npy: entries [1, 1] and [0, 1] are both 7" },
        { PAGED "table_own.npy", 2, "",
          "--table: table_own.npy: entries [0, 2] and [0, 1] are both 6" },
        { "heed run --q Q.npy --k K_pool.npy --v V_pool.npy " NEW
          "--lengths ten.npy --words prefix=7 --table table_ahead.npy",
          0, "prefix=7 append=3 lengths=b paged=7/8", NULL },
    };
    EXPECT(state, lines);
}

RUN_TESTS_WITHIN(open_arrays, scratch_close, cmocka_unit_test(appends_as_if_keys_were_there),
                 cmocka_unit_test(names_its_files), cmocka_unit_test(reads_named_arrays),
                 cmocka_unit_test(takes_tables_of_each_type),
                 cmocka_unit_test(refuses_options_without_others),
                 cmocka_unit_test(refuses_new_keys_that_do_not_fit),
                 cmocka_unit_test(refuses_rotations_that_do_not_fit),
                 cmocka_unit_test(refuses_pages_that_are_shared))
