/*
 * sass_scene.c - parses disassembly written in tests
 */
#include "sass_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

lab_sass sass_read(const char *text, const char *name, const lab_sass_shape *shape)
{
    lab_sass sass;
    lab_error error = { "" };
    if (lab_sass_read(&sass, text, name, shape, &error) != HEED_OK)
        fail_msg("%s", error.text);
    return sass;
}

lab_sass sass_read_lines(const char *lines, const lab_sass_shape *shape)
{
    static char text[16384];
    size_t length = (size_t)snprintf(text, sizeof text, ".text.k:\n");
    for (int address = 0; *lines; address += 16) {
        int size = (int)strcspn(lines, "\n");
        bool label = lines[size - 1] == ':';
        address -= label ? 16 : 0;
        if (label)
            length += (size_t)snprintf(text + length, sizeof text - length, "%.*s\n", size, lines);
        else
            length += (size_t)snprintf(text + length, sizeof text - length,
                                       "        /*%04x*/ %.*s ;\n", (unsigned)address, size, lines);
        lines += size + (lines[size] == '\n');
    }
    return sass_read(text, "k", shape);
}
