/*
 * family.c - Holm's method over comparisons
 */
#include "family.h"

/* The rules with so much of the error for one statement: a share of @statements, of which a single
 * shape has two. */
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
