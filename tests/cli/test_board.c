/*
 * test_board.c - the `heed board` and `heed wisdom` commands
 */
#include "run_tests.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "leader.h"
#include "members.h"
#include "run_heed.h"
#include "scratch.h"

#define RECORD HEED_SOURCE_DIR "/tests/data/bench-record.json"

static const run_heed_way way = { HEED_PROGRAM, "HEED_BOARD=\"$PWD/board.db\"" };

#define EXPECT(state, table) run_heed_rows(state, &way, table, sizeof(table) / sizeof(table)[0])

static json_t *json_of(void **state, const char *line, const char *schema)
{
    static heed_said said;
    run_heed(state, &way, line, &said);
    json_t *json = json_loads(said.out, 0, NULL);
    if (!json)
        fail_msg("%s\nstdout: %s\nstderr: %s", line, said.out, said.err);
    assert_string_equal(json_string_value(json_object_get(json, "schema")), schema);
    return json;
}

/* -------------------------------------------------------------------------- */
/* The board                                                                  */
/* -------------------------------------------------------------------------- */

/* The lock of a board must not replace a file that happens to have its name, or a link's target. */
static void spares_files_named_like_its_lock(void **state)
{
    static const run_heed_row lines[] = {
        { "echo precious >poetry.lock; heed board add none.json --board poetry", 3, "",
          "poetry.lock: is a file of another program, and not changed" },
        { "cat poetry.lock; ls poetry", 2, "precious\n", NULL },
        { "echo precious >kept; ln -s kept linked.db.lock; heed board add none.json --board "
          "linked.db",
          3, "", "linked.db.lock: cannot open" },
        { "cat kept", 0, "precious\n", "" },
        { "mkfifo fifo.db.lock; timeout 20 '" HEED_PROGRAM "' board add none.json --board fifo.db",
          3, "", "fifo.db.lock" },
        { "echo 'process 1, since 2026-01-02T03:04:05Z' >old.db.lock; "
          "heed board add none.json --board old.db",
          3, "", "none.json: No such file" },
    };
    run_heed_rows(state, &way, lines, sizeof lines / sizeof *lines);
}

static void says_what_to_do(void **state)
{
    static const run_heed_row lines[] = {
        { "heed board", 0, "", "'heed board add FILE.json'" },
        { "heed board --json", 0, "\"rows\": []", NULL },
        { "heed board check", 0, "", "There is no board yet" },
        { "heed board show 1", 2, "", "There is no board yet" },
        { "heed wisdom export --device cpu", 1, "", "There is no board yet" },
        { "heed board shw", 2, "", "did you mean 'show'?" },
        { "heed board show", 2, "", "show: 0 operands; it takes 1" },
        { "heed board add", 2, "", "add: 0 operands; it takes at least 1" },
        { "heed board show 1x", 2, "", "'1x' is not the number of a trial" },
        { "heed board show -- -3", 2, "", "'-3' is not the number of a trial" },
        { "heed selftest --record --gate error", 2, "", "--record: only a selftest of all" },
        { "heed wisdom", 2, "", "needs export" },
        { "heed wisdom forget", 2, "", "'forget' is not one of export, import, show, check" },
        { "heed wisdom import x", 2, "", "--wisdom" },
    };
    EXPECT(state, lines);
}

static void adds_what_bench_recorded(void **state)
{
    static const run_heed_row lines[] = {
        { "heed board add '" RECORD "'", 0, "", "3 trials added, 0 already there, 1 row without" },
        { "heed board add '" RECORD "'", 0, "", "on the board already, as run 1" },
        { "sed 's/\"cold\": true, \"replay\"/\"behind\": true, &/' '" RECORD "' >behind.json; "
          "grep -c behind behind.json; heed board add behind.json",
          0, "1\n", "behind.json: left out: its times include a kernel of another module" },
        { "heed board check", 0, "3 trials", "" },
        { "heed board add no.json '" RECORD "'", 3, "", "no.json: No such file" },
        { "echo '{' >bad.json; heed board add bad.json", 7, "", "bad.json: line " },
        { "echo '{\"schema\": \"x\"}' >bad.json; heed board add bad.json", 7, "", "schema is x" },
        { "echo '{\"schema\": \"heed.bench/1\"}' >bad.json; heed board add bad.json", 7, "",
          "device is missing" },
        { "echo '{\"schema\": \"heed.bench/1\", \"device\": \"x\", \"rows\": []}' >bad.json; "
          "heed board add bad.json",
          7, "", "environment is missing; it must be an object" },
        { "echo '{\"schema\": \"heed.bench/1\", \"device\": \"x\", \"threads\": 1, \"cold\": true, "
          "\"environment\": {\"time\": \"\"}, \"rows\": [{\"problem\": \"b\"}]}' >bad.json; "
          "heed board add bad.json",
          7, "", "rows[0].problem: " },
        { "heed board", 0, "NVIDIA Test (cuda, sm_90-driver13.0-nvrtc12.9), 1 thread\n", "" },
        { "heed board", 0, "torch-flash", "" },
        { "heed board", 0, "[1.900, 2.100] FASTER", "" },
        { "heed board", 0, "503eb534e5cd+", "" },
        { "heed board --problem d128", 0, "",
          "no matching trial is ranked: 1 with a wrong result;" },
        { "heed board --problem d128 --all", 0, "wrong", "" },
        { "heed board --problem 'h8 b1 f16 d64 s512' --against torch-flash", 0, "2.000", "" },
        { "heed board --problem 'h8 b1 f16 d64 s512' --against none | grep -c FASTER", 1, "0", "" },
        { "heed board --device h100", 0, "", "no trial on the board matches" },
        { "heed board --csv | wc -l", 0, "2\n", "" },
        { "heed board --csv --all | wc -l", 0, "4\n", "" },
        { "heed board show 1", 0, "3 samples, median 5.00 us", "" },
        { "heed board show 99", 2, "", "there is no trial 99" },
    };
    EXPECT(state, lines);
}

static void json_has_everything(void **state)
{
    json_t *board = json_of(state, "heed board --history --json", "heed.board/1");
    const json_t *rows = json_object_get(board, "rows");
    assert_int_equal(json_array_size(rows), 3);
    const json_t *first = json_array_get(rows, 2);
    assert_string_equal(text_of(first, "problem"), "b1 h8 s512 d64 f16");
    assert_string_equal(text_of(first, "kernel"), "fwd_16bit_sm80_mma");
    assert_string_equal(text_of(first, "config"), "m32n64");
    assert_string_equal(text_of(first, "timing"), "cold");
    assert_string_equal(text_of(first, "trusted"), "untested");
    assert_true(number_of(first, "seconds") == 5e-6 && number_of(first, "of_roofline") == 0.25);
    assert_true(json_is_true(json_object_get(first, "dirty")));
    json_decref(board);

    json_t *trial = json_of(state, "heed board show 1 --json", "heed.board.trial/1");
    const json_t *samples = json_object_get(trial, "samples");
    assert_int_equal(json_array_size(samples), 3);
    assert_int_equal(json_array_size(json_object_get(json_array_get(samples, 0), "seconds")), 3);
    const json_t *comparison = json_array_get(json_object_get(trial, "comparisons"), 0);
    assert_string_equal(text_of(comparison, "version"), "2.11.0+cu130");
    assert_string_equal(text_of(json_object_get(trial, "environment"), "nvrtc"), "12.9");
    assert_true(number_of(json_object_get(trial, "device"), "multiprocessors") == 132);
    json_decref(trial);
}

static void tells_of_damage(void **state)
{
    static const run_heed_row lines[] = {
        { "echo rubbish >r.db; heed board --board r.db", 7, "", "r.db: not a board of heed" },
        { "heed board add --board r.db '" RECORD "'; echo $?; cat r.db", 0, "7\nrubbish\n", NULL },
        { "heed board --board .", 3, "", "a folder" },
        { "heed board add --board /dev/null/x/y.db '" RECORD "'", 3, "", "/dev/null/x" },
        { "sed 's/not installed/not xnstalled/' board.db >d.db; heed board check --board d.db", 7,
          "", "trial 1 is not what was added" },
        { "heed board --history --board d.db", 7, "damaged", "1 of these are damaged" },
        { "heed board --board d.db", 7, "TFLOP", "trial 1 would be ranked, but it is damaged" },
        { "head -c 9000 board.db >d.db; heed board --board d.db", 7, "", "d.db: damaged" },
    };
    EXPECT(state, lines);
}

#define QUICKLY \
    "--device cpu --threads 1 --peers none --seconds 0.5 --rivals 0.01 --trials 1 --seed 1"

/* The work of sequences depends on their lengths, of which a row has totals. */
static void adds_problems_with_lengths(void **state)
{
    static const run_heed_row lines[] = {
        { "heed bench --device cpu --threads 1 --peers none --seconds 0.02 --record n "
          "'b4 h2 s1/256 d32 f32 lengths=b'",
          0, NULL, NULL },
        { "sed 's/\"flops\":[0-9.e+]*/\"flops\":7/' n/*/*/*.json >false.json; "
          "heed board add --board n.db false.json",
          7, "", "flops_per_second is" },
        { "heed board add --board n.db n/*/*/*.json", 0, "", "1 trial added" },
        { "heed board add --board $PWD/$(printf %0247d 0) n/*/*/*.json", 0, "", "1 trial added" },
        { "heed board add --board $(printf %0248d 1) n/*/*/*.json", 3, "",
          "at most 247 bytes, and this one has 248" },
    };
    EXPECT(state, lines);
}

/* A verb that skips a leader names it. */
static void names_a_damaged_leader(void **state)
{
    static const run_heed_row lines[] = {
        { "heed bench --device cpu --threads 1 --peers none --seconds 0.02 --record d "
          "'b1 h1 s48 d16 f32'",
          0, NULL, NULL },
        { "heed board add --board l.db d/*/*/*.json", 0, "", "1 trial added" },
        { "sed 's/rows_checked/rows_chocked/' l.db >d.db; heed board check --board d.db", 7, "",
          "trial 1 is not what was added" },
        { "heed tune " QUICKLY " --board l.db 'b1 h1 s48 d16 f32' 2>&1 | grep -c 'would be ranked'",
          1, "0\n", NULL },
        { "heed tune " QUICKLY " --board d.db 'b1 h1 s48 d16 f32'", 0, NULL,
          "trial 1 of the board would be ranked, but it is damaged" },
    };
    EXPECT(state, lines);
}

/* -------------------------------------------------------------------------- */
/* Wisdom                                                                     */
/* -------------------------------------------------------------------------- */

static void makes_wisdom_of_the_board(void **state)
{
    static const run_heed_row lines[] = {
        { "heed wisdom export --device cpu", 1, "heed wisdom 1:", "the board has nothing for" },
        { "heed bench --device cpu --threads 1 --peers none --seconds 0.02 --record r "
          "'b1 h1 s64 d16 f32' 'b1 h1 s32 d16 f32'",
          0, NULL, NULL },
        { "heed board add r/*/*/*.json", 0, "", "2 trials added" },
        { "heed wisdom export --device cpu --threads 2", 1, NULL, "threads is 1, here it is 2" },
        { "heed wisdom export --device cpu --threads 1 >w.txt; tail -1 w.txt", 0, "end 2 ", NULL },
        { "heed plan --device cpu --threads 1 --effort wisdom --wisdom w.txt b1 h1 s64 d16 f32", 0,
          "fwd_", "" },
        { "heed wisdom show --device cpu --threads 1 w.txt", 0, "2 of 2 lines used", "" },
        { "heed wisdom check --device cpu --threads 1 w.txt", 0, "2 of 2 lines used", "" },
        { "heed wisdom check --device cpu --threads 2 w.txt", 1, "threads is \"1\", here it is",
          "" },
        { "heed wisdom import --device cpu --threads 1 w.txt --wisdom all.txt && cmp w.txt all.txt",
          0, "", "w.txt: 2 lines taken" },
        { "heed wisdom export --device cpu --threads 1 --wisdom other.txt && cmp w.txt other.txt",
          0, "", "2 lines for" },
        { "sed 's/s64/s65/' w.txt >bad.txt; heed wisdom check --device cpu bad.txt", 7, "",
          "bad.txt: line 4" },
        { "sed -i 's/\"build\": *\"/&0/' r/*/*/*.json; "
          "heed board add --board old.db r/*/*/*.json",
          0, "", "2 trials added" },
        { "heed wisdom export --device cpu --threads 1 --board old.db", 1, "\nend 0 ",
          "--stale takes those of other builds" },
        { "heed wisdom export --device cpu --threads 1 --board old.db --stale", 0, "\nend 2 ", "" },
        { "heed board check --head 0123", 7, "", "0123 is not a link of it" },
        { "heed board check --head $(heed board check | sed -n 's/.* head //p')", 0,
          " trials, all as they were added", "" },
        { "heed wisdom show --device cpu no.txt", 3, "", "no.txt: No such file" },
        { "rm -r r", 0, "", "" },
    };
    EXPECT(state, lines);
    json_t *json = json_of(state, "heed wisdom check --device cpu --threads 2 --json w.txt",
                           "heed.wisdom/1");
    assert_true(number_of(json, "unused") == 2);
    assert_int_equal(json_array_size(json_object_get(json, "lines")), 2);
    json_decref(json);
}

/* Wisdom cannot select a user's source: it gets the best of heed's own kernels, and a message says
 * so. */
static void passes_over_what_it_cannot_select(void **state)
{
    static const run_heed_row lines[] = {
        { "rm -f board.db*; heed bench 'b1 h1 s64 d16 f32' --peers none --seconds 0.05 -t 1 "
          "--device cpu --json >own.json && heed board add own.json",
          0, "", "1 trial added" },
        { "heed wisdom export --device cpu -t 1 >own.txt", 0, "", "" },
    };
    static const run_heed_row leading[] = {
        { "heed wisdom export --device cpu -t 1 >w.txt", 0, "",
          "plain of trial 2 leads, but wisdom cannot select it (it is a user's source)" },
        { "cmp own.txt w.txt", 0, "", "" },
        { "heed wisdom export --device cpu -t 1 --json", 0, "\"passed_over\": 1", "is taken, at" },
        { "heed wisdom export --device cpu -t 1", 1,
          "heed wisdom 1:", "nothing else on the board" },
    };
    EXPECT(state, lines);
    leader_source(state, "plain", "b1 h1 s64 d16 f32", 1e-3);
    run_heed_rows(state, &way, leading, 3);
    run_heed_must(state, &way, "rm -f board.db*", 0);
    leader_source(state, "plain", "b1 h1 s64 d16 f32", 1e-3);
    run_heed_rows(state, &way, leading + 3, 1);
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, spares_files_named_like_its_lock, says_what_to_do,
                 adds_what_bench_recorded, json_has_everything, tells_of_damage,
                 adds_problems_with_lengths, names_a_damaged_leader, makes_wisdom_of_the_board,
                 passes_over_what_it_cannot_select)
