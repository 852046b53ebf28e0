/*
 * duel.c - runs blocks of two sides in turns, and looks when it is time to look
 */
#include "duel.h"

#include <stdlib.h>
#include <string.h>

#include "lab/tensor/random.h"
#include "measure.h"

/* A pair that takes less than this share of the time is run a second time to see how long it takes:
 * the first time pays for what is new. */
#define CHEAP 0.02

bool lab_interleave_second(uint64_t seed, size_t block)
{
    bool turned = lab_random_bits(seed, block / 2) & 1;
    return turned != (block % 2 == 1);
}

static heed_status full_options(const lab_duel_options *options, lab_duel_options *full)
{
    *full = options ? *options : (lab_duel_options){ 0 };
    if (full->seconds == 0)
        full->seconds = LAB_DUEL_SECONDS;
    if (full->pairs_min == 0)
        full->pairs_min = LAB_DUEL_PAIRS_MIN;
    if (full->pairs_max == 0)
        full->pairs_max = LAB_PAIRS_MAX;
    if (full->rules.looks == 0)
        full->rules.looks = LAB_DUEL_LOOKS;
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
        status = side->fn(side->data, second ? b_seconds : a_seconds);
    }
    return status;
}

/* How long a pair of blocks takes, with all that belongs to it. */
static heed_status time_round(const lab_side *a, const lab_side *b, lab_duel_options *options)
{
    double unused;
    heed_status status = HEED_OK;
    for (int run = 0; run < 2 && status == HEED_OK; run++) {
        int64_t start = heed_clock_ns();
        status = run_pair(a, b, 0, 0, &unused, &unused);
        options->round = (double)(heed_clock_ns() - start) * 1e-9;
        if (options->round > CHEAP * options->seconds)
            break;
    }
    return status;
}

/* As many pairs as there is time for, in whole stretches. */
static size_t plan_pairs(const lab_duel_options *options)
{
    double affordable = options->round > 0 ? options->seconds / options->round
                                           : (double)options->pairs_max;
    size_t pairs = affordable < (double)options->pairs_min   ? options->pairs_min
                   : affordable > (double)options->pairs_max ? options->pairs_max
                                                             : (size_t)affordable;
    return pairs / lab_stretch_pairs(pairs) * lab_stretch_pairs(pairs);
}

static heed_status renew(const lab_side *side, uint64_t seed, size_t pair)
{
    return side->renew ? side->renew(side->data, lab_random_bits(lab_random_stream(seed, 1), pair))
                       : HEED_OK;
}

/* Both sides move. They are not to get the same place. */
static heed_status renew_both(const lab_side *a, const lab_side *b, uint64_t seed, size_t pair)
{
    heed_status status = renew(a, seed, 2 * pair);
    return status == HEED_OK ? renew(b, seed, 2 * pair + 1) : status;
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

/* Is a look due with the pairs there are? */
static bool look_is_due(const lab_duel *duel, const lab_rules *rules)
{
    for (size_t look = 0; look < rules->looks; look++)
        if (lab_look_pairs(duel->planned, rules->looks, look) == duel->pairs)
            return true;
    return false;
}

/* The turns. Between two stretches it is seen whether the time is over. */
static heed_status take_turns(lab_duel *duel, const lab_side *a, const lab_side *b,
                              const lab_duel_options *options)
{
    size_t stretch = lab_stretch_pairs(duel->planned);
    int64_t end = heed_clock_ns() + (int64_t)(options->seconds * 1e9);
    heed_status status = HEED_OK;
    while (status == HEED_OK && duel->pairs < duel->planned) {
        if (duel->pairs % stretch == 0) {
            if (duel->pairs >= options->pairs_min && heed_clock_ns() >= end) {
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
        if (duel->comparison.stop == LAB_STOP_CLEAR)
            break;
    }
    return status;
}

heed_status lab_duel_run(lab_duel *duel, const lab_side *a, const lab_side *b,
                         const lab_duel_options *options)
{
    lab_duel_options full;
    int64_t start = heed_clock_ns();
    memset(duel, 0, sizeof *duel);
    heed_status status = full_options(options, &full);
    if (status == HEED_OK && full.round == 0)
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
        status = judge(duel, &full.rules);
    duel->seconds = (double)(heed_clock_ns() - start) * 1e-9;
    return status;
}

void lab_duel_free(lab_duel *duel)
{
    free(duel->a);
    free(duel->b);
    memset(duel, 0, sizeof *duel);
}
