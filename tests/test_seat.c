/*
 * test_seat.c - a candidate that is timed: no two calls have the same values, and what it computes
 * is looked at
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cli/seat.h"
#include "hold.h"
#include "trial_scene.h"

/* What becomes of an honest source: from its fourth call on ... */
enum {
    STAYS_HONEST,
    KEEPS_ANSWER, /* it gives the answer of the third */
    DOES_NOTHING,
    BY_TURNS /* it does nothing every other time */
};

static const char cheat[] =
    "\n#undef heed_candidate_run\n"
    "#include <string.h>\n"
    "__attribute__((visibility(\"default\")))\n"
    "int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)\n"
    "{\n"
    "    static float kept[4096];\n"
    "    static int calls;\n"
    "    size_t bytes = (size_t)p->seq_q * (size_t)p->dim_v * sizeof *kept;\n"
    "    if (++calls <= 3 || ID == 0 || (ID == 3 && calls % 2)) {\n"
    "        int failed = compute(p, b);\n"
    "        memcpy(kept, b->o, bytes);\n"
    "        return failed;\n"
    "    }\n"
    "    if (ID == 1)\n"
    "        memcpy(b->o, kept, bytes);\n"
    "    return 0;\n"
    "}\n";

static trial_scene scene;

/* Opens a trial of the honest source in the cheat's hands. */
static void open_cheat(cli_seat *seat, long long id)
{
    static char source[sizeof scene.source + sizeof cheat + 64];
    lab_candidate candidate = scene_candidate(&scene, "plain", id);

    snprintf(source, sizeof source, "#define heed_candidate_run compute\n%s%s", scene.source,
             cheat);
    candidate.source = source;
    candidate.source_size = strlen(source);
    seat->limits = (lab_limits){ .run_seconds = 5, .tensor_bytes = (size_t)16 << 20 };
    if (!lab_trial_open(&seat->trial, &candidate, &seat->limits, &seat->outcome))
        fail_msg("%s", seat->outcome.text);
}

static heed_status run_blocks(cli_seat *seat, long long id, const char *spec, int blocks)
{
    const heed_options options = { .device = "cpu", .threads = 1 };
    heed_context *context;
    bench_source source = { .label = "" };
    bench_tensors tensors;
    double seconds = 0;
    heed_status status = HEED_OK;

    assert_int_equal(heed_context_create(&context, &options), HEED_OK);
    assert_int_equal(heed_problem_parse(&source.problem, spec), HEED_OK);
    assert_int_equal(bench_tensors_create(&tensors, context, &source, 7, 0), HEED_OK);
    *seat = (cli_seat){ .trial = NULL };
    open_cheat(seat, id);
    assert_true(cli_seat_take(seat, &tensors));
    cli_seat_size(seat, 1e-5, 8e-5);
    assert_int_equal(seat->calls, 8);
    for (int i = 0; i < blocks && status == HEED_OK; i++)
        status = cli_seat_block(seat, &seconds);
    cli_seat_close(seat);
    bench_tensors_free(&tensors);
    heed_context_destroy(context);
    return status;
}

static void test_honest(void **state)
{
    static const char *const specs[] = { "b1 h1 s40 d24 f32", "b2 h4/2 s17/33 d5/3 f32 causal=br",
                                         "b2 h2 s11 d7 f32 q=300:20:8 k=0:21:9 v=350:22:10" };
    cli_seat seat;

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        if (run_blocks(&seat, STAYS_HONEST, specs[i], 20) != HEED_OK)
            fail_msg("%s: %s", specs[i], seat.outcome.text);
        assert_true(seat.worst > 0 && seat.worst <= 1);
        assert_int_equal(seat.blocks, 20);
    }
}

/* Every tensor of every call begins elsewhere, but for chance. */
static void test_values_move(void **state)
{
    cli_seat seat;
    int same = 0;

    assert_int_equal(run_blocks(&seat, STAYS_HONEST, "b1 h1 s40 d24 f32", 1), HEED_OK);
    for (int i = 0; i < seat.calls; i++)
        for (int n = 0; n < i; n++)
            for (int role = LAB_Q; role <= LAB_V; role++)
                same += seat.sets[i].span[role].room == seat.sets[n].span[role].room;
    assert_true(same < 8); /* of 84 */
}

static void test_cheats(void **state)
{
    cli_seat seat;

    for (long long id = KEEPS_ANSWER; id <= BY_TURNS; id++) {
        assert_int_equal(run_blocks(&seat, id, "b1 h1 s40 d24 f32", 60), HEED_ERR_UNSUPPORTED);
        assert_true(seat.worst > 1);
        assert_non_null(strstr(seat.outcome.text, "while it was timed is wrong"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_values_move),
        cmocka_unit_test(test_cheats),
    };

    if (!can_hold_aloud())
        return HOLD_SKIPPED;
    scene_open(&scene);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
