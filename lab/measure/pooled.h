/*
 * pooled.h - the ratio of two sides, from all the duels that they had
 *
 * Many duels of the same sides tell by how much they differ far better than one does: what was
 * planted, or whether the method has a bias. Their stretches are put together in groups, in the
 * order they were taken in, and the groups are the units that paired.h makes an interval of.
 */
#ifndef LAB_POOLED_H
#define LAB_POOLED_H

#include "compare.h"

/* lab_pooled_ratio() writes time of B over time of A, by all pairs of the @count @series, to
 * *@ratio, with an interval that holds it with @confidence: from 0 to infinity with fewer than
 * LAB_COMPARE_PAIRS_MIN stretches that are independent, as far as can be seen. Allocates while it
 * works. Returns HEED_OK; HEED_ERR_INVALID without a stretch; HEED_ERR_NO_MEMORY. */
heed_status lab_pooled_ratio(const lab_series *series, size_t count, double confidence,
                             lab_interval *ratio);

#endif /* LAB_POOLED_H */
