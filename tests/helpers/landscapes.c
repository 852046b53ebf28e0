/*
 * landscapes.c - synthetic trials for testing strategies
 */
#include "landscapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#define SHAPES 3

typedef struct maker {
    const lab_space *space;
    lab_rng rng;
    double best[SHAPES][LAB_SPACE_KNOBS]; /* 0 to 1, similar for all shapes */
    double steep[LAB_SPACE_KNOBS];
    double together[LAB_SPACE_KNOBS]; /* interaction with the next knob */
    double load[LAB_SPACE_KNOBS];     /* contribution to a limited resource */
    double limit;
    double blocks;
} maker;

static const char *const names[] = { "valley", "cliffs", "faults", "waves", "rugged" };

const char *landscape_name(landscape which)
{
    return names[which];
}

static double real(maker *m, double low, double high)
{
    return low + (high - low) * lab_rng_real(&m->rng);
}

static void choose(maker *m)
{
    double all = 0;
    for (int i = 0; i < m->space->knob_count; i++) {
        double best = real(m, 0, 1);
        for (int s = 0; s < SHAPES; s++)
            m->best[s][i] = fmin(1, fmax(0, best + real(m, -0.2, 0.2)));
        m->steep[i] = real(m, 0.05, 0.8);
        m->together[i] = real(m, -0.4, 0.4);
        m->load[i] = real(m, -0.2, 1);
        all += fmax(m->load[i], 0);
    }
    m->limit = real(m, 0.45, 0.75) * all;
    m->blocks = real(m, 20, 60);
}

/* 0 for the first value of a knob, 1 for the last. */
static double share(const maker *m, const lab_point *point, int knob)
{
    int steps = m->space->knobs[knob].count - 1;
    return steps > 0 ? point->at[knob] / (double)steps : 0;
}

static double score(maker *m, landscape which, const lab_point *point, int shape)
{
    double sum = 0, load = 0, size = 1;
    int knobs = m->space->knob_count;
    for (int i = 0; i < knobs; i++) {
        double off = share(m, point, i) - m->best[shape][i];
        double next = share(m, point, (i + 1) % knobs) - m->best[shape][(i + 1) % knobs];
        sum += m->steep[i] * fabs(off) * sqrt(fabs(off)) + m->together[i] * off * next;
        load += m->load[i] * share(m, point, i);
        size *= 1 + share(m, point, i);
    }
    if (which >= LANDSCAPE_CLIFFS && load > m->limit)
        sum += 0.7;
    if (which == LANDSCAPE_WAVES) {
        double rounds = m->blocks * (shape + 1) / size;
        sum += log(ceil(rounds) / rounds);
    }
    if (which == LANDSCAPE_RUGGED)
        sum = real(m, 0, 1);
    return sum;
}

lab_trials landscape_make(landscape which, const lab_space *space, uint64_t seed)
{
    maker m = { .space = space, .rng = { .seed = seed } };
    int64_t points = lab_space_count(space);
    lab_trials trials = { .shape_count = SHAPES,
                          .shapes = calloc(SHAPES, sizeof *trials.shapes),
                          .records = calloc((size_t)points * SHAPES, sizeof *trials.records) };
    assert_non_null(trials.shapes);
    assert_non_null(trials.records);
    choose(&m);
    for (int64_t i = 0; i < points; i++) {
        const lab_point point = lab_space_at(space, i);
        bool fault = which == LANDSCAPE_FAULTS && lab_rng_below(&m.rng, 4) == 0;
        if (!lab_space_allows(space, &point, NULL))
            continue;
        for (int s = 0; s < SHAPES; s++)
            trials.records[trials.count++] = (lab_trial_record){
                .point = i,
                .shape = s,
                .answer = { .state = fault ? LAB_STATE_CRASHED : LAB_STATE_TIMED,
                            .seconds = 1e-5 * (s + 1) * exp(score(&m, which, &point, s)) }
            };
    }
    return trials;
}

void landscape_space(lab_space *space, const char *name)
{
    char path[512];
    lab_error error;
    snprintf(path, sizeof path, HEED_SOURCE_DIR "/spaces/%s.txt", name);
    assert_int_equal(lab_space_load(space, path, &error), HEED_OK);
}

const char landscape_source[] = "int a;\n"
                                "    /* heed:region one */\n"
                                "    x = 1;\n"
                                "/* heed:or\n"
                                "    x = 2;\n"
                                "    x++;\n"
                                "*/\n"
                                "/* heed:or\n"
                                "*/\n"
                                "/* heed:end */\n"
                                "int b; /* heed:not a mark */\n"
                                "/* heed:region two */\n"
                                "y();\n"
                                "/* heed:end */\n";
