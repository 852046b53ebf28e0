/*
 * order.c - happens-before order of accesses to shared memory
 *
 * An access is valid if those that it must not overtake happen before it: for a read, the last
 * write; for a write, that and all reads since. Accesses that a write has been checked against can
 * be dropped, since any access after the write is after them too.
 */
#include "emulator/machine.h"

#include <stdio.h>
#include <string.h>

/* -------------------------------------------------------------------------- */
/* Clocks                                                                     */
/* -------------------------------------------------------------------------- */

void order_reset(machine *m)
{
    uint32_t threads = m->count;
    m->stamp++;
    m->actors = threads;
    m->reads_count = 1;
    m->reads_free = 0;
    memset(m->clocks, 0, (size_t)threads * m->stride * sizeof *m->clocks);
    for (uint32_t t = 0; t < threads; t++) {
        order_clock(m, t)[t] = 1;
        m->threads[t].fences.count = 0;
    }
}

uint32_t order_actor(machine *m)
{
    if (m->actors < m->stride)
        return m->actors++;
    machine_fail(m, "too many barriers, or threads that store boxes");
    return 0;
}

uint32_t *order_clock(const machine *m, uint32_t index)
{
    return m->clocks + (size_t)index * m->stride;
}

void order_join(const machine *m, uint32_t *restrict into, const uint32_t *restrict from)
{
    for (uint32_t i = 0; i < m->actors; i++)
        into[i] = into[i] < from[i] ? from[i] : into[i];
}

void order_release(machine *m, uint32_t index, uint32_t *into)
{
    uint32_t *own = order_clock(m, index);
    order_join(m, into, own);
    own[index]++;
}

void order_meet(machine *m, const uint32_t *threads, uint32_t count, uint32_t *joined)
{
    for (uint32_t i = 0; i < count; i++)
        order_join(m, joined, order_clock(m, threads[i]));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *own = order_clock(m, threads[i]);
        memcpy(own, joined, m->actors * sizeof *own);
        own[threads[i]]++;
    }
}

void order_fence(machine *m, uint32_t index)
{
    fences *f = &m->threads[index].fences;
    uint32_t *own = order_clock(m, index);
    uint32_t *list = machine_grow(m, f->tick, f->count, &f->room, sizeof *list);
    if (!list)
        return;
    f->tick = list;
    f->tick[f->count++] = own[index]++;
}

/* -------------------------------------------------------------------------- */
/* Complaints                                                                 */
/* -------------------------------------------------------------------------- */

typedef struct actor_text {
    char text[80];
} actor_text;

/* The name of an actor. */
static actor_text actor_print(const machine *m, uint32_t actor)
{
    actor_text it = { "?" };
    if (actor < m->count)
        snprintf(it.text, sizeof it.text, "thread %s", machine_thread_print(m, actor).text);
    for (uint32_t i = 0; i < m->mbarrier_count; i++)
        if (m->mbarriers[i].actor == actor)
            snprintf(it.text, sizeof it.text, "a copy that barrier %s counts",
                     machine_shared_print(m, m->mbarriers[i].smem).text);
    for (uint32_t i = 0; actor >= m->count && i < m->count; i++)
        if (m->threads[i].stores_actor == actor)
            snprintf(it.text, sizeof it.text, "a store that thread %s started",
                     machine_thread_print(m, i).text);
    if (it.text[0] == '?')
        snprintf(it.text, sizeof it.text, "a wgmma");
    return it;
}

static void race(const access *it, const char *other, const char *verb, site at)
{
    machine_race(it->m, "%s: %s %s shared byte %s, which %s %s at %s, with no barrier between",
                 machine_site_print(it->m, it->at).text, actor_print(it->m, it->actor).text,
                 it->verb, machine_shared_print(it->m, it->smem).text, other, verb,
                 machine_site_print(it->m, at).text);
}

/* -------------------------------------------------------------------------- */
/* Writes                                                                     */
/* -------------------------------------------------------------------------- */

/* The cell at @smem; its granules are empty at first. */
static cell *cell_at(machine *m, uint32_t smem)
{
    cell *c = &m->cells[(smem - EMULATOR_SHARED_BASE) / CELL_BYTES];
    if (c->stamp != m->stamp) {
        c->stamp = m->stamp;
        c->apart = false;
        c->of[0] = (granule){ .tick = 0 };
    }
    return c;
}

/* The record of the granule at @smem. */
static granule *granule_at(machine *m, uint32_t smem)
{
    cell *c = cell_at(m, smem);
    return &c->of[c->apart ? smem % CELL_BYTES / GRANULE : 0];
}

/* Returns whether the writing thread has made its write visible to the asynchronous proxy, and
 * synchronized with @it afterwards: the last fence that happens before @it is not earlier than the
 * write. */
static bool fenced(const access *it, const granule *last)
{
    const fences *f = &it->m->threads[last->actor].fences;
    uint32_t known = it->clock[last->actor];
    size_t low = 0, high = f->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->tick[middle] <= known)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && f->tick[low - 1] >= last->tick;
}

/* The common case of the following function. */
static bool is_known(const access *it, const granule *last)
{
    return !last->pending && it->clock[last->actor] >= last->tick &&
           (!it->async || last->actor >= it->m->count);
}

/* The last write must have completed, and happen before the access. */
static bool after_write(const access *it, const granule *last, bool atomic)
{
    machine *m = it->m;
    if (last->tick == 0 || (atomic && last->atomic))
        return true;
    if (last->pending && last->actor == it->actor) {
        machine_race(m, "%s: thread %s %s shared byte %s, for whose copy at %s it has not waited",
                     machine_site_print(m, it->at).text, machine_thread_print(m, it->actor).text,
                     it->verb, machine_shared_print(m, it->smem).text,
                     machine_site_print(m, last->at).text);
        return false;
    }
    if (last->pending || it->clock[last->actor] < last->tick) {
        bool by_copy = last->pending || last->actor >= m->count;
        race(it, actor_print(m, last->actor).text, by_copy ? "is copying to" : "wrote", last->at);
        return false;
    }
    if (!it->async || last->actor >= m->count || fenced(it, last))
        return true;
    machine_race(m,
                 "%s: %s %s shared byte %s, which thread %s wrote at %s: missing "
                 "fence.proxy.async",
                 machine_site_print(m, it->at).text, actor_print(m, it->actor).text, it->verb,
                 machine_shared_print(m, it->smem).text, machine_thread_print(m, last->actor).text,
                 machine_site_print(m, last->at).text);
    return false;
}

bool order_after_write(const access *it)
{
    return after_write(it, granule_at(it->m, it->smem), false);
}

bool order_filled(machine *m, uint32_t smem, uint32_t size)
{
    for (uint32_t end = smem + size; smem < end; smem += GRANULE)
        if (granule_at(m, smem)->tick == 0)
            return false;
    return true;
}

void order_copied(machine *m, uint32_t owner, uint32_t smem)
{
    cell *c = cell_at(m, smem);
    for (int i = 0; i < (c->apart ? CELL_GRANULES : 1); i++)
        if (c->of[i].actor == owner && c->of[i].pending) {
            c->of[i].pending = false;
            c->of[i].tick = order_clock(m, owner)[owner];
        }
}

/* -------------------------------------------------------------------------- */
/* Reads                                                                      */
/* -------------------------------------------------------------------------- */

/* The reading lanes whose reads do not happen before @it. */
static uint32_t unordered(const access *it, const reading *r)
{
    uint32_t left = 0;
    for (uint32_t lanes = r->lanes; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        if (it->clock[r->who * LANES + lane] < r->tick)
            left |= 1u << lane;
    }
    return left;
}

static bool after_read(const access *it, const reading *r)
{
    machine *m = it->m;
    uint32_t left = unordered(it, r);
    if (r->lanes ? left == 0 : it->clock[r->who] >= r->tick)
        return true;
    bool is_thread = it->actor < m->count;
    if (r->together && is_thread && it->actor / LANES == r->who && !it->async)
        return true;
    if (!r->lanes)
        race(it, actor_print(m, r->who).text, "reads", r->at);
    else
        race(it,
             r->together ? "a warp"
                         : actor_print(m, r->who * LANES + (uint32_t)__builtin_ctz(left)).text,
             "read", r->at);
    return false;
}

/* All reads since the last write must have completed. They are dropped. */
static bool after_reads(const access *it, granule *g, bool fine)
{
    machine *m = it->m;
    uint32_t last = 0;
    for (uint32_t i = g->reads; i; i = m->reads[i].next) {
        fine = fine && after_read(it, &m->reads[i]);
        last = i;
    }
    if (last) {
        m->reads[last].next = m->reads_free;
        m->reads_free = g->reads;
        g->reads = 0;
    }
    return fine;
}

static uint32_t new_reading(machine *m)
{
    uint32_t i = m->reads_free;
    if (i) {
        m->reads_free = m->reads[i].next;
        return i;
    }
    size_t room = m->reads_room;
    reading *list = machine_grow(m, m->reads, m->reads_count, &room, sizeof *list);
    if (!list)
        return 0;
    m->reads = list;
    m->reads_room = (uint32_t)room;
    return m->reads_count++;
}

/* Drops what happens before @it: a write after @it is after that, too. A read by the whole warp
 * does not replace one by a lane, which is stricter. */
static void forget_before(const access *it, granule *g)
{
    machine *m = it->m;
    uint32_t *link = &g->reads;
    while (*link) {
        uint32_t i = *link;
        reading *r = &m->reads[i];
        bool keep = it->together && !r->together;
        uint32_t left = unordered(it, r);
        if (keep || (r->lanes ? left != 0 : it->clock[r->who] < r->tick)) {
            r->lanes = keep ? r->lanes : left;
            link = &r->next;
        } else {
            *link = r->next;
            r->next = m->reads_free;
            m->reads_free = i;
        }
    }
}

/* Adds a read to those of the granule; @note has no successor. */
static void note_read(const access *it, granule *g, const reading *note)
{
    machine *m = it->m;
    for (uint32_t i = g->reads; i; i = m->reads[i].next) {
        reading *r = &m->reads[i];
        if (r->tick == note->tick && r->who == note->who && r->together == note->together &&
            !r->lanes == !note->lanes) {
            r->lanes |= note->lanes;
            return;
        }
    }
    forget_before(it, g);
    uint32_t i = new_reading(m);
    if (i == 0)
        return;
    m->reads[i] = *note;
    m->reads[i].next = g->reads;
    g->reads = i;
}

/* -------------------------------------------------------------------------- */
/* Accesses                                                                   */
/* -------------------------------------------------------------------------- */

/* Copies a list from reading @from on. */
static uint32_t copy_reads(machine *m, uint32_t from)
{
    uint32_t first = 0, last = 0;
    for (; from; from = m->reads[from].next) {
        uint32_t i = new_reading(m);
        if (i == 0)
            break;
        m->reads[i] = m->reads[from];
        m->reads[i].next = 0;
        if (last)
            m->reads[last].next = i;
        else
            first = i;
        last = i;
    }
    return first;
}

/* Gives each granule of @c a separate record. */
static void take_apart(machine *m, cell *c)
{
    for (int i = 1; i < CELL_GRANULES; i++) {
        c->of[i] = c->of[0];
        c->of[i].reads = copy_reads(m, c->of[0].reads);
    }
    c->apart = true;
}

/* The granules in a cell that an access to the bytes from @smem to @end covers. */
typedef struct span {
    cell *cell;
    granule *first;
    int count;
    uint32_t bytes;
} span;

static span span_at(machine *m, uint32_t smem, uint32_t end)
{
    cell *c = cell_at(m, smem);
    uint32_t start = smem % CELL_BYTES, room = CELL_BYTES - start;
    uint32_t bytes = end - smem < room ? end - smem : room;
    if (!c->apart && bytes < CELL_BYTES)
        take_apart(m, c);
    return (span){ .cell = c,
                   .first = &c->of[start / GRANULE],
                   .count = c->apart ? (int)(bytes / GRANULE) : 1,
                   .bytes = bytes };
}

bool order_read(const access *it, uint32_t size)
{
    bool is_thread = it->actor < it->m->count, fine = true;
    const reading note = { .tick = it->tick,
                           .lanes = is_thread ? 1u << it->actor % LANES : 0,
                           .at = it->at,
                           .who = (uint16_t)(is_thread ? it->actor / LANES : it->actor),
                           .together = it->together };
    span part;
    for (uint32_t smem = it->smem, end = smem + size; smem < end; smem += part.bytes) {
        part = span_at(it->m, smem, end);
        for (granule *g = part.first; g < part.first + part.count; g++) {
            fine = fine && (is_known(it, g) || after_write(it, g, false));
            note_read(it, g, &note);
        }
    }
    return fine;
}

bool order_write(const access *it, uint32_t size, manner how, uint32_t actor, uint32_t tick)
{
    const granule written = { .tick = tick,
                              .at = it->at,
                              .actor = (uint16_t)actor,
                              .pending = how == PENDING,
                              .atomic = how == ATOMIC };
    bool fine = true;
    span part;
    for (uint32_t smem = it->smem, end = smem + size; smem < end; smem += part.bytes) {
        part = span_at(it->m, smem, end);
        for (granule *g = part.first; g < part.first + part.count; g++) {
            fine = fine && (is_known(it, g) || after_write(it, g, how == ATOMIC));
            if (g->reads)
                fine = after_reads(it, g, fine);
            *g = written;
        }
        if (part.bytes == CELL_BYTES)
            part.cell->apart = false;
    }
    return fine;
}
