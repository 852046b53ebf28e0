/*
 * json.h - why a text was not read as JSON
 */
#ifndef LAB_JSON_H
#define LAB_JSON_H

#include <jansson.h>

/* lab_json_fault() returns the fault that jansson reports in plain words, valid as long as
 * @fault. */
const char *lab_json_fault(const json_error_t *fault);

#endif /* LAB_JSON_H */
