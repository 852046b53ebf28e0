/*
 * evolve_open.c - what `heed evolve` needs before it begins: problems, device, space, its run
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "evolve.h"
#include "wisdom_line.h"

cli_exit evolve_open_device(evolve_run *run)
{
    cli_exit code = sweep_open_device(&run->sweep);
    if (code != CLI_OK)
        return code;
    cli_board_place_read(&run->place, run->sweep.context);
    sweep_find_usual(&run->sweep);
    return CLI_OK;
}

/* Does heed plan a kernel of the space for a problem? */
static bool is_usual(const sweep_run *sweep)
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
        code = sweep_choose_kernel(&run->sweep);
    if (code == CLI_OK)
        code = sweep_start_pool(&run->sweep);
    run->evaluator = sweep_evaluator(&run->sweep);
    return code;
}

/* All that decides what a run does, but how long it may take. */
static void make_key(const evolve_run *run, const char *what, char key[LAB_RECORD_HASH_SIZE + 8])
{
    char hash[LAB_RECORD_HASH_SIZE], *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    snprintf(key, LAB_RECORD_HASH_SIZE + 8, "evolve");
    if (!stream)
        return;
    fprintf(stream, "%s\n%s\n%s %d\n%s\n%" PRIu64 " %g %d %d %d\n", what, run->sweep.device,
            run->place.features, run->place.environment.threads, heed_wisdom_build(), run->seed,
            run->duel, run->sweep.cold, cli_args_flag(run->args, "no-verify"),
            cli_args_choice(run->args, "insights"));
    for (size_t i = 0; i < run->sweep.problems.count; i++)
        fprintf(stream, "%s\n", run->sweep.shapes[i].spec);
    if (fclose(stream) == 0) {
        lab_record_hash(text, size, hash);
        snprintf(key, LAB_RECORD_HASH_SIZE + 8, "evolve %s", hash);
    }
    free(text);
}

cli_exit evolve_open_run(evolve_run *run, const char *what)
{
    char key[LAB_RECORD_HASH_SIZE + 8], command[512], budget[64];
    lab_error error;
    make_key(run, what, key);
    snprintf(command, sizeof command, "heed evolve %s%s", run->sweep.shapes[0].spec,
             run->sweep.problems.count > 1 ? " ..." : "");
    snprintf(budget, sizeof budget, "%lld trials", (long long)run->trials);
    const lab_record_work work = { .key = key,
                                   .verb = "evolve",
                                   .command = command,
                                   .budget = budget,
                                   .seed = run->seed,
                                   .afresh = cli_args_flag(run->args, "afresh") };
    heed_status status = lab_record_begin(run->record, &work, &run->run, &run->resumed, &error);
    if (status != HEED_OK)
        return cli_board_fail(status, &error);
    if (run->resumed)
        cli_message("run %lld, which was not finished, goes on", (long long)run->run);
    return CLI_OK;
}

cli_exit evolve_end_run(const evolve_run *run, cli_exit code, const char *note)
{
    lab_error error;
    lab_record_state state = code == CLI_OK || code == CLI_VERIFY_FAILED ? LAB_RECORD_FINISHED
                             : code == CLI_INTERRUPTED                   ? LAB_RECORD_INTERRUPTED
                                                                         : LAB_RECORD_BROKEN;
    heed_status status = lab_record_end(run->record, run->run, state, note, &error);
    if (status != HEED_OK && code == CLI_OK)
        return cli_board_fail(status, &error);
    if (code == CLI_INTERRUPTED)
        cli_message("interrupted: all trials are on the board, and the same command goes on from "
                    "there");
    return code;
}
