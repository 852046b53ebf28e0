/*
 * plausible.c - checks that the time of a trial is possible, for all trials added to the board or
 * ranked
 */
#include "plausible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "measure/ceiling.h"
#include "src/device.h"

/* A measured ceiling may be too low because of other programs, and a trial's time too low because
 * of a boosted clock. Data sheets are strict limits. */
#define MARGIN_MEASURED 1.25
#define MARGIN_SHEET 1.1
#define MARGIN_GENERAL 1.0 /* the bound is already generous */
#define TRIES 4            /* to measure a ceiling that seems too low */

/* A GPU that is not in the table may exceed the best one there by this factor. */
#define UNKNOWN_GPU 4.0
#define LAUNCH_SECONDS 3e-7 /* from one kernel to the next */
#define CACHE_GAIN 20.0     /* maximum of its cache over memory */

/* Data sheets have neither the L2's bandwidth nor the launch overhead. */
lab_ceilings lab_ceilings_of_gpu(const heed_gpu *gpu)
{
    const heed_gpu_rates rates = heed_gpu_get_rates(gpu->arch);
    double clocks = gpu->multiprocessors * gpu->clock;
    lab_ceilings ceilings = { .exp = rates.exp * clocks,
                              .fma = rates.fma * clocks,
                              .memory = gpu->bandwidth,
                              .cache_bytes = (double)gpu->l2 };
    ceilings.matrix[HEED_F32] = 2 * ceilings.fma;
    ceilings.matrix[HEED_F16] = ceilings.matrix[HEED_BF16] = gpu->matrix;
    snprintf(ceilings.device, sizeof ceilings.device, "%s", gpu->name);
    snprintf(ceilings.features, sizeof ceilings.features, "sm_%d, by its data sheet", gpu->arch);
    return ceilings;
}

struct lab_time_judge {
    heed_context *host;            /* this machine's CPU; NULL: not created yet */
    double rates[HEED_TYPE_COUNT]; /* measured rates, by heed_type; 0: not yet */
    int threads;                   /* ... with this many */
};

lab_time_judge *lab_time_judge_create(void)
{
    return calloc(1, sizeof(lab_time_judge));
}

void lab_time_judge_destroy(void *judge)
{
    lab_time_judge *it = judge;
    if (it)
        heed_context_destroy(it->host);
    free(it);
}

/* ---- A GPU ---- */

/* The best of all GPUs in the table, for one that is not. */
static lab_ceilings best_gpu(void)
{
    lab_ceilings best = { .device = "an unknown GPU" };
    heed_gpu gpu;
    const char *brief;
    for (size_t i = 0; heed_gpu_at(&gpu, i, &brief); i++) {
        const lab_ceilings one = lab_ceilings_of_gpu(&gpu);
        for (int type = 0; type < HEED_TYPE_COUNT; type++)
            if (UNKNOWN_GPU * one.matrix[type] > best.matrix[type])
                best.matrix[type] = UNKNOWN_GPU * one.matrix[type];
        if (UNKNOWN_GPU * one.memory > best.memory)
            best.memory = UNKNOWN_GPU * one.memory;
        if (UNKNOWN_GPU * one.cache_bytes > best.cache_bytes)
            best.cache_bytes = UNKNOWN_GPU * one.cache_bytes;
    }
    return best;
}

static bool judge_gpu(const lab_record_trial *trial, lab_error *why)
{
    heed_gpu gpu;
    bool known = heed_gpu_find(&gpu, trial->device.name);
    lab_ceilings ceilings = known ? lab_ceilings_of_gpu(&gpu) : best_gpu();
    /* Products of float32 tensors may be computed from shorter types. */
    ceilings.matrix[HEED_F32] = ceilings.matrix[HEED_F16];
    ceilings.launch = LAUNCH_SECONDS;
    ceilings.cache = CACHE_GAIN * ceilings.memory;
    /* Up to half a tensor may stay in the cache during a rotation. */
    ceilings.memory *= 2;
    return lab_roofline_allows(trial->problem, &ceilings, trial->timing == LAB_RECORD_COLD,
                               trial->seconds, MARGIN_SHEET, why);
}

/* ---- A CPU ---- */

/* The gain from units that a user's source may use, unlike the laboratory's loops. */
static double gain_of_units(heed_type type, bool source)
{
    static const struct {
        const char *flag;
        heed_type type;
        double gain;
    } units[] = { { " amx_bf16", HEED_BF16, 32 },
                  { " amx_fp16", HEED_F16, 32 },
                  { " amx_bf16", HEED_F16, 32 },
                  { " avx512_fp16", HEED_F16, 2 } };
    char line[16384];
    double gain = 1;
    FILE *file = source ? fopen("/proc/cpuinfo", "r") : NULL;
    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; strncmp(line, "flags", 5) == 0 && i < sizeof units / sizeof *units; i++)
            if (units[i].type == type && units[i].gain > gain && strstr(line, units[i].flag))
                gain = units[i].gain;
    if (file)
        fclose(file);
    return gain;
}

/* Measures this CPU with @threads threads again. The maximum counts. */
static void measure(lab_time_judge *judge, heed_type type, int threads)
{
    lab_ceiling found;
    if (judge->threads != threads)
        memset(judge->rates, 0, sizeof judge->rates);
    judge->threads = threads;
    if (lab_ceiling_flops(&found, type, threads, heed_context_cpu(judge->host)) == HEED_OK &&
        found.flops > judge->rates[type])
        judge->rates[type] = found.flops;
}

/* Judges by this machine: no more threads than it has CPUs, and no faster than measured. */
static bool judge_host(lab_time_judge *judge, const lab_record_trial *trial, lab_error *why)
{
    heed_type type = trial->problem->type;
    lab_ceilings ceilings = { .launch = 0 };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = trial->environment.threads;
    double gain = gain_of_units(type, trial->candidate.source != NULL);
    if (cpus > 0 && threads > cpus)
        threads = (int)cpus;
    if (threads < 1)
        threads = 1;
    snprintf(ceilings.device, sizeof ceilings.device, "this CPU with %d thread%s", threads,
             lab_plural(threads));
    for (int i = 0; i < TRIES; i++) {
        if (i > 0 || judge->threads != threads || judge->rates[type] == 0)
            measure(judge, type, threads);
        ceilings.matrix[type] = gain * judge->rates[type];
        if (lab_roofline_allows(trial->problem, &ceilings, trial->timing == LAB_RECORD_COLD,
                                trial->seconds, MARGIN_MEASURED, why))
            return true;
    }
    return false;
}

static bool is_here(lab_time_judge *judge, const char *device)
{
    const heed_options options = { .size = sizeof options, .device = "cpu", .threads = 1 };
    if (!judge->host && heed_context_create(&judge->host, &options) != HEED_OK)
        return false;
    return strcmp(heed_context_device(judge->host), device) == 0;
}

static bool judge_cpu(lab_time_judge *judge, const lab_record_trial *trial, lab_error *why)
{
    const lab_ceilings most = lab_roofline_cpu(
        trial->environment.features, trial->environment.threads, trial->candidate.source != NULL);
    return lab_roofline_allows(trial->problem, &most, trial->timing == LAB_RECORD_COLD,
                               trial->seconds, MARGIN_GENERAL, why) &&
           (!is_here(judge, trial->device.name) || judge_host(judge, trial, why));
}

bool lab_plausible(void *data, const lab_record_trial *trial, lab_error *why)
{
    return strcmp(trial->device.backend, "cpu") == 0 ? judge_cpu(data, trial, why)
                                                     : judge_gpu(trial, why);
}

bool lab_plausible_here(lab_time_judge *judge, const heed_context *context,
                        const heed_problem *problem, bool cold, double seconds, lab_error *why)
{
    char features[32];
    const lab_record_trial trial = {
        .problem = problem,
        .device = { .name = heed_context_device(context),
                    .backend = heed_context_backend(context) },
        .environment = { .features = features, .threads = heed_context_threads(context) },
        .timing = cold ? LAB_RECORD_COLD : LAB_RECORD_HOT,
        .seconds = seconds,
    };
    heed_device_features(context, features);
    return !judge || lab_plausible(judge, &trial, why);
}
