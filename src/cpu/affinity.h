/*
 * affinity.h - move a thread to another CPU
 */
#ifndef HEED_AFFINITY_H
#define HEED_AFFINITY_H

#include <sched.h>
#include <stdbool.h>

/* heed_affinity_leave() moves the calling thread to a CPU that it may run on and that is not in
 * @taken. Afterwards its affinity mask is as before. Returns false, with nothing changed, if there
 * is no such CPU or the system does not permit it. */
bool heed_affinity_leave(const cpu_set_t *taken);

#endif /* HEED_AFFINITY_H */
