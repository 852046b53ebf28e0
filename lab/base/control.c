/*
 * control.c - control characters in texts from outside, which could control a terminal
 */
#include "control.h"

#include <stdbool.h>
#include <string.h>

int lab_control_size(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    if (c[0] < ' ' || c[0] == 0x7f)
        return 1;
    if (c[0] == 0xc2)
        return c[1] >= 0x80 && c[1] <= 0x9f ? 2 : 0;
    bool breaks = c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0xa8 && c[2] <= 0xae;
    bool turns = c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9;
    return breaks || turns ? 3 : 0;
}

void lab_control_replace(char *text, char with)
{
    for (int size; *text; text += size > 0 ? size : 1) {
        size = lab_control_size(text);
        memset(text, with, (size_t)size);
    }
}
