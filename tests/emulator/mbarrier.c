/*
 * mbarrier.c - barriers in shared memory
 *
 * A phase joins the clocks of the threads that arrive. Threads that wait receive the result when it
 * completes, along with those of the copies that it counted.
 */
#include "emulator/machine.h"

#include <string.h>

#define BARRIER_BYTES 8
#define COUNT_MAX ((1u << 20) - 1) /* of arrivals, and of bytes */

void mbarrier_reset(machine *m)
{
    m->mbarrier_count = 0;
}

bool mbarrier_touched(const machine *m, uint32_t smem, uint32_t size)
{
    for (uint32_t i = 0; i < m->mbarrier_count; i++)
        if (smem < m->mbarriers[i].smem + BARRIER_BYTES && m->mbarriers[i].smem < smem + size)
            return true;
    return false;
}

static mbarrier *find(machine *m, uint32_t smem)
{
    for (uint32_t i = 0; i < m->mbarrier_count; i++)
        if (m->mbarriers[i].smem == smem)
            return &m->mbarriers[i];
    return NULL;
}

mbarrier *mbarrier_at(const access *it)
{
    machine *m = it->m;
    bool within = it->smem - it->base < EMULATOR_SHARED_BASE + m->shared_bytes;
    mbarrier *b = within ? find(m, it->smem) : NULL;
    if (!b)
        machine_fail(m, "%s: thread %s %s shared byte %s, which no barrier was made at",
                     machine_site_print(m, it->at).text, machine_thread_print(m, it->actor).text,
                     it->verb, machine_shared_print(m, it->smem).text);
    else
        order_after_write(it);
    return b;
}

void mbarrier_count_copy(const access *it, mbarrier *b)
{
    machine *m = it->m;
    if (!b->fenced)
        machine_race(m,
                     "%s: thread %s copies for barrier %s, made at %s: missing "
                     "fence.mbarrier_init",
                     machine_site_print(m, it->at).text, machine_thread_print(m, it->actor).text,
                     machine_shared_print(m, b->smem).text, machine_site_print(m, b->at).text);
    b->copied = b->phase + 1;
}

void emulator_mbarrier_init(uint32_t smem, uint32_t count)
{
    machine *m = machine_here();
    access it = shared_access(m, m->running, smem, "makes a barrier of");
    if (!shared_locate(&it, BARRIER_BYTES, BARRIER_BYTES))
        return;
    if (count == 0 || count > COUNT_MAX)
        machine_fail(m, "%s: a barrier for %u arrivals; %u is the most",
                     machine_site_print(m, it.at).text, count, COUNT_MAX);
    if (m->mbarrier_count == m->cluster * MBARRIERS_MAX)
        machine_fail(m, "%s: more than %u barriers", machine_site_print(m, it.at).text,
                     m->cluster * MBARRIERS_MAX);
    order_write(&it, BARRIER_BYTES, PLAIN, it.actor, it.tick);
    uint32_t *clocks = m->mbarrier_clocks + (size_t)2 * m->mbarrier_count * m->stride;
    memset(clocks, 0, (size_t)2 * m->stride * sizeof *clocks);
    m->mbarriers[m->mbarrier_count++] = (mbarrier){ .smem = it.smem,
                                                    .count = count,
                                                    .pending = count,
                                                    .actor = order_actor(m),
                                                    .maker = it.actor,
                                                    .at = it.at,
                                                    .gathered = clocks,
                                                    .over = clocks + m->stride };
}

void emulator_fence(bool barriers)
{
    machine *m = machine_here();
    uint32_t self = machine_index(m, m->running);
    for (uint32_t i = 0; i < m->mbarrier_count; i++)
        if (m->mbarriers[i].maker == self)
            m->mbarriers[i].fenced = true;
    if (!barriers)
        order_fence(m, self);
}

/* The phase is complete when all have arrived. */
static void settle(machine *m, mbarrier *b)
{
    uint32_t *clock = b->over;
    if (b->pending > 0 || b->bytes != 0)
        return;
    b->over = b->gathered;
    b->gathered = clock;
    memset(clock, 0, m->stride * sizeof *clock);
    b->phase++;
    b->pending = b->count;
    b->over[b->actor] = b->phase;
}

void mbarrier_bytes(machine *m, mbarrier *b, uint32_t bytes)
{
    b->bytes -= (int32_t)bytes;
    if (b->bytes < -(int32_t)COUNT_MAX)
        machine_fail(m, "%s: barrier %s: %d bytes more than were announced",
                     machine_site_print(m, b->at).text, machine_shared_print(m, b->smem).text,
                     -b->bytes);
    settle(m, b);
}

void emulator_mbarrier_arrive(uint32_t smem, uint32_t bytes)
{
    machine *m = machine_here();
    thread *t = m->running;
    access it = shared_access(m, t, smem, "arrives at");
    mbarrier *b = mbarrier_at(&it);
    if (!b)
        return;
    site at = it.at;
    if (b->pending == 0)
        machine_fail(m, "%s: thread %s arrives at barrier %s, for whose phase all %u have come",
                     machine_site_print(m, at).text, machine_thread_print(m, it.actor).text,
                     machine_shared_print(m, b->smem).text, b->count);
    if (bytes > COUNT_MAX || b->bytes + (int32_t)bytes > (int32_t)COUNT_MAX)
        machine_fail(m, "%s: barrier %s awaits more than %u bytes", machine_site_print(m, at).text,
                     machine_shared_print(m, b->smem).text, COUNT_MAX);
    b->bytes += (int32_t)bytes;
    b->pending--;
    order_release(m, machine_index(m, t), b->gathered);
    settle(m, b);
}

void emulator_mbarrier_wait(uint32_t smem, uint32_t parity)
{
    machine *m = machine_here();
    thread *t = m->running;
    access it = shared_access(m, t, smem, "waits for");
    mbarrier *b = mbarrier_at(&it);
    if (!b)
        return;
    site at = it.at;
    if (parity > 1)
        machine_fail(m, "%s: thread %s waits for parity %u", machine_site_print(m, at).text,
                     machine_thread_print(m, it.actor).text, parity);
    bool over = b->phase % 2 != parity;
    if (over && b->phase == 0)
        return; /* there was no earlier phase */
    t->waits = (waits){ .barrier = b, .phase = over ? b->phase - 1 : b->phase };
    if (!over) {
        t->state = WAITING;
        machine_give_way(m);
    }
    if (b->phase > t->waits.phase + 1)
        machine_fail(m, "%s: thread %s waits for a phase of barrier %s, and the next one is over",
                     machine_site_print(m, at).text, machine_thread_print(m, it.actor).text,
                     machine_shared_print(m, b->smem).text);
    order_join(m, order_clock(m, machine_index(m, t)), b->over);
}

bool waits_over(const thread *t)
{
    const waits *w = &t->waits;
    return w->barrier   ? w->barrier->phase > w->phase
           : w->meeting ? w->meeting->phase > w->phase
                        : t->stores_left == 0;
}

void mbarrier_finish(machine *m)
{
    for (uint32_t i = 0; i < m->mbarrier_count && !m->report->error[0]; i++) {
        const mbarrier *b = &m->mbarriers[i];
        uint32_t known = 0;
        for (uint32_t t = 0; t < m->count; t++)
            if (known < order_clock(m, t)[b->actor])
                known = order_clock(m, t)[b->actor];
        if (known < b->copied)
            machine_fail(m, "%s: barrier %s counts copies that no thread has waited for",
                         machine_site_print(m, b->at).text, machine_shared_print(m, b->smem).text);
    }
}
