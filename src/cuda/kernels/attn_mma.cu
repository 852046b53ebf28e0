/*
 * attn_mma.cu - forward attention with the tensor cores of compute capability 8.0 and later
 *
 * The online softmax of FlashAttention-2 (Dao 2023) in base 2, on mma.m16n8k16 with float32 sums. A
 * block has HEED_K groups of HEED_W warps. All groups share a tile of HEED_M rows of queries, each
 * warp HEED_M / HEED_W of them; the groups take turns at the tiles of HEED_N keys, each with a ring
 * of HEED_S stages of its own, and are merged at the end. Blocks may share the keys of the same
 * rows (splits), which heed_combine merges.
 *
 * Compile-time parameters, beside the element type (HEED_BF16), mask (HEED_CAUSAL) and head dims
 * (HEED_DIM_QK, HEED_DIM_V):
 *
 *     HEED_M    rows of a block             16 or 32 for each warp of a group
 *     HEED_N    keys of a tile              multiples of 16
 *     HEED_W    warps of a group
 *     HEED_K    groups
 *     HEED_S    stages of K and V           2 or more
 *     HEED_Q    1: Q stays in shared memory; 2: in registers
 *     HEED_O    1: products and softmax of a tile one after the other; 2: the scores of the next
 * tile are computed along with the softmax of this one HEED_B    blocks per multiprocessor that
 * registers are allotted for
 *
 * Version log. TF is TFLOP/s on one H200, f16, cold.
 *
 *     1  as described
 */
#include "combine.cuh"
#include "half.cuh"
#include "rows.cuh"
#include "tile.cuh"

#define QK_PAD ((HEED_DIM_QK + 31) / 32 * 32)
#define V_PAD ((HEED_DIM_V + 31) / 32 * 32)

#define GROUP_THREADS (32 * HEED_W)
#define THREADS (GROUP_THREADS * HEED_K)
#define WARP_ROWS (HEED_M / HEED_W)
#define ROWS16 (WARP_ROWS / 16) /* tiles of 16 rows per warp */
#define KEYS8 (HEED_N / 8)      /* of 8 keys per tile */
#define KEYS16 (HEED_N / 16)
#define QK16 (QK_PAD / 16)
#define V8 (V_PAD / 8)

/* Shared memory: Q, which later holds O; the first bad key of each column of V; the stages of every
 * group, which later hold what the groups merge. */
#define O_PAD (QK_PAD > V_PAD ? QK_PAD : V_PAD)
#define Q_BYTES (HEED_M * O_PAD * 2)
#define BAD_BYTES (HEED_CAUSAL ? V_PAD * 4 : 0)
#define K_BYTES (HEED_N * QK_PAD * 2)
#define V_BYTES (HEED_N * V_PAD * 2)
#define STAGE_BYTES (K_BYTES + V_BYTES)
#define STAGES_AT (Q_BYTES + BAD_BYTES)

/* The stage of K runs this far ahead of that of V. */
#define K_AHEAD (HEED_O == 2)

/* Do the rows of O lie where other warps may still read Q? */
#define O_MOVES ((QK_PAD % 64 == 0) != (V_PAD % 64 == 0))

#define NO_KEY 0xffffffffu

/* The maximum of no logits: the least finite number and not -infinity, so that differences of
 * maxima are never NaN. */
#define NO_MAX (-3.402823466e+38f)

/* A row's running maximum may fall behind the true one by this factor, as a power of two, before
 * sums are scaled anew. Weights stay below 2^8, well within float16. */
#define LAG 8.0f

#if HEED_M % (16 * HEED_W) != 0 || HEED_N % 16 != 0 || HEED_S < 2
#error "HEED_M must be a multiple of 16 * HEED_W, HEED_N of 16, and HEED_S 2 or more"
#endif

/* Where a thread is, and what its block works on. */
typedef struct place {
    u32 thread; /* in its group */
    u32 warp;   /* in its group */
    u32 lane;
    u32 group;
    u32 batch;
    u32 head_kv;
    u32 head; /* batch * heads_kv + head_kv */
    u32 split;
    u32 row;                             /* the block's first */
    u32 tile_begin, tile_full, tile_end; /* tiles of keys; those before tile_full need no mask */
} place;

/* What a warp computes, in fragments of mma.m16n8k16. */
typedef struct state {
    float o[ROWS16][V8][4];
    float max[ROWS16][2]; /* of the logits, to base 2, of rows g and g + 8, or up to LAG less */
    float sum[ROWS16][2]; /* of this lane's columns */
} state;

typedef struct weights {
    u32 p[ROWS16][KEYS16][4];
} weights;

/* ---- which work ---- */

/* Blocks are numbered by split, then within a section of heads. Under a mask the heads of a section
 * come before its blocks, from the last rows to the first, so that the longest work is done first.
 */
HEED_DEVICE void find_rows(const heed_cuda_args *args, place *at)
{
    u32 number = ptx_keep(ptx_block_x());
    u32 index = divide(number, args->splits);
    at->split = number - index * args->splits.value;
    u32 section = divide(index, args->work);
    u32 within = index - section * args->work.value;
    u32 begin = section * args->section.value;
    heed_cuda_divisor heads = begin + args->section.value <= args->heads ? args->section
                                                                         : args->rest;
    u32 block = divide(within, heads);
    at->head = begin + within - block * heads.value;
    if (HEED_CAUSAL)
        block = args->blocks - 1 - block;
    at->row = block * HEED_M;
    at->batch = divide(at->head, args->heads_kv);
    at->head_kv = at->head - at->batch * args->heads_kv.value;
}

HEED_DEVICE void find_keys(const heed_cuda_args *args, place *at)
{
    u32 last = at->row + HEED_M < args->rows ? at->row + HEED_M - 1 : args->rows - 1;
    u32 seen = visible_keys(args, divide(last, args->group));
    at->tile_begin = 0;
    at->tile_end = (seen + (HEED_N - 1)) / HEED_N;
    at->tile_full = visible_keys(args, divide(at->row, args->group)) / HEED_N;
    if (args->splits.value > 1) {
        u32 tiles = (args->seq_k + (HEED_N - 1)) / HEED_N;
        u32 share = divide(tiles + args->splits.value - 1, args->splits);
        u32 end = (at->split + 1) * share;
        at->tile_begin = at->split * share;
        at->tile_end = at->tile_end < end ? at->tile_end : end;
    }
}

/* How many of the tiles from tile_begin up to @end are this group's: every HEED_K-th. */
HEED_DEVICE u32 own_tiles(const place *at, u32 end)
{
    u32 begin = at->tile_begin + at->group;
    return end > begin ? (end - begin + HEED_K - 1) / HEED_K : 0;
}

HEED_DEVICE u32 tile_key(const place *at, u32 j)
{
    return (at->tile_begin + at->group + j * HEED_K) * HEED_N;
}

/* ---- loads ---- */

HEED_DEVICE void load_q(const heed_cuda_args *args, const place *at, u32 q_smem, const int aligned)
{
    const u32 chunks = QK_PAD / 8, count = HEED_M * chunks;
    for (u32 index = at->group * GROUP_THREADS + at->thread; index < count; index += THREADS) {
        u32 row = index / chunks, chunk = index % chunks;
        u32 bytes = at->row + row < args->rows ? tile_chunk_bytes(HEED_DIM_QK, chunk) : 0;
        const u8 *from = (const u8 *)args->q;
        if (bytes)
            from += 2 * row_offset(args, at->head, args->q_stride, at->row + row) + 16 * chunk;
        tile_copy_chunk(q_smem + tile_at(HEED_M, QK_PAD, row, chunk), from, bytes, aligned);
    }
}

HEED_DEVICE void load_k(const heed_cuda_args *args, const place *at, const u8 *k, u32 stages, u32 j,
                        const int aligned)
{
    u32 key = tile_key(at, j);
    tile_load(stages + j % HEED_S * STAGE_BYTES, k + 2 * (i64)key * args->k_stride.seq,
              2 * args->k_stride.seq, args->seq_k - key, HEED_N, HEED_DIM_QK, QK_PAD, GROUP_THREADS,
              at->thread, aligned);
}

HEED_DEVICE void load_v(const heed_cuda_args *args, const place *at, const u8 *v, u32 stages, u32 j,
                        const int aligned)
{
    u32 key = tile_key(at, j);
    tile_load(stages + j % HEED_S * STAGE_BYTES + K_BYTES, v + 2 * (i64)key * args->v_stride.seq,
              2 * args->v_stride.seq, args->seq_k - key, HEED_N, HEED_DIM_V, V_PAD, GROUP_THREADS,
              at->thread, aligned);
}

/* Makes zero what is not finite among 8 elements of V that belong to @key, and notes the key for
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

/* A masked key takes no part, but a weight of zero times NaN is NaN. So a thread looks at the part
 * of V that it loaded itself: what is not finite becomes zero, and its key is noted for its column,
 * to be made up for by spoil() in the rows that see it. */
HEED_DEVICE void clean_v(const place *at, u32 v_smem, u32 bad_smem, u32 key)
{
    const u32 page = tile_page(V_PAD);
    for (u32 row = at->thread / page; row < HEED_N; row += GROUP_THREADS / page)
        for (u32 chunk = at->thread % page; chunk < V_PAD / 8; chunk += page)
            clean_chunk(v_smem + tile_at(HEED_N, V_PAD, row, chunk), bad_smem + chunk * 32,
                        key + row);
}

/* ---- one tile ---- */

/* @lane: where the lane looks in the warp's rows of Q. */
HEED_DEVICE void load_q_fragments(u32 q[ROWS16][4], u32 lane, u32 kk)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++)
        ptx_ldmatrix_x4(q[mt], tile_lane_at(lane, HEED_M, QK_PAD, mt, kk));
}

/* The products of 16 columns of Q with those of all keys of a tile, added to @s; the first ones, of
 * @kk 0, take the place of what was there. */
HEED_DEVICE void multiply_k(float s[ROWS16][KEYS8][4], u32 q[ROWS16][4], u32 lane, u32 kk)
{
    HEED_UNROLL
    for (int nt = 0; nt < KEYS16; nt++) {
        u32 k[4];
        ptx_ldmatrix_x4(k, tile_lane_at(lane, HEED_N, QK_PAD, nt, kk));
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            if (kk == 0) {
                half_mma_first(s[mt][2 * nt], q[mt], k);
                half_mma_first(s[mt][2 * nt + 1], q[mt], k + 2);
            } else {
                half_mma(s[mt][2 * nt], q[mt], k);
                half_mma(s[mt][2 * nt + 1], q[mt], k + 2);
            }
        }
    }
}

/* The first key that row g (@h 0) or g + 8 (1) of 16 does not see. */
HEED_DEVICE u32 row_limit(const heed_cuda_args *args, const place *at, int mt, int h)
{
    u32 row = ptx_keep(at->row) + at->warp * WARP_ROWS + mt * 16 + h * 8 + at->lane / 4;
    return visible_keys(args, divide(row, args->group));
}

/* Takes the keys that a row does not see out of the scores of a tile that begins with @key. */
HEED_DEVICE void mask_scores(const heed_cuda_args *args, const place *at, float s[ROWS16][KEYS8][4],
                             u32 key)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            u32 limit = row_limit(args, at, mt, h);
            u32 seen = limit > key ? limit - key : 0;
            HEED_UNROLL
            for (int nt = 0; nt < KEYS8; nt++) {
                HEED_UNROLL
                for (int i = 0; i < 2; i++)
                    if (nt * 8 + at->lane % 4 * 2 + i >= seen)
                        s[mt][nt][2 * h + i] = -ptx_infinity();
            }
        }
    }
}

/* Scales the sums of rows whose maximum was raised from @old. */
HEED_DEVICE void scale_sums(state *st, float old[ROWS16][2])
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        float factor[2];
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            factor[h] = st->max[mt][h] == old[mt][h] ? 1.0f : ptx_ex2(old[mt][h] - st->max[mt][h]);
            st->sum[mt][h] *= factor[h];
        }
        HEED_UNROLL
        for (int dt = 0; dt < V8; dt++) {
            HEED_UNROLL
            for (int i = 0; i < 4; i++)
                st->o[mt][dt][i] *= factor[i / 2];
        }
    }
}

/* Brings the running maxima up to date with the scores, and the sums along if need be. No branch
 * but the last one, so that rows are worked on side by side. */
HEED_DEVICE void raise_max(state *st, float s[ROWS16][KEYS8][4], float scale)
{
    float top[ROWS16][2], old[ROWS16][2];
    int raised = 0;
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++)
            top[mt][h] = ptx_max(s[mt][0][2 * h], s[mt][0][2 * h + 1]);
    }
    HEED_UNROLL
    for (int nt = 1; nt < KEYS8; nt++) {
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            HEED_UNROLL
            for (int h = 0; h < 2; h++)
                top[mt][h] = ptx_max(top[mt][h], ptx_max(s[mt][nt][2 * h], s[mt][nt][2 * h + 1]));
        }
    }
    HEED_UNROLL
    for (int turn = 1; turn < 4; turn *= 2) {
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            HEED_UNROLL
            for (int h = 0; h < 2; h++)
                top[mt][h] = ptx_max(top[mt][h], ptx_shfl_xor(top[mt][h], turn));
        }
    }
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            float now = top[mt][h] * scale;
            old[mt][h] = st->max[mt][h];
            int raise = now > old[mt][h] + LAG;
            raised |= raise;
            st->max[mt][h] = raise ? now : old[mt][h];
        }
    }
    if (ptx_vote_any(raised))
        scale_sums(st, old);
}

/* The weights of 8 keys. */
HEED_DEVICE void exponentiate(state *st, weights *w, float s[ROWS16][KEYS8][4], float scale, int nt)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            float low = ptx_ex2(s[mt][nt][2 * h] * scale - st->max[mt][h]);
            float high = ptx_ex2(s[mt][nt][2 * h + 1] * scale - st->max[mt][h]);
            st->sum[mt][h] += low + high;
            w->p[mt][nt / 2][nt % 2 * 2 + h] = half_pack(low, high);
        }
    }
}

HEED_DEVICE void multiply_v(state *st, weights *w, u32 lane)
{
    HEED_UNROLL
    for (int kk = 0; kk < KEYS16; kk++) {
        HEED_UNROLL
        for (int dt = 0; dt < V8 / 2; dt++) {
            u32 v[4];
            ptx_ldmatrix_x4_trans(v, tile_lane_at(lane, HEED_N, V_PAD, kk, dt));
            HEED_UNROLL
            for (int mt = 0; mt < ROWS16; mt++) {
                half_mma(st->o[mt][2 * dt], w->p[mt][kk], v);
                half_mma(st->o[mt][2 * dt + 1], w->p[mt][kk], v + 2);
            }
        }
    }
}

/* ---- results ---- */

/* Groups other than the first leave what they have in shared memory, each thread where its fellow
 * of the first group will look. */
HEED_DEVICE void merge_groups(const place *at, state *st, u32 smem)
{
    const u32 words = ROWS16 * (V8 * 4 + 4);
    ptx_barrier();
    if (at->group > 0) {
        u32 to = smem + ((at->group - 1) * words * GROUP_THREADS + at->thread) * 4;
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            HEED_UNROLL
            for (int i = 0; i < 2; i++) {
                ptx_st_shared_f32(to, st->max[mt][i]);
                ptx_st_shared_f32(to + GROUP_THREADS * 4, st->sum[mt][i]);
                to += 2 * GROUP_THREADS * 4;
            }
            HEED_UNROLL
            for (int i = 0; i < V8 * 4; i++, to += GROUP_THREADS * 4)
                ptx_st_shared_f32(to, st->o[mt][i / 4][i % 4]);
        }
    }
    ptx_barrier();
    if (at->group > 0)
        return;
    for (u32 group = 1; group < HEED_K; group++) {
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
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            float sum = st->sum[mt][h];
            sum += ptx_shfl_xor(sum, 1);
            sum += ptx_shfl_xor(sum, 2);
            st->sum[mt][h] = sum;
        }
        HEED_UNROLL
        for (int dt = 0; dt < V8; dt++) {
            HEED_UNROLL
            for (int i = 0; i < 4; i++) {
                float sum = st->sum[mt][i / 2];
                st->o[mt][dt][i] = sum == 0.0f ? 0.0f : st->o[mt][dt][i] * ptx_rcp(sum);
            }
        }
    }
}

/* Makes NaN what depends on a value of V that clean_v() took out. */
HEED_DEVICE void spoil(const heed_cuda_args *args, const place *at, state *st, u32 bad_smem)
{
    HEED_UNROLL
    for (int dt = 0; dt < V8; dt++) {
        HEED_UNROLL
        for (int i = 0; i < 2; i++) {
            u32 bad = ptx_ld_shared_4(bad_smem + (dt * 8 + at->lane % 4 * 2 + i) * 4);
            if (bad == NO_KEY)
                continue;
            HEED_UNROLL
            for (int mt = 0; mt < ROWS16; mt++) {
                HEED_UNROLL
                for (int h = 0; h < 2; h++)
                    if (bad < row_limit(args, at, mt, h))
                        st->o[mt][dt][2 * h + i] = ptx_as_f32(0x7fffffffu);
            }
        }
    }
}

/* The logarithm of a row's sum, to base 2. */
HEED_DEVICE float row_lse(const state *st, int mt, int h)
{
    float sum = st->sum[mt][h];
    return sum == 0.0f ? -ptx_infinity() : st->max[mt][h] + ptx_lg2(sum);
}

HEED_DEVICE void store_partial(const heed_cuda_args *args, const place *at, const state *st)
{
    i64 base = ((i64)at->head * args->splits.value + at->split) * args->rows;
    u32 g = at->lane / 4, t = at->lane % 4;
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            u32 row = at->row + at->warp * WARP_ROWS + mt * 16 + h * 8 + g;
            if (row >= args->rows)
                continue;
            float *o = args->partial + (base + row) * HEED_DIM_V;
            if (t == 0)
                ptx_st_global_f32(args->partial_lse + base + row, row_lse(st, mt, h));
            HEED_UNROLL
            for (int dt = 0; dt < V8; dt++) {
                HEED_UNROLL
                for (int i = 0; i < 2; i++)
                    if (dt * 8 + t * 2 + i < HEED_DIM_V)
                        ptx_st_global_f32(o + dt * 8 + t * 2 + i, st->o[mt][dt][2 * h + i]);
            }
        }
    }
}

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
            if (row >= args->rows)
                continue;
            ptx_st_global_f32(args->lse + lse_offset(args, at->head, row),
                              row_lse(st, mt, h) * LN_2);
        }
    }
}

/* Stores O by way of the shared memory that held the warp's rows of Q, to have 16 bytes at a time.
 */
HEED_DEVICE void store_o(const heed_cuda_args *args, const place *at, const state *st, u32 smem,
                         const int aligned)
{
    const u32 chunks = V_PAD / 8;
    u32 first = at->warp * WARP_ROWS, g = at->lane / 4, t = at->lane % 4;
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int dt = 0; dt < V8; dt++) {
            HEED_UNROLL
            for (int h = 0; h < 2; h++)
                ptx_st_shared_4(smem + tile_at(HEED_M, V_PAD, first + mt * 16 + h * 8 + g, dt) +
                                    t * 4,
                                half_pack(st->o[mt][dt][2 * h], st->o[mt][dt][2 * h + 1]));
        }
    }
    ptx_warp_barrier();
    for (u32 index = at->lane; index < WARP_ROWS * chunks; index += 32) {
        u32 row = first + index / chunks, chunk = index % chunks;
        u32 bytes = tile_chunk_bytes(HEED_DIM_V, chunk);
        if (at->row + row >= args->rows || bytes == 0)
            continue;
        u8 *to = (u8 *)args->o + 2 * row_offset(args, at->head, args->o_stride, at->row + row) +
                 16 * chunk;
        heed_u32x4 x = ptx_ld_shared_16(smem + tile_at(HEED_M, V_PAD, row, chunk));
        if (aligned && bytes == 16) {
            ptx_st_global_16(to, x);
            continue;
        }
        HEED_UNROLL
        for (u32 i = 0; i < 8; i++)
            if (2 * i < bytes)
                ptx_st_global_u16(to + 2 * i, (u16)(x.v[i / 2] >> i % 2 * 16));
    }
}

/* ---- the whole ---- */

/* Turns the sign of Q, for a negative scale. */
HEED_DEVICE void negate_q(const place *at, u32 q_smem)
{
    const u32 count = HEED_M * QK_PAD / 8;
    for (u32 i = at->group * GROUP_THREADS + at->thread; i < count; i += THREADS) {
        heed_u32x4 x = ptx_ld_shared_16(q_smem + i * 16);
        for (int j = 0; j < 4; j++)
            x.v[j] ^= 0x80008000u;
        ptx_st_shared_16(q_smem + i * 16, x);
    }
}

HEED_DEVICE void group_barrier(const place *at)
{
    if (HEED_K == 1)
        ptx_barrier();
    else
        ptx_barrier_named(1 + (int)at->group, GROUP_THREADS);
}

HEED_DEVICE void find_place(const heed_cuda_args *args, place *at)
{
    u32 thread = ptx_thread();
    at->group = HEED_K == 1 ? 0 : thread / GROUP_THREADS;
    at->thread = thread - at->group * GROUP_THREADS;
    at->warp = at->thread / 32;
    at->lane = ptx_lane();
    find_rows(args, at);
    find_keys(args, at);
}

/* All that a thread knows while it goes through the tiles. */
typedef struct walk {
    place at;
    const heed_cuda_args *args;
    const u8 *k; /* of the block's head */
    const u8 *v;
    u32 q_smem, bad_smem, stages;
    u32 tiles; /* of the group */
    u32 full;  /* those that need no mask */
    tile_stream k_stream, v_stream;
    u32 q_lane;   /* where ldmatrix looks in Q, */
    u32 kv_lanes; /* in a tile of K, and in the upper half in one of V */
#if HEED_Q == 2
    u32 q[QK16][ROWS16][4];
#endif
} walk;

/* Finds what the block and the thread work on. It is found anew after the main loop, and at the
 * end, so that registers need not keep it meanwhile. */
HEED_DEVICE void locate(walk *w, const heed_cuda_args *args)
{
    place *at = &w->at;
    find_place(args, at);
    w->args = args;
    w->q_smem = ptx_shared_base();
    w->bad_smem = w->q_smem + Q_BYTES;
    w->stages = w->q_smem + STAGES_AT + at->group * HEED_S * STAGE_BYTES;
    w->k = (const u8 *)args->k +
           2 * ((i64)at->batch * args->k_stride.batch + (i64)at->head_kv * args->k_stride.head);
    w->v = (const u8 *)args->v +
           2 * ((i64)at->batch * args->v_stride.batch + (i64)at->head_kv * args->v_stride.head);
    w->tiles = own_tiles(at, at->tile_end);
    w->full = own_tiles(at, at->tile_full < at->tile_end ? at->tile_full : at->tile_end);
}

/* How many steps the main loop takes: as long as tile j needs no mask, and the tiles of the step
 * that is loaded meanwhile have all their rows. */
HEED_DEVICE u32 main_steps(const walk *w)
{
    u32 whole = w->args->seq_k / HEED_N;
    whole = own_tiles(&w->at, whole < w->at.tile_end ? whole : w->at.tile_end);
    whole = whole > HEED_S - 1 + K_AHEAD ? whole - (HEED_S - 1 + K_AHEAD) : 0;
    return whole < w->full ? whole : w->full;
}

HEED_DEVICE u32 stage_of(const walk *w, u32 j)
{
    return w->stages + j % HEED_S * STAGE_BYTES;
}

/* Step j of the pipeline is K of tile j + K_AHEAD and V of tile j. */
HEED_DEVICE void load_step(walk *w, u32 j, const int aligned)
{
    if (j + K_AHEAD < w->tiles)
        load_k(w->args, &w->at, w->k, w->stages, j + K_AHEAD, aligned);
    if (j < w->tiles)
        load_v(w->args, &w->at, w->v, w->stages, j, aligned);
    ptx_cp_async_commit();
}

/* The same in the main loop, where both are there with all their rows. */
HEED_DEVICE void load_whole_step(const walk *w, u32 j)
{
    i64 k_row = 2 * w->args->k_stride.seq, v_row = 2 * w->args->v_stride.seq;
    tile_stream_load(w->k_stream, stage_of(w, j + K_AHEAD),
                     w->k + tile_key(&w->at, j + K_AHEAD) * k_row, k_row, HEED_N, HEED_DIM_QK,
                     QK_PAD, GROUP_THREADS, w->at.thread);
    tile_stream_load(w->v_stream, stage_of(w, j) + K_BYTES, w->v + tile_key(&w->at, j) * v_row,
                     v_row, HEED_N, HEED_DIM_V, V_PAD, GROUP_THREADS, w->at.thread);
    ptx_cp_async_commit();
}

/* Waits for step j, when all threads of the group have done with step j - 1, and starts the one
 * that takes its place. @fast: in the main loop. */
HEED_DEVICE void advance(walk *w, u32 j, const int fast, const int aligned)
{
    ptx_cp_async_wait(HEED_S - 2);
    if (HEED_CAUSAL && !fast && j >= w->full)
        clean_v(&w->at, stage_of(w, j) + K_BYTES, w->bad_smem, tile_key(&w->at, j));
    group_barrier(&w->at);
    if (fast && aligned)
        load_whole_step(w, j + HEED_S - 1);
    else
        load_step(w, j + HEED_S - 1, aligned);
}

/* The part of 16 columns in the scores of a tile. */
HEED_DEVICE void score_columns(const walk *w, float s[ROWS16][KEYS8][4], u32 q_lane, u32 k_lane,
                               int kk)
{
#if HEED_Q == 2
    (void)q_lane;
    multiply_k(s, (u32(*)[4])w->q[kk], k_lane, kk);
#else
    u32 q[ROWS16][4];
    (void)w;
    load_q_fragments(q, q_lane, kk);
    multiply_k(s, q, k_lane, kk);
#endif
}

/* The scores of tile j. */
HEED_DEVICE void score(const walk *w, float s[ROWS16][KEYS8][4], u32 j)
{
    /* Kept, so that addresses are made where they are needed and not for all columns ahead. */
    u32 q_lane = ptx_keep(w->q_lane), k_lane = stage_of(w, j) + (w->kv_lanes & 0xffff);
    HEED_UNROLL
    for (int kk = 0; kk < QK16; kk++)
        score_columns(w, s, q_lane, k_lane, kk);
}

#if HEED_O == 1

HEED_DEVICE void step(walk *w, state *st, u32 j, const int fast, const int aligned)
{
    float s[ROWS16][KEYS8][4];
    weights p;
    advance(w, j, fast, aligned);
    score(w, s, j);
    if (!fast && j >= w->full)
        mask_scores(w->args, &w->at, s, tile_key(&w->at, j));
    raise_max(st, s, w->args->scale);
    HEED_UNROLL
    for (int nt = 0; nt < KEYS8; nt++)
        exponentiate(st, &p, s, w->args->scale, nt);
    multiply_v(st, &p, stage_of(w, j) + K_BYTES + (w->kv_lanes >> 16));
}

HEED_DEVICE void walk_tiles(walk *w, state *st, const int aligned)
{
    u32 j = 0;
    if (aligned) {
        u32 steps = main_steps(w);
        HEED_NO_UNROLL
        for (; j < steps; j++)
            step(w, st, j, 1, 1);
        locate(w, w->args);
    }
    HEED_NO_UNROLL
    for (; j < w->tiles; j++)
        step(w, st, j, 0, aligned);
}

#else

/* @s holds the scores of tile j, @next gets those of the next one. Past the last tile it multiplies
 * what was left in the stage, and nobody looks. */
HEED_DEVICE void step(walk *w, state *st, float s[ROWS16][KEYS8][4], float next[ROWS16][KEYS8][4],
                      u32 j, const int fast, const int aligned)
{
    weights p;
    advance(w, j, fast, aligned);
    if (!fast && j >= w->full)
        mask_scores(w->args, &w->at, s, tile_key(&w->at, j));
    raise_max(st, s, w->args->scale);
    u32 q_lane = ptx_keep(w->q_lane), k_lane = stage_of(w, j + 1) + (w->kv_lanes & 0xffff);
    HEED_UNROLL
    for (int kk = 0; kk < QK16; kk++) {
        score_columns(w, next, q_lane, k_lane, kk);
        HEED_UNROLL
        for (int nt = kk * KEYS8 / QK16; nt < (kk + 1) * KEYS8 / QK16; nt++)
            exponentiate(st, &p, s, w->args->scale, nt);
    }
    multiply_v(st, &p, stage_of(w, j) + K_BYTES + (w->kv_lanes >> 16));
}

HEED_DEVICE void walk_tiles(walk *w, state *st, const int aligned)
{
    float even[ROWS16][KEYS8][4], odd[ROWS16][KEYS8][4];
    u32 j = 0;
    if (w->tiles > 0)
        score(w, even, 0);
    if (aligned) {
        u32 steps = main_steps(w);
        HEED_NO_UNROLL
        for (; j + 1 < steps; j += 2) {
            step(w, st, even, odd, j, 1, 1);
            step(w, st, odd, even, j + 1, 1, 1);
        }
        locate(w, w->args);
    }
    HEED_NO_UNROLL
    for (; j < w->tiles; j += 2) {
        step(w, st, even, odd, j, 0, aligned);
        if (j + 1 < w->tiles)
            step(w, st, odd, even, j + 1, 0, aligned);
    }
}

#endif

/* Starts the first loads, and waits for Q and what else the first step needs. */
HEED_DEVICE void fill_pipeline(walk *w, const int aligned)
{
    place *at = &w->at;
    w->q_lane = w->q_smem + tile_at(HEED_M, QK_PAD, at->warp * WARP_ROWS, 0) +
                tile_lane(QK_PAD, at->lane % 16, at->lane / 16);
    w->kv_lanes = ptx_keep(tile_lane(QK_PAD, at->lane / 16 * 8 + at->lane % 8, at->lane / 8 % 2) |
                           tile_lane(V_PAD, at->lane % 16, at->lane / 16) << 16);
    load_q(w->args, at, w->q_smem, aligned);
    if (K_AHEAD && w->tiles > 0)
        load_k(w->args, at, w->k, w->stages, 0, aligned);
    if (K_AHEAD)
        ptx_cp_async_commit();
    HEED_UNROLL
    for (u32 j = 0; j < HEED_S - 1; j++)
        load_step(w, j, aligned);
    i64 k_row = 2 * w->args->k_stride.seq, v_row = 2 * w->args->v_stride.seq;
    w->k_stream = tile_stream_of(k_row, HEED_N, QK_PAD, at->thread);
    w->v_stream = tile_stream_of(v_row, HEED_N, V_PAD, at->thread);
    if (HEED_CAUSAL)
        for (u32 i = at->group * GROUP_THREADS + at->thread; i < V_PAD; i += THREADS)
            ptx_st_shared_4(w->bad_smem + i * 4, NO_KEY);
    ptx_cp_async_wait(HEED_S - 2 + K_AHEAD);
    ptx_barrier();
    if (w->args->negate) {
        negate_q(at, w->q_smem);
        ptx_barrier();
    }
#if HEED_Q == 2
    HEED_UNROLL
    for (int kk = 0; kk < QK16; kk++)
        load_q_fragments(w->q[kk], w->q_lane, kk);
#endif
}

HEED_DEVICE void clear(state *st)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            st->max[mt][h] = NO_MAX;
            st->sum[mt][h] = 0.0f;
        }
        HEED_UNROLL
        for (int dt = 0; dt < V8; dt++) {
            HEED_UNROLL
            for (int i = 0; i < 4; i++)
                st->o[mt][dt][i] = 0.0f;
        }
    }
}

HEED_DEVICE void finish(walk *w, state *st, const int aligned)
{
    locate(w, w->args);
    place at = w->at;
    ptx_griddepcontrol_launch();
    if (HEED_K > 1) {
        ptx_cp_async_wait(0);
        merge_groups(&at, st, w->q_smem + STAGES_AT);
        if (at.group > 0)
            return;
    }
    normalize(st);
    if (HEED_CAUSAL)
        spoil(w->args, &at, st, w->bad_smem);
    if (w->args->splits.value > 1) {
        store_partial(w->args, &at, st);
        return;
    }
    store_lse(w->args, &at, st);
    if (HEED_K == 1 && O_MOVES)
        ptx_barrier();
    store_o(w->args, &at, st, w->q_smem, aligned);
}

HEED_DEVICE void attend(const heed_cuda_args *args, const int aligned)
{
    walk w;
    state st;
    locate(&w, args);
    fill_pipeline(&w, aligned);
    clear(&st);
    walk_tiles(&w, &st, aligned);
    finish(&w, &st, aligned);
}

HEED_ENTRY(THREADS, HEED_B) heed_attend(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    attend(&args, !HEED_UNALIGNED);
}
