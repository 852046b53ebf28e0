/*
 * test_tune.c - the `heed tune` command: it finds faster kernels, reports if there are none, and
 * loses nothing when interrupted
 */
#include "run_tests.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "members.h"
#include "run_heed.h"
#include "scratch.h"

#define SPEC "'b1 h2 s8/1024 d64 f32'"
#define SLOW "fwd_any_scalar_row__s1"
#define QUICK "-t 1 --peers none --rivals 0.05 --duel ${DUEL:-4} --json "

static const run_heed_way way = { HEED_PROGRAM, "HEED_CACHE=\"$PWD/cache\" HEED_DEVICE=cpu "
                                                "HEED_BOARD=board.db" };
static heed_said said;

static const json_t *shape_of(const json_t *json)
{
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    assert_non_null(shape);
    return shape;
}

/* Maximum duration of a step on a busy machine, such as the start of a rival. */
#define UNIT_SECONDS 4

/* Returns whether there is a kernel whose configs differ by more than noise, which needs an
 * optimized build. */
static bool has_avx2(void **state)
{
#ifdef TUNE_SLOW_KERNELS
    (void)state;
    return false;
#else
    run_heed(state, &way, "heed plan --cpu avx2 -t 1 --kernel fwd_any_avx2_few " SPEC, &said);
    return said.code == 0;
#endif
}

/* A board that is led by a slow config: a better one is found, verified, stored and planned. */
static void test_improvement(void **state)
{
    if (!has_avx2(state))
        skip();
    json_t *json = NULL;
    for (int duel = 4; duel < 100; duel *= 3) {
        char line[300];
        snprintf(line, sizeof line,
                 "DUEL=%d; heed tune --cpu avx2 " SPEC " --seconds 60 --trials 12 "
                 "--space cpu_few --wisdom w.txt " QUICK,
                 duel);
        run_heed_as(state, &way,
                    "rm -f board.db; heed bench --cpu avx2 " SPEC
                    " --peers none --seconds 0.05 -t 1 --kernel " SLOW
                    " --json >bench.json; heed board add bench.json",
                    0, &said);
        json_decref(json);
        json = run_heed_json(state, &way, line, 0);
        if (json_is_true(json_object_get(shape_of(json), "improved")))
            break; /* otherwise the machine may be busy: the next try has more time */
    }
    const json_t *shape = shape_of(json);
    assert_string_equal(text_of(json, "schema"), "heed.tune/1");
    assert_string_equal(text_of(shape, "champion"), SLOW);
    if (!json_is_true(json_object_get(shape, "improved")))
        fail_msg("no improvement: %s", text_of(shape, "why"));
    assert_int_equal(integer_of(json, "improved"), 1);
    const json_t *figures = json_object_get(json, "figures");
    assert_true(integer_of(figures, "candidates") >= integer_of(figures, "compiled"));
    assert_true(integer_of(figures, "passed") > 0);
    assert_true(number_of(json_object_get(figures, "over_origin"), "best") > 1);
    assert_true(integer_of(shape, "launched") <= 12);
    assert_string_equal(text_of(shape, "gates"), "all");
    assert_true(json_number_value(json_object_get(json_object_get(shape, "again"), "low")) > 1.03);
    assert_true(number_of(shape, "best_seconds") > 0);
    assert_true(number_of(shape, "champion_seconds") > number_of(shape, "best_seconds"));
    assert_string_equal(text_of(json_object_get(shape, "after"), "kernel"), text_of(shape, "best"));
    run_heed_as(state, &way, "heed plan --cpu avx2 -t 1 --wisdom w.txt " SPEC, 0, &said);
    assert_non_null(strstr(said.out, text_of(shape, "best")));
    run_heed_as(state, &way, "heed board", 0, &said);
    assert_non_null(strstr(said.out, text_of(shape, "best")));
    /* It is the champion from now on. */
    json_t *later = run_heed_json(state, &way, "heed tune --cpu avx2 " SPEC " --trials 1 " QUICK,
                                  0);
    assert_string_equal(text_of(shape_of(later), "champion"), text_of(shape, "best"));
    assert_false(json_is_true(json_object_get(later, "resumed")));
    json_decref(later);
    json_decref(json);
}

/* Joins wrapped lines. */
static void unfold(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        bool goes_on = strncmp(from, "\n    ", 5) == 0;
        *to++ = goes_on ? ' ' : *from;
        from += goes_on ? 5 : 1;
    }
    *to = '\0';
}

/* The only point is the champion: nothing is found, and no improvement is mentioned. */
static void test_none(void **state)
{
    scratch_text_write(state, "one.txt",
                       "kernel fwd_any_scalar_row\nknob splits 1\nconfig s = splits\n");
    run_heed_as(state, &way,
                "heed tune --board none.db --cpu scalar 'b1 h1 s100 d16 f32' --space "
                "one.txt -t 1 --peers none --rivals 0.05 --wisdom kept.txt",
                0, &said);
    unfold(said.out);
    assert_non_null(strstr(said.out, "no improvement"));
    assert_non_null(strstr(said.out, " of 1:00 were used"));
    assert_non_null(strstr(said.out, "the search found nothing faster"));
    assert_non_null(strstr(said.out, "no rival"));
    /* The existing kernel is confirmed as the best, and wisdom alone is enough from then on. */
    run_heed_as(state, &way,
                "heed plan --cpu scalar -t 1 --wisdom kept.txt --effort wisdom "
                "'b1 h1 s100 d16 f32'",
                0, &said);
    assert_non_null(strstr(said.out, "fwd_any_scalar_row"));
    run_heed_as(state, &way,
                "heed tune --board late.db --cpu scalar 'b1 h1 s100 d16 f32' --space one.txt -t 1 "
                "--peers none --seconds 0.01 --wisdom late.txt",
                0, &said);
    assert_non_null(strstr(said.err, "late.txt gets 0 of 1 problem;"));
    unfold(said.out);
    assert_non_null(
        strstr(said.out, "no candidates; no speed-up over the kernels before is known"));
}

/* A kernel that is in no space is timed and stored. */
static void test_nothing_to_search(void **state)
{
    json_t *json = run_heed_json(state, &way,
                                 "heed tune --board plain.db --cpu scalar 'b1 h1 s64 d16 f32' "
                                 "--space cpu_few " QUICK,
                                 0);
    const json_t *shape = shape_of(json);
    assert_int_equal(json_array_size(json_object_get(shape, "spaces")), 0);
    assert_string_equal(text_of(shape, "gates"), "all");
    assert_true(json_is_object(json_object_get(shape, "before")));
    assert_false(json_is_true(json_object_get(shape, "improved")));
    assert_int_equal((int)number_of(json_object_get(json, "figures"), "candidates"), 0);
    assert_true(json_is_null(json_object_get(json_object_get(json, "figures"), "over_origin")));
    json_decref(json);
}

/* The number of offspring of all spaces; 0 as well if one was not searched. */
static json_int_t bred_of(const json_t *spaces)
{
    json_int_t bred = 0;
    for (size_t i = 0; i < json_array_size(spaces); i++) {
        if (integer_of(json_array_get(spaces, i), "launched") == 0)
            return 0;
        bred += integer_of(json_array_get(spaces, i), "bred");
    }
    return bred;
}

/* Searches all spaces. A run that a busy machine may have cut short is repeated with more time. */
static json_t *tune_all(void **state)
{
    json_t *json = NULL;
    for (int seconds = 15; seconds < 1000; seconds *= 4) {
        char line[300];
        snprintf(line, sizeof line,
                 "rm -f all.db*; heed tune --board all.db --cpu avx2 'b1 h2 s32/256 d32 f32' "
                 "--seconds %d --trials 12 " QUICK,
                 seconds);
        json_decref(json);
        json = run_heed_json(state, &way, line, 0);
        const json_t *shape = shape_of(json);
        bool whole = bred_of(json_object_get(shape, "spaces")) > 0 &&
                     strcmp(text_of(shape, "gates"), "all") == 0;
        if (whole || number_of(json, "took") < seconds / 3.0)
            break;
    }
    return json;
}

/* All kernels that support a problem are searched, then evolved, and the leader is verified. */
static void test_all_spaces(void **state)
{
    if (!has_avx2(state))
        skip();
    json_t *json = tune_all(state);
    const json_t *shape = shape_of(json), *spaces = json_object_get(shape, "spaces");
    json_int_t launched = 0;
    assert_int_equal(json_array_size(spaces), 2);
    assert_string_not_equal(text_of(json_array_get(spaces, 0), "kernel"),
                            text_of(json_array_get(spaces, 1), "kernel"));
    for (size_t i = 0; i < 2; i++) {
        assert_true(integer_of(json_array_get(spaces, i), "launched") > 0);
        launched += integer_of(json_array_get(spaces, i), "launched");
    }
    assert_true(bred_of(spaces) > 0);
    assert_in_range(launched, 3, 12);
    assert_string_equal(text_of(shape, "gates"), "all");
    json_decref(json);
}

/* The time limit covers everything and is exceeded by at most one step: a point, a match, a
 * comparison. Steps without time are named. */
static void test_budget(void **state)
{
    static const char *const budgets[] = { "0.01", "0.3", "2" };
    for (size_t i = 0; i < 3; i++) {
        char line[300];
        snprintf(line, sizeof line,
                 "heed tune --board tight.db 'b1 h4 s256 d64 f32' 'b1 h4 s256 d64 f16' "
                 "'b1 h4 s256 d64 f32 causal' --seconds %s -t 2 --json",
                 budgets[i]);
        json_t *json = run_heed_json(state, &way, line, 0);
        double budget = atof(budgets[i]);
        assert_true(number_of(json, "seconds") == budget);
        if (number_of(json, "took") > budget + UNIT_SECONDS)
            fail_msg("%.2f s of %.2f were used", number_of(json, "took"), budget);
        for (size_t j = 0; j < 3; j++) {
            const json_t *shape = json_array_get(json_object_get(json, "shapes"), j);
            const char *gates = text_of(shape, "gates");
            assert_true(strcmp(gates, "no time") == 0 || strcmp(gates, "all") == 0);
            if (i == 0)
                assert_string_equal(gates, "no time");
            if (strcmp(gates, "no time") == 0)
                assert_false(json_is_true(json_object_get(shape, "wisdom")));
        }
        json_decref(json);
    }
}

/* The run @line resumes another one, and reuses @least of its trials or more. */
static void expect_resumed(void **state, const char *line, json_int_t least)
{
    json_t *json = run_heed_json(state, &way, line, 0);
    assert_true(json_is_true(json_object_get(json, "resumed")));
    assert_true(integer_of(shape_of(json), "reused") >= least);
    json_decref(json);
}

/* After Ctrl-C every trial is on the board, and the same command resumes. */
static void test_interrupt(void **state)
{
    static const char line[] = "set -m; '" HEED_PROGRAM
                               "' tune --board i.db 'b1 h4 s512 d64 f32' --seconds 60 " QUICK
                               "& await_trials i.db 4; kill -INT $!; wait $!";
    run_heed_as(state, &way, line, 130, &said);
    assert_non_null(strstr(said.err, "goes on from there"));
    expect_resumed(state,
                   "heed tune --board i.db 'b1 h4 s512 d64 f32' --seconds 15 --trials 6 " QUICK, 2);
}

/* Trials that were acknowledged before the process was killed are present, intact, and not
 * repeated. */
static void test_killed(void **state)
{
    static const char line[] =
        "set -m; '" HEED_PROGRAM "' tune --board k.db 'b1 h4 s512 d64 f32' --seconds 60 " QUICK
        "& for i in $(seq 3000); do n=$(heed board check --board k.db 2>/dev/null | head -1 | cut "
        "-d' ' -f1);"
        " [ \"${n:-0}\" -ge 4 ] && break; sleep 0.05; done; echo $n >known.txt; kill -KILL $!; "
        "wait $!";
    run_heed_as(state, &way, line, 137, &said); /* 128 and SIGKILL */
    run_heed_as(
        state, &way,
        "n=$(heed board check --board k.db | head -1 | cut -d' ' -f1); [ $n -ge $(cat known.txt) ] "
        "&& [ $n -ge 4 ]",
        0, &said);
    expect_resumed(state,
                   "heed tune --board k.db 'b1 h4 s512 d64 f32' --seconds 6 --trials 4 " QUICK, 1);
    run_heed_as(state, &way, "heed board check --board k.db", 0, &said);
}

static void test_refusals(void **state)
{
    static const run_heed_row rows[] = {
        { "heed tune 'b1 h1 s8 d8'", 2, NULL, "type" },
        { "heed tune --seconds 0 'b1 h1 s8 d8 f32'", 2, NULL, "--seconds" },
        { "heed tune --shapes nowhere.txt", 3, NULL, "nowhere.txt" },
        { "heed tune --space nowhere.txt 'b1 h1 s8 d8 f32' --peers none", 3, NULL, "nowhere.txt" },
        { "rm -f new.db; heed tune --board new.db --peers naivve 'b1 h1 s8 d8 f32'; echo $?; "
          "ls new.db",
          2, "2\n", "--peers: there is no rival 'naivve' here" },
        { "echo none >bad.db; heed tune --board bad.db 'b1 h1 s8 d8 f32'", 7, NULL, "bad.db" },
        /* before Python is asked for its packages, which may take a minute */
        { "printf '#!/bin/sh\\ntouch asked\\n' >slow; chmod +x slow; HEED_PYTHON=$PWD/slow heed "
          "tune "
          "--board bad.db --peers none 'b1 h1 s8 d8 f32'; code=$?; [ ! -e asked ] && exit $code",
          7, NULL, "bad.db" },
    };
    run_heed_rows(state, &way, rows, sizeof rows / sizeof *rows);
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, test_improvement, test_none, test_nothing_to_search,
                 test_interrupt, test_killed, test_all_spaces, test_budget, test_refusals)
