/*
 * field.c - checked JSON fields
 */
#include "field.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void field_fail(field_reader *r, const char *name, const json_t *value, const char *wanted)
{
    char shown[64];
    if (r->failed)
        return;
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII |
                                               JSON_REAL_PRECISION(9))
                       : NULL;
    r->failed = true;
    snprintf(shown, sizeof shown, "%.40s%s", text ? text : "missing",
             text && strlen(text) > 40 ? "..." : "");
    free(text);
    cli_error("%s: %s%s is %s; it must be %s", r->path, r->where, name, shown, wanted);
}

static bool is_absent(const json_t *value)
{
    return !value || json_is_null(value);
}

const char *field_text(field_reader *r, const json_t *object, const char *name, bool must)
{
    const json_t *value = json_object_get(object, name);
    if (is_absent(value) && !must)
        return NULL;
    if (!json_is_string(value))
        field_fail(r, name, value, "a text");
    return json_string_value(value);
}

const char *field_word(field_reader *r, const json_t *object, const char *name, bool must,
                       const char *const *words, const char *wanted)
{
    const char *text = field_text(r, object, name, must);
    for (size_t i = 0; text && words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return text;
    if (text)
        field_fail(r, name, json_object_get(object, name), wanted);
    return NULL;
}

/* The number, or 0 with an error if it is not above 0. */
static double positive_of(field_reader *r, const char *name, const json_t *value)
{
    double number = json_number_value(value);
    if (json_is_number(value) && isfinite(number) && number > 0)
        return number;
    field_fail(r, name, value, "a number above 0");
    return 0;
}

double field_positive(field_reader *r, const json_t *object, const char *name, bool must)
{
    const json_t *value = json_object_get(object, name);
    return is_absent(value) && !must ? 0 : positive_of(r, name, value);
}

const json_t *field_positives(field_reader *r, const json_t *object, const char *name)
{
    const json_t *array = field_nested(r, object, name, true, false);
    char item[48];
    for (size_t i = 0; !r->failed && i < json_array_size(array); i++) {
        snprintf(item, sizeof item, "%s[%zu]", name, i);
        positive_of(r, item, json_array_get(array, i));
    }
    return array;
}

double field_number(field_reader *r, const json_t *object, const char *name, double none)
{
    const json_t *value = json_object_get(object, name);
    if (is_absent(value))
        return none;
    double number = json_number_value(value);
    if (!json_is_number(value) || !isfinite(number) || number < 0) {
        field_fail(r, name, value, "a number from 0 on");
        return none;
    }
    return number;
}

int64_t field_count(field_reader *r, const json_t *object, const char *name, int64_t none)
{
    double number = field_number(r, object, name, (double)none);
    if (number > 9007199254740992.0 || number != floor(number)) {
        field_fail(r, name, json_object_get(object, name), "a whole number up to 2^53");
        return none;
    }
    return (int64_t)number;
}

bool field_flag(field_reader *r, const json_t *object, const char *name, bool must)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_boolean(value) && (must || !is_absent(value)))
        field_fail(r, name, value, "true or false");
    return json_is_true(value);
}

const json_t *field_nested(field_reader *r, const json_t *object, const char *name, bool array,
                           bool must)
{
    const json_t *value = json_object_get(object, name);
    if (is_absent(value) && !must)
        return NULL;
    if (array ? json_is_array(value) : json_is_object(value))
        return value;
    field_fail(r, name, value, array ? "an array" : "an object");
    return NULL;
}

void field_enter(field_reader *r, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(r->where, sizeof r->where, format, list);
    va_end(list);
}
