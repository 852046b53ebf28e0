/*
 * duel.c - runs blocks of two sides in turns, and judges them when a look is due
 */
#include "duel.h"

#include <stdlib.h>
#include <string.h>

#include "lab/tensor/random.h"
#include "looks.h"
#include "measure.h"

/* The time of a pair is measured beforehand: once, and if that took less than CHEAP of the total, a
 * few times more, up to TRYOUT of it. The first one pays one-time costs, and on a busy machine any
 * may take many times longer than usual; a duel planned by such an outlier would take far too few
 * pairs. */
#define CHEAP 0.02
#define TRYOUT 0.05
enum {
    TRIES = 6
};

bool lab_interleave_second(uint64_t seed, size_t block)
{
    bool turned = lab_random_bits(seed, block / 2) & 1;
    return turned != (block % 2 == 1);
}

/* Options with defaults and measured times filled in. */
typedef struct full_duel {
    lab_duel_options options;
    size_t stretches_min;
    double renewal; /* seconds to renew both sides */
} full_duel;

static heed_status full_options(const lab_duel_options *options, lab_duel_options *full,
                                size_t *stretches_min)
{
    *full = options ? *options : (lab_duel_options){ 0 };
    if (full->seconds == 0)
        full->seconds = LAB_DUEL_SECONDS;
    if (full->pairs_max == 0)
        full->pairs_max = LAB_PAIRS_MAX;
    if (full->rules.looks == 0)
        full->rules.looks = LAB_DUEL_LOOKS;
    lab_rules rules;
    if (lab_rules_fill(&full->rules, &rules) != HEED_OK)
        return HEED_ERR_INVALID;
    /* Twice, so enough remain if neighbours are merged once. */
    *stretches_min = full->pairs_min == 0 ? 2 * lab_units_least(&rules) : 1;
    if (full->pairs_min == 0)
        full->pairs_min = *stretches_min;
    bool good = full->seconds > 0 && full->round >= 0 && full->pairs_min <= full->pairs_max &&
                full->pairs_max <= LAB_PAIRS_MAX;
    return good ? HEED_OK : HEED_ERR_INVALID;
}

static heed_status run_pair(const lab_side *a, const lab_side *b, uint64_t seed, size_t pair,
                            double *a_seconds, double *b_seconds)
{
    heed_status status = HEED_OK;
    for (size_t half = 0; half < 2 && status == HEED_OK; half++) {
        bool second = lab_interleave_second(seed, 2 * pair + half);
        const lab_side *side = second ? b : a;
        double *seconds = second ? b_seconds : a_seconds;
        status = side->fn(side->data, seconds);
        if (status == HEED_OK)
            *seconds = lab_stats_round(*seconds);
    }
    return status;
}

static heed_status renew(const lab_side *side, uint64_t common, uint64_t own)
{
    return side->renew ? side->renew(side->data, common, own) : HEED_OK;
}

/* Renews both sides, in random order, with different placements. */
static heed_status renew_both(const lab_side *a, const lab_side *b, uint64_t seed, size_t pair)
{
    uint64_t stream = lab_random_stream(seed, 1), common = lab_random_bits(stream, 3 * pair);
    bool turned = lab_random_bits(lab_random_stream(seed, 2), pair) & 1;
    const lab_side *first = turned ? b : a, *second = turned ? a : b;
    heed_status status = renew(first, common, lab_random_bits(stream, 3 * pair + 1));
    if (status == HEED_OK)
        status = renew(second, common, lab_random_bits(stream, 3 * pair + 2));
    return status;
}

/* One trial run: the time of a renewal and of a pair of blocks, with warm-up. */
static heed_status try_round(const lab_side *a, const lab_side *b, uint64_t seed, size_t number,
                             double *renewal, double *round)
{
    double unused;
    int64_t start = heed_clock_ns();
    heed_status status = renew_both(a, b, seed, number);
    int64_t renewed = heed_clock_ns();
    if (status == HEED_OK)
        status = run_pair(a, b, 0, number, &unused, &unused);
    *renewal = (double)(renewed - start) * 1e-9;
    *round = (double)(heed_clock_ns() - renewed) * 1e-9;
    return status;
}

/* The median of all trial runs except the first, if there are more. */
static double typical(double tries[TRIES], size_t count)
{
    size_t first = count > 1;
    lab_stats_sort(tries + first, count - first);
    return lab_stats_median(tries + first, count - first);
}

static heed_status time_round(const lab_side *a, const lab_side *b, full_duel *full)
{
    double renewals[TRIES], rounds[TRIES], passed = 0;
    lab_duel_options *options = &full->options;
    heed_status status = HEED_OK;
    size_t count = 0;
    do {
        status = try_round(a, b, options->seed, count, &renewals[count], &rounds[count]);
        passed += renewals[count] + rounds[count];
        count++;
    } while (status == HEED_OK && count < TRIES &&
             passed <= (count == 1 ? CHEAP : TRYOUT) * options->seconds);
    full->renewal = typical(renewals, count);
    options->round = typical(rounds, count);
    return status;
}

/* The number of pairs that fit in the time, in whole stretches. */
static size_t plan_pairs(const full_duel *full)
{
    const lab_duel_options *options = &full->options;
    size_t pairs = options->pairs_max;
    for (; pairs > options->pairs_min; pairs--) {
        size_t stretches = pairs / lab_stretch_pairs(pairs);
        if ((double)pairs * options->round + (double)stretches * full->renewal <= options->seconds)
            break;
    }
    return pairs / lab_stretch_pairs(pairs) * lab_stretch_pairs(pairs);
}

lab_series lab_duel_series(const lab_duel *duel)
{
    return (lab_series){ .a = duel->a,
                         .b = duel->b,
                         .pairs = duel->pairs,
                         .planned = duel->planned,
                         .ended = duel->ended };
}

static heed_status judge(lab_duel *duel, const lab_rules *rules)
{
    lab_series series = lab_duel_series(duel);
    return lab_compare(&series, rules, &duel->comparison);
}

/* True if a look is due at the current number of pairs. */
static bool look_is_due(const lab_duel *duel, const lab_rules *rules)
{
    for (size_t look = 0; look < rules->looks; look++)
        if (lab_look_pairs(duel->planned, rules->looks, look) == duel->pairs)
            return true;
    return false;
}

/* True if the time is over, or, without @enough pairs, the overtime. */
static bool is_over(const lab_duel_options *options, int64_t passed_ns, bool enough)
{
    double passed = (double)passed_ns * 1e-9, longer = LAB_DUEL_OVERTIME * options->seconds;
    double overtime = longer > LAB_DUEL_OVERTIME_SECONDS ? longer : LAB_DUEL_OVERTIME_SECONDS;
    return passed >= (enough ? options->seconds : overtime);
}

/* Takes the pairs. The time is checked between stretches. */
static heed_status take_turns(lab_duel *duel, const lab_side *a, const lab_side *b,
                              const full_duel *full)
{
    const lab_duel_options *options = &full->options;
    size_t stretch = lab_stretch_pairs(duel->planned);
    size_t least = full->stretches_min * stretch;
    least = least > options->pairs_min ? least : options->pairs_min;
    int64_t start = heed_clock_ns();
    heed_status status = HEED_OK;
    while (status == HEED_OK && duel->pairs < duel->planned) {
        if (duel->pairs % stretch == 0) {
            if (is_over(options, heed_clock_ns() - start, duel->pairs >= least)) {
                duel->ended = true;
                break;
            }
            status = renew_both(a, b, options->seed, duel->pairs);
        }
        if (status == HEED_OK)
            status = run_pair(a, b, options->seed, duel->pairs, &duel->a[duel->pairs],
                              &duel->b[duel->pairs]);
        if (status != HEED_OK)
            break;
        duel->pairs++;
        if (!look_is_due(duel, &options->rules))
            continue;
        status = judge(duel, &options->rules);
        if (duel->comparison.verdict != LAB_AMBIGUOUS)
            break;
    }
    return status;
}

heed_status lab_duel_run(lab_duel *duel, const lab_side *a, const lab_side *b,
                         const lab_duel_options *options)
{
    full_duel full = { .renewal = 0 };
    int64_t start = heed_clock_ns();
    memset(duel, 0, sizeof *duel);
    heed_status status = full_options(options, &full.options, &full.stretches_min);
    if (status == HEED_OK && full.options.round == 0)
        status = time_round(a, b, &full);
    if (status != HEED_OK)
        return status;
    duel->planned = plan_pairs(&full);
    duel->a = calloc(duel->planned, sizeof *duel->a);
    duel->b = calloc(duel->planned, sizeof *duel->b);
    if (!duel->a || !duel->b)
        return HEED_ERR_NO_MEMORY;
    status = take_turns(duel, a, b, &full);
    if (status == HEED_OK)
        status = judge(duel, &full.options.rules);
    duel->seconds = (double)(heed_clock_ns() - start) * 1e-9;
    return status;
}

void lab_duel_free(lab_duel *duel)
{
    free(duel->a);
    free(duel->b);
    memset(duel, 0, sizeof *duel);
}
