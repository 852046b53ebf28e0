/*
 * source.c - kernel sources with replaceable regions
 */
#include "lab/search/source.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char region_mark[] = "/* heed:region ";
static const char or_mark[] = "/* heed:or";
static const char end_mark[] = "/* heed:end */";
static const char comment_end[] = "*/";

typedef struct reader {
    lab_source *source;
    const char *at; /* the beginning of a line */
    const char *name;
    size_t line;
    lab_error *error;
} reader;

static heed_status fail(const reader *r, const char *what)
{
    return lab_fail(r->error, HEED_ERR_INVALID, "%s:%zu: %s", r->name, r->line, what);
}

void lab_source_free(lab_source *source)
{
    for (int i = 0; i <= LAB_SOURCE_REGIONS; i++)
        free(source->common[i]);
    for (int i = 0; i < LAB_SOURCE_REGIONS; i++)
        for (int j = 0; j < source->regions[i].count; j++)
            free(source->regions[i].texts[j]);
    memset(source, 0, sizeof *source);
}

/* True if this line, after spaces, begins with @mark. */
static bool line_is(const reader *r, const char *mark)
{
    const char *text = r->at + strspn(r->at, " \t");
    return strncmp(text, mark, strlen(mark)) == 0;
}

static void next_line(reader *r)
{
    r->at += strcspn(r->at, "\n");
    r->at += *r->at == '\n';
    r->line++;
}

static bool is_mark(const reader *r)
{
    return line_is(r, region_mark) || line_is(r, or_mark) || line_is(r, end_mark);
}

/* Reads the lines up to the next mark or the end; if @closing, to the end of a comment. */
static char *read_text(reader *r, bool closing)
{
    const char *start = r->at;
    while (*r->at && !is_mark(r) && !(closing && line_is(r, comment_end)))
        next_line(r);
    return strndup(start, (size_t)(r->at - start));
}

static heed_status add_text(reader *r, lab_source_region *region, char *text)
{
    if (!text)
        return lab_fail(r->error, HEED_ERR_NO_MEMORY, "%s: no memory", r->name);
    if (region->count == LAB_SOURCE_TEXTS) {
        free(text);
        return fail(r, "more than 64 texts for a region");
    }
    region->texts[region->count++] = text;
    return HEED_OK;
}

static heed_status read_alternative(reader *r, lab_source_region *region)
{
    next_line(r);
    heed_status status = add_text(r, region, read_text(r, true));
    if (status != HEED_OK)
        return status;
    if (!line_is(r, comment_end))
        return fail(r, "the previous alternative has no end of its comment");
    next_line(r);
    return HEED_OK;
}

static heed_status read_name(reader *r, lab_source_region *region)
{
    const char *name = strstr(r->at, region_mark) + strlen(region_mark);
    size_t length = lab_name_length(name);
    if (length == 0 || strncmp(name + length, " */", 3) != 0)
        return fail(r, "a name of letters, digits and underscores, and */ expected");
    memcpy(region->name, name, length);
    if (lab_source_find(r->source, region->name) >= 0)
        return fail(r, "there is a region of that name");
    return HEED_OK;
}

static heed_status read_region(reader *r)
{
    lab_source *source = r->source;
    if (source->count == LAB_SOURCE_REGIONS)
        return fail(r, "more than 16 regions");
    lab_source_region *region = &source->regions[source->count];
    heed_status status = read_name(r, region);
    next_line(r);
    source->count++;
    if (status == HEED_OK)
        status = add_text(r, region, read_text(r, false));
    while (status == HEED_OK && line_is(r, or_mark))
        status = read_alternative(r, region);
    if (status == HEED_OK && !line_is(r, end_mark))
        status = fail(r, "heed:or or heed:end expected");
    if (status == HEED_OK)
        next_line(r);
    return status;
}

heed_status lab_source_parse(lab_source *source, const char *text, const char *name,
                             lab_error *error)
{
    reader r = { .source = source, .at = text, .name = name, .line = 1, .error = error };
    heed_status status = HEED_OK;
    memset(source, 0, sizeof *source);
    do {
        char *common = read_text(&r, false);
        if (!common)
            status = lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory", name);
        source->common[source->count] = common;
        if (status == HEED_OK && *r.at)
            status = line_is(&r, region_mark) ? read_region(&r) : fail(&r, "outside of a region");
    } while (status == HEED_OK && (*r.at || !source->common[source->count]));
    if (status != HEED_OK)
        lab_source_free(source);
    return status;
}

int lab_source_find(const lab_source *source, const char *name)
{
    for (int i = 0; i < source->count; i++)
        if (strcmp(source->regions[i].name, name) == 0)
            return i;
    return -1;
}

char *lab_source_render(const lab_source *source, const int *choice)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (int i = 0; i <= source->count; i++) {
        fputs(source->common[i], out);
        if (i == source->count)
            break;
        const lab_source_region *region = &source->regions[i];
        const char *chosen = region->texts[choice[i]];
        size_t length = strlen(chosen);
        fprintf(out, "%s%s */\n%s%s%s\n", region_mark, region->name, chosen,
                length > 0 && chosen[length - 1] != '\n' ? "\n" : "", end_mark);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
