/*
 * pool.c - thread pool
 *
 * Attention calls come in rapid succession and can be shorter than waking a thread takes, so a
 * worker that has finished spins for a moment before it sleeps. Only one caller at a time uses the
 * workers; a concurrent one does its work alone, which is fine as all CPUs are busy anyway.
 *
 * If the other CPUs are busy, the scheduler wakes a worker on its caller's CPU, and keeps it there
 * call after call: two threads are then as slow as one, while another program has a CPU to itself.
 * So a worker that finds itself on its caller's CPU moves to another one if it can.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../internal.h"
#include "../measure.h"
#include "affinity.h"

#define CACHE_LINE 64
#define SPINS 4000 /* about 50 to 100 us */

/* A worker moves at most once in this time. A move takes 20 to 40 us, and if there are more threads
 * than CPUs, or other programs use the other CPUs, the scheduler may well undo it. */
#define MOVE_NS 10000000

/* A worker is offered work, accepts it, and is idle again when it is done. An offer that has not
 * been accepted when the caller is done is withdrawn, so a worker that gets no CPU does not delay
 * the caller. */
enum {
    IDLE,
    OFFERED,
    ACCEPTED,
    STOP
};

typedef struct worker {
    _Alignas(CACHE_LINE) atomic_int state;
    atomic_bool asleep;
    atomic_int cpu; /* where it last took work */
    int index;
    int64_t moved_ns; /* when it last tried to move */
    heed_pool *pool;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
} worker;

struct heed_pool {
    int threads;
    pid_t process; /* that created the threads: a child after fork() does not have them */
    heed_parallel_fn *parallel; /* the user's pool, or NULL */
    void *user;
    pthread_mutex_t busy; /* held by the caller that uses the workers */
    atomic_int cpu;       /* where that caller began */
    int workers;          /* started: threads - 1, or 0 with the user's pool */
    worker *worker;
    void (*body)(void *data, int index); /* the job, written before any offer */
    void *data;
};

static inline void relax(void)
{
#ifdef HEED_X86
    __builtin_ia32_pause();
#endif
}

static void wait_for_offer(worker *self)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&self->state, memory_order_relaxed) != IDLE)
            return;
        relax();
    }
    pthread_mutex_lock(&self->mutex);
    atomic_store(&self->asleep, true);
    while (atomic_load(&self->state) == IDLE)
        pthread_cond_wait(&self->wake, &self->mutex);
    atomic_store(&self->asleep, false);
    pthread_mutex_unlock(&self->mutex);
}

/* Moves to a CPU on which no other worker of the same caller is. */
static void move(worker *self, int cpu)
{
    heed_pool *pool = self->pool;
    cpu_set_t taken;
    CPU_ZERO(&taken);
    CPU_SET(cpu, &taken);
    for (int i = 0; i < pool->workers; i++) {
        const worker *other = &pool->worker[i];
        if (atomic_load(&other->state) != IDLE)
            CPU_SET(atomic_load(&other->cpu), &taken);
    }
    if (heed_affinity_leave(&taken))
        atomic_store(&self->cpu, sched_getcpu());
}

static void part_from_caller(worker *self)
{
    int cpu = sched_getcpu();
    atomic_store_explicit(&self->cpu, cpu, memory_order_relaxed);
    if (cpu < 0 || cpu != atomic_load_explicit(&self->pool->cpu, memory_order_relaxed))
        return;
    int64_t now = heed_clock_ns();
    if (self->moved_ns && now - self->moved_ns < MOVE_NS)
        return;
    self->moved_ns = now;
    move(self, cpu);
}

static bool change_state(worker *self, int from, int to)
{
    return atomic_compare_exchange_strong(&self->state, &from, to);
}

static void *work(void *argument)
{
    worker *self = argument;
    for (;;) {
        wait_for_offer(self);
        if (atomic_load(&self->state) == STOP)
            return NULL;
        part_from_caller(self); /* before it accepts, while the caller does not wait for it */
        if (change_state(self, OFFERED, ACCEPTED)) {
            self->pool->body(self->pool->data, self->index);
            atomic_store_explicit(&self->state, IDLE, memory_order_release);
        }
    }
}

/* True if the workers belong to the parent of this forked process. Then no worker accepts an offer,
 * and a lock that one of them held is never released. Only called where waking a thread takes far
 * longer. */
static bool is_inherited(const heed_pool *pool)
{
    return pool->process != getpid();
}

static void set_state(worker *self, int state)
{
    atomic_store(&self->state, state);
    if (atomic_load(&self->asleep) && !is_inherited(self->pool)) {
        pthread_mutex_lock(&self->mutex);
        pthread_cond_signal(&self->wake);
        pthread_mutex_unlock(&self->mutex);
    }
}

static void finish(worker *self)
{
    if (change_state(self, OFFERED, IDLE))
        return;
    for (unsigned i = 0; atomic_load_explicit(&self->state, memory_order_acquire) != IDLE; i++) {
        if (i < SPINS)
            relax();
        else
            sched_yield();
    }
}

static heed_status start_worker(heed_pool *pool, int index)
{
    worker *self = &pool->worker[index - 1];
    self->index = index;
    self->pool = pool;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->wake, NULL);
    int error = pthread_create(&self->thread, NULL, work, self);
    if (error) {
        pthread_cond_destroy(&self->wake);
        pthread_mutex_destroy(&self->mutex);
        return heed_fail(HEED_ERR_SYSTEM, "cannot start thread %d of %d: %s", index + 1,
                         pool->threads, strerror(error));
    }
    pool->workers++;
    return HEED_OK;
}

heed_status heed_pool_create(heed_pool **pool, int threads, heed_parallel_fn *parallel, void *user)
{
    heed_pool *made = calloc(1, sizeof *made);
    *pool = NULL;
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a thread pool");
    made->threads = threads;
    made->process = getpid();
    made->parallel = parallel;
    made->user = user;
    pthread_mutex_init(&made->busy, NULL);

    heed_status status = HEED_OK;
    if (!parallel && threads > 1) {
        size_t size = (size_t)(threads - 1) * sizeof *made->worker;
        made->worker = aligned_alloc(CACHE_LINE, size);
        if (!made->worker)
            status = heed_fail(HEED_ERR_NO_MEMORY, "no memory for %d threads", threads);
        else
            memset(made->worker, 0, size);
        for (int i = 1; i < threads && status == HEED_OK; i++)
            status = start_worker(made, i);
    }
    if (status != HEED_OK) {
        heed_pool_destroy(made);
        return status;
    }
    *pool = made;
    return HEED_OK;
}

static void end_workers(heed_pool *pool)
{
    for (int i = 0; i < pool->workers; i++)
        set_state(&pool->worker[i], STOP);
    for (int i = 0; i < pool->workers; i++) {
        worker *self = &pool->worker[i];
        pthread_join(self->thread, NULL);
        pthread_cond_destroy(&self->wake);
        pthread_mutex_destroy(&self->mutex);
    }
    pthread_mutex_destroy(&pool->busy);
}

void heed_pool_destroy(heed_pool *pool)
{
    if (!pool)
        return;
    if (!is_inherited(pool))
        end_workers(pool);
    free(pool->worker);
    free(pool);
}

static void run_with_workers(heed_pool *pool, void (*body)(void *data, int index), void *data,
                             int count)
{
    pool->body = body;
    pool->data = data;
    atomic_store_explicit(&pool->cpu, sched_getcpu(), memory_order_relaxed);
    for (int i = 1; i < count; i++)
        set_state(&pool->worker[i - 1], OFFERED);
    body(data, 0);
    for (int i = 1; i < count; i++)
        finish(&pool->worker[i - 1]);
}

void heed_pool_run(heed_pool *pool, void (*body)(void *data, int index), void *data, int count)
{
    if (count > 1 && pool->parallel) {
        pool->parallel(pool->user, body, data, count);
    } else if (count > 1 && pthread_mutex_trylock(&pool->busy) == 0) {
        run_with_workers(pool, body, data, count);
        pthread_mutex_unlock(&pool->busy);
    } else {
        body(data, 0);
    }
}
