/*
 * export.h - exports KernelBench solutions: a task's model with heed's attention
 *
 * A solution is the task's model, rewritten (suites/rewrite.py) to call a function heed_attention()
 * that precedes it. One form of that function calls the library through the Python package. The
 * other embeds the source of a kernel and its launch, for torch's load_inline(); it works only for
 * the sizes of its task and for 16-bit tensors, or float32 with the plain kernel.
 */
#ifndef LAB_EXPORT_H
#define LAB_EXPORT_H

#include "heed.h"
#include "lab/base/error.h"
#include "lab/suite/suite.h"
#include "src/cuda/gpu.h"

typedef enum lab_export_form {
    LAB_EXPORT_KERNEL,
    LAB_EXPORT_LIBRARY,
    LAB_EXPORT_CU /* only the kernel, for robust-kbench: one .cu file with forward() */
} lab_export_form;

/* lab_export_form_name() returns "kernel", "library" or "cu". */
const char *lab_export_form_name(lab_export_form form);

typedef struct lab_export {
    lab_export_form form;
    const lab_way *way;  /* precision of float32 products */
    const heed_gpu *gpu; /* of LAB_EXPORT_KERNEL: the device whose launch parameters are used */
    const char *kernel;  /* likewise: its name, with or without a config; NULL: the fastest by the
                            cost model */
} lab_export;

/* A solution; the caller frees its text. */
typedef struct lab_solution {
    char *text;
    char kernel[HEED_NAME_SIZE]; /* of LAB_EXPORT_KERNEL: kernel and config; else "" */
    char spec[HEED_SPEC_SIZE];   /* the problem of its attention, with its precision */
} lab_solution;

/* lab_export_solution() makes the solution of @task, which has been read. Returns HEED_OK;
 * HEED_ERR_UNSUPPORTED, with the reason, if the task has no attention that heed can do, the
 * attention cannot be replaced, or no kernel supports it; HEED_ERR_SYSTEM, HEED_ERR_NO_MEMORY. */
heed_status lab_export_solution(lab_solution *solution, const lab_task *task,
                                const lab_python *python, const lab_export *how, lab_error *error);

/* lab_export_name() writes the suite's file name for a solution, such as
 * "level_3_problem_43_heed_kernel_f16.py". */
void lab_export_name(const lab_task *task, const lab_export *how, char *name, size_t size);

#endif /* LAB_EXPORT_H */
