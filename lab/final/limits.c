/*
 * limits.c - lower bounds for the time of a problem on a device, and occupancy
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "final.h"
#include "lab/session/plausible.h"
#include "lab/trial/launch.h"

#define WARP 32

/* Ceilings of a CPU are for a number of threads. */
static bool read_measured(lab_ceilings *ceilings, const char *device, const char *features,
                          int threads)
{
    char path[LAB_CEILINGS_PATH], words[LAB_CEILINGS_TEXT];
    lab_error error;
    bool cuda = strncmp(features, "sm_", 3) == 0;
    if (cuda)
        snprintf(words, sizeof words, "%s", features);
    else
        snprintf(words, sizeof words, "%.60s, %d thread%s", features, threads, lab_plural(threads));
    return lab_ceilings_path(path, device, words, &error) == HEED_OK && access(path, F_OK) == 0 &&
           lab_ceilings_read(ceilings, path, &error) == HEED_OK &&
           strcmp(ceilings->device, device) == 0 && strcmp(ceilings->features, words) == 0;
}

/* Finds the ceilings of a device by its name, features and threads on the board: those measured and
 * stored on this machine, else those of the data sheet. Returns their origin as text; NULL: not
 * known. */
static const char *find_ceilings(lab_ceilings *ceilings, const char *device, const char *features,
                                 int threads)
{
    heed_gpu gpu;
    if (features && read_measured(ceilings, device, features, threads))
        return "measured";
    *ceilings = (lab_ceilings){ .launch = 0 };
    if (!heed_gpu_find(&gpu, device))
        return NULL;
    *ceilings = lab_ceilings_of_gpu(&gpu);
    return "data sheet";
}

bool lab_final_limit_of(lab_final_limit *limit, const lab_final_place *place, const char *spec)
{
    heed_problem problem;
    lab_ceilings ceilings;
    *limit = (lab_final_limit){ .from = find_ceilings(&ceilings, place->device, place->features,
                                                      place->threads) };
    if (!limit->from || heed_problem_parse(&problem, spec) != HEED_OK)
        return false;
    const lab_work work = lab_roofline_work(&problem);
    const lab_floor floor = lab_roofline_floor(&problem, &ceilings);
    limit->seconds = place->cold ? floor.cold : floor.hot;
    limit->binds = lab_roof_name(place->cold ? floor.cold_binds : floor.hot_binds);
    limit->flops = work.flops;
    limit->bytes = work.bytes;
    limit->matrix = lab_roofline_matrix(&problem, &ceilings);
    limit->memory = ceilings.memory;
    return limit->seconds > 0;
}

int64_t lab_final_occupancy(const char *device, const char *launch, int64_t registers,
                            int64_t shared, int64_t *most)
{
    heed_gpu gpu;
    lab_launched launched;
    const char *bad;
    *most = 0;
    if (!launch || registers <= 0 || registers > 255 || shared < 0 ||
        !heed_gpu_find(&gpu, device) || !lab_launch_parse(&launched, launch, &bad) ||
        launched.launch.threads < 1 || launched.launch.threads > 1024)
        return 0;
    int warps = (launched.launch.threads + WARP - 1) / WARP;
    *most = gpu.threads / WARP;
    return (int64_t)warps *
           heed_gpu_resident(&gpu, launched.launch.threads, (int)registers, shared, NULL);
}
