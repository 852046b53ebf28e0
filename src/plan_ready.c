/*
 * plan_ready.c - the best config whose code is available: shipped with the library, or in the cache
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/jit.h"
#include "message.h"
#include "plan.h"

/* A config of a candidate that planning would consider. */
typedef struct choice {
    heed_considered *candidate;
    heed_config config;
    double rank;
} choice;

static int by_cost(const void *a, const void *b)
{
    const choice *one = a, *other = b;
    return (one->rank > other->rank) - (one->rank < other->rank);
}

/* Adds the configs of @candidate to @all, which may be NULL; returns how many. */
static size_t add_choices(heed_considered *candidate, const heed_plan *plan, choice *all)
{
    const heed_kernel *kernel = candidate->kernel;
    const heed_machine *machine = &plan->context->machine;
    const char *why;
    size_t count = 0;
    for (int i = 0; !candidate->rejected && i < heed_config_count(kernel->algorithm); i++) {
        choice it = { .candidate = candidate };
        heed_config_at(kernel->algorithm, i, &it.config);
        if (!heed_plan_considers(kernel, &plan->problem, machine, &it.config, &why))
            continue;
        it.rank = heed_plan_rank(kernel, &plan->problem, machine, &it.config);
        if (all)
            all[count] = it;
        count++;
    }
    return count;
}

static size_t list_choices(const heed_plan *plan, choice *all)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->candidate_count; i++)
        count += add_choices(&plan->candidates[i], plan, all ? all + count : NULL);
    return count;
}

/* Makes the plan run the first of @all whose code is available. */
static heed_status set_first(heed_plan *plan, const choice *all, size_t count,
                             heed_considered **candidate)
{
    heed_status status = HEED_ERR_DEVICE;
    plan->ready = true;
    for (size_t i = 0; i < count && status == HEED_ERR_DEVICE; i++) {
        *candidate = all[i].candidate;
        status = heed_plan_set(plan, all[i].candidate->kernel, &all[i].config);
    }
    plan->ready = false;
    if (status != HEED_OK)
        heed_plan_unset(plan);
    return status;
}

heed_status heed_plan_set_ready(heed_plan *plan, heed_considered **candidate)
{
    size_t count = list_choices(plan, NULL);
    choice *all = count ? calloc(count, sizeof *all) : NULL;
    if (!all)
        return count ? heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan") : HEED_ERR_DEVICE;
    list_choices(plan, all);
    qsort(all, count, sizeof *all, by_cost);
    heed_status status = set_first(plan, all, count, candidate);
    free(all);
    return status;
}

heed_status heed_plan_choose_shipped(heed_plan *plan, heed_status failure)
{
    char message[HEED_MESSAGE_SIZE];
    heed_considered *candidate = NULL;
    if (failure != HEED_ERR_DEVICE || plan->context->machine.backend != HEED_BACKEND_CUDA)
        return failure;
    snprintf(message, sizeof message, "%s", heed_message());
    heed_status status = failure;
    if (heed_jit_lacks_compiler())
        status = heed_plan_set_ready(plan, &candidate);
    if (status == failure)
        heed_note("%s", message);
    if (status != HEED_OK)
        return status;
    const heed_config config = plan->config;
    heed_plan_configure(candidate, &plan->problem, &plan->context->machine, &config);
    memcpy(plan->name, candidate->name, sizeof plan->name);
    candidate->chosen = true;
    candidate->rejected = "the best config is not precompiled, and there is no NVRTC";
    plan->shipped = true;
    return HEED_OK;
}
