/*
 * source_tell.c - the requests to a proposer
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "lab/evolve/sources.h"
#include "lab/report/format.h"
#include "src/cuda/sources.h"

#define ANSWER_SECONDS 600.0
#define INSIGHTS 5
#define INSIGHT_SIZE 400
#define RECENT 10 /* kernels among which failures are counted */

static const char c_task[] =
    "Make this C kernel for scaled-dot-product attention faster: O = softmax(scale * Q K^T + mask) "
    "V for each batch element and query head, and LSE where it is wanted, as heed_candidate.h "
    "says. "
    "One file of C17 that includes heed_candidate.h, math.h and string.h alone and defines "
    "heed_candidate_run(), and heed_candidate_workspace() if it needs memory. It runs on one "
    "thread, makes no system calls, and is compiled by gcc or clang with -O3 -march=native. It "
    "must be right on any problem of the type, mask and head sizes it does not refuse, at any "
    "strides, whatever ran before; a call may not keep anything for the next. It is judged "
    "against a float64 reference and timed from outside, and replaces the best kernel only if it "
    "is at least 3 % faster on two problems, or on the only one, and slower on none.";

static const char cuda_task[] =
    "Make this CUDA kernel for scaled-dot-product attention faster: O = softmax(scale * Q K^T + "
    "mask) V for each batch element and query head, and LSE where args.lse is not NULL. One file "
    "of device code for NVRTC, without host code, that may include heed's headers args.cuh, "
    "rows.cuh, types.cuh and ptx.cuh. Its comment heed:launch says how it is launched: entry, the "
    "name of the extern \"C\" kernel, which takes one heed_cuda_args; threads and rows of a block, "
    "smem (bytes of dynamic shared memory), registers (a cap, 0 for none), as expressions over "
    "macros that are plain numbers. There is a block for each so many rows of each key/value "
    "head. HEED_TYPE (0 float32, 1 float16, 2 bfloat16), HEED_CAUSAL, HEED_DIM_QK and HEED_DIM_V "
    "are macros that it is compiled with. It must be right at any lengths and strides, and may "
    "keep nothing for the next launch. It is judged against a float64 reference and timed from "
    "outside by the device's timers, and replaces the best kernel only if it is at least 3 % "
    "faster on two problems, or on the only one, and slower on none.";

/* The headers for CUDA sources that are part of a request. */
static const char *const cuda_headers[] = { "args.cuh",       "rows.cuh",       "types.cuh",
                                            "ptx.cuh",        "ptx_thread.cuh", "ptx_math.cuh",
                                            "ptx_memory.cuh", "ptx_warp.cuh" };

static char *read_headers(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; out && i < sizeof cuda_headers / sizeof *cuda_headers; i++) {
        heed_source source;
        if (heed_source_find(cuda_headers[i], &source))
            fprintf(out, "/* ==== %s ==== */\n%s\n", source.name, source.text);
    }
    if (!out || fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static lab_tried tried_of(const lab_sources_kernel *kernel)
{
    return (lab_tried){ .name = kernel->name,
                        .source = kernel->source,
                        .thought = kernel->thought,
                        .verdict = lab_record_verdict_name(kernel->verdict),
                        .log = kernel->log,
                        .seconds = isfinite(kernel->score) ? exp(kernel->score) : 0 };
}

/* The number and kind of recent failures. */
static void say_failures(const lab_sources *all, char text[INSIGHT_SIZE])
{
    size_t first = all->count > RECENT ? all->count - RECENT : 0, failed = 0, last = 0;
    for (size_t i = first; i < all->count; i++)
        if (all->kernels[i].verdict != LAB_RECORD_OK) {
            failed++;
            last = i;
        }
    if (failed > 0)
        snprintf(text, INSIGHT_SIZE, "%zu of the last %zu kernel%s failed; %.60s: %s: %.250s",
                 failed, all->count - first, lab_plural(all->count - first),
                 all->kernels[last].name, lab_record_verdict_name(all->kernels[last].verdict),
                 all->kernels[last].log ? all->kernels[last].log : "no reason known");
}

/* The thought with the largest gain over its kernel's parent. */
static void say_gain(const lab_sources *all, char text[INSIGHT_SIZE])
{
    double most = 0;
    for (size_t i = 1; i < all->count; i++) {
        const lab_sources_kernel *it = &all->kernels[i];
        for (size_t j = 0; j < i && isfinite(it->score); j++) {
            double gain = all->kernels[j].score - it->score;
            if (strcmp(all->kernels[j].hash, it->parent) != 0 || !(gain > most) || !*it->thought)
                continue;
            most = gain;
            snprintf(text, INSIGHT_SIZE, "this made a kernel %.2f times as fast: %.300s", exp(gain),
                     it->thought);
        }
    }
}

/* The problem on which the champion gained the least over the first source. */
static void say_laggard(const lab_sources *all, char text[INSIGHT_SIZE])
{
    const lab_sources_kernel *best = &all->kernels[all->champion], *first = &all->kernels[0];
    size_t slowest = 0;
    char spec_time[LAB_FORMAT_SIZE];
    for (size_t i = 1; i < all->run->sweep.problems.count; i++)
        if (first->seconds[i] * best->seconds[slowest] < first->seconds[slowest] * best->seconds[i])
            slowest = i;
    snprintf(text, INSIGHT_SIZE,
             "the best source takes %s for %s, where it gained the least over the first one: it is "
             "%.2f times as fast",
             lab_format_seconds(best->seconds[slowest], spec_time),
             all->run->sweep.shapes[slowest].spec,
             first->seconds[slowest] / best->seconds[slowest]);
}

/* The resources of the best source's machine code. */
static void say_code(const lab_sources *all, char text[INSIGHT_SIZE])
{
    const lab_sources_kernel *best = &all->kernels[all->champion];
    size_t length = 0;
    if (!best->inspected)
        return;
    length += (size_t)snprintf(text, INSIGHT_SIZE,
                               "the code of the best source for sm_%d:", all->run->sweep.arch);
    for (int i = 0; i < LAB_FACTS && length < INSIGHT_SIZE; i++)
        if (best->point_facts.value[i] >= 0)
            length += (size_t)snprintf(text + length, INSIGHT_SIZE - length, "%s %s %lld",
                                       i ? "," : "", lab_fact_name((lab_fact)i),
                                       (long long)best->point_facts.value[i]);
}

/* The counters of the best source's run, in the protocol's format. */
static void say_counters(const lab_sources *all, const lab_insight_clues *clues,
                         char text[INSIGHT_SIZE])
{
    size_t length = 0;
    if (clues->clues.counter_count == 0)
        return;
    length += (size_t)snprintf(text, INSIGHT_SIZE,
                               "counted while the best source ran %s:", all->insight.spec);
    for (size_t i = 0; i < clues->clues.counter_count && length < INSIGHT_SIZE; i++)
        length += (size_t)snprintf(text + length, INSIGHT_SIZE - length, "%s %s %.3g", i ? "," : "",
                                   clues->counters[i].name, clues->counters[i].value);
}

static size_t find_words(unsigned findings, const char *words[LAB_FINDINGS])
{
    size_t count = 0;
    for (int i = 0; i < LAB_FINDINGS; i++)
        if (findings >> i & 1)
            words[count++] = lab_finding_name((lab_finding)i);
    return count;
}

heed_status lab_sources_ask(lab_sources *all, lab_proposal *proposal, lab_error *error)
{
    const lab_evolve *run = all->run;
    size_t problems = run->sweep.problems.count, insight_count = 0;
    char texts[INSIGHTS][INSIGHT_SIZE] = { "" };
    const char *specs[LAB_SEARCH_SHAPES], *insights[INSIGHTS], *words[LAB_FINDINGS];
    lab_insight_clues clues = { .clues = lab_clues_unknown() };
    unsigned findings = all->kernels[all->champion].findings;
    bool c = all->language == LAB_LANGUAGE_C;
    char *headers = c ? NULL : read_headers();
    lab_tried *history = calloc(all->count + 1, sizeof *history);
    if (!history || (!c && !headers)) {
        free(history);
        free(headers);
        return HEED_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < all->count; i++)
        history[i] = tried_of(&all->kernels[i]);
    for (size_t i = 0; i < problems; i++)
        specs[i] = run->sweep.shapes[i].spec;
    say_laggard(all, texts[0]);
    say_gain(all, texts[1]);
    say_failures(all, texts[2]);
    say_code(all, texts[3]);
    if (all->measured == all->champion + 1)
        lab_insight_clues_of(&all->insight, &clues);
    say_counters(all, &clues, texts[4]);
    for (size_t i = 0; i < INSIGHTS; i++)
        if (*texts[i])
            insights[insight_count++] = texts[i];
    const lab_brief brief = { .way = all->way,
                              .task = c ? c_task : cuda_task,
                              .language = lab_language_name(all->language),
                              .header = c ? lab_candidate_header() : headers,
                              .problems = specs,
                              .problem_count = problems,
                              .device = heed_context_device(run->sweep.context),
                              .origin = all->origin,
                              .current = history[all->champion],
                              .history = history,
                              .history_count = all->count,
                              .insights = insights,
                              .insight_count = insight_count,
                              .findings = words,
                              .finding_count = find_words(findings, words),
                              .counters = clues.counters,
                              .counter_count = clues.clues.counter_count,
                              .effects = clues.effects,
                              .effect_count = clues.clues.effect_count,
                              .seed = run->session.seed,
                              .number = (int64_t)all->count + all->refused };
    heed_status status = lab_proposer_ask(all->proposer, &brief, ANSWER_SECONDS, proposal, error);
    free(history);
    free(headers);
    return status;
}
