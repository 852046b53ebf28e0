/*
 * fuzz_peer.c - peers with arbitrary answers
 *
 * An input is the output of a peer, line by line (fake_peer.h), in reply to every kind of request.
 * One that begins with 'D' is from a peer on a device.
 */
#include <math.h>
#include <string.h>

#include "fake_peer.h"
#include "lab/base/control.h"
#include "lab/trial/peer/rival.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SPEC "b1 h1 s2 d4 f32"
#define CALLS 3

static const float ones[8] = { 1 };

/* Returns whether the text is one line without terminal escapes. */
static bool is_tame(const char *text, size_t size)
{
    require(memchr(text, '\0', size) != NULL, "a text ends");
    for (; *text; text++)
        if (lab_control_size(text) > 0)
            return false;
    return true;
}

static void check_texts(const lab_rival *rival)
{
    require(is_tame(rival->reason, sizeof rival->reason), "a reason is tame");
    require(is_tame(rival->version, sizeof rival->version), "a version is tame");
    require(is_tame(rival->detail, sizeof rival->detail), "a detail is tame");
    require(is_tame(rival->method, sizeof rival->method), "a method is tame");
    require(rival->backend_count <= LAB_RIVAL_BACKENDS_MAX, "there are not too many backends");
    for (size_t i = 0; i < rival->backend_count; i++)
        require(rival->backends[i][0] && is_tame(rival->backends[i], sizeof rival->backends[i]),
                "a backend has a name");
}

/* Checks @answer and returns whether it is a success. */
static bool check(const lab_rival *rival, lab_answer answer)
{
    check_texts(rival);
    if (answer == LAB_ANSWER_OK)
        return true;
    require(rival->reason[0] != '\0', "every other answer has a reason");
    if (answer != LAB_ANSWER_LOST)
        return false;
    require(!rival->peer, "a peer that is lost is gone");
    require(rival->lost == LAB_PEER_CRASHED || rival->lost == LAB_PEER_FLOODED ||
                rival->lost == LAB_PEER_GARBAGE,
            "only what it said or its end loses a peer");
    return false;
}

static void check_seconds(const double *seconds, int count)
{
    for (int i = 0; i < count; i++)
        require(isfinite(seconds[i]) && seconds[i] > 0, "a time is one");
}

/* Makes every request that is possible once a problem is prepared. */
static void time_problem(lab_rival *rival)
{
    static const int64_t row = 1;
    double seconds[CALLS];
    float o[FAKE_PEER_O_SIZE / sizeof(float)];
    if (check(rival, lab_rival_run(rival, 1, CALLS, 1, seconds)))
        check_seconds(seconds, 1);
    lab_rival_pause(rival);
    if (check(rival, lab_rival_replay(rival, CALLS, 1, 2, 1, seconds)))
        check_seconds(seconds, 1);
    if (check(rival, lab_rival_eager(rival, CALLS, 1, seconds)))
        check_seconds(seconds, CALLS);
    if (check(rival, lab_rival_check(rival, NULL, 0, o, sizeof o)))
        require(o[0] == 0, "O is what was written");
    require(!check(rival, lab_rival_check(rival, &row, 1, o, sizeof o / 2)),
            "one row of O is not all of it");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const lab_found found = { .name = "fake", .path = "/fake_peer" };
    const lab_rival_data tensors = { .q = ones, .k = ones, .v = ones };
    lab_rival rival;
    heed_problem problem;
    double flops;
    bool on_device = size > 0 && data[0] == 'D';
    require(heed_problem_parse(&problem, SPEC) == HEED_OK &&
                heed_problem_normalize(&problem, &problem) == HEED_OK,
            "the problem is one");
    fake_peer_load(data + on_device, size - on_device);
    bool good = check(&rival, lab_rival_open(&rival, &found, 2, on_device ? "cuda:0" : "", NULL));
    for (int i = 0; i < 3 && (good || rival.lost == LAB_PEER_CRASHED); i++) {
        good = check(&rival, lab_rival_prepare(&rival, &problem, &tensors, 1));
        if (good)
            time_problem(&rival);
        lab_rival_pause(&rival);
        lab_rival_release(&rival);
    }
    if (good && check(&rival, lab_rival_sgemm(&rival, 64, &flops)))
        require(isfinite(flops) && flops > 0, "a rate is one");
    lab_rival_close(&rival);
    return 0;
}
