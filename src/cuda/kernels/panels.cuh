/*
 * panels.cuh - layout of tiles in shared memory for wgmma and the tensor memory accelerator
 */
#ifndef HEED_PANELS_CUH
#define HEED_PANELS_CUH

#include "ablation.h"
#include "types.cuh"

/* Tiles are stored in shared memory as consecutive panels of 64 columns (128 bytes), swizzled.
 * Degraded builds have panels of 16 columns, or of 8, which are not swizzled, so rows of tensors
 * are loaded in pieces of 32 or 16 bytes. */
#if HEED_ABLATE == ABLATE_STRIDED
#define PANEL_COLUMNS 16
#elif HEED_ABLATE == ABLATE_UNSWIZZLED
#define PANEL_COLUMNS 8
#else
#define PANEL_COLUMNS 64
#endif
#define PANEL_ROW (2 * PANEL_COLUMNS)
#define PANEL_CHUNKS (PANEL_COLUMNS / 8) /* of 16 bytes, in a row */

/* The number with which a chunk's index in its row of a panel is XORed. */
#define PANEL_TURN(row) ((row) / (128 / PANEL_ROW) % PANEL_CHUNKS)

/* Descriptors of panels in shared memory, whose rows of 128 bytes are swizzled: 8 rows are 1024
 * bytes, @stride, and @leading is the distance in bytes of panels where the instruction reads
 * several. Fields count 16 bytes. The lower half has the address, to which offsets within the
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
