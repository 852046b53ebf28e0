/*
 * test_profile.c - the metrics requested from ncu, its output, and the gates
 *
 * The recordings in data/ncu are from an H200, trimmed to the columns that heed reads and a few
 * that it does not.
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/inspect/profile.h"

#define TEXT_SIZE 65536

static const char *recording(const char *name, char text[TEXT_SIZE])
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/data/ncu/%s.txt", HEED_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, TEXT_SIZE - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void read_recording(const char *name, lab_profile *profile)
{
    static char text[TEXT_SIZE];
    lab_error error;
    size_t launches = 0;
    if (lab_profile_read(profile, recording(name, text), &launches, &error) != HEED_OK)
        fail_msg("%s: %s", name, error.text);
    assert_int_equal(launches, 1);
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%g is not %g", value, expected);
}

/* -------------------------------------------------------------------------- */
/* The tables                                                                 */
/* -------------------------------------------------------------------------- */

static void test_tables(void **state)
{
    for (int i = 0; i < LAB_METRICS; i++) {
        const lab_metric_row *row = lab_metric_of((lab_metric)i);
        int names = 1;
        assert_int_equal(row->id, i);
        for (const char *p = row->names; *p; p++)
            names += *p == '|';
        assert_in_range(names, 1, LAB_METRIC_NAMES_MAX);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(row->key, lab_metric_of((lab_metric)k)->key);
    }
}

/* -------------------------------------------------------------------------- */
/* Recordings                                                                 */
/* -------------------------------------------------------------------------- */

static void test_values(void **state)
{
    lab_profile p;
    int blocks;
    read_recording("h200-wgmma-b2", &p);
    assert_string_equal(p.kernel, "heed_attend");
    assert_int_equal(p.arch, 90);
    near(p.value[LAB_METRIC_DURATION], 9440e-9);
    near(p.value[LAB_METRIC_BLOCKS], 128);
    near(p.value[LAB_METRIC_THREADS], 384);
    near(p.value[LAB_METRIC_SMEM_DYNAMIC], 74240);
    near(p.value[LAB_METRIC_OCCUPANCY], 14.79);
    near(p.value[LAB_METRIC_THEORETICAL], 37.5);
    near(p.value[LAB_METRIC_TENSOR], 16.27);
    near(p.value[LAB_METRIC_DRAM_READ], 3173888);
    near(lab_profile_conflicts(&p), 100 * 8509. / 323947);
    near(lab_profile_sectors(&p), 100);
    assert_string_equal(lab_profile_limiter(&p, &blocks), "registers");
    assert_int_equal(blocks, 2);
    /* the first name of SM busy is not in the recording, but the second is */
    near(p.value[LAB_METRIC_BUSY], 19.56);
    assert_non_null(strstr(p.name[LAB_METRIC_BUSY], "elapsed"));
    assert_int_equal(lab_profile_asynchronous(&p), 1);
    read_recording("h200-naive-b2", &p);
    near(p.value[LAB_METRIC_LOAD], 3.71);
    near(lab_profile_sectors(&p), 100 * 5253120. / 36710400);
    assert_int_equal(lab_profile_asynchronous(&p), 0);
}

static void test_stalls(void **state)
{
    lab_profile p;
    size_t order[LAB_STALLS];
    read_recording("h200-naive-b2", &p);
    size_t count = lab_profile_stalls(&p, order);
    assert_true(count > 5);
    assert_string_equal(lab_stall_of(order[0])->name, "lg_throttle");
    assert_string_equal(lab_stall_of(order[1])->name, "long_scoreboard");
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += lab_profile_stall_share(&p, order[i]);
        assert_true(i == 0 || p.stall[order[i]] <= p.stall[order[i - 1]]);
    }
    assert_true(sum > 0.9 && sum < 1);
    assert_true(lab_profile_stall_share(&p, order[0]) > 0.3);
}

/* -------------------------------------------------------------------------- */
/* Tables that ncu might print                                                */
/* -------------------------------------------------------------------------- */

#define HEAD "\"ID\",\"Kernel Name\",\"CC\",\"launch__grid_size\",\"dram__bytes_read.sum\"\n"

static const struct {
    const char *text;
    heed_status status;
    const char *said;
    size_t launches;
    double blocks, bytes; /* of the first */
} tables[] = {
    { HEAD "\"\",\"\",\"\",\"\",\"Kbyte\"\n"
           "\"0\",\"void f<int, 3>(char const*, \"\"x\"\")\",\"8.6\",\"1,234\",\"2.5\"\n"
           "==PROF== more\n\"1\",\"g\",\"8.6\",\"7\",\"1\"\n",
      HEED_OK, "", 2, 1234, 2500 },
    { "before\r\n" HEAD
      "\"\",\"\",\"\",\"\",\"byte\"\r\n\"0\",\"f\",\"9.0\",\"n/a\",\"no data\"\r\n",
      HEED_OK, "", 1, NAN, NAN },
    { HEAD "\"\",\"\",\"\",\"\",\"parsec\"\n\"0\",\"f\",\"9.0\",\"1\",\"1\"\n", HEED_OK, "", 1, 1,
      NAN },
    { HEAD "\"\",\"\",\"\",\"\",\"byte\"\n0,f,9.0,1,1\n", HEED_ERR_CORRUPT, "no launch", 0, 0, 0 },
    { HEAD "\"\",\"\",\"\",\"\",\"byte\"\n", HEED_ERR_CORRUPT, "no launch", 0, 0, 0 },
    { HEAD, HEED_ERR_CORRUPT, "no launch", 0, 0, 0 },
    { HEAD "\"\",\"\",\"\",\"\",\"byte\"\n\"0\",\"f\",\"9.0\"\n", HEED_ERR_CORRUPT,
      "has 3 cells, its header 5", 0, 0, 0 },
    { HEAD "\"\",\"\",\"\",\"\",\"byte\"\n\"0\",\"f\",\"9.0\",\"1\",\"1\n", HEED_ERR_CORRUPT,
      "quote is not closed", 0, 0, 0 },
    /* thousands are groups of three digits; numbers of another locale are rejected */
    { HEAD "\"\",\"\",\"\",\"\",\"byte\"\n\"0\",\"f\",\"9.0\",\"1,234,567\",\"12,345.5\"\n",
      HEED_OK, "", 1, 1234567, 12345.5 },
    { HEAD "\"\",\"\",\"\",\"\",\"byte\"\n\"0\",\"f\",\"9.0\",\"1234,567\",\"1\"\n",
      HEED_ERR_CORRUPT, "'1234,567' is a number of another locale", 0, 0, 0 },
    { HEAD "\"\",\"\",\"\",\"\",\"byte\"\n\"0\",\"f\",\"9,0\",\"1.234\",\"72,11\"\n",
      HEED_ERR_CORRUPT, "'9,0' is a number of another locale", 0, 0, 0 },
    /* impossible counts */
    { HEAD "\"\",\"\",\"\",\"\",\"byte\"\n\"0\",\"f\",\"9.0\",\"-1\",\"1e300\"\n", HEED_OK, "", 1,
      NAN, NAN },
    { "\"no\",\"table\"\n", HEED_ERR_CORRUPT, "no ncu table", 0, 0, 0 },
    { "", HEED_ERR_CORRUPT, "no ncu table", 0, 0, 0 },
    { "\"ID\",", HEED_ERR_CORRUPT, "no launch", 0, 0, 0 },
};

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void test_text(void **state)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        lab_profile p;
        lab_error error = { "" };
        size_t launches = 99;
        heed_status status = lab_profile_read(&p, tables[i].text, &launches, &error);
        if (status != tables[i].status || !strstr(error.text, tables[i].said))
            fail_msg("%zu: %s", i, error.text);
        if (status != HEED_OK)
            continue;
        assert_int_equal(launches, tables[i].launches);
        assert_true(same(p.value[LAB_METRIC_BLOCKS], tables[i].blocks));
        assert_true(same(p.value[LAB_METRIC_DRAM_READ], tables[i].bytes));
        assert_true(isnan(p.value[LAB_METRIC_BUSY]));
    }
    lab_profile p;
    assert_int_equal(lab_profile_read(&p, tables[0].text, NULL, NULL), HEED_OK);
    assert_string_equal(p.kernel, "void f<int, 3>(char const*, \"x\")");
    assert_int_equal(p.arch, 86);
}

/* A share is either in percent or unknown; and no name moves the terminal's cursor. */
static void test_shares(void **state)
{
    static const struct {
        const char *unit, *value;
        double expected;
    } cases[] = { { "%", "72.1", 72.1 }, { "%", "100.9", 100.9 }, { "%", "7,211", NAN },
                  { "%", "-1", NAN },    { "ratio", "0.7", NAN }, { "", "72.1", NAN } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        lab_profile p;
        snprintf(text, sizeof text,
                 "\"ID\",\"Kernel Name\",\"sm__warps_active.avg.pct_of_peak_sustained_active\"\n"
                 "\"\",\"\",\"%s\"\n\"0\",\"a\033[31m\",\"%s\"\n",
                 cases[i].unit, cases[i].value);
        assert_int_equal(lab_profile_read(&p, text, NULL, NULL), HEED_OK);
        assert_true(same(p.value[LAB_METRIC_OCCUPANCY], cases[i].expected));
        assert_string_equal(p.kernel, "a?[31m");
    }
}

/* A recording truncated anywhere is refused or read, without a crash. */
static void test_cut(void **state)
{
    static char text[TEXT_SIZE];
    recording("h200-mma-b2", text);
    for (size_t length = strlen(text); length > 0; length -= length > 7 ? 7 : length) {
        lab_profile p;
        char *part = strndup(text, length);
        assert_non_null(part);
        lab_profile_read(&p, part, NULL, NULL);
        free(part);
    }
}

/* -------------------------------------------------------------------------- */
/* The questions                                                              */
/* -------------------------------------------------------------------------- */

static bool asks(const lab_profile_wish *wish, const char *name)
{
    char text[LAB_PROFILE_WISH_SIZE];
    size_t length = strlen(name);
    for (const char *p = lab_profile_wish_text(wish, text); (p = strstr(p, name)); p++)
        if ((p == text || p[-1] == ',') && (p[length] == ',' || !p[length]))
            return true;
    return false;
}

static void test_wish(void **state)
{
    static char text[TEXT_SIZE];
    lab_profile_wish wish = lab_profile_wish_for(80);
    assert_false(
        asks(&wish, "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active"));
    assert_false(asks(&wish, "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio"));
    wish = lab_profile_wish_for(90);
    assert_true(
        asks(&wish, "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active"));
    assert_true(asks(&wish, "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio"));
    assert_true(asks(&wish, "launch__grid_size"));
    assert_true(asks(&wish, "sm__instruction_throughput.avg.pct_of_peak_sustained_active"));
    /* a refusal of another metric, then of two */
    assert_false(lab_profile_wish_drop(&wish, recording("h200-missing", text)));
    assert_true(lab_profile_wish_drop(
        &wish, "==ERROR== Failed to find metric "
               "regex:^sm__instruction_throughput\\.(sum|min|max|avg|pct|ratio|max_rate)$\n"
               "==ERROR== Failed to find metric "
               "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio\n"));
    assert_false(asks(&wish, "sm__instruction_throughput.avg.pct_of_peak_sustained_active"));
    assert_true(asks(&wish, "sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed"));
    assert_false(asks(&wish, "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio"));
    assert_true(
        lab_profile_wish_drop(&wish, "Failed to find metric regex:^sm__instruction_throughput$"));
    assert_false(asks(&wish, "sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed"));
    assert_false(lab_profile_wish_drop(&wish, "Failed to find metric sm__instruction_throughput"));
    /* a longer name with the same beginning is another metric */
    assert_false(lab_profile_wish_drop(&wish, "Failed to find metric launch__grid_size_of"));
    assert_true(asks(&wish, "launch__grid_size"));
    assert_true(lab_profile_wish_drop(&wish, "Failed to find metric launch__grid_size"));
}

static void test_trouble(void **state)
{
    const lab_profile_trouble *trouble = lab_profile_trouble_in(
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
        "Performance Counters on the target device 0.");
    assert_non_null(trouble);
    assert_non_null(strstr(trouble->fix, "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_null(lab_profile_trouble_in("==PROF== Connected to process 1"));
}

/* -------------------------------------------------------------------------- */
/* Gates                                                                      */
/* -------------------------------------------------------------------------- */

/* One letter for each gate, P F U or -. */
static const char *letters(const lab_profile *p, char text[LAB_PROFILE_GATES + 1])
{
    lab_gate_result results[LAB_PROFILE_GATES];
    lab_profile_judge(p, results);
    for (size_t i = 0; i < LAB_PROFILE_GATES; i++)
        text[i] = *lab_gate_verdict_name(results[i].verdict);
    text[LAB_PROFILE_GATES] = '\0';
    return text;
}

static void test_gates(void **state)
{
    static const text_pair rows[] = {
        /* busy, issue, eligible, occupancy, loads, stores, sectors, conflicts, spills */
        { "h200-mma-b2", "FFFF-PPPP" },     { "h200-naive-b2", "FFFFFPFPP" },
        { "h200-wgmma-b2", "F----PPPP" },   { "h200-wgmma-b8", "F----PPPP" },
        { "h200-wgmma-long", "P----PPPP" }, /* the tensor pipe is busy: none fails */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lab_profile p;
        char text[LAB_PROFILE_GATES + 1];
        read_recording(rows[i].given, &p);
        if (strcmp(letters(&p, text), rows[i].wanted) != 0)
            fail_msg("%s: %s", rows[i].given, text);
    }
    lab_profile p;
    lab_gate_result results[LAB_PROFILE_GATES];
    read_recording("h200-wgmma-long", &p);
    assert_int_equal(lab_profile_judge(&p, results), LAB_GATE_PASS);
    assert_non_null(strstr(results[1].why, "are asynchronous"));
}

/* Each metric that gets worse, or is missing, affects its gate and no other. */
static void test_each(void **state)
{
    static const struct {
        lab_metric metric;
        double value;
        const char *verdicts;
    } rows[] = {
        { LAB_METRIC_BUSY, 69, "F----PPPP" },         { LAB_METRIC_BUSY, NAN, "U----PPPP" },
        { LAB_METRIC_STORE, 25, "P----FPPP" },        { LAB_METRIC_STORE, 26, "P----PPPP" },
        { LAB_METRIC_LOAD, 4, "P---FPPPP" },          { LAB_METRIC_LOAD, NAN, "P---UPPPP" },
        { LAB_METRIC_SECTORS, 40960, "P----PFPP" },   { LAB_METRIC_CONFLICTS, 2e6, "P----PPFP" },
        { LAB_METRIC_CONFLICTS, NAN, "P----PPUP" },   { LAB_METRIC_LOCAL_STORES, 1, "P----PPPF" },
        { LAB_METRIC_LOCAL_LOADS, NAN, "P----PPPU" }, { LAB_METRIC_WARPGROUP, 0, "PFFF-PPPP" },
        { LAB_METRIC_WARPGROUP, NAN, "PUUU-PPPP" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lab_profile p;
        char text[LAB_PROFILE_GATES + 1];
        read_recording("h200-wgmma-long", &p);
        p.value[rows[i].metric] = rows[i].value;
        if (strcmp(letters(&p, text), rows[i].verdicts) != 0)
            fail_msg("%zu: %s, not %s", i, text, rows[i].verdicts);
    }
}

/* An older device has no asynchronous products; a later one has others. */
static void test_architectures(void **state)
{
    lab_profile p;
    read_recording("h200-wgmma-long", &p);
    p.arch = 89;
    assert_int_equal(lab_profile_asynchronous(&p), 0);
    p.arch = 0;
    assert_int_equal(lab_profile_asynchronous(&p), -1);
    p.arch = 100;
    p.value[LAB_METRIC_WARPGROUP] = NAN;
    assert_int_equal(lab_profile_asynchronous(&p), 1);
    p.value[LAB_METRIC_TMA] = 0;
    assert_int_equal(lab_profile_asynchronous(&p), 0);
    p.value[LAB_METRIC_TMA] = NAN;
    assert_int_equal(lab_profile_asynchronous(&p), -1);
}

RUN_TESTS(test_tables, test_values, test_stalls, test_text, test_shares, test_cut, test_wish,
          test_trouble, test_gates, test_each, test_architectures)
