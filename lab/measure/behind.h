/*
 * behind.h - a kernel from another module that runs before each call, as in a model
 *
 * It adds 1 to one float and does not trigger dependents early, so a call cannot overlap with the
 * previous one.
 */
#ifndef LAB_BEHIND_H
#define LAB_BEHIND_H

#include "heed.h"

/* Its PTX source, which rivals load too. */
extern const char lab_behind_text[];

typedef struct lab_behind lab_behind;

/* lab_behind_create() loads it on the device of @context. On failure *@behind is NULL:
 * HEED_ERR_UNSUPPORTED if that is not a CUDA device, or the device's status. lab_behind_destroy()
 * ignores NULL; call it before the context is destroyed. */
heed_status lab_behind_create(lab_behind **behind, heed_context *context);
void lab_behind_destroy(lab_behind *behind);

/* lab_behind_start() launches it on @stream. */
heed_status lab_behind_start(const lab_behind *behind, void *stream);

#endif /* LAB_BEHIND_H */
