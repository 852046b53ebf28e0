/*
 * board.h - declarations shared by the files of `heed board`
 */
#ifndef CLI_BOARD_H
#define CLI_BOARD_H

#include "build/rebuild.h"
#include "cli/base/cli.h"
#include "inspect/roofline.h"
#include "measure/compare.h"
#include "measure/environment.h"
#include "record/record.h"
#include "session/session.h"
#include "verify/selftest.h"
#include <jansson.h>

/* The row of option tables for the board's file. */
#define CLI_OPTION_BOARD                                                     \
    OPT_PATH("board", 'b', "FILE",                                           \
             "The board to use [default: HEED_BOARD, else heed/board.db in " \
             "XDG_DATA_HOME or ~/.local/share]")

/* The row for verbs that use only some of its problems. */
#define CLI_OPTION_PROBLEM           \
    OPT_TEXT("problem", 'p', "SPEC", \
             "Only problems whose spec contains this text, such as d128 or causal")

/* The row of option tables of verbs that run users' sources. */
#define CLI_OPTION_UNSAFE                                                         \
    OPT_FLAG("unsafe-candidates", 0,                                              \
             "Run users' C sources even if this system has no sandbox for them: " \
             "they can then do everything that you can")

#define CLI_UNSAFE_REMEDY "--unsafe-candidates"

/* cli_rebuild_options() returns the values of --board, --trust-board, --unsafe-candidates and
 * --no-verify, as far as the verb has them. */
lab_rebuild_options cli_rebuild_options(const cli_args *args);

/* cli_board_open() opens the board of --board. A failure has been printed. If @mode is
 * LAB_RECORD_READ and there is no file yet, *@record is NULL with CLI_OK. */
cli_exit cli_board_open(lab_record **record, lab_record_mode mode, const cli_args *args);

/* The tools of an environment. Pointers point into this struct, which must not be copied. */
typedef struct cli_board_tools {
    char manifest[LAB_RECORD_HASH_SIZE], libraries[256];
    char *text;
} cli_board_tools;

/* board_place.c: the device and the tools of a measurement, in the board's form. Pointers in both
 * structs point into this one, which must not be copied; the name of the device belongs to the
 * context. cli_board_place_read() runs all tools for their versions, which takes up to a second.
 * Free its tools with cli_board_tools_free(), also if it is only zeroed. */
typedef struct cli_board_place {
    lab_record_device device;
    lab_record_environment environment;
    lab_environment around;
    cli_board_tools tools;
    lab_ceilings ceilings; /* zeroed: not measured yet */
    char features[32], driver[16], nvrtc[16];
} cli_board_place;
void cli_board_place_read(cli_board_place *place, heed_context *context);

/* cli_session_place() sets the device and the tools of @session; @place must outlive it. */
void cli_session_place(lab_session *session, const cli_board_place *place);

/* Call cli_session_begun() after a run has begun: it looks up the selftest to rely on if @trusts is
 * set, and prints messages. cli_session_end() is lab_session_end() for a run that ends with @code;
 * it returns @code, or the code of a failure. */
cli_exit cli_session_begun(lab_session *session, bool trusts);
cli_exit cli_session_end(const lab_session *session, cli_exit code, const char *note);

/* cli_board_tools_take() sets the tools of @environment to @manifest, which stays the caller's. */
void cli_board_tools_take(cli_board_tools *tools, const json_t *manifest,
                          lab_record_environment *environment);
void cli_board_tools_free(cli_board_tools *tools);

/* cli_board_version() copies the version of @name, "driver" or "nvrtc", from features such as
 * "sm_90-driver13.0-nvrtc13.0", and returns it; NULL if there is none. */
const char *cli_board_version(const char *features, const char *name, char version[16]);

/* cli_board_selftest_add() puts the result of a selftest of all kernels with all gates on the
 * board; @backend is that of the kernels. cli_board_selftest_find() finds the newest one of this
 * build, with its suite and commit, for lab_record_trial.selftest; if there is none, it sets *@id
 * to 0 and prints a remedy. cli_board_selftest_look() does so without a message. See also
 * cli_selftest_trust(). */
heed_status cli_board_selftest_add(lab_record *record, const char *backend,
                                   const lab_selftest_result *result, int64_t *id,
                                   lab_error *error);
heed_status cli_board_selftest_find(lab_record *record, const char *backend, int64_t *id,
                                    lab_error *error);
heed_status cli_board_selftest_look(lab_record *record, const char *backend, int64_t *id,
                                    lab_error *error);

/* board_list.c: the leaderboard. */
cli_exit cli_board_list(const cli_args *args);

/* board_add.c: imports records of `heed bench`. */
cli_exit cli_board_add(const cli_args *args);

/* board_claims_check() recomputes the derived fields of @row of @file from the figures of @trial:
 * operations, rates, shares, the minimum and the mean of its samples, intervals of its pairs of
 * samples, the cold or hot time, whether it may be ok, and its date. HEED_ERR_INVALID names the
 * field, its value and the permitted value. */
heed_status board_claims_check(const json_t *file, const json_t *row, const lab_record_trial *trial,
                               lab_error *error);

#endif /* CLI_BOARD_H */
