/*
 * power.h - the smallest difference that would be found
 *
 * A gate for 2 % is worthless on a machine where 2 % cannot be told from noise. The detectable
 * difference is measured: the stretches of a comparison of a kernel with itself are drawn anew,
 * many times, as if the whole comparison had been repeated; each time a difference is added to all
 * of them, and the looks are taken as they would be. The smallest difference that gets the right
 * verdict often enough, as something faster and as something slower, is the one that can be
 * detected.
 */
#ifndef LAB_POWER_H
#define LAB_POWER_H

#include "compare.h"

#define LAB_POWER 0.95

/* No difference beyond this is looked for: a factor of 4. */
#define LAB_POWER_WORST 3.0

/* lab_power_detectable() writes the smallest difference, as a share, that a comparison by @rules
 * with as many pairs as @series would find with probability @power (0: LAB_POWER) to
 * *@difference; INFINITY if even LAB_POWER_WORST would be missed, as with too few pairs. @series
 * must be complete, and its sides the same. Returns as lab_compare() does. */
heed_status lab_power_detectable(const lab_series *series, const lab_rules *rules, double power,
                                 uint64_t seed, double *difference);

#endif /* LAB_POWER_H */
