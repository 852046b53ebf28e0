/*
 * machine.h - the emulated multiprocessor: types and functions that the files of the emulator share
 *
 * A cluster of blocks is one machine. Its threads and warps are numbered on from block to block,
 * and the shared memories of its blocks lie one behind the other, each at a place of its own;
 * addresses that a thread names are turned into these (shared_access()).
 *
 * Order between accesses is kept by clocks. Each thread counts its ticks: one ends where it lets
 * others know what it has done. The clock of a thread says of every actor which of its accesses
 * come before whatever the thread does now: those up to that tick. Actors are the threads, which
 * come first, and what acts on its own: the copies that a barrier in shared memory counts, by its
 * phases; the products of a warpgroup, by groups; the stores that a thread starts, by groups.
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
#define WARPS_MAX 32 /* of a block */
#define CLUSTER_MAX 8
#define NAMED_MAX 16 /* barriers of a block */
#define FILES_MAX 16
#define SITES_MAX 512 /* a power of 2 */
#define LOG_MAX 1024

/* A line of a source file, as an index into machine.files and a line number; 0: no line. */
typedef uint32_t site;

/* Actors other than threads, and barriers in shared memory, of a block. */
#define ASYNC_MAX 128
#define MBARRIERS_MAX 80
#define WARPGROUP 4 /* warps */
#define WARPGROUPS_MAX (WARPS_MAX / WARPGROUP)

/* The content of memory before anything was written: NaN in every type. */
#define POISON 0xff

/* The granules of shared memory in the record: the smallest access, and the largest. */
#define GRANULE 2
#define CELL_BYTES 16
#define CELL_GRANULES (CELL_BYTES / GRANULE)

/* The record of a granule: its last write, and the reads since. */
typedef struct granule {
    uint32_t tick; /* 0: never written */
    site at;
    uint32_t reads; /* the first one in machine.reads, or 0 */
    uint16_t actor;
    bool pending; /* it is a copy that the thread has not waited for */
    bool atomic;
} granule;

/* Most accesses are to whole cells, whose granules then have all the same known of them: the first
 * one stands for all until an access to some of them comes. */
typedef struct cell {
    uint32_t stamp; /* of the block that the rest is of */
    bool apart;
    granule of[CELL_GRANULES];
} cell;

/* Reads of a granule in the same tick: by lanes of a warp, or by another actor. */
typedef struct reading {
    uint32_t next;
    uint32_t tick;
    uint32_t lanes; /* 0: not by threads */
    site at;
    uint16_t who;  /* a warp, or an actor */
    bool together; /* by one instruction of the warp: it is over for all of them */
} reading;

/* An access: its actor, its place in the kernel, the bytes, and their block. */
typedef struct machine machine;
typedef struct access {
    machine *m;
    const uint32_t *clock; /* of the accesses before it */
    uint32_t actor;        /* named in a message about it; a read belongs to it */
    uint32_t tick;
    uint32_t smem;
    uint32_t base; /* of the block, in @smem */
    const char *verb;
    site at;
    bool async;    /* by way of the asynchronous proxy */
    bool together; /* a part of an instruction of the warp */
} access;

/* The trace of a write. */
typedef enum manner {
    PLAIN,
    ATOMIC,
    PENDING
} manner;

/* A copy of cp.async under way. */
typedef struct copy {
    uint32_t smem;
    uint32_t group;
    uint8_t bytes[16];
} copy;

/* One access to shared memory, until the lanes of the warp meet and it is known which belong
 * together. */
typedef struct access_record {
    site at;
    uint32_t smem;
    uint32_t size;
} access_record;

typedef enum thread_state {
    READY,
    YIELDED, /* its log is full */
    MEETING, /* waits for others, by its request */
    WAITING, /* alone, until waits_over() */
    GONE
} thread_state;

/* The wait of a single thread: until phase @phase is over of ... */
typedef struct waits {
    struct mbarrier *barrier;
    struct meeting *meeting; /* ... either; both NULL: until stores have read */
    uint32_t phase;
} waits;

/* The order in which a thread made its stores visible to the asynchronous proxy: the ticks that
 * ended so. */
typedef struct fences {
    uint32_t *tick;
    size_t count, room;
} fences;

typedef struct thread {
    fiber fiber;
    uint32_t rank; /* of its block in the cluster */
    uint32_t base; /* added to its block's addresses of shared memory, in the machine */
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
    uint32_t stores_actor; /* of the stores it has started, 0: none */
    uint32_t stores_group; /* number of the group that the next one belongs to */
    uint32_t stores_open;  /* those of that group */
    uint32_t stores_left;  /* those that have not read yet */
    site stores_at;
    uint32_t meetings; /* of the cluster at which it has arrived */
    bool met;          /* and waited for the last of them, if any */
} thread;

/* A barrier in shared memory. */
typedef struct mbarrier {
    uint32_t smem;
    uint32_t count, pending; /* arrivals of a phase, and those yet to come */
    int32_t bytes;           /* announced, less those that have come */
    uint32_t phase;          /* its number, from 0 on */
    uint32_t copied;         /* phases up to here had copies; 0: none */
    uint32_t actor;          /* of those copies */
    uint32_t maker;          /* the thread that made it, and ... */
    bool fenced;             /* ... whether copies know */
    site at;
    uint32_t *gathered; /* the clock of the arrivals of this phase ... */
    uint32_t *over;     /* ... and of all of the last one */
} mbarrier;

/* A barrier of the block, of those who have come without waiting. */
typedef struct arrivals {
    uint32_t come, wanted;
    uint32_t *clock;
} arrivals;

/* The barrier of the cluster. */
typedef struct meeting {
    uint32_t phase;     /* its number, from 0 on */
    uint32_t threads;   /* that have not left */
    uint32_t come;      /* in this phase */
    uint32_t pending;   /* those yet to come, of those that have not left */
    uint32_t *gathered; /* as a barrier's in shared memory */
    uint32_t *over;
} meeting;

/* How a line of the kernel did with the banks. */
typedef struct tally {
    site at;
    uint64_t passes;
    uint64_t conflicts;
} tally;

struct machine {
    const emulator_launch *launch;
    emulator_report *report;
    uint32_t cluster;  /* blocks of one */
    uint32_t block[3]; /* the first one of the cluster */
    fiber scheduler;
    thread *threads;
    thread *running; /* NULL: the scheduler */
    uint32_t count;  /* of threads */
    uint32_t warps;
    uint32_t block_warps;
    uint32_t shared_bytes; /* of a block */
    uint32_t pitch;        /* from one block's shared memory to the next one's */
    void *stacks;
    access_record *logs;

    uint32_t stamp;  /* of the block */
    uint32_t actors; /* so far */
    uint32_t stride; /* of clocks */
    uint32_t *clocks;
    uint32_t *scratch; /* a clock */
    cell *cells;
    reading *reads;
    uint32_t reads_count, reads_room, reads_free;
    uint8_t *shared;

    arrivals arrivals[CLUSTER_MAX][NAMED_MAX];
    meeting meeting;
    uint32_t staying[CLUSTER_MAX]; /* threads of a block that have not left */
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
    uint32_t registers[CLUSTER_MAX * WARPS_MAX];       /* of a thread, once its warp has said so, */
    uint32_t registers_times[CLUSTER_MAX * WARPS_MAX]; /* how often it has, */
    site registers_at[CLUSTER_MAX * WARPS_MAX];        /* and where the last time */

    const char *files[FILES_MAX];
    tally tallies[SITES_MAX];
};

/* message.c: ends the run with a message, unless there is one. It does not return to a thread. */
void machine_fail(machine *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void machine_race(machine *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
site machine_site(machine *m, const thread *t);
/* Writes "file:line". */
typedef struct site_text {
    char text[64];
} site_text;
site_text machine_site_print(const machine *m, site at);
/* Write the number that thread @index, or the byte at @smem, has in its block, and if there are
 * clusters of which block. */
typedef struct number_text {
    char text[32];
} number_text;
number_text machine_thread_print(const machine *m, uint32_t index);
number_text machine_shared_print(const machine *m, uint32_t smem);
uint32_t machine_index(const machine *m, const thread *t);

/* machine.c: the running thread gives way; it is called with another state than READY. */
void machine_give_way(machine *m);
machine *machine_here(void);
/* A number below @below, from the seed. */
uint32_t machine_random(machine *m, uint32_t below);

/* memory.c: memory_take() is a machine for a run, whose threads are fibers of body(machine), with
 * nothing left in it of runs before; NULL: no memory. memory_leave() says that the run is over, and
 * whether all threads came to the end of the kernel. */
machine *memory_take(const emulator_launch *launch, void (*body)(void *machine));
void memory_leave(machine *m, bool ended);

/* A larger array for what @list has room for, with at least one more; NULL after machine_fail(). */
void *machine_grow(machine *m, void *list, size_t count, size_t *room, size_t size);

/* barrier.c: barriers of the block. Those that are complete let their threads go on; true if there
 * was one. The lanes of a warp arrive at one for which they do not wait. At the end of the block it
 * fails if threads wait, and says who and for whom. */
bool barrier_release_complete(machine *m);
void barrier_arrive(machine *m, thread *lanes);
void barrier_finish(machine *m);

/* order.c: the order of actors. order_reset() begins a block. order_actor() is a new actor, 0
 * after machine_fail(). */
void order_reset(machine *m);
uint32_t order_actor(machine *m);
uint32_t *order_clock(const machine *m, uint32_t index);
void order_join(const machine *m, uint32_t *restrict into, const uint32_t *restrict from);
/* @into knows what thread @index knows, and what it has done until now. */
void order_release(machine *m, uint32_t index, uint32_t *into);
/* Threads meet: each knows what @joined and all others have done. */
void order_meet(machine *m, const uint32_t *threads, uint32_t count, uint32_t *joined);
/* Makes the stores of thread @index visible to the asynchronous proxy. */
void order_fence(machine *m, uint32_t index);
/* Accesses are checked and noted; a write becomes one of tick @tick of @actor. Both return false if
 * there was a race. */
bool order_read(const access *it, uint32_t size);
bool order_write(const access *it, uint32_t size, manner how, uint32_t actor, uint32_t tick);
/* Was each of @size bytes at @smem ever written? */
bool order_filled(machine *m, uint32_t smem, uint32_t size);
/* The copy to the cell at @smem that thread @owner has started is done, and its write from now on.
 */
void order_copied(machine *m, uint32_t owner, uint32_t smem);
/* Complains if the last write at @smem does not come before @it. */
bool order_after_write(const access *it);

/* shared.c: accesses on behalf of a thread; false after machine_fail(). @smem is of the thread's
 * own block. */
access shared_access(machine *m, const thread *t, uint32_t smem, const char *verb);
/* Where @size bytes at it->smem, a multiple of @align, are; NULL, after machine_fail(), if they are
 * not there. */
uint8_t *shared_locate(const access *it, uint32_t size, uint32_t align);
/* @together: the read is a part of an instruction of the warp. */
bool shared_read(machine *m, thread *t, uint32_t smem, void *to, uint32_t size, bool together);
bool shared_write(machine *m, thread *t, uint32_t smem, const void *from, uint32_t size);

/* mbarrier.c: barriers in shared memory. mbarrier_at() is the one at it->smem, which it->actor
 * knows; NULL after machine_fail(). mbarrier_count_copy() is before what it shall count is started;
 * mbarrier_bytes() says that @bytes have come. mbarrier_touched() is whether one lies in @size
 * bytes at @smem. */
void mbarrier_reset(machine *m);
mbarrier *mbarrier_at(const access *it);
void mbarrier_count_copy(const access *it, mbarrier *b);
void mbarrier_bytes(machine *m, mbarrier *b, uint32_t bytes);
bool mbarrier_touched(const machine *m, uint32_t smem, uint32_t size);
/* Fails if copies came to a barrier that nobody waited for. */
void mbarrier_finish(machine *m);

/* tensor.c: copies of boxes. tensor_deliver() completes those that are due, or else, if @any, one;
 * false if none. tensor_left() is called when a thread has left. */
bool tensor_deliver(machine *m, bool any);
void tensor_left(machine *m, thread *t);

/* cluster.c: blocks of a cluster. cluster_access() is an access to @smem, the thread's own or a
 * mapped address, of which another block must be there; cluster_deliver() is for stores to other
 * blocks what tensor_deliver() is for boxes; cluster_left() is called when a thread has left. */
access cluster_access(machine *m, const thread *t, uint32_t smem, const char *verb);
void cluster_reset(machine *m);
bool cluster_deliver(machine *m, bool any);
void cluster_left(machine *m, thread *t);

/* Has a thread that is WAITING what it waits for? */
bool waits_over(const thread *t);

/* wgmma.c: products of a warpgroup. wgmma_ready() is whether the wait that the lanes of a warp are
 * at is over. */
void wgmma_reset(machine *m);
void wgmma_free(machine *m);
void wgmma_start(machine *m, thread *lanes);
void wgmma_commit(machine *m, thread *lanes);
bool wgmma_ready(machine *m, const thread *lanes);
void wgmma_finish(machine *m, thread *lanes);
/* A thread has left; at the end of the block. */
void wgmma_left(machine *m, thread *t);

/* registers.c: the lanes of a warp say how many registers they have from now on. */
void registers_set(machine *m, const thread *lanes);

/* banks.c: banks_count() judges an access of all lanes; the address of a lane that takes no part is
 * 0. banks_flush() does so with the logs of a warp, banks_report() sums up. */
void banks_count(machine *m, site at, const uint32_t smem[LANES], uint32_t size);
void banks_log(machine *m, thread *t, uint32_t smem, uint32_t size);
void banks_flush(machine *m, uint32_t warp);
void banks_report(machine *m);

/* matrix.c: executes an instruction for which all the lanes of a warp have come. */
void matrix_execute(machine *m, thread *lanes);

#endif /* EMULATOR_MACHINE_H */
