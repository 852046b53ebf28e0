/*
 * report_find.c - finds the records of operands, and groups them into sets
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/ends.h"
#include "report.h"

#define DEPTH_MAX 4

/* -------------------------------------------------------------------------- */
/* Files                                                                      */
/* -------------------------------------------------------------------------- */

/* 2026-01-31 */
static bool is_date(const char *name)
{
    static const char form[] = "dddd-dd-dd";
    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != form[i])
            return false;
    return name[sizeof form - 1] == '\0';
}

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static cli_exit out_of_memory(const char *path)
{
    cli_error("%s: not enough memory", path);
    return CLI_ENVIRONMENT;
}

/* Rows whose record has no limit get the known limit of the device. */
static void fill_limits(report_record *r)
{
    const lab_final_place place = { r->device.name, r->around.features, (int)r->threads, r->cold };
    for (size_t i = 0; i < r->row_count; i++) {
        report_row *row = &r->rows[i];
        lab_final_limit limit;
        if (row->share > 0 || !row->ok || !lab_final_limit_of(&limit, &place, row->problem))
            continue;
        row->share = limit.seconds / row->p50;
        row->share_of = limit.from;
        row->bound_by = limit.binds;
    }
}

static cli_exit add_file(report_records *records, const char *path)
{
    report_record *record;
    cli_exit code = report_read(&record, path);
    if (code != CLI_OK)
        return code;
    fill_limits(record);
    if (!lab_grow(&records->items, records->count, sizeof *records->items)) {
        report_record_free(record);
        return out_of_memory(path);
    }
    records->items[records->count++] = record;
    return CLI_OK;
}

static int no_dot(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s%s", folder, lab_ends_with(folder, "/") ? "" : "/", name);
    return path;
}

static cli_exit add_folder(report_records *records, const char *folder, int depth);

/* The entries of a folder to read: its records; else the newest folder that is named by a date and
 * has records, and the contents of other folders. */
typedef enum wanted {
    RECORDS,
    DATES,
    FOLDERS
} wanted;

static cli_exit add_entry(report_records *records, const char *folder, const char *name,
                          wanted what, int depth)
{
    char *path = join(folder, name);
    if (!path)
        return out_of_memory(folder);
    cli_exit code = CLI_OK;
    if (what == RECORDS) {
        if (lab_ends_with(name, ".json") && !is_folder(path))
            code = add_file(records, path);
    } else if (is_date(name) == (what == DATES) && is_folder(path))
        code = add_folder(records, path, depth + 1);
    free(path);
    return code;
}

/* Adds dates from the newest on, up to the first with records. */
static cli_exit add_entries(report_records *records, const char *folder, struct dirent **entries,
                            int count, wanted what, int depth)
{
    cli_exit code = CLI_OK;
    size_t before = records->count;
    for (int i = 0; code == CLI_OK && i < count; i++) {
        if (what == DATES && records->count > before)
            break;
        const char *name = entries[what == DATES ? count - 1 - i : i]->d_name;
        code = add_entry(records, folder, name, what, depth);
    }
    return code;
}

static cli_exit add_folder(report_records *records, const char *folder, int depth)
{
    struct dirent **entries;
    size_t before = records->count;
    if (depth > DEPTH_MAX)
        return CLI_OK;
    int count = scandir(folder, &entries, no_dot, alphasort);
    if (count < 0) {
        cli_error("%s: %s", folder, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    cli_exit code = add_entries(records, folder, entries, count, RECORDS, depth);
    for (int what = DATES; what <= FOLDERS && code == CLI_OK && records->count == before; what++)
        code = add_entries(records, folder, entries, count, (wanted)what, depth);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return code;
}

/* -------------------------------------------------------------------------- */
/* Sets                                                                       */
/* -------------------------------------------------------------------------- */

int report_order_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static bool same_text(const char *a, const char *b)
{
    return report_order_text(a, b) == 0;
}

/* The length of the folder's name in a path. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

static bool go_together(const report_record *a, const report_record *b)
{
    size_t length = folder_length(a->path);
    return same_text(a->device.name, b->device.name) &&
           same_text(a->around.features, b->around.features) && a->threads == b->threads &&
           a->cold == b->cold && a->replay == b->replay && a->behind == b->behind &&
           length == folder_length(b->path) && strncmp(a->path, b->path, length) == 0;
}

static int by_time(const void *a, const void *b)
{
    const report_record *x = *(report_record *const *)a, *y = *(report_record *const *)b;
    int order = strcmp(x->time, y->time);
    return order ? order : strcmp(x->path, y->path);
}

static bool is_same_problem(const report_row *a, const report_row *b)
{
    return strcmp(a->problem, b->problem) == 0 && same_text(a->label, b->label);
}

const report_row *report_row_find(const report_set *set, const report_row *row)
{
    for (size_t i = 0; row->ok && i < set->row_count; i++)
        if (is_same_problem(set->rows[i], row))
            return set->rows[i]->ok ? set->rows[i] : NULL;
    return NULL;
}

/* Adds @row. If there is a newer one of the same problem, @row replaces it only if @row has a
 * figure and the newer one does not. */
static void add_row(report_set *set, const report_row *row)
{
    for (size_t i = 0; i < set->row_count; i++)
        if (set->rows[i]->record != row->record && is_same_problem(set->rows[i], row)) {
            if (row->ok && !set->rows[i]->ok)
                set->rows[i] = row;
            return;
        }
    set->rows[set->row_count++] = row;
}

bool report_has_rival(const report_set *set, const char *name)
{
    for (size_t i = 0; i < set->rival_count; i++)
        if (strcmp(set->rivals[i], name) == 0)
            return true;
    return false;
}

static void add_rivals(report_set *set)
{
    for (size_t i = 0; i < set->row_count; i++)
        for (size_t j = 0; j < set->rows[i]->match_count; j++) {
            const report_match *match = &set->rows[i]->matches[j];
            if (set->rows[i]->ok && match->ok && !report_has_rival(set, match->name))
                set->rivals[set->rival_count++] = match->name;
        }
}

/* Fills in rows and rivals of the set's records, those of the newest record first. */
static bool fill_set(report_set *set)
{
    size_t rows = 1, rivals = 1;
    qsort(set->records, set->record_count, sizeof *set->records, by_time);
    for (size_t i = 0; i < set->record_count; i++) {
        rows += set->records[i]->row_count;
        for (size_t j = 0; j < set->records[i]->row_count; j++)
            rivals += set->records[i]->rows[j].match_count;
    }
    set->rows = calloc(rows, sizeof *set->rows);
    set->rivals = calloc(rivals, sizeof *set->rivals);
    if (!set->rows || !set->rivals)
        return false;
    for (size_t i = set->record_count; i-- > 0;)
        for (size_t j = 0; j < set->records[i]->row_count; j++)
            add_row(set, &set->records[i]->rows[j]);
    add_rivals(set);
    return true;
}

/* Makes a set of record @index and the later ones that belong with it and are not in a set. */
static bool make_set(report_records *records, const char *operand, size_t index, bool *taken)
{
    if (!lab_grow(&records->sets, records->set_count, sizeof *records->sets))
        return false;
    report_set *set = &records->sets[records->set_count++];
    *set = (report_set){ .operand = operand };
    set->records = calloc(records->count, sizeof(report_record *));
    if (!set->records)
        return false;
    for (size_t i = index; i < records->count; i++)
        if (!taken[i] && go_together(records->items[index], records->items[i])) {
            taken[i] = true;
            set->records[set->record_count++] = records->items[i];
        }
    return fill_set(set);
}

/* Makes the sets of the records from @first on, which are those of one operand. */
static cli_exit make_sets(report_records *records, const char *operand, size_t first)
{
    bool *taken = calloc(records->count + 1, sizeof *taken);
    bool good = taken != NULL;
    for (size_t i = first; good && i < records->count; i++)
        if (!taken[i])
            good = make_set(records, operand, i, taken);
    free(taken);
    return good ? CLI_OK : out_of_memory(operand);
}

static cli_exit add_operand(report_records *records, const char *operand)
{
    size_t first = records->count;
    cli_exit code = is_folder(operand) ? add_folder(records, operand, 0)
                                       : add_file(records, operand);
    if (code == CLI_OK && records->count == first) {
        cli_error("%s: no record in it: 'heed bench --record FOLDER' writes "
                  "FOLDER/<device>/<date>/*.json",
                  operand);
        code = CLI_ENVIRONMENT;
    }
    return code == CLI_OK ? make_sets(records, operand, first) : code;
}

cli_exit report_find(report_records *records, const cli_args *args)
{
    cli_exit code = CLI_OK;
    for (int i = 0; code == CLI_OK && i < cli_args_operand_count(args); i++)
        code = add_operand(records, cli_args_operand(args, i));
    return code;
}

void report_records_free(report_records *records)
{
    for (size_t i = 0; i < records->set_count; i++) {
        free(records->sets[i].records);
        free((void *)records->sets[i].rows);
        free((void *)records->sets[i].rivals);
    }
    for (size_t i = 0; i < records->count; i++)
        report_record_free(records->items[i]);
    free(records->sets);
    free(records->items);
    *records = (report_records){ .count = 0 };
}

const report_record *report_newest(const report_set *set)
{
    return set->records[set->record_count - 1];
}

const report_match *report_match_of(const report_row *row, const char *rival)
{
    for (size_t i = 0; row->ok && i < row->match_count; i++)
        if (strcmp(row->matches[i].name, rival) == 0 && row->matches[i].ok)
            return &row->matches[i];
    return NULL;
}
