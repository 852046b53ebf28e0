/*
 * gpu.h - shared by the tests of a real GPU: attention on it, with an answer to compare with
 *
 * Plain C on the library alone, so that the program runs on machines that have neither the build
 * tools nor the libraries of the other tests.
 */
#ifndef GPU_H
#define GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "heed.h"

/* One test, in a process of its own. It ends the process with gpu_fail() or gpu_skip(), or passes
 * by coming back. */
typedef void gpu_test_fn(void);

/* The failure, as printf() prints it, or the reason why there is nothing to test. */
void gpu_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void gpu_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A figure for people; tests assert no times. */
void gpu_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fails unless @status is @expected. */
void gpu_expect(heed_status status, heed_status expected, const char *what);

/* A context for the device under test, that of HEED_DEVICE or else the first one. */
heed_context *gpu_context(void);

/* The plan for @spec, by the planner if @kernel is NULL. NULL if the kernel cannot do it. */
heed_plan *gpu_plan(heed_context *context, const char *spec, const char *kernel);

/* Tensors of a problem on the device of a context; all dense, in the problem's own layout. */
typedef struct gpu_scene {
    heed_context *context;
    heed_problem problem;
    heed_buffers buffers; /* on the device */
    size_t size[4];       /* bytes of Q, K, V and O */
    size_t rows;          /* of the LSE */
    uint64_t seed;        /* of the inputs */
} gpu_scene;

/* gpu_scene_create() makes room for the problem of @plan, whose tensors must be dense, and fills
 * the inputs from @seed. gpu_scene_fill() fills them anew; gpu_scene_poison() the outputs. */
gpu_scene gpu_scene_create(heed_context *context, const heed_plan *plan, uint64_t seed);
void gpu_scene_destroy(gpu_scene *scene);
void gpu_scene_fill(gpu_scene *scene, uint64_t seed);
void gpu_scene_poison(gpu_scene *scene);

/* The outputs, copied to the host: O and behind it the LSE. Free with free(). */
size_t gpu_scene_output_size(const gpu_scene *scene);
unsigned char *gpu_scene_take(const gpu_scene *scene);

/* Fails unless @output is what the CPU computes of the scene's inputs, but for rounding. */
void gpu_scene_check(const gpu_scene *scene, const unsigned char *output, const char *what);

/* gpu_run() executes @plan on the scene once, and returns the outputs. */
unsigned char *gpu_run(const heed_plan *plan, gpu_scene *scene);

/* The driver's own streams. The primary context of the device is made current in the calling thread
 * for good. */
void *gpu_stream_create(heed_context *context);
void gpu_stream_wait(void *stream);
void gpu_stream_destroy(void *stream);
int gpu_device_count(void);

#endif /* GPU_H */
