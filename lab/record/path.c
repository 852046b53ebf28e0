/*
 * path.c - where the board is, and what time it is there
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record.h"

/* The value of the environment's @name, or NULL if that is not set or empty. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

heed_status lab_record_path(const char *given, char path[LAB_RECORD_PATH_SIZE], lab_error *error)
{
    const char *board = given ? given : environment("HEED_BOARD");
    const char *data = environment("XDG_DATA_HOME"), *home = environment("HOME");
    int length = 0;
    if (board)
        length = snprintf(path, LAB_RECORD_PATH_SIZE, "%s", board);
    else if (data && *data == '/') /* a relative one is to be ignored, says its specification */
        length = snprintf(path, LAB_RECORD_PATH_SIZE, "%s/heed/board.db", data);
    else if (home)
        length = snprintf(path, LAB_RECORD_PATH_SIZE, "%s/.local/share/heed/board.db", home);
    else
        return lab_fail(error, HEED_ERR_SYSTEM,
                        "no place for the board: HEED_BOARD, XDG_DATA_HOME and HOME are not set");
    if (length <= 0)
        return lab_fail(error, HEED_ERR_INVALID, "the name of the board is empty");
    if (length >= LAB_RECORD_PATH_SIZE)
        return lab_fail(error, HEED_ERR_INVALID,
                        "the name of the board has %d bytes; %d are the most", length,
                        LAB_RECORD_PATH_SIZE - 1);
    return HEED_OK;
}

void lab_record_now(char text[LAB_RECORD_TIME_SIZE])
{
    struct timespec now;
    struct tm utc;
    char seconds[24];
    clock_gettime(CLOCK_REALTIME, &now);
    if (!gmtime_r(&now.tv_sec, &utc))
        memset(&utc, 0, sizeof utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, LAB_RECORD_TIME_SIZE, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}
