/*
 * mma/store.cuh - the epilogue of attn_mma.cu: merge groups, normalize rows, store O and LSE, and
 * merge the parts of split keys
 */
#ifndef HEED_MMA_STORE_CUH
#define HEED_MMA_STORE_CUH

#include "mma/load.cuh"
#include "mma/products.cuh"

/* A warp of a wide tile merges many rows of few parts: process more of them at a time, unless rows
 * are so long that a separate launch merges them. */
#define COMBINE_ROWS \
    (HEED_BLOCK_ROWS >= 8 * HEED_GROUP_WARPS * HEED_KEY_GROUPS && HEED_DIM_V <= 256 ? 4 : 1)
#include "combine.cuh"

/* Stores the lane's state at @to: array by array, with a word for each of @lanes lanes. */
HEED_DEVICE void leave_state(const state *st, u32 to, const u32 lanes)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int i = 0; i < 2; i++) {
            ptx_st_shared_f32(to, st->max[mt][i]);
            ptx_st_shared_f32(to + lanes * 4, st->sum[mt][i]);
            to += 2 * lanes * 4;
        }
        HEED_UNROLL
        for (int i = 0; i < V8 * 4; i++, to += lanes * 4)
            ptx_st_shared_f32(to, st->o[mt][i / 4][i % 4]);
    }
}

/* Adds a state that was stored so, with maxima that are at most the current ones. */
HEED_DEVICE void add_left(state *st, u32 from, const u32 lanes)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        float factor[2];
        HEED_UNROLL
        for (int i = 0; i < 2; i++) {
            factor[i] = ptx_ex2(ptx_ld_shared_f32(from) - st->max[mt][i]);
            st->sum[mt][i] += ptx_ld_shared_f32(from + lanes * 4) * factor[i];
            from += 2 * lanes * 4;
        }
        HEED_UNROLL
        for (int i = 0; i < V8 * 4; i++, from += lanes * 4)
            st->o[mt][i / 4][i % 4] += ptx_ld_shared_f32(from) * factor[i / 2 % 2];
    }
}

/* Groups other than the first store their state in shared memory, each thread for its counterpart
 * in the first group. */
HEED_DEVICE void merge_groups(const place *at, state *st, u32 smem)
{
    const u32 words = ROWS16 * STATE_WORDS;
    ptx_barrier();
    if (at->group > 0)
        leave_state(st, smem + ((at->group - 1) * words * GROUP_THREADS + at->thread) * 4,
                    GROUP_THREADS);
    ptx_barrier();
    if (at->group > 0)
        return;
    for (u32 group = 1; group < HEED_KEY_GROUPS; group++) {
        u32 from = smem + ((group - 1) * words * GROUP_THREADS + at->thread) * 4;
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            float mine[2], other[2];
            HEED_UNROLL
            for (int i = 0; i < 2; i++) {
                float max = ptx_ld_shared_f32(from),
                      sum = ptx_ld_shared_f32(from + GROUP_THREADS * 4);
                float top = ptx_max(st->max[mt][i], max);
                mine[i] = ptx_ex2(st->max[mt][i] - top);
                other[i] = ptx_ex2(max - top);
                st->max[mt][i] = top;
                st->sum[mt][i] = st->sum[mt][i] * mine[i] + sum * other[i];
                from += 2 * GROUP_THREADS * 4;
            }
            HEED_UNROLL
            for (int i = 0; i < V8 * 4; i++, from += GROUP_THREADS * 4) {
                float *o = &st->o[mt][i / 4][i % 4];
                *o = *o * mine[i / 2 % 2] + ptx_ld_shared_f32(from) * other[i / 2 % 2];
            }
        }
    }
}

/* Divides by the sums. A row that saw no key, or none with a weight, becomes zero. */
HEED_DEVICE void normalize(state *st)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        float factor[2];
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            float sum = st->sum[mt][h];
            sum += ptx_shfl_xor(sum, 1);
            sum += ptx_shfl_xor(sum, 2);
            st->sum[mt][h] = sum;
            factor[h] = ptx_rcp(sum);
        }
        HEED_UNROLL
        for (int dt = 0; dt < V8; dt++) {
            HEED_UNROLL
            for (int i = 0; i < 4; i++) {
                float o = st->o[mt][dt][i] * factor[i / 2];
                st->o[mt][dt][i] = st->sum[mt][i / 2] == 0.0f ? 0.0f : o;
            }
        }
    }
}

/* Sets results to NaN that depend on a value of V that clean_v() removed. */
HEED_DEVICE void spoil(const heed_cuda_args *args, const place *at, state *st, u32 bad_smem)
{
    u32 bad[V8][2], least = NO_KEY;
    HEED_UNROLL
    for (int i = 0; i < V8 * 2; i++) {
        bad[i / 2][i % 2] = ptx_ld_shared_4(bad_smem + (i / 2 * 8 + at->lane % 4 * 2 + i % 2) * 4);
        least = bad[i / 2][i % 2] < least ? bad[i / 2][i % 2] : least;
    }
    /* If rows may have to be recomputed, all lanes continue that have some of theirs. */
    if (HEED_HIDES_FIRST ? !ptx_vote_any(least != NO_KEY) : least == NO_KEY)
        return;
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            /* A row without any weight is zero, whatever its values are. A row that does not see a
             * column's first bad key may see another one: its sum becomes NaN, so that it is
             * recomputed. */
            key_range seen = row_keys(args, at, mt, h);
            u32 limit = st->sum[mt][h] == 0.0f ? 0 : seen.end;
            float unsure = 0.0f;
            HEED_UNROLL
            for (int i = 0; i < V8 * 2; i++) {
                if (bad[i / 2][i % 2] < limit)
                    st->o[mt][i / 2][2 * h + i % 2] = ptx_as_f32(0x7fffffffu);
                if (HEED_HIDES_FIRST && bad[i / 2][i % 2] < seen.begin)
                    unsure = 1.0f;
            }
            if (!HEED_HIDES_FIRST)
                continue;
            unsure = ptx_max(unsure, ptx_shfl_xor(unsure, 1));
            unsure = ptx_max(unsure, ptx_shfl_xor(unsure, 2));
            if (unsure > 0.0f)
                st->sum[mt][h] = ptx_as_f32(0x7fffffffu);
        }
    }
}

/* Adds the sinks of rows whose last key is in this block. */
HEED_DEVICE void add_sinks(const heed_cuda_args *args, const place *at, state *st)
{
#if HEED_SINKS
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16; i++) {
        int mt = i / 2, h = i % 2;
        float factor = add_sink(args, at->head, row_of(at, mt, h), &st->max[mt][h],
                                &st->sum[mt][h]);
        HEED_UNROLL
        for (int dt = 0; dt < V8; dt++) {
            st->o[mt][dt][2 * h] *= factor;
            st->o[mt][dt][2 * h + 1] *= factor;
        }
    }
#else
    (void)args;
    (void)at;
    (void)st;
#endif
}

/* The logarithm of a row's sum, to base 2. */
HEED_DEVICE float row_lse(const state *st, int mt, int h)
{
    float sum = st->sum[mt][h];
    return sum == 0.0f ? -ptx_infinity() : st->max[mt][h] + ptx_lg2(sum);
}

/* The beginning of the partial results of the block's split, in rows. */
HEED_DEVICE i64 part_base(const heed_cuda_args *args, const place *at)
{
#if HEED_SPREAD
    part_place parts = place_parts(args, at->head_kv, &at->spread);
    return parts.first + (at->spread.block - spread_first(&at->spread)) * parts.step;
#else
    return part_offset(args, at->head, at->split);
#endif
}

HEED_DEVICE void store_partial(const heed_cuda_args *args, const place *at, const state *st)
{
    i64 base = part_base(args, at);
    u32 g = at->lane / 4, t = at->lane % 4;
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            u32 row = at->row + at->warp * WARP_ROWS + mt * 16 + h * 8 + g;
            if (row >= rows_of(args, at))
                continue;
            float *o = args->partial + (base + row) * HEED_DIM_V;
            if (t == 0)
                ptx_st_global_f32(args->partial_lse + base + row,
                                  lse_of_part(st->max[mt][h], st->sum[mt][h]));
            HEED_UNROLL
            for (int dt = 0; dt < V8; dt++) {
                HEED_UNROLL
                for (int i = 0; i < 2; i++)
                    if (FRAGMENT_COLUMN(dt) + t * LANE_COLUMNS + i * PAIR_COLUMNS < HEED_DIM_V)
                        ptx_st_global_f32(o + FRAGMENT_COLUMN(dt) + t * LANE_COLUMNS +
                                              i * PAIR_COLUMNS,
                                          st->o[mt][dt][2 * h + i]);
            }
        }
    }
}

#if !COMBINE_APART

/* Merges the rows of the block at @of, if it is the last one to arrive among those that share the
 * rows. Called by all threads of the block. */
HEED_DEVICE void merge_parts(const heed_cuda_args *args, const place *of)
{
    place at;
    u32 smem = ptx_shared_base();
#if HEED_SPREAD
    at.spread = of->spread;
#else
    (void)of;
#endif
    find_rows(args, &at); /* computed again, so no registers hold it until here */
    const u32 step = THREADS / 32 * COMBINE_ROWS;
    u32 end = at.row + HEED_BLOCK_ROWS, rows = rows_of(args, &at);
    end = end < rows ? end : rows;
    u32 last = splits_of(args, &at) - 1;
#if HEED_SPREAD
    u32 counter = at.head;
    part_place parts = place_parts(args, at.head_kv, &at.spread);
    if (last == 0)
        return;
#else
    u32 counter = divide(ptx_block_x(), args->splits);
    part_place parts = find_parts(args, at.head);
#endif
    ptx_barrier(); /* the block's part is stored, and its shared memory free */
    if (ptx_thread() == 0)
        ptx_st_shared_4(smem, ptx_inc_global_u32(args->arrived + counter, last));
    ptx_barrier();
    if (ptx_ld_shared_4(smem) != last)
        return;
    u32 first = at.row + ptx_thread() / 32 * COMBINE_ROWS, anew = 0, turn = 0;
    HEED_NO_UNROLL
    for (u32 row = first; row < end; row += step, turn += COMBINE_ROWS)
        anew |= combine_rows(args, &parts, at.head, row,
                             end - row < COMBINE_ROWS ? end - row : COMBINE_ROWS)
                << turn;
    if (anew)
        remake_rows(args, at.head, first, step, anew);
}

#endif

HEED_DEVICE void store_lse(const heed_cuda_args *args, const place *at, const state *st)
{
    u32 g = at->lane / 4;
    if (!args->lse || at->lane % 4 != 0)
        return;
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            u32 row = at->row + at->warp * WARP_ROWS + mt * 16 + h * 8 + g;
            if (row >= rows_of(args, at))
                continue;
            ptx_st_global_f32(args->lse + lse_offset(args, at->head, row),
                              row_lse(st, mt, h) * LN_2);
        }
    }
}

/* Stages the lane's elements in fragment @dt of @row; with float32 those in two fragments, which
 * are four neighbours. */
HEED_DEVICE void stage_sums(u32 smem, const state *st, u32 row, u32 t, int mt, int dt, int h)
{
#if HEED_F32
    heed_u32x4 x;
    HEED_UNROLL
    for (int i = 0; i < 4; i++)
        x.v[i] = ptx_as_u32(st->o[mt][dt / 2 * 2 + i % 2][2 * h + i / 2]);
    if (dt % 2 == 0)
        ptx_st_shared_16(smem + tile_at(HEED_BLOCK_ROWS, V_PAD, row, dt / 2 * 4 + t), x);
#else
    ptx_st_shared_4(smem + tile_at(HEED_BLOCK_ROWS, V_PAD, row, dt) + t * 4,
                    half_pack(st->o[mt][dt][2 * h], st->o[mt][dt][2 * h + 1]));
#endif
}

/* Stages the warp's rows of O in the shared memory that held its rows of Q. */
HEED_DEVICE void stage_o(const place *at, const state *st, u32 smem)
{
    u32 first = at->warp * WARP_ROWS, g = at->lane / 4, t = at->lane % 4;
    ptx_warp_barrier(); /* all lanes have read Q */
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int dt = 0; dt < V8; dt++) {
            HEED_UNROLL
            for (int h = 0; h < 2; h++)
                stage_sums(smem, st, first + mt * 16 + h * 8 + g, t, mt, dt, h);
        }
    }
    ptx_warp_barrier();
}

/* Which of the lane's rows must be recomputed, a bit for each. */
HEED_DEVICE u32 given_up(const state *st)
{
    u32 own = 0;
    HEED_UNROLL
    for (u32 r = 0; r < 2 * ROWS16; r++)
        own |= is_given_up(st->sum[r / 2][r % 2], st->max[r / 2][r % 2], FAR_MAX) ? 1u << r : 0u;
    return own;
}

/* Recomputes the warp's rows given by @own of each lane, after they have been stored. @batch: their
 * batch element. */
HEED_RARE void remake_own(const heed_cuda_args *args, u32 own, u32 batch)
{
    place at;
    u32 anew = 0;
#if HEED_SPREAD
    at.spread.batch = batch;
#else
    (void)batch;
#endif
    find_rows(args, &at);
    u32 first = at.row + ptx_thread() / 32 * WARP_ROWS; /* of the first group */
    HEED_UNROLL
    for (u32 r = 0; r < 2 * ROWS16; r++)
        if (first + r * 8 + ptx_lane() / 4 < rows_of(args, &at))
            anew |= (own >> r & 1) << (r * 8 + ptx_lane() / 4);
    remake_rows(args, at.head, first, COMBINE_ROWS, warp_or(anew));
}

/* Stores a chunk of O element by element. */
HEED_DEVICE void store_elements(u8 *to, heed_u32x4 x, u32 bytes)
{
    HEED_UNROLL
    for (u32 i = 0; i < 8; i++)
        if (2 * i < bytes)
            ptx_st_global_u16(to + 2 * i, (u16)(x.v[i / 2] >> i % 2 * 16));
}

/* Stores O, 16 bytes at a time if possible. Without groups, and if all rows exist, rows are one
 * stride apart. */
HEED_DEVICE void store_o(const heed_cuda_args *args, const place *at, const state *st, u32 smem,
                         const int aligned)
{
    const u32 page = tile_page(V_PAD), step = 32 / page;
    u32 first = at->warp * WARP_ROWS + at->lane / page;
    stage_o(at, st, smem);
    if (aligned && V_HALVES == V_PAD && args->group.value == 1 &&
        at->row + HEED_BLOCK_ROWS <= rows_of(args, at)) {
        u8 *to = (u8 *)args->o +
                 ELEMENT_BYTES * row_offset(args, at->head, args->o_stride, at->row + first) +
                 at->lane % page * 16;
        HEED_UNROLL
        for (u32 i = 0; i < WARP_ROWS; i += step, to += step * ELEMENT_BYTES * args->o_stride.seq) {
            HEED_UNROLL
            for (u32 chunk = 0; chunk < V_PAD / 8; chunk += page)
                ptx_st_global_16(to + chunk * 16,
                                 ptx_ld_shared_16(smem + tile_at(HEED_BLOCK_ROWS, V_PAD, first + i,
                                                                 chunk + at->lane % page)));
        }
        return;
    }
    HEED_NO_UNROLL
    for (u32 row = first; row < (at->warp + 1) * WARP_ROWS; row += step) {
        if (at->row + row >= rows_of(args, at))
            break;
        u8 *o = (u8 *)args->o +
                ELEMENT_BYTES * row_offset(args, at->head, args->o_stride, at->row + row);
        HEED_NO_UNROLL
        for (u32 chunk = at->lane % page; chunk < V_PAD / 8; chunk += page) {
            u32 bytes = tile_chunk_bytes(V_HALVES, chunk);
            heed_u32x4 x = ptx_ld_shared_16(smem + tile_at(HEED_BLOCK_ROWS, V_PAD, row, chunk));
            if (aligned && bytes == 16)
                ptx_st_global_16(o + 16 * chunk, x);
            else
                store_elements(o + 16 * chunk, x, bytes);
        }
    }
}

#endif /* HEED_MMA_STORE_CUH */
