/*
 * test_final.c - the results of searches on a board, and the distance of kernels from their limits
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>

#include "lab/final/final.h"
#include "lab/trial/launch.h"
#include "record_scene.h"
#include "scratch.h"

/* ---- Searches ---- */

/* The trial of a kernel that won or lost a challenge against another one. */
static int64_t add_bout(lab_record *record, int64_t run, int number, int attempt, int won)
{
    record_scene scene;
    record_scene_make(&scene, run, number);
    const lab_record_fact facts[] = { { .name = "succeeds", .number = won },
                                      { .name = "ablation no-exp", .number = 0.9 } };
    scene.trial.attempt = attempt;
    scene.trial.confirmed = false;
    scene.trial.facts = facts;
    scene.trial.fact_count = won >= 0 ? 2 : 0;
    return record_append(record, &scene.trial);
}

static lab_final_search *read(void **state, lab_final_board *board, size_t *count)
{
    char path[SCRATCH_PATH_SIZE];
    lab_error error;
    lab_record *record = record_scene_open(scratch_path(state, "b.db", path), LAB_RECORD_READ);
    record_expect(lab_final_board_read(board, record, true, &error), &error);
    lab_record_close(record);
    lab_final_search *searches = lab_final_searches(board, count);
    assert_non_null(searches);
    return searches;
}

/* Of two searches the newer one counts. Kernel 2 beat the first one, 3 lost, 4 beat 2. */
static void finds_searches(void **state)
{
    char path[SCRATCH_PATH_SIZE], name[LAB_FINAL_NAME];
    lab_record *record = record_scene_open(scratch_path(state, "b.db", path), LAB_RECORD_WRITE);
    int64_t old = record_scene_begin(record, "old"), run = record_scene_begin(record, "new");
    add_bout(record, old, 9, 0, -1);
    int64_t first = add_bout(record, run, 1, 0, -1);
    for (int number = 2; number <= 4; number++)
        add_bout(record, run, number, 0, -1);
    add_bout(record, run, 2, 1, 1);
    int64_t second = add_bout(record, run, 2, 2, 1);
    add_bout(record, run, 3, 1, 0);
    int64_t last = add_bout(record, run, 4, 2, 1);
    lab_record_close(record);

    size_t count;
    lab_final_board board = { .count = 0 };
    lab_final_search *searches = read(state, &board, &count);
    assert_int_equal(count, 1);
    assert_int_equal(searches->first->row.trial, first);
    assert_int_equal(searches->champion->row.trial, last);
    assert_int_equal(searches->step_count, 2);
    assert_int_equal(searches->steps[0]->row.trial, second);
    assert_int_equal(searches->kernels, 4);
    assert_int_equal(searches->right, 4);
    assert_string_equal(lab_final_name(searches->champion, name), "fwd_16bit_sm80_mma__m4n64");
    const lab_final_fact *fact = lab_final_fact_in(searches, searches->champion, "ablation no-exp");
    assert_true(fact && fact->number == 0.9);
    assert_null(lab_final_fact_in(searches, searches->first, "ablation no-exp"));
    assert_int_equal(searches->champion->side_count, 2);
    const lab_final_side *side = searches->champion->sides;
    assert_string_equal(side->name, "torch-flash");
    assert_true(side->ratio == 1.5 && side->low == 1.4 && side->p90 > side->p50 && side->p50 > 0);
    lab_final_searches_free(searches, count);
    lab_final_board_free(&board);
}

/* A sweep has no challenges: it ends with the fastest confirmed kernel. */
static void sweeps_end_with_the_fastest(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_record *record = record_scene_open(scratch_path(state, "b.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "sweep"), fastest = 0;
    for (int number = 4; number >= 0; number--) {
        record_scene scene;
        record_scene_make(&scene, run, number);
        scene.trial.confirmed = number != 0;
        scene.trial.attempt = number == 1 ? 40 : 0; /* it was only compared with others */
        int64_t id = record_append(record, &scene.trial);
        fastest = number == 2 ? id : fastest;
    }
    lab_record_close(record);
    size_t count;
    lab_final_board board = { .count = 0 };
    lab_final_search *searches = read(state, &board, &count);
    assert_int_equal(count, 1);
    assert_int_equal(searches->first->row.trial, 1);
    assert_int_equal(searches->champion->row.trial, fastest);
    assert_int_equal(searches->kernels, 4);
    assert_int_equal(searches->step_count, 0);
    lab_final_searches_free(searches, count);
    lab_final_board_free(&board);
}

/* An added record is not a search; a kernel without a challenge has no steps. */
static void knows_what_is_no_search(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_error error;
    bool resumed;
    const lab_record_work work = { .key = "k", .verb = "bench", .command = "heed bench" };
    lab_record *record = record_scene_open(scratch_path(state, "b.db", path), LAB_RECORD_WRITE);
    int64_t run;
    record_expect(lab_record_begin(record, &work, &run, &resumed, &error), &error);
    add_bout(record, run, 1, 0, -1);
    lab_record_close(record);
    size_t count;
    lab_final_board board = { .count = 0 };
    lab_final_search *searches = read(state, &board, &count);
    assert_int_equal(board.count, 1);
    assert_int_equal(count, 0);
    lab_final_searches_free(searches, count);
    lab_final_board_free(&board);
}

/* ---- Limits ---- */

static void knows_limits(void **state)
{
    const lab_final_place sheet = { "NVIDIA H200", "sm_90-no-such-driver", 1, true };
    const lab_final_place unknown = { "A device", NULL, 1, true };
    lab_final_limit limit;
    /* 4 * 8192^2 * 16 * 128 operations at 989 TFLOP/s */
    assert_true(lab_final_limit_of(&limit, &sheet, "b1 h16 s8192 d128 f16"));
    assert_string_equal(limit.from, "data sheet");
    assert_string_equal(limit.binds, "matrix");
    assert_true(fabs(limit.seconds - limit.flops / limit.matrix) < 1e-12);
    assert_true(fabs(limit.seconds / 555.8e-6 - 1) < 0.01);
    /* 2 * 65536 * 8 * 128 values of two bytes at 4.8 TB/s */
    assert_true(lab_final_limit_of(&limit, &sheet, "b1 h32/8 s1/65536 d128 f16"));
    assert_string_equal(limit.binds, "memory");
    assert_true(fabs(limit.seconds / 55.9e-6 - 1) < 0.01);
    assert_false(lab_final_limit_of(&limit, &unknown, "b1 h16 s8192 d128 f16"));
    assert_null(limit.from);
    assert_false(lab_final_limit_of(&limit, &sheet, "no spec"));
}

/* 65536 registers of a multiprocessor are enough for four blocks of 128 threads with 128 registers
 * each. */
static void knows_occupancy(void **state)
{
    char words[LAB_LAUNCH_SIZE];
    int64_t most;
    heed_launch_facts launch = { .entry = "fwd", .threads = 128, .rows = 64, .splits = 1 };
    assert_true(lab_launch_print(&launch, NULL, NULL, 0, words));
    assert_int_equal(lab_final_occupancy("NVIDIA H200", words, 128, 0, &most), 16);
    assert_int_equal(most, 64);
    assert_int_equal(lab_final_occupancy("NVIDIA H200", words, 128, 100 << 10, &most), 8);
    assert_int_equal(lab_final_occupancy("A device", words, 128, 0, &most), 0);
    assert_int_equal(lab_final_occupancy("NVIDIA H200", "threads=x", 128, 0, &most), 0);
    assert_int_equal(lab_final_occupancy("NVIDIA H200", NULL, 128, 0, &most), 0);
    assert_int_equal(lab_final_occupancy("NVIDIA H200", words, -1, -1, &most), 0);
    assert_int_equal(most, 0);
}

RUN_TESTS_EACH(scratch_open, scratch_close, finds_searches, sweeps_end_with_the_fastest,
               knows_what_is_no_search, knows_limits, knows_occupancy)
