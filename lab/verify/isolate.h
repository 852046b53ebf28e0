/*
 * isolate.h - runs work that may crash or hang in child processes
 */
#ifndef LAB_ISOLATE_H
#define LAB_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* A memory block between guard pages. */
typedef struct lab_place {
    char name[16];
    uintptr_t data;  /* address of the first byte */
    size_t size;     /* bytes */
    uintptr_t start; /* first address that belongs to it, with the walls around it */
    uintptr_t end;   /* address after the last one */
    bool locked;     /* read-only */
} lab_place;

#define LAB_PLACES_MAX 24

/* The progress of the work. It outlives a crash, so that the crash can be explained. */
typedef struct lab_trace {
    char step[64]; /* the current step, as in "ran the second time"; "" for nothing special */
    lab_place places[LAB_PLACES_MAX];
    size_t place_count;
    bool last;         /* set by the work: no further piece can run in this process */
    int signal;        /* that ended the process, or 0 */
    uintptr_t address; /* that caused the crash, if any */
} lab_trace;

/* One of several pieces of work: fills @result, which is zeroed before. Runs in the child; the
 * pieces of one child share @data. */
typedef void lab_isolated_fn(void *data, size_t index, lab_trace *trace, void *result);

typedef enum lab_ended {
    LAB_NOT_RUN, /* stopped before it began */
    LAB_COMPLETED,
    LAB_CRASHED,
    LAB_TIMED_OUT
} lab_ended;

/* How a piece of work ended. */
typedef struct lab_ending {
    lab_ended how;
    char text[160]; /* the reason, unless completed */
} lab_ending;

typedef struct lab_isolation {
    lab_isolated_fn *run;
    void *data;
    size_t count;
    size_t result_size;
    size_t group;        /* consecutive pieces that share the state of a child; 0: all */
    int jobs;            /* children at a time, each with a different group; 0: one */
    unsigned deadline_s; /* for each piece; 0: none */
    bool (*stop)(void);  /* called between pieces: true ends the work early. May be NULL */
    void (*progress)(void *data, size_t done); /* called now and then with @progress_data and the
                                                * number of finished pieces. May be NULL */
    void *progress_data;
} lab_isolation;

#define LAB_JOBS_MAX 64

/* lab_isolate() runs the pieces 0 .. count - 1 in child processes, in order if one runs at a time,
 * and continues in a new child after each piece that crashed, was too slow, or set @last of its
 * trace. Writes @results, count * result_size bytes, and @endings, one for each piece. To be called
 * from a process with a single thread. Returns HEED_OK whatever the pieces did; HEED_ERR_NO_MEMORY;
 * HEED_ERR_SYSTEM if no child can be started. */
heed_status lab_isolate(const lab_isolation *isolation, void *results, lab_ending *endings);

/* lab_trace_step() records the current step; NULL clears it. A NULL @trace is ignored. */
void lab_trace_step(lab_trace *trace, const char *step);

#endif /* LAB_ISOLATE_H */
