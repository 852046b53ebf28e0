/*
 * roofline_measure.c - the ceilings of this machine's devices, measured once and saved
 */
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/plural.h"
#include "measure/ceiling.h"
#include "measure/ceiling_cuda.h"
#include "measure/environment.h"
#include "roofline.h"
#include "src/device.h"

#define LOAD_QUIET 0.5
#define MEMORY_BYTES ((size_t)512 << 20) /* read at most to measure the speed of memory */
#define L2_BYTES ((size_t)512 << 10)     /* per core, if the system does not report it */
#define DAY 86400.0

/* ---- A GPU ---- */

static heed_status measure_cuda(lab_ceilings *ceilings, heed_context *context)
{
    lab_ceiling_cuda found;
    heed_status status = lab_ceiling_cuda_measure(&found, context, cli_interrupted);
    if (status != HEED_OK)
        return status;
    memcpy(ceilings->matrix, found.matrix, sizeof found.matrix);
    memcpy(ceilings->sustained, found.sustained, sizeof found.sustained);
    ceilings->exp = found.exp;
    ceilings->fma = found.fma;
    ceilings->read = found.read;
    ceilings->copy = found.copy;
    ceilings->cache = found.cache;
    ceilings->launch = found.launch;
    ceilings->cache_bytes = (double)heed_device_cache(context);
    return HEED_OK;
}

/* ---- A CPU ---- */

/* Called between two measurements, each of which takes up to a second or two. */
static heed_status unless_interrupted(heed_status status)
{
    return status == HEED_OK && cli_interrupted() ? HEED_ERR_SYSTEM : status;
}

static heed_status measure_rates(lab_ceilings *ceilings, int threads, const char *cpu)
{
    lab_ceiling found;
    heed_status status = lab_ceiling_exp(&found, threads, cpu);
    ceilings->exp = found.flops;
    for (int type = 0; type < HEED_TYPE_COUNT && status == HEED_OK; type++) {
        status = unless_interrupted(lab_ceiling_flops(&found, (heed_type)type, threads, cpu));
        ceilings->matrix[type] = found.flops;
    }
    ceilings->fma = ceilings->matrix[HEED_F32] / 2;
    /* float16 is computed in float32: takes the better of two measurements of the same rate */
    ceilings->matrix[HEED_F32] = ceilings->matrix[HEED_F16] = fmax(ceilings->matrix[HEED_F32],
                                                                   ceilings->matrix[HEED_F16]);
    ceilings->matrix[HEED_BF16] = fmax(ceilings->matrix[HEED_BF16], ceilings->matrix[HEED_F32]);
    return status;
}

/* Reads from the cores' private caches, half full: the highest rate for data in caches. */
static heed_status measure_memory(lab_ceilings *ceilings, const heed_context *context, int threads)
{
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t own = l2 > 0 ? (size_t)l2 : L2_BYTES, all = heed_device_cache(context);
    size_t memory = heed_device_memory(context) / 8;
    size_t bytes = 2 * all < MEMORY_BYTES / 4 ? MEMORY_BYTES / 4 : 2 * all;
    bytes = bytes < MEMORY_BYTES ? bytes : MEMORY_BYTES;
    if (memory > 0 && bytes > memory)
        bytes = memory;
    heed_status status = unless_interrupted(lab_ceiling_copy(&ceilings->copy, threads));
    if (status == HEED_OK)
        status = unless_interrupted(lab_ceiling_stream(&ceilings->read, threads, bytes));
    if (status == HEED_OK)
        status = lab_ceiling_stream(&ceilings->cache, threads, own / 2 * (size_t)threads);
    ceilings->cache_bytes = (double)(all > 0 ? all : own * (size_t)threads);
    return status;
}

static heed_status measure_cpu(lab_ceilings *ceilings, heed_context *context)
{
    lab_environment environment;
    lab_environment_read(&environment);
    int threads = heed_context_threads(context), cores = environment.cores_allowed;
    if (cores > 0 && threads > cores)
        threads = cores;
    heed_status status = measure_rates(ceilings, threads, heed_context_cpu(context));
    return status == HEED_OK ? measure_memory(ceilings, context, threads) : status;
}

/* ---- Both ---- */

static void name_device(lab_ceilings *ceilings, const heed_context *context)
{
    char features[32];
    heed_device_features(context, features);
    *ceilings = (lab_ceilings){ .measured = true, .time = (int64_t)time(NULL) };
    snprintf(ceilings->device, sizeof ceilings->device, "%s", heed_context_device(context));
    if (heed_device_is_host(context))
        snprintf(ceilings->features, sizeof ceilings->features, "%s, %d thread%s", features,
                 heed_context_threads(context), lab_plural(heed_context_threads(context)));
    else
        snprintf(ceilings->features, sizeof ceilings->features, "%s", features);
}

static heed_status measure(lab_ceilings *ceilings, heed_context *context)
{
    bool host = heed_device_is_host(context);
    name_device(ceilings, context);
    heed_status status = host ? measure_cpu(ceilings, context) : measure_cuda(ceilings, context);
    ceilings->memory = fmax(ceilings->read, ceilings->copy);
    return status;
}

double roofline_age(const lab_ceilings *ceilings)
{
    return fmax(difftime(time(NULL), (time_t)ceilings->time), 0);
}

/* Reads the file, if it exists, and reports its faults. */
static bool look(lab_ceilings *ceilings, const heed_context *context, char path[LAB_CEILINGS_PATH])
{
    lab_error error;
    lab_ceilings wanted;
    name_device(&wanted, context);
    *path = '\0';
    if (lab_ceilings_path(path, wanted.device, wanted.features, &error) != HEED_OK) {
        *path = '\0';
        return false;
    }
    if (access(path, F_OK) != 0)
        return false;
    if (lab_ceilings_read(ceilings, path, &error) != HEED_OK) {
        cli_warning("%s; 'heed roofline --fresh' makes a new one", error.text);
        return false;
    }
    return strcmp(ceilings->device, wanted.device) == 0 &&
           strcmp(ceilings->features, wanted.features) == 0;
}

bool roofline_known(lab_ceilings *ceilings, heed_context *context)
{
    char path[LAB_CEILINGS_PATH];
    return look(ceilings, context, path);
}

static void keep(const lab_ceilings *ceilings, char path[LAB_CEILINGS_PATH])
{
    lab_error error;
    if (!*path || lab_ceilings_write(ceilings, path, &error) == HEED_OK)
        return;
    cli_warning("%s: the ceilings were not saved", error.text);
    *path = '\0';
}

/* Warns of other programs, whose CPU time lowers the ceilings, as these are used for a month. */
static void warn_if_busy(const heed_context *context)
{
    lab_environment environment;
    lab_environment_read(&environment);
    if (heed_device_is_host(context) && environment.load > LOAD_QUIET)
        cli_warning("the load average of the last minute is %.2f: other programs lower the "
                    "ceilings; 'heed roofline --fresh' measures them again on a quiet machine",
                    environment.load);
}

cli_exit roofline_get(lab_ceilings *ceilings, heed_context *context, bool fresh,
                      char path[LAB_CEILINGS_PATH])
{
    char own[LAB_CEILINGS_PATH], *file = path ? path : own;
    bool found = look(ceilings, context, file);
    if (found && !fresh) {
        double days = roofline_age(ceilings) / DAY;
        if (days > ROOFLINE_DAYS)
            cli_warning("the ceilings of %s were measured %.0f days ago; 'heed roofline --fresh' "
                        "measures them again",
                        ceilings->device, days);
        return CLI_OK;
    }
    warn_if_busy(context);
    lab_progress progress = lab_progress_start(&cli_sink, "ceilings", 1);
    lab_progress_step(&progress, 0, heed_context_device(context));
    heed_status status = measure(ceilings, context);
    lab_progress_end(&progress);
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    if (status != HEED_OK)
        return cli_fail(status, "measuring the ceilings");
    keep(ceilings, file);
    return CLI_OK;
}
