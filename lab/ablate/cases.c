/*
 * cases.c - which ablations a kernel can be built with, and their plans
 */
#include <stdlib.h>
#include <string.h>

#include "lab/ablate/ablate.h"
#include "lab/base/array.h"
#include "lab/base/pool.h"
#include "src/ablation.h"
#include "src/cpu/ablated.h"
#include "src/cuda/facts.h"
#include "src/cuda/sources.h"
#include "src/device.h"
#include "src/message.h"

/* HEED_DELAY for a delay of 100 percent. */
#define DELAY_WHOLE 65536

#define WARP 32

/* ---- Builds, compiled on all cores while the device measures others ---- */

typedef struct pool_build {
    lab_job job;
    heed_cuda_facts facts;
    heed_status status;
    char message[512];
    heed_cubin cubin;
} pool_build;

struct lab_ablate_pool {
    lab_pool jobs;
    int arch;
    pool_build **builds; /* separate allocations: addresses stay valid as the array grows */
    size_t count;
};

/* The same kernel in the same config, with the same macros. */
static bool is_same(const heed_cuda_facts *a, const heed_cuda_facts *b)
{
    bool same = strcmp(a->name, b->name) == 0 && a->define_count == b->define_count;
    for (int i = 0; same && i < a->define_count; i++)
        same = strcmp(a->defines[i].name, b->defines[i].name) == 0 &&
               a->defines[i].value == b->defines[i].value;
    return same;
}

/* The build of @facts, added if missing; NULL if there is no memory. The lock is held. */
static pool_build *find_build(lab_ablate_pool *pool, const heed_cuda_facts *facts)
{
    for (size_t i = 0; i < pool->count; i++)
        if (is_same(&pool->builds[i]->facts, facts))
            return pool->builds[i];
    pool_build *build = calloc(1, sizeof *build);
    if (!build || !lab_grow(&pool->builds, pool->count, sizeof *pool->builds)) {
        free(build);
        return NULL;
    }
    build->facts = *facts;
    pool->builds[pool->count++] = build;
    return build;
}

static void compile_build(void *data, lab_job *job)
{
    const lab_ablate_pool *pool = data;
    pool_build *build = (pool_build *)job;
    const heed_build what = heed_cuda_facts_build(&build->facts, pool->arch);
    build->status = heed_jit_build(&what, &build->cubin);
    if (build->status != HEED_OK)
        snprintf(build->message, sizeof build->message, "%s", heed_message());
}

static lab_job *next_untouched(void *data)
{
    const lab_ablate_pool *pool = data;
    for (size_t i = 0; i < pool->count; i++)
        if (pool->builds[i]->job.state == LAB_JOB_UNTOUCHED)
            return &pool->builds[i]->job;
    return NULL;
}

lab_ablate_pool *lab_ablate_pool_start(heed_context *context, int threads)
{
    lab_ablate_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->arch = heed_device_arch(context);
    pool->jobs = (lab_pool){ .owner = pool, .next = next_untouched, .work = compile_build };
    lab_pool_start(&pool->jobs, threads);
    return pool;
}

void lab_ablate_pool_want(lab_ablate_pool *pool, const heed_cuda_facts *facts)
{
    lab_pool_lock(&pool->jobs);
    find_build(pool, facts); /* a lack of memory is reported when the build is taken */
    lab_pool_unlock(&pool->jobs);
}

heed_status lab_ablate_pool_get(lab_ablate_pool *pool, const heed_cuda_facts *facts,
                                const heed_cubin **cubin)
{
    lab_pool_lock(&pool->jobs);
    pool_build *build = find_build(pool, facts);
    lab_pool_unlock(&pool->jobs);
    if (!build)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for another build of %s", facts->name);
    lab_pool_finish(&pool->jobs, &build->job);
    *cubin = &build->cubin;
    return build->status == HEED_OK ? HEED_OK : heed_fail(build->status, "%s", build->message);
}

void lab_ablate_pool_stop(lab_ablate_pool *pool)
{
    if (!pool)
        return;
    lab_pool_stop(&pool->jobs);
    for (size_t i = 0; i < pool->count; i++) {
        heed_cubin_free(&pool->builds[i]->cubin);
        free(pool->builds[i]);
    }
    free(pool->builds);
    free(pool);
}

/* ---- Plans ---- */

/* True if 16-byte accesses are possible. Otherwise another kernel would be planned. */
static bool is_aligned(const heed_problem *p)
{
    const heed_strides *const strides[] = { &p->q, &p->k, &p->v, &p->o };
    bool aligned = true;
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++)
        aligned = aligned && (strides[i]->batch | strides[i]->seq | strides[i]->head) % 8 == 0;
    return aligned;
}

static heed_status find_facts(const lab_ablate_run *run, const lab_ablate_subject *subject,
                              const char *kernel, heed_cuda_facts *facts)
{
    int arch = heed_device_arch(run->bench.context);
    heed_status status = heed_cuda_facts_find(kernel, &subject->problem, arch, facts);
    if (status == HEED_OK && facts->launch.aligned && !is_aligned(&subject->problem))
        status = heed_fail(HEED_ERR_UNSUPPORTED,
                           "%s: rows must begin at multiples of 16 bytes, or another kernel "
                           "takes over",
                           facts->name);
    return status;
}

/* Tiles of attn_wgmma.cu are stored in panels of 64 columns, except in these builds. */
static int columns_of(int number)
{
    return number == ABLATE_STRIDED ? 16 : number == ABLATE_UNSWIZZLED ? 8 : 0;
}

/* Blocks of one warp: HEED_W, which is also the number of rows in the kernel that declares it. */
static void make_tiny(heed_cuda_facts *facts)
{
    for (int i = 0; i < facts->define_count; i++)
        if (strcmp(facts->defines[i].name, "HEED_W") == 0)
            facts->defines[i].value = 1;
    facts->launch.rows = 1;
    facts->launch.threads = WARP;
}

/* The kernel of the build with ablation @number. */
static heed_status make_facts(const lab_ablate_run *run, const lab_ablate_subject *subject,
                              const char *kernel, int number, double delay, heed_cuda_facts *facts)
{
    heed_status status = find_facts(run, subject, kernel, facts);
    if (status != HEED_OK || number == ABLATE_NONE)
        return status;
    const heed_define more[] = { { "HEED_ABLATE", number },
                                 { "HEED_DELAY", (long long)(delay * DELAY_WHOLE) } };
    for (int i = 0; i < 2 && facts->define_count < HEED_DEFINES_MAX; i++)
        facts->defines[facts->define_count++] = more[i];
    if (number == ABLATE_TINY_BLOCKS)
        make_tiny(facts);
    if (facts->launch.mapped)
        facts->launch.map_columns = columns_of(number);
    return HEED_OK;
}

static heed_status plan_cuda(const lab_ablate_run *run, const lab_ablate_subject *subject,
                             const char *kernel, int number, double delay, heed_plan **plan)
{
    heed_cuda_facts facts;
    heed_cubin own = { .data = NULL };
    const heed_cubin *cubin = &own;
    heed_status status = make_facts(run, subject, kernel, number, delay, &facts);
    if (status != HEED_OK)
        return status;
    const heed_build build = heed_cuda_facts_build(&facts, heed_device_arch(run->bench.context));
    status = run->pool ? lab_ablate_pool_get(run->pool, &facts, &cubin)
                       : heed_jit_build(&build, &own);
    if (status == HEED_OK)
        status = heed_plan_create_foreign(plan, run->bench.context, &subject->problem, facts.name,
                                          &facts.launch, cubin);
    heed_cubin_free(&own);
    return status;
}

static heed_status plan_build(const lab_ablate_run *run, const lab_ablate_subject *subject,
                              const char *kernel, int number, double delay, heed_plan **plan)
{
    *plan = NULL;
    if (!heed_device_is_host(run->bench.context))
        return plan_cuda(run, subject, kernel, number, delay, plan);
    return heed_plan_create_ablated(plan, run->bench.context, &subject->problem, kernel, number,
                                    delay);
}

heed_status lab_ablate_plan_delayed(const lab_ablate_run *run, const lab_ablate_subject *subject,
                                    double share, heed_plan **plan)
{
    return plan_build(run, subject, subject->kernel, ABLATE_DELAY, share, plan);
}

heed_status lab_ablate_plan(const lab_ablate_run *run, const lab_ablate_subject *subject,
                            const lab_ablate_case *what, heed_plan **plan)
{
    if (!what)
        return plan_build(run, subject, subject->kernel, ABLATE_NONE, 0, plan);
    if (strcmp(what->it->name, LAB_ABLATE_ONE_THREAD) == 0)
        return heed_plan_create_named(plan, run->single, &subject->problem, what->kernel);
    bool config = strcmp(what->kernel, subject->kernel) != 0;
    return plan_build(run, subject, what->kernel, config ? ABLATE_NONE : what->it->number, 0, plan);
}

/* ---- The code they need ---- */

static void want(const lab_ablate_run *run, const lab_ablate_subject *subject, const char *kernel,
                 int number, double delay)
{
    heed_cuda_facts facts;
    if (make_facts(run, subject, kernel, number, delay, &facts) == HEED_OK)
        lab_ablate_pool_want(run->pool, &facts); /* else planning reports the reason */
}

static void want_case(const lab_ablate_run *run, const lab_ablate_subject *subject,
                      const lab_ablate_case *what)
{
    bool config = strcmp(what->kernel, subject->kernel) != 0;
    want(run, subject, what->kernel, config ? ABLATE_NONE : what->it->number, 0);
}

void lab_ablate_want_delay(const lab_ablate_run *run, const lab_ablate_subject *subject,
                           double share)
{
    if (run->pool)
        want(run, subject, subject->kernel, ABLATE_DELAY, share);
}

/* In order of need, except that the longest build begins first. */
void lab_ablate_want_cases(const lab_ablate_run *run, const lab_ablate_subject *subject)
{
    if (!run->pool)
        return;
    want(run, subject, subject->kernel, ABLATE_NONE, 0);
    if (run->planted) {
        lab_ablate_want_delay(run, subject, 0);
        lab_ablate_want_delay(run, subject, LAB_ABLATE_DELAY_TRIED);
    }
    for (size_t i = 0; i < subject->count; i++)
        if (subject->cases[i].it->number == ABLATE_UNROLLED)
            want_case(run, subject, &subject->cases[i]);
    for (size_t i = 0; i < subject->count; i++)
        want_case(run, subject, &subject->cases[i]);
}

/* ---- Applicable ablations ---- */

/* Returns true if @kernel, in some config, can do the problem. Compiles nothing for a GPU. */
static bool can_do(const lab_ablate_run *run, const lab_ablate_subject *subject, const char *kernel)
{
    heed_cuda_facts facts;
    heed_plan *plan;
    if (!heed_device_is_host(run->bench.context))
        return find_facts(run, subject, kernel, &facts) == HEED_OK;
    bool can = heed_plan_create_named(&plan, run->bench.context, &subject->problem, kernel) ==
               HEED_OK;
    if (can)
        heed_plan_destroy(plan);
    return can;
}

/* The first config that implements the ablation and can do the problem. */
static bool find_config(const lab_ablate_run *run, const lab_ablate_subject *subject,
                        lab_ablate_case *what)
{
    char changed[LAB_ABLATE_NAME_SIZE];
    for (size_t i = 0; lab_ablate_config(subject->kernel, what->it->name, i, changed); i++) {
        if (!*changed || !can_do(run, subject, changed))
            continue;
        snprintf(what->kernel, sizeof what->kernel, "%s", changed);
        return true;
    }
    return false;
}

/* Returns true if the source of the kernel declares the ablation. */
static bool is_declared(const lab_ablate_run *run, const lab_ablate_subject *subject,
                        const char *name)
{
    heed_cuda_facts facts;
    heed_source source;
    return find_facts(run, subject, subject->kernel, &facts) == HEED_OK &&
           heed_source_find(facts.source, &source) && lab_ablate_declared(source.text, name);
}

/* A config comes before code: if the kernel has a knob for the ablation, that is used. Returns why
 * the ablation does not apply, or NULL if it does. */
static const char *find_case(const lab_ablate_run *run, const lab_ablate_subject *subject,
                             lab_ablate_case *what)
{
    const lab_ablation *it = what->it;
    bool host = heed_device_is_host(run->bench.context);
    snprintf(what->kernel, sizeof what->kernel, "%s", subject->kernel);
    if (strcmp(it->name, LAB_ABLATE_ONE_THREAD) == 0 && run->single)
        return NULL;
    if (find_config(run, subject, what))
        return NULL;
    bool built = it->number != ABLATE_NONE && (host ? heed_cpu_ablated(subject->kernel, it->number)
                                                    : is_declared(run, subject, it->name));
    if (!built)
        return lab_ablate_unfit(subject->kernel, it->name);
    return host ? heed_cpu_ablated_unfit(subject->kernel, it->number, &subject->problem) : NULL;
}

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

heed_status lab_ablate_find_cases(const lab_ablate_run *run, lab_ablate_subject *subject)
{
    size_t most = 0;
    while (lab_ablation_at(most))
        most++;
    subject->cases = calloc(most, sizeof *subject->cases);
    subject->absent = calloc(most, sizeof *subject->absent);
    if (!subject->cases || !subject->absent)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for %zu ablations", most);
    for (size_t i = 0; i < most; i++) {
        const lab_ablation *it = lab_ablation_at(i);
        if (!is_wanted(run->only, it->name))
            continue;
        lab_ablate_case *next = &subject->cases[subject->count];
        *next = (lab_ablate_case){ .it = it, .error = -1 };
        const char *why = find_case(run, subject, next);
        if (why)
            subject->absent[subject->absent_count++] = (lab_ablate_absent){ it, why };
        else
            subject->count++;
    }
    return HEED_OK;
}
