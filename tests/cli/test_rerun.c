/*
 * test_rerun.c - a leader of the board with a separate source is compared with heed's results: by
 * `heed tune`, and by both kinds of `heed evolve`
 */
#include "run_tests.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hold.h"
#include "leader.h"
#include "members.h"
#include "run_heed.h"
#include "scratch.h"

/* The plain kernel takes ten times as long as heed's. */
#define SPEC "b1 h2 s128 d64 f32"
#define TUNE                                                                            \
    "heed tune -t 1 --peers none --rivals 0.05 --trials 1 --duel ${DUEL:-1} --seconds " \
    "${GIVEN:-300} "                                                                    \
    "--insights none "

/* Seconds of a duel. On a busy machine an ambiguous result is retried with more. */
static const char *const duels[] = { "1", "8", "40" };
#define DUELS (sizeof duels / sizeof *duels)

static const run_heed_way way = { HEED_PROGRAM,
                                  "HEED_DEVICE=cpu HEED_BOARD=board.db HEED_CACHE=\"$PWD/cache\"" };

/* On a board without a selftest, `heed evolve` tries the gates, which takes longer than everything
 * else in this program. After this call boards have one: that of the board HEED_TEST_SELFTEST, if
 * it is set. */
static void try_gates(void **state)
{
    run_heed_must(state, &way,
                  LEADER_TRUST("passed.db") "[ -f passed.db ] || heed selftest --record --board "
                                            "passed.db",
                  0);
}

/* Makes a new board with a source as its leader. */
static void lead(void **state, const char *name)
{
    run_heed_must(state, &way, "rm -f board.db*; [ ! -f passed.db ] || cp passed.db board.db", 0);
    leader_source(state, name, SPEC, 1e-3);
}

/* Runs a line that must exit with 0 and returns its output, which is valid until the next call. */
static const heed_said *says(void **state, const char *line, const char *part)
{
    static heed_said said;
    run_heed(state, &way, line, &said);
    if (said.code != 0 || (!strstr(said.out, part) && !strstr(said.err, part)))
        fail_msg("%s gave %d and not \"%s\": %s%s", line, said.code, part, said.out, said.err);
    return &said;
}

/* Returns whether it is ranked, in any place. */
static bool is_ranked(void **state, const char *kernel)
{
    json_t *board = run_heed_json(state, &way, "heed board --ranking --json", 0);
    const json_t *row;
    size_t i;
    bool found = false;
    json_array_foreach(json_object_get(board, "rows"), i, row)
        found |= strcmp(text_of(row, "kernel"), kernel) == 0;
    json_decref(board);
    return found;
}

/* Returns whether it leads on the board. */
static bool leads(void **state, const char *kernel)
{
    json_t *board = run_heed_json(state, &way, "heed board --json", 0);
    const json_t *row = json_array_get(json_object_get(board, "rows"), 0);
    bool equal = strcmp(text_of(row, "kernel"), kernel) == 0;
    assert_true(json_is_true(json_object_get(row, "promoted")));
    json_decref(board);
    return equal;
}

static json_t *tune(void **state, const char *more)
{
    char line[400];
    snprintf(line, sizeof line, TUNE "'" SPEC "' --json %s", more);
    return run_heed_json(state, &way, line, 0);
}

static const json_t *leader_of(const json_t *json)
{
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    const json_t *leader = json_object_get(shape, "leader");
    assert_true(json_is_object(leader));
    return leader;
}

/* A slow source loses the lead to heed's plan, once both have been timed against each other twice,
 * and the trials show it. */
static void a_slow_one_is_beaten(void **state)
{
    if (!can_hold())
        skip();
    json_t *json = NULL;
    const json_t *leader = NULL;
    bool beaten = false;
    for (size_t i = 0; i < DUELS && !beaten; i++) {
        char line[400];
        snprintf(line, sizeof line, "DUEL=%s; " TUNE "'" SPEC "' --json", duels[i]);
        lead(state, "plain");
        json_decref(json);
        json = run_heed_json(state, &way, line, 0);
        leader = leader_of(json);
        assert_string_equal(text_of(leader, "name"), "plain");
        beaten = json_is_true(json_object_get(leader, "beaten"));
    }
    if (!beaten)
        fail_msg("it is not beaten: %s", text_of(leader, "why"));
    assert_true(json_number_value(json_object_get(json_object_get(leader, "again"), "low")) > 1.03);
    json_decref(json);
    assert_false(leads(state, "plain"));
    says(state, "heed board show $(heed board --csv | tail -1 | cut -d, -f1)", "plain");
    /* Now one of heed's kernels leads, and everything works as usual. */
    json = tune(state, "--seed 2");
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(json, "shapes"), 0), "leader")));
    json_decref(json);
}

/* The same with evolution: of configs, whose champion runs in this process, and of sources, whose
 * champion runs in a sandbox too. */
static void evolution_meets_it(void **state)
{
    static const char *const lines[] = {
        "heed evolve -t 1 '" SPEC "' --trials 6 --duel $DUEL --no-compare --insights none",
        "heed evolve -t 1 '" SPEC "' --proposer regions --trials 2 --duel 0.5 --no-verify",
        "heed evolve -t 1 '" SPEC "' --source '" HEED_SOURCE_DIR
        "/proposers/attention.c' --proposer ./useless --trials 1 --duel $DUEL --no-verify",
    };
    static const char useless[] = "#!/bin/sh\nwhile read -r line; do echo '{\"status\": \"ok\", "
                                  "\"name\": \"none\", \"source\": \"int x = ;\"}'; done\n";
    if (!can_hold())
        skip();
    const heed_said *said;
    char line[600];
    bool kept = true;
    try_gates(state);
    for (size_t i = 0; i < DUELS && kept; i++) {
        snprintf(line, sizeof line, "DUEL=%s; %s", duels[i], lines[0]);
        lead(state, "plain");
        said = says(state, line, "");
        assert_null(strstr(said->err, "stays leader"));
        kept = leads(state, "plain");
    }
    assert_false(kept);
    lead(state, "plain");
    said = says(state, lines[1], "");
    assert_null(strstr(said->err, "cannot be met"));
    /* A source given by the user is still the user's if nothing beats it. */
    scratch_script_write(state, "useless", useless);
    kept = true;
    for (size_t i = 0; i < DUELS && kept; i++) {
        lead(state, "plain");
        snprintf(line, sizeof line, "DUEL=%s; %s", duels[i], lines[2]);
        says(state, line, "champion origin");
        kept = leads(state, "origin"); /* heed's plan is faster, if the duel can detect it */
    }
    assert_false(kept);
    says(state,
         "for i in $(seq 2 9); do heed board show $i --json; done 2>/dev/null | grep '\"against\": "
         "\"plain\"'",
         "plain");
}

/* A source that cannot be compiled or sandboxed stays leader; the output gives the reason and the
 * remedy. */
static void what_cannot_be_met_says_why(void **state)
{
    lead(state, "syntax");
    json_t *json = tune(state, "");
    const json_t *leader = leader_of(json);
    assert_false(json_is_true(json_object_get(leader, "beaten")));
    assert_non_null(strstr(text_of(leader, "why"), "stays leader: it cannot be run here: "));
    json_decref(json);
    assert_true(leads(state, "syntax"));
    if (!can_hold())
        return;
    lead(state, "plain");
    says(state, "GIVEN=0.01; " TUNE "--seed 3 '" SPEC "'", "there was no time to meet it");
    assert_true(leads(state, "plain"));
}

/* A leader that can no longer be run loses the lead: otherwise one that refuses to be timed would
 * lead forever. */
static void leader_that_will_not_run_loses(void **state)
{
    static const struct {
        const char *leader, *line, *part;
    } rows[] = {
        { "mean", TUNE "'" SPEC "'", "mean is no longer ranked: " },
        { "exit", TUNE "'" SPEC "'", "exit is no longer ranked: " },
        { "divide",
          "heed evolve -t 1 '" SPEC "' --trials 2 --duel 0.1 --no-compare --insights none",
          "which led the board, is no longer ranked: " },
        /* A given source is compared with the leader whether or not another one beats it. */
        { "refuse",
          "heed evolve -t 1 '" SPEC "' --source '" HEED_SOURCE_DIR
          "/proposers/attention.c' --proposer regions --trials 1 --duel 0.1",
          "which led the board, is no longer ranked: " },
    };
    if (!can_hold())
        skip();
    try_gates(state);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lead(state, rows[i].leader);
        assert_true(leads(state, rows[i].leader));
        says(state, rows[i].line, rows[i].part);
        assert_false(is_ranked(state, rows[i].leader));
        says(state, "heed board check", "all as they were added");
    }
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, a_slow_one_is_beaten, evolution_meets_it,
                 what_cannot_be_met_says_why, leader_that_will_not_run_loses)
