/*
 * banks.c - bank conflicts in shared memory: number of passes through its 32 banks that an access
 * takes
 *
 * The lanes of an access that is not collective run one after another. Their accesses are logged
 * until the warp meets. Those that came from the same line, in the same order, are treated as one
 * access.
 */
#include "emulator/machine.h"

#include <stdio.h>

#define PASS_BYTES 128 /* of all banks together */

static tally *tally_of(machine *m, site at)
{
    uint32_t i = at * 2654435761u % SITES_MAX;
    for (int tries = 0; tries < SITES_MAX - 1 && m->tallies[i].at && m->tallies[i].at != at;
         tries++)
        i = (i + 1) % SITES_MAX;
    m->tallies[i].at = at;
    return &m->tallies[i];
}

/* Passes for @count lanes, which would fit into one pass: words at the same place in the banks but
 * in different rows take one pass each. 0 if no lane takes part. */
static uint32_t passes(const uint32_t *smem, uint32_t count, uint32_t unit)
{
    uint32_t rows[LANES][LANES], used[LANES] = { 0 }, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = smem[i] / PASS_BYTES, place = smem[i] % PASS_BYTES / unit, k = 0;
        if (smem[i] == 0)
            continue;
        while (k < used[place] && rows[place][k] != row)
            k++;
        rows[place][k] = row;
        if (k == used[place])
            used[place]++;
        if (most < used[place])
            most = used[place];
    }
    return most;
}

void banks_count(machine *m, site at, const uint32_t smem[LANES], uint32_t size)
{
    uint32_t unit = size < 4 ? 4 : size, lanes = PASS_BYTES / unit;
    tally *t = tally_of(m, at);
    for (uint32_t i = 0; i < LANES; i += lanes) {
        uint32_t needed = passes(smem + i, lanes, unit);
        t->passes += needed;
        t->conflicts += needed > 1 ? needed - 1 : 0;
    }
}

void banks_log(machine *m, thread *t, uint32_t smem, uint32_t size)
{
    t->log[t->log_count++] = (access_record){ .at = machine_site(m, t),
                                              .smem = smem,
                                              .size = size };
    if (t->log_count == LOG_MAX) {
        t->state = YIELDED;
        machine_give_way(m);
    }
}

void banks_flush(machine *m, uint32_t warp)
{
    thread *lanes = &m->threads[warp * LANES];
    size_t next[LANES] = { 0 };
    for (uint32_t first = 0; first < LANES;) {
        if (next[first] == lanes[first].log_count) {
            first++;
            continue;
        }
        access_record head = lanes[first].log[next[first]];
        uint32_t smem[LANES] = { 0 };
        for (uint32_t i = first; i < LANES; i++) {
            if (next[i] == lanes[i].log_count || lanes[i].log[next[i]].at != head.at)
                continue;
            smem[i] = lanes[i].log[next[i]++].smem;
        }
        banks_count(m, head.at, smem, head.size);
    }
    for (uint32_t i = 0; i < LANES; i++)
        lanes[i].log_count = 0;
}

void banks_report(machine *m)
{
    emulator_report *report = m->report;
    const tally *worst = NULL;
    for (int i = 0; i < SITES_MAX; i++) {
        const tally *t = &m->tallies[i];
        report->passes += t->passes;
        report->conflicts += t->conflicts;
        if (t->conflicts > 0 && (!worst || worst->conflicts < t->conflicts))
            worst = t;
    }
    if (worst)
        snprintf(report->worst, sizeof report->worst, "%s: %llu",
                 machine_site_print(m, worst->at).text, (unsigned long long)worst->conflicts);
}
