/*
 * modify_avx512.c - programs of logits in AVX-512
 */
#include "../simd_avx512.h"

#define MODIFIER heed_modifier_avx512
#include "modify_template.h"
