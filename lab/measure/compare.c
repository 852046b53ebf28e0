/*
 * compare.c - interleaved blocks and the verdict on them
 */
#include "compare.h"

#include "measure.h"

const char *lab_compared_name(lab_compared verdict)
{
    static const char *const names[] = {
        [LAB_AMBIGUOUS] = "AMBIGUOUS",
        [LAB_FASTER] = "FASTER",
        [LAB_SLOWER] = "SLOWER",
        [LAB_EQUIVALENT] = "EQUIVALENT",
    };

    if ((size_t)verdict >= sizeof names / sizeof names[0])
        return "AMBIGUOUS";
    return names[verdict];
}

static lab_compared judge(const lab_interval *ratio, double margin, size_t pairs)
{
    double upper = 1 + margin;
    double lower = 1 / upper;

    if (pairs < LAB_COMPARE_PAIRS_MIN)
        return LAB_AMBIGUOUS;
    if (ratio->low > upper)
        return LAB_FASTER;
    if (ratio->high < lower)
        return LAB_SLOWER;
    if (ratio->low >= lower && ratio->high <= upper)
        return LAB_EQUIVALENT;
    return LAB_AMBIGUOUS;
}

heed_status lab_compare(const double *a, const double *b, size_t pairs, double margin,
                        const lab_bootstrap *options, lab_comparison *comparison)
{
    if (!(margin >= 0 && margin <= 1))
        return HEED_ERR_INVALID;
    heed_status status = lab_stats_ratio_interval(b, a, pairs, options, &comparison->ratio);
    if (status != HEED_OK)
        return status;
    comparison->margin = margin > 0 ? margin : LAB_COMPARE_MARGIN;
    comparison->pairs = pairs;
    comparison->verdict = judge(&comparison->ratio, comparison->margin, pairs);
    return HEED_OK;
}

bool lab_interleave_second(size_t block)
{
    return block % 4 == 1 || block % 4 == 2;
}

heed_status lab_interleave(const lab_side *a, const lab_side *b, const lab_interleaving *plan,
                           double *a_seconds, double *b_seconds, size_t *pairs)
{
    int64_t end = heed_clock_ns() + plan->budget_ns;

    for (*pairs = 0; *pairs < plan->pairs_max; (*pairs)++) {
        if (*pairs >= plan->pairs_min && heed_clock_ns() >= end)
            break;
        for (size_t half = 0; half < 2; half++) {
            bool second = lab_interleave_second(2 * *pairs + half);
            const lab_side *side = second ? b : a;
            double *seconds = second ? b_seconds : a_seconds;
            heed_status status = side->fn(side->data, &seconds[*pairs]);
            if (status != HEED_OK)
                return status;
        }
    }
    return HEED_OK;
}
