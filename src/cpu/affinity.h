/*
 * affinity.h - a thread that goes to another CPU
 */
#ifndef HEED_AFFINITY_H
#define HEED_AFFINITY_H

#include <sched.h>
#include <stdbool.h>

/* heed_affinity_leave() moves the calling thread to one of the CPUs that it may run on and that are
 * not in @taken, and lets it run on all that it might before from then on. Returns false, and has
 * changed nothing, if there is no such CPU or the system does not permit it. */
bool heed_affinity_leave(const cpu_set_t *taken);

#endif /* HEED_AFFINITY_H */
