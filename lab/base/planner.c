/*
 * planner.c - queries to the library's planner
 */
#include "planner.h"

#include <stdio.h>
#include <string.h>

#include "src/cpu/features.h"

const char *lab_cpu_feature(size_t index)
{
    const heed_cpu_feature *row = heed_cpu_features;
    while (row->name && index-- > 0)
        row++;
    return row->name;
}

bool lab_cpu_has(const char *features, const char *name)
{
    unsigned all = 0, wanted, some;
    if (!features || !heed_cpu_allowed(heed_cpu_features, name, &wanted))
        return false;
    for (const char *at = features;; at++) {
        char word[HEED_FEATURES_SIZE];
        size_t length = strcspn(at, "+");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (length >= sizeof word || !heed_cpu_allowed(heed_cpu_features, word, &some))
            return false;
        all |= some;
        at += length;
        if (!*at)
            return (wanted & ~all) == 0;
    }
}

heed_candidate lab_plan_chosen(const heed_plan *plan)
{
    heed_candidate candidate;
    for (size_t i = 0; heed_plan_candidate(plan, i, &candidate) == HEED_OK; i++)
        if (candidate.chosen)
            return candidate;
    return (heed_candidate){ .name = heed_plan_name(plan), .predicted = -1, .measured = -1 };
}
