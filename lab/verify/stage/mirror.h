/*
 * mirror.h - copies of a stage's tensors in device memory
 *
 * The stage stays in host memory, where everything is checked. All of it that is ever touched
 * (elements, gaps and slack) is copied to the device before a run and back afterwards, so that
 * every write of the kernel shows in the stage. On the device too the tensors lie against unmapped
 * walls, at addresses aligned like those of the stage. But inputs are not write-protected there.
 */
#ifndef LAB_MIRROR_H
#define LAB_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/stage/stage.h"

/* Device memory for one block. It is kept from one stage to the next, as allocating it takes longer
 * than most kernels. */
typedef struct lab_slot {
    void *memory;
    size_t size;
    bool walled;    /* lies between walls, rather than among other allocations */
    uintptr_t room; /* address of the region's room; may be below @memory if nothing there is ever
                     * touched */
} lab_slot;

typedef struct lab_mirror {
    heed_context *context;
    bool exact;
    lab_slot slots[LAB_BLOCKS];
} lab_mirror;

/* lab_mirror_create() makes an empty mirror on the device of @context. With @exact set, every
 * tensor is a separate allocation of its exact size, at another address than in the previous run,
 * and the workspace is not filled, so that memory checkers can find every error; slack is not
 * checked then. */
lab_mirror lab_mirror_create(heed_context *context, bool exact);
void lab_mirror_destroy(lab_mirror *mirror);

/* lab_mirror_place() makes room for @stage. Returns HEED_OK; HEED_ERR_NO_MEMORY; HEED_ERR_LOST. */
heed_status lab_mirror_place(lab_mirror *mirror, const lab_stage *stage);

/* lab_mirror_buffers() returns the kernel's buffers, once @stage has been placed. */
heed_buffers lab_mirror_buffers(const lab_mirror *mirror, const lab_stage *stage);

/* lab_mirror_copy() copies @stage to the device if @up, else back. Returns the status of the
 * copies, which also reports earlier failed work. */
heed_status lab_mirror_copy(const lab_mirror *mirror, const lab_stage *stage, bool up);

#endif /* LAB_MIRROR_H */
