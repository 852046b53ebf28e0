/*
 * pool.c - worker threads that do jobs before they are needed
 */
#include "pool.h"

#include <stdlib.h>

#include "../src/measure.h"

/* Does a job that no thread has taken; the lock is held before and after. */
static void take(lab_pool *pool, lab_job *job)
{
    job->state = LAB_JOB_BUSY;
    pthread_mutex_unlock(&pool->lock);
    int64_t begin = heed_clock_ns();
    pool->work(pool->owner, job);
    int64_t took = heed_clock_ns() - begin;
    pthread_mutex_lock(&pool->lock);
    if (took > pool->longest_ns)
        pool->longest_ns = took;
    job->state = LAB_JOB_DONE;
    pthread_cond_broadcast(&pool->changed);
}

static void *serve(void *data)
{
    lab_pool *pool = data;
    lab_pool_lock(pool);
    while (!pool->ending) {
        lab_job *job = pool->next(pool->owner);
        if (job)
            take(pool, job);
        else
            pthread_cond_wait(&pool->changed, &pool->lock);
    }
    lab_pool_unlock(pool);
    return NULL;
}

void lab_pool_start(lab_pool *pool, int threads)
{
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    pool->threads = calloc((size_t)threads, sizeof *pool->threads);
    for (int i = 0; pool->threads && i < threads; i++)
        if (pthread_create(&pool->threads[pool->thread_count], NULL, serve, pool) == 0)
            pool->thread_count++;
}

void lab_pool_lock(lab_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
}

void lab_pool_unlock(lab_pool *pool)
{
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

void lab_pool_finish(lab_pool *pool, lab_job *job)
{
    lab_pool_lock(pool);
    if (job->state == LAB_JOB_UNTOUCHED)
        take(pool, job);
    while (job->state != LAB_JOB_DONE)
        pthread_cond_wait(&pool->changed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void lab_pool_stop(lab_pool *pool)
{
    lab_pool_lock(pool);
    pool->ending = true;
    lab_pool_unlock(pool);
    for (int i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    free(pool->threads);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
}
