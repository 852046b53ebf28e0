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
 *             ... measure, fill in the results ...
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
#include "measure/duel.h"
#include "record/record.h"
#include "search/search.h"

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

/* -------------------------------------------------------------------------- */
/* Measurements as entries of the board                                       */
/* -------------------------------------------------------------------------- */

/* The caller sets the identity of a trial (candidate, place, attempt); these functions fill in the
 * measurements. */

/* The seed for the values of an evaluation, and for the rows of its output that are checked. */
#define LAB_ENTRY_ROWS_SEED 1

/* Parts that a trial points to, which must outlive it. */
typedef struct lab_entry_parts {
    lab_record_samples samples[2];
    lab_record_comparison comparison;
    lab_record_gate gate;
} lab_entry_parts;

/* lab_entry_comparison() returns the record of a comparison of a candidate (A) with @against (B),
 * whose time was @seconds. */
lab_record_comparison lab_entry_comparison(const lab_comparison *comparison, const char *against,
                                           double seconds);

/* lab_entry_take_turns() fills in the samples of @duel, in which the candidate is A and @against is
 * B, and their @comparison. HEED_ERR_NO_MEMORY is the only failure. */
heed_status lab_entry_take_turns(lab_record_trial *trial, lab_entry_parts *parts,
                                 const lab_duel *duel, const lab_comparison *comparison,
                                 const char *against, bool cold);

/* lab_entry_take() fills in an evaluation, which must outlive @trial: the board gets the median of
 * its samples, while a search uses their minimum. */
void lab_entry_take(lab_record_trial *trial, lab_entry_parts *parts, const lab_evaluation *result,
                    bool cold);

/* lab_entry_take_confirmed() is lab_entry_take() for a kernel that passed all gates and was timed
 * after its selection. */
void lab_entry_take_confirmed(lab_record_trial *trial, lab_entry_parts *parts,
                              const lab_evaluation *result, bool cold);

/* -------------------------------------------------------------------------- */
/* Gates                                                                      */
/* -------------------------------------------------------------------------- */

/* A callback verifies kernels of a search by all gates. The caller provides it because a child of a
 * process that has initialized CUDA cannot use CUDA: `heed` runs itself as a new process, and a
 * program without GPUs may call lab_prove(). */

typedef enum lab_proven {
    LAB_UNPROVEN = 0, /* not tried, or there was no time */
    LAB_PROVEN,       /* it passed */
    LAB_REFUTED,      /* it did not */
    LAB_UNTOLD        /* the gates could not be run */
} lab_proven;

#define LAB_PROVER_WHY 100

/* prove() puts @kernel, a name with config, through all gates on @count problems, until @until_ns
 * by heed_clock_ns(), 0 for no limit. Unless LAB_PROVEN, @why has the reason, such as "does not
 * pass". */
typedef struct lab_prover {
    void *data;
    lab_proven (*prove)(void *data, const char *kernel, const char *const *specs, size_t count,
                        int64_t until_ns, char why[LAB_PROVER_WHY]);
} lab_prover;

#endif /* LAB_SESSION_H */
