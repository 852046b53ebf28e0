/*
 * cluster.c - blocks of a cluster: their barrier, and accesses to shared memory of other blocks
 *
 * A store arrives some turns after it was started, in random order. Until then its target is
 * poison. A barrier of the target block counts its bytes, and is the only way to wait for it: only
 * threads that wait for the barrier's phase may use the data.
 */
#include "emulator/machine.h"

#include <string.h>

#define TURNS_MAX 6 /* that a store may take at most */

/* Cluster addresses of shared memory: that of the first block starts here, those of the others
 * follow at the same distance. A thread's block-local addresses are smaller. */
#define WINDOW_BITS 24

typedef struct remote_store {
    mbarrier *barrier;
    uint32_t phase; /* of the barrier */
    uint32_t smem;
    uint32_t due; /* turn */
    site at;
    uint8_t bytes[8];
} remote_store;

void cluster_reset(machine *m)
{
    meeting *all = &m->meeting;
    all->phase = all->come = 0;
    all->threads = all->pending = m->count;
    memset(all->gathered, 0, m->stride * sizeof *all->gathered);
    memset(all->over, 0, m->stride * sizeof *all->over);
    for (uint32_t b = 0; b < m->cluster; b++)
        m->staying[b] = m->launch->threads;
    for (uint32_t i = 0; i < m->count; i++) {
        m->threads[i].meetings = 0;
        m->threads[i].met = false;
    }
}

/* -------------------------------------------------------------------------- */
/* The barrier                                                                */
/* -------------------------------------------------------------------------- */

/* The phase is complete when all threads that have not exited have arrived. */
static void settle(machine *m)
{
    meeting *all = &m->meeting;
    uint32_t *clock = all->over;
    if (all->pending > 0 || all->come == 0)
        return;
    all->over = all->gathered;
    all->gathered = clock;
    memset(clock, 0, m->stride * sizeof *clock);
    all->phase++;
    all->pending = all->threads;
    all->come = 0;
}

void emulator_cluster_arrive(void)
{
    machine *m = machine_here();
    thread *t = m->running;
    uint32_t self = machine_index(m, t);
    if (t->meetings > 0 && !t->met)
        machine_fail(
            m,
            "%s: thread %s arrives at the barrier of the cluster, but has not waited since "
            "it did before",
            machine_site_print(m, machine_site(m, t)).text, machine_thread_print(m, self).text);
    t->met = false;
    t->meetings++;
    m->meeting.come++;
    m->meeting.pending--;
    order_release(m, self, m->meeting.gathered);
    settle(m);
}

void emulator_cluster_wait(void)
{
    machine *m = machine_here();
    thread *t = m->running;
    uint32_t self = machine_index(m, t);
    if (t->meetings == 0 || t->met)
        machine_fail(m, "%s: thread %s waits for the barrier of the cluster without having arrived",
                     machine_site_print(m, machine_site(m, t)).text,
                     machine_thread_print(m, self).text);
    t->waits = (waits){ .meeting = &m->meeting, .phase = t->meetings - 1 };
    if (m->meeting.phase < t->meetings) {
        t->state = WAITING;
        machine_give_way(m);
    }
    order_join(m, order_clock(m, self), m->meeting.over);
    t->met = true;
}

/* -------------------------------------------------------------------------- */
/* Stores to other blocks                                                     */
/* -------------------------------------------------------------------------- */

uint32_t emulator_rank(void)
{
    return machine_here()->running->rank;
}

uint32_t emulator_mapped(uint32_t smem, uint32_t rank)
{
    machine *m = machine_here();
    if (rank >= m->cluster || smem >> WINDOW_BITS != 0)
        machine_fail(m, "%s: thread %s maps shared byte %u to block %u of a cluster of %u",
                     machine_site_print(m, machine_site(m, m->running)).text,
                     machine_thread_print(m, machine_index(m, m->running)).text, smem, rank,
                     m->cluster);
    return smem | (rank + 1) << WINDOW_BITS;
}

/* The block of an address, block-local or mapped. */
static uint32_t rank_of(const thread *t, uint32_t smem)
{
    uint32_t window = smem >> WINDOW_BITS;
    return window == 0 ? t->rank : window - 1;
}

/* Returns whether the access is ordered after anything in block @rank, at least its start. */
static bool knows(const access *it, uint32_t rank)
{
    uint32_t threads = it->m->launch->threads;
    for (uint32_t i = 0; i < threads; i++)
        if (it->clock[rank * threads + i] > 0)
            return true;
    return false;
}

/* Checks that block @rank, which the thread accesses, exists, has started and has not exited. */
static void check_there(const access *it, uint32_t rank)
{
    machine *m = it->m;
    const site_text at = machine_site_print(m, it->at);
    const number_text who = machine_thread_print(m, it->actor);
    if (rank >= m->cluster)
        machine_fail(m, "%s: thread %s %s block %u of a cluster of %u", at.text, who.text, it->verb,
                     rank, m->cluster);
    else if (m->staying[rank] == 0)
        machine_fail(m, "%s: thread %s %s block %u, which has left", at.text, who.text, it->verb,
                     rank);
    else if (!knows(it, rank))
        machine_race(m,
                     "%s: thread %s %s block %u, which may not have begun: missing "
                     "barrier.cluster",
                     at.text, who.text, it->verb, rank);
}

static access cluster_access(machine *m, const thread *t, uint32_t smem, const char *verb)
{
    access it = shared_access(m, t, 0, verb);
    uint32_t rank = rank_of(t, smem);
    if (smem >> WINDOW_BITS != 0)
        check_there(&it, rank);
    it.base = rank * m->pitch;
    it.smem = it.base + (smem & ((1u << WINDOW_BITS) - 1));
    return it;
}

void emulator_remote_store(uint32_t smem, const void *from, uint32_t barrier)
{
    machine *m = machine_here();
    const thread *t = m->running;
    access it = cluster_access(m, t, smem, "stores to");
    access counted = cluster_access(m, t, barrier, "counts a store at");
    uint32_t rank = rank_of(t, smem);
    if (rank != rank_of(t, barrier))
        machine_fail(m, "%s: thread %s stores to block %u, and counts it at a barrier of block %u",
                     machine_site_print(m, it.at).text, machine_thread_print(m, it.actor).text,
                     rank, rank_of(t, barrier));
    mbarrier *b = mbarrier_at(&counted);
    remote_store s = { .barrier = b, .smem = it.smem, .at = it.at };
    uint8_t *to = shared_locate(&it, sizeof s.bytes, sizeof s.bytes);
    remote_store *list = machine_grow(m, m->remote_stores, m->remote_count, &m->remote_room,
                                      sizeof *list);
    if (!b || !to || !list)
        return;
    m->remote_stores = list;
    mbarrier_count_copy(&counted, b);
    s.phase = b->phase;
    s.due = m->turn + machine_random(m, TURNS_MAX + 1);
    memcpy(s.bytes, from, sizeof s.bytes);
    list[m->remote_count++] = s;
    order_write(&it, sizeof s.bytes, PLAIN, b->actor, b->phase + 1);
    memset(to, POISON, sizeof s.bytes);
}

static void deliver(machine *m, size_t index)
{
    remote_store s = m->remote_stores[index];
    m->remote_stores[index] = m->remote_stores[--m->remote_count];
    memcpy(m->shared + (s.smem - EMULATOR_SHARED_BASE), s.bytes, sizeof s.bytes);
    if (s.barrier->phase != s.phase)
        machine_fail(m, "%s: the phase of barrier %s is over before this store has come",
                     machine_site_print(m, s.at).text,
                     machine_shared_print(m, s.barrier->smem).text);
    mbarrier_bytes(m, s.barrier, sizeof s.bytes);
}

bool cluster_deliver(machine *m, bool any)
{
    bool moved = false;
    for (size_t i = 0; i < m->remote_count && !m->report->error[0];) {
        if (m->remote_stores[i].due > m->turn) {
            i++;
            continue;
        }
        deliver(m, i);
        moved = true;
    }
    if (!moved && any && m->remote_count > 0) {
        deliver(m, machine_random(m, (uint32_t)m->remote_count));
        moved = true;
    }
    return moved;
}

/* -------------------------------------------------------------------------- */
/* The end of a block                                                         */
/* -------------------------------------------------------------------------- */

/* The last thread of block @rank exits: no store to it may be under way. */
static void check_alone(machine *m, uint32_t rank)
{
    uint32_t first = rank * m->pitch, end = first + m->pitch;
    for (uint32_t i = 0; i < m->mbarrier_count; i++) {
        const mbarrier *b = &m->mbarriers[i];
        if (b->smem - EMULATOR_SHARED_BASE >= first && b->smem - EMULATOR_SHARED_BASE < end &&
            b->bytes > 0)
            machine_fail(m, "%s: block %u leaves, but barrier %u still awaits %d bytes",
                         machine_site_print(m, b->at).text, rank, b->smem - first, b->bytes);
    }
    for (size_t i = 0; i < m->remote_count; i++) {
        uint32_t offset = m->remote_stores[i].smem - EMULATOR_SHARED_BASE;
        if (offset >= first && offset < end)
            machine_fail(m, "%s: block %u leaves before this store to it has come",
                         machine_site_print(m, m->remote_stores[i].at).text, rank);
    }
}

void cluster_left(machine *m, thread *t)
{
    meeting *all = &m->meeting;
    if (--m->staying[t->rank] == 0 && m->cluster > 1)
        check_alone(m, t->rank);
    all->threads--;
    if (t->meetings == all->phase) {
        all->pending--;
        settle(m);
    }
}
