/*
 * json.h - messages for JSON errors
 */
#ifndef LAB_JSON_H
#define LAB_JSON_H

#include <jansson.h>

/* lab_json_fault() returns a plain message for jansson's error @fault, valid as long as @fault. */
const char *lab_json_fault(const json_error_t *fault);

#endif /* LAB_JSON_H */
