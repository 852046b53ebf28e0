/*
 * measure.c - times heed on one problem: alone, and then against every opponent
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/mask.h"
#include "lab/bench/match.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/view.h"
#include "src/measure.h"

enum {
    SAMPLES_MIN = 5,
    SAMPLES_MAX = 4000
};

/* A sample is one call, or as many as take this long: reading the clock takes tens of nanoseconds.
 */
#define SAMPLE_NS INT64_C(20000)
#define WARMUP_NS INT64_C(50000000)

/* A rival this many times slower than the fastest in a first look cannot be the fastest. */
#define NEAR 1.25

/* A figure this far above the measured ceiling is a measurement error. */
#define CEILING_SLACK 1.05

/* Last-level cache, if the system does not report its size. */
#define CACHE_BYTES (INT64_C(32) << 20)

void lab_bench_look_at_device(lab_bench *bench, const char *device)
{
    bool host = heed_device_is_host(bench->context);
    lab_environment_read(&bench->environment);
    bench->replay |= !host;
    bench->host_threads = host ? heed_context_threads(bench->context) : lab_environment_cores();
    if (bench->replay)
        snprintf(bench->device, sizeof bench->device, "%s",
                 host                               ? "cpu"
                 : strncmp(device, "cuda:", 5) == 0 ? device
                                                    : "cuda:0");
}

double lab_bench_ceiling(lab_bench *bench, heed_type type, bool again)
{
    lab_ceiling ceiling;
    int threads = heed_context_threads(bench->context);
    int cores = bench->environment.cores_allowed;
    if (bench->ceilings[type] > 0 && !again)
        return bench->ceilings[type];
    if (cores > 0 && threads > cores)
        threads = cores;
    if (lab_ceiling_flops(&ceiling, type, threads, heed_context_cpu(bench->context)) == HEED_OK) {
        bench->ceiling_loops[type] = ceiling.loop;
        if (ceiling.flops > bench->ceilings[type])
            bench->ceilings[type] = ceiling.flops;
    }
    return bench->ceilings[type];
}

int64_t lab_bench_rotation_bytes(const lab_bench *bench)
{
    size_t cache = heed_device_cache(bench->context);
    if (!bench->cold)
        return 0;
    return 2 * (cache > 0 ? (int64_t)cache : CACHE_BYTES);
}

heed_status lab_bench_plan(const lab_bench *bench, const heed_problem *problem, heed_plan **plan)
{
    if (bench->kernel)
        return heed_plan_create_named(plan, bench->context, problem, bench->kernel);
    return heed_plan_create(plan, bench->context, problem, bench->effort);
}

int64_t lab_bench_alone_ns(const lab_bench *bench)
{
    return (int64_t)((bench->look > 0 ? bench->look : 0.5 * bench->seconds) * 1e9);
}

/* Samples heed alone, and checks its output. */
static heed_status sample_alone(lab_bench *bench, lab_bench_row *row, lab_bench_engine *engine,
                                const lab_expect *expect)
{
    const heed_sampling sampling = { .warmup_ns = WARMUP_NS,
                                     .sample_ns = SAMPLE_NS,
                                     .budget_ns = lab_bench_alone_ns(bench),
                                     .samples_min = SAMPLES_MIN,
                                     .samples_max = SAMPLES_MAX };
    double *sorted = malloc(SAMPLES_MAX * sizeof *sorted);
    row->samples = malloc(SAMPLES_MAX * sizeof *row->samples);
    if (!sorted || !row->samples) {
        free(sorted);
        return HEED_ERR_NO_MEMORY;
    }
    heed_status status = lab_bench_tensors_poison(engine->tensors);
    if (status == HEED_OK)
        status = heed_sample(lab_bench_engine_call, engine, &sampling, row->samples, &row->count);
    if (status == HEED_OK) {
        for (int i = 0; i < row->count; i++)
            sorted[i] = row->samples[i] = lab_stats_round(row->samples[i]);
        lab_stats_summarize(sorted, (size_t)row->count, &row->summary);
        status = lab_bench_engine_error(engine, expect, &row->error);
    }
    if (status == HEED_OK)
        status = lab_bench_engine_ready(engine, false, row->summary.p50);
    free(sorted);
    return status;
}

/* Rejects a figure beyond the measured peak or the data sheet's. */
static void doubt(lab_bench *bench, lab_bench_row *row)
{
    heed_type type = row->source->problem.type;
    double rate = row->work.flops / row->summary.p50;
    double floor = lab_bench_device_floor(bench, row);
    if (!bench->replay) {
        row->ceiling = lab_bench_ceiling(bench, type, false);
        if (row->ceiling > 0 && rate > row->ceiling)
            row->ceiling = lab_bench_ceiling(bench, type, true);
    }
    if (row->ceiling > 0 && rate > CEILING_SLACK * row->ceiling) {
        row->outcome = LAB_BENCH_IMPOSSIBLE;
        snprintf(row->reason, sizeof row->reason,
                 "%.0f GFLOP/s is more than the %.0f that this machine can do: a measurement error",
                 rate * 1e-9, row->ceiling * 1e-9);
    } else if (row->summary.p50 < floor) {
        row->outcome = LAB_BENCH_IMPOSSIBLE;
        snprintf(row->reason, sizeof row->reason,
                 "%.3g us is less than the %.3g that this device needs at least: a measurement "
                 "error",
                 row->summary.p50 * 1e6, floor * 1e6);
    }
}

/* The least time on the device, with tensors in memory or in caches as in this run. */
static void find_floor(const lab_bench *bench, lab_bench_row *row)
{
    const lab_floor floor = lab_roofline_floor_of(&row->source->problem, &row->work,
                                                  &bench->roofline);
    row->floor = bench->cold ? floor.cold : floor.hot;
    row->binds = bench->cold ? floor.cold_binds : floor.hot_binds;
}

double lab_bench_of_roofline(const lab_bench_row *row)
{
    if (row->floor > 0)
        return row->floor / row->summary.p50;
    return row->ceiling > 0 ? row->flops / row->summary.p50 / row->ceiling : 0;
}

/* A wrong or impossible result has no figure. */
static void judge(lab_bench *bench, lab_bench_row *row)
{
    doubt(bench, row);
    find_floor(bench, row);
    if (row->error <= 1)
        return;
    row->outcome = LAB_BENCH_WRONG;
    snprintf(row->reason, sizeof row->reason, "its output is wrong: %.3g times the error allowed",
             row->error);
}

bool lab_bench_late(const lab_bench *bench)
{
    return bench->deadline_ns > 0 && heed_clock_ns() >= bench->deadline_ns;
}

/* Skips a rival for which no time is left. */
static void skip_match(lab_bench_match *match, const char *name)
{
    match->name = name;
    match->outcome = LAB_BENCH_SKIPPED;
    snprintf(match->reason, sizeof match->reason, "no time was left for it");
}

static lab_bench_match *add_match(lab_bench_row *row)
{
    lab_bench_match *match = &row->matches[row->match_count++];
    match->error = -1;
    return match;
}

/* Takes a first look at a rival, unless it is the only one. */
static heed_status look_at(lab_bench *bench, lab_bench_row *row, lab_bench_rival *entry,
                           lab_bench_engine *engine, const lab_expect *expect)
{
    lab_bench_match *match = add_match(row);
    size_t open = 0;
    for (size_t i = 0; i < bench->rival_count; i++)
        open += bench->rivals[i].open;
    match->looked = bench->look > 0 && open > 1;
    if (!lab_bench_late(bench))
        return lab_bench_meet_rival(bench, match, entry, engine, row->summary.p50, expect);
    skip_match(match, entry->name);
    return HEED_OK;
}

/* The least time of a peer's backends. */
static double fastest_of(const lab_bench *bench, const lab_bench_row *row, const lab_rival *peer)
{
    double fastest = INFINITY;
    const lab_bench_match *match = row->matches;
    for (size_t i = 0; i < bench->rival_count; i++) {
        if (!bench->rivals[i].open)
            continue;
        if (bench->rivals[i].peer == peer && match->outcome == LAB_BENCH_OK)
            fastest = fmin(fastest, match->seconds);
        match++;
    }
    return fastest;
}

/* After the first looks, candidates for the fastest backend of a peer get the full time. */
static heed_status play_near(lab_bench *bench, lab_bench_row *row, lab_bench_engine *engine,
                             const lab_expect *expect)
{
    heed_status status = HEED_OK;
    lab_bench_match *next = row->matches;
    for (size_t i = 0;
         status == HEED_OK && i < bench->rival_count && !heed_context_stopped(bench->context);
         i++) {
        lab_bench_rival *entry = &bench->rivals[i];
        if (!entry->open)
            continue;
        lab_bench_match *match = next++;
        if (!match->looked || match->outcome != LAB_BENCH_OK || lab_bench_late(bench) ||
            match->seconds > NEAR * fastest_of(bench, row, entry->peer))
            continue;
        free(match->heed);
        free(match->other);
        *match = (lab_bench_match){ .error = -1 };
        status = lab_bench_meet_rival(bench, match, entry, engine, row->summary.p50, expect);
    }
    return status;
}

/* Plays all matches of a row that has a figure. */
static heed_status play_matches(lab_bench *bench, lab_bench_row *row, lab_bench_engine *engine,
                                const lab_expect *expect)
{
    heed_status status = HEED_OK;
    if (row->outcome != LAB_BENCH_OK)
        return HEED_OK;
    row->matches = calloc(bench->rival_count + 2, sizeof *row->matches);
    if (!row->matches)
        return HEED_ERR_NO_MEMORY;
    for (size_t i = 0;
         status == HEED_OK && i < bench->rival_count && !heed_context_stopped(bench->context); i++)
        if (bench->rivals[i].open)
            status = look_at(bench, row, &bench->rivals[i], engine, expect);
    if (status == HEED_OK && bench->look > 0)
        status = play_near(bench, row, engine, expect);
    if (status == HEED_OK && bench->against)
        status = lab_bench_meet_kernel(bench, add_match(row), engine, row->summary.p50, expect);
    if (status == HEED_OK && bench->own)
        status = lab_bench_meet_own(bench, add_match(row), engine, row->summary.p50);
    return heed_context_stopped(bench->context) ? HEED_ERR_SYSTEM : status;
}

/* The output after the matches must be right as well. */
static heed_status check_again(lab_bench_row *row, const lab_bench_engine *engine,
                               const lab_expect *expect)
{
    double error;
    heed_status status = lab_bench_engine_error(engine, expect, &error);
    if (status != HEED_OK)
        return status;
    if (!(engine->worst <= error))
        error = engine->worst;
    if (row->outcome == LAB_BENCH_OK && !(error <= 1)) {
        row->outcome = LAB_BENCH_WRONG;
        snprintf(row->reason, sizeof row->reason, "its output became wrong while it was timed");
    }
    if (error > row->error)
        row->error = error;
    return HEED_OK;
}

static heed_status measure(lab_bench *bench, lab_bench_row *row, const lab_bench_tensors *tensors,
                           heed_plan *plan)
{
    lab_bench_engine engine;
    lab_expect *expect = NULL;
    heed_buffers data = lab_bench_tensors_inputs(tensors);
    lab_sampling rows = { .seed = bench->seed,
                          .work = LAB_BENCH_EXPECT_WORK,
                          .threads = bench->host_threads };
    heed_status status = lab_bench_engine_start(&engine, tensors, plan, NULL);
    engine.behind = bench->behind;
    if (status == HEED_OK)
        status = lab_expect_create(&expect, &tensors->problem, &data, &rows);
    if (status == HEED_OK) {
        row->rows_checked = expect->count;
        status = bench->replay ? lab_bench_sample_replays(bench, row, &engine, expect)
                               : sample_alone(bench, row, &engine, expect);
    }
    if (status == HEED_OK) {
        judge(bench, row);
        if (row->outcome == LAB_BENCH_OK)
            lab_bench_checker_create(&engine.checker, tensors, bench->seed, bench->host_threads);
        status = play_matches(bench, row, &engine, expect);
    }
    if (status == HEED_OK)
        status = check_again(row, &engine, expect);
    lab_expect_destroy(expect);
    lab_bench_checker_destroy(engine.checker);
    lab_bench_engine_stop(&engine);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Sequences of a problem with lengths                                        */
/* -------------------------------------------------------------------------- */

/* The rows of packed sequence @b, or @usual if not packed. */
static int64_t packed_rows(const heed_operand *operand, const void *data, int64_t b, int64_t usual)
{
    if (operand->type == HEED_DATA_NONE)
        return usual;
    return (int64_t)(lab_data_get(operand->type, data, b + 1) -
                     lab_data_get(operand->type, data, b));
}

static int64_t keys_of(const heed_problem *problem, const heed_buffers *data, int64_t b)
{
    const lab_view lengths = lab_view_of(problem, LAB_LENGTHS);
    if (lengths.kind != HEED_DATA_NONE)
        return (int64_t)lab_data_get(lengths.kind, data->lengths, lab_view_at(&lengths, b, 0, 0));
    return packed_rows(&problem->cu_seqlens_k, data->cu_seqlens_k, b, problem->seq_k);
}

/* The sequence as a separate problem, without operands: their bytes do not belong to the sequence.
 */
static heed_problem sequence_alone(const heed_problem *problem, int64_t queries, int64_t keys)
{
    heed_problem one = { .size = sizeof one };
    one.type = problem->type;
    one.mask = problem->mask;
    one.batch = 1;
    one.heads_q = problem->heads_q;
    one.heads_kv = problem->heads_kv;
    one.seq_q = queries;
    one.seq_k = keys;
    one.dim_qk = problem->dim_qk;
    one.dim_v = problem->dim_v;
    one.scale = problem->scale;
    one.window = problem->window;
    one.chunk = problem->chunk;
    one.align = problem->align;
    one.shared = problem->shared;
    return one;
}

/* Bytes of a shared prefix that all but the first sequence save. */
static double spared_bytes(const heed_problem *problem)
{
    const int64_t values = problem->shared ? 0 : problem->dim_v;
    return (double)(problem->batch - 1) * (double)problem->prefix * (double)problem->heads_kv *
           (double)(problem->dim_qk + values) * (double)heed_type_size(problem->type);
}

/* True if values of operands, other than lengths, hide keys. */
static bool hides_more(const heed_problem *problem)
{
    return problem->starts.type || problem->shown.type || problem->visible[0];
}

lab_bench_sequences lab_bench_sequences_of(const heed_problem *problem, const heed_buffers *data)
{
    lab_bench_sequences all = { .count = problem->batch, .shortest = INT64_MAX };
    if (problem->lengths.type == HEED_DATA_NONE && !lab_packed(problem))
        return (lab_bench_sequences){ 0 };
    for (int64_t b = 0; b < problem->batch; b++) {
        const int64_t keys = keys_of(problem, data, b);
        const int64_t queries = packed_rows(&problem->cu_seqlens_q, data->cu_seqlens_q, b,
                                            problem->seq_q);
        heed_problem one = sequence_alone(problem, queries, keys);
        all.queries += queries;
        all.keys += keys;
        all.shortest = keys < all.shortest ? keys : all.shortest;
        all.longest = keys > all.longest ? keys : all.longest;
        if (queries == 0 || keys == 0 || heed_problem_normalize(&one, &one) != HEED_OK)
            continue;
        const lab_work work = lab_roofline_work(&one);
        all.work.flops += work.flops;
        all.work.pairs += work.pairs;
        all.work.bytes += work.bytes;
    }
    all.flops = all.work.flops;
    all.work.bytes -= spared_bytes(problem);
    all.work.bytes = fmin(all.work.bytes, heed_problem_bytes(problem)); /* pages may be shared */
    if (hides_more(problem))
        all.work = lab_roofline_work(problem);
    return all;
}

/* -------------------------------------------------------------------------- */
/* A row                                                                      */
/* -------------------------------------------------------------------------- */

/* The amount of work in the problem, with the lengths of its tensors. */
static void weigh(lab_bench_row *row, const lab_bench_tensors *tensors)
{
    const heed_buffers data = lab_bench_tensors_inputs(tensors);
    row->sequences = lab_bench_sequences_of(&tensors->problem, &data);
    if (row->sequences.count > 0) {
        row->work = row->sequences.work;
        row->flops = row->sequences.flops;
    }
}

/* Sets the reason for a missing figure, unless a worse outcome is set. */
static heed_status finish(const lab_bench *bench, lab_bench_row *row, heed_status status)
{
    if (status != HEED_OK && heed_context_stopped(bench->context)) {
        lab_bench_row_free(row);
        return HEED_ERR_SYSTEM;
    }
    if (status != HEED_OK)
        row->outcome = lab_bench_outcome_of(status, row->reason);
    return HEED_OK;
}

heed_status lab_bench_measure(lab_bench *bench, const lab_bench_source *source, lab_bench_row *row)
{
    lab_bench_tensors tensors;
    heed_plan *plan;
    memset(row, 0, sizeof *row);
    row->source = source;
    row->error = -1;
    row->flops = heed_problem_flops(&source->problem);
    row->work = lab_roofline_work(&source->problem);
    heed_status status = lab_bench_plan(bench, &source->problem, &plan);
    if (status != HEED_OK)
        return finish(bench, row, status);
    snprintf(row->kernel, sizeof row->kernel, "%s", heed_plan_name(plan));
    status = lab_bench_tensors_create(&tensors, bench->context, source, bench->seed,
                                      lab_bench_rotation_bytes(bench));
    if (status != HEED_OK) {
        heed_plan_destroy(plan);
        return finish(bench, row, status);
    }
    row->copies = tensors.copies;
    weigh(row, &tensors);
    status = measure(bench, row, &tensors, plan);
    lab_bench_tensors_free(&tensors);
    return finish(bench, row, status);
}

void lab_bench_row_free(lab_bench_row *row)
{
    for (size_t i = 0; i < row->match_count; i++) {
        free(row->matches[i].heed);
        free(row->matches[i].other);
    }
    free(row->matches);
    free(row->samples);
    memset(row, 0, sizeof *row);
}
