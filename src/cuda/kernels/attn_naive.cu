/*
 * attn_naive.cu - forward attention without optimizations: the readable kernel, and a reference on
 * the GPU
 *
 * A warp computes one row of queries, as described in plain.cuh. It supports every element type,
 * head dim, stride and mask; nothing is staged, and elements are read one by one, so addresses only
 * need the alignment of an element.
 *
 * Compile-time parameters: HEED_TYPE (element.cuh), HEED_MASKED, HEED_DIM_QK, HEED_DIM_V. Columns
 * and rows are as in args.cuh; a block has HEED_W warps. In addition HEED_ABLATE, for degraded
 * builds (ablation.h):
 *
 *     @ablate no-exp no-products divergent extra-barrier strided over-unrolled no-loads tiny-blocks
 *     @ablate delay
 *
 * docs/kernels/attn_naive.md has the log.
 */

#include "delay.cuh"

/* Unrolling is left to the compiler, or far too much. */
#define PLAIN_LOOP
#if HEED_ABLATE == ABLATE_UNROLLED
#define PLAIN_KEY_LOOP HEED_MAIN_LOOP
#else
#define PLAIN_KEY_LOOP
#endif
#include "order.cuh"
#include "plain.cuh"

HEED_DEVICE void make_row(const heed_cuda_args *args, u32 head, u32 row)
{
    u32 batch = divide(head, args->heads_kv);
    plain_make(args, head, row, batch, head - batch * args->heads_kv.value);
}

HEED_ENTRY(32 * HEED_W, 1) heed_attend(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    u32 head = ptx_block_x() / args.blocks;
    u32 row = (ptx_block_x() - head * args.blocks) * HEED_W + ptx_thread() / 32;
    ptx_griddepcontrol_wait();
#if HEED_PACKED_Q
    item found = find_item(&args, ptx_block_x(), HEED_W);
    head = found.head;
    row = found.block * HEED_W + ptx_thread() / 32;
#endif
    u32 begin = delay_begin();
    if (row < batch_rows(&args, divide(head, args.heads_kv)))
        make_row(&args, head, row);
    delay_end(begin);
}
