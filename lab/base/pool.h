/*
 * pool.h - worker threads that do jobs before they are needed
 *
 * Each job is done once, by the thread that takes it first. A thread that needs a job not yet taken
 * does it itself.
 */
#ifndef LAB_POOL_H
#define LAB_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The first member of each job's struct; zeroed. */
typedef struct lab_job {
    enum {
        LAB_JOB_UNTOUCHED,
        LAB_JOB_BUSY,
        LAB_JOB_DONE
    } state;
} lab_job;

/* Set @owner, @next and @work and do not change them; the other members belong to the pool. */
typedef struct lab_pool {
    void *owner;
    lab_job *(*next)(void *owner); /* the next job that is needed and not taken; NULL: none */
    void (*work)(void *owner, lab_job *job); /* does it; without the lock */
    int64_t longest_ns;                      /* the longest job so far; under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t *threads;
    int thread_count;
    bool ending;
} lab_pool;

/* lab_pool_start() starts @threads threads, or fewer where there is no memory for them;
 * lab_pool_stop() waits for jobs in progress. Change the state that next() reads only between
 * lab_pool_lock() and lab_pool_unlock(). lab_pool_finish() returns when @job is done. */
void lab_pool_start(lab_pool *pool, int threads);
void lab_pool_stop(lab_pool *pool);
void lab_pool_lock(lab_pool *pool);
void lab_pool_unlock(lab_pool *pool);
void lab_pool_finish(lab_pool *pool, lab_job *job);

#endif /* LAB_POOL_H */
