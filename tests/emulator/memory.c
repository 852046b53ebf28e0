/*
 * memory.c - allocation of a machine, which is kept for later runs
 *
 * A verification runs the same kernel a hundred times, and a machine has a stack for every thread
 * and a record for every byte of shared memory: allocating it can take longer than a run.
 */
#include "emulator/machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STACK_BYTES ((size_t)256 << 10)
#define WALL_BYTES ((size_t)4096)

/* The alignment of the blocks' shared memories: swizzling uses address bits up to here. */
#define BLOCK_ALIGN 1024u

/* Idle machines of this host thread: for a kernel, for the one that merges its parts, and one more
 * of each for a kernel that is compared with it. */
#define KEPT 4
static _Thread_local machine *kept[KEPT];

static uint32_t cluster_of(const emulator_launch *launch)
{
    return launch->cluster ? launch->cluster : 1;
}

static bool create_threads(machine *m, size_t count, void (*body)(void *machine))
{
    m->stacks = mmap(NULL, count * STACK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->stacks == MAP_FAILED)
        m->stacks = NULL;
    if (!m->stacks)
        return false;
    for (size_t i = 0; i < count; i++) {
        char *stack = (char *)m->stacks + i * STACK_BYTES;
        mprotect(stack, WALL_BYTES, PROT_NONE);
        m->threads[i].log = m->logs + i * LOG_MAX;
        m->threads[i].rank = (uint32_t)i / LANES / m->block_warps;
        m->threads[i].base = m->threads[i].rank * m->pitch;
        fiber_create(&m->threads[i].fiber, stack + WALL_BYTES, STACK_BYTES - WALL_BYTES, body, m);
    }
    return true;
}

static bool create(machine *m, const emulator_launch *launch, void (*body)(void *machine))
{
    uint32_t blocks = cluster_of(launch);
    size_t count = (size_t)blocks * launch->threads, clocks = count + 3 + blocks * NAMED_MAX;
    m->cluster = blocks;
    m->count = (uint32_t)count;
    m->warps = m->count / LANES;
    m->block_warps = launch->threads / LANES;
    m->shared_bytes = launch->shared_bytes;
    m->pitch = (launch->shared_bytes / BLOCK_ALIGN + 1) * BLOCK_ALIGN;
    size_t bytes = blocks == 1 ? launch->shared_bytes : (size_t)blocks * m->pitch;
    m->threads = calloc(count, sizeof *m->threads);
    m->logs = calloc(count * LOG_MAX, sizeof *m->logs);
    m->shared = calloc(1, bytes + 1);
    m->cells = calloc(bytes / CELL_BYTES + 1, sizeof *m->cells);
    m->stride = m->count + blocks * ASYNC_MAX;
    m->clocks = calloc(clocks * m->stride, sizeof *m->clocks);
    m->mbarrier_clocks = calloc((size_t)2 * blocks * MBARRIERS_MAX * m->stride, sizeof *m->clocks);
    if (!m->threads || !m->logs || !m->shared || !m->cells || !m->clocks || !m->mbarrier_clocks)
        return false;
    uint32_t *clock = m->clocks + count * m->stride;
    m->scratch = clock;
    m->meeting.gathered = clock += m->stride;
    m->meeting.over = clock += m->stride;
    for (uint32_t i = 0; i < blocks * NAMED_MAX; i++)
        m->arrivals[i / NAMED_MAX][i % NAMED_MAX].clock = clock += m->stride;
    return create_threads(m, count, body);
}

static void destroy(machine *m)
{
    size_t count = m->count;
    if (m->stacks) {
        for (size_t i = 0; i < count; i++)
            fiber_forget((char *)m->stacks + i * STACK_BYTES + WALL_BYTES,
                         STACK_BYTES - WALL_BYTES);
        munmap(m->stacks, count * STACK_BYTES);
    }
    for (size_t i = 0; m->threads && i < count; i++) {
        free(m->threads[i].copies);
        free(m->threads[i].fences.tick);
    }
    wgmma_free(m);
    free(m->remote_stores);
    free(m->tensor_copies);
    free(m->reads);
    free(m->mbarrier_clocks);
    free(m->clocks);
    free(m->cells);
    free(m->shared);
    free(m->logs);
    free(m->threads);
    free(m);
}

/* The state that begin_cluster() does not reset. */
static void forget_run(machine *m)
{
    m->running = NULL;
    m->tensor_count = m->remote_count = 0;
    m->turn = 0;
    memset(m->files, 0, sizeof m->files);
    memset(m->tallies, 0, sizeof m->tallies);
    for (uint32_t i = 0; i < m->count; i++) {
        thread *t = &m->threads[i];
        t->request = NULL;
        t->file = NULL;
        t->line = 0;
        t->copy_count = t->log_count = 0;
        t->group = 0;
    }
}

machine *memory_take(const emulator_launch *launch, void (*body)(void *machine))
{
    machine *m = NULL;
    for (int i = 0; i < KEPT && !m; i++)
        if (kept[i] && kept[i]->cluster == cluster_of(launch) &&
            kept[i]->block_warps * LANES == launch->threads &&
            kept[i]->shared_bytes == launch->shared_bytes) {
            m = kept[i];
            kept[i] = NULL;
        }
    if (!m) {
        m = calloc(1, sizeof *m);
        if (m && !create(m, launch, body)) {
            destroy(m);
            m = NULL;
        }
    }
    if (m) {
        forget_run(m);
        m->launch = launch;
        m->random = launch->seed * 2 + 1;
    }
    return m;
}

void memory_leave(machine *m, bool ended)
{
    if (!ended) {
        destroy(m);
        return;
    }
    if (kept[KEPT - 1])
        destroy(kept[KEPT - 1]);
    memmove(kept + 1, kept, (KEPT - 1) * sizeof *kept);
    kept[0] = m;
}
