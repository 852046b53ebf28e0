/*
 * test_bench_process_cheats.c - hostile candidates that behave until they are timed, or cheat about
 * time
 *
 * The directories of lab/verify/mutants/sources have one file for each.
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contexts.h"
#include "hold.h"
#include "lab/bench/process.h"
#include "lab/trial/trial_parts.h"
#include "lab/verify/mutants/suite.h"
#include "problems.h"
#include "trial_scene.h"

#define BLOCKS 40
#define CALLS 8

static trial_scene scene;

/* The candidate in a file, and its complete @source. */
static lab_candidate cheat(const char *name, long long id, char **source)
{
    char path[96];

    memset(scene.source, 0, sizeof scene.source);
    snprintf(path, sizeof path, "../../../lab/verify/mutants/sources/%s", name);
    lab_candidate candidate = scene_candidate(&scene, path, id);
    *source = lab_mutant_source_whole(scene.source);
    assert_non_null(*source);
    candidate.source = *source;
    candidate.source_size = strlen(*source);
    return candidate;
}

/* Opens a trial of the cheat and times blocks of it; returns true if nothing was detected. */
static bool time_cheat(lab_bench_process *process, const char *name, long long id, const char *spec)
{
    char *text;
    const lab_candidate candidate = cheat(name, id, &text);
    heed_context *context = host_context(1);
    lab_bench_source source = { .label = "" };
    lab_bench_tensors tensors;
    double seconds = 0;

    source.problem = parsed(spec);
    assert_int_equal(lab_bench_tensors_create(&tensors, context, &source, 7, 0), HEED_OK);
    *process = (lab_bench_process){ .limits = { .run_seconds = 20,
                                                .tensor_bytes = (size_t)16 << 20 } };
    bool well = lab_trial_open(&process->trial, &candidate, &process->limits, &process->outcome) &&
                lab_bench_process_take(process, &tensors) &&
                lab_bench_process_block(process, &seconds) == HEED_OK;
    if (well)
        lab_bench_process_size(process, 1, CALLS);
    for (int i = 0; i < BLOCKS && well; i++)
        well = lab_bench_process_block(process, &seconds) == HEED_OK;
    lab_bench_process_close(process);
    lab_bench_tensors_free(&tensors);
    heed_context_destroy(context);
    free(text);
    return well;
}

#define PLAIN "b1 h1 s16 d16 f32"
#define GAPS "b1 h1 s16 d16 f32 o=512:32:16"

static void expect(const char *name, long long id, const char *spec, lab_trial_verdict verdict,
                   const char *words)
{
    lab_bench_process process;
    bool well = time_cheat(&process, name, id, spec);

    if (verdict == LAB_TRIAL_WROTE_OUTSIDE && process.outcome.verdict == LAB_TRIAL_ILLEGAL_ACCESS)
        verdict = LAB_TRIAL_ILLEGAL_ACCESS; /* it was next to a guard page */
    if (strcmp(name, "timed/private_output") == 0 &&
        process.outcome.verdict == LAB_TRIAL_FORBIDDEN) {
        verdict = LAB_TRIAL_FORBIDDEN; /* the guard pages of this block are checked */
        words = "around its tensors";
    }
    if (well == (words != NULL) || process.outcome.verdict != verdict ||
        (words && !strstr(process.outcome.text, words)))
        fail_msg("%s: %s: \"%s\" instead of %s: \"%s\"", name,
                 lab_trial_verdict_name(process.outcome.verdict), process.outcome.text,
                 lab_trial_verdict_name(verdict), words ? words : "");
}

static void test_cheats(void **state)
{
    static const struct {
        const char *name;
        const char *spec;
        lab_trial_verdict verdict;
        const char *words; /* NULL: it has no effect, and passes */
    } cheats[] = {
        { "timed/stays", PLAIN, LAB_TRIAL_OK, "unwritten" },
        { "timed/done_early", PLAIN, LAB_TRIAL_OK, "unwritten" },
        { "timed/idle", PLAIN, LAB_TRIAL_OK, "unwritten" },
        { "timed/page_offset", PLAIN, LAB_TRIAL_OK, "unwritten" },
        { "timed/address_order", PLAIN, LAB_TRIAL_OK, "unwritten" },
        { "timed/slot_reuse", PLAIN, LAB_TRIAL_OK, "unwritten" },
        { "timed/private_output", PLAIN, LAB_TRIAL_OK, "unwritten" },
        { "timed/keeps", PLAIN, LAB_TRIAL_OK, "error allowed" },
        { "timed/keeps_bias", "b1 h1 s16 d16 f32 bias=f32", LAB_TRIAL_OK, "error allowed" },
        { "timed/one_in_four", PLAIN, LAB_TRIAL_OK, "error allowed" },
        { "timed/row_less", PLAIN, LAB_TRIAL_OK, "error allowed" },
        { "timed/corner_rows", PLAIN, LAB_TRIAL_OK, "error allowed" },
        { "timed/first_bytes", PLAIN, LAB_TRIAL_OK, "error allowed" },
        { "judged/scans_values", PLAIN, LAB_TRIAL_OK, "error allowed" },
        { "timed/memo", PLAIN, LAB_TRIAL_OK, NULL },
        { "timed/rotations", PLAIN, LAB_TRIAL_OK, NULL },
        { "timed/read_before", PLAIN, LAB_TRIAL_ILLEGAL_ACCESS, "before the start of V" },
        { "timed/write_past", PLAIN, LAB_TRIAL_WROTE_OUTSIDE, "past the end of O" },
        { "timed/write_gap", GAPS, LAB_TRIAL_OK, "between its rows" },
        { "judged/opens_walls", PLAIN, LAB_TRIAL_FORBIDDEN, "around its tensors" },
        { "judged/sleeps", PLAIN, LAB_TRIAL_FORBIDDEN, "nanosleep" },
        { "timed/continues", PLAIN, LAB_TRIAL_FORBIDDEN, "tgkill" },
        { "timed/leaves_group", PLAIN, LAB_TRIAL_FORBIDDEN, "setpgid" },
        { "sandbox/busy_size", PLAIN, LAB_TRIAL_HUNG,
          " s" }, /* of the CPU; on a busy machine, in total */
    };

    for (size_t i = 0; i < sizeof cheats / sizeof *cheats; i++)
        expect(cheats[i].name, 0, cheats[i].spec, cheats[i].verdict, cheats[i].words);
}

/* A tensor of whole cache lines, and one of 3 * 5 elements, which is not. */
static void test_reads_past(void **state)
{
    static const long long bytes[] = { 1, 4, 32, 64 };

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        expect("timed/read_past", bytes[i], PLAIN, LAB_TRIAL_ILLEGAL_ACCESS, "past the end of K");
        expect("timed/read_past", bytes[i], "b1 h1 s3 d5 f32", LAB_TRIAL_ILLEGAL_ACCESS,
               "past the end of K");
    }
}

/* No page may be both writable and executable, or become executable, even while the code is
 * loaded. */
static void test_code_is_fixed(void **state)
{
    static const text_code cheats[] = {
        { "sandbox/maps_rwx", LAB_TRIAL_FORBIDDEN, "mmap of code" },
        { "sandbox/maps_wx", LAB_TRIAL_FORBIDDEN, "mprotect of code" },
        { "sandbox/maps_anonymous", LAB_TRIAL_FORBIDDEN, "mmap of code" },
        { "sandbox/maps_changed", LAB_TRIAL_FORBIDDEN, "mprotect of code" },
        { "sandbox/stack_code", LAB_TRIAL_FORBIDDEN, "mprotect of code" },
        { "sandbox/section_code", LAB_TRIAL_FORBIDDEN, "mmap of code" },
        { "honest/maps_code", LAB_TRIAL_OK, NULL },
        { "sandbox/maps_outputs", LAB_TRIAL_FORBIDDEN, "mmap of code" },
    };

    for (size_t i = 0; i < sizeof cheats / sizeof *cheats; i++)
        expect(cheats[i].given, 0, PLAIN, cheats[i].code, cheats[i].wanted);
}

/* No code of the candidate runs during loading, when a process has more permissions. */
static void test_nothing_runs_early(void **state)
{
    static const text_code cheats[] = {
        { "sandbox/asks_files", LAB_TRIAL_FILE, "stat" },
        { "sandbox/reads_library", LAB_TRIAL_FILE, "open" },
        { "sandbox/chooses", LAB_TRIAL_COMPILE_ERROR, "chosen by another one" },
        { "sandbox/chooses_hidden", LAB_TRIAL_COMPILE_ERROR, "chosen by another one" },
        { "honest/constructs", LAB_TRIAL_OK, NULL },
    };

    for (size_t i = 0; i < sizeof cheats / sizeof *cheats; i++)
        expect(cheats[i].given, 0, PLAIN, cheats[i].code, cheats[i].wanted);
}

/* An act that no filter stopped is detected before the first call. */
static void test_pages_are_looked_at(void **state)
{
    static const int access[] = { PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC,
                                  PROT_READ | PROT_WRITE | PROT_EXEC };

    for (size_t i = 0; i < sizeof access / sizeof *access; i++) {
        void *page = mmap(NULL, 4096, access[i], MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(page != MAP_FAILED);
        assert_int_equal(lab_pages_fixed(getpid()), !(access[i] & PROT_EXEC));
        munmap(page, 4096);
    }
    assert_true(lab_pages_fixed(getpid()));
}

/* A tensor between its guard pages, as listed by the system, and a third mapping of a file with the
 * same inode number: a library on another device does not belong to the arena, and a second mapping
 * of the arena is a hole. */
static void test_walls_are_told_by_device(void **state)
{
    static const text_integer rows[] = { { "fe:01", true }, { "00:02", true }, { "00:01", false } };
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const struct stat arena = { .st_dev = 1, .st_ino = 332837 };
    const unsigned long long base = 0x10000000;
    lab_wire_set set = { .room[LAB_Q] = { .start = 2 * page + 64, .size = 256 } };
    char text[1024];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text,
                 "%llx-%llx ---s 00000000 00:01 332837 /memfd:tensors (deleted)\n"
                 "%llx-%llx r--s %08llx 00:01 332837 /memfd:tensors (deleted)\n"
                 "%llx-%llx ---s %08llx 00:01 332837 /memfd:tensors (deleted)\n"
                 "7f0000000000-7f0000026000 r--p 00000000 %s 332837 /lib/libc.so.6\n"
                 "7ff000000000-7ff000001000 rw-p 00000000 00:00 0 [stack]\n",
                 base, base + 2 * page, base + 2 * page, base + 3 * page, 2ULL * page,
                 base + 3 * page, base + 9 * page, 3ULL * page, rows[i].text);
        FILE *maps = fmemopen(text, strlen(text), "r");
        assert_non_null(maps);
        assert_int_equal(lab_pages_text_walled(maps, &arena, false, 0, &set, 1), rows[i].value);
        fclose(maps);
    }
}

int main(void)
{
    if (!can_hold_aloud())
        return HOLD_SKIPPED;
    trial_scene_open(&scene);
    return run_test_list(TEST_LIST(test_cheats, test_reads_past, test_code_is_fixed,
                                   test_nothing_runs_early, test_pages_are_looked_at,
                                   test_walls_are_told_by_device),
                         NULL, NULL);
}
