/*
 * wisdom_scene.h - a context, some choices, and their text
 */
#ifndef WISDOM_SCENE_H
#define WISDOM_SCENE_H

#include "wisdom.h"

#define WISDOM_HEADER \
    "heed wisdom 1: problem, device, cpu, threads, build, kernel, seconds, effort\n"
#define WISDOM_TEXT_SIZE 8192

/* wisdom_scene_context() returns a context with two threads, which the caller destroys;
 * wisdom_scene_problem() the problem of @spec. All of these fail the test on errors. */
heed_context *wisdom_scene_context(void);
heed_problem wisdom_scene_problem(const char *spec);

/* wisdom_scene_choice() returns an existing kernel and config; wisdom_scene_add() adds it for
 * @spec. */
heed_choice wisdom_scene_choice(double seconds, heed_effort effort);
void wisdom_scene_add(heed_context *context, const char *spec, double seconds, heed_effort effort);

/* wisdom_scene_find() returns the seconds of the choice for @spec; 0 if there is none. */
double wisdom_scene_find(heed_context *context, const char *spec, heed_effort effort);

/* wisdom_scene_text() adds choices for three problems, writes the wisdom to @text and returns its
 * length. */
size_t wisdom_scene_text(heed_context *context, char text[WISDOM_TEXT_SIZE]);

#endif /* WISDOM_SCENE_H */
