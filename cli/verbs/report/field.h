/*
 * field.h - checked JSON fields
 *
 * The first wrong field is reported, with file, place, value and the permitted values; later fields
 * are not reported. A field that is null or missing is absent: an error only if @must is set.
 */
#ifndef CLI_FIELD_H
#define CLI_FIELD_H

#include "cli/base/cli.h"

typedef struct field_reader {
    const char *path;
    char where[96]; /* path of the object being read, such as "rows[3].replay." */
    bool failed;
} field_reader;

/* field_enter() sets the path of the fields that are read next. */
void field_enter(field_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* field_fail() reports that the field @name with @value, or NULL for none, is not @wanted. */
void field_fail(field_reader *r, const char *name, const json_t *value, const char *wanted);

/* A text; NULL: absent. field_word(): one of @words, which end with NULL; @wanted lists them. */
const char *field_text(field_reader *r, const json_t *object, const char *name, bool must);
const char *field_word(field_reader *r, const json_t *object, const char *name, bool must,
                       const char *const *words, const char *wanted);

/* A finite number above 0, or 0 if absent; one from 0 on, or @none if absent; an integer. */
double field_positive(field_reader *r, const json_t *object, const char *name, bool must);
double field_number(field_reader *r, const json_t *object, const char *name, double none);
int64_t field_count(field_reader *r, const json_t *object, const char *name, int64_t none);

/* An array of finite numbers above 0; NULL: absent. */
const json_t *field_positives(field_reader *r, const json_t *object, const char *name);

/* True or false; false if absent. */
bool field_flag(field_reader *r, const json_t *object, const char *name, bool must);

/* An object, or an @array; NULL: absent. */
const json_t *field_nested(field_reader *r, const json_t *object, const char *name, bool array,
                           bool must);

#endif /* CLI_FIELD_H */
