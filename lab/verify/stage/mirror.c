/*
 * mirror.c - copies of a stage's tensors in device memory
 */
#include "lab/verify/stage/mirror.h"

#include <string.h>

#include "src/device.h"

/* Granularity of memory between walls. */
#define PIECE ((size_t)2 << 20)

/* Slots larger than this are freed when a small block takes their place. */
#define KEEP ((size_t)64 << 20)

/* Addresses on the device are as those of the stage modulo this. */
#define ALIGNMENT ((size_t)256)

lab_mirror lab_mirror_create(heed_context *context, bool exact)
{
    return (lab_mirror){ .context = context, .exact = exact };
}

/* ---------------------------------------------------------------------------------------------- */
/* Memory                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

static void free_slot(const lab_mirror *mirror, lab_slot *slot)
{
    if (slot->walled)
        heed_device_release(mirror->context, slot->memory, slot->size);
    else
        heed_device_free(mirror->context, slot->memory);
    *slot = (lab_slot){ 0 };
}

void lab_mirror_destroy(lab_mirror *mirror)
{
    for (int i = 0; i < LAB_BLOCKS; i++)
        if (mirror->slots[i].memory)
            free_slot(mirror, &mirror->slots[i]);
    memset(mirror, 0, sizeof *mirror);
}

/* Whole pieces reach from one wall to the other. Some devices do not support walls. */
static heed_status walled_slot(const lab_mirror *mirror, lab_slot *slot, size_t size)
{
    if (__builtin_add_overflow(size, PIECE - 1, &size))
        return HEED_ERR_NO_MEMORY;
    slot->size = size / PIECE * PIECE;
    slot->walled = true;
    heed_status status = heed_device_reserve(mirror->context, slot->size, false, &slot->memory);
    if (status == HEED_OK || status == HEED_ERR_NO_MEMORY || status == HEED_ERR_LOST)
        return status;
    slot->walled = false;
    return heed_device_allocate(mirror->context, slot->size, &slot->memory);
}

/* Allocates the data only, aligned as in the stage. The slot's old memory is freed after the new
 * memory is allocated, so that two consecutive runs never have the same addresses. */
static heed_status exact_slot(const lab_mirror *mirror, lab_slot *slot, const lab_region *region)
{
    size_t before = (uintptr_t)region->data % ALIGNMENT;
    lab_slot old = *slot;
    *slot = (lab_slot){ .size = before + region->size };
    heed_status status = heed_device_allocate(mirror->context, slot->size, &slot->memory);
    slot->room = (uintptr_t)slot->memory + before - (uintptr_t)(region->data - region->room);
    if (old.memory)
        free_slot(mirror, &old);
    return status;
}

static bool fits(const lab_slot *slot, size_t size)
{
    return slot->memory && slot->size >= size && (slot->size <= KEEP || slot->size / 4 <= size);
}

static heed_status place_block(lab_mirror *mirror, const lab_stage *stage, int index)
{
    const lab_region *region = &stage->block[index].region;
    lab_slot *slot = &mirror->slots[index];
    heed_status status = HEED_OK;
    if (mirror->exact)
        return exact_slot(mirror, slot, region);
    if (slot->memory && !fits(slot, region->room_size))
        free_slot(mirror, slot);
    if (!slot->memory)
        status = walled_slot(mirror, slot, region->room_size);
    slot->room = (uintptr_t)slot->memory;
    if (stage->edge != LAB_EDGE_START)
        slot->room += slot->size - region->room_size;
    return status;
}

static heed_status place_blocks(lab_mirror *mirror, const lab_stage *stage)
{
    heed_status status = HEED_OK;
    for (int i = 0; i < LAB_BLOCKS && status == HEED_OK; i++)
        if (stage->block[i].region.map)
            status = place_block(mirror, stage, i);
    if (status == HEED_OK)
        return status;
    lab_mirror empty = lab_mirror_create(mirror->context, mirror->exact);
    lab_mirror_destroy(mirror);
    *mirror = empty;
    return status;
}

/* If memory runs out, tries again: the first try has freed all kept slots. */
heed_status lab_mirror_place(lab_mirror *mirror, const lab_stage *stage)
{
    heed_status status = place_blocks(mirror, stage);
    return status == HEED_ERR_NO_MEMORY ? place_blocks(mirror, stage) : status;
}

/* ---------------------------------------------------------------------------------------------- */
/* Copies                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

/* Returns the device address of @stage's @index-th block; NULL if it is absent. */
static void *device_data(const lab_mirror *mirror, const lab_stage *stage, int index)
{
    const lab_region *region = &stage->block[index].region;
    if (!region->map)
        return NULL;
    return (void *)(mirror->slots[index].room + (uintptr_t)(region->data - region->room));
}

heed_buffers lab_mirror_buffers(const lab_mirror *mirror, const lab_stage *stage)
{
    heed_buffers buffers = {
        .size = sizeof buffers,
        .lse = device_data(mirror, stage, LAB_LSE),
        .workspace = device_data(mirror, stage, LAB_WORKSPACE),
        .workspace_size = stage->block[LAB_WORKSPACE].region.size,
    };
    for (int role = LAB_Q; role < LAB_ROLES; role++)
        lab_buffers_set(&buffers, (lab_role)role, device_data(mirror, stage, role));
    if (stage->problem.shared && stage->edge != LAB_EDGE_END)
        buffers.v = buffers.k;
    return buffers;
}

/* The part of a stretch that is copied: all of it, or the part within the data. */
static lab_stretch copied(const lab_mirror *mirror, const lab_region *region, lab_stretch stretch)
{
    size_t start = (size_t)(region->data - region->room), end = start + region->size;
    if (!mirror->exact)
        return stretch;
    return (lab_stretch){ stretch.start > start ? stretch.start : start,
                          stretch.end < end ? stretch.end : end };
}

static heed_status copy_block(const lab_mirror *mirror, const lab_block *block,
                              const lab_slot *slot, bool up)
{
    const lab_region *region = &block->region;
    heed_status status = HEED_OK;
    for (int64_t n = 0; n < lab_block_stretches(block) && status == HEED_OK; n++) {
        lab_stretch part = copied(mirror, region, lab_block_stretch(block, n));
        void *device = (void *)(slot->room + part.start), *host = region->room + part.start;
        size_t size = part.end - part.start;
        status = up ? heed_device_upload(mirror->context, device, host, size)
                    : heed_device_download(mirror->context, host, device, size);
    }
    return status;
}

heed_status lab_mirror_copy(const lab_mirror *mirror, const lab_stage *stage, bool up)
{
    heed_status status = HEED_OK;
    for (int i = 0; i < LAB_BLOCKS && status == HEED_OK; i++)
        if (stage->block[i].region.map && !(mirror->exact && i == LAB_WORKSPACE))
            status = copy_block(mirror, &stage->block[i], &mirror->slots[i], up);
    return status;
}
