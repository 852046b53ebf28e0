/*
 * selftest_trust.c - what the trials of other verbs rely on
 */
#include "selftest.h"

#include "cli/verbs/board/board.h"

/* Tries the whole suite, and adds what came of it to @record. */
static cli_exit run_now(lab_record *record, const char *device, int64_t *id)
{
    const lab_selftest_device launched = selftest_device(&device);
    lab_selftest_options options = lab_selftest_standard();
    lab_selftest_result result;
    lab_error error;
    cli_exit code = device ? selftest_device_probe(&device) : CLI_OK;
    if (code != CLI_OK)
        return code;
    cli_message("testing the gates first, as 'heed selftest%s%s' does", device ? " --device " : "",
                device ? device : "");
    options.device = device ? &launched : NULL;
    options.sources = selftest_sources();
    options.jobs = selftest_jobs(device != NULL);
    options.stop = cli_interrupted;
    lab_progress progress = lab_progress_start(&cli_sink, "selftest", 1);
    options.progress = selftest_progress;
    options.data = &progress;
    heed_status status = selftest_run(&options, &result);
    lab_progress_end(&progress);
    if (status != HEED_OK) {
        cli_error("the gates cannot be tested: %s", heed_status_name(status));
        return cli_exit_of(status);
    }
    if (cli_interrupted()) {
        lab_selftest_free(&result);
        return CLI_INTERRUPTED;
    }
    if (!result.trusted)
        cli_warning("the gates killed %zu of %zu wrong kernels and accepted %zu of %zu honest "
                    "ones: their verdicts are not to be trusted",
                    result.killed, result.mutants, result.accepted, result.controls);
    status = cli_board_selftest_add(record, device ? "cuda" : "cpu", &result, id, &error);
    lab_selftest_free(&result);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

cli_exit cli_selftest_trust(lab_record *record, const char *device, int64_t *id)
{
    lab_error error;
    heed_status status = cli_board_selftest_look(record, device ? "cuda" : "cpu", id, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    return *id ? CLI_OK : run_now(record, device, id);
}
