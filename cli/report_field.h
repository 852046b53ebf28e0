/*
 * report_field.h - fields of JSON that must be what they should be
 *
 * The first one that is not is told, with file, place, value and what it must be; what is read
 * after that is of no interest. A field that is null or not there is absent: a fault only if it
 * @must be there.
 */
#ifndef CLI_REPORT_FIELD_H
#define CLI_REPORT_FIELD_H

#include "cli.h"

typedef struct report_reader {
    const char *path;
    char where[96]; /* of the object that is being read, such as "rows[3].replay." */
    bool failed;
} report_reader;

/* report_field_enter() says where the fields that are read next lie. */
void report_field_enter(report_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* report_field_fail() tells that the field @name, which is @value or NULL for none, is not what it
 * must be: @wanted. */
void report_field_fail(report_reader *r, const char *name, const json_t *value, const char *wanted);

/* A text; NULL: absent. report_field_word(): one of @words, of which the last is NULL and which
 * @wanted lists. */
const char *report_field_text(report_reader *r, const json_t *object, const char *name, bool must);
const char *report_field_word(report_reader *r, const json_t *object, const char *name, bool must,
                              const char *const *words, const char *wanted);

/* A finite number above 0, and 0 if absent; one from 0 on, and @none if absent; a whole one. */
double report_field_positive(report_reader *r, const json_t *object, const char *name, bool must);
double report_field_number(report_reader *r, const json_t *object, const char *name, double none);
int64_t report_field_count(report_reader *r, const json_t *object, const char *name, int64_t none);

/* True or false, and false if absent. */
bool report_field_flag(report_reader *r, const json_t *object, const char *name, bool must);

/* An object, or an @array; NULL: absent. */
const json_t *report_field_nested(report_reader *r, const json_t *object, const char *name,
                                  bool array, bool must);

#endif /* CLI_REPORT_FIELD_H */
