/*
 * test_inspect_findings.c - each rule finds its fault in a kernel that has it, and nothing else
 *
 * It reads recorded disassembly and needs no tools.
 */
#include "run_tests.h"

#include <stdio.h>
#include <string.h>

#include "cuda/gpu.h"
#include "inspect_cases.h"
#include "scratch.h"

#define DATA HEED_SOURCE_DIR "/tests/data/inspect/sass/"

/* Reads the recording of a case: FILE_MACRO_VALUE_smARCH.sass. */
static void read_recording(const inspect_case *it, char *text, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, DATA "%s%s%s_sm%d.sass", it->file, it->macro ? "_" : "",
             it->macro ? it->macro : "", it->arch);
    for (char *sign = strrchr(path, '/'); (sign = strchr(sign, '='));)
        *sign = '_';
    size_t length = scratch_read(path, (unsigned char *)text, size - 1);
    assert_true(length < size - 1);
    text[length] = '\0';
}

/* Its first line has the facts of the cubin and of the assembler's log. */
static lab_code_facts facts_of(const inspect_case *it, const char *text, lab_sass *sass)
{
    heed_gpu gpu;
    lab_error error = { "" };
    long long code, smem;
    lab_code_facts facts = { .arch = it->arch,
                             .threads = it->threads,
                             .blocks = it->grid,
                             .opts_in = it->opts_in,
                             .declares_shared = strcmp(it->file, "shared_away") == 0,
                             .sass = sass };
    long long stack, stores, loads;
    assert_int_equal(sscanf(text,
                            "// registers %d stack %lld static %lld spills %lld %lld code %lld",
                            &facts.registers, &stack, &smem, &stores, &loads, &code),
                     6);
    facts.smem = smem + it->smem;
    facts.stack = stack;
    facts.spill_stores = stores;
    facts.spill_loads = loads;
    if (lab_sass_read(sass, text, it->file, NULL, &error) != HEED_OK)
        fail_msg("%s", error.text);
    assert_int_equal(sass->all.total * 16, code);
    assert_true(heed_gpu_arch(&gpu, it->arch));
    facts.resident = heed_gpu_resident(&gpu, facts.threads, facts.registers, facts.smem,
                                       &facts.limit);
    facts.warps = facts.resident * ((facts.threads + 31) / 32);
    facts.warps_max = gpu.threads / 32;
    facts.smem_limit = gpu.smem_block;
    facts.multiprocessors = gpu.multiprocessors;
    return facts;
}

static void test_each_finds_its_own(void **state)
{
    static char text[65536];
    for (const inspect_case *it = inspect_cases; it->file; it++) {
        lab_sass sass;
        lab_code_finding found[LAB_CODE_FINDINGS_MAX];
        read_recording(it, text, sizeof text);
        const lab_code_facts facts = facts_of(it, text, &sass);
        size_t count = lab_code_judge(&facts, found);
        for (size_t i = 0; i < count; i++)
            if (!it->finding || strcmp(found[i].name, it->finding) != 0)
                fail_msg("%s on sm_%d: %s: %s", it->file, it->arch, found[i].name, found[i].fact);
        if (count != (it->finding ? 1 : 0))
            fail_msg("%s on sm_%d: %s was not found", it->file, it->arch, it->finding);
        if (it->finding)
            assert_int_equal(found[0].severity, it->severity);
        lab_sass_free(&sass);
    }
}

static void test_every_rule_has_a_case(void **state)
{
    const char *name, *advice;
    lab_severity severity;
    size_t count = 0;
    for (; (name = lab_code_rule(count, &severity, &advice)); count++) {
        const inspect_case *it = inspect_cases;
        while (it->file && (!it->finding || strcmp(it->finding, name) != 0))
            it++;
        if (!it->file)
            fail_msg("no kernel shows %s", name);
        assert_int_equal(it->severity, severity);
        assert_true(*advice);
    }
    assert_int_equal(count, 21);
}

/* The page about findings documents every name. */
static void test_every_rule_is_documented(void **state)
{
    static char page[65536];
    char quoted[64];
    const char *name, *advice;
    lab_severity severity;
    size_t length = scratch_read(HEED_SOURCE_DIR "/docs/inspecting.md", page, sizeof page - 1);
    page[length] = '\0';
    for (size_t i = 0; (name = lab_code_rule(i, &severity, &advice)); i++) {
        snprintf(quoted, sizeof quoted, "`%s`", name);
        if (!strstr(page, quoted))
            fail_msg("docs/inspecting.md does not document %s", name);
    }
}

/* An unknown fact gives no finding. */
static void test_nothing_is_assumed(void **state)
{
    lab_code_finding found[LAB_CODE_FINDINGS_MAX];
    const lab_code_facts nothing = {
        .arch = 90, .registers = 255, .spill_stores = -1, .spill_loads = -1, .resident = -1
    };
    assert_int_equal(lab_code_judge(&nothing, found), 0);
    lab_code_facts facts = nothing;
    facts.smem = 49152;
    facts.declares_shared = facts.wants_tensor = true;
    assert_int_equal(lab_code_judge(&facts, found), 0);
    facts.smem = 49153; /* known without an architecture's limit */
    assert_int_equal(lab_code_judge(&facts, found), 1);
    assert_string_equal(found[0].name, "smem-over-48k");
    facts.stack = 8; /* arrays, or spills */
    assert_int_equal(lab_code_judge(&facts, found), 2);
    assert_non_null(strstr(found[1].fact, "or registers that did not fit"));
}

/* Few warps are enough for asynchronous products, which unknown code may have. */
static void test_few_warps_of_unknown_code(void **state)
{
    lab_code_finding found[LAB_CODE_FINDINGS_MAX];
    lab_code_facts facts = { .arch = 89,
                             .threads = 128,
                             .spill_stores = -1,
                             .spill_loads = -1,
                             .resident = 1,
                             .warps = 4,
                             .warps_max = 64,
                             .limit = "registers" };
    assert_int_equal(lab_code_judge(&facts, found), 1);
    assert_string_equal(found[0].name, "low-occupancy");
    facts.arch = 90;
    assert_int_equal(lab_code_judge(&facts, found), 0);
    facts.limit = "shared memory";
    assert_int_equal(lab_code_judge(&facts, found), 0);
    facts.arch = 80;
    assert_int_equal(lab_code_judge(&facts, found), 1);
    assert_string_equal(found[0].name, "smem-limits-occupancy");
}

/* Sums in float32 that are stored as 16-bit values are not products of them. */
static void test_stores_of_halves_want_no_tensor_cores(void **state)
{
    lab_code_finding found[LAB_CODE_FINDINGS_MAX];
    lab_sass sass = { .main_count = 1, .reads_block = true };
    const lab_code_facts facts = {
        .arch = 80, .spill_stores = -1, .spill_loads = -1, .resident = -1, .sass = &sass
    };
    sass.main.of[LAB_SASS_FMA] = 67;
    sass.main.of[LAB_SASS_CONVERT] = 64;
    assert_int_equal(lab_code_judge(&facts, found), 0);
    sass.main.of[LAB_SASS_WIDEN] = 64;
    assert_int_equal(lab_code_judge(&facts, found), 1);
    assert_string_equal(found[0].name, "tensor-cores-unused");
}

/* A launch with more threads than the code's launch bounds fails. */
static void test_more_threads_than_bounds(void **state)
{
    lab_code_finding found[LAB_CODE_FINDINGS_MAX];
    lab_code_facts facts = { .arch = 90,
                             .threads = 512,
                             .threads_max = 512,
                             .spill_stores = -1,
                             .spill_loads = -1,
                             .resident = 4,
                             .warps = 64,
                             .warps_max = 64 };
    assert_int_equal(lab_code_judge(&facts, found), 0);
    facts.threads_max = 256;
    assert_int_equal(lab_code_judge(&facts, found), 1);
    assert_string_equal(found[0].name, "block-too-big");
    assert_non_null(strstr(found[0].fact, "compiled for 256 at most"));
    facts.threads_max = 0; /* unknown */
    assert_int_equal(lab_code_judge(&facts, found), 0);
}

static void test_the_gravest_comes_first(void **state)
{
    lab_code_finding found[LAB_CODE_FINDINGS_MAX];
    const lab_code_facts facts = { .arch = 89,
                                   .registers = 255,
                                   .threads = 2048,
                                   .smem = 50000,
                                   .spill_stores = 8,
                                   .spill_loads = 4,
                                   .stack = 8,
                                   .blocks = 3,
                                   .multiprocessors = 58,
                                   .resident = -1 };
    assert_int_equal(lab_code_judge(&facts, found), 4);
    assert_string_equal(found[0].name, "block-too-big");
    assert_string_equal(found[1].name, "spills");
    assert_non_null(strstr(found[1].fact, "8 bytes a thread spilled"));
    assert_true(found[1].figure == 12);
    assert_string_equal(found[2].name, "smem-over-48k");
    assert_true(found[2].limit == 49152);
    assert_string_equal(found[3].name, "grid-too-small");
    assert_string_equal(lab_severity_name(found[3].severity), "warning");
}

RUN_TESTS(test_each_finds_its_own, test_every_rule_has_a_case, test_every_rule_is_documented,
          test_nothing_is_assumed, test_few_warps_of_unknown_code,
          test_stores_of_halves_want_no_tensor_cores, test_more_threads_than_bounds,
          test_the_gravest_comes_first)
