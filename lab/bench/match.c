/*
 * match.c - heed against one opponent: interleaved blocks, a verdict, and a check of the opponent's
 * output
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab/bench/match.h"
#include "lab/tensor/convert.h"

enum {
    PAIRS_MAX = 400,
    PAIRS_USUAL = 8
};

/* A rival is skipped if a call takes more than this many times bench->seconds. */
#define SKIP_FACTOR 20.0

/* A rival counts as wrong above this multiple of heed's allowed error, which is twice the error of
 * a naive implementation of the same precision. Some rivals trade more accuracy for speed. */
#define RIVAL_ERROR_MAX 16.0

/* A rival at work. */
typedef struct contender {
    lab_rival *rival;
    int64_t replay; /* calls of one; 0: blocks are made of calls */
    int64_t warmup; /* calls, or replays */
    int64_t calls;
    double expected;   /* seconds per call */
    lab_answer answer; /* of the last block */
} contender;

/* Expected seconds of a block with its warm-up. */
static double contender_round(const contender *it)
{
    int64_t each = it->replay ? it->replay : 1;
    return it->expected * (double)((it->warmup + it->calls) * each);
}

/* A block, as a callback of a lab_side. @data is the contender. */
static heed_status contender_block(void *data, double *seconds)
{
    contender *self = data;
    /* heed's threads spin for a moment before they sleep. */
    const struct timespec nap = { .tv_nsec = 1000000 };
    nanosleep(&nap, NULL);
    if (self->replay)
        self->answer = lab_rival_replay(self->rival, self->replay, self->warmup, self->calls,
                                        contender_round(self), seconds);
    else
        self->answer = lab_rival_run(self->rival, self->warmup, self->calls, contender_round(self),
                                     seconds);
    return self->answer == LAB_ANSWER_OK ? HEED_OK : HEED_ERR_SYSTEM;
}

static void set_outcome(lab_bench_match *match, lab_bench_outcome outcome, const char *reason)
{
    match->outcome = outcome;
    snprintf(match->reason, sizeof match->reason, "%s", reason);
}

/* Minimum of pairs to take, if one takes @round seconds. Slow sides get fewer. */
static size_t least_pairs(double seconds, double round)
{
    double affordable = 4 * seconds / round;
    return affordable < 1 ? 1 : affordable < PAIRS_USUAL ? (size_t)affordable : PAIRS_USUAL;
}

/* Uses the full time: the figures matter as much as the verdict. */
heed_status lab_bench_match_interleave(const lab_bench *bench, lab_bench_match *match,
                                       lab_bench_engine *heed, const lab_side *other, double round)
{
    lab_duel duel;
    lab_side mine = lab_bench_engine_side(heed);
    double seconds = match->looked ? bench->look : bench->seconds;
    const lab_duel_options options = { .rules = { .margin = bench->margin, .looks = 1 },
                                       .seconds = seconds,
                                       .round = round,
                                       .pairs_min = least_pairs(seconds, round),
                                       .pairs_max = PAIRS_MAX,
                                       .seed = bench->seed };
    heed_status status = lab_duel_run(&duel, &mine, other, &options);
    match->heed = duel.a;
    match->other = duel.b;
    match->pairs = duel.pairs;
    match->comparison = duel.comparison;
    /* Also if the other side failed: heed's last output is for changed inputs. */
    heed_status restored = lab_bench_checker_restore(heed->checker);
    if (restored == HEED_OK && heed->checker)
        restored = lab_bench_engine_call(heed);
    if (status == HEED_OK)
        status = restored;
    if (status == HEED_OK)
        match->seconds = lab_stats_summary_of(match->other, match->pairs).p50;
    return status;
}

/* The error of O after the rival's last call; if @expect has few rows, only those are fetched. */
static lab_answer rival_error(lab_rival *rival, const heed_problem *dense, const lab_expect *expect,
                              void *o, size_t size, double *error)
{
    bool few = rival->device[0] && expect->count <= LAB_RIVAL_ROWS_MAX;
    lab_answer answer = lab_rival_check(rival, few ? expect->rows : NULL, few ? expect->count : 0,
                                        o, size);
    if (answer == LAB_ANSWER_OK)
        *error = few ? lab_bench_rows_error(dense->type, o, expect)
                     : lab_bench_error(dense, o, expect);
    return answer;
}

/* Bytes that rival_error() reads. */
static size_t checked_bytes(const lab_rival *rival, const heed_problem *dense,
                            const lab_expect *expect)
{
    bool few = rival->device[0] && expect->count <= LAB_RIVAL_ROWS_MAX;
    lab_view view = lab_view_of(dense, LAB_O);
    int64_t elements = few ? expect->count * expect->dim : lab_view_extent(&view);
    return (size_t)elements * heed_type_size(dense->type);
}

/* Compares the O of the rival's last call. */
static void check_rival(lab_bench_match *match, lab_rival *rival, const heed_problem *problem,
                        const lab_expect *expect)
{
    heed_problem dense = *problem;
    memset(&dense.q, 0, sizeof dense.q);
    memset(&dense.k, 0, sizeof dense.k);
    memset(&dense.v, 0, sizeof dense.v);
    memset(&dense.o, 0, sizeof dense.o);
    heed_problem_normalize(&dense, &dense); /* gives it strides */
    size_t size = checked_bytes(rival, &dense, expect);
    void *o = malloc(size);
    if (!o) {
        set_outcome(match, LAB_BENCH_FAILED, "not enough memory to check its output");
        return;
    }
    lab_answer answer = rival_error(rival, &dense, expect, o, size, &match->error);
    if (answer != LAB_ANSWER_OK)
        set_outcome(match, LAB_BENCH_FAILED, rival->reason);
    free(o);
    if (answer == LAB_ANSWER_OK && !(match->error <= RIVAL_ERROR_MAX)) {
        match->outcome = LAB_BENCH_WRONG;
        snprintf(match->reason, sizeof match->reason,
                 "its output is wrong: %.3g times the error allowed", match->error);
    }
}

/* The outcome of a rival that refused or stopped responding. */
static void rival_failed(lab_bench_match *match, const lab_rival *rival, lab_answer answer)
{
    set_outcome(match, answer == LAB_ANSWER_UNSUPPORTED ? LAB_BENCH_REFUSED : LAB_BENCH_FAILED,
                rival->reason);
}

/* Seconds of a call of the rival. The first call pays one-time costs; the second is timed. */
static lab_answer estimate_rival(lab_rival *rival, bool replay, double *seconds)
{
    if (replay)
        return lab_rival_replay(rival, 1, 1, 1, 0, seconds);
    lab_answer answer = lab_rival_run(rival, 0, 1, 0, seconds);
    if (answer == LAB_ANSWER_OK && *seconds < LAB_BENCH_WARMUP_CALL_MAX)
        answer = lab_rival_run(rival, 1, 2, 0, seconds);
    return answer;
}

/* Sizes the blocks of the rival, and has it capture a replay. */
static lab_answer ready_contender(contender *it, bool replay, double seconds)
{
    it->expected = seconds;
    if (!replay) {
        lab_bench_block_size(seconds, &it->warmup, &it->calls);
        return LAB_ANSWER_OK;
    }
    lab_bench_replay_size(seconds, &it->replay, &it->calls);
    it->warmup = 1;
    return lab_rival_replay(it->rival, it->replay, 0, 1, contender_round(it), &it->expected);
}

/* Single calls of the rival, on a device. */
static void sample_eager(lab_bench_match *match, lab_rival *rival)
{
    double samples[LAB_RIVAL_EAGER_MAX];
    int64_t count = lab_bench_single_count(match->seconds);
    double expected = match->seconds * (double)count;
    lab_answer answer = lab_rival_eager(rival, count, expected, samples);
    if (answer == LAB_ANSWER_OK)
        lab_stats_summarize(samples, (size_t)count, &match->eager);
    else
        rival_failed(match, rival, answer);
}

/* Plays a prepared rival: estimates a call, runs the match, and checks the output. */
static heed_status play_rival(lab_bench *bench, lab_bench_match *match, lab_bench_rival *entry,
                              lab_bench_engine *heed, double heed_seconds, const lab_expect *expect)
{
    lab_rival *rival = entry->peer;
    double flops = heed_problem_flops(&heed->tensors->problem);
    contender it = { .rival = rival };
    double seconds = 0;
    lab_answer answer = estimate_rival(rival, bench->replay, &seconds);
    if (answer == LAB_ANSWER_OK)
        answer = ready_contender(&it, bench->replay, seconds);
    if (answer != LAB_ANSWER_OK) {
        rival_failed(match, rival, answer);
        return HEED_OK;
    }
    if (flops / it.expected > entry->rate)
        entry->rate = flops / it.expected;
    match->calls = it.replay;
    heed->rival = rival;
    lab_side other = { contender_block, NULL, &it };
    heed_status status = lab_bench_match_interleave(bench, match, heed, &other,
                                                    lab_bench_engine_round(heed, heed_seconds) +
                                                        contender_round(&it));
    heed->rival = NULL;
    if (it.answer != LAB_ANSWER_OK) {
        rival_failed(match, rival, it.answer);
        return HEED_OK;
    }
    if (status == HEED_OK)
        check_rival(match, rival, &heed->tensors->problem, expect);
    if (status == HEED_OK && match->outcome == LAB_BENCH_OK && bench->replay)
        sample_eager(match, rival);
    return status;
}

/* Passes the problem and its values to the rival. */
static lab_answer prepare_rival(const lab_bench *bench, const lab_bench_rival *entry,
                                const lab_bench_tensors *tensors, const heed_problem *problem,
                                lab_rival_data *data)
{
    data->backend = entry->backend;
    data->period = entry->peer->period ? tensors->period : 0;
    data->behind = bench->behind ? lab_behind_text : NULL;
    return lab_rival_prepare(entry->peer, problem, data, tensors->copies);
}

_Static_assert(LAB_INPUTS - LAB_BIAS <= LAB_RIVAL_OPERANDS_MAX, "room for all operands");

/* The operands and arrays of the problem; the caller frees their data. False: no memory. */
static bool make_operands(const lab_bench_tensors *tensors, lab_rival_operand *operands,
                          lab_rival_data *data)
{
    data->operands = operands;
    for (lab_role role = LAB_BIAS; role < LAB_INPUTS; role++) {
        const lab_view view = lab_view_of(&tensors->problem, role);
        lab_rival_operand *it = &operands[data->operand_count];
        if (view.kind == HEED_DATA_NONE)
            continue;
        *it = (lab_rival_operand){ .name = lab_role_name(role),
                                   .type = lab_data_name(view.kind),
                                   .shape = { view.batch, view.heads, view.seq, view.dim },
                                   .rank = 4 };
        if (role >= LAB_ARRAYS) {
            const heed_array *array = &tensors->problem.arrays[role - LAB_ARRAYS];
            it->array = array->name;
            it->rank = array->rank;
            memcpy(it->shape, array->size, sizeof array->size);
        }
        it->data = lab_bench_tensors_operand(tensors, role, &it->size);
        data->operand_count++;
        if (!it->data)
            return false;
    }
    return true;
}

/* Values for the rival: one period of them, or all. */
static const void *rival_values(const lab_bench_rival *entry, const lab_bench_tensors *tensors,
                                lab_role role, void **dense)
{
    *dense = NULL;
    if (entry->peer->period)
        return tensors->values[role];
    *dense = lab_bench_tensors_dense(tensors, role);
    return *dense;
}

heed_status lab_bench_meet_rival(lab_bench *bench, lab_bench_match *match, lab_bench_rival *entry,
                                 lab_bench_engine *heed, double heed_seconds,
                                 const lab_expect *expect)
{
    const heed_problem *problem = &heed->tensors->problem;
    char advice[LAB_ADVICE_SIZE];
    double guess = entry->rate > 0 ? heed_problem_flops(problem) / entry->rate : 0;
    match->name = entry->name;
    if (guess > SKIP_FACTOR * bench->seconds) {
        match->outcome = LAB_BENCH_SKIPPED;
        snprintf(match->reason, sizeof match->reason,
                 "a call would take about %.0f s, for which a match needs %.0f s%s", guess,
                 ceil(guess / SKIP_FACTOR), lab_advise(bench->sink, LAB_ADVICE_TIME, advice));
        return HEED_OK;
    }
    if (problem->append) {
        set_outcome(match, LAB_BENCH_REFUSED, "rivals are given no new keys");
        return HEED_OK;
    }
    void *owned[LAB_VECTORS];
    lab_rival_data data = { .q = rival_values(entry, heed->tensors, LAB_Q, &owned[LAB_Q]),
                            .k = rival_values(entry, heed->tensors, LAB_K, &owned[LAB_K]),
                            .v = rival_values(entry, heed->tensors, LAB_V, &owned[LAB_V]) };
    lab_rival_operand operands[LAB_RIVAL_OPERANDS_MAX];
    bool made = make_operands(heed->tensors, operands, &data);
    heed_status status = made && data.q && data.k && data.v ? HEED_OK : HEED_ERR_NO_MEMORY;
    if (status == HEED_OK) {
        lab_answer answer = prepare_rival(bench, entry, heed->tensors, problem, &data);
        if (answer != LAB_ANSWER_OK)
            rival_failed(match, entry->peer, answer);
        else
            status = play_rival(bench, match, entry, heed, heed_seconds, expect);
        snprintf(match->method, sizeof match->method, "%s", entry->peer->method);
        lab_rival_release(entry->peer);
        lab_rival_pause(entry->peer);
    }
    for (int role = 0; role < LAB_VECTORS; role++)
        free(owned[role]);
    for (int i = 0; i < data.operand_count; i++)
        free(operands[i].data);
    return status;
}

/* The match against another of heed's kernels. */
heed_status lab_bench_meet_kernel(lab_bench *bench, lab_bench_match *match, lab_bench_engine *heed,
                                  double heed_seconds, const lab_expect *expect)
{
    heed_plan *plan;
    lab_bench_engine other;
    double seconds;
    match->name = bench->against; /* until its config is known */
    heed_status status = heed_plan_create_named(&plan, bench->context, &heed->tensors->problem,
                                                bench->against);
    if (status == HEED_ERR_UNSUPPORTED || status == HEED_ERR_INVALID) {
        set_outcome(match, LAB_BENCH_REFUSED, heed_message());
        return HEED_OK;
    }
    if (status != HEED_OK)
        return status;
    snprintf(match->method, sizeof match->method, "%s", heed_plan_name(plan));
    match->name = match->method;
    status = lab_bench_engine_start(&other, heed->tensors, plan, NULL);
    other.behind = bench->behind;
    if (status == HEED_OK)
        status = lab_bench_tensors_poison(heed->tensors);
    if (status == HEED_OK)
        status = lab_bench_engine_estimate(&other, bench->replay, &seconds);
    if (status == HEED_OK)
        status = lab_bench_engine_ready(&other, bench->replay, seconds);
    if (status == HEED_OK)
        status = lab_bench_engine_level(heed, &other);
    other.checker = heed->checker;
    if (status == HEED_OK) {
        lab_side side = lab_bench_engine_side(&other);
        match->calls = other.replay.calls;
        status = lab_bench_match_interleave(bench, match, heed, &side,
                                            lab_bench_engine_round(heed, heed_seconds) +
                                                lab_bench_engine_round(&other, seconds));
    }
    /* Both write the same O: one more call, for the opponent's output. */
    if (status == HEED_OK)
        status = lab_bench_engine_check(&other, expect, &match->error);
    if (status == HEED_OK && match->error > 1)
        set_outcome(match, LAB_BENCH_WRONG, "its output is wrong");
    lab_bench_engine_stop(&other);
    return status == HEED_OK ? lab_bench_engine_call(heed) : status;
}
