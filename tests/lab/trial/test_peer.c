/*
 * test_peer.c - peers that behave and peers that misbehave: each is a small shell script
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"
#include "lab/trial/peer/peer.h"
#include "scratch.h"
#include "src/measure.h"

static const char *folder;
static char path[SCRATCH_PATH_SIZE];

static int open_folder(void **state)
{
    int failed = scratch_open(state);
    folder = *state;
    return failed;
}

static void write_file(const char *name, mode_t mode, const char *text)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    scratch_write(path, text, strlen(text));
    assert_int_equal(chmod(path, mode), 0);
}

/* Starts a shell script as a peer. */
static lab_peer *script(const char *body)
{
    char text[2048];

    snprintf(text, sizeof text, "#!/bin/sh\ncd %s\n%s\n", folder, body);
    write_file("fake_peer", 0700, text);
    lab_peer *peer = lab_peer_start(path, NULL, NULL);
    assert_non_null(peer);
    return peer;
}

static json_t *ask(lab_peer *peer, double seconds)
{
    return lab_peer_ask(peer, json_pack("{s:s}", "op", "hello"), seconds);
}

static void nap_ms(long ms)
{
    const struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&nap, NULL);
}

static off_t size_of(const char *name)
{
    struct stat status;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &status) == 0 ? status.st_size : 0;
}

/* Expects that the peer is lost in the state @want with @words in its reason, and stays lost. */
static void expect_lost(lab_peer *peer, lab_peer_state want, const char *words)
{
    assert_int_equal(lab_peer_state_of(peer), want);
    if (!strstr(lab_peer_reason(peer), words))
        fail_msg("\"%s\" lacks \"%s\"", lab_peer_reason(peer), words);
    assert_null(ask(peer, 1));
    assert_int_equal(lab_peer_state_of(peer), want);
    lab_peer_pause(peer);
    lab_peer_end(peer);
}

/* Runs @body, sends one request, and expects to lose the peer. */
static void expect_end(const char *body, double seconds, lab_peer_state want, const char *words)
{
    lab_peer *peer = script(body);

    assert_null(ask(peer, seconds));
    expect_lost(peer, want, words);
}

#define ANSWER "echo '{\"status\": \"ok\", \"n\": '$n'}'"
#define SERVE "n=0; while read line; do n=$((n+1)); " ANSWER "; done"

/* Talks with a peer that behaves, and returns the seconds that it takes to end. */
static double converse(void)
{
    lab_peer *peer = script(SERVE);

    for (int i = 1; i <= 3; i++) {
        json_t *reply = ask(peer, 10);
        assert_non_null(reply);
        assert_int_equal(json_integer_value(json_object_get(reply, "n")), i);
        json_decref(reply);
    }
    assert_int_equal(lab_peer_state_of(peer), LAB_PEER_READY);
    assert_string_equal(lab_peer_reason(peer), "");
    int64_t start = heed_clock_ns();
    lab_peer_end(peer);
    return (double)(heed_clock_ns() - start) * 1e-9;
}

/* There is no needless wait: one of three peers ends soon, whatever the load on the machine. */
static void test_conversation(void **state)
{
    double seconds = converse();

    for (int i = 0; i < 2 && seconds >= 1.5; i++)
        seconds = converse();
    assert_true(seconds < 1.5);
}

static void test_refusals_are_replies(void **state)
{
    lab_peer *peer = script("read x; echo '{\"status\": \"unsupported\", \"reason\": \"no\"}'\n"
                            "read x; echo '{\"status\": \"error\"}'; read x");
    json_t *reply = ask(peer, 10);

    assert_string_equal(json_string_value(json_object_get(reply, "reason")), "no");
    json_decref(reply);
    reply = ask(peer, 10);
    assert_string_equal(json_string_value(json_object_get(reply, "status")), "error");
    json_decref(reply);
    assert_int_equal(lab_peer_state_of(peer), LAB_PEER_READY);
    lab_peer_end(peer);
}

static void test_absent(void **state)
{
    lab_peer *peer = lab_peer_start("/nonexistent/x_peer", NULL, NULL);

    assert_null(ask(peer, 1));
    expect_lost(peer, LAB_PEER_ABSENT, "/nonexistent/x_peer cannot be started: No such file");
    peer = lab_peer_start("/nonexistent/x_peer", "no-such-python", NULL);
    expect_lost(peer, LAB_PEER_ABSENT, "no-such-python cannot be started");
}

static void test_interpreter(void **state)
{
    write_file("fake_peer.py", 0600, SERVE "\n");
    lab_peer *peer = lab_peer_start(path, "sh", NULL);
    json_t *reply = ask(peer, 10);

    assert_non_null(reply);
    json_decref(reply);
    lab_peer_end(peer);
}

static void test_hanging(void **state)
{
    int64_t start = heed_clock_ns();

    expect_end("read x; trap '' TERM; sleep 1000", 0.2, LAB_PEER_HUNG, "no answer in time");
    expect_end("read x; printf '{\"status\": '; sleep 1000", 0.2, LAB_PEER_HUNG,
               "no answer in time");
    assert_true(heed_clock_ns() - start < 5000000000);
}

/* A killed peer takes its children with it. */
static void test_children_are_killed(void **state)
{
    char text[32] = "";
    char proc[64];

    lab_peer *peer = script("sleep 1000 & echo $! > child; read x; n=1; " ANSWER "; read x; wait");
    json_t *reply = ask(peer, 10); /* the child exists by then */
    assert_non_null(reply);
    json_decref(reply);
    assert_null(ask(peer, 0.5));
    expect_lost(peer, LAB_PEER_HUNG, "no answer");
    snprintf(path, sizeof path, "%s/child", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    /* An orphan is reaped by another process, which may take a moment. Until then it is a
     * zombie. */
    snprintf(proc, sizeof proc, "/proc/%ld/fd/0", strtol(text, NULL, 10));
    for (int i = 0; i < 200 && access(proc, F_OK) == 0; i++)
        nap_ms(10);
    assert_int_not_equal(access(proc, F_OK), 0);
}

static void test_crashing(void **state)
{
    expect_end("read x; kill -SEGV $$", 10, LAB_PEER_CRASHED, "signal 11 (Segmentation fault)");
    expect_end("read x; kill -KILL $$", 10, LAB_PEER_CRASHED, "signal 9");
    expect_end("exit 3", 10, LAB_PEER_CRASHED, "exited with status 3");
    expect_end("echo one >&2; echo 'no such thing' >&2; exit 1", 10, LAB_PEER_CRASHED,
               "exited with status 1 without an answer: no such thing");
    expect_end("exec >&-; sleep 1000", 10, LAB_PEER_CRASHED, "closed its output");
}

/* The peer ends during a request that is larger than any buffer: no SIGPIPE, but a crash is
 * reported. */
static void test_dying_with_a_request_under_way(void **state)
{
    lab_peer *peer = script("exec <&-; exit 0");
    char *word = malloc(60000);

    nap_ms(100);
    memset(word, 'x', 59999);
    word[59999] = '\0';
    assert_null(lab_peer_ask(peer, json_pack("{s:s}", "op", word), 10));
    free(word);
    expect_lost(peer, LAB_PEER_CRASHED, "exited with status 0");
}

static void test_flooding(void **state)
{
    expect_end("read x; yes | tr -d '\\n'", 20, LAB_PEER_FLOODED, "64 KiB");
}

static void test_garbage(void **state)
{
    const char *const *lines = WORDS("hello", "", "[1, 2]", "{\"status\": \"fine\"}", "{}",
                                     "{\"status\": 1}", "{\"status\": \"ok\"} x",
                                     "{\"status\": \"ok\", \"status\": \"ok\"}", "\\000\\377");
    char body[256];

    for (size_t i = 0; lines[i]; i++) {
        snprintf(body, sizeof body, "read x; printf '%s\\n'; read x", lines[i]);
        expect_end(body, 10, LAB_PEER_GARBAGE, "a line that is not a reply");
    }
    expect_end("read x; printf '{\"status\": \"ok\"}\\nmore\\n'; read x", 10, LAB_PEER_GARBAGE,
               "more than it was asked");
    expect_end("read x; yes", 10, LAB_PEER_GARBAGE, "");
}

static void test_speaking_unasked(void **state)
{
    lab_peer *peer = script("echo welcome; echo > said; read x; read x");

    for (int i = 0; i < 1000 && size_of("said") == 0; i++)
        nap_ms(10);
    assert_true(size_of("said") > 0);
    assert_null(ask(peer, 10));
    expect_lost(peer, LAB_PEER_GARBAGE, "before it was asked");
}

/* The last line of stderr is printed, sanitized, in the reason. */
static void test_last_words_are_tame(void **state)
{
    lab_peer *peer = script("read x; printf 'first\\n\\033[31mred\\177\\tface\\302\\2331m'"
                            "'\\342\\200\\256\\n' >&2; exit 4");

    assert_null(ask(peer, 10));
    assert_non_null(strstr(lab_peer_stderr(peer), "\033[31m"));
    expect_lost(peer, LAB_PEER_CRASHED, "status 4 without an answer:  [31mred  face  1m   ");
}

static void test_stderr_is_kept_in_part(void **state)
{
    lab_peer *peer = script("read x; echo first >&2; yes | head -c 300000 >&2; n=1; " ANSWER
                            "; read x");
    json_t *reply = ask(peer, 20);

    assert_int_equal(lab_peer_state_of(peer), LAB_PEER_READY);
    json_decref(reply);
    assert_int_equal(strlen(lab_peer_stderr(peer)), LAB_PEER_STDERR_SIZE - 1);
    assert_memory_equal(lab_peer_stderr(peer), "first\ny\n", 8);
    lab_peer_end(peer);
}

static void test_closed_stderr_is_no_fault(void **state)
{
    lab_peer *peer = script("exec 2>&-; read x; sleep 0.3; n=1; " ANSWER "; read x");
    json_t *reply = ask(peer, 10);

    assert_non_null(reply);
    json_decref(reply);
    lab_peer_end(peer);
}

static void test_request_that_is_too_long(void **state)
{
    lab_peer *peer = script(SERVE);
    char *word = malloc(LAB_PEER_LINE_SIZE + 1);

    memset(word, 'x', LAB_PEER_LINE_SIZE);
    word[LAB_PEER_LINE_SIZE] = '\0';
    assert_null(lab_peer_ask(peer, json_pack("{s:s}", "op", word), 10));
    free(word);
    expect_lost(peer, LAB_PEER_BROKEN, "too long");
}

static bool now(void)
{
    return true;
}

static void test_interrupt(void **state)
{
    lab_peer_end(script("read x; sleep 1000"));
    lab_peer *peer = lab_peer_start(path, NULL, now);
    int64_t start = heed_clock_ns();
    assert_null(ask(peer, 100));
    assert_true(heed_clock_ns() - start < 5000000000);
    expect_lost(peer, LAB_PEER_INTERRUPTED, "interrupted");
}

/* The size of a file once it has not grown for 200 ms; -1 if it never stops growing. A stopped
 * process may still have to wait for a CPU before it stops, which may take a while on a busy
 * machine. */
static off_t settled_size(const char *name)
{
    for (int i = 0; i < 10; i++) {
        off_t before = size_of(name);
        nap_ms(200);
        if (size_of(name) == before)
            return before;
    }
    return -1;
}

/* A paused peer does nothing until the next request. */
static void test_pause(void **state)
{
    lab_peer *peer = script("(while :; do echo >> ticks; sleep 0.01; done) & " SERVE);
    json_t *reply = ask(peer, 10);

    assert_non_null(reply);
    json_decref(reply);
    lab_peer_pause(peer);
    off_t before = settled_size("ticks");
    assert_true(before >= 0);
    reply = ask(peer, 10);
    assert_non_null(reply);
    json_decref(reply);
    for (int i = 0; i < 500 && size_of("ticks") == before; i++)
        nap_ms(10);
    assert_true(size_of("ticks") > before);
    lab_peer_pause(peer);
    lab_peer_end(peer);
}

static void test_ending_the_deaf(void **state)
{
    lab_peer *peer = script("trap '' TERM INT HUP; while :; do sleep 1; done");
    int64_t start = heed_clock_ns();

    lab_peer_end(peer);
    assert_true(heed_clock_ns() - start < 5000000000);
    lab_peer_end(NULL);
}

static void test_names(void **state)
{
    static const text_pair good[] = { { "naive_peer", "naive" },
                                      { "torch_peer.py", "torch" },
                                      { "a_b2_peer", "a_b2" } };
    const char *const *bad = WORDS("", "_peer", "_peer.py", "peer", "peer.py", "Torch_peer",
                                   "x_peer.sh", "x_peer.c", "x_peer.py~", "../x_peer", "x peer",
                                   "x_peer2", "abcdefghijklmnopqrstuvwxyz0123456789_peer");
    char name[LAB_PEER_NAME_SIZE];

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(lab_peer_name_of(good[i].given, name));
        assert_string_equal(name, good[i].wanted);
    }
    for (size_t i = 0; bad[i]; i++)
        if (lab_peer_name_of(bad[i], name))
            fail_msg("\"%s\" was taken for a peer", bad[i]);
}

static const lab_found *found_named(const lab_found *found, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(found[i].name, name) == 0)
            return &found[i];
    return NULL;
}

static void test_finding(void **state)
{
    char folders[256];
    lab_found *found;
    size_t count;

    snprintf(path, sizeof path, "%s/second", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("one_peer", 0700, "");
    write_file("two_peer.py", 0600, "");
    write_file("three_peer", 0600, ""); /* not executable */
    write_file("second/one_peer", 0700, "");
    write_file("second/four_peer", 0700, "");
    snprintf(path, sizeof path, "%s/dir_peer", folder);
    assert_int_equal(mkdir(path, 0700), 0);

    snprintf(folders, sizeof folders, ":/nonexistent:%s::%s/second", folder, folder);
    setenv("HEED_PEERS", folders, 1);
    setenv("HEED_PYTHON", "some/python", 1);
    assert_int_equal(lab_peers_find(&found, &count), HEED_OK);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(found[i - 1].name, found[i].name) < 0);
    const lab_found *one = found_named(found, count, "one");
    const lab_found *two = found_named(found, count, "two");
    const lab_found *four = found_named(found, count, "four");
    assert_non_null(one);
    assert_non_null(two);
    assert_non_null(four);
    assert_null(strstr(one->path, "second"));
    assert_string_equal(one->interpreter, "");
    assert_string_equal(two->interpreter, "some/python");
    assert_non_null(strstr(four->path, "second/four_peer"));
    assert_null(found_named(found, count, "three"));
    assert_null(found_named(found, count, "dir"));
    free(found);

    unsetenv("HEED_PYTHON");
    assert_int_equal(lab_peers_find(&found, &count), HEED_OK);
    two = found_named(found, count, "two");
    assert_non_null(two);
    assert_string_equal(two->interpreter, "python3");
    free(found);
    unsetenv("HEED_PEERS");
}

RUN_TESTS_WITHIN(open_folder, scratch_close, test_conversation, test_refusals_are_replies,
                 test_absent, test_interpreter, test_hanging, test_children_are_killed,
                 test_crashing, test_dying_with_a_request_under_way, test_flooding, test_garbage,
                 test_speaking_unasked, test_last_words_are_tame, test_stderr_is_kept_in_part,
                 test_closed_stderr_is_no_fault, test_request_that_is_too_long, test_interrupt,
                 test_pause, test_ending_the_deaf, test_names, test_finding)
