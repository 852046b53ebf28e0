/*
 * test_insight_cuda.c - counters of a champion: ncu is run on it, with the fake driver
 */
#include "run_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/verbs/sweep/sweep.h"
#include "cuda_trial.h"
#include "scratch.h"

#define DATA HEED_SOURCE_DIR "/tests/data/ncu/"

/* An ncu that logs its arguments and prints a recording. */
static const char script[] =
    "#!/bin/sh\n"
    "echo \"$@\" >\"${0%/*}/asked.txt\"\n"
    "[ \"$NCU\" = perm ] && { echo '==ERROR== ERR_NVGPUCTRPERM'; exit 1; }\n"
    "cat '" DATA "h200-naive-b2.txt'\n";

static int begin(void **state)
{
    char path[SCRATCH_PATH_SIZE], places[2048];
    if (scratch_open(state) != 0 || scene_reset(state) != 0)
        return -1;
    scratch_write(scratch_path(state, "ncu", path), script, sizeof script - 1);
    snprintf(places, sizeof places, "%s:%s", (const char *)*state, getenv("PATH"));
    unsetenv("NCU");
    return chmod(path, 0700) == 0 && setenv("PATH", places, 1) == 0 ? 0 : -1;
}

static int end(void **state)
{
    return scratch_close(state);
}

static lab_insight_question question_of(const trial *t, double budget)
{
    return (lab_insight_question){ .device = "cuda",
                                   .context = t->context,
                                   .problem = heed_plan_problem(t->plan),
                                   .kernel = heed_plan_name(t->plan),
                                   .seconds = 1e-5,
                                   .threads = 1,
                                   .seed = 1,
                                   .budget = budget };
}

static void test_counters(void **state)
{
    static char asked[65536];
    char path[SCRATCH_PATH_SIZE];
    trial t = trial_make(PLAIN);
    lab_insight_question question = question_of(&t, 20);
    lab_insight it;
    assert_int_equal(lab_insight_take(&question, &it), HEED_OK);
    assert_string_equal(it.counters_why, "");
    assert_true(lab_insight_findings(&it) & 1u << LAB_FINDING_UNCOALESCED);
    assert_true(fabs(it.counters[3] - 0.143) < 0.001);
    asked[scratch_read(scratch_path(state, "asked.txt", path), asked, sizeof asked - 1)] = '\0';
    assert_non_null(strstr(asked, "launch --device cuda --kernel fwd_16bit_sm80_mma__"));
    assert_non_null(strstr(asked, PLAIN));
    assert_non_null(strstr(asked, "--cache-control none"));
    assert_string_not_equal(it.effects_why, ""); /* the fake computes nothing */
    trial_end(&t);
}

/* Counters that ncu may not read are unknown, with its reason, which is not a failure. */
static void test_no_counters(void **state)
{
    trial t = trial_make(PLAIN);
    lab_insight_question question = question_of(&t, 20);
    lab_insight it;
    setenv("NCU", "perm", 1);
    assert_int_equal(lab_insight_take(&question, &it), HEED_OK);
    assert_non_null(strstr(it.counters_why, "ERR_NVGPUCTRPERM"));
    assert_int_equal(lab_insight_findings(&it), 0);
    question.budget = 2;
    assert_int_equal(lab_insight_take(&question, &it), HEED_OK);
    assert_non_null(strstr(it.counters_why, "no time: ncu takes about"));
    trial_end(&t);
}

/* ---- Code of a source ---- */

#define WORDS                                                                                \
    "entry=work threads=32 smem=0 registers=0 rows=64 splits=1 mapped=0 aligned=0 window=0 " \
    "in_turn=0 paired=0 resident=1"

/* A source that passed is launched as machine code with its declared launch, and profiled that way;
 * its files are removed afterwards. */
static void test_source(void **state)
{
    static char asked[65536];
    char path[SCRATCH_PATH_SIZE], file[600] = "";
    trial t = trial_make(PLAIN);
    heed_cubin code = scene_cubin("a source");
    lab_insight_question question = question_of(&t, 20);
    lab_insight it;
    setenv("TMPDIR", *state, 1);
    question.kernel = "a source";
    question.foreign = true;
    assert_int_equal(lab_insight_take(&question, &it), HEED_OK);
    assert_non_null(strstr(it.counters_why, "machine code is not known"));
    question.code = &code;
    question.launch = WORDS;
    assert_int_equal(lab_insight_take(&question, &it), HEED_OK);
    unsetenv("TMPDIR");
    assert_string_equal(it.counters_why, "");
    assert_true(lab_insight_findings(&it) & 1u << LAB_FINDING_UNCOALESCED);
    assert_non_null(strstr(it.effects_why, "no degraded builds"));
    asked[scratch_read(scratch_path(state, "asked.txt", path), asked, sizeof asked - 1)] = '\0';
    assert_non_null(strstr(asked, "--launch " WORDS " " PLAIN));
    assert_null(strstr(asked, "--kernel"));
    assert_int_equal(sscanf(strstr(asked, "--code "), "--code %599s", file), 1);
    assert_non_null(strstr(file, "heed-code-"));
    assert_int_not_equal(access(file, F_OK), 0);
    trial_end(&t);
}

static cli_exit launch(char *file, char *words)
{
    char names[5][16] = { "launch", "--device", "cuda", "--code", "--launch" };
    char spec[] = PLAIN;
    char *argv[] = { names[0], names[1], names[2], names[3], file, names[4], words, spec, NULL };
    cli_args *args;
    assert_int_equal(cli_args_parse(&args, cli_verb_find("launch"), 8, argv), CLI_OK);
    cli_exit code = cli_verb_find("launch")->run(args);
    cli_args_free(args);
    return code;
}

static void test_launch(void **state)
{
    char path[SCRATCH_PATH_SIZE], words[] = WORDS, bad[] = "entry=work threads=many";
    heed_cubin code = scene_cubin("a source");
    scratch_write(scratch_path(state, "x.cubin", path), code.data, code.size);
    assert_int_equal(launch(path, words), CLI_OK);
    assert_int_equal(launch(path, bad), CLI_USAGE);
    path[strlen(path) - 1] = 'x';
    assert_int_equal(launch(path, words), CLI_ENVIRONMENT);
}

int main(void)
{
    return run_test_list(
        TEST_LIST_EACH(begin, end, test_counters, test_no_counters, test_source, test_launch),
        scene_begin, NULL);
}
