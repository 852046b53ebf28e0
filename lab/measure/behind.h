/*
 * behind.h - a kernel of another module before each call, as calls find one in a model
 *
 * It adds 1 to one float, and does not signal its end early: a call cannot overlap with the one
 * before it.
 */
#ifndef LAB_BEHIND_H
#define LAB_BEHIND_H

#include "heed.h"

/* Its source, PTX: rivals load the same. */
extern const char lab_behind_text[];

typedef struct lab_behind lab_behind;

/* lab_behind_create() loads it into the device of @context. HEED_ERR_UNSUPPORTED if that is
 * no CUDA device; or what the device returned; then *@behind is NULL. lab_behind_destroy()
 * ignores that, and must come before the context's end. */
heed_status lab_behind_create(lab_behind **behind, heed_context *context);
void lab_behind_destroy(lab_behind *behind);

/* lab_behind_start() starts it on @stream. */
heed_status lab_behind_start(const lab_behind *behind, void *stream);

#endif /* LAB_BEHIND_H */
