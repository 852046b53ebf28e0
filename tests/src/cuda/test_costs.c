/*
 * test_costs.c - predictions and choices of the tensor-core kernels' cost models, compared with
 * times measured on an H200 (data/times-h200.txt, -changed for changed logits, -pools for sequences
 * of different lengths, and -splits where few rows share keys)
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cuda/gpu.h"
#include "internal.h"
#include "plan.h"

#define LISTED_MAX 40

/* A problem of the file, and the times of its configs. */
typedef struct recorded {
    char spec[160];
    heed_problem problem;
    int count;
    struct {
        char name[HEED_NAME_SIZE]; /* in the planner's form */
        double seconds;
    } listed[LISTED_MAX];
} recorded;

/* Sums over problems, or over times. */
typedef struct tally {
    double sum, most;
    int count;
} tally;

static heed_machine h200(heed_gpu *gpu)
{
    assert_true(heed_gpu_find(gpu, "H200"));
    return (heed_machine){ .backend = HEED_BACKEND_CUDA, .gpu = gpu };
}

static void add(tally *to, double value)
{
    to->sum += value;
    to->most = fmax(to->most, value);
    to->count++;
}

static double mean(const tally *of)
{
    return of->count ? of->sum / of->count : 0;
}

/* Completes "wgmma__..." or "mma__..." to the full name. */
static void complete(const char *brief, char name[HEED_NAME_SIZE])
{
    const char *arch = strncmp(brief, "wgmma", 5) == 0 ? "sm90" : "sm80";
    snprintf(name, HEED_NAME_SIZE, "fwd_16bit_%s_%s", arch, brief);
}

/* Reads the next problem with its times; returns false at the end. The first line of the following
 * problem stays in @ahead. */
static bool read_recorded(FILE *file, char ahead[200], recorded *it)
{
    char brief[80];
    double microseconds;
    while (ahead[0] == '#' && fgets(ahead, 200, file))
        continue;
    if (!ahead[0])
        return false;
    ahead[strcspn(ahead, "\n")] = '\0';
    snprintf(it->spec, sizeof it->spec, "%s", ahead);
    assert_int_equal(heed_problem_parse(&it->problem, it->spec), HEED_OK);
    it->count = 0;
    ahead[0] = '\0';
    while (fgets(ahead, 200, file) && sscanf(ahead, "  %79s %lf", brief, &microseconds) == 2 &&
           ahead[0] == ' ') {
        assert_true(it->count < LISTED_MAX);
        complete(brief, it->listed[it->count].name);
        it->listed[it->count++].seconds = microseconds * 1e-6;
        ahead[0] = '\0';
    }
    return true;
}

/* Adds the squared logarithms of predicted time over measured time. */
static void judge_predictions(const recorded *it, const heed_machine *machine, tally squares[2])
{
    for (int i = 0; i < it->count; i++) {
        const char *text;
        heed_config config = { { 0 } };
        const heed_kernel *kernel = heed_kernel_find(it->listed[i].name, &text);
        assert_non_null(kernel);
        assert_true(heed_config_parse(kernel->algorithm, text, &config));
        double predicted = heed_plan_cost(kernel, &it->problem, machine, &config);
        double off = log(predicted / it->listed[i].seconds);
        add(&squares[kernel->arch == 90], off * off);
    }
}

/* Finds the planner's choice among both kernels and writes its name to @name. */
static void choose(const recorded *it, const heed_machine *machine, char name[HEED_NAME_SIZE])
{
    static const char *const kernels[] = { "fwd_16bit_sm80_mma", "fwd_16bit_sm90_wgmma" };
    double least = INFINITY;
    for (int i = 0; i < 2; i++) {
        const char *text, *why;
        double seconds;
        const heed_kernel *kernel = heed_kernel_find(kernels[i], &text);
        if (heed_plan_reject(kernel, &it->problem, machine))
            continue;
        heed_config best = heed_plan_best_config(kernel, &it->problem, machine, &seconds, &why);
        if (seconds >= least)
            continue;
        least = seconds;
        heed_config_print(kernel, &best, name, HEED_NAME_SIZE);
    }
}

/* Adds the logarithm of the choice's time over the fastest time, if the choice was timed. */
static void judge_choice(const recorded *it, const heed_machine *machine, tally *longer)
{
    char name[HEED_NAME_SIZE] = "";
    double fastest = INFINITY, chosen = 0;
    choose(it, machine, name);
    for (int i = 0; i < it->count; i++) {
        fastest = fmin(fastest, it->listed[i].seconds);
        if (strcmp(it->listed[i].name, name) == 0)
            chosen = it->listed[i].seconds;
    }
    if (chosen > 0)
        add(longer, log(chosen / fastest));
    if (chosen == 0)
        printf("%s: %s was not timed\n", it->spec, name);
    if (chosen > 1.1 * fastest)
        printf("%s: %s takes %.4g us, the fastest takes %.4g\n", it->spec, name, chosen * 1e6,
               fastest * 1e6);
}

/* The results of a file: number of problems, errors of the predictions for attn_mma and attn_wgmma,
 * and slowdown of the choices compared with the fastest configs. */
typedef struct found {
    int problems;
    double off[2];
    tally longer;
} found;

/* The models do not have the number of keys that an expression or starts hide: only the choice is
 * checked then. */
static found judge(const char *path)
{
    static recorded it;
    heed_gpu gpu;
    heed_machine machine = h200(&gpu);
    tally squares[2] = { { 0 } };
    found all = { 0 };
    char ahead[200] = "#";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (; read_recorded(file, ahead, &it); all.problems++) {
        if (!it.problem.visible[0] && it.problem.starts.type == HEED_DATA_NONE)
            judge_predictions(&it, &machine, squares);
        judge_choice(&it, &machine, &all.longer);
    }
    fclose(file);
    for (int i = 0; i < 2; i++)
        all.off[i] = sqrt(mean(&squares[i]));
    printf("%d problems: attn_mma is off by %.3f, attn_wgmma by %.3f; %d choices take %.4f longer "
           "than the fastest, %.3f at most\n",
           all.problems, all.off[0], all.off[1], all.longer.count, mean(&all.longer),
           all.longer.most);
    return all;
}

static void test_choices_on_an_h200(void **state)
{
    const found all = judge(TIMES ".txt");
    assert_true(all.problems > 250);
    assert_true(all.longer.count > 0.9 * all.problems);
    assert_true(all.off[0] < 0.16);
    assert_true(all.off[1] < 0.12);
    assert_true(mean(&all.longer) < 0.008);
    assert_true(all.longer.most < 0.16);
}

/* @path has @count problems or more. The choice was timed on more than @share of them, and takes
 * less than @longer more than the fastest config on average, and less than 8 % more at most. */
static void expect_close_choices(const char *path, int count, double share, double longer)
{
    const found all = judge(path);
    assert_true(all.problems >= count);
    assert_true(all.longer.count > share * all.problems);
    assert_true(all.off[1] < 0.2);
    assert_true(mean(&all.longer) < longer);
    assert_true(all.longer.most < log(1.08));
}

static void test_choices_for_changed_logits(void **state)
{
    expect_close_choices(TIMES "-changed.txt", 30, 0.8, 0.015);
}

static void test_choices_of_splits(void **state)
{
    expect_close_choices(TIMES "-splits.txt", 20, 0.8, 0.015);
}

static void test_choices_for_pools(void **state)
{
    const found all = judge(TIMES "-pools.txt");
    assert_true(all.problems >= 6);
    assert_true(all.longer.count >= 6);
    assert_true(all.longer.most < 0.05);
}

/* Fails if attn_mma runs the problem @spec on a device, but no config of it is considered there:
 * then the simple kernel would run it, a hundred times as slowly. */
static void expect_config(const heed_gpu *gpu, const char *spec)
{
    const heed_machine machine = { .backend = HEED_BACKEND_CUDA, .gpu = gpu, .threads = 1 };
    heed_problem problem;
    double seconds;
    const char *text, *why;
    const heed_kernel *kernel = heed_kernel_find("fwd_16bit_sm80_mma", &text);
    if (heed_problem_parse(&problem, spec) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    if (heed_plan_reject(kernel, &problem, &machine))
        return;
    heed_plan_best_config(kernel, &problem, &machine, &seconds, &why);
    if (isinf(seconds))
        fail_msg("%s, %s: %s", gpu->name, spec, why);
}

/* For a pool of pages, one block for each sequence would take as long as the longest. */
static void test_pools_on_all_devices(void **state)
{
    static const char *const rest[] = { "d64 f16", "d128 bf16", "d192 bf16", "d256 f16",
                                        "d512 bf16" };
    heed_gpu gpu;
    (void)state;
    for (size_t n = 0; heed_gpu_at(&gpu, n, NULL); n++)
        for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
            char spec[128];
            snprintf(spec, sizeof spec, "b16 h16/%d s1/8192 %s lengths paged=16/3000",
                     i % 2 ? 2 : 16, rest[i]);
            expect_config(&gpu, spec);
        }
}

/* Steps need registers, which wide heads leave few of. */
static void test_words_on_all_devices(void **state)
{
    static const char *const dims[] = { "d64", "d128", "d192", "d192/128", "d256", "d512" };
    static const char *const words[] = {
        "softcap=30",
        "alibi",
        "bias=f32:bhq",
        "shown=bytes:hq",
        "sinks",
        "array=t:f32:2048 score=s*0.5+tanh(s)*t[k]-float(abs(q-k))*0.01 visible=t[k]<float(q)",
    };
    const unsigned sets = 1U << sizeof words / sizeof *words;
    heed_gpu gpu;
    (void)state;
    for (size_t n = 0; heed_gpu_at(&gpu, n, NULL); n++)
        for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
            for (unsigned set = 1; set < sets; set++) {
                char spec[512];
                snprintf(spec, sizeof spec, "b4 h8 s2048 %s bf16 %s", dims[i],
                         set % 3 == 0 ? "window=100:0" : "causal");
                for (size_t w = 0; w < sizeof words / sizeof *words; w++)
                    if (set >> w & 1)
                        snprintf(spec + strlen(spec), sizeof spec - strlen(spec), " %s", words[w]);
                expect_config(&gpu, spec);
            }
}

RUN_TESTS(test_pools_on_all_devices, test_words_on_all_devices, test_choices_on_an_h200,
          test_choices_for_pools, test_choices_for_changed_logits, test_choices_of_splits)
