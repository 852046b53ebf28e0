/*
 * leader.c - a user's source as the leader of a board
 */
#include "leader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "contexts.h"
#include "device.h"
#include "lab/record/record.h"
#include "problems.h"
#include "scratch.h"
#include "wisdom_line.h"

void leader_source(void **state, const char *name, const char *spec, double seconds)
{
    char path[SCRATCH_PATH_SIZE], file[512], source[8192];
    lab_record *record;
    lab_error error;
    int64_t run_id, id;
    bool resumed;
    heed_context *context;
    char features[32];
    const lab_record_work work = { .key = name, .verb = "evolve", .command = "heed evolve" };
    snprintf(file, sizeof file, HEED_SOURCE_DIR "/tests/data/trial/%s.c", name);
    source[scratch_read(file, source, sizeof source - 1)] = '\0';
    context = host_context(1);
    heed_device_features(context, features);
    heed_problem problem = parsed(spec);
    assert_int_equal(
        lab_record_open(&record, scratch_path(state, "board.db", path), LAB_RECORD_WRITE, &error),
        HEED_OK);
    assert_int_equal(lab_record_begin(record, &work, &run_id, &resumed, &error), HEED_OK);
    const lab_record_gate gate = { .name = "verify", .passed = true };
    const lab_record_samples samples = { .kind = LAB_RECORD_HOT,
                                         .calls = 1,
                                         .seconds = (double[]){ seconds, seconds, seconds },
                                         .count = 3 };
    const lab_record_trial trial = {
        .run = run_id,
        .candidate = { .kernel = name, .language = "c", .source = source, .proposer = "test" },
        .problem = &problem,
        .device = { .name = heed_context_device(context), .backend = "cpu" },
        .environment = { .features = features, .threads = 1, .build = heed_wisdom_build() },
        .verdict = LAB_RECORD_OK,
        .confirmed = true,
        .timing = LAB_RECORD_HOT,
        .seconds = seconds,
        .p90 = seconds,
        .samples = &samples,
        .sample_count = 1,
        .gates = &gate,
        .gate_count = 1,
    };
    if (lab_record_append(record, &trial, &id, &error) != HEED_OK)
        fail_msg("%s", error.text);
    assert_int_equal(lab_record_promote(record, id, 0, "by the test", &error), HEED_OK);
    lab_record_close(record);
    heed_context_destroy(context);
}
