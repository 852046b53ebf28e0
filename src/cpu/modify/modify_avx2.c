/*
 * modify_avx2.c - programs of logits in AVX2
 */
#include "../simd_avx2.h"

#define MODIFIER heed_modifier_avx2
#include "modify_template.h"
