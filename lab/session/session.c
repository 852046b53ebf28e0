/*
 * session.c - the run of a search on the board
 */
#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SIZE (LAB_RECORD_HASH_SIZE + 32)

/* The key: everything that determines a run, except its time limit. */
static heed_status make_key(const lab_session *session, const lab_session_work *work,
                            char key[KEY_SIZE])
{
    const lab_record_environment *around = &session->environment;
    char hash[LAB_RECORD_HASH_SIZE], *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return HEED_ERR_NO_MEMORY;
    fprintf(stream, "%s\n%s\n%s %d\n%s\n%" PRIu64 " %d\n", work->what, session->device.name,
            around->features, around->threads, around->build, session->seed, session->cold);
    for (size_t i = 0; i < work->count; i++)
        fprintf(stream, "%s\n", work->specs + i * work->stride);
    heed_status status = fclose(stream) == 0 ? HEED_OK : HEED_ERR_NO_MEMORY;
    if (status == HEED_OK) {
        lab_record_hash(text, size, hash);
        snprintf(key, KEY_SIZE, "%.16s %s", session->verb, hash);
    }
    free(text);
    return status;
}

heed_status lab_session_begin(lab_session *session, const lab_session_work *work, lab_error *error)
{
    char key[KEY_SIZE], command[512];
    if (make_key(session, work, key) != HEED_OK)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "not enough memory for %zu problems",
                        work->count);
    snprintf(command, sizeof command, "heed %s %.200s'%.200s'%s", session->verb, work->subject,
             work->specs, work->count > 1 ? " ..." : "");
    const lab_record_work run = { .key = key,
                                  .verb = session->verb,
                                  .command = command,
                                  .budget = work->budget,
                                  .seed = session->seed,
                                  .afresh = work->afresh };
    return lab_record_begin(session->record, &run, &session->run, &session->resumed, error);
}

heed_status lab_session_end(const lab_session *session, lab_record_state state, const char *note,
                            lab_error *error)
{
    return session->run > 0 ? lab_record_end(session->record, session->run, state, note, error)
                            : HEED_OK;
}

void lab_session_name_set(lab_session_name *name, const char *whole)
{
    memset(name, 0, sizeof *name);
    snprintf(name->whole, sizeof name->whole, "%s", whole);
    snprintf(name->kernel, sizeof name->kernel, "%s", whole);
    char *end = strstr(name->kernel, "__");
    name->config = end ? end + 2 : "";
    if (end)
        *end = '\0';
}

lab_record_trial lab_session_trial(const lab_session *session, const lab_session_name *name,
                                   const heed_problem *problem, int attempt)
{
    lab_record_trial trial = { .run = session->run,
                               .problem = problem,
                               .attempt = attempt,
                               .device = session->device,
                               .environment = session->environment,
                               .selftest = session->selftest,
                               .seed = session->seed };
    if (name)
        trial.candidate = (lab_record_candidate){ .kernel = name->kernel,
                                                  .config = name->config,
                                                  .proposer = session->verb,
                                                  .seed = session->seed,
                                                  .thought = *name->thought ? name->thought : NULL,
                                                  .parents = name->parents,
                                                  .parent_count = name->parent_count };
    return trial;
}

static bool is_kept(const lab_session *session)
{
    return session && session->record;
}

heed_status lab_session_find(const lab_session *session, const lab_record_trial *trial,
                             lab_evaluation *result, bool *found, lab_error *error)
{
    lab_record_found there = { .trial = 0 };
    heed_status status = is_kept(session) ? lab_record_find(session->record, trial, &there, error)
                                          : HEED_OK;
    *found = status == HEED_OK && there.trial > 0;
    if (*found)
        *result = lab_entry_evaluation(&there);
    return status;
}

heed_status lab_session_add(const lab_session *session, lab_record_trial *trial, int64_t *id,
                            lab_error *error)
{
    if (!is_kept(session))
        return HEED_OK;
    const lab_floor floor = lab_roofline_floor(trial->problem, &session->ceilings);
    double least = trial->timing == LAB_RECORD_COLD ? floor.cold : floor.hot;
    if (trial->seconds > 0 && least > 0 && !(trial->of_roofline > 0))
        trial->of_roofline = least / trial->seconds;
    return lab_record_append(session->record, trial, id, error);
}
