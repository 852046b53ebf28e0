/*
 * trials.c - trial files
 */
#include "lab/search/trials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/base/array.h"
#include "lab/base/file.h"

#define MAGIC "heed-trials 1"
#define LINE_SIZE 2048

typedef struct reader {
    lab_trials *trials;
    const lab_space *space;
    const char *path;
    size_t line;
    lab_error *error;
} reader;

static heed_status fail(const reader *r, const char *what, const char *text)
{
    return lab_fail(r->error, HEED_ERR_CORRUPT, "%s:%zu: %s \"%.80s\"", r->path, r->line, what,
                    text);
}

/* Other files, by their first bytes, for a helpful message. */
static heed_status fail_as_other(const reader *r, const char *text)
{
    static const char *const others[][2] = {
        { "SQLite format 3", "an SQLite database, as a board is" },
        { "heed wisdom", "wisdom" },
        { "heed-trials", "trials of another version of heed" },
        { "{", "JSON" },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(text, others[i][0], strlen(others[i][0])) == 0)
            return lab_fail(r->error, HEED_ERR_CORRUPT, "%s:1: not " MAGIC ", but %s", r->path,
                            others[i][1]);
    return fail(r, "not " MAGIC ":", text);
}

void lab_trials_free(lab_trials *trials)
{
    free(trials->shapes);
    free(trials->records);
    memset(trials, 0, sizeof *trials);
}

/* ---- Reading ---- */

static heed_status read_shape(reader *r, const char *spec)
{
    lab_trials *trials = r->trials;
    if (trials->shape_count == LAB_SEARCH_SHAPES || strlen(spec) >= HEED_SPEC_SIZE)
        return fail(r, "too many shapes, or too long a one:", spec);
    if (!lab_grow(&trials->shapes, (size_t)trials->shape_count, sizeof *trials->shapes))
        return lab_fail(r->error, HEED_ERR_NO_MEMORY, "%s: no memory", r->path);
    snprintf(trials->shapes[trials->shape_count++], HEED_SPEC_SIZE, "%s", spec);
    return HEED_OK;
}

static lab_trial_record *add_record(reader *r)
{
    lab_trials *trials = r->trials;
    if (!lab_grow(&trials->records, trials->count, sizeof *trials->records))
        return NULL;
    return memset(&trials->records[trials->count++], 0, sizeof(lab_trial_record));
}

static heed_status read_trial(reader *r, char *text)
{
    char word[16];
    int end = 0;
    lab_point point;
    lab_error inner;
    lab_trial_record one = { .order = r->line };
    char *why = strstr(text, " ; ");
    if (why)
        *why = '\0';
    if (sscanf(text, "%d %d %15s %lf %n", &one.shape, &one.effort, word, &one.answer.seconds,
               &end) != 4 ||
        end == 0)
        return fail(r, "not SHAPE EFFORT STATE SECONDS POINT:", text);
    one.answer.state = lab_state_of(word);
    if (one.answer.state == LAB_STATES || one.shape < 0 || one.shape >= r->trials->shape_count ||
        one.effort < 0 || one.effort >= LAB_SEARCH_EFFORTS)
        return fail(r, "no such outcome, shape or effort:", text);
    if (lab_point_parse(r->space, text + end, &point, &inner) != HEED_OK)
        return fail(r, "no point of the space:", inner.text);
    one.point = lab_space_index(r->space, &point);
    snprintf(one.answer.why, sizeof one.answer.why, "%s", why ? why + 3 : "");
    lab_trial_record *place = add_record(r);
    if (!place)
        return lab_fail(r->error, HEED_ERR_NO_MEMORY, "%s: no memory", r->path);
    *place = one;
    return HEED_OK;
}

static heed_status read_line(reader *r, char *text)
{
    lab_trials *trials = r->trials;
    const struct {
        const char *word;
        char *place;
        size_t size;
    } heads[] = { { "space ", trials->space, sizeof trials->space },
                  { "kernel ", trials->kernel, sizeof trials->kernel },
                  { "device ", trials->device, sizeof trials->device } };
    if (r->line == 1)
        return strcmp(text, MAGIC) == 0 ? HEED_OK : fail_as_other(r, text);
    if (strncmp(text, "trial ", 6) == 0)
        return read_trial(r, text + 6);
    if (strncmp(text, "shape ", 6) == 0)
        return read_shape(r, text + 6);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (strncmp(text, heads[i].word, strlen(heads[i].word)) == 0) {
            snprintf(heads[i].place, heads[i].size, "%s", text + strlen(heads[i].word));
            return HEED_OK;
        }
    return *text == '\0' || *text == '#' ? HEED_OK : fail(r, "not a line of trials:", text);
}

static int by_point(const void *a, const void *b)
{
    const lab_trial_record *one = a, *other = b;
    if (one->point != other->point)
        return one->point < other->point ? -1 : 1;
    if (one->shape != other->shape)
        return one->shape < other->shape ? -1 : 1;
    if (one->effort != other->effort)
        return one->effort < other->effort ? -1 : 1;
    return one->order < other->order ? -1 : one->order > other->order;
}

static bool same(const lab_trial_record *a, const lab_trial_record *b)
{
    return a->point == b->point && a->shape == b->shape && a->effort == b->effort;
}

/* Sorts the records, and keeps the last of duplicates. */
static void arrange(lab_trials *trials)
{
    size_t kept = 0;
    if (trials->count > 0)
        qsort(trials->records, trials->count, sizeof *trials->records, by_point);
    for (size_t i = 0; i < trials->count; i++) {
        bool again = kept > 0 && same(&trials->records[kept - 1], &trials->records[i]);
        trials->records[again ? kept - 1 : kept] = trials->records[i];
        kept += !again;
    }
    trials->count = kept;
}

/* Handles a line without a newline: only the last one may be so. */
static heed_status read_torn(const reader *r, FILE *file, const char *text, size_t length)
{
    if (r->line == 1 && strncmp(text, MAGIC, length) != 0)
        return fail_as_other(r, text);
    if (length == LINE_SIZE - 1)
        return fail(r, "line too long:", text);
    return feof(file) ? HEED_OK : fail(r, "a line with a byte that is 0:", text);
}

static heed_status check_space(const reader *r)
{
    const char *name = r->trials->space;
    if (r->line == 0)
        return lab_fail(r->error, HEED_ERR_CORRUPT, "%s: it is empty, and should begin with " MAGIC,
                        r->path);
    if (!*name)
        return lab_fail(r->error, HEED_ERR_CORRUPT,
                        "%s: it does not say which space it is about; \"%s\" was asked for",
                        r->path, r->space->name);
    if (strcmp(name, r->space->name) != 0)
        return lab_fail(r->error, HEED_ERR_CORRUPT, "%s: it is about the space \"%s\", not \"%s\"",
                        r->path, name, r->space->name);
    return HEED_OK;
}

static heed_status read_lines(reader *r, FILE *file)
{
    char text[LINE_SIZE];
    heed_status status = HEED_OK;
    while (status == HEED_OK && fgets(text, sizeof text, file)) {
        size_t length = strlen(text);
        r->line++;
        if (length > 0 && text[length - 1] == '\n') {
            text[length - 1] = '\0';
            status = read_line(r, text);
        } else {
            status = read_torn(r, file, text, length);
        }
    }
    if (status == HEED_OK && ferror(file))
        return lab_fail(r->error, HEED_ERR_SYSTEM, "%s: %s", r->path, strerror(errno));
    return status == HEED_OK ? check_space(r) : status;
}

heed_status lab_trials_read(lab_trials *trials, const lab_space *space, const char *path,
                            lab_error *error)
{
    FILE *file;
    reader r = { .trials = trials, .space = space, .path = path, .error = error };
    memset(trials, 0, sizeof *trials);
    heed_status status = lab_file_open(&file, path, error);
    if (status != HEED_OK)
        return status;
    status = read_lines(&r, file);
    fclose(file);
    if (status == HEED_OK)
        arrange(trials);
    else
        lab_trials_free(trials);
    return status;
}

const lab_evaluation *lab_trials_find(const lab_trials *trials, int64_t point, int shape,
                                      int effort)
{
    lab_trial_record key = { .point = point,
                             .shape = shape,
                             .effort = effort < 0 ? LAB_SEARCH_EFFORTS : effort };
    size_t low = 0, high = trials->count; /* the first not before the key */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_point(&trials->records[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (effort >= 0)
        return low < trials->count && same(&trials->records[low], &key)
                   ? &trials->records[low].answer
                   : NULL;
    const lab_trial_record *last = low > 0 ? &trials->records[low - 1] : NULL;
    return last && last->point == point && last->shape == shape ? &last->answer : NULL;
}

/* ---- Writing ---- */

static bool same_head(const lab_trials *a, const lab_trials *b)
{
    if (strcmp(a->space, b->space) != 0 || strcmp(a->kernel, b->kernel) != 0 ||
        strcmp(a->device, b->device) != 0 || a->shape_count != b->shape_count)
        return false;
    for (int i = 0; i < a->shape_count; i++)
        if (strcmp(a->shapes[i], b->shapes[i]) != 0)
            return false;
    return true;
}

static void write_head(FILE *file, const lab_trials *trials)
{
    fprintf(file, "%s\nspace %s\nkernel %s\ndevice %s\n", MAGIC, trials->space, trials->kernel,
            trials->device);
    for (int i = 0; i < trials->shape_count; i++)
        fprintf(file, "shape %s\n", trials->shapes[i]);
}

/* Truncates the file after its last newline. */
static bool cut_torn_line(FILE *file)
{
    long end;
    if (fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0)
        return false;
    while (end > 0) {
        if (fseek(file, end - 1, SEEK_SET) != 0)
            return false;
        if (getc(file) == '\n')
            break;
        end--;
    }
    return ftruncate(fileno(file), end) == 0 && fseek(file, end, SEEK_SET) == 0;
}

heed_status lab_trials_append(FILE **file, const lab_trials *trials, const lab_space *space,
                              const char *path, lab_error *error)
{
    lab_trials old = { .shape_count = 0 };
    heed_status status = HEED_OK;
    bool begun = access(path, F_OK) == 0;
    *file = NULL;
    if (begun)
        status = lab_trials_read(&old, space, path, error);
    if (status == HEED_OK && begun && !same_head(&old, trials))
        status = lab_fail(error, HEED_ERR_INVALID,
                          "%s has trials of another kernel, device or shapes", path);
    lab_trials_free(&old);
    if (status != HEED_OK)
        return status;
    int handle = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (begun ? 0 : O_EXCL), 0666);
    *file = handle >= 0 ? fdopen(handle, "r+") : NULL;
    if (!*file || !cut_torn_line(*file)) {
        status = lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(errno));
        if (*file)
            fclose(*file);
        else if (handle >= 0)
            close(handle);
        *file = NULL;
        return status;
    }
    if (!begun)
        write_head(*file, trials);
    if (fflush(*file) == 0)
        return HEED_OK;
    status = lab_fail(error, HEED_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    fclose(*file);
    *file = NULL;
    return status;
}

heed_status lab_trials_write(FILE *file, const lab_space *space, const lab_trial_record *record)
{
    char text[LAB_POINT_TEXT], why[LAB_WHY_SIZE];
    const lab_point point = lab_space_at(space, record->point);
    lab_point_print(space, &point, text);
    snprintf(why, sizeof why, "%s", record->answer.why);
    for (char *at = why; *at; at++)
        if (*at < ' ')
            *at = ' ';
    /* All digits: equal results must lead to equal choices. */
    fprintf(file, "trial %d %d %s %.17g %s%s%s\n", record->shape, record->effort,
            lab_state_name(record->answer.state), record->answer.seconds, text, *why ? " ; " : "",
            why);
    return fflush(file) == 0 ? HEED_OK : HEED_ERR_SYSTEM;
}
