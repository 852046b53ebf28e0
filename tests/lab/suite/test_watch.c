/*
 * test_watch.c - limits on a process group: memory, files, and what must stay free on the machine
 */
#include "run_tests.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/suite/judge/watch.h"
#include "scratch.h"

#define MIB ((size_t)1 << 20)

static char folder[SCRATCH_PATH_SIZE];

static lab_watch begin(void **state)
{
    scratch_path(state, "own", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    return lab_watch_begin(folder, 0);
}

static void expect(const lab_watch *watch, pid_t pid, lab_trial_verdict verdict, const char *words)
{
    lab_trial_outcome outcome = { .verdict = LAB_TRIAL_OK };
    assert_int_equal(lab_watch_look(watch, pid, &outcome), verdict == LAB_TRIAL_OK);
    assert_int_equal(outcome.verdict, verdict);
    if (!strstr(outcome.text, words))
        fail_msg("'%s' does not say '%s'", outcome.text, words);
}

static void test_files(void **state)
{
    static const char data[MIB];
    char path[SCRATCH_PATH_SIZE + 32];
    lab_watch watch = begin(state);
    expect(&watch, getpid(), LAB_TRIAL_OK, "");
    snprintf(path, sizeof path, "%s/below", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/below/file", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, sizeof data, file), sizeof data);
    assert_int_equal(fflush(file) | fsync(fileno(file)), 0);
    fclose(file);
    expect(&watch, getpid(), LAB_TRIAL_OK, "");
    watch.folder_most = MIB / 2;
    expect(&watch, getpid(), LAB_TRIAL_FILE, "MiB to its folder; 0.5 MiB are allowed");
    watch.folder_files = 1;
    expect(&watch, getpid(), LAB_TRIAL_FILE, "made more files than the 1 that are allowed");
}

/* Memory that no process owns, such as that of unlinked files, is covered by the minimum of free
 * memory and disk. */
static void test_machine(void **state)
{
    lab_watch watch = begin(state);
    watch.disk_least = SIZE_MAX;
    expect(&watch, getpid(), LAB_TRIAL_FILE, "of the disk");
    watch.memory_least = SIZE_MAX;
    expect(&watch, getpid(), LAB_TRIAL_OUT_OF_MEMORY, "of the machine's memory");
}

/* A child with a new process group, and a child of that; both wait to be killed. @ended reads end
 * of file when both have released their memory. */
static pid_t start_group(int *ended)
{
    int ready[2];
    char one;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        if (fork() != 0 && write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &one, 1), 1);
    close(ready[1]);
    *ended = ready[0];
    return child;
}

static void test_group(void **state)
{
    lab_watch watch = begin(state);
    int ended;
    char one;
    pid_t pid = start_group(&ended);
    assert_int_equal(lab_watch_others(pid), 1);
    expect(&watch, pid, LAB_TRIAL_OK, "");
    watch.memory_most = 1024;
    expect(&watch, pid, LAB_TRIAL_OUT_OF_MEMORY, "MiB of memory; 0 MiB are allowed");
    kill(-pid, SIGKILL);
    assert_int_equal(read(ended, &one, 1), 0);
    close(ended);
    siginfo_t info; /* it has ended, but has not been reaped */
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    expect(&watch, pid, LAB_TRIAL_OK, "");
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(lab_watch_others(pid), 0);
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_files, test_machine, test_group)
