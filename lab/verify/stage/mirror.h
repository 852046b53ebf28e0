/*
 * mirror.h - a stage's tensors in the memory of a device
 *
 * The stage stays in host memory and judges everything. Before a run all of it that is ever
 * touched, elements, gaps and slack, is copied to the device, and afterwards back, so that whatever
 * the kernel did shows in the stage. On the device too the tensors lie against walls that nothing
 * is mapped to, at addresses that are aligned as those of the stage are; but inputs can be written
 * to.
 */
#ifndef LAB_MIRROR_H
#define LAB_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/stage/stage.h"

/* Memory of the device for one block. It is kept from one stage to the next, as making it takes
 * longer than most kernels. */
typedef struct lab_slot {
    void *memory;
    size_t size;
    bool walled;    /* lies between walls, rather than among other allocations */
    uintptr_t room; /* where the room of the block's region is; it may begin before @memory if
                       nothing there is ever touched */
} lab_slot;

typedef struct lab_mirror {
    heed_context *context;
    bool exact;
    lab_slot slots[LAB_BLOCKS];
} lab_mirror;

/* lab_mirror_create() makes an empty mirror on the device of @context. With @exact set, every
 * tensor is an allocation of its own without a byte to spare, elsewhere than in the run before, and
 * the workspace is left as it is, so that tools that watch allocations notice all there is to
 * notice; slack is not looked at then. */
lab_mirror lab_mirror_create(heed_context *context, bool exact);
void lab_mirror_destroy(lab_mirror *mirror);

/* lab_mirror_place() makes room for @stage. Returns HEED_OK; HEED_ERR_NO_MEMORY; HEED_ERR_LOST. */
heed_status lab_mirror_place(lab_mirror *mirror, const lab_stage *stage);

/* lab_mirror_buffers() returns what to give to the kernel, once @stage has its place. */
heed_buffers lab_mirror_buffers(const lab_mirror *mirror, const lab_stage *stage);

/* lab_mirror_upload() copies @stage to the device, lab_mirror_download() back. They return what
 * copying did, which also tells of work that failed before. */
heed_status lab_mirror_upload(const lab_mirror *mirror, const lab_stage *stage);
heed_status lab_mirror_download(const lab_mirror *mirror, lab_stage *stage);

#endif /* LAB_MIRROR_H */
