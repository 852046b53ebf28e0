/*
 * fill.h - templates, and the template texts of solutions
 */
#ifndef LAB_FILL_H
#define LAB_FILL_H

#include <stdio.h>

/* A place, @NAME@ in a text, and its replacement. */
typedef struct lab_place {
    const char *name;
    const char *text;
} lab_place;

/* lab_fill() writes @text to @out with the @count @places filled in. Unknown names stay unchanged.
 */
void lab_fill(FILE *out, const char *text, const lab_place *places, size_t count);

/* The texts, each a file of lab/suite/texts/. */
const char *lab_text_library(void);
const char *lab_text_kernel(void);
const char *lab_text_multihead(void);
const char *lab_text_launch(void);
const char *lab_text_forward(void);
const char *lab_text_maps(void);

#endif /* LAB_FILL_H */
