/*
 * board_claims.h - does a row of a heed.bench/1 file say of itself what follows from it?
 */
#ifndef CLI_BOARD_CLAIMS_H
#define CLI_BOARD_CLAIMS_H

#include <jansson.h>

#include "record/record.h"

/* board_claims_check() computes again what @row of @file says beside the figures that @trial was
 * filled with: operations, rates, shares, the least and the mean of its samples, intervals of its
 * pairs of samples, the time cold or hot, whether it may be ok, and when it was. HEED_ERR_INVALID
 * names the field, its value and what it must be. */
heed_status board_claims_check(const json_t *file, const json_t *row, const lab_record_trial *trial,
                               lab_error *error);

#endif /* CLI_BOARD_CLAIMS_H */
