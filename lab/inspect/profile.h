/*
 * profile.h - hardware counters of one launch, from NVIDIA's profiler
 *
 * The metrics to request from ncu (metrics.def, stalls.def), a parser for its output, and gates on
 * the values. Nothing here starts ncu, so recorded output works too.
 */
#ifndef LAB_PROFILE_H
#define LAB_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum lab_metric {
#define LAB_METRIC(id, key, title, unit, arch, names) id,
#include "inspect/metrics.def"
#undef LAB_METRIC
    LAB_METRICS
} lab_metric;

/* The unit of a value, converted from the one that ncu printed. */
typedef enum lab_unit {
    LAB_UNIT_COUNT,
    LAB_UNIT_NUMBER,
    LAB_UNIT_PERCENT, /* 0 to 100 */
    LAB_UNIT_BYTES,
    LAB_UNIT_SECONDS
} lab_unit;

#define LAB_STALLS 18
#define LAB_PROFILE_NAME_SIZE 128
#define LAB_METRIC_NAME_SIZE 128
#define LAB_METRIC_NAMES_MAX 2

typedef struct lab_metric_row {
    lab_metric id;
    const char *key;
    const char *title;
    lab_unit unit;
    int arch;
    const char *names; /* ncu's names for it, separated by '|' */
} lab_metric_row;

typedef struct lab_stall_row {
    const char *name;
    int arch;
    const char *meaning;
} lab_stall_row;

/* profile_metrics.c: the tables. */
const lab_metric_row *lab_metric_of(lab_metric id);
const lab_stall_row *lab_stall_of(size_t index);                      /* below LAB_STALLS */
void lab_stall_metric(size_t index, char name[LAB_METRIC_NAME_SIZE]); /* ncu's name for it */

/* -------------------------------------------------------------------------- */
/* profile_metrics.c: the request                                             */
/* -------------------------------------------------------------------------- */

/* The metrics to request from ncu; those that it rejects are removed. */
typedef struct lab_profile_wish {
    unsigned char choice[LAB_METRICS]; /* index of the name; LAB_METRIC_NAMES_MAX: none left */
    bool stalls_refused[LAB_STALLS];
} lab_profile_wish;

/* Room for the result of lab_profile_wish_text(). */
#define LAB_PROFILE_WISH_SIZE 8192

/* lab_profile_wish_for() requests everything that architecture @arch has. */
lab_profile_wish lab_profile_wish_for(int arch);

/* lab_profile_wish_only() requests those of the @count metrics @wanted that @arch has: fewer
 * metrics take ncu fewer passes. */
lab_profile_wish lab_profile_wish_only(int arch, const lab_metric *wanted, size_t count);

/* lab_profile_wish_text() writes the comma-separated names for ncu's --metrics.
 * lab_profile_wish_drop() removes the names that ncu's output @text reports as unknown, and
 * requests the next name of each, if any. Returns true if it changed anything: then a retry may
 * help. */
const char *lab_profile_wish_text(const lab_profile_wish *wish, char text[LAB_PROFILE_WISH_SIZE]);
bool lab_profile_wish_drop(lab_profile_wish *wish, const char *text);

/* -------------------------------------------------------------------------- */
/* profile.c: the result                                                      */
/* -------------------------------------------------------------------------- */

/* One launch. A value that is not known is NAN. */
typedef struct lab_profile {
    char kernel[LAB_PROFILE_NAME_SIZE]; /* ncu's name */
    int arch;                           /* compute capability, 10 * major + minor; 0: not known */
    double value[LAB_METRICS];
    const char *name[LAB_METRICS]; /* the name that ncu used: part of names in lab_metric_row, up to
                                      '|'; NULL: missing */
    double stall[LAB_STALLS];      /* warps stalled for this reason per issued instruction */
} lab_profile;

/* lab_profile_read() reads the first launch in @text, the output of `ncu --csv --page raw` mixed
 * with that of the profiled program. The number of launches goes to *@launches if that is not NULL.
 * Returns HEED_OK; HEED_ERR_CORRUPT if the table is missing or damaged; HEED_ERR_NO_MEMORY.
 */
heed_status lab_profile_read(lab_profile *profile, const char *text, size_t *launches,
                             lab_error *error);

/* A known reason for a missing result. */
typedef struct lab_profile_trouble {
    const char *phrase; /* in ncu's output */
    const char *reason;
    const char *fix;
} lab_profile_trouble;

/* lab_profile_trouble_in() finds a known trouble in ncu's output; NULL if none. */
const lab_profile_trouble *lab_profile_trouble_in(const char *text);

/* Figures derived from several metrics. NAN: not known. */
double lab_profile_conflicts(
    const lab_profile *profile);                        /* share of the wavefronts, %; 0 if none */
double lab_profile_sectors(const lab_profile *profile); /* share that is needed, % */

/* lab_profile_limiter() returns the resource that limits the blocks per multiprocessor, such as
 * "registers", and writes the number of blocks to *@blocks; NULL: not known. */
const char *lab_profile_limiter(const lab_profile *profile, int *blocks);

/* lab_profile_stalls() writes the known nonzero stall reasons of warps, worst first, to @order and
 * returns their number. lab_profile_stall_share() returns the share of a warp's lifetime spent in
 * one, 0 to 1. */
size_t lab_profile_stalls(const lab_profile *profile, size_t order[LAB_STALLS]);
double lab_profile_stall_share(const lab_profile *profile, size_t stall);

/* -------------------------------------------------------------------------- */
/* profile_gate.c: gates on the counters                                      */
/* -------------------------------------------------------------------------- */

typedef enum lab_gate_verdict {
    LAB_GATE_UNKNOWN = 0,
    LAB_GATE_PASS,
    LAB_GATE_FAIL,
    LAB_GATE_OFF, /* it does not apply to this kernel; why has the reason */
    LAB_GATE_VERDICTS
} lab_gate_verdict;

typedef struct lab_gate_result {
    const char *key;
    const char *title;
    bool least; /* @limit is a minimum; else a maximum */
    double limit;
    lab_unit unit;
    double value; /* NAN: not known */
    lab_gate_verdict verdict;
    const char *why; /* reason if it does not apply; advice if it fails */
} lab_gate_result;

#define LAB_PROFILE_GATES 9

/* lab_profile_asynchronous() returns 1 if the kernel uses asynchronous products of warpgroups, 0 if
 * not, or -1 if that is not known. */
int lab_profile_asynchronous(const lab_profile *profile);

/* lab_profile_judge() fills @results and returns the worst: LAB_GATE_FAIL, LAB_GATE_UNKNOWN, or
 * LAB_GATE_PASS. lab_gate_verdict_name() returns "PASS" and so on; "-" for LAB_GATE_OFF. */
lab_gate_verdict lab_profile_judge(const lab_profile *profile,
                                   lab_gate_result results[LAB_PROFILE_GATES]);
const char *lab_gate_verdict_name(lab_gate_verdict verdict);

#endif /* LAB_PROFILE_H */
