/*
 * gates_fresh.c - the gate that calls a kernel repeatedly, as a benchmark does
 *
 * All other gates prepare the kernel for every call. Here it is prepared once and then called many
 * times, away from walls. Between two calls one element changes, and the outputs are poisoned. Two
 * calls on the same tensors alternate with two on other tensors of the same values without the LSE,
 * as in a benchmark. If the problem has operands, the calls are repeated with other values of all
 * operands.
 */
#include "base/plural.h"
#include "lab/tensor/random.h"
#include "lab/verify/gates/gates.h"
#include "lab/verify/operands.h"
#include "lab/verify/sample.h"

/* The number of calls for a small problem, and for one of more than SMALL_FLOPS operations. */
#define CALLS 12
#define CALLS_LARGE 4
#define SMALL_FLOPS 1e7

/* Second tensors are made unless they take more bytes than this. */
#define OTHERS_MAX ((size_t)256 << 20)

/* Key and value elements that the reference of the sample reads. */
#define WORK ((int64_t)1 << 14)

/* Streams of random numbers. */
enum {
    STREAM_ROWS = 24,
    STREAM_TOUCH,
    STREAM_OPERANDS
};

/* The two sets of tensors, whose values differ only by the touch. */
typedef struct places {
    lab_stage stage[2];
    int count;
    int touched; /* the set that is touched */
    int calls;   /* so far */
    double worst;
    bool renewed; /* the operands have other values */
} places;

/* Undoes the last touch in its set of tensors, and writes the next one to the set @place. */
static void touch(lab_sample *sample, places *at, int place, uint64_t seed)
{
    lab_touch touches[LAB_TOUCHES];
    bool undoes = sample->undo.index >= 0;
    int count = lab_sample_touch(sample, seed, touches);
    for (int t = 0; t < count; t++) {
        lab_stage *stage = &at->stage[t == 0 && undoes ? at->touched : place];
        lab_touch_write(&touches[t], sample->problem.type,
                        stage->block[touches[t].role].region.data);
    }
    at->touched = place;
}

static int calls_of(const heed_problem *problem)
{
    return heed_problem_flops(problem) > SMALL_FLOPS ? CALLS_LARGE : CALLS;
}

/* Makes one call. False if its result is wrong, or if the call failed. */
static bool call_once(const lab_check *check, lab_sample *sample, places *at, lab_verdict *verdict)
{
    bool other = at->count > 1 && at->calls % 4 >= 2;
    lab_stage *stage = &at->stage[other];
    heed_status outcome = HEED_OK;
    touch(sample, at, other, lab_random_stream(check->seed, STREAM_TOUCH));
    lab_stage_poison(stage, at->calls++ % 2 ? -1 : 1);
    heed_status status = lab_check_stage(check, stage, &outcome);
    if (status != HEED_OK) {
        lab_verdict_skip_status(verdict, status);
        return false;
    }
    if (outcome != HEED_OK) {
        lab_verdict_fail(verdict, -1, "call %d: %s", at->calls, heed_message());
        return false;
    }
    heed_buffers buffers = lab_stage_buffers(stage);
    double error = lab_sample_error(sample, buffers.o, buffers.lse);
    at->worst = error > at->worst ? error : at->worst;
    if (error <= 1)
        return true;
    lab_verdict_fail(verdict, error,
                     "call %d after a value of %s changed%s%s: %.3g times the "
                     "error allowed",
                     at->calls, lab_role_name(sample->undo.role),
                     at->renewed ? ", other operands" : "",
                     other ? ", other tensors without LSE" : "", error);
    return false;
}

/* Makes all calls, up to the first wrong one. */
static bool call_again(const lab_check *check, lab_sample *sample, places *at, lab_verdict *verdict)
{
    int calls = calls_of(&sample->problem);
    for (int i = 0; i < calls; i++)
        if (!call_once(check, sample, at, verdict))
            return false;
    return true;
}

static heed_status make_places(const lab_check *check, const lab_needs *needs, places *at)
{
    lab_layout layout = { .edge = LAB_EDGE_NONE,
                          .lse = true,
                          .seed = check->seed,
                          .sign = 1,
                          .workspace = needs->workspace_size };
    size_t size = 0;
    heed_status status = lab_stage_create(&at->stage[0], check->values, &layout);
    at->count = status == HEED_OK;
    for (int i = 0; i < LAB_BLOCKS; i++)
        size += at->stage[0].block[i].region.size;
    layout.lse = false;
    layout.edge = LAB_EDGE_START; /* at another address on a device too, where both share memory */
    if (status == HEED_OK && size <= OTHERS_MAX) {
        status = lab_stage_create(&at->stage[1], check->values, &layout);
        at->count += status == HEED_OK;
    }
    return status;
}

static heed_status make_sample(lab_sample **sample, const lab_check *check,
                               const heed_buffers *data)
{
    const lab_sampling sampling = { .seed = lab_random_stream(check->seed, STREAM_ROWS),
                                    .work = WORK,
                                    .threads = check->sampling.threads,
                                    .own = check->sampling.own };
    return lab_sample_create(sample, &check->values->problem, data, &sampling);
}

/* Undoes the last touch, and gives all operands other values. False if there are none. */
static bool renew_operands(const lab_check *check, lab_sample *sample, places *at)
{
    const heed_problem *problem = &sample->problem;
    uint64_t seed = lab_random_stream(check->seed, STREAM_OPERANDS);
    lab_touch touches[LAB_TOUCHES];
    int count = lab_sample_restore(sample, touches);
    for (int t = 0; t < count; t++)
        lab_touch_write(&touches[t], problem->type,
                        at->stage[at->touched].block[touches[t].role].region.data);
    for (int role = LAB_VECTORS; role < LAB_INPUTS; role++)
        for (int i = 0; i < at->count && check->values->block[role].element; i++) {
            if (role == LAB_K_NEW || role == LAB_V_NEW)
                continue;
            lab_operand_fill(problem, (lab_role)role, at->stage[i].block[role].region.data, seed);
            at->renewed = true;
        }
    for (int i = 0; i < at->count && problem->append > 0; i++)
        lab_stage_renew(&at->stage[i], check->values);
    return at->renewed;
}

/* Calls with other operands. These may leave no row that can be judged. */
static bool call_renewed(const lab_check *check, places *at, lab_verdict *verdict)
{
    heed_buffers data = lab_values_buffers(check->values), now = lab_stage_buffers(&at->stage[0]);
    lab_sample *sample;
    for (int role = LAB_VECTORS; role < LAB_INPUTS; role++)
        lab_buffers_set(&data, (lab_role)role, lab_buffers_get(&now, (lab_role)role));
    heed_status status = make_sample(&sample, check, &data);
    bool well = status == HEED_ERR_UNSUPPORTED ||
                (status == HEED_OK && call_again(check, sample, at, verdict));
    if (status != HEED_OK && status != HEED_ERR_UNSUPPORTED)
        lab_verdict_skip_status(verdict, status);
    lab_sample_destroy(sample);
    return well;
}

/* Prepares the kernel, lays the tensors out, and calls. */
static void prepare_and_call(const lab_check *check, lab_sample *sample, lab_verdict *verdict)
{
    lab_needs needs = { .seconds = -1 };
    places at = { .count = 0 };
    heed_status ready = check->subject->prepare(check->subject->data, &check->values->problem,
                                                &needs);
    if (ready != HEED_OK) {
        lab_verdict_fail(verdict, -1, "once more: %s", heed_message());
        return;
    }
    heed_status status = make_places(check, &needs, &at);
    if (status != HEED_OK)
        lab_verdict_skip_status(verdict, status);
    else if (call_again(check, sample, &at, verdict) &&
             (!renew_operands(check, sample, &at) || call_renewed(check, &at, verdict)))
        lab_verdict_pass(verdict, at.worst, "%d call%s at most %.2f of what is allowed", at.calls,
                         lab_plural(at.calls), at.worst);
    for (int i = 0; i < at.count; i++)
        lab_stage_destroy(&at.stage[i]);
}

void lab_gate_fresh(const lab_check *check, lab_verdict *verdict)
{
    heed_buffers data = lab_values_buffers(check->values);
    lab_sample *sample;
    for (int role = LAB_Q; role < LAB_VECTORS; role++)
        if (!lab_view_splits(&check->values->block[role].view, true)) {
            lab_verdict_skip(verdict, "vectors overlap in memory");
            return;
        }
    lab_trace_step(check->trace, "called again and again");
    heed_status status = make_sample(&sample, check, &data);
    if (status == HEED_ERR_UNSUPPORTED)
        lab_verdict_skip(verdict, "no row of the sample sees a key");
    else if (status != HEED_OK)
        lab_verdict_skip_status(verdict, status);
    else
        prepare_and_call(check, sample, verdict);
    lab_sample_destroy(sample);
}
