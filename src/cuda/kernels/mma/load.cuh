/*
 * mma/load.cuh - copies of Q, K and V to shared memory, and corrections there (sign of Q,
 * non-finite values of V)
 */
#ifndef HEED_MMA_LOAD_CUH
#define HEED_MMA_LOAD_CUH

#include "half.cuh"
#include "mma/place.cuh"
#include "tile.cuh"

/* Without groups, and if all rows exist, Q is loaded as K is. */
HEED_DEVICE void load_q(const heed_cuda_args *args, const place *at, u32 q_smem, const int aligned)
{
    u32 thread = at->group * GROUP_THREADS + at->thread;
    const u32 page = tile_page(QK_PAD);
    if (aligned && args->group.value == 1 && at->row + HEED_BLOCK_ROWS <= rows_of(args, at)) {
        i64 stride = ELEMENT_BYTES * args->q_stride.seq;
        const u8 *q = (const u8 *)args->q +
                      ELEMENT_BYTES * row_offset(args, at->head, args->q_stride, at->row);
        tile_stream stream = tile_stream_of(q, stride, HEED_BLOCK_ROWS, QK_PAD, thread);
        tile_stream_load(&stream, q_smem, stride, 0, HEED_BLOCK_ROWS, 1, HEED_BLOCK_ROWS, QK_HALVES,
                         QK_PAD, THREADS, thread);
        return;
    }
    HEED_NO_UNROLL
    for (u32 row = thread / page; row < HEED_BLOCK_ROWS; row += THREADS / page) {
        const u8 *q = (const u8 *)args->q;
        u32 dim = at->row + row < rows_of(args, at) ? QK_HALVES : 0;
        if (dim)
            q += ELEMENT_BYTES * row_offset(args, at->head, args->q_stride, at->row + row);
        HEED_NO_UNROLL
        for (u32 chunk = thread % page; chunk < QK_PAD / 8; chunk += page) {
            u32 bytes = tile_chunk_bytes(dim, chunk);
            tile_copy_chunk(q_smem + tile_at(HEED_BLOCK_ROWS, QK_PAD, row, chunk),
                            q + (bytes ? 16 * chunk : 0), bytes, aligned);
        }
    }
}

#if HEED_PAGED

/* Pages that the lanes of a warp look up for the keys of a tile, each lane for every 32nd key. */
#define LOOKED_UP ((HEED_TILE_KEYS + 31) / 32)

/* Maximum number of rows that a thread copies: a row takes 8 threads or 4. */
#define ROWS_EACH ((HEED_TILE_KEYS * 8 + GROUP_THREADS - 1) / GROUP_THREADS)

typedef struct key_pages {
    u32 number[LOOKED_UP];
} key_pages;

/* The pages of the tile that begins with @key, for keys below @length. */
HEED_DEVICE key_pages look_up(const heed_cuda_args *args, const place *at, u32 key, u32 length)
{
    const heed_cuda_changes *changes = &args->changes;
    const int *table = changes->table + at->batch * changes->table_stride;
    key_pages found;
    HEED_UNROLL
    for (u32 n = 0; n < LOOKED_UP; n++) {
        u32 own = key + n * 32 + at->lane;
        found.number[n] = own < length ? ptx_ld_ahead_4(table + divide(own, changes->page)) : 0;
    }
    return found;
}

/* Starts to copy the tile of K or V that begins with @key, of the head that begins at @head, as
 * tile_load() does, each row from its page. */
HEED_DEVICE void load_pages(const heed_cuda_args *args, const place *at, const u8 *head,
                            heed_cuda_strides stride, u32 smem, u32 key, u32 length,
                            const key_pages *pages, const u32 dim, const u32 pad, const int aligned)
{
    const u32 page = tile_page(pad), step = GROUP_THREADS / page;
    heed_cuda_divisor size = args->changes.page;
    u32 numbers[ROWS_EACH]; /* all are loaded before the first use, instead of waiting for each */
    HEED_UNROLL
    for (u32 i = 0; i < HEED_TILE_KEYS; i += step) {
        u32 row = i + at->thread / page;
        numbers[i / step] = pages->number[0];
        HEED_UNROLL
        for (u32 n = 0; n < LOOKED_UP; n++) {
            u32 other = ptx_shfl_idx_u32(pages->number[n], (int)(row % 32));
            numbers[i / step] = row / 32 == n ? other : numbers[i / step];
        }
    }
    HEED_UNROLL
    for (u32 i = 0; i < HEED_TILE_KEYS; i += step) {
        u32 row = i + at->thread / page, number = numbers[i / step];
        if (HEED_TILE_KEYS % step != 0 && row >= HEED_TILE_KEYS)
            break;
        int exists = key + row < length;
        u32 within = key + row - divide(key + row, size) * size.value;
        const u8 *from = head +
                         ELEMENT_BYTES * (exists ? number * stride.batch + within * stride.seq : 0);
        HEED_UNROLL
        for (u32 c = 0; c < pad / 8; c += page) {
            u32 chunk = c + at->thread % page;
            u32 bytes = exists ? tile_chunk_bytes(dim, chunk) : 0;
            tile_copy_chunk(smem + tile_at(HEED_TILE_KEYS, pad, row, chunk),
                            from + (bytes ? chunk * 16 : 0), bytes, aligned);
        }
    }
}

#endif

/* Keys of the batch element that may be loaded: beyond a length there may be no memory, or values
 * that would force rows to be recomputed. */
#define LOADS_LENGTH (HEED_PACKED_K || (HEED_F32 && HEED_LENGTHS))

HEED_DEVICE u32 loadable_keys(const heed_cuda_args *args, const place *at)
{
    return LOADS_LENGTH ? clip_key(&args->seq_k, batch_length(args, at->batch)) : args->seq_k;
}

HEED_DEVICE void load_k(const heed_cuda_args *args, const place *at, const u8 *k, u32 stages, u32 j)
{
    u32 key = tile_key(at, j);
    tile_load(stages + j % HEED_STAGES * STAGE_BYTES,
              k + ELEMENT_BYTES * (i64)key * args->k_stride.seq, ELEMENT_BYTES * args->k_stride.seq,
              loadable_keys(args, at) - key, HEED_TILE_KEYS, QK_HALVES, QK_PAD, GROUP_THREADS,
              at->thread, 0);
}

HEED_DEVICE void load_v(const heed_cuda_args *args, const place *at, const u8 *v, u32 stages, u32 j)
{
    u32 key = tile_key(at, j);
    tile_load(stages + j % HEED_STAGES * STAGE_BYTES + V_AT,
              v + ELEMENT_BYTES * (i64)key * args->v_stride.seq, ELEMENT_BYTES * args->v_stride.seq,
              loadable_keys(args, at) - key, HEED_TILE_KEYS, V_HALVES, V_PAD, GROUP_THREADS,
              at->thread, 0);
}

/* Changes the sign of Q, for a negative scale. */
HEED_DEVICE void negate_q(const place *at, u32 q_smem)
{
    const u32 count = HEED_BLOCK_ROWS * QK_PAD / 8;
    for (u32 i = at->group * GROUP_THREADS + at->thread; i < count; i += THREADS) {
        heed_u32x4 x = ptx_ld_shared_16(q_smem + i * 16);
        for (int j = 0; j < 4; j++)
            x.v[j] ^= HEED_F32 ? 0x80000000u : 0x80008000u;
        ptx_st_shared_16(q_smem + i * 16, x);
    }
}

/* Zeroes non-finite elements among 8 elements of V that belong to @key, and records the key for
 * their columns. */
HEED_DEVICE void clean_chunk(u32 smem, u32 bad_smem, u32 key)
{
    heed_u32x4 x = ptx_ld_shared_16(smem);
    u32 any = half_not_finite(x.v[0]) | half_not_finite(x.v[1]) | half_not_finite(x.v[2]) |
              half_not_finite(x.v[3]);
    if (!any)
        return;
    for (u32 i = 0; i < 8; i++) {
        u32 half = i % 2 * 16;
        if (!(half_not_finite(x.v[i / 2]) >> half & 0x8000u))
            continue;
        x.v[i / 2] &= half ? 0x0000ffffu : 0xffff0000u;
        ptx_min_shared_u32(bad_smem + i * 4, key);
    }
    ptx_st_shared_16(smem, x);
}

/* A masked key must have no effect, but a weight of zero times NaN is NaN. So each thread checks
 * the part of V that it loaded. An element that is not finite is set to zero, and its key is
 * recorded for its column: spoil() corrects the rows that see it. */
HEED_DEVICE void clean_v(const place *at, u32 v_smem, u32 bad_smem, u32 key)
{
    const u32 page = tile_page(V_PAD);
    HEED_UNROLL
    for (u32 i = 0; i < HEED_TILE_KEYS; i += GROUP_THREADS / page) {
        u32 row = i + at->thread / page;
        if (HEED_TILE_KEYS % (GROUP_THREADS / page) != 0 && row >= HEED_TILE_KEYS)
            break;
        HEED_UNROLL
        for (u32 c = 0; c < V_PAD / 8; c += page) {
            u32 chunk = c + at->thread % page;
            clean_chunk(v_smem + tile_at(HEED_TILE_KEYS, V_PAD, row, chunk), bad_smem + chunk * 32,
                        key + row);
        }
    }
}

#endif /* HEED_MMA_LOAD_CUH */
