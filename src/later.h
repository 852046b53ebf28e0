/*
 * later.h - plans whose kernel is compiled in the background while another one runs
 *
 * Such a plan has its kernel, config and workspace from the start, and its code once a thread has
 * compiled it. Until then, and permanently if that fails, executions run a stand-in: a copy of the
 * plan with the best config whose code was available, or if there was none, with the config that
 * takes addresses which are not aligned: the plan needs that too, and it compiles in less time.
 * Neither is freed before the plan.
 */
#ifndef HEED_LATER_H
#define HEED_LATER_H

#include <pthread.h>
#include <stdatomic.h>

#include "plan.h"

typedef enum heed_later_state {
    HEED_LATER_MAKING,
    HEED_LATER_READY, /* the plan itself can be executed */
    HEED_LATER_FAILED
} heed_later_state;

struct heed_later {
    heed_plan standin;
    atomic_int state; /* a heed_later_state; does not change any more after HEED_LATER_MAKING */
    bool given_up;    /* the plan is being destroyed; guarded by the turns' lock */
    pthread_t thread;
    heed_status status; /* these two are for HEED_LATER_FAILED */
    char message[HEED_MESSAGE_SIZE];
};

/* heed_turns_create() makes the object that the plans of a context share: they compile one at a
 * time, so the next one finds shared code in the cache. Returns NULL, after heed_fail(), if out of
 * memory. */
heed_turns *heed_turns_create(void);
void heed_turns_destroy(heed_turns *turns);

/* heed_later_choose() is like heed_plan_choose(), but if the context compiles in the background, it
 * only starts preparing @candidate, once there is a stand-in. */
heed_choose_fn heed_later_choose;

/* heed_later_end() waits for the background work of @plan to end, and frees plan->later. */
void heed_later_end(heed_plan *plan);

/* heed_later_explain() writes which kernel is in use, and why. */
void heed_later_explain(heed_text *text, const heed_plan *plan);

/* The plan that an execution of @plan runs now: itself or its stand-in. */
static inline const heed_plan *heed_later_serving(const heed_plan *plan)
{
    const heed_later *later = plan->later;
    return !later || atomic_load_explicit(&later->state, memory_order_acquire) == HEED_LATER_READY
               ? plan
               : &later->standin;
}

/* heed_later_execute() runs the kernel in use. */
static inline heed_status heed_later_execute(const heed_plan *plan, const heed_buffers *buffers)
{
    const heed_plan *serving = heed_later_serving(plan);
    return serving->kernel->algorithm->plans->execute(serving, buffers);
}

#endif /* HEED_LATER_H */
