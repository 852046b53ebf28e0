/*
 * field.h - fields of JSON that must be what they should be
 *
 * The first wrong field is reported, with file, place, value and what it must be; fields read after
 * that do not matter. A field that is null or not there is absent: a fault only if it @must be
 * there.
 */
#ifndef CLI_FIELD_H
#define CLI_FIELD_H

#include "cli/base/cli.h"

typedef struct field_reader {
    const char *path;
    char where[96]; /* of the object that is being read, such as "rows[3].replay." */
    bool failed;
} field_reader;

/* field_enter() says where the fields that are read next lie. */
void field_enter(field_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* field_fail() tells that the field @name, which is @value or NULL for none, is not what it
 * must be: @wanted. */
void field_fail(field_reader *r, const char *name, const json_t *value, const char *wanted);

/* A text; NULL: absent. field_word(): one of @words, which end with NULL and which @wanted lists.
 */
const char *field_text(field_reader *r, const json_t *object, const char *name, bool must);
const char *field_word(field_reader *r, const json_t *object, const char *name, bool must,
                       const char *const *words, const char *wanted);

/* A finite number above 0, and 0 if absent; one from 0 on, and @none if absent; a whole one. */
double field_positive(field_reader *r, const json_t *object, const char *name, bool must);
double field_number(field_reader *r, const json_t *object, const char *name, double none);
int64_t field_count(field_reader *r, const json_t *object, const char *name, int64_t none);

/* An array of finite numbers above 0; NULL: absent. */
const json_t *field_positives(field_reader *r, const json_t *object, const char *name);

/* True or false, and false if absent. */
bool field_flag(field_reader *r, const json_t *object, const char *name, bool must);

/* An object, or an @array; NULL: absent. */
const json_t *field_nested(field_reader *r, const json_t *object, const char *name, bool array,
                           bool must);

#endif /* CLI_FIELD_H */
