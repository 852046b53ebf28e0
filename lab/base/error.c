/*
 * error.c - error messages
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control.h"

/* Copies as much of @from as fits, with control characters, except those in @keep, written as \x1b
 * and so on.
 */
static void copy_escaped(char *to, size_t size, const char *from, const char *keep)
{
    size_t length = 0;
    int escaped = 0; /* bytes from here on to be written as escapes */
    for (; *from; from++) {
        if (escaped == 0 && !strchr(keep, *from))
            escaped = lab_control_size(from);
        size_t needed = escaped ? 4 : 1;
        if (length + needed >= size)
            break;
        if (escaped)
            snprintf(to + length, needed + 1, "\\x%02x", (unsigned)(unsigned char)*from);
        else
            to[length] = *from;
        escaped -= escaped > 0;
        length += needed;
    }
    to[length] = '\0';
}

static void fail(lab_error *error, const char *kept, const char *format, va_list list)
    __attribute__((format(printf, 3, 0)));

static void fail(lab_error *error, const char *kept, const char *format, va_list list)
{
    char text[LAB_ERROR_SIZE];
    if (!error)
        return;
    vsnprintf(text, sizeof text, format, list);
    copy_escaped(error->text, sizeof error->text, text, kept);
}

heed_status lab_fail(lab_error *error, heed_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fail(error, "", format, list);
    va_end(list);
    return status;
}

heed_status lab_fail_lines(lab_error *error, heed_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fail(error, "\n", format, list);
    va_end(list);
    return status;
}
