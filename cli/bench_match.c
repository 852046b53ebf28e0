/*
 * bench_match.c - heed against one opponent: interleaved blocks, a verdict, and a look at the
 * opponent's output
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_engine.h"

enum {
    PAIRS_MAX = 400,
    PAIRS_USUAL = 7
};

/* A rival of which a call takes more than this many times --seconds is skipped. */
#define SKIP_FACTOR 20.0

/* A rival is taken for wrong at this multiple of the error allowed to heed. The allowance is twice
 * what a naive implementation of the same precision makes; some rivals trade more than that for
 * speed, which is theirs to decide. */
#define RIVAL_ERROR_MAX 16.0

static void set_outcome(bench_match *match, bench_outcome outcome, const char *reason)
{
    match->outcome = outcome;
    snprintf(match->reason, sizeof match->reason, "%s", reason);
}

/* Interleaves blocks of heed and of the opponent, and judges. @round: seconds that a pair of blocks
 * takes. */
static heed_status interleave(const bench_run *bench, bench_match *match, bench_engine *heed,
                              const lab_side *other, double round)
{
    lab_side mine = { bench_engine_block, heed };
    /* Slow sides get fewer pairs, but not forever. */
    double affordable = 4 * bench->seconds / round;
    lab_interleaving plan = {
        .budget_ns = (int64_t)(bench->seconds * 1e9),
        .pairs_min = affordable < 1             ? 1
                     : affordable < PAIRS_USUAL ? (size_t)affordable
                                                : PAIRS_USUAL,
        .pairs_max = PAIRS_MAX,
    };
    match->heed = calloc(PAIRS_MAX, sizeof *match->heed);
    match->other = calloc(PAIRS_MAX, sizeof *match->other);
    if (!match->heed || !match->other)
        return HEED_ERR_NO_MEMORY;
    heed_status status = lab_interleave(&mine, other, &plan, match->heed, match->other,
                                        &match->pairs);
    if (status != HEED_OK)
        return status;
    lab_bootstrap bootstrap = { .seed = bench->seed };
    status = lab_compare(match->heed, match->other, match->pairs, bench->margin, &bootstrap,
                         &match->comparison);
    if (status != HEED_OK)
        return status;
    lab_interval interval;
    status = lab_stats_median_interval(match->other, match->pairs, &bootstrap, &interval);
    match->seconds = interval.estimate;
    return status;
}

static double block_seconds(double seconds, int64_t warmup, int64_t calls)
{
    return seconds * (double)(warmup + calls);
}

/* Compares the O of the rival's last call. */
static void check_rival(bench_match *match, lab_rival *rival, const heed_problem *problem,
                        const lab_expect *expect)
{
    heed_problem dense = *problem;
    memset(&dense.q, 0, sizeof dense.q);
    memset(&dense.k, 0, sizeof dense.k);
    memset(&dense.v, 0, sizeof dense.v);
    memset(&dense.o, 0, sizeof dense.o);
    heed_problem_normalize(&dense, &dense); /* it is one with strides */
    lab_view view = lab_view_of(&dense, LAB_O);
    size_t size = (size_t)lab_view_extent(&view) * heed_type_size(dense.type);
    void *o = malloc(size);
    if (!o) {
        set_outcome(match, BENCH_FAILED, "not enough memory to check its output");
        return;
    }
    lab_answer answer = lab_rival_check(rival, o, size);
    if (answer != LAB_ANSWER_OK)
        set_outcome(match, BENCH_FAILED, rival->reason);
    else
        match->error = bench_error(&dense, o, expect);
    free(o);
    if (answer == LAB_ANSWER_OK && !(match->error <= RIVAL_ERROR_MAX)) {
        match->outcome = BENCH_WRONG;
        snprintf(match->reason, sizeof match->reason,
                 "its output is wrong: %.3g times the error allowed", match->error);
    }
}

/* The outcome of a rival that said no, or no more. */
static void rival_failed(bench_match *match, const lab_rival *rival, lab_answer answer)
{
    set_outcome(match, answer == LAB_ANSWER_UNSUPPORTED ? BENCH_REFUSED : BENCH_FAILED,
                rival->reason);
}

/* A prepared rival: one call to see how long it takes, the match, and a look at its output. */
static heed_status play_rival(bench_run *bench, bench_match *match, bench_rival *entry,
                              bench_engine *heed, double heed_seconds, const lab_expect *expect)
{
    lab_rival *rival = &entry->rival;
    double flops = heed_problem_flops(&heed->tensors->problem);
    bench_guest guest = { .rival = rival };
    double seconds = 0;
    /* The first call pays for pages and code that are new; the second one tells. */
    lab_answer answer = lab_rival_run(rival, 0, 1, 0, &seconds);
    if (answer == LAB_ANSWER_OK && seconds < BENCH_WARMUP_CALL_MAX)
        answer = lab_rival_run(rival, 1, 2, 0, &seconds);
    if (answer != LAB_ANSWER_OK) {
        rival_failed(match, rival, answer);
        return HEED_OK;
    }
    if (flops / seconds > entry->rate)
        entry->rate = flops / seconds;
    bench_block_size(seconds, &guest.warmup, &guest.calls);
    guest.expected = seconds;
    heed->rival = rival;
    lab_side other = { bench_guest_block, &guest };
    heed_status status = interleave(bench, match, heed, &other,
                                    block_seconds(heed_seconds, heed->warmup, heed->calls) +
                                        block_seconds(seconds, guest.warmup, guest.calls));
    heed->rival = NULL;
    if (guest.answer != LAB_ANSWER_OK) {
        rival_failed(match, rival, guest.answer);
        return HEED_OK;
    }
    if (status == HEED_OK)
        check_rival(match, rival, &heed->tensors->problem, expect);
    return status;
}

heed_status bench_meet_rival(bench_run *bench, bench_match *match, bench_rival *entry,
                             bench_engine *heed, double heed_seconds, const lab_expect *expect)
{
    const heed_problem *problem = &heed->tensors->problem;
    double guess = entry->rate > 0 ? heed_problem_flops(problem) / entry->rate : 0;
    match->name = entry->rival.found.name;
    if (guess > SKIP_FACTOR * bench->seconds) {
        match->outcome = BENCH_SKIPPED;
        snprintf(match->reason, sizeof match->reason,
                 "a call would take about %.0f s; --seconds %.0f would allow it", guess,
                 ceil(guess / SKIP_FACTOR));
        return HEED_OK;
    }
    void *q = bench_tensors_dense(heed->tensors, LAB_Q);
    void *k = bench_tensors_dense(heed->tensors, LAB_K);
    void *v = bench_tensors_dense(heed->tensors, LAB_V);
    lab_rival_data data = { .q = q, .k = k, .v = v };
    heed_status status = q && k && v ? HEED_OK : HEED_ERR_NO_MEMORY;
    if (status == HEED_OK) {
        lab_answer answer = lab_rival_prepare(&entry->rival, problem, &data, heed->tensors->copies);
        if (answer != LAB_ANSWER_OK)
            rival_failed(match, &entry->rival, answer);
        else
            status = play_rival(bench, match, entry, heed, heed_seconds, expect);
        snprintf(match->method, sizeof match->method, "%s", entry->rival.method);
        lab_rival_release(&entry->rival);
        lab_rival_pause(&entry->rival);
    }
    free(q);
    free(k);
    free(v);
    return status;
}

/* The match against another kernel of heed's own. */
heed_status bench_meet_kernel(bench_run *bench, bench_match *match, bench_engine *heed,
                              double heed_seconds, const lab_expect *expect)
{
    heed_plan *plan;
    bench_engine other;
    double seconds;
    match->name = bench->against; /* until it has a config */
    heed_status status = heed_plan_create_named(&plan, bench->context, &heed->tensors->problem,
                                                bench->against);
    if (status == HEED_ERR_UNSUPPORTED || status == HEED_ERR_INVALID) {
        set_outcome(match, BENCH_REFUSED, heed_message());
        return HEED_OK;
    }
    if (status != HEED_OK)
        return status;
    snprintf(match->method, sizeof match->method, "%s", heed_plan_name(plan));
    match->name = match->method;
    status = bench_engine_start(&other, heed->tensors, plan);
    bench_tensors_poison(heed->tensors);
    other.calls = other.warmup = 1;
    if (status == HEED_OK)
        status = bench_engine_block(&other, &seconds);
    if (status == HEED_OK) {
        bench_block_size(seconds, &other.warmup, &other.calls);
        lab_side side = { bench_engine_block, &other };
        status = interleave(bench, match, heed, &side,
                            block_seconds(heed_seconds, heed->warmup, heed->calls) +
                                block_seconds(seconds, other.warmup, other.calls));
    }
    if (status == HEED_OK) {
        /* Both write the same O: a call more shows whose it is. */
        bench_tensors_poison(heed->tensors);
        status = bench_engine_call(&other);
        match->error = bench_engine_error(&other, expect);
        if (match->error > 1)
            set_outcome(match, BENCH_WRONG, "its output is wrong");
    }
    bench_engine_stop(&other);
    return status;
}
