/*
 * append_scene.c - files of arrays for tests of `heed run` with new keys and rotary embeddings
 */
#include "append_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lab/tensor/npy.h"
#include "lab/tensor/random.h"
#include "lab/tensor/safetensors.h"
#include "scratch.h"

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

/* Writes @tensor to a file with the name @format. */
static __attribute__((format(printf, 3, 4))) void put(void **state, const lab_tensor *tensor,
                                                      const char *format, ...)
{
    char name[64], path[SCRATCH_PATH_SIZE];
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof name, format, list);
    va_end(list);
    assert_int_equal(lab_npy_write(tensor, scratch_path(state, name, path), NULL), HEED_OK);
}

/* Writes NAME.npy, NAME_t.npy in the other order, NAME_f16.npy and NAME_bf16.npy, where NAME is
 * @name and @kind. */
static void put_all(void **state, const char *name, const char *kind, const lab_tensor *tensor)
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
        lab_tensor form = copy(tensor);
        assert_int_equal(lab_tensor_convert(&form, forms[i].type, NULL), HEED_OK);
        if (forms[i].swapped)
            assert_int_equal(lab_tensor_swap(&form, NULL), HEED_OK);
        put(state, &form, "%s%s%s.npy", name, kind, forms[i].end);
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

/* Writes the pages of @cache to a file; other pages are NaN. */
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
    put(state, &pool, "%s.npy", name);
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
    lab_tensor packed = zeros(HEED_DATA_F32, 3, (int64_t[]){ BATCH * QUERIES, HEADS_Q, DIM });
    memcpy(packed.data, q->data, lab_tensor_bytes(q));
    for (int64_t n = 0; n < BATCH * QUERIES * HEADS_Q && how; n++) {
        const int64_t i = n / HEADS_Q, b = i >= cu_few[1];
        rotate((float *)packed.data + n * DIM, how, angles, i + lengths[b] - cu_few[b + 1]);
    }
    put(state, &packed, "Q_%s_packed.npy", how ? how->name : "plain");
    lab_tensor_free(&packed);
}

/* Writes new keys or values, packed as queries are. */
static void put_packed_new(void **state, const char *name, const lab_tensor *new)
{
    const int64_t shape[] = { BATCH * APPEND, HEADS, new->shape[3] };
    lab_tensor packed = zeros(HEED_DATA_F32, 3, shape);
    memcpy(packed.data, new->data, lab_tensor_bytes(new));
    put(state, &packed, "%s_new_packed.npy", name);
    lab_tensor_free(&packed);
}

/* Writes the cache after packed keys were appended to @full, rotated unless @how is NULL. */
static void put_packed_full(void **state, const char *name, const turn *how,
                            const lab_tensor *angles, const lab_tensor *full, const lab_tensor *new)
{
    const int64_t dim = full->shape[3];
    lab_tensor cache = copy(full);
    for (int64_t n = 0; n < BATCH * APPEND; n++) {
        const int64_t b = n >= cu_few[1], j = n + lengths[b] - cu_few[b + 1];
        memcpy(row_of(&cache, b, j, 0), (float *)new->data + n *HEADS *dim,
               HEADS * (size_t)dim * sizeof(float));
        for (int64_t h = 0; h < HEADS && how; h++)
            rotate(row_of(&cache, b, j, h), how, angles, j);
    }
    put(state, &cache, "%s_%s_packed.npy", name, how ? how->name : "plain");
    lab_tensor_free(&cache);
}

/* Writes the rotated Q and K, Q also packed and K also in pages and with packed new keys. */
static void put_rotated(void **state, const turn *how, const lab_tensor *angles,
                        const lab_tensor *q, const lab_tensor *full, const lab_tensor *new)
{
    char pool[64];
    lab_tensor queries = copy(q), keys = copy(full);
    for (int64_t b = 0; b < BATCH; b++) {
        for (int64_t i = 0; i < QUERIES; i++)
            for (int64_t h = 0; h < HEADS_Q; h++)
                rotate(row_of(&queries, b, i, h), how, angles, i + lengths[b] - QUERIES);
        for (int64_t j = lengths[b] - APPEND; j < lengths[b]; j++)
            for (int64_t h = 0; h < HEADS; h++)
                rotate(row_of(&keys, b, j, h), how, angles, j);
    }
    put_all(state, "Q_", how->name, &queries);
    put_packed(state, how, angles, q);
    put_all(state, "K_", how->name, &keys);
    snprintf(pool, sizeof pool, "K_pool_%s", how->name);
    put_pool(state, pool, &keys);
    put_packed_full(state, "K", how, angles, full, new);
    lab_tensor_free(&queries);
    lab_tensor_free(&keys);
}

static void put_angles(void **state, lab_tensor angles[2])
{
    static const char *const names[] = { "cos", "sin" };
    for (int i = 0; i < 2; i++) { /* for more positions than keys */
        angles[i] = zeros(HEED_DATA_F32, 2, (int64_t[]){ KEYS + 4, ROTARY / 2 });
        for (int64_t n = 0; n < lab_tensor_elements(&angles[i]); n++) {
            const double angle = lab_random_normal(9, (uint64_t)n);
            ((float *)angles[i].data)[n] = (float)(i ? sin(angle) : cos(angle));
        }
        put(state, &angles[i], "%s.npy", names[i]);
        lab_tensor half = copy(&angles[i]);
        assert_int_equal(lab_tensor_convert(&half, HEED_F16, NULL), HEED_OK);
        put(state, &half, "%s_f16.npy", names[i]);
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
        { "lengths", HEED_DATA_I32, 1, { BATCH }, { KEYS, 8 } },
        { "ten", HEED_DATA_I32, 1, { BATCH }, { KEYS, 10 } },
        { "short", HEED_DATA_I32, 1, { BATCH }, { KEYS, 2 } },
        { "cu_q", HEED_DATA_I32, 1, { BATCH + 1 }, { 0, QUERIES, 2 * QUERIES } },
        { "cu_few", HEED_DATA_I32, 1, { BATCH + 1 }, { 0, 2, 2 * QUERIES } },
        { "table", HEED_DATA_I32, 2, { BATCH, EACH }, { 3, 1, 6, 0, 7, -1 } },
        { "table_new", HEED_DATA_I32, 2, { BATCH, EACH }, { 3, 1, 6, 0, 6, -1 } },
        { "table_old", HEED_DATA_I32, 2, { BATCH, EACH }, { 3, 7, 6, 0, 7, -1 } },
        { "table_ahead", HEED_DATA_I32, 2, { BATCH, EACH }, { 3, 1, 6, 6, 7, -1 } },
        { "table_own", HEED_DATA_I32, 2, { BATCH, EACH }, { 3, 6, 6, 0, 7, -1 } },
        { "new_flat", HEED_DATA_F32, 3, { BATCH, APPEND, DIM }, { 0 } },
        { "new_batch", HEED_DATA_F32, 4, { 3, APPEND, HEADS, DIM }, { 0 } },
        { "new_long", HEED_DATA_F32, 4, { BATCH, KEYS + 1, HEADS, DIM }, { 0 } },
        { "new_none", HEED_DATA_F32, 4, { BATCH, 0, HEADS, DIM }, { 0 } },
        { "new_heads", HEED_DATA_F32, 4, { BATCH, APPEND, 3, DIM }, { 0 } },
        { "v_new_two", HEED_DATA_F32, 4, { BATCH, 2, HEADS, DIM_V }, { 0 } },
        { "packed", HEED_DATA_F32, 3, { BATCH * KEYS, HEADS, DIM }, { 0 } },
        { "cos_flat", HEED_DATA_F32, 1, { KEYS }, { 0 } },
        { "cos_few", HEED_DATA_F32, 2, { KEYS - 1, ROTARY / 2 }, { 0 } },
        { "cos_wide", HEED_DATA_F32, 2, { KEYS, DIM / 2 + 1 }, { 0 } },
        { "sin_thin", HEED_DATA_F32, 2, { KEYS, 2 }, { 0 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lab_tensor tensor = zeros(rows[i].kind, rows[i].rank, rows[i].shape);
        for (int64_t n = 0; rows[i].kind == HEED_DATA_I32 && n < lab_tensor_elements(&tensor); n++)
            ((int32_t *)tensor.data)[n] = rows[i].numbers[n];
        put(state, &tensor, "%s.npy", rows[i].name);
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

int append_scene_open(void **state)
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
    static const char *const pools[] = { NULL, "K_pool", "V_pool" };
    static const char *const full_pools[] = { NULL, "K_pool_full", "V_pool_full" };
    put_angles(state, all + 5);
    blank(&all[1]);
    blank(&all[2]);
    for (int i = 0; i < 5; i++)
        put_all(state, names[i], "", &all[i]);
    for (int i = 1; i < 3; i++) {
        lab_tensor full = copy(&all[i]);
        fill(&full, &all[i + 2]);
        put_all(state, names[i], "_full", &full);
        put_pool(state, pools[i], &all[i]);
        put_pool(state, full_pools[i], &full);
        for (size_t n = 0; i == 1 && n < sizeof turns / sizeof *turns; n++)
            put_rotated(state, &turns[n], all + 5, all, &full, &all[3]);
        put_packed_full(state, names[i], NULL, NULL, &full, &all[i + 2]);
        lab_tensor_free(&full);
    }
    put_packed(state, NULL, NULL, &all[0]);
    put_packed_new(state, "K", &all[3]);
    put_packed_new(state, "V", &all[4]);
    put_named(state, all);
    put_others(state);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        lab_tensor_free(&all[i]);
    return 0;
}
