/*
 * session.h - the run of a search on the board: begin or resume, add results, end
 *
 *     lab_session session = { .record = record, .verb = "sweep", .seed = 1, .device = device,
 *                             .environment = environment };
 *     lab_session_begin(&session, &work, &error);
 *     for (each kernel and problem) {
 *         lab_session_name_set(&name, "fwd_any_avx512_tile__m96n64s1");
 *         lab_record_trial trial = lab_session_trial(&session, &name, &problem, attempt);
 *         lab_session_find(&session, &trial, &result, &found, &error);
 *         if (!found) {
 *             ... measure, fill in the results (entry.h) ...
 *             lab_session_add(&session, &trial, NULL, &error);
 *         }
 *     }
 *     lab_session_end(&session, LAB_RECORD_FINISHED, NULL, &error);
 *
 * A NULL session, or one without a record, means a search without a board: nothing is found, and
 * nothing is added.
 */
#ifndef LAB_SESSION_H
#define LAB_SESSION_H

#include "inspect/roofline.h"
#include "search/search.h"
#include "session/entry.h"

typedef struct lab_session {
    lab_record *record;
    const char *verb; /* the verb that proposes the kernels */
    uint64_t seed;
    bool cold;
    lab_record_device device;
    lab_record_environment environment;
    lab_ceilings ceilings; /* of the device; zeroed: not known */
    int64_t selftest;      /* of its gates; 0: none */
    int64_t run;           /* its number on the board; 0: not begun */
    bool resumed;          /* it resumes an unfinished run */
} lab_session;

/* The work of a run: everything that determines it, in addition to the session. Its problems are
 * @count specs: the first is @specs, and each following one is @stride bytes further. */
typedef struct lab_session_work {
    const char *what;    /* description */
    const char *subject; /* of the command, before the problems, with a trailing space; or "" */
    const char *budget;  /* or NULL */
    const char *specs;
    size_t stride, count;
    bool afresh; /* do not resume an earlier run */
} lab_session_work;

/* lab_session_begin() begins a run, or resumes the newest one of the same work if unfinished.
 * lab_session_end() records how it ended; @note may be NULL. */
heed_status lab_session_begin(lab_session *session, const lab_session_work *work, lab_error *error);
heed_status lab_session_end(const lab_session *session, lab_record_state state, const char *note,
                            lab_error *error);

/* A kernel's name, and texts that its trials point to. */
typedef struct lab_session_name {
    char whole[2 * HEED_NAME_SIZE];  /* as used for plans */
    char kernel[2 * HEED_NAME_SIZE]; /* without its config */
    const char *config;              /* within kernel[], after its end, or "" */
    char thought[LAB_POINT_TEXT];    /* "": none */
    const char *parents[2];          /* hashes of candidates */
    size_t parent_count;
} lab_session_name;

/* lab_session_name_set() sets a name without a thought and parents. */
void lab_session_name_set(lab_session_name *name, const char *whole);

/* lab_session_trial() returns a trial of @name, which must outlive it, without results. NULL: the
 * caller sets the candidate. */
lab_record_trial lab_session_trial(const lab_session *session, const lab_session_name *name,
                                   const heed_problem *problem, int attempt);

/* lab_session_find() looks for the trial, and writes its result if found. */
heed_status lab_session_find(const lab_session *session, const lab_record_trial *trial,
                             lab_evaluation *result, bool *found, lab_error *error);

/* lab_session_add() adds a trial, with the device's floor as a share of its time. Its number goes
 * to *@id, which may be NULL. */
heed_status lab_session_add(const lab_session *session, lab_record_trial *trial, int64_t *id,
                            lab_error *error);

#endif /* LAB_SESSION_H */
