/*
 * gate_criteria.c - `heed gate --criteria`: judges heed by fixed criteria
 *
 * The criteria are the usual ones for attention kernels beside PyTorch's SDPA. Each has a figure,
 * and a verdict that is PASS only if the figure was measured here and is good enough including its
 * uncertainty. If the rival, the GPU or a tool is missing it is UNKNOWN.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/base/cli.h"
#include "gate.h"
#include "insight/ncu.h"
#include "inspect/cubin.h"
#include "src/cuda/facts.h"

#define RIVAL "torch" /* and its backends, such as torch-flash: the fastest counts */
#define GAIN_TWO 1.10
#define GAIN_THIRD 1.05
#define LOOK_SHARE 0.05  /* of the time for a problem, to find the fastest backend */
#define LOOK_SECONDS 0.1 /* and at least this long, but no more than half of it */
#define TAIL_SLACK 0.99  /* within 1 % it is undecided whether a p90 is worse */

typedef enum criterion_verdict {
    CRITERION_UNKNOWN = 0, /* it was not measured: a rival, a GPU or a tool is missing */
    CRITERION_PASS,
    CRITERION_FAIL,
    CRITERION_AMBIGUOUS, /* measured, but not accurately enough */
    CRITERION_VERDICTS
} criterion_verdict;

#define CRITERIA 5

typedef struct criterion {
    const char *name;
    criterion_verdict verdict;
    char figure[320]; /* the measurement, or why there is none */
} criterion;

static const char *const names[CRITERION_VERDICTS] = { "UNKNOWN", "PASS", "FAIL", "AMBIGUOUS" };

static void __attribute__((format(printf, 3, 4)))
criterion_set(criterion *it, criterion_verdict verdict, const char *format, ...)
{
    va_list arguments;
    it->verdict = verdict;
    va_start(arguments, format);
    vsnprintf(it->figure, sizeof it->figure, format, arguments);
    va_end(arguments);
}

/* -------------------------------------------------------------------------- */
/* Beside SDPA                                                                */
/* -------------------------------------------------------------------------- */

/* A problem on which SDPA has a figure. */
typedef struct sdpa_shape {
    const lab_bench_row *row;
    const lab_bench_match *match; /* with its fastest backend */
    double tail;                  /* its p90 over heed's, from blocks */
} sdpa_shape;

static const lab_bench_match *find_sdpa(const lab_bench_row *row)
{
    const lab_bench_match *best = NULL;
    for (size_t i = 0; i < row->match_count; i++) {
        const lab_bench_match *match = &row->matches[i];
        if (strncmp(match->name, RIVAL, strlen(RIVAL)) == 0 && match->outcome == LAB_BENCH_OK &&
            !match->looked && (!best || match->seconds < best->seconds))
            best = match;
    }
    return best;
}

static double p90_of(const double *seconds, size_t count)
{
    const lab_summary summary = lab_stats_summary_of(seconds, count);
    return summary.n > 0 ? summary.p90 : (double)NAN;
}

/* Sorts by ratio, the best first. */
static int compare_shapes(const void *a, const void *b)
{
    const sdpa_shape *x = a, *y = b;
    double left = x->match->comparison.ratio.low, right = y->match->comparison.ratio.low;
    return left < right ? 1 : left > right ? -1 : 0;
}

static size_t find_shapes(const lab_bench *bench, sdpa_shape *shapes)
{
    size_t count = 0;
    for (size_t i = 0; i < bench->row_count; i++) {
        const lab_bench_row *row = &bench->rows[i];
        const lab_bench_match *match = row->outcome == LAB_BENCH_OK ? find_sdpa(row) : NULL;
        if (match)
            shapes[count++] = (sdpa_shape){ .row = row,
                                            .match = match,
                                            .tail = p90_of(match->other, match->pairs) /
                                                    p90_of(match->heed, match->pairs) };
    }
    qsort(shapes, count, sizeof *shapes, compare_shapes);
    return count;
}

/* The reason why SDPA has no figure. heed's outcome has been printed. */
static const char *why_absent(const lab_bench *bench)
{
    for (size_t i = 0; i < bench->rival_count; i++)
        if (strncmp(bench->rivals[i].name, RIVAL, strlen(RIVAL)) == 0 && !bench->rivals[i].open)
            return bench->rivals[i].reason;
    for (size_t i = 0; i < bench->row_count; i++)
        for (size_t j = 0; j < bench->rows[i].match_count; j++)
            if (bench->rows[i].matches[j].outcome != LAB_BENCH_OK)
                return bench->rows[i].matches[j].reason;
    return bench->row_count > 0 && *bench->rows[0].reason ? "heed has none to compare it with"
                                                          : "no rival of the name " RIVAL;
}

/* Judges whether heed leads by @gain on @wanted shapes, which are sorted; the figure is that of the
 * last one needed. */
static void judge_gain(criterion *it, const sdpa_shape *shapes, size_t count, size_t wanted,
                       double gain, const char *absent)
{
    size_t ahead = 0, possible = 0;
    char spec[HEED_SPEC_SIZE];
    if (count < wanted) {
        criterion_set(it, CRITERION_UNKNOWN,
                      "SDPA has figures on %zu problem%s, %zu are needed: %s", count,
                      lab_plural(count), wanted, count ? "see heed bench" : absent);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const lab_interval *ratio = &shapes[i].match->comparison.ratio;
        ahead += ratio->low >= gain;
        possible += ratio->high >= gain;
    }
    const sdpa_shape *last = &shapes[wanted - 1];
    const lab_interval *ratio = &last->match->comparison.ratio;
    heed_problem_print(&last->row->source->problem, spec, sizeof spec);
    criterion_set(it,
                  ahead >= wanted      ? CRITERION_PASS
                  : possible >= wanted ? CRITERION_AMBIGUOUS
                                       : CRITERION_FAIL,
                  "%zu of %zu problem%s; number %zu, '%s', %.3fx [%.3f, %.3f] (%s)", ahead, count,
                  lab_plural(count), wanted, spec, ratio->estimate, ratio->low, ratio->high,
                  last->match->name);
}

static void judge_tail(criterion *it, const sdpa_shape *shapes, size_t count, const char *absent)
{
    char spec[HEED_SPEC_SIZE];
    size_t worst = 0;
    if (count == 0) {
        criterion_set(it, CRITERION_UNKNOWN, "SDPA has no figure: %s", absent);
        return;
    }
    for (size_t i = 1; i < count; i++)
        if (!(shapes[i].tail >= shapes[worst].tail))
            worst = i;
    double tail = shapes[worst].tail;
    heed_problem_print(&shapes[worst].row->source->problem, spec, sizeof spec);
    criterion_set(it,
                  tail >= 1            ? CRITERION_PASS
                  : tail >= TAIL_SLACK ? CRITERION_AMBIGUOUS
                  : tail > 0           ? CRITERION_FAIL
                                       : CRITERION_UNKNOWN,
                  "SDPA's p90 of blocks is %.3fx heed's at least, on '%s', of %zu problem%s", tail,
                  spec, count, lab_plural(count));
}

static const char no_gpu[] = "a CPU has no such figure: use --device cuda";

/* -------------------------------------------------------------------------- */
/* Spills                                                                     */
/* -------------------------------------------------------------------------- */

/* Bytes of spills per thread of @entry in the compiler's log; negative: unknown. */
static int64_t spills_told(const lab_cubin *cubin, const char *entry)
{
    for (size_t i = 0; i < cubin->count; i++)
        if (strcmp(cubin->kernels[i].name, entry) == 0 && cubin->kernels[i].spill_stores >= 0 &&
            cubin->kernels[i].spill_loads >= 0)
            return cubin->kernels[i].spill_stores + cubin->kernels[i].spill_loads;
    return -1;
}

/* Bytes of spills per thread of the kernel that @facts launch; negative: unknown, with the reason
 * in @why, a static text or that of the last failure. @fresh: compiled now, not taken from the
 * cache. */
static int64_t spills_of(const heed_cuda_facts *facts, int arch, bool fresh, const char **why)
{
    int64_t spills = -1;
    heed_cubin built;
    lab_cubin cubin;
    lab_error error;
    heed_build build = heed_cuda_facts_build(facts, arch);
    build.fresh = fresh;
    if (heed_jit_build(&build, &built) != HEED_OK) {
        *why = heed_message();
        return -1;
    }
    *why = built.ptx ? "it is PTX, which the driver compiles" : "its machine code cannot be read";
    if (!built.ptx &&
        lab_cubin_read(&cubin, built.data, built.size, facts->name, &error) == HEED_OK) {
        lab_cubin_spills(&cubin, built.log);
        spills = spills_told(&cubin, facts->launch.entry);
        *why = "the compiler's log does not tell";
        lab_cubin_free(&cubin);
    }
    heed_cubin_free(&built);
    return spills;
}

static void judge_spills(criterion *it, const lab_bench *bench)
{
    int arch = heed_device_arch(bench->context);
    int64_t worst = 0;
    size_t known = 0;
    const char *name = "";
    if (!arch) {
        criterion_set(it, CRITERION_UNKNOWN, "%s", no_gpu);
        return;
    }
    for (size_t i = 0; i < bench->row_count; i++) {
        const lab_bench_row *row = &bench->rows[i];
        heed_cuda_facts facts;
        int64_t spills = -1;
        const char *why = heed_message();
        if (heed_cuda_facts_find(row->kernel, &row->source->problem, arch, &facts) == HEED_OK) {
            spills = spills_of(&facts, arch, false, &why);
            if (spills < 0) /* logs may lack ptxas's output if many were compiled at a time */
                spills = spills_of(&facts, arch, true, &why);
        }
        if (spills < 0) {
            criterion_set(it, CRITERION_UNKNOWN, "not known of '%s' for sm_%d: %s", row->kernel,
                          arch, why);
            return;
        }
        known++;
        if (spills > worst || i == 0) {
            worst = spills;
            name = row->kernel;
        }
    }
    criterion_set(it,
                  known == 0  ? CRITERION_UNKNOWN
                  : worst > 0 ? CRITERION_FAIL
                              : CRITERION_PASS,
                  "%lld byte%s a thread at most, %s, of %zu problem%s", (long long)worst,
                  lab_plural(worst), name, known, lab_plural(known));
}

/* -------------------------------------------------------------------------- */
/* Bank conflicts                                                             */
/* -------------------------------------------------------------------------- */

/* Permitted percentage of conflicts among the wavefronts of ordinary shared memory loads and
 * stores: as in heed profile. */
#define CONFLICTS_MAX 5.0

/* Time limit of ncu for a problem. */
#define NCU_SECONDS 120

/* Counts a call with ncu. Returns the conflicts in percent; NAN, with the reason in @why, if it
 * could not count. */
static double count_conflicts(const char *ncu, const lab_bench *bench, const lab_bench_row *row,
                              lab_ncu_trouble *why)
{
    static const lab_metric only[] = { LAB_METRIC_CONFLICTS, LAB_METRIC_WAVEFRONTS };
    char spec[HEED_SPEC_SIZE];
    lab_profile profile;
    const lab_ncu_question question = { .ncu = ncu,
                                        .device = bench->device,
                                        .kernel = row->kernel,
                                        .spec = spec,
                                        .arch = heed_device_arch(bench->context),
                                        .seconds = NCU_SECONDS,
                                        .only = only,
                                        .only_count = sizeof only / sizeof *only,
                                        .sink = &cli_sink };
    heed_problem_print(&row->source->problem, spec, sizeof spec);
    snprintf(why->reason, sizeof why->reason, "ncu's output is not in a known format");
    if (!lab_ncu_count(&question, &profile, why))
        return (double)NAN;
    return lab_profile_conflicts(&profile);
}

static void judge_conflicts(criterion *it, const lab_bench *bench)
{
    char ncu[300];
    lab_ncu_trouble why;
    double worst = 0;
    const char *name = "";
    if (!heed_device_arch(bench->context)) {
        criterion_set(it, CRITERION_UNKNOWN, "%s", no_gpu);
        return;
    }
    if (!lab_ncu_find(NULL, ncu, sizeof ncu, &why)) {
        criterion_set(it, CRITERION_UNKNOWN, "%s", why.reason);
        return;
    }
    lab_progress progress = lab_progress_start(&cli_sink, "bank conflicts", bench->row_count);
    for (size_t i = 0; i < bench->row_count; i++) {
        lab_progress_step(&progress, i, bench->rows[i].kernel);
        double conflicts = count_conflicts(ncu, bench, &bench->rows[i], &why);
        if (isnan(conflicts)) {
            lab_progress_end(&progress);
            criterion_set(it, CRITERION_UNKNOWN, "%s", why.reason);
            return;
        }
        if (conflicts >= worst) {
            worst = conflicts;
            name = bench->rows[i].kernel;
        }
    }
    lab_progress_end(&progress);
    criterion_set(it,
                  bench->row_count == 0    ? CRITERION_UNKNOWN
                  : worst <= CONFLICTS_MAX ? CRITERION_PASS
                                           : CRITERION_FAIL,
                  "%.2f %% of the wavefronts of shared memory at most, %s; %.3g %% is the limit",
                  worst, name, CONFLICTS_MAX);
}

static cli_exit judge_all(const lab_bench *bench, criterion criteria[CRITERIA])
{
    sdpa_shape *shapes = calloc(bench->row_count + 1, sizeof *shapes);
    if (!shapes) {
        cli_error("not enough memory for %zu problems", bench->row_count);
        return CLI_ENVIRONMENT;
    }
    size_t count = find_shapes(bench, shapes);
    const char *absent = why_absent(bench);
    judge_gain(&criteria[0], shapes, count, 2, GAIN_TWO, absent);
    judge_gain(&criteria[1], shapes, count, 3, GAIN_THIRD, absent);
    judge_tail(&criteria[2], shapes, count, absent);
    free(shapes);
    judge_spills(&criteria[3], bench);
    judge_conflicts(&criteria[4], bench);
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* The answer                                                                 */
/* -------------------------------------------------------------------------- */

/* UNKNOWN is neither a pass nor a failure. */
static cli_exit verdict_of(const criterion criteria[CRITERIA])
{
    bool all = true;
    for (int i = 0; i < CRITERIA; i++) {
        if (criteria[i].verdict == CRITERION_FAIL)
            return CLI_FINDING;
        all &= criteria[i].verdict == CRITERION_PASS;
    }
    return all ? CLI_OK : CLI_ENVIRONMENT;
}

static cli_exit print(const lab_bench *bench, bool json, const criterion criteria[CRITERIA])
{
    static const lab_style styles[CRITERION_VERDICTS] = { LAB_WARN, LAB_GOOD, LAB_BAD, LAB_WARN };
    lab_listing rows = cli_rows_begin(json);
    for (int i = 0; i < CRITERIA; i++) {
        const criterion *it = &criteria[i];
        lab_cell_text(&rows, "criterion", "criterion", it->name);
        lab_cell_styled(&rows, "verdict", "verdict", styles[it->verdict], names[it->verdict]);
        lab_cell_text(&rows, "figure", "figure", it->figure);
        lab_row_end(&rows);
    }
    if (!json) {
        cli_exit code = cli_table_print(rows);
        printf("\non %s\n", heed_context_device(bench->context));
        return code;
    }
    return cli_json_print(json_pack("{s:s, s:i, s:I, s:o}", "device",
                                    heed_context_device(bench->context), "exit",
                                    verdict_of(criteria), "problems", (json_int_t)bench->row_count,
                                    "criteria", lab_listing_take(rows)),
                          "gate-criteria");
}

/* -------------------------------------------------------------------------- */
/* The run                                                                    */
/* -------------------------------------------------------------------------- */

/* A kernel that computes a wrong result meets no criterion. */
static cli_exit check(const lab_bench *bench)
{
    for (size_t i = 0; i < bench->row_count; i++)
        if (bench->rows[i].outcome == LAB_BENCH_WRONG) {
            char spec[HEED_SPEC_SIZE];
            heed_problem_print(&bench->rows[i].source->problem, spec, sizeof spec);
            cli_error("%s: %s", spec, bench->rows[i].reason);
            return CLI_FINDING;
        }
    return CLI_OK;
}

cli_exit gate_criteria(lab_bench *bench, const cli_args *args)
{
    criterion criteria[CRITERIA] = {
        { .name = "10 % faster than SDPA on two problems (p50)" },
        { .name = "5 % faster on a third (p50)" },
        { .name = "p90 not worse than SDPA's" },
        { .name = "no spills of registers" },
        { .name = "almost no bank conflicts" },
    };
    bench_sources sources = { .count = 0 };
    bool named = cli_args_operand_count(args) > 0 || cli_args_text(args, "shapes");
    bench->look = fmin(fmax(LOOK_SHARE * bench->seconds, LOOK_SECONDS), bench->seconds / 2);
    cli_exit code = named ? bench_sources_read(&sources, args) : bench_sources_canonical(&sources);
    bench_sources_unique(&sources);
    if (code == CLI_OK)
        code = bench_open_peers(bench);
    if (code == CLI_OK)
        code = bench_measure(bench, &sources, "criteria");
    cli_exit wrong = code == CLI_OK ? check(bench) : CLI_OK;
    if (code == CLI_OK)
        code = judge_all(bench, criteria);
    if (code == CLI_INTERRUPTED)
        cli_message("interrupted: nothing has been judged");
    if (code == CLI_OK)
        code = print(bench, cli_args_json(args), criteria);
    bench_close(bench);
    bench_sources_free(&sources);
    if (code != CLI_OK)
        return code;
    return wrong != CLI_OK ? wrong : verdict_of(criteria);
}
