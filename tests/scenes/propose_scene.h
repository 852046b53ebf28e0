/*
 * propose_scene.h - requests to a proposer
 */
#ifndef PROPOSE_SCENE_H
#define PROPOSE_SCENE_H

#include "lab/search/propose.h"

/* propose_scene_brief() returns a brief in which everything is said, about a source with two
 * marked regions. It does not change and is nobody's to free. */
lab_brief propose_scene_brief(lab_way way);

#endif /* PROPOSE_SCENE_H */
