/*
 * on_gpu.h - the tests of test_on_gpu, and their helpers
 */
#ifndef ON_GPU_H
#define ON_GPU_H

#include "gpu.h"

/* Every feature that a kernel may treat separately. */
#define ON_GPU_SPECS 7
extern const char *const on_gpu_specs[ON_GPU_SPECS];

/* on_gpu_each_of() calls @body with every kernel of the device and every problem of @specs that it
 * supports; on_gpu_each() uses on_gpu_specs. */
typedef void on_gpu_body(heed_context *context, const heed_plan *plan);
void on_gpu_each_of(const char *const specs[], size_t count, on_gpu_body *body);
void on_gpu_each(on_gpu_body *body);

/* on_gpu_same() fails unless two outputs are equal; on_gpu_answer() unless that of @plan is the
 * CPU's result. */
void on_gpu_same(const gpu_scene *scene, const unsigned char *a, const unsigned char *b,
                 const char *what);
void on_gpu_answer(heed_context *context, const heed_plan *plan);

/* on_gpu_child() runs @test in a child process, and returns its exit status; 1 for a crash. */
#define ON_GPU_SKIPPED 77
int on_gpu_child(gpu_test_fn *test);

/* Results: from calls, from graphs, in streams and in threads. */
void on_gpu_known_answers(void);
void on_gpu_graphs(void);
void on_gpu_chains(void);
void on_gpu_two_streams(void);
void on_gpu_many_threads(void);

/* Errors: for bad input, and for a lost device. */
void on_gpu_bad_buffers(void);
void on_gpu_unaligned_pointers(void);
void on_gpu_too_large(void);
void on_gpu_inherited(void);
void on_gpu_no_such_device(void);
void on_gpu_another_device(void);
void on_gpu_lost_device(void);

/* Figures, none of which is asserted. */
void on_gpu_host_cost(void);
void on_gpu_plan_times(void);

#endif /* ON_GPU_H */
