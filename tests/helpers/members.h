/*
 * members.h - members of JSON objects
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include <jansson.h>

/* A text, or "" if the member is not a text. */
const char *text_of(const json_t *object, const char *member);

/* A number, and an integer. Both fail the test if the member is not one. */
double number_of(const json_t *object, const char *member);
json_int_t integer_of(const json_t *object, const char *member);

#endif /* MEMBERS_H */
