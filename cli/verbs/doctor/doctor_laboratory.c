/*
 * doctor_laboratory.c - checks of `heed doctor`: the leaderboard, the rivals, and the sandbox for
 * candidates
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "doctor.h"
#include "trial/peer/rival.h"
#include "trial/sandbox.h"
#include "trial/trial.h"

/* Why the file @path, which does not exist, cannot be made: an errno of the nearest folder that
 * exists; 0 if it can. */
static int trouble_of_new_file(const char *path)
{
    char folder[LAB_RECORD_PATH_SIZE];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash;
    while ((slash = strrchr(folder, '/')) != NULL && slash != folder) {
        *slash = '\0';
        if (access(folder, F_OK) == 0 || errno != ENOENT)
            break;
    }
    if (slash == folder || slash == NULL)
        snprintf(folder, sizeof folder, slash ? "/" : ".");
    return access(folder, W_OK | X_OK) == 0 ? 0 : errno;
}

void doctor_check_board(doctor_report *report)
{
    char path[LAB_RECORD_PATH_SIZE];
    lab_record *record = NULL;
    lab_error error;
    lab_record_chain chain;
    heed_status status = lab_record_path(NULL, path, &error);
    if (status == HEED_OK && access(path, F_OK) != 0) {
        int trouble = trouble_of_new_file(path);
        if (trouble)
            doctor_say(
                report, DOCTOR_WARN, "board",
                "Name a file that can be made in HEED_BOARD; tune, sweep and evolve need one",
                "none, and %.300s cannot be made: %s", path, strerror(trouble));
        else
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
                   "%lld trial%s in %.300s; SQLite %s, rollback journal", (long long)chain.trials,
                   lab_plural(chain.trials), path, lab_record_software());
    else
        doctor_say(report, DOCTOR_WARN, "board",
                   "restore the file from a copy, or move it away: a new one is then begun", "%s",
                   error.text);
    lab_record_close(record);
}

static void check_rival(doctor_report *report, const lab_found *found)
{
    lab_rival rival;
    static const char install[] = "Install what is missing to compare with this rival";
    static const char by_hand[] = "Run it by hand: it speaks lab/trial/peer/protocol.md";
    lab_answer answer = lab_rival_open(&rival, found, 1, "", cli_interrupted);
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
        doctor_say(report, DOCTOR_WARN, "rivals", "HEED_PEERS names their folders",
                   "none found: 'heed bench' has nothing to compare with");
    for (size_t i = 0; i < count && !cli_interrupted(); i++)
        check_rival(report, &found[i]);
    free(found);
}

/* A candidate that opens a file, which the sandbox must prevent. */
static const char burglar[] =
    "#include \"heed_candidate.h\"\n"
    "int open(const char *path, int flags, ...);\n"
    "int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)\n"
    "{\n"
    "    return open(\"/etc/passwd\", 0) < 0;\n"
    "}\n";

/* Runs the burglar. */
static void try_it(const lab_limits *limits, lab_trial_outcome *outcome)
{
    static float values[8];
    const lab_candidate candidate = { .name = "doctor",
                                      .source = burglar,
                                      .source_size = sizeof burglar - 1 };
    const heed_buffers buffers = {
        .size = sizeof buffers, .q = values, .k = values, .v = values, .o = values
    };
    heed_problem problem;
    lab_trial *trial;
    size_t workspace;

    heed_problem_parse(&problem, "b1 h1 s1 d8 f32");
    const lab_set set = lab_set_of(&problem, &buffers);
    if (lab_trial_open(&trial, &candidate, limits, outcome) &&
        lab_trial_prepare(trial, &problem, &workspace, outcome))
        lab_trial_run(trial, &set, 1, 0, outcome);
    lab_trial_close(trial);
}

static void check_attempt(doctor_report *report, const lab_protections *protections)
{
    const lab_limits limits = { .tensor_bytes = (size_t)1 << 20, .run_seconds = 5 };
    lab_trial_outcome outcome;

    try_it(&limits, &outcome);
    if (outcome.verdict == LAB_TRIAL_FILE)
        doctor_say(
            report, DOCTOR_OK, "trials", NULL,
            "candidates are confined by Landlock %d, seccomp, no_new_privs and limits: one that "
            "opened a file was stopped",
            protections->landlock);
    else if (outcome.verdict == LAB_TRIAL_SYSTEM)
        doctor_say(report, DOCTOR_WARN, "trials",
                   "Install what is missing, or try no candidates in C", "a candidate %s",
                   outcome.text);
    else
        doctor_say(report, DOCTOR_FAIL, "trials",
                   "Try no candidates here, and report this as a bug",
                   "a candidate that opened a file was not stopped: %s %s",
                   lab_trial_verdict_name(outcome.verdict), outcome.text);
}

void doctor_check_trials(doctor_report *report)
{
    const lab_protections protections = lab_protections_find();
    char missing[64], path[PATH_MAX];

    lab_protections_missing(&protections, missing, sizeof missing);
    if (missing[0])
        doctor_say(report, DOCTOR_WARN, "trials",
                   "Use Linux 5.13 or later with Landlock and seccomp, and a container that lets "
                   "them through",
                   "no %s: candidates in C are refused, unless --unsafe-candidates asks for them",
                   missing);
    else if (!lab_compiler_find(path))
        doctor_say(report, DOCTOR_WARN, "trials", "Install gcc or clang, or name one in HEED_CC",
                   "no C compiler: candidates in C cannot be tried");
    else
        check_attempt(report, &protections);
}
