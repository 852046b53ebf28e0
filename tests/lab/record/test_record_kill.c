/*
 * test_record_kill.c - kill -9 at any instant: no acknowledged trial is lost, and none is recorded
 * twice
 *
 * A child records TRIALS trials, like a sweep, and writes the number of each to a pipe once it is
 * acknowledged. It is killed at a random instant, even while it creates the file. Then the file
 * must be sound and contain all acknowledged trials, and the next child continues.
 */
#include "run_tests.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record_scene.h"
#include "scratch.h"

enum {
    KILLS = 200,
    TRIALS = 25,
    NOTHING_LEFT = 3, /* exit status of a child that found its work done */
    SECONDS_MAX = 40  /* on a disk where each trial takes long, there are fewer kills */
};

/* The states in which the kills left the file. */
typedef struct tally {
    int kills, journals, files, unsaid;
    int64_t acknowledged;
} tally;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* -------------------------------------------------------------------------- */
/* The child                                                                  */
/* -------------------------------------------------------------------------- */

static bool do_trial(lab_record *record, int64_t run, int number, int pipe)
{
    record_scene scene;
    lab_record_found found;
    record_scene_make(&scene, run, number);
    if (lab_record_find(record, &scene.trial, &found, NULL) != HEED_OK)
        return false;
    if (found.trial)
        return true;
    return lab_record_append(record, &scene.trial, NULL, NULL) == HEED_OK &&
           write(pipe, &number, sizeof number) == sizeof number;
}

static int work(const char *path, int pipe)
{
    const lab_record_work what = { .key = "work", .verb = "sweep", .command = "heed sweep" };
    lab_record *record;
    lab_error error;
    int64_t run, finished;
    bool resumed;
    if (lab_record_open(&record, path, LAB_RECORD_WRITE, &error) != HEED_OK ||
        lab_record_finished(record, what.key, &finished, &error) != HEED_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    if (finished)
        return NOTHING_LEFT;
    if (lab_record_begin(record, &what, &run, &resumed, &error) != HEED_OK)
        return 1;
    for (int i = 0; i < TRIALS; i++)
        if (!do_trial(record, run, i, pipe))
            return 1;
    if (lab_record_end(record, run, LAB_RECORD_FINISHED, NULL, &error) != HEED_OK)
        return 1;
    lab_record_close(record);
    return NOTHING_LEFT;
}

/* -------------------------------------------------------------------------- */
/* The parent                                                                 */
/* -------------------------------------------------------------------------- */

static int number_of(const record_row *row)
{
    int number = -1;
    assert_int_equal(sscanf(row->row.config, "m%dn64", &number), 1);
    assert_in_range(number, 0, TRIALS - 1);
    return number;
}

/* Every acknowledged trial is recorded once, others at most once, and the file is sound. */
static void check_file(const char *path, const bool acknowledged[TRIALS])
{
    static record_row rows[TRIALS + 1];
    int there[TRIALS] = { 0 };
    lab_error error;
    lab_record_chain chain;
    lab_record *record = record_scene_open(path, LAB_RECORD_READ);
    if (lab_record_check(record, NULL, &chain, &error) != HEED_OK)
        fail_msg("%s", error.text);
    size_t count = record_scene_rows(record, &(lab_record_filter){ .part = LAB_BOARD_ALL }, rows,
                                     TRIALS + 1);
    assert_in_range(count, 0, TRIALS);
    assert_int_equal(chain.trials, count);
    for (size_t i = 0; i < count; i++)
        there[number_of(&rows[i])]++;
    for (int i = 0; i < TRIALS; i++) {
        assert_in_range(there[i], 0, 1);
        if (acknowledged[i] && !there[i])
            fail_msg("trial %d was acknowledged and is lost", i);
    }
    lab_record_close(record);
}

static bool has_content(const char *path, const char *end)
{
    char name[SCRATCH_PATH_SIZE + 16];
    struct stat info;
    snprintf(name, sizeof name, "%s%s", path, end);
    return stat(name, &info) == 0 && info.st_size > 0;
}

/* Starts a child, kills it after @delay seconds (negative: lets it end), and reads its
 * acknowledgements. Returns whether it ended by itself. */
static bool run_child(const char *path, double delay, bool acknowledged[TRIALS], tally *sum)
{
    int ends[2], status, number;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        _exit(work(path, ends[1]));
    }
    close(ends[1]);
    if (delay >= 0) {
        const struct timespec pause = { .tv_sec = (time_t)delay,
                                        .tv_nsec = (long)((delay - (double)(time_t)delay) * 1e9) };
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
    }
    for (; read(ends[0], &number, sizeof number) == sizeof number; sum->acknowledged++) {
        assert_in_range(number, 0, TRIALS - 1);
        if (acknowledged[number])
            fail_msg("trial %d was done twice", number);
        acknowledged[number] = true;
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        return false;
    assert_int_equal(WEXITSTATUS(status), NOTHING_LEFT);
    return true;
}

/* One file, from its creation to the end of the work. If children are killed before they make
 * progress, as happens on a busy machine, they are given more time. After @deadline no child is
 * killed any more. */
static void work_through(const char *path, double delay_max, double deadline, uint64_t *seed,
                         tally *sum)
{
    bool acknowledged[TRIALS] = { false };
    for (bool ended = false; !ended;) {
        int64_t before = sum->acknowledged;
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        double delay = delay_max * (double)(*seed >> 33) / (double)(1u << 31);
        ended = run_child(path, now() < deadline ? delay : -1, acknowledged, sum);
        delay_max *= sum->acknowledged == before ? 1.1 : 1;
        sum->kills += !ended;
        sum->journals += has_content(path, "-journal");
        if (has_content(path, ""))
            check_file(path, acknowledged);
    }
    for (int i = 0; i < TRIALS; i++) /* all but the last before a kill were acknowledged */
        sum->unsaid += !acknowledged[i];
    record_row rows[TRIALS + 1];
    lab_record *record = record_scene_open(path, LAB_RECORD_READ);
    assert_int_equal(
        record_scene_rows(record, &(lab_record_filter){ .part = LAB_BOARD_ALL }, rows, TRIALS + 1),
        TRIALS);
    for (int i = 1; i < TRIALS; i++)
        assert_int_equal(rows[i].row.run, rows[0].row.run);
    lab_record_close(record);
    sum->files++;
}

static void killed_at_any_instant(void **state)
{
    char path[SCRATCH_PATH_SIZE], name[32];
    bool acknowledged[TRIALS] = { false };
    uint64_t seed = 1;
    tally sum = { 0 }, none = { 0 };
    double start = now();
    run_child(scratch_path(state, "whole.db", path), -1, acknowledged, &none);
    double whole = now() - start; /* for the work without kills */
    assert_int_equal(none.acknowledged, TRIALS);
    while (sum.kills < KILLS && now() - start < SECONDS_MAX) {
        snprintf(name, sizeof name, "%d.db", sum.files);
        work_through(scratch_path(state, name, path), whole / 3, start + SECONDS_MAX, &seed, &sum);
    }
    print_message("%d kills in %.1f s, %d of them in the middle of a transaction; %d files, %lld "
                  "trials acknowledged, %d added and not acknowledged\n",
                  sum.kills, now() - start, sum.journals, sum.files, (long long)sum.acknowledged,
                  sum.unsaid);
    assert_true(sum.kills >= KILLS || now() - start >= SECONDS_MAX);
    assert_true(sum.journals > 0);
}

/* Written data outlives a killed process on any disk, so a file in memory, which is faster, will
 * do. */
static int open_folder(void **state)
{
    if (access("/dev/shm", W_OK | X_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    return scratch_open(state);
}

RUN_TESTS_WITHIN(open_folder, scratch_close, killed_at_any_instant)
