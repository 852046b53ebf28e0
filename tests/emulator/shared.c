/*
 * shared.c - shared memory: bounds, order of accesses, and copies under way
 */
#include "emulator/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is there before anything was written: NaN in every type. */
#define POISON 0xff

void shared_reset(machine *m)
{
    for (uint32_t w = 0; w < m->warps; w++)
        if (m->base < m->clock[w][w])
            m->base = m->clock[w][w];
    for (uint32_t v = 0; v < m->warps; v++)
        for (uint32_t w = 0; w < m->warps; w++)
            m->clock[v][w] = m->base + (v == w);
    memset(m->shared, POISON, m->launch->shared_bytes);
}

/* -------------------------------------------------------------------------- */
/* Order                                                                      */
/* -------------------------------------------------------------------------- */

/* An access: who, where in the kernel, at which bytes. */
typedef struct doing {
    machine *m;
    uint32_t thread;
    uint32_t warp;
    site at;
    uint32_t smem;
    const char *verb;
} doing;

/* Does what thread @who did in @phase of its warp come before this access? */
static bool comes_before(const doing *it, uint32_t who, uint32_t phase)
{
    uint32_t warp = who / LANES;
    if (who == it->thread)
        return true;
    return warp == it->warp ? phase < it->m->clock[warp][warp]
                            : phase <= it->m->clock[it->warp][warp];
}

static void race(const doing *it, const char *other, const char *verb, site at)
{
    machine_race(it->m,
                 "%s: thread %u %s shared byte %u, which %s %s at %s, with no barrier between",
                 machine_site_print(it->m, it->at).text, it->thread, it->verb, it->smem, other,
                 verb, machine_site_print(it->m, at).text);
}

static void race_with_thread(const doing *it, const char *verb, uint32_t who, site at)
{
    char other[32];
    snprintf(other, sizeof other, "thread %u", who);
    race(it, other, verb, at);
}

/* The last write must be done, and known to this thread; true if it is. */
static bool after_write(const doing *it, const written *last, bool atomic)
{
    if (last->phase <= it->m->base || (atomic && last->atomic))
        return true;
    if (!last->pending && comes_before(it, last->thread, last->phase))
        return true;
    if (last->pending && last->thread == it->thread)
        machine_race(it->m,
                     "%s: thread %u %s shared byte %u, for whose copy at %s it has not waited",
                     machine_site_print(it->m, it->at).text, it->thread, it->verb, it->smem,
                     machine_site_print(it->m, last->at).text);
    else
        race_with_thread(it, last->pending ? "is copying to" : "wrote", last->thread, last->at);
    return false;
}

/* All reads must be done, but for the thread's own. */
static bool after_reads(const doing *it, const seen *reads)
{
    for (uint32_t w = 0; w < it->m->warps; w++) {
        const seen *r = &reads[w];
        if (r->phase <= it->m->base)
            continue;
        bool own = r->lane == it->thread % LANES || r->lane == LANES_TOGETHER;
        if (w == it->warp ? r->phase < it->m->clock[w][w] || own
                          : r->phase <= it->m->clock[it->warp][w])
            continue;
        if (r->lane >= LANES)
            race(it, "a warp", "read", r->at);
        else
            race_with_thread(it, "read", w * LANES + r->lane, r->at);
        return false;
    }
    return true;
}

/* Of reads in the same phase, those matter to the own warp that were not by all of it together. */
static void note_read(const doing *it, seen *mine, bool together)
{
    uint32_t phase = it->m->clock[it->warp][it->warp], lane = it->thread % LANES;
    bool known = mine->phase == phase && mine->lane != LANES_TOGETHER;
    if (together && known)
        return;
    if (together)
        lane = LANES_TOGETHER;
    else if (known && mine->lane != lane)
        lane = LANES_SEVERAL;
    *mine = (seen){ .phase = phase, .at = it->at, .lane = lane };
}

static void check_read(doing *it, uint32_t size, bool together)
{
    machine *m = it->m;
    uint32_t first = (it->smem - EMULATOR_SHARED_BASE) / GRANULE;
    bool fine = true, filled = true;
    for (uint32_t g = first; g < first + size / GRANULE; g++) {
        fine = fine && after_write(it, &m->written[g], false);
        filled = filled && m->written[g].phase > m->base;
        note_read(it, &m->seen[(size_t)g * m->warps + it->warp], together);
    }
    if (!filled && !together && m->report->uninitialised++ == 0)
        snprintf(m->report->uninitialised_at, sizeof m->report->uninitialised_at,
                 "%s: thread %u reads shared byte %u, which was never written",
                 machine_site_print(m, it->at).text, it->thread, it->smem);
}

/* What a write leaves behind. */
typedef enum manner {
    PLAIN,
    ATOMIC,
    PENDING
} manner;

static void check_write(doing *it, uint32_t size, manner how)
{
    machine *m = it->m;
    uint32_t first = (it->smem - EMULATOR_SHARED_BASE) / GRANULE;
    bool fine = true;
    for (uint32_t g = first; g < first + size / GRANULE; g++) {
        fine = fine && after_write(it, &m->written[g], how == ATOMIC) &&
               after_reads(it, &m->seen[(size_t)g * m->warps]);
        m->written[g] = (written){ .phase = m->clock[it->warp][it->warp],
                                   .at = it->at,
                                   .thread = (uint16_t)it->thread,
                                   .pending = how == PENDING,
                                   .atomic = how == ATOMIC };
    }
}

/* -------------------------------------------------------------------------- */
/* Accesses                                                                   */
/* -------------------------------------------------------------------------- */

static doing doing_of(machine *m, const thread *t, uint32_t smem, const char *verb)
{
    uint32_t index = machine_index(m, t);
    return (doing){ .m = m,
                    .thread = index,
                    .warp = index / LANES,
                    .at = machine_site(m, t),
                    .smem = smem,
                    .verb = verb };
}

/* Where @smem is, if @size bytes there are aligned and exist; NULL, and the run has failed, if not.
 */
static uint8_t *locate(const doing *it, uint32_t size)
{
    uint32_t offset = it->smem - EMULATOR_SHARED_BASE, room = it->m->launch->shared_bytes;
    if (it->smem >= EMULATOR_SHARED_BASE && offset <= room && size <= room - offset &&
        it->smem % size == 0)
        return it->m->shared + offset;
    machine_fail(it->m, "%s: thread %u %s %u bytes at shared byte %u; there are %u to %u",
                 machine_site_print(it->m, it->at).text, it->thread, it->verb, size, it->smem,
                 EMULATOR_SHARED_BASE, EMULATOR_SHARED_BASE + room);
    return NULL;
}

bool shared_read(machine *m, thread *t, uint32_t smem, void *to, uint32_t size, bool together)
{
    doing it = doing_of(m, t, smem, "reads");
    const uint8_t *from = locate(&it, size);
    if (!from)
        return false;
    check_read(&it, size, together);
    memcpy(to, from, size);
    return true;
}

void emulator_load(uint32_t smem, void *to, uint32_t size)
{
    machine *m = machine_here();
    shared_read(m, m->running, smem, to, size, false);
    banks_log(m, m->running, smem, size);
}

void emulator_store(uint32_t smem, const void *from, uint32_t size)
{
    machine *m = machine_here();
    doing it = doing_of(m, m->running, smem, "writes");
    uint8_t *to = locate(&it, size);
    if (!to)
        return;
    check_write(&it, size, PLAIN);
    memcpy(to, from, size);
    banks_log(m, m->running, smem, size);
}

void emulator_min(uint32_t smem, uint32_t x)
{
    machine *m = machine_here();
    doing it = doing_of(m, m->running, smem, "reduces");
    uint8_t *at = locate(&it, sizeof x);
    uint32_t old;
    if (!at)
        return;
    check_write(&it, sizeof x, ATOMIC);
    memcpy(&old, at, sizeof old);
    if (x < old)
        memcpy(at, &x, sizeof x);
}

/* -------------------------------------------------------------------------- */
/* Copies                                                                     */
/* -------------------------------------------------------------------------- */

/* Room for one more copy of the running thread. */
static copy *new_copy(machine *m, thread *t)
{
    if (t->copy_count == t->copy_room) {
        size_t room = t->copy_room ? 2 * t->copy_room : 16;
        copy *list = realloc(t->copies, room * sizeof *list);
        if (!list) {
            machine_fail(m, "no memory for copies");
            return NULL;
        }
        t->copies = list;
        t->copy_room = room;
    }
    return &t->copies[t->copy_count++];
}

void emulator_copy(uint32_t smem, const void *global, uint32_t bytes)
{
    machine *m = machine_here();
    thread *t = m->running;
    doing it = doing_of(m, t, smem, "copies to");
    uint8_t *to = locate(&it, 16);
    if (bytes > 16)
        machine_fail(m, "%s: a copy of %u bytes; 16 is the most", machine_site_print(m, it.at).text,
                     bytes);
    if (bytes > 0)
        emulator_check_global(global, 16);
    copy *c = new_copy(m, t);
    if (!to || !c)
        return;
    *c = (copy){ .smem = smem, .group = t->group };
    memcpy(c->bytes, global, bytes);
    check_write(&it, 16, PENDING);
    memset(to, POISON, 16);
    banks_log(m, t, smem, 16);
}

void emulator_commit(void)
{
    machine_here()->running->group++;
}

/* The bytes arrive; from now on they are this thread's write. */
static void deliver(machine *m, uint32_t who, const copy *c)
{
    uint32_t offset = c->smem - EMULATOR_SHARED_BASE;
    uint32_t phase = m->clock[who / LANES][who / LANES];
    memcpy(m->shared + offset, c->bytes, sizeof c->bytes);
    for (uint32_t g = offset / GRANULE; g < (offset + 16) / GRANULE; g++)
        if (m->written[g].thread == who && m->written[g].pending) {
            m->written[g].pending = false;
            m->written[g].phase = phase;
        }
}

void emulator_wait(int groups)
{
    machine *m = machine_here();
    thread *t = m->running;
    size_t done = 0;
    if (groups < 0 || groups > 7)
        machine_fail(m, "%s: wait for all but %d groups; 0 to 7 are possible",
                     machine_site_print(m, machine_site(m, t)).text, groups);
    while (done < t->copy_count && t->copies[done].group + (uint32_t)groups < t->group)
        deliver(m, machine_index(m, t), &t->copies[done++]);
    t->copy_count -= done;
    if (done > 0)
        memmove(t->copies, t->copies + done, t->copy_count * sizeof *t->copies);
}
