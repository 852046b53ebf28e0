/*
 * propose_scene.h - requests to a proposer
 */
#ifndef PROPOSE_SCENE_H
#define PROPOSE_SCENE_H

#include "lab/search/propose.h"

/* propose_scene_brief() returns a brief with every part filled in, for a source with two marked
 * regions. It is constant and static. */
lab_brief propose_scene_brief(lab_way way);

#endif /* PROPOSE_SCENE_H */
