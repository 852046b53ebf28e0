/*
 * panels.cuh - tiles as wgmma and the tensor memory accelerator have them in shared memory
 */
#ifndef HEED_PANELS_CUH
#define HEED_PANELS_CUH

#include "ablate.cuh"
#include "types.cuh"

/* Tiles lie in shared memory as panels of 64 columns, 128 bytes, one after another, swizzled. In
 * degraded builds they are panels of 16 columns, or of 8, which are not swizzled, and so rows of
 * tensors are loaded in pieces of 32 or 16 bytes. */
#if HEED_ABLATE == ABLATE_STRIDED
#define PANEL_COLUMNS 16
#elif HEED_ABLATE == ABLATE_UNSWIZZLED
#define PANEL_COLUMNS 8
#else
#define PANEL_COLUMNS 64
#endif
#define PANEL_ROW (2 * PANEL_COLUMNS)
#define PANEL_CHUNKS (PANEL_COLUMNS / 8) /* of 16 bytes, in a row */

/* The number that the place of a chunk in its row of a panel is XORed with. */
#define PANEL_TURN(row) ((row) / (128 / PANEL_ROW) % PANEL_CHUNKS)

/* Descriptors of panels in shared memory, whose rows of 128 bytes are swizzled: 8 of them are 1024
 * bytes, @stride, and @leading bytes are from one panel to the next where the instruction looks at
 * several. Fields count 16 bytes. The lower half has the address, to which others in the same
 * panels may be added; */
HEED_DEVICE u32 describe(u32 smem, u32 leading)
{
    return (smem & 0x3ffff) / 16 | leading / 16 << 16;
}

/* the upper half is always the same. */
HEED_DEVICE u64 descriptor(u32 lower, u32 bytes, const u32 stride)
{
    const u64 swizzle = PANEL_COLUMNS == 64 ? 1u << 30 : PANEL_COLUMNS == 16 ? 3u << 30 : 0;
    return (stride / 16 | swizzle) << 32 | (lower + bytes / 16);
}

#endif /* HEED_PANELS_CUH */
