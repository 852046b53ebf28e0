/*
 * point_facts.c - facts about a point before it runs
 */
#include "lab/search/point_facts.h"

#include <math.h>

/* The meaning of each fact. */
static const struct {
    const char *name;
    const char *unit;
    bool more;        /* larger is better */
    bool traded;      /* counts in the Pareto front */
    int64_t standard; /* limit; -1: none */
} facts[LAB_FACTS] = {
    [LAB_FACT_REGISTERS] = { "registers", "registers a thread", false, true, -1 },
    [LAB_FACT_SPILLS] = { "spills", "bytes of spills a thread", false, false, 0 },
    [LAB_FACT_SMEM] = { "smem", "bytes of shared memory a block", false, true, -1 },
    [LAB_FACT_BLOCKS] = { "blocks", "blocks a multiprocessor", true, false, 1 },
    [LAB_FACT_WARPS] = { "warps", "warps a multiprocessor", true, true, -1 },
};

const char *lab_fact_name(lab_fact fact)
{
    return fact < LAB_FACTS ? facts[fact].name : "unknown";
}

lab_point_facts lab_point_facts_unknown(void)
{
    lab_point_facts none;
    for (int i = 0; i < LAB_FACTS; i++)
        none.value[i] = -1;
    return none;
}

void lab_point_facts_worsen(lab_point_facts *point_facts, const lab_point_facts *other)
{
    for (int i = 0; i < LAB_FACTS; i++) {
        int64_t *mine = &point_facts->value[i], theirs = other->value[i];
        bool worse = facts[i].more ? theirs < *mine : theirs > *mine;
        if (theirs >= 0 && (*mine < 0 || worse))
            *mine = theirs;
    }
}

lab_bounds lab_bounds_standard(void)
{
    lab_bounds limits;
    for (int i = 0; i < LAB_FACTS; i++)
        limits.value[i] = facts[i].standard;
    return limits;
}

bool lab_point_facts_within(const lab_point_facts *point_facts, const lab_bounds *limits,
                            lab_error *why)
{
    for (int i = 0; i < LAB_FACTS; i++) {
        int64_t value = point_facts->value[i], limit = limits->value[i];
        if (value < 0 || limit < 0 || (facts[i].more ? value >= limit : value <= limit))
            continue;
        lab_fail(why, HEED_ERR_UNSUPPORTED, "%lld %s; the limit is %s %lld", (long long)value,
                 facts[i].unit, facts[i].more ? "at least" : "at most", (long long)limit);
        return false;
    }
    return true;
}

/* True if @a is at least as good as @b in everything, and better in something. */
static bool beats(const lab_standing *a, const lab_standing *b)
{
    bool better = a->time < b->time;
    if (a->time > b->time)
        return false;
    for (int i = 0; i < LAB_FACTS; i++) {
        int64_t mine = a->point_facts.value[i], theirs = b->point_facts.value[i];
        if (!facts[i].traded || mine < 0 || theirs < 0 || mine == theirs)
            continue;
        if ((mine > theirs) != facts[i].more)
            return false;
        better = true;
    }
    return better;
}

void lab_point_facts_front(const lab_standing *standings, size_t count, bool *front)
{
    for (size_t i = 0; i < count; i++) {
        front[i] = isfinite(standings[i].time);
        for (size_t j = 0; j < count && front[i]; j++)
            if (isfinite(standings[j].time) && beats(&standings[j], &standings[i]))
                front[i] = false;
    }
}
