/*
 * error.c - what went wrong, in words
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

heed_status lab_fail(lab_error *error, heed_status status, const char *format, ...)
{
    if (!error)
        return status;
    va_list list;
    va_start(list, format);
    vsnprintf(error->text, sizeof error->text, format, list);
    va_end(list);
    return status;
}
