/*
 * roofline.c - the least time that a device needs for a problem, and which of its units binds
 */
#include "roofline.h"

const char *lab_unit_name(lab_unit unit)
{
    static const char *const names[] = {
        [LAB_UNIT_MATRIX] = "matrix", [LAB_UNIT_EXP] = "exp",     [LAB_UNIT_FMA] = "fma",
        [LAB_UNIT_MEMORY] = "memory", [LAB_UNIT_CACHE] = "cache", [LAB_UNIT_LAUNCH] = "launch",
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
static lab_unit longest(const lab_floor *floor, lab_unit without)
{
    lab_unit binds = LAB_UNIT_LAUNCH;
    for (int i = 0; i < LAB_UNITS; i++)
        if (i != (int)without && floor->units[i] > floor->units[binds])
            binds = (lab_unit)i;
    return binds;
}

lab_floor lab_roofline_floor(const heed_problem *problem, const lab_ceilings *ceilings)
{
    double pairs = visible_pairs(problem), bytes = heed_problem_bytes(problem);
    bool fits = bytes <= ceilings->cache_bytes && ceilings->cache > 0;
    lab_floor floor = { .units = { [LAB_UNIT_MATRIX] = seconds_of(heed_problem_flops(problem),
                                                                  ceilings->matrix[problem->type]),
                                   [LAB_UNIT_EXP] = seconds_of(pairs, ceilings->exp),
                                   [LAB_UNIT_FMA] = seconds_of(pairs, ceilings->fma),
                                   [LAB_UNIT_MEMORY] = seconds_of(bytes, ceilings->memory),
                                   [LAB_UNIT_CACHE] = seconds_of(bytes, ceilings->cache),
                                   [LAB_UNIT_LAUNCH] = ceilings->launch } };
    floor.cold_binds = longest(&floor, LAB_UNIT_CACHE);
    floor.hot_binds = longest(&floor, fits ? LAB_UNIT_MEMORY : LAB_UNIT_CACHE);
    floor.cold = floor.units[floor.cold_binds];
    floor.hot = floor.units[floor.hot_binds];
    return floor;
}
