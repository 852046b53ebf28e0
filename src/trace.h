/*
 * trace.h - named NVTX ranges for profiling tools
 *
 * Nsight Systems, Nsight Compute and other tools that support NVTX show when heed plans, compiles
 * and executes, in a domain "heed". With NVIDIA's header each library of a program looks for the
 * tool separately. This does the same with the few entries that it needs: it loads the file that
 * NVTX_INJECTION64_PATH names and passes it the table for its functions. Nothing is linked. Ranges
 * belong to the calling thread, and do not affect any device or stream.
 */
#ifndef HEED_TRACE_H
#define HEED_TRACE_H

#include "heed.h"

/* A profiling tool. */
typedef struct heed_trace heed_trace;

typedef enum heed_trace_kind {
    HEED_TRACE_PLAN,
    HEED_TRACE_COMPILE,
    HEED_TRACE_EXECUTE,
    HEED_TRACE_KINDS
} heed_trace_kind;

/* heed_trace_get() returns this process's tool, the same every time; NULL: there is none, or
 * HEED_NVTX=0 disables it. */
const heed_trace *heed_trace_get(void);

/* heed_trace_begin() begins a range @name on the calling thread, and heed_trace_end() ends the last
 * one that was begun there. heed_trace_begin_plan() names the range after a problem, which may be
 * invalid. They do nothing if @trace is NULL. */
void heed_trace_begin(const heed_trace *trace, heed_trace_kind kind, const char *name);
void heed_trace_begin_plan(const heed_trace *trace, const heed_problem *problem);
void heed_trace_end(const heed_trace *trace);

#endif /* HEED_TRACE_H */
