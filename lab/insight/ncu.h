/*
 * ncu.h - NVIDIA's profiler as a child, watching another heed that starts one launch
 */
#ifndef LAB_NCU_H
#define LAB_NCU_H

#include "lab/base/sink.h"
#include "lab/inspect/profile.h"

/* The launch to be counted: the first launch of `heed launch`, which this program has to have. */
typedef struct lab_ncu_question {
    const char *ncu;    /* its file */
    const char *device; /* as it was asked for: "cuda:1", or "auto" where that is CUDA's */
    const char *kernel; /* and its config */
    const char *source; /* file in place of its own; NULL: none */
    const char *code;   /* file of compiled code in place of any kernel; NULL: none */
    const char *launch; /* how that is launched, in words (lab/trial/launch.h) */
    const char *spec;
    int arch;               /* compute capability of the device, 10 * major + minor */
    bool keep_caches;       /* else they are emptied before each pass */
    double seconds;         /* that it may take, all attempts together */
    const lab_metric *only; /* the only ones to be counted, only_count of them; NULL: all */
    size_t only_count;
    const lab_sink *sink; /* of Ctrl-C; NULL: none */
} lab_ncu_question;

/* Kinds of trouble to which a caller may have more to say. */
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

/* lab_ncu_find() writes where ncu is to @path: @wish if that is not NULL, else where
 * lab_tool_find() looks. False, with @trouble filled in: it is not there. */
bool lab_ncu_find(const char *wish, char *path, size_t size, lab_ncu_trouble *trouble);

/* lab_ncu_count() starts ncu, once more for each metric that it does not know, and reads what it
 * says. False, with @trouble filled in, if there are no counters, or it was interrupted. */
bool lab_ncu_count(const lab_ncu_question *question, lab_profile *profile,
                   lab_ncu_trouble *trouble);

#endif /* LAB_NCU_H */
