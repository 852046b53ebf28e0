/*
 * plan.c - choose a kernel and a config for a problem on a machine
 *
 * Every kernel of the table is considered. Those that apply are ranked by their algorithm's cost
 * model; wisdom overrules the model, and measuring overrules both. Nothing here depends on how a
 * kernel works.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "append.h"
#include "cuda/gpu.h"
#include "device.h"
#include "later.h"
#include "plan.h"
#include "prefix.h"
#include "problem/operand.h"
#include "problem/program.h"

const char *heed_plan_reject(const heed_kernel *kernel, const heed_problem *problem,
                             const heed_machine *machine)
{
    if (kernel->pass != problem->pass)
        return "computes another pass";
    if (kernel->backend != machine->backend)
        return "is for another kind of device";
    if (kernel->features & ~machine->features)
        return "needs CPU features that are absent or masked";
    if (machine->gpu && kernel->arch > machine->gpu->arch)
        return "needs a newer device";
    if (!(kernel->types & 1u << problem->type))
        return "does not take this element type";
    if (heed_problem_has_operands(problem) && !kernel->algorithm->modifies)
        return "does not change logits";
    return NULL;
}

bool heed_plan_legal(const heed_kernel *kernel, const heed_problem *problem,
                     const heed_machine *machine, const heed_config *config, const char **why)
{
    heed_config_test *legal = kernel->algorithm->legal;
    return !legal || legal(kernel, problem, machine, config, why);
}

bool heed_plan_worthwhile(const heed_kernel *kernel, const heed_problem *problem,
                          const heed_machine *machine, const heed_config *config, const char **why)
{
    heed_config_test *worthwhile = kernel->algorithm->worthwhile;
    heed_problem room;
    return !worthwhile ||
           worthwhile(kernel, heed_problem_planned(problem, &room), machine, config, why);
}

bool heed_plan_considers(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config, const char **why)
{
    return heed_plan_legal(kernel, problem, machine, config, why) &&
           heed_plan_worthwhile(kernel, problem, machine, config, why);
}

double heed_plan_cost(const heed_kernel *kernel, const heed_problem *problem,
                      const heed_machine *machine, const heed_config *config)
{
    const heed_problem typical = heed_problem_typical(problem);
    return kernel->algorithm->cost(kernel, &typical, machine, config);
}

double heed_plan_rank(const heed_kernel *kernel, const heed_problem *problem,
                      const heed_machine *machine, const heed_config *config)
{
    heed_problem room;
    return heed_plan_cost(kernel, heed_problem_planned(problem, &room), machine, config);
}

heed_config heed_plan_best_config(const heed_kernel *kernel, const heed_problem *problem,
                                  const heed_machine *machine, double *rank, const char **why)
{
    heed_config best = { { 0 } };
    *rank = INFINITY;
    for (int i = 0; i < heed_config_count(kernel->algorithm); i++) {
        heed_config config;
        heed_config_at(kernel->algorithm, i, &config);
        if (!heed_plan_considers(kernel, problem, machine, &config, why))
            continue;
        double own = heed_plan_rank(kernel, problem, machine, &config);
        if (own < *rank) {
            *rank = own;
            best = config;
        }
    }
    return best;
}

void heed_plan_configure(heed_considered *candidate, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config)
{
    const heed_kernel *kernel = candidate->kernel;
    candidate->config = *config;
    candidate->rank = heed_plan_rank(kernel, problem, machine, config);
    candidate->predicted = heed_plan_cost(kernel, problem, machine, config);
    heed_config_print(kernel, config, candidate->name, sizeof candidate->name);
}

static void consider(heed_considered *candidate, const heed_kernel *kernel,
                     const heed_problem *problem, const heed_machine *machine)
{
    *candidate = (heed_considered){ .kernel = kernel, .predicted = -1, .measured = -1 };
    const char *why = NULL;
    snprintf(candidate->name, sizeof candidate->name, "%s", kernel->name);
    candidate->rejected = heed_plan_reject(kernel, problem, machine);
    if (candidate->rejected)
        return;
    double rank;
    const heed_config config = heed_plan_best_config(kernel, problem, machine, &rank, &why);
    if (isinf(rank))
        candidate->rejected = why;
    else
        heed_plan_configure(candidate, problem, machine, &config);
}

static heed_considered *cheapest(const heed_plan *plan)
{
    heed_considered *best = NULL;
    for (size_t i = 0; i < plan->candidate_count; i++) {
        heed_considered *candidate = &plan->candidates[i];
        if (!candidate->rejected && (!best || candidate->rank < best->rank))
            best = candidate;
    }
    return best;
}

void heed_plan_aim(heed_plan *plan, const heed_kernel *kernel, const heed_config *config)
{
    heed_plan_unset(plan);
    plan->kernel = kernel;
    plan->config = *config;
    plan->workspace_size = kernel->algorithm->plans->workspace(kernel, &plan->problem,
                                                               &plan->context->machine, config);
}

heed_status heed_plan_set(heed_plan *plan, const heed_kernel *kernel, const heed_config *config)
{
    heed_plan_aim(plan, kernel, config);
    const heed_plan_functions *plans = kernel->algorithm->plans;
    return plans->prepare ? plans->prepare(plan) : HEED_OK;
}

void heed_plan_unset(heed_plan *plan)
{
    if (plan->kernel && plan->kernel->algorithm->plans->release)
        plan->kernel->algorithm->plans->release(plan);
    plan->kernel = NULL;
    plan->code = NULL;
}

heed_status heed_plan_choose(heed_plan *plan, heed_considered *candidate)
{
    heed_status status = heed_plan_set(plan, candidate->kernel, &candidate->config);
    memcpy(plan->name, candidate->name, sizeof plan->name);
    candidate->chosen = status == HEED_OK;
    return status;
}

heed_status heed_plan_add_program(heed_plan *plan)
{
    plan->operands = heed_problem_has_operands(&plan->problem);
    if (!heed_problem_modifies(&plan->problem))
        return HEED_OK;
    plan->program = malloc(sizeof *plan->program);
    if (!plan->program)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan");
    heed_program_make(plan->program, &plan->problem);
    return HEED_OK;
}

/* Makes a plan for @problem with every kernel considered and none chosen. */
static heed_status prepare(heed_plan **plan, heed_context *context, const heed_problem *problem)
{
    if (!plan)
        return heed_fail(HEED_ERR_INVALID, "plan is NULL; it must point to a heed_plan *");
    *plan = NULL;
    heed_problem normal;
    heed_status status = heed_context_check(context);
    if (status == HEED_OK)
        status = heed_problem_read_normal(&normal, problem);
    if (status != HEED_OK)
        return status;

    heed_plan *made = calloc(1, sizeof *made);
    size_t count = heed_kernel_count();
    if (made)
        made->candidates = calloc(count, sizeof *made->candidates);
    if (!made || !made->candidates) {
        heed_plan_destroy(made);
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan");
    }
    made->context = context;
    status = heed_append_create(made, &normal);
    if (status == HEED_OK)
        status = heed_prefix_create(made);
    if (status == HEED_OK)
        status = heed_plan_add_program(made);
    if (status != HEED_OK) {
        heed_plan_destroy(made);
        return status;
    }
    made->candidate_count = count;
    for (size_t i = 0; i < count; i++)
        consider(&made->candidates[i], heed_kernel_at(i), &made->problem, &context->machine);
    *plan = made;
    return HEED_OK;
}

heed_status heed_plan_considers_named(const heed_context *context, const heed_problem *problem,
                                      const char *name)
{
    const char *text = NULL, *why = NULL;
    const heed_kernel *kernel = heed_kernel_find(name, &text);
    heed_problem normal;
    heed_config config;
    heed_status status = heed_problem_read_normal(&normal, problem);
    if (status == HEED_OK) {
        normal = heed_append_rest(&normal);
        normal = heed_prefix_rest(&normal);
    }
    if (status != HEED_OK || !kernel || !text)
        return status; /* a kernel name without a config means the best one */
    if (heed_config_parse(kernel->algorithm, text, &config) &&
        heed_plan_legal(kernel, &normal, &context->machine, &config, &why) &&
        !heed_plan_worthwhile(kernel, &normal, &context->machine, &config, &why))
        return heed_fail(HEED_ERR_UNSUPPORTED, "config \"%s\" of %s: %s", text, kernel->name, why);
    return HEED_OK;
}

/* Sets @candidate to the config that @text names, or fails with the reason why it cannot. */
static heed_status apply_config(heed_considered *candidate, const heed_plan *plan, const char *text)
{
    const heed_kernel *kernel = candidate->kernel;
    const heed_machine *machine = &plan->context->machine;
    heed_config config;
    const char *why = "";
    if (!heed_config_parse(kernel->algorithm, text, &config))
        return heed_fail(HEED_ERR_INVALID, "%s has no config \"%.40s\"; its default is %s",
                         kernel->name, text, candidate->name);
    if (!heed_plan_legal(kernel, &plan->problem, machine, &config, &why))
        return heed_fail(HEED_ERR_UNSUPPORTED, "config \"%s\" of %s: %s", text, kernel->name, why);
    bool worthwhile = heed_plan_worthwhile(kernel, &plan->problem, machine, &config, &why);
    candidate->rejected = worthwhile ? NULL : why;
    heed_plan_configure(candidate, &plan->problem, machine, &config);
    return HEED_OK;
}

/* Chooses, with @choose, the kernel that @name names, and its config if it has one. */
static heed_status choose_named(heed_plan *plan, const char *name, heed_choose_fn *choose)
{
    const char *config = NULL;
    const heed_kernel *kernel = heed_kernel_find(name, &config);
    if (!kernel)
        return heed_fail(HEED_ERR_INVALID, "kernel is \"%.80s\"; no kernel has that name", name);
    heed_considered *candidate = plan->candidates;
    while (candidate->kernel != kernel)
        candidate++;
    const char *why = candidate->rejected;
    if (config) /* any legal one will do */
        why = heed_plan_reject(kernel, &plan->problem, &plan->context->machine);
    if (why)
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s: %s", kernel->name, why);
    const heed_considered before = *candidate;
    heed_status status = config ? apply_config(candidate, plan, config) : HEED_OK;
    if (status == HEED_OK)
        status = choose(plan, candidate);
    if (status != HEED_OK)
        *candidate = before;
    return status;
}

/* Takes the choice from wisdom, if there is one that still works with this library and machine. If
 * not, that is not an error, and the caller's message stays. */
static bool choose_wisdom(heed_plan *plan, heed_effort effort)
{
    heed_choice choice;
    char before[HEED_MESSAGE_SIZE];
    if (!heed_wisdom_lookup(plan->context->wisdom, &plan->problem, effort, &choice))
        return false;
    snprintf(before, sizeof before, "%s", heed_message());
    if (choose_named(plan, choice.name, heed_later_choose) != HEED_OK) {
        heed_note("%s", before);
        return false;
    }
    for (size_t i = 0; i < plan->candidate_count; i++)
        if (plan->candidates[i].chosen)
            plan->candidates[i].measured = choice.seconds;
    plan->from_wisdom = true;
    return true;
}

/* Fails with the reason of the first kernel in the table that is for this device: it is the most
 * general one. */
static heed_status fail_all(const heed_plan *plan)
{
    const heed_considered *first = plan->candidates;
    const heed_considered *end = first + plan->candidate_count;
    while (first + 1 < end && first->kernel->backend != plan->context->machine.backend)
        first++;
    return heed_fail(HEED_ERR_UNSUPPORTED, "no kernel can run this problem on this device; %s: %s",
                     first->kernel->name, first->rejected);
}

static heed_status choose_by_effort(heed_plan *plan, heed_effort effort)
{
    if (choose_wisdom(plan, effort))
        return HEED_OK;
    if (effort == HEED_WISDOM_ONLY) {
        char spec[HEED_SPEC_SIZE];
        heed_problem_print(&plan->problem, spec, sizeof spec);
        return heed_fail(HEED_ERR_NO_WISDOM, "no wisdom for \"%s\" on this machine", spec);
    }
    heed_considered *best = cheapest(plan);
    if (!best)
        return fail_all(plan);
    if (effort == HEED_ESTIMATE)
        return heed_plan_choose_shipped(plan, heed_later_choose(plan, best));
    heed_status status = heed_plan_measure(plan, effort, &best);
    if (status == HEED_OK)
        status = heed_plan_choose(plan, best);
    if (status != HEED_OK)
        return status;
    heed_choice choice = { .seconds = best->measured, .effort = effort };
    memcpy(choice.name, plan->name, sizeof choice.name);
    return heed_wisdom_add(plan->context->wisdom, &plan->problem, &choice);
}

/* Makes a plan with the kernel @name, or if that is NULL with the best one by @effort. */
static heed_status create(heed_plan **plan, heed_context *context, const heed_problem *problem,
                          heed_effort effort, const char *name)
{
    heed_status status = prepare(plan, context, problem);
    if (status != HEED_OK)
        return status;
    (*plan)->effort = effort;
    heed_trace_begin_plan(context->trace, problem);
    status = name ? choose_named(*plan, name, heed_plan_choose) : choose_by_effort(*plan, effort);
    if (status == HEED_OK)
        status = heed_prefix_plan(*plan, effort);
    heed_trace_end(context->trace);
    if (status != HEED_OK) {
        heed_plan_destroy(*plan);
        *plan = NULL;
    }
    return status;
}

heed_status heed_plan_create(heed_plan **plan, heed_context *context, const heed_problem *problem,
                             heed_effort effort)
{
    if (plan)
        *plan = NULL;
    if ((unsigned)effort > HEED_WISDOM_ONLY)
        return heed_fail(HEED_ERR_INVALID, "effort is %d; it must be 0 to %d", (int)effort,
                         (int)HEED_WISDOM_ONLY);
    return create(plan, context, problem, effort, NULL);
}

heed_status heed_plan_create_named(heed_plan **plan, heed_context *context,
                                   const heed_problem *problem, const char *kernel)
{
    if (plan)
        *plan = NULL;
    if (!kernel)
        return heed_fail(HEED_ERR_INVALID, "kernel is NULL; it must name a kernel");
    return create(plan, context, problem, HEED_ESTIMATE, kernel);
}

void heed_plan_destroy(heed_plan *plan)
{
    if (!plan)
        return;
    heed_later_end(plan);
    heed_plan_unset(plan);
    heed_prefix_destroy(plan);
    heed_append_destroy(plan);
    free(plan->candidates);
    free(plan->program);
    free(plan);
}

size_t heed_plan_workspace_size(const heed_plan *plan)
{
    return plan ? heed_append_workspace(plan) : 0;
}

const char *heed_plan_name(const heed_plan *plan)
{
    return plan ? plan->name : "";
}

const heed_problem *heed_plan_problem(const heed_plan *plan)
{
    if (plan && plan->append)
        return &plan->append->problem;
    if (plan && plan->prefix)
        return &plan->prefix->problem;
    return plan ? &plan->problem : NULL;
}

int heed_plan_deterministic(const heed_plan *plan)
{
    const heed_plan *prefix = plan && plan->prefix ? plan->prefix->plan : NULL;
    if (!plan || plan->later || (prefix && prefix->later))
        return 0; /* two kernels may round differently */
    return 1;     /* tasks and merges do not depend on which thread runs them */
}
