/*
 * test_layers.c - the layering of the source tree, read from its #include lines
 *
 * Dependencies go one way: the library knows nothing of the laboratory, the parts of the laboratory
 * do not know each other, and only the command line, the rivals and the tests print or end a
 * process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <ctype.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMES_MAX 16

/* The rights of the files of one folder. Of several rows the longest folder that fits counts.
 * Entries of
 * @includes are beginnings of paths from the root of the tree, those of @libraries whole names. */
typedef struct layer {
    const char *folder;
    bool ends_and_prints;
    const char *includes[NAMES_MAX];
    const char *libraries[NAMES_MAX];
} layer;

static const layer layers[] = {
    { "include/", false, { NULL }, { NULL } },
    { "src/", false, { "include/", "src/" }, { NULL } },
    { "src/cuda/cache.c", false, { "include/", "src/" }, { "sha2.h" } },
    { "src/cuda/kernels/", false, { "src/cuda/kernels/" }, { NULL } },
    { "python/xla/", false, { "include/", "python/xla/" }, { NULL } },
    { "python/call/", false, { "include/", "python/call/" }, { NULL } },
    { "lab/base/", false, { "include/", "src/measure.h", "lab/base/" }, { NULL } },
    { "lab/base/planner.c", false, { "src/cpu/features.h", "lab/base/" }, { NULL } },
    { "lab/tensor/", false, { "include/", "lab/tensor/", "lab/base/" }, { "jansson.h" } },
    { "lab/report/", false, { "include/", "lab/report/", "lab/base/" }, { "jansson.h" } },
    { "lab/inspect/", false, { "include/", "lab/inspect/", "lab/base/" }, { NULL } },
    { "lab/inspect/ablate",
      false,
      { "include/", "src/cuda/kernels/ablate.cuh", "lab/inspect/", "lab/base/" },
      { NULL } },
    { "lab/shapes/", false, { "include/", "lab/shapes/", "lab/tensor/", "lab/base/" }, { NULL } },
    { "lab/verify/",
      false,
      { "include/", "src/device.h", "src/measure.h", "lab/verify/", "lab/tensor/", "lab/base/" },
      { NULL } },
    { "lab/verify/mutants/attend.cu", false, { "src/cuda/kernels/" }, { NULL } },
    { "proposers/attention.cu", false, { "src/cuda/kernels/" }, { NULL } },
    { "lab/measure/",
      false,
      { "include/", "src/device.h", "src/measure.h", "lab/measure/", "lab/tensor/", "lab/base/" },
      { "jansson.h" } },
    { "lab/measure/behind.",
      false,
      { "include/", "src/device.h", "src/cuda/custom.h", "lab/measure/" },
      { NULL } },
    { "lab/measure/ceiling_cuda",
      false,
      { "include/", "src/device.h", "src/cuda/custom.h", "lab/measure/" },
      { NULL } },
    { "lab/measure/kernels/", false, { "src/cuda/kernels/" }, { NULL } },
    { "lab/record/", false, { "include/", "lab/record/", "lab/base/" }, { "sha2.h", "sqlite3.h" } },
    { "lab/record/record.h", false, { "include/", "lab/record/trial.h", "lab/base/" }, { NULL } },
    { "lab/record/trial.h", false, { "include/" }, { NULL } },
    { "lab/trial/",
      false,
      { "include/", "src/cuda/launch.h", "src/measure.h", "lab/trial/", "lab/tensor/",
        "lab/base/" },
      { "jansson.h" } },
    { "lab/search/",
      false,
      { "include/", "src/measure.h", "lab/inspect/", "lab/search/", "lab/tensor/", "lab/trial/",
        "lab/base/" },
      { "jansson.h" } },
    { "lab/ablate/",
      false,
      { "src/cpu/ablated.h", "src/cuda/facts.h", "src/cuda/kernels/ablate.cuh",
        "src/cuda/sources.h", "src/device.h", "src/measure.h", "src/message.h", "lab/ablate/",
        "lab/base/", "lab/bench/", "lab/inspect/ablate.h", "lab/measure/" },
      { NULL } },
    { "lab/bench/",
      false,
      { "include/", "src/cuda/gpu.h", "src/device.h", "src/measure.h", "src/message.h", "lab/base/",
        "lab/bench/", "lab/inspect/roofline.h", "lab/measure/", "lab/record/trial.h",
        "lab/search/declare.h", "lab/tensor/", "lab/trial/", "lab/verify/" },
      { NULL } },
    { "lab/build/",
      false,
      { "include/", "src/cuda/facts.h", "src/cuda/score/score.h", "src/device.h", "src/message.h",
        "src/wisdom_line.h", "lab/base/", "lab/bench/", "lab/build/", "lab/inspect/cubin.h",
        "lab/record/", "lab/trial/" },
      { NULL } },
    { "lab/insight/",
      false,
      { "include/", "src/cuda/gpu.h", "src/cuda/jit.h", "src/device.h", "src/measure.h",
        "src/message.h", "lab/ablate/", "lab/base/", "lab/insight/", "lab/inspect/", "lab/record/",
        "lab/search/", "lab/trial/process.h" },
      { NULL } },
    { "lab/final/",
      false,
      { "include/", "lab/base/", "lab/final/", "lab/inspect/roofline.h", "lab/measure/stats.h",
        "lab/record/", "lab/search/point_facts.h", "lab/session/plausible.h",
        "lab/trial/launch.h" },
      { NULL } },
    { "lab/session/",
      false,
      { "lab/base/", "lab/session/", "lab/inspect/", "lab/measure/", "lab/record/", "lab/search/" },
      { NULL } },
    { "lab/session/plausible",
      false,
      { "include/", "src/cuda/gpu.h", "src/device.h", "lab/session/", "lab/inspect/",
        "lab/measure/", "lab/record/" },
      { NULL } },
    { "lab/suite/",
      false,
      { "include/", "src/cuda/facts.h", "src/cuda/gpu.h", "src/cuda/outline.h",
        "src/cuda/sources.h", "src/measure.h", "lab/base/", "lab/suite/", "lab/trial/" },
      { "jansson.h" } },
    { "lab/suite/judge/",
      false,
      { "include/", "src/measure.h", "src/message.h", "lab/base/", "lab/suite/", "lab/tensor/",
        "lab/trial/", "lab/verify/" },
      { NULL } },
    { "lab/sweep/",
      false,
      { "include/", "src/cuda/driver/nvrtc.h", "src/cuda/facts.h", "src/cuda/gpu.h", "src/device.h",
        "src/measure.h", "lab/base/", "lab/bench/", "lab/insight/", "lab/inspect/cubin.h",
        "lab/search/", "lab/session/", "lab/shapes/", "lab/sweep/" },
      { NULL } },
    { "lab/evolve/",
      false,
      { "src/cuda/gpu.h", "src/cuda/sources.h", "src/measure.h", "lab/base/", "lab/bench/",
        "lab/build/", "lab/evolve/", "lab/insight/code.h", "lab/inspect/", "lab/report/format.h",
        "lab/search/", "lab/session/", "lab/sweep/", "lab/trial/", "lab/verify/" },
      { NULL } },
    { "lab/tune/",
      false,
      { "src/device.h", "src/measure.h", "lab/build/", "lab/measure/", "lab/report/format.h",
        "lab/search/figures.h", "lab/session/", "lab/sweep/", "lab/tune/" },
      { NULL } },
    { "lab/trial/runner/", true, { "include/", "lab/trial/" }, { NULL } },
    { "lab/trial/runner/runner_cuda",
      true,
      { "include/", "src/cuda/facts.h", "src/cuda/driver/nvrtc.h", "src/device.h", "src/measure.h",
        "lab/trial/" },
      { NULL } },
    { "cli/",
      true,
      { "include/", "src/cuda/facts.h", "src/cuda/gpu.h", "src/cuda/jit.h", "src/device.h",
        "src/measure.h", "src/message.h", "src/survey.h", "src/wisdom_line.h", "lab/", "cli/" },
      { "jansson.h" } },
    { "cli/base/",
      true,
      { "include/", "src/measure.h", "src/wisdom_line.h", "lab/", "cli/base/" },
      { "jansson.h" } },
    { "cli/verbs/inspect/inspect_files",
      true,
      { "src/cuda/jit.h", "src/cuda/driver/nvrtc.h", "lab/", "cli/" },
      { NULL } },
    { "examples/", true, { "include/", "examples/driver.h" }, { NULL } },
    { "examples/contest.c", true, { "include/", "lab/bench/", "lab/measure/" }, { NULL } },
    { "examples/duel.c", true, { "include/", "lab/bench/", "lab/verify/" }, { NULL } },
    { "examples/sweep.c", true, { "include/", "lab/sweep/" }, { NULL } },
    { "peers/",
      true,
      { "include/", "src/measure.h", "lab/", "peers/" },
      { "cblas.h", "jansson.h" } },
    { "proposers/",
      true,
      { "include/", "lab/base/", "lab/search/", "proposers/" },
      { "curl/curl.h", "jansson.h" } },
    { "proposers/attention.c", true, { "lab/trial/heed_candidate.h" }, { NULL } },
    { "tools/", true, { "include/", "src/" }, { NULL } },
    { "tests/", true, { "" }, { "jansson.h", "cmocka.h" } },
};

/* Headers of libraries that only some folders may see; every other <header> is the system's. */
static const char *const libraries[] = { "cblas.h",     "cmocka.h",  "cuda.h", "cuda_runtime.h",
                                         "curl/curl.h", "jansson.h", "nvml.h", "nvrtc.h",
                                         "sha2.h",      "sqlite3.h" };

/* Device code is compiled where there are no system headers. The emulator's C compiler needs one.
 */
static const char device_folder[] = "src/cuda/kernels/";
static const char device_header[] = "stdbool.h";

/* Input of tests, which may look like code and is none of the tree's. */
static const char data_folder[] = "tests/data/";

/* Functions that print or end the process. */
static const char *const loud_calls[] = { "printf", "vprintf", "puts", "putchar",
                                          "perror", "exit",    "abort" };

/* Headers that the build writes. */
static const char *const generated[] = { "commit.h", "program.cuh" };

/* Where the compiler looks for "name" after the folder of the including file. */
static const char *const search_path[] = { "include/",      "src/",        "",
                                           "lab/",          "tests/",      "tests/helpers/",
                                           "tests/scenes/", "tests/fake/", "src/cuda/kernels/",
                                           "lab/trial/" };

/* The laboratory is called without the command line too, so its messages name none of that. */
static const char quiet_folder[] = "lab/";
static const char *const verbs[] = { "ablate", "bench",    "board",  "doctor",   "evolve",
                                     "gate",   "inspect",  "launch", "plan",     "profile",
                                     "report", "roofline", "run",    "selftest", "sweep",
                                     "tune",   "verify" };

/* Options of other programs. */
static const char *const foreign_options[] = { "extract-elf", "cap-add" };

static int complaints;
static int files_read;

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static const layer *layer_of(const char *path)
{
    const layer *best = NULL;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (starts_with(path, layers[i].folder) &&
            (!best || strlen(layers[i].folder) > strlen(best->folder)))
            best = &layers[i];
    return best;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count && names[i]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Takes "a/../" out of @path, in place. */
static void shorten(char *path)
{
    char *up;
    while ((up = strstr(path, "/../"))) {
        char *start = up;
        while (start > path && start[-1] != '/')
            start--;
        memmove(start, up + 4, strlen(up + 4) + 1);
    }
}

/* Writes the path of @name in @folder, whose first @length characters count; true if there is such
 * a file. */
static bool exists_in(const char *folder, size_t length, const char *name, char path[PATH_MAX])
{
    int needed = snprintf(path, PATH_MAX, "%.*s%s", (int)length, folder, name);
    if (needed < 0 || needed >= PATH_MAX)
        return false;
    shorten(path);
    return access(path, R_OK) == 0;
}

/* Finds the file that @name in @from stands for; writes its path from the root of the tree. */
static bool resolve(const char *from, const char *name, char path[PATH_MAX])
{
    size_t folder = (size_t)(strrchr(from, '/') - from) + 1;
    bool found = exists_in(from, folder, name, path);
    for (size_t i = 0; !found && i < sizeof search_path / sizeof *search_path; i++)
        found = exists_in(search_path[i], strlen(search_path[i]), name, path);
    return found;
}

static void complain(const char *path, int line, const char *what, const char *name)
{
    fprintf(stderr, "%s:%d: %s: %s\n", path, line, what, name);
    complaints++;
}

static void check_include(const char *path, int line, const layer *rules, const char *text)
{
    char name[PATH_MAX];
    char found[PATH_MAX];
    if (sscanf(text, " <%4095[^>]>", name) == 1) {
        if (is_among(name, libraries, sizeof libraries / sizeof *libraries) &&
            !is_among(name, rules->libraries, NAMES_MAX))
            complain(path, line, "this folder may not use the library of", name);
        if (starts_with(path, device_folder) && strcmp(name, device_header) != 0)
            complain(path, line, "device code may not include", name);
        return;
    }
    if (sscanf(text, " \"%4095[^\"]\"", name) != 1)
        return;
    if (is_among(name, generated, sizeof generated / sizeof *generated))
        return;
    if (!resolve(path, name, found)) {
        complain(path, line, "no such file in the tree", name);
        return;
    }
    for (size_t i = 0; i < NAMES_MAX && rules->includes[i]; i++)
        if (starts_with(found, rules->includes[i]))
            return;
    complain(path, line, "this folder may not include", found);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The first place after @text where @word stands as a whole word, or NULL. */
static const char *find_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || !is_word(at[-1])) && !is_word(at[length]))
            return at;
    return NULL;
}

/* Cuts @text where a comment begins, which may speak of what the code does not do. */
static void cut_comment(char *text)
{
    char *comment = strstr(text, "/*");
    if (text[strspn(text, " ")] == '*')
        *text = '\0';
    else if (comment)
        *comment = '\0';
}

static void check_loudness(const char *path, int line, const char *source)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", source);
    cut_comment(text);
    for (size_t i = 0; i < sizeof loud_calls / sizeof *loud_calls; i++) {
        const char *at = find_word(text, loud_calls[i]);
        if (at && at[strlen(loud_calls[i])] == '(')
            complain(path, line, "only cli, peers and tests print or exit", loud_calls[i]);
    }
    if (find_word(text, "stdout") || find_word(text, "stderr"))
        complain(path, line, "only cli, peers and tests use the standard streams", "stdout");
}

/* The string that begins at the quotation mark @at: *@end becomes its closing mark, or the end of
 * the line. */
static void read_string(const char *at, const char **end)
{
    for (*end = at + 1; **end && **end != '"'; ++*end)
        if (**end == '\\' && (*end)[1])
            ++*end;
}

static void check_option(const char *path, int line, const char *at)
{
    char name[64];
    if (sscanf(at, "--%63[a-z-]", name) == 1 &&
        !is_among(name, foreign_options, sizeof foreign_options / sizeof *foreign_options))
        complain(path, line, "the laboratory does not name options", name);
}

static void check_verb(const char *path, int line, const char *at)
{
    char name[64];
    if (sscanf(at, "heed %63[a-z]", name) == 1 &&
        (at[-1] == '\'' || is_among(name, verbs, sizeof verbs / sizeof *verbs)))
        complain(path, line, "the laboratory does not name verbs", name);
}

/* One word alone, such as "--csv", is an argument of a program and no message. */
static void check_words(const char *path, int line, const char *source)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", source);
    cut_comment(text);
    for (const char *at = strchr(text, '"'), *end; at; at = *end ? strchr(end + 1, '"') : NULL) {
        read_string(at, &end);
        if (!memchr(at, ' ', (size_t)(end - at)))
            continue;
        for (const char *word = at + 1; word < end; word++) {
            bool begins = strchr("\" '", word[-1]) || (word[-1] == '(' && word[-2] == ' ');
            if (begins && starts_with(word, "--"))
                check_option(path, line, word);
            if (begins && starts_with(word, "heed "))
                check_verb(path, line, word);
        }
    }
}

static int check_file(const char *path, const struct stat *status, int kind)
{
    static const char *const endings[] = { ".c", ".h", ".def", ".cu", ".cuh" };
    const char *dot = strrchr(path, '.');
    if (starts_with(path, data_folder))
        return 0;
    if (kind != FTW_F || !dot || !is_among(dot, endings, sizeof endings / sizeof *endings))
        return 0;
    const layer *rules = layer_of(path);
    if (!rules) {
        complain(path, 0, "its folder has no row in this test", path);
        return 0;
    }
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    char text[1024];
    for (int line = 1; fgets(text, sizeof text, file); line++) {
        char directive[16];
        int end = 0;
        if (sscanf(text, " # %15[a-z]%n", directive, &end) == 1 &&
            strcmp(directive, "include") == 0)
            check_include(path, line, rules, text + end);
        if (!rules->ends_and_prints)
            check_loudness(path, line, text);
        if (starts_with(path, quiet_folder))
            check_words(path, line, text);
    }
    fclose(file);
    files_read++;
    return 0;
}

static void test_tree(void **state)
{
    static const char *const folders[] = { "include", "src",       "lab",   "cli",
                                           "peers",   "proposers", "tests", "examples" };
    assert_int_equal(chdir(HEED_SOURCE_DIR), 0);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_int_equal(ftw(folders[i], check_file, 16), 0);
    assert_true(files_read > 10);
    assert_int_equal(complaints, 0);
}

/* The rules themselves: each of these must be refused. */
static void test_rules(void **state)
{
    assert_int_equal(chdir(HEED_SOURCE_DIR), 0);
    complaints = 0;
    check_include("src/plan.c", 1, layer_of("src/plan.c"), " \"../tests/CMakeLists.txt\"");
    check_include("src/plan.c", 2, layer_of("src/plan.c"), " <jansson.h>");
    check_include("lab/verify/x.c", 3, layer_of("lab/verify/x.c"), " \"internal.h\"");
    check_include("cli/main.c", 4, layer_of("cli/main.c"), " \"src/internal.h\"");
    check_include("src/plan.c", 5, layer_of("src/plan.c"), " \"no_such_file.h\"");
    check_loudness("src/plan.c", 6, "    printf(\"%d\", x);");
    check_loudness("src/plan.c", 7, "    exit(1);");
    check_include("src/plan.c", 8, layer_of("src/plan.c"), " <sha2.h>");
    check_include("src/cuda/jit.c", 9, layer_of("src/cuda/jit.c"), " <nvrtc.h>");
    check_include("src/cuda/kernels/x.cuh", 10, layer_of("src/cuda/kernels/x.cuh"),
                  " <cuda_fp16.h>");
    check_include("src/cuda/kernels/x.cuh", 11, layer_of("src/cuda/kernels/x.cuh"),
                  " \"internal.h\"");
    assert_int_equal(complaints, 11);
    check_include("src/plan.c", 12, layer_of("src/plan.c"), " \"internal.h\"");
    check_include("src/plan.c", 13, layer_of("src/plan.c"), " <stdio.h>");
    check_loudness("src/plan.c", 14, "    snprintf(text, size, \"x\");");
    check_loudness("src/plan.c", 15, " * Never calls abort().");
    check_loudness("src/plan.c", 16, "    int out; /* of its stdout */");
    assert_int_equal(complaints, 11);
    complaints = 0;
}

/* Words that messages of the laboratory may not have, one a line, and some that they may. */
static void test_words(void **state)
{
    static const char *const bad[] = { "    say(\"see (--seconds)\");", "  \"--ncu: no such %s\",",
                                       "  \"\\\"x\\\": 'heed wisdom' says\"",
                                       "  \"heed launch does\"" };
    static const char *const good[] = {
        "    say(\"what heed plans\");",  "  \"a b{color:var(--back)}\"",
        "    \"--csv\", \"raw\",",        "    /* \"see --seconds\" */",
        "    { \"heed wisdom\", x--y },", "    say(\"x\", it--, \"take --cap-add SYS_ADMIN\");"
    };
    complaints = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_words("lab/x.c", (int)i + 1, bad[i]);
        assert_int_equal(complaints, (int)i + 1);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check_words("lab/x.c", 100 + (int)i, good[i]);
    assert_int_equal(complaints, (int)(sizeof bad / sizeof *bad));
    complaints = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
