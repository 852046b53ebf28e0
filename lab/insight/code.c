/*
 * code.c - rows of compiled kernels, and findings in their code
 */
#include "lab/insight/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "lab/base/array.h"
#include "src/cuda/gpu.h"

#define WARP 32
#define INSTRUCTION_BYTES 16

/* Facts about a row, for the rules of findings. */
static lab_code_facts facts_of(const lab_code_row *row, const lab_code_subject *subject,
                               bool launched, const heed_gpu *gpu)
{
    const lab_cubin_kernel *code = &row->code;
    lab_code_facts facts = { .arch = row->arch,
                             .registers = code->registers,
                             .threads = row->threads,
                             .threads_max = code->max_threads,
                             .smem = code->smem + row->dynamic,
                             .stack = code->stack,
                             .spill_stores = code->spill_stores,
                             .spill_loads = code->spill_loads,
                             .resident = row->resident,
                             .warps = row->warps,
                             .warps_max = row->warps_max,
                             .limit = row->limit,
                             .blocks = launched ? subject->blocks : 0,
                             .opts_in = subject->opts_in,
                             .declares_shared = subject->declares_shared,
                             .wants_tensor = launched && subject->wants_tensor,
                             .sass = row->has_sass ? &row->sass : NULL };
    if (gpu) {
        facts.smem_limit = gpu->smem_block;
        facts.multiprocessors = gpu->multiprocessors;
    }
    return facts;
}

/* Computes occupancy and findings. @launched: the launch in @subject is one of this kernel. */
static void judge(lab_code_row *row, const lab_code_subject *subject, bool launched)
{
    heed_gpu gpu;
    const lab_cubin_kernel *code = &row->code;
    bool known = heed_gpu_arch(&gpu, row->arch) || heed_gpu_limits(&gpu, row->arch);
    row->resident = -1;
    if (row->threads > 0 && known) {
        row->resident = heed_gpu_resident(&gpu, row->threads, code->registers,
                                          code->smem + row->dynamic, &row->limit);
        row->warps = row->resident * ((row->threads + WARP - 1) / WARP);
        row->warps_max = gpu.threads / WARP;
    }
    const lab_code_facts facts = facts_of(row, subject, launched, known ? &gpu : NULL);
    row->finding_count = lab_code_judge(&facts, row->findings);
}

/* Keeps the first reason: later ones are mostly the same. */
static void note_trouble(lab_code_list *list, const char *name, const lab_error *error)
{
    if (!*list->trouble.text)
        lab_fail(&list->trouble, HEED_OK, "%s%s%s", name, *name ? ": " : "", error->text);
}

/* The shape of a block: from @said, else from the code; NULL: not known. */
static const lab_sass_shape *shape_of(const lab_code_row *row, const lab_sass_shape *said,
                                      lab_sass_shape *room)
{
    *room = said->x > 0
                ? *said
                : (lab_sass_shape){ row->code.shape[0], row->code.shape[1], row->code.shape[2] };
    return room->x > 0 ? room : NULL;
}

/* Counts the instructions of a kernel, if it was disassembled completely. */
static void count_instructions(lab_code_list *list, lab_code_row *row, const lab_sass_shape *said,
                               const char *text)
{
    lab_error error = { "" };
    lab_sass_shape room;
    heed_status status = lab_sass_read(&row->sass, text, row->code.name, shape_of(row, said, &room),
                                       &error);
    if (status == HEED_OK && row->sass.all.total * INSTRUCTION_BYTES != row->code.code) {
        status = lab_fail(
            &error, HEED_ERR_CORRUPT, "the disassembler shows %lld of %lld instruction%s of %s",
            (long long)row->sass.all.total, (long long)row->code.code / INSTRUCTION_BYTES,
            lab_plural(row->code.code / INSTRUCTION_BYTES), row->code.name);
        lab_sass_free(&row->sass);
    }
    row->has_sass = status == HEED_OK;
    if (status != HEED_OK)
        note_trouble(list, row->name, &error);
}

/* True if the launch in @subject is one of the kernel @entry. */
static bool is_launched(const lab_code_subject *subject, const char *entry)
{
    return !subject->entry || strcmp(subject->entry, entry) == 0;
}

static bool add_row(lab_code_list *list, const lab_code_subject *subject, const lab_cubin *cubin,
                    const lab_cubin_kernel *code, const char *text)
{
    if (!lab_grow(&list->rows, list->count, sizeof *list->rows))
        return false;
    lab_code_row *row = &list->rows[list->count++];
    *row = (lab_code_row){ .arch = cubin->arch, .code = *code };
    memcpy(row->compiler, cubin->compiler, sizeof row->compiler);
    snprintf(row->name, sizeof row->name, "%s", subject->name);
    snprintf(row->spec, sizeof row->spec, "%s", subject->spec ? subject->spec : "");
    snprintf(row->device, sizeof row->device, "%s", subject->spec ? subject->device : "");
    row->predicted = subject->spec ? subject->predicted : -1;
    row->roofline = subject->roofline;
    row->threads = code->max_threads;
    lab_sass_shape shape = { 0, 0, 0 };
    if (is_launched(subject, code->name)) {
        row->threads = subject->threads > 0 ? subject->threads : code->max_threads;
        row->dynamic = subject->dynamic;
        shape = subject->shape;
    }
    if (text)
        count_instructions(list, row, &shape, text);
    return true;
}

/* True if a source's declaration may belong to another of its kernels: one that still uses shared
 * memory, or whose code is not known. */
static bool may_be_another_ones(const lab_code_row *rows, size_t count)
{
    for (size_t i = 0; i < count && count > 1; i++)
        if (rows[i].code.smem > 0 || !rows[i].has_sass ||
            lab_sass_sum(&rows[i].sass.all, LAB_SASS_GROUP_SHARED) > 0)
            return true;
    return false;
}

/* Judges the kernels of @subject, in rows @first and later. */
static void judge_all(lab_code_list *list, const lab_code_subject *subject, size_t first)
{
    lab_code_subject copy = *subject;
    copy.declares_shared &= !may_be_another_ones(list->rows + first, list->count - first);
    for (size_t i = first; i < list->count; i++)
        judge(&list->rows[i], &copy, is_launched(subject, list->rows[i].code.name));
}

/* The disassembly of @subject; NULL: not wanted or not available. */
static char *disassemble(lab_code_list *list, const lab_code_subject *subject)
{
    lab_error error = { "" };
    char *text = NULL;
    if (list->no_code)
        return NULL;
    if (list->tool_state == LAB_CODE_TOOL_UNSOUGHT) {
        bool found = lab_disassembler_find(&list->tool, &error) == HEED_OK;
        list->tool_state = found ? LAB_CODE_TOOL_FOUND : LAB_CODE_TOOL_MISSING;
        if (!found)
            note_trouble(list, "", &error);
    }
    if (list->tool_state == LAB_CODE_TOOL_FOUND) {
        text = lab_disassemble(&list->tool, subject->data, subject->size, list->sink, &error);
        if (!text)
            note_trouble(list, subject->name, &error);
    }
    return text;
}

void lab_code_list_free(lab_code_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        lab_sass_free(&list->rows[i].sass);
    free(list->rows);
    list->rows = NULL;
    list->count = 0;
}

heed_status lab_code_list_add(lab_code_list *list, const lab_code_subject *subject,
                              lab_error *error)
{
    lab_cubin cubin;
    size_t first = list->count;
    heed_status status = lab_cubin_read(&cubin, subject->data, subject->size, subject->name, error);
    if (status != HEED_OK)
        return status;
    if (cubin.count == 0) {
        lab_cubin_free(&cubin);
        return lab_fail(error, HEED_ERR_UNSUPPORTED,
                        "%s: no kernel is in it; is there a __global__ function, and if it is a "
                        "template, is it instantiated?",
                        subject->name);
    }
    if (subject->log)
        lab_cubin_spills(&cubin, subject->log);
    char *text = disassemble(list, subject);
    for (size_t i = 0; i < cubin.count && !list->failed; i++)
        list->failed = !add_row(list, subject, &cubin, &cubin.kernels[i], text);
    judge_all(list, subject, first);
    free(text);
    lab_cubin_free(&cubin);
    return HEED_OK;
}

/* ---- Clues for the guide of a search ---- */

/* The row of the launched kernel; NULL: none. */
static const lab_code_row *find_row(const lab_code_list *list, const char *entry)
{
    for (size_t i = 0; i < list->count; i++)
        if (!entry || strcmp(list->rows[i].code.name, entry) == 0)
            return &list->rows[i];
    return NULL;
}

size_t lab_code_clues(const lab_code_subject *subject, const lab_sink *sink,
                      lab_clue clues[LAB_CODE_FINDINGS_MAX])
{
    lab_code_list list = { .sink = sink };
    lab_error error = { "" };
    size_t count = 0;
    if (lab_code_list_add(&list, subject, &error) == HEED_OK && !list.failed) {
        const lab_code_row *row = find_row(&list, subject->entry);
        for (; row && count < row->finding_count; count++)
            clues[count] = (lab_clue){ .name = row->findings[count].name,
                                       .value = row->findings[count].figure };
    }
    lab_code_list_free(&list);
    return count;
}
