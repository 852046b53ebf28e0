/*
 * affinity.c - move a thread to another CPU
 *
 * There is no call that moves a thread, but one that takes away the CPU it is on. Its mask, which
 * may be the user's choice (taskset, a cpuset), is narrowed for a moment, and restored unless it
 * was changed meanwhile.
 */
#include "affinity.h"

bool heed_affinity_leave(const cpu_set_t *taken)
{
    cpu_set_t allowed, rest, now;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    CPU_AND(&rest, &allowed, taken);
    CPU_XOR(&rest, &rest, &allowed);
    if (CPU_COUNT(&rest) == 0 || sched_setaffinity(0, sizeof rest, &rest) != 0)
        return false;
    if (sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &rest))
        sched_setaffinity(0, sizeof allowed, &allowed);
    return true;
}
