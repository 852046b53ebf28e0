/*
 * proof.c - the cases that a kernel must pass before it is ranked: all gates, all kinds of values
 */
#include "lab/verify/proof.h"

#include <stdio.h>
#include <string.h>

#include "lab/tensor/random.h"

/* Key and value elements that the reference reads: all rows of 16 heads of 800 queries and keys
 * with normal values, and of one such head with the others, in about two seconds and a quarter of a
 * second of CPU time. */
#define WORK_NORMAL ((int64_t)1 << 30)
#define WORK_OTHERS ((int64_t)1 << 27)

/* Problems beyond these are large: see lab_proof. */
#define LARGE_FLOPS 1e9
#define LARGE_BYTES 16e6

/* The largest neighbour: one head of this many queries and keys. */
#define NEIGHBOUR_LENGTH 1024
#define NEIGHBOUR_SHORT 40
#define NEIGHBOUR_LEAST 2 /* keys: with a single one the answer is its value */
#define NEIGHBOUR_FEW 15  /* keys, fewer than in a tile */

/* A stream of random numbers. */
#define STREAM_NEIGHBOURS 48

/* ---------------------------------------------------------------------------------------------- */
/* Neighbours                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

/* Consecutive random numbers of one stream. */
typedef struct lots {
    uint64_t stream;
    uint64_t drawn;
} lots;

static int64_t draw(lots *lot, int64_t low, int64_t high)
{
    return low + lab_random_below(lot->stream, lot->drawn++, high - low + 1);
}

/* @length plus or minus one, which leaves a partial tile with most tile sizes. */
static int64_t beside(lots *lot, int64_t length)
{
    int64_t least_length = lab_least(length, NEIGHBOUR_LENGTH);
    return least_length > 1 && draw(lot, 0, 1) ? least_length - 1 : least_length + 1;
}

/* Any odd length from half of @length on. */
static int64_t odd(lots *lot, int64_t length)
{
    int64_t most = lab_least(length, NEIGHBOUR_LENGTH);
    return draw(lot, most / 2, most) | 1;
}

/* Strides with gaps after each head vector and each position, or after each position of a head and
 * each head. */
static heed_strides with_gaps(lots *lot, int64_t seq, int64_t heads, int64_t dim)
{
    heed_strides strides;
    bool by_head = draw(lot, 0, 1);
    int64_t inner = dim + draw(lot, 1, 9);
    int64_t outer = (by_head ? seq : heads) * inner + draw(lot, 1, 9);
    strides.head = by_head ? outer : inner;
    strides.seq = by_head ? inner : outer;
    strides.batch = (by_head ? heads : seq) * outer + draw(lot, 1, 9);
    return strides;
}

/* Up to @most rows, if the problem has packed ones. */
static int64_t packed(lots *lot, int64_t tokens, int64_t most)
{
    return tokens > 0 ? draw(lot, (most + 1) / 2, most) : 0;
}

static void spread(lots *lot, heed_problem *problem)
{
    problem->q = with_gaps(lot, problem->seq_q, problem->heads_q, problem->dim_qk);
    int64_t keys = problem->page > 0 ? problem->page : problem->seq_k;
    problem->k = with_gaps(lot, keys, problem->heads_kv, problem->dim_qk);
    problem->v = with_gaps(lot, keys, problem->heads_kv, problem->dim_v);
    problem->o = with_gaps(lot, problem->seq_q, problem->heads_q, problem->dim_v);
}

/* The length of the prefix, as far as @problem has room for it. */
static int64_t shared_keys(const heed_problem *problem)
{
    const int64_t queries = problem->mask != HEED_MASK_NONE ? problem->seq_q : 1;
    int64_t most = problem->seq_k - (queries > problem->append ? queries : problem->append);
    if (problem->page > 0)
        most -= most % problem->page;
    return most > 0 ? lab_least(problem->prefix, most) : 0;
}

/* A problem of the same type, mask and head dims. The last one has the lengths of @problem, up to a
 * limit, and another scale, which may be negative. It is smaller, as sums may be half precision. */
static bool draw_neighbour(heed_problem *near, const heed_problem *problem, lots *lot, int which)
{
    int64_t group = problem->heads_q / problem->heads_kv;
    bool together = problem->seq_q == problem->seq_k;
    heed_problem it = *problem;
    it.q = it.k = it.v = it.o = (heed_strides){ 0 };
    it.bias.strides = it.slopes.strides = it.sinks.strides = (heed_strides){ 0 };
    it.starts.strides = it.shown.strides = (heed_strides){ 0 };
    it.k_new = it.v_new = (heed_strides){ 0 };
    it.batch = which == 2 ? draw(lot, 1, 3) : 1 + which % 2;
    it.heads_kv = draw(lot, 1, 2);
    it.heads_q = it.heads_kv * (draw(lot, 0, 1) ? lab_least(group, 8) : draw(lot, 1, 3));
    if (which == 0)
        it.seq_q = beside(lot, problem->seq_q), it.seq_k = beside(lot, problem->seq_k);
    else if (which == 1)
        it.seq_q = odd(lot, problem->seq_q), it.seq_k = odd(lot, problem->seq_k);
    else if (which == 2)
        it.seq_q = draw(lot, 0, 1) ? 1 : draw(lot, 1, NEIGHBOUR_SHORT),
        it.seq_k = draw(lot, NEIGHBOUR_LEAST, NEIGHBOUR_FEW);
    else
        it.seq_q = lab_least(problem->seq_q, NEIGHBOUR_LENGTH),
        it.seq_k = lab_least(problem->seq_k, NEIGHBOUR_LENGTH);
    if (together && which < 2)
        it.seq_k = it.seq_q;
    if (which % 2 == 1)
        it.scale *= (float)draw(lot, 1, 3) / (which == 3 && draw(lot, 0, 1) ? -4 : 4);
    if (it.page > 0) {
        it.pages = 0;
        it.table.strides = (heed_strides){ 0 };
        it.seq_k = it.seq_k > it.page ? it.seq_k - it.seq_k % it.page : it.page;
        it.seq_q = together && which < 2 ? it.seq_k : it.seq_q;
    }
    it.append = problem->append_packed ? it.seq_q : lab_least(problem->append, it.seq_k);
    it.prefix = shared_keys(&it);
    it.tokens_q = packed(lot, problem->tokens_q, it.batch * it.seq_q);
    it.tokens_k = packed(lot, problem->tokens_k, it.batch * it.seq_k);
    if (which == 3)
        spread(lot, &it);
    return heed_problem_normalize(near, &it) == HEED_OK;
}

/* ---------------------------------------------------------------------------------------------- */
/* The list                                                                                       */
/* ---------------------------------------------------------------------------------------------- */

static uint32_t property_gates(void)
{
    uint32_t gates = 0;
    for (size_t i = 0; i < LAB_GATES; i++)
        gates |= (uint32_t)lab_gate_at(i)->property << i;
    return gates;
}

/* The problem for values other than the normal ones. */
static heed_problem slice(const lab_proof *proof, const heed_problem *whole)
{
    heed_problem part = *whole;
    if (!proof->sliced ||
        (heed_problem_flops(whole) <= LARGE_FLOPS && heed_problem_bytes(whole) <= LARGE_BYTES))
        return *whole;
    part.batch = 1;
    part.heads_kv = lab_least(2, whole->heads_kv);
    part.heads_q = part.heads_kv * (whole->heads_q / whole->heads_kv);
    return heed_problem_normalize(&part, &part) == HEED_OK ? part : *whole;
}

size_t lab_proof_list(const lab_proof *proof, lab_verify_case cases[LAB_PROOF_CASES])
{
    const lab_inputs *normal = lab_inputs_at(0), *inputs;
    uint32_t properties = property_gates();
    lots lot = { .stream = lab_random_stream(proof->seed, STREAM_NEIGHBOURS) };
    heed_problem whole, near;
    size_t count = 0;
    if (heed_problem_normalize(&whole, &proof->problem) != HEED_OK)
        return 0;
    cases[count++] = (lab_verify_case){ whole, normal, ~properties, WORK_NORMAL, false };
    heed_problem part = slice(proof, &whole);
    for (size_t i = 1; (inputs = lab_inputs_at(i)) && count + LAB_NEIGHBOURS + 1 < LAB_PROOF_CASES;
         i++)
        if (!lab_case_absent(&part, inputs))
            cases[count++] = (lab_verify_case){ part, inputs, ~properties, WORK_OTHERS, false };
    for (int i = 0; i < LAB_NEIGHBOURS; i++)
        if (draw_neighbour(&near, &whole, &lot, i))
            cases[count++] = (lab_verify_case){ near, normal, ~properties, WORK_OTHERS, true };
    cases[count++] = (lab_verify_case){ whole, normal, properties | 1, WORK_OTHERS, false };
    return count;
}

lab_verify_options lab_proof_options(const lab_proof *proof, const lab_verify_case *one)
{
    lab_verify_options options = lab_verify_standard();
    options.seed = proof->seed;
    options.gates = one->gates;
    options.work = one->work;
    options.threads = proof->threads;
    return options;
}

/* ---------------------------------------------------------------------------------------------- */
/* A proof                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

/* "on b1 h2 s7 d64 f32, normal inputs: ..." */
static void place(lab_verdict *verdict, const lab_verify_case *one)
{
    char spec[HEED_SPEC_SIZE], reason[LAB_TEXT_SIZE];
    heed_problem_print(&one->problem, spec, sizeof spec);
    memcpy(reason, verdict->reason, sizeof reason);
    snprintf(verdict->reason, sizeof verdict->reason, "%.90s (%.40s, %.20s inputs)", reason, spec,
             one->inputs->name);
}

static void take(lab_report *report, const lab_report *one, const lab_verify_case *of)
{
    for (size_t i = 0; i < LAB_GATES; i++) {
        const lab_verdict *said = &one->verdicts[i];
        lab_verdict *kept = &report->verdicts[i];
        if (said->outcome < kept->outcome ||
            (said->outcome == kept->outcome && said->figure <= kept->figure))
            continue;
        *kept = *said;
        if (said->outcome == LAB_FAIL)
            place(kept, of);
    }
    report->rows += one->rows;
    report->rows_compared += one->rows_compared;
    report->lost = one->lost;
    if (one->outcome == LAB_FAIL)
        report->outcome = LAB_FAIL;
}

/* A subject that computed the problem may not refuse it later: that would be a choice by the
 * values. */
static void judge_refusal(lab_report *one, const lab_verify_case *of)
{
    if (one->outcome != LAB_SKIP || of->neighbour)
        return;
    one->outcome = LAB_FAIL;
    lab_verdict_fail(&one->verdicts[0], -1, "refuses a problem that it did before");
}

heed_status lab_prove(const lab_proof *proof, const lab_subject *subject, lab_report *report)
{
    lab_verify_case cases[LAB_PROOF_CASES];
    lab_report one;
    size_t count = lab_proof_list(proof, cases);
    heed_status status = count ? HEED_OK : HEED_ERR_INVALID;
    for (size_t i = 0; i < count && status == HEED_OK; i++) {
        lab_verify_options options = lab_proof_options(proof, &cases[i]);
        status = lab_verify_problem(&cases[i].problem, cases[i].inputs, subject, &options, NULL,
                                    &one);
        if (status != HEED_OK)
            break;
        if (i == 0) {
            *report = one;
            if (one.outcome != LAB_PASS)
                break;
            continue;
        }
        judge_refusal(&one, &cases[i]);
        take(report, &one, &cases[i]);
        if (report->outcome == LAB_FAIL)
            break;
    }
    return status;
}
