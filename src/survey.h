/*
 * survey.h - which parts of CUDA this machine has, for reports on missing ones
 *
 * Unlike this, a context needs all of them and fails at the first missing one.
 */
#ifndef HEED_SURVEY_H
#define HEED_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include "device.h"

/* A part: its version and location, or why it cannot be used. */
typedef struct heed_survey_part {
    bool found;
    int version; /* of CUDA, 1000 * major + 10 * minor, for a driver or compiler; else 0 */
    char text[512];
} heed_survey_part;

typedef struct heed_survey_gpu {
    char device[16]; /* as heed_options.device takes it: "cuda:0" */
    char name[64];
    int arch; /* compute capability, 10 * major + minor */
    int multiprocessors;
    size_t memory;
    bool old;                /* too old for heed */
    const char *mode;        /* the compute mode: "shared", "exclusive" or "prohibited" */
    bool divided;            /* partitioned into instances (MIG) */
    heed_device_state state; /* other_processes counts all that compute on it */
} heed_survey_gpu;

#define HEED_SURVEY_GPUS_MAX 16

typedef struct heed_survey {
    heed_survey_part driver;
    heed_survey_part nvrtc;
    heed_survey_part
        shipped; /* kernels shipped with the library; the version is their compiler's */
    heed_survey_part nvml;
    int gpu_count;
    heed_survey_gpu gpus[HEED_SURVEY_GPUS_MAX];
} heed_survey;

/* heed_survey_take() examines all parts without creating a context. It cannot fail. */
void heed_survey_take(heed_survey *survey);

#endif /* HEED_SURVEY_H */
