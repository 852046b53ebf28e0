/*
 * report_doubts.c - reasons to doubt the figures of a set, and the missing ones
 */
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "report.h"

/* A load by other programs, or a difference of p50 and p90, above these gets a note. */
#define LOAD_QUIET 0.5
#define STEADY 1.10

static void warn_of_sources(lab_page *page, const report_set *set)
{
    for (size_t i = 0; i < set->record_count; i++) {
        const report_record *r = set->records[i];
        if (r->dirty)
            lab_page_warning(page,
                             "%s was made by sources with changes on top of commit %s: nobody can "
                             "get them back from the commit.",
                             r->path, r->around.commit);
        if (!r->around.commit || strcmp(r->around.commit, "unknown") == 0)
            lab_page_warning(page, "%s does not say which commit made it.", r->path);
        if (r->load > LOAD_QUIET && !r->replay)
            lab_page_warning(page,
                             "The load average was %.2f when %s was made: other programs disturbed "
                             "its figures.",
                             r->load, r->path);
    }
}

/* The number of rival programs: several rivals may be one program. */
static int64_t rival_programs(const report_record *r)
{
    const json_t *rivals = json_object_get(r->json, "rivals");
    int64_t count = 0;
    for (size_t i = 0; i < json_array_size(rivals); i++) {
        const json_t *path = json_object_get(json_array_get(rivals, i), "path");
        bool known = !json_is_string(path);
        for (size_t j = 0; j < i && !known; j++)
            known = json_equal(path, json_object_get(json_array_get(rivals, j), "path"));
        count += !known;
    }
    return count;
}

static void warn_of_others(lab_page *page, const report_set *set)
{
    size_t count = 0;
    for (size_t i = 0; i < set->row_count; i++)
        count += set->rows[i]->state.others > rival_programs(set->rows[i]->record);
    if (count > 0)
        lab_page_warning(page,
                         "Others than heed and its rivals used the device during %zu of %zu "
                         "problem%s: their work may be in these times.",
                         count, set->row_count, lab_plural(set->row_count));
}

static bool is_held(const report_row *row)
{
    return row->state.throttle && *row->state.throttle && strcmp(row->state.throttle, "none") != 0;
}

/* Adds a note for each reason that throttled the clocks. */
static void warn_of_throttling(lab_page *page, const report_set *set)
{
    for (size_t i = 0; i < set->row_count; i++) {
        const char *reason = set->rows[i]->state.throttle;
        size_t before = 0, count = 0;
        if (!is_held(set->rows[i]))
            continue;
        for (size_t j = 0; j < set->row_count; j++) {
            bool same = is_held(set->rows[j]) && strcmp(set->rows[j]->state.throttle, reason) == 0;
            before += same && j < i;
            count += same;
        }
        if (before == 0)
            lab_page_warning(
                page,
                "The clocks were throttled by: %s, during %zu of %zu problem%s. Ratios "
                "remain valid, as both sides took turns; absolute times are affected.",
                reason, count, set->row_count, lab_plural(set->row_count));
    }
}

static void warn_of_noise(lab_page *page, const report_set *set)
{
    size_t count = 0;
    const report_row *worst = NULL;
    char label[REPORT_LABEL_SIZE];
    for (size_t i = 0; i < set->row_count; i++) {
        const report_row *row = set->rows[i];
        if (!row->ok || !(row->p90 > STEADY * row->p50))
            continue;
        count++;
        if (!worst || row->p90 / row->p50 > worst->p90 / worst->p50)
            worst = row;
    }
    if (worst)
        lab_page_warning(page,
                         "Unsteady: p90 is more than %.0f %% above the median in %zu of %zu "
                         "problem%s, most in %s (%.0f %%).",
                         100 * (STEADY - 1), count, set->row_count, lab_plural(set->row_count),
                         report_label(worst, label), 100 * (worst->p90 / worst->p50 - 1));
}

/* -------------------------------------------------------------------------- */
/* Outputs that were not compared with a reference, or failed the comparison  */
/* -------------------------------------------------------------------------- */

const char *report_doubt(double error)
{
    return error < 0 ? "unverified" : error > 1 ? "untrusted" : NULL;
}

/* One side of a problem: heed, or a rival. */
typedef struct side {
    const char *name, *what, *why;
    const report_row *row;
} side;

static bool same_side(const side *a, const side *b)
{
    return report_order_text(a->name, b->name) == 0 && report_order_text(a->what, b->what) == 0 &&
           report_order_text(a->why, b->why) == 0;
}

static int by_side(const void *a, const void *b)
{
    const side *x = a, *y = b;
    int order = report_order_text(x->name, y->name);
    order = order ? order : report_order_text(x->what, y->what);
    order = order ? order : report_order_text(x->why, y->why);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Sides with a flaw, sorted so that equal ones are adjacent. */
typedef side find_fn(const report_row *row, const report_match *match);

static size_t find_sides(const report_set *set, find_fn *find, side **sides)
{
    size_t room = 1, count = 0;
    for (size_t i = 0; i < set->row_count; i++)
        room += 1 + set->rows[i]->match_count;
    *sides = calloc(room, sizeof **sides);
    for (size_t i = 0; *sides && i < set->row_count; i++)
        for (size_t j = 0; j <= set->rows[i]->match_count; j++) {
            const report_row *row = set->rows[i];
            side found = find(row, j ? &row->matches[j - 1] : NULL);
            if (found.what)
                (*sides)[count++] = found;
        }
    if (*sides)
        qsort(*sides, count, sizeof **sides, by_side);
    return count;
}

static side find_doubt(const report_row *row, const report_match *match)
{
    bool figure = row->ok && (!match || match->ok);
    return (side){ .name = match ? match->name : "heed",
                   .what = figure ? report_doubt(match ? match->error : row->error) : NULL,
                   .row = row };
}

static side find_missing(const report_row *row, const report_match *match)
{
    bool figure = match ? match->ok || !row->ok : row->ok;
    return (side){ .name = match         ? match->name
                           : row->kernel ? row->kernel
                                         : "heed",
                   .what = figure  ? NULL
                           : match ? match->outcome
                                   : row->outcome,
                   .why = match ? match->reason : row->reason,
                   .row = row };
}

/* " in 12 of 39 problems, such as b1 ..." */
static void say_where(const report_set *set, const side *sides, size_t count, char *text,
                      size_t size)
{
    char label[REPORT_LABEL_SIZE];
    report_label(sides->row, label);
    if (count == 1)
        snprintf(text, size, "in %s", label);
    else
        snprintf(text, size, "in %zu of %zu problem%s, %s being the first", count, set->row_count,
                 lab_plural(set->row_count), label);
}

typedef void tell_fn(lab_page *page, const side *it, const char *where);

static void tell_doubt(lab_page *page, const side *it, const char *where)
{
    if (strcmp(it->what, "unverified") == 0)
        lab_page_warning(page, "Unverified: no reference checked the results of %s %s.", it->name,
                         where);
    else
        lab_page_warning(page,
                         "Untrusted: the results of %s %s are further from the reference than "
                         "is allowed, and yet the record calls them ok.",
                         it->name, where);
}

static void tell_missing(lab_page *page, const side *it, const char *where)
{
    lab_page_item(page, "No figure of %s %s (%s): %s", it->name, where, it->what,
                  it->why ? it->why : "no reason is given");
}

static void tell_sides(lab_page *page, const report_set *set, find_fn *find, tell_fn *tell)
{
    char where[REPORT_LABEL_SIZE + 64];
    side *sides;
    size_t count = find_sides(set, find, &sides);
    page->failed |= !sides;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && same_side(&sides[i], &sides[next]); next++)
            ;
        say_where(set, &sides[i], next - i, where, sizeof where);
        tell(page, &sides[i], where);
    }
    free(sides);
}

void report_missing(lab_page *page, const report_set *set)
{
    tell_sides(page, set, find_missing, tell_missing);
}

void report_doubts(lab_page *page, const report_set *set)
{
    warn_of_sources(page, set);
    warn_of_others(page, set);
    warn_of_throttling(page, set);
    warn_of_noise(page, set);
    tell_sides(page, set, find_doubt, tell_doubt);
}
