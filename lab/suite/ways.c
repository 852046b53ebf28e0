/*
 * ways.c - precisions for products of float32 tensors
 */
#include "lab/suite/ways.h"

static const lab_way ways[] = {
    { "f32", "in float32", NULL, HEED_F32, HEED_PRODUCTS_FULL },
    { "f16", "in 16 bits (float16), to which their inputs are rounded, and O too", "torch.float16",
      HEED_F16, HEED_PRODUCTS_FULL },
    { "bf16", "in 16 bits (bfloat16), to which their inputs are rounded, and O too",
      "torch.bfloat16", HEED_BF16, HEED_PRODUCTS_FULL },
    { "tf32", "of operands rounded to TF32, as far as kernels make use of it", NULL, HEED_F32,
      HEED_PRODUCTS_TF32 },
    { "bf16x3", "of sums of two bfloat16, as far as kernels make use of it", NULL, HEED_F32,
      HEED_PRODUCTS_BF16X3 },
};

const lab_way *lab_way_at(size_t index)
{
    return index < sizeof ways / sizeof *ways ? &ways[index] : NULL;
}

void lab_way_take(const lab_way *way, heed_problem *problem)
{
    if (problem->type != HEED_F32)
        return;
    problem->type = way->type;
    problem->products = way->products;
}
