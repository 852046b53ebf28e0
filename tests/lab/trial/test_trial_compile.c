/*
 * test_trial_compile.c - compiler options that a candidate may set, and secrets that it cannot read
 */
#define _GNU_SOURCE /* asprintf() */
#include "run_tests.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "hold.h"
#include "lab/trial/compile/compile.h"
#include "lab/trial/compile/image.h"
#include "scratch.h"
#include "src/measure.h"
#include "trial_scene.h"

static trial_scene scene;
static lab_code code;
static lab_trial_outcome outcome;

/* Compiles the candidate @name and expects @verdict, with @words in the message. */
static void expect(const char *name, lab_trial_verdict verdict, const char *words)
{
    const lab_candidate candidate = scene_candidate(&scene, name, 1);
    bool well = lab_compile_c(&candidate, NULL, &code, &outcome);

    if (outcome.verdict != verdict || !strstr(outcome.text, words))
        fail_msg("%s: %s: \"%s\"\n%s", name, lab_trial_verdict_name(outcome.verdict), outcome.text,
                 code.log);
    assert_int_equal(well, verdict == LAB_TRIAL_OK);
    assert_int_equal(code.data != NULL, well);
    lab_code_free(&code);
}

static void test_verdicts(void **state)
{
    expect("plain", LAB_TRIAL_OK, "");
    expect("syntax", LAB_TRIAL_COMPILE_ERROR, "missing");
    assert_non_null(strstr(code.log, "candidate.c:"));
    expect("forbidden/include_file", LAB_TRIAL_COMPILE_ERROR, "may not be read");
    assert_null(strstr(code.log, "root"));
    assert_null(strstr(code.log, "/etc"));
    expect("forbidden/include_process", LAB_TRIAL_COMPILE_ERROR, "may not be read");
    expect("forbidden/embed", LAB_TRIAL_COMPILE_ERROR, "may not be read");
    assert_null(strstr(code.log, "root:"));
}

/* An object file that is truncated or changed anywhere is refused or fails later, and nothing
 * outside it is read or written. */
static void test_images(void **state)
{
    const lab_candidate candidate = scene_candidate(&scene, "forbidden/early", 1);
    size_t refused = 0, tags = 0;

    assert_true(lab_compile_c(&candidate, NULL, &code, &outcome));
    for (size_t at = 0; at < code.size; at += 8)
        tags += (*(int64_t *)(void *)(code.data + at) & ~INT64_C(0xff)) == LAB_IMAGE_PUT_OFF;
    assert_int_equal(tags, 3);
    for (size_t size = 0; size < code.size; size += size < 4096 ? 1 : 61) {
        unsigned char *copy = malloc(size + 1);
        memcpy(copy, code.data, size);
        refused += lab_image_put_off(copy, size) != NULL;
        free(copy);
    }
    assert_true(refused >= 4096 / 2);
    for (size_t at = 0; at < code.size; at++) {
        unsigned char *copy = malloc(code.size);
        memcpy(copy, code.data, code.size);
        copy[at] ^= (unsigned char)(0x81 + at % 126);
        refused += lab_image_put_off(copy, code.size) != NULL;
        free(copy);
    }
    lab_code_free(&code);
}

static Elf64_Phdr *segment_of(unsigned char *data, uint32_t type, uint32_t flags)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)data;
    Elf64_Phdr *one = (Elf64_Phdr *)(void *)(data + head->e_phoff);

    while (one->p_type != type || (one->p_flags & flags) != flags)
        one++;
    return one;
}

static Elf64_Dyn *entry_of(unsigned char *data, Elf64_Sxword tag)
{
    Elf64_Dyn *one = (Elf64_Dyn *)(void *)(data + segment_of(data, PT_DYNAMIC, 0)->p_offset);

    while (one->d_tag != tag && one->d_tag != DT_NULL)
        one++;
    return one;
}

/* The first segment has the tables, at their addresses. */
static Elf64_Rela *relocations_of(unsigned char *data)
{
    return (Elf64_Rela *)(void *)(data + entry_of(data, DT_RELA)->d_un.d_ptr);
}

static void write_far(unsigned char *data)
{
    relocations_of(data)->r_offset = UINT64_C(1) << 32;
}

static void write_before(unsigned char *data)
{
    relocations_of(data)->r_offset = (uint64_t)-4096;
}

static void write_across(unsigned char *data)
{
    const Elf64_Phdr *one = segment_of(data, PT_LOAD, PF_W);
    relocations_of(data)->r_offset = one->p_vaddr + one->p_memsz - 4;
}

static void write_code(unsigned char *data)
{
    relocations_of(data)->r_offset = segment_of(data, PT_LOAD, PF_X)->p_vaddr;
}

static void write_entries(unsigned char *data)
{
    relocations_of(data)->r_offset = segment_of(data, PT_DYNAMIC, 0)->p_vaddr + 8;
}

static void write_packed(unsigned char *data)
{
    static const uint64_t words[] = { 0, 0x3 }; /* the words before and after the first one */
    Elf64_Dyn *one = entry_of(data, DT_NULL);
    uint64_t *to = (uint64_t *)(void *)relocations_of(data);

    memcpy(to, words, sizeof words);
    to[0] = segment_of(data, PT_DYNAMIC, 0)->p_vaddr - 8;
    one[0] = (Elf64_Dyn){ .d_tag = 36, .d_un.d_ptr = entry_of(data, DT_RELA)->d_un.d_ptr };
    one[1] = (Elf64_Dyn){ .d_tag = 35, .d_un.d_val = sizeof words };
    entry_of(data, DT_RELASZ)->d_un.d_val = 0;
}

static void open_tables(unsigned char *data)
{
    segment_of(data, PT_LOAD, 0)->p_flags |= PF_W;
}

static void copy_symbol(unsigned char *data)
{
    relocations_of(data)->r_info = ELF64_R_INFO(0, 5); /* R_X86_64_COPY, which has any size */
}

static void list_twice(unsigned char *data)
{
    *entry_of(data, DT_NULL) = *entry_of(data, DT_SYMTAB);
}

static void list_on(unsigned char *data)
{
    Elf64_Phdr *one = segment_of(data, PT_DYNAMIC, 0);
    const Elf64_Dyn *first = (const Elf64_Dyn *)(const void *)(data + one->p_offset);

    one->p_filesz = (uint64_t)((unsigned char *)entry_of(data, DT_NULL) - (unsigned char *)first);
}

/* The dynamic linker must not be made to write to anything but the object's data: it could change
 * libraries, or its own tables after they were checked, and so run code of the candidate. */
static void test_relocations(void **state)
{
    static const struct {
        void (*change)(unsigned char *data);
        const char *words;
    } all[] = {
        { write_far, "dynamic linker write" },     { write_before, "dynamic linker write" },
        { write_across, "dynamic linker write" },  { write_code, "dynamic linker write" },
        { write_entries, "dynamic linker write" }, { write_packed, "dynamic linker write" },
        { open_tables, "dynamic linker write" },   { copy_symbol, "not a shared object" },
        { list_twice, "not a shared object" },     { list_on, "not a shared object" },
    };
    const lab_candidate candidate = scene_candidate(&scene, "plain", 1);

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_true(lab_compile_c(&candidate, NULL, &code, &outcome));
        assert_null(lab_image_put_off(code.data, code.size));
        all[i].change(code.data);
        const char *why = lab_image_put_off(code.data, code.size);
        if (!why || !strstr(why, all[i].words))
            fail_msg("change %zu: %s", i, why ? why : "accepted");
        lab_code_free(&code);
    }
}

/* The date of a compilation is always 1 January 1970, so that a source cannot behave differently
 * later. */
static void test_no_day(void **state)
{
    static const char source[] =
        "#include \"heed_candidate.h\"\n"
        "__asm__(\".ifnc \\\"\" __DATE__ __TIME__ __TIMESTAMP__ \"\\\", \\\"Jan  1 197000:00:00"
        "Thu Jan  1 00:00:00 1970\\\"\\n.error \\\"another day\\\"\\n.endif\");\n"
        "int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)\n"
        "{ return p == 0 && b == 0; }\n";
    lab_candidate candidate = scene_candidate(&scene, "plain", 1);

    candidate.source = source;
    candidate.source_size = strlen(source);
    if (!lab_compile_c(&candidate, NULL, &code, &outcome))
        fail_msg("%s\n%s", outcome.text, code.log);
    lab_code_free(&code);
}

/* Compiles @form, in which the path of a file replaces @. */
static void ask_for(const char *form, const char *path, char said[LAB_LOG_SIZE])
{
    char source[2 * SCRATCH_PATH_SIZE];
    lab_candidate candidate = scene_candidate(&scene, "plain", 1);

    const char *name = strchr(form, '@');
    snprintf(source, sizeof source, "%.*s%s%s", (int)(name - form), form, path, name + 1);
    candidate.source = source;
    candidate.source_size = strlen(source);
    bool well = lab_compile_c(&candidate, NULL, &code, &outcome);
    snprintf(said, LAB_LOG_SIZE, "%d %s %.7000s", well, outcome.text, code.log);
    lab_code_free(&code);
    for (char *at; (at = strstr(said, "there"));) /* same length; the only difference allowed */
        memcpy(at, "never", 5);
    for (char *at; (at = strstr(said, ".s:")) && at - said >= 8;) /* the assembler's random name */
        memcpy(at - 8, "temporary..", 11);
}

/* Neither errors nor messages reveal whether an unreadable file exists. */
static void test_existence(void **state)
{
    const char *const *forms = WORDS(
        "#include \"@\"\n", "#include </../../../../../..@>\n", "#include_next \"@\"\n",
        "#define F \"@\"\n#include F\n", "#pragma GCC dependency \"@\"\n",
        "__asm__(\".include \\\"@\\\"\");\n", "__asm__(\".incbin \\\"@\\\"\");\n",
        "#if __has_include(\"@\")\n#error yes\n#endif\n",
        "#ifdef __has_include\n#if __has_include(\"@\")\n#error yes\n#endif\n#endif\n",
        "#define CAT(a, b) a##b\n#if CAT(__has_, include_next)(\"@\")\n#error yes\n#endif\n");
    static const char *const compilers[] = { "gcc", "clang" };
    static char there[LAB_LOG_SIZE], absent[LAB_LOG_SIZE];
    char path[SCRATCH_PATH_SIZE], other[SCRATCH_PATH_SIZE], found[PATH_MAX];

    scratch_text_write(state, "there.h", "int secret;\n");
    scratch_path(state, "there.h", path);
    scratch_path(state, "never.h", other);
    for (size_t c = 0; c < 2; c++) {
        setenv("HEED_CC", compilers[c], 1);
        for (size_t i = 0; forms[i] && lab_compiler_find(found); i++) {
            ask_for(forms[i], path, there);
            ask_for(forms[i], other, absent);
            assert_null(strstr(there, "secret"));
            assert_string_equal(there, absent);
        }
    }
    unsetenv("HEED_CC");
}

/* Errors that appear only when the code is loaded, which needs a process. */
static void test_loading(void **state)
{
    assert_false(scene_try(&scene, "no_entry", 0, NULL, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_COMPILE_ERROR);
    assert_non_null(strstr(outcome.text, "heed_candidate_run"));
    assert_false(scene_try(&scene, "undefined", 0, NULL, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_COMPILE_ERROR);
    assert_non_null(strstr(outcome.text, "what_nobody_defines"));
    assert_null(strstr(outcome.text, "/proc"));
}

static void test_deadline(void **state)
{
    const lab_candidate candidate = scene_candidate(&scene, "slow_compile", 0);
    const lab_limits limits = { .compile_seconds = 1 };
    int64_t start = heed_clock_ns();

    assert_false(lab_compile_c(&candidate, &limits, &code, &outcome));
    if (outcome.verdict != LAB_TRIAL_HUNG)
        fail_msg("%s: %s", lab_trial_verdict_name(outcome.verdict), outcome.text);
    assert_true(heed_clock_ns() - start < INT64_C(5000000000));
    lab_code_free(&code);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* The directory of a compilation is removed afterwards, whatever the outcome. */
static void test_folder_is_removed(void **state)
{
    int entries = 0;

    assert_int_equal(setenv("TMPDIR", *state, 1), 0);
    expect("plain", LAB_TRIAL_OK, "");
    expect("syntax", LAB_TRIAL_COMPILE_ERROR, "");
    test_deadline(state);
    DIR *directory = opendir(*state);
    assert_non_null(directory);
    while (readdir(directory))
        entries++;
    closedir(directory);
    unsetenv("TMPDIR");
    assert_int_equal(entries, 2); /* . and .. */
}

static void test_options(void **state)
{
    const char *const *good = WORDS("-O3", "-march=native", "-march=x86-64-v3",
                                    "-mprefer-vector-width=512", "-ffp-contract=fast",
                                    "-fno-math-errno", "-funroll-loops");
    static const char *const bad[] = {
        "-fplugin=evil.so", "-B/tmp",   "-o", "-I/etc", "-march=",     "-march=native -fplugin=x",
        "-march=../x",      "-mamx-/x", "-O", "-O4",    "-specs=evil", "@file",
        "-Wl,-rpath,/tmp",  "other.c",  "",   NULL
    };

    for (size_t i = 0; good[i]; i++)
        assert_true(lab_option_allowed(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (lab_option_allowed(bad[i]))
            fail_msg("%s is allowed", bad[i]);
}

static void expect_refused(const lab_candidate *candidate, const char *words)
{
    assert_false(lab_compile_c(candidate, NULL, &code, &outcome));
    assert_int_equal(outcome.verdict, LAB_TRIAL_REFUSED);
    if (!strstr(outcome.text, words))
        fail_msg("\"%s\" does not say \"%s\"", outcome.text, words);
    lab_code_free(&code);
}

static void test_refusals(void **state)
{
    static char large[LAB_SOURCE_MAX + 2];
    static const char *const options[] = { "-O2", "-fplugin=evil.so" };
    const lab_knob knobs[] = { { "GOOD", 1 }, { "bad-name", 1 } };
    const lab_candidate good = scene_candidate(&scene, "plain", 1);
    lab_candidate candidate = good;

    candidate.options = options;
    candidate.option_count = 1;
    assert_true(lab_compile_c(&candidate, NULL, &code, &outcome));
    lab_code_free(&code);
    candidate.option_count = 2;
    expect_refused(&candidate, "-fplugin=evil.so");
    candidate = good;
    candidate.knobs = knobs;
    candidate.knob_count = 2;
    expect_refused(&candidate, "bad-name");
    candidate = good;
    memset(large, ' ', sizeof large);
    candidate.source = large;
    candidate.source_size = sizeof large;
    expect_refused(&candidate, "1048578 bytes");
    candidate.source = "int x;\0int y;";
    candidate.source_size = 13;
    expect_refused(&candidate, "null byte");
    candidate.source_size = 0;
    expect_refused(&candidate, "empty");
    candidate = good;
    candidate.language = (lab_language)7;
    expect_refused(&candidate, "7");
}

static void test_launches(void **state)
{
    const heed_launch_facts good = { .entry = "kernel", .threads = 128, .rows = 64, .splits = 1 };
    lab_candidate candidate = scene_candidate(&scene, "plain", 1);

    candidate.language = LAB_LANGUAGE_CUDA;
    candidate.launch = good;
    assert_true(lab_candidate_check(&candidate, &outcome));
    candidate.launch.threads = 1025;
    assert_false(lab_candidate_check(&candidate, &outcome));
    assert_non_null(strstr(outcome.text, "launch.threads is 1025"));
    candidate.launch = good;
    candidate.launch.entry = "a b";
    assert_false(lab_candidate_check(&candidate, &outcome));
    candidate.launch = good;
    candidate.launch.rows = 0;
    assert_false(lab_candidate_check(&candidate, &outcome));
    candidate.launch = good;
    candidate.launch.smem = -1;
    assert_false(lab_candidate_check(&candidate, &outcome));
}

static void expect_strip(const char *from, const char *to)
{
    char text[256];

    snprintf(text, sizeof text, "%s", from);
    lab_log_strip(text);
    assert_string_equal(text, to);
}

static void test_strip(void **state)
{
    static char large[3 * LAB_LOG_SIZE];

    expect_strip("/tmp/a/candidate.c:3: error\n", "candidate.c:3: error\n");
    expect_strip("In file included from /usr/include/x.h:1,", "In file included from x.h:1,");
    expect_strip("x = a/b/c; y = 1/2", "x = a/b/c; y = 1/2");
    expect_strip("// a comment /* and */", "// a comment /* and */");
    expect_strip("'/usr/bin/ld': \x1b[31mno\r\n", "'ld':  [31mno \n");
    expect_strip("\xc2\x9b"
                 "1m \xe2\x80\xae \xc3\xa9\n",
                 " 1m   \xc3\xa9\n");
    expect_strip("", "");
    for (size_t i = 0; i < sizeof large - 1; i++)
        large[i] = i % 50 == 49 ? '\n' : 'x';
    lab_log_strip(large);
    assert_true(strlen(large) < LAB_LOG_SIZE);
    assert_true(strlen(large) > LAB_LOG_SIZE - 60);
    assert_int_equal(large[strlen(large) - 1], '\n');
}

static void test_compilers(void **state)
{
    char path[PATH_MAX];

    assert_true(lab_compiler_find(path));
    assert_int_equal(path[0], '/');
    assert_int_equal(setenv("HEED_CC", "/nowhere/cc", 1), 0);
    assert_false(lab_compiler_find(path));
    expect("plain", LAB_TRIAL_SYSTEM, "compiler");
    static const char *const names[] = { "gcc", "clang" };
    for (size_t i = 0; i < 2; i++) { /* each has different headers */
        assert_int_equal(setenv("HEED_CC", names[i], 1), 0);
        if (!lab_compiler_find(path))
            continue;
        assert_string_equal(strrchr(path, '/') + 1, names[i]);
        expect("plain", LAB_TRIAL_OK, "");
    }
    unsetenv("HEED_CC");
}

/* A script in the user's directory is skipped, and files next to a compiler are inaccessible. */
static void test_wrappers(void **state)
{
    char path[PATH_MAX], script[SCRATCH_PATH_SIZE], *usual = strdup(getenv("PATH"));
    char paths[LAB_COMPILER_PATHS][PATH_MAX];

    scratch_script_write(state, "cc", "#!/bin/sh\nexec /usr/bin/cc \"$@\"\n");
    scratch_path(state, "cc", script);
    char *both = NULL;
    assert_true(asprintf(&both, "%s:%s", (const char *)*state, usual) > 0);
    assert_int_equal(setenv("PATH", both, 1), 0);
    assert_true(lab_compiler_find(path));
    assert_string_not_equal(path, script);
    assert_int_equal(setenv("HEED_CC", script, 1), 0);
    assert_false(lab_compiler_find(path));
    unsetenv("HEED_CC");
    assert_int_equal(setenv("PATH", usual, 1), 0);
    size_t count = lab_compiler_paths(script, paths);
    for (size_t i = 0; i < count; i++)
        assert_true(strncmp(paths[i], script, strlen(paths[i])) != 0 ||
                    strcmp(paths[i], script) == 0);
    free(both);
    free(usual);
}

/* Returns 0 if a child's request for a new process group succeeds but has no effect. */
static int ask_for_group(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(setpgid(0, 0) != 0 ? 1 : getpgrp() == getpid() ? 2 : 0);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/* This program in place of the compiler: prints which acts were allowed. */
static int be_evil(void)
{
    int socket_error = socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
    int file_error = open("/tmp/heed-trial-evil-compiler", O_WRONLY | O_CREAT, 0600) < 0 ? errno
                                                                                         : 0;
    int read_error = open("/etc/passwd", O_RDONLY) < 0 ? errno : 0;
    int group_error = ask_for_group();
    int own_error = open("own.file", O_WRONLY | O_CREAT, 0600) < 0 ? errno : 0;

    fprintf(stderr, "error: socket %d file %d read %d group %d own %d\n", socket_error, file_error,
            read_error, group_error, own_error);
    return 1;
}

static void test_evil_compiler(void **state)
{
    char words[96], path[PATH_MAX] = "";

#ifdef __SANITIZE_ADDRESS__
    skip(); /* ASan needs more memory than a compiler may use */
#endif
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    assert_int_equal(setenv("HEED_CC", path, 1), 0);
    snprintf(words, sizeof words, "error: socket %d file %d read %d group 0 own 0", EPERM, EACCES,
             EACCES);
    expect("plain", LAB_TRIAL_COMPILE_ERROR, words);
    unsetenv("HEED_CC");
    assert_int_equal(access("/tmp/heed-trial-evil-compiler", F_OK), -1);
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[count - 1], "-lm") == 0)
        return be_evil();
    if (!can_hold_aloud())
        return HOLD_SKIPPED;
    trial_scene_open(&scene);
    return run_test_list(TEST_LIST_EACH(scratch_open, scratch_close, test_images, test_relocations,
                                        test_no_day, test_verdicts, test_existence, test_wrappers,
                                        test_loading, test_deadline, test_folder_is_removed,
                                        test_options, test_refusals, test_launches, test_strip,
                                        test_compilers, test_evil_compiler),
                         NULL, NULL);
}
