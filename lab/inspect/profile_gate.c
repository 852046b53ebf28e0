/*
 * profile_gate.c - gates on the usual hardware counters, and their applicability
 *
 * They were designed for kernels whose warps issue every product. A kernel with asynchronous
 * products and copies (wgmma, TMA) issues few instructions from few warps and may still be the
 * fastest, so gates that count instructions and warps do not apply to it. It must keep the
 * multiprocessors busy, too: ncu's figure is for the busiest unit, including the tensor pipe.
 */
#include <math.h>

#include "profile.h"

#define SECTOR 32 /* bytes */

static const char *const verdicts[LAB_GATE_VERDICTS] = { "UNKNOWN", "PASS", "FAIL", "-" };

static const char few_instructions[] =
    "its products and copies are asynchronous, so few instructions and warps are enough";
static const char no_loads[] = "it has no such loads";
static const char no_stores[] = "it has no such stores";
static const char not_told[] = "it is not known whether its products are asynchronous";

static double spills(const lab_profile *profile)
{
    return profile->value[LAB_METRIC_LOCAL_LOADS] + profile->value[LAB_METRIC_LOCAL_STORES];
}

/* The kernels to which a gate applies. */
typedef enum domain {
    ALWAYS,
    ISSUING, /* kernels with synchronous products */
    LOADING, /* kernels with such loads or stores: a figure of 0 means none */
    STORING
} domain;

static const struct gate {
    const char *key;
    const char *title;
    bool least;
    double limit;
    lab_unit unit;
    domain domain;
    lab_metric metric;
    double (*derived)(const lab_profile *profile); /* in place of metric; NULL: none */
    const char *hint;
} gates[LAB_PROFILE_GATES] = {
    { "sm_busy", "SM busy", true, 70, LAB_UNIT_PERCENT, ALWAYS, LAB_METRIC_BUSY, NULL,
      "no unit of the multiprocessors is near its limit: too few blocks for the device, or stalls "
      "(see there)" },
    { "issue_slots", "issue slots used", true, 60, LAB_UNIT_PERCENT, ISSUING, LAB_METRIC_ISSUE,
      NULL, "the schedulers idle: more warps, or more independent instructions in each" },
    { "eligible_warps", "eligible warps per scheduler", true, 2, LAB_UNIT_NUMBER, ISSUING,
      LAB_METRIC_ELIGIBLE, NULL, "few warps are ready to issue: more warps, or fewer stalls" },
    { "occupancy_achieved", "achieved occupancy", true, 20, LAB_UNIT_PERCENT, ISSUING,
      LAB_METRIC_OCCUPANCY, NULL,
      "few warps are resident: see what limits the blocks of a multiprocessor, and the waves" },
    { "load_coalescing", "coalescing of loads", true, 80, LAB_UNIT_PERCENT, LOADING,
      LAB_METRIC_LOAD, NULL,
      "threads of a warp read far apart: neighbours should read neighbouring 16 bytes" },
    { "store_coalescing", "coalescing of stores", true, 80, LAB_UNIT_PERCENT, STORING,
      LAB_METRIC_STORE, NULL,
      "threads of a warp write far apart: neighbours should write neighbouring 16 bytes" },
    { "sector_coalescing", "sectors that are needed", true, 80, LAB_UNIT_PERCENT, ALWAYS,
      LAB_METRICS, lab_profile_sectors,
      "global memory is read or written in more sectors than needed" },
    { "bank_conflicts", "bank conflicts", false, 5, LAB_UNIT_PERCENT, ALWAYS, LAB_METRICS,
      lab_profile_conflicts,
      "threads of a warp conflict in a bank of shared memory: swizzle or pad the tile" },
    { "spills", "spills: local loads and stores", false, 0, LAB_UNIT_COUNT, ALWAYS, LAB_METRICS,
      spills, "registers spill to memory: a smaller tile, or a higher cap of registers" },
};

static double value_of(const struct gate *gate, const lab_profile *profile)
{
    if (gate->derived)
        return gate->derived(profile);
    double value = profile->value[gate->metric];
    return gate->domain == LOADING || gate->domain == STORING ? 100 * value / SECTOR : value;
}

int lab_profile_asynchronous(const lab_profile *profile)
{
    double products = profile->value[LAB_METRIC_WARPGROUP];
    double loads_by_tma = profile->value[LAB_METRIC_TMA];
    if (profile->arch == 0)
        return -1;
    if (profile->arch < 90)
        return 0;
    if (products > 0)
        return 1;
    /* Later architectures have the same copies, but other names for products. */
    if (profile->arch >= 100 && loads_by_tma > 0)
        return profile->value[LAB_METRIC_TENSOR] > 0;
    if (profile->arch < 100 && isnan(products))
        return -1;
    return profile->arch >= 100 && isnan(loads_by_tma) ? -1 : 0;
}

/* Decides whether @gate applies. If not, or if unknown, *@why is the reason. */
static lab_gate_verdict applies(const struct gate *gate, const lab_profile *profile,
                                const char **why)
{
    int asynchronous = lab_profile_asynchronous(profile);
    if (gate->domain == ISSUING && asynchronous != 0) {
        *why = asynchronous > 0 ? few_instructions : not_told;
        return asynchronous > 0 ? LAB_GATE_OFF : LAB_GATE_UNKNOWN;
    }
    if ((gate->domain == LOADING || gate->domain == STORING) && value_of(gate, profile) <= 0) {
        *why = gate->domain == LOADING ? no_loads : no_stores;
        return LAB_GATE_OFF;
    }
    return LAB_GATE_PASS;
}

static lab_gate_result judge(const struct gate *gate, const lab_profile *profile)
{
    lab_gate_result result = { .key = gate->key,
                               .title = gate->title,
                               .least = gate->least,
                               .limit = gate->limit,
                               .unit = gate->unit,
                               .value = value_of(gate, profile),
                               .why = gate->hint };
    result.verdict = applies(gate, profile, &result.why);
    if (result.verdict == LAB_GATE_OFF && gate->domain != ISSUING)
        result.value = (double)NAN;
    if (result.verdict != LAB_GATE_PASS)
        return result;
    if (isnan(result.value)) {
        result.verdict = LAB_GATE_UNKNOWN;
        result.why = "this version of ncu does not report it";
    } else if (gate->least ? result.value < gate->limit : result.value > gate->limit) {
        result.verdict = LAB_GATE_FAIL;
    }
    return result;
}

lab_gate_verdict lab_profile_judge(const lab_profile *profile,
                                   lab_gate_result results[LAB_PROFILE_GATES])
{
    lab_gate_verdict worst = LAB_GATE_PASS;
    for (size_t i = 0; i < LAB_PROFILE_GATES; i++) {
        results[i] = judge(&gates[i], profile);
        if (results[i].verdict == LAB_GATE_FAIL ||
            (results[i].verdict == LAB_GATE_UNKNOWN && worst == LAB_GATE_PASS))
            worst = results[i].verdict;
    }
    return worst;
}

const char *lab_gate_verdict_name(lab_gate_verdict verdict)
{
    return verdicts[verdict];
}
