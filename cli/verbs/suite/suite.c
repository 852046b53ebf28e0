/*
 * suite.c - `heed suite`: tasks of other suites, and solutions for them
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/base/cli.h"
#include "lab/suite/export.h"
#include "lab/suite/suite.h"
#include "src/cuda/gpu.h"
#include "suite.h"

static const char *suite_at(size_t index)
{
    return index == 0 ? "kernelbench" : NULL;
}

cli_exit suite_name_check(const cli_args *args)
{
    return cli_name_check("there is no suite", cli_args_operand(args, 1), suite_at,
                          "kernelbench is the only one");
}

int suite_threads(void)
{
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    return threads > 0 ? (int)threads : 1;
}

cli_exit suite_python(lab_python *python)
{
    lab_error error;
    heed_status status = lab_python_find(python, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

/* -------------------------------------------------------------------------- */
/* export: solutions for a task of a suite                                    */
/* -------------------------------------------------------------------------- */

/* The choices of --form. */
enum {
    FORM_BOTH,
    FORM_KERNEL,
    FORM_LIBRARY,
    FORM_CU
};

typedef struct exporting {
    const cli_args *args;
    lab_python python;
    lab_suite suite; /* with one task */
    heed_gpu gpu;
    lab_listing rows;
} exporting;

static cli_exit write_file(const char *path, const char *text)
{
    lab_output output;
    lab_error error;
    heed_status status = lab_file_folders(path, 0777, &error);
    if (status == HEED_OK)
        status = lab_output_begin(&output, path, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    lab_output_write(&output, text, strlen(text));
    status = lab_output_commit(&output, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static cli_exit export_form(exporting *it, lab_export_form form)
{
    const char *folder = cli_args_text(it->args, "out");
    char name[256], path[PATH_MAX];
    lab_solution solution;
    lab_error error;
    const lab_export how = { .form = form,
                             .way = lab_way_at((size_t)cli_args_choice(it->args, "products")),
                             .gpu = &it->gpu,
                             .kernel = cli_args_text(it->args, "kernel") };
    heed_status status = lab_export_solution(&solution, &it->suite.tasks[0], &it->python, &how,
                                             &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    lab_export_name(&it->suite.tasks[0], &how, name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", folder ? folder : ".", name);
    cli_exit code = write_file(path, solution.text);
    free(solution.text);
    lab_cell_text(&it->rows, "file", "file", path);
    lab_cell_text(&it->rows, "form", "form", lab_export_form_name(form));
    lab_cell_text(&it->rows, "kernel", "kernel", *solution.kernel ? solution.kernel : NULL);
    lab_cell_text(&it->rows, "problem", "problem", solution.spec);
    lab_cell_json(&it->rows, "static_check", json_boolean(form == LAB_EXPORT_KERNEL));
    lab_row_end(&it->rows);
    return code;
}

static cli_exit export_all(exporting *it)
{
    int wanted = cli_args_choice(it->args, "form");
    lab_error error;
    heed_status status = lab_suite_find_task(&it->suite, cli_args_operand(it->args, 2), &error);
    if (status == HEED_OK)
        status = lab_task_read(&it->suite.tasks[0], &it->python, cli_interrupted, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    if (it->suite.tasks[0].kind == LAB_TASK_DAMAGED) {
        cli_error("%s: %s", it->suite.tasks[0].path, it->suite.tasks[0].reason);
        return CLI_CORRUPT;
    }
    cli_exit code = CLI_OK;
    if (wanted == FORM_BOTH || wanted == FORM_KERNEL)
        code = export_form(it, LAB_EXPORT_KERNEL);
    if (code == CLI_OK && (wanted == FORM_BOTH || wanted == FORM_LIBRARY))
        code = export_form(it, LAB_EXPORT_LIBRARY);
    if (code == CLI_OK && wanted == FORM_CU)
        code = export_form(it, LAB_EXPORT_CU);
    return code;
}

static cli_exit export(const cli_args *args)
{
    exporting it = { .args = args };
    cli_exit code = suite_name_check(args);
    if (code == CLI_OK)
        code = suite_python(&it.python);
    if (code != CLI_OK)
        return code;
    heed_gpu_find(&it.gpu, cli_args_text(args, "machine"));
    it.rows = cli_rows_begin(cli_args_json(args));
    code = export_all(&it);
    lab_suite_free(&it.suite);
    if (code == CLI_OK)
        return cli_rows_print(&it.rows, "solutions", "suite.export");
    lab_listing_free(&it.rows);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The verb                                                                   */
/* -------------------------------------------------------------------------- */

static cli_exit run(const cli_args *args)
{
    static const cli_subcommand subcommands[] = {
        { "import", 2, 2, suite_import },
        { "export", 2, 2, export },
        { "judge", 1, 1, suite_judge },
        { NULL, 0, 0, NULL },
    };
    return cli_subcommand_run(subcommands, args);
}

static const char *machine_at(size_t index)
{
    heed_gpu gpu;
    const char *brief;
    return heed_gpu_at(&gpu, index, &brief) ? brief : NULL;
}

static const char *way_at(size_t index)
{
    const lab_way *way = lab_way_at(index);
    return way ? way->name : NULL;
}

static const char *const forms[] = { "both", "kernel", "library", "cu", NULL };

static const cli_option options[] = {
    OPT_PATH(
        "out", 'o', "PATH",
        "Import: write the problems to this shape file, - for stdout; export: the folder of the "
        "solutions [default: .]"),
    OPT_FLAG("all", 0, "Import: also list the tasks without attention, each with its reason"),
    OPT_FLAG("any-version", 0, "Import: read a version of the suite that heed does not know"),
    OPT_CHOICE(
        "form", 0, "FORM", forms, "both",
        "Export: a solution that carries a kernel, one that calls heed's library, or a .cu file "
        "for robust-kbench"),
    { .name = "products",
      .kind = CLI_CHOICE,
      .argument = "TYPE",
      .choice = way_at,
      .standard = "f16",
      .help =
          "Export: how float32 tensors are multiplied: rounded to a narrower type, "
          "or as float32 with operands that may be rounded; judge: the permitted way, f32 unless "
          "it is given" },
    { .name = "machine",
      .kind = CLI_CHOICE,
      .argument = "NAME",
      .choice = machine_at,
      .standard = "H200",
      .help = "Export: the GPU for which the kernel is chosen and launched" },
    OPT_TEXT("kernel", 'k', "NAME",
             "Export: this kernel, with or without a config [default: the fastest by the cost "
             "model]"),
    OPT_PATH("tasks", 0, "PATH",
             "Judge: the tasks of the solutions, a checkout of KernelBench or one file of it"),
    OPT_TEXT("device", 'd', "NAME", "Judge: cpu, cuda or cuda:N [default: HEED_DEVICE, else cuda]"),
    OPT_REAL("seconds", 0, "N", 0.1, 3600, "60",
             "Judge: end a solution that has not answered a request after N seconds; it has 600 to "
             "load and compile"),
    OPT_INTEGER("memory", 0, "MIB", 0, 16777216, "0",
                "Judge: end a solution that uses more host memory; 0: half of the memory that is "
                "free"),
    OPT_FLAG("unsafe-candidates", 0,
             "Judge: run solutions even if this system has no sandbox for them: they can then do "
             "everything that you can"),
    { .name = NULL },
};

const cli_verb cli_verb_suite = {
    .name = "suite",
    .summary = "read tasks of other suites, write solutions for them, and judge others'",
    .operands = { "import kernelbench FOLDER | export kernelbench TASK | judge FOLDER", 1, 3 },
    .description =
        "import reads the tasks of a checkout of KernelBench: Python follows each in a "
        "sandbox and runs none. It lists their attention problems, their other work, "
        "and why heed cannot help with other tasks. --out writes a shape file for 'heed "
        "bench --shapes'.\n"
        "\n"
        "export writes solutions for TASK, a file of the suite: the task's model with heed "
        "instead of its attention. One carries the source of a kernel for load_inline(), "
        "the other calls the Python package.\n"
        "\n"
        "judge runs the solutions in FOLDER in sandboxes, with heed's gates and on new "
        "tensors. It reports solutions that are wrong, that cheat, or that are fast only "
        "because of how they were measured. HEED_PYTHON is the interpreter, for judge one with "
        "PyTorch. See docs/suites.md.",
    .examples = "  heed suite import kernelbench ~/KernelBench --out kernelbench.txt\n"
                "  heed suite export kernelbench level3/43_MinGPTCausalAttention.py\n"
                "  heed suite judge solutions --tasks ~/KernelBench",
    .status = "The exit status is 1 if a solution is bad, 4 if none can be made, 7 if a task is "
              "damaged.",
    .options = options,
    .run = run,
};
