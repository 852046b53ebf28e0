/*
 * team.c - a thread pool with one atomic counter of tasks and one of rounds
 */
#include "team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define RELAX() _mm_pause()
#else
#define RELAX() ((void)0)
#endif

/* Number of polls for work before sleeping: about a millisecond. */
enum {
    SPINS = 20000
};

typedef struct worker {
    peer_team *team;
    pthread_t thread;
    int number;
} worker;

struct peer_team {
    int threads; /* including the caller */
    peer_task *task;
    void *data;
    int64_t count;
    _Atomic int64_t next;   /* next task */
    _Atomic unsigned round; /* grows with every run */
    _Atomic int busy;       /* workers still in the round */
    _Atomic bool ending;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    worker workers[];
};

static void take_tasks(peer_team *team, int thread)
{
    for (;;) {
        int64_t index = atomic_fetch_add_explicit(&team->next, 1, memory_order_relaxed);
        if (index >= team->count)
            return;
        team->task(team->data, index, thread);
    }
}

/* Waits until the round differs from @seen, first spinning, then sleeping. */
static void await_round(peer_team *team, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&team->round, memory_order_acquire) != seen)
            return;
        RELAX();
    }
    pthread_mutex_lock(&team->mutex);
    while (atomic_load_explicit(&team->round, memory_order_acquire) == seen)
        pthread_cond_wait(&team->wake, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}

static void *worker_main(void *data)
{
    worker *self = data;
    peer_team *team = self->team;

    for (unsigned round = 0;; round++) {
        await_round(team, round);
        if (atomic_load(&team->ending))
            return NULL;
        take_tasks(team, self->number);
        atomic_fetch_sub_explicit(&team->busy, 1, memory_order_release);
    }
}

static void start_round(peer_team *team)
{
    pthread_mutex_lock(&team->mutex);
    atomic_fetch_add_explicit(&team->round, 1, memory_order_release);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->mutex);
}

peer_team *peer_team_create(int threads)
{
    peer_team *team = calloc(1, sizeof *team + (size_t)threads * sizeof(worker));

    if (!team)
        return NULL;
    team->threads = 1;
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->wake, NULL);
    while (team->threads < threads) {
        worker *self = &team->workers[team->threads];
        self->team = team;
        self->number = team->threads;
        if (pthread_create(&self->thread, NULL, worker_main, self) != 0) {
            peer_team_destroy(team);
            return NULL;
        }
        team->threads++;
    }
    return team;
}

void peer_team_destroy(peer_team *team)
{
    if (!team)
        return;
    atomic_store(&team->ending, true);
    start_round(team);
    for (int i = 1; i < team->threads; i++)
        pthread_join(team->workers[i].thread, NULL);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->mutex);
    free(team);
}

void peer_team_run(peer_team *team, peer_task *task, void *data, int64_t count)
{
    team->task = task;
    team->data = data;
    team->count = count;
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    bool alone = team->threads == 1 || count == 1;
    if (!alone) {
        atomic_store_explicit(&team->busy, team->threads - 1, memory_order_relaxed);
        start_round(team);
    }
    take_tasks(team, 0);
    while (!alone && atomic_load_explicit(&team->busy, memory_order_acquire) > 0)
        RELAX();
}
