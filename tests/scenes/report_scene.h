/*
 * report_scene.h - makes pages with `heed report` and checks their contents
 *
 * @state is that of a test with a scratch.h directory, in which the program is run. All of these
 * fail the test on errors.
 */
#ifndef REPORT_SCENE_H
#define REPORT_SCENE_H

#include <jansson.h>

#include "run_heed.h"

#define REPORT_RECORD HEED_SOURCE_DIR "/tests/data/bench-record.json"

extern const run_heed_way report_scene_way;

/* report_scene_page() makes the page @name from @operands, and returns it; an HTML page must be
 * well-formed. report_scene_read() returns an existing one. report_scene_last() is the page
 * returned last, while it is valid. */
const char *report_scene_page(void **state, const char *operands, const char *name);
const char *report_scene_read(void **state, const char *name);
const char *report_scene_last(void);

/* report_scene_sound() requires @text to be well-formed HTML, report_scene_says() requires the page
 * to contain @part, and report_scene_lacks() not to. */
void report_scene_sound(const char *text);
void report_scene_says(const char *text, const char *part);
void report_scene_lacks(const char *text, const char *part);

/* report_scene_load() parses a JSON file; report_scene_save() writes one to @name and frees it. */
json_t *report_scene_load(const char *path);
void report_scene_save(void **state, json_t *json, const char *name);

/* A row of a record, and a rival in a row. */
json_t *report_scene_row(json_t *record, size_t index);
json_t *report_scene_rival(json_t *record, size_t row, size_t index);

#endif /* REPORT_SCENE_H */
