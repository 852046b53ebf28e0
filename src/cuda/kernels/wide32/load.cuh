/*
 * wide32/load.cuh - copies to shared memory for attn_wide32.cu, each one step before its use
 */
#ifndef HEED_WIDE32_LOAD_CUH
#define HEED_WIDE32_LOAD_CUH

#include "tile.cuh"
#include "wide32/place.cuh"

#define CHUNKS (PANEL / 4)       /* of 16 bytes, in a row of a panel, */
#define SLICE_CHUNKS (SLICE / 4) /* and of a slice of V */

/* Marks a row of Q that does not exist. */
#define NO_ROW 0xffffffffffffffffull

/* A thread's first chunk of the tile's keys, in K and V. */
typedef struct sources {
    const float *k;
    const float *v;
} sources;

HEED_DEVICE sources find_sources(const heed_cuda_args *args, const place *at)
{
    sources from;
    u32 thread = ptx_thread();
    from.k = (const float *)args->k + keys_offset(args, at->batch, at->head_kv, args->k_stride) +
             (i64)(at->key + thread / CHUNKS) * args->k_stride.seq + thread % CHUNKS * 4;
    from.v = (const float *)args->v + keys_offset(args, at->batch, at->head_kv, args->v_stride) +
             (i64)(at->key + thread / SLICE_CHUNKS) * args->v_stride.seq +
             thread % SLICE_CHUNKS * 4;
    return from;
}

/* Stores the offsets of the block's rows in Q to shared memory: rows of different heads of a group
 * alternate. */
HEED_DEVICE void find_q_rows(const heed_cuda_args *args, const place *at)
{
    u32 row = ptx_thread();
    if (row >= BLOCK_ROWS)
        return;
    u64 offset = NO_ROW;
    if (at->row + row < args->rows)
        offset = (u64)row_offset(args, at->head, args->q_stride, at->row + row);
    heed_u32x2 halves = { { (u32)offset, (u32)(offset >> 32) } };
    ptx_st_shared_8(ptx_shared_base() + ROWS_AT + row * 8, halves);
}

/* Loads a panel of Q, from @column on. */
HEED_DEVICE void load_q(const heed_cuda_args *args, u32 smem, u32 column)
{
    u32 chunk = ptx_thread() % CHUNKS;
    column += 4 * chunk;
    HEED_UNROLL
    for (u32 i = 0; i < BLOCK_ROWS; i += THREADS / CHUNKS) {
        u32 row = i + ptx_thread() / CHUNKS;
        heed_u32x2 halves = ptx_ld_shared_8(ptx_shared_base() + ROWS_AT + row * 8);
        u64 offset = halves.v[0] | (u64)halves.v[1] << 32;
        int exists = offset != NO_ROW && (HEED_DIM_QK % PANEL == 0 || column < HEED_DIM_QK);
        const float *from = (const float *)args->q + (exists ? offset + column : 0);
        ptx_cp_async_16(smem + tile_at(BLOCK_ROWS, 2 * PANEL, row, chunk), from, exists ? 16 : 0);
    }
}

/* Loads @rows rows of @chunks chunks each, of which @valid exist, or none. @from: the thread's
 * first chunk. */
HEED_DEVICE void load_keys(const float *from, i64 stride, u32 smem, u32 valid, const u32 rows,
                           const u32 chunks)
{
    const u32 step = THREADS / chunks;
    u32 first = ptx_thread() / chunks, chunk = ptx_thread() % chunks;
    const float *next = from;
    HEED_UNROLL
    for (u32 i = 0; i < rows; i += step, next += step * stride) {
        int exists = first + i < valid;
        ptx_cp_async_16(smem + tile_at(rows, 8 * chunks, first + i, chunk), exists ? next : from,
                        exists ? 16 : 0);
    }
}

/* Starts the copies for a step of scores: panel @panel of Q, and of the keys of pass @nth. */
HEED_DEVICE void load_panel(const heed_cuda_args *args, const place *at, const sources *from,
                            u32 nth, u32 panel, u32 smem)
{
    u32 column = panel * PANEL, key = nth * PASS_KEYS, valid = at->keys - key;
    load_q(args, smem, column);
    if (HEED_DIM_QK % PANEL != 0 && column + ptx_thread() % CHUNKS * 4 >= HEED_DIM_QK)
        valid = 0;
    const float *k = from->k + (valid ? key * args->k_stride.seq + column : 0);
    load_keys(k, args->k_stride.seq, smem + BLOCK_ROWS * PANEL_ROW, valid, PASS_KEYS, CHUNKS);
}

/* The same for a step of values: the keys from @key on, of a slice of V. */
HEED_DEVICE void load_part(const heed_cuda_args *args, const place *at, const sources *from,
                           u32 key, u32 slice, u32 smem)
{
    u32 column = slice * SLICE, valid = at->keys - key;
    if (HEED_DIM_V % SLICE != 0 && column + ptx_thread() % SLICE_CHUNKS * 4 >= HEED_DIM_V)
        valid = 0;
    const float *v = from->v + (valid ? key * args->v_stride.seq + column : 0);
    load_keys(v, args->v_stride.seq, smem, valid, PART_KEYS, SLICE_CHUNKS);
}

/* Waits for a step's data, and until all threads are done with the previous step. */
HEED_DEVICE void await_step(void)
{
    ptx_cp_async_wait(0);
    ptx_barrier();
    if (ABLATED(ABLATE_EXTRA_BARRIER))
        ptx_barrier();
}

/* The copies of a step have been started. */
HEED_DEVICE void started(void)
{
    ptx_cp_async_commit();
    if (ABLATED(ABLATE_NO_OVERLAP))
        ptx_cp_async_wait(0);
}

#endif /* HEED_WIDE32_LOAD_CUH */
