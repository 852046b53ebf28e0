/*
 * diff.c - a unified diff by the longest common subsequence of lines
 */
#include "diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AROUND 3

typedef struct line {
    const char *text;
    size_t length; /* including its line end */
} line;

typedef struct lines {
    line *items;
    size_t count;
} lines;

/* A line of the diff: the side or sides that have it, and its numbers. */
typedef struct step {
    char sign; /* ' ', '-' or '+' */
    size_t before, after;
} step;

typedef struct diff {
    lines before, after;
    size_t head, tail; /* common lines at the beginning and end */
    uint32_t *longest; /* [rows + 1][columns + 1], length for the remaining lines; NULL: too much to
                          compare */
    step *steps;
    size_t count;
} diff;

static bool split(lines *all, const char *text)
{
    size_t room = 1;
    for (const char *at = text; *at; at++)
        room += *at == '\n';
    all->items = calloc(room + 1, sizeof *all->items);
    for (const char *at = text; all->items && *at; all->count++) {
        const char *end = strchr(at, '\n');
        size_t length = end ? (size_t)(end - at) + 1 : strlen(at);
        all->items[all->count] = (line){ at, length };
        at += length;
    }
    return all->items != NULL;
}

static bool same(const diff *d, size_t i, size_t j)
{
    const line *a = &d->before.items[i], *b = &d->after.items[j];
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static void trim(diff *d)
{
    size_t least = d->before.count < d->after.count ? d->before.count : d->after.count;
    while (d->head < least && same(d, d->head, d->head))
        d->head++;
    while (d->tail < least - d->head &&
           same(d, d->before.count - 1 - d->tail, d->after.count - 1 - d->tail))
        d->tail++;
}

/* Returns false if there is no memory. */
static bool compare(diff *d)
{
    size_t rows = d->before.count - d->head - d->tail, columns = d->after.count - d->head - d->tail;
    size_t width = columns + 1;
    if (rows + 1 > LAB_DIFF_CELLS / width)
        return true;
    d->longest = calloc((rows + 1) * width, sizeof *d->longest);
    for (size_t i = rows; d->longest && i-- > 0;)
        for (size_t j = columns; j-- > 0;) {
            uint32_t right = d->longest[i * width + j + 1];
            uint32_t below = d->longest[(i + 1) * width + j];
            d->longest[i * width + j] = same(d, d->head + i, d->head + j)
                                            ? d->longest[(i + 1) * width + j + 1] + 1
                                        : right > below ? right
                                                        : below;
        }
    return d->longest != NULL;
}

/* True if line @j of the new text goes before line @i of the old one. */
static bool comes_first(const diff *d, size_t i, size_t j)
{
    size_t rows = d->before.count - d->tail, columns = d->after.count - d->tail;
    size_t width = columns - d->head + 1, cell = (i - d->head) * width + (j - d->head);
    return j < columns &&
           (i == rows || (d->longest && d->longest[cell + 1] > d->longest[cell + width]));
}

static void follow(diff *d)
{
    size_t i = 0, j = 0;
    size_t rows = d->before.count - d->tail, columns = d->after.count - d->tail;
    while (i < d->before.count || j < d->after.count) {
        bool middle = i >= d->head && j >= d->head && (i < rows || j < columns);
        bool both = !middle || (d->longest && i < rows && j < columns && same(d, i, j));
        char sign = both ? ' ' : comes_first(d, i, j) ? '+' : '-';
        d->steps[d->count++] = (step){ sign, i, j };
        i += sign != '+';
        j += sign != '-';
    }
}

static void print_step(const diff *d, FILE *stream, const step *it)
{
    const line *one = it->sign == '+' ? &d->after.items[it->after] : &d->before.items[it->before];
    fputc(it->sign, stream);
    fwrite(one->text, 1, one->length, stream);
    if (one->text[one->length - 1] != '\n')
        fputs("\n\\ No newline at end of file\n", stream);
}

/* Prints "3,4"; an empty range has the number of the line before. */
static void print_range(FILE *stream, size_t first, size_t count)
{
    fprintf(stream, "%zu,%zu", count ? first + 1 : first, count);
}

static void print_hunk(const diff *d, FILE *stream, size_t begin, size_t end)
{
    size_t before = 0, after = 0;
    for (size_t i = begin; i < end; i++) {
        before += d->steps[i].sign != '+';
        after += d->steps[i].sign != '-';
    }
    fputs("@@ -", stream);
    print_range(stream, d->steps[begin].before, before);
    fputs(" +", stream);
    print_range(stream, d->steps[begin].after, after);
    fputs(" @@\n", stream);
    for (size_t i = begin; i < end; i++)
        print_step(d, stream, &d->steps[i]);
}

static void print_head(FILE *stream, const char *before, const char *after)
{
    const char signs[] = "-+", *const names[] = { before, after };
    for (int i = 0; i < 2; i++)
        fprintf(stream, "%c%c%c %s\n", signs[i], signs[i], signs[i], names[i]);
}

static size_t next_change(const diff *d, size_t at)
{
    while (at < d->count && d->steps[at].sign == ' ')
        at++;
    return at;
}

static void print_hunks(const diff *d, FILE *stream)
{
    size_t last = 0; /* the end of the previous hunk */
    for (size_t at = next_change(d, 0); at < d->count;) {
        size_t begin = at > last + AROUND ? at - AROUND : last, end = at;
        while (at < d->count && at <= end + 2 * AROUND) {
            end = at + 1;
            at = next_change(d, at + 1);
        }
        last = end + AROUND < d->count ? end + AROUND : d->count;
        print_hunk(d, stream, begin, last);
    }
}

bool lab_diff_write(FILE *stream, lab_diff_side before, lab_diff_side after)
{
    diff d = { .head = 0 };
    bool good = split(&d.before, before.text) && split(&d.after, after.text);
    if (good) {
        trim(&d);
        d.steps = calloc(d.before.count + d.after.count + 1, sizeof *d.steps);
        good = d.steps && compare(&d);
    }
    if (good) {
        follow(&d);
        if (next_change(&d, 0) < d.count)
            print_head(stream, before.name, after.name);
        print_hunks(&d, stream);
    }
    free(d.longest);
    free(d.steps);
    free(d.before.items);
    free(d.after.items);
    return good;
}
