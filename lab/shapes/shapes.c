/*
 * shapes.c - lists of problems in files
 */
#include "lab/shapes/shapes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/array.h"
#include "lab/base/file.h"

typedef struct reader {
    FILE *file;
    const char *path;
    lab_error *error;
    size_t line;
    char text[LAB_SHAPES_LINE_MAX + 1];
} reader;

/* Reads one line without its end into r->text. *@more is false after the last one. */
static heed_status read_line(reader *r, bool *more)
{
    size_t length = 0;
    int c = getc(r->file);
    *more = c != EOF;
    r->line++;
    for (; c != EOF && c != '\n'; c = getc(r->file)) {
        if (c == '\0')
            return lab_fail(r->error, HEED_ERR_INVALID, "%s:%zu: holds a null byte", r->path,
                            r->line);
        if (length == LAB_SHAPES_LINE_MAX)
            return lab_fail(r->error, HEED_ERR_INVALID, "%s:%zu: longer than %d bytes", r->path,
                            r->line, LAB_SHAPES_LINE_MAX);
        r->text[length++] = (char)c;
    }
    if (ferror(r->file))
        return lab_fail(r->error, HEED_ERR_SYSTEM, "%s: %s", r->path, strerror(errno));
    r->text[length] = '\0';
    return HEED_OK;
}

/* Removes the comment and the white space around the spec. An empty result means no spec. */
static const char *trim(char *text)
{
    text[strcspn(text, "#")] = '\0';
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text + strspn(text, " \t");
}

static heed_status read_shapes(reader *r, lab_shapes *list)
{
    for (;;) {
        bool more;
        heed_status status = read_line(r, &more);
        if (status != HEED_OK || !more)
            return status;
        const char *spec = trim(r->text);
        if (*spec == '\0')
            continue;
        if (!lab_grow(&list->shapes, list->count, sizeof *list->shapes))
            return lab_fail(r->error, HEED_ERR_NO_MEMORY, "%s: no memory for %zu problems", r->path,
                            list->count + 1);
        lab_shape *shape = &list->shapes[list->count];
        if (heed_problem_parse(&shape->problem, spec) != HEED_OK)
            return lab_fail_lines(r->error, HEED_ERR_INVALID, "%s:%zu: %s", r->path, r->line,
                                  heed_message());
        heed_problem_print(&shape->problem, shape->spec, sizeof shape->spec);
        shape->line = r->line;
        list->count++;
    }
}

heed_status lab_shapes_load(lab_shapes *list, const char *path, lab_error *error)
{
    *list = (lab_shapes){ NULL, 0 };
    reader r = { .path = path, .error = error };
    heed_status status = lab_file_open(&r.file, path, error);
    if (status != HEED_OK)
        return status;
    status = read_shapes(&r, list);
    fclose(r.file);
    if (status == HEED_OK && list->count == 0)
        status = lab_fail(error, HEED_ERR_INVALID, "%s: holds no problem", path);
    if (status != HEED_OK)
        lab_shapes_free(list);
    return status;
}

void lab_shapes_free(lab_shapes *list)
{
    free(list->shapes);
    *list = (lab_shapes){ NULL, 0 };
}
