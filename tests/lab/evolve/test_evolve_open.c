/*
 * test_evolve_open.c - evolution of configs for which the gates have no result at first
 *
 * Linked with --wrap: the first kernel that is executed is slowed down by a millisecond, so that
 * another one is certain to replace it. As soon as a kernel passes the gates, the others are slowed
 * down instead.
 */
#include "run_tests.h"

#include <stdarg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contexts.h"
#include "lab/evolve/evolve.h"
#include "problems.h"
#include "record_scene.h"
#include "scratch.h"
#include "src/measure.h"

#define SECONDS 3.0
#define DELAY_NS 1000000
#define SPEC "b1 h2 s2/4096 d16 f32"

/* Four of its points are legal on the problem. */
static const char space[] = "kernel fwd_any_scalar_row\n"
                            "knob splits 1 2 3 4 5 6 7 8 500 600 700 800 as splits\n"
                            "config s = splits\n";

static char first[HEED_NAME_SIZE]; /* the first one executed */
static bool turned;

heed_status __real_heed_execute(const heed_plan *plan, const heed_buffers *buffers);
heed_status __wrap_heed_execute(const heed_plan *plan, const heed_buffers *buffers);

heed_status __wrap_heed_execute(const heed_plan *plan, const heed_buffers *buffers)
{
    if (!*first)
        snprintf(first, sizeof first, "%s", heed_plan_name(plan));
    bool slow = (strcmp(first, heed_plan_name(plan)) == 0) != turned;
    heed_status status = __real_heed_execute(plan, buffers);
    for (int64_t end = heed_clock_ns() + DELAY_NS; slow && heed_clock_ns() < end;)
        ;
    return status;
}

/* An evolution on a board, with gates that have no result at first. */
typedef struct scene {
    lab_evolve run;
    lab_sink sink;
    heed_problem problem;
    char asked[32][HEED_NAME_SIZE]; /* kernels */
    size_t count;
    bool mute;        /* the gates have no result at all */
    bool slow;        /* they use up the whole time */
    int64_t until_ns; /* for the last call */
    char said[4096];
} scene;

static lab_proven prove(void *data, const char *kernel, const char *const *specs, size_t count,
                        int64_t until_ns, char why[LAB_PROVER_WHY])
{
    scene *s = data;
    (void)specs, (void)count;
    s->until_ns = until_ns;
    while (s->slow && heed_clock_ns() < until_ns)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    snprintf(why, LAB_PROVER_WHY, "had no time");
    for (size_t i = 0; i < s->count && !s->mute; i++)
        if (strcmp(s->asked[i], kernel) == 0) {
            turned = true;
            return LAB_PROVEN;
        }
    assert_true(s->count < sizeof s->asked / sizeof *s->asked);
    snprintf(s->asked[s->count++], HEED_NAME_SIZE, "%s", kernel);
    return LAB_UNPROVEN;
}

__attribute__((format(printf, 3, 0))) static void say(void *data, lab_tone tone, const char *format,
                                                      va_list list)
{
    scene *s = data;
    size_t length = strlen(s->said);
    (void)tone;
    vsnprintf(s->said + length, sizeof s->said - length, format, list);
}

static void advise(void *data, lab_advice advice, const char *kernel, const char *spec,
                   char text[LAB_ADVICE_SIZE])
{
    (void)data;
    if (advice == LAB_ADVICE_PROVE)
        snprintf(text, LAB_ADVICE_SIZE, "prove %s on %s", kernel, spec);
}

static void open_scene(scene *s, void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_error error;
    lab_sweep *sweep = &s->run.sweep;
    memset(s, 0, sizeof *s);
    s->sink = (lab_sink){ .data = s, .say = say, .advise = advise };
    s->run = (lab_evolve){ .session = { .verb = "evolve", .seed = 1 },
                           .prover = { s, prove },
                           .device = "cpu",
                           .duel = 0.2,
                           .trials = 4,
                           .no_compare = true };
    *sweep = (lab_sweep){ .sink = &s->sink,
                          .problems = { &s->problem, 1 },
                          .shapes = calloc(1, sizeof *sweep->shapes),
                          .threads = 1,
                          .session = &s->run.session };
    s->problem = parsed(SPEC);
    heed_problem_normalize(&sweep->shapes->source.problem, &s->problem);
    snprintf(sweep->shapes->spec, sizeof sweep->shapes->spec, SPEC);
    scratch_text_write(state, "few.txt", space);
    record_expect(lab_space_load(&sweep->space, scratch_path(state, "few.txt", path), &error),
                  &error);
    sweep->limits = sweep->space.limits;
    snprintf(sweep->kernel, sizeof sweep->kernel, "%s", sweep->space.kernels[0]);
    sweep->context = host_context_of(1, "scalar");
    s->run.session.record = record_scene_open(scratch_path(state, "b.db", path), LAB_RECORD_WRITE);
    s->run.session.device = (lab_record_device){ .name = heed_context_device(sweep->context),
                                                 .backend = "cpu" };
    s->run.session.environment = (lab_record_environment){ .features = "scalar",
                                                           .threads = 1,
                                                           .build = "0-gcc" };
    lab_evolve_begin(&s->run);
}

static void evolve(scene *s)
{
    lab_evolve *run = &s->run;
    record_expect(lab_evolve_configs_begin(run, false), &run->sweep.trouble);
    record_expect(lab_evolve_configs(run), &run->sweep.trouble);
}

static void close_scene(scene *s, lab_record_state end)
{
    lab_error error;
    record_expect(lab_session_end(&s->run.session, end, NULL, &error), &error);
    lab_evolve_free(&s->run);
    lab_record_close(s->run.session.record);
    heed_context_destroy(s->run.sweep.context);
    lab_space_free(&s->run.sweep.space);
}

static size_t count_ranked(const scene *s)
{
    const lab_record_filter filter = { .part = LAB_BOARD_RANKED };
    return record_scene_count(s->run.session.record, &filter);
}

/* A challenger that won before the gates had a result is ranked once it passes. */
static void test_late_answer(void **state)
{
    static scene s;
    open_scene(&s, state);
    evolve(&s);
    assert_true(s.run.challenges > 0);
    assert_int_equal(s.run.proven, LAB_PROVEN);
    assert_false(lab_evolve_is_open(&s.run));
    assert_int_equal(count_ranked(&s), 1);
    close_scene(&s, LAB_RECORD_FINISHED);
}

/* Without a result nothing is ranked, which is reported, and a resumed run calls the gates
 * again. */
static void test_no_answer(void **state)
{
    static scene s;
    lab_session_name name;
    open_scene(&s, state);
    s.mute = true;
    evolve(&s);
    assert_true(lab_evolve_is_open(&s.run));
    assert_int_equal(count_ranked(&s), 0);
    assert_non_null(strstr(s.said, "is not ranked"));
    assert_non_null(strstr(s.said, "; prove fwd_any_scalar_row"));
    lab_sweep_name_point(&s.run.sweep, lab_evolution_champion(s.run.bred.evolution)->point, &name);
    close_scene(&s, LAB_RECORD_BROKEN);
    open_scene(&s, state);
    snprintf(s.asked[s.count++], HEED_NAME_SIZE, "%s", name.whole);
    evolve(&s);
    assert_true(s.run.session.resumed);
    assert_int_equal(s.run.proven, LAB_PROVEN);
    assert_int_equal(count_ranked(&s), 1);
    assert_null(strstr(s.said, "is not ranked"));
    close_scene(&s, LAB_RECORD_FINISHED);
}

/* The time limit covers gates and comparisons too: these are stopped or left out, which is
 * reported. */
static void test_no_time(void **state)
{
    static scene s;
    open_scene(&s, state);
    s.mute = s.slow = true;
    s.run.no_compare = false;
    s.run.seconds = SECONDS;
    lab_evolve_begin(&s.run);
    evolve(&s);
    assert_true(s.count > 0);
    assert_true(s.until_ns == s.run.start_ns + (int64_t)(SECONDS * 1e9));
    assert_true(lab_evolve_is_open(&s.run));
    assert_non_null(
        strstr(s.said, "after 3 s there was no time left for: the gates of the champion"));
    assert_non_null(strstr(s.said, "a comparison with heed's plan"));
    close_scene(&s, LAB_RECORD_BROKEN);
}

static int open_folder(void **state)
{
    first[0] = '\0';
    turned = false;
    return scratch_open(state);
}

RUN_TESTS_EACH(open_folder, scratch_close, test_late_answer, test_no_answer, test_no_time)
