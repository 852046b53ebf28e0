/*
 * wisdom_text.c - the text format of wisdom: import and export
 *
 *     heed wisdom 1: problem, device, cpu, threads, build, kernel, seconds, effort
 *     b2 h8 s512 d64 f16<tab>AMD EPYC 9R14<tab>avx512bf16<tab>2<tab>...
 *     end 1 85c1f4a1b8c6d3e2
 *
 * One line per problem, in columns separated by tabs. The last line has the number of lines and the
 * 64-bit FNV-1a hash of everything above it, so a truncated or changed text is detected.
 * docs/file-formats.md describes the columns.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "wisdom.h"
#include "wisdom_line.h"

#define HEADER "heed wisdom 1: problem, device, cpu, threads, build, kernel, seconds, effort\n"
#define HEADER_START "heed wisdom "

enum column {
    PROBLEM,
    DEVICE,
    CPU,
    THREADS,
    BUILD,
    KERNEL,
    SECONDS,
    EFFORT,
    COLUMNS
};

/* heed_wisdom_write() does not write longer lines. */
#define LINE_SIZE 1024
#define WHY_SIZE (LINE_SIZE + 256)

/* The columns DEVICE to BUILD for this context. */
typedef struct identity {
    char device[sizeof((heed_machine *)0)->device];
    char threads[16];
    char cpu[HEED_FEATURES_SIZE];
    const char *build;
} identity;

typedef struct reader {
    heed_context *context;
    const char *source;
    const char *at;   /* the next line ... */
    const char *last; /* ... up to the last one, which counts them */
    size_t line;
    identity here;
    heed_wisdom_visitor *visit; /* NULL: no visitor */
    void *data;
} reader;

static identity identify(const heed_context *context)
{
    const heed_machine *machine = &context->machine;
    identity here = { .build = heed_kernel_build() };
    heed_machine_features(machine, here.cpu);
    snprintf(here.threads, sizeof here.threads, "%d", machine->threads);
    for (size_t i = 0; i < sizeof here.device - 1 && machine->device[i] != '\0'; i++)
        here.device[i] = (unsigned char)machine->device[i] < ' ' ? ' ' : machine->device[i];
    return here;
}

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash;
}

static const uint64_t hash_start = 0xcbf29ce484222325u;

static void print_end(char *line, size_t size, size_t count, uint64_t hash)
{
    snprintf(line, size, "end %zu %016" PRIx64 "\n", count, hash);
}

/* -------------------------------------------------------------------------- */
/* Export                                                                     */
/* -------------------------------------------------------------------------- */

static const char *effort_name(heed_effort effort)
{
    return effort == HEED_PATIENT ? "patient" : "measure";
}

static size_t print_entry(char *line, size_t size, const heed_wisdom_entry *entry,
                          const identity *here)
{
    char spec[HEED_SPEC_SIZE], seconds[HEED_NUMBER_SIZE];
    heed_problem_print(&entry->problem, spec, sizeof spec);
    heed_number_print_double(seconds, entry->choice.seconds);
    int length = snprintf(line, size, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", spec, here->device,
                          here->cpu, here->threads, here->build, entry->choice.name, seconds,
                          effort_name(entry->choice.effort));
    return (size_t)length;
}

size_t heed_wisdom_write(heed_context *context, char *text, size_t size)
{
    const heed_wisdom *wisdom = context->wisdom;
    identity here = identify(context);
    heed_text out = { .data = text, .size = size };
    char line[LINE_SIZE];

    heed_text_add(&out, "%s", HEADER);
    uint64_t hash = hash_bytes(hash_start, HEADER, strlen(HEADER));
    for (size_t i = 0; i < wisdom->count; i++) {
        size_t length = print_entry(line, sizeof line, &wisdom->entries[i], &here);
        hash = hash_bytes(hash, line, length);
        heed_text_add(&out, "%s", line);
    }
    print_end(line, sizeof line, wisdom->count, hash);
    heed_text_add(&out, "%s", line);
    return out.length;
}

size_t heed_wisdom_export(heed_context *context, char *text, size_t size)
{
    if (heed_context_check(context) != HEED_OK)
        return heed_text_none(text, size);
    pthread_mutex_lock(&context->wisdom->mutex);
    size_t length = heed_wisdom_write(context, text, size);
    pthread_mutex_unlock(&context->wisdom->mutex);
    return length;
}

/* -------------------------------------------------------------------------- */
/* Import                                                                     */
/* -------------------------------------------------------------------------- */

static heed_status fail_line(const reader *r, const char *reason)
{
    return heed_fail(HEED_ERR_CORRUPT, "%s: line %zu: %s", r->source, r->line, reason);
}

/* Cuts @line, of @length bytes without its newline, into columns. */
static heed_status split_line(const reader *r, const char *line, size_t length, char *copy,
                              char *columns[COLUMNS])
{
    if (length >= LINE_SIZE)
        return fail_line(r, "too long");
    if (memchr(line, '\0', length))
        return fail_line(r, "holds a null byte");
    memcpy(copy, line, length);
    copy[length] = '\0';
    int count = 0;
    for (char *at = copy; at; count++) {
        if (count == COLUMNS)
            return fail_line(r, "more than 8 columns");
        columns[count] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
    return count == COLUMNS ? HEED_OK : fail_line(r, "fewer than 8 columns");
}

/* Reads the columns, whether the line is for this machine or not. */
static heed_status read_entry(const reader *r, char *const columns[COLUMNS],
                              heed_wisdom_entry *entry)
{
    heed_choice *choice = &entry->choice;
    if (heed_problem_parse(&entry->problem, columns[PROBLEM]) != HEED_OK) {
        char reason[512];
        snprintf(reason, sizeof reason, "%s", heed_message());
        return fail_line(r, reason);
    }
    size_t length = strlen(columns[KERNEL]);
    if (length == 0 || length >= sizeof choice->name)
        return fail_line(r, "not the name of a kernel");
    memcpy(choice->name, columns[KERNEL], length + 1);
    if (!heed_number_double(columns[SECONDS], strlen(columns[SECONDS]), &choice->seconds) ||
        choice->seconds <= 0)
        return fail_line(r, "seconds must be a number above 0");
    if (strcmp(columns[EFFORT], effort_name(HEED_MEASURE)) == 0)
        choice->effort = HEED_MEASURE;
    else if (strcmp(columns[EFFORT], effort_name(HEED_PATIENT)) == 0)
        choice->effort = HEED_PATIENT;
    else
        return fail_line(r, "effort must be measure or patient");
    return HEED_OK;
}

bool heed_wisdom_kernel(const char *name)
{
    const char *config_text;
    heed_config config;
    const heed_kernel *kernel = heed_kernel_find(name, &config_text);
    if (!config_text)
        config_text = "";
    return kernel && heed_config_parse(kernel->algorithm, config_text, &config);
}

/* True if the line is for this machine and library. If not, writes to @why which column differs. */
static bool applies(const reader *r, char *const columns[COLUMNS], char why[WHY_SIZE])
{
    const struct {
        enum column column;
        const char *name;
        const char *here;
    } identities[] = {
        { DEVICE, "device", r->here.device },
        { CPU, "cpu", r->here.cpu },
        { THREADS, "threads", r->here.threads },
        { BUILD, "build", r->here.build },
    };
    for (size_t i = 0; i < sizeof identities / sizeof *identities; i++) {
        const char *there = columns[identities[i].column];
        if (strcmp(there, identities[i].here) != 0) {
            snprintf(why, WHY_SIZE, "%s is \"%s\", here it is \"%s\"", identities[i].name, there,
                     identities[i].here);
            return false;
        }
    }
    if (!heed_wisdom_kernel(columns[KERNEL])) {
        snprintf(why, WHY_SIZE, "kernel is \"%s\", which this library does not have",
                 columns[KERNEL]);
        return false;
    }
    return true;
}

static void visit_line(const reader *r, char *const columns[COLUMNS],
                       const heed_wisdom_entry *entry, const char *why)
{
    const heed_wisdom_line line = { .number = r->line,
                                    .problem = &entry->problem,
                                    .device = columns[DEVICE],
                                    .cpu = columns[CPU],
                                    .threads = columns[THREADS],
                                    .build = columns[BUILD],
                                    .kernel = columns[KERNEL],
                                    .seconds = entry->choice.seconds,
                                    .effort = entry->choice.effort,
                                    .why_not = why };
    r->visit(r->data, &line);
}

/* Reads the lines between the first and the last one. Adds those that apply to @wisdom, unless it
 * is NULL, and counts them. */
static heed_status read_lines(reader r, heed_wisdom *wisdom, size_t *taken, size_t *skipped)
{
    *taken = *skipped = 0;
    while (r.at < r.last) {
        char copy[LINE_SIZE], *columns[COLUMNS] = { NULL }, why[WHY_SIZE];
        heed_wisdom_entry entry;
        const char *end = memchr(r.at, '\n', (size_t)(r.last - r.at));
        heed_status status = split_line(&r, r.at, (size_t)(end - r.at), copy, columns);
        if (status == HEED_OK)
            status = read_entry(&r, columns, &entry);
        if (status != HEED_OK)
            return status;
        bool take = applies(&r, columns, why);
        *(take ? taken : skipped) += 1;
        if (take && wisdom)
            heed_wisdom_put(wisdom, &entry.problem, &entry.choice);
        if (!take)
            heed_note("%s: line %zu skipped: %s", r.source, r.line, why);
        if (r.visit)
            visit_line(&r, columns, &entry, take ? NULL : why);
        r.at = end + 1;
        r.line++;
    }
    return HEED_OK;
}

/* Finds the first and the last line of the text and sets @r to read the lines between them. */
static heed_status find_lines(reader *r, const char *text, size_t length)
{
    size_t header = strlen(HEADER);
    r->line = 1;
    if (length < header || memcmp(text, HEADER, header) != 0) {
        bool other = length >= strlen(HEADER_START) &&
                     memcmp(text, HEADER_START, strlen(HEADER_START)) == 0;
        return fail_line(r, other ? "damaged, or wisdom of another version of the format"
                                  : "not heed wisdom");
    }
    r->at = text + header;
    r->last = text + length;
    if (r->last > r->at) /* past the newline that ends the last line */
        r->last--;
    while (r->last > r->at && r->last[-1] != '\n')
        r->last--;
    r->line = 2;
    size_t left = length - (size_t)(r->last - text);
    if (left > 4 && memcmp(r->last, "end ", 4) == 0 && text[length - 1] == '\n')
        return HEED_OK;
    for (const char *c = r->at; c < text + length; c++)
        r->line += *c == '\n';
    return fail_line(r, "the end is missing");
}

static heed_status check_end(const reader *r, const char *text, size_t length, size_t lines)
{
    char expected[64];
    uint64_t hash = hash_bytes(hash_start, text, (size_t)(r->last - text));
    print_end(expected, sizeof expected, lines, hash);
    size_t left = length - (size_t)(r->last - text);
    if (left == strlen(expected) && memcmp(r->last, expected, left) == 0)
        return HEED_OK;
    reader end = *r;
    end.line += lines;
    return fail_line(&end, "count or hash do not fit the lines above: the text was changed");
}

/* Adds all lines, which are known to be valid, or none. */
static heed_status take_lines(const reader *r, size_t *taken, size_t *skipped)
{
    heed_wisdom *wisdom = r->context->wisdom;
    pthread_mutex_lock(&wisdom->mutex);
    heed_status status = heed_wisdom_reserve(wisdom, *taken);
    if (status == HEED_OK)
        status = read_lines(*r, wisdom, taken, skipped);
    pthread_mutex_unlock(&wisdom->mutex);
    return status;
}

/* Checks the whole text, and counts its lines. */
static heed_status check_text(reader *r, const char *text, size_t length, size_t *taken,
                              size_t *skipped)
{
    if (length > HEED_WISDOM_SIZE_MAX)
        return heed_fail(HEED_ERR_CORRUPT, "%s: more than the %zu bytes that wisdom may have",
                         r->source, HEED_WISDOM_SIZE_MAX);
    heed_status status = find_lines(r, text, length);
    if (status == HEED_OK)
        status = read_lines(*r, NULL, taken, skipped);
    if (status == HEED_OK)
        status = check_end(r, text, length, *taken + *skipped);
    return status;
}

heed_status heed_wisdom_read(heed_context *context, const char *source, const char *text,
                             size_t length, size_t *taken, size_t *skipped)
{
    size_t lines_taken = 0, lines_skipped = 0;
    reader r = { .context = context, .source = source, .here = identify(context) };
    heed_status status = check_text(&r, text, length, &lines_taken, &lines_skipped);
    if (status == HEED_OK)
        status = take_lines(&r, &lines_taken, &lines_skipped);
    if (status != HEED_OK)
        return status;
    if (taken)
        *taken = lines_taken;
    if (skipped)
        *skipped = lines_skipped;
    return HEED_OK;
}

heed_status heed_wisdom_visit(heed_context *context, const char *source, const char *text,
                              size_t length, heed_wisdom_visitor *visit, void *data)
{
    size_t taken, skipped;
    reader r = { .context = context, .source = source, .here = identify(context) };
    heed_status status = check_text(&r, text, length, &taken, &skipped);
    r.visit = visit;
    r.data = data;
    return status == HEED_OK ? read_lines(r, NULL, &taken, &skipped) : status;
}

heed_status heed_wisdom_import(heed_context *context, const char *text, size_t *taken,
                               size_t *skipped)
{
    if (context && !text)
        return heed_fail(HEED_ERR_INVALID, "text is NULL");
    heed_status status = heed_context_check(context);
    if (status != HEED_OK)
        return status;
    return heed_wisdom_read(context, "wisdom", text, strlen(text), taken, skipped);
}
