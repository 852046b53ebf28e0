/*
 * gate_code.c - a kernel's spills from its machine code, and its bank conflicts from ncu
 */
#include <math.h>
#include <string.h>

#include "base/plural.h"
#include "gate.h"
#include "insight/ncu.h"
#include "inspect/cubin.h"
#include "src/cuda/facts.h"

static const char no_gpu[] = "a CPU has no such figure: use --device cuda";

/* -------------------------------------------------------------------------- */
/* Spills                                                                     */
/* -------------------------------------------------------------------------- */

/* Bytes of spills per thread of @entry in the compiler's log; negative: unknown. */
static int64_t spills_told(const lab_cubin *cubin, const char *entry)
{
    for (size_t i = 0; i < cubin->count; i++)
        if (strcmp(cubin->kernels[i].name, entry) == 0 && cubin->kernels[i].spill_stores >= 0 &&
            cubin->kernels[i].spill_loads >= 0)
            return cubin->kernels[i].spill_stores + cubin->kernels[i].spill_loads;
    return -1;
}

/* Bytes of spills per thread of the kernel that @facts launch; negative: unknown, with the reason
 * in @why, a static text or that of the last failure. @fresh: compiled now, not taken from the
 * cache. */
static int64_t spills_of(const heed_cuda_facts *facts, int arch, bool fresh, const char **why)
{
    int64_t spills = -1;
    heed_cubin built;
    lab_cubin cubin;
    lab_error error;
    heed_build build = heed_cuda_facts_build(facts, arch);
    build.fresh = fresh;
    if (heed_jit_build(&build, &built) != HEED_OK) {
        *why = heed_message();
        return -1;
    }
    *why = built.ptx ? "it is PTX, which the driver compiles" : "its machine code cannot be read";
    if (!built.ptx &&
        lab_cubin_read(&cubin, built.data, built.size, facts->name, &error) == HEED_OK) {
        lab_cubin_spills(&cubin, built.log);
        spills = spills_told(&cubin, facts->launch.entry);
        *why = "the compiler's log does not tell";
        lab_cubin_free(&cubin);
    }
    heed_cubin_free(&built);
    return spills;
}

void criterion_spills(criterion *it, const lab_bench *bench)
{
    int arch = heed_device_arch(bench->context);
    int64_t worst = 0;
    size_t known = 0;
    const char *name = "";
    if (!arch) {
        criterion_set(it, CRITERION_UNKNOWN, "%s", no_gpu);
        return;
    }
    for (size_t i = 0; i < bench->row_count; i++) {
        const lab_bench_row *row = &bench->rows[i];
        heed_cuda_facts facts;
        int64_t spills = -1;
        const char *why = heed_message();
        if (heed_cuda_facts_find(row->kernel, &row->source->problem, arch, &facts) == HEED_OK) {
            spills = spills_of(&facts, arch, false, &why);
            if (spills < 0) /* logs may lack ptxas's output if many were compiled at a time */
                spills = spills_of(&facts, arch, true, &why);
        }
        if (spills < 0) {
            criterion_set(it, CRITERION_UNKNOWN, "not known of '%s' for sm_%d: %s", row->kernel,
                          arch, why);
            return;
        }
        known++;
        if (spills > worst || i == 0) {
            worst = spills;
            name = row->kernel;
        }
    }
    criterion_set(it,
                  known == 0  ? CRITERION_UNKNOWN
                  : worst > 0 ? CRITERION_FAIL
                              : CRITERION_PASS,
                  "%lld byte%s a thread at most, %s, of %zu problem%s", (long long)worst,
                  lab_plural(worst), name, known, lab_plural(known));
}

/* -------------------------------------------------------------------------- */
/* Bank conflicts                                                             */
/* -------------------------------------------------------------------------- */

/* Permitted percentage of conflicts among the wavefronts of ordinary shared memory loads and
 * stores: as in heed profile. */
#define CONFLICTS_MAX 5.0

/* Time limit of ncu for a problem. */
#define NCU_SECONDS 120

/* Counts a call with ncu. Returns the conflicts in percent; NAN, with the reason in @why, if it
 * could not count. */
static double count_conflicts(const char *ncu, const lab_bench *bench, const lab_bench_row *row,
                              lab_ncu_trouble *why)
{
    static const lab_metric only[] = { LAB_METRIC_CONFLICTS, LAB_METRIC_WAVEFRONTS };
    char spec[HEED_SPEC_SIZE];
    lab_profile profile;
    const lab_ncu_question question = { .ncu = ncu,
                                        .device = bench->device,
                                        .kernel = row->kernel,
                                        .spec = spec,
                                        .arch = heed_device_arch(bench->context),
                                        .seconds = NCU_SECONDS,
                                        .only = only,
                                        .only_count = sizeof only / sizeof *only,
                                        .sink = &cli_sink };
    heed_problem_print(&row->source->problem, spec, sizeof spec);
    snprintf(why->reason, sizeof why->reason, "ncu's output is not in a known format");
    if (!lab_ncu_count(&question, &profile, why))
        return (double)NAN;
    return lab_profile_conflicts(&profile);
}

void criterion_conflicts(criterion *it, const lab_bench *bench)
{
    char ncu[300];
    lab_ncu_trouble why;
    double worst = 0;
    const char *name = "";
    if (!heed_device_arch(bench->context)) {
        criterion_set(it, CRITERION_UNKNOWN, "%s", no_gpu);
        return;
    }
    if (!lab_ncu_find(NULL, ncu, sizeof ncu, &why)) {
        criterion_set(it, CRITERION_UNKNOWN, "%s", why.reason);
        return;
    }
    lab_progress progress = lab_progress_start(&cli_sink, "bank conflicts", bench->row_count);
    for (size_t i = 0; i < bench->row_count; i++) {
        lab_progress_step(&progress, i, bench->rows[i].kernel);
        double conflicts = count_conflicts(ncu, bench, &bench->rows[i], &why);
        if (isnan(conflicts)) {
            lab_progress_end(&progress);
            criterion_set(it, CRITERION_UNKNOWN, "%s", why.reason);
            return;
        }
        if (conflicts >= worst) {
            worst = conflicts;
            name = bench->rows[i].kernel;
        }
    }
    lab_progress_end(&progress);
    criterion_set(it,
                  bench->row_count == 0    ? CRITERION_UNKNOWN
                  : worst <= CONFLICTS_MAX ? CRITERION_PASS
                                           : CRITERION_FAIL,
                  "%.2f %% of the wavefronts of shared memory at most, %s; %.3g %% is the limit",
                  worst, name, CONFLICTS_MAX);
}
