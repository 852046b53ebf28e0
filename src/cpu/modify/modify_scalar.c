/*
 * modify_scalar.c - programs of logits in portable C
 */
#include "../simd_any.h"

#define MODIFIER heed_modifier_scalar
#include "modify_template.h"
