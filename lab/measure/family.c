/*
 * family.c - Holm's method over comparisons
 */
#include "family.h"

#include <stdlib.h>
#include <string.h>

#include "lab/tensor/random.h"

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

static heed_status judge_duels(lab_duel *duels, size_t count, const lab_rules *rules)
{
    lab_family_member *members = calloc(count, sizeof *members);
    for (size_t i = 0; members && i < count; i++)
        members[i] = (lab_family_member){ lab_duel_series(&duels[i]), &duels[i].comparison };
    heed_status status = members ? lab_family_judge(members, count, rules) : HEED_ERR_NO_MEMORY;
    free(members);
    return status;
}

heed_status lab_family_run(lab_duel *duels, const lab_family *family,
                           const lab_duel_options *options)
{
    lab_duel_options each = options ? *options : (lab_duel_options){ 0 };
    uint64_t seed = each.seed;
    heed_status status = HEED_OK;
    if (each.rules.looks == 0)
        each.rules.looks = LAB_DUEL_LOOKS;
    lab_rules rules = each.rules;
    each.rules = lab_family_rules(&rules, family->count);
    memset(duels, 0, family->count * sizeof *duels);
    for (size_t i = 0; i < family->count && status == HEED_OK; i++) {
        lab_side a, b;
        each.seed = lab_random_stream(seed, i);
        status = family->meet(family->data, i, &a, &b);
        if (status != HEED_OK)
            break;
        status = lab_duel_run(&duels[i], &a, &b, &each);
        if (family->part)
            family->part(family->data, i);
    }
    return status == HEED_OK ? judge_duels(duels, family->count, &rules) : status;
}
