/*
 * later.c - plans whose kernel is compiled in the background while another one runs
 */
#include "later.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/backend.h"
#include "cuda/driver/device.h"
#include "cuda/jit.h"
#include "message.h"
#include "prefix.h"

struct heed_turns {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signals a change of turn, of state, or of given_up */
    bool taken;
};

heed_turns *heed_turns_create(void)
{
    heed_turns *made = calloc(1, sizeof *made);
    if (!made) {
        heed_fail(HEED_ERR_NO_MEMORY, "no memory for a context");
        return NULL;
    }
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    return made;
}

void heed_turns_destroy(heed_turns *turns)
{
    if (!turns)
        return;
    pthread_cond_destroy(&turns->changed);
    pthread_mutex_destroy(&turns->lock);
    free(turns);
}

/* ---- The thread ---- */

/* Waits for a turn; returns false if the plan is given up first. */
static bool take_turn(heed_turns *turns, const heed_later *later)
{
    pthread_mutex_lock(&turns->lock);
    while (turns->taken && !later->given_up)
        pthread_cond_wait(&turns->changed, &turns->lock);
    bool mine = !later->given_up;
    turns->taken |= mine;
    pthread_mutex_unlock(&turns->lock);
    return mine;
}

/* Ends a turn. The thread writes the state last: executions that see it also see the code. */
static void end_turn(heed_turns *turns, heed_later *later, heed_status status)
{
    pthread_mutex_lock(&turns->lock);
    later->status = status;
    if (status != HEED_OK)
        snprintf(later->message, sizeof later->message, "%s", heed_message());
    atomic_store_explicit(&later->state, status == HEED_OK ? HEED_LATER_READY : HEED_LATER_FAILED,
                          memory_order_release);
    turns->taken = false;
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
}

/* Code is loaded here, even while other threads capture a stream. */
static void *make(void *data)
{
    heed_plan *plan = data;
    heed_turns *turns = plan->context->turns;
    if (!take_turn(turns, plan->later))
        return NULL;
    heed_status status = heed_cuda_ignore_captures(plan->context->cuda);
    if (status == HEED_OK)
        status = plan->kernel->algorithm->plans->prepare(plan);
    end_turn(turns, plan->later, status);
    return NULL;
}

/* ---- Plans ---- */

/* True if executions of @plan may switch from one kernel to another, and there is a compiler. The
 * result bits of an invariant problem must not change. */
static bool may_change(const heed_plan *plan)
{
    return plan->context->turns && !plan->problem.invariant && !heed_jit_lacks_compiler();
}

static heed_status choose_if_ready(heed_plan *plan, heed_considered *candidate)
{
    plan->ready = true;
    heed_status status = heed_plan_choose(plan, candidate);
    plan->ready = false;
    return status;
}

/* Compiles the part of @candidate that takes any addresses, for @standin. */
static heed_status compile_fallback(heed_plan *standin, const heed_considered *candidate)
{
    const heed_kernel *kernel = candidate->kernel;
    heed_config fallback;
    if (!heed_cuda_fallback(&standin->problem, &standin->context->machine, &kernel,
                            &candidate->config, &fallback))
        return HEED_ERR_DEVICE;
    return heed_plan_set(standin, kernel, &fallback);
}

/* Makes a copy of @plan that runs the best config that is ready, or else the fallback of
 * @candidate. */
static heed_status make_standin(heed_plan *standin, const heed_plan *plan,
                                const heed_considered *candidate)
{
    heed_considered *ready = NULL;
    *standin = *plan;
    standin->kernel = NULL;
    standin->code = NULL;
    heed_status status = heed_plan_set_ready(standin, &ready);
    if (status == HEED_ERR_DEVICE)
        status = compile_fallback(standin, candidate);
    if (status == HEED_OK)
        heed_config_print(standin->kernel, &standin->config, standin->name, sizeof standin->name);
    return status;
}

/* Makes @plan run a stand-in, and starts a thread that prepares @candidate. */
static heed_status begin(heed_plan *plan, heed_considered *candidate)
{
    heed_plan_unset(plan);
    heed_later *later = calloc(1, sizeof *later);
    if (!later)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan");
    heed_status status = make_standin(&later->standin, plan, candidate);
    if (status != HEED_OK) {
        free(later);
        return status;
    }
    atomic_init(&later->state, HEED_LATER_MAKING);
    heed_plan_aim(plan, candidate->kernel, &candidate->config);
    if (plan->workspace_size < later->standin.workspace_size)
        plan->workspace_size = later->standin.workspace_size;
    memcpy(plan->name, candidate->name, sizeof plan->name);
    plan->later = later;
    if (pthread_create(&later->thread, NULL, make, plan) != 0) {
        heed_plan_unset(&later->standin);
        free(later);
        plan->later = NULL;
        return HEED_ERR_SYSTEM;
    }
    candidate->chosen = true;
    return HEED_OK;
}

heed_status heed_later_choose(heed_plan *plan, heed_considered *candidate)
{
    char before[HEED_MESSAGE_SIZE];
    heed_status status = HEED_ERR_UNSUPPORTED;
    snprintf(before, sizeof before, "%s", heed_message());
    if (may_change(plan))
        status = choose_if_ready(plan, candidate);
    if (status == HEED_ERR_DEVICE)
        status = begin(plan, candidate);
    heed_note("%s", before);
    return status == HEED_OK ? HEED_OK : heed_plan_choose(plan, candidate);
}

void heed_later_end(heed_plan *plan)
{
    heed_later *later = plan->later;
    heed_turns *turns = plan->context ? plan->context->turns : NULL;
    if (!later)
        return;
    if (plan->context->process == getpid()) {
        pthread_mutex_lock(&turns->lock);
        later->given_up = true;
        pthread_cond_broadcast(&turns->changed);
        pthread_mutex_unlock(&turns->lock);
        pthread_join(later->thread, NULL);
    } else if (atomic_load_explicit(&later->state, memory_order_acquire) == HEED_LATER_MAKING)
        plan->code = NULL; /* unfinished, by a thread that this process does not have */
    heed_plan_unset(&later->standin);
    free(later);
    plan->later = NULL;
}

static heed_status wait_for(const heed_plan *plan)
{
    heed_later *later = plan->later;
    heed_turns *turns = plan->context->turns;
    if (!later)
        return HEED_OK;
    pthread_mutex_lock(&turns->lock);
    while (atomic_load_explicit(&later->state, memory_order_relaxed) == HEED_LATER_MAKING)
        pthread_cond_wait(&turns->changed, &turns->lock);
    pthread_mutex_unlock(&turns->lock);
    return later->status == HEED_OK ? HEED_OK : heed_fail(later->status, "%s", later->message);
}

heed_status heed_plan_wait(const heed_plan *plan)
{
    if (!plan)
        return heed_fail(HEED_ERR_INVALID, "plan is NULL; make one with heed_plan_create()");
    heed_status status = heed_context_check(plan->context);
    if (status == HEED_OK && plan->prefix)
        status = wait_for(plan->prefix->plan);
    return status == HEED_OK ? wait_for(plan) : status;
}

void heed_later_explain(heed_text *text, const heed_plan *plan)
{
    const heed_later *later = plan->later;
    switch (atomic_load_explicit(&later->state, memory_order_acquire)) {
    case HEED_LATER_MAKING:
        heed_text_add(text, "it is being compiled; %s runs meanwhile\n", later->standin.name);
        break;
    case HEED_LATER_FAILED:
        heed_text_add(text, "it could not be made: %s; %s runs instead\n", later->message,
                      later->standin.name);
        break;
    default:
        heed_text_add(text, "it is in use; %s ran while it was compiled\n", later->standin.name);
    }
}
