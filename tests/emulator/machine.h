/*
 * machine.h - the emulated multiprocessor: types and functions that the files of the emulator share
 *
 * Order between accesses is kept by clocks. Each warp counts phases, which end at warp barriers and
 * barriers; clock[v][w] is the last phase of warp w whose accesses come before whatever warp v does
 * now. Phases only grow: what a block left behind is older than the next block's base.
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
#define WARPS_MAX 32
#define FILES_MAX 16
#define SITES_MAX 512 /* a power of 2 */
#define LOG_MAX 1024

/* A line of a source file, as an index into machine.files and a line number; 0 is none. */
typedef uint32_t site;

/* What shared memory is recorded by: the smallest access. */
#define GRANULE 2

/* The last write to a granule. */
typedef struct written {
    uint32_t phase;
    site at;
    uint16_t thread;
    bool pending; /* it is a copy that the thread has not waited for */
    bool atomic;
} written;

/* A warp's last reads of a granule. */
typedef struct seen {
    uint32_t phase;
    site at;
    uint32_t lane; /* or one of these: */
#define LANES_SEVERAL LANES
#define LANES_TOGETHER                                                        \
    (LANES + 1) /* by one instruction of the warp: it is over for all of them \
                 */
} seen;

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
    GONE
} thread_state;

typedef struct thread {
    fiber fiber;
    thread_state state;
    const emulator_request *request;
    const char *file;
    int line;
    copy *copies; /* in the order in which they were started */
    size_t copy_count, copy_room;
    uint32_t group; /* number of the group that the next copy belongs to */
    access_record *log;
    size_t log_count;
} thread;

/* How a line of the kernel did with the banks. */
typedef struct tally {
    site at;
    uint64_t passes;
    uint64_t conflicts;
} tally;

typedef struct machine {
    const emulator_launch *launch;
    emulator_report *report;
    uint32_t block[3];
    fiber scheduler;
    thread *threads;
    thread *running; /* NULL: the scheduler */
    uint32_t warps;
    void *stacks;
    access_record *logs;
    uint32_t base; /* phases up to here are of earlier blocks */
    uint32_t clock[WARPS_MAX][WARPS_MAX];
    uint8_t *shared;
    written *written; /* by granule */
    seen *seen;       /* by granule and warp */
    const char *files[FILES_MAX];
    tally tallies[SITES_MAX];
} machine;

/* machine.c: ends the run with a message, unless there is one. It does not return to a thread. */
void machine_fail(machine *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void machine_race(machine *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
site machine_site(machine *m, const thread *t);
/* Writes "file:line". */
typedef struct site_text {
    char text[64];
} site_text;
site_text machine_site_print(const machine *m, site at);
uint32_t machine_index(const machine *m, const thread *t);
/* The running thread gives way; it is called with another state than READY. */
void machine_give_way(machine *m);
machine *machine_here(void);

/* shared.c: accesses on behalf of a thread; false after machine_fail(). shared_reset() begins a
 * block. */
void shared_reset(machine *m);
/* @together: the read is a part of an instruction of the warp. */
bool shared_read(machine *m, thread *t, uint32_t smem, void *to, uint32_t size, bool together);

/* banks.c: banks_count() judges an access of all lanes; the address of a lane that takes no part is
 * 0. banks_flush() does so with the logs of a warp, banks_report() sums up. */
void banks_count(machine *m, site at, const uint32_t smem[LANES], uint32_t size);
void banks_log(machine *m, thread *t, uint32_t smem, uint32_t size);
void banks_flush(machine *m, uint32_t warp);
void banks_report(machine *m);

/* matrix.c: executes an instruction for which all the lanes of a warp have come. */
void matrix_execute(machine *m, thread *lanes);

#endif /* EMULATOR_MACHINE_H */
