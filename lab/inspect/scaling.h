/*
 * scaling.h - judges whether the time of a plan grows with its work
 *
 * A problem is timed while one of its sizes doubles repeatedly. If time grows much faster than the
 * work, or as fast as the work on a device with room for more, the likely cause is reported. This
 * file only evaluates measured figures.
 */
#ifndef LAB_SCALING_H
#define LAB_SCALING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size that grows. */
typedef enum lab_axis {
    LAB_AXIS_BATCH,
    LAB_AXIS_HEADS,
    LAB_AXIS_LENGTH, /* queries and keys together */
    LAB_AXIS_QUERIES,
    LAB_AXIS_KEYS,
    LAB_AXES
} lab_axis;

/* lab_axis_name() returns "batch" and so on. */
const char *lab_axis_name(lab_axis axis);

/* One size. */
typedef struct lab_scale_point {
    int64_t size;
    double seconds; /* minimum of a call; 0: not timed */
    double spread;  /* median over minimum; 0: not known */
    double flops;
    double bytes;       /* least bytes to move */
    int64_t blocks;     /* of its launch; 0: not known, as on a CPU */
    int64_t capacity;   /* blocks resident on the device; 0: not known */
    int64_t units;      /* multiprocessors; 0: not known */
    const char *kernel; /* with config */
} lab_scale_point;

typedef enum lab_scale_cause {
    LAB_SCALE_FINE = 0,
    LAB_SCALE_NOISE,   /* the times of one size differ too much to tell */
    LAB_SCALE_SERIAL,  /* no more blocks than before: elements of the axis are processed in sequence
                        */
    LAB_SCALE_WAVES,   /* a last wave of few blocks takes as long as a full one */
    LAB_SCALE_CACHE,   /* the data no longer fit the last cache */
    LAB_SCALE_CONFIG,  /* another kernel or config runs than before, and is slower */
    LAB_SCALE_UNKNOWN, /* none of these; the usual cause for the axis is reported */
    LAB_SCALE_CAUSES
} lab_scale_cause;

/* A finding on one axis. Ratios are of the figures of point @to over those of point @from. */
typedef struct lab_scale_finding {
    lab_scale_cause cause;
    lab_axis axis;
    size_t from, to; /* the worst pair; FINE: first and last timed point */
    double time;
    double work;  /* growth of operations or bytes, whichever is larger */
    double room;  /* necessary growth: work, less the part that idle multiprocessors could take */
    double waves; /* of blocks; 0: not known */
} lab_scale_finding;

/* Time may grow this much faster than the work. */
#define LAB_SCALE_SLACK 1.5

/* If the median exceeds the minimum by this factor, the machine is busy with other work. */
#define LAB_SCALE_SPREAD 1.2

/* lab_scale_work() returns the ratio of the work of @to and @from, and lab_scale_waves() that of
 * their waves of blocks, weighted by the work of a block; 0: not known. */
double lab_scale_work(const lab_scale_point *from, const lab_scale_point *to);
double lab_scale_waves(const lab_scale_point *from, const lab_scale_point *to);

/* lab_scale_judge() judges the @count points of @axis, in order of size. @cache: bytes of the last
 * cache before memory; 0: not known. */
lab_scale_finding lab_scale_judge(lab_axis axis, const lab_scale_point *points, size_t count,
                                  double cache);

/* lab_scale_explain() writes the likely cause, one sentence without a full stop, to @text of @size
 * bytes; empty for FINE. lab_scale_cause_name() returns a word for it. */
void lab_scale_explain(const lab_scale_finding *finding, const lab_scale_point *points, char *text,
                       size_t size);
const char *lab_scale_cause_name(lab_scale_cause cause);

#endif /* LAB_SCALING_H */
