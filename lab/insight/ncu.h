/*
 * ncu.h - runs NVIDIA's profiler on a separate heed process that makes one launch
 */
#ifndef LAB_NCU_H
#define LAB_NCU_H

#include "lab/base/sink.h"
#include "lab/inspect/profile.h"

/* The launch to profile: the first one of `heed launch`, a verb that this program must have. */
typedef struct lab_ncu_question {
    const char *ncu;    /* its file */
    const char *device; /* as the user named it: "cuda:1", or "auto" if that is CUDA */
    const char *kernel; /* with config */
    const char *source; /* file to use in place of its source; NULL: none */
    const char *code;   /* file of compiled code in place of any kernel; NULL: none */
    const char *launch; /* its launch parameters as text (lab/trial/launch.h) */
    const char *spec;
    int arch;               /* compute capability of the device, 10 * major + minor */
    bool keep_caches;       /* else they are flushed before each pass */
    double seconds;         /* time limit for all attempts together */
    const lab_metric *only; /* metrics to count, only_count of them; NULL: all */
    size_t only_count;
    const lab_sink *sink; /* for interruption; NULL: none */
} lab_ncu_question;

/* Kinds of trouble for which a caller may have more advice. */
typedef enum lab_ncu_kind {
    LAB_NCU_OTHER,
    LAB_NCU_ABSENT,
    LAB_NCU_LATE,
    LAB_NCU_KINDS
} lab_ncu_kind;

/* Why there are no counters. */
typedef struct lab_ncu_trouble {
    lab_ncu_kind kind;
    char reason[400];
    const char *fix; /* NULL: none is known */
} lab_ncu_trouble;

/* lab_ncu_find() writes the path of ncu to @path: @wish if that is not NULL, else the result of
 * lab_tool_find(). Returns false, with @trouble filled in, if it was not found. */
bool lab_ncu_find(const char *wish, char *path, size_t size, lab_ncu_trouble *trouble);

/* lab_ncu_count() runs ncu, again for each metric that it does not have, and reads its output.
 * Returns false, with @trouble filled in, if there are no counters or it was interrupted. */
bool lab_ncu_count(const lab_ncu_question *question, lab_profile *profile,
                   lab_ncu_trouble *trouble);

#endif /* LAB_NCU_H */
