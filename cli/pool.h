/*
 * pool.h - jobs that are done on all cores, ahead of whoever needs them
 *
 * Each is done once, by the thread that takes it first; who needs one that nobody has taken does it
 * himself.
 */
#ifndef CLI_POOL_H
#define CLI_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The first member of what a job is about; zeroed. */
typedef struct cli_job {
    enum {
        CLI_JOB_UNTOUCHED,
        CLI_JOB_BUSY,
        CLI_JOB_DONE
    } state;
} cli_job;

/* Set @owner, @next and @work, which stay as they are; the rest is the pool's. */
typedef struct cli_pool {
    void *owner;
    cli_job *(*next)(void *owner);           /* that is wanted and untouched; NULL: none */
    void (*work)(void *owner, cli_job *job); /* does it; without the lock */
    int64_t longest_ns;                      /* that a job took so far; under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t *threads;
    int thread_count;
    bool ending;
} cli_pool;

/* cli_pool_start() starts @threads threads, or fewer where there is no memory for them;
 * cli_pool_stop() waits for the jobs that they are at. The state that next() reads is changed
 * between cli_pool_lock() and cli_pool_unlock(). cli_pool_finish() returns when @job is done. */
void cli_pool_start(cli_pool *pool, int threads);
void cli_pool_stop(cli_pool *pool);
void cli_pool_lock(cli_pool *pool);
void cli_pool_unlock(cli_pool *pool);
void cli_pool_finish(cli_pool *pool, cli_job *job);

#endif /* CLI_POOL_H */
