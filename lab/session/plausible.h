/*
 * plausible.h - checks that the time of a trial is possible
 */
#ifndef LAB_PLAUSIBLE_H
#define LAB_PLAUSIBLE_H

#include "inspect/roofline.h"
#include "record/record.h"
#include "src/cuda/gpu.h"

/* lab_ceilings_of_gpu() returns the ceilings from the data sheet of @gpu. */
lab_ceilings lab_ceilings_of_gpu(const heed_gpu *gpu);

/* Measurements of this machine, cached across trials. lab_time_judge_create() returns NULL if there
 * is no memory; lab_time_judge_destroy() accepts NULL. */
typedef struct lab_time_judge lab_time_judge;
lab_time_judge *lab_time_judge_create(void);
void lab_time_judge_destroy(void *judge);

/* lab_plausible() is the lab_record_judging of a lab_time_judge: false, with the figures in @why,
 * if the time of @trial is below the lower bound of its device. A CPU with this machine's name is
 * measured, once for each type and number of threads, and again if the result seems too low; a GPU
 * in machines.def is bounded by its data sheet, others by four times the best of them; other CPUs
 * by lab_roofline_cpu(). */
bool lab_plausible(void *judge, const lab_record_trial *trial, lab_error *why);

/* lab_plausible_here() does so for a time of one of heed's kernels on the device of @context. */
bool lab_plausible_here(lab_time_judge *judge, const heed_context *context,
                        const heed_problem *problem, bool cold, double seconds, lab_error *why);

#endif /* LAB_PLAUSIBLE_H */
