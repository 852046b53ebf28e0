/*
 * record_scene.h - synthetic trials for tests of the leaderboard
 */
#ifndef RECORD_SCENE_H
#define RECORD_SCENE_H

#include "lab/record/record.h"

/* A trial with every part filled in, for a test to change. Number n is candidate n. */
typedef struct record_scene {
    heed_problem problem;
    char config[32];
    double seconds[16], others[4];
    lab_record_samples samples[3];
    lab_record_comparison comparisons[2];
    lab_record_gate gates[2];
    lab_record_fact facts[3];
    lab_record_trial trial;
} record_scene;

/* record_scene_make() fills @scene, whose parts point to each other: do not copy it. */
void record_scene_make(record_scene *scene, int64_t run, int number);

/* record_scene_time() changes the median, and the samples to match. */
void record_scene_time(record_scene *scene, double seconds, lab_record_timing timing);

/* record_scene_open() opens a board, or fails the test. record_scene_begin() starts a run with that
 * key. */
lab_record *record_scene_open(const char *path, lab_record_mode mode);
int64_t record_scene_begin(lab_record *record, const char *key);

/* record_scene_count() returns the number of rows that match @filter. */
size_t record_scene_count(lab_record *record, const lab_record_filter *filter);

/* A copy of a row with its strings. */
typedef struct record_row {
    lab_record_row row;
    char texts[16][128];
} record_row;

/* record_scene_rows() copies up to @size rows and returns the number of rows. */
size_t record_scene_rows(lab_record *record, const lab_record_filter *filter, record_row *rows,
                         size_t size);

/* record_expect() fails the test unless @status is HEED_OK; record_refused() unless it is @wanted
 * and @error contains @part. record_append() adds a trial, or fails the test, and returns its
 * number. */
void record_expect(heed_status status, const lab_error *error);
void record_refused(heed_status status, heed_status wanted, const lab_error *error,
                    const char *part);
int64_t record_append(lab_record *record, const lab_record_trial *trial);

/* One field of a trial, copied. */
typedef struct record_looked {
    const char *section, *name;
    size_t row;
    int found;
    lab_record_field field;
    double samples[16];
    char text[256];
} record_looked;

/* record_show() returns that field of the trial @id, which must have it. */
record_looked record_show(lab_record *record, int64_t id, const char *section, size_t row,
                          const char *name);

#endif /* RECORD_SCENE_H */
