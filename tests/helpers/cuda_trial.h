/*
 * cuda_trial.h - plans of fwd_16bit_sm80_mma with the fake driver, and the launches of executions
 */
#ifndef HEED_TESTS_CUDA_TRIAL_H
#define HEED_TESTS_CUDA_TRIAL_H

#include "cuda/backend.h"
#include "cuda_scene.h"
#include "problems.h"

#define PLAIN "b2 h4 s1024 d64 f16"
#define DECODING "b1 h8/2 s1/8192 d128 f16" /* few rows, so that the keys are split */

/* The launches of an execution, as recorded by the fake: trial_note() is its hook. */
#define TRIAL_LAUNCHES 8
extern fake_launch trial_launches[TRIAL_LAUNCHES];
extern int trial_launch_count;
void trial_note(void *data, const fake_launch *launch);

/* A plan, and tensors of the maximum size that 16-bit ones need here. */
typedef struct trial {
    heed_context *context;
    heed_plan *plan;
    heed_buffers buffers;
} trial;

trial trial_make(const char *spec);

/* The tensors of one, and trial_note() as the fake's hook. */
heed_buffers trial_tensors(heed_context *context, size_t workspace);
void trial_end(trial *t);

/* @size bytes of device memory, plus some by which tensors may be shifted. */
void *trial_room(heed_context *context, size_t size);

/* Executes successfully; returns the number of launches. */
int trial_execute(const trial *t, const heed_buffers *buffers);

/* Likewise, with the trial's tensors, which the driver must not be asked about. */
int trial_execute_trusted(const trial *t);

heed_cuda_args trial_args(const fake_launch *launch);

#endif /* HEED_TESTS_CUDA_TRIAL_H */
