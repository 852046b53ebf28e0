/*
 * gates_fresh.c - the gate that calls a kernel again and again, as a benchmark does
 *
 * All other gates prepare the kernel anew for every call. Here it is prepared once and then called
 * many times, away from walls; between two calls one element changes, and the outputs are
 * poisoned. Most calls have the same tensors; every third one has others of the same values, and
 * asks for no LSE, as a benchmark does.
 */
#include "lab/tensor/random.h"
#include "lab/verify/sample.h"
#include "lab/verify/variant.h"

/* Calls of a small problem, and of one with more operations than SMALL_FLOPS. */
#define CALLS 12
#define CALLS_LARGE 4
#define SMALL_FLOPS 1e7

/* Other tensors are made unless they take more bytes than this. */
#define OTHERS_MAX ((size_t)256 << 20)

/* Key and value elements that the reference of the sample reads. */
#define WORK ((int64_t)1 << 14)

/* Streams of random numbers. */
enum {
    STREAM_ROWS = 24,
    STREAM_TOUCH
};

/* The tensors, and the others, of the same values but for the touch. */
typedef struct places {
    lab_stage stage[2];
    int count;
    int touched; /* which of them */
} places;

/* Writes the next touch to the tensors number @place, and puts the last one back where that was. */
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

/* The calls, until one is wrong. */
static void call_again(const lab_check *check, lab_sample *sample, places *at, lab_verdict *verdict)
{
    int calls = heed_problem_flops(&sample->problem) > SMALL_FLOPS ? CALLS_LARGE : CALLS;
    double worst = 0;
    for (int call = 0; call < calls; call++) {
        bool other = at->count > 1 && call % 3 == 2;
        lab_stage *stage = &at->stage[other];
        heed_status outcome = HEED_OK;
        touch(sample, at, other, lab_random_stream(check->seed, STREAM_TOUCH));
        lab_stage_poison(stage, call % 2 ? -1 : 1);
        heed_status status = lab_check_stage(check, stage, &outcome);
        if (status != HEED_OK) {
            lab_verdict_skip_status(verdict, status);
            return;
        }
        if (outcome != HEED_OK) {
            lab_verdict_fail(verdict, -1, "call %d: %s", call + 1, heed_message());
            return;
        }
        heed_buffers buffers = lab_stage_buffers(stage);
        double error = lab_sample_error(sample, buffers.o, buffers.lse);
        if (!(error <= 1)) {
            lab_verdict_fail(verdict, error,
                             "call %d of %d after a value of %s changed%s: %.3g times "
                             "the error allowed",
                             call + 1, calls, lab_role_name(sample->undo.role),
                             other ? ", other tensors without LSE" : "", error);
            return;
        }
        worst = error > worst ? error : worst;
    }
    lab_verdict_pass(verdict, worst, "%d calls at most %.2f of what is allowed", calls, worst);
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
    layout.edge = LAB_EDGE_START; /* elsewhere on a device, too, where both have the same memory */
    if (status == HEED_OK && size <= OTHERS_MAX) {
        status = lab_stage_create(&at->stage[1], check->values, &layout);
        at->count += status == HEED_OK;
    }
    return status;
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
    if (status == HEED_OK)
        call_again(check, sample, &at, verdict);
    else
        lab_verdict_skip_status(verdict, status);
    for (int i = 0; i < at.count; i++)
        lab_stage_destroy(&at.stage[i]);
}

void lab_gate_fresh(const lab_check *check, lab_verdict *verdict)
{
    const lab_sampling sampling = { .seed = lab_random_stream(check->seed, STREAM_ROWS),
                                    .work = WORK,
                                    .threads = check->sampling.threads,
                                    .own = check->sampling.own };
    heed_buffers data = lab_values_buffers(check->values);
    lab_sample *sample;
    for (int role = LAB_Q; role < LAB_VECTORS; role++)
        if (!lab_variant_splits(&check->values->block[role].view, true)) {
            lab_verdict_skip(verdict, "vectors overlap in memory");
            return;
        }
    lab_trace_step(check->trace, "called again and again");
    heed_status status = lab_sample_create(&sample, &check->values->problem, &data, &sampling);
    if (status == HEED_ERR_UNSUPPORTED)
        lab_verdict_skip(verdict, "no row of the sample sees a key");
    else if (status != HEED_OK)
        lab_verdict_skip_status(verdict, status);
    else
        prepare_and_call(check, sample, verdict);
    lab_sample_destroy(sample);
}
