/*
 * test_proof.c - a ranked kernel has passed all gates on all kinds of values, and on neighbouring
 * problems
 */
#include "run_tests.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "lab/verify/campaign.h"
#include "lab/verify/mutants/steps.h"
#include "lab/verify/proof.h"
#include "lab/verify/reference/reference.h"

#define SPEC "b1 h2 s40 d24 f32 causal"

static lab_proof proof_of(const char *spec, uint64_t seed)
{
    lab_proof proof = { .seed = seed, .threads = 1 };
    assert_int_equal(heed_problem_parse(&proof.problem, spec), HEED_OK);
    return proof;
}

static size_t list(const char *spec, uint64_t seed, lab_verify_case cases[LAB_PROOF_CASES])
{
    const lab_proof proof = proof_of(spec, seed);
    return lab_proof_list(&proof, cases);
}

/* Every kind that applies to the problem is tried once, and every gate with the normal values. */
static void test_all_kinds_are_tried(void **state)
{
    static const char *const specs[] = { SPEC, "b1 h1 s1/4096 d64 bf16", "b2 h4/2 s7 d1 f16",
                                         "b1 h1 s10 d8 f16 scale=1e-06" };
    for (int s = 0; s < 4; s++) {
        lab_verify_case cases[LAB_PROOF_CASES];
        heed_problem problem = proof_of(specs[s], 1).problem;
        size_t count = list(specs[s], 1, cases);
        assert_int_equal(heed_problem_normalize(&problem, &problem), HEED_OK);
        for (size_t i = 0; lab_inputs_at(i); i++) {
            const lab_inputs *inputs = lab_inputs_at(i);
            uint32_t gates = 0;
            for (size_t c = 0; c < count; c++)
                if (cases[c].inputs == inputs && !cases[c].neighbour)
                    gates |= cases[c].gates;
            if (lab_case_absent(&problem, inputs))
                assert_int_equal(gates, 0);
            else
                for (size_t g = 0; g < LAB_GATES; g++)
                    assert_true(gates >> g & 1 || (i > 0 && lab_gate_at(g)->property));
        }
    }
}

/* Neighbours are of the same kind, differ from the problem and change with the seed; one of each
 * proof has few keys. */
static void test_neighbours(void **state)
{
    static const char *const specs[] = { SPEC, "b1 h8/2 s1/4096 d64 bf16", "b1 h1 s1 d1 f16",
                                         "b2 h1 s5000 d64/32 f32" };
    char seen[200][HEED_SPEC_SIZE];
    for (int s = 0; s < 4; s++) {
        size_t count = 0, same = 0, scaled = 0, negative = 0, by_head = 0, few = 0;
        for (uint64_t seed = 1; seed <= 20; seed++) {
            lab_verify_case cases[LAB_PROOF_CASES];
            size_t total = list(specs[s], seed, cases), short_ones = 0;
            for (size_t c = 0; c < total; c++) {
                const heed_problem *near = &cases[c].problem, *whole = &cases[0].problem;
                if (!cases[c].neighbour)
                    continue;
                assert_true(near->type == whole->type && near->dim_qk == whole->dim_qk &&
                            near->dim_v == whole->dim_v &&
                            fabsf(near->scale) <= fabsf(whole->scale) && near->batch <= 3);
                scaled += near->scale != whole->scale;
                negative += near->scale * whole->scale < 0;
                by_head += near->k.head > near->k.seq;
                short_ones += near->seq_k < 16;
                assert_true((near->mask == HEED_MASK_NONE) == (whole->mask == HEED_MASK_NONE) ||
                            near->seq_q == 1);
                assert_true(near->seq_q <= 1025 && near->seq_k <= 1025 && near->heads_kv <= 2);
                heed_problem_print(near, seen[count++], HEED_SPEC_SIZE);
            }
            few += short_ones > 0;
        }
        assert_int_equal(count, 20 * LAB_NEIGHBOURS);
        assert_int_equal(scaled, 40); /* two in each proof */
        assert_true(negative > 2 && negative < 18);
        assert_true(by_head > 0 || s == 2);
        assert_int_equal(few, 20);
        for (size_t i = 0; i < count; i++)
            for (size_t n = 0; n < i; n++)
                same += strcmp(seen[i], seen[n]) == 0;
        assert_true(same < count / 2 || s == 2); /* there are few neighbours of length 1 */
    }
}

/* ---------------------------------------------------------------------------------------------- */
/* Kernels that are wrong in one place                                                            */
/* ---------------------------------------------------------------------------------------------- */

#define ROW 611

static void one_row(mutant_row *r)
{
    mutant_plain_row(r);
    if (r->row.query == ROW)
        r->o[0] *= 1.001F;
}

/* Right for some head dims and lengths, related to the requested ones. */
static void right_as_asked(mutant_row *r)
{
    int64_t keys = r->problem->seq_k;
    r->keys -= keys != 40 && keys != 20 && r->keys > 1;
    mutant_plain_row(r);
}

static void flat_for_light(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_highest(r->s, r->keys);
    for (int64_t j = 0; j < r->keys; j++)
        if (r->s[j] < high - 15)
            r->s[j] = -INFINITY;
    mutant_finish(r);
}

static lab_report prove(mutant_row_fn *row, const char *spec, uint64_t seed)
{
    const lab_behaviour behaviour = { .row = row };
    const lab_proof proof = proof_of(spec, seed);
    lab_actor *actor = lab_actor_create(&behaviour);
    lab_report report;
    assert_non_null(actor);
    const lab_subject subject = lab_actor_subject(actor);
    assert_int_equal(lab_prove(&proof, &subject, &report), HEED_OK);
    lab_actor_destroy(actor);
    return report;
}

static void test_one_row_of_800_is_found(void **state)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        lab_report report = prove(one_row, "b1 h1 s800 d8 f32 causal", seed);
        const lab_verdict *error = &report.verdicts[lab_gate_index("error")];
        assert_int_equal(report.outcome, LAB_FAIL);
        assert_int_equal(error->outcome, LAB_FAIL);
        assert_non_null(strstr(error->reason, "query 611"));
    }
    /* Such a problem, at the head dim of real models, is compared completely. */
    lab_verify_case cases[LAB_PROOF_CASES];
    size_t count = list("b1 h1 s800 d64 f32 causal", 1, cases);
    for (size_t i = 0; i < count; i++)
        assert_true(cases[i].work >= (int64_t)800 * 800 * 128);
    assert_true(cases[0].work >= (int64_t)8 * 800 * 800 * 128);
}

static void test_other_sizes_are_tried(void **state)
{
    lab_report report = prove(right_as_asked, "b1 h2 s40 d24 f32", 5);
    assert_int_equal(report.outcome, LAB_FAIL);
}

static void test_other_values_are_tried(void **state)
{
    lab_report report = prove(flat_for_light, SPEC, 5);
    assert_int_equal(report.outcome, LAB_FAIL);
    const lab_verdict *error = &report.verdicts[lab_gate_index("error")];
    assert_non_null(strstr(error->reason, "inputs)"));
    assert_null(strstr(error->reason, "normal inputs)"));
    assert_int_equal(prove(mutant_plain_row, SPEC, 5).outcome, LAB_PASS);
}

/* ---------------------------------------------------------------------------------------------- */
/* Refusals                                                                                       */
/* ---------------------------------------------------------------------------------------------- */

typedef struct picky {
    lab_actor *actor;
    int prepared;
    int from;       /* refuses from this call on */
    bool strangers; /* but only problems other than SPEC */
    heed_problem home;
} picky;

static heed_status prepare_picky(void *data, const heed_problem *problem, lab_needs *needs)
{
    picky *it = data;
    lab_subject inner = lab_actor_subject(it->actor);
    bool known = memcmp(problem, &it->home, sizeof *problem) == 0;
    if (++it->prepared > it->from && !(it->strangers && known))
        return HEED_ERR_UNSUPPORTED;
    return inner.prepare(inner.data, problem, needs);
}

static heed_status run_picky(void *data, const heed_buffers *buffers)
{
    picky *it = data;
    lab_actor_run(it->actor, buffers);
    return HEED_OK;
}

static lab_outcome prove_picky(int from, bool strangers)
{
    const lab_behaviour behaviour = { .row = mutant_plain_row };
    const lab_proof proof = proof_of(SPEC, 1);
    picky it = { .actor = lab_actor_create(&behaviour), .from = from, .strangers = strangers };
    const lab_subject subject = { .data = &it, .prepare = prepare_picky, .run = run_picky };
    lab_report report;
    assert_int_equal(heed_problem_normalize(&it.home, &proof.problem), HEED_OK);
    assert_int_equal(lab_prove(&proof, &subject, &report), HEED_OK);
    lab_actor_destroy(it.actor);
    return report.outcome;
}

/* Refusing the problem or its neighbours is not a failure; refusing it after running it is. */
static void test_refusals(void **state)
{
    assert_int_equal(prove_picky(0, false), LAB_SKIP);
    assert_int_equal(prove_picky(0, true), LAB_PASS);
    assert_int_equal(prove_picky(12, false), LAB_FAIL);
    assert_int_equal(prove_picky(100000, false), LAB_PASS);
}

/* ---------------------------------------------------------------------------------------------- */
/* A laboratory without memory                                                                    */
/* ---------------------------------------------------------------------------------------------- */

static int runs_left = -1;   /* that find memory; negative: all */
static atomic_int *refusals; /* of this process and its children, before runs find memory */

heed_status __real_lab_run_create(lab_run *run, const lab_check *check, const lab_values *values,
                                  lab_layout layout);
heed_status __wrap_lab_run_create(lab_run *run, const lab_check *check, const lab_values *values,
                                  lab_layout layout);
heed_status __wrap_lab_run_create(lab_run *run, const lab_check *check, const lab_values *values,
                                  lab_layout layout)
{
    if (runs_left == 0 || (refusals && atomic_fetch_sub(refusals, 1) > 0)) {
        memset(run, 0, sizeof *run);
        return HEED_ERR_NO_MEMORY;
    }
    runs_left -= runs_left > 0;
    return __real_lab_run_create(run, check, values, layout);
}

/* A gate that was left out for lack of memory does not count as passed. */
static void test_no_memory_is_no_proof(void **state)
{
    const lab_behaviour behaviour = { .row = mutant_plain_row };
    const lab_proof proof = proof_of(SPEC, 1);
    lab_report report;
    lab_actor *actor = lab_actor_create(&behaviour);
    assert_non_null(actor);
    const lab_subject subject = lab_actor_subject(actor);
    for (int left = 0; left < 12; left++) {
        runs_left = left;
        assert_int_equal(lab_prove(&proof, &subject, &report), HEED_ERR_NO_MEMORY);
    }
    runs_left = -1;
    assert_int_equal(lab_prove(&proof, &subject, &report), HEED_OK);
    assert_int_equal(lab_report_kept_by(&report), HEED_OK);
    assert_int_equal(report.outcome, LAB_PASS);
    lab_actor_destroy(actor);
}
/* Runs two cases, @jobs at a time, when @shortages runs find no memory. Returns how many were
 * judged by all gates. */
static int judged_with(int jobs, int shortages)
{
    const lab_behaviour behaviour = { .row = mutant_plain_row };
    lab_actor *actor = lab_actor_create(&behaviour);
    assert_non_null(actor);
    const lab_subject subject = lab_actor_subject(actor);
    const lab_contender contender = { .threads = 1, .subject = &subject };
    const lab_proof proof = proof_of(SPEC, 1);
    lab_verify_case cases[2];
    for (int i = 0; i < 2; i++)
        cases[i] = (lab_verify_case){ .problem = proof.problem,
                                      .inputs = lab_inputs_at((size_t)i),
                                      .gates = UINT32_MAX };
    const lab_campaign campaign = { .cases = cases,
                                    .case_count = 2,
                                    .contenders = &contender,
                                    .contender_count = 1,
                                    .options = lab_verify_standard(),
                                    .jobs = jobs,
                                    .deadline_s = 60 };
    lab_campaign_result results[2];
    atomic_store(refusals, shortages);
    assert_int_equal(lab_campaign_run(&campaign, results), HEED_OK);
    lab_actor_destroy(actor);
    int judged = 0;
    for (int i = 0; i < 2; i++)
        judged += results[i].report.outcome == LAB_PASS &&
                  lab_report_kept_by(&results[i].report) == HEED_OK;
    return judged;
}

/* Cases that ran out of memory beside others are repeated alone. */
static void test_cases_are_repeated_alone(void **state)
{
    refusals = mmap(NULL, sizeof *refusals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0);
    assert_true(refusals != MAP_FAILED);
    assert_int_equal(judged_with(2, 0), 2);
    assert_int_equal(judged_with(2, 1), 2);
    assert_int_equal(judged_with(2, 2), 2);
    assert_int_equal(judged_with(1, 1), 1);
    assert_int_equal(judged_with(2, 100000), 0);
    munmap(refusals, sizeof *refusals);
    refusals = NULL;
}

RUN_TESTS(test_all_kinds_are_tried, test_neighbours, test_one_row_of_800_is_found,
          test_other_sizes_are_tried, test_other_values_are_tried, test_refusals,
          test_no_memory_is_no_proof, test_cases_are_repeated_alone)
