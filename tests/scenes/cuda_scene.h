/*
 * cuda_scene.h - a CUDA device simulated by the fake driver, for tests
 */
#ifndef HEED_TESTS_CUDA_SCENE_H
#define HEED_TESTS_CUDA_SCENE_H

#include "cuda/driver/device.h"
#include "cuda/jit.h"
#include "fake_cuda.h"

/* The controls of the fake. */
extern fake_cuda *fake;

/* cmocka's setup of a group: installs the fake driver; scene_begin_uncached() also keeps heed from
 * caching the fake compiler's output, which is not machine code. */
int scene_begin(void **state);
int scene_begin_uncached(void **state);

/* cmocka's setup: two devices in their initial state, without failures. And its teardown:
 * everything must have been released. */
int scene_reset(void **state);
int scene_check(void **state);

/* The main() of a program that runs the functions that are named, each between these two, after
 * @begin. */
#define RUN_SCENE_TESTS(begin, ...)                                                               \
    int main(void)                                                                                \
    {                                                                                             \
        return run_test_list(TEST_LIST_EACH(scene_reset, scene_check, __VA_ARGS__), begin, NULL); \
    }

/* scene_fail_at() makes call number @call of the entry @name, or of all entries if that is NULL,
 * return @result. */
void scene_fail_at(const char *name, int call, int result);

/* A context for @device; fails the test if there is none. */
heed_context *scene_open(const char *device);

/* The problem of @spec, normalized; fails the test if the spec is wrong. */
heed_problem scene_problem(const char *spec);

/* Code that the fake accepts. */
heed_cubin scene_cubin(const char *key);

/* A device with one function, "work", which may use @smem bytes of shared memory. */
typedef struct scene {
    heed_context *context;
    heed_cuda *cuda;
    heed_cuda_function *function;
} scene;

scene scene_make(int64_t smem);
void scene_end(scene *s);

/* scene_start() launches between heed_cuda_enter() and heed_cuda_leave(). */
heed_status scene_start(const scene *s, heed_cuda_launch launch, void *stream);

/* Work that fails at call @bad_at with @failure; -1: never. */
typedef struct scene_job {
    const scene *scene;
    int bad_at;
    heed_status failure;
    int seen[8]; /* arguments of the launches that ran, in order */
    int count;
} scene_job;

/* A heed_work_fn for it: launches with its index as the argument. */
heed_status scene_do_job(void *data, int index, void *stream);

#endif /* HEED_TESTS_CUDA_SCENE_H */
