/*
 * session.h - the run of a search on the board: begun or gone on with, its answers, its end
 *
 *     lab_session session = { .record = record, .verb = "sweep", .seed = 1, .device = device,
 *                             .environment = environment };
 *     lab_session_begin(&session, &work, &error);
 *     for (each kernel and problem) {
 *         lab_session_name_set(&name, "fwd_any_avx512_tile__m96n64s1");
 *         lab_record_trial trial = lab_session_trial(&session, &name, &problem, attempt);
 *         lab_session_find(&session, &trial, &result, &found, &error);
 *         if (!found) {
 *             ... measure, fill in what came of it (entry.h) ...
 *             lab_session_add(&session, &trial, NULL, &error);
 *         }
 *     }
 *     lab_session_end(&session, LAB_RECORD_FINISHED, NULL, &error);
 *
 * A session that is NULL, or has no record, is that of a search without a board: nothing is found,
 * and nothing is added.
 */
#ifndef LAB_SESSION_H
#define LAB_SESSION_H

#include "inspect/roofline.h"
#include "search/search.h"
#include "session/entry.h"

typedef struct lab_session {
    lab_record *record;
    const char *verb; /* which proposes its kernels */
    uint64_t seed;
    bool cold;
    lab_record_device device;
    lab_record_environment environment;
    lab_ceilings ceilings; /* of the device; zeroed: not known */
    int64_t selftest;      /* that its gates rely on; 0: none */
    int64_t run;           /* its number on the board; 0: not begun */
    bool resumed;          /* it goes on with one that was not finished */
} lab_session;

/* The work of a run: all that decides what it does, beside what the session says. Its problems are
 * @count specs: the first is @specs, and each next one lies @stride bytes further. */
typedef struct lab_session_work {
    const char *what;    /* in words of its own */
    const char *subject; /* of the command, before the problems, with a blank behind it; or "" */
    const char *budget;  /* or NULL */
    const char *specs;
    size_t stride, count;
    bool afresh; /* do not go on with an earlier run */
} lab_session_work;

/* lab_session_begin() begins a run, or goes on with the newest one of the same work if that was not
 * finished. lab_session_end() notes how it ended; @note may be NULL. */
heed_status lab_session_begin(lab_session *session, const lab_session_work *work, lab_error *error);
heed_status lab_session_end(const lab_session *session, lab_record_state state, const char *note,
                            lab_error *error);

/* A kernel by its name, and the texts that a trial of it points to. */
typedef struct lab_session_name {
    char whole[2 * HEED_NAME_SIZE];  /* as plans are made by */
    char kernel[2 * HEED_NAME_SIZE]; /* without its config */
    const char *config;              /* within kernel[], after its end, or "" */
    char thought[LAB_POINT_TEXT];    /* "": none */
    const char *parents[2];          /* hashes of candidates */
    size_t parent_count;
} lab_session_name;

/* lab_session_name_set() sets a name without a thought and parents. */
void lab_session_name_set(lab_session_name *name, const char *whole);

/* lab_session_trial() returns a trial of @name, which must outlive it, without what comes of it.
 * NULL: the caller says who it is of. */
lab_record_trial lab_session_trial(const lab_session *session, const lab_session_name *name,
                                   const heed_problem *problem, int attempt);

/* lab_session_find() looks for the trial, and writes what it came to if it is there. */
heed_status lab_session_find(const lab_session *session, const lab_record_trial *trial,
                             lab_evaluation *result, bool *found, lab_error *error);

/* lab_session_add() adds a trial, with the share of its time that is the floor of the device. Its
 * number goes to *@id, which may be NULL. */
heed_status lab_session_add(const lab_session *session, lab_record_trial *trial, int64_t *id,
                            lab_error *error);

#endif /* LAB_SESSION_H */
