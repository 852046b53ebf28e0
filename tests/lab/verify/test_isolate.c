/*
 * test_isolate.c - work that crashes, hangs or exits costs only that piece
 */
#include "run_tests.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab/verify/isolate.h"
#include "lab/verify/stage/region.h"

/* The actions of the pieces, one letter each. */
typedef struct script {
    const char *letters;
    int runs; /* pieces run in this process */
} script;

static volatile int *nowhere;

static void touch(lab_trace *trace, size_t offset)
{
    lab_region region;
    if (lab_region_create(&region, 100, 4, LAB_EDGE_START) != HEED_OK)
        return;
    lab_place *place = &trace->places[trace->place_count++];
    *place = (lab_place){ .name = "K",
                          .data = (uintptr_t)region.data,
                          .size = region.size,
                          .start = (uintptr_t)region.map,
                          .end = (uintptr_t)region.map + region.map_size,
                          .locked = true };
    lab_region_lock(&region, true);
    ((volatile char *)region.data)[offset] = 1;
}

/* The sanitizer would end the process before the store through a null pointer. */
__attribute__((no_sanitize("undefined"))) static void act(void *data, size_t index,
                                                          lab_trace *trace, void *result)
{
    script *self = data;
    *(int *)result = ++self->runs;
    lab_trace_step(trace, "in the middle");
    switch (self->letters[index]) {
    case 'n':
        *nowhere = 1;
        break;
    case 'l':
        touch(trace, 40);
        break;
    case 'w':
        touch(trace, 4096);
        break;
    case 'a':
        raise(SIGABRT);
        break;
    case 'x':
        _exit(3);
    case 'r':
        trace->last = true;
        break;
    case 'y': /* announces its end and exits */
        trace->last = true;
        _exit(0);
    case 'h':
        for (;;)
            pause();
    default:
        break;
    }
}

#define PIECES 8
#define NAP_NS 100000000

static void isolate(const char *letters, unsigned deadline_s, bool (*stop)(void), int *results,
                    lab_ending *endings)
{
    script self = { .letters = letters };
    const lab_isolation isolation = { .run = act,
                                      .data = &self,
                                      .count = strlen(letters),
                                      .result_size = sizeof *results,
                                      .deadline_s = deadline_s,
                                      .stop = stop };
    memset(results, 0, PIECES * sizeof *results);
    assert_int_equal(lab_isolate(&isolation, results, endings), HEED_OK);
    assert_int_equal(self.runs, 0); /* none in this process */
}

static void test_pieces_share_a_process(void **state)
{
    int results[PIECES];
    lab_ending endings[PIECES];
    isolate("....", 0, NULL, results, endings);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(results[i], i + 1);
        assert_int_equal(endings[i].how, LAB_COMPLETED);
    }
}

static void assert_crash(const lab_ending *ending, const char *what)
{
    assert_int_equal(ending->how, LAB_CRASHED);
    if (!strstr(ending->text, what) || !strstr(ending->text, "in the middle"))
        fail_msg("'%s' does not say '%s'", ending->text, what);
}

static void test_a_crash_costs_one_piece(void **state)
{
    int results[PIECES];
    lab_ending endings[PIECES];
    isolate(".n.lwa.x", 0, NULL, results, endings);
    assert_int_equal(endings[0].how, LAB_COMPLETED);
    assert_crash(&endings[1], "SIGSEGV: at address 0x0");
    assert_int_equal(endings[2].how, LAB_COMPLETED);
    assert_int_equal(results[2], 1); /* the first one of a new process */
    assert_crash(&endings[3], "SIGSEGV: wrote to the input K at byte 40");
    assert_crash(&endings[4], "SIGSEGV: touched K 3997 bytes past its last one");
    assert_crash(&endings[5], "SIGABRT");
    assert_int_equal(endings[6].how, LAB_COMPLETED);
    assert_crash(&endings[7], "ended its process");
}

/* This is not a failure: the piece is complete, and the next one has a new process. */
static void test_a_last_piece(void **state)
{
    int results[PIECES];
    lab_ending endings[PIECES];
    isolate("..r.ry.", 0, NULL, results, endings);
    static const int runs[] = { 1, 2, 3, 1, 2, 1, 1 };
    for (int i = 0; i < 7; i++) {
        assert_int_equal(results[i], runs[i]);
        assert_int_equal(endings[i].how, i == 5 ? LAB_CRASHED : LAB_COMPLETED);
    }
}

static void count_done(void *data, size_t done)
{
    script *self = data;
    assert_true(done <= strlen(self->letters));
}

/* Returns whether a piece was reported as hanging. On a busy machine any piece may be. */
static bool was_late(const char *letters, const lab_ending *endings)
{
    for (size_t i = 0; letters[i]; i++)
        if (letters[i] != 'h' && endings[i].how == LAB_TIMED_OUT)
            return true;
    return false;
}

/* Concurrent children take groups of pieces; a crash costs only its piece, and the group
 * continues. */
static void test_several_children(void **state)
{
    static const char letters[] = "......n..h.....r.x..........a...";
    enum {
        COUNT = sizeof letters - 1,
        GROUP = 4
    };
    int results[COUNT];
    lab_ending endings[COUNT];
    script self = { .letters = letters };
    lab_isolation isolation = { .run = act,
                                .data = &self,
                                .count = COUNT,
                                .result_size = sizeof *results,
                                .group = GROUP,
                                .jobs = 3,
                                .progress = count_done,
                                .progress_data = &self };
    unsigned deadline_s = 1;
    do {
        isolation.deadline_s = deadline_s;
        memset(results, 0, sizeof results);
        assert_int_equal(lab_isolate(&isolation, results, endings), HEED_OK);
        deadline_s *= 4;
    } while (deadline_s < 100 && was_late(letters, endings));
    for (int i = 0; i < COUNT; i++) {
        lab_ended how = letters[i] == 'h'           ? LAB_TIMED_OUT
                        : strchr("nxa", letters[i]) ? LAB_CRASHED
                                                    : LAB_COMPLETED;
        assert_int_equal(endings[i].how, how);
        assert_true(results[i] > 0);
        if (i % GROUP && how == LAB_COMPLETED && endings[i - 1].how == LAB_COMPLETED &&
            letters[i - 1] != 'r')
            assert_int_equal(results[i], results[i - 1] + 1); /* in the same process */
    }
}

static void nap(void *data, size_t index, lab_trace *trace, void *result)
{
    (void)data, (void)index, (void)trace, (void)result;
    nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

static void note_some(void *data, size_t done)
{
    *(bool *)data |= done > 0 && done < PIECES;
}

/* The number of finished pieces is known even for one child that has taken all pieces at once. */
static void test_progress(void **state)
{
    int results[PIECES];
    lab_ending endings[PIECES];
    bool some = false;
    const lab_isolation isolation = { .run = nap,
                                      .data = &some,
                                      .count = PIECES,
                                      .result_size = sizeof *results,
                                      .progress = note_some,
                                      .progress_data = &some };
    assert_int_equal(lab_isolate(&isolation, results, endings), HEED_OK);
    assert_true(some);
}

static void test_a_hang_has_a_deadline(void **state)
{
    int results[PIECES];
    lab_ending endings[PIECES];
    isolate(".h.", 1, NULL, results, endings);
    for (int i = 0; i < 3 && was_late(".h.", endings); i++)
        isolate(".h.", 1, NULL, results, endings);
    assert_int_equal(endings[0].how, LAB_COMPLETED);
    assert_int_equal(endings[1].how, LAB_TIMED_OUT);
    assert_non_null(strstr(endings[1].text, "not done after 1 s, in the middle"));
    assert_int_equal(endings[2].how, LAB_COMPLETED);
}

static bool at_once(void)
{
    return true;
}

static void test_stopping_leaves_the_rest(void **state)
{
    int results[PIECES];
    lab_ending endings[PIECES];
    isolate("...", 0, at_once, results, endings);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(endings[i].how, LAB_NOT_RUN);
        assert_int_equal(results[i], 0);
    }
}

static void test_sizes_that_overflow(void **state)
{
    script self = { .letters = "" };
    lab_isolation isolation = {
        .run = act, .data = &self, .count = SIZE_MAX / 2, .result_size = 16
    };
    assert_int_equal(lab_isolate(&isolation, NULL, NULL), HEED_ERR_NO_MEMORY);
}

RUN_TESTS(test_pieces_share_a_process, test_a_crash_costs_one_piece, test_a_last_piece,
          test_several_children, test_progress, test_a_hang_has_a_deadline,
          test_stopping_leaves_the_rest, test_sizes_that_overflow)
