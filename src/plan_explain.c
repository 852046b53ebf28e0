/*
 * plan_explain.c - the planner's candidates and choice as text
 */
#include <string.h>

#include "later.h"
#include "plan.h"
#include "prefix.h"

heed_status heed_plan_candidate_sized(const heed_plan *plan, size_t index,
                                      heed_candidate *candidate, size_t size)
{
    if (!plan)
        return heed_fail(HEED_ERR_INVALID, "plan is NULL; make one with heed_plan_create()");
    if (!candidate)
        return heed_fail(HEED_ERR_INVALID, "candidate is NULL; it must point to a heed_candidate");
    if (index >= plan->candidate_count)
        return heed_fail(HEED_ERR_INVALID, "index is %zu; the plan has %zu candidates", index,
                         plan->candidate_count);
    const heed_considered *considered = &plan->candidates[index];
    const heed_candidate own = {
        .name = considered->name,
        .rejected = considered->rejected,
        .predicted = considered->predicted,
        .measured = considered->measured,
        .chosen = considered->chosen,
    };
    memset(candidate, 0, size);
    memcpy(candidate, &own, size < sizeof own ? size : sizeof own);
    return HEED_OK;
}

static void add_time(heed_text *text, const char *label, double seconds)
{
    if (seconds >= 0)
        heed_text_add(text, "  %s %.4g us", label, seconds * 1e6);
}

static void add_candidates(heed_text *text, const heed_plan *plan)
{
    for (size_t i = 0; i < plan->candidate_count; i++) {
        const heed_considered *candidate = &plan->candidates[i];
        heed_text_add(text, "%s %-40s", candidate->chosen ? "->" : "  ", candidate->name);
        add_time(text, "predicted", candidate->predicted);
        add_time(text, "measured", candidate->measured);
        const char *how = plan->from_wisdom ? "by wisdom" : plan->shipped ? "chosen" : "by name";
        if (candidate->rejected)
            heed_text_add(text, "  %s: %s", candidate->chosen ? how : "rejected",
                          candidate->rejected);
        heed_text_add(text, "\n");
    }
}

static void add_plan(heed_text *text, const heed_plan *plan)
{
    static const char *const efforts[] = { "estimate", "measure", "patient", "wisdom only" };
    char spec[HEED_SPEC_SIZE];
    char features[HEED_FEATURES_SIZE];
    const heed_machine *machine = &plan->context->machine;
    heed_machine_features(machine, features);
    heed_problem_print(heed_plan_problem(plan), spec, sizeof spec);
    heed_text_add(text, "%s on %s, %s", spec, machine->device, features);
    if (machine->backend == HEED_BACKEND_CPU)
        heed_text_add(text, ", %d thread%s", machine->threads, machine->threads == 1 ? "" : "s");
    heed_text_add(text, "\n");
    heed_text_add(text, "%s, by %s; workspace %zu bytes\n", plan->name,
                  plan->from_wisdom ? "wisdom" : efforts[plan->effort],
                  heed_plan_workspace_size(plan));
    if (plan->later)
        heed_later_explain(text, plan);
    add_candidates(text, plan);
}

/* For a problem with a prefix: the candidates for the remaining keys, and then everything for the
 * prefix. */
size_t heed_plan_explain(const heed_plan *plan, char *text, size_t size)
{
    heed_text out = { .data = text, .size = size };
    if (!plan)
        return heed_text_none(text, size);
    add_plan(&out, plan);
    if (plan->prefix) {
        heed_text_add(&out, "prefix: ");
        add_plan(&out, plan->prefix->plan);
    }
    return out.length;
}
