/*
 * test_bench_rivals.c - `heed bench` with rivals: a good one, and some that misbehave
 */
#include "run_tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_program.h"
#include "scratch.h"

static void compares_with_the_naive_rival(void **state)
{
    json_t *answer = json_of(state, "", "'b1 h2 s65 d16 f16' --peers naive --seconds 0.2", 0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *match = json_array_get(json_object_get(row, "rivals"), 0);
    json_t *comparison = json_object_get(match, "comparison");
    assert_string_equal(text_of(match, "name"), "naive");
    assert_string_equal(text_of(match, "outcome"), "ok");
    const json_t *heed = json_object_get(match, "heed_blocks");
    const json_t *rival = json_object_get(match, "rival_blocks");
    double ratio = number_of(comparison, "ratio"), least = INFINITY, most = 0;
    for (size_t i = 0; i < json_array_size(heed); i++) {
        double pair = json_number_value(json_array_get(rival, i)) /
                      json_number_value(json_array_get(heed, i));
        least = fmin(least, pair);
        most = fmax(most, pair);
    }
    assert_true(least <= ratio && ratio <= most);
    assert_true(number_of(comparison, "low") <= ratio);
    /* On a busy machine there may be too few pairs for a finite confidence interval. */
    if (!json_is_null(json_object_get(comparison, "high")))
        assert_true(ratio <= number_of(comparison, "high"));
    assert_int_equal(number_of(comparison, "pairs"),
                     json_array_size(json_object_get(match, "heed_blocks")));
    json_decref(answer);
}

/* Writes a rival as a shell script. */
static void write_rival(void **state, const char *name, const char *body)
{
    static const char hello[] =
        "#!/bin/sh\n"
        "ok='{\"status\": \"ok\"}'\n"
        "read x; echo '{\"status\": \"ok\", \"protocol\": \"heed.trial/1\", \"threads\": 1}'\n";
    char text[2048];
    int length = snprintf(text, sizeof text, "%s%s\n", hello, body);
    assert_in_range(length, 1, sizeof text - 1);
    scratch_script_write(state, name, text);
}

static const struct {
    const char *name, *body, *outcome, *reason;
} bad_rivals[] = {
    { "refuses",
      "read x; echo '{\"status\": \"unsupported\", \"reason\": \"not today\"}'; read x; echo "
      "$ok",
      "refused", "not today" },
    { "crashes", "read x; echo $ok; read x; kill -SEGV $$", "failed", "signal 11" },
    { "babbles", "read x; echo what?; read x", "failed", "not a reply" },
    { "lies",
      "read x; echo $ok; while read x; do case $x in *warmup*) "
      "n=${x##*calls\\\":}; echo \"{\\\"status\\\": \\\"ok\\\", \\\"ns\\\": 99, \\\"calls\\\": "
      "${n%\\}}}\";; "
      "*) echo $ok;; esac; done",
      "failed", "another size" },
};

static void write_bad_rivals(void **state)
{
    for (size_t i = 0; i < sizeof bad_rivals / sizeof bad_rivals[0]; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s_peer", bad_rivals[i].name);
        write_rival(state, file, bad_rivals[i].body);
    }
    scratch_script_write(state, "dies_peer", "#!/bin/sh\nexit 9\n");
}

/* However rivals behave, heed's figure stays valid, the other rivals are timed, and the reason is
 * recorded. */
static void survives_bad_rivals(void **state)
{
    write_bad_rivals(state);
    json_t *answer = json_of(state, "HEED_PEERS=.",
                             "'b1 h1 s8 d8 f32' --threads 1 --seconds 0.1 "
                             "--peers refuses,crashes,babbles,lies,dies,naive",
                             0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *matches = json_object_get(row, "rivals");
    assert_string_equal(text_of(row, "outcome"), "ok");
    assert_int_equal(json_array_size(matches), 5);
    for (size_t i = 0; i < 4; i++) {
        json_t *match = json_array_get(matches, i);
        assert_string_equal(text_of(match, "name"), bad_rivals[i].name);
        assert_string_equal(text_of(match, "outcome"), bad_rivals[i].outcome);
        if (!strstr(text_of(match, "reason"), bad_rivals[i].reason))
            fail_msg("%s: %s", bad_rivals[i].name, text_of(match, "reason"));
        assert_true(json_is_null(json_object_get(match, "seconds")));
    }
    assert_string_equal(text_of(json_array_get(matches, 4), "outcome"), "ok");
    json_t *rivals = json_object_get(answer, "rivals");
    assert_non_null(strstr(text_of(json_array_get(rivals, 4), "reason"), "status 9"));
    json_decref(answer);
    assert_int_equal(
        run_bench(state, "HEED_PEERS=.", "'b1 h1 s8 d8 f32' -t 1 --seconds 0.05 --peers refuses"),
        0);
    expect_text(state, "stdout.txt", "refuses: not today");
}

/* A misspelt name is reported before anything is timed. */
static void refuses_unknown_rivals(void **state)
{
    write_bad_rivals(state);
    assert_int_equal(
        run_bench(state, "HEED_PEERS=.", "'b1 h1 s8 d8 f32' -t 1 --peers naive,refusse --json"), 2);
    expect_text(state, "stderr.txt", "no rival 'refusse' here; did you mean 'refuses'?");
    expect_text(state, "stdout.txt", "heed.error/1");
    assert_int_equal(run_bench(state, "HEED_PEERS=.", "'b1 h1 s8 d8 f32' -t 1 --peers zyzzyva"), 2);
    expect_text(state, "stderr.txt",
                "no rival 'zyzzyva' here (HEED_PEERS says where else to look; 'heed doctor' lists "
                "them)");
}

/* Of a rival that is not installed, it is unknown whether it has that backend. */
static void names_absent_rivals(void **state)
{
    scratch_script_write(state, "absent_peer",
                         "#!/bin/sh\nread x; echo '{\"status\": \"unsupported\", \"reason\": "
                         "\"not installed\"}'; read x\n");
    assert_int_equal(
        run_bench(state, "HEED_PEERS=.", "'b1 h1 s8 d8 f32' -t 1 --seconds 0.05 --peers absent-x"),
        3);
    expect_text(state, "stdout.txt", "absent-x: not installed");
    expect_text(state, "stderr.txt", "--peers: 'absent-x' was not compared: not installed");
}

/* A rival that is in time but wrong gets no figure. */
static void shows_no_wrong_rival(void **state)
{
    write_rival(state, "wrong_peer",
                "while read x; do case $x in *prepare*) o=${x##*\\\"o\\\":\\\"}; o=${o%%\\\"*};; "
                "*check*) head -c 256 /dev/zero > $o;; esac; case $x in *warmup*) "
                "n=${x##*calls\\\":}; echo \"{\\\"status\\\": \\\"ok\\\", \\\"ns\\\": 99, "
                "\\\"calls\\\": ${n%\\}}}\";; "
                "*) echo $ok;; esac; done");
    json_t *answer = json_of(state, "HEED_PEERS=.",
                             "'b1 h1 s8 d8 f32' --threads 1 --seconds 0.1 --peers wrong", 0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *match = json_array_get(json_object_get(row, "rivals"), 0);
    assert_string_equal(text_of(match, "outcome"), "wrong");
    assert_true(number_of(match, "error") > 16);
    assert_true(json_is_null(json_object_get(match, "seconds")));
    json_decref(answer);
}

/* If a rival dies between blocks, heed's figure is unaffected, although the values of heed's last
 * block were changed. */
static void keeps_its_figure_beside_one_that_dies(void **state)
{
    for (int blocks = 4; blocks < 12; blocks++) {
        char script[600];
        snprintf(script, sizeof script,
                 "n=0; while read x; do case $x in *warmup*) n=$((n + 1)); [ $n -lt %d ] || exit; "
                 "c=${x##*calls\\\":}; echo \"{\\\"status\\\": \\\"ok\\\", \\\"ns\\\": 99, "
                 "\\\"calls\\\": ${c%%\\}}}\";; *) echo $ok;; esac; done",
                 blocks);
        write_rival(state, "mortal_peer", script);
        json_t *answer = json_of(state, "HEED_PEERS=.",
                                 "'b1 h1 s8 d8 f32' --threads 1 --seconds 0.1 --peers mortal", 0);
        json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
        json_t *match = json_array_get(json_object_get(row, "rivals"), 0);
        assert_string_equal(text_of(row, "outcome"), "ok");
        assert_string_equal(text_of(match, "outcome"), "failed");
        json_decref(answer);
    }
}

/* A rival on a device, here the CPU, with two backends. It counts its requests. */
static const char device_rival[] =
    "import math, struct, sys\n"
    "sys.path.insert(0, '" HEED_SOURCE_DIR "/peers')\n"
    "import peer\n"
    "class Rows:\n"
    "    name, kinds = 'rows', {'cpu'}\n"
    "    def setup(self, threads):\n"
    "        return {'version': '1', 'types': ['f32'], 'backends': ['right', 'wrong', 'lazy']}\n"
    "    def prepare(self, p, data):\n"
    "        if p.backend == 'lazy':\n"
    "            raise peer.Unsupported('not with these heads')\n"
    "        x = {n: struct.unpack(f'{len(d) // 4}f', d) for n, d in data.items()}\n"
    "        outputs = [b''] * p.copies\n"
    "        at = lambda n, i, h, d: x[n][(i * p.heads_q + h) * d : (i * p.heads_q + h + 1) * d]\n"
    "        def row(i, h):\n"
    "            q = at('q', i, h, p.dim_qk)\n"
    "            w = [math.exp(p.scale * sum(map(float.__mul__, q, at('k', j, h, p.dim_qk))))\n"
    "                 for j in range(p.seq_k)]\n"
    "            if p.backend == 'wrong': w = w[:-1] + [0]\n"
    "            return [sum(a * b for a, b in zip(w, c)) / sum(w)\n"
    "                    for c in zip(*(at('v', j, h, p.dim_v) for j in range(p.seq_k)))]\n"
    "        def step(c):\n"
    "            o = sum((row(i, h) for i in range(p.seq_q) for h in range(p.heads_q)), [])\n"
    "            outputs[c] = struct.pack(f'{len(o)}f', *o)\n"
    "        steps = [lambda c=c: step(c) for c in range(p.copies)]\n"
    "        return peer.Prepared(steps, lambda c: outputs[c], 'bshd', p.backend)\n"
    "peer.serve(Rows)\n";

/* Returns whether @part equals @whole, ignoring nulls, members left out of summaries, and digits of
 * reals after the seventh. */
static void expect_part(const json_t *part, const json_t *whole, const char *name)
{
    const char *key;
    json_t *value;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)whole, i, value)
    {
        expect_part(json_array_get(part, i), value, name);
    }
    json_object_foreach((json_t *)(uintptr_t)whole, key, value)
    {
        bool summary = strcmp(name, "eager") == 0 || strcmp(name, "seconds") == 0;
        bool left_out = json_is_null(value) || (summary && *key != 'p');
        assert_true(left_out == !json_object_get(part, key));
        if (!left_out && strcmp(key, "path") != 0)
            expect_part(json_object_get(part, key), value, key);
    }
    if (json_is_real(whole))
        assert_true(fabs(json_number_value(part) - json_real_value(whole)) <=
                    6e-7 * fabs(json_real_value(whole)));
    else if (!json_is_array(whole) && !json_is_object(whole))
        assert_true(json_equal(part, whole));
}

/* The record is one line with everything that was printed, and the manifest's parts; directories in
 * rivals' paths are left out. */
static void expect_record(void **state, json_t *answer)
{
    char command[2 * SCRATCH_PATH_SIZE], path[SCRATCH_PATH_SIZE];
    snprintf(command, sizeof command,
             "cd '%s' && [ $(find kept -type f | wc -l) = 1 ] && cp kept/*/*/bench-cold-*.json "
             "record.json && [ $(wc -l <record.json) = 1 ] && "
             "grep -q '\"path\":\"rows_peer.py\"' record.json",
             (const char *)*state);
    assert_int_equal(system(command), 0);
    json_t *record = json_load_file(scratch_path(state, "record.json", path), 0, NULL);
    assert_true(json_object_size(json_object_get(record, "parts")) > 4);
    expect_part(record, answer, "");
    json_decref(record);
}

/* Replays, hot and cold, with a rival's backends; and the record of the run. */
static void replays_beside_backends(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    scratch_write(scratch_path(state, "rows_peer.py", path), device_rival, sizeof device_rival - 1);
    json_t *answer = json_of(state, "HEED_PEERS=.",
                             "'b1 h2 s5/9 d4 f32' --replay --cold --threads 1 --seconds 0.05 "
                             "--peers rows-right,rows,naive --record kept",
                             0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    json_t *replay = json_object_get(row, "replay");
    assert_true(number_of(replay, "calls") > 1);
    assert_true(number_of(replay, "hot") > 0 && number_of(replay, "launch") > 0);
    assert_true(number_of(replay, "cold") == number_of(json_object_get(row, "seconds"), "p50"));
    assert_true(number_of(json_object_get(replay, "eager"), "p90") > 0);
    static const struct {
        const char *name, *outcome, *reason;
    } cases[] = {
        { "rows-right", "ok", "" },
        { "rows-right", "ok", "" },
        { "rows-wrong", "wrong", "output is wrong" },
        { "rows-lazy", "refused", "not with these heads" },
    };
    json_t *matches = json_object_get(row, "rivals");
    assert_int_equal(json_array_size(matches), 4);
    for (size_t i = 0; i < 4; i++) {
        json_t *match = json_array_get(matches, i);
        assert_string_equal(text_of(match, "name"), cases[i].name);
        assert_string_equal(text_of(match, "outcome"), cases[i].outcome);
        assert_non_null(strstr(text_of(match, "reason"), cases[i].reason));
    }
    json_t *match = json_array_get(matches, 0);
    assert_true(number_of(match, "replay_calls") >= 1);
    assert_true(number_of(json_object_get(match, "eager"), "p50") > 0);
    json_t *rivals = json_object_get(answer, "rivals");
    assert_non_null(strstr(text_of(json_array_get(rivals, 4), "reason"), "not timed by replays"));
    expect_record(state, answer);
    json_decref(answer);

    assert_int_equal(
        run_bench(state, "HEED_PEERS=.", "'b1 h2 s5/9 d4 f32' --replay -t 1 --peers rows-rigth"),
        2);
    expect_text(state, "stderr.txt",
                "rows has no backend 'rigth' here; did you mean 'rows-right'?");
}

/* A peer named torch whose backends are those of a GPU, or none, as on a CPU. */
static const char named_rival[] =
    "import os, sys\n"
    "sys.path.insert(0, '" HEED_SOURCE_DIR "/peers')\n"
    "import peer\n"
    "class Torch:\n"
    "    name, kinds = 'torch', {'cpu', 'cuda'}\n"
    "    def setup(self, threads):\n"
    "        backends = os.environ.get('BACKENDS', '').split()\n"
    "        return {'version': '1', 'types': ['f32'], 'backends': backends}\n"
    "    def prepare(self, p, data):\n"
    "        raise peer.Unsupported('was asked for ' + getattr(p, 'backend', 'none'))\n"
    "peer.serve(Torch)\n";

/* Checks the names and reasons of the rivals of a run with @list, and its exit status. */
static void expect_rivals(void **state, const char *backends, const char *list, const char *words)
{
    char environment[128], arguments[256], got[1024] = "";
    snprintf(environment, sizeof environment, "HEED_PEERS=. BACKENDS='%s'", backends);
    snprintf(arguments, sizeof arguments,
             "'b1 h1 s8 d8 f32' --replay -t 1 --seconds 0.05 --peers %s", list);
    json_t *answer = json_of(state, environment, arguments, 0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    const json_t *rivals = json_object_get(answer, "rivals"),
                 *matches = json_object_get(row, "rivals");
    json_t *rival;
    size_t i, met = 0, length = 0;
    json_array_foreach((json_t *)(uintptr_t)rivals, i, rival)
    {
        const json_t *from = strcmp(text_of(rival, "outcome"), "ok") == 0
                                 ? json_array_get(matches, met++)
                                 : rival;
        length += (size_t)snprintf(got + length, sizeof got - length, "%s: %s; ",
                                   text_of(from, "name"), text_of(from, "reason"));
    }
    assert_string_equal(got, words);
    json_decref(answer);
}

/* The rivals fa3 and flex are backends of torch with separate names. A peer that has only these
 * backends is a rival itself. */
static void knows_backends_by_their_own_names(void **state)
{
    static const char all[] = "flash cudnn fa3 flex";
    char path[SCRATCH_PATH_SIZE];
    scratch_write(scratch_path(state, "torch_peer.py", path), named_rival, sizeof named_rival - 1);
    expect_rivals(state, all, "fa3,torch-flash,flex",
                  "fa3: was asked for fa3; torch-flash: was asked for flash; "
                  "flex: was asked for flex; ");
    expect_rivals(state, all, "torch",
                  "torch-flash: was asked for flash; torch-cudnn: was asked for cudnn; ");
    expect_rivals(state, all, "torch-fa3", "fa3: was asked for fa3; ");
    expect_rivals(state, "flex", "torch,flex",
                  "torch: was asked for none; flex: was asked for flex; ");
    expect_rivals(state, "", "flex,fa3",
                  "flex: computes on CUDA devices alone; fa3: computes on CUDA devices alone; ");
    static const text_pair slips[] = {
        { "flx", "there is no rival 'flx' here; did you mean 'flex'?" },
        { "fa4", "there is no rival 'fa4' here; did you mean 'fa3'?" },
        { "torch-flahs", "did you mean 'torch-flash'?" },
        { "fa3-x", "fa3 is a backend itself, and has none" },
    };
    for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "'b1 h1 s8 d8 f32' --replay -t 1 --peers %s",
                 slips[i].given);
        assert_int_equal(run_bench(state, "HEED_PEERS=. BACKENDS='flash fa3'", arguments), 2);
        expect_text(state, "stderr.txt", slips[i].wanted);
    }
}

/* Another kernel before each call is not supported on a CPU or in a sandbox. */
static void refuses_another_kernel_on_a_cpu(void **state)
{
    assert_int_equal(run_bench(state, "", "'b1 h1 s8 d8 f32' --behind --device cpu --json"), 2);
    expect_text(state, "stderr.txt",
                "--behind launches a kernel of another module before each call");
    expect_text(state, "stdout.txt", "heed.error/1");
    assert_int_equal(run_bench(state, "", "'b1 h1 s8 d8 f32' --behind --source x.c"), 2);
    expect_text(state, "stderr.txt", "leave out --source");
}

/* On a device, here one that copies V to O, which is right for one key: JSON and table state that
 * the figures include another kernel, and a rival that cannot be timed this way is refused. */
static void says_that_another_kernel_is_timed(void **state)
{
    static const char fake[] = "HEED_LIBCUDA='" FAKE_CUDA "' HEED_NVRTC='" FAKE_CUDA
                               "' HEED_NVML='" FAKE_CUDA "' HEED_CACHE_LIMIT=0 FAKE_CUDA_ARCH=80 "
                               "FAKE_CUDA_COPIES=32 HEED_PEERS=. BACKENDS=flash";
    static const char bench[] = "'b1 h2 s1 d8 f16' --device cuda --kernel fwd_any_sm80_naive "
                                "--seconds 0.05 --peers torch --behind";
    char path[SCRATCH_PATH_SIZE];
    scratch_write(scratch_path(state, "torch_peer.py", path), named_rival, sizeof named_rival - 1);
    json_t *answer = json_of(state, fake, bench, 0);
    json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
    assert_true(json_is_true(json_object_get(answer, "behind")));
    assert_string_equal(text_of(row, "outcome"), "ok");
    assert_string_equal(text_of(json_array_get(json_object_get(row, "rivals"), 0), "reason"),
                        "is not timed behind a kernel of another module");
    json_decref(answer);
    assert_int_equal(run_bench(state, fake, bench), 0);
    expect_text(state, "stdout.txt", "replays behind a kernel of another module");
}

RUN_TESTS_EACH(scratch_open, scratch_close, compares_with_the_naive_rival, survives_bad_rivals,
               refuses_unknown_rivals, names_absent_rivals, shows_no_wrong_rival,
               keeps_its_figure_beside_one_that_dies, replays_beside_backends,
               knows_backends_by_their_own_names, refuses_another_kernel_on_a_cpu,
               says_that_another_kernel_is_timed)
