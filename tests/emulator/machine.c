/*
 * machine.c - scheduling of the threads of a block or cluster, and collective instructions
 *
 * Lanes of a warp run one after another until each waits for others. The instruction that they wait
 * at is then executed for all of them. A warp continues like this until it waits at a barrier of
 * the block.
 */
#include "emulator/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARED_MAX ((uint32_t)227 << 10)

/* The machine that runs the kernel in this host thread. */
static _Thread_local machine *here;

machine *machine_here(void)
{
    return here;
}

/* -------------------------------------------------------------------------- */
/* Questions of threads                                                       */
/* -------------------------------------------------------------------------- */

void emulator_at(const char *file, int line)
{
    here->running->file = file;
    here->running->line = line;
}

uint32_t emulator_thread(void)
{
    const thread *t = here->running;
    return machine_index(here, t) - t->rank * here->launch->threads;
}

uint32_t emulator_threads(void)
{
    return here->launch->threads;
}

uint32_t emulator_block(int axis)
{
    return here->block[axis] + (axis == 0 ? here->running->rank : 0);
}

uint32_t emulator_grid(int axis)
{
    return here->launch->grid[axis];
}

void emulator_meet(emulator_request *request)
{
    here->running->request = request;
    here->running->state = MEETING;
    machine_give_way(here);
}

static void check_barrier(machine *m, int id, int threads)
{
    if (id < 0 || id > 15 || threads < 0 || threads % LANES != 0 ||
        threads > (int)m->launch->threads || (id > 0 && threads == 0))
        machine_fail(m, "%s: barrier %d of %d threads; ids are 1 to 15, threads multiples of 32",
                     machine_site_print(m, machine_site(m, m->running)).text, id, threads);
}

void emulator_barrier(int id, int threads)
{
    check_barrier(here, id, threads);
    emulator_meet(&(emulator_request){ .what = EMULATOR_BARRIER, .n = threads, .x = (uint32_t)id });
}

void emulator_arrive(int id, int threads)
{
    check_barrier(here, id, threads);
    emulator_meet(&(emulator_request){ .what = EMULATOR_ARRIVE, .n = threads, .x = (uint32_t)id });
}

void emulator_check_global(const void *p, uint32_t size)
{
    machine *m = here;
    if ((uintptr_t)p % size != 0)
        machine_fail(m, "%s: thread %s accesses %u bytes of global memory at %p",
                     machine_site_print(m, machine_site(m, m->running)).text,
                     machine_thread_print(m, machine_index(m, m->running)).text, size, p);
}

/* -------------------------------------------------------------------------- */
/* Turns                                                                      */
/* -------------------------------------------------------------------------- */

void *machine_grow(machine *m, void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return list;
    size_t more = *room ? 2 * *room : 16;
    void *larger = realloc(list, more * size);
    if (!larger)
        machine_fail(m, "no memory for the emulator");
    else
        *room = more;
    return larger;
}

/* xorshift64* */
uint32_t machine_random(machine *m, uint32_t below)
{
    m->random ^= m->random >> 12;
    m->random ^= m->random << 25;
    m->random ^= m->random >> 27;
    return (uint32_t)((m->random * 0x2545f4914f6cdd1dull >> 32) % below);
}

/* The first ready lane of the warp from @t on. */
static thread *next_ready(const machine *m, thread *t)
{
    uint32_t index = machine_index(m, t);
    for (uint32_t end = (index / LANES + 1) * LANES; index < end; index++, t++)
        if (t->state == READY)
            return t;
    return NULL;
}

void machine_give_way(machine *m)
{
    thread *self = m->running;
    thread *next = next_ready(m, self);
    m->running = next;
    fiber_switch(&self->fiber, next ? &next->fiber : &m->scheduler);
}

static void thread_body(void *data)
{
    machine *m = data;
    for (;;) {
        m->launch->kernel(m->launch->args);
        m->running->copy_count = 0;
        tensor_left(m, m->running);
        wgmma_left(m, m->running);
        cluster_left(m, m->running);
        m->running->state = GONE;
        machine_give_way(m);
    }
}

/* Reports two lanes of a warp that wait for each other forever. */
static void fail_apart(machine *m, const thread *a, const thread *b)
{
    site_text at = machine_site_print(m, machine_site(m, a));
    number_text one = machine_thread_print(m, machine_index(m, a));
    number_text two = machine_thread_print(m, machine_index(m, b));
    if (b->state == GONE)
        machine_fail(m, "%s: thread %s waits for thread %s of its warp, which has left", at.text,
                     one.text, two.text);
    else
        machine_fail(m, "%s: thread %s waits for thread %s of its warp, which waits at %s", at.text,
                     one.text, two.text, machine_site_print(m, machine_site(m, b)).text);
}

/* Returns whether @a and @b, which are waiting, are at the same instruction. */
static bool together(machine *m, const thread *a, const thread *b)
{
    const emulator_request *x = a->request, *y = b->request;
    if (x->what != y->what)
        return false;
    switch (x->what) {
    case EMULATOR_WARP_BARRIER:
        return true;
    case EMULATOR_BARRIER:
    case EMULATOR_ARRIVE:
        return x->x == y->x && x->n == y->n;
    case EMULATOR_WGMMA_WAIT:
        return x->n == y->n;
    case EMULATOR_WGMMA:
        return x->n == y->n && x->desc[0] == y->desc[0] && x->desc[1] == y->desc[1] &&
               x->x == y->x && machine_site(m, a) == machine_site(m, b);
    case EMULATOR_LDMATRIX:
    case EMULATOR_LDMATRIX_TRANS:
        return x->n == y->n && machine_site(m, a) == machine_site(m, b);
    default:
        return machine_site(m, a) == machine_site(m, b);
    }
}

/* Lanes that waited individually continue. */
static bool wake(thread *lanes)
{
    bool any = false;
    for (int i = 0; i < LANES; i++)
        if (lanes[i].state == WAITING && waits_over(&lanes[i])) {
            lanes[i].state = READY;
            any = true;
        }
    return any;
}

/* All lanes of a warp have stopped: executes the instruction at which they wait. Returns false if
 * they wait for other warps, have exited, or the run has failed. */
static bool meet(machine *m, thread *lanes)
{
    thread *first = NULL;
    for (int i = 0; i < LANES; i++) {
        if (!first && lanes[i].state == MEETING)
            first = &lanes[i];
        if (lanes[i].state == WAITING)
            return false;
    }
    if (!first)
        return false;
    bool barrier = first->request->what == EMULATOR_BARRIER;
    for (int i = 0; i < LANES; i++) {
        bool gone = lanes[i].state == GONE;
        if (gone ? !barrier : !together(m, first, &lanes[i])) {
            fail_apart(m, first, &lanes[i]);
            return false;
        }
    }
    if (barrier)
        return false;
    if (first->request->what == EMULATOR_WGMMA_WAIT && !wgmma_ready(m, lanes))
        return false;
    if (first->request->what == EMULATOR_ARRIVE)
        barrier_arrive(m, lanes);
    else
        matrix_execute(m, lanes);
    for (int i = 0; i < LANES; i++)
        lanes[i].state = READY;
    return !m->report->error[0];
}

/* Returns whether any lane made progress. */
static bool run_warp(machine *m, uint32_t warp)
{
    thread *lanes = &m->threads[warp * LANES];
    bool moved = false;
    bool more = true;
    while (more) {
        m->running = next_ready(m, lanes);
        moved = moved || m->running;
        if (m->running)
            fiber_switch(&m->scheduler, &m->running->fiber);
        if (m->report->error[0])
            return false;
        banks_flush(m, warp);
        more = false;
        for (int i = 0; i < LANES; i++)
            if (lanes[i].state == YIELDED) {
                lanes[i].state = READY;
                more = true;
            }
        more = wake(lanes) || more;
        more = more || meet(m, lanes);
        moved = moved || more;
    }
    return moved;
}

/* -------------------------------------------------------------------------- */
/* Blocks                                                                     */
/* -------------------------------------------------------------------------- */

static void begin_cluster(machine *m)
{
    order_reset(m);
    mbarrier_reset(m);
    wgmma_reset(m);
    cluster_reset(m);
    memset(m->shared, POISON, (m->cluster - 1) * m->pitch + m->shared_bytes);
    memset(m->registers, 0, m->warps * sizeof *m->registers);
    memset(m->registers_times, 0, m->warps * sizeof *m->registers_times);
    for (uint32_t i = 0; i < m->cluster * NAMED_MAX; i++) {
        arrivals *early = &m->arrivals[i / NAMED_MAX][i % NAMED_MAX];
        memset(early->clock, 0, m->stride * sizeof *early->clock);
        early->come = early->wanted = 0;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        thread *t = &m->threads[i];
        t->state = READY;
        t->stores_actor = t->stores_group = t->stores_open = t->stores_left = 0;
    }
}

static void run_cluster(machine *m)
{
    begin_cluster(m);
    bool moved = true;
    while (moved && !m->report->error[0]) {
        moved = false;
        for (uint32_t w = 0; w < m->warps && !m->report->error[0]; w++)
            moved = run_warp(m, w) || moved;
        m->turn++;
        if (!m->report->error[0])
            moved = barrier_release_complete(m) || moved;
        if (!m->report->error[0])
            moved = tensor_deliver(m, !moved) || moved;
        if (!m->report->error[0])
            moved = cluster_deliver(m, !moved) || moved;
    }
    barrier_finish(m);
    mbarrier_finish(m);
}

static void run_grid(machine *m)
{
    const uint32_t *grid = m->launch->grid;
    for (m->block[2] = 0; m->block[2] < grid[2]; m->block[2]++)
        for (m->block[1] = 0; m->block[1] < grid[1]; m->block[1]++)
            for (m->block[0] = 0; m->block[0] < grid[0]; m->block[0] += m->cluster) {
                run_cluster(m);
                if (m->report->error[0])
                    return;
            }
}

bool emulator_run(const emulator_launch *launch, emulator_report *report)
{
    machine *before = here;
    memset(report, 0, sizeof *report);
    if (launch->threads == 0 || launch->threads > LANES * WARPS_MAX ||
        launch->threads % LANES != 0 || launch->shared_bytes > SHARED_MAX) {
        snprintf(report->error, sizeof report->error,
                 "a block of %u threads with %u bytes of shared memory", launch->threads,
                 launch->shared_bytes);
        return false;
    }
    if (launch->cluster > 1 &&
        (launch->cluster > CLUSTER_MAX || launch->grid[0] % launch->cluster != 0)) {
        snprintf(report->error, sizeof report->error,
                 "clusters of %u blocks, of %u in a row; %d is the most, and clusters are whole",
                 launch->cluster, launch->grid[0], CLUSTER_MAX);
        return false;
    }
    machine *m = memory_take(launch, thread_body);
    if (!m) {
        snprintf(report->error, sizeof report->error, "no memory for the emulator");
        return false;
    }
    m->report = report;
    here = m;
    run_grid(m);
    banks_report(m);
    memory_leave(m, !report->error[0]);
    here = before;
    return !report->error[0] && report->races == 0;
}

const char *emulator_complaint(const emulator_report *report)
{
    return report->error[0] ? report->error : report->race;
}
