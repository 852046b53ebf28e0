/*
 * board.h - what the files of `heed board` share
 */
#ifndef CLI_BOARD_H
#define CLI_BOARD_H

#include "cli.h"
#include "record/record.h"

/* The row of option tables for the file. */
#define CLI_OPTION_BOARD                                                          \
    {                                                                             \
        .name = "board", .letter = 'b', .kind = CLI_PATH, .argument = "FILE",     \
        .help = "The board to use; without it HEED_BOARD, else heed/board.db in " \
                "XDG_DATA_HOME or ~/.local/share"                                 \
    }

/* cli_board_open() opens the board of --board. A failure has been printed. Where @mode is
 * LAB_RECORD_READ and there is no file yet, *@record is NULL with CLI_OK. */
cli_exit cli_board_open(lab_record **record, lab_record_mode mode, const cli_args *args);

/* cli_board_fail() prints @error and returns the exit code for @status. */
cli_exit cli_board_fail(heed_status status, const lab_error *error);

/* The first operand of a verb that has several deeds, the one that is done without any operand
 * first; and how many operands follow it. A NULL name ends the table. */
typedef struct cli_deed {
    const char *name;
    int least, most; /* CLI_ANY: no limit */
    cli_exit (*run)(const cli_args *args);
} cli_deed;

/* cli_deed_run() runs the deed that the operands name, or says which there are. */
cli_exit cli_deed_run(const cli_deed *deeds, const cli_args *args);

/* board_show.c: all of one trial. */
cli_exit cli_board_show(const cli_args *args);

/* board_add.c: files that `heed bench` has recorded. */
cli_exit cli_board_add(const cli_args *args);

#endif /* CLI_BOARD_H */
