/*
 * export.c - exports KernelBench solutions: a task's model with heed's attention
 */
#include "lab/suite/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/suite/text.h"
#include "src/cuda/facts.h"

#define FLAGS_SIZE 128

/* Names of types in torch, in Python and in C++. */
static const char *const torch_types[] = { "torch.float32", "torch.float16", "torch.bfloat16" };
static const char *const torch_kinds[] = { "kFloat32", "kHalf", "kBFloat16" };

const char *lab_export_form_name(lab_export_form form)
{
    return form == LAB_EXPORT_KERNEL ? "kernel" : form == LAB_EXPORT_CU ? "cu" : "library";
}

void lab_export_name(const lab_task *task, const lab_export *how, char *name, size_t size)
{
    const char *form = lab_export_form_name(how->form), *way = how->way->name;
    const char *ending = how->form == LAB_EXPORT_CU ? "cu" : "py";
    if (task->level > 0)
        snprintf(name, size, "level_%d_problem_%d_heed_%s_%s.%s", task->level, task->number, form,
                 way, ending);
    else
        snprintf(name, size, "%s_heed_%s_%s.%s", task->name, form, way, ending);
}

/* ---- The task ---- */

/* The model's source with its attention replaced by calls; the caller frees it. */
static char *rewrite(const lab_task *task, const lab_python *python, heed_status *status,
                     lab_error *error)
{
    size_t size;
    char *text = lab_task_text(task, &size, error), *model = NULL;
    *status = HEED_ERR_SYSTEM;
    if (!text)
        return NULL;
    json_t *json = lab_python_read(python, "rewrite", text, size, NULL, status, error);
    free(text);
    const char *made = json_string_value(json_object_get(json, "model"));
    const char *refused = json_string_value(json_object_get(json, "refused"));
    if (made && (model = strdup(made)))
        *status = HEED_OK;
    else if (made)
        *status = lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for a solution");
    else if (json)
        *status = lab_fail(error, HEED_ERR_UNSUPPORTED, "%s: %s", task->path,
                           refused ? refused : "it cannot be rewritten");
    json_decref(json);
    return model;
}

/* The dense problem of one attention call, with products by @way. */
static heed_status problem_of(const lab_task *task, size_t i, const lab_way *way,
                              heed_problem *problem, lab_error *error)
{
    heed_problem own;
    if (heed_problem_parse(&own, task->attention[i].call) != HEED_OK)
        return lab_fail(error, HEED_ERR_INVALID, "%s: %s", task->path, heed_message());
    lab_way_take(way, &own);
    own.q = own.k = own.v = own.o = (heed_strides){ 0, 0, 0 };
    return heed_problem_normalize(problem, &own) == HEED_OK
               ? HEED_OK
               : lab_fail(error, HEED_ERR_UNSUPPORTED, "%s: %s", task->path, heed_message());
}

/* Checks that all attentions are the same problem, as a kernel is for only one. */
static heed_status check_alike(const lab_task *task, const lab_way *way, const char *spec,
                               lab_error *error)
{
    for (size_t i = 1; i < task->attention_count; i++) {
        heed_problem other;
        char text[HEED_SPEC_SIZE];
        heed_status status = problem_of(task, i, way, &other, error);
        if (status != HEED_OK)
            return status;
        heed_problem_print(&other, text, sizeof text);
        if (strcmp(text, spec) != 0)
            return lab_fail(error, HEED_ERR_UNSUPPORTED,
                            "%s: line %d: its attention is %s, that of line %d is %s: a kernel is "
                            "for one problem, a solution that calls the library for several",
                            task->path, task->attention[i].line, text, task->attention[0].line,
                            spec);
    }
    return HEED_OK;
}

/* Finds the problems of all attentions of @task; @problem is the first one's. */
static heed_status find_problem(const lab_task *task, const lab_way *way, heed_problem *problem,
                                lab_error *error)
{
    if (task->kind != LAB_TASK_ATTENTION)
        return lab_fail(error, HEED_ERR_UNSUPPORTED, "%s: %s", task->path,
                        *task->reason ? task->reason : lab_task_kind_name(task->kind));
    for (size_t i = 0; i < task->attention_count; i++) {
        const lab_task_attention *one = &task->attention[i];
        if (*one->refusal || *one->unfit)
            return lab_fail(error, HEED_ERR_UNSUPPORTED, "%s: line %d: %s", task->path, one->line,
                            *one->refusal ? one->refusal : one->unfit);
    }
    return problem_of(task, 0, way, problem, error);
}

/* ---- The forms ---- */

/* Parts common to all forms. */
typedef struct parts {
    const lab_task *task;
    const lab_export *how;
    const char *model;
    heed_problem problem;
    char label[160];
    lab_solution *solution;
} parts;

static void put_model(FILE *out, const parts *it)
{
    if (strstr(it->model, "heed_multihead("))
        fputs(lab_text_multihead, out);
    fprintf(out, "\n\n%s", it->model);
}

static heed_status put_library(FILE *out, const void *data, lab_error *error)
{
    const parts *it = data;
    (void)error;
    const lab_way *way = it->how->way;
    const lab_place places[] = {
        { "TASK", it->label },
        { "SPEC", it->solution->spec },
        { "PRODUCTS", way->words },
        { "TYPE", way->torch ? way->torch : "None" },
        { "WORD", heed_products_name(it->problem.products) },
    };
    lab_fill(out, lab_text_library, places, sizeof places / sizeof *places);
    put_model(out, it);
    return HEED_OK;
}

/* The selected kernel, or the fastest by the cost model. Without splits, which need a workspace
 * that a solution does not have. */
static heed_status find_kernel(const parts *it, heed_cuda_facts *facts, lab_error *error)
{
    heed_cuda_facts found;
    bool any = false;
    const char *asked = it->how->kernel, *name;
    if (asked && heed_cuda_facts_for(asked, &it->problem, it->how->gpu, facts) != HEED_OK)
        return lab_fail(error, HEED_ERR_UNSUPPORTED, "%s", heed_message());
    for (size_t i = 0; !asked && (name = heed_kernel_name(i)); i++) {
        if (heed_cuda_facts_for(name, &it->problem, it->how->gpu, &found) != HEED_OK ||
            heed_launch_merges(&found.launch) || (any && found.seconds >= facts->seconds))
            continue;
        *facts = found;
        any = true;
    }
    if (asked || any)
        return HEED_OK;
    return lab_fail(error, HEED_ERR_UNSUPPORTED, "no kernel for the %s can do %s in one launch",
                    it->how->gpu->name, it->solution->spec);
}

static void name_flags(const heed_cuda_facts *facts, const heed_gpu *gpu, char flags[FLAGS_SIZE])
{
    const char *suffix = facts->launch.mapped ? "a" : "";
    int length = snprintf(flags, FLAGS_SIZE, "\"-gencode=arch=compute_%d%s,code=sm_%d%s\"",
                          gpu->arch, suffix, gpu->arch, suffix);
    if (facts->launch.registers > 0)
        snprintf(flags + length, FLAGS_SIZE - (size_t)length, ", \"-maxrregcount=%d\"",
                 facts->launch.registers);
}

/* The mask argument in calls of heed_attention() (suites/rewrite.py). */
static const char *causal_word(const heed_problem *problem)
{
    if (problem->mask == HEED_MASK_NONE)
        return "False";
    if (problem->seq_q == problem->seq_k)
        return "True";
    return problem->mask == HEED_MASK_CAUSAL_TOP_LEFT ? "\"top-left\"" : "\"bottom-right\"";
}

/* A solution that carries a kernel: a model, or forward() alone. */
static heed_status put_kernel(FILE *out, const void *data, lab_error *error)
{
    const parts *it = data;
    const bool alone = it->how->form == LAB_EXPORT_CU;
    const heed_gpu *gpu = it->how->gpu;
    heed_cuda_facts facts = { .source = NULL };
    char flags[FLAGS_SIZE], scale[32], usual[32], module[64], arch[16];
    heed_status status = find_kernel(it, &facts, error);
    if (status != HEED_OK)
        return status;
    char *source = lab_launch_source(&facts, &it->problem, gpu, &status, error);
    if (!source)
        return status;
    snprintf(it->solution->kernel, sizeof it->solution->kernel, "%s", facts.name);
    snprintf(scale, sizeof scale, "%.9g", (double)it->problem.scale);
    snprintf(usual, sizeof usual, "%.9g", 1 / sqrt((double)it->problem.dim_qk));
    snprintf(module, sizeof module, "heed_%d_%d_%s", it->task->level, it->task->number,
             it->how->way->name);
    snprintf(arch, sizeof arch, "%d.%d%s", gpu->arch / 10, gpu->arch % 10,
             facts.launch.mapped ? "a" : "");
    name_flags(&facts, gpu, flags);
    const lab_place places[] = {
        { "TASK", it->label },
        { "SPEC", it->solution->spec },
        { "KERNEL", facts.name },
        { "GPU", gpu->name },
        { "ARCH", arch },
        { "PRODUCTS", it->how->way->words },
        { "SOURCE", source },
        { "MODULE", module },
        { "FLAGS", flags },
        { "TYPE", torch_types[it->problem.type] },
        { "KIND", torch_kinds[it->problem.type] },
        { "CAUSAL", causal_word(&it->problem) },
        { "MASKED", it->problem.mask == HEED_MASK_NONE ? "false" : "true" },
        { "SCALE", scale },
        { "USUAL", usual },
    };
    lab_fill(out, alone ? lab_text_forward : lab_text_kernel, places,
             sizeof places / sizeof *places);
    if (!alone)
        put_model(out, it);
    free(source);
    return HEED_OK;
}

heed_status lab_export_solution(lab_solution *solution, const lab_task *task,
                                const lab_python *python, const lab_export *how, lab_error *error)
{
    parts it = { .task = task, .how = how, .solution = solution };
    *solution = (lab_solution){ .text = NULL };
    heed_status status = find_problem(task, how->way, &it.problem, error);
    if (status != HEED_OK)
        return status;
    heed_problem_print(&it.problem, solution->spec, sizeof solution->spec);
    if (how->form != LAB_EXPORT_LIBRARY)
        status = check_alike(task, how->way, solution->spec, error);
    if (status == HEED_OK && how->form == LAB_EXPORT_CU && !task->whole)
        status = lab_fail(error, HEED_ERR_UNSUPPORTED,
                          "%s: it is more than attention of its inputs Q, K and V, and a file with "
                          "forward() alone has no model",
                          task->path);
    if (status != HEED_OK)
        return status;
    lab_task_label(task, it.label, sizeof it.label);
    char *model = rewrite(task, python, &status, error);
    if (!model)
        return status;
    it.model = model;
    solution->text = lab_text_of(how->form == LAB_EXPORT_LIBRARY ? put_library : put_kernel, &it,
                                 "a solution", &status, error);
    free(model);
    return status;
}
