/*
 * test_evidence.c - the trials that verbs add to the board: no field is empty that the verb could
 * fill
 */
#include "run_tests.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/measure/environment.h"
#include "lab/measure/stats.h"
#include "run_heed.h"
#include "scratch.h"

#define SPEC "'b1 h2 s16/64 d16 f32'"
#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "

static const run_heed_way way = { HEED_PROGRAM,
                                  "HEED_DEVICE=cpu HEED_BOARD=board.db HEED_CACHE=\"$PWD/cache\"" };

/* -------------------------------------------------------------------------- */
/* Statements of a trial                                                      */
/* -------------------------------------------------------------------------- */

/* Properties of a verb, or of a trial of it. */
enum {
    ALWAYS = 0,
    TIMED = 1,    /* the trial has a figure */
    OF_CUDA = 2,  /* the kernel ran on a GPU */
    SOURCES = 4,  /* the kernel has a separate source */
    SEEDED = 8,   /* the verb uses random numbers */
    PARENTS = 16, /* some kernels have parents */
    RIVALS = 32   /* it is timed against a rival */
};

static const struct {
    const char *section, *name;
    unsigned of;
} fields[] = {
    { "trial", "verdict", ALWAYS },
    { "trial", "seed", SEEDED },
    { "trial", "started", ALWAYS },
    { "trial", "ended", ALWAYS },
    { "trial", "timing", TIMED },
    { "trial", "seconds", TIMED },
    { "trial", "p90", TIMED },
    { "problem", "spec", ALWAYS },
    { "problem", "flops", ALWAYS },
    { "candidate", "hash", ALWAYS },
    { "candidate", "kernel", ALWAYS },
    { "candidate", "proposer", ALWAYS },
    { "candidate", "seed", SEEDED },
    { "candidate", "source_sha256", SOURCES },
    { "source", "text", SOURCES },
    { "artifact", "sha256", SOURCES },
    { "artifact", "bytes", SOURCES },
    { "artifact", "sha256", OF_CUDA | TIMED },
    { "artifact", "form", OF_CUDA | TIMED },
    { "launch", "words", OF_CUDA },
    { "device", "name", ALWAYS },
    { "device", "backend", ALWAYS },
    { "device", "memory_bytes", ALWAYS },
    { "device", "multiprocessors", OF_CUDA },
    { "environment", "features", ALWAYS },
    { "environment", "threads", ALWAYS },
    { "environment", "build", ALWAYS },
    { "environment", "heed", ALWAYS },
    { "environment", "git_commit", ALWAYS },
    { "environment", "dirty", ALWAYS },
    { "environment", "driver", OF_CUDA },
    { "environment", "nvrtc", OF_CUDA },
    { "environment", "compiler", ALWAYS },
    { "environment", "libraries", ALWAYS },
    { "environment", "cpu", ALWAYS },
    { "environment", "system", ALWAYS },
    { "manifest", "sha256", ALWAYS },
    { "run", "verb", ALWAYS },
    { "run", "command", ALWAYS },
    { "run", "seed", ALWAYS },
    { "library", "sha256", ALWAYS },
    { "seal", "sha256", ALWAYS },
};

/* A command that adds trials to the board, and the properties that they must have. */
static const struct {
    const char *verb, *line, *proposer;
    unsigned is;
    size_t least; /* number of trials */
} ways[] = {
    { "bench",
      "heed bench " SPEC
      " -t 1 --peers none --against fwd_any_scalar_row --seconds 0.05 --record r "
      "&& heed board add r/*/*/*.json",
      "bench", SEEDED | RIVALS, 1 },
    { "sweep", "heed sweep cpu_few " SPEC " -t 1 --trials 2 --no-verify", "sweep", SEEDED, 2 },
    { "evolve", "heed evolve " SPEC " -t 1 --space cpu_tile --trials 10 --duel 0.05 --no-verify",
      "evolve", SEEDED | PARENTS, 8 },
    { "evolve",
      "heed evolve 'b1 h1 s16 d16 f32' -t 1 --proposer regions --trials 3 --duel 0.05 --no-verify",
      "heed-propose-regions", SEEDED | SOURCES | PARENTS, 3 },
    { "tune",
      "heed tune " SPEC " -t 1 --peers none --seconds 20 --trials 16 --rivals 0.05 --duel 0.2 "
      "--space cpu_tile",
      "tune", SEEDED | PARENTS, 6 },
    /* The kernels of this fake GPU compute a wrong result. */
    { "bench",
      "export " FAKE "; heed bench 'b1 h2 s64 d64 f16' --device cuda --peers none --seconds 0.02 "
      "--record c; heed board add c/*/*/*.json",
      "bench", SEEDED | OF_CUDA, 1 },
};

static const json_t *member(const json_t *trial, const char *section, const char *name)
{
    return json_object_get(json_object_get(trial, section), name);
}

static const char *text_of(const json_t *trial, const char *section, const char *name)
{
    const char *text = json_string_value(member(trial, section, name));
    return text ? text : "";
}

/* Returns whether @value is present, and not "unknown". */
static bool is_there(const json_t *value)
{
    if (json_is_string(value))
        return *json_string_value(value) && strcmp(json_string_value(value), "unknown") != 0;
    return json_is_number(value) || json_is_boolean(value);
}

static double median_of(const json_t *seconds)
{
    size_t count = json_array_size(seconds);
    double values[4096] = { 0 };
    assert_in_range(count, 1, 4096);
    for (size_t i = 0; i < count; i++) {
        values[i] = json_number_value(json_array_get(seconds, i));
        assert_true(values[i] > 0);
    }
    lab_stats_sort(values, count);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The figure follows from the samples next to it: of the kernel alone, or of its turns in a
 * comparison, in which the other side has the same number. */
static void expect_samples(const json_t *trial, long long id)
{
    const json_t *all = json_object_get(trial, "samples"), *own = NULL, *row;
    double figure = json_number_value(member(trial, "trial", "seconds"));
    size_t i, other = 0, self = 0;
    json_array_foreach((json_t *)(uintptr_t)all, i, row)
    {
        size_t count = json_array_size(json_object_get(row, "seconds"));
        bool alone = !*json_string_value(json_object_get(row, "against"));
        bool mine = strcmp(json_string_value(json_object_get(row, "side")), "self") == 0;
        if (mine && (!own || alone))
            own = json_object_get(row, "seconds");
        self += mine && !alone ? count : 0;
        other += mine ? 0 : count;
    }
    if (!own)
        fail_msg("trial %lld has a figure and no samples", id);
    if (self != other)
        fail_msg("trial %lld: %zu blocks of its own and %zu of others", id, self, other);
    double median = median_of(own);
    if (!(figure / median > 1 - 1e-6 && figure / median < 1 + 1e-6))
        fail_msg("trial %lld: seconds is %g, the median of its samples %g", id, figure, median);
    if (json_array_size(json_object_get(trial, "gates")) == 0 &&
        json_array_size(json_object_get(trial, "comparisons")) == 0)
        fail_msg("trial %lld has a figure, and no gate checked its result", id);
}

static void expect_fields(const json_t *trial, long long id, const char *line, unsigned is)
{
    bool good = strcmp(text_of(trial, "trial", "verdict"), "ok") == 0;
    /* A kernel that was only inspected has facts and no figure. */
    bool timed = good && json_array_size(json_object_get(trial, "facts")) == 0;
    timed |= is_there(member(trial, "trial", "timing"));
    lab_environment around;
    lab_environment_read(&around);
    is |= timed ? TIMED : 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const json_t *value = member(trial, fields[i].section, fields[i].name);
        if ((fields[i].of & is) != fields[i].of ||
            (strcmp(fields[i].name, "git_commit") == 0 && strcmp(around.commit, "unknown") == 0))
            continue;
        if (!is_there(value))
            fail_msg("%s: trial %lld has no %s.%s", line, id, fields[i].section, fields[i].name);
    }
    assert_true(strcmp(text_of(trial, "trial", "started"), text_of(trial, "trial", "ended")) <= 0);
    if (timed)
        expect_samples(trial, id);
}

static void every_field_is_filled_in(void **state)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        size_t parents = 0, compared = 0, at;
        json_t *row;
        run_heed_must(state, &way, "rm -f board.db*", 0);
        run_heed_must(state, &way, ways[i].line, 0);
        json_t *board = run_heed_json(state, &way, "heed board --all --json", 0);
        json_t *rows = json_object_get(board, "rows");
        if (json_array_size(rows) < ways[i].least)
            fail_msg("%s: %zu trials", ways[i].line, json_array_size(rows));
        json_array_foreach(rows, at, row)
        {
            char line[64];
            long long id = json_integer_value(json_object_get(row, "trial"));
            snprintf(line, sizeof line, "heed board show %lld --json", id);
            json_t *trial = run_heed_json(state, &way, line, 0);
            /* heed's plan always takes part: it was proposed by the verb, and has no source */
            bool plan = strcmp(text_of(trial, "candidate", "thought"), "heed's plan") == 0;
            expect_fields(trial, id, ways[i].line, plan ? ways[i].is & ~SOURCES : ways[i].is);
            assert_string_equal(text_of(trial, "run", "verb"), ways[i].verb);
            assert_string_equal(text_of(trial, "candidate", "proposer"),
                                plan ? ways[i].verb : ways[i].proposer);
            parents += json_array_size(json_object_get(trial, "parents"));
            compared += json_array_size(json_object_get(trial, "comparisons"));
            json_decref(trial);
        }
        if ((ways[i].is & PARENTS) && parents == 0)
            fail_msg("%s: no trial has parents", ways[i].line);
        if ((ways[i].is & RIVALS) && compared == 0)
            fail_msg("%s: no trial was compared", ways[i].line);
        json_decref(board);
        run_heed_must(state, &way, "heed board check", 0);
    }
}

/* The manifest that a trial names is available, and matches this machine. */
static void the_manifest_can_be_had(void **state)
{
    static const run_heed_row rows[] = {
        { "rm -f board.db*; heed sweep cpu_few " SPEC " -t 1 --trials 1 --no-verify --no-compare",
          0, NULL, NULL },
        { "heed board manifest 1 >then.lock && heed doctor --check then.lock", 0, NULL, NULL },
        { "heed doctor --lock now.lock && grep -q \"$(grep hash now.lock)\" then.lock", 0, NULL,
          NULL },
        { "heed board manifest 99", 2, "", "there is no trial 99" },
        { "heed board manifest x", 2, "", "manifest: 'x' is not the number of a trial" },
        /* A record has the parts of its manifest, which must match the hash. */
        { "rm -rf board.db* r; heed bench " SPEC " -t 1 --peers none --seconds 0.02 --record r; mv "
          "r/*/*/*.json kept.json; heed board add kept.json && heed board manifest 1 >then.lock && "
          "grep -o '\"manifest\":\"[^\"]*' kept.json | grep \"$(grep -o '[0-9a-f]\\{64\\}' "
          "then.lock | head -1)\"",
          0, NULL, NULL },
        { "sed 's/\"parts\":/&{},\"was\":/' kept.json >none.json; heed board add none.json", 7, "",
          "parts must be an object of tools, each with its version" },
        { "sed 's/\"manifest\":/\"was\":/' kept.json >none.json; heed board add none.json", 7, "",
          "manifest is missing; it must be the hash of parts" },
        { "rm board.db; sed 's/\"parts\":/\"was\":/' kept.json >none.json; heed board add "
          "none.json "
          "&& heed board manifest 1",
          1, "", "which did not come with it" },
    };
    run_heed_rows(state, &way, rows, sizeof rows / sizeof *rows);
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, every_field_is_filled_in, the_manifest_can_be_had)
