/*
 * ablate_cases.c - which ablations a kernel can be built with, and their plans
 */
#include <stdlib.h>
#include <string.h>

#include "ablate.h"
#include "cuda/kernels/ablate.cuh"
#include "src/cpu/ablated.h"
#include "src/cuda/facts.h"
#include "src/cuda/sources.h"

/* Of a delay of all of it, what HEED_DELAY is. */
#define DELAY_WHOLE 65536

/* ---- Plans ---- */

/* All that 16 bytes at a time need: without it another kernel would take over. */
static bool is_aligned(const heed_problem *p)
{
    const heed_strides *const strides[] = { &p->q, &p->k, &p->v, &p->o };
    bool aligned = true;
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++)
        aligned = aligned && (strides[i]->batch | strides[i]->seq | strides[i]->head) % 8 == 0;
    return aligned;
}

static heed_status find_facts(const ablate_run *run, const ablate_subject *subject,
                              const char *kernel, heed_cuda_facts *facts)
{
    int arch = heed_device_arch(run->bench.context);
    heed_status status = heed_cuda_facts_find(kernel, &subject->problem, arch, facts);
    if (status == HEED_OK && facts->aligned && !is_aligned(&subject->problem))
        status = heed_fail(HEED_ERR_UNSUPPORTED,
                           "%s: rows must begin at multiples of 16 bytes, or another kernel "
                           "takes over",
                           facts->name);
    return status;
}

static heed_status plan_cuda(const ablate_run *run, const ablate_subject *subject,
                             const char *kernel, int number, double delay, heed_plan **plan)
{
    heed_cuda_facts facts;
    heed_status status = find_facts(run, subject, kernel, &facts);
    if (status != HEED_OK)
        return status;
    if (number != ABLATE_NONE) {
        const heed_define more[] = { { "HEED_ABLATE", number },
                                     { "HEED_DELAY", (long long)(delay * DELAY_WHOLE) } };
        for (int i = 0; i < 2 && facts.define_count < HEED_DEFINES_MAX; i++)
            facts.defines[facts.define_count++] = more[i];
    }
    const heed_build build = heed_cuda_facts_build(&facts, heed_device_arch(run->bench.context));
    heed_cubin cubin;
    status = heed_jit_build(&build, &cubin);
    if (status == HEED_OK)
        status = heed_plan_create_foreign(plan, run->bench.context, &subject->problem, &facts,
                                          &cubin);
    heed_cubin_free(&cubin);
    return status;
}

static heed_status plan_build(const ablate_run *run, const ablate_subject *subject,
                              const char *kernel, int number, double delay, heed_plan **plan)
{
    *plan = NULL;
    if (!heed_device_is_host(run->bench.context))
        return plan_cuda(run, subject, kernel, number, delay, plan);
    return heed_plan_create_ablated(plan, run->bench.context, &subject->problem, kernel, number,
                                    delay);
}

heed_status ablate_plan_intact(const ablate_run *run, const ablate_subject *subject,
                               heed_plan **plan)
{
    return plan_build(run, subject, subject->kernel, ABLATE_NONE, 0, plan);
}

heed_status ablate_plan_delayed(const ablate_run *run, const ablate_subject *subject, double share,
                                heed_plan **plan)
{
    return plan_build(run, subject, subject->kernel, ABLATE_DELAY, share, plan);
}

heed_status ablate_plan(const ablate_run *run, const ablate_subject *subject,
                        const ablate_case *what, heed_plan **plan)
{
    if (strcmp(what->it->name, LAB_ABLATE_ONE_THREAD) == 0)
        return heed_plan_create_named(plan, run->single, &subject->problem, what->kernel);
    bool config = strcmp(what->kernel, subject->kernel) != 0;
    return plan_build(run, subject, what->kernel, config ? ABLATE_NONE : what->it->number, 0, plan);
}

/* ---- Which there are ---- */

/* The first of the configs that are the ablation, and that can do the problem. */
static bool find_config(const ablate_run *run, const ablate_subject *subject, ablate_case *what)
{
    char changed[LAB_ABLATE_NAME_SIZE];
    for (size_t i = 0; lab_ablate_config(subject->kernel, what->it->name, i, changed); i++) {
        heed_plan *plan;
        if (!*changed || heed_plan_create_named(&plan, run->bench.context, &subject->problem,
                                                changed) != HEED_OK)
            continue;
        heed_plan_destroy(plan);
        snprintf(what->kernel, sizeof what->kernel, "%s", changed);
        return true;
    }
    return false;
}

/* Does the source of the kernel declare it? */
static bool is_declared(const ablate_run *run, const ablate_subject *subject, const char *name)
{
    heed_cuda_facts facts;
    heed_source source;
    return find_facts(run, subject, subject->kernel, &facts) == HEED_OK &&
           heed_source_find(facts.source, &source) && lab_ablate_declared(source.text, name);
}

/* Config before code: where a kernel has a knob for it, that is what it is. */
static bool find_case(const ablate_run *run, const ablate_subject *subject, ablate_case *what)
{
    const lab_ablation *it = what->it;
    snprintf(what->kernel, sizeof what->kernel, "%s", subject->kernel);
    if (strcmp(it->name, LAB_ABLATE_ONE_THREAD) == 0)
        return run->single != NULL;
    if (find_config(run, subject, what))
        return true;
    if (it->number == ABLATE_NONE)
        return false;
    return heed_device_is_host(run->bench.context) ? heed_cpu_ablated(subject->kernel, it->number)
                                                   : is_declared(run, subject, it->name);
}

/* Is @name in @list? */
static bool is_wanted(const char *list, const char *name)
{
    size_t length = strlen(name);
    if (!list)
        return true;
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && memcmp(at, name, length) == 0)
            return true;
    return false;
}

heed_status ablate_find_cases(const ablate_run *run, ablate_subject *subject)
{
    size_t most = 0, used = 0;
    while (lab_ablation_at(most))
        most++;
    subject->cases = calloc(most, sizeof *subject->cases);
    if (!subject->cases)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for %zu ablations", most);
    for (size_t i = 0; i < most; i++) {
        ablate_case *next = &subject->cases[subject->count];
        *next = (ablate_case){ .it = lab_ablation_at(i), .error = -1 };
        if (!is_wanted(run->only, next->it->name))
            continue;
        if (find_case(run, subject, next))
            subject->count++;
        else if (used < sizeof subject->without)
            used += (size_t)snprintf(subject->without + used, sizeof subject->without - used,
                                     "%s%s", used ? ", " : "", next->it->name);
    }
    return HEED_OK;
}
