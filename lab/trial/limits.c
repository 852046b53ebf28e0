/*
 * limits.c - what a trial may take
 */
#include "lab/trial/limits.h"

#define MIB ((size_t)1 << 20)

lab_limits lab_limits_fill(const lab_limits *limits)
{
    lab_limits full = { .unsafe = false };

    if (limits)
        full = *limits;
    if (!(full.compile_seconds > 0))
        full.compile_seconds = 30;
    if (!(full.run_seconds > 0))
        full.run_seconds = 10;
    if (full.tensor_bytes == 0)
        full.tensor_bytes = 256 * MIB;
    if (full.memory_bytes == 0)
        full.memory_bytes = 256 * MIB;
    if (full.stack_bytes == 0)
        full.stack_bytes = 8 * MIB;
    if (!full.device)
        full.device = "cuda";
    return full;
}

bool lab_limits_interrupted(const lab_limits *limits)
{
    return limits->interrupted && limits->interrupted();
}
