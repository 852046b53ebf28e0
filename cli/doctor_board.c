/*
 * doctor_board.c - the check of `heed doctor` that looks at the leaderboard
 */
#include <unistd.h>

#include "board.h"
#include "doctor.h"

void doctor_check_board(doctor_report *report)
{
    char path[LAB_RECORD_PATH_SIZE];
    lab_record *record = NULL;
    lab_error error;
    lab_record_chain chain;
    heed_status status = lab_record_path(NULL, path, &error);
    if (status == HEED_OK && access(path, F_OK) != 0) {
        doctor_say(report, DOCTOR_OK, "board", NULL, "none yet at %.300s; SQLite %s", path,
                   lab_record_software());
        return;
    }
    if (status == HEED_OK)
        status = lab_record_open(&record, path, LAB_RECORD_READ, &error);
    if (status == HEED_OK)
        status = lab_record_check(record, NULL, &chain, &error);
    if (status == HEED_OK)
        doctor_say(report, DOCTOR_OK, "board", NULL,
                   "%lld trials in %.300s; SQLite %s, rollback journal", (long long)chain.trials,
                   path, lab_record_software());
    else
        doctor_say(report, DOCTOR_WARN, "board",
                   "restore the file from a copy, or move it away: a new one is then begun", "%s",
                   error.text);
    lab_record_close(record);
}
