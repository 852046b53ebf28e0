/*
 * trial_scene.h - candidates from tests/data/trial, and a small problem to run them on
 */
#ifndef TRIAL_SCENE_H
#define TRIAL_SCENE_H

#include <sys/types.h>

#include "lab/trial/trial.h"

/* b1 h1 s8 d8 f32: 64 elements in each tensor. */
#define SCENE_ELEMENTS 64
#define SCENE_POISON (-77.0f)

typedef struct trial_scene {
    char source[1 << 16]; /* of the last candidate read */
    heed_problem problem;
    float q[SCENE_ELEMENTS], k[SCENE_ELEMENTS], v[SCENE_ELEMENTS];
    float room[SCENE_ELEMENTS + 32]; /* O is in the middle */
    float *o;
    float lse[8];
} trial_scene;

/* trial_scene_open() makes the problem and the inputs. scene_poison() fills O and the memory around
 * it. */
void trial_scene_open(trial_scene *scene);
void scene_poison(trial_scene *scene);

/* scene_candidate() reads tests/data/trial/@name.c, with the knobs ID, PORT, KIB and MIB set to
 * @value. Fails the test if there is no such file. */
lab_candidate scene_candidate(trial_scene *scene, const char *name, long long value);

/* scene_set() returns the tensors, O with 16 elements on either side that must not change, and
 * @workspace of @size bytes. */
lab_set scene_set(trial_scene *scene, void *workspace, size_t size);

/* scene_try() performs a whole trial of the candidate @name. Returns true on success. */
bool scene_try(trial_scene *scene, const char *name, long long value, const lab_limits *limits,
               lab_trial_outcome *outcome);

/* scene_is_right() returns whether O and LSE are right for the problem. */
bool scene_is_right(const trial_scene *scene);

/* scene_only_child() returns the only child of this thread. */
pid_t scene_only_child(void);

/* A socket that listens, at a port of this machine alone; -1: there is none. */
int scene_listen(int *port);

#endif /* TRIAL_SCENE_H */
