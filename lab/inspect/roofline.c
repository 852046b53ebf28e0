/*
 * roofline.c - the least time that a device needs for a problem, and which of its units binds
 */
#include "roofline.h"

const char *lab_roof_name(lab_roof unit)
{
    static const char *const names[] = {
        [LAB_ROOF_MATRIX] = "matrix", [LAB_ROOF_EXP] = "exp",     [LAB_ROOF_FMA] = "fma",
        [LAB_ROOF_MEMORY] = "memory", [LAB_ROOF_CACHE] = "cache", [LAB_ROOF_LAUNCH] = "launch",
    };
    return names[unit];
}

static double seconds_of(double work, double rate)
{
    return rate > 0 ? work / rate : 0;
}

/* Pairs of a query and a key that it sees. */
static double visible_pairs(const heed_problem *problem)
{
    double width = (double)problem->dim_qk + (double)problem->dim_v;
    return heed_problem_flops(problem) / (2 * width);
}

/* The longest of the units but @without. */
static lab_roof longest(const lab_floor *floor, lab_roof without)
{
    lab_roof binds = LAB_ROOF_LAUNCH;
    for (int i = 0; i < LAB_ROOFS; i++)
        if (i != (int)without && floor->units[i] > floor->units[binds])
            binds = (lab_roof)i;
    return binds;
}

lab_floor lab_roofline_floor(const heed_problem *problem, const lab_ceilings *ceilings)
{
    double pairs = visible_pairs(problem), bytes = heed_problem_bytes(problem);
    bool fits = bytes <= ceilings->cache_bytes && ceilings->cache > 0;
    lab_floor floor = { .units = { [LAB_ROOF_MATRIX] = seconds_of(heed_problem_flops(problem),
                                                                  ceilings->matrix[problem->type]),
                                   [LAB_ROOF_EXP] = seconds_of(pairs, ceilings->exp),
                                   [LAB_ROOF_FMA] = seconds_of(pairs, ceilings->fma),
                                   [LAB_ROOF_MEMORY] = seconds_of(bytes, ceilings->memory),
                                   [LAB_ROOF_CACHE] = seconds_of(bytes, ceilings->cache),
                                   [LAB_ROOF_LAUNCH] = ceilings->launch } };
    floor.cold_binds = longest(&floor, LAB_ROOF_CACHE);
    floor.hot_binds = longest(&floor, fits ? LAB_ROOF_MEMORY : LAB_ROOF_CACHE);
    floor.cold = floor.units[floor.cold_binds];
    floor.hot = floor.units[floor.hot_binds];
    return floor;
}
