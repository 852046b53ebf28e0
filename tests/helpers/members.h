/*
 * members.h - members of JSON objects
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include <jansson.h>

/* A string, or "" if the member is not a string. */
const char *text_of(const json_t *object, const char *member);

/* A number, and an integer. Both fail the test if the member has another type. */
double number_of(const json_t *object, const char *member);
json_int_t integer_of(const json_t *object, const char *member);

#endif /* MEMBERS_H */
