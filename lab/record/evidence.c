/*
 * evidence.c - checks that the figures of a trial are consistent and possible
 *
 * Derived fields are recomputed: a median from its samples, a verdict from its interval. Numbers
 * from JSON have nine digits, so differences of a millionth are ignored.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/control.h"
#include "store.h"

#define TOLERANCE 1e-6
#define ROOFLINE_MOST 1.25 /* of a ceiling, which has measurement errors, too */
#define THREADS_MOST 4096
#define SAMPLE_SLACK 2.0 /* a single sample may be faster by this factor than the device can be */
#define REPEATS_LEAST 16 /* from this many samples, one half must not equal the other */

static heed_status contradict(lab_error *error, const char *field, double value, double low,
                              double high)
{
    if (low == high)
        return lab_fail(error, HEED_ERR_INVALID, "%s is %.9g; by its samples it is %.9g", field,
                        value, low);
    return lab_fail(error, HEED_ERR_INVALID, "%s is %.9g; it must be from %.9g to %.9g", field,
                    value, low, high);
}

static heed_status expect_within(const char *field, double value, double low, double high,
                                 lab_error *error)
{
    bool within = value >= low * (1 - TOLERANCE) && value <= high * (1 + TOLERANCE);
    return within ? HEED_OK : contradict(error, field, value, low, high);
}

/* -------------------------------------------------------------------------- */
/* Words                                                                      */
/* -------------------------------------------------------------------------- */

static bool is_line(const char *text)
{
    while (text && *text && lab_control_size(text) == 0)
        text++;
    return !text || !*text;
}

/* Names are printed in tables, where a line break would forge a row. */
heed_status evidence_names(const lab_record_trial *trial, lab_error *error)
{
    const lab_record_environment *e = &trial->environment;
    const struct {
        const char *field, *text;
    } names[] = {
        { "kernel", trial->candidate.kernel },
        { "config", trial->candidate.config },
        { "proposer", trial->candidate.proposer },
        { "device", trial->device.name },
        { "backend", trial->device.backend },
        { "features", e->features },
        { "build", e->build },
        { "heed", e->heed },
        { "commit", e->commit },
        { "driver", e->driver },
        { "nvrtc", e->nvrtc },
        { "compiler", e->compiler },
        { "cpu", e->cpu },
        { "system", e->system },
        { "governor", e->governor },
        { "started", trial->started },
        { "ended", trial->ended },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!is_line(names[i].text))
            return lab_fail(error, HEED_ERR_INVALID, "%s has a control character", names[i].field);
    if (!*trial->candidate.kernel || !*trial->device.name)
        return lab_fail(error, HEED_ERR_INVALID, "the name of the %s is empty",
                        *trial->device.name ? "kernel" : "device");
    for (size_t i = 0; i < trial->comparison_count; i++)
        if (!is_line(trial->comparisons[i].against))
            return lab_fail(error, HEED_ERR_INVALID, "the name of a rival has a control character");
    return HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* Samples                                                                    */
/* -------------------------------------------------------------------------- */

/* Checks that a quantile is between the two samples around it, however it was interpolated. */
static heed_status expect_quantile(const char *field, double value, const lab_record_samples *s,
                                   double share, lab_error *error)
{
    double *sorted = malloc(s->count * sizeof *sorted);
    if (!sorted)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for %zu samples", s->count);
    memcpy(sorted, s->seconds, s->count * sizeof *sorted);
    qsort(sorted, s->count, sizeof *sorted, lab_order_reals);
    double at = share * (double)(s->count - 1);
    heed_status status = expect_within(field, value, sorted[(size_t)floor(at)],
                                       sorted[(size_t)ceil(at)], error);
    free(sorted);
    return status;
}

static void range_of(const double *values, size_t count, double *low, double *high)
{
    *low = INFINITY;
    *high = 0;
    for (size_t i = 0; i < count; i++) {
        *low = fmin(*low, values[i]);
        *high = fmax(*high, values[i]);
    }
}

static heed_status check_samples(const lab_record_samples *s, lab_error *error)
{
    size_t half = s->count / 2;
    if (!timing_name(s->kind))
        return lab_fail(error, HEED_ERR_INVALID,
                        "kind of samples is %d; it must be cold, hot or "
                        "eager",
                        (int)s->kind);
    for (size_t i = 0; i < s->count; i++)
        if (!isfinite(s->seconds[i]) || s->seconds[i] <= 0)
            return lab_fail(error, HEED_ERR_INVALID, "samples[%zu] is %g s; it must be above 0", i,
                            s->seconds[i]);
    if (s->count >= REPEATS_LEAST &&
        memcmp(s->seconds, s->seconds + half, half * sizeof *s->seconds) == 0)
        return lab_fail(error, HEED_ERR_INVALID,
                        "samples: %zu, and the second half repeats the first", s->count);
    return HEED_OK;
}

/* Samples of the trial alone, or of one side of a comparison; NULL: none. */
static const lab_record_samples *find_samples(const lab_record_trial *trial, const char *against,
                                              bool other, lab_record_timing kind)
{
    for (size_t i = 0; i < trial->sample_count; i++) {
        const lab_record_samples *s = &trial->samples[i];
        bool same = strcmp(s->against ? s->against : "", against) == 0;
        if (same && s->other == other && s->kind == kind && s->count > 0)
            return s;
    }
    return NULL;
}

/* -------------------------------------------------------------------------- */
/* The figures                                                                */
/* -------------------------------------------------------------------------- */

/* A duel has only the samples of its two sides. */
static heed_status check_duel_time(const lab_record_trial *trial, lab_error *error)
{
    for (size_t i = 0; i < trial->comparison_count; i++) {
        const lab_record_samples *own = find_samples(trial, trial->comparisons[i].against, false,
                                                     trial->timing);
        double low, high;
        if (!own)
            continue;
        range_of(own->seconds, own->count, &low, &high);
        return expect_within("seconds", trial->seconds, low, high, error);
    }
    return HEED_OK;
}

static heed_status check_time(const lab_record_trial *trial, lab_error *error)
{
    const lab_record_samples *own = find_samples(trial, "", false, trial->timing);
    heed_status status = HEED_OK;
    if (!own)
        return check_duel_time(trial, error);
    status = expect_quantile("seconds", trial->seconds, own, 0.5, error);
    if (status == HEED_OK && trial->p90 > 0)
        status = expect_quantile("p90", trial->p90, own, 0.9, error);
    return status;
}

/* The whole interval must lie above, or below, 1. */
static heed_status check_verdict(const lab_record_comparison *c, lab_error *error)
{
    const char *verdict = c->verdict ? c->verdict : "";
    if ((strcmp(verdict, "FASTER") != 0 || c->low > 1) &&
        (strcmp(verdict, "SLOWER") != 0 || c->high < 1))
        return HEED_OK;
    return lab_fail(error, HEED_ERR_INVALID,
                    "verdict against %s is %s; its interval is [%.9g, %.9g]", c->against, verdict,
                    c->low, c->high);
}

/* Checks the ratio by the pairs of samples. */
static heed_status check_pairs(const lab_record_trial *trial, const lab_record_comparison *c,
                               lab_error *error)
{
    const lab_record_samples *own = find_samples(trial, c->against, false, trial->timing);
    const lab_record_samples *other = find_samples(trial, c->against, true, trial->timing);
    double low = INFINITY, high = 0;
    if (!own && !other)
        return HEED_OK;
    if (!own || !other || own->count != other->count)
        return lab_fail(error, HEED_ERR_INVALID,
                        "samples against %s: %zu of one side and %zu of the other", c->against,
                        own ? own->count : 0, other ? other->count : 0);
    if (c->pairs > (int64_t)own->count)
        return contradict(error, "pairs", (double)c->pairs, 0, (double)own->count);
    for (size_t i = 0; i < own->count; i++) {
        low = fmin(low, other->seconds[i] / own->seconds[i]);
        high = fmax(high, other->seconds[i] / own->seconds[i]);
    }
    heed_status status = expect_within("ratio", c->ratio, low, high, error);
    range_of(other->seconds, other->count, &low, &high);
    if (status == HEED_OK && c->seconds > 0)
        status = expect_within("seconds of the other", c->seconds, low, high, error);
    return status;
}

static heed_status check_comparison(const lab_record_trial *trial, const lab_record_comparison *c,
                                    lab_error *error)
{
    if (c->ratio == 0)
        return HEED_OK;
    double high = c->high > 0 ? c->high : INFINITY;
    heed_status status = c->ratio >= c->low && c->ratio <= high
                             ? check_verdict(c, error)
                             : contradict(error, "ratio", c->ratio, c->low, high);
    return status == HEED_OK ? check_pairs(trial, c, error) : status;
}

static heed_status check_gates(const lab_record_trial *trial, lab_error *error)
{
    for (size_t i = 0; trial->verdict == LAB_RECORD_OK && i < trial->gate_count; i++)
        if (!trial->gates[i].passed)
            return lab_fail(error, HEED_ERR_INVALID,
                            "verdict is ok, and the gate %s did not let it pass",
                            trial->gates[i].name);
    return HEED_OK;
}

/* A trial that could be ranked must have the samples of its time. */
heed_status evidence_demand(const lab_record_trial *trial, lab_error *error)
{
    for (size_t i = 0; i < trial->sample_count; i++)
        if (trial->samples[i].kind == trial->timing && trial->samples[i].count > 0)
            return HEED_OK;
    if (!trial->confirmed || trial->verdict != LAB_RECORD_OK || !(trial->seconds > 0))
        return HEED_OK;
    return lab_fail(error, HEED_ERR_INVALID,
                    "seconds is %g, timed %s, and there are no such samples", trial->seconds,
                    timing_name(trial->timing));
}

heed_status evidence_check(const lab_record_trial *trial, lab_error *error)
{
    int threads = trial->environment.threads;
    heed_status status = check_gates(trial, error);
    if (status == HEED_OK && (threads < 0 || threads > THREADS_MOST))
        status = contradict(error, "threads", threads, 0, THREADS_MOST);
    for (size_t i = 0; i < trial->sample_count && status == HEED_OK; i++)
        status = check_samples(&trial->samples[i], error);
    if (status != HEED_OK || !(trial->seconds > 0))
        return status;
    status = isfinite(trial->seconds) ? check_time(trial, error)
                                      : contradict(error, "seconds", trial->seconds, 0, 1e9);
    if (status == HEED_OK && trial->of_roofline > ROOFLINE_MOST)
        status = contradict(error, "of_roofline", trial->of_roofline, 0, ROOFLINE_MOST);
    for (size_t i = 0; i < trial->comparison_count && status == HEED_OK; i++)
        status = check_comparison(trial, &trial->comparisons[i], error);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Ceilings of the device                                                     */
/* -------------------------------------------------------------------------- */

void lab_record_judge(lab_record *record, lab_record_judging *judge, void *data,
                      void (*end)(void *data))
{
    record->judge_end = end;
    record->judge = judge;
    record->judge_data = data;
}

/* The fastest sample of the trial's own kernel with tensors in that state; INFINITY: none. */
static double fastest_of(const lab_record_trial *trial, lab_record_timing kind)
{
    double least = INFINITY;
    for (size_t i = 0; i < trial->sample_count; i++) {
        const lab_record_samples *s = &trial->samples[i];
        for (size_t j = 0; !s->other && s->kind == kind && j < s->count; j++)
            least = fmin(least, s->seconds[j]);
    }
    return least;
}

/* Ratios come from samples, so these must be possible too; a single one may be off. */
static bool has_possible_samples(lab_record *record, const lab_record_trial *trial, lab_error *why)
{
    lab_error none;
    for (int kind = LAB_RECORD_COLD; kind <= LAB_RECORD_HOT; kind++) {
        lab_record_trial one = *trial;
        double least = fastest_of(trial, (lab_record_timing)kind);
        one.timing = (lab_record_timing)kind;
        one.seconds = SAMPLE_SLACK * least;
        if (isfinite(least) && !record->judge(record->judge_data, &one, &none)) {
            lab_fail(why, HEED_ERR_INVALID,
                     "the fastest sample, of %.4g s, is below 1/%.0f of the time that the device "
                     "needs",
                     least, SAMPLE_SLACK);
            return false;
        }
    }
    return true;
}

bool lab_record_plausible(lab_record *record, const lab_record_trial *trial, lab_error *why)
{
    lab_error none;
    return !record->judge || !(trial->seconds > 0) || trial->timing == LAB_RECORD_UNTIMED ||
           (record->judge(record->judge_data, trial, why ? why : &none) &&
            has_possible_samples(record, trial, why));
}
