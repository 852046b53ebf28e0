/*
 * test_roofline_verb.c - the `heed roofline`, `heed doctor --lock` and `heed doctor --check`
 * commands
 */
#include "run_tests.h"

#include <stdio.h>
#include <string.h>

#include "lab/inspect/roofline.h"
#include "members.h"
#include "run_heed.h"
#include "scratch.h"

static const run_heed_way way = { HEED_PROGRAM, "HEED_CACHE=\"$PWD\" HEED_DEVICE=cpu HEED_CC=cc" };

/* ---- heed roofline ---- */

static void test_measured(void **state)
{
    json_t *json = run_heed_json(state, &way, "heed roofline -t 1 --json 'b1 h2 s256 d64 f32'", 0);
    const json_t *ceilings = json_object_get(json, "ceilings");
    const json_t *row = json_array_get(json_object_get(json, "problems"), 0);
    assert_string_equal(text_of(json, "schema"), "heed.roofline/1");
    assert_true(json_is_true(json_object_get(json, "measured")));
    assert_true(number_of(json_object_get(ceilings, "matrix_flops"), "f32") > 1e8);
    assert_true(number_of(ceilings, "exp_per_second") > 1e6);
    assert_true(number_of(ceilings, "memory_bytes_per_second") > 1e7);
    assert_true(number_of(ceilings, "cache_bytes_per_second") > 1e7);
    assert_string_equal(text_of(row, "problem"), "b1 h2 s256 d64 f32");
    /* the binding unit depends on the machine, which may be busy */
    const json_t *units = json_object_get(row, "units");
    double matrix = 4.0 * 2 * 256 * 256 * 64 /
                    number_of(json_object_get(ceilings, "matrix_flops"), "f32");
    assert_true(number_of(units, "matrix") > 0.999 * matrix &&
                number_of(units, "matrix") < 1.001 * matrix);
    assert_true(number_of(row, "cold_seconds") >= number_of(units, "matrix"));
    assert_true(number_of(row, "cold_seconds") == number_of(units, text_of(row, "cold_bound_by")));
    assert_true(json_is_null(json_object_get(row, "predicted")));
    char time[64];
    snprintf(time, sizeof time, "%s", text_of(json, "time"));
    json_decref(json);

    /* cached: the same figures again; --fresh measures again; so does another number of threads */
    json = run_heed_json(state, &way, "sleep 1; heed roofline -t 1 --json", 0);
    assert_string_equal(text_of(json, "time"), time);
    assert_true(number_of(json, "age_seconds") >= 1);
    json_decref(json);
    json = run_heed_json(state, &way, "heed roofline -t 1 --fresh --json", 0);
    assert_string_not_equal(text_of(json, "time"), time);
    json_decref(json);

    /* a damaged file is reported and replaced; an old one is reported */
    run_heed_says(state, &way, "sed -i s/exp/exq/ ceilings/*; heed roofline -t 1", 0, "damaged");
    static const run_heed_row kept[] = { { "heed roofline -t 1", 0, "matrix f32", "" } };
    run_heed_rows(state, &way, kept, 1);
    run_heed_says(state, &way, "HEED_CACHE=/dev/null heed roofline -t 1", 0, "were not saved");
}

/* Very old ceilings are used, with a message; ones dated tomorrow count as new. */
static void test_age(void **state)
{
    lab_ceilings ceilings;
    lab_error error;
    const heed_said *said;
    char path[LAB_CEILINGS_PATH];
    json_t *json = run_heed_json(state, &way, "heed roofline -t 1 --json", 0);
    snprintf(path, sizeof path, "%s", text_of(json, "file"));
    json_decref(json);
    assert_int_equal(lab_ceilings_read(&ceilings, path, &error), HEED_OK);
    ceilings.time -= 40 * 86400;
    assert_int_equal(lab_ceilings_write(&ceilings, path, &error), HEED_OK);
    said = run_heed_says(state, &way, "heed roofline -t 1", 0, "40 days ago");
    assert_non_null(strstr(said->err, "--fresh"));
    ceilings.time += 41 * 86400;
    assert_int_equal(lab_ceilings_write(&ceilings, path, &error), HEED_OK);
    said = run_heed_says(state, &way, "heed roofline -t 1", 0, "0 seconds ago");
    assert_string_equal(said->err, "");

    /* heed bench has the same ceilings, and relates its times to them */
    json = run_heed_json(
        state, &way, "heed bench -t 1 --peers none --seconds 0.02 --json 'b1 h1 s64 d64 f32'", 0);
    const json_t *row = json_array_get(json_object_get(json, "rows"), 0);
    double share = number_of(row, "of_roofline");
    assert_true(number_of(row, "floor_seconds") > 0 && *text_of(row, "bound_by"));
    double expected = number_of(row, "floor_seconds") /
                      number_of(json_object_get(row, "seconds"), "p50");
    assert_true(share > 0.999 * expected && share < 1.001 * expected);
    json_decref(json);
}

static void test_machines(void **state)
{
    json_t *json = run_heed_json(
        state, &way,
        "heed roofline --machine L4 --json 'b4 h32 s4096 d64 f16' 'b1 h1 s64 d512 f32'", 0);
    const json_t *rows = json_object_get(json, "problems");
    const json_t *row = json_array_get(rows, 0), *best = json_object_get(row, "predicted");
    double floor = 4.0 * 4 * 32 * 4096 * 4096 * 64 / 121e12;
    assert_false(json_is_true(json_object_get(json, "measured")));
    assert_string_equal(text_of(json, "device"), "NVIDIA L4");
    assert_true(number_of(row, "cold_seconds") > 0.99 * floor &&
                number_of(row, "cold_seconds") < 1.01 * floor);
    assert_string_equal(text_of(row, "cold_bound_by"), "matrix");
    assert_true(strncmp(text_of(best, "kernel"), "fwd_16bit_sm80_mma__", 20) == 0);
    assert_true(number_of(best, "seconds") > floor && number_of(best, "share") < 1);
    json_decref(json);

    const heed_said *said = run_heed_says(
        state, &way, "heed roofline --machine h200 --shapes '" HEED_SOURCE_DIR "/shapes/seed.txt'",
        0, "fwd_16bit_sm90_wgmma");
    assert_non_null(strstr(said->out, "nothing here was measured"));
    run_heed_says(state, &way, "heed roofline --machine L40", 2, "did you mean L4");
    run_heed_says(state, &way, "heed roofline --machine GTX", 2, "B200");
    run_heed_says(state, &way, "heed roofline --machine L4 --fresh", 2,
                  "cannot be used with --machine");
    run_heed_says(state, &way, "heed roofline --space sweep90", 2, "needs --judge");
    run_heed_says(state, &way, "heed roofline --machine L4 --judge", 2, "needs --trials");
    run_heed_says(state, &way, "heed roofline --machine L4 'b1 h8 s512 d64 f31'", 2, "f31");
}

#define TRIALS HEED_SOURCE_DIR "/tests/data/trials/"

static void test_judged(void **state)
{
    json_t *json = run_heed_json(
        state, &way,
        "heed roofline --judge --machine H200 --json --space '" HEED_SOURCE_DIR
        "/spaces/sweep90.txt' --trials '" TRIALS "sweep90-h200.txt'",
        0);
    const json_t *overall = json_object_get(json, "overall");
    assert_true(json_is_true(json_object_get(json, "good")));
    assert_int_equal(number_of(overall, "points"), 55);
    assert_true(number_of(overall, "rank_correlation") >= 0.7);
    assert_true(number_of(overall, "chosen_over_best") < 1.2);
    assert_int_equal(json_array_size(json_object_get(json, "problems")), 8);
    json_decref(json);

    /* times in the wrong order: a finding */
    run_heed_says(state, &way,
                  "awk '$1 == \"trial\" && $4 == \"time\" { $5 = 1e-10 / $5 } { print }' '" TRIALS
                  "sweep90-h200.txt' >turned.txt; heed roofline --judge --machine H200 --space "
                  "'" HEED_SOURCE_DIR "/spaces/sweep90.txt' --trials turned.txt",
                  1, "less than 0.7");
    run_heed_says(state, &way,
                  "heed roofline --judge --machine H200 --space '" HEED_SOURCE_DIR
                  "/spaces/sweep90.txt' --trials /nowhere",
                  3, "/nowhere");
    run_heed_says(state, &way, "heed roofline --judge --space nowhere.txt", 3, "nowhere.txt");
    run_heed_says(state, &way,
                  "heed roofline --judge --machine L4 --space '" HEED_SOURCE_DIR
                  "/spaces/sweep90.txt' --trials '" TRIALS "sweep90-h200.txt'",
                  2, "has times of an NVIDIA H200");

    /* with real measurements, on this CPU */
    json = run_heed_json(
        state, &way,
        "printf 'kernel fwd_any_scalar_row\\nknob splits 1 2 4 8\\nconfig s = splits\\n'"
        " >few.txt; heed roofline --judge --space few.txt -t 1 --json "
        "'b1 h1 s8/2000 d16 f32' 2>said.txt || [ $? = 1 ]",
        0);
    assert_string_equal(text_of(json, "kernel"), "fwd_any_scalar_row");
    assert_true(number_of(json_object_get(json, "overall"), "points") >= 2);
    json_decref(json);
}

/* ---- heed doctor --lock, --check ---- */

static void test_lock(void **state)
{
    run_heed_says(state, &way, "heed doctor --lock lock.json", 0, "lock.json, hash");
    run_heed_says(state, &way, "heed doctor --check lock.json", 0, "are the same");
    json_t *json = run_heed_json(state, &way, "heed doctor --lock", 0);
    const json_t *parts = json_object_get(json, "parts");
    static const char *const always[] = {
        "heed", "compiler", "libc", "kernel", "sqlite", "jansson", "candidate-compiler"
    };
    assert_string_equal(text_of(json, "schema"), "heed.manifest/1");
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (!*text_of(json_object_get(parts, always[i]), "version"))
            fail_msg("no %s", always[i]);
    json_decref(json);
    run_heed_says(state, &way, "heed doctor --lock /nowhere/lock.json", 3, "/nowhere");
}

/* Another machine's manifest, made by a change that updates the hash. */
static void test_differences(void **state)
{
    run_heed_says(state, &way, "heed doctor --lock lock.json", 0, "hash");
    /* a compiler that no longer exists */
    const heed_said *said = run_heed_says(
        state, &way, "HEED_CC=/nowhere heed doctor --check lock.json", 1, "candidate-compiler");
    assert_non_null(strstr(said->out, "not there"));
    assert_null(strstr(said->out, "libc"));
    json_t *json = run_heed_json(state, &way,
                                 "HEED_CC=/nowhere heed doctor --check lock.json --json", 1);
    const json_t *one = json_array_get(json_object_get(json, "differences"), 0);
    assert_string_equal(text_of(json, "schema"), "heed.doctor-check/1");
    assert_false(json_is_true(json_object_get(json, "same")));
    assert_string_equal(text_of(one, "name"), "candidate-compiler");
    assert_true(*text_of(one, "then") && json_is_null(json_object_get(one, "now")));
    json_decref(json);

    /* files that are not manifests, or were changed */
    static const text_pair bad[] = {
        { "", "" },
        { "{", "" },
        { "[1, 2]", "no schema" },
        { "{\"schema\": \"heed.manifest/2\"}", "heed.manifest/1" },
        { "{\"schema\": \"heed.manifest/1\", \"hash\": \"x\"}", "parts" },
        { "{\"schema\": \"heed.manifest/1\", \"hash\": \"x\", \"parts\": {\"a\": 1}}", "parts" },
        { "{\"schema\": \"heed.manifest/1\", \"hash\": \"x\", \"parts\": {\"a\": {\"version\": "
          "\"1\"}}}",
          "hash does not fit" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        scratch_text_write(state, "bad.json", bad[i].given);
        run_heed_says(state, &way, "heed doctor --check bad.json", 7, bad[i].wanted);
    }
    run_heed_says(state, &way,
                  "sed 's/\"libc\"/\"libd\"/' lock.json >bad.json; heed doctor --check bad.json", 7,
                  "hash does not fit");
    run_heed_says(state, &way, "heed doctor --check /nowhere", 3, "/nowhere");
    run_heed_says(state, &way, "heed doctor --lock --check lock.json", 2, "together");
    run_heed_says(state, &way, "heed doctor lock.json", 2, "unexpected");
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_measured, test_age, test_machines, test_judged,
               test_lock, test_differences)
