/*
 * doctor_rivals.c - the check of `heed doctor` that asks the rivals how they are
 */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "trial/rival.h"

static void check_rival(doctor_report *report, const lab_found *found)
{
    lab_rival rival;
    static const char install[] = "Install it if you want to be compared with this rival";
    static const char by_hand[] = "Run it by hand: it speaks lab/trial/protocol.md";
    lab_answer answer = lab_rival_open(&rival, found, 1, cli_interrupted);
    if (answer == LAB_ANSWER_OK)
        doctor_say(report, DOCTOR_OK, "rival", NULL, "%s %s %s", found->name, rival.version,
                   rival.detail);
    else if (answer == LAB_ANSWER_UNSUPPORTED)
        doctor_say(report, DOCTOR_WARN, "rival", NULL, "%s: %s", found->name, rival.reason);
    else
        doctor_say(report, DOCTOR_WARN, "rival",
                   strstr(rival.reason, "cannot be started") ? install : by_hand, "%s: %s (%s)",
                   found->name, rival.reason, found->path);
    lab_rival_close(&rival);
}

void doctor_check_rivals(doctor_report *report)
{
    lab_found *found;
    size_t count;
    if (cli_args_flag(report->args, "no-rivals"))
        return;
    if (lab_peers_find(&found, &count) != HEED_OK) {
        report->failed = true;
        return;
    }
    if (count == 0)
        doctor_say(report, DOCTOR_WARN, "rivals", "HEED_PEERS names the folders that they are in",
                   "none found: 'heed bench' has nothing to compare with");
    for (size_t i = 0; i < count && !cli_interrupted(); i++)
        check_rival(report, &found[i]);
    free(found);
}
