/*
 * test_record_damage.c - damaged boards: the damage is reported or harmless, and the file is never
 * overwritten
 *
 *     test_record_damage [sample]
 *
 * With "sample" a fifth of the damaged files are tried.
 */
#include "run_tests.h"

#include <string.h>

#include "record_scene.h"
#include "scratch.h"

enum {
    TRIALS = 12,
    ROUNDS = 400,
    SIZE_MAX_BYTES = 1 << 20
};

static int rounds;

/* Their outcome. */
typedef struct tally {
    int unopened, unread, failed_checks, sound, added;
} tally;

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Changes, zeroes or truncates @bytes. Returns the remaining size. */
static size_t damage(unsigned char *bytes, size_t size, uint64_t *seed)
{
    size_t at = next(seed) % size, length = 1 + next(seed) % 4096;
    switch (next(seed) % 8) {
    case 0: /* a truncated file */
        return at;
    case 1: /* a hole */
        memset(bytes + at, 0, length < size - at ? length : size - at);
        return size;
    case 2: /* the head */
        bytes[next(seed) % 100] ^= (unsigned char)(1 + next(seed) % 255);
        return size;
    default:
        for (uint64_t n = 1 + next(seed) % 4; n > 0; n--)
            bytes[next(seed) % size] ^= (unsigned char)(1 + next(seed) % 255);
        return size;
    }
}

static heed_status pass_row(void *data, const lab_record_row *row)
{
    *(size_t *)data += strlen(row->problem) + strlen(row->kernel);
    return HEED_OK;
}

static heed_status pass_field(void *data, const lab_record_field *field)
{
    *(size_t *)data += field->text ? strlen(field->text) : field->count;
    return HEED_OK;
}

/* Reads everything. Returns the worst status. */
static heed_status read_all(lab_record *record)
{
    heed_status worst = HEED_OK;
    size_t sum = 0;
    for (int part = LAB_BOARD_BEST; part <= LAB_BOARD_ALL; part++) {
        const lab_record_filter filter = { .part = (lab_record_part)part };
        heed_status status = lab_record_visit(record, &filter, pass_row, &sum, NULL);
        worst = status == HEED_OK ? worst : status;
    }
    for (int64_t trial = 1; trial <= TRIALS; trial++) {
        heed_status status = lab_record_show(record, trial, pass_field, &sum, NULL);
        worst = status == HEED_OK ? worst : status;
    }
    return worst;
}

static void assert_told(heed_status status, const lab_error *error, const char *path)
{
    if (status != HEED_ERR_CORRUPT || !strstr(error->text, path))
        fail_msg("%s: %s", heed_status_name(status), error->text);
}

/* *@broken: even the database structure is damaged. */
static void try_to_read(const char *path, tally *sum, bool *broken)
{
    lab_record *record;
    lab_error error;
    lab_record_chain chain;
    *broken = true;
    heed_status status = lab_record_open(&record, path, LAB_RECORD_READ, &error);
    if (status != HEED_OK) {
        assert_told(status, &error, path);
        sum->unopened++;
        return;
    }
    sum->unread += read_all(record) != HEED_OK;
    status = lab_record_check(record, NULL, &chain, &error);
    *broken = status != HEED_OK && !strstr(error.text, "belongs to trial");
    if (status != HEED_OK)
        assert_told(status, &error, path);
    sum->failed_checks += status != HEED_OK;
    sum->sound += status == HEED_OK;
    lab_record_close(record);
}

/* Adds a trial if possible; if not, the bytes of the file must be unchanged. */
static void try_to_write(const char *path, const unsigned char *bytes, size_t size, bool broken,
                         tally *sum)
{
    static unsigned char after[SIZE_MAX_BYTES];
    record_scene scene;
    lab_record *record;
    lab_error error;
    heed_status status = lab_record_open(&record, path, LAB_RECORD_WRITE, &error);
    if (status != HEED_OK) {
        assert_told(status, &error, path);
        assert_int_equal(scratch_read(path, after, sizeof after), size);
        assert_memory_equal(after, bytes, size);
        return;
    }
    if (broken)
        fail_msg("a broken file was opened for writing: %s", path);
    record_scene_make(&scene, 1, 99);
    sum->added += lab_record_append(record, &scene.trial, NULL, &error) == HEED_OK;
    lab_record_close(record);
}

static size_t make_board(const char *path, unsigned char *bytes)
{
    record_scene scene;
    lab_record *record = record_scene_open(path, LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "work");
    for (int i = 0; i < TRIALS; i++) {
        record_scene_make(&scene, run, i);
        assert_int_equal(lab_record_append(record, &scene.trial, NULL, NULL), HEED_OK);
    }
    lab_record_close(record);
    return scratch_read(path, bytes, SIZE_MAX_BYTES);
}

static void told_or_read(void **state)
{
    static unsigned char good[SIZE_MAX_BYTES], bad[SIZE_MAX_BYTES];
    char path[SCRATCH_PATH_SIZE];
    uint64_t seed = 7;
    tally sum = { 0 };
    bool broken;
    size_t whole = make_board(scratch_path(state, "good.db", path), good);
    scratch_path(state, "bad.db", path);
    for (int i = 0; i < rounds; i++) {
        memcpy(bad, good, whole);
        size_t size = damage(bad, whole, &seed);
        scratch_write(path, bad, size);
        if (size == 0)
            continue;
        try_to_read(path, &sum, &broken);
        try_to_write(path, bad, size, broken, &sum);
    }
    print_message("%d files of %zu bytes: %d not opened, %d not read to the end, %d reported by a "
                  "check, %d sound; %d took another trial\n",
                  rounds, whole, sum.unopened, sum.unread, sum.failed_checks, sum.sound, sum.added);
    assert_true(sum.unopened > 0 && sum.failed_checks > 0 && sum.added > 0);
}

/* Every byte that belongs to a trial is covered by its seal: changes are reported. */
static void changed_content_is_told(void **state)
{
    static const char *const texts[] = { "torch-flash", "fewer registers", "m3n64",
                                         "NVIDIA H200", "not installed",   "2.11.0" };
    static unsigned char bytes[SIZE_MAX_BYTES];
    char path[SCRATCH_PATH_SIZE];
    size_t size = make_board(scratch_path(state, "seal.db", path), bytes);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        unsigned char *at = memmem(bytes, size, texts[i], strlen(texts[i]));
        assert_non_null(at);
        lab_record *record;
        lab_error error;
        lab_record_chain chain;
        at[1] ^= 1;
        scratch_write(path, bytes, size);
        at[1] ^= 1;
        heed_status status = lab_record_open(&record, path, LAB_RECORD_READ, &error);
        assert_int_equal(status, HEED_OK);
        assert_told(lab_record_check(record, NULL, &chain, &error), &error, path);
        lab_record_close(record);
    }
    scratch_write(path, bytes, size);
    record_row rows[TRIALS];
    lab_record *record = record_scene_open(path, LAB_RECORD_READ);
    const lab_record_filter all = { .part = LAB_BOARD_ALL };
    assert_int_equal(record_scene_rows(record, &all, rows, TRIALS), TRIALS);
    assert_string_equal(rows[0].row.trusted, "untested");
    lab_record_close(record);
}

/* SQLite reads zeros past a lost end, and ignores bytes appended to the file. */
static void lost_or_grown_end_is_told(void **state)
{
    static unsigned char bytes[SIZE_MAX_BYTES], after[SIZE_MAX_BYTES];
    char path[SCRATCH_PATH_SIZE];
    size_t whole = make_board(scratch_path(state, "end.db", path), bytes);
    const size_t sizes[] = { whole - 1, whole - 100, whole + 1, whole + 4096 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lab_record *record;
        lab_error error;
        scratch_write(path, bytes, sizes[i]);
        assert_told(lab_record_open(&record, path, LAB_RECORD_WRITE, &error), &error, path);
        assert_int_equal(scratch_read(path, after, sizeof after), sizes[i]);
        assert_memory_equal(after, bytes, sizes[i]);
    }
    scratch_write(path, bytes, whole);
    lab_record_close(record_scene_open(path, LAB_RECORD_WRITE));
}

int main(int argc, char **argv)
{
    rounds = argc > 1 && strcmp(argv[1], "sample") == 0 ? ROUNDS / 5 : ROUNDS;
    return run_test_list(
        TEST_LIST(told_or_read, changed_content_is_told, lost_or_grown_end_is_told), scratch_open,
        scratch_close);
}
