/*
 * device.c - the evaluator of a sweep: prunes by facts, then times on the device
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/sweep/sweep.h"
#include "src/cuda/facts.h"
#include "src/measure.h"

#define EXPECT_WORK (INT64_C(1) << 22)
#define CACHE_BYTES (INT64_C(32) << 20) /* if the system does not report it */
#define SAMPLES_MIN 3
#define WARMUP_NS INT64_C(1000000)
#define SAMPLE_NS INT64_C(20000)

/* A point this many times slower than the best so far is timed only once. The factor allows for the
 * overhead of a single call. */
#define HOPELESS 3.0
#define AROUND_CALL 50e-6

/* Seconds of samples, by effort. */
static const double efforts[] = { 0.01, 0.1 };
#define EFFORTS ((int)(sizeof efforts / sizeof *efforts))

/* ---- Shapes ---- */

heed_status lab_sweep_open_shape(const lab_sweep *run, lab_sweep_shape *shape)
{
    size_t cache = heed_device_cache(run->context);
    int64_t bytes = !run->cold ? 0 : 2 * (cache > 0 ? (int64_t)cache : CACHE_BYTES);
    const lab_sampling rows = { .seed = LAB_ENTRY_ROWS_SEED,
                                .work = EXPECT_WORK,
                                .threads = run->threads };
    if (shape->expect)
        return HEED_OK;
    heed_status status = lab_bench_tensors_create(&shape->tensors, run->context, &shape->source,
                                                  LAB_ENTRY_ROWS_SEED, bytes);
    if (status != HEED_OK)
        return status;
    heed_buffers data = lab_bench_tensors_inputs(&shape->tensors);
    return lab_expect_create(&shape->expect, &shape->tensors.problem, &data, &rows);
}

void lab_sweep_shapes_free(lab_sweep *run)
{
    for (size_t i = 0; run->shapes && i < run->problems.count; i++) {
        lab_bench_tensors_free(&run->shapes[i].tensors);
        lab_expect_destroy(run->shapes[i].expect);
    }
    free(run->shapes);
    run->shapes = NULL;
}

/* ---- Timing ---- */

/* Takes as many samples as fit in @seconds. */
static heed_status sample(lab_bench_engine *engine, bool replay, double seconds,
                          double samples[LAB_SWEEP_SAMPLES_MAX], int *count)
{
    const heed_sampling sampling = { .warmup_ns = WARMUP_NS,
                                     .sample_ns = SAMPLE_NS,
                                     .budget_ns = (int64_t)(seconds * 1e9),
                                     .samples_min = SAMPLES_MIN,
                                     .samples_max = LAB_SWEEP_SAMPLES_MAX };
    heed_status status = HEED_OK;
    *count = 0;
    if (!replay)
        status = heed_sample(lab_bench_engine_call, engine, &sampling, samples, count);
    int64_t end = heed_clock_ns() + sampling.budget_ns;
    while (replay && status == HEED_OK && *count < LAB_SWEEP_SAMPLES_MAX &&
           (*count < SAMPLES_MIN || heed_clock_ns() < end)) {
        status = lab_bench_engine_replay(engine, 1, 1, &samples[*count]);
        *count += status == HEED_OK;
    }
    return status;
}

/* The fastest sample counts: disturbances only add time. */
static void take_samples(lab_evaluation *result, const double *samples, int count, int64_t calls)
{
    double least = INFINITY;
    for (int i = 0; i < count; i++)
        least = fmin(least, samples[i]);
    *result = (lab_evaluation){ .state = LAB_STATE_TIMED,
                                .seconds = least,
                                .samples = samples,
                                .sample_count = (size_t)count,
                                .calls = calls };
}

static heed_status time_engine(lab_sweep *run, const lab_sweep_shape *shape,
                               lab_bench_engine *engine, double seconds, lab_evaluation *result)
{
    double error = 0, *samples = run->samples;
    int count = 1;
    heed_status status = lab_bench_tensors_poison(&shape->tensors);
    if (status == HEED_OK)
        status = lab_bench_engine_estimate(engine, run->replay, &samples[0]);
    if (status == HEED_OK)
        status = lab_bench_engine_error(engine, shape->expect, &error);
    if (status == HEED_OK && error > 1) {
        result->state = LAB_STATE_WRONG;
        snprintf(result->why, sizeof result->why, "%.3g times the error allowed", error);
        return HEED_OK;
    }
    bool hopeless = shape->best > 0 && samples[0] > HOPELESS * shape->best + AROUND_CALL;
    if (status == HEED_OK && !hopeless)
        status = lab_bench_engine_ready(engine, run->replay, samples[0]);
    if (status == HEED_OK && !hopeless)
        status = sample(engine, run->replay, seconds, samples, &count);
    if (status == HEED_OK)
        take_samples(result, samples, count, run->replay ? engine->replay.calls : hopeless ? 1 : 0);
    return status;
}

/* Turns an impossible time into a failure, or the search would follow it. */
static void doubt(const lab_sweep *run, int shape, lab_evaluation *result)
{
    lab_error why = { "" };
    if (result->state == LAB_STATE_TIMED &&
        !lab_plausible_here(run->judge, run->context, &run->problems.items[shape], run->cold,
                            result->seconds, &why)) {
        result->state = LAB_STATE_IMPOSSIBLE;
        snprintf(result->why, sizeof result->why, "%.150s", why.text);
    }
}

static void note_best(lab_sweep_shape *shape, const lab_evaluation *result)
{
    if (result->state == LAB_STATE_TIMED && (shape->best == 0 || result->seconds < shape->best))
        shape->best = result->seconds;
}

/* Times a kernel on a shape. A failure of the kernel is a result; only a lost device and
 * Ctrl-C are failures. */
static heed_status time_kernel(lab_sweep *run, int number, const char *name, double seconds,
                               lab_evaluation *result)
{
    lab_sweep_shape *shape = &run->shapes[number];
    lab_bench_engine engine = { .tensors = NULL };
    heed_plan *plan;
    heed_status status = lab_sweep_open_shape(run, shape);
    if (status == HEED_OK)
        status = heed_plan_create_named(&plan, run->context, &shape->source.problem, name);
    if (status == HEED_OK) {
        status = lab_bench_engine_start(&engine, &shape->tensors, plan, NULL);
        if (status == HEED_OK)
            status = time_engine(run, shape, &engine, seconds, result);
        lab_bench_engine_stop(&engine);
    }
    if (lab_interrupted(run->sink) || status == HEED_ERR_LOST)
        return status == HEED_OK ? HEED_ERR_SYSTEM : status;
    if (status != HEED_OK) {
        result->state = LAB_STATE_FAILED;
        snprintf(result->why, sizeof result->why, "%s", heed_message());
    }
    doubt(run, number, result);
    note_best(shape, result);
    return HEED_OK;
}

heed_status lab_sweep_time_anew(lab_sweep *run, size_t number, const char *name,
                                lab_evaluation *result)
{
    *result = (lab_evaluation){ .state = LAB_STATE_FAILED };
    lab_record_now(run->started);
    heed_status status = time_kernel(run, (int)number, name, efforts[EFFORTS - 1], result);
    if (status == HEED_OK && result->state != LAB_STATE_TIMED)
        lab_say(run->sink, LAB_WARNING, "%s, timed once more on %s: %s", name,
                run->shapes[number].spec, result->why);
    return status;
}

/* ---- The evaluator ---- */

/* True if the facts of its code exclude the point. */
static bool is_pruned(const lab_sweep *run, int64_t point, lab_evaluation *result)
{
    lab_error why;
    if (!run->pool)
        return false;
    lab_sweep_facts facts = lab_sweep_pool_get(run->pool, point);
    if (facts.failed)
        snprintf(why.text, sizeof why.text, "%s", facts.why);
    else if (lab_point_facts_within(&facts.point_facts, &run->limits, &why))
        return false;
    result->state = LAB_STATE_PRUNED;
    snprintf(result->why, sizeof result->why, "%s", why.text);
    return true;
}

static heed_status keep(lab_sweep *run, int64_t point, int shape, int effort,
                        const lab_evaluation *result)
{
    const lab_trial_record record = {
        .point = point, .shape = shape, .effort = effort, .answer = *result
    };
    if (!run->record || lab_trials_write(run->record, &run->space, &record) == HEED_OK)
        return HEED_OK;
    return lab_fail(&run->trouble, HEED_ERR_SYSTEM, "%s: %s", run->record_path, strerror(errno));
}

/* Looks for a result on the board: sets run->answered if there is one. */
static heed_status look_up(lab_sweep *run, const lab_record_trial *trial, int shape,
                           lab_evaluation *result)
{
    heed_status status = lab_session_find(run->session, trial, result, &run->answered,
                                          &run->trouble);
    if (!run->answered)
        return status;
    run->reused++;
    doubt(run, shape, result);
    note_best(&run->shapes[shape], result);
    return status;
}

/* Records a result of the device on the board. Pruned points are cheap to find again. */
static heed_status put_down(lab_sweep *run, lab_record_trial *trial, const lab_evaluation *result)
{
    lab_entry_parts parts;
    if (result->state == LAB_STATE_PRUNED && !run->keeps_pruned)
        return HEED_OK;
    trial->started = run->started;
    lab_entry_take(trial, &parts, result, run->cold);
    return lab_sweep_add(run, trial, NULL);
}

static heed_status evaluate(void *data, const lab_point *point, int shape, int effort,
                            lab_evaluation *result)
{
    lab_sweep *run = data;
    int64_t index = lab_space_index(&run->space, point);
    const lab_evaluation *known = lab_trials_find(&run->known, index, shape, effort);
    char name[HEED_NAME_SIZE];
    lab_session_name words;
    lab_record_trial trial = { .run = 0 };
    lab_error error;
    run->answered = false;
    if (known) {
        run->reused += known->state != LAB_STATE_PRUNED; /* not a launch */
        *result = *known;
        doubt(run, shape, result);
        return HEED_OK;
    }
    if (lab_space_name(&run->space, point, run->kernel, name, &error) != HEED_OK) {
        *result = (lab_evaluation){ .state = LAB_STATE_PRUNED };
        snprintf(result->why, sizeof result->why, "%s", error.text);
        return HEED_OK;
    }
    if (run->session) {
        lab_sweep_name_point(run, index, &words);
        memcpy(words.parents, run->parents, sizeof words.parents);
        words.parent_count = run->parent_count;
        trial = lab_sweep_trial(run, &words, (size_t)shape, effort);
    }
    heed_status status = look_up(run, &trial, shape, result);
    if (status != HEED_OK)
        return status;
    if (run->answered)
        return keep(run, index, shape, effort, result);
    lab_record_now(run->started);
    if (!is_pruned(run, index, result))
        status = time_kernel(run, shape, name, efforts[effort], result);
    if (status != HEED_OK)
        return lab_fail(&run->trouble, status, "%s",
                        lab_interrupted(run->sink) ? "" : heed_message());
    status = put_down(run, &trial, result);
    return status == HEED_OK ? keep(run, index, shape, effort, result) : status;
}

/* Checks without compiling, by the host code of a kernel, that the config is legal and worthwhile
 * for @problem. If not, @why has the reason. */
static bool considers(const lab_sweep *run, const heed_problem *problem, const char *name,
                      char why[LAB_WHY_SIZE])
{
    heed_cuda_facts facts;
    heed_plan *plan = NULL;
    heed_status status = run->arch ? heed_cuda_facts_find(name, problem, run->arch, &facts)
                                   : heed_plan_create_named(&plan, run->context, problem, name);
    if (status == HEED_OK && !run->arch)
        status = heed_plan_considers_named(run->context, problem, name);
    const char *reason = status != HEED_OK ? heed_message() : run->arch ? facts.unworthy : NULL;
    snprintf(why, LAB_WHY_SIZE, "%s", reason ? reason : "");
    heed_plan_destroy(plan);
    return !reason;
}

static bool refuse(void *data, const lab_point *point, char why[LAB_WHY_SIZE])
{
    const lab_sweep *run = data;
    char name[HEED_NAME_SIZE];
    lab_error error = { "" };
    heed_status status = lab_space_name(&run->space, point, run->kernel, name, &error);
    snprintf(why, LAB_WHY_SIZE, "%s", error.text);
    for (size_t i = 0; i < run->problems.count && status == HEED_OK; i++)
        if (!considers(run, &run->problems.items[i], name, why))
            return true;
    return status != HEED_OK;
}

static void announce(void *data, const lab_point *points, size_t count)
{
    const lab_sweep *run = data;
    lab_sweep_pool_want(run->pool, points, count);
}

lab_evaluator lab_sweep_evaluator(lab_sweep *run)
{
    return (lab_evaluator){ .data = run,
                            .shapes = (int)run->problems.count,
                            .efforts = EFFORTS,
                            .evaluate = evaluate,
                            .refuse = refuse,
                            .announce = run->pool ? announce : NULL };
}

/* ---- Starting points ---- */

int64_t lab_sweep_find_point(const lab_sweep *run, const char *wanted)
{
    char name[HEED_NAME_SIZE];
    for (int64_t i = 0; i < lab_space_count(&run->space); i++) {
        const lab_point point = lab_space_at(&run->space, i);
        if (lab_space_name(&run->space, &point, run->kernel, name, NULL) == HEED_OK &&
            strcmp(name, wanted) == 0)
            return i;
    }
    return -1;
}

lab_point *lab_sweep_find_starts(const lab_sweep *run, size_t *count)
{
    lab_point *starts = calloc(run->problems.count, sizeof *starts);
    *count = 0;
    for (size_t i = 0; starts && i < run->problems.count; i++) {
        heed_plan *plan = NULL;
        int64_t point = -1;
        if (heed_plan_create_named(&plan, run->context, &run->problems.items[i], run->kernel) ==
            HEED_OK)
            point = lab_sweep_find_point(run, heed_plan_name(plan));
        heed_plan_destroy(plan);
        bool known = point < 0;
        for (size_t j = 0; j < *count && !known; j++)
            known = lab_space_index(&run->space, &starts[j]) == point;
        if (!known)
            starts[(*count)++] = lab_space_at(&run->space, point);
    }
    return starts;
}
