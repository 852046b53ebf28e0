/*
 * export.h - solutions of KernelBench's form: a task's model whose attention is heed's
 *
 * The model is the task's own (suites/rewrite.py), with a function heed_attention() in front of it.
 * There are two forms of that function. One calls the library by the Python package. The other
 * carries the source of a kernel and its launch, for torch's load_inline(); it is for the sizes of
 * its task and for tensors in 16 bits, or float32 with the plain kernel.
 */
#ifndef LAB_EXPORT_H
#define LAB_EXPORT_H

#include "heed.h"
#include "lab/base/error.h"
#include "lab/suite/suite.h"
#include "lab/suite/ways.h"
#include "src/cuda/gpu.h"

typedef enum lab_export_form {
    LAB_EXPORT_KERNEL,
    LAB_EXPORT_LIBRARY,
    LAB_EXPORT_CU /* the kernel alone, as robust-kbench wants it: one .cu file with forward() */
} lab_export_form;

/* lab_export_form_name() returns "kernel", "library" or "cu". */
const char *lab_export_form_name(lab_export_form form);

typedef struct lab_export {
    lab_export_form form;
    const lab_way *way;  /* in which float32 tensors are multiplied */
    const heed_gpu *gpu; /* of LAB_EXPORT_KERNEL: that it is launched as for */
    const char *kernel;  /* likewise: its name, with or without a config; NULL: the fastest by the
                            cost model */
} lab_export;

/* A solution; its text is to be freed. */
typedef struct lab_solution {
    char *text;
    char kernel[HEED_NAME_SIZE]; /* of LAB_EXPORT_KERNEL: kernel and config; else "" */
    char spec[HEED_SPEC_SIZE];   /* the problem of its attention, in the way of its products */
} lab_solution;

/* lab_export_solution() makes the solution of @task, which has been read. Returns HEED_OK;
 * HEED_ERR_UNSUPPORTED, with the reason, if the task has no attention that heed can do, or it
 * cannot be put in place of the task's own, or no kernel can; HEED_ERR_SYSTEM,
 * HEED_ERR_NO_MEMORY. */
heed_status lab_export_solution(lab_solution *solution, const lab_task *task,
                                const lab_python *python, const lab_export *how, lab_error *error);

/* lab_export_name() writes the name that the suite has for a solution's file, such as
 * "level_3_problem_43_heed_kernel_f16.py". */
void lab_export_name(const lab_task *task, const lab_export *how, char *name, size_t size);

#endif /* LAB_EXPORT_H */
