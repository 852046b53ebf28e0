/*
 * inspect.c - `heed inspect`: what compiled kernels take of a GPU that need not be there
 */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

#include "src/cuda/gpu.h"

#define WARP 32

/* -------------------------------------------------------------------------- */
/* Rows                                                                       */
/* -------------------------------------------------------------------------- */

/* How many blocks a multiprocessor holds, and what is wrong with that. */
static void judge(inspect_row *row)
{
    heed_gpu gpu;
    const lab_cubin_kernel *code = &row->code;
    row->resident = -1;
    if (row->threads > 0 && heed_gpu_arch(&gpu, row->arch)) {
        row->resident = heed_gpu_resident(&gpu, row->threads, code->registers,
                                          code->smem + row->dynamic, &row->limit);
        row->warps = row->resident * ((row->threads + WARP - 1) / WARP);
        row->warps_max = gpu.threads / WARP;
    }
    if (row->resident == 0)
        row->finding = "does not fit";
    else if (code->spill_stores > 0 || code->spill_loads > 0)
        row->finding = "spills";
}

static bool add_row(inspect_job *job, const inspect_subject *subject, const lab_cubin *cubin,
                    const lab_cubin_kernel *code)
{
    inspect_row *rows = realloc(job->rows, (job->count + 1) * sizeof *rows);
    if (!rows)
        return false;
    job->rows = rows;
    inspect_row *row = &rows[job->count++];
    *row = (inspect_row){ .arch = cubin->arch, .code = *code };
    memcpy(row->compiler, cubin->compiler, sizeof row->compiler);
    snprintf(row->name, sizeof row->name, "%s", subject->name);
    snprintf(row->spec, sizeof row->spec, "%s", subject->spec ? subject->spec : "");
    snprintf(row->device, sizeof row->device, "%s", subject->spec ? subject->device : "");
    row->predicted = subject->spec ? subject->predicted : -1;
    row->roofline = subject->roofline;
    row->threads = code->max_threads;
    if (!subject->entry || strcmp(subject->entry, code->name) == 0) {
        row->threads = subject->threads > 0 ? subject->threads : code->max_threads;
        row->dynamic = subject->dynamic;
    }
    judge(row);
    return true;
}

cli_exit inspect_add(inspect_job *job, const inspect_subject *subject)
{
    lab_cubin cubin;
    lab_error error = { "" };
    heed_status status = lab_cubin_read(&cubin, subject->data, subject->size, subject->name,
                                        &error);
    if (status != HEED_OK) {
        cli_error("%s", error.text);
        return cli_exit_of(status);
    }
    if (subject->log)
        lab_cubin_spills(&cubin, subject->log);
    for (size_t i = 0; i < cubin.count && !job->failed; i++)
        job->failed = !add_row(job, subject, &cubin, &cubin.kernels[i]);
    lab_cubin_free(&cubin);
    return CLI_OK;
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
                cli_error("--arch: '%s' is no architecture; sm_80, sm_89 and sm_90 are", text);
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

static cli_exit run(const cli_args *args)
{
    inspect_job job = { .args = args };
    cli_exit code = has_files(args) ? inspect_files(&job) : inspect_kernels(&job);
    if (code == CLI_OK || job.count > 0) {
        cli_exit reported = inspect_report(&job);
        code = code == CLI_OK ? reported : code;
    }
    free(job.rows);
    return code;
}

static const char *const configs[] = { "best", "shipped", NULL };

static const cli_option options[] = {
    { .name = "arch",
      .letter = 'a',
      .kind = CLI_LIST,
      .argument = "ARCH",
      .help = "Compile for this architecture, such as sm_89; may be given more than once. Without "
              "it: sm_80, sm_89 and sm_90" },
    CLI_OPTION_SHAPES,
    CLI_OPTION_KERNEL,
    { .name = "configs",
      .kind = CLI_CHOICE,
      .argument = "WHICH",
      .choices = configs,
      .standard = "best",
      .help = "Which configs of a kernel without one: that with the least predicted time, or all "
              "that planning looks at and the architecture can hold" },
    { .name = "define",
      .letter = 'D',
      .kind = CLI_LIST,
      .argument = "NAME=VALUE",
      .help = "Define a macro for a source, with an integer as its value; may be given more than "
              "once" },
    { .name = "registers",
      .kind = CLI_INTEGER,
      .argument = "N",
      .min = 16,
      .max = 255,
      .help = "Cap the registers per thread of a source" },
    { .name = "threads",
      .letter = 't',
      .kind = CLI_INTEGER,
      .argument = "N",
      .min = 1,
      .max = 1024,
      .help = "Threads per block of a file's kernels; without it what their launch bounds say" },
    { .name = "smem",
      .kind = CLI_INTEGER,
      .argument = "BYTES",
      .min = 0,
      .max = 1048576,
      .help = "Dynamic shared memory per block of a file's kernels" },
    { .name = NULL },
};

extern const cli_verb cli_verb_inspect;
const cli_verb cli_verb_inspect = {
    .name = "inspect",
    .summary = "what compiled kernels take of a GPU, without one",
    .operands = "SPEC...|FILE...",
    .operand_max = CLI_ANY,
    .description =
        "Compiles kernels with NVRTC, which needs no GPU, and reads from the machine code itself "
        "what a launch takes: registers, spills and stack per thread, static and dynamic shared "
        "memory per block, and from these how many blocks and warps a multiprocessor holds at a "
        "time and what keeps it from holding more.\n"
        "\n"
        "With a SPEC, a problem as 'heed plan' takes it, those of heed's kernels that can do it "
        "on the architecture are compiled for it. The predicted time is a cost model's, not a "
        "measured one, and is that of the best device of the architecture that heed knows; the "
        "roofline is the time that no kernel can go below there, from the device's data sheet: "
        "its matrix rate and its bandwidth.\n"
        "\n"
        "A FILE is a cubin, or a source that ends in .cu and may include files beside it and the "
        "headers of heed's own kernels.\n"
        "\n"
        "Examples:\n"
        "\n"
        "  heed inspect --arch sm_89 'b2 h8 s512 d64 f16 causal'\n"
        "  heed inspect --arch sm_89 --configs shipped --shapes shapes/seed.txt\n"
        "  heed inspect --arch sm_89 mine.cu -D TILE=64\n"
        "  heed inspect --threads 128 --smem 49152 mine.cubin\n"
        "\n"
        "The exit status is 1 if a kernel spills registers to memory, or if not one block of it "
        "fits on a multiprocessor.",
    .options = options,
    .run = run,
};
