/*
 * random_spec.h - random specs of small problems, for every kernel and every word
 */
#ifndef RANDOM_SPEC_H
#define RANDOM_SPEC_H

#include <stdint.h>

#include "heed.h"

/* random_spec() writes a valid spec to @text, whose problem has at most @work multiplications of
 * elements. The same @seed gives the same spec. */
void random_spec(uint64_t seed, int64_t work, char text[HEED_SPEC_SIZE]);

#endif /* RANDOM_SPEC_H */
