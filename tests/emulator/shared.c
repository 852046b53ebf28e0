/*
 * shared.c - shared memory: bounds, accesses, and pending copies
 */
#include "emulator/machine.h"

#include <stdio.h>
#include <string.h>

/* -------------------------------------------------------------------------- */
/* Accesses                                                                   */
/* -------------------------------------------------------------------------- */

access shared_access(machine *m, const thread *t, uint32_t smem, const char *verb)
{
    uint32_t index = machine_index(m, t);
    const uint32_t *clock = order_clock(m, index);
    return (access){ .m = m,
                     .clock = clock,
                     .actor = index,
                     .tick = clock[index],
                     .smem = t->base + smem,
                     .base = t->base,
                     .verb = verb,
                     .at = machine_site(m, t) };
}

uint8_t *shared_locate(const access *it, uint32_t size, uint32_t align)
{
    machine *m = it->m;
    uint32_t smem = it->smem - it->base, offset = smem - EMULATOR_SHARED_BASE;
    uint32_t room = m->shared_bytes;
    bool there = smem >= EMULATOR_SHARED_BASE && offset <= room && size <= room - offset;
    if (!there || it->smem % align != 0)
        machine_fail(m, "%s: thread %s %s %u bytes at shared byte %u; there are %u to %u",
                     machine_site_print(m, it->at).text, machine_thread_print(m, it->actor).text,
                     it->verb, size, smem, EMULATOR_SHARED_BASE, EMULATOR_SHARED_BASE + room);
    else if (mbarrier_touched(m, it->smem, size))
        machine_fail(m, "%s: thread %s %s %u bytes at shared byte %s, where a barrier is",
                     machine_site_print(m, it->at).text, machine_thread_print(m, it->actor).text,
                     it->verb, size, machine_shared_print(m, it->smem).text);
    else
        return m->shared + it->base + offset;
    return NULL;
}

bool shared_read(machine *m, thread *t, uint32_t smem, void *to, uint32_t size, bool together)
{
    access it = shared_access(m, t, smem, "reads");
    const uint8_t *from = shared_locate(&it, size, size);
    if (!from)
        return false;
    it.together = together;
    order_read(&it, size);
    if (!together && !order_filled(m, it.smem, size) && m->report->uninitialised++ == 0)
        snprintf(m->report->uninitialised_at, sizeof m->report->uninitialised_at,
                 "%s: thread %s reads shared byte %s, which was never written",
                 machine_site_print(m, it.at).text, machine_thread_print(m, it.actor).text,
                 machine_shared_print(m, it.smem).text);
    memcpy(to, from, size);
    return true;
}

bool shared_write(machine *m, thread *t, uint32_t smem, const void *from, uint32_t size)
{
    access it = shared_access(m, t, smem, "writes");
    uint8_t *to = shared_locate(&it, size, size);
    if (!to)
        return false;
    order_write(&it, size, PLAIN, it.actor, it.tick);
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
    shared_write(m, m->running, smem, from, size);
    banks_log(m, m->running, smem, size);
}

void emulator_min(uint32_t smem, uint32_t x)
{
    machine *m = machine_here();
    access it = shared_access(m, m->running, smem, "reduces");
    uint8_t *at = shared_locate(&it, sizeof x, sizeof x);
    uint32_t old;
    if (!at)
        return;
    order_write(&it, sizeof x, ATOMIC, it.actor, it.tick);
    memcpy(&old, at, sizeof old);
    if (x < old)
        memcpy(at, &x, sizeof x);
}

/* -------------------------------------------------------------------------- */
/* Copies                                                                     */
/* -------------------------------------------------------------------------- */

void emulator_copy(uint32_t smem, const void *global, uint32_t bytes)
{
    machine *m = machine_here();
    thread *t = m->running;
    access it = shared_access(m, t, smem, "copies to");
    uint8_t *to = shared_locate(&it, 16, 16);
    if (bytes > 16)
        machine_fail(m, "%s: a copy of %u bytes; 16 is the most", machine_site_print(m, it.at).text,
                     bytes);
    if (bytes > 0)
        emulator_check_global(global, 16);
    copy *list = machine_grow(m, t->copies, t->copy_count, &t->copy_room, sizeof *list);
    if (!to || !list)
        return;
    t->copies = list;
    copy *c = &list[t->copy_count++];
    *c = (copy){ .smem = it.smem, .group = t->group };
    memcpy(c->bytes, global, bytes);
    order_write(&it, 16, PENDING, it.actor, it.tick);
    memset(to, POISON, 16);
    banks_log(m, t, smem, 16);
}

void emulator_commit(void)
{
    machine_here()->running->group++;
}

/* The bytes arrive. */
static void deliver(machine *m, uint32_t who, const copy *c)
{
    memcpy(m->shared + (c->smem - EMULATOR_SHARED_BASE), c->bytes, sizeof c->bytes);
    order_copied(m, who, c->smem);
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
