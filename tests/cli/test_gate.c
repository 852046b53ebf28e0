/*
 * test_gate.c - the `heed gate` command: champions that pass, fail, or cannot be judged
 */
#include "run_tests.h"

#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hold.h"
#include "leader.h"
#include "run_heed.h"
#include "scratch.h"
#include "src/cuda/cache.h"

#define FAKE "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA " "
#define SPEC "'b1 h2 s128 d64 f32'"
#define CHEAP "--seconds ${GIVEN:-0.1} -t 1 --no-verify "

static const run_heed_way way = { HEED_PROGRAM,
                                  "HEED_CACHE=\"$PWD/cache\" HEED_DEVICE=cpu HEED_CPU=scalar "
                                  "HEED_BOARD=board.db" };

static heed_said said;

/* ---- Verdicts in so little time that they may be AMBIGUOUS on a busy machine ---- */

/* Time limits in seconds, for the shell variable GIVEN: an AMBIGUOUS verdict is retried with more
 * time, a wrong verdict is not. */
static const char *const given[] = { "0.2", "2", "15" };
#define GIVEN_COUNT (sizeof given / sizeof *given)

/* Runs a line that prints JSON, which the caller frees. Its exit status is in said. */
static json_t *run_given(void **state, const char *line, const char *seconds)
{
    char all[4096];
    int length = snprintf(all, sizeof all, "GIVEN=%s; %s", seconds, line);
    assert_in_range(length, 1, sizeof all - 1);
    run_heed(state, &way, all, &said);
    json_t *json = json_loads(said.out, 0, NULL);
    if (!json)
        fail_msg("%s printed no JSON: %s%s", line, said.out, said.err);
    return json;
}

static const char *verdict_of(const json_t *json)
{
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    assert_non_null(shape);
    return json_string_value(json_object_get(shape, "verdict"));
}

/* Returns the output of a gate, which the caller frees. It must exit with @code and have the
 * verdict @word on its first shape. */
static json_t *judged(void **state, const char *line, int code, const char *word)
{
    json_t *json = run_given(state, line, given[0]);
    for (size_t i = 1; i < GIVEN_COUNT && strcmp(word, "AMBIGUOUS") != 0 &&
                       strcmp(verdict_of(json), "AMBIGUOUS") == 0;
         i++) {
        json_decref(json);
        json = run_given(state, line, given[i]);
    }
    if (said.code != code || strcmp(verdict_of(json), word) != 0)
        fail_msg("%s gave %d, %s: %s%s", line, said.code, verdict_of(json), said.out, said.err);
    assert_string_equal(json_string_value(json_object_get(json, "schema")), "heed.gate/1");
    assert_int_equal(json_integer_value(json_object_get(json, "exit")), code);
    return json;
}

static void expect(void **state, const char *line, int code, const char *word)
{
    json_decref(judged(state, line, code, word));
}

/* ---- The board's champion, and the plan ---- */

/* Makes a board whose champion is @kernel, and the record that it is made from. */
static void make_board(void **state, const char *kernel)
{
    char line[1024];
    snprintf(line, sizeof line,
             "rm -f board.db*; heed bench %s --peers none --seconds 0.05 -t 1 %s %s --json "
             ">bench.json; heed board add bench.json",
             SPEC, kernel ? "--kernel" : "", kernel ? kernel : "");
    run_heed_must(state, &way, line, 0);
}

static void test_same(void **state)
{
    make_board(state, NULL);
    json_t *json = judged(state, "heed gate --seconds 0.1 -t 1 --json", 0, "SAME");
    const json_t *counts = json_object_get(json, "counts");
    assert_int_equal(json_integer_value(json_object_get(counts, "SAME")), 1);
    json_decref(json);
}

/* A kernel that is far slower than the champion in place of the plan, and the reverse. Needs a
 * machine with a better kernel. */
static void test_slower(void **state)
{
    run_heed(state, &way, "unset HEED_CPU; heed plan " SPEC, &said);
    assert_int_equal(said.code, 0);
    if (strstr(said.out, "fwd_any_scalar_row"))
        skip();
    run_heed_must(state, &way,
                  "rm -f board.db*; unset HEED_CPU; heed bench " SPEC
                  " --peers none --seconds 0.05 -t 1 "
                  "--json >bench.json; heed board add bench.json",
                  0);
    expect(state, "unset HEED_CPU; heed gate " CHEAP "--json --kernel fwd_any_scalar_row", 1,
           "SLOWER");
    make_board(state, "fwd_any_scalar_row");
    json_t *json = judged(state, "unset HEED_CPU; heed gate " CHEAP "--json", 0, "PASS");
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    assert_true(json_real_value(json_object_get(shape, "low")) > 1);
    json_decref(json);
}

/* In almost no time, on one problem and on five, which share the error: a kernel that is many times
 * slower is not AMBIGUOUS, since enough pairs are timed. */
static void test_little_time(void **state)
{
    static const char *const specs[] = { SPEC, "'b1 h1 s128 d64 f32' 'b2 h1 s128 d64 f32' "
                                               "'b3 h1 s128 d64 f32' 'b4 h1 s128 d64 f32' " SPEC };
    char line[1024];
    run_heed(state, &way, "unset HEED_CPU; heed plan " SPEC, &said);
    assert_int_equal(said.code, 0);
    if (strstr(said.out, "fwd_any_scalar_row"))
        skip();
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        snprintf(line, sizeof line,
                 "rm -f board.db*; unset HEED_CPU; heed bench %s --peers none --seconds 0.05 -t 1 "
                 "--json >bench.json; heed board add bench.json",
                 specs[i]);
        run_heed_must(state, &way, line, 0);
        json_t *json = run_given(state,
                                 "unset HEED_CPU; heed gate --seconds 0.01 -t 1 --no-verify --json "
                                 "--kernel fwd_any_scalar_row",
                                 "0");
        const json_t *shapes = json_object_get(json, "shapes"), *shape;
        size_t index;
        assert_int_equal(said.code, 1);
        json_array_foreach(shapes, index, shape)
        {
            assert_string_equal(json_string_value(json_object_get(shape, "verdict")), "SLOWER");
            assert_in_range(json_integer_value(json_object_get(shape, "pairs")), 8, 3000);
        }
        assert_int_equal(index, i == 0 ? 1 : 5);
        json_decref(json);
    }
}

/* If the code differs from the measured one, a champion that would be planned anyway proves
 * nothing. */
static void test_ambiguous(void **state)
{
    make_board(state, NULL);
    run_heed_must(
        state, &way,
        "rm board.db*; sed -i 's/\"build\": *\"[^\"]*\"/\"build\": \"another\"/' bench.json; "
        "heed board add bench.json",
        0);
    expect(state, "heed gate " CHEAP "--json", 8, "AMBIGUOUS");
    expect(state, "heed gate " CHEAP "--json --allow-ambiguous", 0, "AMBIGUOUS");
    run_heed(state, &way, "heed gate " CHEAP, &said);
    assert_int_equal(said.code, 8);
    assert_non_null(strstr(said.err, "AMBIGUOUS on 1 of 1 shape:"));
    assert_non_null(strstr(said.err, "they do not pass"));
    assert_non_null(strstr(said.out, "the code of the kernels is not what it was"));
}

/* A champion that can no longer be built does not pass. */
static void test_gone(void **state)
{
    make_board(state, NULL);
    run_heed_must(state, &way,
                  "rm board.db*; sed -i 's/\"kernel\": *\"[^\"]*\"/\"kernel\": \"fwd_gone__x1\"/; "
                  "s/\"build\": *\"/&of-then-/' bench.json; heed board add bench.json",
                  0);
    expect(state, "heed gate " CHEAP "--json", 8, "AMBIGUOUS");
    expect(state, "heed gate " CHEAP "--json --allow-ambiguous", 0, "AMBIGUOUS");
}

/* A driver that runs nothing gives wrong results. The board says that the kernel was once right. */
static void test_wrong(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    run_heed_must(
        state, &way,
        "rm -f board.db*; unset HEED_CPU; export " FAKE
        "; heed bench --device cuda 'b1 h2 s64 d64 f16' --peers none --seconds 0.05 --json "
        ">wrong.json; test $? -eq 5",
        0);
    json_t *json = json_load_file(scratch_path(state, "wrong.json", path), 0, NULL);
    json_t *row = json_array_get(json_object_get(json, "rows"), 0);
    assert_non_null(row);
    json_object_set_new(row, "outcome", json_string("ok"));
    json_object_set_new(row, "reason", json_null());
    json_object_set_new(row, "seconds", json_pack("{s:f, s:f}", "p50", 1e-4, "p90", 1e-4));
    json_object_set_new(row, "samples", json_pack("[f, f, f]", 1e-4, 1e-4, 1e-4));
    assert_int_equal(json_dump_file(json, path, 0), 0);
    json_decref(json);
    run_heed_must(state, &way, "heed board add wrong.json", 0);
    expect(state,
           "unset HEED_CPU; export " FAKE "; heed gate --device cuda --json --seconds 0.1 "
           "--no-verify",
           1, "WRONG");
}

static void test_nothing(void **state)
{
    static const run_heed_row rows[] = {
        { "heed gate --board none.db", 3, NULL, "no board yet" },
        { "heed gate -t 7", 3, NULL, "with 7 threads" },
        { "heed gate -t 1 --problem d192", 3, NULL,
          "d192: nothing can be judged; 'heed tune --board board.db' finds some" },
        { "heed gate --limit 0", 2, NULL, "--limit" },
        { "heed gate 'b1 h1 s8 d8 f32'", 2, NULL, "--criteria" },
        { "heed gate --criteria " SPEC " " SPEC " --peers none --seconds 0.05", 3, NULL,
          "is named more than once, and counts once" },
        { "heed gate --kernel fwd_any_scaler_row", 2, NULL, "fwd_any_scalar_row" },
        { "echo none >bad.db; heed gate --board bad.db", 7, NULL, "bad.db" },
    };
    make_board(state, NULL);
    run_heed_rows(state, &way, rows, sizeof rows / sizeof *rows);
}

/* ---- A champion with a source ---- */

/* On a separate board. */
static void lead(void **state, const char *name)
{
    run_heed_must(state, &way, "rm -f board.db*", 0);
    leader_source(state, name, "b1 h2 s128 d64 f32", 1e-3);
}

/* It is compiled from the board and runs in its sandbox, compared with heed's plan. */
static void test_source(void **state)
{
    if (!can_hold())
        skip();
    lead(state, "plain");
    json_t *json = judged(state, "heed gate " CHEAP "--json", 0, "PASS");
    const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
    assert_string_equal(json_string_value(json_object_get(shape, "champion")), "plain");
    assert_true(json_real_value(json_object_get(shape, "champion_seconds")) > 0);
    json_decref(json);
    lead(state, "mean");
    expect(state, "heed gate " CHEAP "--json", 1, "WRONG");
    lead(state, "syntax");
    expect(state, "heed gate " CHEAP "--json", 8, "AMBIGUOUS");
}

/* Without a sandbox a source is not run unless requested. */
static void test_unsafe(void **state)
{
    int status = 0;
    if (!can_hold())
        skip();
    lead(state, "plain");
    pid_t child = fork();
    if (child == 0) {
        if (!lose_landlock())
            _exit(2);
        run_heed(state, &way, "heed gate " CHEAP, &said);
        if (said.code != 8 || !strstr(said.out, "AMBIGUOUS") ||
            !strstr(said.out, "lacks Landlock") || !strstr(said.out, "--unsafe-candidates"))
            _exit(3);
        run_heed(state, &way, "heed gate " CHEAP "--unsafe-candidates --json", &said);
        json_t *json = json_loads(said.out, 0, NULL);
        const json_t *shape = json_array_get(json_object_get(json, "shapes"), 0);
        _exit(json_number_value(json_object_get(shape, "champion_seconds")) > 0 ? 0 : 4);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

/* ---- Criteria ---- */

#define THREE "'b1 h2 s128 d64 f32' 'b1 h2 s100 d64 f32' 'b1 h2 s256 d64 f32' "

/* The verdicts of a run with --criteria, one letter each, and its last figure. */
static void judge(void **state, const char *line, const char *seconds, char verdicts[8],
                  char figure[512])
{
    size_t index;
    json_t *one;
    json_t *json = run_given(state, line, seconds);
    memset(verdicts, 0, 8);
    json_array_foreach(json_object_get(json, "criteria"), index, one)
    {
        verdicts[index] = json_string_value(json_object_get(one, "verdict"))[0];
        snprintf(figure, 512, "%s", json_string_value(json_object_get(one, "figure")));
    }
    json_decref(json);
}

/* Returns whether every difference from @wanted is AMBIGUOUS or UNKNOWN, so that more time may
 * help. */
static bool is_open(const char *verdicts, const char *wanted)
{
    for (size_t i = 0; wanted[i]; i++)
        if (verdicts[i] != wanted[i] && !strchr("AU", verdicts[i]))
            return false;
    return strcmp(verdicts, wanted) != 0;
}

static void expect_criteria(void **state, const char *line, int code, const char *wanted)
{
    char verdicts[8], figure[512];
    judge(state, line, given[0], verdicts, figure);
    for (size_t i = 1; i < GIVEN_COUNT && is_open(verdicts, wanted); i++)
        judge(state, line, given[i], verdicts, figure);
    if (said.code != code || strcmp(verdicts, wanted) != 0)
        fail_msg("%s gave %d, %s: %s%s", line, said.code, verdicts, said.out, said.err);
}

/* Without a rival, a GPU and a tool everything is unknown, which is not a pass. */
static void test_unknown(void **state)
{
    expect_criteria(state,
                    "mkdir -p none; HEED_PEERS=none HEED_PYTHON=none heed gate --criteria " SPEC
                    " --json --seconds 0.05 --peers torch-none",
                    3, "UUUUU");
}

/* A slower or faster peer in place of SDPA. */
static void test_criteria(void **state)
{
#define CRITERIA "HEED_PEERS=$PWD heed gate --criteria --json --seconds $GIVEN -t 1 "
    run_heed(state, &way, "unset HEED_CPU; heed plan " SPEC, &said);
    assert_int_equal(said.code, 0);
    if (strstr(said.out, "fwd_any_scalar_row"))
        skip();
    expect_criteria(state, "ln -sf " NAIVE_PEER " torch_peer; unset HEED_CPU; " CRITERIA THREE, 3,
                    "PPPUU");
    expect_criteria(state, "unset HEED_CPU; " CRITERIA SPEC, 3,
                    "UUPUU"); /* one problem is fewer than two or a third */
#ifdef FAST_PEER
    expect_criteria(state, "ln -sf " FAST_PEER " torch_peer; " CRITERIA THREE, 1, "FFFUU");
#endif
    run_heed_must(state, &way, "rm torch_peer", 0);
}

/* An SDPA with two backends, which logs each call. */
static const char two_backends[] =
    "import math, struct, sys, time\n"
    "sys.path.insert(0, '" HEED_SOURCE_DIR "/peers')\n"
    "import peer\n"
    "class Two:\n"
    "    name, kinds = 'torch', {'cpu'}\n"
    "    def setup(self, threads):\n"
    "        return {'version': '1', 'types': ['f32'], 'backends': ['math', 'flash']}\n"
    "    def prepare(self, p, data):\n"
    "        x = {n: struct.unpack(f'{len(d) // 4}f', d) for n, d in data.items()}\n"
    "        at = lambda n, i: x[n][i * p.dim_qk : (i + 1) * p.dim_qk]\n"
    "        def row(i):\n"
    "            w = [math.exp(p.scale * sum(map(float.__mul__, at('q', i), at('k', j))))\n"
    "                 for j in range(p.seq_k)]\n"
    "            return [sum(a * b for a, b in zip(w, c)) / sum(w)\n"
    "                    for c in zip(*(at('v', j) for j in range(p.seq_k)))]\n"
    "        o = sum((row(i) for i in range(p.seq_q)), [])\n"
    "        answer = struct.pack(f'{len(o)}f', *o)\n"
    "        def step():\n"
    "            print(p.backend, file=log, flush=True)\n"
    "            time.sleep(0.001 if p.backend == 'flash' else 0.02)\n"
    "        return peer.Prepared([step] * p.copies, lambda c: answer, 'bshd', p.backend)\n"
    "log = open('calls.txt', 'a')\n"
    "peer.serve(Two)\n";

/* The only question is which rival is the fastest: the others get one look and no more time.
 * Whether so little time is enough for a verdict depends on the machine. */
static void test_backends(void **state)
{
    run_heed(state, &way, "python3 -c ''", &said);
    if (said.code != 0)
        skip();
    scratch_text_write(state, "torch_peer.py", two_backends);
    run_heed(state, &way,
             "HEED_PEERS=$PWD heed gate --criteria --seconds 1 -t 1 'b1 h1 s8 d8 f32' "
             "'b1 h1 s9 d8 f32'",
             &said);
    assert_non_null(strstr(said.out, " of 2 problems"));
    assert_non_null(strstr(said.out, "(torch-flash)"));
    /* With the full time there would be more than 90. */
    run_heed_must(state, &way, "[ $(grep -c math calls.txt) -lt 60 ]", 0);
    run_heed_must(state, &way, "rm torch_peer.py", 0);
}

/* Ctrl-C while ncu is counting gives no verdict. */
static void test_interrupted_count(void **state)
{
    static const char line[] =
        "printf '#!/bin/sh\\ntouch counting; exec sleep 60\\n' >ncu; chmod +x ncu; set -m; "
        "unset HEED_CPU; export PATH=$PWD:$PATH " FAKE "; '" HEED_PROGRAM
        "' gate --criteria --device cuda 'b1 h2 s64 d64 f16' --seconds 0.05 --json --peers none & "
        "until [ -e counting ] || ! kill -0 $!; do sleep 0.05; done; kill -INT $!; wait $!";
    run_heed_as(state, &way, line, 130, &said);
    assert_non_null(strstr(said.out, "\"kind\": \"interrupted\""));
    assert_null(strstr(said.out, "heed.gate"));
    assert_non_null(strstr(said.err, "interrupted: nothing has been judged"));
    run_heed_must(state, &way, "rm ncu", 0);
}

/* The counters of an ncu that prints given counts, or those of an H200. The fake driver's results
 * are wrong, so the gate fails whatever the criteria are. */
static void test_conflicts(void **state)
{
    static const struct {
        const char *counts, *file; /* a line of counts, or a recording */
        char verdict;
        const char *figure;
    } rows[] = {
        { "\"1\",\"f(int, int)\",\"1,000\",\"50,000\"", NULL, 'P', "2.00 %" },
        { "\"1\",\"f(int, int)\",\"6,000\",\"50,000\"", NULL, 'F', "12.00 %" },
        { "\"1\",\"f(int, int)\",\"n/a\",\"n/a\"", NULL, 'U', "not in a known format" },
        { "==ERROR== ERR_NVGPUCTRPERM", NULL, 'U', "ERR_NVGPUCTRPERM" },
        { NULL, "wgmma-b2", 'P', "2.63 %" },
        { NULL, "mma-b2", 'P', "0.11 %" },
        { NULL, "missing", 'U', "Failed to find metric" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[2048], says[1024], verdicts[8], figure[512];
        if (rows[i].file)
            snprintf(says, sizeof says, "cat '" HEED_SOURCE_DIR "/tests/data/ncu/h200-%s.txt'",
                     rows[i].file);
        else
            snprintf(says, sizeof says,
                     "cat <<'STOP'\n==PROF== one\n\"ID\",\"Kernel Name\","
                     "\"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum\","
                     "\"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum\"\n\"\",\"\",\"\",\"\"\n%s\n"
                     "STOP",
                     rows[i].counts);
        snprintf(line, sizeof line,
                 "cat >ncu <<'END'\n#!/bin/sh\necho \"$@\" >asked.txt\n%s\nEND\nchmod +x ncu; "
                 "unset HEED_CPU; "
                 "export PATH=$PWD:$PATH " FAKE
                 "; heed gate --criteria --device cuda 'b1 h2 s64 d64 f16' --seconds 0.05 --json "
                 "--peers none",
                 says);
        judge(state, line, given[0], verdicts, figure);
        assert_int_equal(said.code, 1);
        if (i == 0) /* no other metrics: each may take another pass */
            run_heed_must(
                state, &way,
                "grep -qE -- '--metrics [^ ,]*bank_conflicts[^ ,]*,[^ ,]*wavefronts[^ ,]* ' "
                "asked.txt",
                0);
        if (verdicts[4] != rows[i].verdict || !strstr(figure, rows[i].figure))
            fail_msg("%zu: %s, %s", i, verdicts, figure);
    }
}

/* Removes the compiler's log from every kernel in the cache, as if many had been compiled at once.
 * Returns the number of kernels. */
static int forget_logs(void **state)
{
    static const char suffix[] = ".cubin";
    char path[SCRATCH_PATH_SIZE];
    int count = 0;
    setenv("HEED_CACHE", scratch_path(state, "logs", path), 1);
    DIR *folder = opendir(scratch_path(state, "logs/cubin", path));
    for (struct dirent *file; folder && (file = readdir(folder));) {
        char key[HEED_CACHE_KEY_SIZE];
        heed_cache_entry entry;
        if (strlen(file->d_name) != sizeof key - 1 + strlen(suffix))
            continue;
        snprintf(key, sizeof key, "%s", file->d_name);
        assert_true(heed_cache_load(key, &entry));
        assert_non_null(strstr(entry.log, "bytes spill stores"));
        entry.log_size = 0;
        assert_true(heed_cache_store(key, &entry));
        heed_cache_entry_free(&entry);
        count++;
    }
    if (folder)
        closedir(folder);
    unsetenv("HEED_CACHE");
    return count;
}

/* Spills are also found in code without a compiler log: it is compiled again. Uses the machine's
 * compiler, if there is one, and a driver that runs nothing. */
static void test_spills(void **state)
{
    static const char line[] = "unset HEED_CPU; export HEED_CACHE=$PWD/logs HEED_LIBCUDA=" FAKE_CUDA
                               " HEED_NVML=" FAKE_CUDA
                               "; heed gate --criteria --device cuda 'b1 h2 s64 d64 f16' "
                               "--seconds 0.05 --json --peers none";
    for (int i = 0; i < 2; i++) {
        run_heed(state, &way, line, &said);
        if (strstr(said.err, "NVRTC"))
            skip();
        if (!strstr(said.out, "\"0 bytes a thread at most"))
            fail_msg("%s: %s", i ? "without logs" : "with logs", said.out);
        if (i == 0)
            assert_true(forget_logs(state) > 0);
    }
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, test_same, test_slower, test_little_time,
                 test_ambiguous, test_gone, test_wrong, test_nothing, test_source, test_unsafe,
                 test_unknown, test_criteria, test_backends, test_interrupted_count, test_conflicts,
                 test_spills)
