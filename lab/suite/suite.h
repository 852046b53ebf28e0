/*
 * suite.h - tasks of a benchmark suite, and the attention in them
 *
 *     lab_suite suite;
 *     if (lab_suite_find(&suite, folder, false, &error) == HEED_OK &&
 *         lab_suite_read(&suite, &python, 2, NULL, &error) == HEED_OK)
 *         ...                           suite.tasks: the content of each, or the reason
 *     lab_suite_free(&suite);
 *
 * The suite is KernelBench. Its tasks are files NUMBER_NAME.py in folders level1, level2 and so on;
 * they are analysed without being run (suites/read_task.py).
 */
#ifndef LAB_SUITE_H
#define LAB_SUITE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/base/error.h"
#include "lab/base/sink.h"
#include "lab/suite/python.h"

typedef enum lab_task_kind {
    LAB_TASK_UNTOUCHED = 0, /* not read yet */
    LAB_TASK_ATTENTION,     /* has attention that heed can do */
    LAB_TASK_LIMITED,       /* has attention beyond a limit of heed, named in the reason */
    LAB_TASK_UNFIT,         /* has attention that heed has no problem for; see the reason */
    LAB_TASK_NONE,          /* has no attention */
    LAB_TASK_OUTSIDE,       /* its model is in a library, not in the file */
    LAB_TASK_UNREAD,        /* may have attention; it could not be analysed */
    LAB_TASK_DAMAGED        /* not valid Python, or exceeded the limits of time and memory */
} lab_task_kind;

#define LAB_TASK_KINDS 8

/* lab_task_kind_name() returns one word, such as "attention"; "unknown" for another value. */
const char *lab_task_kind_name(lab_task_kind kind);

/* A precision for products of float32 tensors. */
typedef struct lab_way {
    const char *name;  /* such as "f16" or "tf32", as in --products */
    const char *words; /* description, to follow "products are ..." */
    const char *torch; /* the type in torch that tensors are rounded to; NULL: unchanged */
    heed_type type;    /* of the problem */
    int64_t products;  /* permitted ones, of heed_products */
} lab_way;

/* lab_way_at() returns the @index-th way; NULL past the last. */
const lab_way *lab_way_at(size_t index);

/* lab_way_take() changes @problem, if it is float32, to that of @way. */
void lab_way_take(const lab_way *way, heed_problem *problem);

#define LAB_TASK_TEXT 400
#define LAB_TASK_NOTES 4
#define LAB_TASK_WORKS 4
#define LAB_TASK_INPUTS 8

/* An attention in a task, with its equal copies. */
typedef struct lab_task_attention {
    char spec[HEED_SPEC_SIZE];   /* canonical; or as reported by the reader if heed refuses it */
    char call[HEED_SPEC_SIZE];   /* the same with only the scale of the call: queries may be scaled
                                    before it */
    char refusal[LAB_TASK_TEXT]; /* heed's reason, one line; "" if it can do the problem */
    char unfit[LAB_TASK_TEXT];   /* why no problem expresses it; "" if one does */
    char how[64];                /* how it is written: "written out", "nn.MultiheadAttention" */
    char notes[LAB_TASK_NOTES][LAB_TASK_TEXT]; /* remarks, such as a batch treated as a sequence */
    int note_count;
    int line;          /* of the file */
    int layers;        /* number of layers that have it */
    double operations; /* floating-point operations of all layers */
} lab_task_attention;

/* Other work of a task. */
typedef struct lab_task_work {
    char kind[32]; /* "linear map", "convolution", "product" */
    int count;
    double operations;
} lab_task_work;

typedef struct lab_task {
    int level, number;
    char name[128]; /* of the file, without number and extension */
    char path[PATH_MAX];
    lab_task_kind kind;
    char reason[LAB_TASK_TEXT]; /* for any kind; may be "" for LAB_TASK_ATTENTION */
    lab_task_attention *attention;
    size_t attention_count;
    lab_task_work work[LAB_TASK_WORKS]; /* other than attention */
    int work_count;
    bool whole; /* it is only one attention of its inputs Q, K and V, [batch, heads, seq, dim] */
    char init[512];   /* the arguments of its model as JSON; "" if not plain, or too long */
    char inputs[512]; /* the shapes of its inputs as JSON, if all are float32 tensors; else "" */
    char output[128]; /* the shape of its output; "" if it is not a tensor, or unknown */
    size_t input_elements[LAB_TASK_INPUTS], output_elements;
    int input_count;
} lab_task;

typedef struct lab_suite {
    char version[64]; /* from the suite's files; "" if they are missing */
    lab_task *tasks;  /* by level and number */
    size_t count;
} lab_suite;

/* Maximum size of a file, and number of tasks. */
#define LAB_SUITE_FILE_MAX ((size_t)1 << 20)
#define LAB_SUITE_TASKS_MAX 4096

/* lab_suite_find() lists the tasks in @folder: a checkout, its folder KernelBench, or one of its
 * levels. HEED_ERR_SYSTEM if it cannot be read; HEED_ERR_INVALID if there are none or too many;
 * HEED_ERR_UNSUPPORTED for a version that is not known, unless @any_version. */
heed_status lab_suite_find(lab_suite *suite, const char *folder, bool any_version,
                           lab_error *error);

/* lab_suite_find_task() makes a suite of the one file @path. Level and number are 0 if its folder
 * and name do not have them. HEED_ERR_SYSTEM if it does not exist, HEED_ERR_INVALID for a folder.
 */
heed_status lab_suite_find_task(lab_suite *suite, const char *path, lab_error *error);

/* lab_suite_read() reads all tasks on @threads threads. A task that cannot be read gets a reason.
 * HEED_ERR_SYSTEM if Python could not be started, or after an interruption. */
heed_status lab_suite_read(lab_suite *suite, const lab_python *python, int threads,
                           const lab_sink *sink, lab_error *error);

/* lab_task_read() reads one task. Returns HEED_OK whatever is in it. */
heed_status lab_task_read(lab_task *task, const lab_python *python, bool (*interrupted)(void),
                          lab_error *error);

/* lab_task_text() reads the file of @task into a new string of *@size bytes, which the caller
 * frees. NULL, with @error, if it cannot or the file is too large. */
char *lab_task_text(const lab_task *task, size_t *size, lab_error *error);

/* lab_task_label() writes "level 3, problem 43" or, without these, the file's name. */
const char *lab_task_label(const lab_task *task, char *text, size_t size);

/* lab_task_share() returns the share of attention in the counted operations of @task, 0 without
 * attention. */
double lab_task_share(const lab_task *task);

void lab_suite_free(lab_suite *suite);

#endif /* LAB_SUITE_H */
