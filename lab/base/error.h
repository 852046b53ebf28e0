/*
 * error.h - error messages of the laboratory's functions
 */
#ifndef LAB_ERROR_H
#define LAB_ERROR_H

#include "heed.h"

#define LAB_ERROR_SIZE 512

/* Filled by a function that returns a status other than HEED_OK: one line that names the file or
 * field, the value and the limit. The caller owns it; pass NULL for no message. */
typedef struct lab_error {
    char text[LAB_ERROR_SIZE];
} lab_error;

/* lab_fail() formats the message and returns @status. Control characters, such as those in a name
 * from a file, are written as \x1b and so on. lab_fail_lines() keeps newlines. */
heed_status lab_fail_lines(lab_error *error, heed_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
heed_status lab_fail(lab_error *error, heed_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* LAB_ERROR_H */
