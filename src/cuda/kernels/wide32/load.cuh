/*
 * wide32/load.cuh - copies to shared memory for attn_wide32.cu, each a step ahead of its use
 */
#ifndef HEED_WIDE32_LOAD_CUH
#define HEED_WIDE32_LOAD_CUH

#include "tile.cuh"
#include "wide32/place.cuh"

#define CHUNKS (PANEL / 4) /* of 16 bytes, in a row of a panel */

/* Bytes of a chunk that begins with @column of rows of @dim. */
HEED_DEVICE u32 chunk_bytes(u32 column, const u32 dim)
{
    return column < dim ? 16 : 0;
}

/* A panel of Q, from @column on: rows of heads of a group lie side by side. */
HEED_DEVICE void load_q(const heed_cuda_args *args, const place *at, u32 smem, u32 column)
{
    HEED_UNROLL
    for (u32 i = 0; i < BLOCK_ROWS; i += THREADS / CHUNKS) {
        u32 row = i + ptx_thread() / CHUNKS, chunk = ptx_thread() % CHUNKS;
        u32 bytes = at->row + row < args->rows ? chunk_bytes(column + 4 * chunk, HEED_DIM_QK) : 0;
        const float *from = (const float *)args->q;
        if (bytes)
            from += row_offset(args, at->head, args->q_stride, at->row + row) + column + 4 * chunk;
        ptx_cp_async_16(smem + tile_at(BLOCK_ROWS, 2 * PANEL, row, chunk), from, bytes);
    }
}

/* @rows rows of K or V, whose head begins at @head, from @key on, of which @valid exist; and
 * @columns columns from @column on. */
HEED_DEVICE void load_keys(const float *head, i64 stride, u32 smem, u32 key, u32 valid,
                           const u32 rows, u32 column, const u32 columns, const u32 dim)
{
    const u32 chunks = columns / 4;
    HEED_UNROLL
    for (u32 i = 0; i < rows; i += THREADS / chunks) {
        u32 row = i + ptx_thread() / chunks, chunk = ptx_thread() % chunks;
        u32 bytes = row < valid ? chunk_bytes(column + 4 * chunk, dim) : 0;
        const float *from = bytes ? head + (key + row) * stride + column + 4 * chunk : head;
        ptx_cp_async_16(smem + tile_at(rows, 2 * columns, row, chunk), from, bytes);
    }
}

HEED_DEVICE void start_step(const heed_cuda_args *args, const place *at, u32 step)
{
    u32 smem = stage_of(step), scores = score_steps(at);
    if (step < scores) {
        u32 pass = step / QK_PANELS, column = step % QK_PANELS * PANEL, key = pass * PASS_KEYS;
        const float *k = (const float *)args->k +
                         keys_offset(args, at->batch, at->head_kv, args->k_stride);
        load_q(args, at, smem, column);
        load_keys(k, args->k_stride.seq, smem + BLOCK_ROWS * PANEL_ROW, at->key + key,
                  at->keys - key, PASS_KEYS, column, PANEL, HEED_DIM_QK);
    } else {
        u32 parts = value_parts(at), slice = (step - scores) / parts;
        u32 key = ((step - scores) - slice * parts) * PART_KEYS;
        const float *v = (const float *)args->v +
                         keys_offset(args, at->batch, at->head_kv, args->v_stride);
        load_keys(v, args->v_stride.seq, smem, at->key + key, at->keys - key, PART_KEYS,
                  slice * SLICE, SLICE, HEED_DIM_V);
    }
}

HEED_DEVICE void load_step(const heed_cuda_args *args, const place *at, u32 step)
{
    u32 scores = score_steps(at), before = step < scores ? step : step - scores; /* of its kind */
    if (step < all_steps(at) && !(ABLATED(ABLATE_NO_LOADS) && before >= STAGES))
        start_step(args, at, step);
    ptx_cp_async_commit();
}

/* Waits for @step, when all threads have done with the one before, and starts the next one. */
HEED_DEVICE void advance(const heed_cuda_args *args, const place *at, u32 step)
{
    ptx_cp_async_wait(0);
    ptx_barrier();
    if (ABLATED(ABLATE_EXTRA_BARRIER))
        ptx_barrier();
    load_step(args, at, step + 1);
    if (ABLATED(ABLATE_NO_OVERLAP))
        ptx_cp_async_wait(0);
}

#endif /* HEED_WIDE32_LOAD_CUH */
