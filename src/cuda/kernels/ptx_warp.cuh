/*
 * ptx_warp.cuh - instructions that the lanes of a warp execute together, as in ptx.cuh
 *
 * Fragments of mma.m16n8k16, with g = lane / 4 and t = lane % 4; each register holds two adjacent
 * 16-bit elements, the lower column (for b: row) in the lower half:
 *
 *     a[0] (row g, columns 2t, 2t+1)   a[1] (g+8, 2t..)   a[2] (g, 2t+8..)   a[3] (g+8, 2t+8..)
 *     b[0] (rows 2t, 2t+1, column g)   b[1] (rows 2t+8, 2t+9, column g)
 *     d[0], d[1] (row g, columns 2t, 2t+1)               d[2], d[3] (row g+8, the same columns)
 *
 * Those of mma.m16n8k8 have a 32-bit element in each register, and the same d:
 *
 *     a[0] (row g, column t)   a[1] (g+8, t)   a[2] (g, t+4)   a[3] (g+8, t+4)
 *     b[0] (row t, column g)   b[1] (row t+4, column g)
 */
#ifndef HEED_PTX_WARP_CUH
#define HEED_PTX_WARP_CUH

#include "types.cuh"

/* ---- matrices: every lane of a warp calls these together ---- */

/* ldmatrix.x4: four 8x8 matrices of 16-bit elements. Lane l gives the address of row l % 8 of
 * matrix l / 8, a multiple of 16; of matrix i it gets elements 2t and 2t+1 of row g in r[i]. */
HEED_DEVICE void ptx_ldmatrix_x4(u32 r[4], u32 smem)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smem)
                 : "memory");
}

/* ldmatrix.x4.trans: the same for the transposed matrices: elements g of rows 2t and 2t+1. */
HEED_DEVICE void ptx_ldmatrix_x4_trans(u32 r[4], u32 smem)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smem)
                 : "memory");
}

/* ldmatrix.x2: two matrices, from the addresses of lanes 0 to 15. */
HEED_DEVICE void ptx_ldmatrix_x2(u32 r[2], u32 smem)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(smem)
                 : "memory");
}

/* ldmatrix.x2.trans: the same, transposed. */
HEED_DEVICE void ptx_ldmatrix_x2_trans(u32 r[2], u32 smem)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(smem)
                 : "memory");
}

/* mma.m16n8k16: d += a b, a and b of float16, d of float32. */
HEED_DEVICE void ptx_mma_f16(float d[4], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* mma.m16n8k16: d += a b, a and b of bfloat16, d of float32. */
HEED_DEVICE void ptx_mma_bf16(float d[4], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* mma.m16n8k8: d += a b, a and b of tf32, which is float32 whose low 13 bits are ignored, d of
 * float32. */
HEED_DEVICE void ptx_mma_tf32(float d[4], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The same without what was in d: d = a b. */
HEED_DEVICE void ptx_mma_f16_first(float d[4], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}

HEED_DEVICE void ptx_mma_bf16_first(float d[4], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}

HEED_DEVICE void ptx_mma_tf32_first(float d[4], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}

/* mma.m16n8k16: d += a b, all of float16: d[0] holds the two elements of row g, d[1] of g + 8. */
HEED_DEVICE void ptx_mma_f16_acc16(u32 d[2], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
        "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(d[0]), "+r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The same without what was in d: d = a b. */
HEED_DEVICE void ptx_mma_f16_acc16_first(u32 d[2], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
        "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %8};"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(0));
}

/* ---- between the lanes of a warp: all of them call these together ---- */

/* shfl.sync.bfly: the value of lane ptx_lane() ^ mask. */
HEED_DEVICE u32 ptx_shfl_xor_u32(u32 x, int mask)
{
    u32 r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(x), "r"(mask));
    return r;
}

HEED_DEVICE float ptx_shfl_xor(float x, int mask)
{
    float r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(r) : "f"(x), "r"(mask));
    return r;
}

/* shfl.sync.idx: the value of lane @lane, 0 to 31. */
HEED_DEVICE u32 ptx_shfl_idx_u32(u32 x, int lane)
{
    u32 r;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(x), "r"(lane));
    return r;
}

HEED_DEVICE float ptx_shfl_idx(float x, int lane)
{
    float r;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(r) : "f"(x), "r"(lane));
    return r;
}

/* vote.sync.any: 1 if @x is not 0 in any lane, else 0. */
HEED_DEVICE int ptx_vote_any(int x)
{
    int r;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.any.pred q, p, 0xffffffff; "
                 "selp.s32 %0, 1, 0, q; }"
                 : "=r"(r)
                 : "r"(x));
    return r;
}

/* vote.sync.ballot: bit i is 1 if @x is not 0 in lane i. */
HEED_DEVICE u32 ptx_vote_ballot(int x)
{
    u32 r;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(r)
                 : "r"(x));
    return r;
}

#endif /* HEED_PTX_WARP_CUH */
