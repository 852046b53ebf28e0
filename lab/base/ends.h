/*
 * ends.h - how a text ends
 */
#ifndef LAB_ENDS_H
#define LAB_ENDS_H

#include <stdbool.h>
#include <string.h>

/* lab_ends_with() says whether @text ends with @end. */
static inline bool lab_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

#endif /* LAB_ENDS_H */
