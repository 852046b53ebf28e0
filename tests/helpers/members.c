/*
 * members.c - members of JSON objects
 */
#include "members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "";
}

double number_of(const json_t *object, const char *member)
{
    const json_t *number = json_object_get(object, member);
    if (!json_is_number(number))
        fail_msg("%s is no number", member);
    return json_number_value(number);
}

json_int_t integer_of(const json_t *object, const char *member)
{
    const json_t *number = json_object_get(object, member);
    if (!json_is_integer(number))
        fail_msg("%s is no integer", member);
    return json_integer_value(number);
}
