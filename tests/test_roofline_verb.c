/*
 * test_roofline_verb.c - `heed roofline`, and `heed doctor --lock` and `--check`, as people call
 * them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lab/inspect/roofline.h"
#include "scratch.h"

#define OUTPUT_SIZE 65536

static char out[OUTPUT_SIZE], err[OUTPUT_SIZE];

/* Runs lines of a shell in the test's folder, where heed is the program. */
static int run(void **state, const char *lines)
{
    char command[4096], path[SCRATCH_PATH_SIZE];
    snprintf(command, sizeof command,
             "cd '%s' && export NO_COLOR= HEED_CACHE=\"$PWD\" HEED_DEVICE=cpu HEED_CC=cc && "
             "heed() { '%s' \"$@\"; }; { %s\n} >stdout.txt 2>stderr.txt",
             (const char *)*state, HEED_PROGRAM, lines);
    int status = system(command);
    out[scratch_read(scratch_path(state, "stdout.txt", path), out, OUTPUT_SIZE - 1)] = '\0';
    err[scratch_read(scratch_path(state, "stderr.txt", path), err, OUTPUT_SIZE - 1)] = '\0';
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Expects an exit status, and @part in what was said. */
static void expect(void **state, const char *lines, int code, const char *part)
{
    int got = run(state, lines);
    if (got != code || (!strstr(out, part) && !strstr(err, part)))
        fail_msg("%s gave %d, and not %d with \"%s\":\n%s%s", lines, got, code, part, out, err);
}

static json_t *run_json(void **state, const char *lines, int code)
{
    int got = run(state, lines);
    if (got != code)
        fail_msg("%s gave %d: %s", lines, got, err);
    json_t *json = json_loads(out, 0, NULL);
    assert_non_null(json);
    return json;
}

static double real(const json_t *json, const char *key)
{
    return json_number_value(json_object_get(json, key));
}

static const char *text(const json_t *json, const char *key)
{
    const char *value = json_string_value(json_object_get(json, key));
    return value ? value : "";
}

/* Removes what the program left in the folder of its cache. */
static int close_folder(void **state)
{
    run(state, "rm -rf ceilings");
    return scratch_close(state);
}

/* ---- heed roofline ---- */

static void test_measured(void **state)
{
    json_t *json = run_json(state, "heed roofline -t 1 --json 'b1 h2 s256 d64 f32'", 0);
    const json_t *ceilings = json_object_get(json, "ceilings");
    const json_t *row = json_array_get(json_object_get(json, "problems"), 0);
    assert_string_equal(text(json, "schema"), "heed.roofline/1");
    assert_true(json_is_true(json_object_get(json, "measured")));
    assert_true(real(json_object_get(ceilings, "matrix_flops"), "f32") > 1e8);
    assert_true(real(ceilings, "exp_per_second") > 1e6);
    assert_true(real(ceilings, "memory_bytes_per_second") > 1e7);
    assert_true(real(ceilings, "cache_bytes_per_second") > 1e7);
    assert_string_equal(text(row, "problem"), "b1 h2 s256 d64 f32");
    /* which unit binds is the machine's affair: it may be a busy one */
    const json_t *units = json_object_get(row, "units");
    double matrix = 4.0 * 2 * 256 * 256 * 64 /
                    real(json_object_get(ceilings, "matrix_flops"), "f32");
    assert_true(real(units, "matrix") > 0.999 * matrix && real(units, "matrix") < 1.001 * matrix);
    assert_true(real(row, "cold_seconds") >= real(units, "matrix"));
    assert_true(real(row, "cold_seconds") == real(units, text(row, "cold_bound_by")));
    assert_true(json_is_null(json_object_get(row, "predicted")));
    char time[64];
    snprintf(time, sizeof time, "%s", text(json, "time"));
    json_decref(json);

    /* kept: the same figures again; --fresh measures anew; another number of threads too */
    json = run_json(state, "sleep 1; heed roofline -t 1 --json", 0);
    assert_string_equal(text(json, "time"), time);
    assert_true(real(json, "age_seconds") >= 1);
    json_decref(json);
    json = run_json(state, "heed roofline -t 1 --fresh --json", 0);
    assert_string_not_equal(text(json, "time"), time);
    json_decref(json);

    /* damaged: told, and made anew; old: told */
    expect(state, "sed -i s/exp/exq/ ceilings/*; heed roofline -t 1", 0, "damaged");
    expect(state, "heed roofline -t 1", 0, "matrix f32");
    assert_true(*err == '\0');
    expect(state, "HEED_CACHE=/dev/null heed roofline -t 1", 0, "are not kept");
}

/* Ceilings of long ago are used, and that is said; those from tomorrow are of this moment. */
static void test_age(void **state)
{
    lab_ceilings ceilings;
    lab_error error;
    char path[LAB_CEILINGS_PATH];
    json_t *json = run_json(state, "heed roofline -t 1 --json", 0);
    snprintf(path, sizeof path, "%s", text(json, "file"));
    json_decref(json);
    assert_int_equal(lab_ceilings_read(&ceilings, path, &error), HEED_OK);
    ceilings.time -= 40 * 86400;
    assert_int_equal(lab_ceilings_write(&ceilings, path, &error), HEED_OK);
    expect(state, "heed roofline -t 1", 0, "40 days ago");
    assert_non_null(strstr(err, "--fresh"));
    ceilings.time += 41 * 86400;
    assert_int_equal(lab_ceilings_write(&ceilings, path, &error), HEED_OK);
    expect(state, "heed roofline -t 1", 0, "0 seconds ago");
    assert_true(*err == '\0');

    /* heed bench has the same ceilings, and sets its times beside them */
    json = run_json(state, "heed bench -t 1 --peers none --seconds 0.02 --json 'b1 h1 s64 d64 f32'",
                    0);
    const json_t *row = json_array_get(json_object_get(json, "rows"), 0);
    double share = real(row, "of_roofline");
    assert_true(real(row, "floor_seconds") > 0 && *text(row, "bound_by"));
    double expected = real(row, "floor_seconds") / real(json_object_get(row, "seconds"), "p50");
    assert_true(share > 0.999 * expected && share < 1.001 * expected);
    json_decref(json);
}

static void test_machines(void **state)
{
    json_t *json = run_json(
        state, "heed roofline --machine L4 --json 'b4 h32 s4096 d64 f16' 'b1 h1 s64 d512 f32'", 0);
    const json_t *rows = json_object_get(json, "problems");
    const json_t *row = json_array_get(rows, 0), *best = json_object_get(row, "predicted");
    double floor = 4.0 * 4 * 32 * 4096 * 4096 * 64 / 121e12;
    assert_false(json_is_true(json_object_get(json, "measured")));
    assert_string_equal(text(json, "device"), "NVIDIA L4");
    assert_true(real(row, "cold_seconds") > 0.99 * floor &&
                real(row, "cold_seconds") < 1.01 * floor);
    assert_string_equal(text(row, "cold_bound_by"), "matrix");
    assert_true(strncmp(text(best, "kernel"), "fwd_16bit_sm80_mma__", 20) == 0);
    assert_true(real(best, "seconds") > floor && real(best, "share") < 1);
    json_decref(json);

    expect(state, "heed roofline --machine h200 --shapes '" HEED_SOURCE_DIR "/shapes/seed.txt'", 0,
           "fwd_16bit_sm90_wgmma");
    assert_non_null(strstr(out, "nothing here was measured"));
    expect(state, "heed roofline --machine L40", 2, "did you mean L4");
    expect(state, "heed roofline --machine GTX", 2, "B200");
    expect(state, "heed roofline --machine L4 --fresh", 2, "cannot be used with --machine");
    expect(state, "heed roofline --space sweep90", 2, "needs --judge");
    expect(state, "heed roofline --machine L4 --judge", 2, "needs --trials");
    expect(state, "heed roofline --machine L4 'b1 h8 s512 d64 f31'", 2, "f31");
}

#define TRIALS HEED_SOURCE_DIR "/tests/data/trials/"

static void test_judged(void **state)
{
    json_t *json = run_json(state,
                            "heed roofline --judge --machine H200 --json --space '" HEED_SOURCE_DIR
                            "/spaces/sweep90.txt' --trials '" TRIALS "sweep90-h200.txt'",
                            0);
    const json_t *overall = json_object_get(json, "overall");
    assert_true(json_is_true(json_object_get(json, "good")));
    assert_int_equal(real(overall, "points"), 55);
    assert_true(real(overall, "rank_correlation") >= 0.7);
    assert_true(real(overall, "chosen_over_best") < 1.2);
    assert_int_equal(json_array_size(json_object_get(json, "problems")), 8);
    json_decref(json);

    /* times that are the wrong way round: a finding */
    expect(state,
           "awk '$1 == \"trial\" && $4 == \"time\" { $5 = 1e-10 / $5 } { print }' '" TRIALS
           "sweep90-h200.txt' >turned.txt; heed roofline --judge --machine H200 --space "
           "'" HEED_SOURCE_DIR "/spaces/sweep90.txt' --trials turned.txt",
           1, "less than 0.7");
    expect(state,
           "heed roofline --judge --machine H200 --space '" HEED_SOURCE_DIR
           "/spaces/sweep90.txt' --trials /nowhere",
           3, "/nowhere");
    expect(state, "heed roofline --judge --space nowhere.txt", 3, "nowhere.txt");

    /* for real, on this CPU */
    json = run_json(
        state,
        "printf 'kernel fwd_any_scalar_row\\nknob splits 1 2 4 8\\nconfig s = splits\\n'"
        " >few.txt; heed roofline --judge --space few.txt -t 1 --json "
        "'b1 h1 s8/2000 d16 f32' 2>said.txt || [ $? = 1 ]",
        0);
    assert_string_equal(text(json, "kernel"), "fwd_any_scalar_row");
    assert_true(real(json_object_get(json, "overall"), "points") >= 2);
    json_decref(json);
}

/* ---- heed doctor --lock, --check ---- */

static void test_lock(void **state)
{
    expect(state, "heed doctor --lock lock.json", 0, "lock.json, hash");
    expect(state, "heed doctor --check lock.json", 0, "are the same");
    json_t *json = run_json(state, "heed doctor --lock", 0);
    const json_t *parts = json_object_get(json, "parts");
    static const char *const always[] = {
        "heed", "compiler", "libc", "kernel", "sqlite", "jansson", "candidate-compiler"
    };
    assert_string_equal(text(json, "schema"), "heed.manifest/1");
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (!*text(json_object_get(parts, always[i]), "version"))
            fail_msg("no %s", always[i]);
    json_decref(json);
    expect(state, "heed doctor --lock /nowhere/lock.json", 3, "/nowhere");
}

/* Another machine's manifest, made by a change that keeps the hash right. */
static void test_differences(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    expect(state, "heed doctor --lock lock.json", 0, "hash");
    /* a compiler that is no more there */
    expect(state, "HEED_CC=/nowhere heed doctor --check lock.json", 1, "candidate-compiler");
    assert_non_null(strstr(out, "not there"));
    assert_null(strstr(out, "libc"));
    json_t *json = run_json(state, "HEED_CC=/nowhere heed doctor --check lock.json --json", 1);
    const json_t *one = json_array_get(json_object_get(json, "differences"), 0);
    assert_string_equal(text(json, "schema"), "heed.doctor-check/1");
    assert_false(json_is_true(json_object_get(json, "same")));
    assert_string_equal(text(one, "name"), "candidate-compiler");
    assert_true(*text(one, "then") && json_is_null(json_object_get(one, "now")));
    json_decref(json);

    /* files that are no manifests, or were changed */
    static const struct {
        const char *text, *said;
    } bad[] = {
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
    scratch_path(state, "bad.json", path);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        scratch_write(path, bad[i].text, strlen(bad[i].text));
        expect(state, "heed doctor --check bad.json", 7, bad[i].said);
    }
    expect(state, "sed 's/\"libc\"/\"libd\"/' lock.json >bad.json; heed doctor --check bad.json", 7,
           "hash does not fit");
    expect(state, "heed doctor --check /nowhere", 3, "/nowhere");
    expect(state, "heed doctor --lock --check lock.json", 2, "together");
    expect(state, "heed doctor lock.json", 2, "unexpected");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_measured, scratch_open, close_folder),
        cmocka_unit_test_setup_teardown(test_age, scratch_open, close_folder),
        cmocka_unit_test_setup_teardown(test_machines, scratch_open, close_folder),
        cmocka_unit_test_setup_teardown(test_judged, scratch_open, close_folder),
        cmocka_unit_test_setup_teardown(test_lock, scratch_open, close_folder),
        cmocka_unit_test_setup_teardown(test_differences, scratch_open, close_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
