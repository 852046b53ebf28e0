/*
 * pool.h - jobs that are done on all cores, ahead of the threads that need them
 *
 * Each is done once, by the thread that takes it first; a thread that needs one nobody has taken
 * does it itself.
 */
#ifndef LAB_POOL_H
#define LAB_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The first member of what a job is about; zeroed. */
typedef struct lab_job {
    enum {
        LAB_JOB_UNTOUCHED,
        LAB_JOB_BUSY,
        LAB_JOB_DONE
    } state;
} lab_job;

/* Set @owner, @next and @work, which stay as they are; the rest is the pool's. */
typedef struct lab_pool {
    void *owner;
    lab_job *(*next)(void *owner);           /* that is wanted and untouched; NULL: none */
    void (*work)(void *owner, lab_job *job); /* does it; without the lock */
    int64_t longest_ns;                      /* that a job took so far; under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t *threads;
    int thread_count;
    bool ending;
} lab_pool;

/* lab_pool_start() starts @threads threads, or fewer where there is no memory for them;
 * lab_pool_stop() waits for the jobs that they are at. The state that next() reads is changed
 * between lab_pool_lock() and lab_pool_unlock(). lab_pool_finish() returns when @job is done. */
void lab_pool_start(lab_pool *pool, int threads);
void lab_pool_stop(lab_pool *pool);
void lab_pool_lock(lab_pool *pool);
void lab_pool_unlock(lab_pool *pool);
void lab_pool_finish(lab_pool *pool, lab_job *job);

#endif /* LAB_POOL_H */
