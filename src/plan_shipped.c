/*
 * plan_shipped.c - the best of the configs whose code is there, where there is no compiler
 */
#include <math.h>
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

/* Makes the plan run the first of @all that can be made. */
static heed_status choose_first(heed_plan *plan, const choice *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        heed_considered *candidate = all[i].candidate;
        const heed_considered before = *candidate;
        heed_plan_configure(candidate, &plan->problem, &plan->context->machine, &all[i].config);
        heed_status status = heed_plan_choose(plan, candidate);
        if (status == HEED_OK) {
            candidate->rejected = "the best config did not come along, and there is no NVRTC";
            plan->shipped = true;
        }
        if (status != HEED_ERR_DEVICE)
            return status;
        *candidate = before;
    }
    return HEED_ERR_DEVICE;
}

heed_status heed_plan_choose_shipped(heed_plan *plan, heed_status failure)
{
    char message[HEED_MESSAGE_SIZE];
    if (failure != HEED_ERR_DEVICE || plan->context->machine.backend != HEED_BACKEND_CUDA)
        return failure;
    strncpy(message, heed_message(), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    size_t count = heed_jit_lacks_compiler() ? list_choices(plan, NULL) : 0;
    choice *all = count ? calloc(count, sizeof *all) : NULL;
    heed_status status = failure;
    if (all) {
        list_choices(plan, all);
        qsort(all, count, sizeof *all, by_cost);
        status = choose_first(plan, all, count);
        free(all);
    }
    if (status == failure)
        heed_note("%s", message);
    return status;
}
