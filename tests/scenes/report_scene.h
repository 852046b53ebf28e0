/*
 * report_scene.h - pages that `heed report` makes, and what is on them
 *
 * @state is that of a test in a folder of scratch.h, where the program is run. All of these fail
 * the test if they cannot.
 */
#ifndef REPORT_SCENE_H
#define REPORT_SCENE_H

#include <jansson.h>

#include "run_heed.h"

#define REPORT_RECORD HEED_SOURCE_DIR "/tests/data/bench-record.json"

extern const run_heed_way report_scene_way;

/* report_scene_page() makes the page @name of what @operands name, and returns it; a page of HTML
 * is well formed. report_scene_read() returns one that is there. report_scene_last() is the page
 * that was returned last, as long as it is. */
const char *report_scene_page(void **state, const char *operands, const char *name);
const char *report_scene_read(void **state, const char *name);
const char *report_scene_last(void);

/* report_scene_sound() wants @text to be well formed HTML, report_scene_says() wants @part to be in
 * it, and report_scene_lacks() not to be. */
void report_scene_sound(const char *text);
void report_scene_says(const char *text, const char *part);
void report_scene_lacks(const char *text, const char *part);

/* report_scene_load() returns a file of JSON, which report_scene_save() writes to @name and frees.
 */
json_t *report_scene_load(const char *path);
void report_scene_save(void **state, json_t *json, const char *name);

/* A row of a record, and a rival in a row. */
json_t *report_scene_row(json_t *record, size_t index);
json_t *report_scene_rival(json_t *record, size_t row, size_t index);

#endif /* REPORT_SCENE_H */
