/*
 * prefix.c - shared key prefix: when a problem may have one, and its split into two problems
 */
#include "../number.h"
#include "problem.h"

/* -------------------------------------------------------------------------- */
/* The order of queries                                                       */
/* -------------------------------------------------------------------------- */

heed_prefix_orders heed_prefix_order(const heed_problem *problem)
{
    const heed_problem *p = problem;
    const heed_tensor q = heed_problem_tensor(p, HEED_ROLE_Q);
    const heed_strides s = heed_strides_normal(&q, q.strides);
    if (p->tokens_q > 0 || p->batch == 1)
        return HEED_PREFIX_BEHIND;
    if (p->seq_q == 1)
        return HEED_PREFIX_BESIDE;
    if (p->batch > HEED_SIZE_MAX / p->seq_q)
        return HEED_PREFIX_APART;
    return s.batch == p->seq_q * s.seq   ? HEED_PREFIX_BEHIND
           : s.seq == p->batch * s.batch ? HEED_PREFIX_BESIDE
                                         : HEED_PREFIX_APART;
}

/* The batch stride of one batch element: any but 0, as three zeros would mean dense strides. */
#define UNUSED 1

/* Makes the queries of @part those of a single batch element, if their order allows it. */
static void gather_queries(heed_problem *part, const heed_problem *problem)
{
    const heed_prefix_orders order = heed_prefix_order(problem);
    part->tokens_q = 0;
    if (order == HEED_PREFIX_APART)
        return;
    part->batch = 1;
    part->seq_q = problem->tokens_q > 0 ? problem->tokens_q : problem->batch * problem->seq_q;
    if (order == HEED_PREFIX_BESIDE)
        part->q.seq = problem->q.batch;
    part->q.batch = UNUSED;
}

/* -------------------------------------------------------------------------- */
/* Both parts                                                                 */
/* -------------------------------------------------------------------------- */

heed_problem heed_prefix_rest(const heed_problem *problem)
{
    heed_problem rest = *problem;
    if (problem->prefix == 0)
        return rest;
    rest.seq_k -= rest.prefix;
    rest.prefix = 0;
    heed_problem_normalize_own(&rest);
    return rest;
}

heed_problem heed_prefix_part(const heed_problem *problem)
{
    static const heed_operand none;
    heed_problem part = *problem;
    gather_queries(&part, problem);
    part.seq_k = problem->prefix;
    part.prefix = 0;
    part.mask = HEED_MASK_NONE;
    part.lengths = part.sinks = part.cu_seqlens_q = none;
    part.o = (heed_strides){ 0, 0, 0 };
    if (part.page == 0) /* all batch elements use the keys of the first one */
        part.k.batch = part.v.batch = part.batch == 1 ? UNUSED : 0;
    heed_problem_normalize_own(&part);
    return part;
}

/* -------------------------------------------------------------------------- */
/* Check                                                                      */
/* -------------------------------------------------------------------------- */

static bool order_fault(const heed_problem *problem, heed_fault *fault)
{
    const heed_strides *s = &problem->q;
    return heed_fault_set(
        fault, HEED_PART_Q,
        "q strides are %lld:%lld:%lld; with a prefix and pages queries must be evenly spaced: the "
        "batch stride must be seq_q times the seq stride, or the seq stride batch times the batch "
        "stride",
        (long long)s->batch, (long long)s->seq, (long long)s->head);
}

/* Checks that neither K nor V has a single vector for all keys and heads: shared by all batch
 * elements too, all its strides would be 0, which means dense. */
static bool repeats_fault(const heed_problem *problem, heed_fault *fault)
{
    for (int role = HEED_ROLE_K; role <= HEED_ROLE_V; role++) {
        const heed_tensor tensor = heed_problem_tensor(problem, role);
        const heed_strides s = heed_strides_normal(&tensor, tensor.strides);
        if (s.seq == 0 && s.head == 0)
            return heed_fault_set(
                fault, (heed_part)(HEED_PART_Q + role),
                "%s strides are %lld:0:0; with a prefix the seq or head stride must be 1 or more, "
                "unless queries are evenly spaced",
                tensor.role->name, (long long)s.batch);
    }
    return false;
}

/* Checks that all queries see the prefix in the same way. */
static bool prefix_unequal(const heed_problem *problem, heed_fault *fault)
{
    const heed_problem *p = problem;
    static const char own[] = "shows each query different keys";
    static const char place[] = "depends on positions, which differ between batch elements";
    const struct {
        const char *name, *why;
        heed_part part;
        bool there;
    } all[] = { { "a mask that is aligned top left", own, HEED_PART_MASK,
                  p->mask == HEED_MASK_CAUSAL_TOP_LEFT },
                { "a window", own, HEED_PART_WINDOW, p->window.sides != 0 },
                { "a chunk", own, HEED_PART_CHUNK, p->chunk != 0 },
                { "bias", place, HEED_PART_BIAS, p->bias.type != HEED_DATA_NONE },
                { "slopes", place, HEED_PART_SLOPES, p->slopes.type != HEED_DATA_NONE },
                { "starts", own, HEED_PART_STARTS, p->starts.type != HEED_DATA_NONE },
                { "shown", own, HEED_PART_SHOWN, p->shown.type != HEED_DATA_NONE },
                { "score", place, HEED_PART_SCORE, p->score[0] != '\0' },
                { "visible", own, HEED_PART_VISIBLE, p->visible[0] != '\0' },
                { "invariant", "forbids rows of several batch elements in one block",
                  HEED_PART_INVARIANT, p->invariant != 0 } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].there)
            return heed_fault_set(fault, all[i].part,
                                  "prefix is %lld; it must be 0 with %s, which %s",
                                  (long long)p->prefix, all[i].name, all[i].why);
    return false;
}

bool heed_prefix_fault(const heed_problem *problem, heed_fault *fault)
{
    const heed_problem *p = problem;
    const bool causal = p->mask != HEED_MASK_NONE, append = p->append > 0;
    char range[HEED_NUMBER_SIZE];
    int64_t least = causal && p->seq_q > p->append ? p->seq_q : append ? p->append : 1;
    if (p->prefix == 0)
        return false;
    if (prefix_unequal(p, fault))
        return true;
    if (p->prefix > p->seq_k - least)
        return heed_fault_set(
            fault, HEED_PART_PREFIX, "prefix is %lld; it must be %s, which is seq_k - %s",
            (long long)p->prefix,
            heed_number_print_range(range, 0, p->seq_k > least ? p->seq_k - least : 0),
            causal && least == p->seq_q ? "seq_q under a causal mask"
            : append                    ? "append"
                                        : "1");
    if (p->page > 0 && p->prefix % p->page != 0)
        return heed_fault_set(fault, HEED_PART_PREFIX,
                              "prefix is %lld; it must be a multiple of page, which is %lld",
                              (long long)p->prefix, (long long)p->page);
    if (p->tokens_k > 0)
        return heed_fault_set(fault, HEED_PART_PREFIX,
                              "prefix is %lld and tokens_k is %lld; packed keys share none: one of "
                              "them must be 0",
                              (long long)p->prefix, (long long)p->tokens_k);
    if (p->rotary > 0 || heed_prefix_order(p) != HEED_PREFIX_APART)
        return false;
    return p->page > 0 ? order_fault(p, fault) : repeats_fault(p, fault);
}
