/*
 * family.c - Holm's method over comparisons; pooled ratio of many duels, with stretches grouped to
 * fit an exact interval
 */
#include "family.h"

#include <stdlib.h>

#include "looks.h"

/* The rules with 1/@statements of the error for each statement; a single shape has two. */
static lab_rules share_of(const lab_rules *rules, size_t statements)
{
    lab_rules share = rules ? *rules : (lab_rules){ 0 };
    double confidence = share.confidence != 0 ? share.confidence : LAB_COMPARE_CONFIDENCE;
    share.confidence = 1 - 2 * (1 - confidence) / (double)statements;
    return share;
}

lab_rules lab_family_rules(const lab_rules *rules, size_t count)
{
    return share_of(rules, 2 * (count ? count : 1));
}

static bool differs(const lab_comparison *comparison)
{
    return comparison->verdict == LAB_FASTER || comparison->verdict == LAB_SLOWER;
}

heed_status lab_family_judge(const lab_family_member *members, size_t count, const lab_rules *rules)
{
    size_t done = 0, before;
    for (size_t i = 0; i < count; i++)
        *members[i].comparison = (lab_comparison){ 0 };
    do {
        lab_rules share = share_of(rules, 2 * count - done);
        before = done;
        for (size_t i = 0; i < count; i++) {
            lab_comparison *comparison = members[i].comparison;
            if (differs(comparison))
                continue;
            heed_status status = lab_compare(&members[i].series, &share, comparison);
            if (status != HEED_OK)
                return status;
            done += differs(comparison);
        }
    } while (done > before && done < count);
    return HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* The ratio of many duels                                                    */
/* -------------------------------------------------------------------------- */

static size_t stretch_of(const lab_series *series)
{
    return lab_stretch_pairs(series->planned ? series->planned : series->pairs);
}

/* Replaces groups of neighbours by their estimates; repeats if there are still too many. */
static size_t group(double *units, size_t count)
{
    while (count > LAB_PAIRED_MAX) {
        size_t size = (count + LAB_PAIRED_MAX - 1) / LAB_PAIRED_MAX, groups = 0;
        size = size < LAB_PAIRED_MAX ? size : LAB_PAIRED_MAX;
        for (size_t start = 0; start < count; start += size) {
            size_t there = count - start < size ? count - start : size;
            units[groups++] = lab_paired_estimate(units + start, there);
        }
        count = groups;
    }
    return count;
}

heed_status lab_pooled_ratio(const lab_series *series, size_t count, double confidence,
                             lab_interval *ratio)
{
    size_t room = 0, units = 0;
    for (size_t i = 0; i < count; i++)
        room += series[i].pairs / stretch_of(&series[i]);
    if (room == 0)
        return HEED_ERR_INVALID;
    double *all = malloc((room + LAB_PAIRED_MAX) * sizeof *all);
    if (!all)
        return HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        units += lab_stretch_units(&series[i], series[i].pairs, stretch_of(&series[i]),
                                   all + units);
    units = group(all, units);
    lab_units_ratio(all, units, (1 - confidence) / 2, ratio);
    free(all);
    return HEED_OK;
}
