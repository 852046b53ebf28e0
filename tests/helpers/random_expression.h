/*
 * random_expression.h - random valid expressions
 */
#ifndef RANDOM_EXPRESSION_H
#define RANDOM_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* The arrays that random expressions read, as words of a spec. */
#define RANDOM_ARRAYS "array=a:f32:5 array=b:i32:2x3 array=c:bytes:7"

/* random_expression() writes one to @text: for a logit, which may read s, or for visibility. The
 * same @seed gives the same expression. */
void random_expression(uint64_t seed, bool visible, char text[HEED_EXPRESSION_SIZE]);

#endif /* RANDOM_EXPRESSION_H */
