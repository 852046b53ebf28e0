/*
 * inspect.c - `heed inspect`: the resource usage of compiled kernels, without a GPU
 */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

cli_exit inspect_add(inspect_job *job, const lab_code_subject *subject)
{
    lab_error error = { "" };
    heed_status status = lab_code_list_add(&job->list, subject, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* Architectures                                                              */
/* -------------------------------------------------------------------------- */

/* Parses "sm_89", "sm_90a" or "89"; 0 for anything else. */
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

/* True if operands are files: then all must be. */
static bool has_files(const cli_args *args)
{
    for (int i = 0; i < cli_args_operand_count(args); i++)
        if (inspect_is_file(cli_args_operand(args, i)))
            return true;
    return false;
}

/* Refuses options that apply only to the other kind of operands. */
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
    inspect_job job = { .args = args,
                        .list = { .sink = &cli_sink, .no_code = cli_args_flag(args, "no-code") } };
    bool files = has_files(args);
    cli_exit code = check_options(args, files);
    if (code == CLI_OK)
        code = files ? inspect_files(&job) : inspect_kernels(&job);
    if (code == CLI_OK || job.list.count > 0) {
        cli_exit reported = inspect_report(&job);
        code = code == CLI_OK ? reported : code;
    }
    lab_code_list_free(&job.list);
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
             "Define a macro for a source, 1 by default; may be given more than once"),
    OPT_LIST("include", 'I', "FOLDER",
             "Search this folder for headers that a source includes; may be given more than once. "
             "The CUDA toolkit's headers are found if they lie beside NVRTC"),
    OPT_INTEGER("registers", 0, "N", 16, 255, NULL, "Cap the registers per thread of a source"),
    OPT_TEXT("threads", 't', "N|XxY",
             "Threads per block of a file's kernels; XxY or XxYxZ gives the shape of the block, "
             "on which the bank conflicts of kernels that use threadIdx.y depend [default: their "
             "launch bounds]"),
    OPT_INTEGER("smem", 0, "BYTES", 0, 1048576, NULL,
                "Dynamic shared memory per block of a file's kernels"),
    OPT_INTEGER("grid", 0, "BLOCKS", 1, 2147483647, NULL,
                "Number of blocks in a launch of a file's kernels"),
    OPT_FLAG("opts-in", 0,
             "Assume that the launcher of a file's kernels opts in to more than 48 KB of shared "
             "memory, and report no finding for it"),
    OPT_FLAG("loops", 0, "Also list the loops of each kernel, except those that only wait"),
    OPT_FLAG("no-code", 0, "Do not disassemble, which takes half a second per kernel"),
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
        "class, in total and in the main loops.\n"
        "\n"
        "Rules turn these facts into findings: faults are always wrong, warnings mostly "
        "are, notes occur in fast kernels as well. docs/inspecting.md lists them.\n"
        "\n"
        "For a SPEC, as in 'heed plan', heed's kernels that support it on the architecture "
        "are compiled; the predicted time is that of the cost model, the roofline that of "
        "the data sheet. Problems that are not supported are left out, with a warning. A FILE "
        "is a cubin, or a CUDA source, which ends in .cu or comes through a pipe.",
    .examples = "  heed inspect --arch sm_89 'b2 h8 s512 d64 f16 causal'\n"
                "  heed inspect --arch sm_89 mine.cu -D TILE=64\n"
                "  heed inspect --threads 128 --smem 49152 --grid 64 mine.cubin",
    .status = "The exit status is 1 if a kernel has a fault, or with --strict a warning, "
              "and 4 if none of the problems is supported.",
    .options = options,
    .run = run,
};
