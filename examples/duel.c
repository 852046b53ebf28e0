/*
 * duel.c - decides which of two kernels is faster on a problem, with the laboratory as a library
 *
 * Verifies both kernels on the problem, times them in turns, and prints the verdict with its
 * interval. Only kernels that passed every gate are timed. The program is built in heed's tree,
 * where the laboratory is a static library (lab/).
 *
 *     ./duel fwd_any_scalar_row fwd_any_avx2_tile "b1 h8 s512 d64 f32"
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "heed.h"
#include "lab/bench/pair.h"
#include "lab/verify/proof.h"
#include "lab/verify/verify.h"

#define SECONDS 0.5

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "duel: %s: %s\n", what, why);
    return 1;
}

/* Shows the current case, on a terminal. */
static void show(lab_progress *progress, size_t done, const char *what)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "%s %zu of %zu: %s\n", progress->title, done + 1, progress->total, what);
}

static const lab_sink terminal = { .step = show };

/* Returns the reason of the first gate that failed, or else of the first one. */
static const char *reason_of(const lab_report *report)
{
    for (int i = 0; i < LAB_GATES; i++)
        if (report->verdicts[i].outcome == LAB_FAIL)
            return report->verdicts[i].reason;
    return report->verdicts[0].reason;
}

/* Runs all gates on the problem and on its neighbours. */
static int prove(heed_context *context, const char *kernel, const heed_problem *problem)
{
    lab_planned planned = { .context = context, .kernel = kernel };
    const lab_subject subject = lab_planned_subject(&planned);
    const lab_proof proof = { .problem = *problem, .seed = 1, .threads = 1 };
    lab_report *report = calloc(1, sizeof *report);
    if (!report)
        return fail(kernel, "no memory");
    heed_status status = lab_prove(&proof, &subject, report);
    int result = 0;
    if (status != HEED_OK)
        result = fail(kernel, heed_message());
    else if (report->outcome != LAB_PASS)
        result = fail(kernel, reason_of(report));
    else
        printf("%s passes %d gates\n", report->name, LAB_GATES);
    lab_planned_release(&planned);
    free(report);
    return result;
}

static int time_both(heed_context *context, char *kernels[2], const heed_problem *problem)
{
    const lab_bench bench = { .context = context, .seed = 1, .host_threads = 1 };
    const lab_bench_source source = { .problem = *problem };
    const lab_duel_options options = { .seconds = SECONDS, .seed = 1 };
    lab_bench_pair pair = { .names = { kernels[0], kernels[1] } };
    heed_status status = lab_bench_pair_run(&pair, &bench, &source, &options);
    const lab_comparison *found = &pair.duel.comparison;
    int result = 0;
    if (status != HEED_OK)
        result = fail("timing", heed_message());
    else if (pair.outcome != LAB_BENCH_OK)
        result = fail("timing", pair.reason);
    else if (pair.same)
        result = fail("timing", "both are the same kernel");
    else
        printf("%s is %s: %.2f us, and the other %.2f us; ratio %.3f [%.3f, %.3f] from %zu pairs\n",
               pair.planned[0], lab_compared_name(found->verdict), pair.seconds[0] * 1e6,
               pair.seconds[1] * 1e6, found->ratio.estimate, found->ratio.low, found->ratio.high,
               found->pairs);
    lab_bench_pair_free(&pair);
    return result;
}

int main(int argc, char **argv)
{
    const heed_options options = { .size = sizeof options, .device = "cpu", .threads = 1 };
    heed_problem problem;
    heed_context *context;
    if (argc != 4) {
        fprintf(stderr, "usage: duel KERNEL KERNEL SPEC\n");
        return 2;
    }
    if (heed_problem_parse(&problem, argv[3]) != HEED_OK)
        return fail(argv[3], heed_message());
    if (heed_context_create(&context, &options) != HEED_OK)
        return fail("context", heed_message());
    lab_progress progress = lab_progress_start(&terminal, "proof", 2);
    int result = 0;
    for (int i = 0; i < 2 && result == 0; i++) {
        lab_progress_step(&progress, (size_t)i, argv[1 + i]);
        result = prove(context, argv[1 + i], &problem);
    }
    if (result == 0)
        result = time_both(context, argv + 1, &problem);
    heed_context_destroy(context);
    return result;
}
