/*
 * power.h - the smallest detectable difference of a comparison
 *
 * A gate for 2 % is worthless on a machine where 2 % is within noise. The detectable difference is
 * measured: the stretches of a comparison of a kernel with itself are resampled many times, to
 * simulate repeats of the whole comparison; each time a difference is added to all of them, and the
 * looks are taken as usual. The smallest difference that gets the right verdict often enough, both
 * as a gain and as a loss, is detectable.
 */
#ifndef LAB_POWER_H
#define LAB_POWER_H

#include "compare.h"

#define LAB_POWER 0.95

/* Maximum difference considered: a factor of 4. */
#define LAB_POWER_WORST 3.0

/* lab_power_detectable() writes to *@difference the smallest difference, as a share, that a
 * comparison by @rules with the number of pairs of @series would find with probability
 * LAB_POWER; INFINITY if even LAB_POWER_WORST would be missed, as with too few pairs. @series must
 * be complete, and its sides equal. Returns as lab_compare() does. */
heed_status lab_power_detectable(const lab_series *series, const lab_rules *rules, uint64_t seed,
                                 double *difference);

#endif /* LAB_POWER_H */
