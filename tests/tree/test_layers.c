/*
 * test_layers.c - the layering of the source tree: its #include lines beside the table of DESIGN.md
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

#define LAYERS_MAX 100
#define RIGHTS_MAX 24

/* The rights of the files of one folder, a row of the table in DESIGN.md: beginnings of paths from
 * the root of the tree, and <headers> of libraries. Of several rows the longest folder that fits
 * counts. */
typedef struct layer {
    const char *folder;
    bool prints; /* and may end the process */
    const char *rights[RIGHTS_MAX];
    bool used[RIGHTS_MAX];
    int count, files;
} layer;

static layer layers[LAYERS_MAX];
static int layer_count;

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
static const char *const verbs[] = { "ablate",  "bench",    "board",    "doctor", "evolve",
                                     "gate",    "generate", "inspect",  "launch", "plan",
                                     "profile", "report",   "roofline", "run",    "selftest",
                                     "suite",   "sweep",    "tune",     "verify", "wisdom" };

/* How a file of wisdom begins. */
static const char wisdom_head[] = "\"heed wisdom\"";

/* Options of other programs. */
static const char *const foreign_options[] = { "extract-elf", "cap-add" };

static int complaints;
static int files_read;

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Adds the words of @line of the table, which stay where they are, to the layers. */
static void read_row(char *line)
{
    char *rest = line;
    const char *word = strtok_r(line, " \n", &rest);
    if (line[0] != ' ') {
        assert_true(layer_count < LAYERS_MAX);
        layers[layer_count++].folder = word;
        word = strtok_r(NULL, " \n", &rest);
    }
    layer *row = &layers[layer_count - 1];
    for (; word; word = strtok_r(NULL, " \n", &rest))
        if (strcmp(word, "prints") == 0) {
            row->prints = true;
        } else {
            assert_true(row->count < RIGHTS_MAX);
            row->rights[row->count++] = strcmp(word, "all") == 0 ? "" : word;
        }
}

static int read_table(void **state)
{
    static char text[1 << 14];
    char line[256];
    size_t used = 0;
    bool inside = false;
    FILE *design = fopen(HEED_SOURCE_DIR "/DESIGN.md", "r");
    assert_non_null(design);
    while (fgets(line, sizeof line, design) && (!inside || starts_with(line, "    "))) {
        if (inside) {
            size_t length = strlen(line + 4) + 1;
            assert_true(used + length <= sizeof text);
            memcpy(text + used, line + 4, length);
            read_row(text + used);
            used += length;
        }
        inside = inside || starts_with(line, "    folder ");
    }
    fclose(design);
    return layer_count > 10 ? 0 : -1;
}

static layer *layer_of(const char *path)
{
    layer *best = NULL;
    for (int i = 0; i < layer_count; i++)
        if (starts_with(path, layers[i].folder) &&
            (!best || strlen(layers[i].folder) > strlen(best->folder)))
            best = &layers[i];
    return best;
}

/* May a file of the layer include the file @path, or <header> of a library? Marks the right. */
static bool may_include(layer *rules, const char *path)
{
    for (int i = 0; i < rules->count; i++)
        if (starts_with(path, rules->rights[i]) && (*path == '<') == (*rules->rights[i] == '<')) {
            rules->used[i] = true;
            return true;
        }
    return starts_with(path, rules->folder);
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

static void check_include(const char *path, int line, layer *rules, const char *text)
{
    char name[PATH_MAX];
    char found[PATH_MAX + 2];
    if (sscanf(text, " <%4095[^>]>", name) == 1) {
        snprintf(found, sizeof found, "<%s>", name);
        if (is_among(name, libraries, sizeof libraries / sizeof *libraries) &&
            !may_include(rules, found))
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
    if (!may_include(rules, found))
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
            complain(path, line, "only programs print or exit", loud_calls[i]);
    }
    if (find_word(text, "stdout") || find_word(text, "stderr"))
        complain(path, line, "only programs use the standard streams", "stdout");
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
    if (sscanf(at, "heed %63[a-z]", name) == 1 && !starts_with(at - 1, wisdom_head) &&
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
    layer *rules = layer_of(path);
    if (!rules) {
        complain(path, 0, "its folder has no row in DESIGN.md", path);
        return 0;
    }
    rules->files++;
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
        if (!rules->prints)
            check_loudness(path, line, text);
        if (starts_with(path, quiet_folder))
            check_words(path, line, text);
    }
    fclose(file);
    files_read++;
    return 0;
}

/* Rows and rights that no file of the tree needs. */
static void check_table(void)
{
    for (int i = 0; i < layer_count; i++) {
        if (layers[i].files == 0)
            complain("DESIGN.md", 0, "no file is in the folder of the row", layers[i].folder);
        for (int k = 0; k < layers[i].count; k++)
            if (!layers[i].used[k])
                complain(layers[i].folder, 0, "no file here needs its right to",
                         layers[i].rights[k]);
    }
}

static void test_tree(void **state)
{
    static const char *const folders[] = { "include",   "src",   "python",   "lab",
                                           "cli",       "peers", "examples", "integrations",
                                           "proposers", "tools", "tests" };
    assert_int_equal(chdir(HEED_SOURCE_DIR), 0);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_int_equal(ftw(folders[i], check_file, 16), 0);
    check_table();
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
    check_include("python/call/memo.h", 17, layer_of("python/call/memo.h"), " \"src/internal.h\"");
    check_include("tools/pack.c", 18, layer_of("tools/pack.c"), " \"lab/base/error.h\"");
    assert_int_equal(complaints, 13);
    complaints = 0;
}

/* Words that messages of the laboratory may not have, one a line, and some that they may. */
static void test_words(void **state)
{
    static const char *const bad[] = { "    say(\"see (--seconds)\");",
                                       "  \"--ncu: no such %s\",",
                                       "  \"\\\"x\\\": 'heed wisdom' says\"",
                                       "  \"heed launch does\"",
                                       "  \"heed suite has it\"",
                                       "  \"heed wisdom forgets\"" };
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
    return cmocka_run_group_tests(tests, read_table, NULL);
}
