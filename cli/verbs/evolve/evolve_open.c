/*
 * evolve_open.c - what `heed evolve` needs before it begins: problems, device, space, its run
 */
#include <stdlib.h>
#include <string.h>

#include "evolve.h"

cli_exit evolve_open_device(evolve_run *run)
{
    cli_exit code = sweep_open_device(&run->sweep, run->args);
    if (code != CLI_OK)
        return code;
    cli_board_place_read(&run->place, run->sweep.context);
    cli_session_place(&run->session, &run->place);
    run->sweep.session = &run->session;
    lab_sweep_find_usual(&run->sweep);
    const char *device = run->sweep.options.machine.device;
    run->rerun = (lab_rerun_place){ .options = cli_rebuild_options(run->args),
                                    .context = run->sweep.context,
                                    .device = heed_device_is_host(run->sweep.context) ? ""
                                              : strncmp(device, "cuda:", 5) == 0      ? device
                                                                                      : "cuda:0",
                                    .sink = &cli_sink,
                                    .threads = run->sweep.threads,
                                    .seed = run->seed };
    return CLI_OK;
}

/* Does heed plan a kernel of the space for a problem? */
static bool is_usual(const lab_sweep *sweep)
{
    for (int i = 0; i < sweep->space.kernel_count; i++) {
        size_t length = strlen(sweep->space.kernels[i]);
        for (size_t j = 0; j < sweep->problems.count; j++)
            if (strncmp(sweep->shapes[j].usual, sweep->space.kernels[i], length) == 0)
                return true;
    }
    return false;
}

static cli_exit choose_space(evolve_run *run)
{
    for (size_t i = 0; sweep_spaces[i]; i++) {
        lab_space_free(&run->sweep.space);
        cli_exit code = cli_space_load(&run->sweep.space, sweep_spaces[i], "");
        if (code != CLI_OK)
            return code;
        if (is_usual(&run->sweep))
            return CLI_OK;
    }
    cli_error("there is no space of what heed plans for '%s', %s: name one with --space",
              run->sweep.shapes[0].spec, run->sweep.shapes[0].usual);
    return CLI_UNSUPPORTED;
}

cli_exit evolve_read_space(evolve_run *run)
{
    const char *name = cli_args_text(run->args, "space");
    cli_exit code = cli_kernel_check(run->args);
    return code == CLI_OK && name ? cli_space_load(&run->sweep.space, name, "--space: ") : code;
}

cli_exit evolve_open_space(evolve_run *run)
{
    cli_exit code = cli_args_text(run->args, "space") ? CLI_OK : choose_space(run);
    run->sweep.limits = run->sweep.space.limits;
    if (code == CLI_OK)
        code = sweep_choose_kernel(&run->sweep, run->args);
    if (code == CLI_OK)
        code = sweep_start_pool(&run->sweep);
    return code;
}

cli_exit evolve_open_run(evolve_run *run, const char *what)
{
    char all[1200], budget[64];
    snprintf(all, sizeof all, "%s %g %d %d", what, run->duel, run->sweep.options.no_verify,
             run->sweep.options.insights);
    snprintf(budget, sizeof budget, "%lld trials", (long long)run->sweep.options.trials);
    const lab_session_work work = { .what = all,
                                    .subject = "",
                                    .budget = budget,
                                    .specs = run->sweep.shapes[0].spec,
                                    .stride = sizeof *run->sweep.shapes,
                                    .count = run->sweep.problems.count,
                                    .afresh = cli_args_flag(run->args, "afresh") };
    return cli_session_begin(&run->session, &work, false);
}

cli_exit evolve_end_run(const evolve_run *run, cli_exit code, const char *note)
{
    code = cli_session_end(&run->session, code, note);
    if (code == CLI_INTERRUPTED)
        cli_message("interrupted: all trials are on the board, and the same command goes on from "
                    "there");
    return code;
}
