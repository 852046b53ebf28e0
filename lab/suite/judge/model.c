/*
 * model.c - judges a solution of a task whose attention is inside a model
 */
#include "lab/suite/judge/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab/tensor/random.h"

/* A solution's error may be this multiple of that of the task's model in float32, plus this number
 * of float32 units. */
#define ALLOWED_TIMES 4
#define ALLOWED_LEAST 1e-6

/* Errors up to this multiple of the allowed one are explained by 16-bit products: the error of the
 * task's model in float32 shows how much the values amplify rounding. */
#define INEXACT_MOST 16384.0

/* Maximum difference between two calls of the task's model in float64. */
#define STEADY_MOST 1e-6

#define ROUNDS 3   /* with each kind of values */
#define ATTEMPTS 3 /* at times */

/* Pause before a timed call: threads of the other boxes spin for some milliseconds. */
#define PAUSE_NANOSECONDS 30000000

/* Kinds of values: the suite's; both signs; and ones that give most of the weight to one key. The
 * suite promises the first alone: if a model makes infinities or NaN of the others, it gets those
 * of them that are not negative. */
static const struct {
    const char *name;
    double least, most;
} kinds[] = { { "uniform", 0, 1 }, { "signed", -1.7, 1.7 }, { "sharp", -12, 12 } };
#define KINDS (sizeof kinds / sizeof *kinds)

enum {
    SOLUTION,
    SINGLE, /* the task's model in float32 */
    DOUBLE, /* the same in float64 */
    BOXES
};

typedef struct models {
    const lab_task *task;
    const lab_judging *how;
    lab_judgement *judgement;
    lab_box *box[BOXES];
    float *inputs[LAB_TASK_INPUTS];
    double *expected;
    double least[KINDS];
    double fresh; /* minimum seconds of a call of the task's model, on new values */
    bool inexact;
} models;

/* Judges after a box failed: only the solution's box is its fault. */
static bool decide_failed(models *it, int which, const lab_trial_outcome *outcome)
{
    return lab_judgement_fail(it->judgement, outcome,
                              which != SOLUTION ? "the task's own model" : NULL);
}

/* ---- Boxes and values ---- */

static bool open_boxes(models *it, const char *path)
{
    for (int i = 0; i < BOXES; i++) {
        lab_trial_outcome outcome;
        const lab_box_command command = { .how = it->how,
                                          .solution = i == SOLUTION ? path : it->task->path,
                                          .init = it->task->init,
                                          .model = it->task,
                                          .entry = i == SOLUTION ? "ModelNew" : "Model",
                                          .precise = i == DOUBLE };
        if (!lab_box_open(&it->box[i], &command, &outcome))
            return decide_failed(it, i, &outcome);
    }
    return true;
}

static bool make_room(models *it)
{
    it->expected = malloc(it->task->output_elements * sizeof *it->expected);
    bool whole = it->expected != NULL;
    for (int i = 0; i < it->task->input_count && whole; i++) {
        it->inputs[i] = malloc(it->task->input_elements[i] * sizeof(float));
        whole = it->inputs[i] != NULL;
    }
    return whole;
}

static void close_all(models *it)
{
    for (int i = 0; i < BOXES; i++)
        lab_box_close(it->box[i]);
    for (int i = 0; i < LAB_TASK_INPUTS; i++)
        free(it->inputs[i]);
    free(it->expected);
}

static void draw(models *it, size_t kind, int round)
{
    const double least = it->least[kind], range = kinds[kind].most - least;
    for (int i = 0; i < it->task->input_count; i++) {
        uint64_t stream = lab_random_stream(it->how->seed,
                                            10000 * kind + 100 * (uint64_t)round + (uint64_t)i);
        for (size_t j = 0; j < it->task->input_elements[i]; j++)
            it->inputs[i][j] = (float)(least + range *
                                                   (double)lab_random_below(stream, j, 1 << 20) /
                                                   (1 << 20));
    }
}

/* ---- Calls ---- */

static void rest(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NANOSECONDS }, NULL);
}

static bool call(models *it, int which, double *seconds)
{
    bool changed;
    if (!lab_box_call(it->box[which], (const float *const *)it->inputs, seconds, &changed))
        return decide_failed(it, which, lab_box_outcome(it->box[which]));
    if (changed && which == SOLUTION) {
        snprintf(it->judgement->gate, sizeof it->judgement->gate, "inputs");
        return lab_judgement_decide(it->judgement, LAB_JUDGED_CHEATS, "its inputs were written to");
    }
    return true;
}

/* The norm of the difference from the expected output, relative to the norm of that. */
static double error_of(const models *it, int which)
{
    const double *made = lab_box_output(it->box[which]);
    double sum = 0, all = 0;
    for (size_t i = 0; i < it->task->output_elements; i++) {
        double off = made[i] - it->expected[i];
        sum += off * off;
        all += it->expected[i] * it->expected[i];
    }
    return all > 0 ? sqrt(sum / all) : sqrt(sum);
}

/* True if the task's model reproduces its output. With dropout or sampling it does not, and cannot
 * serve as a reference. */
static bool is_steady(models *it)
{
    double unused;
    bool changed;
    if (!lab_box_call(it->box[DOUBLE], (const float *const *)it->inputs, &unused, &changed))
        return decide_failed(it, DOUBLE, lab_box_outcome(it->box[DOUBLE]));
    if (changed)
        return lab_judgement_decide(it->judgement, LAB_JUDGED_NOT,
                                    "its task's own model writes to its inputs");
    memcpy(it->expected, lab_box_output(it->box[DOUBLE]),
           it->task->output_elements * sizeof *it->expected);
    if (!call(it, DOUBLE, &unused))
        return false;
    const double error = error_of(it, DOUBLE);
    if (error <= STEADY_MOST)
        return true;
    return lab_judgement_decide(
        it->judgement, LAB_JUDGED_NOT,
        "its task's own model differs by %.3g between two calls with the same inputs: it "
        "draws random numbers, or keeps something",
        error);
}

/* Calls the task's model, which is then the reference. */
static bool refer(models *it, double *seconds)
{
    double unused;
    if (!call(it, DOUBLE, &unused))
        return false;
    rest();
    if (!call(it, SINGLE, seconds))
        return false;
    memcpy(it->expected, lab_box_output(it->box[DOUBLE]),
           it->task->output_elements * sizeof *it->expected);
    return true;
}

static bool is_finite(const models *it)
{
    return isfinite(error_of(it, SINGLE));
}

static bool decide_infinite(models *it, size_t kind)
{
    return lab_judgement_decide(it->judgement, LAB_JUDGED_NOT,
                                "its task's own model makes infinities or NaN of inputs from %g to "
                                "%g",
                                it->least[kind], kinds[kind].most);
}

/* Finds values of each kind that give a finite output of the task's model. */
static bool find_ranges(models *it)
{
    double unused;
    for (size_t kind = 0; kind < KINDS; kind++) {
        it->least[kind] = kinds[kind].least;
        draw(it, kind, 0);
        if (!refer(it, &unused))
            return false;
        if (is_finite(it))
            continue;
        it->least[kind] = 0;
        draw(it, kind, 0);
        if (!refer(it, &unused))
            return false;
        if (!is_finite(it))
            return decide_infinite(it, kind);
    }
    return true;
}

/* The number of a call of the solution, from 1. */
static int call_number(size_t kind, int round)
{
    return round / ROUNDS * (int)(KINDS * ROUNDS) + (int)kind * ROUNDS + round % ROUNDS + 1;
}

/* Compares the output of the solution with that of the task's model for the same inputs. Returns
 * false if that is decisive: a solution that was right on the first values of a kind, but is wrong
 * on others of the same kind, keeps state. */
static bool compare(models *it, size_t kind, int round)
{
    double seconds = 0;
    if (!refer(it, &seconds))
        return false;
    if (!is_finite(it))
        return decide_infinite(it, kind);
    it->fresh = it->fresh > 0 ? fmin(it->fresh, seconds) : seconds;
    double allowed = fmax(ALLOWED_TIMES * error_of(it, SINGLE), ALLOWED_LEAST);
    double error = error_of(it, SOLUTION);
    if (!(error / allowed <= it->judgement->error))
        it->judgement->error = error / allowed;
    if (error <= allowed)
        return true;
    snprintf(it->judgement->gate, sizeof it->judgement->gate, "error");
    snprintf(it->judgement->values, sizeof it->judgement->values, "%s", kinds[kind].name);
    const bool before = it->inexact, rounds = error <= INEXACT_MOST * allowed;
    it->inexact = it->inexact || rounds;
    lab_judgement_decide(
        it->judgement,
        rounds                 ? LAB_JUDGED_INEXACT
        : round > 0 && !before ? LAB_JUDGED_CHEATS
                               : LAB_JUDGED_WRONG,
        "relative error %.3g, where the task's own model in float32 has %.3g, in call %d", error,
        error_of(it, SINGLE), call_number(kind, round));
    return rounds;
}

/* Makes calls with new values, from number @first of each kind. */
static bool call_all(models *it, int first)
{
    double seconds = 0;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (int round = first; round < first + ROUNDS; round++) {
            draw(it, kind, round);
            rest();
            if (!call(it, SOLUTION, &seconds) || !compare(it, kind, round))
                return false;
            if (it->judgement->fresh == 0 || seconds < it->judgement->fresh)
                it->judgement->fresh = seconds;
        }
    return true;
}

/* Judges by the times. Returns false if a process failed. */
static bool judge_times(models *it)
{
    lab_judgement *j = it->judgement;
    double claimed = 0, repeated = 0;
    if (!lab_times_repeat(it->box[SINGLE], &claimed, &repeated))
        return decide_failed(it, SINGLE, lab_box_outcome(it->box[SINGLE]));
    rest();
    if (!lab_times_repeat(it->box[SOLUTION], &j->claimed, &j->repeated))
        return decide_failed(it, SOLUTION, lab_box_outcome(it->box[SOLUTION]));
    if (lab_times_judge(j, it->how->device, it->fresh - repeated) && !it->inexact)
        lab_judgement_decide(it->judgement, LAB_JUDGED_RIGHT,
                             "as near as the task's own model, on %zu kinds of values", KINDS);
    return true;
}

/* Judges values, and then times. If only seen tensors appear fast, which a busy machine can cause,
 * times are taken again with other values. */
static void judge_all(models *it)
{
    if (!find_ranges(it))
        return;
    draw(it, 0, 0);
    if (!is_steady(it))
        return;
    for (int i = 0; i < ATTEMPTS; i++)
        if (!call_all(it, i * ROUNDS) || !judge_times(it) ||
            it->judgement->judged != LAB_JUDGED_MEASURED)
            return;
}

heed_status lab_model_judge(lab_judgement *judgement, const char *path, const lab_task *task,
                            const lab_judging *how, lab_error *error)
{
    models it = { .task = task, .how = how, .judgement = judgement };
    heed_status status = HEED_OK;
    if (!make_room(&it))
        status = lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory for its tensors", path);
    else if (open_boxes(&it, path))
        judge_all(&it);
    close_all(&it);
    bool ours = judgement->judged == LAB_JUDGED_NOT && *judgement->verdict;
    if (status == HEED_OK && ours)
        status = lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, judgement->evidence);
    return status;
}
