/*
 * code.c - rows of compiled kernels, disassembled, and findings in their code
 */
#include "lab/insight/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/plural.h"
#include "lab/base/array.h"
#include "lab/base/file.h"
#include "lab/trial/process.h"
#include "src/cuda/gpu.h"
#include "src/measure.h"

#define WARP 32
#define INSTRUCTION_BYTES 16

/* Maximum size of the text, at 200 bytes an instruction. Unused memory is never touched. */
#define TEXT_SIZE ((size_t)64 << 20)
#define COMPLAINTS_SIZE 4096

/* A large kernel takes a second or two. */
#define PATIENCE_NS INT64_C(60000000000)

/* -------------------------------------------------------------------------- */
/* The disassembler                                                           */
/* -------------------------------------------------------------------------- */

/* The last line of its error output, without the newline: earlier ones may be warnings. */
static const char *last_line(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        text[--length] = '\0';
    char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

/* HEED_OK if it succeeded. */
static heed_status judge_end(const lab_disassembler *tool, const lab_inlet *text, char *complaints,
                             bool in_time, int status, const lab_sink *sink, lab_error *error)
{
    if (lab_interrupted(sink))
        return lab_fail(error, HEED_ERR_SYSTEM, "interrupted");
    if (!in_time)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s did not finish within %d s", tool->path,
                        (int)(PATIENCE_NS / 1000000000));
    if (WIFSIGNALED(status))
        return lab_fail(error, HEED_ERR_SYSTEM, "%s ended by signal %d (%s)", tool->path,
                        WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s failed with exit status %d: %s", tool->path,
                        WEXITSTATUS(status), last_line(complaints));
    if (text->arrived >= text->size)
        return lab_fail(error, HEED_ERR_UNSUPPORTED, "%s printed %zu bytes; at most %zu are read",
                        tool->path, text->arrived, text->size - 1);
    return HEED_OK;
}

static heed_status run_tool(const lab_disassembler *tool, const char *file, char *output,
                            const lab_sink *sink, lab_error *error)
{
    const char *arguments[LAB_DISASSEMBLER_ARGUMENTS];
    char said[COMPLAINTS_SIZE] = "";
    lab_process process;
    lab_disassembler_arguments(tool, file, arguments);
    const lab_process_command command = { .path = tool->path,
                                          .arguments = arguments,
                                          .environment = (const char *const *)environ,
                                          .files = { -1, -1, -1 } };
    int reason = lab_process_start(&process, &command);
    if (reason != 0)
        return lab_fail(error, HEED_ERR_SYSTEM, "%s cannot be started: %s", tool->path,
                        strerror(reason));
    lab_inlet text = { .text = output, .size = TEXT_SIZE };
    lab_inlet complaints = { .text = said, .size = sizeof said };
    lab_close_fd(&process.in);
    bool in_time = lab_process_listen(&process, &text, &complaints, heed_clock_ns() + PATIENCE_NS,
                                      sink ? sink->interrupted : NULL);
    int status = lab_process_reap(process.pid);
    lab_process_close(&process);
    return judge_end(tool, &text, said, in_time, status, sink, error);
}

/* Returns the output of @tool for a cubin, which the caller frees. NULL if it fails or was
 * interrupted, with the reason in @error. */
static char *run_disassembler(const lab_disassembler *tool, const void *data, size_t size,
                              const lab_sink *sink, lab_error *error)
{
    char path[512];
    char *text = calloc(1, TEXT_SIZE);
    if (!text) {
        lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for %zu bytes of disassembly", TEXT_SIZE);
        return NULL;
    }
    heed_status status = lab_file_temporary(path, sizeof path, "heed-inspect", data, size, error);
    if (status == HEED_OK) {
        status = run_tool(tool, path, text, sink, error);
        unlink(path);
    }
    if (status == HEED_OK)
        return text;
    free(text);
    return NULL;
}

/* -------------------------------------------------------------------------- */
/* Rows                                                                       */
/* -------------------------------------------------------------------------- */

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
        text = run_disassembler(&list->tool, subject->data, subject->size, list->sink, &error);
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
