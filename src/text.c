/*
 * text.c - append to a fixed buffer as snprintf does, counting what did not fit
 */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

void heed_text_add(heed_text *text, const char *format, ...)
{
    bool room = text->data != NULL && text->length < text->size;
    char *end = room ? text->data + text->length : NULL;
    size_t left = room ? text->size - text->length : 0;

    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(end, left, format, arguments);
    va_end(arguments);

    if (added > 0)
        text->length += (size_t)added;
    else if (room)
        *end = '\0'; /* vsnprintf may have failed before it wrote anything */
}

size_t heed_text_none(char *text, size_t size)
{
    if (size > 0)
        *text = '\0';
    return 0;
}
