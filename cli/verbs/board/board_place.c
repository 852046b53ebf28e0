/*
 * board_place.c - the laboratory's facts about the machine, as columns of the board
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "build/sources.h"
#include "cli/verbs/doctor/manifest.h"
#include "cli/verbs/roofline/roofline.h"
#include "src/device.h"
#include "verify/mutants/suite.h"
#include "wisdom_line.h"

const char *cli_board_version(const char *features, const char *name, char version[16])
{
    const char *at = features ? strstr(features, name) : NULL;
    if (!at)
        return NULL;
    at += strlen(name);
    snprintf(version, 16, "%.*s", (int)strcspn(at, "-"), at);
    return version;
}

void cli_board_tools_take(cli_board_tools *tools, const json_t *manifest,
                          lab_record_environment *environment)
{
    memset(tools, 0, sizeof *tools);
    if (!*cli_manifest_hash(manifest))
        return;
    snprintf(tools->manifest, sizeof tools->manifest, "%s", cli_manifest_hash(manifest));
    tools->text = cli_manifest_text(manifest);
    environment->libraries = cli_manifest_libraries(manifest, tools->libraries,
                                                    sizeof tools->libraries);
    environment->manifest = tools->manifest;
    environment->manifest_text = tools->text;
}

void cli_board_tools_free(cli_board_tools *tools)
{
    free(tools->text);
    tools->text = NULL;
}

void cli_session_place(lab_session *session, const cli_board_place *place)
{
    session->device = place->device;
    session->environment = place->environment;
    session->ceilings = place->ceilings;
}

cli_exit cli_session_begun(lab_session *session, bool trusts)
{
    lab_error error;
    heed_status status = trusts ? cli_board_selftest_find(session->record, session->device.backend,
                                                          &session->selftest, &error)
                                : HEED_OK;
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    if (session->resumed)
        cli_message("run %lld, which was not finished, goes on", (long long)session->run);
    return CLI_OK;
}

cli_exit cli_session_end(const lab_session *session, cli_exit code, const char *note)
{
    lab_error error;
    lab_record_state state = code == CLI_OK || code == CLI_VERIFY_FAILED ? LAB_RECORD_FINISHED
                             : code == CLI_INTERRUPTED                   ? LAB_RECORD_INTERRUPTED
                                                                         : LAB_RECORD_BROKEN;
    heed_status status = lab_session_end(session, state, note, &error);
    return status == HEED_OK || code != CLI_OK ? code : cli_fail_error(status, &error);
}

void cli_board_place_read(cli_board_place *place, heed_context *context)
{
    json_t *manifest = cli_manifest_take();
    heed_device_limits limits = heed_device_get_limits(context);
    heed_device_features(context, place->features);
    lab_environment_read(&place->around);
    place->device = (lab_record_device){
        .name = heed_context_device(context),
        .backend = heed_context_backend(context),
        .memory_bytes = (double)heed_device_memory(context),
        .cache_bytes = (double)heed_device_cache(context),
        .multiprocessors = limits.multiprocessors,
        .clock_hz = limits.clock_hz,
        .bandwidth = limits.bandwidth,
    };
    place->environment = (lab_record_environment){
        .features = place->features,
        .threads = heed_context_threads(context),
        .build = heed_wisdom_build(),
        .heed = place->around.heed,
        .commit = place->around.commit,
        .driver = cli_board_version(place->features, "driver", place->driver),
        .nvrtc = cli_board_version(place->features, "nvrtc", place->nvrtc),
        .compiler = place->around.compiler,
        .cpu = place->around.cpu,
        .system = place->around.kernel,
        .governor = place->around.governor,
        .library = lab_build_sources(),
    };
    cli_board_tools_take(&place->tools, manifest, &place->environment);
    json_decref(manifest);
    if (!roofline_known(&place->ceilings, context))
        memset(&place->ceilings, 0, sizeof place->ceilings);
}

#define SUITE_SIZE 17

static void write_suite(char suite[SUITE_SIZE], uint64_t digest)
{
    snprintf(suite, SUITE_SIZE, "%016" PRIx64, digest);
}

heed_status cli_board_selftest_add(lab_record *record, const char *backend,
                                   const lab_selftest_result *result, int64_t *id, lab_error *error)
{
    char suite[SUITE_SIZE];
    lab_environment around;
    lab_environment_read(&around);
    write_suite(suite, result->digest);
    const lab_record_selftest selftest = {
        .backend = backend,
        .suite = suite,
        .commit = around.commit,
        .killed = (int64_t)result->killed,
        .wrong = (int64_t)result->mutants,
        .accepted = (int64_t)result->accepted,
        .honest = (int64_t)result->controls,
    };
    return lab_record_selftest_add(record, &selftest, id, error);
}

heed_status cli_board_selftest_look(lab_record *record, const char *backend, int64_t *id,
                                    lab_error *error)
{
    char suite[SUITE_SIZE];
    lab_environment around;
    lab_environment_read(&around);
    const lab_record_selftest alike = { .backend = backend,
                                        .suite = suite,
                                        .commit = around.commit };
    write_suite(suite, lab_suite_digest());
    return lab_record_selftest_find(record, &alike, id, error);
}

heed_status cli_board_selftest_find(lab_record *record, const char *backend, int64_t *id,
                                    lab_error *error)
{
    heed_status status = cli_board_selftest_look(record, backend, id, error);
    if (status == HEED_OK && !*id)
        cli_message("new trials are 'untested' on the board until this build has passed "
                    "'heed selftest%s --record --board %s'",
                    strcmp(backend, "cpu") == 0 ? "" : " --device cuda", lab_record_place(record));
    return status;
}
