/*
 * inspect.c - `heed inspect`: what compiled kernels take of a GPU that need not be there
 */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "src/cuda/gpu.h"

#define WARP 32
#define INSTRUCTION_BYTES 16

/* -------------------------------------------------------------------------- */
/* Rows                                                                       */
/* -------------------------------------------------------------------------- */

/* Facts about a row, for the rules. */
static lab_code_facts facts_of(const inspect_row *row, const inspect_subject *subject,
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

/* How many blocks a multiprocessor holds, and what is wrong with the kernel. @launched: what
 * @subject says of a launch is said of this one of its kernels. */
static void judge(inspect_row *row, const inspect_subject *subject, bool launched)
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

/* The first reason is kept: those that follow are mostly the same. */
static void note_trouble(inspect_job *job, const char *name, const lab_error *error)
{
    if (!*job->trouble.text)
        lab_fail(&job->trouble, HEED_OK, "%s%s%s", name, *name ? ": " : "", error->text);
}

/* How threads lie in a block: as @subject says, else as the code does; NULL: neither says. */
static const lab_sass_shape *shape_of(const inspect_row *row, const lab_sass_shape *said,
                                      lab_sass_shape *room)
{
    *room = said->x > 0
                ? *said
                : (lab_sass_shape){ row->code.shape[0], row->code.shape[1], row->code.shape[2] };
    return room->x > 0 ? room : NULL;
}

/* Counts the instructions of a kernel, if what was disassembled is all of it. */
static void count_instructions(inspect_job *job, inspect_row *row, const lab_sass_shape *said,
                               const char *text)
{
    lab_error error = { "" };
    lab_sass_shape room;
    heed_status status = lab_sass_read(&row->sass, text, row->code.name, shape_of(row, said, &room),
                                       &error);
    if (status == HEED_OK && row->sass.all.total * INSTRUCTION_BYTES != row->code.code) {
        status = lab_fail(&error, HEED_ERR_CORRUPT,
                          "the disassembler shows %lld of %lld instructions of %s",
                          (long long)row->sass.all.total,
                          (long long)row->code.code / INSTRUCTION_BYTES, row->code.name);
        lab_sass_free(&row->sass);
    }
    row->has_sass = status == HEED_OK;
    if (status != HEED_OK)
        note_trouble(job, row->name, &error);
}

/* Is what @subject says of a launch said of the kernel @entry? */
static bool is_launched(const inspect_subject *subject, const char *entry)
{
    return !subject->entry || strcmp(subject->entry, entry) == 0;
}

static bool add_row(inspect_job *job, const inspect_subject *subject, const lab_cubin *cubin,
                    const lab_cubin_kernel *code, const char *text)
{
    if (!lab_grow(&job->rows, job->count, sizeof *job->rows))
        return false;
    inspect_row *row = &job->rows[job->count++];
    *row = (inspect_row){ .arch = cubin->arch, .code = *code };
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
        count_instructions(job, row, &shape, text);
    return true;
}

/* A source's declaration may be for another one of its kernels: one that has shared memory left, or
 * whose code is not known. */
static bool may_be_another_ones(const inspect_row *rows, size_t count)
{
    for (size_t i = 0; i < count && count > 1; i++)
        if (rows[i].code.smem > 0 || !rows[i].has_sass ||
            lab_sass_sum(&rows[i].sass.all, LAB_SASS_GROUP_SHARED) > 0)
            return true;
    return false;
}

/* Judges the kernels of @subject, which are in the rows from the @first on. */
static void judge_all(inspect_job *job, const inspect_subject *subject, size_t first)
{
    inspect_subject copy = *subject;
    copy.declares_shared &= !may_be_another_ones(job->rows + first, job->count - first);
    for (size_t i = first; i < job->count; i++)
        judge(&job->rows[i], &copy, is_launched(subject, job->rows[i].code.name));
}

/* The disassembly of @subject; NULL: it is not wanted, or there is none. */
static char *disassemble(inspect_job *job, const inspect_subject *subject)
{
    lab_error error = { "" };
    char *text = NULL;
    if (job->no_code)
        return NULL;
    if (job->tool_state == INSPECT_TOOL_UNSOUGHT) {
        bool found = lab_disassembler_find(&job->tool, &error) == HEED_OK;
        job->tool_state = found ? INSPECT_TOOL_FOUND : INSPECT_TOOL_MISSING;
        if (!found)
            note_trouble(job, "", &error);
    }
    if (job->tool_state == INSPECT_TOOL_FOUND) {
        text = inspect_disassemble(&job->tool, subject->data, subject->size, &error);
        if (!text)
            note_trouble(job, subject->name, &error);
    }
    return text;
}

void inspect_job_free(inspect_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        lab_sass_free(&job->rows[i].sass);
    free(job->rows);
    job->rows = NULL;
    job->count = 0;
}

heed_status inspect_try(inspect_job *job, const inspect_subject *subject, lab_error *error)
{
    lab_cubin cubin;
    size_t first = job->count;
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
    char *text = disassemble(job, subject);
    for (size_t i = 0; i < cubin.count && !job->failed; i++)
        job->failed = !add_row(job, subject, &cubin, &cubin.kernels[i], text);
    judge_all(job, subject, first);
    free(text);
    lab_cubin_free(&cubin);
    return HEED_OK;
}

cli_exit inspect_add(inspect_job *job, const inspect_subject *subject)
{
    lab_error error = { "" };
    heed_status status = inspect_try(job, subject, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* Architectures                                                              */
/* -------------------------------------------------------------------------- */

/* Reads "sm_89", "sm_90a" or "89"; 0 if it is none of these. */
static int read_arch(const char *text)
{
    const char *digits = strncmp(text, "sm_", 3) == 0 ? text + 3 : text;
    size_t count = strspn(digits, "0123456789");
    const char *rest = digits + count;
    return count >= 2 && count <= 3 && (!*rest || strcmp(rest, "a") == 0) ? atoi(digits) : 0;
}

cli_exit inspect_archs(const cli_args *args, int *archs, size_t max, size_t *count)
{
    static const int standard[] = { 80, 89, 90 };
    size_t given = cli_args_list_count(args, "arch");
    if (given > max) {
        cli_error("--arch: given %zu times; at most %zu are taken", given, max);
        return CLI_USAGE;
    }
    if (given == 0) {
        memcpy(archs, standard, sizeof standard);
        given = sizeof standard / sizeof *standard;
    } else
        for (size_t i = 0; i < given; i++) {
            const char *text = cli_args_list(args, "arch", i);
            archs[i] = read_arch(text);
            if (archs[i] == 0) {
                cli_error("--arch: '%s' is not an architecture; sm_80, sm_89 and sm_90 are", text);
                return CLI_USAGE;
            }
        }
    *count = given;
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

/* Files among the operands: then all of them are. */
static bool has_files(const cli_args *args)
{
    for (int i = 0; i < cli_args_operand_count(args); i++)
        if (inspect_is_file(cli_args_operand(args, i)))
            return true;
    return false;
}

/* An option of the one kind of operands would do nothing with the other. */
static cli_exit check_options(const cli_args *args, bool files)
{
    static const char *const of_files[] = { "define", "include", "registers", "threads",
                                            "smem",   "grid",    "opts-in",   NULL };
    static const char *const of_specs[] = { "device", "shapes", "kernel", "configs", NULL };
    const char *const *wrong = files ? of_specs : of_files;
    for (; *wrong; wrong++)
        if (cli_args_given(args, *wrong)) {
            cli_error("--%s is for %s, and %s given", *wrong,
                      files ? "problems" : "files, .cu or .cubin", files ? "a file is" : "none is");
            return CLI_USAGE;
        }
    return CLI_OK;
}

static cli_exit run(const cli_args *args)
{
    inspect_job job = { .args = args, .no_code = cli_args_flag(args, "no-code") };
    bool files = has_files(args);
    cli_exit code = check_options(args, files);
    if (code == CLI_OK)
        code = files ? inspect_files(&job) : inspect_kernels(&job);
    if (code == CLI_OK || job.count > 0) {
        cli_exit reported = inspect_report(&job);
        code = code == CLI_OK ? reported : code;
    }
    inspect_job_free(&job);
    return code;
}

static const char *const configs[] = { "best", "shipped", NULL };

static const cli_option options[] = {
    OPT_LIST("arch", 'a', "ARCH",
             "Compile for this architecture, such as sm_89; may be given more than once "
             "[default: sm_80, sm_89 and sm_90]"),
    OPT_TEXT("device", 'd', "DEVICE",
             "Use this GPU, cuda or cuda:N, instead of an architecture, and the kernel that "
             "'heed plan' chooses there"),
    CLI_OPTION_SHAPES,
    CLI_OPTION_KERNEL,
    OPT_CHOICE("configs", 0, "WHICH", configs, "best",
               "Configs of a kernel that is named without one: the one with the least "
               "predicted time, or all that planning considers and that fit the architecture"),
    OPT_LIST("define", 'D', "NAME=VALUE",
             "Define a macro for a source, as 1 where no value is given; may be given more than "
             "once"),
    OPT_LIST("include", 'I', "FOLDER",
             "Look here for headers that a source includes; may be given more than once. The CUDA "
             "toolkit's are found where they lie beside NVRTC"),
    OPT_INTEGER("registers", 0, "N", 16, 255, NULL, "Cap the registers per thread of a source"),
    OPT_TEXT("threads", 't', "N|XxY",
             "Threads per block of a file's kernels; XxY or XxYxZ gives the shape of the block, "
             "on which the bank conflicts of kernels that use threadIdx.y depend [default: their "
             "launch bounds]"),
    OPT_INTEGER("smem", 0, "BYTES", 0, 1048576, NULL,
                "Dynamic shared memory per block of a file's kernels"),
    OPT_INTEGER("grid", 0, "BLOCKS", 1, 2147483647, NULL,
                "Blocks that a file's kernels are launched with"),
    OPT_FLAG("opts-in", 0,
             "Assume that the launcher of a file's kernels opts in to more than 48 KB of shared "
             "memory, and report no finding for it"),
    OPT_FLAG("loops", 0, "Also list the loops of each kernel, except those that only wait"),
    OPT_FLAG("no-code", 0, "Do not disassemble, which takes half a second a kernel"),
    OPT_FLAG("strict", 0, "Also fail for warnings"),
    { .name = NULL },
};

const cli_verb cli_verb_inspect = {
    .name = "inspect",
    .summary = "read resource usage and faults from compiled kernels (no GPU needed)",
    .operands = { "SPEC...|FILE...", 0, CLI_ANY },
    .description =
        "Compiles kernels with NVRTC and reads the machine code: registers, spills, stack "
        "and shared memory, how many blocks and warps fit on a multiprocessor, and what "
        "limits them. With nvdisasm or cuobjdump it also counts the instructions of each "
        "class, in all and in the main loops.\n"
        "\n"
        "Rules turn these facts into findings: faults are always wrong, warnings mostly "
        "are, notes occur in fast kernels as well. docs/inspecting.md lists them.\n"
        "\n"
        "For a SPEC, as in 'heed plan', heed's kernels that support it on the architecture "
        "are compiled; the predicted time is that of the cost model, the roofline that of "
        "the data sheet. A FILE is a cubin, or a CUDA source, which ends in .cu or comes "
        "through a pipe.\n"
        "\n"
        "Examples:\n"
        "\n"
        "  heed inspect --arch sm_89 'b2 h8 s512 d64 f16 causal'\n"
        "  heed inspect --arch sm_89 mine.cu -D TILE=64\n"
        "  heed inspect --threads 128 --smem 49152 --grid 64 mine.cubin\n"
        "\n"
        "The exit status is 1 if a kernel has a fault, or with --strict a warning.",
    .options = options,
    .run = run,
};
