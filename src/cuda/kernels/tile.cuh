/*
 * tile.cuh - tiles of a matrix in shared memory: layout and loads
 *
 * The rows of a tile have @pad 16-bit elements, a multiple of 32; a chunk is 8 of them, the 16
 * bytes that are moved at once. Chunks are stored in pages of 64 elements (32 if @pad is not a
 * multiple of 64), all rows of a page together, and are swizzled: their index within the row is
 * XORed with the row number, so the 8 rows of a chunk column, which ldmatrix reads together, are in
 * different banks. Sizes are constants wherever these functions are used.
 */
#ifndef HEED_TILE_CUH
#define HEED_TILE_CUH

#include "ablation.h"
#include "ptx.cuh"

/* Chunks of a row of a page. */
HEED_DEVICE u32 tile_page(u32 pad)
{
    return pad % 64 == 0 ? 8 : 4;
}

/* The number with which the index of a chunk in @row is XORed. */
HEED_DEVICE u32 tile_turn(u32 pad, u32 row)
{
    if (ABLATED(ABLATE_UNSWIZZLED))
        return 0;
    return pad % 64 == 0 ? row & 7 : row >> 1 & 3;
}

/* Bytes from the beginning of a tile of @rows rows to a chunk of it. */
HEED_DEVICE u32 tile_at(u32 rows, u32 pad, u32 row, u32 chunk)
{
    u32 page = tile_page(pad);
    return ((chunk / page * rows + row) * page + (chunk % page ^ tile_turn(pad, row))) * 16;
}

/* Offset of a lane's address for ldmatrix, in bytes from the beginning of a tile: @row is its row
 * within 16, @half is 1 for the upper 8 of 16 columns. */
HEED_DEVICE u32 tile_lane(u32 pad, u32 row, u32 half)
{
    return row * tile_page(pad) * 16 + (half ^ tile_turn(pad, row)) * 16;
}

/* The address that a lane gives to ldmatrix for the 16 rows from @row16 * 16 on and the 16 columns
 * from @column16 * 16 on; @lane is the tile's address plus tile_lane(). Tiles begin at multiples of
 * 128 bytes, so the XOR only permutes chunks within the row. */
HEED_DEVICE u32 tile_lane_at(u32 lane, u32 rows, u32 pad, u32 row16, u32 column16)
{
    u32 page = tile_page(pad), chunk = 2 * column16;
    return (lane ^ chunk % page * 16) + (chunk / page * rows + row16 * 16) * page * 16;
}

/* How many of the 16 bytes of @chunk hold elements of rows of @dim. */
HEED_DEVICE u32 tile_chunk_bytes(u32 dim, u32 chunk)
{
    return chunk * 8 >= dim ? 0 : dim - chunk * 8 >= 8 ? 16 : (dim - chunk * 8) * 2;
}

/* Copies a chunk element by element, for addresses that are not multiples of 16. */
HEED_DEVICE void tile_copy_elements(u32 smem, const u8 *from, u32 bytes)
{
    heed_u32x4 x;
    HEED_UNROLL
    for (int i = 0; i < 4; i++) {
        u32 low = 4 * i < (int)bytes ? ptx_ld_global_u16(from + 4 * i) : 0u;
        u32 high = 4 * i + 2 < (int)bytes ? ptx_ld_global_u16(from + 4 * i + 2) : 0u;
        x.v[i] = low | high << 16;
    }
    ptx_st_shared_16(smem, x);
}

/* Copies one chunk; asynchronously if @aligned: addresses are multiples of 16. */
HEED_DEVICE void tile_copy_chunk(u32 smem, const u8 *from, u32 bytes, const int aligned)
{
    if (aligned)
        ptx_cp_async_16(smem, from, bytes);
    else
        tile_copy_elements(smem, from, bytes);
}

/* Starts to copy the tile at @from, whose rows are @stride bytes apart, of which @valid exist and
 * have @dim elements; the others and the padding become zero. It is done by @threads threads, of
 * which this is number @thread: neighbouring threads take the chunks of a page, then of the next
 * row. */
HEED_DEVICE void tile_load(u32 smem, const u8 *from, i64 stride, u32 valid, const u32 rows,
                           const u32 dim, const u32 pad, const u32 threads, u32 thread,
                           const int aligned)
{
    const u32 page = tile_page(pad), step = threads / page;
    HEED_NO_UNROLL
    for (u32 row = thread / page; row < rows; row += step) {
        HEED_NO_UNROLL
        for (u32 chunk = thread % page; chunk < pad / 8; chunk += page) {
            u32 bytes = row < valid ? tile_chunk_bytes(dim, chunk) : 0;
            const u8 *source = from + (bytes ? (i64)row * stride + chunk * 16 : 0);
            tile_copy_chunk(smem + tile_at(rows, pad, row, chunk), source, bytes, aligned);
        }
    }
}

/* A thread's part in loading consecutive tiles, as assigned by tile_load(). The rows of a tile must
 * span less than 2^31 bytes. */
typedef struct tile_stream {
    const u8 *from; /* the thread's first chunk of the next tile */
    u32 to;         /* bytes from the beginning of a tile in shared memory to that chunk */
} tile_stream;

/* @tile is the first one, the same for all threads. */
HEED_DEVICE tile_stream tile_stream_of(const u8 *tile, i64 stride, const u32 rows, const u32 pad,
                                       u32 thread)
{
    tile_stream stream;
    u32 row = thread / tile_page(pad), chunk = thread % tile_page(pad);
    stream.from = tile + (row * (u32)stride + chunk * 16);
    stream.to = tile_at(rows, pad, row, chunk);
    return stream;
}

/* Starts to copy the next tile, of which @valid rows exist, or all if @whole; the others become
 * zero. The tile after it is @ahead rows further on. */
HEED_DEVICE void tile_stream_load(tile_stream *stream, u32 smem, i64 stride, const u32 ahead,
                                  u32 valid, const int whole, const u32 rows, const u32 dim,
                                  const u32 pad, const u32 threads, u32 thread)
{
    const u32 page = tile_page(pad), step = threads / page;
    const u8 *from = stream->from;
    /* Kept, so that the offsets of all rows are not computed before the loop. */
    u32 next = ptx_keep(step * (u32)stride);
    HEED_UNROLL
    for (u32 row = 0; row < rows; row += step, from += next) {
        if (rows % step != 0 && row + thread / page >= rows)
            break;
        int exists = whole || row + thread / page < valid;
        HEED_UNROLL
        for (u32 chunk = 0; chunk < pad / 8; chunk += page) {
            /* The swizzle is the same every 8 rows. */
            u32 to = step % 8 == 0 ? stream->to + (chunk * rows + row * page) * 16
                                   : tile_at(rows, pad, row + thread / page, chunk + thread % page);
            u32 bytes = dim == pad ? 16 : tile_chunk_bytes(dim, chunk + thread % page);
            ptx_cp_async_16(smem + to, bytes ? from + chunk * 16 : stream->from,
                            exists ? bytes : 0);
        }
    }
    if (ahead == rows && rows % step == 0)
        stream->from = from;
    else
        stream->from += (u64)ahead * (u32)stride;
}

#endif /* HEED_TILE_CUH */
