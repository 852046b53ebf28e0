/*
 * record.h - the leaderboard (board): every trial with its evidence, in one SQLite file
 *
 * Rows (see schema.sql) are only ever added, by one process at a time, and may be read at any time.
 * Once lab_record_append() has returned HEED_OK the complete trial is on disk, whatever happens
 * next; if the process is killed earlier, no part of it is. Interrupted work resumes where it
 * stopped:
 *
 *     lab_record *record;
 *     lab_error error;
 *     char path[LAB_RECORD_PATH_SIZE];
 *     int64_t run;
 *     bool resumed;
 *
 *     lab_record_path(NULL, path, &error);
 *     lab_record_open(&record, path, LAB_RECORD_WRITE, &error);
 *     const lab_record_work work = { .key = "sweep sweep90 seed.txt cuda:0 1", .verb = "sweep",
 *                                    .command = "heed sweep sweep90 --shapes seed.txt" };
 *     lab_record_begin(record, &work, &run, &resumed, &error);
 *     for (each candidate and problem) {
 *         lab_record_trial trial = { .run = run,
 *                                    .candidate = { .kernel = "fwd_16bit_sm80_mma",
 *                                                   .config = "m32n64w2k4s2q2o1b1p1l1a1" },
 *                                    .problem = &problem };
 *         lab_record_find(record, &trial, &found, &error);
 *         if (found.trial)
 *             continue;                       (done before the interruption)
 *         ... compile, verify, measure, fill in the rest of trial ...
 *         lab_record_append(record, &trial, &id, &error);
 *     }
 *     lab_record_end(record, run, LAB_RECORD_FINISHED, NULL, &error);
 *     lab_record_close(record);
 *
 * Every function that returns a status fills @error, which may be NULL, when that is not HEED_OK:
 *
 *     HEED_ERR_INVALID    an invalid field, which the message names
 *     HEED_ERR_CORRUPT    the file is damaged, not a board, or made by a newer heed; it is not
 *     changed
 *     HEED_ERR_SYSTEM     the file cannot be opened, read or written; another process writes
 *     HEED_ERR_NO_MEMORY
 *
 * A record may be used by one thread at a time. It must not be used after fork() in the child,
 * which may only exec or _exit: a lock belongs to the process that took it, and closing the file in
 * the child would not release it. A process may open a file for writing only once.
 */
#ifndef LAB_RECORD_H
#define LAB_RECORD_H

#include "base/error.h"
#include "record/trial.h"

typedef struct lab_record lab_record;

/* -------------------------------------------------------------------------- */
/* record.c, run.c: the file                                                  */
/* -------------------------------------------------------------------------- */

#define LAB_RECORD_PATH_SIZE 1024

/* lab_record_path() writes the path of the board to @path: @given if not NULL; else the environment
 * variable HEED_BOARD; else heed/board.db in XDG_DATA_HOME or ~/.local/share. The path need not
 * exist. */
heed_status lab_record_path(const char *given, char path[LAB_RECORD_PATH_SIZE], lab_error *error);

typedef enum lab_record_mode {
    LAB_RECORD_READ, /* the file must exist */
    LAB_RECORD_WRITE /* creates the file and its parent folders if needed, and migrates an older
                        schema; HEED_ERR_SYSTEM if another process has it open for writing */
} lab_record_mode;

/* lab_record_open() opens @path. On failure *@record is NULL. lab_record_close() accepts NULL. */
heed_status lab_record_open(lab_record **record, const char *path, lab_record_mode mode,
                            lab_error *error);
void lab_record_close(lab_record *record);

/* lab_record_place() returns the path of the file, valid while it is open. */
const char *lab_record_place(const lab_record *record);

/* The result of lab_record_check(). Every added row has a link in a chain, with the hash of the
 * previous link. */
typedef struct lab_record_chain {
    int64_t trials; /* on the board */
    int64_t links;
    bool known;                      /* the given hash is that of a link */
    char head[LAB_RECORD_HASH_SIZE]; /* hash of the last link, which covers the whole board */
} lab_record_chain;

/* lab_record_check() checks the whole file: its structure, references, the chain, and that each row
 * is unchanged. HEED_ERR_CORRUPT names the first damage. Removal of rows from the end together with
 * their links, or a forgery with all hashes recomputed, is only detected by a hash stored
 * elsewhere: @known, an earlier @head, must be a link. NULL: no such check. */
heed_status lab_record_check(lab_record *record, const char *known, lab_record_chain *chain,
                             lab_error *error);

/* lab_record_software() returns the version of the SQLite library in use, such as "3.40.1". */
const char *lab_record_software(void);

/* lab_record_now() writes the time in the board's format, such as "2026-01-31T23:59:59.123Z". */
#define LAB_RECORD_TIME_SIZE 32
void lab_record_now(char text[LAB_RECORD_TIME_SIZE]);

/* -------------------------------------------------------------------------- */
/* run.c: pieces of work                                                      */
/* -------------------------------------------------------------------------- */

typedef struct lab_record_work {
    const char *key;     /* identifies the work: everything that determines it, equal for a rerun */
    const char *verb;    /* "sweep" */
    const char *command; /* as typed */
    const char *budget;  /* such as "200 trials", or NULL */
    uint64_t seed;
    bool afresh; /* do not resume an earlier run */
} lab_record_work;

typedef enum lab_record_state {
    LAB_RECORD_BEGUN, /* also after a kill */
    LAB_RECORD_RESUMED,
    LAB_RECORD_INTERRUPTED,
    LAB_RECORD_BROKEN,
    LAB_RECORD_FINISHED
} lab_record_state;

/* lab_record_begin() begins a run, or resumes the newest one of the same key if it was not
 * finished, and then sets *@resumed. */
heed_status lab_record_begin(lab_record *record, const lab_record_work *work, int64_t *run,
                             bool *resumed, lab_error *error);

/* lab_record_end() records the end of a run: LAB_RECORD_INTERRUPTED, LAB_RECORD_BROKEN or
 * LAB_RECORD_FINISHED. @note may be NULL. */
heed_status lab_record_end(lab_record *record, int64_t run, lab_record_state state,
                           const char *note, lab_error *error);

/* lab_record_finished() looks for a finished run of @key: *@run is the newest, or 0. */
heed_status lab_record_finished(lab_record *record, const char *key, int64_t *run,
                                lab_error *error);

/* The result of `heed selftest`. Trials that refer to it are trusted only if it succeeded. */
typedef struct lab_record_selftest {
    const char *backend; /* of the tried kernels, "cpu" or "cuda" */
    const char *suite;   /* hash of the list of kernels */
    const char *commit;  /* of the gates, or NULL */
    int64_t killed, wrong;
    int64_t accepted, honest;
} lab_record_selftest;

/* lab_record_selftest_add() adds @selftest and writes its number, for lab_record_trial.selftest. */
heed_status lab_record_selftest_add(lab_record *record, const lab_record_selftest *selftest,
                                    int64_t *id, lab_error *error);

/* lab_record_selftest_find() finds the newest selftest with the backend, suite and commit of
 * @alike: *@id is 0 if none. */
heed_status lab_record_selftest_find(lab_record *record, const lab_record_selftest *alike,
                                     int64_t *id, lab_error *error);

/* -------------------------------------------------------------------------- */
/* append.c: trials (trial.h)                                                 */
/* -------------------------------------------------------------------------- */

/* A trial found on the board. */
typedef struct lab_record_found {
    int64_t trial; /* its number; 0: not found */
    lab_record_verdict verdict;
    double seconds; /* 0: not timed */
    double least;   /* minimum of its samples; 0: none */
} lab_record_found;

/* lab_record_find() looks for the trial of the same run, candidate, problem and attempt. */
heed_status lab_record_find(lab_record *record, const lab_record_trial *trial,
                            lab_record_found *found, lab_error *error);

/* A trial of a source. Unknown texts are "". */
typedef struct lab_record_tried {
    const char *kernel, *source, *thought;
    const char *parent; /* hash of a candidate */
    const char *problem, *reason;
    lab_record_verdict verdict;
    double seconds; /* minimum of its samples, or its median; 0: not timed */
} lab_record_tried;

/* lab_record_visit_tried() calls fn(data, tried) for each trial of a source in @run with attempt
 * number 0, in the order in which they were added, until one returns a status other than HEED_OK.
 */
heed_status lab_record_visit_tried(lab_record *record, int64_t run,
                                   heed_status (*fn)(void *data, const lab_record_tried *tried),
                                   void *data, lab_error *error);

/* lab_record_append() adds a trial with all that belongs to it, in one transaction, and writes its
 * number to *@id, which may be NULL. HEED_ERR_INVALID also for figures that contradict each other,
 * such as a median that does not match the samples; for an impossible time see lab_record_judge().
 * If the trial exists nothing is added, and *@id is its number. After a failure no part of it was
 * added, and it may be tried again: HEED_ERR_SYSTEM may mean a full disk, or a reader that holds
 * the file too long. */
heed_status lab_record_append(lab_record *record, const lab_record_trial *trial, int64_t *id,
                              lab_error *error);

/* lab_record_judge() sets a callback that checks whether the time of a trial is possible: it
 * returns false, with a reason in @why, if the device cannot be that fast. lab_record_append()
 * calls it with @data, and turns such a trial into LAB_RECORD_IMPOSSIBLE; it is also called for
 * every trial that could be ranked. For a trial from the board only problem, device, environment,
 * timing and seconds are set; the source, if any, is "". lab_record_plausible() calls it for the
 * trial, and for its fastest samples with twice their time. */
typedef bool lab_record_judging(void *data, const lab_record_trial *trial, lab_error *why);
void lab_record_judge(lab_record *record, lab_record_judging *judge, void *data,
                      void (*end)(void *data));
bool lab_record_plausible(lab_record *record, const lab_record_trial *trial, lab_error *why);

/* lab_record_promote() makes the trial @trial, which must be confirmed, ok, and have passed the
 * gate "verify", the leader on its problem and device. @over is the previous leading trial, or 0;
 * @reason a sentence with the figures. A second call for the same trial changes nothing. */
heed_status lab_record_promote(lab_record *record, int64_t trial, int64_t over, const char *reason,
                               lab_error *error);

/* lab_record_refute() records in @run a fault, @verdict and @reason, that the source of @trial
 * showed later on the same problem and device. It is then no longer ranked.
 */
heed_status lab_record_refute(lab_record *record, int64_t run, int64_t trial,
                              lab_record_verdict verdict, const char *reason, lab_error *error);

/* -------------------------------------------------------------------------- */
/* library.c: all that is needed to rebuild the code of a trial               */
/* -------------------------------------------------------------------------- */

/* Facts about the code of a trial, if the trial does not have them. */
#define LAB_RECORD_LAUNCH_SIZE 4096
typedef struct lab_record_described {
    char launch[LAB_RECORD_LAUNCH_SIZE]; /* launch parameters as text; "": not known */
    char sha256[LAB_RECORD_HASH_SIZE];   /* storage for artifact.sha256 */
    lab_record_artifact artifact;
} lab_record_described;

/* lab_record_describe() sets a callback for trials without a source: lab_record_append() calls it
 * with a zeroed @described for the launch parameters and the compiled code, if the trial does not
 * have them. */
typedef void lab_record_describer(const lab_record_trial *trial, lab_record_described *described);
void lab_record_describe(lab_record *record, lab_record_describer *describe);

/* lab_record_launch() writes the launch parameters of @trial to a new string, which the caller
 * frees: NULL if not known. */
heed_status lab_record_launch(lab_record *record, int64_t trial, char **words, lab_error *error);

/* lab_record_library_read() writes the sources of the libheed that made @trial to *@library, sorted
 * by path, which lab_record_library_free() frees: NULL if the board does not have them.
 * HEED_ERR_CORRUPT if they have changed since they were added. */
heed_status lab_record_library_read(lab_record *record, int64_t trial, lab_record_library **library,
                                    lab_error *error);
void lab_record_library_free(lab_record_library *library);

/* lab_record_manifest() writes the hash of the manifest of @trial, "" if not known, and its parts
 * to a new string, which the caller frees: NULL if the board does not have them. */
heed_status lab_record_manifest(lab_record *record, int64_t trial, char hash[LAB_RECORD_HASH_SIZE],
                                char **text, lab_error *error);

/* -------------------------------------------------------------------------- */
/* board.c: the leaderboard                                                   */
/* -------------------------------------------------------------------------- */

typedef enum lab_record_part {
    LAB_BOARD_BEST,   /* the leaders: one row per problem, device, threads, cold or hot */
    LAB_BOARD_RANKED, /* every confirmed candidate in its place */
    LAB_BOARD_ALL     /* every trial, the newest first on each device */
} lab_record_part;

/* A filter of rows. Zero or NULL: any. */
typedef struct lab_record_filter {
    lab_record_part part;
    const char *problem; /* part of the canonical spec */
    bool exact;          /* ... or all of it */
    const char *device;  /* part of the device's name, case-insensitive */
    const char *against; /* compare with this one; NULL: with the fastest rival */
    int64_t run;         /* only trials of this run */
} lab_record_filter;

/* One trial of the board. Texts are valid until the visitor returns; unknown ones are NULL, unknown
 * numbers 0. */
typedef struct lab_record_row {
    int64_t trial, run;
    int place; /* 1: leads; 0 in LAB_BOARD_ALL */
    const char *problem;
    const char *device, *backend, *features, *build;
    int threads;
    const char *kernel, *config;
    bool foreign; /* it has a source: not one of heed's kernels */
    const char *verdict, *reason;
    const char *timing; /* "cold" or "hot" */
    bool confirmed, promoted;
    double seconds, p90;
    double rate; /* operations per second */
    double of_roofline;
    const char *against; /* NULL: no comparison */
    double ratio, low, high;
    const char *compared;
    const char *heed, *commit;
    bool dirty;
    const char *ended;
    bool verified; /* its trial passed all gates of heed verify */
    bool sound;    /* neither "damaged" nor "impossible", see below: only such trials are ranked */
    const char *trusted; /* "yes"; "no": made with a failed selftest; "untested"; "damaged": the
                            trial was changed; "impossible": its figures contradict each other or
                            the device's limits */
} lab_record_row;

/* A member of lab_record_row. */
typedef enum lab_column_kind {
    LAB_COLUMN_TEXT,   /* const char *; NULL: not known */
    LAB_COLUMN_NUMBER, /* int64_t */
    LAB_COLUMN_INT,
    LAB_COLUMN_BOOL,
    LAB_COLUMN_REAL /* double; 0: not known */
} lab_column_kind;

typedef struct lab_record_column {
    const char *name; /* in JSON and CSV; NULL: not shown */
    lab_column_kind kind;
    size_t offset; /* in lab_record_row */
    bool always;   /* text that is never NULL */
} lab_record_column;

#define LAB_RECORD_COLUMNS 32
extern const lab_record_column lab_record_columns[LAB_RECORD_COLUMNS];

/* lab_record_visit() calls fn(data, row) for each row that passes @filter, until one returns a
 * status other than HEED_OK, which it returns. Rows are sorted by device, ranked ones also by
 * problem and place. Until it returns no trial can be added, so @fn must not block, for example by
 * printing to a pipe. */
typedef heed_status lab_record_visitor(void *data, const lab_record_row *row);
heed_status lab_record_visit(lab_record *record, const lab_record_filter *filter,
                             lab_record_visitor *fn, void *data, lab_error *error);

/* lab_record_left_out() returns the number of a trial that the last lab_record_visit() did not rank
 * because it was damaged or impossible; 0 if none. */
int64_t lab_record_left_out(const lab_record *record);

/* -------------------------------------------------------------------------- */
/* show.c: all of one trial                                                   */
/* -------------------------------------------------------------------------- */

typedef enum lab_record_kind {
    LAB_RECORD_NOTHING,
    LAB_RECORD_INTEGER,
    LAB_RECORD_REAL,
    LAB_RECORD_TEXT,
    LAB_RECORD_SAMPLES
} lab_record_kind;

/* One field: "trial", 0, "verdict", LAB_RECORD_TEXT, .text = "ok". Valid until the visitor returns.
 */
typedef struct lab_record_field {
    const char *section;
    bool list;       /* the section may have any number of rows */
    size_t row;      /* of the section, from 0 */
    const char *key; /* of the row, if the section is a list: its first field, such as the name of
                        a fact */
    const char *name;
    lab_record_kind kind;
    int64_t integer;
    double real;
    const char *text;
    const double *samples;
    size_t count;
} lab_record_field;

/* lab_record_show() calls fn(data, field) for every field of @trial and its rows, always in the
 * same order; the rules of lab_record_visit() apply here too. HEED_ERR_INVALID if there is no such
 * trial. */
typedef heed_status lab_record_shower(void *data, const lab_record_field *field);
heed_status lab_record_show(lab_record *record, int64_t trial, lab_record_shower *fn, void *data,
                            lab_error *error);

/* lab_record_source() writes the source of the candidate of @trial to a new string, which the
 * caller frees: NULL if it is one of heed's kernels. */
heed_status lab_record_source(lab_record *record, int64_t trial, char **source, lab_error *error);

#endif /* LAB_RECORD_H */
