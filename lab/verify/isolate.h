/*
 * isolate.h - work that may crash or hang, in a process of its own
 */
#ifndef LAB_ISOLATE_H
#define LAB_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* A piece of memory whose bounds are watched. */
typedef struct lab_place {
    char name[16];
    uintptr_t data;  /* address of the first byte ... */
    size_t size;     /* ... of so many */
    uintptr_t start; /* addresses from here ... */
    uintptr_t end;   /* ... up to here belong to it, with the walls around it */
    bool locked;     /* not to be written to */
} lab_place;

#define LAB_PLACES_MAX 24

/* The progress of the work. It outlives a crash, so that the crash can be explained. */
typedef struct lab_trace {
    char step[64]; /* the current step, as in "ran the second time"; "" for nothing special */
    lab_place places[LAB_PLACES_MAX];
    size_t place_count;
    bool last;         /* set by the work: after this piece the process is of no more use */
    int signal;        /* that ended the process, or 0 */
    uintptr_t address; /* which the crash was about, if it was about one */
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
    char text[160]; /* unless completed: the reason */
} lab_ending;

typedef struct lab_isolation {
    lab_isolated_fn *run;
    void *data;
    size_t count;
    size_t result_size;
    size_t group;        /* so many pieces in a row share what a child keeps; 0: all of them */
    int jobs;            /* children at a time, each at a group of its own; 0: one */
    unsigned deadline_s; /* for each piece; 0: none */
    bool (*stop)(void);  /* asked between pieces: true ends the work early. May be NULL */
    void (*progress)(void *data, size_t done); /* told now and then how many pieces are through,
                                                  with the @data above. May be NULL */
} lab_isolation;

#define LAB_JOBS_MAX 64

/* lab_isolate() runs the pieces 0 .. count - 1 in child processes, in order if there is one at a
 * time, and goes on in a new child after each piece that crashed, was too slow, or said that it is
 * the last. Writes @results, count * result_size bytes, and @endings, one each. To be called from a
 * process with a single thread. Returns HEED_OK whatever the pieces did; HEED_ERR_NO_MEMORY;
 * HEED_ERR_SYSTEM if there can be no child. */
heed_status lab_isolate(const lab_isolation *isolation, void *results, lab_ending *endings);

/* lab_trace_step() says what is being done; NULL for nothing. A NULL @trace is ignored. */
void lab_trace_step(lab_trace *trace, const char *step);

#endif /* LAB_ISOLATE_H */
