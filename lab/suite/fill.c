/*
 * fill.c - templates, and the template texts of solutions
 *
 * HEED_SUITE_TEXTS is their folder, from CMake.
 */
#include "lab/suite/fill.h"

#include <string.h>

#include "lab/base/embed.h"

LAB_EMBED(lab_suite_library, HEED_SUITE_TEXTS "/library.py");
LAB_EMBED(lab_suite_kernel, HEED_SUITE_TEXTS "/kernel.in");
LAB_EMBED(lab_suite_multihead, HEED_SUITE_TEXTS "/multihead.py");
LAB_EMBED(lab_suite_forward, HEED_SUITE_TEXTS "/forward.cu");
LAB_EMBED(lab_suite_launch, HEED_SUITE_TEXTS "/launch.cu");
LAB_EMBED(lab_suite_maps, HEED_SUITE_TEXTS "/maps.cu");

const char *lab_text_library(void)
{
    return lab_suite_library;
}

const char *lab_text_kernel(void)
{
    return lab_suite_kernel;
}

const char *lab_text_multihead(void)
{
    return lab_suite_multihead;
}

const char *lab_text_launch(void)
{
    return lab_suite_launch;
}

const char *lab_text_forward(void)
{
    return lab_suite_forward;
}

const char *lab_text_maps(void)
{
    return lab_suite_maps;
}

/* The place whose name is at @at, after the mark; NULL if none. */
static const lab_place *place_at(const char *at, const lab_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(places[i].name);
        if (strncmp(at, places[i].name, length) == 0 && at[length] == '@')
            return &places[i];
    }
    return NULL;
}

void lab_fill(FILE *out, const char *text, const lab_place *places, size_t count)
{
    while (*text) {
        size_t length = strcspn(text, "@");
        fprintf(out, "%.*s", (int)length, text);
        text += length;
        const lab_place *place = *text ? place_at(text + 1, places, count) : NULL;
        if (place) {
            fputs(place->text, out);
            text += strlen(place->name) + 2;
        } else if (*text) {
            fputc(*text++, out);
        }
    }
}
