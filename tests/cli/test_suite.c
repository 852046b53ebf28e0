/*
 * test_suite.c - the `heed suite` command: tasks of other suites read in a sandbox, and solutions
 * for them
 *
 * tests/suites/ tests the readers of tasks; this tests the program's use of them.
 */
#include "run_tests.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expect.h"
#include "members.h"
#include "run_heed.h"
#include "scratch.h"

#define PLENTY 400000

static const run_heed_way way = { HEED_PROGRAM, "HEED_DEVICE=cpu" };

/* A task whose forward() is @body. */
#define TASK(body, inputs)                                                                \
    "import math\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n" \
    "class Model(nn.Module):\n    def __init__(self):\n"                                  \
    "        \"\"\"Forward pass: a word that checks of sources stumble on\"\"\"\n"        \
    "        super(Model, self).__init__()\n    def forward(self, q, k, v):\n"            \
    "        # pass\n" body "def get_inputs():\n    return [" inputs                      \
    "]\ndef get_init_inputs():\n    return []\n"
#define QKV                                                \
    "torch.rand(2, 4, 64, 32), torch.rand(2, 4, 64, 32), " \
    "torch.rand(2, 4, 64, 32)"

static const char plain[] = TASK("        return F.scaled_dot_product_attention(q, k, v)\n", QKV);
static const char causal[] = TASK(
    "        w = q @ k.transpose(-2, -1) / math.sqrt(32)\n"
    "        m = torch.triu(torch.ones(64, 64), diagonal=1)\n"
    "        w = w.masked_fill(m == 1, float('-inf'))\n"
    "        w = torch.softmax(w, dim=-1)\n        y = w @ v\n        return y\n",
    QKV);
static const char wide[] = TASK("        return F.scaled_dot_product_attention(q, k, v)\n",
                                "torch.rand(1, 1, 16, 4096), torch.rand(1, 1, 16, 4096), "
                                "torch.rand(1, 1, 16, 4096)");
static const char relu[] = TASK("        return F.relu(q @ k.transpose(2, 3)) @ v\n", QKV);

static void make_suite(void **state, const char *version)
{
    static const char *const folders[] = { "", "/KernelBench", "/KernelBench/level1",
                                           "/KernelBench/level3" };
    char path[SCRATCH_PATH_SIZE], text[128];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(text, sizeof text, "suite%s", folders[i]);
        mkdir(scratch_path(state, text, path), 0777);
    }
    snprintf(text, sizeof text, "[project]\nname = \"kernelbench\"\nversion = \"%s\"\n", version);
    scratch_text_write(state, "suite/pyproject.toml", text);
    scratch_text_write(state, "suite/KernelBench/level1/97_Plain.py", plain);
    scratch_text_write(state, "suite/KernelBench/level1/5_Wide.py", wide);
    scratch_text_write(state, "suite/KernelBench/level3/43_Causal.py", causal);
    scratch_text_write(state, "suite/KernelBench/level3/50_Relu.py", relu);
    scratch_text_write(state, "suite/KernelBench/level3/notes.py", "no task");
}

static const json_t *task_of(const json_t *json, int level, int number)
{
    const json_t *tasks = json_object_get(json, "tasks");
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const json_t *task = json_array_get(tasks, i);
        if ((int)number_of(task, "level") == level && (int)number_of(task, "problem") == number)
            return task;
    }
    fail_msg("there is no task %d/%d", level, number);
    return NULL;
}

static const char *spec_of(const json_t *task)
{
    return text_of(json_array_get(json_object_get(task, "attention"), 0), "problem");
}

static void test_import(void **state)
{
    make_suite(state, "0.2.0.dev0");
    json_t *json = run_heed_json(state, &way, "heed suite import kernelbench suite --json", 0);
    const json_t *counts = json_object_get(json, "counts");
    assert_string_equal(text_of(json, "schema"), "heed.suite.import/1");
    assert_string_equal(text_of(json, "suite_version"), "0.2.0.dev0");
    assert_int_equal(json_array_size(json_object_get(json, "tasks")), 4);
    assert_int_equal((int)number_of(counts, "attention"), 2);
    assert_string_equal(spec_of(task_of(json, 1, 97)), "b2 h4 s64 d32 f32 layout=bhsd");
    assert_string_equal(spec_of(task_of(json, 3, 43)), "b2 h4 s64 d32 f32 causal layout=bhsd");
    assert_string_equal(text_of(task_of(json, 3, 50), "class"), "none");
    assert_non_null(strstr(text_of(task_of(json, 3, 50), "reason"), "ReLU"));
    /* the message names heed's limit and the value */
    assert_string_equal(text_of(task_of(json, 1, 5), "class"), "limited");
    assert_non_null(strstr(text_of(task_of(json, 1, 5), "reason"), "dim_qk is 4096"));
    json_decref(json);
}

/* Every verb accepts the shape file; problems beyond limits are comments in it. */
static void test_shape_file(void **state)
{
    char text[4096];
    make_suite(state, "0.2.0.dev0");
    run_heed_says(state, &way, "heed suite import kernelbench suite -o shapes.txt", 0,
                  "2 problems written to shapes.txt");
    scratch_text_read(state, "shapes.txt", text, sizeof text);
    assert_non_null(strstr(text, "\nb2 h4 s64 d32 f32 causal layout=bhsd\n"));
    assert_non_null(strstr(text, "\n# b1 h1 s16 d4096 f32"));
    run_heed_says(state, &way, "heed plan --shapes shapes.txt", 0, "causal layout=bhsd");
    /* on stdout it is the same file, without a table */
    run_heed_must(
        state, &way,
        "echo '# mine' >all.txt && heed suite import kernelbench suite --out - >>all.txt && "
        "{ echo '# mine'; cat shapes.txt; } | cmp - all.txt && [ ! -e ./- ]",
        0);
    run_heed_must(state, &way, "heed suite import kernelbench suite --out - --json", 2);
    /* a level and the inner directory are accepted as well; without --all the others are only
     * counted */
    run_heed_says(state, &way, "heed suite import kernelbench suite/KernelBench/level3", 0,
                  "1 attention, 1 none");
    run_heed_says(state, &way,
                  "cd suite/KernelBench/level3 && heed suite import kernelbench . && "
                  "heed suite export kernelbench 43_Causal.py --form library",
                  0, "level_3_problem_43_heed_library");
    run_heed_says(state, &way, "heed suite import kernelbench suite/KernelBench --all", 0, "Relu");
    /* with --json a file that cannot be written leaves nothing but the error */
    json_t *json = run_heed_json(
        state, &way, "heed suite import kernelbench suite -o nowhere/shapes.txt --json", 3);
    assert_string_equal(text_of(json, "schema"), "heed.error/1");
    json_decref(json);
}

/* A file's name may have any character, and need not belong to a file that can be read. */
static void test_odd_files(void **state)
{
    char path[SCRATCH_PATH_SIZE], text[4096];
    make_suite(state, "0.2.0.dev0");
    scratch_text_write(state, "suite/KernelBench/level1/98_a\nb1 h1 s1 d1 f32\n\033[31m.py", plain);
    assert_int_equal(mkfifo(scratch_path(state, "suite/KernelBench/level3/5_Pipe.py", path), 0666),
                     0);
    json_t *json = run_heed_json(state, &way,
                                 "heed suite import kernelbench suite --json -o shapes.txt", 7);
    assert_string_equal(text_of(task_of(json, 3, 5), "class"), "damaged");
    assert_string_equal(text_of(task_of(json, 3, 5), "reason"), "it is not a regular file");
    assert_string_equal(text_of(task_of(json, 1, 98), "name"), "a_b1_h1_s1_d1_f32___31m");
    json_decref(json);
    scratch_text_read(state, "shapes.txt", text, sizeof text);
    assert_non_null(strstr(text, "problem 98, a_b1_h1_s1_d1_f32___31m, line"));
}

/* No task does harm: each is a row with its reason, and the exit status reflects them. */
static void test_damaged(void **state)
{
    static const char program[] = "import os\nos.fork()\nopen('was_run', 'w')\nclass Model(\n";
    char path[SCRATCH_PATH_SIZE];
    make_suite(state, "0.2.0.dev0");
    scratch_text_write(state, "suite/KernelBench/level3/1_Syntax.py", program);
    scratch_text_write(state, "suite/KernelBench/level3/2_Empty.py", "");
    scratch_write(scratch_path(state, "suite/KernelBench/level3/3_Bytes.py", path), "\xff\0x", 3);
    scratch_text_write(state, "suite/KernelBench/level3/4_Memory.py",
                       "x = '%999999999999d' % 1\ny = x * 9\n" TASK(
                           "        return F.scaled_dot_product_attention(q, k, v)\n", QKV));
    json_t *json = run_heed_json(state, &way, "heed suite import kernelbench suite --json", 7);
    for (int number = 1; number <= 3; number++)
        assert_string_equal(text_of(task_of(json, 3, number), "class"), "damaged");
    assert_string_not_equal(text_of(task_of(json, 3, 4), "class"), "attention");
    assert_string_equal(text_of(task_of(json, 3, 43), "class"), "attention");
    json_decref(json);
    assert_int_not_equal(access(scratch_path(state, "was_run", path), F_OK), 0);
    run_heed_says(state, &way, "heed suite import kernelbench suite", 7, "1_Syntax.py: line 4");
    run_heed_says(state, &way,
                  "heed suite export kernelbench "
                  "suite/KernelBench/level3/1_Syntax.py",
                  7, "line 4");
}

static void test_bad_words(void **state)
{
    static const run_heed_case cases[] = {
        { "import kernelbench nowhere", 3, { "nowhere" } },
        { "import kernelbench empty", 2, { "there are no tasks" } },
        { "import kernelbench suite", 4, { "version is 9.9", "0.2.0.dev0", "--any-version" } },
        { "import kernelbench suite --any-version", 0, { "of KernelBench 9.9" } },
        { "import kernelbunch suite", 2, { "did you mean 'kernelbench'?" } },
        { "import", 2, { "import" } },
        { "exprot kernelbench x", 2, { "did you mean 'export'?" } },
        { "export kernelbench nowhere.py", 3, { "error: nowhere.py: No such file" } },
        { "export kernelbench suite", 2, { "suite: it is a folder" } },
        { "export kernelbench suite/KernelBench/level3/50_Relu.py", 4, { "ReLU" } },
        { "export kernelbench suite/KernelBench/level1/5_Wide.py", 4, { "dim_qk is 4096" } },
        { "export kernelbench suite/KernelBench/level1/97_Plain.py --kernel fwd_any_avx2_tile",
          4,
          { "fwd_any_avx2_tile" } },
    };
    static const char *const none[] = { NULL };
    char path[SCRATCH_PATH_SIZE];
    make_suite(state, "9.9");
    mkdir(scratch_path(state, "empty", path), 0777);
    run_heed_cases(state, &way, "suite", cases, sizeof cases / sizeof *cases, none);
    run_heed_says(state, &way,
                  "HEED_PYTHON=/bin/sh heed suite import kernelbench suite --any-version; "
                  "HEED_PYTHON=nothing heed suite import kernelbench suite --any-version",
                  3, "nothing is not a Python interpreter");
}

/* tests/suites/test_judge.py runs solutions if PyTorch is installed. */
static void test_judge_refusals(void **state)
{
    static const run_heed_case cases[] = {
        { "judge solutions", 2, { "--tasks" } },
        { "judge nowhere --tasks suite", 3, { "nowhere" } },
        { "judge suite --tasks suite", 2, { "there are no solutions" } },
        { "judge solutions --tasks nowhere", 3, { "nowhere" } },
        { "judge solutions --tasks suite --device gpu", 2, { "device is \"gpu\"" } },
        { "judge solutions --tasks suite --device cpu --json",
          0,
          { "its name has no task", "ReLU stands where a softmax would", "dim_qk is 4096" } },
    };
    static const char *const none[] = { NULL };
    char path[SCRATCH_PATH_SIZE];
    make_suite(state, "0.2.0.dev0");
    mkdir(scratch_path(state, "solutions", path), 0777);
    scratch_text_write(state, "solutions/mine.py", "raise SystemExit");
    scratch_text_write(state, "solutions/level_3_problem_50_sample_0_kernel.py", "");
    scratch_text_write(state, "solutions/level_1_problem_5_sample_0_kernel.py", "");
    run_heed_cases(state, &way, "suite", cases, sizeof cases / sizeof *cases, none);
}

/* A solution that cannot be read fails alone, and the others are judged. */
static void test_unreadable_solutions(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    make_suite(state, "0.2.0.dev0");
    mkdir(scratch_path(state, "solutions", path), 0777);
    scratch_path(state, "solutions/level_1_problem_97_a_link.py", path);
    assert_int_equal(symlink("nowhere", path), 0);
    mkdir(scratch_path(state, "solutions/level_1_problem_97_folder.py", path), 0777);
    assert_int_equal(
        mkfifo(scratch_path(state, "solutions/level_1_problem_97_pipe.py", path), 0666), 0);
    scratch_text_write(state, "solutions/with\nbreak.py", "");
    json_t *json = run_heed_json(state, &way,
                                 "heed suite judge solutions --tasks suite --device cpu --json", 1);
    const json_t *rows = json_object_get(json, "solutions");
    assert_int_equal(json_array_size(rows), 4);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(text_of(json_array_get(rows, i), "judged"), "failed");
    assert_non_null(strstr(text_of(json_array_get(rows, 0), "evidence"), "No such file"));
    assert_non_null(strstr(text_of(json_array_get(rows, 2), "evidence"), "not a regular file"));
    assert_string_equal(text_of(json_array_get(rows, 3), "solution"), "with break.py");
    json_decref(json);
}

/* Returns whether @word is in the part of @text that a source checker treats as code. */
static bool is_in_code(char *text, const char *word)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        line[strcspn(line, "#")] = '\0';
        for (const char *at = line; (at = strstr(at, word)); at++)
            if ((at == line || !strchr("_abcdefghijklmnopqrstuvwxyz", at[-1])) &&
                !strchr("_abcdefghijklmnopqrstuvwxyz", at[strlen(word)]))
                return true;
    }
    return false;
}

static void check_solution(void **state, const char *name, const char *const *parts)
{
    static const char *const words[] = { "pass", "try", "except" };
    char *text = malloc(PLENTY), *copy = malloc(PLENTY);
    assert_non_null(text);
    assert_non_null(copy);
    scratch_text_read(state, name, text, PLENTY);
    for (; *parts; parts++)
        if (!strstr(text, *parts))
            fail_msg("%s has no %s", name, *parts);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        memcpy(copy, text, PLENTY);
        assert_false(is_in_code(copy, words[i]));
    }
    free(text);
    free(copy);
}

static void test_export(void **state)
{
    make_suite(state, "0.2.0.dev0");
    json_t *json = run_heed_json(state, &way,
                                 "heed suite export kernelbench "
                                 "suite/KernelBench/level3/43_Causal.py -o made/here --json",
                                 0);
    const json_t *made = json_object_get(json, "solutions");
    assert_int_equal(json_array_size(made), 2);
    assert_string_equal(text_of(json_array_get(made, 0), "file"),
                        "made/here/level_3_problem_43_heed_kernel_f16.py");
    assert_string_equal(text_of(json_array_get(made, 0), "problem"), "b2 h4 s64 d32 f16 causal");
    assert_true(json_is_true(json_object_get(json_array_get(made, 0), "static_check")));
    assert_false(json_is_true(json_object_get(json_array_get(made, 1), "static_check")));
    json_decref(json);
    check_solution(state, "made/here/level_3_problem_43_heed_kernel_f16.py",
                   WORDS("class ModelNew(nn.Module)", "load_inline(",
                         "extern \"C\" __global__ void heed_attend(", "#define HEED_MASKED 1",
                         "args.seq_k = 64u;", "heed_attention(q, k, v, True, 0.1767",
                         "arch=compute_90"));
    check_solution(state, "made/here/level_3_problem_43_heed_library_f16.py",
                   WORDS("import heed", "heed.attention(q, k, v", "heed_type = torch.float16"));
}

/* One kernel of each kind: that with warp products for float32, and for an older GPU. */
static void test_kernels(void **state)
{
    make_suite(state, "0.2.0.dev0");
    run_heed_must(
        state, &way,
        "for words in '--products f32' '--products tf32' '--products bf16 --machine A100' "
        "'--kernel fwd_16bit_sm90_wgmma'; do heed suite export kernelbench "
        "suite/KernelBench/level1/97_Plain.py --form kernel $words || exit 1; done",
        0);
    check_solution(state, "level_1_problem_97_heed_kernel_f32.py",
                   WORDS("fwd_f32_sm80_mma", "k.to(torch.float32)", "torch::kFloat32"));
    check_solution(state, "level_1_problem_97_heed_kernel_tf32.py",
                   WORDS("f32 products=tf32.", "of operands rounded to TF32", "k.to(torch.float32)",
                         "torch::kFloat32", "name=\"heed_1_97_tf32\""));
    check_solution(state, "level_1_problem_97_heed_kernel_bf16.py",
                   WORDS("fwd_16bit_sm80_mma", "torch::kBFloat16", "compute_80"));
    check_solution(state, "level_1_problem_97_heed_kernel_f16.py",
                   WORDS("heed_map(&launched.q, q, 1, 64);", "compute_90a"));
}

/* A kernel is for one problem, and a file with forward() for a task with only Q, K and V. */
static void test_what_has_no_form(void **state)
{
    static const run_heed_case cases[] = {
        { "export kernelbench two.py --form kernel",
          4,
          { "line 12", "b2 h4 s64 d32 f16 causal", "a kernel is for one problem" } },
        { "export kernelbench two.py --form library", 0, { "two_heed_library_f16.py" } },
        { "export kernelbench two.py --form library --products bf16x3",
          0,
          { "two_heed_library_bf16x3.py", "f32 products=bf16x3" } },
        { "export kernelbench more.py --form cu", 4, { "more than attention of its inputs" } },
        { "export kernelbench more.py --form kernel", 0, { "more_heed_kernel_f16.py" } },
        { "export kernelbench scaled.py --form kernel", 0, { "b2 h4 s64 d32 f16 scale=1" } },
    };
    static const char *const none[] = { NULL };
    scratch_text_write(
        state, "two.py",
        TASK("        o = F.scaled_dot_product_attention(q, k, v)\n"
             "        return F.scaled_dot_product_attention(o, k, v, is_causal=True)\n",
             QKV));
    scratch_text_write(state, "more.py",
                       TASK("        return F.scaled_dot_product_attention(q, k, v) + q\n", QKV));
    scratch_text_write(
        state, "scaled.py",
        TASK("        return torch.softmax((q * 0.5) @ k.transpose(2, 3), -1) @ v\n", QKV));
    run_heed_cases(state, &way, "suite", cases, sizeof cases / sizeof *cases, none);
}

/* The task in integrations/ is readable by robust-kbench and by heed. Its solution is for one value
 * of `causal`, and refuses the other one. */
static void test_robust_kbench(void **state)
{
    run_heed_must(state, &way,
                  "heed suite export kernelbench --form cu " HEED_SOURCE_DIR
                  "/integrations/robust_kbench/tasks/heed_attention/func_forward.py",
                  0);
    check_solution(
        state, "func_forward_heed_cu_f16.cu",
        WORDS("torch::Tensor forward(torch::Tensor q", "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)",
              "TORCH_CUDA_ARCH_LIST=9.0a", "b4 h16 s2048 d64 f16 causal", "heed_attend<<<",
              "torch::Tensor v, bool causal)",
              "TORCH_CHECK(causal == true, \"causal must be true: this kernel is for b4 h16",
              "pybind11::arg(\"causal\").noconvert() = true);"));
    scratch_text_write(state, "plain.py", plain);
    run_heed_must(state, &way, "heed suite export kernelbench --form cu plain.py", 0);
    check_solution(
        state, "plain_heed_cu_f16.cu",
        WORDS("TORCH_CHECK(causal == false,", "pybind11::arg(\"causal\").noconvert() = false);"));
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_import, test_shape_file, test_odd_files,
               test_damaged, test_bad_words, test_judge_refusals, test_unreadable_solutions,
               test_export, test_kernels, test_what_has_no_form, test_robust_kbench)
