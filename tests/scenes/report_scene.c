/*
 * report_scene.c - makes pages with `heed report` and checks their contents
 */
#include "report_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scratch.h"
#include "well_formed.h"

#define PAGE_MAX 4000000

const run_heed_way report_scene_way = { HEED_PROGRAM, "HEED_BOARD=\"$PWD/board.db\"" };
static char page[PAGE_MAX];

const char *report_scene_read(void **state, const char *name)
{
    char path[SCRATCH_PATH_SIZE];
    memset(page, 0, sizeof page);
    scratch_read(scratch_path(state, name, path), page, sizeof page - 1);
    return page;
}

void report_scene_sound(const char *text)
{
    const char *fault = well_formed(text);
    if (fault)
        fail_msg("%s", fault);
}

void report_scene_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in it", part);
}

void report_scene_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in it: %.120s", part, strstr(text, part));
}

/* Removes the column names in cells (for narrow screens) and optional line breaks, which these
 * tests ignore. */
static void strip_looks(char *text)
{
    static const char *const begins[] = { " data-h=\"", " class=\"long\"" };
    char *to = text;
    for (const char *at = text; *at;) {
        const char *end = NULL;
        for (int i = 0; i < 2 && !end; i++)
            if (strncmp(at, begins[i], strlen(begins[i])) == 0)
                end = strchr(at + 9, '"');
        if (end)
            at = end + 1;
        else
            *to++ = *at++;
    }
    *to = '\0';
}

const char *report_scene_last(void)
{
    return page;
}

const char *report_scene_page(void **state, const char *operands, const char *name)
{
    char line[2 * SCRATCH_PATH_SIZE];
    snprintf(line, sizeof line, "heed report -o %s %s", name, operands);
    run_heed_must(state, &report_scene_way, line, 0);
    const char *text = report_scene_read(state, name);
    if (strstr(name, ".html")) {
        report_scene_sound(text);
        strip_looks(page);
    }
    return text;
}

json_t *report_scene_load(const char *path)
{
    json_t *json = json_load_file(path, 0, NULL);
    assert_non_null(json);
    return json;
}

void report_scene_save(void **state, json_t *json, const char *name)
{
    char path[SCRATCH_PATH_SIZE];
    assert_int_equal(json_dump_file(json, scratch_path(state, name, path), JSON_INDENT(1)), 0);
    json_decref(json);
}

json_t *report_scene_row(json_t *record, size_t index)
{
    return json_array_get(json_object_get(record, "rows"), index);
}

json_t *report_scene_rival(json_t *record, size_t row, size_t index)
{
    return json_array_get(json_object_get(report_scene_row(record, row), "rivals"), index);
}
