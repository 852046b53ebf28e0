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

#define LAB_PLACES_MAX 8

/* What the work is at. It outlives a crash, so that the crash can be explained. */
typedef struct lab_trace {
    char step[64]; /* what is being done, as in "ran the second time"; "" for nothing special */
    lab_place places[LAB_PLACES_MAX];
    size_t place_count;
    int signal;        /* that ended the process, or 0 */
    uintptr_t address; /* which the crash was about, if it was about one */
} lab_trace;

/* One of several pieces of work: fills @result, which is zeroed before. Runs in the child; what the
 * pieces of one child keep in @data they share. */
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
    char text[160]; /* unless completed: what happened, to whom */
} lab_ending;

typedef struct lab_isolation {
    lab_isolated_fn *run;
    void *data;
    size_t count;
    size_t result_size;
    unsigned deadline_s; /* for each piece; 0: none */
    bool (*stop)(void);  /* asked between pieces: true ends the work early. May be NULL */
} lab_isolation;

/* lab_isolate() runs the pieces 0 .. count - 1 in a child process, and goes on in a new child after
 * each one that crashed or was too slow. Writes @results, count * result_size bytes, and @endings,
 * one each. To be called from a process with a single thread. Returns HEED_OK whatever the pieces
 * did; HEED_ERR_NO_MEMORY; HEED_ERR_SYSTEM if there can be no child. */
heed_status lab_isolate(const lab_isolation *isolation, void *results, lab_ending *endings);

/* lab_trace_step() says what is being done; NULL for nothing. A NULL @trace is ignored. */
void lab_trace_step(lab_trace *trace, const char *step);

#endif /* LAB_ISOLATE_H */
