/*
 * test_pool.c - placement of the pool's threads on CPUs
 *
 * The linker routes the pool's calls for the CPU, the affinity and the time through the wrappers
 * below (--wrap). They simulate a system that leaves every thread where it is until it must move.
 * Nothing here depends on other load on the machine.
 */
#include "run_tests.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cpu/affinity.h"
#include "internal.h"

/* ---------------------------------------------------------------------------------------------- */
/* The system                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

#define EVERY_MS 10 /* a worker moves at most this often */

/* Masks are bit sets, CPU 0 is the lowest bit. Only main() writes, while no thread runs. */
static struct {
    unsigned allowed;    /* first mask of each thread, which starts on CPU 0 */
    bool no_get, no_set; /* the system refuses */
    unsigned meddled;    /* if not 0, a mask becomes this after it has been set */
    bool in_turns;       /* threads move one after another */
    pthread_mutex_t turn;
    int64_t now_ms;
    atomic_int sets; /* calls that changed a mask */
} played = { .turn = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct {
    bool known;
    int cpu;
    unsigned mask;
    unsigned chosen; /* the chosen mask */
    bool has_turn;
} self;

static void know(void)
{
    if (!self.known)
        self.mask = self.chosen = played.allowed;
    self.known = true;
}

int __wrap_sched_getcpu(void);
int __wrap_sched_getcpu(void)
{
    know();
    return self.cpu;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    assert_int_equal(pid, 0);
    know();
    if (played.no_get) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO_S(size, set);
    for (int i = 0; i < 32; i++)
        if (self.mask >> i & 1)
            CPU_SET_S(i, size, set);
    return 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    assert_int_equal(pid, 0);
    know();
    if (played.no_set) {
        errno = EPERM;
        return -1;
    }
    self.mask = 0;
    for (int i = 0; i < 32; i++)
        self.mask |= CPU_ISSET_S(i, size, set) ? 1u << i : 0;
    if (!(self.mask >> self.cpu & 1))
        self.cpu = __builtin_ctz(self.mask);
    if (played.meddled)
        self.mask = played.meddled;
    atomic_fetch_add(&played.sets, 1);
    return 0;
}

int64_t __wrap_heed_clock_ns(void);
int64_t __wrap_heed_clock_ns(void)
{
    if (played.in_turns) {
        pthread_mutex_lock(&played.turn);
        self.has_turn = true;
    }
    return played.now_ms * 1000000;
}

static int set_up(void **state)
{
    played.allowed = 0x7;
    played.no_get = played.no_set = false;
    played.meddled = 0;
    played.in_turns = false;
    played.now_ms = 1000;
    atomic_store(&played.sets, 0);
    self.known = false;
    self.cpu = 0;
    return 0;
}

/* ---------------------------------------------------------------------------------------------- */
/* The pool                                                                                       */
/* ---------------------------------------------------------------------------------------------- */

#define THREADS_MAX 3

typedef struct meeting {
    int count;
    atomic_int here;
    int cpu[THREADS_MAX];
    bool as_chosen[THREADS_MAX]; /* the mask */
    unsigned back; /* if not 0, the system puts worker 1 on CPU 0 when it has arrived, and the
                      user chooses this mask for it */
} meeting;

static void set_back(unsigned mask)
{
    self.cpu = 0;
    self.mask = self.chosen = mask;
}

/* Waits for all threads, so that they run at the same time. */
static void meet(void *data, int index)
{
    meeting *it = data;
    know();
    if (self.has_turn)
        pthread_mutex_unlock(&played.turn);
    self.has_turn = false;
    it->cpu[index] = self.cpu;
    it->as_chosen[index] = self.mask == self.chosen;
    if (index == 1 && it->back)
        set_back(it->back);
    atomic_fetch_add(&it->here, 1);
    while (atomic_load(&it->here) < it->count)
        sched_yield();
}

static meeting gather(heed_pool *pool, int count, unsigned back)
{
    meeting it = { .count = count, .back = back };
    heed_pool_run(pool, meet, &it, count);
    assert_int_equal(it.cpu[0], 0); /* callers are left alone */
    for (int i = 0; i < count; i++)
        assert_true(it.as_chosen[i]);
    return it;
}

static heed_pool *make_pool(int threads)
{
    heed_pool *pool = NULL;
    assert_int_equal(heed_pool_create(&pool, threads, NULL, NULL), HEED_OK);
    return pool;
}

static void test_parts_from_caller(void **state)
{
    heed_pool *pool = make_pool(2);
    assert_int_equal(gather(pool, 2, 0).cpu[1], 1);
    assert_int_equal(atomic_load(&played.sets), 2); /* it moved, and the mask was restored */
    for (int i = 0; i < 5; i++) {
        played.now_ms += EVERY_MS;
        assert_int_equal(gather(pool, 2, 0).cpu[1], 1);
    }
    assert_int_equal(atomic_load(&played.sets), 2);
    heed_pool_destroy(pool);
}

static void test_parts_from_workers(void **state)
{
    heed_pool *pool = make_pool(3);
    assert_int_equal(gather(pool, 2, 0).cpu[1], 1);
    meeting all = gather(pool, 3, 0);
    assert_int_equal(all.cpu[1], 1);
    assert_int_equal(all.cpu[2], 2);
    heed_pool_destroy(pool);
}

static void test_workers_part(void **state)
{
    played.in_turns = true;
    heed_pool *pool = make_pool(3);
    meeting all = gather(pool, 3, 0);
    assert_int_equal(all.cpu[1] + all.cpu[2], 1 + 2);
    heed_pool_destroy(pool);
}

/* An idle worker does not keep its CPU from the others. */
static void test_idle_workers_yield(void **state)
{
    heed_pool *pool = make_pool(3);
    gather(pool, 2, 0);
    assert_int_equal(gather(pool, 3, 0x5).cpu[2], 2);
    played.now_ms += EVERY_MS;
    assert_int_equal(gather(pool, 2, 0).cpu[1], 2);
    heed_pool_destroy(pool);
}

static void test_more_threads_than_cpus(void **state)
{
    played.allowed = 0x3;
    heed_pool *pool = make_pool(3);
    gather(pool, 2, 0);
    for (int i = 0; i < 5; i++) {
        played.now_ms += EVERY_MS;
        meeting all = gather(pool, 3, 0);
        assert_int_equal(all.cpu[1], 1);
        assert_int_equal(all.cpu[2], 0);
    }
    assert_int_equal(atomic_load(&played.sets), 2);
    heed_pool_destroy(pool);
}

static void test_one_cpu(void **state)
{
    played.allowed = 0x1;
    heed_pool *pool = make_pool(2);
    assert_int_equal(gather(pool, 2, 0).cpu[1], 0);
    assert_int_equal(atomic_load(&played.sets), 0);
    heed_pool_destroy(pool);
}

/* If the system undoes every move, moves are rate-limited. */
static void test_moves_are_few(void **state)
{
    heed_pool *pool = make_pool(2);
    for (int ms = 0; ms < 3 * EVERY_MS; ms++) {
        bool moves = ms % EVERY_MS == 0;
        assert_int_equal(gather(pool, 2, played.allowed).cpu[1], moves ? 1 : 0);
        played.now_ms++;
    }
    assert_int_equal(atomic_load(&played.sets), 3 * 2);
    heed_pool_destroy(pool);
}

static void test_system_refuses(void **state)
{
    played.no_set = true;
    heed_pool *pool = make_pool(2);
    assert_int_equal(gather(pool, 2, 0).cpu[1], 0);
    played.no_set = false;
    played.no_get = true;
    played.now_ms += EVERY_MS;
    assert_int_equal(gather(pool, 2, 0).cpu[1], 0);
    assert_int_equal(atomic_load(&played.sets), 0);
    heed_pool_destroy(pool);
}

/* ---------------------------------------------------------------------------------------------- */
/* One move                                                                                       */
/* ---------------------------------------------------------------------------------------------- */

static bool leave(unsigned taken)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < 32; i++)
        if (taken >> i & 1)
            CPU_SET(i, &set);
    return heed_affinity_leave(&set);
}

typedef struct departure {
    unsigned allowed, taken;
    int cpu; /* its target, from CPU 0 */
} departure;

static void test_leave(void **state)
{
    static const departure cases[] = {
        { 0x1, 0x1, 0 },        { 0x3, 0x1, 1 },        { 0x3, 0x3, 0 }, { 0x80000001, 0x1, 31 },
        { 0xf, 0x80000007, 3 }, { 0xf, 0xfffffffb, 2 }, { 0x5, 0x3, 2 }, { 0xf, 0x6, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        self.cpu = 0;
        self.mask = cases[i].allowed;
        self.known = true;
        assert_int_equal(leave(cases[i].taken), (cases[i].allowed & ~cases[i].taken) != 0);
        assert_int_equal(self.cpu, cases[i].cpu);
        assert_int_equal(self.mask, cases[i].allowed);
    }
}

/* A mask that is set in the meantime is kept. */
static void test_leave_respects(void **state)
{
    played.meddled = 0x2;
    assert_true(leave(0x1));
    assert_int_equal(self.mask, 0x2);
    assert_int_equal(atomic_load(&played.sets), 1);
}

RUN_TESTS_EACH(set_up, NULL, test_parts_from_caller, test_parts_from_workers, test_workers_part,
               test_idle_workers_yield, test_more_threads_than_cpus, test_one_cpu,
               test_moves_are_few, test_system_refuses, test_leave, test_leave_respects)
