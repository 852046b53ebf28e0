/*
 * machine.h - the emulated multiprocessor: types and functions shared by the emulator's files
 *
 * A cluster of blocks is one machine. Its threads and warps are numbered consecutively across
 * blocks, and the shared memories of its blocks are laid out one after another. Addresses used by a
 * thread are converted to this layout (shared_access()).
 *
 * Vector clocks order accesses. Each thread counts ticks: one ends when the thread makes its
 * accesses visible to others. The clock of a thread has for every actor the tick up to which that
 * actor's accesses happen before whatever the thread does next. Actors are the threads, which come
 * first, and asynchronous operations: the copies that a barrier in shared memory counts, by phase;
 * the products of a warpgroup, by group; the stores that a thread starts, by group.
 */
#ifndef EMULATOR_MACHINE_H
#define EMULATOR_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/emulator.h"
#include "emulator/fiber.h"
#include "emulator/request.h"

#define LANES 32
#define WARPS_MAX 32 /* per block */
#define CLUSTER_MAX 8
#define NAMED_MAX 16 /* barriers per block */
#define FILES_MAX 16
#define SITES_MAX 512 /* a power of 2 */
#define LOG_MAX 1024

/* A line of a source file, as an index into machine.files and a line number; 0: no line. */
typedef uint32_t site;

/* Actors other than threads, and barriers in shared memory, per block. */
#define ASYNC_MAX 128
#define MBARRIERS_MAX 80
#define WARPGROUP 4 /* warps */
#define WARPGROUPS_MAX (WARPS_MAX / WARPGROUP)

/* The content of uninitialized memory: NaN in every type. */
#define POISON 0xff

/* Granularity of the access record of shared memory: the smallest access, and the largest. */
#define GRANULE 2
#define CELL_BYTES 16
#define CELL_GRANULES (CELL_BYTES / GRANULE)

/* The record of a granule: its last write, and the reads since. */
typedef struct granule {
    uint32_t tick; /* 0: never written */
    site at;
    uint32_t reads; /* index of the first in machine.reads, or 0 */
    uint16_t actor;
    bool pending; /* it is a copy that the thread has not waited for */
    bool atomic;
} granule;

/* Most accesses cover whole cells, whose granules then have equal records: the first one represents
 * all until an access covers only some of them. */
typedef struct cell {
    uint32_t stamp; /* of the block to which the record belongs */
    bool apart;
    granule of[CELL_GRANULES];
} cell;

/* Reads of a granule in one tick: by lanes of a warp, or by another actor. */
typedef struct reading {
    uint32_t next;
    uint32_t tick;
    uint32_t lanes; /* 0: not threads */
    site at;
    uint16_t who;  /* index of a warp, or of an actor */
    bool together; /* by one instruction of the warp: it has completed for all lanes */
} reading;

/* An access: its actor, its place in the kernel, the address, and the block. */
typedef struct machine machine;
typedef struct access {
    machine *m;
    const uint32_t *clock; /* orders accesses before it */
    uint32_t actor;        /* named in messages; owns a read */
    uint32_t tick;
    uint32_t smem;
    uint32_t base; /* of the block, in @smem */
    const char *verb;
    site at;
    bool async;    /* through the asynchronous proxy */
    bool together; /* part of a collective instruction */
} access;

/* The kind of a write. */
typedef enum manner {
    PLAIN,
    ATOMIC,
    PENDING
} manner;

/* A pending cp.async copy. */
typedef struct copy {
    uint32_t smem;
    uint32_t group;
    uint8_t bytes[16];
} copy;

/* One access to shared memory, logged until the lanes of the warp meet and accesses can be
 * grouped. */
typedef struct access_record {
    site at;
    uint32_t smem;
    uint32_t size;
} access_record;

typedef enum thread_state {
    READY,
    YIELDED, /* its log is full */
    MEETING, /* waits for others, with a request */
    WAITING, /* waits individually, until waits_over() */
    GONE
} thread_state;

/* The wait of a single thread: until phase @phase is complete of ... */
typedef struct waits {
    struct mbarrier *barrier;
    struct meeting *meeting; /* ... either; both NULL: until stores have read their source */
    uint32_t phase;
} waits;

/* The ticks in which a thread made its stores visible to the asynchronous proxy. */
typedef struct fences {
    uint32_t *tick;
    size_t count, room;
} fences;

typedef struct thread {
    fiber fiber;
    uint32_t rank; /* of its block in the cluster */
    uint32_t base; /* offset of its block's shared memory in the machine */
    thread_state state;
    const emulator_request *request;
    const char *file;
    int line;
    copy *copies; /* in the order in which they were started */
    size_t copy_count, copy_room;
    uint32_t group; /* number of the group that the next copy belongs to */
    access_record *log;
    size_t log_count;
    waits waits;
    fences fences;
    uint32_t stores_actor; /* for the stores it has started, 0: none */
    uint32_t stores_group; /* number of the group that the next one belongs to */
    uint32_t stores_open;  /* stores in that group */
    uint32_t stores_left;  /* stores that have not read their source yet */
    site stores_at;
    uint32_t meetings; /* of the cluster at which it has arrived */
    bool met;          /* it has waited for the last of them */
} thread;

/* A barrier in shared memory. */
typedef struct mbarrier {
    uint32_t smem;
    uint32_t count, pending; /* arrivals per phase, and those still pending */
    int32_t bytes;           /* expected minus arrived */
    uint32_t phase;          /* phase number, from 0 on */
    uint32_t copied;         /* phases up to here had copies; 0: none */
    uint32_t actor;          /* for those copies */
    uint32_t maker;          /* the thread that initialized it, and ... */
    bool fenced;             /* ... whether this is visible to copies */
    site at;
    uint32_t *gathered; /* joined clocks of the arrivals in this phase ... */
    uint32_t *over;     /* ... and of all arrivals in the last one */
} mbarrier;

/* Threads that have arrived at a barrier of the block without waiting. */
typedef struct arrivals {
    uint32_t come, wanted;
    uint32_t *clock;
} arrivals;

/* The barrier of the cluster. */
typedef struct meeting {
    uint32_t phase;     /* phase number, from 0 on */
    uint32_t threads;   /* that have not exited */
    uint32_t come;      /* in this phase */
    uint32_t pending;   /* still pending, of threads that have not exited */
    uint32_t *gathered; /* like those of a barrier in shared memory */
    uint32_t *over;
} meeting;

/* Bank conflicts of a line of the kernel. */
typedef struct tally {
    site at;
    uint64_t passes;
    uint64_t conflicts;
} tally;

struct machine {
    const emulator_launch *launch;
    emulator_report *report;
    uint32_t cluster;  /* blocks per cluster */
    uint32_t block[3]; /* the first one of the cluster */
    fiber scheduler;
    thread *threads;
    thread *running; /* NULL: the scheduler */
    uint32_t count;  /* of threads */
    uint32_t warps;
    uint32_t block_warps;
    uint32_t shared_bytes; /* per block */
    uint32_t pitch;        /* distance between the shared memories of two blocks */
    void *stacks;
    access_record *logs;

    uint32_t stamp;  /* of the block */
    uint32_t actors; /* allocated so far */
    uint32_t stride; /* of clocks */
    uint32_t *clocks;
    uint32_t *scratch; /* a temporary clock */
    cell *cells;
    reading *reads;
    uint32_t reads_count, reads_room, reads_free;
    uint8_t *shared;

    arrivals arrivals[CLUSTER_MAX][NAMED_MAX];
    meeting meeting;
    uint32_t staying[CLUSTER_MAX]; /* threads per block that have not exited */
    mbarrier mbarriers[CLUSTER_MAX * MBARRIERS_MAX];
    uint32_t mbarrier_count;
    uint32_t *mbarrier_clocks;
    struct tensor_copy *tensor_copies; /* under way */
    size_t tensor_count, tensor_room;
    struct remote_store *remote_stores; /* under way */
    size_t remote_count, remote_room;
    uint32_t turn;
    uint64_t random;
    struct warpgroup *warpgroups[CLUSTER_MAX * WARPGROUPS_MAX];
    uint32_t registers[CLUSTER_MAX * WARPS_MAX];       /* per thread, as set by its warp, */
    uint32_t registers_times[CLUSTER_MAX * WARPS_MAX]; /* how often it was set, */
    site registers_at[CLUSTER_MAX * WARPS_MAX];        /* and where last */

    const char *files[FILES_MAX];
    tally tallies[SITES_MAX];
};

/* message.c: ends the run with a message, unless it already has one. It does not return to a
 * thread. */
void machine_fail(machine *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void machine_race(machine *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
site machine_site(machine *m, const thread *t);
/* Formats "file:line". */
typedef struct site_text {
    char text[64];
} site_text;
site_text machine_site_print(const machine *m, site at);
/* Format the number of thread @index, or of the byte at @smem, within its block; with clusters also
 * the block. */
typedef struct number_text {
    char text[32];
} number_text;
number_text machine_thread_print(const machine *m, uint32_t index);
number_text machine_shared_print(const machine *m, uint32_t smem);
uint32_t machine_index(const machine *m, const thread *t);

/* machine.c: the running thread yields; called with a state other than READY. */
void machine_give_way(machine *m);
machine *machine_here(void);
/* A pseudorandom number below @below. */
uint32_t machine_random(machine *m, uint32_t below);

/* memory.c: memory_take() returns a machine for a run, whose threads are fibers of body(machine),
 * without state of earlier runs; NULL: no memory. memory_leave() ends the run, with whether all
 * threads reached the end of the kernel. */
machine *memory_take(const emulator_launch *launch, void (*body)(void *machine));
void memory_leave(machine *m, bool ended);

/* Grows an array to have room for at least one more element than @list has; NULL after
 * machine_fail(). */
void *machine_grow(machine *m, void *list, size_t count, size_t *room, size_t size);

/* barrier.c: barriers of the block. barrier_release_complete() releases the threads at complete
 * ones; true if there was one. The lanes of a warp arrive at a barrier for which they do not wait.
 * At the end of the block waiting threads are an error, which names them and their barrier. */
bool barrier_release_complete(machine *m);
void barrier_arrive(machine *m, thread *lanes);
void barrier_finish(machine *m);

/* order.c: ordering of actors. order_reset() starts a block. order_actor() returns a new actor, 0
 * after machine_fail(). */
void order_reset(machine *m);
uint32_t order_actor(machine *m);
uint32_t *order_clock(const machine *m, uint32_t index);
void order_join(const machine *m, uint32_t *restrict into, const uint32_t *restrict from);
/* @into is joined with the clock of thread @index and its current tick. */
void order_release(machine *m, uint32_t index, uint32_t *into);
/* Threads meet: everything that @joined and all of them have done happens before what each does
 * next. */
void order_meet(machine *m, const uint32_t *threads, uint32_t count, uint32_t *joined);
/* Makes the stores of thread @index visible to the asynchronous proxy. */
void order_fence(machine *m, uint32_t index);
/* Check and record accesses; a write belongs to tick @tick of @actor. Both return false if there
 * was a race. */
bool order_read(const access *it, uint32_t size);
bool order_write(const access *it, uint32_t size, manner how, uint32_t actor, uint32_t tick);
/* Returns whether each of @size bytes at @smem has been written. */
bool order_filled(machine *m, uint32_t smem, uint32_t size);
/* The copy to the cell at @smem that thread @owner started has completed, and becomes that thread's
 * write. */
void order_copied(machine *m, uint32_t owner, uint32_t smem);
/* Reports an error if the last write at @smem does not happen before @it. */
bool order_after_write(const access *it);

/* shared.c: accesses on behalf of a thread; false after machine_fail(). @smem is an address in the
 * thread's block. */
access shared_access(machine *m, const thread *t, uint32_t smem, const char *verb);
/* Address of @size bytes at it->smem, aligned to @align; NULL, after machine_fail(), if out of
 * bounds. */
uint8_t *shared_locate(const access *it, uint32_t size, uint32_t align);
/* @together: the read is part of a collective instruction. */
bool shared_read(machine *m, thread *t, uint32_t smem, void *to, uint32_t size, bool together);
bool shared_write(machine *m, thread *t, uint32_t smem, const void *from, uint32_t size);

/* mbarrier.c: barriers in shared memory. mbarrier_at() returns the one at it->smem, whose
 * initialization must be visible to it->actor; NULL after machine_fail(). mbarrier_count_copy()
 * precedes the start of an operation that it counts; mbarrier_bytes() announces that @bytes have
 * arrived. mbarrier_touched() returns whether one overlaps @size bytes at @smem. */
void mbarrier_reset(machine *m);
mbarrier *mbarrier_at(const access *it);
void mbarrier_count_copy(const access *it, mbarrier *b);
void mbarrier_bytes(machine *m, mbarrier *b, uint32_t bytes);
bool mbarrier_touched(const machine *m, uint32_t smem, uint32_t size);
/* Fails if copies arrived at a barrier that no thread waited for. */
void mbarrier_finish(machine *m);

/* tensor.c: copies of boxes. tensor_deliver() completes those that are due, or otherwise one if
 * @any; false if none. tensor_left() is called when a thread has exited. */
bool tensor_deliver(machine *m, bool any);
void tensor_left(machine *m, thread *t);

/* cluster.c: blocks of a cluster. cluster_deliver() is tensor_deliver() for stores to other blocks;
 * cluster_left() is called when a thread has exited. */
void cluster_reset(machine *m);
bool cluster_deliver(machine *m, bool any);
void cluster_left(machine *m, thread *t);

/* Returns whether the wait of a WAITING thread is over. */
bool waits_over(const thread *t);

/* wgmma.c: products of a warpgroup. wgmma_ready() returns whether the current wait of the lanes of
 * a warp is over. */
void wgmma_reset(machine *m);
void wgmma_free(machine *m);
void wgmma_start(machine *m, thread *lanes);
void wgmma_commit(machine *m, thread *lanes);
bool wgmma_ready(machine *m, const thread *lanes);
void wgmma_finish(machine *m, thread *lanes);
/* Called when a thread has exited; called at the end of the block. */
void wgmma_left(machine *m, thread *t);

/* registers.c: the lanes of a warp set their number of registers. */
void registers_set(machine *m, const thread *lanes);

/* banks.c: banks_count() counts the conflicts of an access by all lanes; the address of a lane that
 * takes no part is 0. banks_flush() does so for the logs of a warp, banks_report() sums up. */
void banks_count(machine *m, site at, const uint32_t smem[LANES], uint32_t size);
void banks_log(machine *m, thread *t, uint32_t smem, uint32_t size);
void banks_flush(machine *m, uint32_t warp);
void banks_report(machine *m);

/* matrix.c: executes an instruction at which all lanes of a warp have arrived. */
void matrix_execute(machine *m, thread *lanes);

#endif /* EMULATOR_MACHINE_H */
