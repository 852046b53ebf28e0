/*
 * record_scene.h - made-up trials for tests of the leaderboard
 */
#ifndef RECORD_SCENE_H
#define RECORD_SCENE_H

#include "lab/record/record.h"

/* A trial with everything that a trial can have, for a test to change. Number n is candidate n. */
typedef struct record_scene {
    heed_problem problem;
    char config[32];
    double seconds[16];
    lab_record_samples samples[3];
    lab_record_comparison comparisons[2];
    lab_record_gate gates[2];
    lab_record_fact facts[3];
    lab_record_trial trial;
} record_scene;

/* record_scene_make() fills @scene, whose parts point at each other: do not copy it. */
void record_scene_make(record_scene *scene, int64_t run, int number);

/* record_scene_open() opens a board, or fails the test. record_scene_begin() begins a run of that
 * key. */
lab_record *record_scene_open(const char *path, lab_record_mode mode);
int64_t record_scene_begin(lab_record *record, const char *key);

/* record_scene_count() returns how many rows @filter lets through. */
size_t record_scene_count(lab_record *record, const lab_record_filter *filter);

/* A copy of a row, its texts included. */
typedef struct record_row {
    lab_record_row row;
    char texts[16][128];
} record_row;

/* record_scene_rows() copies up to @size rows and returns how many there are. */
size_t record_scene_rows(lab_record *record, const lab_record_filter *filter, record_row *rows,
                         size_t size);

#endif /* RECORD_SCENE_H */
