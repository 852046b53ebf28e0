/*
 * record.h - the leaderboard: every trial with its evidence, in one SQLite file
 *
 * Rows are only ever added (schema.sql says what they hold), by one process at a time; readers may
 * come at any time. When lab_record_append() has returned HEED_OK the trial is on the disk, as a
 * whole, whatever happens next; when the process is killed before, nothing of it is there. Work
 * that was interrupted goes on where it stopped:
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
 *     HEED_ERR_INVALID    a field that cannot be; the message names it
 *     HEED_ERR_CORRUPT    the file is damaged, no board, or made by a newer heed; left as it is
 *     HEED_ERR_SYSTEM     the file cannot be opened, read or written; another process writes
 *     HEED_ERR_NO_MEMORY
 *
 * A record is for one thread at a time. It must not be used in a child process after fork(), which
 * may do nothing but exec or _exit: a lock belongs to the process that took it, and closing the
 * file in the child would not end it. One process opens a file for writing once.
 */
#ifndef LAB_RECORD_H
#define LAB_RECORD_H

#include "base/error.h"
#include "record/trial.h"

typedef struct lab_record lab_record;

/* -------------------------------------------------------------------------- */
/* record.c, run.c: the file                                                   */
/* -------------------------------------------------------------------------- */

#define LAB_RECORD_PATH_SIZE 1024

/* lab_record_path() writes the place of the board to @path: @given if that is not NULL; else the
 * environment's HEED_BOARD; else heed/board.db in XDG_DATA_HOME, or in ~/.local/share. Nothing need
 * exist there. */
heed_status lab_record_path(const char *given, char path[LAB_RECORD_PATH_SIZE], lab_error *error);

typedef enum lab_record_mode {
    LAB_RECORD_READ, /* the file must exist */
    LAB_RECORD_WRITE /* makes the file, and the folders above it, if need be; brings an older schema
                        up to date; HEED_ERR_SYSTEM if another process has it open for writing */
} lab_record_mode;

/* lab_record_open() opens @path. On failure *@record is NULL. lab_record_close() takes NULL. */
heed_status lab_record_open(lab_record **record, const char *path, lab_record_mode mode,
                            lab_error *error);
void lab_record_close(lab_record *record);

/* lab_record_place() returns the path of the file, as long as it is open. */
const char *lab_record_place(const lab_record *record);

/* The result of lab_record_check(). Every row that is added is a link of a chain, which holds the
 * hash of the link before. */
typedef struct lab_record_chain {
    int64_t trials; /* on the board */
    int64_t links;
    bool known;                      /* the hash that was asked for is one of them */
    char head[LAB_RECORD_HASH_SIZE]; /* of the last link: it stands for all that is on the board */
} lab_record_chain;

/* lab_record_check() reads the whole file: its structure, that what it refers to is there, the
 * chain, and whether each row is what was added. HEED_ERR_CORRUPT names the first damage. Rows that
 * were taken from the end together with their links, and everything that was made anew by someone
 * who computed all hashes again, are found by a hash that was kept elsewhere alone: @known, a @head
 * of an earlier day, must be a link. NULL: none is asked for. */
heed_status lab_record_check(lab_record *record, const char *known, lab_record_chain *chain,
                             lab_error *error);

/* lab_record_software() returns the version of the SQLite that runs, such as "3.40.1". */
const char *lab_record_software(void);

/* lab_record_now() writes the time as the board has it, such as "2026-01-31T23:59:59.123Z". */
#define LAB_RECORD_TIME_SIZE 32
void lab_record_now(char text[LAB_RECORD_TIME_SIZE]);

/* -------------------------------------------------------------------------- */
/* run.c: pieces of work                                                      */
/* -------------------------------------------------------------------------- */

typedef struct lab_record_work {
    const char *key;     /* the same for a rerun of the same work: all that decides what it does */
    const char *verb;    /* "sweep" */
    const char *command; /* as it was typed */
    const char *budget;  /* such as "200 trials", or NULL */
    uint64_t seed;
    bool afresh; /* do not go on with an earlier run */
} lab_record_work;

typedef enum lab_record_state {
    LAB_RECORD_BEGUN, /* also after a kill */
    LAB_RECORD_RESUMED,
    LAB_RECORD_INTERRUPTED,
    LAB_RECORD_BROKEN,
    LAB_RECORD_FINISHED
} lab_record_state;

/* lab_record_begin() begins a run, or goes on with the newest one of the same key if that was not
 * finished, which *@resumed says. */
heed_status lab_record_begin(lab_record *record, const lab_record_work *work, int64_t *run,
                             bool *resumed, lab_error *error);

/* lab_record_end() notes how far a run has come: LAB_RECORD_INTERRUPTED, LAB_RECORD_BROKEN or
 * LAB_RECORD_FINISHED. @note may be NULL. */
heed_status lab_record_end(lab_record *record, int64_t run, lab_record_state state,
                           const char *note, lab_error *error);

/* lab_record_finished() looks for a finished run of @key: *@run is the newest, or 0. */
heed_status lab_record_finished(lab_record *record, const char *key, int64_t *run,
                                lab_error *error);

/* The result of `heed selftest`. Trials that name it are trusted only if nothing was wrong. */
typedef struct lab_record_selftest {
    const char *backend; /* of the kernels that were tried, "cpu" or "cuda" */
    const char *suite;   /* hash of which they are */
    const char *commit;  /* that the gates are of, or NULL */
    int64_t killed, wrong;
    int64_t accepted, honest;
} lab_record_selftest;

/* lab_record_selftest_add() adds it and writes its number, for lab_record_trial.selftest. */
heed_status lab_record_selftest_add(lab_record *record, const lab_record_selftest *selftest,
                                    int64_t *id, lab_error *error);

/* lab_record_selftest_find() looks for the newest selftest of the backend, suite and commit of
 * @alike: *@id is 0 if there is none. */
heed_status lab_record_selftest_find(lab_record *record, const lab_record_selftest *alike,
                                     int64_t *id, lab_error *error);

/* -------------------------------------------------------------------------- */
/* append.c: trials (trial.h)                                                 */
/* -------------------------------------------------------------------------- */

/* A trial that is on the board. */
typedef struct lab_record_found {
    int64_t trial; /* its number; 0: it is not there */
    lab_record_verdict verdict;
    double seconds; /* 0: not timed */
    double p90;
    double least; /* of its own samples; 0: there are none */
} lab_record_found;

/* lab_record_find() looks for the trial of the same run, candidate, problem and attempt. */
heed_status lab_record_find(lab_record *record, const lab_record_trial *trial,
                            lab_record_found *found, lab_error *error);

/* lab_record_append() adds a trial with all that belongs to it, in one transaction, and writes its
 * number to *@id, which may be NULL. HEED_ERR_INVALID also for figures that contradict each other,
 * such as a median that is none of the samples; see lab_record_judge() for a time that cannot be.
 * If it is there already nothing is added, and *@id is that
 * one's. After a failure nothing of it is there, and it may be tried again: HEED_ERR_SYSTEM may
 * mean a full disk, or a reader who does not let go. */
heed_status lab_record_append(lab_record *record, const lab_record_trial *trial, int64_t *id,
                              lab_error *error);

/* lab_record_judge() lets @judge be asked whether the time of a trial can be: false, with a reason
 * in @why, if the device cannot do that. It is asked with @data by lab_record_append(), which makes
 * such a trial LAB_RECORD_IMPOSSIBLE, and of every trial that could be ranked. Of one that is on
 * the board already it gets problem, device, environment, timing and seconds; the source, if it has
 * one, is "". lab_record_plausible() asks it. */
typedef bool lab_record_judging(void *data, const lab_record_trial *trial, lab_error *why);
void lab_record_judge(lab_record *record, lab_record_judging *judge, void *data,
                      void (*end)(void *data));
bool lab_record_plausible(lab_record *record, const lab_record_trial *trial, lab_error *why);

/* lab_record_promote() makes the trial @trial, which must be confirmed, ok, and have passed the
 * gate "verify", the leader on its problem and device. @over is the trial that led before, or 0;
 * @reason a sentence with the figures. Once more for the same trial changes nothing. */
heed_status lab_record_promote(lab_record *record, int64_t trial, int64_t over, const char *reason,
                               lab_error *error);

/* lab_record_refute() adds to @run that the source of @trial, when it was met again on the same
 * problem and device, did what @verdict and @reason say: it is ranked no more.
 */
heed_status lab_record_refute(lab_record *record, int64_t run, int64_t trial,
                              lab_record_verdict verdict, const char *reason, lab_error *error);

/* -------------------------------------------------------------------------- */
/* library.c, manifest.c: all that is needed to build the code of a trial again */
/* -------------------------------------------------------------------------- */

/* Facts about the code of a trial that does not state them itself. */
#define LAB_RECORD_LAUNCH_SIZE 4096
typedef struct lab_record_described {
    char launch[LAB_RECORD_LAUNCH_SIZE]; /* how it is launched, in words; "": not known */
    char sha256[LAB_RECORD_HASH_SIZE];   /* where artifact.sha256 may point to */
    lab_record_artifact artifact;
} lab_record_described;

/* lab_record_describe() lets @describe be asked by lab_record_append() of a trial without a source
 * of its own: how its code is launched and what the compiler made, where the trial itself does not
 * say so. It gets a @described that is zeroed. */
typedef void lab_record_describer(const lab_record_trial *trial, lab_record_described *described);
void lab_record_describe(lab_record *record, lab_record_describer *describe);

/* lab_record_launch() writes how the code of @trial is launched to a new text, to be freed by the
 * caller: NULL if that is not known. */
heed_status lab_record_launch(lab_record *record, int64_t trial, char **words, lab_error *error);

/* lab_record_library_read() writes the sources of the libheed that made @trial to *@library, sorted
 * by path, which lab_record_library_free() frees: NULL if the board does not have them.
 * HEED_ERR_CORRUPT if they are not what was added. */
heed_status lab_record_library_read(lab_record *record, int64_t trial, lab_record_library **library,
                                    lab_error *error);
void lab_record_library_free(lab_record_library *library);

/* lab_record_manifest() writes the hash of the manifest that @trial was made with, "" if that is
 * not known, and its parts to a new text, to be freed by the caller: NULL if the board does not
 * have them. */
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

/* A choice of rows. Zero or NULL: no matter. */
typedef struct lab_record_filter {
    lab_record_part part;
    const char *problem; /* a part of the canonical spec */
    bool exact;          /* ... or all of it */
    const char *device;  /* a part of the name of the device, in any case */
    const char *against; /* compare with this one; NULL: with the fastest of the rivals */
    int64_t run;         /* trials of this run alone */
} lab_record_filter;

/* One trial of the board. Texts are valid until the visitor returns; those that are not known are
 * NULL, numbers 0. */
typedef struct lab_record_row {
    int64_t trial, run;
    int place; /* 1: leads; 0 in LAB_BOARD_ALL */
    const char *problem;
    const char *device, *backend, *features, *build;
    int threads;
    const char *kernel, *config;
    bool foreign; /* it has a source of its own: no kernel of heed's */
    const char *verdict, *reason;
    const char *timing; /* "cold" or "hot" */
    bool confirmed, promoted;
    double seconds, p90;
    double rate; /* operations per second */
    double of_roofline;
    const char *against; /* NULL: there is no comparison */
    double ratio, low, high;
    const char *compared;
    const char *heed, *commit;
    bool dirty;
    const char *ended;
    bool verified;       /* its trial passed all gates of heed verify */
    bool sound;          /* neither of the last two below: only such trials are ranked */
    const char *trusted; /* "yes"; "no": made under a selftest that failed; "untested"; "damaged":
                            the trial's content is not what was added; "impossible": its figures
                            contradict each other, or the device */
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
    const char *name; /* as JSON and CSV show it; NULL: they do not */
    lab_column_kind kind;
    size_t offset; /* in lab_record_row */
    bool always;   /* a text that is never NULL */
} lab_record_column;

#define LAB_RECORD_COLUMNS 32
extern const lab_record_column lab_record_columns[LAB_RECORD_COLUMNS];

/* lab_record_visit() calls fn(data, row) for each row that @filter lets through, until one returns
 * a status other than HEED_OK, which it returns. Rows come device by device, those
 * that are ranked by problem and then place. Until it returns no trial can be added: @fn must not
 * wait for anybody, nor print to a pipe. */
typedef heed_status lab_record_visitor(void *data, const lab_record_row *row);
heed_status lab_record_visit(lab_record *record, const lab_record_filter *filter,
                             lab_record_visitor *fn, void *data, lab_error *error);

/* lab_record_left_out() returns the number of a trial that the last lab_record_visit() would have
 * ranked, were it not damaged or impossible; 0 if there is none. */
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
    bool list;  /* may the section have any number of rows? */
    size_t row; /* of the section, from 0 */
    const char *name;
    lab_record_kind kind;
    int64_t integer;
    double real;
    const char *text;
    const double *samples;
    size_t count;
} lab_record_field;

/* lab_record_show() calls fn(data, field) for every field of all that belongs to @trial, in an
 * order that is always the same; the rules of lab_record_visit() hold here too. HEED_ERR_INVALID if
 * there is no such trial. */
typedef heed_status lab_record_shower(void *data, const lab_record_field *field);
heed_status lab_record_show(lab_record *record, int64_t trial, lab_record_shower *fn, void *data,
                            lab_error *error);

/* lab_record_source() writes the source of the candidate of @trial to a new text, to be freed by
 * the caller: NULL if it is a kernel of heed's own. */
heed_status lab_record_source(lab_record *record, int64_t trial, char **source, lab_error *error);

#endif /* LAB_RECORD_H */
