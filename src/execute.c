/*
 * execute.c - check the buffers of one execution, then run the plan's kernel
 */
#include "append.h"
#include "later.h"
#include "prefix.h"
#include "problem/operand.h"
#include "sized.h"

/* @why says why the address must not be NULL. */
static heed_status check_address(const char *name, const void *address, size_t element,
                                 const char *why)
{
    if (!address)
        return heed_fail(HEED_ERR_INVALID, "%s is NULL; %s", name, why);
    if ((uintptr_t)address % element)
        return heed_fail(HEED_ERR_INVALID, "%s is %p; it must be aligned to its element, %zu bytes",
                         name, address, element);
    return HEED_OK;
}

/* Refuses an output at the address of an input: the mistake of a caller that wants to save memory.
 * Whether they overlap otherwise is not checked. */
static heed_status check_apart(const heed_buffers *buffers)
{
    static const heed_role inputs[] = { HEED_ROLE_Q, HEED_ROLE_K, HEED_ROLE_V };
    static const heed_role outputs[] = { HEED_ROLE_O, HEED_ROLE_LSE };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++) {
            const void *address = heed_buffer(buffers, outputs[j]);
            if (address && address == heed_buffer(buffers, inputs[i]))
                return heed_fail(HEED_ERR_INVALID, "%s is %p, and so is %s; they must not overlap",
                                 heed_roles[outputs[j]].name, address, heed_roles[inputs[i]].name);
        }
    return HEED_OK;
}

static heed_status check_tensor(heed_role role, const void *address, size_t element)
{
    if (!address && heed_roles[role].optional)
        return HEED_OK;
    return check_address(heed_roles[role].name, address, element, "it must point to the tensor");
}

static heed_status check_operands(const heed_problem *problem, const heed_buffers *buffers)
{
    static const char why[] = "the plan's problem has it";
    heed_status status = HEED_OK;
    for (int i = 0; i < HEED_OPERANDS && status == HEED_OK; i++) {
        const heed_operand *operand = heed_problem_operand(problem, i);
        if (operand->type != HEED_DATA_NONE)
            status = check_address(heed_operand_rows[i].name, heed_operand_buffer(buffers, i),
                                   heed_data_size(operand->type), why);
    }
    for (int i = 0; i < HEED_ARRAYS_MAX && status == HEED_OK; i++)
        if (problem->arrays[i].name[0])
            status = check_address(problem->arrays[i].name, buffers->arrays[i],
                                   heed_data_size(problem->arrays[i].type), why);
    return status;
}

static heed_status check_workspace(const heed_plan *plan, const heed_buffers *buffers)
{
    const size_t size = heed_append_workspace(plan);
    if (size == 0)
        return HEED_OK;
    if (!buffers->workspace)
        return heed_fail(HEED_ERR_INVALID, "workspace is NULL; the plan needs %zu bytes", size);
    if ((uintptr_t)buffers->workspace % HEED_ALIGNMENT)
        return heed_fail(HEED_ERR_INVALID, "workspace is %p; it must be aligned to %d bytes",
                         buffers->workspace, HEED_ALIGNMENT);
    if (buffers->workspace_size < size)
        return heed_fail(HEED_ERR_INVALID, "workspace_size is %zu; the plan needs %zu bytes",
                         buffers->workspace_size, size);
    return HEED_OK;
}

static heed_status attend(const heed_plan *plan, const heed_buffers *buffers)
{
    return plan->prefix ? heed_prefix_run(plan, buffers) : heed_later_execute(plan, buffers);
}

/* Runs the steps of a plan; most plans have one. */
static heed_status execute_steps(const heed_plan *plan, const heed_buffers *buffers)
{
    heed_buffers rest;
    if (!plan->append)
        return attend(plan, buffers);
    heed_status status = heed_append_run(plan, buffers, &rest);
    return status == HEED_OK ? attend(plan, &rest) : status;
}

static heed_status execute_watched(const heed_plan *plan, const heed_buffers *buffers,
                                   const heed_trace *trace)
{
    heed_trace_begin(trace, HEED_TRACE_EXECUTE, heed_later_serving(plan)->name);
    heed_status status = execute_steps(plan, buffers);
    heed_trace_end(trace);
    return status;
}

/* Copies @buffers, with V set to the address of K, which contains it. */
static heed_status take_shared(heed_buffers *own, const heed_buffers *buffers)
{
    if (own != buffers)
        *own = *buffers;
    if (own->v && own->v != own->k)
        return heed_fail(HEED_ERR_INVALID,
                         "v is %p; the plan's problem shares it with K: it must be NULL or k, %p",
                         own->v, own->k);
    own->v = own->k;
    return HEED_OK;
}

heed_status heed_execute(const heed_plan *plan, const heed_buffers *buffers)
{
    heed_buffers own;
    heed_status status = HEED_OK;
    if (!plan)
        return heed_fail(HEED_ERR_INVALID, "plan is NULL; make one with heed_plan_create()");
    if (!buffers)
        return heed_fail(HEED_ERR_INVALID, "buffers is NULL; it must point to heed_buffers");
    if (buffers->size != sizeof own) {
        status = heed_sized_read(&heed_sized_buffers, &own, buffers);
        buffers = &own;
    }
    if (status != HEED_OK)
        return status;

    if (plan->problem.shared) {
        status = take_shared(&own, buffers);
        buffers = &own;
    }
    if (status != HEED_OK)
        return status;

    const heed_problem *problem = heed_plan_problem(plan);
    size_t element = heed_type_size(problem->type);
    for (int i = 0; i < HEED_ROLES && status == HEED_OK; i++)
        if (heed_problem_has(problem, i))
            status = check_tensor((heed_role)i, heed_buffer(buffers, (heed_role)i),
                                  i < HEED_ALL_TENSORS ? element : sizeof(float));
    if (status == HEED_OK)
        status = check_apart(buffers);
    if (status == HEED_OK && plan->operands)
        status = check_operands(problem, buffers);
    if (status == HEED_OK)
        status = check_workspace(plan, buffers);
    if (status == HEED_OK && plan->operands)
        status = heed_check_execution(plan, buffers);
    if (status != HEED_OK)
        return status;

    const heed_trace *trace = plan->context->trace;
    return trace ? execute_watched(plan, buffers, trace) : execute_steps(plan, buffers);
}
