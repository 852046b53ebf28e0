/*
 * selftest_device.c - launches the suite's CUDA kernels as candidates in trials
 */
#include "selftest.h"

#include <stdlib.h>
#include <string.h>

#include "base/mask.h"
#include "bench/candidate.h"
#include "src/message.h"

/* A kernel of the suite. Its code depends on the kind of problem, so each kind opens a new
 * trial. */
typedef struct mistaken {
    lab_bench_candidate candidate; /* first: a subject's functions take a pointer to either */
    int mistake;
    lab_limits limits;
    heed_problem problem; /* of the open trial */
} mistaken;

static bool same_kind(const heed_problem *a, const heed_problem *b)
{
    return a->type == b->type && a->dim_qk == b->dim_qk && a->dim_v == b->dim_v &&
           lab_masks_alike(a, b);
}

static void close_trial(mistaken *it)
{
    lab_trial_close(it->candidate.trial);
    it->candidate.trial = NULL;
}

static bool open_trial(mistaken *it, const heed_problem *problem)
{
    const lab_device_code code = lab_device_code_of(problem, it->mistake);
    lab_knob knobs[LAB_DEVICE_DEFINES];
    if (it->candidate.trial && same_kind(&it->problem, problem))
        return true;
    close_trial(it);
    for (int i = 0; i < LAB_DEVICE_DEFINES; i++)
        knobs[i] = (lab_knob){ code.defines[i].name, code.defines[i].value };
    const lab_candidate candidate = { .name = "attend",
                                      .language = LAB_LANGUAGE_CUDA,
                                      .source = lab_device_source(),
                                      .source_size = strlen(lab_device_source()),
                                      .knobs = knobs,
                                      .knob_count = LAB_DEVICE_DEFINES,
                                      .launch = { .entry = code.entry,
                                                  .threads = code.threads,
                                                  .smem = code.smem,
                                                  .rows = code.rows,
                                                  .splits = 1 } };
    it->problem = *problem;
    return lab_trial_open(&it->candidate.trial, &candidate, &it->limits, &it->candidate.outcome);
}

/* A kernel that cannot be launched is not judged: it counts as skipped, not as killed. */
static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    mistaken *it = data;
    if (!open_trial(it, problem)) {
        close_trial(it);
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s", it->candidate.outcome.text);
    }
    heed_status status = lab_bench_candidate_subject(&it->candidate).prepare(data, problem, needs);
    needs->deterministic = true;
    return status == HEED_OK ? HEED_OK : HEED_ERR_UNSUPPORTED;
}

static heed_status open_mistake(void *data, int mistake, lab_subject *subject)
{
    const char *const *name = data;
    mistaken *it = calloc(1, sizeof *it);
    if (!it)
        return heed_fail(HEED_ERR_NO_MEMORY, "not enough memory for a trial");
    it->mistake = mistake;
    it->limits = (lab_limits){ .device = *name };
    it->candidate = (lab_bench_candidate){ .name = "attend", .seconds = -1 };
    *subject = lab_bench_candidate_subject(&it->candidate);
    subject->prepare = prepare;
    return HEED_OK;
}

static void close_mistake(void *data, lab_subject *subject)
{
    (void)data;
    close_trial(subject->data);
    free(subject->data);
}

lab_selftest_device selftest_device(const char *const *name)
{
    union {
        const char *const *constant;
        void *data;
    } device = { name };
    return (
        lab_selftest_device){ .data = device.data, .open = open_mistake, .close = close_mistake };
}

cli_exit selftest_device_probe(const char *const *name)
{
    const lab_selftest_device device = selftest_device(name);
    heed_problem problem;
    lab_subject subject;
    lab_needs needs;
    heed_status status = device.open(device.data, 0, &subject);
    if (status != HEED_OK)
        return cli_fail(status, "--device");
    status = heed_problem_parse(&problem, lab_scene_at(true, 0));
    if (status == HEED_OK)
        status = heed_problem_normalize(&problem, &problem);
    if (status == HEED_OK)
        status = prepare(subject.data, &problem, &needs);
    if (status != HEED_OK)
        cli_error("--device: %s", heed_message());
    device.close(device.data, &subject);
    return status == HEED_OK ? CLI_OK : CLI_ENVIRONMENT;
}
