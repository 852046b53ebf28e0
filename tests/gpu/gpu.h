/*
 * gpu.h - helpers for tests on a real GPU: attention on it, and reference results
 *
 * Plain C and the library alone, so that the program runs on machines without the build tools and
 * the libraries of other tests.
 */
#ifndef GPU_H
#define GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "heed.h"

/* One test, in a separate process. It ends the process with gpu_fail() or gpu_skip(), or passes by
 * returning. */
typedef void gpu_test_fn(void);

/* Prints the failure, like printf(), or the reason why there is nothing to test. */
void gpu_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void gpu_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Prints a figure for information; tests assert no times. */
void gpu_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fails unless @status is @expected. */
void gpu_expect(heed_status status, heed_status expected, const char *what);

/* A context for the device under test: HEED_DEVICE, or else the first one. */
heed_context *gpu_context(void);

/* The plan for @spec, chosen by the planner if @kernel is NULL. NULL if the kernel does not support
 * it. */
heed_plan *gpu_plan(heed_context *context, const char *spec, const char *kernel);

/* Tensors of a problem on the device of a context; all dense, in the problem's layout. */
typedef struct gpu_scene {
    heed_context *context;
    heed_problem problem;
    heed_buffers buffers; /* on the device */
    size_t size[4];       /* bytes of Q, K, V and O */
    size_t rows;          /* of the LSE */
    uint64_t seed;        /* of the inputs */
} gpu_scene;

/* gpu_scene_create() allocates the tensors for the problem of @plan, which must be dense, and fills
 * the inputs from @seed. gpu_scene_fill() fills them again; gpu_scene_poison() fills the
 * outputs. */
gpu_scene gpu_scene_create(heed_context *context, const heed_plan *plan, uint64_t seed);
void gpu_scene_destroy(gpu_scene *scene);
void gpu_scene_fill(gpu_scene *scene, uint64_t seed);
void gpu_scene_poison(gpu_scene *scene);

/* The outputs, copied to the host: O followed by the LSE. Free with free(). */
size_t gpu_scene_output_size(const gpu_scene *scene);
unsigned char *gpu_scene_take(const gpu_scene *scene);

/* Fails unless @output equals the CPU's result for the scene's inputs, except for rounding. */
void gpu_scene_check(const gpu_scene *scene, const unsigned char *output, const char *what);

/* gpu_run() executes @plan on the scene once, and returns the outputs. */
unsigned char *gpu_run(const heed_plan *plan, gpu_scene *scene);

/* Streams created directly with the driver. The primary context of the device stays current in the
 * calling thread. */
void *gpu_stream_create(heed_context *context);
void gpu_stream_wait(void *stream);
void gpu_stream_destroy(void *stream);
int gpu_device_count(void);

#endif /* GPU_H */
