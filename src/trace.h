/*
 * trace.h - ranges of time with names, for tools that watch a program
 *
 * Nsight Systems, Nsight Compute and whatever else speaks NVTX show when heed plans, compiles and
 * executes, in a domain "heed". NVIDIA's header has every library of a program look for the tool by
 * itself; so does this, with the few entries that it needs: the file that NVTX_INJECTION64_PATH
 * names is loaded and told where its functions may be put. Nothing is linked. Ranges are of the
 * calling thread, and touch no device and no stream.
 */
#ifndef HEED_TRACE_H
#define HEED_TRACE_H

#include "heed.h"

/* A tool that watches. */
typedef struct heed_trace heed_trace;

typedef enum heed_trace_kind {
    HEED_TRACE_PLAN,
    HEED_TRACE_COMPILE,
    HEED_TRACE_EXECUTE,
    HEED_TRACE_KINDS
} heed_trace_kind;

/* heed_trace_get() returns the tool of this process, the same every time; NULL: there is none, or
 * HEED_NVTX=0 keeps heed out of it. */
const heed_trace *heed_trace_get(void);

/* heed_trace_begin() begins a range @name of the calling thread, and heed_trace_end() ends the last
 * one that it has begun. heed_trace_begin_plan() names it after a problem, which may be none. NULL
 * for @trace does nothing. */
void heed_trace_begin(const heed_trace *trace, heed_trace_kind kind, const char *name);
void heed_trace_begin_plan(const heed_trace *trace, const heed_problem *problem);
void heed_trace_end(const heed_trace *trace);

#endif /* HEED_TRACE_H */
