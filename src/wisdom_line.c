/*
 * wisdom_line.c - choices that were measured elsewhere
 */
#include "wisdom_line.h"

#include <math.h>
#include <stdio.h>

#include "internal.h"
#include "plan.h"
#include "problem.h"

const char *heed_wisdom_build(void)
{
    return heed_kernel_build();
}

heed_status heed_wisdom_learn(heed_context *context, const heed_problem *problem,
                              const char *kernel, double seconds)
{
    const char *config_text, *why = NULL;
    heed_problem normal;
    heed_config config;
    if (context && !kernel)
        return heed_fail(HEED_ERR_INVALID, "kernel is NULL");
    heed_status status = heed_context_check(context);
    if (status == HEED_OK)
        status = heed_problem_read_normal(&normal, problem);
    if (status != HEED_OK)
        return status;
    const heed_kernel *known = heed_kernel_find(kernel, &config_text);
    if (!config_text)
        config_text = "";
    if (!known || !heed_config_parse(known->algorithm, config_text, &config))
        return heed_fail(HEED_ERR_INVALID, "kernel is \"%s\", which this library does not have",
                         kernel);
    if (!(seconds > 0) || isinf(seconds))
        return heed_fail(HEED_ERR_INVALID, "seconds is %g; it must be a number above 0", seconds);
    why = heed_plan_reject(known, &normal, &context->machine);
    if (why || !heed_plan_legal(known, &normal, &context->machine, &config, &why))
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s %s", kernel, why);
    heed_choice choice = { .seconds = seconds, .effort = HEED_PATIENT };
    snprintf(choice.name, sizeof choice.name, "%s", kernel);
    return heed_wisdom_add(context->wisdom, &normal, &choice);
}
