/*
 * barrier.c - barriers of the block, and messages about deadlocks
 */
#include "emulator/machine.h"

#include <stdio.h>
#include <string.h>

static bool waits_at(const thread *t, uint32_t id)
{
    return t->state == MEETING && t->request->what == EMULATOR_BARRIER && t->request->x == id;
}

/* All threads that wait at a barrier must do so at the same instruction: compute-sanitizer's
 * synccheck reports others as divergent. A place is a line here, so an inline function that is
 * called twice is one place. A thread that only arrives may do so anywhere. */
static void check_place(machine *m, uint32_t id, const thread *one, const thread *other)
{
    site here = machine_site(m, other), there = machine_site(m, one);
    if (here != there)
        machine_fail(m, "%s: threads wait at barrier %u here and at %s",
                     machine_site_print(m, here).text, id, machine_site_print(m, there).text);
}

/* Releases the threads at barrier @id of a block if all have arrived. */
static bool release(machine *m, uint32_t block, uint32_t id)
{
    arrivals *early = &m->arrivals[block][id];
    uint32_t waiting[LANES * WARPS_MAX], come = 0, wanted = early->wanted;
    uint32_t first = block * m->launch->threads, end = first + m->launch->threads;
    for (uint32_t i = first; i < end; i++)
        if (waits_at(&m->threads[i], id)) {
            int n = m->threads[i].request->n;
            wanted = n ? (uint32_t)n : m->launch->threads;
            waiting[come++] = i;
        }
    if (wanted == 0 || come + early->come != wanted)
        return false;
    order_meet(m, waiting, come, early->clock);
    for (uint32_t i = 0; i < come; i++) {
        check_place(m, id, &m->threads[waiting[0]], &m->threads[waiting[i]]);
        m->threads[waiting[i]].state = READY;
    }
    memset(early->clock, 0, m->stride * sizeof *early->clock);
    early->come = early->wanted = 0;
    return true;
}

bool barrier_release_complete(machine *m)
{
    uint32_t ids[CLUSTER_MAX] = { 0 };
    bool any = false;
    for (uint32_t i = 0; i < m->count; i++) {
        const thread *t = &m->threads[i];
        if (t->state == MEETING && t->request->what == EMULATOR_BARRIER)
            ids[t->rank] |= 1u << t->request->x;
    }
    for (uint32_t b = 0; b < m->cluster; b++)
        for (; ids[b]; ids[b] &= ids[b] - 1)
            any = release(m, b, (uint32_t)__builtin_ctz(ids[b])) || any;
    return any;
}

void barrier_arrive(machine *m, thread *lanes)
{
    const emulator_request *request = lanes->request;
    arrivals *early = &m->arrivals[lanes->rank][request->x];
    release(m, lanes->rank, request->x); /* if it is complete, this is the next phase */
    if (early->wanted && early->wanted != (uint32_t)request->n)
        machine_fail(m, "%s: barrier %u of %d threads is one of %u elsewhere",
                     machine_site_print(m, machine_site(m, lanes)).text, request->x, request->n,
                     early->wanted);
    early->wanted = (uint32_t)request->n;
    early->come += LANES;
    for (uint32_t i = 0; i < LANES; i++)
        order_release(m, machine_index(m, lanes) + i, early->clock);
    release(m, lanes->rank, request->x);
}

static const char *what_of(const thread *t)
{
    if (t->state == WAITING)
        return t->waits.barrier   ? "a barrier in shared memory"
               : t->waits.meeting ? "the barrier of the cluster"
                                  : "stores to read shared memory";
    return t->request->what == EMULATOR_BARRIER      ? "a barrier of the block"
           : t->request->what == EMULATOR_WGMMA_WAIT ? "a group of wgmma"
                                                     : "others of its warp";
}

/* No thread can continue, and not all wait at barriers of the block: reports where they wait. */
static void fail_stuck(machine *m)
{
    char text[EMULATOR_TEXT_SIZE] = "";
    size_t length = 0;
    site seen[4] = { 0 };
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->count && count < 4; i++) {
        const thread *t = &m->threads[i];
        site at = machine_site(m, t);
        bool known = t->state == GONE;
        for (uint32_t k = 0; k < count; k++)
            known = known || seen[k] == at;
        if (known)
            continue;
        seen[count++] = at;
        int n = snprintf(text + length, sizeof text - length, "%s thread %s waits for %s at %s",
                         length ? "," : "", machine_thread_print(m, i).text, what_of(t),
                         machine_site_print(m, at).text);
        length = n < 0 || length + (size_t)n >= sizeof text ? sizeof text - 1 : length + (size_t)n;
    }
    machine_fail(m, "deadlock:%s", text);
}

void barrier_finish(machine *m)
{
    const thread *waiting = NULL, *other = NULL;
    bool stuck = false;
    for (uint32_t i = 0; i < m->count; i++) {
        const thread *t = &m->threads[i];
        if (!waiting && t->state == MEETING)
            waiting = t;
        stuck = stuck || t->state == WAITING ||
                (t->state == MEETING && t->request->what != EMULATOR_BARRIER);
    }
    if (stuck)
        fail_stuck(m);
    if (!waiting || stuck)
        return;
    uint32_t id = waiting->request->x, first = waiting->rank * m->launch->threads;
    uint32_t come = 0;
    for (uint32_t i = first; i < first + m->launch->threads; i++) {
        come += waits_at(&m->threads[i], id);
        if (!other && !waits_at(&m->threads[i], id))
            other = &m->threads[i];
    }
    site_text at = machine_site_print(m, machine_site(m, waiting));
    if (!other)
        machine_fail(m, "%s: deadlock: more threads than barrier %u is for", at.text, id);
    else
        machine_fail(m, "%s: deadlock: %u threads wait at barrier %u, but thread %s %s %s", at.text,
                     come, id, machine_thread_print(m, machine_index(m, other)).text,
                     other->state == GONE ? "has left after" : "waits at",
                     machine_site_print(m, machine_site(m, other)).text);
}
