/*
 * sweep_open.c - opens space, problems, device, kernel and record for `heed sweep`
 */
#include <stdlib.h>
#include <string.h>

#include "src/cuda/gpu.h"
#include "sweep.h"

const char *const sweep_spaces[] = { "wgmma", "mma", "cpu_few", "cpu_tile", NULL };

cli_exit sweep_load_space(lab_sweep *run, const cli_args *args)
{
    cli_exit code = cli_space_load(&run->space, cli_args_operand(args, 0), "");
    if (code != CLI_OK)
        return code;
    run->limits = run->space.limits;
    if (cli_args_given(args, "spills"))
        run->limits.value[LAB_FACT_SPILLS] = cli_args_integer(args, "spills");
    return CLI_OK;
}

/* Drops problems that are named twice: they would count twice in every mean, and as two of those on
 * which a champion must win. */
static void drop_repeated(lab_problems *problems)
{
    size_t kept = 0;
    for (size_t i = 0; i < problems->count; i++) {
        bool known = false;
        for (size_t j = 0; j < kept && !known; j++)
            known = cli_problem_repeated(&problems->items[i], &problems->items[j]);
        if (!known)
            problems->items[kept++] = problems->items[i];
    }
    problems->count = kept;
}

cli_exit sweep_load_problems(lab_sweep *run, const cli_args *args, int first)
{
    cli_exit code = cli_problems_read_from(&run->problems, args, first);
    if (code != CLI_OK)
        return code;
    drop_repeated(&run->problems);
    if (run->problems.count > LAB_SEARCH_SHAPES) {
        cli_error("%zu problems; a search takes at most %d", run->problems.count,
                  LAB_SEARCH_SHAPES);
        return CLI_USAGE;
    }
    run->shapes = calloc(run->problems.count, sizeof *run->shapes);
    if (!run->shapes) {
        cli_error("not enough memory for %zu problems", run->problems.count);
        return CLI_ENVIRONMENT;
    }
    for (size_t i = 0; i < run->problems.count; i++) {
        heed_problem_normalize(&run->shapes[i].source.problem, &run->problems.items[i]);
        heed_problem_print(&run->problems.items[i], run->shapes[i].spec,
                           sizeof run->shapes[i].spec);
    }
    return CLI_OK;
}

cli_exit sweep_choose_kernel(lab_sweep *run, const cli_args *args)
{
    const char *wanted = cli_args_text(args, "kernel");
    cli_exit code = cli_kernel_check(args);
    if (code != CLI_OK)
        return code;
    int count = wanted ? 1 : run->space.kernel_count;
    heed_status status = HEED_OK;
    for (int i = 0; i < count; i++) {
        const char *name = wanted ? wanted : run->space.kernels[i];
        status = lab_sweep_try_kernel(run->context, run->arch, &run->problems.items[0], name);
        if (status == HEED_OK) {
            snprintf(run->kernel, sizeof run->kernel, "%s", name);
            return CLI_OK;
        }
    }
    return cli_fail(status, run->space.name);
}

cli_exit sweep_open_device(lab_sweep *run, const cli_args *args)
{
    cli_exit code = cli_context_open(&run->context, args);
    if (code != CLI_OK)
        return code;
    bool host = heed_device_is_host(run->context);
    run->replay = !host;
    run->arch = heed_device_arch(run->context);
    run->threads = host ? heed_context_threads(run->context) : lab_environment_cores();
    run->sink = &cli_sink;
    run->cold = cli_args_flag(args, "cold");
    run->judge = lab_time_judge_create();
    return CLI_OK;
}

/* Reads the architecture of --static: "sm_90" or "90". */
cli_exit sweep_read_arch(lab_sweep *run, const cli_args *args)
{
    const char *text = cli_args_text(args, "static");
    heed_gpu gpu;
    char *end;
    const char *digits = strncmp(text, "sm_", 3) == 0 ? text + 3 : text;
    long arch = strtol(digits, &end, 10);
    run->threads = lab_environment_cores();
    if (*end || end == digits || arch < 0 || arch > 1000 || !heed_gpu_arch(&gpu, (int)arch)) {
        cli_error("--static: '%s' is not an architecture that heed knows, such as sm_90", text);
        return CLI_USAGE;
    }
    run->arch = (int)arch;
    return CLI_OK;
}

cli_exit sweep_exit(const lab_sweep *sweep, heed_status status)
{
    return cli_exit_of_work(status, &sweep->trouble);
}

cli_exit sweep_open_record(lab_sweep *run)
{
    const char *path = run->record_path;
    char shapes[LAB_SEARCH_SHAPES][HEED_SPEC_SIZE];
    lab_error error;
    lab_trials head = { .shapes = shapes, .shape_count = (int)run->problems.count };
    if (!path)
        return CLI_OK;
    memcpy(head.space, run->space.name, sizeof head.space);
    memcpy(head.kernel, run->kernel, sizeof head.kernel);
    snprintf(head.device, sizeof head.device, "%s", heed_context_device(run->context));
    for (size_t i = 0; i < run->problems.count; i++)
        memcpy(shapes[i], run->shapes[i].spec, sizeof shapes[i]);
    heed_status status = lab_trials_append(&run->record, &head, &run->space, path, &error);
    if (status == HEED_OK)
        status = lab_trials_read(&run->known, &run->space, path, &error);
    if (status == HEED_OK)
        return CLI_OK;
    cli_error("--record: %s", error.text);
    return cli_exit_of(status);
}

cli_exit sweep_open_board(sweep_run *run, const cli_args *args)
{
    char what[2 * HEED_NAME_SIZE + 64], subject[80];
    lab_sweep *sweep = &run->sweep;
    lab_session *session = &run->session;
    if (cli_args_flag(args, "no-board"))
        return CLI_OK;
    cli_exit code = cli_board_open(&session->record, LAB_RECORD_WRITE, args);
    if (code != CLI_OK)
        return code;
    cli_board_place_read(&run->place, sweep->context);
    cli_session_place(session, &run->place);
    sweep->session = session;
    sweep->ranks = true;
    snprintf(what, sizeof what, "%s %s %s", sweep->space.name, sweep->kernel,
             cli_args_text(args, "strategy"));
    snprintf(subject, sizeof subject, "%s ", sweep->space.name);
    const lab_session_work work = { .what = what,
                                    .subject = subject,
                                    .specs = sweep->shapes[0].spec,
                                    .stride = sizeof *sweep->shapes,
                                    .count = sweep->problems.count };
    code = sweep_exit(sweep, lab_session_begin(session, &work, &sweep->trouble));
    return code == CLI_OK ? cli_session_begun(session, true) : code;
}
