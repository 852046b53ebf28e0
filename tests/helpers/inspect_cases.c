/*
 * inspect_cases.c - kernels with one fault each, and the expected findings
 */
#include "inspect_cases.h"

#include <stddef.h>

#define NOTE LAB_SEVERITY_NOTE
#define WARNING LAB_SEVERITY_WARNING
#define FAULT LAB_SEVERITY_FAULT

const inspect_case inspect_cases[] = {
    /* no fault */
    { "honest", NULL, 90, 256, 0, 1024, false, NULL, NOTE },
    { "honest_mma", NULL, 80, 128, 0, 1024, false, NULL, NOTE },
    { "honest_wgmma", NULL, 90, 160, 0, 1024, false, NULL, NOTE },

    /* five faults of kernels that were once reported as fast */
    { "serial_batch", NULL, 90, 256, 0, 8, false, "grid-too-small", WARNING },
    { "shared_away", NULL, 90, 256, 0, 1024, false, "shared-memory-unused", FAULT },
    { "shared_large", NULL, 90, 1024, 204800, 1024, false, "smem-over-48k", WARNING },
    { "local_array", NULL, 90, 256, 0, 1024, false, "local-memory-in-loop", FAULT },
    { "banks", "WIDTH=32", 90, 256, 0, 1024, false, "bank-conflicts", FAULT },

    /* and the same kernels fixed */
    { "serial_batch", NULL, 90, 256, 0, 1024, false, NULL, NOTE },
    { "shared_large", NULL, 90, 1024, 204800, 1024, true, NULL, NOTE },
    { "shared_large", NULL, 90, 1024, 16384, 1024, false, NULL, NOTE },
    { "banks", "WIDTH=33", 90, 256, 0, 1024, false, NULL, NOTE },

    /* all other faults */
    { "shared_large", NULL, 89, 1024, 204800, 1024, true, "smem-over-99k", FAULT },
    { "shared_large", NULL, 80, 1024, 204800, 1024, true, "smem-over-163k", FAULT },
    { "shared_large", NULL, 90, 1024, 240000, 1024, true, "smem-over-227k", FAULT },
    { "spills", "BOUND=1024", 90, 1024, 0, 1024, false, "spills", FAULT },
    { "spills", NULL, 90, 1024, 0, 1024, false, "block-too-big", FAULT },
    { "local_after", NULL, 90, 256, 0, 1024, false, "local-memory", WARNING },
    { "shared_asked", NULL, 90, 256, 8192, 1024, false, "shared-memory-unused", FAULT },
    { "shared_unread", NULL, 90, 256, 4096, 1024, false, "shared-memory-unread", FAULT },
    { "serial_all", NULL, 90, 256, 0, 0, false, "grid-unused", WARNING },
    { "scalar_half", NULL, 90, 256, 0, 1024, false, "tensor-cores-unused", WARNING },
    { "honest_mma", NULL, 90, 128, 0, 1024, false, "wrong-tensor-instruction", WARNING },
    { "narrow", NULL, 90, 256, 0, 1024, false, "narrow-global-loads", WARNING },
    { "rows_apart", NULL, 90, 128, 0, 1024, false, "lanes-rows-apart", WARNING },
    { "one_thread", NULL, 90, 128, 0, 1024, false, "one-thread-loop", WARNING },
    { "few_warps", NULL, 90, 64, 0, 1024, false, "low-occupancy", NOTE },
    { "few_blocks", NULL, 90, 64, 0, 1024, false, "smem-limits-occupancy", NOTE },
    { "staged_mma", NULL, 80, 128, 0, 1024, false, "no-async-copies", NOTE },

    { NULL, NULL, 0, 0, 0, 0, false, NULL, NOTE },
};
