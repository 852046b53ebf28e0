/*
 * suite_export.c - `heed suite export`: solutions for a task of a suite
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/base/rows.h"
#include "lab/suite/export.h"
#include "src/cuda/gpu.h"
#include "suite.h"

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
    cli_rows rows;
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
    cli_row_text(&it->rows, "file", "file", path);
    cli_row_text(&it->rows, "form", "form", lab_export_form_name(form));
    cli_row_text(&it->rows, "kernel", "kernel", *solution.kernel ? solution.kernel : NULL);
    cli_row_text(&it->rows, "problem", "problem", solution.spec);
    cli_row_member(&it->rows, "static_check", json_boolean(form == LAB_EXPORT_KERNEL));
    cli_row_end(&it->rows);
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

cli_exit suite_export(const cli_args *args)
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
    cli_rows_free(&it.rows);
    return code;
}
