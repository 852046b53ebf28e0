/*
 * test_evolve.c - the `heed evolve` command: a champion, the board, interruptions, errors
 */
#include "run_tests.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hold.h"
#include "leader.h"
#include "members.h"
#include "run_heed.h"
#include "scratch.h"

#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "

/* A kernel that every machine supports; four of its twelve points are legal on the problem. */
static const char space[] = "kernel fwd_any_scalar_row\n"
                            "knob splits 1 2 3 4 5 6 7 8 500 600 700 800 as splits\n"
                            "config s = splits\n";
#define PROBLEM "'b1 h2 s2/4096 d16 f32'"
#define EVOLVE "evolve " PROBLEM " --space few.txt -t 2 --duel 0.05 --insights static --board b.db "

static const run_heed_way way = { HEED_PROGRAM, "HEED_CACHE=\"$PWD/cache\" HEED_DEVICE=cpu" };
static heed_said said;

static int open_folder(void **state)
{
    if (scratch_open(state) != 0)
        return -1;
    scratch_text_write(state, "few.txt", space);
    return 0;
}

static json_int_t trials_of_board(void **state, const char *board)
{
    char line[100];
    snprintf(line, sizeof line, "heed board check --board %s --json", board);
    json_t *json = run_heed_json(state, &way, line, 0);
    assert_true(json_is_true(json_object_get(json, "sound")));
    json_int_t trials = integer_of(json, "trials");
    json_decref(json);
    return trials;
}

/* Every legal point is tried exactly once. */
static void test_champion(void **state)
{
    json_t *json = run_heed_json(state, &way, "heed " EVOLVE "--no-verify --json", 0);
    assert_string_equal(text_of(json, "schema"), "heed.evolve/1");
    assert_string_equal(text_of(json, "kernel"), "fwd_any_scalar_row");
    assert_int_equal(integer_of(json, "launched"), 4);
    assert_int_equal(integer_of(json, "timed"), 4);
    assert_int_equal(integer_of(json, "bred"), 12);
    assert_int_equal(integer_of(json, "reused"), 0);
    assert_true(json_is_false(json_object_get(json, "resumed")));
    const json_t *champion = json_object_get(json, "champion");
    assert_non_null(strstr(text_of(champion, "kernel"), "fwd_any_scalar_row__s"));
    assert_true(number_of(champion, "mean_seconds") > 0);
    assert_int_equal(json_array_size(json_object_get(json, "shapes")), 1);
    /* Each challenge is on the board too, with one round or two. */
    json_int_t challenges = integer_of(json, "challenges"), trials = trials_of_board(state, "b.db");
    assert_in_range(trials, 4 + challenges, 4 + 2 * challenges);
    json_decref(json);
    /* A finished run is not continued. */
    json = run_heed_json(state, &way, "heed " EVOLVE "--no-verify --no-compare --trials 2 --json",
                         0);
    assert_int_equal(integer_of(json, "reused"), 0);
    assert_int_equal(integer_of(json, "launched"), 2);
    json_decref(json);
}

/* Bred kernels name their parents. */
static void assert_parents(void **state)
{
    bool parents = false;
    for (json_int_t i = trials_of_board(state, "i.db"); i > 0 && !parents; i--) {
        char line[100];
        snprintf(line, sizeof line, "heed board show %d --board i.db --json", (int)i);
        run_heed_as(state, &way, line, 0, &said);
        assert_non_null(strstr(said.out, "\"evolve\""));
        parents = strstr(said.out, "parent") != NULL;
    }
    assert_true(parents);
}

/* Killed and interrupted runs of @trials trials are resumed, and end like an uninterrupted one. */
static void interrupt(void **state, int trials)
{
#define LONG                                                                          \
    "evolve 'b1 h1 s128/4096 d64 f32' --space cpu_tile -t 2 --duel 0.5 --board i.db " \
    "--no-verify --no-compare --insights static --trials "
    char line[800], again[300];
    snprintf(line, sizeof line,
             "set -m; for signal in KILL INT; do '" HEED_PROGRAM "' " LONG
             "%d & child=$!; await_trials i.db $((${before:-1} + 1)); before=$n; kill -$signal "
             "$child; wait $child; echo $?; done",
             trials);
    snprintf(again, sizeof again, "heed " LONG "%d --json", trials);
    run_heed_as(state, &way, line, 0, &said);
    if (!strstr(said.out, "130"))
        skip(); /* it finished too soon */
    assert_non_null(strstr(said.err, "goes on from there"));
    json_t *json = run_heed_json(state, &way, again, 0);
    assert_true(json_is_true(json_object_get(json, "resumed")));
    assert_int_equal(integer_of(json, "run"), 1);
    assert_true(integer_of(json, "reused") >= 2);
    assert_int_equal(integer_of(json, "launched"), trials);
    json_decref(json);
    assert_parents(state);
}

static void test_interruptions(void **state)
{
    interrupt(state, 18);
}

/* Enough trials for several generations after the interruptions. */
static void test_long_interruptions(void **state)
{
    interrupt(state, 34);
}

/* A champion from the first generation is ranked with a time that did not select it, after passing
 * all gates. The board has a selftest. */
static void expect_first_is_ranked(void **state)
{
#define ALONE \
    "'b1 h2 s1/512 d64 f32' --space few.txt -t 1 --trials 1 --insights static --board v.db "
#define RANKED "heed board --board v.db --problem 'b1 h2 s1/512 d64 f32' --csv"
    run_heed_as(state, &way, "heed evolve --no-compare --no-verify " ALONE, 0, &said);
    run_heed_as(state, &way, RANKED, 0, &said);
    assert_non_null(strstr(said.err, "is ranked: 1 not timed again once they were chosen"));
    run_heed_as(state, &way, "heed evolve --no-compare " ALONE, 0, &said);
    run_heed_as(state, &way, RANKED, 0, &said);
    assert_non_null(strstr(said.out, "\"fwd_any_scalar_row\""));
    assert_null(strstr(said.out, "\"fwd_any_avx2_few\""));
    /* heed's plan is faster, and ranked as soon as it was timed in the same comparison. */
    run_heed_as(state, &way,
                "heed evolve " ALONE " --cpu avx2 --afresh && " RANKED " | tail -n +2 | head -1", 0,
                &said);
    assert_non_null(strstr(said.out, "\"fwd_any_avx2_few\""));
}

/* If the champion is heed's plan, its time is the plan's, and the speed-ups are over that. */
static void test_plan_is_champion(void **state)
{
    scratch_text_write(state, "one.txt",
                       "kernel fwd_any_scalar_row\nknob splits 1\nconfig s = splits\n");
    json_t *json = run_heed_json(
        state, &way,
        "heed evolve --cpu scalar 'b1 h1 s100 d16 f32' --space one.txt -t 1 "
        "--trials 1 --no-verify --insights static --board p.db --json",
        0);
    const json_t *figures = json_object_get(json, "figures");
    assert_true(number_of(json_object_get(figures, "over_origin"), "best") == 1);
    json_decref(json);
}

/* The champion takes the lead on the board from a slow leader, and is promoted; without
 * verification it does not. */
static void test_leads(void **state)
{
#define LED "'b1 h2 s8/1024 d64 f32'"
#define CLIMB(duel)                                                    \
    "heed evolve " LED " --cpu avx2 --space cpu_few -t 1 --duel " duel \
    " --trials 3 --no-compare --insights static --board v.db --json "
    run_heed(state, &way, "heed plan --cpu avx2 -t 1 --kernel fwd_any_avx2_few " LED, &said);
    if (said.code != 0)
        skip();
    run_heed_as(
        state, &way,
        LEADER_TRUST("v.db") "heed bench --cpu avx2 " LED
                             " --peers none --seconds 0.05 -t 1 --kernel "
                             "fwd_any_scalar_row --json >bench.json && heed board add --board v.db "
                             "bench.json",
        0, &said);
    json_t *json = run_heed_json(state, &way, CLIMB("1") "--no-verify", 0);
    assert_int_equal(integer_of(json, "titles"), 0);
    json_decref(json);
    json = run_heed_json(state, &way, CLIMB("1"), 0);
    assert_true(json_is_true(json_object_get(json, "verified")));
    if (integer_of(json, "titles") == 0) {
        json_decref(json); /* the machine is busy: more time */
        json = run_heed_json(state, &way, CLIMB("20"), 0);
    }
    assert_int_equal(integer_of(json, "titles"), 1);
    const json_t *best = json_array_get(json_object_get(json, "best"), 0);
    assert_string_equal(text_of(best, "gates"), "all");
    json_decref(json);
    run_heed_as(state, &way, "heed board --board v.db", 0, &said);
    assert_non_null(strstr(said.out, "fwd_any_avx2_few"));
    expect_first_is_ranked(state);
}

/* ---- Sources ---- */

#define SMALL "'b1 h1 s32 d32 f32'"

static const json_t *kernel_at(const json_t *json, size_t index)
{
    return json_array_get(json_object_get(json, "kernels"), index);
}

/* The champion was timed against heed's plan: both times and the verdict are present. */
static void expect_plan_is_met(const json_t *json)
{
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    assert_string_equal(text_of(shape, "problem"), "b1 h1 s32 d32 f32");
    assert_string_not_equal(text_of(shape, "planned"), "");
    assert_string_not_equal(text_of(shape, "verdict"), "");
    assert_true(number_of(shape, "planned_seconds") > 0);
    assert_true(number_of(shape, "champion_seconds") > 0);
    assert_true(number_of(shape, "ratio") > 0);
}

/* The number of right kernels must be @wanted; prints the others. */
static void expect_right(const json_t *json, json_int_t wanted)
{
    size_t i;
    json_t *kernel;
    json_array_foreach(json_object_get(json, "kernels"), i, kernel)
    {
        char *text = json_dumps(kernel, 0);
        if (strcmp(text_of(kernel, "verdict"), "ok") != 0)
            print_message("%s\n", text);
        free(text);
    }
    assert_int_equal(integer_of(json, "right"), wanted);
}

/* The marked regions of the example source, without a model. */
static void test_regions(void **state)
{
    if (!can_hold())
        skip();
    json_t *json = run_heed_json(state, &way,
                                 "heed evolve " SMALL " --proposer regions --trials 3 --duel 0.05 "
                                 "--no-verify --board b.db --json",
                                 0);
    assert_string_equal(text_of(json, "schema"), "heed.evolve-sources/1");
    assert_string_equal(text_of(json, "proposer"), "heed-propose-regions");
    assert_int_equal(integer_of(json, "tried"), 3);
    expect_right(json, 4);
    /* the figures used in papers: all three passed; nothing is confirmed without gates */
    const json_t *figures = json_object_get(json, "figures");
    assert_int_equal(integer_of(figures, "candidates"), 3 + integer_of(json, "refused"));
    assert_int_equal(integer_of(figures, "compiled"), 3);
    assert_int_equal(integer_of(figures, "passed"), 3);
    assert_true(number_of(json_object_get(figures, "over_origin"), "best") >=
                number_of(json_object_get(figures, "over_origin"), "median"));
    assert_true(json_is_null(json_object_get(figures, "tokens_in")));
    assert_false(json_is_true(json_object_get(figures, "confirmed")));
    const json_t *champion = json_object_get(json, "champion");
    assert_non_null(strstr(text_of(champion, "source"), "heed_candidate_run"));
    assert_true(number_of(champion, "mean_seconds") <=
                number_of(kernel_at(json, 0), "mean_seconds"));
    expect_plan_is_met(json);
    json_int_t challenges = integer_of(json, "challenges");
    json_decref(json);
    assert_in_range(trials_of_board(state, "b.db"), 5 + challenges, 5 + 2 * challenges);
}

/* heed's own plan is run through all gates and added to the board, whatever else is verified, with
 * all its threads and the CPU features given to evolve. */
static void test_plan_is_ranked(void **state)
{
    if (!can_hold())
        skip();
    json_t *json = run_heed_json(state, &way,
                                 "heed evolve " SMALL " --proposer regions --trials 1 -t 2 "
                                 "--way free --cpu scalar --duel 0.05 --no-verify --board p.db "
                                 "--json",
                                 0);
    expect_plan_is_met(json);
    assert_string_equal(text_of(json, "way"), "free");
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    run_heed_as(state, &way, "heed board --ranking --board p.db --csv", 0, &said);
    assert_non_null(strstr(text_of(shape, "planned"), "fwd_any_scalar_row"));
    if (!strstr(said.out, "\"fwd_any_scalar_row\"") || !strstr(said.out, "\"origin\""))
        fail_msg("%s is not in %s", text_of(shape, "planned"), said.out);
    json_decref(json);
}

/* An error in a proposer's source is a verdict, which is sent to the proposer. */
static void test_bad_sources(void **state)
{
    static const char script[] =
        "#!/bin/sh\nn=0\nsay() { printf '{\"status\":\"ok\",\"name\":\"%s\",\"source\":"
        "\"%s\"}\\n' \"$1\" \"$2\"; }\n"
        "begin='#include \\\"heed_candidate.h\\\"\\nint heed_candidate_run("
        "const heed_candidate_problem *p, const heed_candidate_buffers *b) {(void)p;'\n"
        "while read -r line; do\nprintf '%s\\n' \"$line\" >>asked.txt\nn=$((n + 1))\ncase $n in\n"
        "1) say bad 'int x = ;' ;;\n"
        "2) say none \"$begin (void)b; return 0; }\" ;;\n"
        "3) say crash \"$begin *(volatile int *)0 = b != 0; return 0; }\" ;;\n"
        "4) say none \"$begin (void)b; return 0; }\" ;;\n"
        "5) say fwd_mine \"$begin return b != 0; }\" ;;\n"
        "*) echo '{\"status\":\"unsupported\",\"reason\":\"no idea\"}' ;;\nesac\ndone\n";
    static const char *const verdicts[] = { "ok", "compile", "wrong", "access", "unfit" };
    static char asked[1 << 20];
    if (!can_hold())
        skip();
    scratch_script_write(state, "bad", script);
    json_t *json = run_heed_json(state, &way,
                                 "heed evolve " SMALL " --proposer ./bad --no-verify "
                                 "--board b.db --json",
                                 0);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(text_of(kernel_at(json, i), "verdict"), verdicts[i]);
    assert_string_equal(text_of(kernel_at(json, 4), "name"), "proposed-fwd_mine");
    assert_int_equal(integer_of(json, "tried"), 4);
    assert_int_equal(integer_of(json, "refused"), 1);
    assert_non_null(strstr(text_of(json, "end"), "no idea"));
    assert_string_equal(text_of(json_object_get(json, "champion"), "name"), "origin");
    json_decref(json);
    /* It is ranked, since its time did not select it; the others are not. */
    run_heed_as(state, &way,
                "heed board --board b.db --ranking --csv | tail -n +2 | grep -v '\"fwd_'", 0,
                &said); /* except for heed's plan */
    assert_non_null(strstr(said.out, "\"origin\""));
    assert_string_equal(strchr(said.out, '\n'), "\n");
    scratch_text_read(state, "asked.txt", asked, sizeof asked);
    assert_non_null(strstr(asked, "expected expression"));
    assert_non_null(strstr(asked, "2 of the last 3 kernels failed"));
}

/* A champion that cannot be timed again is dropped: here one that recognizes a process by its first
 * call. */
static void test_shy_champion(void **state)
{
    static const char shy[] =
        "\n#undef heed_candidate_run\n__attribute__((visibility(\"default\"))) int "
        "heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)\n"
        "{\n    static int known;\n    known |= b->lse != NULL;\n    return known ? plain(p, b) : "
        "1;\n}\n";
    static char plain[1 << 16], text[1 << 17];
    if (!can_hold())
        skip();
    plain[scratch_read(HEED_SOURCE_DIR "/proposers/attention.c", plain, sizeof plain - 1)] = '\0';
    snprintf(text, sizeof text, "#define heed_candidate_run plain\n%s%s", plain, shy);
    scratch_text_write(state, "shy.c", text);
    scratch_script_write(state, "silent", "#!/bin/sh\nexit 0\n");
    run_heed(state, &way,
             LEADER_TRUST("shy.db") "heed evolve " SMALL
                                    " --source ./shy.c --proposer ./silent --duel 0.05 "
                                    "--board shy.db",
             &said);
    if (said.code != 1 || !strstr(said.err, "shy.c, the first source: unfit: says that it cannot"))
        fail_msg("%d: %s", said.code, said.err);
    run_heed_as(state, &way, "heed board --board shy.db --ranking --csv", 0, &said);
    assert_null(strstr(said.out, "origin"));
    assert_non_null(strstr(said.out, "fwd_"));
}

/* A killed run continues with the results on the board, and ends like an uninterrupted one. */
static void test_killed_sources(void **state)
{
#define SOURCES \
    "evolve " SMALL " --proposer regions --trials 5 --duel 0.3 --no-verify --board k.db "
    static const char line[] = "'" HEED_PROGRAM "' " SOURCES
                               "& child=$!; await_trials k.db 3; kill -KILL $child; wait $child; "
                               "heed board --ranking --csv "
                               "--board k.db";
    if (!can_hold())
        skip();
    run_heed_as(state, &way, line, 0, &said);
    assert_non_null(strstr(said.out, "\"fwd_")); /* no source leads if the plan is not ranked */
    json_t *json = run_heed_json(state, &way, "heed " SOURCES "--json", 0);
    assert_true(json_is_true(json_object_get(json, "resumed")));
    assert_true(integer_of(json, "reused") >= 2);
    assert_int_equal(integer_of(json, "tried"), 5);
    assert_int_equal(integer_of(json, "right"), 6);
    for (size_t i = 1; i < 6; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(text_of(kernel_at(json, i), "hash"),
                                    text_of(kernel_at(json, j), "hash"));
    json_decref(json);
    trials_of_board(state, "k.db");
}

/* On a driver that runs nothing: everything that is compiled is pruned, and the board has the
 * reason. */
static void test_device(void **state)
{
    run_heed_as(state, &way,
                FAKE "'" HEED_PROGRAM "' evolve 'b1 h2 s64 d64 f16' --device cuda --space "
                     "sweep90 --no-verify --board b.db",
                1, &said);
    assert_non_null(strstr(said.err, "90 kernels bred, 0 launched"));
    run_heed_as(state, &way, "heed board show 1 --board b.db", 0, &said);
    assert_non_null(strstr(said.out, "pruned"));
}

/* ---- Sources in CUDA ---- */

/* With the machine's compiler, if there is one, and a driver that runs nothing. */
#define NO_GPU "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "
#define CUDA_SOURCE \
    NO_GPU "heed evolve 'b1 h2 s64 d128 f16' --device cuda --no-verify --board cu.db --source "

/* The example source is compiled, launched, and found not to have computed anything; the board has
 * its resources and its launch. */
static void test_cuda_source(void **state)
{
    run_heed(state, &way, CUDA_SOURCE HEED_SOURCE_DIR "/proposers/attention.cu", &said);
    if (strstr(said.err, "NVRTC"))
        skip();
    assert_int_equal(said.code, 1);
    assert_non_null(strstr(said.err, "attention.cu, the first source: wrong"));
    run_heed_as(state, &way, "heed board show 1 --board cu.db", 0, &said);
    static const char *const words[] = { "language        cuda", "form            cubin",
                                         "registers       255",  "shared_bytes    32768",
                                         "spill_bytes     ",     "spills" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(said.out, words[i]))
            fail_msg("'%s' is not in %s", words[i], said.out);
    assert_null(strstr(said.out, "spill_bytes     0"));
}

/* Its launch declarations are checked before it is compiled; the compiler's messages are shown. */
static void test_bad_cuda_sources(void **state)
{
    static const text_pair rows[] = {
        { "int x;", "does not say how it is launched" },
        { "/* heed:launch entry=a threads=2048 rows=1 */", "launch.threads is 2048" },
        { "/* heed:launch entry=a threads=32 rows=1 */\nextern \"C\" __global__ void a() { no(); }",
          "identifier" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scratch_text_write(state, "bad.cu", rows[i].given);
        run_heed(state, &way, CUDA_SOURCE "./bad.cu --afresh", &said);
        if (strstr(said.err, "NVRTC"))
            skip();
        if (said.code != 1 || !strstr(said.err, rows[i].wanted))
            fail_msg("%s: %d %s", rows[i].given, said.code, said.err);
    }
}

/* Invalid requests are refused with a reason. */
static void test_refusals(void **state)
{
    static const run_heed_row rows[] = {
        { "heed evolve", 2, NULL, "no problem given" },
        { "heed evolve 'b1 h1 s8 d16 f32' --space none --board r.db --no-verify", 3, NULL, "none" },
        { "heed evolve 'b1 h1 s8 d16 f32' --trials 0 --board r.db", 2, NULL, "--trials" },
        { "heed evolve 'b1 h1 s8 d16 f32' --proposer regions --kernel x --board r.db", 2, NULL,
          "--kernel chooses configs" },
        { "heed evolve 'b1 h1 s8 d16 f32' --seconds 1e-6 --board r.db --no-verify", 1, NULL,
          "no time for one" },
        { "heed evolve 'b1 h1 s8 d16 f32' --proposer x --source x.cpp --board r.db --no-verify", 2,
          NULL, "ends neither with .c nor with .cu" },
        { "echo >x.cu; heed evolve 'b1 h1 s8 d16 f32' --source x.cu --board r.db --no-verify", 4,
          NULL, "is for a CUDA device" },
        { "heed evolve 'b1 h1 s8 d16 f32' --proposer regions --source x.c --board r.db "
          "--no-verify",
          3, NULL, "x.c" },
        { "echo 'int x = ;' > y.c; timeout 5 '" HEED_PROGRAM "' evolve 'b1 h1 s8 d16 f32' "
          "--source y.c --board r.db",
          4, NULL, "y.c does not define heed_candidate_run()" },
        { "echo 'int heed_candidate_run = ;' > y.c; timeout 5 '" HEED_PROGRAM "' evolve "
          "'b1 h1 s8 d16 f32' --proposer regions --source y.c --board r.db",
          4, NULL, "expected expression" },
        { "heed evolve 'b1 h1 s8 d16 f32' --proposer ./nobody --board r.db --no-verify", 3, NULL,
          "--proposer: ./nobody: No such file" },
        /* reported before the gates are tried, which takes half a minute */
        { "timeout 5 '" HEED_PROGRAM "' evolve 'b1 h1 s8 d16 f32' --proposer regins --board r.db",
          2, NULL, "did you mean 'regions'?" },
        { "[ -x \"$(dirname '" HEED_PROGRAM "')\"/../proposers/heed-propose-openai ] || "
          "{ echo OPENAI_MODEL; exit 3; } >&2; "
          "env -u OPENAI_MODEL timeout 5 '" HEED_PROGRAM "' evolve 'b1 h1 s8 d16 f32' "
          "--proposer openai --board r.db",
          3, NULL, "OPENAI_MODEL" },
        /* one that was put beside them need not know the request "check" */
        { "mkdir -p bin proposers && cp '" HEED_PROGRAM "' bin/heed && printf '#!/bin/sh\n' "
          ">proposers/mine && chmod +x proposers/mine && bin/heed evolve 'b1 h1 s8 d16 f32' "
          "--proposer mine --board r.db",
          3, NULL, "attention.c: No such file" },
        { "timeout 5 '" HEED_PROGRAM "' evolve 'b1 h1 s8 d16 f32' --space cpu_fwe --board r.db", 3,
          NULL, "did you mean 'cpu_few'?" },
        { "timeout 5 '" HEED_PROGRAM "' evolve 'b1 h1 s8 d16 f32' -k fwd_any_avx2_fwe --board r.db",
          2, NULL, "did you mean 'fwd_any_avx2_few'?" },
        { "echo junk > j.db; heed evolve 'b1 h1 s8 d16 f32' --board j.db --no-verify", 7, NULL,
          "j.db" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (can_hold() || !strstr(rows[i].line, "proposer"))
            run_heed_rows(state, &way, &rows[i], 1);
}

RUN_TESTS_EACH(open_folder, scratch_close, test_champion, test_interruptions,
               test_long_interruptions, test_plan_is_champion, test_leads, test_regions,
               test_plan_is_ranked, test_bad_sources, test_shy_champion, test_killed_sources,
               test_device, test_cuda_source, test_bad_cuda_sources, test_refusals)
