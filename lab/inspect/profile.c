/*
 * profile.c - parser for ncu's table
 *
 * `ncu --csv --page raw` prints a line of names, one of units, and one for each launch, mixed with
 * log lines that begin with "==" and the output of the profiled program. Only lines that begin with
 * a quote are parsed.
 */
#include "profile.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/control.h"
#include "base/plural.h"

/* Maximum length of a number. Other cells, such as kernel names and lists of opcodes, may be long.
 */
#define NUMBER_SIZE 64

/* Counters from different passes do not match exactly, so a share may slightly exceed 100 %. */
#define PERCENT_MAX 200
#define VALUE_MAX 9007199254740992.0 /* 2^53: the limit of exact integers in a double */

/* -------------------------------------------------------------------------- */
/* Cells                                                                      */
/* -------------------------------------------------------------------------- */

/* A line of cells; texts are null-terminated in a copy of the line. */
typedef struct record {
    char *line;
    char **cells;
    size_t count;
} record;

static void record_free(record *it)
{
    free(it->line);
    free(it->cells);
    *it = (record){ .line = NULL };
}

/* Splits it->line at its commas, in place. False: a quote is not closed. */
static bool cut(record *it)
{
    char *read = it->line, *write = it->line;
    for (;;) {
        it->cells[it->count++] = write;
        bool quoted = *read == '"';
        read += quoted;
        while (*read && (quoted || *read != ',')) {
            if (quoted && *read == '"' && *++read != '"')
                break; /* two quotes are an escaped one */
            *write++ = *read++;
        }
        if (quoted && read[-1] != '"')
            return false;
        bool more = *read == ',';
        *write++ = '\0';
        if (!more)
            return true;
        read++;
    }
}

/* Reads the line at @text, which ends at a newline outside quotes; *@next points past it. */
static heed_status record_read(record *it, const char *text, const char **next)
{
    size_t length = 0, commas = 0;
    bool quoted = false;
    for (; text[length] && (quoted || text[length] != '\n'); length++) {
        quoted ^= text[length] == '"';
        commas += text[length] == ',';
    }
    *next = text + length + (text[length] == '\n');
    *it = (record){ .line = malloc(length + 1), .cells = calloc(commas + 1, sizeof *it->cells) };
    if (!it->line || !it->cells) {
        record_free(it);
        return HEED_ERR_NO_MEMORY;
    }
    while (length > 0 && text[length - 1] == '\r')
        length--;
    memcpy(it->line, text, length);
    it->line[length] = '\0';
    if (!quoted && cut(it))
        return HEED_OK;
    record_free(it);
    return HEED_ERR_CORRUPT;
}

/* The next line from @text on that begins with a quote; NULL if none. */
static const char *find_line(const char *text)
{
    while (*text && *text != '"') {
        const char *end = strchr(text, '\n');
        text = end ? end + 1 : text + strlen(text);
    }
    return *text ? text : NULL;
}

/* -------------------------------------------------------------------------- */
/* Values                                                                     */
/* -------------------------------------------------------------------------- */

#define DIGITS "0123456789"

/* The length of the number at the start of @text, with digits in groups of three if it has commas;
 * 0: no number. */
static size_t whole_part(const char *text)
{
    size_t length = strspn(text, DIGITS);
    bool grouped = length > 0 && length <= 3;
    while (grouped && text[length] == ',' && strspn(text + length + 1, DIGITS) == 3)
        length += 4;
    return length;
}

/* A number, with commas between its thousands; NAN if @text is not a number, such as "n/a" or "no
 * data". */
static double number_of(const char *text)
{
    char digits[NUMBER_SIZE], *end;
    size_t length = 0, whole = whole_part(text + (*text == '-')) + (*text == '-');
    if (strchr(text + whole, ','))
        return (double)NAN;
    for (; *text && length < sizeof digits - 1; text++)
        if (*text != ',')
            digits[length++] = *text;
    digits[length] = '\0';
    double value = strtod(digits, &end);
    return length > 0 && !*text && !*end && isfinite(value) ? value : (double)NAN;
}

/* True if @text is a number in another locale's format, "72,11" or "1.234,5". Lists have spaces. */
static bool is_foreign(const char *text)
{
    return strchr(text, ',') && isdigit((unsigned char)*text) &&
           text[strspn(text, DIGITS ".,")] == '\0' && isnan(number_of(text));
}

/* The size of a unit in bytes or seconds. Older versions of ncu spell units out. */
static double scale_of(const char *unit)
{
    static const struct {
        const char *unit;
        double scale;
    } scales[] = {
        { "ns", 1e-9 },    { "nsecond", 1e-9 }, { "us", 1e-6 },   { "usecond", 1e-6 },
        { "ms", 1e-3 },    { "msecond", 1e-3 }, { "s", 1 },       { "second", 1 },
        { "byte", 1 },     { "Kbyte", 1e3 },    { "Mbyte", 1e6 }, { "Gbyte", 1e9 },
        { "Tbyte", 1e12 },
    };
    size_t length = strcspn(unit, "/"); /* byte/block */
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (strlen(scales[i].unit) == length && strncmp(unit, scales[i].unit, length) == 0)
            return scales[i].scale;
    return (double)NAN;
}

/* The value of @text in the unit @wanted; NAN if @text is not a number or not countable. */
static double value_of(const char *text, const char *unit, lab_unit wanted)
{
    double value = number_of(text);
    if (wanted == LAB_UNIT_BYTES || wanted == LAB_UNIT_SECONDS)
        value *= scale_of(unit);
    if (wanted == LAB_UNIT_PERCENT && (strcmp(unit, "%") != 0 || value > PERCENT_MAX))
        return (double)NAN;
    return value >= 0 && value <= VALUE_MAX ? value : (double)NAN;
}

/* The cell of @row in the column @name of @length bytes, and its unit; NULL: none. */
static const char *find_cell(const record *names, const record *units, const record *row,
                             const char *name, size_t length, const char **unit)
{
    for (size_t i = 0; i < names->count && i < row->count; i++)
        if (strlen(names->cells[i]) == length && strncmp(names->cells[i], name, length) == 0) {
            *unit = i < units->count ? units->cells[i] : "";
            return row->cells[i];
        }
    return NULL;
}

static void read_metric(lab_profile *profile, lab_metric id, const record *names,
                        const record *units, const record *row)
{
    const lab_metric_row *metric = lab_metric_of(id);
    for (const char *name = metric->names; name && isnan(profile->value[id]);) {
        size_t length = strcspn(name, "|");
        const char *unit, *cell = find_cell(names, units, row, name, length, &unit);
        if (cell) {
            profile->value[id] = value_of(cell, unit, metric->unit);
            profile->name[id] = name;
        }
        name = name[length] ? name + length + 1 : NULL;
    }
}

static void read_launch(lab_profile *profile, const record *names, const record *units,
                        const record *row)
{
    const char *unit, *cell;
    *profile = (lab_profile){ .arch = 0 };
    if ((cell = find_cell(names, units, row, "Kernel Name", 11, &unit)))
        strncat(profile->kernel, cell, sizeof profile->kernel - 1);
    lab_control_replace(profile->kernel, '?'); /* it is shown on a terminal */
    if ((cell = find_cell(names, units, row, "CC", 2, &unit)) && number_of(cell) > 0)
        profile->arch = (int)lround(10 * number_of(cell));
    for (int i = 0; i < LAB_METRICS; i++) {
        profile->value[i] = (double)NAN;
        read_metric(profile, (lab_metric)i, names, units, row);
    }
    for (size_t i = 0; i < LAB_STALLS; i++) {
        char name[LAB_METRIC_NAME_SIZE];
        lab_stall_metric(i, name);
        cell = find_cell(names, units, row, name, strlen(name), &unit);
        profile->stall[i] = cell ? number_of(cell) : (double)NAN;
    }
}

/* Reads a line, which must have one cell for each of @names, and advances *@text. */
static heed_status read_row(record *row, const char **text, const record *names, lab_error *error)
{
    heed_status status = record_read(row, *text, text);
    if (status == HEED_ERR_CORRUPT)
        return lab_fail(error, status, "ncu's table is damaged: a quote is not closed");
    if (status != HEED_OK)
        return lab_fail(error, status, "not enough memory for ncu's table");
    if (names && row->count != names->count) {
        size_t count = row->count;
        record_free(row);
        return lab_fail(error, HEED_ERR_CORRUPT,
                        "ncu's table is damaged: a line has %zu cell%s, its header %zu", count,
                        lab_plural(count), names->count);
    }
    return HEED_OK;
}

/* In another locale's table 72,11 would be read as 7211. */
static heed_status check_numbers(const record *row, lab_error *error)
{
    for (size_t i = 0; i < row->count; i++)
        if (is_foreign(row->cells[i]))
            return lab_fail(error, HEED_ERR_CORRUPT,
                            "'%.40s' is a number of another locale; run ncu with LC_ALL=C",
                            row->cells[i]);
    return HEED_OK;
}

/* Reads the header of the table and the line of units, and advances *@text. */
static heed_status read_head(record *names, record *units, const char **text, lab_error *error)
{
    const char *line = *text;
    while ((line = find_line(line)) && strncmp(line, "\"ID\",", 5) != 0) {
        const char *end = strchr(line, '\n');
        line = end ? end + 1 : line + strlen(line);
    }
    if (!line)
        return lab_fail(error, HEED_ERR_CORRUPT, "it has no ncu table");
    heed_status status = read_row(names, &line, NULL, error);
    const char *next = status == HEED_OK ? find_line(line) : NULL;
    if (status == HEED_OK && !next)
        status = lab_fail(error, HEED_ERR_CORRUPT, "ncu's table has a header and no launch");
    if (status == HEED_OK)
        status = read_row(units, &next, names, error);
    *text = next;
    return status;
}

heed_status lab_profile_read(lab_profile *profile, const char *text, size_t *launches,
                             lab_error *error)
{
    record names = { .line = NULL }, units = { .line = NULL };
    size_t count = 0;
    heed_status status = read_head(&names, &units, &text, error);
    while (status == HEED_OK && (text = find_line(text))) {
        record row;
        status = read_row(&row, &text, &names, error);
        if (status != HEED_OK)
            break;
        if (count == 0)
            status = check_numbers(&row, error);
        if (status == HEED_OK && count++ == 0)
            read_launch(profile, &names, &units, &row);
        record_free(&row);
    }
    if (status == HEED_OK && count == 0)
        status = lab_fail(error, HEED_ERR_CORRUPT, "ncu's table has a header and no launch");
    if (launches)
        *launches = count;
    record_free(&names);
    record_free(&units);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Conclusions                                                                */
/* -------------------------------------------------------------------------- */

/* 100 a / b; @empty if b is 0. */
static double percent(double a, double b, double empty)
{
    return b > 0 || isnan(b) ? 100 * a / b : isnan(a) ? (double)NAN : empty;
}

double lab_profile_conflicts(const lab_profile *profile)
{
    return percent(profile->value[LAB_METRIC_CONFLICTS], profile->value[LAB_METRIC_WAVEFRONTS], 0);
}

double lab_profile_sectors(const lab_profile *profile)
{
    return percent(profile->value[LAB_METRIC_SECTORS_IDEAL], profile->value[LAB_METRIC_SECTORS],
                   100);
}

const char *lab_profile_limiter(const lab_profile *profile, int *blocks)
{
    static const struct {
        lab_metric metric;
        const char *name;
    } limits[] = {
        { LAB_METRIC_LIMIT_REGISTERS, "registers" }, { LAB_METRIC_LIMIT_SMEM, "shared memory" },
        { LAB_METRIC_LIMIT_WARPS, "warps" },         { LAB_METRIC_LIMIT_BARRIERS, "barriers" },
        { LAB_METRIC_LIMIT_BLOCKS, "blocks" },
    };
    double least = INFINITY;
    const char *name = NULL;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (profile->value[limits[i].metric] < least) {
            least = profile->value[limits[i].metric];
            name = limits[i].name;
        }
    *blocks = name ? (int)least : 0;
    return name;
}

double lab_profile_stall_share(const lab_profile *profile, size_t stall)
{
    double sum = 1; /* the cycle in which it issues */
    for (size_t i = 0; i < LAB_STALLS; i++)
        if (profile->stall[i] > 0)
            sum += profile->stall[i];
    return profile->stall[stall] / sum;
}

size_t lab_profile_stalls(const lab_profile *profile, size_t order[LAB_STALLS])
{
    size_t count = 0;
    for (size_t i = 0; i < LAB_STALLS; i++) {
        if (!(profile->stall[i] > 0))
            continue;
        size_t at = count++;
        for (; at > 0 && profile->stall[order[at - 1]] < profile->stall[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return count;
}

const lab_profile_trouble *lab_profile_trouble_in(const char *text)
{
    static const lab_profile_trouble troubles[] = {
        { "ERR_NVGPUCTRPERM", "ncu may not read counters here (ERR_NVGPUCTRPERM)",
          "run as root, give a container --cap-add SYS_ADMIN, or let everybody read them: "
          "'options nvidia NVreg_RestrictProfilingToAdminUsers=0' in /etc/modprobe.d, then "
          "reboot" },
        { "LibraryNotLoaded", "ncu cannot load the driver's profiling library (LibraryNotLoaded)",
          "sandboxed containers such as gVisor's have none: run on the machine itself, or in a "
          "container of another runtime" },
        { "driver resource was unavailable", "another profiler holds the counters",
          "stop it: 'dcgmi profpause' if it is DCGM" },
        { "InterprocessLockFailed", "another ncu, or another user's lock file, is in the way",
          "wait for it, or set TMPDIR to another folder" },
        { "is not compatible with Nsight Compute", "ncu and the driver do not match",
          "install a version of Nsight Compute that matches the driver" },
        { "Profiling is not supported on", "ncu does not support this device, or it is shared",
          "install a newer Nsight Compute; profile on a whole device, outside of MIG and vGPU" },
        { "No kernels were profiled", "the program started no kernel under ncu",
          "start the launch without ncu, and check its output" },
    };
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
        if (strstr(text, troubles[i].phrase))
            return &troubles[i];
    return NULL;
}
