/*
 * power.c - simulates repeats of a comparison by resampling its stretches
 */
#include "power.h"

#include <math.h>
#include <stdlib.h>

#include "lab/tensor/random.h"
#include "looks.h"

enum {
    REPEATS = 300,
    HALVINGS = 30
};

/* All repeats without a difference: the interval of each look. A difference shifts them all by its
 * logarithm. */
typedef struct simulation {
    lab_rules rules;
    size_t looks;
    double (*low)[LAB_LOOKS_MAX]; /* [REPEATS], logarithms */
    double (*high)[LAB_LOOKS_MAX];
} simulation;

static void repeat(simulation *s, size_t run, const double *units, size_t count,
                   const lab_schedule *due, uint64_t seed)
{
    double drawn[LAB_PAIRED_MAX];
    lab_paired paired;
    for (size_t i = 0; i < count; i++)
        drawn[i] = units[lab_random_below(seed, run * count + i, (int64_t)count)];
    for (size_t look = 0; look < due->count; look++) {
        lab_paired_make(&paired, drawn, due->pairs[look] / due->stretch);
        lab_paired_interval(&paired, due->tails[look], &s->low[run][look], &s->high[run][look]);
    }
}

/* The verdict of a repeat if B takes exp(@shift) times as long. */
static lab_compared verdict_of(const simulation *s, size_t run, double shift)
{
    lab_compared verdict = LAB_AMBIGUOUS;
    for (size_t look = 0; look < s->looks && verdict == LAB_AMBIGUOUS; look++) {
        lab_interval ratio = { .low = exp(s->low[run][look] + shift),
                               .high = exp(s->high[run][look] + shift) };
        verdict = lab_judge(&ratio, &s->rules);
    }
    return verdict;
}

/* True if a difference of exp(@shift) is found often enough, in both directions. */
static bool is_found(const simulation *s, double shift)
{
    size_t faster = 0, slower = 0;
    for (size_t run = 0; run < REPEATS; run++) {
        faster += verdict_of(s, run, shift) == LAB_FASTER;
        slower += verdict_of(s, run, -shift) == LAB_SLOWER;
    }
    return (double)(faster < slower ? faster : slower) >= LAB_POWER * REPEATS;
}

static double smallest(const simulation *s)
{
    double low = 0, high = log(1 + LAB_POWER_WORST);
    if (!is_found(s, high))
        return INFINITY;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (is_found(s, middle))
            high = middle;
        else
            low = middle;
    }
    return exp(high) - 1;
}

heed_status lab_power_detectable(const lab_series *series, const lab_rules *rules, uint64_t seed,
                                 double *difference)
{
    simulation s;
    lab_schedule due;
    lab_comparison unused;
    double units[LAB_PAIRED_MAX];
    heed_status status = lab_compare(series, rules, &unused); /* checks both */
    if (status != HEED_OK)
        return status;
    lab_rules_fill(rules, &s.rules);
    lab_schedule_make(&due, series, &s.rules);
    s.looks = due.count;
    s.low = calloc(REPEATS, sizeof *s.low);
    s.high = calloc(REPEATS, sizeof *s.high);
    if (!s.low || !s.high) {
        free(s.low);
        free(s.high);
        return HEED_ERR_NO_MEMORY;
    }
    size_t count = lab_stretch_units(series, series->pairs, due.stretch, units);
    for (size_t run = 0; run < REPEATS; run++)
        repeat(&s, run, units, count, &due, seed);
    *difference = smallest(&s);
    free(s.low);
    free(s.high);
    return HEED_OK;
}
