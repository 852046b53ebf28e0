/*
 * test_checked_words.c - kernel sources contain no word that KernelBench's check refuses
 *
 * The suite searches the text of a solution for words of Python, and applies this to CUDA code too:
 * a variable named pass is enough for a refusal. The library's sources become part of a solution,
 * without comments; their words are always included, whichever types and masks they are compiled
 * for.
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <regex.h>

#include "expect.h"
#include "lab/suite/text.h"
#include "src/cuda/sources.h"

/* The patterns of src/kernelbench/kernel_static_checker.py at commit 423217d, including those that
 * only warn, as extended regular expressions. Patterns for the backend of a solution are left out,
 * since it must match them. */
static const char *const patterns[] = {
    /* check_code_bypass */
    "\\btry\\s*:",
    "\\bexcept\\s*:",
    "\\bexcept\\s+\\w+",
    "\\bpass\\b",
    /* check_timing_event_patch */
    "torch\\.cuda\\.Event\\.record\\s*=",
    "torch\\.cuda\\.Event\\.elapsed_time\\s*=",
    "torch\\.cuda\\.synchronize\\s*=",
    "torch\\.cuda\\.Event\\s*=",
    "time\\.perf_counter\\s*=",
    "time\\.time\\s*=",
    /* check_thread_injection */
    "threading\\.Thread\\s*\\(",
    "import\\s+threading",
    "from\\s+threading\\s+import",
    "multiprocessing\\.(Process|Pool|Manager|Queue|Pipe)",
    "import\\s+multiprocessing",
    "concurrent\\.futures",
    "ThreadPoolExecutor",
    "ProcessPoolExecutor",
    /* check_lazy_eval */
    "_make_subclass",
    "class\\s+\\w+.*\\(torch\\.Tensor\\)",
    "class\\s+\\w+.*\\(Tensor\\)",
    "torch\\.Tensor\\.__new__",
    /* check_pytorch_wrap and check_torch_computation_ops, without their lists of names */
    "torch\\.[a-z]",
    "\\bnn\\.functional\\.",
    "\\bF\\.[a-z]",
    /* check_stream_injection */
    "cuda\\.Stream\\s*\\(",
    "with\\s+torch\\.cuda\\.stream",
    "\\.wait_stream\\s*\\(",
    "\\.record_stream\\s*\\(",
    /* check_precision_downgrade */
    "__float2half(_rn)?\\s*\\(",
    "\\(\\s*__half\\s*\\)\\s*[[:alnum:]_>.-]+",
    "static_cast\\s*<\\s*(__half|half)\\s*>\\s*\\(",
    "tl\\.astype\\s*\\(",
    "NumericConverter\\s*<\\s*half_t",
    "LinearCombination\\s*<\\s*half_t",
    "type_convert\\s*<\\s*half_t",
    "tk::half\\s*\\(",
    "\\.half\\s*\\(",
    "\\.float16\\s*\\(",
    "\\.to\\s*\\(\\s*(dtype\\s*=\\s*)?torch\\.(float16|half)\\b",
};

#define PATTERNS (sizeof patterns / sizeof *patterns)

static regex_t compiled[PATTERNS];

static int compile_patterns(void **state)
{
    (void)state;
    for (size_t i = 0; i < PATTERNS; i++)
        if (regcomp(&compiled[i], patterns[i], REG_EXTENDED | REG_NEWLINE) != 0)
            fail_msg("\"%s\" is no pattern", patterns[i]);
    return 0;
}

static int free_patterns(void **state)
{
    (void)state;
    for (size_t i = 0; i < PATTERNS; i++)
        regfree(&compiled[i]);
    return 0;
}

/* Returns the first pattern that matches @text, or NULL. */
static const char *found_in(const char *text, regmatch_t *at)
{
    for (size_t i = 0; i < PATTERNS; i++)
        if (regexec(&compiled[i], text, 1, at, 0) == 0)
            return patterns[i];
    return NULL;
}

static void check(const char *name, const char *text)
{
    regmatch_t at;
    const char *pattern = found_in(text, &at);
    if (!pattern)
        return;
    const char *line = text + at.rm_so;
    while (line > text && line[-1] != '\n')
        line--;
    fail_msg("%s: \"%s\" is in \"%.*s\"", name, pattern, (int)strcspn(line, "\n"), line);
}

/* Every kernel source with its headers and its launch code. */
static void test_sources(void **state)
{
    (void)state;
    heed_source source;
    size_t kernels = 0;
    for (size_t i = 0; heed_source_at(i, &source); i++) {
        if (heed_source_is_header(&source))
            continue;
        char *text = NULL;
        size_t size = 0;
        lab_error error = { "" };
        FILE *out = open_memstream(&text, &size);
        assert_non_null(out);
        assert_int_equal(lab_flatten(out, source.name, &error), HEED_OK);
        assert_int_equal(fclose(out), 0);
        check(source.name, text);
        free(text);
        kernels++;
    }
    assert_true(kernels > 5);
    check("launch.cu", lab_text_launch);
    check("maps.cu", lab_text_maps);
    check("forward.cu", lab_text_forward);
}

/* The patterns match what they are meant for, and no parts of words. */
static void test_patterns(void **state)
{
    (void)state;
    const char *const *refused = WORDS(
        "for (u32 pass = 0;", "x = (__half)y;", "try :", "except Error", "__float2half_rn (x)",
        "class A(torch.Tensor)", "torch.matmul(q, k)", "q.to(dtype=torch.half)", "a.wait_stream(b)",
        "import threading", "torch.cuda.Event.record =");
    static const char *const taken[] = { "bypass",        "passes",
                                         "retry:",        "__float22half2_rn(x)",
                                         "torch::Tensor", "1.0F.x" };
    regmatch_t at;
    for (size_t i = 0; refused[i]; i++)
        if (!found_in(refused[i], &at))
            fail_msg("\"%s\" is taken", refused[i]);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (found_in(taken[i], &at))
            fail_msg("\"%s\" is refused", taken[i]);
}

RUN_TESTS_WITHIN(compile_patterns, free_patterns, test_patterns, test_sources)
